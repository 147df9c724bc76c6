"""The cheap representations: they add up to the margin, and small trees are done by hand."""

import numpy as np
import pytest
from xgboost import XGBClassifier

from clustcal.experiments.alternatives import base_models
from clustcal.experiments.alternatives.cheap_representations import path_contributions, staged_margins
from clustcal.representations import ShapValues
from tests.experiments.made_up import make_data

TREES = {"n_estimators": 20, "max_depth": 3, "n_jobs": 1}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    return X, (X[:, 0] * X[:, 1] + rng.normal(size=300) > 0).astype(int)


@pytest.fixture(scope="module")
def model(data):
    return XGBClassifier(**TREES).fit(*data)


def test_paths_add_up_to_the_margin(model, data):
    margin = model.predict(data[0], output_margin=True)
    rest = margin - path_contributions(model, data[0]).sum(axis=1)
    np.testing.assert_allclose(rest, rest[0], atol=1e-5)


def test_paths_are_shapley_values_where_a_tree_asks_one_question(data):
    stumps = XGBClassifier(**TREES | {"max_depth": 1}).fit(*data)
    exact = ShapValues(stumps).fit_transform(data[0])
    np.testing.assert_allclose(path_contributions(stumps, data[0]), exact, atol=1e-5)


def test_paths_of_a_tree_by_hand():
    """y = x0 and x1, 100 rows of each corner: the feature that is asked first steps to the mean of its half.

    This step does not depend on the other feature, as a SHAP value does.
    """
    corners = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=float)
    X = np.repeat(corners, 100, axis=0)
    y = (X.sum(axis=1) == 2).astype(int)
    settings = {"n_estimators": 1, "max_depth": 2, "learning_rate": 1, "reg_lambda": 0, "base_score": 0.5}
    tree = XGBClassifier(**settings, tree_method="exact", n_jobs=1).fit(X, y)
    # The leaves of the first round: minus the sum of gradients (q - y) over that of hessians q (1 - q), with q = 1/2.
    leaf = {0: -2.0, 1: 2.0}
    margin = tree.predict(corners, output_margin=True)
    np.testing.assert_allclose(margin, [leaf[0], leaf[0], leaf[0], leaf[1]], atol=1e-5)
    Z = path_contributions(tree, corners)
    first = int(tree.get_booster().trees_to_dataframe()["Feature"][0].removeprefix("f"))
    # Root: mean of the leaves, -1. The half where the first feature is 0 has the mean -2, the other one 0.
    np.testing.assert_allclose(Z[:, first], np.where(corners[:, first] == 1, 1.0, -1.0), atol=1e-5)
    last = margin - np.where(corners[:, first] == 1, 0.0, -2.0)
    np.testing.assert_allclose(Z[:, 1 - first], last, atol=1e-5)


def test_stages_add_up_to_the_margin(model, data):
    Z = staged_margins(model, data[0])
    assert Z.shape == (300, 8)
    start = staged_margins(XGBClassifier(**TREES | {"n_estimators": 1}).fit(*data), data[0])
    assert start.shape == (300, 1)  # fewer rounds than stages
    rest = model.predict(data[0], output_margin=True) - Z.sum(axis=1)
    np.testing.assert_allclose(rest, rest[0], atol=1e-5)


def test_stages_end_where_a_model_stopped(monkeypatch):
    settings = {"n_estimators": 400, "max_depth": 3, "learning_rate": 0.3}
    monkeypatch.setitem(base_models.BASE_MODELS, "xgb-stopped-4", base_models.BaseModel(settings, stops=True))
    data = make_data("stroke", 400)
    model = base_models.train(data, np.arange(300), "xgb-stopped-4", 0)
    Z, seconds = base_models.represent(model, data.X[:300], data.X[300:], 0, ["stages", "paths"])
    assert set(seconds) == {"stages", "paths"}
    p = model.predict_proba(data.X[300:])[:, 1].astype(float)
    for name in ("stages", "paths"):
        rest = np.log(p / (1 - p)) - Z[name][1].sum(axis=1)
        np.testing.assert_allclose(rest, rest[0], atol=1e-4)
