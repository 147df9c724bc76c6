"""NLL, gradient and Hessian of every family against finite differences and against plain formulas."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.special import expit, log_softmax, logit
from sklearn.metrics import log_loss

from clustcal.core import families
from clustcal.core.probabilities import as_probabilities

N, K, L = 60, 3, 4
BINARY = [families.PLATT, families.TEMPERATURE, families.BETA]
MULTICLASS = [
    families.TemperatureFamily(L),
    families.VectorFamily(L),
    families.DirichletFamily(L, l2=0.01),
    families.DirichletFamily(L, odir=(0.3, 0.2)),
    families.DirichletFamily(L, l2=0.1, shrink_to="temperature"),
]


def make_case(family, seed=0):
    """Probabilities, labels, weights and parameters away from any optimum."""
    rng = np.random.default_rng(seed)
    n_classes = 2 if isinstance(family, families.BinaryFamily) else L
    P = rng.dirichlet(np.ones(n_classes), N)
    codes = rng.integers(n_classes, size=N)
    W = rng.uniform(0, 2, (N, K))
    theta = family.identity + rng.uniform(0.1, 0.5, (K, family.identity.size))
    return P, family.features(P), codes, W, theta


@pytest.mark.parametrize("family", BINARY + MULTICLASS)
class TestEveryFamily:
    def test_identity_leaves_probabilities_unchanged(self, family):
        P, X, *_ = make_case(family)
        np.testing.assert_allclose(family.predict(family.identity, X), P, rtol=1e-12)

    def test_gradient_is_that_of_finite_differences(self, family):
        _, X, codes, W, theta = make_case(family)
        for k in range(K):
            error = check_grad(
                lambda t, k=k: family.nll(t[None], X, codes, W[:, [k]])[0][0],
                lambda t, k=k: family.nll(t[None], X, codes, W[:, [k]])[1][0],
                theta[k],
            )
            assert error < 2e-4

    def test_hessian_is_that_of_finite_differences(self, family):
        _, X, codes, W, theta = make_case(family)
        h = 1e-5
        for i in range(theta.shape[1]):
            shift = np.zeros_like(theta)
            shift[:, i] = h
            numeric = family.nll(theta + shift, X, codes, W)[1] - family.nll(theta - shift, X, codes, W)[1]
            np.testing.assert_allclose(family.nll(theta, X, codes, W)[2][:, i], numeric / (2 * h), rtol=1e-5, atol=1e-5)

    def test_what_the_contract_names_is_there(self, family):
        _, X, codes, W, theta = make_case(family)
        assert family.identity.shape == family.lower.shape == family.upper.shape == (theta.shape[1],)
        loss, gradient, hessian = family.nll(theta, X, codes, W)
        assert loss.shape == (K,)
        assert gradient.shape == theta.shape
        assert (hessian is not None) == family.has_hessian
        assert family.predict(theta[0], X).shape == (N, family.n_classes)

    def test_clusters_do_not_touch_each_other(self, family):
        _, X, codes, W, theta = make_case(family)
        together = family.nll(theta, X, codes, W)[0]
        alone = [family.nll(theta[[k]], X, codes, W[:, [k]])[0][0] for k in range(K)]
        np.testing.assert_allclose(together, alone, rtol=1e-12)

    def test_rows_sum_to_1(self, family):
        _, X, _, _, theta = make_case(family)
        np.testing.assert_allclose(family.predict(theta[0], X).sum(axis=1), 1, atol=1e-12)

    def test_nll_is_the_log_loss_of_the_prediction(self, family):
        _, X, codes, W, theta = make_case(family)
        expected = log_loss(codes, family.predict(theta[0], X), sample_weight=W[:, 0]) * W[:, 0].sum()
        if isinstance(family, families.DirichletFamily):
            V, b = np.split(theta[0].reshape(L, L + 1), [L], axis=1)
            off, diagonal = V[~np.eye(L, dtype=bool)], np.diag(V)
            if family.odir is not None:
                penalty = 0.3 * np.mean(off**2) + 0.2 * np.mean(b**2)
            elif family.shrink_to == "zero":
                penalty = family.l2 * (theta[0] ** 2).sum()
            else:
                penalty = family.l2 * (np.sum((diagonal - diagonal.mean()) ** 2) + np.sum(off**2) + np.sum(b**2))
            expected += penalty * W[:, 0].sum()
        assert family.nll(theta, X, codes, W)[0][0] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_whitener_of_dirichlet_is_exact_for_a_single_row(ridge):
    """The Hessian of one row is a Kronecker product, and so are its eigenvectors."""
    family = families.DirichletFamily(L, l2=0.05)
    _, X, codes, _, theta = make_case(family)
    hessian = family.nll(theta[:1], X[:1], codes[:1], np.full((1, 1), 3.0))[2][0] / 3
    T = np.column_stack([family.whitener(theta[0], X[:1], np.array([3.0]), ridge)(e) for e in np.eye(theta.shape[1])])
    np.testing.assert_allclose(T, T.T, atol=1e-10)
    np.testing.assert_allclose(T @ (hessian + ridge * np.eye(len(T))) @ T, np.eye(len(T)), atol=1e-8)


def test_whitener_of_vector_scaling_scales_every_slope_and_intercept_together():
    family = families.VectorFamily(L)
    _, X, codes, W, theta = make_case(family)
    hessian = family.nll(theta[:1], X, codes, W[:, :1])[2][0] / W[:, 0].sum()
    T = np.column_stack([family.whitener(theta[0], X, W[:, 0], 0.2)(e) for e in np.eye(2 * L)])
    whitened = T @ (hessian + 0.2 * np.eye(2 * L)) @ T
    for k in range(L):
        own = np.ix_([k, L + k], [k, L + k])
        np.testing.assert_allclose(whitened[own], np.eye(2), atol=1e-10)


@pytest.mark.parametrize("family", [families.VectorFamily(L), families.DirichletFamily(L)])
def test_whitener_is_finite_without_any_weight(family):
    _, X, _, _, theta = make_case(family)
    assert np.isfinite(family.whitener(theta[0], X, np.zeros(N), 0.0)(theta[0])).all()


def test_formulas_of_the_binary_families():
    p = np.array([0.1, 0.5, 0.8])
    X = {family.name: family.features(as_probabilities(p)) for family in BINARY}
    np.testing.assert_allclose(
        families.PLATT.predict(np.array([2.0, 0.3]), X["Platt"])[:, 1], expit(2 * logit(p) + 0.3)
    )
    np.testing.assert_allclose(
        families.TEMPERATURE.predict(np.array([0.5]), X["temperature"])[:, 1], expit(logit(p) / 2)
    )
    beta = families.BETA.predict(np.array([2.0, 0.5, 0.3]), X["Beta"])[:, 1]
    np.testing.assert_allclose(beta, expit(2 * np.log(p) - 0.5 * np.log(1 - p) + 0.3))


def test_formulas_of_the_multiclass_families():
    P = np.array([[0.2, 0.3, 0.5]])
    U = np.log(P)
    a, b, V = np.array([1.0, 2.0, 3.0]), np.array([0.1, 0.2, 0.3]), np.arange(9.0).reshape(3, 3) / 9
    expected = {
        families.TemperatureFamily(3): (np.array([0.5]), U / 2),
        families.VectorFamily(3): (np.concatenate([a, b]), a * U + b),
        families.DirichletFamily(3): (np.column_stack([V, b]).ravel(), np.array([V @ U[0] + b])),
    }
    for family, (theta, z) in expected.items():
        np.testing.assert_allclose(
            np.log(family.predict(theta, family.features(P))), log_softmax(z, axis=1), rtol=1e-12
        )


def test_extreme_logits_neither_overflow_nor_vanish():
    X = families.PLATT.features(as_probabilities([0.0, 1.0]))
    loss, gradient, hessian = families.PLATT.nll(np.array([[1e5, 0.0]]), X, np.array([1, 0]), np.ones((2, 1)))
    assert np.isfinite(loss).all()
    assert loss[0] == pytest.approx(2 * 36.04365e5, rel=1e-5)
    assert np.isfinite(gradient).all()
    assert np.isfinite(hessian).all()


def test_along_a_neutral_direction_of_unit_length_the_loss_does_not_change():
    for family in BINARY + MULTICLASS:
        if family.neutral is None:
            continue
        assert np.linalg.norm(family.neutral) == pytest.approx(1)
        _, X, codes, W, theta = make_case(family)
        for step in (-2.0, 0.5):
            moved = family.nll(theta + step * family.neutral, X, codes, W)[0]
            np.testing.assert_allclose(moved, family.nll(theta, X, codes, W)[0], rtol=1e-12)
    assert families.VectorFamily(L).neutral is not None


@pytest.mark.parametrize("family", [families.VectorFamily(L), families.DirichletFamily(L)])
def test_curvature_is_the_diagonal_of_the_hessian(family):
    """A family that may be too large for a Hessian gives what the solver uses in its place."""
    _, X, codes, W, theta = make_case(family)
    hessian = family.nll(theta[:1], X, codes, W[:, :1])[2][0]
    of_penalty = 2 * family.penalty
    np.testing.assert_allclose(family.curvature(theta[0], X, W[:, 0]) + of_penalty, np.diag(hessian), rtol=1e-8)
