"""The parametric families, each stated once as features and a link: NLL, gradient, Hessian, bounds, identity.

Global, bin-wise and clustered calibration are the same families under other weights W, so everything here takes
the parameters of all K clusters at once. Builds on `probabilities`; `solvers` finds the parameters.

A family offers ``identity`` (the parameters that leave probabilities unchanged), ``lower`` and ``upper``
(bounds), ``features(P)``, ``nll(theta, X, codes, W)`` and ``predict(theta, X)``.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.special import expit, softmax

from clustcal.probabilities import log_probabilities

# Rows per pass: large enough to hide Python's overhead, small enough for the intermediate arrays to stay in cache.
BATCH = 8192
# A temperature outside these bounds is a sign of scores that say nothing, or of labels they separate.
INVERSE_TEMPERATURE_BOUNDS = (0.01, 100.0)


@dataclass(frozen=True)
class BinaryFamily:
    """Calibrators of the form q = sigmoid(x(p) @ theta), one row of features x(p) per score."""

    name: str
    transform: Callable[[np.ndarray, np.ndarray], list]  # log p, log(1 - p) -> the columns of x(p)
    identity: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    has_hessian: bool = field(default=True, init=False)

    def features(self, P):
        """Return x(p) for every row, shape (n, p)."""
        U = log_probabilities(P)
        return np.column_stack(self.transform(U[:, 1], U[:, 0]))

    def predict(self, theta, X):
        """Return the calibrated probabilities of both classes, shape (n, 2), for one theta (p,)."""
        z = X @ theta
        return np.column_stack([expit(-z), expit(z)])

    def nll(self, theta, X, codes, W):
        """Weighted NLL of all clusters in one pass: sum_i w_ik [log(1 + exp z_ik) - y_i z_ik], z = X theta'.

        Parameters
        ----------
        theta : (K, p), X : (n, p), codes : (n,) in {0, 1}, W : (n, K)

        Returns
        -------
        loss : (K,), gradient : (K, p), hessian : (K, p, p)
        """
        n_clusters, n_features = theta.shape
        rows, columns = np.triu_indices(n_features)
        loss = np.zeros(n_clusters)
        gradient = np.zeros((n_clusters, n_features))
        upper_triangle = np.zeros((n_clusters, rows.size))
        for start in range(0, len(X), BATCH):
            batch = slice(start, start + BATCH)
            x, y, w = X[batch], codes[batch, None], W[batch]
            z = x @ theta.T  # (b, K)
            e = np.exp(-np.abs(z))
            q = np.where(z >= 0, 1.0, e) / (1 + e)  # sigmoid(z) without overflow
            loss += np.einsum("nk,nk->k", w, np.log(1 + e) + np.maximum(z, 0) - y * z)
            gradient += (w * (q - y)).T @ x
            upper_triangle += (w * q * (1 - q)).T @ (x[:, rows] * x[:, columns])
        hessian = np.empty((n_clusters, n_features, n_features))
        hessian[:, rows, columns] = hessian[:, columns, rows] = upper_triangle
        return loss, gradient, hessian


def _bounds(*pairs):
    lower, upper = np.array(pairs).T
    return {"lower": lower, "upper": upper}


_FREE, _POSITIVE = (-np.inf, np.inf), (0.0, np.inf)

PLATT = BinaryFamily("Platt", lambda u, v: [u - v, np.ones_like(u)], np.array([1.0, 0.0]), **_bounds(_FREE, _FREE))
TEMPERATURE = BinaryFamily("temperature", lambda u, v: [u - v], np.array([1.0]), **_bounds(INVERSE_TEMPERATURE_BOUNDS))
BETA = BinaryFamily(
    "Beta",
    lambda u, v: [u, -v, np.ones_like(u)],
    np.array([1.0, 1.0, 0.0]),
    **_bounds(_POSITIVE, _POSITIVE, _FREE),
)


# A Hessian of more parameters than this is not formed; its products with vectors are used instead.
DENSE = 500


class SoftmaxFamily:
    """Calibrators of the form q = softmax(z), with z linear in theta and in log p; the subclass says how.

    A subclass gives ``logits(theta, U)``, its adjoint ``adjoint(U, R)`` (the gradient of sum(R * logits) in theta),
    and ``hessian(U, Q, w)``.
    """

    # The weight of the square of each parameter in a penalty that is a part of the family.
    penalty = 0.0

    def __init__(self, n_classes):
        self.n_classes = n_classes

    @property
    def lower(self):
        return np.full(self.identity.size, -np.inf)

    @property
    def upper(self):
        return np.full(self.identity.size, np.inf)

    @property
    def has_hessian(self):
        return self.identity.size <= DENSE

    def features(self, P):
        """Return log p, shape (n, L)."""
        return log_probabilities(P)

    def predict(self, theta, U):
        """Return the calibrated probabilities, shape (n, L), for one theta (p,)."""
        return softmax(self.logits(theta, U), axis=1)

    def nll(self, theta, U, codes, W):
        """Weighted NLL of every cluster, sum_i w_ik [-log q_k(y_i)] plus penalty, as `BinaryFamily.nll`.

        The penalty is scaled by the cluster's weight, as the NLL is. The Hessian is None for a family that has too
        many parameters to hold one.
        """
        parts = [self._nll_of_one(theta_k, U, codes, w) for theta_k, w in zip(theta, W.T, strict=True)]
        loss, gradient, hessian = zip(*parts, strict=True)
        return np.array(loss), np.array(gradient), np.array(hessian) if self.has_hessian else None

    def hessian_product(self, theta, U, w):
        """Return the map v -> H v of one cluster, for as many v as wanted."""
        Q = self.predict(theta, U)
        penalty = 2 * w.sum() * self.penalty

        def product(v):
            change = self.logits(v, U)  # z is linear in theta
            change *= Q
            change -= Q * change.sum(axis=1, keepdims=True)
            return self.adjoint(U, change * w[:, None]) + penalty * v

        return product

    def _nll_of_one(self, theta, U, codes, w):
        rows = np.arange(len(U))
        z = self.logits(theta, U)
        z -= z.max(axis=1, keepdims=True)
        Q = np.exp(z)
        total = Q.sum(axis=1)
        penalty = w.sum() * self.penalty
        loss = w @ (np.log(total) - z[rows, codes]) + np.sum(penalty * theta**2)
        Q /= total[:, None]
        hessian = None
        if self.has_hessian:
            hessian = self.hessian(U, Q, w) + np.diag(2 * penalty * np.ones(theta.size))
        Q[rows, codes] -= 1  # from here on the residual Q - Y
        return loss, self.adjoint(U, Q * w[:, None]) + 2 * penalty * theta, hessian


class TemperatureFamily(SoftmaxFamily):
    """z = theta log p with one theta = 1 / T > 0, in which the NLL is convex."""

    identity = np.ones(1)
    lower = np.array(INVERSE_TEMPERATURE_BOUNDS[:1])
    upper = np.array(INVERSE_TEMPERATURE_BOUNDS[1:])

    def logits(self, theta, U):
        return theta[0] * U

    def adjoint(self, U, R):
        return np.array([np.vdot(U, R)])

    def hessian(self, U, Q, w):
        mean = np.einsum("nl,nl->n", Q, U)
        variance = np.einsum("nl,nl,nl->n", Q, U, U) - mean**2
        return np.array([[w @ variance]])


class VectorFamily(SoftmaxFamily):
    """z_l = a_l log p_l + b_l; theta holds the L slopes a, then the L intercepts b."""

    @property
    def identity(self):
        return np.repeat([1.0, 0.0], self.n_classes)

    def logits(self, theta, U):
        slopes, intercepts = np.split(theta, 2)
        return slopes * U + intercepts

    def adjoint(self, U, R):
        return np.concatenate([np.einsum("nl,nl->l", U, R), R.sum(axis=0)])

    def hessian(self, U, Q, w):
        # With F = [U * Q, Q] the second derivatives are a diagonal in each block, less the outer product F'wF.
        slopes, intercepts = np.split(np.arange(2 * self.n_classes), 2)
        hessian = -_gram(np.hstack([U * Q, Q]), w)
        hessian[slopes, slopes] += w @ (U**2 * Q)
        hessian[intercepts, intercepts] += w @ Q
        hessian[slopes, intercepts] += w @ (U * Q)
        hessian[intercepts, slopes] += w @ (U * Q)
        return hessian


class DirichletFamily(SoftmaxFamily):
    """z = V log p + b; theta holds, class by class, the row of V and then b_l, so L (L + 1) parameters.

    Its penalty is ``l2`` times the squared norm of theta, or, where ``odir`` is given as (off-diagonal, intercept),
    off-diagonal * mean of V_lm^2 over l != m + intercept * mean of b_l^2.
    """

    def __init__(self, n_classes, l2=0.0, odir=None):
        super().__init__(n_classes)
        self.l2 = l2
        self.odir = odir

    @property
    def identity(self):
        return np.eye(self.n_classes, self.n_classes + 1).ravel()

    @property
    def penalty(self):
        n = self.n_classes
        if self.odir is None:
            return np.full(n * (n + 1), self.l2)
        off_diagonal, intercept = self.odir
        weights = np.full((n, n + 1), off_diagonal / (n * (n - 1)))
        np.fill_diagonal(weights, 0.0)
        weights[:, n] = intercept / n
        return weights.ravel()

    def features(self, P):
        """Return log p and a column of ones, shape (n, L + 1)."""
        return np.column_stack([log_probabilities(P), np.ones(len(P))])

    def logits(self, theta, U):
        return U @ theta.reshape(self.n_classes, -1).T

    def adjoint(self, U, R):
        return (R.T @ U).ravel()

    def hessian(self, U, Q, w):
        # The block of classes l and m is sum_i w u u' (q_l [l = m] - q_l q_m).
        hessian = -_gram((Q[:, :, None] * U[:, None, :]).reshape(len(U), -1), w)
        for block, q in zip(np.split(np.arange(len(hessian)), self.n_classes), Q.T, strict=True):
            hessian[np.ix_(block, block)] += _gram(U, w * q)
        return hessian


def _gram(F, w):
    """Return sum_i w_i f_i f_i'; the product of a matrix with its own transpose costs half of any other."""
    F = np.sqrt(w)[:, None] * F
    return F.T @ F
