"""Bin-wise calibration: a parametric calibrator in every bin of the confidence."""

from __future__ import annotations

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike

from clustcal.calibrators.base import CalibrationSet
from clustcal.calibrators.containing import Containing
from clustcal.calibrators.parametric import ParametricCalibrator, TemperatureScaling
from clustcal.core import solvers
from clustcal.core.array_types import Bins, Confidence, Floats, Matrix, Strategy
from clustcal.core.parameters import check_one_of, shown
from clustcal.core.probabilities import (
    KINDS,
    Scores,
    assign_bins,
    check_bins,
    confidence_columns,
    find_edges,
    take_columns,
)

__all__ = ["BinwiseCalibration"]


class BinwiseCalibration(Containing):
    """A parametric calibrator in every bin of the confidence; bin-wise temperature scaling (BTS) and its kin.

    Parameters
    ----------
    calibrator : PlattScaling, TemperatureScaling, VectorScaling or any other parametric calibrator
        The family, unfitted. Left out: `TemperatureScaling`.
    n_bins : int, "auto" or array-like of edges, default=10
    min_bin_size : float, default=30
        Bins with less weight than this (fewer rows, without weights) use the global fit.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width or of equal weight; not used with edges. See ``clustcal.core.probabilities.bin_edges``.
    kind : {"top-label", "positive"}, default="top-label"
        The confidence: the highest probability of a row, as in BTS and for any number of classes, or the
        probability of the second of two classes. The paper does not say which of them it takes for two classes.
        The default treats both classes alike and is one definition for any number of them; but a bin then holds
        rows of both predictions, and with two classes half of the bins of equal width lie below 1/2, empty.
    classes : array-like of shape (L,), optional
        The label of each column of P; by default those of ``calibrator``, or else the sorted labels.
    from_logits : bool, default=False
        Whether P holds logits (log-odds of the second class, or a column for every class) instead of probabilities.
        Nothing is cut then, where log p of a probability of 0 must be.

    Attributes
    ----------
    classes_ : ndarray of shape (L,)
    calibrator_ : calibrator
        The global fit.
    edges_ : ndarray of shape (B + 1,)
        Of the bins of the confidence, the same at fit and at prediction.
    fitted_bins_ : ndarray of shape (B,), bool
        Which bins have parameters of their own.
    theta_ : ndarray of shape (B, p)
        The parameters of every bin; those of the global fit where a bin has none of its own.

    Notes
    -----
    In every bin the calibrator has the prior that it would have for these rows alone; those whose strengths the data
    choose, `VectorScaling` and `DirichletCalibration`, have them as all rows choose them, around the global parameters.
    The paper's bins have no prior, which is ``TemperatureScaling(prior=None)`` and so on.

    The global fit also serves bins without a finite optimum: those with one class only, and those where scores
    separate the classes. A class that is absent from a bin with several others gets a probability near 0 there from
    `VectorScaling` and `DirichletCalibration`, as it does from a global fit without that class.

    References
    ----------
    B. Ji, H. Jung, J. Yoon, K. Kim, Y. Shin, "Bin-wise temperature scaling (BTS): improvement in confidence
    calibration performance through simple scaling techniques", ICCV Workshops 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from clustcal import TemperatureScaling
    >>> from clustcal import BinwiseCalibration
    >>> p, y = np.repeat([0.1, 0.6, 0.9], 100), np.repeat([0, 1, 0, 1, 0, 1], [75, 25, 45, 55, 25, 75])
    >>> BinwiseCalibration(TemperatureScaling(prior=None)).fit(p, y).predict_proba([0.1, 0.6, 0.9])[:, 1].round(3)
    array([0.25, 0.55, 0.75])
    """

    default = TemperatureScaling

    def __init__(
        self,
        calibrator: ParametricCalibrator | None = None,
        n_bins: Bins = 10,
        min_bin_size: float = 30,
        strategy: Strategy = "uniform",
        kind: Confidence = "top-label",
        classes: ArrayLike | None = None,
        from_logits: bool = False,
    ) -> None:
        self.calibrator = calibrator
        self.n_bins = n_bins
        self.min_bin_size = min_bin_size
        self.strategy = strategy
        self.kind = kind
        self.classes = classes
        self.from_logits = from_logits

    def _fit(self, data: CalibrationSet) -> None:
        """Fit the global calibrator, and one in every bin that is large enough.

        Each bin is fitted to its own rows: together that is one pass over the data, which one call with a column of
        weights per bin would make once per bin.
        """
        P, codes, weights = data.scores.P, data.codes, data.weights
        confidence = take_columns(P, confidence_columns(P, self.kind))
        edges = find_edges(confidence, self.n_bins, self.strategy, weights)
        bins = assign_bins(confidence, edges)
        n_bins = len(edges) - 1
        calibrator = self._parametric(data.n_classes)._fit_to(data)
        family = calibrator.family(data.n_classes)
        theta = np.tile(calibrator.theta_, (n_bins, 1))
        fitted_bins = np.zeros(n_bins, dtype=bool)
        for b in np.flatnonzero(np.bincount(bins, weights, minlength=n_bins) >= self.min_bin_size):
            rows = np.flatnonzero((bins == b) & (weights > 0))
            if len(rows) == 0 or (codes[rows] == codes[rows[0]]).all():
                continue
            X = data.scores.take(rows).features(family)
            start = calibrator.theta_[None]
            penalty = calibrator._prior_in_a_part(X, data.take(rows))
            found = solvers.fit(family, X, codes[rows], weights[rows, None], start=start, penalty=penalty)
            if found.is_finite[0]:
                theta[b], fitted_bins[b] = found.theta[0], True
        self.calibrator_, self.edges_, self.theta_, self.fitted_bins_ = calibrator, edges, theta, fitted_bins

    def _calibrate(self, scores: Scores, Z: Matrix) -> Floats:
        P = scores.P
        family = self.calibrator_.family(P.shape[1])
        bins = assign_bins(take_columns(P, confidence_columns(P, self.kind)), self.edges_)
        Q = np.empty_like(P)
        for b in np.unique(bins):
            rows = np.flatnonzero(bins == b)
            Q[rows] = family.predict(self.theta_[b], scores.take(rows).features(family))
        return Q / Q.sum(axis=1, keepdims=True)  # only rounding is left to remove

    def _check_number_of_classes(self, n_classes: int) -> None:
        super()._check_number_of_classes(n_classes)
        confidence_columns(np.empty((0, n_classes)), self.kind)

    def _check_parameters(self) -> None:
        self._check_calibrators()
        check_bins(self.n_bins, self.strategy)
        check_one_of("kind", self.kind, KINDS)
        if not isinstance(self.min_bin_size, Real) or not self.min_bin_size >= 0:
            raise ValueError(f"min_bin_size is {shown(self.min_bin_size)}; expected a number of at least 0.")
