"""Fits that stop: without a stop the optimum, and after no step where they start."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from clustcal import BetaCalibration, ClusteredCalibration, PlattScaling, TemperatureScaling
from clustcal.datasets import make_subpopulations
from clustcal.experiments.tabular.readings.stopped_fits import stopped_fit, stopped_forecast
from clustcal.experiments.tabular.units import Part


@pytest.fixture(scope="module")
def parts():
    data = make_subpopulations(1200, random_state=0)
    p = np.asarray(data.P)
    p = p if p.ndim == 1 else p[:, 1]
    return [Part(p[rows], data.y[rows], data.Z[rows]) for rows in (slice(0, 600), slice(600, None))]


@pytest.mark.parametrize("family", [PlattScaling, BetaCalibration, TemperatureScaling])
@pytest.mark.parametrize("loss", ["mean", "sum"])
def test_without_a_stop_it_is_clustered_calibration(parts, family, loss):
    cal, test = parts
    calibrator = ClusteredCalibration(family(prior=None), temperature=0.1, loss=loss, random_state=0)
    calibrator.fit(cal.P, cal.y, cal.Z)
    found = stopped_forecast(calibrator, cal, test, iterations=10_000)
    assert_allclose(found, calibrator.predict_proba(test.P, test.Z), atol=2e-3)


def test_more_iterations_never_lose(parts):
    cal, _ = parts
    family = PlattScaling().family(2)
    X, w = family.features(np.column_stack([1 - cal.P, cal.P])), np.ones(len(cal.y))
    losses = []
    for iterations in (1, 2, 3, 50):
        theta = stopped_fit(family, X, cal.y, w, 0.0, 0.0, "mean", iterations)
        losses.append(family.nll(theta[None], X, cal.y, w[:, None])[0][0])
    assert losses == sorted(losses, reverse=True)
    assert losses[0] > losses[-1] + 1e-3
