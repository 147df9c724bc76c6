"""One binary calibrator per class, for any calibrator of two classes."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from clustcal.calibrators.base import Calibrator
from clustcal.calibrators.one_vs_rest import OneVsRest, fit_to_one_class, two_columns
from clustcal.calibrators.parametric import PlattScaling
from clustcal.core.array_types import Booleans, Floats

__all__ = ["OneVsRestCalibration"]


class OneVsRestCalibration(OneVsRest):
    """Calibrate the probability of every class against all others, and divide each row by its sum.

    Parameters
    ----------
    calibrator : calibrator, optional
        For two classes, without a representation, unfitted. Left out: `PlattScaling`.
    classes : array-like of shape (L,), optional
        The label of each column of P; by default those of ``calibrator``, or else the sorted labels.

    Attributes
    ----------
    classes_ : ndarray of shape (L,)
    calibrators_ : list of calibrators
        One for the second of two classes; for more than two one per class, None for a class without rows.

    Notes
    -----
    A class without rows keeps its probability before rows are divided by their sums; a row for which every class gets
    0 stays as it was.

    Each class has parameters of its own, so that with ten classes or more, and a few hundred rows, this is usually
    worse than one temperature for all, and often than no calibration: try `TemperatureScaling` and `StructuredScaling`
    first. What a classifier says of one class when another is likely is lost here, and used there.

    References
    ----------
    B. Zadrozny, C. Elkan, "Transforming classifier scores into accurate multiclass probability estimates",
    KDD 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from clustcal import BetaCalibration, OneVsRestCalibration
    >>> P = np.repeat([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]], 10, axis=0)
    >>> y = [0] * 6 + [1, 1, 2, 2] + [1] * 6 + [0, 0, 2, 2] + [2] * 6 + [0, 0, 1, 1]
    >>> OneVsRestCalibration(BetaCalibration(prior=None)).fit(P, y).predict_proba([[0.8, 0.1, 0.1]]).round(3)
    array([[0.6, 0.2, 0.2]])
    """

    def __init__(self, calibrator: Calibrator | None = None, classes: ArrayLike | None = None) -> None:
        self.calibrator = calibrator
        self.classes = classes

    @property
    def calibrators_(self) -> list[Any]:
        return self.maps_

    def _fit_map(self, p: Floats, hit: Booleans, weights: Floats) -> Calibrator:
        return fit_to_one_class(self._given(), p, hit, weights)

    def _of_two(self, one: Calibrator, p: Floats) -> Floats:
        return one._calibrate(two_columns(p), None)

    def _classes_of_columns(self) -> ArrayLike | None:
        return self._given()._classes_of_columns() if self.classes is None else self.classes

    def _given(self) -> Calibrator:
        return PlattScaling() if self.calibrator is None else self.calibrator

    def _check_parameters(self) -> None:
        given = self._given()
        if not isinstance(given, Calibrator) or given.needs_representation:
            raise ValueError(f"calibrator is {given!r}; expected one for two classes, such as PlattScaling().")
        if given._takes_logits():
            raise ValueError(f"calibrator is {given!r}; expected one of probabilities.")
        given._check_parameters()
