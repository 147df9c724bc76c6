"""How metrics order methods: answers worked out by hand on three methods, three seeds and one or two data sets."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from clustcal.experiments.tabular import rankings, tables
from tests.experiments.tabular.rows import make_small_rows

METHODS = [("Isotonic", "Baseline"), ("Platt", "Baseline"), ("Platt", "SHAP")]
# Log-loss of the three methods (in this order) by seed, and the same of their AUC and of a calibration error.
NLL = [[0.30, 0.20, 0.30], [0.22, 0.22, 0.22], [0.20, 0.21, 0.20]]
AUC = [[0.6, 0.6, 0.6], [0.7, 0.7, 0.7], [0.8, 0.8, 0.8]]
ECE = [[0.01, 0.01, 0.01], [0.02, 0.02, 0.02], [0.03, 0.03, 0.01]]


def make_rows(nll=NLL, auc=AUC, ece=ECE, dataset="stroke"):
    rows = [
        {"dataset": dataset, "n_estimators": 100, "max_depth": 6, "seed": seed, "calibrator": name, "representation": Z}
        | {"NLL": nll[i][seed], "Brier": nll[i][seed] / 2, "AUC": auc[i][seed], "AdaECE": ece[i][seed]}
        for i, (name, Z) in enumerate(METHODS)
        for seed in range(3)
    ]
    return pd.DataFrame(rows)


def test_plain_names_say_what_the_papers_ece_and_lce_are():
    paper = tables.as_paper_rows(make_small_rows())
    plain = rankings.plain_names(paper)
    assert set(rankings.METRICS) <= set(plain.columns)
    assert plain["AdaECE"].equals(paper["ECE"])
    assert plain["MLCE"].equals(paper["LCE"])


def test_ranks_are_of_means_over_seeds_and_one_is_best():
    ranks = rankings.mean_ranks(make_rows(), ["NLL", "AUC", "AdaECE"])
    assert ranks.loc[METHODS, "NLL"].tolist() == [3, 2, 1]
    assert ranks.loc[METHODS, "AUC"].tolist() == [3, 2, 1]
    assert ranks.loc[METHODS, "AdaECE"].tolist() == [1, 2, 3]


def test_ranks_are_means_over_data_sets():
    other = make_rows(nll=NLL[::-1], dataset="adult")
    ranks = rankings.mean_ranks(pd.concat([make_rows(), other]), ["NLL"])
    assert ranks.loc[METHODS, "NLL"].tolist() == [2, 2, 2]


def test_seeds_that_order_alike_agree():
    """Orders of log-loss: 3 2 1, then 1 3 2, then 3 2 1. Two of the three correlations are -0.5, the third is 1."""
    agreement = rankings.seed_agreement(make_rows(), ["NLL", "AUC"])
    assert_allclose(agreement.loc["stroke"], [0.0, 1.0], atol=1e-12)


def test_ties_have_middle_ranks():
    """Ranks 1.5 1.5 3, twice 1 2 3: correlations sqrt(3) / 2 twice, and 1."""
    ece = [[0.1, 0.1, 0.1], [0.1, 0.2, 0.2], [0.2, 0.3, 0.3]]
    agreement = rankings.seed_agreement(make_rows(ece=ece), ["AdaECE"])
    assert_allclose(agreement.loc["stroke", "AdaECE"], (2 * np.sqrt(0.75) + 1) / 3)


def test_a_metric_without_differences_agrees_with_nothing():
    assert np.isnan(rankings.seed_agreement(make_rows(auc=[[0.5] * 3] * 3), ["AUC"]).loc["stroke", "AUC"])


def test_choice_is_judged_on_the_other_seeds():
    """By log-loss seeds 0 and 2 choose the clustered method, seed 1 chooses the isotonic one.

    On the other seeds log-loss is 0.25 0.22 0.205, then 0.30 0.22 0.20, then 0.25 0.22 0.205.
    """
    by_nll = rankings.choices(make_rows(), ["NLL"]).set_index("seed")
    assert by_nll["best"].tolist() == [1, 0, 1]
    assert_allclose(by_nll["regret"], [0, 50, 0], atol=1e-9)


def test_choice_by_another_metric_is_judged_by_the_judge_and_by_itself():
    """The calibration error chooses the isotonic method; at seed 2 it ties with the clustered one."""
    by_ece = rankings.choices(make_rows(), ["AdaECE"]).set_index("seed")
    assert by_ece["best"].tolist() == [0, 0, 0.5]
    assert_allclose(by_ece["regret"], [100 * (0.25 / 0.205 - 1), 50, 50 * (0.25 / 0.205 - 1)])
    assert by_ece["own best"].tolist() == [1, 1, 0.5]


def test_regret_in_auc_counts_what_is_lost():
    by_ece = rankings.choices(make_rows(), ["AdaECE"], judge="AUC").set_index("seed")
    assert_allclose(by_ece["regret"].iloc[:2], 25)


def test_pairs_say_which_method_a_metric_prefers():
    pairs = rankings.compare_pairs(make_rows(), ["NLL", "AUC", "AdaECE"])
    assert len(pairs) == 3 * 3
    is_pair = (pairs["first"] == "Isotonic/Baseline") & (pairs["second"] == "Platt/SHAP")
    pair = pairs[is_pair].set_index("seed")
    assert pair["NLL"].tolist() == [-1, 1, -1]
    assert pair["AUC"].tolist() == [-1, -1, -1]
    assert pair["AdaECE"].tolist() == [1, 1, 0]


def test_pairs_have_kinds():
    pairs = rankings.compare_pairs(make_rows(), ["NLL"])
    kinds = pairs.drop_duplicates(["first", "second"]).set_index(["first", "second"])["kind"]
    assert kinds["Platt/Baseline", "Platt/SHAP"] == "clustered, its global"
    assert kinds["Isotonic/Baseline", "Platt/SHAP"] == "parametric, binned"


def test_contradictions_need_the_agreement_of_all_judges_in_every_seed():
    """Log-loss and AUC agree in all seeds on one pair only: that of Platt with and without clusters."""
    (verdict,) = _contradictions(make_rows())
    assert (verdict.better, verdict.worse) == ("Platt/SHAP", "Platt/Baseline")


@pytest.mark.parametrize(
    ("of_clustered", "word"),
    [([0.03, 0.03, 0.03], "reversed"), ([0.01, 0.01, 0.01], "same"), ([0.01, 0.03, 0.03], "undecided")],
)
def test_a_contradiction_needs_every_seed(of_clustered, word):
    (verdict,) = _contradictions(make_rows(ece=[ECE[0], [0.02, 0.02, 0.02], of_clustered]))
    assert verdict.AdaECE == word


def test_the_toy_example_is_a_contradiction():
    """Before: 0.6931, 0.25, 0.5 and 0. After: 0.6325, 0.22, 0.7 and 0.1."""
    values = {"NLL": [0.6931, 0.6325], "Brier": [0.25, 0.22], "AUC": [0.5, 0.7], "AdaECE": [0.0, 0.1]}
    key = {"dataset": "toy", "n_estimators": 1, "max_depth": 1, "seed": 0, "representation": ["Baseline", "SHAP"]}
    (verdict,) = _contradictions(pd.DataFrame(key | {"calibrator": "Platt"} | values))
    assert (verdict.better, verdict.AdaECE) == ("Platt/SHAP", "reversed")


def test_a_missing_run_is_refused():
    with pytest.raises(ValueError, match=r"rows has 8 runs of .*; expected 3 methods x 3 seeds"):
        rankings.choices(make_rows().iloc[1:], ["NLL"])


def _contradictions(rows):
    pairs = rankings.compare_pairs(rows, ["NLL", "Brier", "AUC", "AdaECE"])
    return list(rankings.contradictions(pairs, ["AdaECE"]).itertuples())
