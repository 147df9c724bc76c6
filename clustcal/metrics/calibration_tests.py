"""Tests of calibration: Spiegelhalter's, Cox's intercept and slope, and calibration in the large.

All take the forecast as given and ask whether the outcomes could have come from it. Rows are independent; a weight
says how much a row counts, not how often it was seen, so that its scale changes nothing (unlike in scores).
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import expit, logit
from scipy.stats import chi2, norm
from sklearn.utils import Bunch

from clustcal.core.array_types import Event, Floats
from clustcal.core.parameters import check_level
from clustcal.core.probabilities import logits
from clustcal.metrics._inputs import forecast_event, read_forecast

__all__ = ["calibration_in_the_large", "cox_calibration", "spiegelhalter_test"]

# A shift of the logits beyond which every row is certain; its variance must not vanish in rounding.
LARGEST_INTERCEPT = 30.0
MOST_STEPS = 100
# Newton's steps square their error: after one this small nothing is left to gain.
SMALL_STEP = 1e-7
# Logits that differ by less differ by what rounding to 32 bits can do, and have no slope.
LEAST_SPREAD = 1e-6


def spiegelhalter_test(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    pos_label: Hashable = None,
    kind: Event = "auto",
) -> Bunch:
    """Spiegelhalter's test: is the Brier score what it would be if the forecast were right?

    .. math::

        Z = \\frac{\\sum_i w_i (y_i - p_i)(1 - 2 p_i)}{\\sqrt{\\sum_i w_i^2 (1 - 2 p_i)^2 p_i (1 - p_i)}}

    The numerator is the part of the Brier score that depends on the outcomes; the denominator is its standard
    deviation if :math:`y_i` occurs with chance :math:`p_i`. Z is then near standard normal. Of forecasts that are
    right on average it is positive where they are too extreme, and negative where they are too timid; an error of the
    average moves it as well: of a rare event, a forecast that expects too many can be too extreme with a negative Z.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels of any type.
    y_prob : array-like of shape (n,), (n, 1) or (n, L)
        Probabilities. One column is the probability of ``pos_label``.
    sample_weight : array-like of shape (n,), optional
        How much each row counts; the scale does not matter.
    labels : array-like of shape (L,), optional
        The label of each column.
    pos_label : label, optional
        The class whose probability is tested; by default, of two, the second of the sorted labels.
    kind : {"auto", "positive", "top-label"}, default="auto"
        As in `reliability_curve`.

    Returns
    -------
    result : Bunch
        ``statistic`` (Z), two-sided ``pvalue``, and the Brier score of the event, ``brier``, with its expectation
        under the forecast, ``expected_brier``.

    Raises
    ------
    ValueError
        If the input is not as described, or every forecast is 0.5, of which the test can say nothing.

    Notes
    -----
    Assumes independent rows and enough of them for a normal sum: some ten expected events and non-events. It has
    no power against errors that leave the Brier score in place. An outcome that the forecast calls impossible refutes
    it: instead of the Z of the formula there is then an infinite one, and a p-value of 0. Where the forecast leaves
    the Brier score no room for chance (0, 1/2 or 1 in every row) and nothing impossible occurred, Z is 0.

    References
    ----------
    Spiegelhalter, D. J. (1986). Probabilistic prediction in patient management and clinical trials. Statistics in
    Medicine 5.

    Examples
    --------
    Ten rows at 0.2, of which two occur, are as expected; six are too many:

    >>> from clustcal.metrics import spiegelhalter_test
    >>> spiegelhalter_test([1] * 2 + [0] * 8, [0.2] * 10).statistic
    0.0
    >>> result = spiegelhalter_test([1] * 6 + [0] * 4, [0.2] * 10)
    >>> round(result.statistic, 4), round(result.pvalue, 4)        # 4 / sqrt(10 * 0.2 * 0.8)
    (3.1623, 0.0016)
    """
    p, hit, weights = _event(y_true, y_prob, sample_weight, labels, pos_label, kind)
    tilt = 1 - 2 * p
    if not tilt[weights > 0].any():
        raise ValueError("y_prob is 0.5 in every row; expected forecasts of which the test can say something.")
    observed = weights @ ((hit - p) * tilt)
    spread = np.sqrt(weights**2 @ (tilt**2 * p * (1 - p)))
    share = weights / weights.sum()
    result = Bunch(brier=float(share @ (hit - p) ** 2), expected_brier=float(share @ (p * (1 - p))))
    if _impossible(p, hit, weights):
        return Bunch(statistic=np.inf, pvalue=0.0, **result)
    statistic = float(observed / spread) if spread > 0 else 0.0
    return Bunch(statistic=statistic, pvalue=float(2 * norm.sf(abs(statistic))), **result)


def cox_calibration(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    confidence_level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    pos_label: Hashable = None,
    kind: Event = "auto",
) -> Bunch:
    """Cox's calibration intercept and slope, with intervals, and the test that they are 0 and 1.

    A logistic regression of the outcomes on the logit of the forecast,

    .. math:: \\mathrm{logit} \\, P(y_i = 1) = a + b \\, \\mathrm{logit} \\, p_i ,

    in which a calibrated forecast has a = 0 and b = 1. A slope below 1 says that forecasts are too extreme, as
    those of overfitted models are; above 1, that they are too timid. The joint test is the score test,

    .. math::

        S = u^T V^{-1} u, \\quad u = \\sum_i w_i (y_i - p_i) x_i, \\quad
        V = \\sum_i w_i^2 p_i (1 - p_i) x_i x_i^T, \\quad x_i = (1, \\mathrm{logit} \\, p_i),

    near chi-squared with 2 degrees of freedom: the square of the Z of `calibration_in_the_large`, and that of a test
    of the slope.

    Parameters
    ----------
    y_true, y_prob, sample_weight, labels, pos_label, kind
        As in `spiegelhalter_test`. Forecasts nearer than 2.2e-16 to 0 or 1 are taken to be as near as that.
    confidence_level : float, default=0.95

    Returns
    -------
    result : Bunch
        ``intercept`` and ``slope``; ``intercept_interval`` and ``slope_interval``, (low, high) each;
        ``covariance`` (2, 2) of the two; ``statistic`` and ``pvalue`` of the joint test.

    Raises
    ------
    ValueError
        If the input is not as described, only one class occurs, the forecasts are all alike (their logits within
        1e-6, which rounding can do), or they separate the classes, which leaves no finite slope.

    Notes
    -----
    Intervals are Wald's, from the information of the fit (with weights: its sandwich). Assumes independent rows,
    and a miscalibration that is linear on the logit scale: a forecast can have a = 0 and b = 1 and yet be wrong
    in ways that a reliability diagram shows. The intercept here is that of the fit with a free slope; for the one
    with the slope held at 1, see `calibration_in_the_large`.

    References
    ----------
    Cox, D. R. (1958). Two further applications of a model for binary regression. Biometrika 45.

    Van Calster, B. et al. (2019). Calibration: the Achilles heel of predictive analytics. BMC Medicine 17.

    Examples
    --------
    Forecasts that are twice as extreme, in logits, as the odds among 100 rows each: 0.1 for 1 in 4, 0.9 for 3 in 4.

    >>> from clustcal.metrics import cox_calibration
    >>> result = cox_calibration([1] * 25 + [0] * 75 + [1] * 75 + [0] * 25, [0.1] * 100 + [0.9] * 100)
    >>> round(abs(result.intercept), 4), round(result.slope, 4)        # log 3 / log 9
    (0.0, 0.5)
    >>> low, high = result.slope_interval
    >>> round(low, 2), round(high, 2)
    (0.35, 0.65)
    """
    check_level("confidence_level", confidence_level)
    p, hit, weights = _event(y_true, y_prob, sample_weight, labels, pos_label, kind)
    z = logits(p)
    _check_two_outcomes(hit, weights)
    _check_slope(z, hit, weights)
    share = weights / weights.sum()
    # Fitted to logits of mean 0 and variance 1, or those of near equal forecasts would lose their digits.
    middle = share @ z
    scale = np.sqrt(share @ (z - middle) ** 2)
    X = np.column_stack([np.ones_like(z), (z - middle) / scale])
    of_standardised = _logistic_fit(X, hit, share)
    back = np.array([[1.0, -middle / scale], [0.0, 1 / scale]])
    theta = back @ of_standardised
    covariance = back @ _sandwich(X, expit(X @ of_standardised), weights) @ back.T
    statistic = _joint_statistic(z, hit, weights)
    intervals = [_normal_interval(theta[k], np.sqrt(covariance[k, k]), confidence_level) for k in (0, 1)]
    return Bunch(
        intercept=float(theta[0]),
        slope=float(theta[1]),
        intercept_interval=intervals[0],
        slope_interval=intervals[1],
        covariance=covariance,
        statistic=statistic,
        pvalue=float(chi2.sf(statistic, 2)),
    )


def calibration_in_the_large(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    confidence_level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    pos_label: Hashable = None,
    kind: Event = "auto",
) -> Bunch:
    """Is the forecast right on average: observed against expected events, and the intercept with slope 1.

    .. math::

        \\bar d = \\sum_i w_i (y_i - p_i) \\Big/ \\sum_i w_i, \\qquad
        Z = \\frac{\\sum_i w_i (y_i - p_i)}{\\sqrt{\\sum_i w_i^2 p_i (1 - p_i)}}, \\qquad
        \\mathrm{logit} \\, P(y_i = 1) = a + \\mathrm{logit} \\, p_i

    Parameters
    ----------
    y_true, y_prob, sample_weight, labels, pos_label, kind
        As in `spiegelhalter_test`.
    confidence_level : float, default=0.95

    Returns
    -------
    result : Bunch
        ``observed`` and ``expected`` rate; ``difference`` (observed - expected) and ``ratio`` (observed / expected);
        ``intercept`` (a; minus or plus infinity where only one class occurs among the rows that it can move); their
        intervals
        ``difference_interval``, ``ratio_interval`` and ``intercept_interval``, (low, high) each; ``statistic`` (Z)
        and its two-sided ``pvalue``.

    Raises
    ------
    ValueError
        If the input is not as described, or no intercept makes up for the difference: every forecast is 0 or 1, or
        outcomes that these call impossible outnumber those that the other rows could have had otherwise.

    Notes
    -----
    Z has the variance that the forecast implies, and is near normal for some ten expected events and non-events. The
    intervals are found from the chances that outcomes would have at each intercept a: those a are kept at which the
    observed number of events is in neither tail of its normal approximation, and the difference and the ratio
    follow from them. So they stay within what is possible, and a forecast with no event has an interval too.
    Assumes independent rows, and for the intervals that the error is a shift on the logit scale. No shift moves a
    forecast of exactly 0 or 1. Where its outcome was impossible, Z still is that of the formula, which asks for the
    average alone; `spiegelhalter_test` calls such a forecast refuted.

    References
    ----------
    Cox, D. R. (1958). Two further applications of a model for binary regression. Biometrika 45.

    Steyerberg, E. W. (2019). Clinical prediction models, 2nd edition. Springer.

    Examples
    --------
    Thirty events among 100 rows of which 20 were expected: Z = 10 / sqrt(100 * 0.2 * 0.8).

    >>> from clustcal.metrics import calibration_in_the_large
    >>> result = calibration_in_the_large([1] * 30 + [0] * 70, [0.2] * 100)
    >>> round(result.difference, 4), round(result.ratio, 4), round(result.statistic, 4)
    (0.1, 1.5, 2.5)
    >>> low, high = result.ratio_interval        # Wilson's interval of 30 in 100, over 0.2
    >>> round(low, 3), round(high, 3)
    (1.095, 1.979)
    """
    check_level("confidence_level", confidence_level)
    p, hit, weights = _event(y_true, y_prob, sample_weight, labels, pos_label, kind)
    share = weights / weights.sum()
    # Where every row is an event the rate is 1, whatever the rounding of the sum.
    observed = 1.0 if hit[weights > 0].all() else float(share @ hit)
    expected = float(share @ p)
    _check_shift(p, hit, share)
    statistic = (share @ (hit - p)) / np.sqrt(share**2 @ (p * (1 - p)))
    with np.errstate(divide="ignore"):
        z = logit(p)
    intercepts = [_shift(z, hit, share, bound) for bound in _score_bounds(confidence_level)]
    # The ends are what is left when the rows that a shift can move are all events, or none is.
    low, high = (float(share @ (expit(a + z) if np.isfinite(a) else _at_the_end(p, a))) for a in intercepts[::2])
    return Bunch(
        observed=observed,
        expected=expected,
        difference=observed - expected,
        ratio=observed / expected,
        intercept=intercepts[1],
        difference_interval=(float(low - expected), float(high - expected)),
        ratio_interval=(float(low / expected), float(high / expected)),
        intercept_interval=(intercepts[0], intercepts[2]),
        statistic=float(statistic),
        pvalue=float(2 * norm.sf(abs(statistic))),
    )


def _event(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    sample_weight: ArrayLike | None,
    labels: ArrayLike | None,
    pos_label: Hashable,
    kind: Event,
) -> tuple[Floats, Floats, Floats]:
    """Forecast p, outcome and weight of every row, each (n,)."""
    forecast = read_forecast(y_true, y_prob, sample_weight, labels, pos_label)
    return *forecast_event(forecast, kind), forecast.weights


def _impossible(p: Floats, hit: Floats, weights: Floats) -> bool:
    """Whether something occurred that the forecast gave no chance."""
    return bool(((weights > 0) & (((p == 0) & (hit == 1)) | ((p == 1) & (hit == 0)))).any())


def _check_two_outcomes(hit: Floats, weights: Floats) -> None:
    rate = (weights @ hit) / weights.sum()
    if rate in (0.0, 1.0):
        raise ValueError("y_true holds the event in every row or in none; expected both outcomes, to fit a slope.")


def _check_slope(z: Floats, hit: Floats, weights: Floats) -> None:
    """Refuse forecasts that do not differ, or of which a threshold separates the outcomes: a slope needs both."""
    events, others = z[(hit == 1) & (weights > 0)], z[(hit == 0) & (weights > 0)]
    if max(events.max(), others.max()) - min(events.min(), others.min()) <= LEAST_SPREAD:
        raise ValueError("y_prob is the same in every row, or nearly so; expected forecasts that differ, for a slope.")
    if events.min() >= others.max() or events.max() <= others.min():
        raise ValueError("y_prob separates the outcomes at a threshold; expected overlap, to have a finite slope.")


def _logistic_fit(X: Floats, y: Floats, share: Floats) -> Floats:
    """Newton's method for a logistic regression of few columns, halved where a step would lose likelihood.

    It starts from the frequency of the event, where no row is certain, so that the first step has a slope to go by.
    """
    theta = np.zeros(X.shape[1])
    theta[0] = logit(share @ y)
    loss = lambda theta: share @ (np.logaddexp(0, X @ theta) - y * (X @ theta))
    value = loss(theta)
    for _ in range(MOST_STEPS):
        q = expit(X @ theta)
        gradient = X.T @ (share * (q - y))
        hessian = (X.T * (share * q * (1 - q))) @ X
        step = np.linalg.lstsq(hessian, gradient, rcond=None)[0]
        if np.abs(step).max() < SMALL_STEP:
            return theta - step
        # A step that gains nothing but rounding is taken whole, or it would be halved for ever.
        size = 1.0
        while loss(theta - size * step) > value + 1e-12 and size > 1e-6:
            size /= 2
        theta = theta - size * step
        value = loss(theta)
    raise ValueError("y_prob nearly separates the outcomes; expected more overlap, to have a finite slope.")


def _joint_statistic(z: Floats, hit: Floats, weights: Floats) -> float:
    """The score statistic of intercept 0 and slope 1, by completing the square, which no inverse has to survive."""
    q = expit(z)  # p, with the ends cut as its logits are
    residual, variance = weights * (hit - q), weights**2 * q * (1 - q)
    centred = z - (variance @ z) / variance.sum()
    return float(residual.sum() ** 2 / variance.sum() + (residual @ centred) ** 2 / (variance @ centred**2))


def _sandwich(X: Floats, q: Floats, weights: Floats) -> Floats:
    """Covariance of the coefficients; without weights, the inverse of the information."""
    bread = np.linalg.inv((X.T * (weights * q * (1 - q))) @ X)
    return bread @ ((X.T * (weights**2 * q * (1 - q))) @ X) @ bread


def _normal_interval(estimate: float, error: float, confidence_level: float) -> tuple[float, float]:
    reach = norm.ppf((1 + confidence_level) / 2) * error
    return float(estimate - reach), float(estimate + reach)


def _score_bounds(confidence_level: float) -> tuple[float, float, float]:
    """Standard deviations from the rate at the lower limit, the estimate and the upper limit to the observed one."""
    reach = norm.ppf((1 + confidence_level) / 2)
    return reach, 0.0, -reach


def _check_shift(p: Floats, hit: Floats, share: Floats) -> None:
    """Refuse forecasts that no shift of their logits can bring to the observed rate."""
    certain = (p == 0) | (p == 1)
    if not share[~certain].any():
        raise ValueError("y_prob is 0 or 1 in every row; expected forecasts between, which an intercept can move.")
    needed = share @ np.where(certain, hit - p, hit)
    if not -1e-12 <= needed <= share[~certain].sum() + 1e-12:
        wrong = "events at 0" if needed > 0 else "non-events at 1"
        raise ValueError(f"y_prob has more {wrong} than its other rows can make up for; expected fewer of them.")


def _shift(z: Floats, hit: Floats, share: Floats, bound: float) -> float:
    """The a at which the observed rate lies ``bound`` standard deviations above its expectation at a + z."""

    def excess(a: float) -> float:
        q = expit(a + z)
        return share @ (hit - q) - bound * np.sqrt(share**2 @ (q * (1 - q)))

    movable = z[np.isfinite(z) & (share > 0)]
    ends = -LARGEST_INTERCEPT - movable.max(), LARGEST_INTERCEPT - movable.min()
    if excess(ends[0]) <= 1e-15 and bound >= 0:
        return -np.inf
    if excess(ends[1]) >= -1e-15 and bound <= 0:
        return np.inf
    return float(brentq(excess, *ends, xtol=1e-12))


def _at_the_end(p: Floats, intercept: float) -> Floats:
    """The chances that an infinite intercept leaves: those that are certain stay as they are."""
    return np.where((p == 0) | (p == 1), p, float(intercept > 0))
