"""The fit under priors whose strengths the data choose: optimum, strengths and limits."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.exceptions import ConvergenceWarning

from clustcal import StructuredScaling, VectorScaling
from clustcal.core import evidence

SURE = 1e12  # strengths that are worth this many parameters stay where they are


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    base = log_softmax(rng.normal(0, 1.5, (120, 3)), axis=1)
    truth = softmax(0.7 * base + [0.5, 0, -0.5], axis=1)
    codes = (truth.cumsum(axis=1) > rng.random((120, 1))).argmax(axis=1)
    return base, codes, rng.uniform(0.5, 2, 120)


def test_the_optimum_is_that_of_scipy_on_the_objective_written_out(data):
    base, codes, weights = data
    n_classes = base.shape[1]
    strength = np.full((n_classes, n_classes), 7.0)
    blocks = [
        evidence.Slopes(np.ones_like(base), 2.0, SURE),
        evidence.Slopes(base, 5.0, SURE),
        evidence.Mixing(sparse.csr_matrix(np.exp(base)), strength, SURE, one_by_one=True),
    ]

    def objective(x):
        intercepts, slopes, matrix = x[:3], x[3:6], x[6:].reshape(3, 3)
        logits = base * (1 + slopes) + intercepts + np.exp(base) @ matrix.T
        nll = -weights @ log_softmax(logits, axis=1)[np.arange(len(base)), codes]
        return nll + intercepts @ intercepts + 2.5 * slopes @ slopes + 3.5 * np.sum(matrix**2)

    found = minimize(objective, np.zeros(15), method="BFGS", options={"gtol": 1e-5}).x
    ours = evidence.fit(base, blocks, codes, weights)
    assert ours.factors == pytest.approx([1, 1, 1], rel=1e-6)
    np.testing.assert_allclose(np.concatenate([np.ravel(theta) for theta in ours.thetas]), found, atol=1e-4)
    assert ours.failure is None


@pytest.mark.parametrize("weight", [1.0, 1e4, 1e9])
def test_large_weights_leave_maximum_likelihood(weight):
    """Intercepts alone, of classes whose rates the scores do not know: the logarithms of the rates, up to a constant.

    Many rows and few, as they are fitted in other digits.
    """
    for n in (300, 30_000):
        codes = np.arange(n) % 10 // 4  # rates of 4, 4 and 2 in ten
        block = evidence.Intercepts(np.ones((n, 3)), 1e-3, 3.0)
        found = evidence.fit(np.zeros((n, 3)), [block], codes, np.full(n, weight))
        np.testing.assert_allclose(softmax(found.thetas[0]), [0.4, 0.4, 0.2], atol=1e-3)
        assert found.failure is None


def test_a_diagonal_is_held_at_0_whatever_rows_weigh():
    rng = np.random.default_rng(3)
    base = log_softmax(rng.normal(0, 1.5, (500, 3)), axis=1)
    codes = rng.integers(0, 3, 500)
    for weights in (np.ones(500), np.full(500, 1e15)):
        block = evidence.matrix_on_logs(base, weights)
        (theta,) = evidence.fit(base, [block], codes, weights).thetas
        assert np.abs(theta).max() > 0.01 > 1e6 * np.abs(np.diag(theta)).max()


def test_an_optimum_that_is_not_reached_is_told(monkeypatch):
    monkeypatch.setattr(evidence, "LIMITS", {"maxiter": 1, "maxfun": 2})
    rng = np.random.default_rng(4)
    P, y = rng.dirichlet(np.ones(4), 200), np.where(np.arange(200) % 10 < 7, 0, np.arange(200) % 4)
    with pytest.warns(ConvergenceWarning, match="L-BFGS stopped early"):
        StructuredScaling().fit(P, y)
    with pytest.warns(ConvergenceWarning, match="L-BFGS stopped early"):
        VectorScaling().fit(P, y)


def test_strengths_follow_the_size_of_what_there_is_to_correct():
    """Where classes truly differ the prior gives way, and where they do not it grows."""
    rng = np.random.default_rng(1)
    base = log_softmax(rng.normal(0, 1.5, (4000, 12)), axis=1)
    factors = []
    for spread in (0.0, 1.5):
        truth = softmax(base + spread * rng.normal(size=12), axis=1)
        codes = (truth.cumsum(axis=1) > rng.random((4000, 1))).argmax(axis=1)
        factors.append(evidence.fit(base, evidence.slopes_of_classes(base), codes, np.ones(4000)).factors[0])
    assert 2 * factors[1] < 1 < factors[0] / 2


def test_what_the_data_determine_is_counted_by_the_trace_formula():
    """gamma = p - tau trace of the inverse Hessian (MacKay 1992), with all parameters of a class in one Hessian."""
    rng = np.random.default_rng(2)
    features, U, C = rng.normal(size=(50, 4)), rng.normal(size=(50, 4)), rng.uniform(0, 0.25, (50, 4))
    tau, matrix = np.full(4, 3.0), np.full((4, 4), 5.0)
    blocks = [evidence.Slopes(features, 3.0, 1.0), evidence.Mixing(U, matrix, 1.0)]
    expected = np.zeros(2)
    for label in range(4):
        F = np.column_stack([features[:, label], U])
        covariance = np.linalg.inv(F.T @ np.diag(C[:, label]) @ F + np.diag([3.0, 5, 5, 5, 5]))
        expected += [1 - 3 * covariance[0, 0], 4 - 5 * np.trace(covariance[1:, 1:])]
    curvatures = [block.curvature(C) for block in blocks]
    np.testing.assert_allclose(evidence._determined(blocks, [tau, matrix], C, curvatures), expected)
    alone = evidence._determined(blocks[:1], [tau], C, curvatures[:1])
    h = np.sum(C * features**2, axis=0)
    assert alone == pytest.approx([np.sum(h / (h + 3))])


def test_parameters_of_features_that_do_not_overlap_are_counted_one_by_one():
    """Which is then the trace formula."""
    features, C = np.kron(np.eye(3), np.ones((20, 1))), np.random.default_rng(3).uniform(0, 0.25, (60, 2))
    strength = np.full((2, 3), 4.0)
    blocks = [evidence.Mixing(features, strength, 1.0, one_by_one=alone) for alone in (False, True)]
    dense, one_by_one = (evidence._determined([block], [strength], C, [block.curvature(C)]) for block in blocks)
    np.testing.assert_allclose(dense, one_by_one)


def test_a_matrix_is_left_out_where_its_prior_leaves_no_room():
    rng = np.random.default_rng(3)
    few, many = (log_softmax(rng.normal(0, 2, (300, n_classes)), axis=1) for n_classes in (5, 60))
    assert evidence.matrix_on_logs(few, np.ones(300)) is not None
    assert evidence.matrix_on_logs(many, np.ones(300)) is None
