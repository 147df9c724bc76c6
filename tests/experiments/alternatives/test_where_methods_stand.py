"""Where calibrators stand: draws, rows, wins by hand, and what the committed rows must have."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import spearmanr

from clustcal import PlattScaling, metrics
from clustcal.experiments import runner
from clustcal.experiments.alternatives import standings, where_methods_stand
from clustcal.experiments.alternatives.where_methods_stand import METHODS, SOURCES, StandingStudy
from clustcal.experiments.store import Store

FEW = [method for method in METHODS if method.name in ("temperature", "Platt", "Platt, no prior")]


@pytest.fixture
def study(monkeypatch):
    monkeypatch.setattr(where_methods_stand, "METHODS", tuple(FEW))
    return StandingStudy(("credit_approval",), draws=2)


def new_store(folder):
    return Store(folder, where_methods_stand.KEY, where_methods_stand.COLUMNS, where_methods_stand.TEXT)


def test_a_study_is_complete_after_a_run_and_a_second_run_does_nothing(study, tmp_path):
    load, store = where_methods_stand.load_parts, new_store(tmp_path)
    assert runner.run(study, store, load=load, progress=False).done == 6  # n = 20, 50 and 100 of 138 rows, twice
    assert runner.run(study, store, load=load, progress=False) == (0, 6, 0)
    rows = store.read()
    assert len(rows) == 6 * 3
    parts = load("credit_approval")
    base = metrics.log_loss(parts.y_test, parts.P_test)
    assert (rows["nll_base"] - base).abs().max() < 1e-6
    drawn, P_test, y_test = where_methods_stand.draw_rows(parts, 50, 1)
    platt = PlattScaling().fit(parts.P[drawn], parts.y[drawn])
    (found,) = rows.query("n == 50 and draw == 1 and method == 'Platt'")["nll"]
    assert found == pytest.approx(metrics.log_loss(y_test, platt.predict_proba(P_test)), abs=1e-6)


def test_rows_that_are_drawn_from_one_pool_are_not_tested_on():
    pool = where_methods_stand.Parts(np.eye(3)[np.arange(90) % 3], np.arange(90) % 3)
    drawn, P_test, _ = where_methods_stand.draw_rows(pool, 30, 0)
    assert len(set(drawn.tolist())) == 30
    assert len(P_test) == 60


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


def test_committed_rows_have_every_source_and_every_draw_of_what_is_compared():
    rows = where_methods_stand.read()
    assert set(rows["dataset"]) == set(SOURCES)
    assert np.isfinite(rows["nll"]).all()
    counts = rows[rows["method"].isin(["structured", "probmetrics: SVS", "probmetrics: SMS", "temperature"])]
    assert (counts.groupby(["dataset", "n", "method"]).size() == where_methods_stand.DRAWS).all()
    assert set(standings.read_published().index.get_level_values("kind")) == {"binary", "multiclass"}
