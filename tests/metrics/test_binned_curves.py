"""Curves of batches add up to the curve of all rows."""

import time

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clustcal.metrics import reliability_curve
from clustcal.plots import ReliabilityDisplay

ARRAYS = ("confidence", "frequency", "count", "effective_count", "low", "high", "bin", "edges", "sums")


def same(one, other, exactly=True):
    for name in ARRAYS:
        if exactly:
            assert np.array_equal(one[name], other[name]), name
        else:
            assert np.allclose(one[name], other[name], rtol=1e-12, atol=0), name
    return True


@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_batches_add_up_to_the_bit_where_sums_are_exact(seed, n_batches):
    """Forecasts of 20 binary digits and weights of 3: no sum of them is rounded."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(n_batches, 200))
    p, y = rng.integers(0, 2**20, n, endpoint=True) / 2**20, rng.integers(0, 2, n)
    weights = rng.integers(1, 8, n) / 8
    edges = [0, 0.001, 0.01, 0.1, 0.5, 1]
    options = {"n_bins": edges, "labels": [0, 1]}
    batches = np.array_split(np.arange(n), n_batches)
    curves = [reliability_curve(y[rows], p[rows], sample_weight=weights[rows], **options) for rows in batches]
    assert same(curves[0].merge(*curves[1:]), reliability_curve(y, p, sample_weight=weights, **options))


def test_batches_of_any_forecast_add_up_to_rounding_and_counts_to_the_bit():
    rng = np.random.default_rng(0)
    p = rng.random(100_000)
    y = (rng.random(len(p)) < p).astype(int)
    merged = reliability_curve(y[:10], p[:10])
    for rows in np.array_split(np.arange(10, len(p)), 7):
        merged = merged.merge(reliability_curve(y[rows], p[rows]))
    whole = reliability_curve(y, p)
    same(merged, whole, exactly=False)
    assert all(np.array_equal(merged[name], whole[name]) for name in ("count", "frequency", "low", "high"))


def test_a_batch_may_lack_bins_and_classes():
    first = reliability_curve([0, 0], [0.05, 0.15], labels=[0, 1])
    second = reliability_curve([1, 1], [0.95, 0.15], labels=[0, 1])
    same(first.merge(second), reliability_curve([0, 0, 1, 1], [0.05, 0.15, 0.95, 0.15]))


@pytest.mark.parametrize("interval", ["wilson", None])
def test_intervals_stay_of_the_kind_that_was_asked_for(interval):
    y, p = np.array([0, 1, 1, 0]), np.array([0.2, 0.8, 0.7, 0.3])
    options = {"interval": interval, "confidence_level": 0.8, "labels": [0, 1]}
    merged = reliability_curve(y[:2], p[:2], **options).merge(reliability_curve(y[2:], p[2:], **options))
    whole = reliability_curve(y, p, **options)
    assert merged.get("high") == pytest.approx(whole.get("high"))


def test_one_curve_per_class_merges_class_by_class():
    rng = np.random.default_rng(1)
    P = rng.dirichlet(np.ones(3), 300)
    y = rng.integers(0, 3, 300)
    halves = [reliability_curve(y[h], P[h], kind="classwise") for h in (slice(150), slice(150, None))]
    whole = reliability_curve(y, P, kind="classwise")
    for label in whole:
        same(halves[0][label].merge(halves[1][label]), whole[label], exactly=False)


CURVE = reliability_curve([0, 1], [0.2, 0.4])


@pytest.mark.parametrize(
    ("other", "message"),
    [
        (reliability_curve([0, 1], [0.2, 0.4], n_bins=5), "other has other edges"),
        (reliability_curve([0, 1], [0.2, 0.4], kind="top-label"), "other has the kind 'top-label'"),
        (reliability_curve([0, 1], [0.2, 0.4], pos_label=0), "other has the pos_label 0"),
        (7, "other is int"),
    ],
)
def test_curves_that_do_not_go_together_are_refused(other, message):
    with pytest.raises(ValueError, match=message):
        CURVE.merge(other)


def test_bootstrap_intervals_cannot_be_merged():
    curve = reliability_curve([0, 1], [0.2, 0.4], interval="bootstrap", n_resamples=5)
    with pytest.raises(ValueError, match="interval is 'bootstrap'"):
        curve.merge(curve)


@pytest.mark.slow
def test_a_diagram_of_two_million_rows_takes_less_than_five_times_as_long_as_its_curve():
    rng = np.random.default_rng(0)
    p = rng.random(2_000_000)
    y = (rng.random(len(p)) < p).astype(int)
    ReliabilityDisplay.from_predictions(y[:100], p[:100])  # matplotlib is loaded, whatever that takes
    times = {"curve": [], "diagram": []}
    for _ in range(3):
        for name, make in [("curve", reliability_curve), ("diagram", ReliabilityDisplay.from_predictions)]:
            start = time.perf_counter()
            make(y, p)
            times[name].append(time.perf_counter() - start)
    assert min(times["diagram"]) < 5 * min(times["curve"])
