"""Tests of calibration against statsmodels, closed forms and simulations in which the truth is known."""

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq
from scipy.special import expit, logit

from clustcal.metrics import calibration_in_the_large, cox_calibration, spiegelhalter_test

P12 = np.array([0.05, 0.12, 0.18, 0.22, 0.31, 0.38, 0.44, 0.52, 0.61, 0.73, 0.86, 0.97])
Y12 = np.array([0, 0, 1, 0, 0, 1, 0, 1, 0, 1, 1, 1])


def rejections(test, n_sets, n, seed, forecast=lambda t: t):
    """Share of p-values below .05 over data sets of n rows whose chances t are drawn from Beta(1, 2)."""
    rng = np.random.default_rng(seed)
    rejected = 0
    for _ in range(n_sets):
        t = rng.beta(1, 2, n)
        y = (rng.random(n) < t).astype(int)
        rejected += test(y, forecast(t)).pvalue < 0.05
    return rejected / n_sets


# The binomial error of 1,000 sets at a true rate of .05 is .007; three of them are allowed.
ROOM = 0.021
sharper = lambda t: t**1.5 / (t**1.5 + (1 - t) ** 1.5)


# Spiegelhalter ------------------------------------------------------------------------------------------------


def test_spiegelhalters_z_is_the_brier_score_standardised():
    """Its mean and variance under the forecast, from all 2^12 outcomes."""
    outcomes = (np.arange(2**12)[:, None] >> np.arange(12)) & 1
    chance = np.where(outcomes == 1, P12, 1 - P12).prod(axis=1)
    brier = ((outcomes - P12) ** 2).mean(axis=1)
    mean = chance @ brier
    sd = np.sqrt(chance @ (brier - mean) ** 2)
    found = spiegelhalter_test(Y12, P12)
    assert found.expected_brier == pytest.approx(mean)
    assert found.statistic == pytest.approx((found.brier - mean) / sd)
    assert found.pvalue == pytest.approx(2 * stats.norm.sf(abs(found.statistic)))


def test_an_extreme_forecast_has_a_positive_z_and_a_timid_one_a_negative_one():
    rng = np.random.default_rng(0)
    t = rng.random(5000)
    y = (rng.random(5000) < t).astype(int)
    assert spiegelhalter_test(y, sharper(t)).statistic > 3
    assert spiegelhalter_test(y, 0.5 + (t - 0.5) / 2).statistic < -3


def test_the_sign_of_z_tells_extreme_from_timid_only_if_the_average_is_right():
    """Of a rare event: logits 1.5 times as far from their middle are too extreme, wherever the average is."""
    rng = np.random.default_rng(0)
    z = rng.normal(-3, 1, 50_000)
    y = (rng.random(len(z)) < expit(z)).astype(int)
    too_many = expit(1.5 * (z + 3) - 3)
    shift = brentq(lambda a: expit(1.5 * (z + 3) - 3 + a).sum() - y.sum(), -3, 3)
    right_on_average = expit(1.5 * (z + 3) - 3 + shift)
    assert cox_calibration(y, too_many).slope_interval[1] < 1
    assert spiegelhalter_test(y, too_many).statistic < -3
    assert spiegelhalter_test(y, right_on_average).statistic > 3


def test_an_event_that_was_called_impossible_settles_it():
    found = spiegelhalter_test([1, 0, 1], [0.0, 0.2, 0.9])
    assert (found.statistic, found.pvalue) == (np.inf, 0.0)
    assert spiegelhalter_test([0, 1], [0.0, 1.0]).pvalue == 1.0


def test_forecasts_of_one_half_say_nothing_to_spiegelhalter():
    with pytest.raises(ValueError, match=r"y_prob is 0\.5 in every row"):
        spiegelhalter_test([0, 1], [0.5, 0.5])


# Cox ----------------------------------------------------------------------------------------------------------


def test_cox_agrees_with_statsmodels():
    """statsmodels 0.15.0: Logit with a constant and the logit of the forecast; GLM.score_test of the offset model."""
    found = cox_calibration(Y12, P12)
    assert (found.intercept, found.slope) == pytest.approx((0.31023027, 1.02425289), abs=1e-7)
    assert found.intercept_interval == pytest.approx((-1.15368554, 1.77414608), abs=1e-6)
    assert found.slope_interval == pytest.approx((-0.24096238, 2.28946816), abs=1e-6)
    expected = np.array([[0.55787387, 0.1632982], [0.1632982, 0.41670879]])
    assert found.covariance == pytest.approx(expected, abs=1e-6)
    assert found.statistic == pytest.approx(0.18592934, abs=1e-7)
    assert found.pvalue == pytest.approx(0.91122569, abs=1e-7)


def test_cox_of_two_levels_is_a_closed_form():
    """Frequencies 1/4 and 3/4 at forecasts of 0.1 and 0.9: a slope of log 3 / log 9."""
    y, p = np.repeat([1, 0, 1, 0], [25, 75, 75, 25]), np.repeat([0.1, 0.9], 100)
    found = cox_calibration(y, p)
    assert (found.intercept, found.slope) == pytest.approx((0, 0.5), abs=1e-9)
    error = np.sqrt((1 / 25 + 1 / 75) * 2) / (2 * logit(0.9))  # of half the difference of two log odds
    assert found.slope_interval[1] - 0.5 == pytest.approx(1.959964 * error, rel=1e-6)


def test_cox_finds_the_truth_that_made_the_outcomes():
    """100,000 rows with a = -.4 and b = .7: standard errors below .01."""
    rng = np.random.default_rng(1)
    p = rng.random(100_000)
    found = cox_calibration((rng.random(len(p)) < expit(-0.4 + 0.7 * logit(p))).astype(int), p)
    assert (found.intercept, found.slope) == pytest.approx((-0.4, 0.7), abs=0.03)
    assert found.pvalue < 1e-10


@pytest.mark.parametrize(
    ("y", "p", "message"),
    [
        ([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4], "y_prob separates the outcomes"),
        ([1, 1, 0, 0], [0.1, 0.2, 0.3, 0.4], "y_prob separates the outcomes"),
        ([0, 1, 0, 1], [0.3] * 4, "y_prob is the same in every row"),
        ([0, 1, 0, 1], [0.3, 0.3 + 1e-7, 0.3 + 2e-7, 0.3], "y_prob is the same in every row, or nearly so"),
        ([0, 1, 0, 1], [0.3, 0.3 + 1e-10, 0.3 + 2e-10, 0.3], "y_prob is the same in every row, or nearly so"),
        ([1, 0], [0.0, 1.0], "y_prob separates the outcomes"),
        ([0, 1], [0.0, 1.0], "y_prob separates the outcomes"),
        ([0, 1, 1], [0.2, 0.2, 0.8], "y_prob separates the outcomes"),
        ([0, 0, 0], [0.1, 0.2, 0.3], "expected both outcomes"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_forecasts_without_a_finite_slope_are_refused(y, p, message):
    with pytest.raises(ValueError, match=message):
        cox_calibration(y, p, labels=[0, 1])


@pytest.mark.parametrize(("first", "second"), [(0.3, 0.3 + 1e-5), (1e-9, 0.3), (0.0, 1.0), (0.5, 1 - 1e-12)])
@pytest.mark.filterwarnings("error")
def test_two_levels_are_a_closed_form_however_near_or_far(first, second):
    """A line through two points: the log odds of 25 and of 60 in 100 over the distance of the logits."""
    y, p = np.repeat([1, 0, 1, 0], [25, 75, 60, 40]), np.repeat([first, second], 100)
    ends = logit(np.clip([first, second], 2.0**-52, 1 - 2.0**-52))
    found = cox_calibration(y, p)
    slope = (logit(0.6) - logit(0.25)) / np.diff(ends)[0]
    error = np.sqrt(1 / 25 + 1 / 75 + 1 / 60 + 1 / 40) / np.diff(ends)[0]
    assert found.slope == pytest.approx(slope, rel=1e-6)
    assert found.intercept == pytest.approx(logit(0.25) - slope * ends[0], rel=1e-6, abs=1e-6)
    assert found.slope_interval[1] - found.slope == pytest.approx(1.959964 * error, rel=1e-5)


# In the large -------------------------------------------------------------------------------------------------


def test_the_intercept_in_the_large_agrees_with_statsmodels():
    """statsmodels 0.15.0: GLM of a constant with the logit of the forecast as offset."""
    assert calibration_in_the_large(Y12, P12).intercept == pytest.approx(0.30074577, abs=1e-7)


def test_the_interval_of_a_constant_forecast_is_wilsons():
    """Of one chance for all, the score interval of a shift is that of the proportion."""
    expected = stats.binomtest(30, 100).proportion_ci(0.95, "wilson")
    found = calibration_in_the_large([1] * 30 + [0] * 70, [0.2] * 100)
    assert np.array(found.ratio_interval) * 0.2 == pytest.approx([expected.low, expected.high])
    assert np.array(found.difference_interval) + 0.2 == pytest.approx([expected.low, expected.high])
    assert expit(np.array(found.intercept_interval) + logit(0.2)) == pytest.approx([expected.low, expected.high])


@pytest.mark.parametrize("event", [0, 1])
def test_one_class_alone_has_intervals_that_end_in_what_is_possible(event):
    found = calibration_in_the_large(np.full(20, event), np.full(20, 0.3), labels=[0, 1])
    expected = stats.binomtest(20 * event, 20).proportion_ci(0.95, "wilson")
    assert np.array(found.ratio_interval) * 0.3 == pytest.approx([expected.low, expected.high], abs=1e-9)
    assert found.intercept == (np.inf if event else -np.inf)


@pytest.mark.parametrize(
    ("y", "p", "message"),
    [
        ([1, 0], [0.0, 1.0], "y_prob is 0 or 1 in every row"),
        ([0, 1], [0.0, 1.0], "y_prob is 0 or 1 in every row"),
        ([0, 1], [0.0, 0.0], "y_prob is 0 or 1 in every row"),
        ([1, 1, 1], [0.0, 0.0, 0.5], "more events at 0 than its other rows can make up for"),
        ([0, 0, 0], [1.0, 1.0, 0.5], "more non-events at 1 than its other rows can make up for"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_what_no_shift_can_bring_about_is_refused(y, p, message):
    with pytest.raises(ValueError, match=message):
        calibration_in_the_large(y, p, labels=[0, 1])


@pytest.mark.filterwarnings("error")
def test_certain_forecasts_that_are_right_move_no_intercept():
    """30 events among 100 rows at 0.2, as above; 50 rows that were certain, and right, change rates alone."""
    y, p = [1] * 30 + [0] * 70 + [0] * 30 + [1] * 20, [0.2] * 100 + [0.0] * 30 + [1.0] * 20
    found, plain = calibration_in_the_large(y, p), calibration_in_the_large(y[:100], p[:100])
    assert found.intercept == pytest.approx(logit(0.3) - logit(0.2))
    assert found.intercept_interval == pytest.approx(plain.intercept_interval)
    assert found.statistic == pytest.approx(2.5)
    assert found.difference_interval == pytest.approx(np.array(plain.difference_interval) * 100 / 150)


def test_an_impossible_event_is_made_up_for_by_the_others():
    """One event at 0, so that the 100 rows of 0.5 are to have 41 events, of which 40 are their own."""
    found = calibration_in_the_large([1] * 40 + [0] * 60 + [1], [0.5] * 100 + [0.0])
    assert found.intercept == pytest.approx(logit(0.41))
    assert found.statistic == pytest.approx((41 - 50) / 5)


# Weights ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("test", [spiegelhalter_test, cox_calibration, calibration_in_the_large])
def test_the_scale_of_weights_does_not_matter_and_rows_without_weight_are_not_there(test):
    plain = test(Y12, P12)
    assert test(Y12, P12, sample_weight=np.full(12, 7.0)).statistic == pytest.approx(plain.statistic)
    y, p = np.append(Y12, [1, 0]), np.append(P12, [0.01, 0.99])
    without = test(y, p, sample_weight=np.repeat([1.0, 0.0], [12, 2]))
    assert (without.statistic, without.pvalue) == pytest.approx((plain.statistic, plain.pvalue))


@pytest.mark.parametrize("test", [spiegelhalter_test, cox_calibration, calibration_in_the_large])
def test_weighted_tests_keep_their_level(test):
    weights = np.random.default_rng(9).exponential(size=500)
    weighted = lambda y, p: test(y, p, sample_weight=weights)
    assert rejections(weighted, 600, 500, seed=1) == pytest.approx(0.05, abs=0.027)


# Level and power ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("test", [spiegelhalter_test, cox_calibration, calibration_in_the_large])
@pytest.mark.parametrize("n", [200, 2000])
def test_calibrated_forecasts_are_rejected_in_one_of_twenty(test, n):
    assert rejections(test, 1000, n, seed=n) == pytest.approx(0.05, abs=ROOM)


@pytest.mark.parametrize(
    ("test", "forecast"),
    [
        (spiegelhalter_test, sharper),
        (cox_calibration, sharper),
        (calibration_in_the_large, lambda t: expit(logit(t) + 0.3)),
    ],
)
def test_wrong_forecasts_are_found(test, forecast):
    assert rejections(test, 100, 2000, seed=5, forecast=forecast) > 0.9


@pytest.mark.parametrize("n", [300, 2000])
def test_intervals_cover_the_truth(n):
    """Outcomes made with a = .3, b = .8, or a shift of .3: 400 sets, so that .95 has an error of .011."""
    rng = np.random.default_rng(n)
    held = np.zeros(4)
    for _ in range(400):
        p = rng.beta(1, 2, n)
        found = cox_calibration((rng.random(n) < expit(0.3 + 0.8 * logit(p))).astype(int), p)
        shifted = expit(0.3 + logit(p))
        large = calibration_in_the_large((rng.random(n) < shifted).astype(int), p)
        truths = [
            (found.intercept_interval, 0.3),
            (found.slope_interval, 0.8),
            (large.intercept_interval, 0.3),
            (large.difference_interval, (shifted - p).mean()),
        ]
        held += [low <= truth <= high for (low, high), truth in truths]
    assert held / 400 == pytest.approx(0.95, abs=0.033)
