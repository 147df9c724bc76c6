"""Ranks of calibrators: wins, intervals, paired differences and agreement by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from clustcal.experiments.alternatives import standings


def made_up_rows(nll):
    """Losses by data set (first level) and method."""
    lines = [
        {"dataset": name, "n": 10, "draw": 0, "method": method, "nll": value, "nll_base": 0.5}
        for name, of_methods in nll.items()
        for method, value in of_methods.items()
    ]
    return pd.DataFrame(lines)


def test_win_rates_and_their_interval_by_hand():
    rows = made_up_rows({"a": {"x": 0.1, "y": 0.2}, "b-seed0": {"x": 0.9, "y": 0.2}, "b-seed1": {"x": 0.1, "y": 0.2}})
    table = standings.losses(rows)
    assert list(table) == ["x", "y", standings.BASE]
    found = standings.standings(table)
    assert found["win_rate"].round(3).to_dict() == {"x": 0.75, "y": 0.625, standings.BASE: 0.125}
    assert found.loc["x", ["low", "high"]].tolist() == [0.5, 1.0]  # of the two data sets one has 1/2, the other 1


def test_networks_and_targets_of_one_data_set_count_as_one_as_splits_do():
    """x wins on every network on CIFAR-100 and loses on the other data set: a half, not three quarters."""
    wins, loses = {"x": 0.1, "y": 0.2}, {"x": 0.3, "y": 0.2}
    names = {"cifar100-densenet": wins, "cifar100-resnet20": wins, "cifar100-wideresnet": wins, "cifar10-resnet": loses}
    rates = standings.win_rates(standings.losses(made_up_rows(names))[["x", "y"]])
    assert standings._by_data_set(rates)["x"].to_dict() == {"cifar10": 0.0, "cifar100": 1.0}


def test_only_draws_that_every_method_has_are_compared():
    rows = pd.concat([made_up_rows({"a": {"x": 0.1, "y": 0.2}}), made_up_rows({"a": {"x": 0.9}}).assign(draw=1)])
    assert standings.losses(rows).index.get_level_values("draw").tolist() == [0]


def test_a_method_that_an_experiment_lacks_is_not_compared():
    rows = made_up_rows({"a": {"x": 0.1, "y": 0.2}, "b": {"x": 0.1}})
    assert list(standings.losses(rows)) == ["x", standings.BASE]


def test_paired_differences_by_hand():
    draws = pd.DataFrame({"draw": [0, 1, 2], "ours": [0.2, 0.3, 0.4], "far": [0.9, 0.9, 0.9], "near": [0.2, 0.2, 0.2]})
    rows = draws.melt("draw", var_name="method", value_name="nll").assign(dataset="a", n=10, nll_base=0.5)
    (line,) = standings.paired(rows, "ours", ["far", "near"]).to_dict("records")
    assert line["difference"] == pytest.approx(0.1)
    assert line["half_width"] == pytest.approx(4.302653 * 0.1 / np.sqrt(3))  # the t quantile of two degrees of freedom
    assert line["worst"] == pytest.approx(0.4 / 0.3)


def test_agreement_is_spearmans_correlation_of_the_two_orders():
    rows = made_up_rows({"a": {"isotonic": 0.3, "centred isotonic": 0.2, "Venn-Abers": 0.1}})
    published = pd.Series({"Isotonic": 0.5, "CIR": 0.7, "Venn-Abers": 0.6, "XGBoost": 0.9})
    orders, (value, low, high) = standings.agreement(standings.losses(rows), published)
    assert orders.index.tolist() == ["CIR", "Venn-Abers", "Isotonic"]
    assert orders["here"].tolist() == [0.5, 1.0, 0.0]
    assert value == low == high == pytest.approx(spearmanr([2, 1, 0], [1, 2, 0]).statistic)


def test_the_published_ranking_names_the_methods_that_are_the_same_here():
    published = standings.read_published()
    assert set(published.index.get_level_values("kind")) == {"binary", "multiclass"}
    assert set(standings.SAME) <= set(published.index.get_level_values("method"))
