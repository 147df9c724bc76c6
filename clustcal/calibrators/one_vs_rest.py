"""Calibrators that map one score to one frequency, once per class: what histograms and isotonic steps share."""

from dataclasses import dataclass

import numpy as np

from clustcal.calibrators.base import Calibrator
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

    def _fit(self, data):
        P = data.scores.P
        columns = [1] if data.n_classes == 2 else range(data.n_classes)
        self.maps_ = [self._fit_map(P[:, column], data.codes == column, data.weights) for column in columns]

    def _calibrate(self, scores, Z):
        P = scores.P
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
