"""Intervals of proportions against scipy, and their coverage by exact sums over all outcomes."""

import numpy as np
import pytest
from scipy import stats

from clustcal.metrics import proportion_interval, reliability_curve

RATES = np.linspace(0.001, 0.5, 200)


def coverage(n, rates, method):
    """The chance that the interval of a binomial count holds its rate: a sum over all n + 1 counts."""
    counts = np.arange(n + 1)
    low, high = proportion_interval(counts, n, method=method)
    holds = (low[:, None] <= rates) & (rates <= high[:, None])
    return (stats.binom.pmf(counts[:, None], n, rates) * holds).sum(axis=0)


@pytest.mark.parametrize("n", [30, 102, 128, 500])
def test_clopper_pearson_covers_every_rate_at_least_as_often_as_it_says(n):
    assert coverage(n, RATES, "clopper-pearson").min() >= 0.95


def test_wilson_covers_less_than_it_says_for_some_rare_events():
    """102 rows at .005: .91, and yet less at other n and rates."""
    assert coverage(102, np.array([0.005]), "wilson")[0] == pytest.approx(0.91, abs=0.01)
    assert min(coverage(n, RATES, "wilson").min() for n in (30, 102, 128, 500)) < 0.9


def test_the_bootstrap_covers_rare_events_half_of_the_time():
    """Of 128 rows at .005, 53 % hold no event, and an interval of no width at 0."""
    counts = np.arange(20)
    low, high = proportion_interval(counts, 128, method="bootstrap", n_resamples=4000, random_state=0)
    chance = stats.binom.pmf(counts, 128, 0.005)
    assert chance @ ((low <= 0.005) & (high >= 0.005)) == pytest.approx(0.46, abs=0.02)


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize(("method", "name"), [("clopper-pearson", "exact"), ("wilson", "wilson")])
def test_limits_are_those_of_scipy(level, method, name):
    for n in (1, 2, 17, 1000):
        counts = np.unique([0, 1, n // 3, n - 1, n])
        low, high = proportion_interval(counts, n, method=method, confidence_level=level)
        for k, *limits in zip(counts, low, high, strict=True):
            expected = stats.binomtest(int(k), n).proportion_ci(level, name)
            assert limits == pytest.approx([expected.low, expected.high], abs=1e-12)


def test_the_bootstrap_has_the_quantiles_of_the_binomial():
    low, high = proportion_interval(30, 100, method="bootstrap", n_resamples=50_000, random_state=0)
    assert (low, high) == pytest.approx(tuple(stats.binom.ppf([0.025, 0.975], 100, 0.3) / 100), abs=0.0101)


@pytest.mark.parametrize(
    ("events", "trials", "options", "message"),
    [
        (1, 0, {}, "trials holds a value that is not positive"),
        (3, 2, {}, "events holds a value outside of 0 to trials"),
        (-1, 2, {}, "events holds a value outside of 0 to trials"),
        (np.nan, 2, {}, "events holds a value outside of 0 to trials"),
        ("a", 2, {}, "could not be read as numbers"),
        (1, 2, {"method": "wald"}, "method is 'wald'"),
        (1, 2, {"confidence_level": 95}, "confidence_level is 95"),
        (1, 2.5, {"method": "bootstrap"}, "expected whole numbers"),
    ],
)
def test_what_is_no_proportion_is_refused(events, trials, options, message):
    with pytest.raises(ValueError, match=message):
        proportion_interval(events, trials, **options)


# In the curve -------------------------------------------------------------------------------------------------


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 3, size=400)
    return (rng.random(400) < p).astype(int), p


def test_the_curve_has_the_exact_interval_of_each_bin(data):
    curve = reliability_curve(*data)
    for frequency, count, *limits in zip(curve.frequency, curve.count, curve.low, curve.high, strict=True):
        exact = stats.binomtest(round(frequency * count), int(count)).proportion_ci(0.95, "exact")
        assert limits == pytest.approx([exact.low, exact.high], abs=1e-9)


def test_weights_enter_through_kishs_number_of_rows(data):
    y, p = data
    weights = np.random.default_rng(1).exponential(size=400)
    curve = reliability_curve(y, p, sample_weight=weights, n_bins=1)
    kish = weights.sum() ** 2 / (weights**2).sum()
    assert curve.effective_count == pytest.approx([kish])
    x = kish * np.average(y, weights=weights)
    assert curve.low[0] == pytest.approx(stats.beta.ppf(0.025, x, kish - x + 1))
    assert curve.high[0] == pytest.approx(stats.beta.ppf(0.975, x + 1, kish - x))
    same = reliability_curve(y, p, sample_weight=7 * np.ones(400))
    plain = reliability_curve(y, p)
    assert np.allclose([same.low, same.high], [plain.low, plain.high], rtol=1e-12)


def test_kishs_intervals_cover_under_random_weights():
    """400 draws of 200 rows at a rate of .03; the binomial error of 400 draws is .011."""
    rng = np.random.default_rng(2)
    covered = 0
    for _ in range(400):
        y, weights = (rng.random(200) < 0.03).astype(int), rng.exponential(size=200)
        curve = reliability_curve(y, np.full(200, 0.03), sample_weight=weights, labels=[0, 1])
        covered += curve.low[0] <= 0.03 <= curve.high[0]
    assert covered / 400 >= 0.93


def test_the_bootstrap_of_the_curve_resamples_rows_with_their_weights(data):
    """Against a plain loop over resampled rows, up to the noise of 2,000 resamples."""
    y, p = data
    weights = np.where(y == 1, 3.0, 0.5)
    options = {"n_bins": [0, 0.2, 1], "sample_weight": weights, "interval": "bootstrap", "n_resamples": 2000}
    curve = reliability_curve(y, p, random_state=0, **options)
    rng = np.random.default_rng(1)
    rows = [rng.integers(400, size=400) for _ in range(2000)]
    frequencies = [
        reliability_curve(y[r], p[r], n_bins=[0, 0.2, 1], sample_weight=weights[r], interval=None).frequency
        for r in rows
    ]
    low, high = np.quantile(frequencies, [0.025, 0.975], axis=0)
    width = high - low
    assert curve.low == pytest.approx(low, abs=0.15 * width.min())
    assert curve.high == pytest.approx(high, abs=0.15 * width.min())


@pytest.mark.parametrize("interval", ["clopper-pearson", "wilson", "bootstrap"])
def test_every_interval_holds_the_frequency_that_it_is_of(data, interval):
    curve = reliability_curve(*data, interval=interval, random_state=0)
    assert ((curve.low <= curve.frequency) & (curve.frequency <= curve.high)).all()


def test_intervals_can_be_left_out_and_others_are_refused(data):
    assert "low" not in reliability_curve(*data, interval=None)
    for options, message in [
        ({"interval": "wald"}, "interval is 'wald'"),
        ({"confidence_level": 1}, "confidence_level is 1"),
        ({"n_resamples": 0}, "n_resamples is 0"),
    ]:
        with pytest.raises(ValueError, match=message):
            reliability_curve(*data, **options)


@pytest.mark.parametrize("method", ["bootstrap", "clopper-pearson"])
@pytest.mark.parametrize("value", [0, -1, "a", 2.5, None, True])
def test_resamples_that_are_no_number_of_them_are_refused(method, value):
    with pytest.raises(ValueError, match=r"n_resamples is .*; expected a whole number of at least 1\."):
        proportion_interval(1, 5, method=method, n_resamples=value)


@pytest.mark.parametrize("value", [-1, "a", 2.5, True])
def test_a_random_state_that_is_none_is_refused(value):
    with pytest.raises(ValueError, match="random_state is"):
        proportion_interval(1, 5, method="bootstrap", random_state=value)
