"""One binary calibrator per class, for any calibrator of two classes."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from clustcal.calibrators.base import CalibrationSet, Calibrator
from clustcal.calibrators.one_vs_rest import fit_to_one_class, two_columns
from clustcal.calibrators.parametric import PlattScaling
from clustcal.core.array_types import Booleans, Floats, Matrix
from clustcal.core.probabilities import Scores

__all__ = ["OneVsRestCalibration"]


class OneVsRestCalibration(Calibrator):
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

    def _fit(self, data: CalibrationSet) -> None:
        P = data.scores.P
        columns = [1] if data.n_classes == 2 else range(data.n_classes)
        self.calibrators_: list[Any] = [self._fit_one(P[:, k], data.codes == k, data.weights) for k in columns]

    def _fit_one(self, p: Floats, hit: Booleans, weights: Floats) -> Calibrator | None:
        if not weights[hit].any():
            return None
        return fit_to_one_class(self._given(), p, hit, weights)

    def _calibrate(self, scores: Scores, Z: Matrix) -> Floats:
        P = scores.P
        if len(self.calibrators_) == 1:
            return self.calibrators_[0]._calibrate(two_columns(P[:, 1]), None)
        Q = P.copy()
        for k, one in enumerate(self.calibrators_):
            if one is not None:
                Q[:, k] = one._calibrate(two_columns(P[:, k]), None)[:, 1]
        nothing = ~Q.any(axis=1)
        Q[nothing] = P[nothing]
        return Q / Q.sum(axis=1, keepdims=True)

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
