"""Bin-wise calibration: a parametric calibrator in every bin of the confidence."""

import warnings
from numbers import Real

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from clustcal.calibrators.base import Calibrator
from clustcal.calibrators.parametric import ParametricCalibrator, TemperatureScaling
from clustcal.core import solvers
from clustcal.core.probabilities import (
    as_probabilities,
    as_weights,
    assign_bins,
    bin_edges,
    check_same_length,
    confidence_columns,
    encode_labels,
    take_columns,
)

__all__ = ["BinwiseCalibration"]


class BinwiseCalibration(Calibrator):
    """A parametric calibrator in every bin of the confidence; bin-wise temperature scaling (BTS) and its kin.

    Parameters
    ----------
    calibrator : PlattScaling, TemperatureScaling, BetaCalibration, VectorScaling or DirichletCalibration
        The family, unfitted. Left out: `TemperatureScaling`.
    n_bins : int, default=10
    min_bin_size : float, default=30
        Bins with less weight than this (fewer rows, without weights) use the global fit.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width or of equal weight; see ``clustcal.core.probabilities.bin_edges``.
    kind : {"top-label", "positive"}, default="top-label"
        The confidence: the highest probability of a row, as in BTS and for any number of classes, or the
        probability of the second of two classes. The paper does not say which of them it takes for two classes.
        The default treats both classes alike and is one definition for any number of them; but a bin then holds
        rows of both predictions, and with two classes half of the bins of equal width lie below 1/2, empty.

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
    >>> BinwiseCalibration(TemperatureScaling()).fit(p, y).predict_proba([0.1, 0.6, 0.9])[:, 1].round(3)
    array([0.25, 0.55, 0.75])
    """

    def __init__(self, calibrator=None, n_bins=10, min_bin_size=30, strategy="uniform", kind="top-label"):
        self.calibrator = calibrator
        self.n_bins = n_bins
        self.min_bin_size = min_bin_size
        self.strategy = strategy
        self.kind = kind

    def fit(self, P, y, Z=None, sample_weight=None):
        """Fit the global calibrator, and one in every bin that is large enough.

        Parameters
        ----------
        P : array-like of shape (n,) or (n, L)
            Uncalibrated probabilities on the calibration set. One column is read as the probability of the
            second class.
        y : array-like of shape (n,)
            Labels of any type.
        Z : ignored
            Present so that all calibrators are called alike.
        sample_weight : array-like of shape (n,), optional
            A weight of 2 is the same as two equal rows.

        Returns
        -------
        self
        """
        calibrator = self._check_parameters()
        P = as_probabilities(P)
        check_same_length(len(P), y=np.asarray(y))
        weights = as_weights(sample_weight, len(P))
        confidence = take_columns(P, confidence_columns(P, self.kind))
        edges = bin_edges(confidence, self.n_bins, self.strategy, weights)
        self.calibrator_ = calibrator.fit(P, y, sample_weight=weights)
        self.classes_, codes = encode_labels(y, P.shape[1], calibrator.classes_, require_two=False)
        self.edges_ = edges
        self._fit_bins(P, codes, weights, assign_bins(confidence, edges))
        return self

    def _fit_bins(self, P, codes, weights, bins):
        """Fit each bin on its own rows: together that is one pass over the data, which one call with a column of
        weights per bin would make once per bin."""
        n_bins = len(self.edges_) - 1
        family = self.calibrator_.family(P.shape[1])
        self.theta_ = np.tile(self.calibrator_.theta_, (n_bins, 1))
        self.fitted_bins_ = np.zeros(n_bins, dtype=bool)
        for b in np.flatnonzero(np.bincount(bins, weights, minlength=n_bins) >= self.min_bin_size):
            rows = np.flatnonzero((bins == b) & (weights > 0))
            if len(rows) == 0 or (codes[rows] == codes[rows[0]]).all():
                continue
            theta = _fit_if_finite(family, P[rows], codes[rows], weights[rows], self.calibrator_.theta_)
            if theta is not None:
                self.theta_[b], self.fitted_bins_[b] = theta, True

    def _calibrate(self, P, Z):
        family = self.calibrator_.family(P.shape[1])
        bins = assign_bins(take_columns(P, confidence_columns(P, self.kind)), self.edges_)
        Q = np.empty_like(P)
        for b in np.unique(bins):
            rows = np.flatnonzero(bins == b)
            Q[rows] = family.predict(self.theta_[b], family.features(P[rows]))
        return Q / Q.sum(axis=1, keepdims=True)  # only rounding is left to remove

    def _check_parameters(self):
        """Return an unfitted copy of the calibrator, once every parameter but those of the bins has been checked."""
        calibrator = TemperatureScaling() if self.calibrator is None else self.calibrator
        if not isinstance(calibrator, ParametricCalibrator):
            raise ValueError(f"calibrator is {calibrator!r}; expected a parametric one, such as PlattScaling().")
        if not isinstance(self.min_bin_size, Real) or not self.min_bin_size >= 0:
            raise ValueError(f"min_bin_size is {self.min_bin_size!r}; expected a number of at least 0.")
        return clone(calibrator)


def _fit_if_finite(family, P, codes, weights, start):
    """Return the parameters of a bin, or None if the best ones are infinite."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = solvers.fit(family, family.features(P), codes, weights[:, None], prior=start)
    infinite = found.loss[0] < solvers.SEPARATED or (found.theta[0] >= family.upper).any()
    return None if infinite else found.theta[0]
