"""CORP against model-diagnostics, hand calculation and simulations of its bands."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.isotonic import IsotonicRegression

from clustcal.metrics import brier, corp_curve, corp_decomposition, log_loss, murphy_decomposition

P12 = np.array([0.05, 0.12, 0.18, 0.22, 0.31, 0.38, 0.44, 0.52, 0.61, 0.73, 0.86, 0.97])
Y12 = np.array([0, 0, 1, 0, 0, 1, 0, 1, 0, 1, 1, 1])
W12 = np.array([1, 2, 1, 3, 1, 1, 2, 1, 1, 1, 2, 1.0])
PARTS = ("miscalibration", "discrimination", "uncertainty", "score")

# The decomposition -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("score", "weights", "expected"),
    [
        ("brier", None, (0.03675277777777783, 0.1111111111111111, 0.25, 0.17564166666666672)),
        ("log_loss", None, (0.12252077319943522, 0.3029695782995937, 0.6931471805599453, 0.5126983754597868)),
        ("brier", W12, (0.027378431372549056, 0.1265282583621684, 0.24221453287197234, 0.14306470588235298)),
        ("log_loss", W12, (0.10058405864215197, 0.3364444642313386, 0.6774944044487073, 0.4416339988595207)),
    ],
)
def test_it_agrees_with_model_diagnostics(score, weights, expected):
    """Values of model-diagnostics 1.5.0, decompose with SquaredError and LogLoss."""
    parts = corp_decomposition(Y12, P12, score=score, sample_weight=weights)
    assert [parts[name] for name in PARTS] == pytest.approx(expected, abs=1e-12)


def test_it_is_murphys_where_frequencies_increase_from_value_to_value():
    """With few distinct forecasts in the right order, the isotonic fit is the frequency of each."""
    y, p = np.repeat([1, 0, 1, 0, 1, 0], [1, 9, 4, 6, 9, 1]), np.repeat([0.2, 0.3, 0.95], 10)
    for score in ("brier", "log_loss"):
        parts, murphy = corp_decomposition(y, p, score=score), murphy_decomposition(y, p, score=score, groups=p)
        expected = [murphy[name] for name in ("reliability", "resolution", "uncertainty", "score")]
        assert [parts[name] for name in PARTS] == pytest.approx(expected)


@given(st.integers(0, 2**32 - 1), st.sampled_from(["brier", "log_loss", "spherical", lambda p, y: np.abs(p - y) ** 2]))
def test_parts_of_any_proper_score_add_up_and_are_not_negative(seed, score):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 40))
    p, y = rng.integers(0, 11, n) / 10, rng.integers(0, 2, n)
    parts = corp_decomposition(
        y, p, score=score, labels=[0, 1], sample_weight=rng.integers(0, 3, n) + (np.arange(n) == 0)
    )
    assert parts.score == pytest.approx(parts.miscalibration - parts.discrimination + parts.uncertainty, abs=1e-12)
    assert min(parts.miscalibration, parts.discrimination) >= -1e-9


def test_scores_are_those_of_the_package_and_any_function_may_be_given():
    assert corp_decomposition(Y12, P12).score == pytest.approx(brier(Y12, P12))
    assert corp_decomposition(Y12, P12, score="log_loss").score == pytest.approx(log_loss(Y12, P12))
    own = corp_decomposition(Y12, P12, score=lambda p, y: (p - y) ** 2)
    assert own == pytest.approx(corp_decomposition(Y12, P12))


def test_an_increasing_map_of_the_forecast_moves_miscalibration_alone():
    parts, mapped = (corp_decomposition(Y12, p) for p in (P12, P12**3))
    assert mapped.discrimination == pytest.approx(parts.discrimination)
    assert mapped.uncertainty == pytest.approx(parts.uncertainty)
    assert mapped.miscalibration > parts.miscalibration


@pytest.mark.parametrize("score", ["auc", 3, None])
def test_a_score_that_is_none_is_refused(score):
    with pytest.raises(ValueError, match="score is"):
        corp_decomposition(Y12, P12, score=score)


def test_a_function_that_does_not_score_rows_is_refused():
    with pytest.raises(ValueError, match=r"score returned shape \(\)"):
        corp_decomposition(Y12, P12, score=lambda p, y: ((p - y) ** 2).mean())


# The curve and its bands -------------------------------------------------------------------------------------


def test_the_curve_is_scikit_learns_isotonic_regression():
    rng = np.random.default_rng(0)
    p = rng.integers(0, 50, 500) / 50
    y, w = (rng.random(500) < p).astype(int), rng.random(500)
    curve = corp_curve(y, p, sample_weight=w, band=None)
    fit = IsotonicRegression().fit(p, y, sample_weight=w)
    assert curve.forecast.tolist() == np.unique(p).tolist()
    assert curve.frequency == pytest.approx(fit.predict(np.unique(p)), abs=1e-9)
    assert curve.count.sum() == pytest.approx(w.sum())
    assert "low" not in curve


def test_at_one_forecast_the_consistency_band_has_the_quantiles_of_a_binomial():
    """With a single forecast there is nothing to pool: 100 rows at .3."""
    curve = corp_curve([1] * 30 + [0] * 70, np.full(100, 0.3), n_resamples=4000)
    assert (curve.low[0], curve.high[0]) == pytest.approx((0.21, 0.39), abs=0.0101)


AT = np.array([0.05, 0.2, 0.5, 0.8, 0.95])


@pytest.mark.parametrize("values", [None, 10])
def test_the_consistency_band_holds_the_curve_of_a_calibrated_forecast_as_often_as_it_says(values):
    """At each of five places, in 80 sets of 300 rows; the binomial error is .025."""
    rng = np.random.default_rng(1)
    held = np.zeros(len(AT))
    for _ in range(80):
        p = rng.random(300) if values is None else (rng.integers(0, values, 300) + 0.5) / values
        curve = corp_curve((rng.random(300) < p).astype(int), p, n_resamples=150, random_state=rng)
        nearest = np.abs(curve.forecast[:, None] - AT).argmin(axis=0)
        held += ((curve.low <= curve.frequency) & (curve.frequency <= curve.high))[nearest]
    assert (held / 80 >= 0.87).all()
    assert (held / 80).mean() <= 0.99


def test_the_consistency_band_of_many_forecasts_is_near_that_of_each(monkeypatch):
    """8,000 forecasts, exactly and in 400 groups of neighbours; the limits are some .02 from the diagonal."""
    rng = np.random.default_rng(3)
    p = rng.random(8000)
    y = (rng.random(8000) < p).astype(int)
    exact, shared = [], []
    for bands, places in ((exact, 10**6), (shared, 400)):
        monkeypatch.setattr("clustcal.metrics.corp.MOST_PLACES", places)
        curve = corp_curve(y, p, n_resamples=200)
        bands.extend([curve.low, curve.high])
    assert len(np.unique(shared[0])) <= 400
    for one, other in zip(exact, shared, strict=True):
        assert np.abs(one - other).mean() < 0.008


@pytest.mark.parametrize("truth", [lambda p: p, lambda p: p**2, lambda p: 0.1 + 0.6 * (p > 0.5), lambda p: 0.02 * p])
@pytest.mark.parametrize("n", [100, 1000])
def test_the_confidence_band_holds_an_increasing_truth_everywhere(truth, n):
    """All places of 100 sets together; at least .95 is proved, and far more is usual."""
    rng = np.random.default_rng(n)
    held = 0
    for _ in range(100):
        p = rng.random(n)
        curve = corp_curve((rng.random(n) < truth(p)).astype(int), p, band="confidence", labels=[0, 1])
        held += ((curve.low <= truth(curve.forecast)) & (truth(curve.forecast) <= curve.high)).all()
    assert held / 100 >= 0.95


def test_the_confidence_band_increases_holds_the_curve_and_narrows():
    rng = np.random.default_rng(2)
    widths = []
    for n in (100, 10_000):
        p = rng.random(n)
        curve = corp_curve((rng.random(n) < p).astype(int), p, band="confidence")
        assert (np.diff(curve.low) >= 0).all()
        assert (np.diff(curve.high) >= 0).all()
        assert ((curve.low <= curve.frequency) & (curve.frequency <= curve.high)).all()
        widths.append(np.mean(curve.high - curve.low))
    assert widths[1] < widths[0] / 2


def test_ties_and_one_forecast_for_all_have_a_confidence_band_of_clopper_and_pearson():
    from scipy import stats

    curve = corp_curve([1, 0, 0, 0], [0.5] * 4, band="confidence")
    exact = stats.binomtest(1, 4).proportion_ci(0.95, "exact")
    assert (curve.low[0], curve.high[0]) == pytest.approx(tuple(exact))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"band": "bootstrap"}, "band is 'bootstrap'"),
        ({"confidence_level": 0}, "confidence_level is 0"),
        ({"n_resamples": 0}, "n_resamples is 0"),
        ({"kind": "classwise"}, "kind is 'classwise'"),
        ({"random_state": "a"}, "random_state is 'a'"),
    ],
)
def test_options_that_make_no_curve_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        corp_curve(Y12, P12, **options)
