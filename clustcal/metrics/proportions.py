"""Intervals for proportions, and for sums of proportions: what a frequency of few rows can tell.

Exact where an exact one exists. Weighted rows enter through Kish's effective number of rows.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import betaincinv, ndtri

from clustcal.core.array_types import AnySeed, Floats
from clustcal.core.parameters import check_level, check_one_of, check_whole_number, read_numbers
from clustcal.core.random_states import as_generator

__all__ = ["proportion_interval"]

INTERVALS = ("clopper-pearson", "wilson", "bootstrap")


def proportion_interval(
    events: ArrayLike,
    trials: ArrayLike,
    *,
    method: Literal["clopper-pearson", "wilson", "bootstrap"] = "clopper-pearson",
    confidence_level: float = 0.95,
    n_resamples: int = 1000,
    random_state: AnySeed = None,
) -> tuple[Any, Any]:
    """Interval of a proportion that was observed as ``events`` out of ``trials``.

    Clopper and Pearson's interval holds every rate that would not make the observed number of events, or one further
    out, rarer than half of what is left to the level:

    .. math::

        P(X \\ge x \\mid q_{\\mathrm{low}}) = P(X \\le x \\mid q_{\\mathrm{high}}) = \\frac{1 - \\gamma}{2},
        \\qquad X \\sim \\mathrm{Bin}(n, q)

    It covers the true rate at least as often as its level :math:`\\gamma` says, for every rate and every n.
    Wilson's interval inverts the score test; it is shorter, and covers less than it says for some rare events.
    The percentile bootstrap covers far less for rare events, and has no width at all where none occurred.

    Parameters
    ----------
    events : array-like of shape (b,), or a number
        How often it occurred; between 0 and ``trials``, not necessarily whole.
    trials : array-like of shape (b,), or a number
        Out of how many; above 0.
    method : {"clopper-pearson", "wilson", "bootstrap"}, default="clopper-pearson"
    confidence_level : float, default=0.95
    n_resamples : int, default=1000
    random_state : int, RandomState instance, Generator or None, default=None
        The last two are for ``"bootstrap"`` alone, which needs whole numbers of trials.

    Returns
    -------
    low, high : ndarray of shape (b,), or floats
        Between 0 and 1.

    Raises
    ------
    ValueError
        If the input is not as described.

    Notes
    -----
    Trials are independent and share one rate. Where their rates differ and their mean is asked for, the interval
    stays valid in practice, as a sum of unequal trials varies less than a binomial one. Of weighted rows give
    Kish's effective number :math:`(\\sum w)^2 / \\sum w^2` as the trials, and that times the weighted frequency as
    the events: exact for equal weights, an approximation for others.

    References
    ----------
    Clopper, C. J. and Pearson, E. S. (1934). The use of confidence or fiducial limits illustrated in the case of
    the binomial. Biometrika 26.

    Brown, L. D., Cai, T. T. and DasGupta, A. (2001). Interval estimation for a binomial proportion. Statistical
    Science 16.

    Examples
    --------
    After no event in 128 rows the rate may still be 2.8 %, near 3.7 / n (the rule of three is its one-sided kin):

    >>> from clustcal.metrics import proportion_interval
    >>> low, high = proportion_interval(0, 128)
    >>> round(low, 4), round(high, 4)
    (0.0, 0.0284)
    """
    check_level("confidence_level", confidence_level)
    check_one_of("method", method, INTERVALS)
    check_whole_number("n_resamples", n_resamples)
    rng = as_generator(random_state)
    events, trials = _checked_counts(events, trials)
    if method == "clopper-pearson":
        low, high = clopper_pearson(events, trials, confidence_level)
    elif method == "wilson":
        low, high = wilson(events, trials, confidence_level)
    else:
        low, high = _percentiles_of_binomials(events, trials, confidence_level, n_resamples, rng)
    return (low, high) if np.ndim(low) else (float(low), float(high))


def clopper_pearson(events: Floats, trials: Floats, confidence_level: float) -> tuple[Floats, Floats]:
    """Clopper and Pearson's limits, of checked arrays (see `proportion_interval`)."""
    tail = (1 - confidence_level) / 2
    others = trials - events
    # The tail sums of a binomial are incomplete beta functions; at no event, and at no other, the limit is the end.
    low = np.where(events > 0, betaincinv(np.maximum(events, 1e-300), others + 1, tail), 0.0)
    high = np.where(others > 0, betaincinv(events + 1, np.maximum(others, 1e-300), 1 - tail), 1.0)
    return low, high


def wilson(events: Floats, trials: Floats, confidence_level: float) -> tuple[Floats, Floats]:
    """Wilson's limits, of checked arrays (see `proportion_interval`)."""
    z = ndtri((1 + confidence_level) / 2)
    rate = events / trials
    middle = (rate + z**2 / (2 * trials)) / (1 + z**2 / trials)
    half_width = z * np.sqrt(rate * (1 - rate) / trials + z**2 / (4 * trials**2)) / (1 + z**2 / trials)
    # Rounding must not leave the ends out where all or none occurred.
    low = np.where(events > 0, (middle - half_width).clip(0, 1), 0.0)
    high = np.where(events < trials, (middle + half_width).clip(0, 1), 1.0)
    return low, high


def effective_counts(weight: Floats, squared_weight: Floats, weight_of_events: Floats) -> tuple[Floats, Floats]:
    """Kish's number of rows and the number of events among them, from sums of weights and of their squares."""
    trials = weight**2 / squared_weight
    return np.minimum(trials * (weight_of_events / weight), trials), trials


def shares_interval(shares: Floats, n_rows: float, worth: Floats, confidence_level: float) -> tuple[Floats, Floats]:
    """Limits of sums of multinomial shares, each times its worth, by the method of variance estimates recovery.

    Each share has Clopper-Pearson limits. The distance from the sum to its lower limit is put together from the
    distances of its parts, each towards the end that lowers the sum, with the correlations of a multinomial:

    .. math:: L = S - \\sqrt{\\sum_{jk} d_j d_k \\rho_{jk} \\, \\mathrm{sign}(c_j c_k)}

    Parameters
    ----------
    shares : ndarray of shape (b, m)
        Of disjoint kinds of rows; what they lack to 1 is worth nothing.
    n_rows : float
        The number of rows, Kish's effective one if they are weighted.
    worth : ndarray of shape (b, m)
        What a share of 1 would be worth.

    Returns
    -------
    low, high : ndarrays of shape (b,)
    """
    shares = shares.clip(0, 1)
    low, high = clopper_pearson(n_rows * shares, np.full(shares.shape, n_rows), confidence_level)
    total = (shares * worth).sum(axis=1)
    odds = np.sqrt(np.divide(shares, 1 - shares, out=np.full(shares.shape, np.inf), where=shares < 1))
    limits = []
    for down, up in ((shares - low, high - shares), (high - shares, shares - low)):
        # Signed by the worth, so that the sign of each correlation follows.
        reach = np.where(worth > 0, worth * down, worth * up)
        with np.errstate(invalid="ignore"):
            correlation = -np.nan_to_num(odds[:, :, None] * odds[:, None, :], nan=0.0, posinf=1.0).clip(0, 1)
        m = shares.shape[1]
        correlation[:, np.arange(m), np.arange(m)] = 1.0
        limits.append(np.sqrt(np.einsum("bj,bjk,bk->b", reach, correlation, reach).clip(0)))
    # A sum cannot lie beyond what all rows of the least or of the most worth would give.
    least, most = np.minimum(worth.min(axis=1), 0), np.maximum(worth.max(axis=1), 0)
    return np.maximum(total - limits[0], least), np.minimum(total + limits[1], most)


def _checked_counts(events: ArrayLike, trials: ArrayLike) -> tuple[Floats, Floats]:
    events, trials = read_numbers("events", events), read_numbers("trials", trials)
    try:
        events, trials = np.broadcast_arrays(events, trials)
    except ValueError:
        raise ValueError(f"events has shape {events.shape} and trials {trials.shape}; expected the same.") from None
    if not (np.isfinite(trials) & (trials > 0)).all():
        raise ValueError("trials holds a value that is not positive and finite; expected numbers above 0.")
    if not ((events >= 0) & (events <= trials)).all():
        raise ValueError("events holds a value outside of 0 to trials; expected events among the trials.")
    return events, trials


def _percentiles_of_binomials(
    events: Floats, trials: Floats, confidence_level: float, n_resamples: int, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    if (trials != np.rint(trials)).any():
        raise ValueError("trials holds a fraction and method is 'bootstrap'; expected whole numbers.")
    tail = (1 - confidence_level) / 2
    shape = (n_resamples, *np.shape(events))
    drawn = rng.binomial(trials.astype(int), (events / trials).clip(0, 1), size=shape)
    return tuple(np.quantile(drawn / trials, [tail, 1 - tail], axis=0))
