"""The fit behind ridge calibration: its derivatives, its two Hessians, and the equation that its precisions solve."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime, check_grad

from clustcal.core import ridge_evidence
from clustcal.core.ridge_evidence import HessianByClass, WholeHessian


def pose(n_classes, n=150, m=3, seed=0):
    rng = np.random.default_rng(seed)
    S = rng.normal(size=(n, 1 if n_classes == 2 else n_classes))
    Phi = rng.normal(size=(n, m))
    codes = rng.integers(n_classes, size=n)
    return ridge_evidence.pose(S, Phi, codes, rng.uniform(0.5, 2, n), n_classes)


def at_random(problem, seed=1):
    rng = np.random.default_rng(seed)
    theta = rng.normal(size=1 + problem.S.shape[1] * problem.X.shape[1])
    precision = ridge_evidence._precision(problem, rng.uniform(0.5, 2, problem.X.shape[1] - 1))
    return theta, precision


def gradient(problem, theta, precision):
    Q = ridge_evidence._evaluate(problem, theta, precision)[2]
    return ridge_evidence._gradient(problem, theta, precision, Q)


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_the_gradient_is_that_of_the_objective(n_classes):
    problem = pose(n_classes)
    theta, precision = at_random(problem)
    value = lambda t: ridge_evidence._evaluate(problem, t, precision)[1]
    slope = lambda t: ridge_evidence._gradient(
        problem, t, precision, ridge_evidence._evaluate(problem, t, precision)[2]
    )
    assert check_grad(value, slope, theta) < 1e-5


@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_both_hessians_solve_with_the_derivatives_of_the_gradient(n_classes):
    """In the directions that the data or the priors determine: a constant added to all intercepts changes nothing."""
    problem = pose(n_classes)
    theta, precision = at_random(problem)
    slope = lambda t: ridge_evidence._gradient(
        problem, t, precision, ridge_evidence._evaluate(problem, t, precision)[2]
    )
    H = approx_fprime(theta, slope, 1e-7)
    Q = ridge_evidence._evaluate(problem, theta, precision)[2]
    g = slope(theta)
    kinds = [WholeHessian] if n_classes == 2 else [WholeHessian, HessianByClass]
    for kind in kinds:
        np.testing.assert_allclose(H @ kind(problem, precision, Q).solve(g), g, atol=2e-3 * np.abs(g).max())


def test_the_diagonal_of_the_inverse():
    problem = pose(2)
    theta, precision = at_random(problem)
    Q = ridge_evidence._evaluate(problem, theta, precision)[2]
    X = np.column_stack([problem.S, problem.X])
    H = (X * (problem.weights * Q[:, 0] * (1 - Q[:, 0]))[:, None]).T @ X + np.diag(precision)
    found = WholeHessian(problem, precision, Q).inverse_diagonal()
    np.testing.assert_allclose(found[0], np.linalg.inv(H).diagonal()[1:], rtol=1e-8)


def test_by_class_the_inverse_leaves_out_the_other_classes():
    problem = pose(3)
    theta, precision = at_random(problem)
    Q = ridge_evidence._evaluate(problem, theta, precision)[2]
    found = HessianByClass(problem, precision, Q).inverse_diagonal()
    for c in range(3):
        v = problem.weights * Q[:, c] * (1 - Q[:, c])
        block = (problem.X * v[:, None]).T @ problem.X + np.diag(precision[1:5])
        np.testing.assert_allclose(found[c], np.linalg.inv(block).diagonal(), rtol=1e-6)


def test_scores_alone_are_logistic_regression_at_a_stationary_point():
    problem = pose(2)
    a, b = ridge_evidence.fit_scores_alone(problem)
    q = 1 / (1 + np.exp(-(a * problem.S[:, 0] + b[0])))
    away = problem.weights * (q - problem.codes)
    assert abs(away.sum()) < 1e-10
    assert abs(away @ problem.S[:, 0]) < 1e-10


def test_more_caution_never_weakens_a_prior_and_much_of_it_drops_a_block():
    rng = np.random.default_rng(0)
    Phi = rng.normal(size=(400, 4))
    codes = (rng.random(400) < 1 / (1 + np.exp(-Phi[:, 0]))).astype(int)
    problem = ridge_evidence.pose(rng.normal(size=(400, 1)), Phi, codes, np.ones(400), 2)
    found = [ridge_evidence.fit(problem, [4], caution).precisions[0] for caution in (0, 0.5, 2, 1e6)]
    assert sorted(found) == found
    assert found[-1] == np.inf
    assert np.isfinite(found[0])


def test_a_class_without_rows_has_an_anchor_and_others_have_none():
    problem = ridge_evidence.pose(np.zeros((4, 3)), np.zeros((4, 1)), np.array([0, 1, 0, 1]), np.ones(4), 3)
    apart = np.array([-0.5, -0.5, 1.0])
    np.testing.assert_allclose(problem.anchor, np.outer(apart, apart) / 4 / 4)  # a variance of 4, and 4 rows
    assert not pose(3).anchor.any()
