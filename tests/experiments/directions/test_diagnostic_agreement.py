"""Diagnostics of forecasts of the shipped scores."""

import numpy as np
import pytest

from clustcal import metrics
from clustcal.datasets import load_scores
from clustcal.experiments.directions import diagnostic_agreement as agreement


def test_parts_of_the_test_rows_do_not_overlap():
    y = np.arange(9000) % 2
    first, second = agreement.parts_of_test(y, 0)
    assert len(first) == len(second) == agreement.ROWS
    assert not set(first) & set(second)


def test_gaps_and_gains_by_hand():
    y = np.tile([0, 0, 0, 1, 1, 1, 1, 0], 50)
    p = np.full(400, 0.5)
    hard = np.tile(np.repeat(np.eye(2), 4, axis=0), (50, 1))
    found = agreement.diagnostics(y, p, {"hard": hard, "narrow": hard, "flat": np.full((400, 2), 0.5)})
    assert found["gap hard"] == pytest.approx(0.25)
    assert found["gap flat"] == pytest.approx(0)
    assert found["gain flat"] == pytest.approx(0, abs=1e-6)
    assert found["gain hard"] == pytest.approx(0.13, abs=0.01)  # KL(1/4, 1/2)
    assert found["ece"] == pytest.approx(0)


def test_forecasts_of_the_shipped_scores():
    scores = load_scores("credit_approval")
    q = agreement.forecasts(scores)
    assert len(q) == 13
    assert (q["base rate"] == scores.y_cal.mean()).all()
    assert metrics.log_loss(scores.y_test, q["Platt"]) < metrics.log_loss(scores.y_test, q["base rate"])


def test_a_calibrated_forecast_alarms_rarely(monkeypatch):
    monkeypatch.setattr(agreement, "REDRAWS", 10)
    rng = np.random.default_rng(0)
    found = agreement.of_calibrated(rng.uniform(0.05, 0.95, 400), rng.dirichlet(np.ones(3), 400), 5)
    assert found["false alarms"] <= 0.2
    assert found["gain narrow"] < 0.003
    assert found["ece"] > 0.02
