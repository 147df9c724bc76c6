"""Calibration errors against hand calculations, scikit-learn, netcal and the definitions written out."""

import netcal.metrics
import numpy as np
import pytest
from scipy import stats
from sklearn.calibration import calibration_curve

from clustcal.metrics import ada_ece, classwise_ece, debiased_ece, ece, mce, reliability_curve, smooth_ece

# Twelve rows, worked through by hand and by other libraries (named where their values are used).
P12 = np.array([0.05, 0.12, 0.18, 0.22, 0.31, 0.38, 0.44, 0.52, 0.61, 0.73, 0.86, 0.97])
Y12 = np.array([0, 0, 1, 0, 0, 1, 0, 1, 0, 1, 1, 1])


@pytest.fixture
def binary():
    rng = np.random.default_rng(2)
    p = rng.beta(2, 3, size=500)
    return (rng.random(500) < p**1.5).astype(int), p


@pytest.fixture
def many():
    rng = np.random.default_rng(3)
    P = rng.dirichlet([1.0, 2.0, 0.5], size=500)
    return np.array([rng.choice(3, p=row) for row in P]), P


# Toy table of the paper -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("p_a", "p_b", "expected"), [(0.5, 0.5, 0.0), (0.6, 0.4, 0.1)])
def test_ece_of_the_papers_toy_table(p_a, p_b, expected):
    """0.4 and 0.6 lie on edges of five bins; the rule (a, b] keeps them in two bins, as the paper has it."""
    y = np.repeat([1, 0, 1, 0], [7, 3, 3, 7])
    assert ece(y, np.repeat([p_a, p_b], 10), n_bins=5) == pytest.approx(expected, abs=1e-12)


# Norms, bins and kinds, by hand ----------------------------------------------------------------------------

HAND = ([0, 1, 0, 1], [0.4, 0.7, 0.8, 0.8])  # bins (0, .5]: 0.4 against 0; (.5, 1]: 0.7667 against 0.6667


@pytest.mark.parametrize(
    ("norm", "expected"),
    [("l1", (0.4 + 3 * 0.1) / 4), ("l2", np.sqrt((0.16 + 3 * 0.01) / 4)), ("max", 0.4)],
)
def test_each_norm_by_hand(norm, expected):
    assert ece(*HAND, n_bins=2, norm=norm) == pytest.approx(expected)


def test_mce_is_the_largest_gap():
    assert mce(*HAND, n_bins=2) == pytest.approx(0.4)


def test_ada_ece_has_equal_mass_bins_and_a_root_mean_square():
    """Bins {0.4, 0.7} and {0.8, 0.8}: gaps 0.05 and 0.3."""
    assert ada_ece(*HAND, n_bins=2) == pytest.approx(np.sqrt((0.05**2 + 0.3**2) / 2))


def test_quantile_bins_hold_equal_weight():
    curve = reliability_curve(Y12, P12, n_bins=4, strategy="quantile")
    assert curve.count.tolist() == [3, 3, 3, 3]


def test_positive_and_top_label_are_two_things_and_the_default_is_documented():
    """torchmetrics issue 1105: binary ECE of P(y = 1) or of the top label? Here auto is positive for two classes."""
    y, p = [0, 0, 0, 1], [0.1, 0.1, 0.1, 0.1]
    assert ece(y, p) == ece(y, p, kind="positive") == pytest.approx(0.15)  # 0.1 against 1/4
    y, p = [0, 1, 0, 1], [0.1, 0.9, 0.2, 0.8]
    assert ece(y, p, kind="positive", n_bins=1) == pytest.approx(0.0)
    assert ece(y, p, kind="top-label", n_bins=1) == pytest.approx(0.15)  # 0.85 against 1


def test_auto_is_top_label_for_more_classes(many):
    y, P = many
    correct = (P.argmax(axis=1) == y).astype(int)
    assert ece(y, P) == ece(y, P, kind="top-label") == pytest.approx(ece(correct, P.max(axis=1)))


def test_classwise_is_the_mean_over_one_vs_rest(many):
    y, P = many
    errors = [ece(y == k, P[:, k]) for k in range(3)]
    squares = [ece(y == k, P[:, k], norm="l2") ** 2 for k in range(3)]
    assert classwise_ece(y, P) == pytest.approx(np.mean(errors))
    assert classwise_ece(y, P, norm="l2") == pytest.approx(np.sqrt(np.mean(squares)))
    assert classwise_ece(y, P, norm="max") == pytest.approx(max(mce(y == k, P[:, k]) for k in range(3)))


def test_classwise_of_two_classes_is_the_mean_of_both_sides():
    y, p = np.array([0, 1, 1]), np.array([0.12, 0.33, 0.91])
    sides = [ece(y, p), ece(1 - y, 1 - p)]
    assert classwise_ece(y, p) == pytest.approx(np.mean(sides))


def test_an_unknown_norm_is_named():
    with pytest.raises(ValueError, match="norm is 'l3'"):
        ece([0, 1], [0.2, 0.7], norm="l3")


# The rule of the edges --------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_bins", [1, 2, 3, 7, 10, 15, 100])
@pytest.mark.parametrize("strategy", ["uniform", "quantile"])
def test_probabilities_of_exactly_0_and_1_lie_in_a_bin(n_bins, strategy):
    """torchmetrics issues 3510 (1.0 outside the last bin), 1646 and 1744 (0.0 outside the first)."""
    curve = reliability_curve([0, 1, 0, 1], [0.0, 1.0, 1.0, 0.0], n_bins=n_bins, strategy=strategy)
    assert curve.count.sum() == 4
    assert ece([0, 0, 0], [1.0, 1.0, 1.0], n_bins=n_bins, strategy=strategy) == 1.0
    assert ece([1, 1], [0.0, 0.0], n_bins=n_bins, strategy=strategy) == 1.0


def test_a_score_on_an_edge_belongs_to_the_bin_below_everywhere():
    """netcal issue 19: edges that differ between places."""
    edges = np.arange(1, 10) / 10
    curve = reliability_curve(np.ones(9), edges, n_bins=10)
    assert curve.bin.tolist() == list(range(9))
    assert curve.confidence == pytest.approx(edges)


def test_empty_bins_are_dropped_and_bins_of_zero_weight_are_empty():
    curve = reliability_curve([0, 1, 1], [0.05, 0.95, 0.55], n_bins=10, sample_weight=[1, 1, 0])
    assert curve.bin.tolist() == [0, 9]
    assert np.isfinite(curve.frequency).all()


def test_equal_scores_share_a_quantile_bin():
    curve = reliability_curve([0, 1, 0, 1, 1], [0.3, 0.3, 0.3, 0.3, 0.9], n_bins=5, strategy="quantile")
    assert curve.count.tolist() == [4, 1]


def test_one_score_for_all_makes_one_bin():
    curve = reliability_curve([0, 1, 1, 1], [0.5] * 4, strategy="quantile")
    assert (curve.confidence.tolist(), curve.frequency.tolist()) == ([0.5], [0.75])


def test_a_classwise_curve_is_one_curve_per_class(many):
    y, P = many
    curves = reliability_curve(y, P, kind="classwise")
    assert list(curves) == [0, 1, 2]
    for k, curve in curves.items():
        assert curve.frequency == pytest.approx(reliability_curve(y == k, P[:, k]).frequency)


# Other libraries --------------------------------------------------------------------------------------------


def test_the_curve_agrees_with_scikit_learn(binary):
    y, p = binary
    frequency, confidence = calibration_curve(y, p, n_bins=10)
    curve = reliability_curve(y, p, n_bins=10)
    assert curve.frequency == pytest.approx(frequency, abs=1e-12)
    assert curve.confidence == pytest.approx(confidence, abs=1e-12)


@pytest.mark.parametrize("n_bins", [5, 10, 15])
def test_ece_and_mce_agree_with_netcal(binary, n_bins):
    y, p = binary
    assert ece(y, p, n_bins=n_bins) == pytest.approx(netcal.metrics.ECE(n_bins).measure(p, y), abs=1e-9)
    assert mce(y, p, n_bins=n_bins) == pytest.approx(netcal.metrics.MCE(n_bins).measure(p, y), abs=1e-9)


def test_top_label_ece_agrees_with_netcal(many):
    y, P = many
    assert ece(y, P, n_bins=15) == pytest.approx(netcal.metrics.ECE(15).measure(P, y), abs=1e-9)


# Debiased error -----------------------------------------------------------------------------------------------


def test_debiased_ece_by_hand():
    """One bin: (0.75 - 0.1)^2 - 0.75 * 0.25 / 3 = 0.36."""
    assert debiased_ece([1, 1, 1, 0], [0.1] * 4) == pytest.approx(0.6)


def test_debiased_square_is_unbiased():
    """All 2^3 outcomes of three rows with chance 0.3 that were given 0: the true squared gap is 0.09."""
    expectation = 0.0
    for code in range(8):
        y = [code & 1, code >> 1 & 1, code >> 2 & 1]
        chance = 0.3 ** sum(y) * 0.7 ** (3 - sum(y))
        expectation += chance * debiased_ece(y, [0.0] * 3, labels=[0, 1]) ** 2
    assert expectation == pytest.approx(0.09)


def test_debiased_ece_agrees_with_uncertainty_calibration():
    """Values of uncertainty-calibration 0.1.4, lower_bound_scaling_ce(p=2, debias=True), 3 equal-mass bins."""
    assert debiased_ece(Y12, P12, n_bins=3) == pytest.approx(0.0, abs=1e-12)
    assert debiased_ece(Y12, P12 * 0.3, n_bins=3) == pytest.approx(0.28200671042055403, abs=1e-12)


def test_bins_too_small_for_a_variance_add_nothing():
    assert debiased_ece([1, 1], [0.1, 0.9], n_bins=2, strategy="uniform") == 0.0


def test_debiased_ece_is_never_above_the_plain_one(binary):
    y, p = binary
    assert 0 <= debiased_ece(y, p) < ada_ece(y, p)


# Smooth error -------------------------------------------------------------------------------------------------


def published_smooth_ece(y, p, sigma):
    """The integral of the definition, with the reflected Gaussian as a sum over its images, on a fine grid."""
    t = (np.arange(20000) + 0.5) / 20000
    total = np.zeros_like(t)
    for score, residual in zip(p, y - p, strict=True):
        for image in range(-4, 5):
            total += residual * stats.norm.pdf(t, 2 * image + score, sigma)
            total += residual * stats.norm.pdf(t, 2 * image - score, sigma)
    return np.abs(total / len(p)).mean()


@pytest.mark.parametrize("sigma", [0.02, 0.1, 0.4, 1.0])
def test_smooth_ece_at_a_bandwidth_is_the_published_integral(sigma):
    expected = published_smooth_ece(Y12, P12, sigma)
    assert smooth_ece(Y12, P12, bandwidth=sigma) == pytest.approx(expected, abs=1e-5)


def test_smooth_ece_is_the_bandwidth_that_equals_its_own_error():
    y = 1 - Y12
    value = smooth_ece(y, P12)
    assert published_smooth_ece(y, P12, value) == pytest.approx(value, abs=1e-4)


def test_smooth_ece_agrees_with_relplot():
    """Values of relplot 1.0.3, whose search stops within 1/1024."""
    assert smooth_ece(Y12, P12) == pytest.approx(0.078969, abs=2e-3)
    assert smooth_ece(Y12, P12 * 0.6) == pytest.approx(0.230263, abs=2e-3)


@pytest.mark.parametrize(("p", "rate"), [(0.5, 0.75), (0.0, 0.25), (1.0, 0.0), (0.0, 1.0)])
def test_smooth_ece_of_one_forecast_is_its_gap(p, rate):
    """Residuals at one place cannot cancel, and the kernel integrates to 1 also at the ends."""
    y = np.arange(8) < 8 * rate
    assert smooth_ece(y.astype(int), np.full(8, p)) == pytest.approx(abs(rate - p), abs=1e-9)


def test_smooth_ece_of_a_perfect_forecast_is_0():
    assert smooth_ece([0, 1, 1], [0.0, 1.0, 1.0]) == 0


@pytest.fixture
def underconfident():
    """Residuals of both signs, up to the ends of the interval, so that smoothing lets them cancel."""
    rng = np.random.default_rng(4)
    p = rng.random(500)
    return (rng.random(500) < 0.3 + 0.4 * p).astype(int), p


def test_smooth_ece_falls_as_the_bandwidth_grows(underconfident):
    y, p = underconfident
    values = [smooth_ece(y, p, bandwidth=sigma) for sigma in (0.01, 0.03, 0.1, 0.3, 1.0)]
    assert (np.diff(values) < 0).all()


def test_smooth_ece_is_the_same_seen_from_the_other_class(underconfident):
    y, p = underconfident
    assert smooth_ece(1 - y, 1 - p) == pytest.approx(smooth_ece(y, p), abs=1e-10)


def test_smooth_ece_moves_little_when_scores_move_little():
    """The binned error jumps from 0.2 to 0 here; the smooth one does not."""
    y = np.repeat([1, 0, 1, 0], [7, 3, 3, 7])
    apart, together = np.repeat([0.5001, 0.5], 10), np.repeat([0.5, 0.4999], 10)
    assert abs(ece(y, apart, n_bins=2) - ece(y, together, n_bins=2)) > 0.15
    assert smooth_ece(y, apart) == pytest.approx(smooth_ece(y, together), abs=1e-3)


@pytest.mark.parametrize("bandwidth", [0, -1, float("nan")])
def test_a_bandwidth_that_is_none_is_refused(bandwidth):
    with pytest.raises(ValueError, match="bandwidth is"):
        smooth_ece([0, 1], [0.2, 0.7], bandwidth=bandwidth)


@pytest.mark.parametrize("weights", [None, [0.5] * 9])
def test_debiased_errors_of_bins_with_one_row_say_so(weights):
    with pytest.warns(UserWarning, match="100% of the weight is in bins of one row or less"):
        debiased_ece(np.arange(9) % 2, np.arange(1, 10) / 10, sample_weight=weights)
