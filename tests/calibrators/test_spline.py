"""Spline scaling, against scipy's smoothing spline, a logistic regression, Platt scaling and known functions."""

import numpy as np
import pytest
from scipy.interpolate import make_smoothing_spline
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from clustcal import BinwiseCalibration, ClusteredCalibration, PlattScaling, SplineScaling, metrics
from tests.calibrators.interface import CHECKS, make_data, name_of


@pytest.mark.parametrize("check", CHECKS, ids=name_of)
@pytest.mark.parametrize("prior", ["auto", None])
def test_interface(check, prior):
    check(SplineScaling(prior=prior), 2)


def bent_data(n, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.uniform(-5, 5, n)
    return z, (rng.random(n) < expit(3 * np.tanh(z))).astype(int)


def test_with_a_knot_at_every_score_it_is_the_smoothing_spline_of_its_own_working_response():
    # Newton's method for the penalised log-loss ends where the spline smooths z + (y - q) / (q (1 - q)) to itself.
    rng = np.random.default_rng(1)
    z = np.sort(rng.choice(np.linspace(-3, 3, 200), 40, replace=False))
    y = (rng.random(40) < expit(z**2 - 2)).astype(int)
    # As many rows at either end as lie beyond the outer knots, so that every score has one.
    weights = np.where(np.isin(z, z[[0, -1]]), 3.0, 1.0)
    fitted = SplineScaling(n_knots=40, roughness=2.0, prior=None).fit(expit(z), y, sample_weight=weights)
    q = fitted.predict_proba(expit(z))[:, 1]
    np.testing.assert_allclose(fitted.knots_, z, atol=1e-9)
    slope = q * (1 - q)
    curvature = weights * slope
    # scipy's penalty has no factor 1/2, nor has its sum of squares.
    again = make_smoothing_spline(z, logit(q) + (y - q) / slope, w=curvature, lam=2.0)(z)
    np.testing.assert_allclose(expit(again), q, atol=1e-6)


def truncated_powers(z, knots):
    """The basis of natural cubic splines of Hastie, Tibshirani and Friedman, which Lucena's library has too."""
    cubes = np.maximum(z[:, None] - knots, 0) ** 3
    d = (cubes[:, :-1] - cubes[:, [-1]]) / (knots[-1] - knots[:-1])
    return np.column_stack([z, d[:, :-1] - d[:, [-1]]])


def test_without_a_penalty_it_is_a_logistic_regression_on_natural_splines_in_their_usual_basis():
    z, y = bent_data(800)
    ours = SplineScaling(n_knots=8, roughness=0, prior=None).fit(expit(z), y)
    X = truncated_powers(z, ours.knots_)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    model = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10).fit(X, y)
    np.testing.assert_allclose(ours.predict_proba(expit(z)), model.predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("prior", ["auto", None])
def test_a_strong_penalty_gives_platt_scaling(prior):
    z, y = bent_data(300)
    spline = SplineScaling(roughness=1e12, prior=prior).fit(expit(z), y)
    platt = PlattScaling(prior=prior).fit(expit(z), y)
    np.testing.assert_allclose(spline.predict_proba(expit(z)), platt.predict_proba(expit(z)), atol=1e-6)


def test_the_penalty_is_weak_where_the_truth_bends_and_strong_where_it_does_not():
    z, y = bent_data(4000)
    bent = SplineScaling().fit(expit(z), y)
    straight = SplineScaling().fit(expit(z), np.random.default_rng(2).random(4000) < expit(0.7 * z - 0.3))
    assert bent.roughness_ < 20 < 100 < straight.roughness_


def test_it_finds_a_function_that_platt_scaling_cannot():
    z, y = bent_data(4000)
    new, y_new = bent_data(20_000, seed=3)
    excess = lambda one: (
        metrics.log_loss(y_new, one.fit(expit(z), y).predict_proba(expit(new)))
        - metrics.log_loss(y_new, expit(3 * np.tanh(new)))
    )
    assert excess(SplineScaling()) < 0.004 < 0.03 < excess(PlattScaling())


def test_few_scores_and_saturated_scores():
    fitted = SplineScaling().fit([0.2, 0.8] * 10, [0, 1, 0, 1, 1] * 4)  # two scores: a line
    assert fitted.theta_.shape == (2,)
    extreme = SplineScaling().fit([0.0, 1.0, 0.5, 0.2] * 25, [0, 1, 1, 0] * 25)
    assert np.isfinite(extreme.predict_proba([0.0, 0.3, 1.0])).all()


def labels_of(logits, rng):
    return (rng.random(len(logits)) < expit(logits)).astype(int)


def excess(logits, y, q):
    """Return how much more a forecast loses than the truth, on rows that fitted nothing."""
    return metrics.log_loss(y, q) - metrics.log_loss(y, expit(logits))


def test_in_clusters_it_finds_the_bend_of_each():
    """Of two groups one map flattens at the ends, the other falls in the middle: one spline misses both, Platt too."""
    rng = np.random.default_rng(0)
    z, groups = rng.uniform(-5, 5, 22_000), np.eye(2)[rng.integers(0, 2, 22_000)]
    logits = np.where(groups[:, 0] == 1, 3 * np.tanh(z), z - 3 * np.tanh(z))
    y, p, cal, new = labels_of(logits, rng), expit(z), slice(2000), slice(2000, None)
    found = {}
    for base in (SplineScaling(), PlattScaling()):
        clustered = ClusteredCalibration(base, 2, shrinkage=0, temperature=0.1, random_state=0)
        Q = clustered.fit(p[cal], y[cal], groups[cal]).predict_proba(p[new], groups[new])
        found[type(base).__name__] = excess(logits[new], y[new], Q)
    together = excess(logits[new], y[new], SplineScaling().fit(p[cal], y[cal]).predict_proba(p[new]))
    assert found["SplineScaling"] < 0.5 * min(found["PlattScaling"], together)


def test_in_bins_it_finds_the_bends_within_them():
    """A map that swings within bins: Platt scaling in bins cannot follow, nor can one spline for all."""
    rng = np.random.default_rng(0)
    z = rng.uniform(-5, 5, 30_000)
    logits = np.where(np.abs(z) > 2.2, z / 2, z + 2 * np.sin(3 * z))
    y, p, cal, new = labels_of(logits, rng), expit(z), slice(8000), slice(8000, None)
    binned, of_platt, together = (
        excess(logits[new], y[new], one.fit(p[cal], y[cal]).predict_proba(p[new]))
        for one in (BinwiseCalibration(SplineScaling()), BinwiseCalibration(PlattScaling()), SplineScaling())
    )
    assert binned < 0.5 * min(of_platt, together)


def test_strong_shrinkage_leaves_clusters_with_the_spline_of_all():
    z, y = bent_data(1200)
    Z = np.column_stack([np.sign(z), z])
    strong = ClusteredCalibration(SplineScaling(), 2, shrinkage=1e6, random_state=0).fit(expit(z), y, Z)
    np.testing.assert_allclose(
        strong.predict_proba(expit(z), Z), SplineScaling().fit(expit(z), y).predict_proba(expit(z)), atol=1e-4
    )


@pytest.mark.parametrize(
    "wrong", [{"n_knots": 2}, {"n_knots": 2.5}, {"roughness": -1}, {"roughness": "gcv"}, {"prior": "none"}]
)
def test_a_wrong_parameter_is_named(wrong):
    (name,) = wrong
    with pytest.raises(ValueError, match=rf"^{name} is .*; expected"):
        SplineScaling(**wrong).fit([0.1, 0.9], [0, 1])


def test_more_classes_are_sent_elsewhere():
    P, y, _ = make_data(3)
    with pytest.raises(ValueError, match="OneVsRestCalibration"):
        SplineScaling().fit(P, y)


@pytest.mark.parametrize("n", [300, 3000])
def test_one_saturated_score_with_the_wrong_label_does_not_turn_the_map_round(n):
    """A score of exactly 1, whose logit is cut at 36, among calibrated ones; the median of five samples."""
    ends = {"spline": [], "Platt": []}
    for seed in range(5):
        rng = np.random.default_rng(seed)
        p = expit(rng.normal(size=n))
        y = (rng.random(n) < p).astype(int)
        p[0], y[0] = 1.0, 0
        for name, calibrator in (("spline", SplineScaling()), ("Platt", PlattScaling())):
            ends[name].append(calibrator.fit(p, y).predict_proba([0.98, 0.999, 1.0])[:, 1])
    spline, platt = (np.median(ends[name], axis=0) for name in ("spline", "Platt"))
    assert (np.diff(spline) > 0).all()
    np.testing.assert_allclose(spline, platt, atol=0.03)


@pytest.mark.parametrize("wrong", [{"n_knots": 2000}, {"roughness": True}])
def test_knots_without_end_and_roughness_that_is_no_number_are_refused(wrong):
    with pytest.raises(ValueError, match=f"^{next(iter(wrong))} is"):
        SplineScaling(**wrong).fit([0.2, 0.8, 0.4], [0, 1, 1])


def test_few_different_scores_have_few_knots():
    assert SplineScaling().fit(np.repeat([0.2, 0.5, 0.8], 10), np.arange(30) % 2).knots_ == pytest.approx(
        [logit(0.2), 0, logit(0.8)], abs=1e-9
    )
