"""What blocked data sets would have to show: by hand, and by putting the needed value in their place."""

import pandas as pd
import pytest

from clustcal.experiments.paper import load_claims
from clustcal.experiments.tabular import blocked_sets, tables
from clustcal.experiments.tabular.grid import OPEN_DATASETS, PAPER_DATASETS
from tests.experiments.tabular.rows import make_paper_rows, make_variants

CELL = "performance/Platt/SHAP/NLL"
CLAIMS = load_claims()


@pytest.fixture(scope="module")
def rows():
    """The paper's own table on every open data set, in log-loss 0.01 more on each than on the one before."""
    made = make_paper_rows(list(OPEN_DATASETS))
    return made.assign(nll=made["nll"] + 0.01 * made["dataset"].map(OPEN_DATASETS.index))


@pytest.fixture(scope="module")
def needed(rows):
    return blocked_sets.find_needed(rows, CLAIMS)


def test_needed_by_hand(needed):
    """Credit, Stroke, Adult and Diabetes 130 are numbers 0, 1, 4 and 5, so 0.10 too high together."""
    line = needed.loc[CELL]
    assert line["ours"] == pytest.approx(0.2983 + 0.10 / 4)
    assert line["needed"] == pytest.approx(0.2983 - 0.10 / 2)
    assert line["blocked"] == "LOS and WiDS"
    assert line["rounding"] == pytest.approx(3 * 5e-5)
    assert (line["lowest"], line["highest"]) == pytest.approx((0.2983, 0.2983 + 0.06))
    assert line["outside"] == pytest.approx((0.05 - 3 * 5e-5) / (0.2983 + 0.06))


def test_with_what_is_needed_the_printed_mean_is_true(rows, needed):
    """The blocked sets get the needed value; the table over all six then prints the paper's number."""
    is_cell = (rows["calibrator"] == "Platt") & (rows["representation"] == "SHAP")
    some = rows[is_cell & (rows["dataset"] == "adult")]
    gated = [some.assign(dataset=name, nll=needed.loc[CELL, "needed"]) for name in ("mimic-los", "wids")]
    six = tables.as_paper_rows(pd.concat([rows[is_cell], *gated]), PAPER_DATASETS)
    assert tables.performance(six).loc[("Platt", "SHAP"), "NLL"] == pytest.approx(0.2983)


def test_gain_over_the_global_method_is_a_difference_of_printed_numbers(needed):
    line = needed.loc["clustered gain/Platt/SHAP/NLL"]
    assert line["printed"] == pytest.approx(0.2998 - 0.2983)
    assert line["ours"] == pytest.approx(0.2998 - 0.2983)  # what data sets add, both methods have
    assert line["rounding"] == pytest.approx(3 * 1e-4)
    assert line["outside"] < 0


def test_ablations_need_wids_alone(rows):
    changed = make_variants(rows[rows["dataset"] == "adult"], "n_clusters=7", 0.001)
    every = [make_variants(changed, name, 0.0) for name in settings()]
    found = blocked_sets.find_needed(pd.concat([rows, *every]), CLAIMS)
    line = found.loc["figures/no-shrinkage/NLL"]
    assert (line["blocked"], line["needed"]) == ("WiDS", pytest.approx(2 * 1.29 - 0.1))


def test_without_an_open_set_of_the_paper_nothing_is_said(rows):
    found = blocked_sets.find_needed(rows[rows["dataset"] != "adult"], CLAIMS)
    assert found.empty


def settings():
    from clustcal.experiments.tabular.grid import get_entries

    return {entry.key[2] for entry in get_entries("variants")}
