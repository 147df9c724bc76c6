"""Decision curves, expected costs and cost curves against dcurves, hand calculation and simulations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from clustcal.metrics import accuracy, brier, cost_curve, decision_curve, expected_cost

P12 = np.array([0.05, 0.12, 0.18, 0.22, 0.31, 0.38, 0.44, 0.52, 0.61, 0.73, 0.86, 0.97])
Y12 = np.array([0, 0, 1, 0, 0, 1, 0, 1, 0, 1, 1, 1])
THRESHOLDS = [0.1, 0.2, 0.31, 0.5, 0.8]

# Net benefit --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("p", "expected"),
    [
        (P12, [0.453704, 0.333333, 0.304348, 0.250000, 0.166667]),
        (np.round(P12**1.5, 6), [0.379630, 0.375000, 0.295894, 0.250000, 0.083333]),
    ],
)
def test_net_benefit_agrees_with_dcurves(p, expected):
    """Values of dcurves 1.1.7, the package of the authors' group; 0.31 is a threshold that a risk is equal to."""
    curve = decision_curve(Y12, p, thresholds=THRESHOLDS)
    assert curve.net_benefit == pytest.approx(expected, abs=1e-6)
    assert curve.treat_all == pytest.approx([0.444444, 0.375, 0.275362, 0, -1.5], abs=1e-6)


def test_a_threshold_of_0_treats_all_and_one_above_all_risks_none():
    curve = decision_curve(Y12, P12, thresholds=[0, 0.99])
    assert curve.net_benefit == pytest.approx([0.5, 0])
    assert curve.treat_all[0] == pytest.approx(0.5)


def test_the_difference_is_that_of_the_two_curves():
    one, other = (decision_curve(Y12, p) for p in (P12, 1 - P12[::-1] ** 2))
    both = decision_curve(Y12, P12, reference=1 - P12[::-1] ** 2)
    assert both.reference == pytest.approx(other.net_benefit)
    assert both.difference == pytest.approx(one.net_benefit - other.net_benefit)
    assert (both.difference_low <= both.difference + 1e-12).all()
    assert (both.difference <= both.difference_high + 1e-12).all()


def test_a_forecast_does_not_differ_from_itself_in_what_was_seen():
    same = decision_curve(Y12, P12, reference=P12, thresholds=[0.3])
    assert same.difference == 0
    assert same.difference_low < 0 < same.difference_high  # but 12 rows cannot exclude that it may


def test_at_a_threshold_where_one_kind_is_treated_the_interval_is_clopper_and_pearsons():
    """True positives alone, 5 of 12: no false positive, whose own limit enters below alone."""
    y, p = np.repeat([1, 0], [5, 7]), np.repeat([0.9, 0.1], [5, 7])
    curve = decision_curve(y, p, thresholds=[0.5])
    exact = stats.binomtest(5, 12).proportion_ci(0.95, "exact")
    assert curve.high[0] == pytest.approx(exact.high)
    assert curve.low[0] < exact.low
    everyone = decision_curve(y, p, thresholds=[0.0])
    assert (everyone.low[0], everyone.high[0]) == pytest.approx((exact.low, exact.high))


def made(rng, n, prior):
    t = rng.beta(*prior, n)
    return (rng.random(n) < t).astype(int), t


def net_benefits(t, p, thresholds):
    return np.array([np.mean((p >= x) * (t - (1 - t) * x / (1 - x))) for x in thresholds])


@pytest.mark.parametrize(("prior", "thresholds"), [((2, 3), [0.05, 0.2, 0.5, 0.8]), ((1, 60), [0.005, 0.02, 0.1])])
@pytest.mark.parametrize("n", [200, 1000])
def test_intervals_cover_the_net_benefit_of_the_population(prior, thresholds, n):
    """300 sets, a binomial error of .013; the truth from a million rows with their chances."""
    rng = np.random.default_rng(n)
    t = rng.beta(*prior, 1_000_000)
    truth, other = net_benefits(t, t**1.2, thresholds), net_benefits(t, np.sqrt(t * t.mean()), thresholds)
    mean = np.sqrt(t.mean())
    held = np.zeros((3, len(thresholds)))
    everyone = net_benefits(t, np.ones(len(t)), thresholds)
    for _ in range(300):
        y, t = made(rng, n, prior)
        curve = decision_curve(y, t**1.2, thresholds=thresholds, reference=np.sqrt(t) * mean, labels=[0, 1])
        held += [
            (curve.low <= truth) & (truth <= curve.high),
            (curve.treat_all_low <= everyone) & (everyone <= curve.treat_all_high),
            (curve.difference_low <= truth - other) & (truth - other <= curve.difference_high),
        ]
    assert (held / 300 >= 0.92).all()


# Expected cost ------------------------------------------------------------------------------------------------


def test_unit_costs_are_the_error_rate():
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(4), 300)
    y = rng.integers(0, 4, 300)
    found = expected_cost(y, P, 1 - np.eye(4))
    assert found.cost == pytest.approx(1 - accuracy(y, P))
    assert found.predicted == pytest.approx(1 - P.max(axis=1).mean())
    assert found.best_constant == pytest.approx(1 - np.bincount(y).max() / 300)
    assert found.counts.sum() == 300


def test_of_two_classes_the_threshold_is_the_cost_share():
    """A false alarm of 1 and a miss of 4: alarm from 1 / (1 + 4) on."""
    found = expected_cost([0, 1, 1, 0], [0.19, 0.21, 0.1, 0.9], [[0, 1], [4, 0]])
    assert found.decisions.tolist() == [0, 1, 0, 1]
    assert found.cost == (4 + 1) / 4


def test_a_calibrated_forecast_predicts_its_cost():
    rng = np.random.default_rng(1)
    y, p = made(rng, 100_000, (1, 3))
    found = expected_cost(y, p, [[0, 1], [5, 0]])
    assert found.cost == pytest.approx(found.predicted, abs=0.02)
    assert found.cost < found.best_constant


def test_the_interval_of_the_error_rate_is_clopper_and_pearsons_where_one_kind_of_error_occurs():
    y, p = np.repeat([1, 1, 0], [3, 7, 10]), np.repeat([0.2, 0.9, 0.1], [3, 7, 10])
    found = expected_cost(y, p, [[0, 1], [1, 0]])
    exact = stats.binomtest(3, 20).proportion_ci(0.95, "exact")
    assert found.low == pytest.approx(exact.low)
    assert found.high >= exact.high  # the other kind may occur, too


@pytest.mark.parametrize("n", [100, 1000])
def test_intervals_cover_the_expected_cost(n):
    """300 sets of three classes with a fourth decision, to hand on."""
    costs = np.array([[0, 1, 4, 0.5], [2, 0, 1, 0.5], [9, 3, 0, 0.5]])
    rng = np.random.default_rng(n)

    def draw(n):
        truth = rng.dirichlet([1.0, 1.0, 0.3], n)
        forecast = truth**1.5 / (truth**1.5).sum(axis=1, keepdims=True)
        return truth, forecast

    truth, forecast = draw(1_000_000)
    expected = (truth * costs.T[(forecast @ costs).argmin(axis=1)]).sum(axis=1).mean()
    held = 0
    for _ in range(300):
        truth, forecast = draw(n)
        y = (truth.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1)
        found = expected_cost(y, forecast, costs, labels=[0, 1, 2])
        held += found.low <= expected <= found.high
    assert held / 300 >= 0.92


def test_a_cost_that_all_decisions_have_in_common_moves_the_interval_alone():
    y, p, costs = Y12, P12, np.array([[0, 1], [5, 0]])
    plain, more = expected_cost(y, p, costs), expected_cost(y, p, costs + 3)
    assert [more.cost, more.low, more.high] == pytest.approx([plain.cost + 3, plain.low + 3, plain.high + 3])


# Cost curve ---------------------------------------------------------------------------------------------------


@given(st.integers(0, 2**32 - 1))
def test_the_area_below_the_curve_is_the_brier_score(seed):
    """Exactly: between neighbouring scores the cost is linear in the cost share, and its middle is its mean."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 30))
    p, y = rng.integers(0, 21, n) / 20, rng.integers(0, 2, n)
    weights = rng.random(n) + 0.1
    ends = np.unique(np.concatenate([[0.0, 1.0], p]))
    middle, width = (ends[1:] + ends[:-1]) / 2, np.diff(ends)
    curve = cost_curve(y, p, costs=middle, sample_weight=weights, labels=[0, 1])
    assert width @ curve.cost == pytest.approx(brier(y, p, sample_weight=weights, labels=[0, 1]))


def test_the_best_threshold_is_found_by_trying_all():
    curve = cost_curve(Y12, P12[::-1] ** 0.5, costs=THRESHOLDS)
    for c, best in zip(THRESHOLDS, curve.best, strict=True):
        tried = [2 * np.mean(np.where(P12[::-1] ** 0.5 >= t, c * (1 - Y12), (1 - c) * Y12)) for t in [*P12**0.5, 2.0]]
        assert best == pytest.approx(min(tried))


def test_the_curve_is_never_below_the_best_and_the_best_never_above_doing_without():
    rng = np.random.default_rng(3)
    y, p = made(rng, 500, (1, 2))
    curve = cost_curve(y, p)
    assert (curve.best <= curve.cost + 1e-12).all()
    assert (curve.best <= np.minimum(curve.treat_all, curve.treat_none) + 1e-12).all()
    assert ((curve.low <= curve.cost + 1e-12) & (curve.cost <= curve.high + 1e-12)).all()


# Input --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [decision_curve, cost_curve])
def test_equal_weights_of_any_size_change_nothing(make):
    plain, weighted = make(Y12, P12), make(Y12, P12, sample_weight=np.full(12, 3.0))
    for name in plain:
        assert weighted[name] == pytest.approx(plain[name], abs=1e-12), name


@pytest.mark.parametrize("thresholds", [[1.0], [-0.1], [np.nan], [], [[0.1]], "a"])
def test_thresholds_that_are_none_are_refused(thresholds):
    with pytest.raises(ValueError, match="thresholds"):
        decision_curve(Y12, P12, thresholds=thresholds)


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ([0, 1], r"costs has shape \(2,\)"),
        ([[0, 1]], r"costs has shape \(1, 2\)"),
        ([[0, np.inf], [1, 0]], "costs holds NaN or infinite"),
        ([["a", "b"], ["c", "d"]], "costs could not be read"),
    ],
)
def test_costs_that_are_none_are_refused(costs, message):
    with pytest.raises(ValueError, match=message):
        expected_cost(Y12, P12, costs)


def test_a_reference_of_other_rows_is_refused():
    with pytest.raises(ValueError, match="y_true has 12 rows"):
        decision_curve(Y12, P12, reference=P12[:5])
