"""Intervals, the exact signed-rank test and correlation tables against scipy, enumeration and hand calculation."""

import time
from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from clustcal.metrics import (
    accuracy,
    bootstrap_interval,
    brier,
    ece,
    log_loss,
    paired_wilcoxon,
    roc_auc,
    spearman_table,
    t_interval,
)


@pytest.fixture
def data():
    rng = np.random.default_rng(10)
    p = rng.random(200)
    return (rng.random(200) < p).astype(int), p


# Bootstrap ----------------------------------------------------------------------------------------------------


def test_the_bootstrap_interval_of_a_mean_is_near_the_normal_one(data):
    """Brier is a mean of squared errors, whose standard error is known."""
    y, p = data
    errors = (p - y) ** 2
    interval = bootstrap_interval(brier, y, p, n_resamples=4000, random_state=0)
    se = errors.std() / np.sqrt(len(y))
    assert interval.estimate == pytest.approx(errors.mean())
    assert interval.low == pytest.approx(errors.mean() - 1.96 * se, abs=0.1 * se)
    assert interval.high == pytest.approx(errors.mean() + 1.96 * se, abs=0.1 * se)


def test_a_seed_fixes_the_interval(data):
    same = [bootstrap_interval(ece, *data, n_resamples=20, random_state=3).samples for _ in range(2)]
    other = bootstrap_interval(ece, *data, n_resamples=20, random_state=4).samples
    assert (same[0] == same[1]).all()
    assert not (same[0] == other).all()


def test_random_state_means_what_it_does_elsewhere(data):
    """A seed and a Generator of it are one; a RandomState moves on when it is drawn from; other things are refused."""
    draw = lambda state: bootstrap_interval(ece, *data, n_resamples=5, random_state=state).samples
    assert (draw(3) == draw(np.random.default_rng(3))).all()
    assert (draw(np.random.RandomState(3)) == draw(np.random.RandomState(3))).all()
    state = np.random.RandomState(3)
    assert not (draw(state) == draw(state)).all()
    assert len(draw(None)) == len(draw(np.int64(3))) == 5
    for bad in ("3", -1, 1.5, True):
        with pytest.raises(ValueError, match="random_state is"):
            draw(bad)


def test_a_higher_level_is_wider(data):
    narrow, wide = (
        bootstrap_interval(log_loss, *data, n_resamples=200, random_state=0, confidence_level=level)
        for level in (0.5, 0.99)
    )
    assert wide.low < narrow.low < narrow.high < wide.high


def test_strata_keep_the_class_counts_so_that_rare_classes_survive():
    y, p = np.array([0] * 30 + [1]), np.linspace(0, 0.9, 31)
    interval = bootstrap_interval(roc_auc, y, p, n_resamples=50, stratify=True, random_state=0)
    assert np.isfinite(interval.samples).all()
    with pytest.raises(ValueError, match="holds only the label"):
        bootstrap_interval(roc_auc, y, p, n_resamples=50, random_state=0)


def test_resamples_that_lack_a_class_keep_the_columns():
    y, P = ["a", "b", "c"], np.eye(3) * 0.7 + 0.1
    interval = bootstrap_interval(log_loss, y, P, n_resamples=50, random_state=0)
    assert interval.samples == pytest.approx(-np.log(0.8))


def test_options_of_the_metric_are_passed_on(data):
    interval = bootstrap_interval(ece, *data, n_resamples=2, random_state=0, n_bins=3, norm="max")
    assert interval.estimate == ece(*data, n_bins=3, norm="max")


def test_rows_are_drawn_with_their_weights(data):
    y, p = data
    weights = np.where(y == 1, 0.0, 2.0)
    interval = bootstrap_interval(brier, y, p, sample_weight=weights, n_resamples=200, random_state=0)
    assert interval.estimate == pytest.approx(np.mean(p[y == 0] ** 2))
    assert interval.low < interval.estimate < interval.high


# t interval ---------------------------------------------------------------------------------------------------


def test_t_interval_of_five_seeds_agrees_with_scipy():
    values = [0.31, 0.29, 0.33, 0.30, 0.28]
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    interval = t_interval(values)
    assert (interval.low, interval.high) == pytest.approx(expected)
    assert interval.sd == pytest.approx(np.std(values, ddof=1))
    assert interval.half_width == pytest.approx(2.776445 * interval.sd / np.sqrt(5))


def test_overlapping_splits_widen_the_interval_as_nadeau_and_bengio_say():
    """Five splits of 80 % to train and 20 % to test: the variance grows from 1/5 to 1/5 + 1/4, by a factor of 9/4."""
    values = [0.31, 0.29, 0.33, 0.30, 0.28]
    plain, corrected = t_interval(values), t_interval(values, test_to_train=20 / 80)
    assert corrected.half_width == pytest.approx(1.5 * plain.half_width)
    assert (corrected.mean, corrected.sd) == (plain.mean, plain.sd)


@pytest.mark.parametrize("ratio", [-0.1, np.inf, np.nan, "0.25", None])
def test_a_ratio_that_is_none_is_refused(ratio):
    with pytest.raises(ValueError, match="test_to_train is"):
        t_interval([1.0, 2.0], test_to_train=ratio)


def test_equal_values_have_an_interval_of_no_width():
    interval = t_interval([0.3, 0.3, 0.3])
    assert (interval.low, interval.high) == pytest.approx((0.3, 0.3))


@pytest.mark.parametrize("values", [[1.0], [], [1.0, np.nan], [[1.0, 2.0]]])
def test_values_without_an_interval_are_refused(values):
    with pytest.raises(ValueError, match="values "):
        t_interval(values)


@pytest.mark.parametrize("level", [0, 1, 95])
def test_a_level_that_is_none_is_refused(level):
    with pytest.raises(ValueError, match="confidence_level is"):
        t_interval([1.0, 2.0], confidence_level=level)


# Signed-rank test -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [6, 36])
def test_all_pairs_of_one_sign_have_two_of_all_assignments(n):
    """The paper's p = 2.9e-11 (36 pairs) and p = 0.031 (6 data sets)."""
    a = np.linspace(1, 2, n)
    assert paired_wilcoxon(a, np.zeros(n)).pvalue == 2 / 2**n
    assert paired_wilcoxon(np.zeros(n), a).pvalue == 2 / 2**n


@pytest.mark.parametrize("n", [1, 5, 12, 40])
def test_without_ties_it_agrees_with_scipy(n):
    rng = np.random.default_rng(n)
    a, b = rng.normal(size=n), rng.normal(0.3, size=n)
    expected = stats.wilcoxon(a, b, method="exact", alternative="two-sided")
    assert paired_wilcoxon(a, b).pvalue == pytest.approx(expected.pvalue, rel=1e-12)


def test_with_ties_it_agrees_with_all_sign_assignments():
    difference = np.array([1, -1, 2, 2, -3, 2, 4, 1, 1])
    ranks = stats.rankdata(np.abs(difference))
    observed = ranks[difference > 0].sum()
    sums = np.array([ranks @ signs for signs in product([0, 1], repeat=9)])
    expected = min(1, 2 * min((sums <= observed).mean(), (sums >= observed).mean()))
    result = paired_wilcoxon(difference, np.zeros(9))
    assert result.statistic == observed
    assert result.pvalue == pytest.approx(expected, rel=1e-12)


def test_a_rank_sum_in_the_middle_has_a_p_value_of_1_and_no_more():
    assert paired_wilcoxon([1.0, 0.0], [0.0, 1.0]).pvalue == 1.0


def test_pairs_without_a_difference_are_left_out_and_counted():
    result = paired_wilcoxon([1.0, 2.0, 3.0, 5.0], [1.0, 1.0, 4.0, 3.0])
    assert (result.n, result.n_greater, result.n_less, result.n_equal) == (3, 2, 1, 1)


def test_many_pairs_stay_exact_and_finite():
    rng = np.random.default_rng(11)
    a = rng.normal(size=400)
    result = paired_wilcoxon(a, np.zeros(400))
    approximate = stats.wilcoxon(a, method="approx")
    assert result.pvalue == pytest.approx(approximate.pvalue, rel=0.02)


@pytest.mark.parametrize("tied", [False, True])
def test_more_pairs_than_500_take_scipys_approximation_in_no_time(tied):
    rng = np.random.default_rng(12)
    a = rng.normal(0.01, size=20_000)
    a = np.round(a, 1) if tied else a
    start = time.perf_counter()
    found = paired_wilcoxon(a, np.zeros(len(a)))
    assert time.perf_counter() - start < 1
    assert found.pvalue == pytest.approx(stats.wilcoxon(a, method="approx").pvalue, rel=1e-12)
    assert found.n == np.count_nonzero(a)


@pytest.mark.parametrize("n", [500, 501])
def test_the_two_ways_agree_where_they_meet(n):
    rng = np.random.default_rng(13)
    a = rng.normal(0.1, size=n)
    assert paired_wilcoxon(a, np.zeros(n)).pvalue == pytest.approx(stats.wilcoxon(a, method="exact").pvalue, rel=0.02)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [([1, 2], [1], "b has 1 entries"), ([1, 2], [1, 2], "equal in every pair"), ([1, np.nan], [1, 2], "a holds NaN")],
)
def test_pairs_that_cannot_be_compared_are_refused(a, b, message):
    with pytest.raises(ValueError, match=message):
        paired_wilcoxon(a, b)


# Spearman -------------------------------------------------------------------------------------------------------


@pytest.fixture
def runs():
    rng = np.random.default_rng(12)
    frame = pd.DataFrame(rng.random((30, 3)), columns=["nll", "auc", "ece"])
    return frame.assign(trees=np.repeat([100, 300, 1000], 10), depth=np.tile([6, 8], 15), method="m")


def test_without_groups_it_is_the_table_of_scipy(runs):
    table = spearman_table(runs, columns=["nll", "auc", "ece"])
    assert table.to_numpy() == pytest.approx(stats.spearmanr(runs[["nll", "auc", "ece"]]).statistic)
    assert list(table.index) == list(table.columns) == ["nll", "auc", "ece"]


def test_with_groups_it_is_the_mean_of_their_tables(runs):
    table = spearman_table(runs, by=["trees", "depth"])
    groups = runs.groupby(["trees", "depth"])
    expected = np.mean([stats.spearmanr(rows["nll"], rows["auc"]).statistic for _, rows in groups])
    assert table.loc["nll", "auc"] == pytest.approx(expected)
    assert list(table.columns) == ["nll", "auc", "ece"]


def test_a_group_with_a_constant_column_does_not_count(runs):
    runs.loc[runs.trees == 100, "ece"] = 0.5
    rest = runs[runs.trees > 100]
    expected = spearman_table(rest, by="trees", columns=["nll", "ece"])
    assert spearman_table(runs, by="trees", columns=["nll", "ece"]).loc["nll", "ece"] == pytest.approx(
        expected.loc["nll", "ece"]
    )


def test_an_unknown_column_is_named(runs):
    with pytest.raises(ValueError, match="no column 'capacity'"):
        spearman_table(runs, by="capacity")


@pytest.mark.parametrize("metric", [log_loss, brier, accuracy])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_short_way_of_means_gives_what_the_metric_itself_gives_of_each_resample(metric, n_classes):
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(n_classes), 200)
    y, weights = rng.integers(n_classes, size=200), rng.uniform(0, 3, 200)
    long_way = lambda *arguments, **more: metric(*arguments, **more)  # not known to be a mean over rows
    for given in ({}, {"sample_weight": weights}, {"stratify": True}):
        short, long = (
            bootstrap_interval(one, y, P, n_resamples=20, random_state=0, **given) for one in (metric, long_way)
        )
        np.testing.assert_allclose(short.samples, long.samples, rtol=1e-12)
        assert short.estimate == pytest.approx(long.estimate, rel=1e-12)
