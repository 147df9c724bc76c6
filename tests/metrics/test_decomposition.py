"""Murphy's decomposition: its identity, its parts by hand, and what each part must and must not notice."""

import numpy as np
import pytest

from clustcal.metrics import brier, ece, log_loss, murphy_decomposition

SCORES = {"brier": brier, "log_loss": log_loss}
each_score = pytest.mark.parametrize("score", SCORES)


def forecasts(n_classes, n=200):
    rng = np.random.default_rng(n_classes)
    P = rng.dirichlet(np.linspace(0.4, 2.0, n_classes), size=n)
    P[0] = np.eye(n_classes)[0]  # a probability of exactly 0 that comes true
    y = np.array([rng.choice(n_classes, p=row) for row in P])
    y[0] = 1
    return y, P, rng.random(n)


@each_score
@pytest.mark.parametrize("n_classes", [2, 3, 6])
@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_the_parts_add_up_to_the_score(score, n_classes, strategy):
    y, P, w = forecasts(n_classes)
    parts = murphy_decomposition(y, P, score=score, sample_weight=w, strategy=strategy)
    total = parts.reliability - parts.resolution + parts.uncertainty + parts.within
    assert total == pytest.approx(SCORES[score](y, P, sample_weight=w), abs=1e-12)
    assert parts.score == pytest.approx(total, abs=1e-12)


@each_score
@pytest.mark.parametrize("n_classes", [2, 3])
def test_three_parts_add_up_to_the_score_of_the_binned_forecast(score, n_classes):
    y, P, w = forecasts(n_classes)
    groups = np.arange(len(y)) % 7
    parts = murphy_decomposition(y, P, score=score, sample_weight=w, groups=groups)
    binned = np.array([np.average(P[groups == g], axis=0, weights=w[groups == g]) for g in groups])
    assert parts.binned_score == pytest.approx(SCORES[score](y, binned, sample_weight=w), abs=1e-12)
    assert parts.reliability - parts.resolution + parts.uncertainty == pytest.approx(parts.binned_score, abs=1e-12)
    assert parts.n_groups == 7


def test_brier_parts_by_hand():
    """Groups with frequencies 1/4 and 3/4 that are given 0.25 and 0.5; half of all rows are positive."""
    parts = murphy_decomposition([0, 0, 0, 1, 1, 1, 1, 0], [0.25] * 4 + [0.5] * 4)
    assert parts.reliability == pytest.approx((0 + 0.25**2) / 2)
    assert parts.resolution == pytest.approx(0.25**2)
    assert parts.uncertainty == pytest.approx(0.25)
    assert parts.within == pytest.approx(0)


def test_log_loss_parts_by_hand():
    parts = murphy_decomposition([0, 0, 0, 1, 1, 1, 1, 0], [0.25] * 4 + [0.5] * 4, score="log_loss")
    divergence = 0.75 * np.log(0.75 / 0.5) + 0.25 * np.log(0.25 / 0.5)  # of (3/4, 1/4) from evens
    assert parts.reliability == pytest.approx(divergence / 2)
    assert parts.resolution == pytest.approx(divergence)
    assert parts.uncertainty == pytest.approx(np.log(2))
    assert parts.within == pytest.approx(0)


def test_the_within_part_of_brier_is_variance_less_twice_the_covariance():
    y, p = np.array([0, 1, 1, 0, 1]), np.array([0.11, 0.13, 0.18, 0.16, 0.12])
    expected = np.var(p) - 2 * np.mean((p - p.mean()) * (y - y.mean()))
    assert murphy_decomposition(y, p).within == pytest.approx(expected)


def test_brier_reliability_is_the_square_of_the_root_mean_square_ece():
    y, P, w = forecasts(2)
    for strategy in ("uniform", "quantile"):
        parts = murphy_decomposition(y, P, sample_weight=w, strategy=strategy)
        assert parts.reliability == pytest.approx(ece(y, P, sample_weight=w, strategy=strategy, norm="l2") ** 2)


@each_score
def test_a_constant_forecast_of_the_base_rate_has_uncertainty_only(score):
    parts = murphy_decomposition([0, 1, 0, 0], [0.25] * 4, score=score)
    assert [parts.reliability, parts.resolution, parts.within] == pytest.approx([0, 0, 0], abs=1e-15)
    assert parts.score == pytest.approx(parts.uncertainty)


@each_score
def test_a_perfect_forecast_resolves_all_uncertainty(score):
    parts = murphy_decomposition([0, 1, 0, 1], [0.0, 1.0, 0.0, 1.0], score=score)
    assert parts.resolution == pytest.approx(parts.uncertainty)
    assert parts.reliability == pytest.approx(0, abs=1e-12)


@each_score
@pytest.mark.parametrize("n_classes", [2, 4])
def test_each_part_of_the_binned_score_is_at_least_0(score, n_classes):
    y, P, w = forecasts(n_classes)
    parts = murphy_decomposition(y, P, score=score, sample_weight=w)
    assert min(parts.reliability, parts.resolution, parts.uncertainty) >= 0
    assert parts.resolution <= parts.uncertainty


def test_groups_of_zero_weight_are_left_out():
    parts = murphy_decomposition([0, 1, 1], [0.2, 0.9, 0.5], groups=["a", "b", "c"], sample_weight=[1, 1, 0])
    assert parts.n_groups == 2
    assert parts.score == pytest.approx((0.04 + 0.01) / 2)


def test_an_unknown_score_is_named():
    with pytest.raises(ValueError, match="score is 'nll'"):
        murphy_decomposition([0, 1], [0.2, 0.7], score="nll")


def test_groups_must_match_the_rows():
    with pytest.raises(ValueError, match="groups has 3 rows"):
        murphy_decomposition([0, 1], [0.2, 0.7], groups=[0, 1, 1])
