"""The fit behind ridge calibration: a slope, intercepts, and blocks of coefficients as strong as the data say.

For n rows, L classes and M columns in all blocks. The logits are z = a S + X B', with X a column of ones beside the
columns of the blocks; of two classes the first has the logit 0, so that S and B have C = 1 row, else C = L. The
loss is a mean over rows; a and the intercepts are free, every block has a Gaussian prior around 0. Builds on `solvers`
for one of its constants.
"""

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotri
from scipy.sparse.linalg import LinearOperator, cg

from clustcal.core.solvers import SEPARATED

# Of a precision, times the sum of weights; a block that ends at the upper one is dropped.
LOWEST, HIGHEST = 1e-4, 1e4
# Updates of the precisions: the most of them, by what their logarithms overshoot, and when they have settled.
UPDATES, OVERSHOOT, SETTLED = 40, 1.5, 1e-4
# Where they start: logits that the prior lets differ by a standard deviation of 5 if columns have variance 1. From a
# weak prior the updates come to a mode of the evidence inside the bounds where there is one, and else go to the upper.
FIRST_VARIANCE = 25.0
# Up to this many parameters the Hessian is whole; beyond, the determinant in the evidence is taken class by class.
WHOLE_UP_TO = 2_000
# A Newton step gains g; it leaves about g^2, so that the first serves between updates.
ROUGH, EXACT, MAX_STEPS = 1e-7, 1e-13, 200
# Added to the diagonal of a Hessian, of its largest element, so that equal scores or columns of 0 do no harm.
JITTER = 1e-13
# Of the intercepts of classes that do not occur.
INTERCEPT_SD = 2.0
INEXACT, CG_STEPS = 1e-4, 200


@dataclass(frozen=True)
class Problem:
    """Rows in the units of the fit: scores S (n, C), X (n, 1 + M), codes (n,), weights (n,) that sum to 1.

    ``anchor`` (C, C) is the precision of the intercepts, 0 but for classes that do not occur; ``total`` is the sum of
    the weights as they were given.
    """

    S: np.ndarray
    X: np.ndarray
    codes: np.ndarray
    weights: np.ndarray
    total: float
    anchor: np.ndarray

    @property
    def is_binary(self):
        return self.S.shape[1] == 1

    def with_columns(self, keep):
        """Return the same with some of the columns of X."""
        return Problem(self.S, self.X[:, keep], self.codes, self.weights, self.total, self.anchor)


@dataclass(frozen=True)
class Found:
    """The optimum: ``a``; B (C, 1 + M); precisions (blocks,), infinite where a block was dropped.

    ``determined`` (blocks,) counts the coefficients that the data determine; ``n_updates`` of the precisions,
    ``is_settled`` whether these had come to rest; ``is_finite`` is False where scores separate the classes.
    ``covariance`` (1 + C (1 + M), same) is that of a and B by Laplace, with 0 for what was dropped; None of many
    parameters, whose Hessian is not whole.
    """

    a: float
    B: np.ndarray
    precisions: np.ndarray
    determined: np.ndarray
    n_updates: int
    is_settled: bool
    is_finite: bool
    covariance: np.ndarray | None = None


def pose(S, Phi, codes, weights, n_classes):
    """Return the `Problem` of scores S (n, C), columns Phi (n, M), codes (n,) and weights (n,)."""
    total = weights.sum()
    X = np.column_stack([np.ones(len(Phi)), Phi])
    present = np.bincount(codes, weights > 0, n_classes) > 0
    anchor = np.zeros((S.shape[1], S.shape[1]))
    for label in np.flatnonzero(~present):  # with two classes both occur
        apart = np.where(present, -1 / present.sum(), 0.0)
        apart[label] = 1.0
        anchor += np.outer(apart, apart) / INTERCEPT_SD**2 / total
    return Problem(S, X, codes, weights / total, total, anchor)


def fit(problem, sizes, caution):
    r"""Return the most probable coefficients, under the precisions of the blocks that the data make most probable.

    With Laplace's approximation of the evidence and a prior proportional to :math:`\lambda^c` in :math:`\log \lambda`,
    c being ``caution``, the best precision of block k, with :math:`m_k` coefficients, solves

    .. math:: \lambda_k \lvert \gamma_k \rvert^2 = m_k - \lambda_k \, \mathrm{tr} (H^{-1})_{kk} + 2 c .

    Parameters
    ----------
    problem : Problem
    sizes : sequence of int
        How many columns each block has.
    caution : float

    Returns
    -------
    Found
    """
    n_outputs = problem.S.shape[1]
    block_of = np.repeat(np.arange(len(sizes)), sizes)
    m = n_outputs * np.asarray(sizes, dtype=float)
    rho = np.clip(np.asarray(sizes) / FIRST_VARIANCE / max(problem.total, 1.0), LOWEST, HIGHEST)
    theta, is_settled, n_updates = _start(problem), False, 0
    while n_updates < UPDATES and not is_settled:
        n_updates += 1
        theta, hessian, is_finite = _minimise(problem, theta, _precision(problem, rho[block_of]), ROUGH)
        free = hessian.inverse_diagonal()[:, 1:].sum(axis=0)  # per column, over classes
        determined = m - rho * np.bincount(block_of, free, len(sizes))
        lengths = np.bincount(block_of, (_B(problem, theta)[:, 1:] ** 2).sum(axis=0), len(sizes))
        # In units of the total weight, of which nothing may overflow: at most HIGHEST, however short the coefficients.
        pull = np.maximum(determined, 0) + 2 * caution
        target = np.maximum(pull / np.maximum(problem.total * lengths, pull / HIGHEST + np.finfo(float).tiny), LOWEST)
        change = OVERSHOOT * np.log(target / rho)
        moved = np.clip(rho * np.exp(np.clip(change, -50, 50)), LOWEST, HIGHEST)
        is_settled = bool(np.abs(np.log(moved / rho)).max() < SETTLED)
        rho = moved
        if not is_finite:
            break
    kept = rho < HIGHEST * (1 - 1e-9)
    columns = np.concatenate([[True], kept[block_of]])
    reduced = problem.with_columns(columns)
    start = np.concatenate([theta[:1], _B(problem, theta)[:, columns].ravel()])
    theta, hessian, is_finite = _minimise(reduced, start, _precision(reduced, rho[block_of][columns[1:]]), EXACT)
    B = np.zeros((n_outputs, problem.X.shape[1]))
    B[:, columns] = _B(reduced, theta)
    precisions = np.where(kept, rho * problem.total, np.inf)
    covariance = None
    if isinstance(hessian, WholeHessian):
        of_theta = np.concatenate([[True], np.tile(columns, n_outputs)])
        covariance = np.zeros((of_theta.size, of_theta.size))
        covariance[np.ix_(of_theta, of_theta)] = hessian.inverse() / problem.total
    determined = np.where(kept, determined, 0.0)
    return Found(theta[0], B, precisions, determined, n_updates, is_settled, is_finite, covariance)


def fit_scores_alone(problem):
    """Return a and the intercepts (C,) without any block."""
    alone = problem.with_columns([0])
    theta, _, _ = _minimise(alone, _start(alone), _precision(alone, np.empty(0)), EXACT)
    return theta[0], theta[1:]


def _start(problem):
    """The parameters of equal probabilities, from which Newton's method is safe."""
    return np.zeros(1 + problem.S.shape[1] * problem.X.shape[1])


def _B(problem, theta):
    return theta[1:].reshape(problem.S.shape[1], -1)


def _precision(problem, of_columns):
    """Return the precision of every parameter, in units of the total weight, shape (p,): none of a and intercepts."""
    of_row = np.concatenate([[0.0], of_columns])
    return np.concatenate([[0.0], np.tile(of_row, problem.S.shape[1])])


def _evaluate(problem, theta, precision):
    """Return the mean loss, the same with the priors, and the probabilities of the C outputs (n, C)."""
    Z = theta[0] * problem.S + problem.X @ _B(problem, theta).T
    if problem.is_binary:
        z = Z[:, 0]
        # log(1 + e^z) - y z, where neither part may overflow.
        e = np.exp(-np.abs(z))
        losses = np.maximum(z, 0) + np.log1p(e) - problem.codes * z
        Q = (np.where(z >= 0, 1.0, e) / (1 + e))[:, None]
    else:
        Z -= Z.max(axis=1, keepdims=True)
        of_label = Z[np.arange(len(Z)), problem.codes]
        Q = np.exp(Z)
        sums = Q @ np.ones(Q.shape[1])
        losses = np.log(sums) - of_label
        Q /= sums[:, None]
    loss = problem.weights @ losses
    b = _B(problem, theta)[:, 0]
    return loss, loss + (precision @ theta**2 + b @ problem.anchor @ b) / 2, Q


def _gradient(problem, theta, precision, Q):
    R = Q.copy()
    if problem.is_binary:
        R[:, 0] -= problem.codes
    else:
        R[np.arange(len(R)), problem.codes] -= 1
    R *= problem.weights[:, None]
    of_B = R.T @ problem.X
    of_B[:, 0] += problem.anchor @ _B(problem, theta)[:, 0]
    return np.concatenate([[np.sum(R * problem.S)], of_B.ravel()]) + precision * theta


def _minimise(problem, theta, precision, tolerance):
    """Return the optimum by Newton's method with step halving, its Hessian one step before, and whether it is finite.

    At least one step is made.
    """
    loss, objective, Q = _evaluate(problem, theta, precision)
    hessian, is_finite = None, True
    for _ in range(MAX_STEPS):
        gradient = _gradient(problem, theta, precision, Q)
        whole = theta.size <= WHOLE_UP_TO
        hessian = (WholeHessian if whole else HessianByClass)(problem, precision, Q)
        if loss < SEPARATED:
            is_finite = False
            break
        step = -hessian.solve(gradient)
        gain = -(gradient @ step) / 2
        length = 1.0
        while True:
            trial = theta + length * step
            values = _evaluate(problem, trial, precision)
            # Armijo's rule, with an allowance for rounding in the loss.
            if values[1] <= objective - 1e-4 * 2 * length * gain + 1e-14 * (1 + abs(objective)) or length < 1e-12:
                break
            length /= 2
        theta, (loss, objective, Q) = trial, values
        if gain < tolerance and length == 1.0:
            break
        if length < 1e-12:
            break
    return theta, hessian, is_finite


class WholeHessian:
    """The Hessian of the mean loss with its priors, all of it, and what is asked of its inverse."""

    def __init__(self, problem, precision, Q):
        self.n_outputs, self.width = problem.S.shape[1], problem.X.shape[1]
        H = self._of_loss(problem, Q)
        H[np.diag_indices_from(H)] += precision
        intercepts = 1 + self.width * np.arange(self.n_outputs)
        H[np.ix_(intercepts, intercepts)] += problem.anchor
        largest = H.diagonal().max()
        if not problem.is_binary:
            # A constant added to all intercepts changes nothing; neither does this curvature along it.
            H[np.ix_(intercepts, intercepts)] += largest / self.n_outputs
        H[np.diag_indices_from(H)] += JITTER * largest + np.finfo(float).tiny
        self.factor, info = dpotrf(H, lower=1)
        if info:  # no curvature at all in some direction, beyond what the jitter makes good
            H[np.diag_indices_from(H)] += 1e-9 * largest
            self.factor, info = dpotrf(H, lower=1)

    def solve(self, gradient):
        return cho_solve((self.factor, True), gradient)

    def inverse(self):
        """Return the inverse (p, p), p parameters."""
        lower, _ = dpotri(self.factor, lower=1)
        return np.tril(lower) + np.tril(lower, -1).T

    def inverse_diagonal(self):
        """Return the diagonal of the inverse for the coefficients B, shape (C, 1 + M)."""
        inverse, _ = dpotri(self.factor, lower=1)
        return inverse.diagonal()[1:].reshape(self.n_outputs, self.width)

    def _of_loss(self, problem, Q):
        C, d, X, S, w = self.n_outputs, self.width, problem.X, problem.S, problem.weights
        H = np.zeros((1 + C * d, 1 + C * d))
        V = w[:, None] * Q  # of a pair of outputs (c, c') the curvature is w q_c (1 - q_c) or -w q_c q_c'
        VS = V * (S - np.sum(Q * S, axis=1, keepdims=True)) if not problem.is_binary else V * (1 - Q) * S
        H[0, 0] = np.sum(VS * S)
        H[1:, 0] = H[0, 1:] = (VS.T @ X).ravel()
        for c in range(C):
            rows = slice(1 + c * d, 1 + (c + 1) * d)
            H[rows, rows] = _gram(X, V[:, c] * (1 - Q[:, c]))
            for other in range(c):
                columns = slice(1 + other * d, 1 + (other + 1) * d)
                H[rows, columns] = -_gram(X, V[:, c] * Q[:, other])
                H[columns, rows] = H[rows, columns]
        return H


class HessianByClass:
    """The same for many parameters: equations are solved with the whole, by conjugate gradients.

    They are preconditioned by the blocks of the classes, which also stand in for the whole where the inverse is asked
    for: the covariance between the coefficients of different classes is left out there.
    """

    def __init__(self, problem, precision, Q):
        self.problem, self.precision, self.Q = problem, precision, Q
        C, d = problem.S.shape[1], problem.X.shape[1]
        V = problem.weights[:, None] * Q
        self.of_slope = max(np.sum(V * (problem.S - np.sum(Q * problem.S, axis=1, keepdims=True)) ** 2), 1e-300)
        of_row = precision[1 : 1 + d]
        self.factors = []
        for c in range(C):
            block = _gram(problem.X, V[:, c] * (1 - Q[:, c]))
            block[np.diag_indices_from(block)] += of_row
            block[0, 0] += problem.anchor[c, c]
            largest = block.diagonal().max()
            block[np.diag_indices_from(block)] += JITTER * largest + np.finfo(float).tiny
            try:
                self.factors.append(cho_factor(block, lower=True))
            except LinAlgError:
                self.factors.append(cho_factor(block + 1e-9 * largest * np.eye(d), lower=True))

    def solve(self, gradient):
        p = gradient.size
        whole = LinearOperator((p, p), matvec=self._times)
        by_class = LinearOperator((p, p), matvec=self._solve_by_class)
        return cg(whole, gradient, rtol=INEXACT, atol=0.0, maxiter=CG_STEPS, M=by_class)[0]

    def inverse_diagonal(self):
        """Return the diagonal of the inverse of every class's block, shape (C, 1 + M)."""
        return np.array([dpotri(factor, lower=1)[0].diagonal() for factor, _ in self.factors])

    def _times(self, v):
        problem, Q = self.problem, self.Q
        v = v.ravel()
        moved = v[0] * problem.S + problem.X @ _B(problem, v).T
        R = problem.weights[:, None] * Q * (moved - np.sum(Q * moved, axis=1, keepdims=True))
        of_B = R.T @ problem.X
        of_B[:, 0] += problem.anchor @ _B(problem, v)[:, 0]
        return np.concatenate([[np.sum(R * problem.S)], of_B.ravel()]) + self.precision * v

    def _solve_by_class(self, g):
        g = g.ravel()
        parts = [cho_solve(factor, row) for factor, row in zip(self.factors, _B(self.problem, g), strict=True)]
        return np.concatenate([[g[0] / self.of_slope], np.concatenate(parts)])


def _gram(X, v):
    """Return X' diag(v) X for v of at least 0."""
    upper = dsyrk(1.0, (X * np.sqrt(v)[:, None]).T)
    return np.triu(upper) + np.triu(upper, 1).T
