"""Calibrators that map one score to one frequency, once per class: what histograms and isotonic steps share."""

from dataclasses import dataclass

import numpy as np

from clustcal.calibrators.base import Calibrator, check_fit_input
from clustcal.core.probabilities import assign_bins


@dataclass(frozen=True)
class StepFunction:
    """A constant in every bin: ``values[b]`` for scores in bin b of ``edges``."""

    edges: np.ndarray
    values: np.ndarray

    def __call__(self, p):
        return self.values[assign_bins(p, self.edges)]


class OneVsRest(Calibrator):
    """Calibrators that map one score to one frequency: once for two classes, once per class for more.

    A subclass gives ``_check_parameters()`` and ``_fit_map(p, hit, weights)``, which returns the map from scores of
    one class to its frequencies. With more than two classes each row is divided by its sum; a row for which every
    class gets 0 stays as it was.
    """

    def fit(self, P, y, Z=None, sample_weight=None):
        """Fit the map of the second class, or of every class if there are more than two.

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
        self._check_parameters()
        P, classes, codes, weights = check_fit_input(P, y, sample_weight, self.classes)
        columns = [1] if P.shape[1] == 2 else range(P.shape[1])
        self.maps_ = [self._fit_map(P[:, column], codes == column, weights) for column in columns]
        self.classes_ = classes
        return self

    def _calibrate(self, P, Z):
        if len(self.maps_) == 1:
            q = self.maps_[0](P[:, 1])
            return np.column_stack([1 - q, q])
        Q = np.column_stack([frequency(p) for frequency, p in zip(self.maps_, P.T, strict=True)])
        nothing = ~Q.any(axis=1)
        Q[nothing] = P[nothing]
        return Q / Q.sum(axis=1, keepdims=True)


def frequency(hits, total, otherwise):
    """hits / total, and ``otherwise`` where there is nothing."""
    return np.divide(hits, total, out=otherwise.copy(), where=total > 0)
