"""Where calibrators stand: draws, rows, and what the committed rows must have."""

import numpy as np
import pytest

from clustcal import PlattScaling, metrics
from clustcal.experiments import runner
from clustcal.experiments.alternatives import where_methods_stand
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
    """Every row of the pool is another one, so that it can be found again."""
    P = np.random.default_rng(0).dirichlet(np.ones(3), 90)
    drawn, P_test, y_test = where_methods_stand.draw_rows(where_methods_stand.Parts(P, np.arange(90) % 3), 30, 0)
    of_test = [np.flatnonzero((row == P).all(axis=1)).item() for row in P_test]
    assert sorted([*drawn, *of_test]) == list(range(90))
    assert y_test.tolist() == [row % 3 for row in of_test]


def test_few_rows_of_some_scores_are_drawn_more_often_by_some_methods():
    units = StandingStudy(("adult", "credit_approval")).units()
    of = lambda name, n: [draw for *unit, draw in units if unit == [name, n]]
    assert of("adult", 300) == list(range(30))
    assert of("adult", 1000) == of("credit_approval", 50) == list(range(10))
    isotonic, bbq = (next(one for one in METHODS if one.name == name) for name in ("isotonic", "BBQ"))
    assert [isotonic.serves(2, 29), isotonic.serves(2, 30)] == [True, False]
    assert [bbq.serves(2, 9), bbq.serves(2, 10), bbq.serves(10, 0)] == [True, False, False]


def test_committed_rows_have_every_draw_of_every_method_and_name_their_commit():
    rows = where_methods_stand.read()
    assert set(rows["dataset"]) == set(SOURCES)
    assert np.isfinite(rows["nll"]).all()
    assert rows["commit"].str.fullmatch("[0-9a-f]{7,}").all()
    for (name, n, n_classes), group in rows.groupby(["dataset", "n", "n_classes"]):
        most = where_methods_stand.draws_of(name, n)
        expected = {(one.name, draw) for one in METHODS for draw in range(most) if one.serves(n_classes, draw)}
        assert set(zip(group["method"], group["draw"], strict=True)) == expected
