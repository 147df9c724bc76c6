"""The parametric families, each stated once as features and a link: NLL, gradient, Hessian, bounds, identity.

Global, bin-wise and clustered calibration are the same families under other weights W, so everything here takes
the parameters of all K clusters at once. Builds on `probabilities`; `solvers` finds the parameters.

`Family` says what a family owes the solver; `BinaryFamily` and `SoftmaxFamily` are its two kinds.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from scipy.special import expit, log_softmax, softmax

from clustcal.core.probabilities import EPS, log_probabilities

# Rows per pass: large enough to hide Python's overhead, small enough for the intermediate arrays to stay in cache.
BATCH = 8192
# The same for probabilities of many classes, in numbers: rows times classes.
BATCH_NUMBERS = 65536
# exp of more than this overflows.
LARGEST_EXPONENT = 709.0
# A temperature outside these bounds is a sign of scores that say nothing, or of labels they separate.
INVERSE_TEMPERATURE_BOUNDS = (0.01, 100.0)


class Family:
    """What every family offers, for n rows, L classes, p parameters and K clusters.

    ``n_classes``; ``identity`` (p,), the parameters that leave probabilities unchanged; ``lower`` and ``upper`` (p,),
    their bounds; ``features(P)`` and ``features_of_logits(logits)``, which give the X that the rest works on;
    ``nll(theta, X, codes, W)``, the losses (K,), gradients (K, p) and Hessians (K, p, p) of all clusters, the last None
    unless ``has_hessian``; and ``predict(theta, X)``, probabilities (n, L) for one theta. A family without a Hessian
    also has ``whitener(theta, X, w, ridge)``, a map that makes the Hessian of one cluster nearly the identity, and
    ``curvature(theta, X, w)`` (p,), the diagonal of that Hessian, from which the solver makes a map under a prior.
    """

    has_hessian = True
    # A direction of unit length in which the loss does not change at all, if there is one.
    neutral = None

    def tempered(self, X):
        """Return a smaller family to start from and its features, or None where there is no use in one."""
        return None


@dataclass(frozen=True)
class BinaryFamily(Family):
    """Calibrators of the form q = sigmoid(x(p) @ theta), one row of features x(p) per score."""

    name: str
    transform: Callable[[np.ndarray, np.ndarray], list]  # p, 1 - p, neither of them 0 -> the columns of x(p)
    transform_logit: Callable[[np.ndarray], list]  # log(p / (1 - p)), however large -> the same columns
    identity: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    n_classes: int = field(default=2, init=False)

    def features(self, P):
        """Return x(p) for every row, shape (n, p)."""
        X = np.empty((self.identity.size, len(P)))  # column by column in memory, which is faster here and in `nll`
        for batch in _batches(len(P)):
            not_p, p = np.clip(P[batch].T, EPS, 1 - EPS)
            X[:, batch] = self.transform(p, not_p)
        return X.T

    def features_of_logits(self, logits):
        """Return x(p) for every row of logits (n, 2), shape (n, p); nothing is cut."""
        return np.array(self.transform_logit(logits[:, 1] - logits[:, 0])).T

    def predict(self, theta, X):
        """Return the calibrated probabilities of both classes, shape (n, 2), for one theta (p,)."""
        z = X @ theta
        return np.column_stack([expit(-z), expit(z)])

    def nll(self, theta, X, codes, W):
        """Weighted NLL of all clusters in one pass: sum_i w_ik [log(1 + exp z_ik) - y_i z_ik], z = X theta'.

        With m = z where y = 1 and m = -z where y = 0, the term of a row is -log sigmoid(m).

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
        if (theta == theta[0]).all():
            theta = theta[:1]  # clusters that start at the global fit share its logits
        for batch in _batches(len(X)):
            x, w = (2.0 * codes[batch] - 1) * X[batch].T, np.ascontiguousarray(W[batch].T)
            e = theta @ -x  # -m, of shape (K, b), or (1, b) if shared
            if e.max() > LARGEST_EXPONENT:
                loss += np.einsum("kb,kb->k", w, np.maximum(e - LARGEST_EXPONENT, 0))
                e = np.minimum(e, LARGEST_EXPONENT)
            np.exp(e, out=e)
            s = 1 / (1 + e)  # sigmoid(m)
            e *= s  # sigmoid(-m), without cancellation
            weighted = w * e
            gradient -= weighted @ x.T
            weighted *= s
            upper_triangle += weighted @ (x[rows] * x[columns]).T
            loss -= np.einsum("kb,kb->k", w, np.broadcast_to(np.log(s, out=s), w.shape))
        hessian = np.empty((n_clusters, n_features, n_features))
        hessian[:, rows, columns] = hessian[:, columns, rows] = upper_triangle
        return loss, gradient, hessian


def _bounds(*pairs):
    lower, upper = np.array(pairs).T
    return {"lower": lower, "upper": upper}


_FREE, _POSITIVE = (-np.inf, np.inf), (0.0, np.inf)

PLATT = BinaryFamily(
    "Platt",
    lambda p, not_p: [np.log(p / not_p), np.ones_like(p)],
    lambda z: [z, np.ones_like(z)],
    np.array([1.0, 0.0]),
    **_bounds(_FREE, _FREE),
)
TEMPERATURE = BinaryFamily(
    "temperature",
    lambda p, not_p: [np.log(p / not_p)],
    lambda z: [z],
    np.array([1.0]),
    **_bounds(INVERSE_TEMPERATURE_BOUNDS),
)
BETA = BinaryFamily(
    "Beta",
    lambda p, not_p: [np.log(p), -np.log(not_p), np.ones_like(p)],
    lambda z: [-np.logaddexp(0, -z), np.logaddexp(0, z), np.ones_like(z)],
    np.array([1.0, 1.0, 0.0]),
    **_bounds(_POSITIVE, _POSITIVE, _FREE),
)
QUADRATIC = BinaryFamily(
    "quadratic",
    lambda p, not_p: _square(np.log(p / not_p)),
    lambda z: _square(z),
    np.array([1.0, 0.0, 0.0]),
    **_bounds(_FREE, _FREE, _FREE),
)


def _square(z):
    return [z, z**2, np.ones_like(z)]


def spline_family(splines):
    """Return the family of a line plus natural cubic splines of the logit: slope, intercept, one weight a spline."""
    columns = lambda z: [z, np.ones_like(z), *splines(z).T]
    n_features = 2 + splines.n_functions
    return BinaryFamily(
        "spline",
        lambda p, not_p: columns(np.log(p / not_p)),
        columns,
        np.eye(n_features)[0],
        **_bounds(*[_FREE] * n_features),
    )


def _batches(n, size=BATCH):
    """Yield slices that cut n rows into pieces of at most this size."""
    return (slice(start, start + size) for start in range(0, n, size))


# A Hessian of more parameters than this is not formed.
DENSE = 500
# A curvature below this share of the largest is taken for as much where one divides by it.
FLAT = 1e-8


class SoftmaxFamily(Family):
    """Calibrators of the form q = softmax(z), with z linear in theta and in log p; the subclass says how.

    A subclass gives ``logits(theta, U)``, its adjoint ``adjoint(U, R)`` (the gradient of sum(R * logits) in theta),
    and ``hessian(U, Q, w)``, from which ``nll`` follows; or, as `TemperatureFamily`, ``nll`` itself. In all of them
    ``t * identity`` is temperature scaling with 1 / T = t.
    """

    # A penalty that is a part of the family: the weight of the square of each parameter, and a direction of unit length
    # that goes free, if there is one.
    penalty = 0.0
    unpenalised = None

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
        """Return what `logits` starts from, made of log p; shape (n, L), if the subclass says nothing else."""
        return self._features(log_probabilities(P))

    def features_of_logits(self, logits):
        """Return the same from logits (n, L); nothing is cut."""
        return self._features(log_softmax(logits, axis=1))

    def _features(self, log_P):
        return log_P

    def tempered(self, U):
        """Return the family of temperature scaling, and its features from those of this family."""
        return TemperatureFamily(self.n_classes), below_top(U[:, : self.n_classes])

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

    def _nll_of_one(self, theta, U, codes, w):
        penalty = w.sum() * self.penalty * np.ones(theta.size)
        free = np.zeros(theta.size) if self.unpenalised is None else self.unpenalised
        penalised = theta - (free @ theta) * free
        loss = penalty @ penalised**2
        gradient = 2 * penalty * penalised
        hessian = 2 * (np.diag(penalty) - penalty * np.outer(free, free)) if self.has_hessian else None
        for batch in _batches(len(U), max(1, BATCH_NUMBERS // self.n_classes)):
            more = self._nll_of_rows(theta, U[batch], codes[batch], w[batch])
            loss += more[0]
            gradient += more[1]
            if self.has_hessian:
                hessian += more[2]
        return loss, gradient, hessian

    def _nll_of_rows(self, theta, U, codes, w):
        rows = np.arange(len(U))
        z = self.logits(theta, U)
        z -= z.max(axis=1, keepdims=True)
        of_label = z[rows, codes]
        Q = np.exp(z, out=z)
        total = Q @ np.ones(self.n_classes)
        Q /= total[:, None]
        hessian = self.hessian(U, Q, w) if self.has_hessian else None
        Q[rows, codes] -= 1  # from here on the residual Q - Y
        Q *= w[:, None]
        return w @ (np.log(total) - of_label), self.adjoint(U, Q), hessian


class TemperatureFamily(SoftmaxFamily):
    """z = theta log p with one theta = 1 / T > 0, in which the NLL is convex."""

    has_hessian = True
    identity = np.ones(1)
    lower = np.array(INVERSE_TEMPERATURE_BOUNDS[:1])
    upper = np.array(INVERSE_TEMPERATURE_BOUNDS[1:])

    def tempered(self, X):
        return None  # it is the smallest family itself

    def _features(self, log_P):
        """Return log p less its largest value in each row, which a softmax does not notice; shape (n, L)."""
        return below_top(log_P)

    def logits(self, theta, U):
        return theta[0] * U

    def _nll_of_rows(self, theta, U, codes, w):
        # The derivatives in theta are the mean and the variance of u under q, and need no matrix of residuals. As
        # theta > 0 and the largest u is 0, nothing overflows.
        of_label = U[np.arange(len(U)), codes]
        ones = np.ones(self.n_classes)
        e = self.logits(theta, U)
        np.exp(e, out=e)
        total = e @ ones
        e *= U
        mean = (e @ ones) / total
        e *= U
        variance = (e @ ones) / total - mean**2
        return w @ (np.log(total) - theta[0] * of_label), np.array([w @ (mean - of_label)]), w @ variance


class VectorFamily(SoftmaxFamily):
    """z_l = a_l log p_l + b_l; theta holds the L slopes a, then the L intercepts b."""

    @property
    def identity(self):
        return np.repeat([1.0, 0.0], self.n_classes)

    @property
    def neutral(self):
        return np.repeat([0.0, 1.0], self.n_classes) / np.sqrt(self.n_classes)

    def logits(self, theta, U):
        slopes, intercepts = np.split(theta, 2)
        return slopes * U + intercepts

    def adjoint(self, U, R):
        return np.concatenate([np.einsum("nl,nl->l", U, R), R.sum(axis=0)])

    def hessian(self, U, Q, w):
        # With F = [U * Q, Q] the second derivatives are a diagonal in each block, less the outer product F'wF.
        slopes, intercepts = np.split(np.arange(2 * self.n_classes), 2)
        F = np.hstack([U * Q, Q])
        hessian = -_gram(F, w)
        first, zeroth = np.split(w @ F, 2)
        hessian[slopes, slopes] += w @ (U * F[:, slopes])
        hessian[intercepts, intercepts] += zeroth
        hessian[slopes, intercepts] += first
        hessian[intercepts, slopes] += first
        return hessian

    def curvature(self, theta, U, w):
        """Return the diagonal of the Hessian of the summed NLL."""
        Q = self.predict(theta, U)
        Q *= w[:, None] * (1 - Q)
        return np.concatenate([np.einsum("nl,nl->l", Q, U**2), Q.sum(axis=0)])

    def whitener(self, theta, U, w, ridge):
        """Return T as `DirichletFamily.whitener`, from the blocks of the Hessian of a slope and its intercept."""
        Q = self.predict(theta, U)
        Q *= (w / _positive(w.sum()))[:, None] * (1 - Q)
        zeroth, first, second = Q.sum(axis=0), np.einsum("nl,nl->l", Q, U), np.einsum("nl,nl->l", Q, U**2)
        curvature, axes = np.linalg.eigh(np.array([[second, first], [first, zeroth]]).T)
        root = np.einsum("lij,lj,lkj->lik", axes, _inverse_root(curvature + ridge), axes)

        def whiten(v):
            return np.einsum("lik,kl->il", root, v.reshape(2, -1)).ravel()

        return whiten


class DirichletFamily(SoftmaxFamily):
    """z = V log p + b; theta holds, class by class, the row of V and then b_l, so L (L + 1) parameters.

    Its penalty is ``l2`` times the squared norm of theta or, if it shrinks to a temperature, times the squared distance
    from the nearest t * identity; or, where ``odir`` is given as (off-diagonal, intercept), off-diagonal * mean of
    V_lm^2 over l != m + intercept * mean of b_l^2.
    """

    def __init__(self, n_classes, l2=0.0, odir=None, shrink_to="zero"):
        super().__init__(n_classes)
        self.l2 = l2
        self.odir = odir
        self.shrink_to = shrink_to

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

    @property
    def unpenalised(self):
        return self.identity / np.sqrt(self.n_classes) if self.shrink_to == "temperature" else None

    def _features(self, log_P):
        """Return log p and a column of ones, shape (n, L + 1)."""
        return np.column_stack([log_P, np.ones(len(log_P))])

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

    def curvature(self, theta, U, w):
        """Return the diagonal of the Hessian of the summed NLL."""
        Q = self.predict(theta, U)
        Q *= w[:, None] * (1 - Q)
        return (Q.T @ U**2).ravel()

    def whitener(self, theta, U, w, ridge):
        """Return a symmetric map T of parameters with T H T near the identity, H being the Hessian at theta plus ridge.

        H is the mean of the Kronecker products of S_i = diag(q_i) - q_i q_i' and u_i u_i'. T takes the product of two
        means for it, that of S_i and that of u_i u_i' weighted by the trace of S_i: all that is needed then are the
        eigenvectors of these two small matrices.
        """
        Q = self.predict(theta, U)
        share = w / _positive(w.sum())
        spread = share * (1 - np.einsum("nl,nl->n", Q, Q))
        curvature_out, axes_out = np.linalg.eigh(np.diag(share @ Q) - _gram(Q, share))
        curvature_in, axes_in = np.linalg.eigh(_gram(U, spread / _positive(spread.sum())))
        scale = _inverse_root(np.outer(curvature_out, curvature_in) + 2 * np.mean(self.penalty) + ridge)

        def whiten(v):
            return (axes_out @ ((axes_out.T @ v.reshape(scale.shape) @ axes_in) * scale) @ axes_in.T).ravel()

        return whiten


def _positive(total):
    """A sum of weights to divide by, 1 if there are none."""
    return total if total > 0 else 1.0


def _inverse_root(curvature):
    return 1 / np.sqrt(np.maximum(curvature, _positive(FLAT * curvature.max())))


def _gram(F, w):
    """Return sum_i w_i f_i f_i'; the product of a matrix with its own transpose costs half of any other."""
    F = np.sqrt(w)[:, None] * F
    return F.T @ F


def say_if_flattest(inverse_temperature):
    """Return a sentence for the user where 1 / T is the least that there may be, else None."""
    least = INVERSE_TEMPERATURE_BOUNDS[0]
    if inverse_temperature > least * (1 + 1e-6):
        return None
    return (
        f"The temperature is at its bound of {1 / least:.0f}: the scores say next to nothing of the labels, or are "
        "logits that are hundreds of times too large."
    )


def below_top(U):
    """Return log-probabilities less the largest of each row."""
    return U - U.max(axis=1, keepdims=True)
