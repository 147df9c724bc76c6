"""Venn-Abers prediction: two isotonic regressions for every score, one for each label that it may turn out to have."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from clustcal.calibrators.one_vs_rest import OneVsRest
from clustcal.core.array_types import Booleans, Floats, Integers

__all__ = ["VennAbersCalibration"]


class VennAbersCalibration(OneVsRest):
    r"""Venn-Abers prediction: isotonic regression that says how sure it is, and that few rows do not carry to 0 or 1.

    To the calibration set the row at hand is added twice, once with label 0 and once with label 1; isotonic regression
    gives it the frequencies :math:`p_0 \le p_1`. Whatever the label turns out to be, one of the two is calibrated. In
    one number, the one that loses least against the better of the two in log-loss,

    .. math:: q = \frac{p_1}{1 - p_0 + p_1} .

    Parameters
    ----------
    classes : array-like of shape (L,), optional
        The label of each column of P; by default the sorted labels.

    Attributes
    ----------
    classes_ : ndarray of shape (L,)
    maps_ : list of VennAbersMap
        For the second class, or for every class if there are more than two. Called they give q; ``bounds(p)`` gives
        both frequencies.

    See Also
    --------
    IsotonicCalibration : One isotonic regression, without the added row.

    Notes
    -----
    With more than two classes there is a map for each class against all others, and rows are divided by their sums.
    Weights count rows; the added row has weight 1.

    References
    ----------
    V. Vovk, I. Petej, V. Fedorova, "Large-scale probabilistic predictors with and without guarantees of validity",
    NeurIPS 2015.

    Examples
    --------
    Isotonic regression gives 0.9 the frequency 1 after a single row:

    >>> from clustcal import VennAbersCalibration
    >>> fitted = VennAbersCalibration().fit([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1])
    >>> fitted.predict_proba([0.9])[:, 1].round(3)
    array([0.667])
    >>> fitted.predict_interval([0.9])
    array([[0.5, 1. ]])
    """

    needs_rows_of_class = False

    def __init__(self, classes: ArrayLike | None = None) -> None:
        self.classes = classes

    def predict_interval(self, P: ArrayLike) -> Floats:
        """Return the frequencies for either label of the row at hand.

        Parameters
        ----------
        P : array-like of shape (n,) or (n, L)
            Probabilities of the classifier.

        Returns
        -------
        interval : ndarray of shape (n, 2), or (n, L, 2) with more than two classes
            The lower and the upper probability, of the second of two classes, or of every class against all others.
            With more than two classes rows of `predict_proba` are divided by their sums and these are not, so that a
            probability there may lie outside its interval here.
        """
        P = self._read_scores(P).P
        if len(self.maps_) == 1:
            return np.column_stack(self.maps_[0].bounds(P[:, 1]))
        return np.stack([np.column_stack(one.bounds(p)) for one, p in zip(self.maps_, P.T, strict=True)], axis=1)

    def _fit_map(self, p: Floats, hit: Booleans, weights: Floats) -> VennAbersMap:
        seen = weights > 0
        return VennAbersMap(p[seen], hit[seen], weights[seen])


class VennAbersMap:
    """Both isotonic regressions of any score, from the cumulative sums of weights and hits.

    The isotonic regression is the slope of the greatest convex minorant of the points (cumulative weight, cumulative
    hits) in the order of the scores. The minorants of all beginnings and of all ends of the sequence are chains:
    ``before`` and ``after`` say which vertex comes next. The row that is added lies between a beginning and an end, and
    draws neighbouring edges into its own for as long as their slopes are out of order.
    """

    def __init__(self, p: Floats, hit: Booleans, weights: Floats) -> None:
        self.scores, place = np.unique(p, return_inverse=True)
        of_score = lambda values: np.concatenate([[0.0], np.cumsum(np.bincount(place, values))])
        self.weight, self.hits = of_score(weights), of_score(weights * hit)
        self.before = _chain(self.weight, self.hits)
        backwards = _chain(-self.weight[::-1], self.hits[::-1])
        self.after = (len(self.weight) - 1 - backwards)[::-1]

    def __call__(self, p: Floats) -> Floats:
        low, high = self.bounds(p)
        return high / (1 - low + high)

    def bounds(self, p: Floats) -> tuple[Floats, Floats]:
        """Return the frequencies if the label is 0 and if it is 1, shape (n,) each."""
        scores, place = np.unique(p, return_inverse=True)
        start, end = np.searchsorted(self.scores, scores, "left"), np.searchsorted(self.scores, scores, "right")
        # Sums of weights of any size round beyond 0 and 1.
        low, high = (self._with_row(start, end, label)[place].clip(0, 1) for label in (0, 1))
        return low, high

    def _with_row(self, start: Integers, end: Integers, label: int) -> Floats:
        """Return the slope of the edge that holds the added row, for rows after ``start`` and before ``end`` scores."""
        start, end = start.copy(), end.copy()
        while True:
            slope = (self.hits[end] - self.hits[start] + label) / (self.weight[end] - self.weight[start] + 1)
            too_steep = self._slope(self.before[start], start) > slope
            too_flat = self._slope(end, self.after[end]) < slope
            if not (too_steep.any() or too_flat.any()):
                return slope
            # One side at a time, as either changes the slope.
            end[too_flat] = self.after[end[too_flat]]
            left = too_steep & ~too_flat
            start[left] = self.before[start[left]]

    def _slope(self, first: Integers, last: Integers) -> Floats:
        """Return the slope between two vertices, NaN where they are one, which no comparison finds out of order."""
        with np.errstate(invalid="ignore"):
            return (self.hits[last] - self.hits[first]) / (self.weight[last] - self.weight[first])


def _chain(x: Floats, y: Floats) -> Integers:
    """Return for every point the vertex before it in the lower convex hull of the points up to it."""
    x, y = x.tolist(), y.tolist()
    before = [0] * len(x)
    for k in range(1, len(x)):
        j = k - 1
        while j > 0 and (y[j] - y[before[j]]) * (x[k] - x[j]) >= (y[k] - y[j]) * (x[j] - x[before[j]]):
            j = before[j]
        before[k] = j
    return np.array(before)
