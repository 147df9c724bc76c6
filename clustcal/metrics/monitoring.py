"""Watching a forecast row by row: evidence against its calibration that may be looked at after every row."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import log_expit, logit, logsumexp
from sklearn.utils import Bunch

from clustcal.core.array_types import Booleans, Floats
from clustcal.core.parameters import check_above_0, check_level, read_numbers
from clustcal.metrics._inputs import forecast_event, read_forecast

__all__ = ["sequential_calibration_test"]
# Intercepts and slopes (on the scale of the logit) that a forecast is compared with.
INTERCEPTS = (-1.0, -0.5, -0.25, 0.25, 0.5, 1.0)
SLOPES = (0.5, 0.75, 1.5)
# Forecasts of exactly 0 and 1 have no logit; so near to them the ratio of likelihoods stays finite.
SMALLEST = 1e-12


def sequential_calibration_test(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    intercepts: ArrayLike = INTERCEPTS,
    slopes: ArrayLike = SLOPES,
    level: float = 0.05,
    rows_between_alarms: float = 10_000,
    labels: ArrayLike | None = None,
    pos_label: Hashable = None,
) -> Bunch:
    """Evidence against calibration after each row of a stream, with a controlled rate of false alarms.

    A calibrated forecast p is compared with forecasts that are shifted or stretched,
    :math:`q = \\sigma(b \\, \\mathrm{logit}\\, p + a)`. The ratio of the likelihoods of the row's outcome has mean 1 if
    p is right, whatever happened before; so has the product over rows, and the mean over alternatives:

    .. math::

        e_t = \\Bigl(\\frac{q_t}{p_t}\\Bigr)^{y_t} \\Bigl(\\frac{1 - q_t}{1 - p_t}\\Bigr)^{1 - y_t}, \\qquad
        E_t = \\mathrm{mean} \\prod_{s \\le t} e_s, \\qquad R_t = \\mathrm{mean} \\, (1 + R_{t-1}) \\, e_t

    By Ville's inequality the chance that E ever reaches 1 / level is at most ``level``. R (Shiryaev and Roberts)
    begins anew at every row and so forgets a good past: without a change it takes at least ``rows_between_alarms`` rows
    on average to reach that number.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes in the order of time.
    y_prob : array-like of shape (n,), (n, 1) or (n, 2)
        What was forecast before each outcome was known.
    intercepts, slopes : array-like
        Alternatives: shifts a with b = 1, and factors b with a = 0. The default finds small and large ones.
    level : float, default=0.05
    rows_between_alarms : float, default=10000
    labels, pos_label
        As in `log_loss`.

    Returns
    -------
    result : Bunch
        Arrays of shape (n,): ``evidence`` (E) and ``change`` (R); ``alarm``, the first row (from 0) at which E reaches
        1 / level, and ``change_alarm``, the first at which R reaches ``rows_between_alarms``, or None.

    Raises
    ------
    ValueError
        If the input is not as described, or an alternative is the forecast itself.

    Notes
    -----
    The promise is for forecasts that were right given all that was known; it needs no independence and no sample size.
    It ends where the rows stop being those whose outcomes were seen: with late outcomes, use the forecasts of the rows
    whose outcomes have come, in the order in which they came.

    References
    ----------
    Ville, J. (1939). Étude critique de la notion de collectif. Gauthier-Villars.

    Shin, J., Ramdas, A. and Rinaldo, A. (2022). E-detectors: a nonparametric framework for sequential change detection.
    arXiv:2203.03532.

    Examples
    --------
    Five events in a row at a forecast of 1/2, against odds that are four times as large: a factor of 1.6 each.

    >>> import numpy as np
    >>> from clustcal.metrics import sequential_calibration_test
    >>> result = sequential_calibration_test([1] * 5, [0.5] * 5, intercepts=[np.log(4)], slopes=[], labels=[0, 1])
    >>> result.evidence.round(2)
    array([ 1.6 ,  2.56,  4.1 ,  6.55, 10.49])
    """
    check_level("level", level)
    check_above_0("rows_between_alarms", rows_between_alarms)
    shifts, factors = _alternatives(intercepts, slopes)
    forecast = read_forecast(y_true, y_prob, None, labels, pos_label)
    p, event = forecast_event(forecast, "positive")
    z = logit(np.clip(p, SMALLEST, 1 - SMALLEST))[:, None]
    sign = np.where(event == 1, 1.0, -1.0)[:, None]
    ratios = log_expit(sign * (factors * z + shifts)) - log_expit(sign * z)
    log_evidence = logsumexp(ratios.cumsum(axis=0), axis=1) - np.log(len(shifts))
    log_change = logsumexp(_restarted(ratios), axis=1) - np.log(len(shifts))
    with np.errstate(over="ignore"):
        evidence, change = np.exp(log_evidence), np.exp(log_change)
    return Bunch(
        evidence=evidence,
        change=change,
        alarm=_first(log_evidence >= -np.log(level)),
        change_alarm=_first(log_change >= np.log(rows_between_alarms)),
    )


def _alternatives(intercepts: ArrayLike, slopes: ArrayLike) -> tuple[Floats, Floats]:
    """Return the shift and the factor of every alternative, shape (m,) each."""
    intercepts, slopes = (
        np.atleast_1d(read_numbers(name, values)).ravel() if np.size(values) else np.empty(0)
        for name, values in (("intercepts", intercepts), ("slopes", slopes))
    )
    if not intercepts.size + slopes.size:
        raise ValueError("intercepts and slopes are empty; expected at least one alternative.")
    if (intercepts == 0).any() or (slopes == 1).any():
        raise ValueError("intercepts hold 0 or slopes hold 1; expected alternatives that differ from the forecast.")
    shifts = np.concatenate([intercepts, np.zeros(slopes.size)])
    return shifts, np.concatenate([np.ones(intercepts.size), slopes])


def _restarted(ratios: Floats) -> Floats:
    """Return log R of each alternative: R = (1 + R before) times the ratio, from R = 0."""
    found, before = np.empty_like(ratios), np.full(ratios.shape[1], -np.inf)
    for t, ratio in enumerate(ratios):
        before = found[t] = np.logaddexp(0, before) + ratio
    return found


def _first(reached: Booleans) -> int | None:
    return int(reached.argmax()) if reached.any() else None
