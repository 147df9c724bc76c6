"""Ensemble temperature scaling against scipy, a closed form, and a certificate of the optimum."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar
from scipy.special import softmax
from sklearn.exceptions import ConvergenceWarning

from clustcal import TemperatureScaling, metrics
from clustcal.calibrators.ensemble import EnsembleTemperatureScaling
from tests.calibrators.interface import CHECKS, fit, make_data, name_of

LOSSES = ["ce", "mse"]
EVERY = [(EnsembleTemperatureScaling(loss), n_classes) for loss in LOSSES for n_classes in (2, 3)]

EPS = np.finfo(float).eps  # where log 0 is taken


@pytest.mark.parametrize("check", CHECKS, ids=name_of)
@pytest.mark.parametrize(("calibrator", "n_classes"), EVERY, ids=name_of)
def test_interface(check, calibrator, n_classes):
    check(calibrator, n_classes)


def overconfident(n_classes, n=1000, seed=0):
    """Scores that are too sure by a temperature of 2, of which a tenth say nothing."""
    rng = np.random.default_rng(seed)
    U = rng.normal(0, 2, (n, n_classes))
    truth = 0.9 * softmax(U / 2, axis=1) + 0.1 / n_classes
    return softmax(U, axis=1), (truth.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)


def tempered(P, temperature):
    return softmax(np.log(P.clip(1e-300)) / temperature, axis=1)


def loss_of(Q, y, loss, weights=None):
    right = Q[np.arange(len(y)), y]
    if loss == "ce":
        return np.average(-np.log(right), weights=weights)
    return np.average(((Q - np.eye(Q.shape[1])[y]) ** 2).sum(axis=1), weights=weights)


@pytest.mark.parametrize("n_classes", [2, 5])
@pytest.mark.parametrize("loss", LOSSES)
class TestAgainstScipy:
    def test_temperature(self, loss, n_classes):
        P, y = overconfident(n_classes)
        found = minimize_scalar(
            lambda T: loss_of(tempered(P, T), y, loss), bounds=(0.05, 5), method="bounded", options={"xatol": 1e-10}
        )
        assert EnsembleTemperatureScaling(loss).fit(P, y).temperature_ == pytest.approx(found.x, abs=1e-5)

    def test_weights(self, loss, n_classes):
        """Nelder-Mead on the two weights that are free, kept on the simplex by a wall: no gradient in common."""
        P, y = overconfident(n_classes)
        fitted = EnsembleTemperatureScaling(loss).fit(P, y)
        Q = tempered(P, fitted.temperature_)

        def objective(free):
            w = np.append(free, 1 - free.sum())
            if w.min() < 0:
                return 10 - w.min()
            return loss_of(w[0] * Q + w[1] * P + w[2] / n_classes, y, loss)

        options = {"xatol": 1e-10, "fatol": 1e-15, "maxiter": 4000}
        peers = [
            minimize(objective, start, method="Nelder-Mead", options=options) for start in ([0.3, 0.3], [0.8, 0.1])
        ]
        assert objective(fitted.weights_[:2]) <= min(peer.fun for peer in peers) + 1e-9


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_that_made_the_labels_are_found_again(loss):
    """Each score comes with both labels, weighted by its true probability: the exact population. T is given."""
    P = softmax(np.random.default_rng(0).normal(0, 2, (50, 3)), axis=1)
    truth = 0.6 * tempered(P, 2.0) + 0.3 * P + 0.1 / 3
    fitted = EnsembleTemperatureScaling(loss, bounds=(2.0, 2.0))
    fitted.fit(np.repeat(P, 3, axis=0), np.tile([0, 1, 2], 50), sample_weight=truth.ravel())
    assert fitted.temperature_ == 2
    np.testing.assert_allclose(fitted.weights_, [0.6, 0.3, 0.1], atol=1e-5)
    np.testing.assert_allclose(fitted.predict_proba(P), truth, atol=1e-6)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 10**6),
    n_classes=st.sampled_from([2, 3, 10]),
    style=st.sampled_from(["smooth", "tied", "hard"]),
    loss=st.sampled_from(LOSSES),
)
def test_no_other_weights_are_better(seed, n_classes, style, loss):
    """For a convex loss f, f(w) - f(any v) is at most the largest fall that the gradient at w promises."""
    P, y, _ = make_data(n_classes, 60, seed, style)
    fitted = fit(EnsembleTemperatureScaling(loss), P, y, None)
    parts = [tempered(P.clip(EPS, 1 - EPS), fitted.temperature_), P, np.full_like(P, 1 / n_classes)]
    Q = sum(w * part for w, part in zip(fitted.weights_, parts, strict=True))
    rows = np.arange(len(y))
    if loss == "ce":
        gradient = np.array([-(part[rows, y] / Q[rows, y]).mean() for part in parts])
    else:
        residual = Q - np.eye(n_classes)[y]
        gradient = np.array([2 * (residual * part).sum(axis=1).mean() for part in parts])
    assert fitted.weights_.min() >= 0
    assert fitted.weights_.sum() == pytest.approx(1, abs=1e-12)
    assert gradient @ fitted.weights_ - gradient.min() < 1e-6


def test_it_is_never_worse_than_temperature_scaling_in_the_sample():
    P, y = overconfident(4)
    alone = metrics.log_loss(y, TemperatureScaling().fit(P, y).predict_proba(P))
    assert metrics.log_loss(y, EnsembleTemperatureScaling().fit(P, y).predict_proba(P)) < alone - 1e-4


@pytest.mark.parametrize("loss", LOSSES)
def test_the_order_of_classes_stays(loss):
    P, y = overconfident(5)
    Q = EnsembleTemperatureScaling(loss).fit(P, y).predict_proba(P)
    np.testing.assert_array_equal(Q.argmax(axis=1), P.argmax(axis=1))
    assert (np.diff(np.take_along_axis(Q, P.argsort(axis=1), axis=1), axis=1) >= 0).all()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("right", [True, False])
def test_the_temperature_stays_within_its_bounds(loss, right):
    """gpleiss/temperature_scaling issues 20 and 23: T that explodes or turns negative."""
    P, _ = overconfident(3)
    y = P.argmax(axis=1) if right else P.argmin(axis=1)
    fitted = fit(EnsembleTemperatureScaling(loss, bounds=(0.5, 3.0)), P, y, None)
    assert fitted.temperature_ == pytest.approx(0.5 if right else 3.0, abs=1e-6)
    assert 0.5 <= fitted.temperature_ <= 3.0


def test_separable_data_give_finite_values_and_a_warning():
    """autogluon PR 4396: a temperature of inf or nan."""
    with pytest.warns(ConvergenceWarning, match="separate"):
        fitted = EnsembleTemperatureScaling().fit([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1])
    assert 0.05 <= fitted.temperature_ < 0.1
    np.testing.assert_allclose(fitted.predict_proba([0.1, 0.9])[:, 1], [0, 1], atol=1e-6)


def test_scores_that_say_nothing_become_uniform():
    """Labels that are even for every score: all weight goes to 1 / L."""
    p = np.repeat(np.linspace(0.05, 0.95, 20), 2)
    Q = EnsembleTemperatureScaling(bounds=(0.05, 2.0)).fit(p, np.tile([0, 1], 20)).predict_proba(p)
    np.testing.assert_allclose(Q, 0.5, atol=1e-4)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"loss": "nll"}, "loss"),
        ({"bounds": (0.0, 5.0)}, "bounds"),
        ({"bounds": (2.0, 1.0)}, "bounds"),
        ({"bounds": (1.0,)}, "bounds"),
        ({"bounds": (0.1, np.inf)}, "bounds"),
        ({"bounds": (np.nan, 1.0)}, "bounds"),
    ],
)
def test_bad_parameters_are_named_before_anything_is_fitted(wrong, message):
    unfitted = EnsembleTemperatureScaling(**wrong)
    with pytest.raises(ValueError, match=message):
        unfitted.fit([0.2, 0.4, 0.6, 0.8], [0, 1, 0, 1])
    assert not hasattr(unfitted, "weights_")
