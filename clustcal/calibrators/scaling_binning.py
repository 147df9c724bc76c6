"""Scaling-binning: a smooth map that is made coarse, so that its calibration error can be measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from clustcal.calibrators.one_vs_rest import OneVsRest, StepFunction, fit_to_one_class, two_columns
from clustcal.calibrators.parametric import ParametricCalibrator, PlattScaling
from clustcal.core.array_types import Bins, Booleans, Floats, Strategy
from clustcal.core.probabilities import assign_bins, check_bins, find_edges

__all__ = ["ScalingBinning"]


class ScalingBinning(OneVsRest):
    """Scaling-binning: a parametric map, and in bins of what it gives the mean of what it gives there.

    The result takes only as many values as there are bins, as that of a histogram; but they are means of a smooth map,
    which vary less from sample to sample than frequencies of labels do. Its calibration error can be measured bin by
    bin, where that of the smooth map itself can only be bounded from below.

    Parameters
    ----------
    calibrator : calibrator, optional
        A parametric one for two classes, unfitted. Left out: `PlattScaling`.
    n_bins : int, "auto" or array-like of edges, default=10
    strategy : {"quantile", "uniform"}, default="quantile"
        Bins of equal weight or of equal width; not used with edges. See ``clustcal.core.probabilities.bin_edges``.
    classes : array-like of shape (L,), optional
        The label of each column of P; by default those of ``calibrator``, or else the sorted labels.

    Attributes
    ----------
    classes_ : ndarray of shape (L,)
    maps_ : list of BinnedScaling, and None for a class without rows
        For the second class, or for every class if there are more than two: ``calibrator`` and ``steps``.

    See Also
    --------
    HistogramBinning : Bins of the scores, with frequencies of labels.

    Notes
    -----
    Kumar et al. prove their bound for three samples, one for each of the steps. Here, as in their library, the same
    rows serve all three. With ``calibrator=PlattScaling(prior=None)`` the result is that of their library, but for
    rows between two bins: an edge is the largest score of a bin here, and halfway to the next score there.

    There are no empty bins: where scores are tied, or bins are of equal width, one without rows joins the one below it,
    the first ones the one above.

    With more than two classes there is a map for each class against all others, and rows are divided by their sums.

    References
    ----------
    A. Kumar, P. Liang, T. Ma, "Verified uncertainty calibration", NeurIPS 2019.

    Examples
    --------
    Four scores, two bins: the map leaves scores almost as they are, and each bin has the mean of its two.

    >>> import numpy as np
    >>> from clustcal import PlattScaling, ScalingBinning
    >>> p = np.repeat([0.2, 0.4, 0.6, 0.8], 10)
    >>> y = [0] * 8 + [1] * 2 + [0] * 6 + [1] * 4 + [0] * 4 + [1] * 6 + [0] * 2 + [1] * 8
    >>> ScalingBinning(PlattScaling(prior=None), n_bins=2).fit(p, y).predict_proba([0.2, 0.4, 0.6, 0.8])[:, 1].round(3)
    array([0.3, 0.3, 0.7, 0.7])
    """

    def __init__(
        self,
        calibrator: ParametricCalibrator | None = None,
        n_bins: Bins = 10,
        strategy: Strategy = "quantile",
        classes: ArrayLike | None = None,
    ) -> None:
        self.calibrator = calibrator
        self.n_bins = n_bins
        self.strategy = strategy
        self.classes = classes

    def _fit_map(self, p: Floats, hit: Booleans, weights: Floats) -> BinnedScaling:
        calibrator = fit_to_one_class(self._given(), p, hit, weights)
        q = calibrator._calibrate(two_columns(p), None)[:, 1]
        edges = _without_empty_bins(find_edges(q, self.n_bins, self.strategy, weights), q[weights > 0])
        bins = assign_bins(q, edges)
        count = lambda values: np.bincount(bins, values, minlength=len(edges) - 1)
        return BinnedScaling(calibrator, StepFunction(edges, count(weights * q) / count(weights)))

    def _given(self) -> Any:
        return PlattScaling() if self.calibrator is None else self.calibrator

    def _classes_of_columns(self) -> Any:
        return self._given()._classes_of_columns() if self.classes is None else self.classes

    def _check_parameters(self) -> None:
        given = self._given()
        if not isinstance(given, ParametricCalibrator):
            raise ValueError(f"calibrator is {given!r}; expected a parametric one for two classes, as PlattScaling().")
        if given._takes_logits():
            raise ValueError(f"calibrator is {given!r}; expected one of probabilities.")
        given._check_parameters()
        check_bins(self.n_bins, self.strategy)


def _without_empty_bins(edges: Floats, q: Floats) -> Floats:
    held = np.bincount(assign_bins(q, edges), minlength=len(edges) - 1) > 0
    return np.concatenate([edges[:1], edges[:-1][held][1:], edges[-1:]])


@dataclass(frozen=True)
class BinnedScaling:
    """The map of one class: ``steps`` after ``calibrator``."""

    calibrator: ParametricCalibrator
    steps: StepFunction

    def __call__(self, p: Floats) -> Floats:
        return self.steps(self.calibrator._calibrate(two_columns(p), None)[:, 1])
