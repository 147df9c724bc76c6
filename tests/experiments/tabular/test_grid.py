"""What can be run, by name."""

import pytest

from clustcal.datasets import list_datasets
from clustcal.experiments.tabular.grid import (
    GATED,
    OPEN_DATASETS,
    PAPER_DATASETS,
    STAND_INS,
    VARIATIONS,
    get_entries,
    select_entries,
)


def keys(words):
    return [entry.key for entry in select_entries(words)]


def test_every_data_set_is_known():
    assert {*OPEN_DATASETS, *GATED, *PAPER_DATASETS.values(), *STAND_INS.values()} <= set(list_datasets().index)


def test_stand_ins_are_open_and_not_the_papers():
    assert set(STAND_INS.values()) <= set(OPEN_DATASETS) - set(PAPER_DATASETS.values())
    assert {PAPER_DATASETS[name] for name in STAND_INS} == set(GATED)


def test_groups_are_21_and_3_and_nine_for_each_variation():
    assert [len(get_entries(group)) for group in ("paper", "cv", "variants")] == [21, 3, 9 * len(VARIATIONS)]


def test_keys_are_unique():
    every = keys(["paper", "cv", "variants"])
    assert len(set(every)) == len(every)


def test_variants_change_one_setting():
    entry = next(entry for entry in get_entries("variants") if entry.key == ("Beta", "SHAP", "shrinkage=0.0"))
    calibrator = entry.method.make(seed=1)
    assert (calibrator.shrinkage, calibrator.n_clusters, calibrator.random_state) == (0.0, 4, 1)
    unchanged = next(entry for entry in get_entries("paper") if entry.key == ("Beta", "SHAP", ""))
    assert unchanged.method.make(seed=1).shrinkage == 0.05


def test_a_name_selects_all_its_representations():
    assert keys(["Platt"]) == [("Platt", Z, "") for Z in ("Coverage", "SHAP", "Data", "Baseline")]


def test_a_name_with_a_representation_selects_one():
    assert keys(["Platt/SHAP", "base/Baseline"]) == [("Platt", "SHAP", ""), ("base", "Baseline", "")]


def test_what_is_named_twice_is_there_once():
    assert len(keys(["paper", "Platt"])) == 21


def test_unknown_method_lists_what_there_is():
    with pytest.raises(ValueError, match=r"methods has 'Plat'; expected paper, cv, variants, or one of .*'Platt'"):
        select_entries(["Plat"])
