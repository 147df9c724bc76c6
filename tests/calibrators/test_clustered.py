"""Soft memberships and clustered calibration: formulas, limits, and Algorithm 1 written out plainly."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.base import clone

from clustcal import (
    BetaCalibration,
    ClusteredCalibration,
    DirichletCalibration,
    PlattScaling,
    TemperatureScaling,
    VectorScaling,
)
from tests.calibrators.grouped_data import make_data
from tests.calibrators.interface import CHECKS, name_of

CALIBRATORS = [
    (PlattScaling(), 2),
    (TemperatureScaling(), 2),
    (BetaCalibration(), 2),
    (TemperatureScaling(), 3),
    (VectorScaling(), 3),
    (DirichletCalibration(), 3),
]
LIKELIHOOD = [
    (PlattScaling(prior=None), 2),
    (TemperatureScaling(prior=None), 2),
    (BetaCalibration(prior=None), 2),
    (TemperatureScaling(prior=None), 3),
    (VectorScaling(prior=None), 3),
    (DirichletCalibration(l2=1e-3, shrink_to="zero"), 3),
]
each = pytest.mark.parametrize(("calibrator", "n_classes"), CALIBRATORS + LIKELIHOOD)


TWO = {"n_clusters": 2, "random_state": 0}
INTERFACE = [
    (ClusteredCalibration(**TWO), 2),
    (ClusteredCalibration(BetaCalibration(), temperature=0.1, normalize=False, **TWO), 2),
    (ClusteredCalibration(TemperatureScaling(), **TWO), 3),
    (ClusteredCalibration(VectorScaling(), membership="chord", **TWO), 3),
    (ClusteredCalibration(DirichletCalibration(), loss="sum", **TWO), 3),
]


@pytest.mark.parametrize("check", CHECKS, ids=name_of)
@pytest.mark.parametrize(("calibrator", "n_classes"), INTERFACE, ids=name_of)
def test_interface(check, calibrator, n_classes):
    check(calibrator, n_classes)


class TestLimits:
    @each
    def test_one_cluster_is_the_global_fit(self, calibrator, n_classes):
        P, y, Z = make_data(n_classes)
        clustered = ClusteredCalibration(calibrator, n_clusters=1, random_state=0).fit(P, y, Z)
        np.testing.assert_allclose(
            clustered.predict_proba(P, Z), clone(calibrator).fit(P, y).predict_proba(P), atol=1e-6
        )

    @each
    def test_strong_shrinkage_is_the_global_fit(self, calibrator, n_classes):
        P, y, Z = make_data(n_classes)
        clustered = ClusteredCalibration(calibrator, shrinkage=1e9, temperature=0.05, random_state=0).fit(P, y, Z)
        np.testing.assert_allclose(
            clustered.predict_proba(P, Z), clone(calibrator).fit(P, y).predict_proba(P), atol=1e-6
        )

    @pytest.mark.parametrize(("calibrator", "n_classes"), LIKELIHOOD)
    def test_no_shrinkage_is_an_independent_weighted_fit_per_cluster(self, calibrator, n_classes):
        P, y, Z = make_data(n_classes)
        clustered = ClusteredCalibration(calibrator, n_clusters=3, shrinkage=0, random_state=0).fit(P, y, Z)
        W = clustered.memberships(Z)
        alone = [clone(calibrator).fit(P, y, sample_weight=w).predict_proba(P) for w in W.T]
        mixture = sum(w[:, None] * Q for w, Q in zip(W.T, alone, strict=True))
        np.testing.assert_allclose(clustered.predict_proba(P, Z), mixture, atol=1e-5)

    @each
    def test_uniform_memberships_change_nothing(self, calibrator, n_classes):
        """A temperature without end weighs all clusters alike, so that each cluster fit is the global one."""
        P, y, Z = make_data(n_classes)
        clustered = ClusteredCalibration(calibrator, temperature=1e12, random_state=0).fit(P, y, Z)
        np.testing.assert_allclose(
            clustered.predict_proba(P, Z), clone(calibrator).fit(P, y).predict_proba(P), atol=1e-6
        )


@pytest.mark.parametrize("loss", ["mean", "sum"])
def test_algorithm_1_written_out_plainly_gives_the_same(loss):
    """The paper's algorithm with scipy's optimiser and no code of the package but the centroids of K-means."""
    P, y, Z = make_data()
    fitted = ClusteredCalibration(PlattScaling(prior=None), n_clusters=3, shrinkage=0.7, loss=loss, random_state=0).fit(
        P, y, Z
    )
    x = logit(P[:, 1])

    def nll(theta):
        z = theta[0] * x + theta[1]
        return np.logaddexp(0, z) - y * z

    tight = {"method": "BFGS", "options": {"gtol": 1e-9}}
    theta_0 = minimize(lambda t: nll(t).mean(), [1.0, 0.0], **tight).x
    Z_unit = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    mu_unit = fitted.centroids_ / np.linalg.norm(fitted.centroids_, axis=1, keepdims=True)
    w = np.exp(-((1 - Z_unit @ mu_unit.T) ** 2))
    w /= w.sum(axis=1, keepdims=True)
    p_star = np.zeros(len(y))
    for k in range(3):
        mass = w[:, k].sum() if loss == "mean" else 1.0
        objective = lambda t, k=k, mass=mass: w[:, k] @ nll(t) / mass + 0.7 * np.sum((t - theta_0) ** 2)
        theta_k = minimize(objective, theta_0, **tight).x
        np.testing.assert_allclose(fitted.theta_[k], theta_k, atol=1e-6)
        p_star += w[:, k] * expit(theta_k[0] * x + theta_k[1])
    np.testing.assert_allclose(fitted.predict_proba(P, Z)[:, 1], p_star, atol=1e-6)


def test_heterogeneous_groups_are_calibrated_apart():
    """Two groups with the same scores and opposite truths: a global map must fail, a clustered one need not."""
    rng = np.random.default_rng(0)
    group = np.arange(6000) % 2
    p = rng.uniform(0.2, 0.8, 6000)
    truth = np.where(group == 1, expit(logit(p) + 1.5), expit(logit(p) - 1.5))
    y = (rng.random(6000) < truth).astype(int)
    Z = np.eye(2)[group] + rng.normal(0, 0.05, (6000, 2))
    fitted = ClusteredCalibration(PlattScaling(), 2, shrinkage=0, temperature=0.01, random_state=0).fit(p, y, Z)
    error_clustered = np.abs(fitted.predict_proba(p, Z)[:, 1] - truth).mean()
    error_global = np.abs(PlattScaling().fit(p, y).predict_proba(p)[:, 1] - truth).mean()
    assert error_clustered < 0.02 < 0.2 < error_global


def test_the_defaults_are_four_clusters_and_the_shrinkage_of_the_paper():
    """Its ablation: K = 4 and lambda = 0.05, at the temperature 1 of its formula."""
    P, y, Z = make_data(2)
    named = ClusteredCalibration(PlattScaling(), n_clusters=4, shrinkage=0.05, temperature=1.0, random_state=0)
    np.testing.assert_array_equal(ClusteredCalibration(random_state=0).fit(P, y, Z).theta_, named.fit(P, y, Z).theta_)


class TestInterface:
    def test_attributes_have_the_documented_shapes(self):
        P, y, Z = make_data(3)
        fitted = ClusteredCalibration(VectorScaling(), n_clusters=5, random_state=0).fit(P, y, Z)
        assert fitted.theta_.shape == (5, 6)
        assert fitted.centroids_.shape == (5, 4)
        assert fitted.global_theta_.shape == (6,)
        assert fitted.memberships(Z).shape == (300, 5)
        assert isinstance(fitted.calibrator_, VectorScaling)
        assert fitted.n_iter_ >= 1

    def test_the_given_calibrator_is_left_unfitted(self):
        P, y, Z = make_data()
        calibrator = PlattScaling()
        ClusteredCalibration(calibrator, random_state=0).fit(P, y, Z)
        assert not hasattr(calibrator, "theta_")

    def test_the_same_seed_gives_the_same(self):
        P, y, Z = make_data()
        first, second = (ClusteredCalibration(random_state=3).fit(P, y, Z).theta_ for _ in range(2))
        np.testing.assert_array_equal(first, second)

    def test_string_labels_keep_the_order_of_columns(self):
        P, y, Z = make_data()
        names = np.array(["no", "yes"])
        named = ClusteredCalibration(random_state=0).fit(P, names[y], Z)
        np.testing.assert_array_equal(
            named.predict_proba(P, Z), ClusteredCalibration(random_state=0).fit(P, y, Z).predict_proba(P, Z)
        )

    def test_classes_of_the_calibrator_are_kept(self):
        P, y, Z = make_data()
        names = np.array(["no", "yes"])
        swapped = ClusteredCalibration(PlattScaling(classes=["yes", "no"]), random_state=0)
        swapped.fit(P[:, ::-1], names[y], Z)
        assert swapped.classes_.tolist() == ["yes", "no"]

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            ({"n_clusters": 301}, "n_clusters"),
            ({"n_clusters": -1}, "n_clusters"),
            ({"shrinkage": -0.1}, "shrinkage"),
            ({"shrinkage": "much"}, "shrinkage"),
            ({"loss": "median"}, "loss"),
            ({"membership": "far"}, "membership"),
            ({"temperature": np.nan}, "temperature"),
            ({"calibrator": "platt"}, "calibrator"),
            ({"calibrator": ClusteredCalibration()}, "calibrator"),
        ],
    )
    def test_bad_parameters_are_named_before_anything_is_fitted(self, wrong, message):
        P, y, Z = make_data()
        unfitted = ClusteredCalibration(**wrong)
        with pytest.raises(ValueError, match=message):
            unfitted.fit(P, y, Z)
        assert not hasattr(unfitted, "calibrator_")

    @pytest.mark.parametrize(
        ("Z", "message"),
        [(None, "Z is missing"), (np.ones((3, 2)), "3 rows and P has 300"), (np.full((300, 2), np.nan), "NaN")],
    )
    def test_bad_representations_are_named(self, Z, message):
        P, y, good = make_data()
        with pytest.raises(ValueError, match=message):
            ClusteredCalibration().fit(P, y, Z)
        fitted = ClusteredCalibration(random_state=0).fit(P, y, good)
        with pytest.raises(ValueError, match=r"Z is missing|rows|NaN|columns"):
            fitted.predict_proba(P, Z)

    def test_a_cluster_of_one_class_is_no_obstacle(self):
        y = np.arange(300) % 2
        P, Z = np.full(300, 0.5), np.eye(2)[y]
        Q = ClusteredCalibration(n_clusters=2, temperature=0, random_state=0).fit(P, y, Z).predict_proba(P, Z)
        assert np.isfinite(Q).all()
        assert (Q.argmax(axis=1) == y).all()
