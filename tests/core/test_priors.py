"""Priors: Platt's smoothed targets and densities, written out once more."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import expit
from scipy.stats import cauchy, norm

from clustcal.core.priors import (
    Prior,
    quadratic_prior,
    slope_prior,
    smoothing_tilt,
    spline_prior,
    temperature_prior,
    two_slopes_prior,
    unit,
    widened,
)


def test_the_tilt_is_what_smoothed_targets_change():
    rng = np.random.default_rng(0)
    X, codes, weights = rng.normal(size=(30, 2)), np.arange(30) % 3 // 2, rng.uniform(0.5, 2, 30)
    theta = np.array([0.7, -0.3])
    ones, zeros = weights[codes == 1].sum(), weights[codes == 0].sum()
    targets = np.where(codes == 1, (ones + 1) / (ones + 2), 1 / (zeros + 2))  # Platt (2000)
    nll = lambda t: -weights @ (t * np.log(expit(X @ theta)) + (1 - t) * np.log(expit(-X @ theta)))
    assert nll(targets) - nll(codes) == pytest.approx(smoothing_tilt(X, codes, weights) @ theta)


PRIORS = [
    temperature_prior(),
    slope_prior(1, np.array([0.2, -0.1])),
    two_slopes_prior(0.2, 3.0),
    quadratic_prior(-1.0, 2.0),
    spline_prior(2, 5.0),
    Prior(np.ones(2), np.array([[2.0, 1.0], [1.0, 3.0]])),
]


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("first", [0.3, 1.7], ids=["flat", "steep"])
def test_derivatives_agree_with_finite_differences(prior, first):
    theta = np.linspace(first, 0.9, len(prior.centre))
    cost, gradient, hessian = prior.cost(theta[None])
    assert cost.shape == (1,)
    value = lambda theta: prior.cost(theta[None])[0][0]
    np.testing.assert_allclose(gradient[0], approx_fprime(theta, value, 1e-7), atol=1e-5)
    slope = lambda theta: prior.cost(theta[None])[1][0]
    by_differences = [approx_fprime(theta, lambda t, k=k: slope(t)[k], 1e-7) for k in range(len(theta))]
    np.testing.assert_allclose(np.squeeze(hessian), np.squeeze(by_differences), atol=1e-4)


def test_a_slope_below_what_is_expected_costs_a_normal_density_and_all_steeper_ones_the_same():
    """Differences of the cost are those of log-densities, of the mean of a normal distribution if that is below."""
    of_slope = lambda slope: slope_prior(1).cost(np.array([[slope, -7.0]]))[0][0]
    log_density = norm(0.75, 0.5).logpdf
    assert of_slope(-0.3) - of_slope(0.4) == pytest.approx(log_density(0.4) - log_density(-0.3))
    assert of_slope(0.75) == of_slope(2.0) == of_slope(1e6) == 0


def test_a_temperature_alone_is_expected_to_be_at_most_1():
    cost = temperature_prior().cost(np.array([[0.5], [1.0], [30.0]]))[0]
    assert cost.tolist() == [0.5, 0.0, 0.0]  # (1 - 1/2)^2 / (2 * 0.5^2)


def test_the_slope_of_beta_calibration_is_the_mean_derivative_of_its_logit():
    p, theta = np.array([0.1, 0.3, 0.2]), np.array([0.9, 0.4, -1.0])
    z = np.log(p / (1 - p))
    logit_of = lambda z: theta[0] * np.log(expit(z)) - theta[1] * np.log(expit(-z)) + theta[2]
    derivative = np.mean((logit_of(z + 1e-5) - logit_of(z - 1e-5)) / 2e-5)
    assert two_slopes_prior(p.mean(), 1.0).slope @ theta == pytest.approx(derivative)


def test_the_unit_is_one_over_the_spread_of_narrow_logits_and_1_otherwise():
    z, weights = np.array([0.1, 0.3, 0.3]), np.array([2.0, 1.0, 1.0])
    assert unit(z, weights) == pytest.approx(10)
    assert unit(z - 5, weights) == pytest.approx(10)
    assert unit(100 * z, weights) == 1
    assert unit(np.full(3, 0.3), weights) == 1


@pytest.mark.parametrize("unit", [1.0, 3.0])
def test_a_skew_beyond_the_width_is_pulled_as_by_cauchys_density_and_one_within_as_by_a_normal_one(unit):
    for skew, density in [(0.3 * unit, norm(0, 0.5 * unit)), (0.6 * unit, cauchy(0, 0.5 * unit))]:
        theta = np.array([[skew, 0.0, 0.0]])
        prior = two_slopes_prior(1.0, widened(unit, skew))  # with a mean probability of 1 a is no part of the slope
        pull = prior.cost(theta)[1][0][0]
        assert pull == pytest.approx(-(density.logpdf(skew + 1e-6) - density.logpdf(skew - 1e-6)) / 2e-6, rel=1e-5)


def test_a_prior_that_is_moved_keeps_its_strength_and_loses_its_tilt():
    prior = Prior(np.zeros(2), np.array([4.0, 1.0]), np.ones(2))
    cost, gradient, _ = prior.moved_to(np.array([1.0, 2.0])).cost(np.array([[1.0, 2.0], [2.0, 2.0]]))
    assert cost.tolist() == [0, 2]
    assert gradient[0].tolist() == [0, 0]
