"""The curve of a reliability diagram: forecast and frequency in each bin, with intervals, and curves that add up.

A curve holds the sums over the rows of its bins, so that those of two batches are the sums of both.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch

from clustcal.core.array_types import AnySeed, Bins, Floats, Integers, Kind, Strategy
from clustcal.core.parameters import check_level, check_one_of, check_whole_number
from clustcal.core.probabilities import assign_bins, bin_edges
from clustcal.core.random_states import as_generator
from clustcal.metrics._inputs import event_classes, forecast_events, read_forecast
from clustcal.metrics.proportions import INTERVALS, clopper_pearson, effective_counts, wilson

__all__ = ["ReliabilityCurve", "reliability_curve"]

# What is summed over the rows of each bin, in this order.
SUMS = ("weight", "squared weight", "weight * forecast", "weight of events")


class ReliabilityCurve(Bunch):
    """The points of a reliability diagram, as `reliability_curve` returns them; see there for its arrays.

    Examples
    --------
    >>> from clustcal.metrics import reliability_curve
    >>> first = reliability_curve([0, 1], [0.2, 0.4], n_bins=2)
    >>> second = reliability_curve([1, 1], [0.8, 1.0], n_bins=2)
    >>> both = first.merge(second)
    >>> both.count, both.confidence
    (array([2., 2.]), array([0.3, 0.9]))
    """

    def merge(self, *others: ReliabilityCurve) -> ReliabilityCurve:
        """The curve of the rows of this one and of all ``others`` together.

        Sums over rows are added, bin by bin: counts, events and so frequencies and intervals are those of one
        call with all rows; mean forecasts are, up to the rounding of a sum in another order. Memory is that of
        the bins, whatever the number of rows.

        Parameters
        ----------
        *others : ReliabilityCurve
            Of the same probability (``kind`` and ``pos_label``) and with the same edges: whole numbers of uniform
            bins, or edges of your own. Those of quantile and of ``"auto"`` bins differ from batch to batch.

        Returns
        -------
        ReliabilityCurve

        Raises
        ------
        ValueError
            If the curves do not go together, or intervals were asked for by bootstrap, which needs the rows.
        """
        if self.interval == "bootstrap":
            raise ValueError("interval is 'bootstrap'; expected another one, or None, for curves that are merged.")
        for other in others:
            self._check_goes_with(other)
        sums = np.sum([curve.sums for curve in (self, *others)], axis=0)
        limits = _limits(sums, self.interval, self.confidence_level)
        return _as_curve(sums, self.edges, limits, self.interval, self.confidence_level, self.kind, self.pos_label)

    def _check_goes_with(self, other: ReliabilityCurve) -> None:
        if not isinstance(other, ReliabilityCurve):
            raise ValueError(f"other is {type(other).__name__}; expected a ReliabilityCurve.")
        for name in ("kind", "pos_label"):
            if self[name] != other[name]:
                raise ValueError(f"other has the {name} {other[name]!r}; expected {self[name]!r}, as in this curve.")
        if not np.array_equal(self.edges, other.edges):
            raise ValueError("other has other edges; expected the same, such as a list of edges given as n_bins.")


def reliability_curve(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    pos_label: Hashable = None,
    n_bins: Bins = 10,
    strategy: Strategy = "uniform",
    kind: Kind = "auto",
    interval: Literal["clopper-pearson", "wilson", "bootstrap"] | None = "clopper-pearson",
    confidence_level: float = 0.95,
    n_resamples: int = 1000,
    random_state: AnySeed = None,
) -> ReliabilityCurve | Any:
    """Mean forecast and observed frequency in each bin: the points of a reliability diagram.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels of any type.
    y_prob : array-like of shape (n,), (n, 1) or (n, L)
        Probabilities. One column is the probability of ``pos_label``.
    sample_weight : array-like of shape (n,), optional
        A weight of 2 counts as the row given twice, except in intervals (below).
    labels : array-like of shape (L,), optional
        The label of each column; needed when ``y_true`` lacks a class and its labels are not 0 .. L - 1.
    pos_label : label, optional
        The class whose probability is looked at; by default, of two, the second of the sorted labels.
    n_bins : int, "auto" or array-like of edges, default=10
        How many bins; ``"auto"`` is the cube root of the total weight (the number of rows), rounded up; or edges
        of your own, increasing from 0 to 1, such as ``[0, 0.001, 0.01, 0.1, 1]`` for rare events.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width, or of equal weight; not used with edges. Equal scores always share a bin.
    kind : {"auto", "positive", "top-label", "classwise"}, default="auto"
        ``"positive"``: the probability of the positive class against whether it occurred. ``"top-label"``:
        the highest probability of each row against whether that class occurred. ``"classwise"``: as positive,
        for every class. ``"auto"``: positive for two classes or with ``pos_label``, else top-label.
    interval : {"clopper-pearson", "wilson", "bootstrap"} or None, default="clopper-pearson"
        How the interval of each frequency is made: see `proportion_interval`. In it n is Kish's effective number
        of rows, :math:`(\\sum w)^2 / \\sum w^2`, which is their number if weights are equal. The bootstrap
        resamples all rows, with their weights.
    confidence_level : float, default=0.95
        Of each interval by itself.
    n_resamples : int, default=1000
    random_state : int, RandomState instance, Generator or None, default=None
        The last two are for the bootstrap.

    Returns
    -------
    curve : ReliabilityCurve, or dict of them by class for ``"classwise"``
        Arrays with one value per bin that holds any weight, in increasing order of score: ``confidence``
        (mean forecast), ``frequency`` (share of events), ``low`` and ``high`` (limits of the frequency; absent
        without ``interval``), ``count`` (total weight), ``effective_count`` (Kish's number of rows), ``bin`` (its
        index); and ``edges`` and ``sums`` of all bins. Curves of batches add up by its method ``merge``.

    Raises
    ------
    ValueError
        If the input is not as described.

    Notes
    -----
    The interval is for the mean chance of an event in the bin, given the forecasts. Where it leaves out the mean
    forecast, the bin is not calibrated on average; of ten bins of a calibrated forecast, one will do so by chance
    in up to 4 of 10 data sets.

    Examples
    --------
    >>> from clustcal.metrics import reliability_curve
    >>> curve = reliability_curve([0, 1, 1, 1], [0.2, 0.4, 0.8, 1.0], n_bins=2)
    >>> curve.confidence, curve.frequency, curve.count
    (array([0.3, 0.9]), array([0.5, 1. ]), array([2., 2.]))
    >>> curve.low.round(3), curve.high.round(3)
    (array([0.013, 0.158]), array([0.987, 1.   ]))
    """
    if interval is not None:
        check_one_of("interval", interval, INTERVALS, otherwise="None")
    check_level("confidence_level", confidence_level)
    check_whole_number("n_resamples", n_resamples)
    rng = as_generator(random_state)
    forecast = read_forecast(y_true, y_prob, sample_weight, labels, pos_label)
    curves = []
    events = forecast_events(forecast, kind)
    for (p, hit), (own_kind, label) in zip(events, event_classes(forecast, kind), strict=True):
        edges = bin_edges(p, n_bins, strategy, forecast.weights)
        bins = assign_bins(p, edges)
        sums = bin_sums(p, hit, forecast.weights, bins, len(edges) - 1)
        limits: tuple[Floats, Floats] | None
        if interval == "bootstrap":
            limits = _resampled_limits(sums, hit, forecast.weights, bins, confidence_level, n_resamples, rng)
        else:
            limits = _limits(sums, interval, confidence_level)
        curves.append(_as_curve(sums, edges, limits, interval, confidence_level, own_kind, label))
    return {curve.pos_label: curve for curve in curves} if kind == "classwise" else curves[0]


def binned(p: Floats, hit: Floats, weights: Floats, n_bins: Bins, strategy: Strategy) -> ReliabilityCurve:
    """The curve of one (p, hit) pair, without intervals: what calibration errors are made of."""
    edges = bin_edges(p, n_bins, strategy, weights)
    sums = bin_sums(p, hit, weights, assign_bins(p, edges), len(edges) - 1)
    return _as_curve(sums, edges, None, None, None, None, None)


def bin_sums(p: Floats, hit: Floats, weights: Floats, bins: Integers, n_bins: int) -> Floats:
    """Sums over the rows of each bin, shape (4, n_bins), in the order of ``SUMS``."""
    count = np.bincount(bins, weights, n_bins)
    # Of equal weights the squares need no pass of their own.
    equal = weights[0] if weights.min() == weights.max() else None
    squares = np.bincount(bins, weights * weights, n_bins) if equal is None else count * equal
    return np.array([count, squares, np.bincount(bins, weights * p, n_bins), np.bincount(bins, weights * hit, n_bins)])


def _as_curve(
    sums: Floats,
    edges: Floats,
    limits: tuple[Floats, Floats] | None,
    interval: str | None,
    confidence_level: float | None,
    kind: str | None,
    pos_label: Any,
) -> ReliabilityCurve:
    filled = np.flatnonzero(sums[0] > 0)
    count, squares, forecasts, hits = sums[:, filled]
    curve = ReliabilityCurve(
        confidence=forecasts / count,
        frequency=hits / count,
        count=count,
        effective_count=count**2 / squares,
        bin=filled,
        edges=edges,
        sums=sums,
        interval=interval,
        confidence_level=confidence_level,
        kind=kind,
        pos_label=pos_label,
    )
    if limits is not None:
        curve.low, curve.high = limits
    return curve


def _limits(sums: Floats, interval: str | None, confidence_level: float) -> tuple[Floats, Floats] | None:
    """Lower and upper limit of the frequency of each bin that holds weight; None if none are asked for."""
    if interval is None:
        return None
    count, squares, _, hits = sums[:, sums[0] > 0]
    make = clopper_pearson if interval == "clopper-pearson" else wilson
    return make(*effective_counts(count, squares, hits), confidence_level)


def _resampled_limits(
    sums: Floats,
    hit: Floats,
    weights: Floats,
    bins: Integers,
    confidence_level: float,
    n_resamples: int,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Percentile limits of the frequencies over resamples of all rows.

    Rows of the same bin, outcome and weight are alike, and drawing n rows is a multinomial draw of how often each
    kind of row comes: of equal weights, there are two kinds per bin, whatever n.
    """
    filled = np.flatnonzero(sums[0] > 0)
    levels, level = np.unique(weights, return_inverse=True)
    kinds, n_rows = np.unique((bins * 2 + hit.astype(int)) * len(levels) + level, return_counts=True)
    cell, level = np.divmod(kinds, len(levels))
    samples = np.full((n_resamples, len(filled)), np.nan)
    for sample in samples:
        drawn = rng.multinomial(len(hit), n_rows / len(hit)) * levels[level]
        both = np.bincount(cell, drawn, 2 * len(sums[0])).reshape(-1, 2)[filled]
        total = both.sum(axis=1)
        np.divide(both[:, 1], total, out=sample, where=total > 0)
    # A bin of one row is missing from a third of the resamples and says nothing there.
    return tuple(np.nanquantile(samples, [(1 - confidence_level) / 2, (1 + confidence_level) / 2], axis=0))
