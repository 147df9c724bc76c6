"""Local calibration gain: what its theorem says, hand calculations, and a plain logistic regression beside it."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from clustcal import metrics
from clustcal.metrics import local_calibration_gain


def kl(c, p):
    return c * np.log(c / p) + (1 - c) * np.log((1 - c) / (1 - p))


def grouped(n=3000, seed=0, shifts=(-1.0, 0.0, 1.0)):
    """Scores that are wrong by a shift of the logit in each of three groups."""
    rng = np.random.default_rng(seed)
    group = rng.integers(len(shifts), size=n)
    p = expit(rng.normal(size=n))
    truth = expit(logit(p) + np.array(shifts)[group])
    return (rng.random(n) < truth).astype(int), p, group, truth


def test_shares_of_groups_add_up_and_so_do_both_parts():
    y, p, group, _ = grouped()
    result = local_calibration_gain(y, p, group)
    assert result.table["gain"].sum() == pytest.approx(result.gain, abs=1e-12)
    assert result.global_gain + result.local_gain == pytest.approx(result.gain, abs=1e-12)
    assert result.score == pytest.approx(metrics.log_loss(y, p), abs=1e-12)
    assert result.interval[0] < result.gain < result.interval[1]
    for name, part in result.table.iterrows():
        assert part["observed"] == pytest.approx(y[group == name].mean())
        assert part["forecast"] == pytest.approx(p[group == name].mean())
        assert part["weight"] == pytest.approx((group == name).mean())


def test_the_gain_is_close_to_the_divergence_of_what_is_right_from_what_is_said():
    y, p, group, truth = grouped(n=20_000)
    result = local_calibration_gain(y, p, group)
    assert result.gain == pytest.approx(kl(truth, p).mean(), abs=0.01)
    of_groups = [kl(truth, p)[group == k].sum() / len(y) for k in range(3)]
    np.testing.assert_allclose(result.table["gain"], of_groups, atol=0.01)


def test_of_a_calibrated_forecast_the_mean_gain_is_not_above_0_and_an_error_of_bins_is():
    """The theorem: given the maps, the expected gain is minus a divergence."""
    rng = np.random.default_rng(1)
    p = expit(rng.normal(size=300))
    W = rng.dirichlet(np.ones(4), size=300)
    gains, eces = [], []
    for _ in range(60):
        y = (rng.random(300) < p).astype(int)
        gains.append(local_calibration_gain(y, p, W).gain)
        eces.append(metrics.ece(y, p))
    assert np.mean(gains) <= 3 * np.std(gains) / np.sqrt(60)
    assert np.mean(gains) < 0.002
    assert min(eces) > 0.01


def test_the_gain_of_a_constant_forecast_by_hand():
    """With half of the rows in either group, and folds that have the same counts: each map is the one of all rows."""
    y = np.tile([1, 0, 0, 1, 1, 0], 400)  # one of three has the event in the first group, two of three in the second
    group = np.tile([0, 0, 0, 1, 1, 1], 400)
    fold = np.repeat(np.arange(4), 600)
    folds = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(4)]
    result = local_calibration_gain(y, np.full(len(y), 0.5), group, cv=folds)
    assert result.gain == pytest.approx(kl(1 / 3, 1 / 2), rel=0.02)
    assert result.global_gain == pytest.approx(0, abs=1e-9)


def test_many_rows_give_what_a_logistic_regression_without_a_penalty_gives():
    y, p, group, _ = grouped(n=20_000, shifts=(-1.0, 0.5, 1.0))
    fold = np.arange(len(y)) % 2
    folds = [(np.flatnonzero(fold != k), np.flatnonzero(fold == k)) for k in range(2)]
    s, one_hot = logit(p), np.eye(3)[group]
    X = np.column_stack([s, one_hot, one_hot * s[:, None]])
    q = np.empty(len(y))
    for train, test in folds:
        fitted = LogisticRegression(C=1e6, max_iter=2000).fit(X[train], y[train])
        q[test] = fitted.predict_proba(X[test])[:, 1]
    expected = metrics.log_loss(y, p) - metrics.log_loss(y, q)
    assert local_calibration_gain(y, p, group, cv=folds).gain == pytest.approx(expected, abs=2e-4)


@settings(max_examples=10, deadline=None)
@given(share=st.floats(0.05, 0.95), seed=st.integers(0, 5))
def test_a_group_split_in_two_that_are_alike_changes_nothing(share, seed):
    y, p, group, _ = grouped(n=400, seed=seed)
    W = np.random.default_rng(seed).dirichlet(np.ones(3), size=400) + np.eye(3)[group]
    split = np.column_stack([share * W[:, 0], (1 - share) * W[:, 0], W[:, 1:]])
    whole, parts = local_calibration_gain(y, p, W), local_calibration_gain(y, p, split)
    assert parts.gain == pytest.approx(whole.gain, abs=1e-6)
    assert parts.table["gain"].iloc[:2].sum() == pytest.approx(whole.table["gain"].iloc[0], abs=1e-6)


def test_labels_memberships_of_0_and_1_and_other_scales_of_rows_are_the_same():
    y, p, group, _ = grouped(n=500)
    names = np.array(["a", "b", "c"])[group]
    expected = local_calibration_gain(y, p, names)
    assert expected.table.index.tolist() == ["a", "b", "c"]
    frame = pd.DataFrame(np.eye(3)[group] * np.linspace(1, 9, 500)[:, None], columns=["a", "b", "c"])
    pd.testing.assert_frame_equal(local_calibration_gain(y, p, frame).table, expected.table, atol=1e-7)


def test_soft_bins_see_what_the_score_tells_and_the_base_rate_has_no_gain_there():
    rng = np.random.default_rng(0)
    s = rng.normal(size=4000)
    y = (rng.random(4000) < expit(np.abs(s) - 1)).astype(int)  # no line in s
    bins = local_calibration_gain(y, expit(s))
    assert bins.local_gain > 0.02
    assert bins.table["weight"].sum() == pytest.approx(1)
    constant = local_calibration_gain(y, np.full(4000, y.mean()))
    assert constant.gain == pytest.approx(0, abs=1e-6)
    assert len(constant.table) == 1
    assert local_calibration_gain(y, np.full(4000, y.mean()), s > 1).gain > 0.01


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"groups": [[1.0, 0.0]] * 9 + [[0.0, 0.0]]}, "row 9 of groups is in no group"),
        ({"groups": [[-1.0, 2.0]] * 10}, "memberships below 0"),
        ({"groups": [0] * 9}, "groups has 9 rows"),
        ({"groups": [["a", "b"]] * 10}, "memberships, which are numbers"),
        ({"groups": [None] + ["a"] * 9}, "a row without a label"),
        ({"groups": np.ones((10, 2, 2))}, r"groups has shape \(10, 2, 2\)"),
        ({"n_bins": 0}, "n_bins is 0"),
        ({"cv": 1}, "cv is 1"),
        ({"confidence_level": 1.5}, "confidence_level is 1.5"),
        ({"sample_weight": [1, 1] + [0] * 8}, "fewer than two rows of a class"),
    ],
)
def test_bad_input_gets_one_sentence(given, message):
    with pytest.raises(ValueError, match=message):
        local_calibration_gain([0, 1] * 5, [0.4, 0.6] * 5, **given)


def test_of_more_classes_one_is_asked_for():
    rng = np.random.default_rng(0)
    P, y = rng.dirichlet(np.ones(3), size=200), rng.integers(3, size=200)
    with pytest.raises(ValueError, match="expected two classes, or pos_label"):
        local_calibration_gain(y, P)
    one = local_calibration_gain(y == 1, P[:, 1])
    assert local_calibration_gain(y, P, pos_label=1).gain == pytest.approx(one.gain, abs=1e-12)
