"""Calibration inside training: gradients by differences, the mixture against its equations, how K is chosen."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize
from scipy.special import expit

from clustcal.experiments.alternatives.lineup import Case
from clustcal.experiments.directions import joint_training as joint


def test_the_objective_has_the_gradient_and_the_curvature_of_the_calibrated_loss():
    rng = np.random.default_rng(0)
    f, a, b, y = rng.normal(size=5), rng.uniform(0.2, 2, 5), rng.normal(size=5), rng.integers(2, size=5)
    gradient, hessian = joint.calibrated_objective(a, b)(f, SimpleNamespace(get_label=lambda: y))
    loss = lambda f: np.sum(np.logaddexp(0, a * f + b) - y * (a * f + b))
    assert (
        check_grad(loss, lambda f: joint.calibrated_objective(a, b)(f, SimpleNamespace(get_label=lambda: y))[0], f)
        < 1e-6
    )
    step = 1e-4
    for k in range(5):
        moved = [loss(f + step * sign * (np.arange(5) == k)) for sign in (-1, 0, 1)]
        assert hessian[k] == pytest.approx((moved[0] - 2 * moved[1] + moved[2]) / step**2, rel=1e-3)
    assert gradient.shape == (5,)


def test_the_mixture_is_the_least_of_its_objective():
    rng = np.random.default_rng(1)
    s, W = rng.normal(size=300), rng.dirichlet(np.ones(3), 300)
    y = (rng.random(300) < expit(s * (W @ [0.3, 1.0, 2.0]))).astype(int)

    def objective(flat):
        theta = flat.reshape(3, 2)
        z = (W @ theta[:, 0]) * s + W @ theta[:, 1]
        mean = theta.mean(axis=0)
        prior = joint.PULL / 2 * ((theta - mean) ** 2).sum() + ((mean - [1, 0]) ** 2).sum() / 2
        return np.sum(np.logaddexp(0, z) - y * z) + prior

    expected = minimize(objective, np.tile([1.0, 0.0], 3), method="BFGS", tol=1e-9)
    np.testing.assert_allclose(joint.fit_mixture(s, W, y), expected.x.reshape(3, 2), atol=1e-3)


def test_the_mixture_of_scores_that_separate_the_classes_is_finite():
    s = np.r_[-np.ones(20), np.ones(20)] * 5
    assert np.isfinite(joint.fit_mixture(s, np.ones((40, 1)), (s > 0).astype(int))).all()


def shaped(n=800, seed=0):
    """Directions in two halves with opposite shifts."""
    rng = np.random.default_rng(seed)
    side = rng.integers(2, size=n)
    Z = np.column_stack([np.where(side, 5.0, -5.0), rng.normal(size=n)])
    s = rng.normal(size=n)
    y = (rng.random(n) < expit(s + np.where(side, 2, -2))).astype(int)
    return Case(expit(s), y, expit(s), {"shap": Z}, {"shap": Z}, 0, None, None, "", "")


def test_a_budget_stops_where_clusters_no_longer_help():
    case = shaped()
    q, said = joint.k_by_budget(case)
    assert said["clusters"] == 2
    assert said["fits"] == 3 * joint.FOLDS + 1
    assert q.shape == (800,)


def test_a_budget_keeps_one_cluster_where_none_helps():
    rng = np.random.default_rng(0)
    s = rng.normal(size=500)
    y = (rng.random(500) < expit(s)).astype(int)
    Z = {"shap": rng.normal(size=(500, 3))}
    _, said = joint.k_by_budget(Case(expit(s), y, expit(s), Z, Z, 0, None, None, "", ""))
    assert said == {"clusters": 1, "fits": 2 * joint.FOLDS + 1}


def test_joint_training_is_plain_boosting_where_calibrators_do_nothing(monkeypatch):
    """With the identity for every cluster the trees are those of the usual objective."""
    xgboost = pytest.importorskip("xgboost")
    from clustcal.experiments import protocol
    from tests.experiments.made_up import make_data

    data = make_data("stroke", 300)
    parts = protocol.split(data.y, 0)
    monkeypatch.setattr(joint, "fit_mixture", lambda s, W, y: np.tile([1.0, 0.0], (joint.K, 1)))
    settings = {"n_estimators": 20, "max_depth": 2, "learning_rate": 0.3}
    monkeypatch.setitem(
        joint.BASE_MODELS, joint.MAIN_MODEL, joint.BASE_MODELS[joint.MAIN_MODEL]._replace(settings=settings)
    )
    case = Case(None, data.y[parts.calibration], None, {}, {}, 0, data, parts, joint.MAIN_MODEL, "")
    q, said = joint.joint(False)(case)
    prepare = protocol.make_preprocessor(data.categorical).fit(data.X.iloc[parts.train])
    plain = xgboost.XGBClassifier(**settings, base_score=0.5, random_state=0, n_jobs=1)
    plain.fit(prepare.transform(data.X.iloc[parts.train]), data.y[parts.train])
    expected = plain.predict_proba(prepare.transform(data.X.iloc[parts.test]))[:, 1]
    np.testing.assert_allclose(q, expected, atol=1e-4)
    assert said == {"rounds": 20}
    q, said = joint.joint(True)(case)
    assert q.shape == (60,)
    assert said["rounds"] <= 20
