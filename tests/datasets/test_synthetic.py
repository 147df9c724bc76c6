"""The teaching set keeps its promises: probabilities, groups and features are what its formulas say."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit, logit
from sklearn.cluster import KMeans
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import normalize

from clustcal.datasets import make_subpopulations


def test_shapes_and_types():
    data = make_subpopulations(n_samples=50, n_groups=2, n_features=5, random_state=0)
    assert data.P.shape == (50, 2)
    assert data.p.shape == data.true_probability.shape == data.y.shape == data.group.shape == (50,)
    assert data.Z.shape == (50, 5)
    assert data.theta.shape == (2, 2)
    assert data.X.columns.tolist() == ["score_logit", "z0", "z1", "z2", "z3", "z4"]
    assert data.y.dtype == data.group.dtype == np.int64


def test_true_probability_is_the_groups_line_on_the_logit_scale():
    data = make_subpopulations(n_samples=500, n_groups=4, random_state=1)
    slope, intercept = data.theta[data.group].T
    assert_allclose(data.true_probability, expit(slope * logit(data.p) + intercept), rtol=1e-10)


def test_P_holds_both_classes():
    data = make_subpopulations(n_samples=100, random_state=0)
    assert_array_equal(data.P[:, 1], data.p)
    assert_allclose(data.P.sum(axis=1), 1)


def test_X_holds_the_score_and_Z():
    data = make_subpopulations(n_samples=100, random_state=0)
    assert_allclose(expit(data.X["score_logit"]), data.p)
    assert_array_equal(data.X.drop(columns="score_logit").to_numpy(), data.Z)


@pytest.mark.parametrize("group", [0, 1, 2, 3])
def test_labels_follow_the_true_probability(group):
    data = make_subpopulations(n_samples=80_000, n_groups=4, random_state=2)
    rows = data.group == group
    fit = LogisticRegression(C=1e6).fit(logit(data.p[rows])[:, None], data.y[rows])
    # 20,000 labels a group: the standard errors of slope and intercept are below 0.035
    assert_allclose([fit.coef_[0, 0], fit.intercept_[0]], data.theta[group], atol=0.12)


def test_scores_say_nothing_about_the_group():
    data = make_subpopulations(n_samples=30_000, random_state=3)
    logits = logit(data.p)
    means = [logits[data.group == g].mean() for g in range(3)]
    assert_allclose(means, 0, atol=5 * 1.5 / np.sqrt(10_000))


def test_score_scale_is_the_spread_of_the_logit():
    data = make_subpopulations(n_samples=20_000, score_scale=0.7, random_state=0)
    assert_allclose(logit(data.p).std(), 0.7, rtol=0.03)


def test_cosine_clusters_find_the_groups():
    data = make_subpopulations(n_samples=2000, random_state=0)
    found = KMeans(3, n_init=5, random_state=0).fit_predict(normalize(data.Z))
    assert adjusted_rand_score(data.group, found) > 0.95


def test_without_separation_the_groups_are_invisible():
    data = make_subpopulations(n_samples=2000, separation=0, random_state=0)
    found = KMeans(3, n_init=5, random_state=0).fit_predict(normalize(data.Z))
    assert abs(adjusted_rand_score(data.group, found)) < 0.02


def test_group_centres_are_orthogonal_and_as_far_out_as_asked():
    data = make_subpopulations(n_samples=40_000, n_groups=4, separation=5.0, random_state=0)
    centres = np.array([data.Z[data.group == g].mean(axis=0) for g in range(4)])
    assert_allclose(centres @ centres.T, 25 * np.eye(4), atol=0.5)


def test_given_parameters_are_used():
    data = make_subpopulations(n_samples=10, n_groups=2, slopes=[0.5, 3], intercepts=[1, -2], random_state=0)
    assert_array_equal(data.theta, [[0.5, 1], [3, -2]])


@pytest.mark.parametrize(
    ("given", "theta"),
    [({"slopes": [0.5, 2]}, [[0.5, 0], [2, 0]]), ({"intercepts": [-1, 1]}, [[1, -1], [1, 1]])],
    ids=["slopes", "intercepts"],
)
def test_the_parameter_not_given_is_neutral(given, theta):
    assert_array_equal(make_subpopulations(10, 2, **given, random_state=0).theta, theta)


def test_default_groups_err_in_four_directions_in_turn():
    data = make_subpopulations(n_samples=10, n_groups=5, random_state=0)
    assert data.group_names == ["over-confident", "under-confident", "too high", "too low", "over-confident"]


def test_names_say_both_errors_or_none():
    data = make_subpopulations(10, 2, slopes=[0.5, 1], intercepts=[1, 0], random_state=0)
    assert data.group_names == ["over-confident and too low", "calibrated"]


def test_group_sizes_are_relative():
    data = make_subpopulations(n_samples=40_000, n_groups=3, group_sizes=[6, 2, 0], random_state=0)
    assert_allclose(np.bincount(data.group, minlength=3) / 40_000, [0.75, 0.25, 0], atol=0.01)


def test_the_seed_decides():
    first, again, other = (make_subpopulations(100, random_state=seed) for seed in (7, 7, 8))
    for key in ("P", "y", "Z", "group"):
        assert_array_equal(first[key], again[key])
    assert not np.array_equal(first.p, other.p)


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"n_samples": 0}, "n_samples=0; expected at least 1"),
        ({"n_groups": 0}, "n_groups=0; expected at least 1"),
        ({"n_groups": 9}, "n_groups=9 is more than n_features=8"),
        ({"separation": -1}, "separation=-1; expected at least 0"),
        ({"score_scale": float("nan")}, "score_scale=nan; expected at least 0"),
        ({"slopes": [1, 2]}, r"slopes has shape \(2,\); expected one number per group, shape \(3,\)"),
        ({"intercepts": [0, 0, np.inf]}, "intercepts holds .*inf.*; expected finite numbers"),
        ({"group_sizes": [1, -1, 1]}, "group_sizes holds .*; expected non-negative"),
        ({"group_sizes": [0, 0, 0]}, "group_sizes holds .*not all zero"),
    ],
    ids=str,
)
def test_bad_arguments_are_named(bad, said):
    with pytest.raises(ValueError, match=said):
        make_subpopulations(**bad)
