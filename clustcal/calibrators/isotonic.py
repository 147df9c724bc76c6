"""Isotonic regression: the increasing map with the least squared error."""

from __future__ import annotations

from typing import Literal

from numpy.typing import ArrayLike
from sklearn.isotonic import IsotonicRegression

from clustcal.calibrators.one_vs_rest import Map, OneVsRest
from clustcal.core.array_types import Booleans, Floats

__all__ = ["IsotonicCalibration"]


class IsotonicCalibration(OneVsRest):
    """Isotonic regression: the increasing map with the least squared error.

    Parameters
    ----------
    out_of_bounds : {"clip", "raise"}, default="clip"
        What scores beyond those of the calibration set get: the value at the nearest end, or a ValueError.
    classes : array-like of shape (L,), optional
        The label of each column of P; by default the sorted labels.

    Attributes
    ----------
    classes_ : ndarray of shape (L,)
    maps_ : list of callables, and None for a class without rows
        The maps of `sklearn.isotonic.IsotonicRegression`, for the second class or for every class if there are
        more than two. Linear between the scores of the calibration set.

    Notes
    -----
    Values of exactly 0 and 1 are usual at the ends; the log-loss of a test set then depends on how they are clipped.
    With few rows most scores lie on such a step: from a few dozen rows, or a few dozen events, this gives a log-loss
    several times that of no calibration. `VennAbersCalibration` never says 0 or 1, and `CentredIsotonicCalibration` has
    no flat steps in between; of parametric maps `PlattScaling` is the one for few rows.

    See Also
    --------
    VennAbersCalibration, CentredIsotonicCalibration

    References
    ----------
    B. Zadrozny, C. Elkan, "Transforming classifier scores into accurate multiclass probability estimates",
    KDD 2002.

    Examples
    --------
    >>> from clustcal import IsotonicCalibration
    >>> IsotonicCalibration().fit([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1]).predict_proba([0.4, 0.5, 0.9])[:, 1]
    array([0.5, 0.5, 1. ])
    """

    def __init__(self, out_of_bounds: Literal["clip", "raise"] = "clip", classes: ArrayLike | None = None) -> None:
        self.out_of_bounds = out_of_bounds
        self.classes = classes

    def _check_parameters(self) -> None:
        """Raise a ValueError if a parameter cannot serve."""
        if self.out_of_bounds not in ("clip", "raise"):
            raise ValueError(f"out_of_bounds is {self.out_of_bounds!r}; expected 'clip' or 'raise'.")

    def _fit_map(self, p: Floats, hit: Booleans, weights: Floats) -> Map:
        """Return the prediction of a fitted isotonic regression."""
        regression = IsotonicRegression(y_min=0, y_max=1, out_of_bounds=self.out_of_bounds)
        return regression.fit(p, hit.astype(float), sample_weight=weights).predict
