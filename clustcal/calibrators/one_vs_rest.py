"""Calibrators that map one score to one frequency, once per class: what histograms and isotonic steps share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from clustcal.calibrators.base import CalibrationSet, Calibrator
from clustcal.core.array_types import Booleans, Floats, Matrix
from clustcal.core.probabilities import Scores, assign_bins

# From scores of one class to its frequencies.
Map: TypeAlias = Callable[[Floats], Floats]


@dataclass(frozen=True)
class StepFunction:
    """A constant in every bin: ``values[b]`` for scores in bin b of ``edges``."""

    edges: Floats
    values: Floats

    def __call__(self, p: Floats) -> Floats:
        return self.values[assign_bins(p, self.edges)]


class OneVsRest(Calibrator):
    """Calibrators that map one score to one frequency: once for two classes, once per class for more.

    A subclass gives ``_check_parameters()`` and ``_fit_map(p, hit, weights)``, which returns the map from scores of
    one class to its frequencies. With more than two classes a class without rows keeps its probability, as a frequency
    of 0 would be a certainty; each row is divided by its sum; a row for which every class gets 0 stays as it was.
    """

    # Whether a class without rows has no map, as it would give 0.
    needs_rows_of_class = True

    def _fit_map(self, p: Floats, hit: Booleans, weights: Floats) -> Map:
        raise NotImplementedError

    def _fit(self, data: CalibrationSet) -> None:
        P = data.scores.P
        columns = [1] if data.n_classes == 2 else range(data.n_classes)
        self.maps_: list[Any] = [self._fit_one(P[:, column], data.codes == column, data.weights) for column in columns]

    def _fit_one(self, p: Floats, hit: Booleans, weights: Floats) -> Map | None:
        return self._fit_map(p, hit, weights) if weights[hit].any() or not self.needs_rows_of_class else None

    def _of_two(self, one: Any, p: Floats) -> Floats:
        """Return what the map of one class says of the others and of it, shape (n, 2), for its scores."""
        q = one(p)
        return np.column_stack([1 - q, q])

    def _calibrate(self, scores: Scores, Z: Matrix) -> Floats:
        P = scores.P
        if len(self.maps_) == 1:
            return self._of_two(self.maps_[0], P[:, 1])
        ones = zip(self.maps_, P.T, strict=True)
        Q = np.column_stack([p if one is None else self._of_two(one, p)[:, 1] for one, p in ones])
        nothing = ~Q.any(axis=1)
        Q[nothing] = P[nothing]
        return Q / Q.sum(axis=1, keepdims=True)


def frequency(hits: NDArray[Any], total: NDArray[Any], otherwise: Floats) -> Floats:
    """hits / total, and ``otherwise`` where there is nothing."""
    return np.divide(hits, total, out=otherwise.copy(), where=total > 0)


def two_columns(p: Floats) -> Scores:
    """Return the scores of a class against all others."""
    return Scores(np.column_stack([1 - p, p]))


def fit_to_one_class(calibrator: Calibrator, p: Floats, hit: Booleans, weights: Floats) -> Any:
    """Return a copy of a calibrator for two classes, fitted to the scores of one class against all others."""
    return clone(calibrator)._fit_to(CalibrationSet(two_columns(p), hit.astype(int), np.array([0, 1]), weights))
