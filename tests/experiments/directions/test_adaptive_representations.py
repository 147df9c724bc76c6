"""Richer representations: influences against a refit by hand, the gate against its gradient, trees on residuals."""

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.special import expit, logit
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer

from clustcal import PlattScaling, metrics
from clustcal.experiments.alternatives.lineup import Case
from clustcal.experiments.directions import adaptive_representations as adaptive


@pytest.fixture
def case():
    """Slopes differ by the sign of the first column."""
    rng = np.random.default_rng(0)
    s, Z = rng.normal(0, 1.5, 1000), rng.normal(size=(1000, 3))
    y = (rng.random(1000) < expit(s * np.where(Z[:, 0] > 0, 1.8, 0.2))).astype(int)
    P, cal, test = expit(s), slice(600), slice(600, None)
    found = Case(P[cal], y[cal], P[test], {"shap": Z[cal]}, {"shap": Z[test]}, 0, None, None, "", "")
    return found, y[test]


def test_the_product_of_two_rows_is_the_influence_of_one_on_the_other():
    """Adding one gradient to the leaf of each tree moves the margin by rate / (Hessian + 1), tree by tree."""
    xgboost = pytest.importorskip("xgboost")
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    y = (X[:, 0] + rng.normal(size=200) > 0).astype(int)
    trees = xgboost.XGBClassifier(n_estimators=4, max_depth=2, learning_rate=0.3, base_score=0.5, n_jobs=1).fit(X, y)
    model = Pipeline([("as it is", FunctionTransformer()), ("classifier", trees)])
    C = adaptive.influence_columns(model, X)
    # Hessians of the leaves, from margins that are followed tree by tree.
    leaves = trees.apply(X)
    expected, margin = np.zeros((200, 200)), np.zeros(200)
    for t in range(4):
        hessian = expit(margin) * (1 - expit(margin))
        same = leaves[:, [t]] == leaves[:, t]
        expected += same * 0.3 / (same @ hessian + 1)
        margin = trees.predict(X, output_margin=True, iteration_range=(0, t + 1))
    np.testing.assert_allclose((C @ C.T).toarray(), expected, rtol=1e-4)
    Z_cal, Z_test = adaptive.influence_embedding(model, X[:100], X[100:], 0, n_components=5)
    assert Z_cal.shape == Z_test.shape == (100, 6)
    np.testing.assert_allclose(Z_test[:, -1], expected.diagonal()[100:], rtol=1e-4)


def test_the_gradient_of_the_gate_is_that_of_its_loss():
    rng = np.random.default_rng(0)
    s, y, X = rng.normal(size=50), rng.integers(2, size=50), np.column_stack([np.ones(50), rng.normal(size=(50, 3))])
    gate = adaptive.GatedPlatt(0.3, 0.2)
    start = rng.normal(size=2 * adaptive.K + 4 * adaptive.K)
    loss, gradient = (lambda t, k=k: gate._objective(t, s, y, X)[k] for k in (0, 1))
    assert check_grad(loss, gradient, start) < 1e-6


def test_a_gate_finds_slopes_that_differ(case):
    case, y = case
    platt = metrics.log_loss(y, adaptive.platt(case))
    assert metrics.log_loss(y, adaptive.METHODS["gate shap"](case)) < platt - 0.01


def test_equal_experts_are_platt_scaling():
    """A penalty of any size leaves the experts; a strong pull to their mean leaves one."""
    rng = np.random.default_rng(0)
    s = rng.normal(size=2000)
    y = (rng.random(2000) < expit(0.5 * s + 0.3)).astype(int)
    Z = rng.normal(size=(2000, 2))
    gate = adaptive.GatedPlatt(1.0, 1e4)
    expected = PlattScaling(prior=None).fit(expit(s), y).predict_proba(expit(s))[:, 1]
    np.testing.assert_allclose(gate.fit(s, y, Z)(s, Z), expected, atol=2e-3)


def test_groups_of_a_tree_on_residuals_find_a_shift():
    rng = np.random.default_rng(1)
    s, Z = rng.normal(size=3000), rng.normal(size=(3000, 3))
    y = (rng.random(3000) < expit(s + np.where(Z[:, 1] > 0.5, 2, -0.5))).astype(int)
    P, cal, test = expit(s), slice(1500), slice(1500, None)
    case = Case(P[cal], y[cal], P[test], {"shap": Z[cal]}, {"shap": Z[test]}, 0, None, None, "", "")
    q = adaptive.residual_tree(case)
    assert metrics.log_loss(y[test], q) < metrics.log_loss(y[test], adaptive.platt(case)) - 0.05
    right = expit(s + np.where(Z[:, 1] > 0.5, 2, -0.5))[test]
    assert np.abs(logit(q) - logit(right)).mean() < 0.5


def test_directions_of_influence_are_those_of_its_columns_before_the_last():
    Z = {"influence": np.array([[1.0, 2.0, 50.0]]), "shap": np.array([[1.0, 2.0]])}
    assert adaptive.to_cluster("influence", Z).tolist() == adaptive.to_cluster("shap", Z).tolist() == [[1.0, 2.0]]


def test_clusters_and_ridge_take_the_representation_that_they_name(case):
    case, _ = case
    zeros = {"shap": case.Z_cal["shap"], "other": np.zeros_like(case.Z_cal["shap"])}
    blind = {"shap": case.Z_test["shap"], "other": np.zeros_like(case.Z_test["shap"])}
    seeing = adaptive.ridge("shap")(case)
    case = Case(case.P_cal, case.y_cal, case.P_test, zeros, blind, 0, None, None, "", "")
    platt = PlattScaling(prior=None).fit(case.P_cal, case.y_cal).predict_proba(case.P_test)[:, 1]
    np.testing.assert_allclose(adaptive.ridge("other")(case), platt, atol=1e-5)
    np.testing.assert_allclose(adaptive.ridge("shap")(case), seeing)
