"""Structured scaling: the interface, its limits, and what it does with many classes and few rows."""

import warnings

import numpy as np
import pytest
from scipy.special import log_softmax, softmax
from sklearn.base import clone

from clustcal import DirichletCalibration, StructuredScaling, TemperatureScaling, VectorScaling, metrics
from tests.calibrators.interface import CHECKS, make_data, name_of

SHRUNK = [StructuredScaling(), VectorScaling(), DirichletCalibration()]


@pytest.mark.parametrize("check", CHECKS, ids=name_of)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_interface(check, n_classes):
    check(StructuredScaling(), n_classes)


def simulated(n, n_classes, spread=0.0, seed=0):
    """Scores that are too sure; with a spread, some classes come too often, in rows to fit and rows to test on."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 2, (n + 4000, n_classes))
    truth = softmax(logits + spread * rng.normal(size=n_classes), axis=1)
    y = (truth.cumsum(axis=1) > rng.random((len(truth), 1))).argmax(axis=1)
    P = softmax(2 * logits, axis=1)
    return P[:n], y[:n], P[n:], y[n:]


def loss(calibrator, P, y, P_test, y_test):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fitted = clone(calibrator).set_params(classes=np.arange(P.shape[1])).fit(P, y)
    return metrics.log_loss(y_test, fitted.predict_proba(P_test), labels=np.arange(P.shape[1]))


@pytest.mark.parametrize("calibrator", SHRUNK, ids=name_of)
@pytest.mark.parametrize(("n", "n_classes"), [(300, 10), (150, 50)])
def test_where_there_is_nothing_to_correct_little_is_lost(calibrator, n, n_classes):
    data = simulated(n, n_classes)
    excess = loss(calibrator, *data) - loss(TemperatureScaling(), *data)
    assert excess < 0.02
    assert excess < 0.6 * (loss(VectorScaling(prior=None), *data) - loss(TemperatureScaling(), *data))


@pytest.mark.parametrize("calibrator", SHRUNK, ids=name_of)
@pytest.mark.parametrize(("n", "n_classes"), [(300, 10), (2000, 50)])
def test_classes_that_differ_are_corrected(calibrator, n, n_classes):
    data = simulated(n, n_classes, spread=1.0)
    assert loss(calibrator, *data) < loss(TemperatureScaling(), *data) - 0.05


@pytest.mark.parametrize("calibrator", SHRUNK, ids=name_of)
def test_a_class_without_rows_keeps_a_probability(calibrator):
    P, y, P_test, _ = simulated(200, 5)
    seen = y != 4
    with pytest.warns(UserWarning, match=r"no label of the classes? .*4"):
        fitted = clone(calibrator).set_params(classes=np.arange(5)).fit(P[seen], y[seen])
    assert fitted.predict_proba(P_test)[:, 4].mean() > 0.005


def test_one_sure_and_wrong_forecast_costs_no_more_than_its_bound():
    """The mixture with the uniform distribution: no probability falls far below 1 / (n L^2)."""
    P, y, _, _ = make_data(3, n=100)[0], make_data(3, n=100)[1], None, None
    certain = np.array([[1.0, 0.0, 0.0]])
    q = StructuredScaling().fit(P, y).predict_proba(certain)
    assert q.min() > 1e-2 / (100 * 3**2)


def test_the_prediction_is_the_formula_of_the_docstring():
    P, y, P_test, _ = simulated(400, 6, spread=1.0)
    fitted = StructuredScaling().fit(P, y)
    epsilon = 1 / (400 * 6)
    u = np.log((1 - epsilon) * softmax(np.log(P_test) / fitted.temperature_, axis=1) + epsilon / 6)
    phi = 5 * np.maximum(np.exp(u) - 0.001, 0)
    A = np.eye(6) + np.diag(fitted.slopes_) + fitted.log_matrix_
    expected = softmax(u @ A.T + phi @ fitted.matrix_.T + fitted.intercepts_, axis=1)
    np.testing.assert_allclose(fitted.predict_proba(P_test), expected, atol=1e-12)
    assert np.diag(fitted.matrix_).tolist() == np.diag(fitted.log_matrix_).tolist() == [0] * 6


def test_vector_scaling_with_a_prior_is_its_formula_at_a_stationary_point():
    """The gradient of the NLL plus the prior vanishes in slopes and intercepts, at the temperature of its own."""
    P, y, _, _ = simulated(60, 4, spread=1.0)
    fitted = VectorScaling().fit(P, y)
    a, b = np.split(fitted.theta_, 2)
    t = 1 / TemperatureScaling().fit(P, y).temperature_
    tau_a, tau_b = np.split(fitted._penalty.precision, 2)
    R = softmax(a * np.log(P) + b, axis=1) - np.eye(4)[y]
    np.testing.assert_allclose(np.sum(R * log_softmax(np.log(P), axis=1), axis=0) + tau_a * (a - t), 0, atol=1e-4)
    np.testing.assert_allclose(R.sum(axis=0) + tau_b * b, 0, atol=1e-4)
