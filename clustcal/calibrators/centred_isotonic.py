"""Centred isotonic regression: isotonic regression without its flat steps."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.isotonic import IsotonicRegression

from clustcal.calibrators.one_vs_rest import OneVsRest
from clustcal.core.array_types import Booleans, Floats

__all__ = ["CentredIsotonicCalibration"]


class CentredIsotonicCalibration(OneVsRest):
    """Centred isotonic regression: every step of isotonic regression shrinks to its centre, with lines in between.

    The map increases strictly from the centre of the first step to that of the last, and is flat beyond them. Steps at
    exactly 0 and 1 stay as they are.

    Parameters
    ----------
    classes : array-like of shape (L,), optional
        The label of each column of P; by default the sorted labels.

    Attributes
    ----------
    classes_ : ndarray of shape (L,)
    maps_ : list of CentredSteps, and None for a class without rows
        For the second class, or for every class if there are more than two.

    See Also
    --------
    IsotonicCalibration, VennAbersCalibration

    Notes
    -----
    The centre of a step is the weighted mean of its scores. Few rows give steps at exactly 0 and 1, as they do in
    isotonic regression; `VennAbersCalibration` has none.

    References
    ----------
    A. P. Oron, N. Flournoy, "Centered isotonic regression: point and interval estimation for dose-response studies",
    Statistics in Biopharmaceutical Research, 2017.

    Examples
    --------
    Scores of 0.3 and 0.5 share a step of 1/2, whose centre is 0.4:

    >>> from clustcal import CentredIsotonicCalibration
    >>> fitted = CentredIsotonicCalibration().fit([0.1, 0.3, 0.5, 0.7], [0, 1, 0, 1])
    >>> fitted.predict_proba([0.1, 0.25, 0.4, 0.55, 0.7])[:, 1]
    array([0.  , 0.25, 0.5 , 0.75, 1.  ])
    """

    def __init__(self, classes: ArrayLike | None = None) -> None:
        self.classes = classes

    def _fit_map(self, p: Floats, hit: Booleans, weights: Floats) -> CentredSteps:
        seen = weights > 0
        return CentredSteps(p[seen], hit[seen], weights[seen])


class CentredSteps:
    """The map: ``scores`` and ``values`` of its corners, between which it is linear."""

    def __init__(self, p: Floats, hit: Booleans, weights: Floats) -> None:
        fitted = IsotonicRegression(y_min=0, y_max=1).fit(p, hit.astype(float), sample_weight=weights).predict(p)
        # Values of one step may differ by rounding.
        values, step = np.unique(fitted.round(12), return_inverse=True)
        centres = np.bincount(step, weights * p) / np.bincount(step, weights)
        corners = [(x, value) for x, value in zip(centres, values, strict=True) if 0 < value < 1]
        for end in {0.0, 1.0} & set(values.tolist()):
            flat = p[fitted.round(12) == end]
            corners += [(flat.min(), end), (flat.max(), end)]
        self.scores, self.values = np.array(sorted(corners)).T

    def __call__(self, p: Floats) -> Floats:
        return np.interp(p, self.scores, self.values)
