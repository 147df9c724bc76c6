"""CORP: what of a score is miscalibration, discrimination and uncertainty, without bins, and its reliability curve.

Isotonic regression of the outcomes on the forecast takes the place of bins: it is the best increasing recalibration,
whatever the proper score, and has no number to choose.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import xlogy
from sklearn.isotonic import isotonic_regression
from sklearn.utils import Bunch

from clustcal.core.array_types import AnySeed, Event, Floats, Integers
from clustcal.core.parameters import check_level, check_one_of, check_whole_number
from clustcal.core.probabilities import EPS
from clustcal.core.random_states import as_generator
from clustcal.metrics._inputs import forecast_event, read_forecast
from clustcal.metrics.proportions import clopper_pearson

__all__ = ["corp_curve", "corp_decomposition"]

BANDS = ("consistency", "confidence")
# Blocks of rows between whose ends the confidence band is made; all pairs of ends are looked at.
MOST_BLOCKS = 64
# Forecasts up to which each has a place of its own in the consistency band; of more, neighbours share one.
MOST_PLACES = 5000


def corp_decomposition(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    score: Literal["brier", "log_loss", "spherical"] | Callable[[Any, Any], Any] = "brier",
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    pos_label: Hashable = None,
    kind: Event = "auto",
) -> Bunch:
    """Split a proper score into miscalibration, discrimination and uncertainty, without bins (CORP).

    With the forecast p, its isotonic recalibration :math:`\\hat q` (the increasing function of p that is nearest to
    the outcomes), and the frequency r of the event, a constant forecast,

    .. math::

        S(p) = \\underbrace{S(p) - S(\\hat q)}_{\\mathrm{MCB}} -
        \\underbrace{(S(r) - S(\\hat q))}_{\\mathrm{DSC}} + \\underbrace{S(r)}_{\\mathrm{UNC}}

    where S is the mean score. MCB is what recalibration in hindsight would gain, DSC what the recalibrated forecast
    gains over the constant one. Neither is negative, for any proper score.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels of any type.
    y_prob : array-like of shape (n,), (n, 1) or (n, L)
        Probabilities. One column is the probability of ``pos_label``.
    score : {"brier", "log_loss", "spherical"} or callable, default="brier"
        A proper score of the event, lower being better: squared error; log-loss in nats; minus the spherical score,
        which is the probability of what happened over the length of the vector (p, 1 - p); or ``f(p, y)`` of two
        arrays of shape (n,), which returns the scores of the rows, shape (n,).
    sample_weight : array-like of shape (n,), optional
        A weight of 2 counts as the row given twice.
    labels : array-like of shape (L,), optional
        The label of each column.
    pos_label : label, optional
        The class whose probability is looked at; by default, of two, the second of the sorted labels.
    kind : {"auto", "positive", "top-label"}, default="auto"
        As in `reliability_curve`. For top labels the outcome is whether the label is right.

    Returns
    -------
    parts : Bunch
        ``score`` = ``miscalibration`` - ``discrimination`` + ``uncertainty``; lower, lower and higher are better,
        and the last belongs to the task.

    Raises
    ------
    ValueError
        If the input is not as described.

    Notes
    -----
    MCB is measured in sample, with a map that was fitted to the same rows: it is above 0 also for a calibrated
    forecast of few rows (by chance; it falls about as :math:`n^{-2/3}`). Forecasts of 0 and 1 are cut at 2e-16 by the
    log-loss, as in `log_loss`, which also bounds what a forecast loses there.

    References
    ----------
    Dimitriadis, T., Gneiting, T. and Jordan, A. I. (2021). Stable reliability diagrams for probabilistic
    classifiers. PNAS 118.

    Examples
    --------
    >>> from clustcal.metrics import corp_decomposition
    >>> parts = corp_decomposition([0, 0, 0, 1, 1, 1, 1, 0], [0.25] * 4 + [0.5] * 4)
    >>> parts.miscalibration, parts.discrimination, parts.uncertainty, parts.score
    (0.03125, 0.0625, 0.25, 0.21875)
    """
    if not callable(score):
        check_one_of("score", score, SCORES, otherwise="a function of p and y")
    p, hit, weights = _event(y_true, y_prob, sample_weight, labels, pos_label, kind)
    values, members = np.unique(p, return_inverse=True)
    fit = _isotonic(members, len(values), hit, weights)
    rate = np.average(hit, weights=weights)
    of_rows = score if callable(score) else SCORES[score]
    means = []
    for forecast in (p, fit[members], np.full(len(p), rate)):
        scores = np.asarray(of_rows(forecast, hit), dtype=float)
        if scores.shape != p.shape or not np.isfinite(scores[weights > 0]).all():
            raise ValueError(f"score returned shape {scores.shape} or values that are not finite; expected {p.shape}.")
        means.append(float(np.average(scores, weights=weights)))
    own, recalibrated, constant = means
    return Bunch(
        score=own,
        miscalibration=own - recalibrated,
        discrimination=constant - recalibrated,
        uncertainty=constant,
    )


def corp_curve(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    band: Literal["consistency", "confidence"] | None = "consistency",
    confidence_level: float = 0.95,
    n_resamples: int = 1000,
    random_state: AnySeed = 0,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    pos_label: Hashable = None,
    kind: Event = "auto",
) -> Bunch:
    """The CORP reliability curve: the isotonic frequency of the event at each forecast, with a band.

    Parameters
    ----------
    y_true, y_prob, sample_weight, labels, pos_label, kind
        As in `corp_decomposition`.
    band : {"consistency", "confidence"} or None, default="consistency"
        ``"consistency"``: where the curve would lie, at each forecast by itself, if the forecast were calibrated.
        Outcomes are drawn from the forecasts, and fitted anew. It lies around the diagonal, and a curve that leaves
        it speaks against calibration. ``"confidence"``: where the true frequencies can lie, at all forecasts
        together, if they increase with the forecast. It lies around the curve.
    confidence_level : float, default=0.95
    n_resamples : int, default=1000
        Draws for the consistency band.
    random_state : int, RandomState instance, Generator or None, default=0

    Returns
    -------
    curve : Bunch
        Arrays with one value per distinct forecast with weight, in increasing order, (d,): ``forecast``,
        ``frequency``, ``count`` (weight), and, unless ``band`` is None, ``low`` and ``high``; ``band`` and
        ``confidence_level``.

    Raises
    ------
    ValueError
        If the input is not as described.

    Notes
    -----
    The confidence band is Dimitriadis and others' (2023): if the true frequency increases, that of the last of the
    rows j .. k is at least their mean, so that the lower Clopper-Pearson limit of their events holds for all rows
    from k on; the limit at a row is the highest of all such. With limits between the ends of B blocks (64, of about
    equal size), each at the level :math:`1 - (1 - \\gamma) / (B (B + 1) / 2)`, all hold together with probability at
    least :math:`\\gamma`, at any n. It is wider than a band for one forecast, and needs no asymptotics, for which
    isotonic regression is ill suited: its error is not normal, and a bootstrap of it does not cover.
    Of weighted rows, Kish's effective number stands for the number of rows. In the consistency band of more than 5,000
    distinct forecasts neighbours share their limits, in 5,000 groups, so that time and memory stay bounded.

    References
    ----------
    Dimitriadis, T., Gneiting, T. and Jordan, A. I. (2021). Stable reliability diagrams for probabilistic
    classifiers. PNAS 118.

    Dimitriadis, T., Duembgen, L., Henzi, A., Puke, M. and Ziegel, J. (2023). Honest calibration assessment for
    binary outcome predictions. Biometrika 110.

    Examples
    --------
    The forecasts 0.4 and 0.6 have frequencies in the wrong order, and share one value, 1/2:

    >>> from clustcal.metrics import corp_curve
    >>> curve = corp_curve([0, 1, 0, 1], [0.2, 0.4, 0.6, 0.8])
    >>> curve.forecast, curve.frequency
    (array([0.2, 0.4, 0.6, 0.8]), array([0. , 0.5, 0.5, 1. ]))
    """
    if band is not None:
        check_one_of("band", band, BANDS, otherwise="None")
    check_level("confidence_level", confidence_level)
    check_whole_number("n_resamples", n_resamples)
    rng = as_generator(random_state)
    p, hit, weights = _event(y_true, y_prob, sample_weight, labels, pos_label, kind)
    p, hit, weights = p[weights > 0], hit[weights > 0], weights[weights > 0]
    values, members = np.unique(p, return_inverse=True)
    curve = Bunch(
        forecast=values,
        frequency=_isotonic(members, len(values), hit, weights),
        count=np.bincount(members, weights),
        band=band,
        confidence_level=confidence_level,
    )
    if band == "consistency":
        curve.low, curve.high = _consistency_band(values, members, weights, confidence_level, n_resamples, rng)
    elif band == "confidence":
        curve.low, curve.high = _confidence_band(members, len(values), hit, weights, confidence_level)
    return curve


def _event(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    sample_weight: ArrayLike | None,
    labels: ArrayLike | None,
    pos_label: Hashable,
    kind: Event,
) -> tuple[Floats, Floats, Floats]:
    forecast = read_forecast(y_true, y_prob, sample_weight, labels, pos_label)
    return *forecast_event(forecast, kind), forecast.weights


def _isotonic(members: Integers, n_values: int, hit: Floats, weights: Floats) -> Floats:
    """The increasing frequencies of the distinct forecasts, (n_values,)."""
    count = np.bincount(members, weights, n_values)
    return _isotonic_from_counts(np.bincount(members, weights * hit, n_values), count)


def _isotonic_from_counts(hits: NDArray[Any], count: NDArray[Any]) -> Floats:
    frequency = np.divide(hits, count, out=np.zeros(len(count)), where=count > 0)
    # A forecast of no weight must not be read; the least positive number keeps it from moving any other.
    fit = isotonic_regression(frequency, sample_weight=np.maximum(count, np.finfo(float).tiny))
    return fit.clip(0, 1)


def _consistency_band(
    values: Floats,
    members: Integers,
    weights: Floats,
    confidence_level: float,
    n_resamples: int,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Percentiles, at each distinct forecast, of the curves of outcomes that are drawn from the forecasts."""
    if len(values) > MOST_PLACES:
        place, values, members = _shared_places(values, members, weights)
    else:
        place = slice(None)
    equal = weights.min() == weights.max()
    rows, count = np.bincount(members), np.bincount(members, weights)
    p = values[members]
    curves = np.empty((n_resamples, len(values)), dtype=np.float32)
    for curve in curves:
        # Of equal weights the events at a forecast are one binomial number.
        hits = rng.binomial(rows, values) * weights[0] if equal else None
        if hits is None:
            hits = np.bincount(members, weights * (rng.random(len(p)) < p))
        curve[:] = _isotonic_from_counts(hits, count)
    tail = (1 - confidence_level) / 2
    limits = np.quantile(curves, [tail, 1 - tail], axis=0, method="nearest").astype(float)
    return tuple(limits[:, place])


def _shared_places(values: Floats, members: Integers, weights: Floats) -> Any:
    """Join neighbouring forecasts to places of equal numbers of rows: the place of each, their means, those of rows."""
    before = np.cumsum(np.bincount(members)) - 1
    place = np.unique(before * MOST_PLACES // len(members), return_inverse=True)[1]
    of_rows = place[members]
    return place, np.bincount(of_rows, weights * values[members]) / np.bincount(of_rows, weights), of_rows


def _confidence_band(
    members: Integers, n_values: int, hit: Floats, weights: Floats, confidence_level: float
) -> tuple[Floats, Floats]:
    """Limits of an increasing frequency at each distinct forecast, valid for all of them together."""
    n_rows = np.cumsum(np.bincount(members, minlength=n_values))
    # Ends of blocks: places among the distinct forecasts, so that equal forecasts stay together.
    shares = np.arange(1, MOST_BLOCKS + 1) / MOST_BLOCKS * n_rows[-1]
    ends = np.unique(np.searchsorted(n_rows, shares * (1 - 1e-12)))
    blocks = np.searchsorted(ends, members)
    sums = [np.bincount(blocks, values) for values in (weights, weights**2, weights * hit)]
    first, last = np.triu_indices(len(ends))
    upto = [np.concatenate([[0.0], np.cumsum(values)]) for values in sums]
    weight, squares, events = (total[last + 1] - total[first] for total in upto)
    trials = weight**2 / squares
    level = 1 - (1 - confidence_level) / len(first)
    low, high = clopper_pearson((trials * events / weight).clip(0, trials), trials, level)
    floor, roof = np.zeros(len(ends)), np.ones(len(ends))
    np.maximum.at(floor, last, low)
    np.minimum.at(roof, first, high)
    floor, roof = np.maximum.accumulate(floor), np.minimum.accumulate(roof[::-1])[::-1]
    # The limit of a block holds from its last forecast on (below it, up to its first).
    starts = np.concatenate([[0], ends[:-1] + 1])
    places = np.arange(n_values)
    done = np.searchsorted(ends, places, side="right") - 1
    to_come = np.searchsorted(starts, places)
    low = np.where(done >= 0, floor[done.clip(0)], 0.0)
    high = np.where(to_come < len(starts), roof[to_come.clip(None, len(starts) - 1)], 1.0)
    return low, high


def _log_loss(p: Floats, y: Floats) -> Floats:
    p = np.clip(p, EPS, 1 - EPS)
    return -(xlogy(y, p) + xlogy(1 - y, 1 - p))


SCORES = {
    "brier": lambda p, y: (p - y) ** 2,
    "log_loss": _log_loss,
    "spherical": lambda p, y: -(y * p + (1 - y) * (1 - p)) / np.hypot(p, 1 - p),
}
