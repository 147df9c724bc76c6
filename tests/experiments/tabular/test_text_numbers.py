"""Figures of the running text, from rows that hold the paper's own tables: they must give what the paper says."""

import numpy as np
import pandas as pd
import pytest

from clustcal.experiments.paper import load_claims
from clustcal.experiments.tabular import tables, text_numbers
from clustcal.experiments.tabular.grid import PAPER_DATASETS
from tests.experiments.tabular.rows import make_paper_rows, make_small_rows, make_variants

PRINTED = load_claims().set_index("id")


@pytest.fixture(scope="module")
def stored():
    return make_paper_rows(["adult", "wids"])


@pytest.fixture(scope="module")
def rows(stored):
    return tables.as_paper_rows(stored)


def assert_as_printed(found, names):
    """Within one unit of the last printed digit: the text was made from unrounded numbers."""
    for name in names:
        claim = PRINTED.loc[f"figures/{name}"]
        assert found[name] == pytest.approx(claim["value"], abs=2 * claim["half_digit"]), name


def test_overall_figures_follow_from_the_main_table(rows):
    found = text_numbers.overall_figures(tables.performance(rows))
    names = ["base/NLL", "global/NLL", "global/NLL-reduction", "global/AUC", "clustered/NLL-low", "clustered/NLL-high"]
    assert_as_printed(found, [*names, "clustered/gain-low", "clustered/gain-high"])
    assert_as_printed(found, ["clustered-TS/gain-low", "clustered-TS/gain-high"])


def test_consistency_figures_follow_from_the_main_table(rows):
    found = text_numbers.consistency_figures(rows)
    assert found["consistency/NLL-top-6"] == 6
    assert found["consistency/NLL-top-8-least"] == 6
    # Platt and Beta with each representation, beside Platt, Beta, histogram binning and isotonic regression.
    assert found["consistency/ECE-top-10"] == 6
    assert found["consistency/AUC-wins"] == 100


def test_capacity_figures_by_hand():
    """Gains in log-loss 0.010 and 0.025, in AUC 0.010 and 0.025, at 600 and 2,400 trees times depth."""
    found = text_numbers.capacity_figures(tables.capacity(tables.as_paper_rows(make_small_rows())))
    assert found["slope/NLL-median"] == pytest.approx(0.0175)
    assert found["slope/NLL-wins"] == 100
    assert found["capacity/NLL-gain-low"] == pytest.approx(100 / 30)
    assert found["capacity/NLL-gain-high"] == pytest.approx(2.5 / 0.4)
    assert found["capacity/AUC-wins"] == 2
    assert found["capacity/AUC-gain/100/low"] == pytest.approx(1 / 0.7)
    assert found["slope/AUC-R2"] == pytest.approx(1)  # a line through two points


def test_significance_figures_are_those_of_the_tables():
    rows = tables.as_paper_rows(make_small_rows())
    found = text_numbers.significance_figures(rows)
    assert (found["pairs"], found["wins/NLL"], found["wins/ECE"]) == (4, 4, 1)
    assert found["wilcoxon/NLL"] == 2 / 2**4
    assert found["improvement/NLL/mean"] - found["improvement/NLL/low"] == pytest.approx(
        tables.improvement(rows).loc["All", ("NLL", "ci")]
    )


def test_variation_figures_take_two_data_sets(stored, rows):
    """Without shrinkage log-loss is 1 % higher, with K = 7 it is 2 % lower; a third data set does not count."""
    worse, better = make_variants(stored, "shrinkage=0.0", 0.01), make_variants(stored, "n_clusters=7", -0.02)
    third = worse.assign(dataset="stroke", nll=9.0)
    variants = tables.as_paper_rows(pd.concat([worse, better, third]), group="variants")
    found = text_numbers.variation_figures(rows, variants)
    assert found["no-shrinkage/NLL"] == pytest.approx(1)
    assert found["no-shrinkage/NLL-improve"] == 0
    assert found["K7/NLL"] == pytest.approx(-2)
    assert found["K7/NLL-improve"] == 100
    assert found["K7/AUC"] == 0


def test_overhead_figures_by_hand(stored):
    """Everything takes 0.01 s, but clustered Beta 0.02, and Platt with coverage 0.3."""
    is_beta = (stored["calibrator"] == "Beta") & (stored["representation"] != "Baseline")
    is_outlier = (stored["calibrator"] == "Platt") & (stored["representation"] == "Coverage")
    changed = stored.assign(fit_seconds=np.select([is_beta, is_outlier], [0.02, 0.3], 0.01))
    found = text_numbers.overhead_figures(tables.as_paper_rows(changed))
    assert found["global/low"] == found["global/high"] == pytest.approx(0.01)
    assert (found["clustered/low"], found["clustered/high"]) == pytest.approx((0.01, 0.02))
    assert (found["percent/low"], found["percent/high"]) == pytest.approx((0, 100), abs=1e-9)
    assert found["Platt-coverage/ratio"] == pytest.approx(30)
    assert found["extraction/SHAP"] == pytest.approx(0.5)


def test_statements_hold_as_they_do_in_the_papers_own_tables(stored):
    """Its main table everywhere, and AUC of clustered methods higher by 1e-6 for every tree and level of depth."""
    size = stored["n_estimators"] * stored["max_depth"]
    higher = np.where(stored["representation"] == "Baseline", 0, 1e-6 * size)
    table = text_numbers.statements(tables.as_paper_rows(stored.assign(auc=stored["auc"] + higher)))
    found = table.set_index("statement")
    # Beta is better with plain features than with SHAP there, and clustered methods have the larger ECE in every pair.
    broken = ["SHAP and coverage both beat plain features", "changes of ECE are not significant"]
    assert found.index[~found["holds"]].tolist() == broken
    assert found.loc[broken[0], "ours"] == "2 of 3 families"
    assert found.loc["the method of the lowest NLL is clustered", "ours"] == "Platt with Coverage"
    assert found.loc["gains in AUC grow with capacity", "ours"] == "R² = 1.00"
    assert found.loc["Platt and Beta beat no calibration", "ours"] == "2 of 2 data sets"


def test_statements_fall_with_one_exception(stored):
    """Clustered methods are worse on one of the 12 pairs, and Platt is worse than nothing on one of two data sets."""
    there = (stored["dataset"] == "adult") & (stored["n_estimators"] == 100) & (stored["max_depth"] == 6)
    clustered, platt = stored["representation"] != "Baseline", stored["calibrator"] == "Platt"
    worse = (
        stored["nll"] + np.where(there & clustered, 0.1, 0) + np.where((stored["dataset"] == "wids") & platt, 0.1, 0)
    )
    found = text_numbers.statements(tables.as_paper_rows(stored.assign(nll=worse))).set_index("statement")
    for statement, ours in {
        "clustered wins every pair in NLL, chosen on test data": "11 of 12",
        "Platt and Beta beat no calibration": "1 of 2 data sets",
    }.items():
        assert (found.loc[statement, "ours"], found.loc[statement, "holds"]) == (ours, False)


def test_every_figure_has_a_name_that_the_paper_prints(stored, rows):
    variants = tables.as_paper_rows(make_variants(stored, "n_clusters=7", 0), group="variants")
    found = text_numbers.text_figures(rows, variants)
    printed = {name.removeprefix("figures/") for name in PRINTED.index if name.startswith("figures/")}
    assert printed <= set(found.index)


def test_papers_data_sets_of_the_ablation_are_known():
    assert set(text_numbers.VARIED) <= set(PAPER_DATASETS)
