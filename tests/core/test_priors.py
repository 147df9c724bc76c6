"""Priors: Platt's smoothed targets and densities, written out once more."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.special import expit
from scipy.stats import multivariate_normal, norm

from clustcal.core.priors import Prior, slope_prior, smoothing_tilt, two_slopes_prior


def test_the_tilt_is_what_smoothed_targets_change():
    rng = np.random.default_rng(0)
    X, codes, weights = rng.normal(size=(30, 2)), np.arange(30) % 3 // 2, rng.uniform(0.5, 2, 30)
    theta = np.array([0.7, -0.3])
    ones, zeros = weights[codes == 1].sum(), weights[codes == 0].sum()
    targets = np.where(codes == 1, (ones + 1) / (ones + 2), 1 / (zeros + 2))  # Platt (2000)
    nll = lambda t: -weights @ (t * np.log(expit(X @ theta)) + (1 - t) * np.log(expit(-X @ theta)))
    assert nll(targets) - nll(codes) == pytest.approx(smoothing_tilt(X, codes, weights) @ theta)


@pytest.mark.parametrize("prior", [slope_prior(0), slope_prior(1, np.array([0.2, -0.1])), two_slopes_prior()])
def test_derivatives_agree_with_finite_differences(prior):
    theta = np.linspace(0.3, 0.9, len(prior.centre))
    cost, gradient, hessian = prior.cost(theta[None])
    assert cost.shape == (1,)
    value = lambda theta: prior.cost(theta[None])[0][0]
    np.testing.assert_allclose(gradient[0], approx_fprime(theta, value, 1e-7), atol=1e-5)
    slope = lambda theta: prior.cost(theta[None])[1][0]
    by_differences = [approx_fprime(theta, lambda t, k=k: slope(t)[k], 1e-7) for k in range(len(theta))]
    np.testing.assert_allclose(hessian, by_differences, atol=1e-4)


def test_the_prior_of_a_slope_is_the_normal_density_of_the_docstring():
    """Differences of the cost are those of log-densities."""
    a, b = np.array([0.5, 0.0]), np.array([1.2, -0.7])
    cost = slope_prior(1).cost(np.array([a, b]))[0]
    log_density = lambda theta: norm(0.5, 0.5).logpdf(theta[0]) + norm(0, 2).logpdf(theta[1])
    assert cost[1] - cost[0] == pytest.approx(log_density(a) - log_density(b))


def test_the_prior_of_two_slopes_is_that_of_their_mean_and_of_their_difference():
    covariance = np.linalg.inv(two_slopes_prior().precision)
    to_mean_and_difference = np.array([[0.5, 0.5, 0], [1, -1, 0], [0, 0, 1]])
    np.testing.assert_allclose(
        to_mean_and_difference @ covariance @ to_mean_and_difference.T, np.diag([0.5**2, 0.25**2, 2**2]), atol=1e-12
    )
    assert multivariate_normal(two_slopes_prior().centre, covariance).mean.tolist() == [0.5, 0.5, 0]


def test_a_prior_that_is_moved_keeps_its_strength_and_loses_its_tilt():
    prior = Prior(np.zeros(2), np.array([4.0, 1.0]), np.ones(2))
    cost, gradient, _ = prior.moved_to(np.array([1.0, 2.0])).cost(np.array([[1.0, 2.0], [2.0, 2.0]]))
    assert cost.tolist() == [0, 2]
    assert gradient[0].tolist() == [0, 0]
