"""The design of the study of images and texts: its rows, halves, methods and cells."""

import numpy as np
import pytest
from scipy.special import expit

from clustcal.experiments.deep import design, network_runs
from clustcal.experiments.deep.outputs import Outputs


def outputs_of(logits, y):
    logits = np.asarray(logits, dtype=np.float32)
    return Outputs(logits, np.asarray(y), np.arange(len(y)), {"cls": logits[:, :1].astype(np.float16)})


def test_every_study_names_a_network_of_ours():
    assert {study.network for study in design.STUDIES.values()} <= set(network_runs.NAMES)
    assert all(name == study.name for name, study in design.STUDIES.items())


def test_of_two_classes_the_second_is_forecast():
    part = design.prepare(outputs_of([[0, 1], [2, 0]], [1, 0]))
    np.testing.assert_allclose(part.P, expit([1, -2]))
    assert design.count_classes(part.P) == 2


def test_classes_that_do_not_occur_can_be_left_out():
    logits, y = [[0, 9, 1, 0], [1, 9, 0, 0], [0, 9, 0, 2]], [0, 2, 3]
    everything = design.prepare(outputs_of(logits, y))
    assert design.count_classes(everything.P) == 4
    assert everything.P[:, 1].min() > 0.99
    some = design.prepare(outputs_of(logits, y), only_classes_that_occur=True)
    assert some.y.tolist() == [0, 1, 2]
    e = np.e
    np.testing.assert_allclose(some.P[0], np.array([1, e, 1]) / (2 + e))


def test_halves_share_out_rows_and_classes_evenly_and_in_order():
    y = np.repeat([0, 1, 2], [40, 20, 10])
    part = design.Part(np.arange(70.0), y, {"cls": np.arange(70, dtype=np.float16)[:, None]})
    calibration, test = design.halve(part, seed=3)
    assert sorted([*calibration.P, *test.P]) == list(range(70))
    for half in (calibration, test):
        assert np.bincount(half.y).tolist() == [20, 10, 5]
        assert (np.diff(half.P) > 0).all()
        assert np.array_equal(half.Z["cls"][:, 0], half.P)
        assert half.Z["cls"].dtype == np.float64
    assert not np.array_equal(design.halve(part, seed=4)[0].P, calibration.P)


@pytest.mark.parametrize("n_classes", [2, 8, 100])
def test_families_are_the_papers_without_a_prior(n_classes):
    families = design.get_families(n_classes)
    assert list(families) == (
        ["Platt", "Beta", "TS"] if n_classes == 2 else ["Vector", "Dirichlet", "Dirichlet-TS", "TS"]
    )
    for name, family in families.items():
        assert family.get_params().get("prior") is None
        assert name.startswith("Dirichlet") == (family.get_params().get("l2") == design.PENALTY)


def test_bins_and_folds_are_left_out_where_there_are_many_classes_or_no_layers():
    few, many = design.get_global_methods(8, has_layers=True), design.get_global_methods(100, has_layers=True)
    assert {"Binwise-Dirichlet", "Vector-CV"} <= set(few)
    assert "Dirichlet-CV" not in few
    assert [name for name in many if "Binwise" in name or "CV" in name] == ["Binwise-Vector", "Binwise-TS"]
    assert not [name for name in design.get_global_methods(8, has_layers=False) if "CV" in name]


@pytest.mark.filterwarnings("ignore:The temperature is at its bound")  # the labels do not depend on the scores
def test_methods_can_be_fitted_to_data_without_a_class():
    rng = np.random.default_rng(0)
    P, y = rng.dirichlet(np.ones(4), 300), rng.integers(3, size=300)
    for name, method in design.get_global_methods(4, has_layers=False).items():
        with pytest.warns(UserWarning, match="classes"):
            Q = method.fit(P, y).predict_proba(P)
        assert Q.shape == (300, 4), name


def test_few_classes_run_in_all_cells():
    cells = design.get_cells(8, ["cls", "mean"], seed=4)
    assert [(layer, k) for layer, k, _ in cells] == [(layer, k) for layer in ("cls", "mean") for k in (4, 10, 25, 50)]
    assert {families for _, _, families in cells} == {("Vector", "Dirichlet", "Dirichlet-TS", "TS")}


@pytest.mark.parametrize(
    ("n_classes", "seed", "expected"),
    [
        (100, 0, {4: 4, 10: 4, 25: 2, 50: 2}),
        (100, 1, {4: 2, 10: 2, 25: 1, 50: 1}),
        (1000, 0, {4: 2, 10: 2, 25: 1, 50: 1}),
    ],
)
def test_with_many_classes_the_costly_families_run_in_few_cells(n_classes, seed, expected):
    cells = design.get_cells(n_classes, ["pooled"], seed)
    assert {k: len(families) for _, k, families in cells} == expected
    assert all(families[-1] == "TS" for _, _, families in cells)
