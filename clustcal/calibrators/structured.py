"""Structured scaling: temperature scaling, and what the data say beyond it, however many classes there are.

Builds on ``core.evidence`` for the fit.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import log_softmax, softmax

from clustcal.calibrators.base import CalibrationSet, Calibrator
from clustcal.core import evidence
from clustcal.core.array_types import Floats, Matrix
from clustcal.core.families import say_if_flattest
from clustcal.core.probabilities import Scores, log_probabilities

__all__ = ["StructuredScaling"]

# The precision of the prior of an element of the matrix on probabilities is the first number over how often its two
# classes are in doubt together, relative to the mean pair; at least the second.
PAIRS, LEAST = 500.0, 30.0
RARE = 1e-3  # the least that a pair counts
# That matrix multiplies this times what a probability exceeds the threshold by: with many classes most are below.
FACTOR, THRESHOLD = 5.0, 1e-3
SPARSE = 0.1


class StructuredScaling(Calibrator):
    r"""Structured scaling: temperature scaling, corrected where the data say so; our choice for many classes.

    .. math:: q = \mathrm{softmax}\left((I + \mathrm{diag}(v) + M) \, u + N \, \phi(e^u) + b\right), \qquad
        u = \log\left((1 - \epsilon) \, \mathrm{softmax}(\log p / T) + \epsilon / L\right)

    Four corrections of temperature scaling, each pulled to 0: intercepts b and slopes v of every class, and two
    matrices without a diagonal. M works on log-probabilities; N on :math:`\phi(q) = 5 \max(q - 0.001, 0)`, so that it
    says how the logit of one class changes where another is likely.

    Parameters
    ----------
    classes : array-like of shape (L,), optional
        The label of each column of P; by default the sorted labels.
    from_logits : bool, default=False
        Whether P holds logits (log-odds of the second class, or a column for every class) instead of probabilities.

    Attributes
    ----------
    classes_ : ndarray of shape (L,)
    temperature_ : float
        T.
    intercepts_, slopes_ : ndarray of shape (L,)
        b and v.
    log_matrix_, matrix_ : ndarray of shape (L, L) or None
        M and N; None where they were left out, see Notes.
    factors_ : ndarray of shape (2,), (3,) or (4,)
        What the data made of the strengths of the priors of b, v, M and N (of those that are not None): 1 leaves them,
        more is a stronger prior.
    n_iter_ : int
        Iterations of the solver.

    See Also
    --------
    VectorScaling : b and v alone.
    DirichletCalibration : b, v and M, without epsilon.

    Notes
    -----
    No folds are needed. First T is fitted as in `TemperatureScaling`. All other parameters have Gaussian priors around
    0, of a precision that is a factor times :math:`\max(20, L / 5)` for b, :math:`30 \sqrt{L}` for v, and
    :math:`4 L^3 / 5` for M. For :math:`N_{lm}` it is :math:`500 / s_{lm}`, but at least 30, with :math:`s_{lm}` the
    mean of :math:`q_l q_m` over rows relative to that of all pairs: classes between which the classifier never wavers
    need no correction. The factor of each of the four is the one under which the data are most
    probable, given that 1 is expected with the weight of three parameters (Laplace's approximation of the evidence,
    class by class, and two of MacKay's updates, each taken half as far again). M is left out where its prior leaves no
    room for it, that is with few rows for :math:`L^3` (20 classes and 1,000 rows, say), and N where there are fewer
    rows than classes. :math:`\epsilon = 1 / (n L)` bounds what a single sure and wrong forecast can cost.

    The structure is that of Berta et al., whose strengths depend on n and L only; N and its prior are ours.

    It does not serve within `ClusteredCalibration` and `BinwiseCalibration`, whose fits need one family of parameters
    with one prior, where here the temperature is fixed first and N multiplies what it gives; `MatrixScaling` and
    `VectorScaling`, which have its structure without N, do.

    With a few hundred rows of a few classes, of scores that have no fault but their temperature, `TemperatureScaling`
    alone is better, and `VectorScaling` comes between the two: what is lost there is the price of N and M.

    References
    ----------
    E. Berta, D. Holzmüller, M. I. Jordan, F. Bach, "Structured matrix scaling for multi-class calibration",
    AISTATS 2026.

    D. MacKay, "Bayesian interpolation", Neural Computation, 1992.

    Examples
    --------
    Scores that are too sure, and that the first of three classes gets too often:

    >>> import numpy as np
    >>> from clustcal import StructuredScaling, TemperatureScaling, metrics
    >>> rng = np.random.default_rng(0)
    >>> P = rng.dirichlet(np.ones(3), 2000)
    >>> truth = P**0.5 * [0.3, 1, 1]
    >>> truth /= truth.sum(axis=1, keepdims=True)
    >>> y = (truth.cumsum(axis=1) > rng.random((2000, 1))).argmax(axis=1)
    >>> for calibrator in (TemperatureScaling(), StructuredScaling()):
    ...     Q = calibrator.fit(P[:500], y[:500]).predict_proba(P[500:])
    ...     print(round(metrics.log_loss(y[500:], Q) - metrics.log_loss(y[500:], truth[500:]), 3))
    0.123
    0.007
    """

    def __init__(self, classes: ArrayLike | None = None, from_logits: bool = False) -> None:
        self.classes = classes
        self.from_logits = from_logits

    def _fit(self, data: CalibrationSet) -> None:
        codes, weights = data.codes, data.weights
        U = _log_probabilities(data.scores)
        inverse = evidence.inverse_temperature(U, codes, weights)
        self.temperature_ = 1 / inverse
        self._uniform = 1 / max(weights.sum() * data.n_classes, 1.0)
        base = self._tempered(U)
        blocks = evidence.slopes_of_classes(base)
        log_matrix = evidence.matrix_on_logs(base, weights)
        matrix = _matrix_on_probabilities(base, weights) if weights.sum() >= data.n_classes else None
        blocks += [block for block in (log_matrix, matrix) if block is not None]
        found = evidence.fit(base, blocks, codes, weights)
        found.failure = found.failure or say_if_flattest(inverse)
        found.warn()
        self.factors_, self.n_iter_ = found.factors, found.n_iter
        matrices = iter(found.thetas[2:])
        self.intercepts_, self.slopes_ = found.thetas[:2]
        self.log_matrix_ = None if log_matrix is None else _without_diagonal(next(matrices))
        self.matrix_ = None if matrix is None else _without_diagonal(next(matrices))

    def _calibrate(self, scores: Scores, Z: Matrix) -> Floats:
        base = self._tempered(_log_probabilities(scores))
        logits = base * (1 + self.slopes_) + self.intercepts_
        if self.log_matrix_ is not None:
            logits += base @ self.log_matrix_.T
        if self.matrix_ is not None:
            logits += _exceeding(np.exp(base)) @ self.matrix_.T
        return softmax(logits, axis=1)

    def _tempered(self, U: Floats) -> Floats:
        """Return log-probabilities after temperature scaling, mixed with a little of the uniform distribution."""
        Q = softmax(U / self.temperature_, axis=1)
        return np.log((1 - self._uniform) * Q + self._uniform / U.shape[1])


def _log_probabilities(scores: Scores) -> Floats:
    return log_probabilities(scores.P) if scores.logits is None else log_softmax(scores.logits, axis=1)


def _exceeding(Q: Floats) -> Matrix:
    """Return what N multiplies, (n, L); sparse where that is faster."""
    exceeding = FACTOR * np.maximum(Q - THRESHOLD, 0)
    return sparse.csr_matrix(exceeding) if np.count_nonzero(exceeding) < SPARSE * Q.size else exceeding


def _matrix_on_probabilities(base: Floats, weights: Floats) -> evidence.Mixing:
    Q = np.exp(base)
    together = (weights[:, None] * Q).T @ Q
    pairs = ~np.eye(len(together), dtype=bool)
    strength = np.maximum(PAIRS / np.maximum(together / together[pairs].mean(), RARE), LEAST)
    evidence.hold_diagonal(strength, weights)
    return evidence.Mixing(_exceeding(Q), strength, evidence.WORTH, one_by_one=True)


def _without_diagonal(matrix: Floats) -> Floats:
    np.fill_diagonal(matrix, 0.0)
    return matrix
