"""The comparison of calibration errors: its estimates by enumeration, its level and power by simulation."""

import numpy as np
import pandas as pd
import pytest

from clustcal.metrics import adjust_pvalues, compare_calibration

SETS = 300  # of 2,000 rows; a share of .05 has a binomial error of .0126


def extreme(p, by):
    return p**by / (p**by + (1 - p) ** by)


def coarsened(p, n_levels):
    """The mean of p within each of some levels of it: calibrated if p is."""
    edges = np.quantile(p, np.arange(1, n_levels) / n_levels)
    level = np.searchsorted(edges, p)
    return (np.bincount(level, p) / np.bincount(level))[level]


def share_called(
    forecasts, n_sets=SETS, n=2000, seed=0, column="pvalue_adjusted", draw=lambda rng, n: rng.beta(2, 2, n)
):
    """Share of data sets in which any pair of forecasts is called different at the level .05."""
    rng = np.random.default_rng(seed)
    called = 0
    for _ in range(n_sets):
        t = draw(rng, n)
        y = (rng.random(n) < t).astype(int)
        pairs = compare_calibration(y, forecasts(t), n_draws=1000, random_state=rng).pairs
        called += (pairs[column] < 0.05).any()
    return called / n_sets


# Estimates ----------------------------------------------------------------------------------------------------


def test_the_squared_error_is_unbiased():
    """All 2^4 outcomes of four rows in two bins, with chances .3 and .8 that were given .1 and .7."""
    p, chance = np.array([0.1, 0.1, 0.7, 0.7]), np.array([0.3, 0.3, 0.8, 0.8])
    expected = 0.0
    for code in range(16):
        y = code >> np.arange(4) & 1
        found = compare_calibration(y, {"a": p, "b": p}, n_bins=2, labels=[0, 1], n_draws=1)
        expected += np.where(y == 1, chance, 1 - chance).prod() * found.errors["squared_error"]["a"]
    assert expected == pytest.approx((0.2**2 + 0.1**2) / 2)


def test_it_is_unbiased_where_forecasts_differ_within_a_bin():
    """One bin of three rows: the square of the mean residual of two independent rows, here by all pairs."""
    y, p = np.array([1, 0, 1]), np.array([0.2, 0.5, 0.6])
    r = y - p
    found = compare_calibration(y, {"a": p, "b": p}, n_bins=1).errors["squared_error"]["a"]
    assert found == pytest.approx((r[0] * r[1] + r[0] * r[2] + r[1] * r[2]) / 3)


def test_a_forecast_does_not_differ_from_itself():
    rng = np.random.default_rng(0)
    p = rng.random(500)
    pair = compare_calibration((rng.random(500) < p**2).astype(int), {"a": p, "same": p}).pairs.iloc[0]
    assert (pair["difference"], pair["pvalue"], pair["pvalue_calibrated"]) == (0, 1, 1)


def test_under_the_null_the_draws_have_the_spread_of_the_estimates():
    """Over 700 sets of a calibrated forecast with known variances, and in the draws of one set."""
    rng = np.random.default_rng(1)
    p = rng.random(500)
    sets = [compare_calibration((rng.random(500) < p).astype(int), {"a": p, "b": p}, n_draws=1) for _ in range(700)]
    spread = np.std([found.errors["squared_error"]["a"] for found in sets])
    bins = np.array_split(np.sort(p), 10)
    # Of a sum of n residuals with variance v each, (S^2 - sum r^2) / n (n - 1) has the variance 2 v^2 / n (n - 1).
    expected = np.sqrt(np.mean([2 * np.mean(x * (1 - x)) ** 2 / (50 * 49) for x in bins]) / 10)
    assert spread == pytest.approx(expected, rel=0.12)
    pvalues = np.array([found.errors["pvalue"]["a"] for found in _with_draws(p, 200, rng)])
    assert np.mean(pvalues < 0.05) == pytest.approx(0.05, abs=0.047)


def _with_draws(p, n_sets, rng):
    for _ in range(n_sets):
        yield compare_calibration((rng.random(len(p)) < p).astype(int), {"a": p, "b": p}, n_draws=1000)


# Level --------------------------------------------------------------------------------------------------------

CALIBRATED = {
    "fine and coarse": lambda t: {"fine": t, "halves": coarsened(t, 2)},
    "fine and constant": lambda t: {"fine": t, "constant": np.full(len(t), t.mean())},
    "two coarse ones": lambda t: {"five": coarsened(t, 5), "halves": coarsened(t, 2)},
    "five forecasts": lambda t: {"fine": t, **{str(k): coarsened(t, k) for k in (1, 2, 5, 10)}},
}


@pytest.mark.parametrize("forecasts", CALIBRATED.values(), ids=CALIBRATED)
def test_calibrated_forecasts_are_called_different_in_at_most_one_of_twenty_sets(forecasts):
    """By the percentile bootstrap of plain errors it was 43 of 60, always in favour of the coarser one."""
    assert share_called(forecasts) <= 0.05


@pytest.mark.parametrize("forecasts", CALIBRATED.values(), ids=CALIBRATED)
def test_the_test_of_both_being_calibrated_has_its_level(forecasts):
    """.05 and three binomial errors; with several pairs Holm's correction keeps the chance of any."""
    assert share_called(forecasts, seed=1, column="pvalue_calibrated_adjusted") <= 0.05 + 0.038


def test_rare_events_are_no_exception():
    """A mean rate of .024: some 49 events."""
    rare = lambda rng, n: rng.beta(1, 40, n)
    assert share_called(CALIBRATED["fine and coarse"], draw=rare) <= 0.05


def test_forecasts_that_are_wrong_to_the_same_extent_are_not_called_different():
    """One too high by .05 above and too low below, the other the other way round: squared errors of .0025 each."""

    def forecasts(t):
        two = coarsened(t, 2)
        sign = np.where(two > t.mean(), 0.05, -0.05)
        return {"wider": two + sign, "narrower": two - sign}

    assert share_called(forecasts) <= 0.05 + 0.038
    assert share_called(forecasts, n_sets=50, column="pvalue_calibrated") > 0.5  # which says something else


# Power --------------------------------------------------------------------------------------------------------

WORSE = {
    "extreme by 2": lambda t: {"right": t, "wrong": extreme(t, 2)},
    "coarse but right": lambda t: {"right": coarsened(t, 2), "wrong": extreme(t, 2)},
    "too high by .1": lambda t: {"right": t, "wrong": np.clip(t + 0.1, 0, 1)},
    "coarse and wrong": lambda t: {"right": t, "wrong": coarsened(t, 2) + 0.1},
}


@pytest.mark.parametrize("forecasts", WORSE.values(), ids=WORSE)
def test_the_worse_forecast_is_found_whichever_is_coarser(forecasts):
    rng = np.random.default_rng(2)
    found = 0
    for _ in range(60):
        t = rng.beta(2, 2, 2000)
        pair = compare_calibration((rng.random(2000) < t).astype(int), forecasts(t), n_draws=1000).pairs.iloc[0]
        found += pair["pvalue"] < 0.05 and pair["difference"] < 0 and pair["high"] < 0
    assert found >= 54


def test_the_interval_covers_the_difference():
    """A calibrated forecast and one that is too high by .05: squared errors 0 and .0025."""
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(SETS):
        t = rng.uniform(0.1, 0.9, 2000)
        pair = compare_calibration((rng.random(2000) < t).astype(int), {"a": t + 0.05, "b": t}, n_draws=1).pairs.iloc[0]
        held += pair["low"] <= 0.0025 <= pair["high"]
    assert held / SETS == pytest.approx(0.95, abs=0.038)


# Input --------------------------------------------------------------------------------------------------------


def test_the_scale_of_weights_does_not_matter():
    rng = np.random.default_rng(4)
    p = rng.random(300)
    y, forecasts = (rng.random(300) < p).astype(int), {"a": p, "b": p**2}
    plain, scaled = (compare_calibration(y, forecasts, sample_weight=w) for w in (None, np.full(300, 5.0)))
    pd.testing.assert_frame_equal(plain.pairs, scaled.pairs)


@pytest.mark.parametrize(
    ("forecasts", "options", "message"),
    [
        ([0.2, 0.4], {}, "y_prob is no mapping"),
        ({"a": [0.2, 0.4]}, {}, "y_prob is no mapping of two or more"),
        ({"a": [0.2, 0.4], "b": [0.1]}, {"n_bins": 1}, "y_true has 2 rows"),
        ({"a": [0.2, 0.4], "b": [0.1, 0.3]}, {"adjust": "sidak"}, "adjust is 'sidak'"),
        ({"a": [0.2, 0.4], "b": [0.1, 0.3]}, {"n_draws": 0}, "n_draws is 0"),
    ],
)
def test_what_cannot_be_compared_is_refused(forecasts, options, message):
    with pytest.raises(ValueError, match=message):
        compare_calibration([0, 1], forecasts, **options)


def test_the_scale_of_weights_does_not_matter_to_auto_bins_either():
    """Without weights the cube root of 300 rows, 7 bins; of equal weights of any size as many."""
    rng = np.random.default_rng(4)
    p = rng.random(300)
    y, forecasts = (rng.random(300) < p).astype(int), {"a": p, "b": p**2}
    seven = compare_calibration(y, forecasts, n_bins=7).pairs
    for weights in (None, np.full(300, 1e-3), np.full(300, 1e3)):
        pd.testing.assert_frame_equal(
            compare_calibration(y, forecasts, sample_weight=weights, n_bins="auto").pairs, seven
        )


def test_bins_of_one_row_are_refused_where_there_are_no_others():
    p = np.arange(1, 10) / 10
    with pytest.raises(ValueError, match="n_bins leaves one row in each bin of the forecast 'a'"):
        compare_calibration(np.arange(9) % 2, {"a": p, "b": np.full(9, 0.5)}, n_bins=9)


def test_bins_of_one_row_are_named_where_they_are_many():
    """Nine forecasts of one row each and three rows of one: three in four say nothing."""
    p, y = np.array([*(np.arange(1, 10) / 10), 0.95, 0.95, 0.95]), np.arange(12) % 2
    with pytest.warns(UserWarning, match="75% of the weight of the forecast 'a' is in bins of one row"):
        compare_calibration(y, {"a": p, "b": np.full(12, 0.5)}, n_bins=12)


# Corrections --------------------------------------------------------------------------------------------------

PVALUES = [0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205, 0.212, 0.216]


@pytest.mark.parametrize(
    ("method", "expected"),
    [
        ("holm", [0.01, 0.072, 0.312, 0.312, 0.312, 0.312, 0.312, 0.615, 0.615, 0.615]),
        ("bonferroni", [0.01, 0.08, 0.39, 0.41, 0.42, 0.6, 0.74, 1, 1, 1]),
        ("benjamini-hochberg", [0.01, 0.04, 0.084, 0.084, 0.084, 0.1, 0.10571429, 0.216, 0.216, 0.216]),
    ],
)
def test_corrections_agree_with_statsmodels(method, expected):
    """Values of statsmodels 0.15.0, multipletests; in any order of the p-values."""
    order = np.random.default_rng(0).permutation(10)
    assert adjust_pvalues(PVALUES, method=method) == pytest.approx(expected, abs=1e-8)
    assert adjust_pvalues(np.array(PVALUES)[order], method=method) == pytest.approx(np.array(expected)[order], abs=1e-8)


@pytest.mark.parametrize(
    "pvalues", [[], [1.2], [np.nan], [[0.1]], ["a"], None, [None], "a", 0.1, [-0.1], [[0.1], [1, 2]]]
)
def test_numbers_that_are_no_pvalues_are_refused(pvalues):
    with pytest.raises(ValueError, match="pvalues holds something that is no p-value"):
        adjust_pvalues(pvalues)


def test_an_unknown_correction_is_named():
    with pytest.raises(ValueError, match="method is 'sidak'"):
        adjust_pvalues([0.1], method="sidak")
