"""The kernel test of calibration: by hand, as the sum over pairs, and its level and power in simulation."""

import numpy as np
import pytest

from clustcal.metrics import kernel_calibration_test


def draw(P, rng):
    return np.array([rng.choice(P.shape[1], p=p) for p in P])


def test_statistic_of_three_rows_is_that_by_hand():
    """Rows 1 and 2 are forecast alike, with residuals (.5, -.5) and (-.5, .5): product -.5. Row 3 has the residual
    (0, 0), and adds nothing. Two of the six ordered pairs count."""
    found = kernel_calibration_test([0, 1, 0], [[0.5, 0.5], [0.5, 0.5], [1, 0]], bandwidth=1.0, n_draws=5)
    assert found.statistic == pytest.approx(2 * -0.5 / 6)


def test_statistic_is_the_sum_over_pairs_as_it_is_written():
    rng = np.random.default_rng(0)
    P, weights = rng.dirichlet(np.ones(3), 12), rng.uniform(0.5, 2, 12)
    y = draw(P, rng)
    residuals = np.eye(3)[y] - P
    total = mass = 0.0
    for i in range(12):
        for j in range(12):
            if i != j:
                pair = weights[i] * weights[j]
                total += pair * np.exp(-np.linalg.norm(P[i] - P[j]) / 0.3) * (residuals[i] @ residuals[j])
                mass += pair
    found = kernel_calibration_test(y, P, bandwidth=0.3, n_draws=5, sample_weight=weights)
    assert found.statistic == pytest.approx(total / mass)


def test_level_is_kept_where_the_forecast_is_right():
    """Of 200 tests at 10 %, 20 are expected to reject; 35 or more have a probability of 0.0006 by the binomial."""
    rng = np.random.default_rng(1)
    rejected = 0
    for _ in range(200):
        P = rng.dirichlet(np.full(4, 0.5), 60)
        rejected += kernel_calibration_test(draw(P, rng), P, n_draws=99, random_state=rng).pvalue <= 0.1
    assert 6 <= rejected <= 34


def test_it_sees_what_no_class_and_no_confidence_shows():
    """Forecasts (.6, .3, .1) in all orders. In the three cyclic orders the truth is (.69, .21, .1), in the others
    (.51, .39, .1), so that every probability of every class is right on average: only full calibration is broken."""
    orders = np.array([[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 2, 1], [1, 0, 2], [2, 1, 0]])
    said, truth = np.empty((6, 3)), np.empty((6, 3))
    for row, order in enumerate(orders):
        said[row, order] = [0.6, 0.3, 0.1]
        shift = 0.09 if row < 3 else -0.09
        truth[row, order] = [0.6 + shift, 0.3 - shift, 0.1]
    for k in range(3):
        for value in (0.6, 0.3, 0.1):
            assert truth[said[:, k] == value, k].mean() == pytest.approx(value)
    rng = np.random.default_rng(2)
    which = rng.integers(0, 6, 3000)
    y = draw(truth[which], rng)
    assert kernel_calibration_test(y, said[which], n_draws=99).pvalue == 0.01
    assert kernel_calibration_test(draw(said[which], rng), said[which], n_draws=99).pvalue > 0.05


def test_with_two_classes_one_column_is_the_same_forecast():
    rng = np.random.default_rng(3)
    p = rng.uniform(size=40)
    y = (rng.random(40) < p).astype(int)
    one, two = kernel_calibration_test(y, p), kernel_calibration_test(y, np.column_stack([1 - p, p]))
    assert (one.statistic, one.pvalue) == (two.statistic, two.pvalue)


@pytest.mark.parametrize("cells", [1, 50, 10_000])
def test_blocks_of_rows_change_nothing(cells, monkeypatch):
    rng = np.random.default_rng(4)
    P = rng.dirichlet(np.ones(3), 30)
    y = draw(P, rng)
    expected = kernel_calibration_test(y, P, n_draws=9)
    monkeypatch.setattr("clustcal.metrics.kernel_tests.CELLS_AT_ONCE", cells)
    found = kernel_calibration_test(y, P, n_draws=9)
    assert (found.statistic, found.pvalue) == (pytest.approx(expected.statistic), expected.pvalue)


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"bandwidth": 0}, "bandwidth is 0; expected"),
        ({"n_draws": 0}, "n_draws is 0; expected"),
        ({"sample_weight": [1, 0, 0]}, "y_prob has 1 row with weight; expected at least 2"),
    ],
)
def test_what_it_cannot_answer_is_refused(kwargs, message):
    with pytest.raises(ValueError, match=message):
        kernel_calibration_test([0, 1, 0], [0.2, 0.5, 0.1], **kwargs)


def test_forecasts_that_are_all_alike_have_a_bandwidth():
    assert kernel_calibration_test([0, 1, 0, 1], [0.5] * 4).bandwidth == 1
