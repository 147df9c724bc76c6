"""Every table from the small rows of `rows.py`, with answers worked out by hand."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from clustcal.experiments.paper import load_claims
from clustcal.experiments.tabular import tables
from tests.experiments.tabular.rows import make_small_rows, make_variants

# The 97.5 % point of Student's t with one degree of freedom; two values a, b have the half width T |a - b| / 2.
T = 12.7062047


@pytest.fixture
def stored():
    return make_small_rows()


@pytest.fixture
def rows(stored):
    return tables.as_paper_rows(stored)


def test_rows_get_the_papers_names(rows):
    assert set(rows["dataset"]) == {"Adult", "Stroke"}
    assert {"NLL", "AUC", "Brier", "ECE", "LCE", "Accuracy"} <= set(rows.columns)


def test_rows_of_other_groups_and_data_sets_are_left_out(stored):
    other = stored.assign(calibrator="Platt-CV", representation="SHAP")
    support2 = stored.assign(dataset="support2")
    everything = pd.concat([stored, other, support2, make_variants(stored, "n_clusters=7", 0)])
    assert len(tables.as_paper_rows(everything)) == len(stored)
    assert set(tables.as_paper_rows(everything, {"WiDS": "support2"})["dataset"]) == {"WiDS"}
    assert set(tables.as_paper_rows(everything, group="cv")["calibrator"]) == {"Platt-CV"}
    assert set(tables.as_paper_rows(everything, group="variants")["settings"]) == {"n_clusters=7"}


def test_performance_ranks_methods_by_mean_log_loss(rows):
    table = tables.performance(rows)
    assert list(table.index) == [
        ("Platt", "SHAP"),
        ("Platt", "Baseline"),
        ("TS", "SHAP"),
        ("TS", "Baseline"),
        ("base", "Baseline"),
    ]
    assert_allclose(table["NLL"], [0.3325, 0.35, 0.365, 0.3775, 0.45])
    assert_allclose(table["Brier"], [0.16625, 0.175, 0.1825, 0.18875, 0.225])
    assert_allclose(table["ECE"], [0.06, 0.05, 0.08, 0.075, 0.09])


def test_every_data_set_counts_the_same_in_a_mean(rows):
    """Adult with one seed instead of two changes its means by 0.002, and its weight not at all."""
    fewer = rows[(rows["dataset"] != "Adult") | (rows["seed"] == 0)]
    change = tables.performance(fewer)["NLL"] - tables.performance(rows)["NLL"]
    assert_allclose(change, -0.001, atol=1e-12)


def test_capacity_takes_the_best_of_each_kind_for_each_metric(rows):
    table = tables.capacity(rows)
    assert list(table.index) == [(100, 6), (300, 8)]
    assert_allclose(table[["NLL_non", "NLL_cl"]], [[0.30, 0.29], [0.40, 0.375]])
    assert_allclose(table[["AUC_non", "AUC_cl"]], [[0.70, 0.71], [0.60, 0.625]])
    assert_allclose(table[["ECE_non", "ECE_cl"]], [[0.05, 0.06], [0.05, 0.06]])


def test_pairs_are_chosen_by_log_loss_on_the_test_part(rows):
    nll = tables.pairs(rows)["NLL"]
    assert_allclose(nll["global"], [0.40, 0.49, 0.20, 0.30])
    assert_allclose(nll["clustered"], [0.39, 0.48, 0.18, 0.27])


def test_other_metrics_of_a_pair_are_those_of_the_chosen_methods(rows):
    ece = tables.pairs(rows)["ECE"]
    assert_allclose(ece["global"], [0.05, 0.075, 0.05, 0.05])
    assert_allclose(ece["clustered"], [0.06, 0.06, 0.08, 0.06])


def test_pairs_can_be_chosen_on_the_calibration_part(rows):
    """There the order of the methods is the reverse."""
    nll = tables.pairs(rows, "calibration")["NLL"]
    assert_allclose(nll["global"], [0.42, 0.50, 0.25, 0.35])
    assert_allclose(nll["clustered"], [0.41, 0.51, 0.19, 0.36])


def test_unknown_selection_is_refused(rows):
    with pytest.raises(ValueError, match=r"selection is 'train'; expected one of \('test', 'calibration'\)"):
        tables.pairs(rows, "train")


def test_family_gains_pair_every_run_with_the_global_method_of_its_family(rows):
    """Two families on two data sets, at two capacities and on two seeds, 0.002 around the log-losses of the table."""
    gains = tables.family_gains(rows)
    assert len(gains) == 16
    first = ("Adult", 100, 6, 0)
    assert gains[(*first, "Platt", "SHAP", "")] == pytest.approx(100 * (0.398 - 0.388) / 0.398)
    assert gains[("Adult", 300, 8, 1, "TS", "SHAP", "")] == pytest.approx(100 * (0.492 - 0.512) / 0.492)
    assert tables.family_gains(rows, "AUC")[(*first, "Platt", "SHAP", "")] == pytest.approx(100 * 0.01 / 0.60)


def test_family_gains_of_variants_are_over_the_same_global_method(stored, rows):
    variants = tables.as_paper_rows(make_variants(stored, "temperature=0.1", -0.1), group="variants")
    gains = tables.family_gains(pd.concat([rows, variants]))
    assert len(gains) == 32
    found = gains[("Adult", 100, 6, 0, "Platt", "SHAP", "temperature=0.1")]
    assert found == pytest.approx(100 * (0.398 - 0.9 * 0.388) / 0.398)


def test_improvement_is_relative_and_has_t_intervals(rows):
    """Log-loss falls by 1/40 and 1/49 on Adult, by 1/10 and 1/10 on Stroke."""
    table = tables.improvement(rows)
    a, b = 100 / 40, 100 / 49
    assert list(table.index) == ["Adult", "Stroke", "All"]
    assert_allclose(table["NLL", "mean"], [(a + b) / 2, 10, (a + b + 20) / 4])
    assert_allclose(table["NLL", "ci"].iloc[:2], [T * (a - b) / 2, 0], atol=1e-6)
    # AUC rises from 0.60 to 0.61, 0.51 to 0.52, 0.80 to 0.82, 0.70 to 0.73; ECE once falls by a fifth and else rises.
    assert_allclose(table["AUC", "mean"].iloc[:2], [(100 / 60 + 100 / 51) / 2, (200 / 80 + 300 / 70) / 2])
    assert_allclose(table["ECE", "mean"].iloc[:2], [0, -40], atol=1e-9)
    assert_allclose(table["ECE", "ci"].iloc[1], T * 20, rtol=1e-6)


def test_significance_counts_wins_and_tests_signs(rows):
    table = tables.significance(rows)
    assert table["pairs"].tolist() == [4, 4, 4, 4]
    assert table["wins"].to_dict() == {"NLL": 4, "AUC": 4, "Brier": 4, "ECE": 1}
    assert_allclose(table.loc["NLL", ["median", "median_relative"]].tolist(), [0.015, (2.5 + 10) / 2])
    assert table.loc["NLL", "p"] == 2 / 2**4
    assert table.loc["NLL", "p_datasets"] == 2 / 2**2
    # Gains of ECE are -0.01, 0.015, -0.03, -0.01: ranks 1.5, 3, 4, 1.5; five of 16 sets of ranks sum to at most 3.
    assert table.loc["ECE", "p"] == pytest.approx(2 * 5 / 2**4)


def test_significance_without_any_difference_has_no_p_value(rows):
    assert np.isnan(tables.significance(rows.assign(ECE=0.1)).loc["ECE", "p"])


def test_best_method_is_chosen_for_every_case_on_its_own(rows):
    """Of the global two, Platt is better but for Adult with 300 trees; of all five by AUC, the two with SHAP."""
    globals_ = rows[(rows["representation"] == "Baseline") & (rows["calibrator"] != "base")]
    best = tables.best_method(globals_)
    assert len(best) == 4 * 2
    assert best.groupby(["dataset", "max_depth"])["calibrator"].unique().str.join("+").tolist() == [
        "Platt",
        "TS",
        "Platt",
        "Platt",
    ]
    assert_allclose(best.groupby(["dataset", "max_depth"])["NLL"].mean(), [0.40, 0.49, 0.20, 0.30])
    by_auc = tables.best_method(rows, "AUC").groupby(["dataset", "max_depth"])["calibrator"].first()
    assert by_auc.tolist() == ["Platt", "Platt", "TS", "Platt"]


def test_compare_is_run_by_run(rows):
    """Platt with SHAP against Platt, both 0.002 lower at one seed and higher at the other."""
    platt = rows[rows["calibrator"] == "Platt"]
    clustered, global_ = (platt[platt["representation"] == name] for name in ("SHAP", "Baseline"))
    table = tables.compare(clustered, global_).loc["Stroke"]
    seeds = [100 * (0.01 / (0.20 + d) + 0.03 / (0.30 + d)) / 2 for d in (-0.002, 0.002)]
    assert_allclose(table["mean"], np.mean(seeds))
    overlap = np.sqrt((1 / 2 + 20 / 80) / (1 / 2))  # Nadeau and Bengio, for two splits
    assert_allclose(table["ci"], overlap * T * (seeds[0] - seeds[1]) / 2, rtol=1e-6)
    assert table[["runs", "wins"]].to_numpy().tolist() == [[4, 4]]


def test_compare_counts_losses_and_knows_which_way_is_better(rows):
    ts, base = rows[rows["calibrator"] == "TS"], rows[rows["calibrator"] == "base"]
    wins = tables.compare(ts, base, by=["representation"])["wins"]
    assert wins.to_dict() == {"Baseline": 6, "SHAP": 6}  # of 8: both lose on Stroke with 300 trees
    auc = tables.compare(ts[ts["dataset"] == "Adult"], base, "AUC").loc[("Adult", "TS", "SHAP")]
    assert auc["mean"] == pytest.approx(100 * np.mean([0.19 / 0.40, 0.09 / 0.40]))


def test_compare_refuses_a_reference_of_two_methods(rows):
    with pytest.raises(ValueError, match="reference has two rows of one data set, capacity and seed; expected one"):
        tables.compare(rows, rows)


def test_spread_is_the_deviation_of_the_table_of_each_seed(rows):
    """Log-losses lie 0.002 around their mean, Brier scores are the same for both seeds."""
    table = tables.spread(tables.performance, rows)
    assert set(table.index) == set(tables.performance(rows).index)
    assert_allclose(table["NLL"], 0.002 * np.sqrt(2))
    assert_allclose(table["Brier"], 0, atol=1e-12)


def test_correlations_are_means_over_capacities(rows):
    """Ranks by hand: ECE and log-loss correlate by 0.5 at the first capacity and by 0.9 at the second."""
    table = tables.correlations(rows)
    assert_allclose(table.loc["NLL"], [-1, -0.7, 1])
    assert_allclose(table.loc["ECE"], [-0.7, -1, 0.7])
    assert_allclose(table.loc["LCE"], [1, 0.7, -1])


def test_overhead_is_relative_to_the_global_method(rows):
    table = tables.overhead(rows)
    assert_allclose(table["fit"], [0.01, 0.03, 0.02, 0.03])
    assert_allclose(table["ratio"], [1, 3, 1, 1.5])
    assert_allclose(table.loc[("Platt", "SHAP"), ["clustering", "extraction"]].tolist(), [0.1, 2])
    assert np.isnan(table.loc[("Platt", "Baseline"), "clustering"])


def test_costs_count_what_a_unit_did_once(stored):
    """Four units of 10 s on each data set, in each of which SHAP values of one capacity took n / 100 seconds."""
    table = 3600 * tables.costs(stored)[["training", "extraction", "kernel", "all"]]
    assert_allclose(table.loc["adult"], [8, 2 * (1 + 3), 4, 40])
    assert tables.costs(stored)["units"].tolist() == [4, 4]
    assert_allclose(tables.costs(stored)["seconds_per_unit"], 10)
    methods = 3600 * tables.costs(stored)["methods"]
    assert_allclose(methods, 4 * (0.01 + 0.03 + 0.02 + 0.03) + 4 * 2 * 0.1 + 4 * 5 * 0.001)


def test_growth_takes_the_most_trees_and_shares_the_kernel(stored):
    """SHAP values of 300 trees took 3 s, and those of 100 trees of another depth 1 s; five methods share 1 s."""
    sizes = {"n_train": 60, "n_calibration": 20, "n_test": 20}
    larger = stored["dataset"] == "adult"
    sized = stored.assign(**{name: size * np.where(larger, 10, 1) for name, size in sizes.items()})
    table = tables.growth(sized)
    assert table["rows"].to_dict() == {"stroke": 100, "adult": 1000}
    assert_allclose(table.loc["adult", ["training", "SHAP", "kernel"]].tolist(), [2, 3, 1 / 5])
    assert_allclose(table.loc["adult", ["K-means", "fit", "prediction"]].tolist(), [0.1, 0.03, 0.001])
    assert table["coverage"].isna().all()


def test_variation_is_relative_to_the_papers_setting(stored, rows):
    """Log-loss rises by 2 % on Adult and falls by 1 % on Stroke; AUC stays."""
    shift = np.where(stored[stored["representation"] != "Baseline"]["dataset"] == "adult", 0.02, -0.01)
    variants = tables.as_paper_rows(make_variants(stored, "n_clusters=7", shift), group="variants")
    table = tables.variation(rows, variants, "n_clusters=7")
    assert_allclose(table.loc["NLL"], [0.5, 50, 50])
    assert_allclose(table.loc["AUC"], [0, 0, 0])
    assert np.isnan(tables.variation(rows, variants, "n_clusters=7", ("Data",)).loc["NLL", "mean"])


def test_datasets_stand_beside_those_of_the_paper():
    table = tables.datasets(load_claims())
    assert table.loc["Adult"].tolist() == ["adult", 14, 14, 48842, 48842, 11687]
    assert table.loc["Stroke", ["features", "our features"]].tolist() == [12, 10]
    assert pd.isna(table.loc["LOS", "our samples"])
