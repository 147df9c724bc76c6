"""PathContributions: sums to the margin, SHAP values where orders do not matter, and a tree done by hand."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clustcal import CalibratedClassifier, RidgeCalibration
from clustcal.representations import LeafCoverage, PathContributions, ShapValues
from tests.representations.tree_data import N_TREES, fit_xgboost, make_data

xgboost = pytest.importorskip("xgboost")


@pytest.mark.parametrize("options", [{}, {"booster": "dart", "rate_drop": 0.3}, {"num_parallel_tree": 3}], ids=str)
def test_with_the_base_value_they_sum_to_the_margin(data, options):
    X, y = data
    X = np.where(np.random.default_rng(0).random(X.shape) < 0.1, np.nan, X)
    model = fit_xgboost(X, y, **options)
    paths = PathContributions(model).fit(X)
    margin = model.predict(X, output_margin=True)
    np.testing.assert_allclose(paths.transform(X).sum(axis=1) + paths.base_value_, margin, atol=1e-5)


def test_with_more_classes_they_sum_to_the_margin_of_each(three_class_model):
    X, _ = make_data(n_classes=3)
    paths = PathContributions(three_class_model).fit(X)
    Z = paths.transform(X)
    assert Z.shape == (400, 18)
    margin = three_class_model.predict(X, output_margin=True)
    np.testing.assert_allclose(Z.reshape(400, 3, 6).sum(axis=2) + paths.base_value_, margin, atol=1e-5)
    assert paths.get_feature_names_out().tolist()[5:7] == ["0:x5", "1:x0"]


def test_of_some_rounds_they_sum_to_the_margin_of_these(model, data):
    paths = PathContributions(model, iteration_range=(2, 5)).fit(data[0])
    margin = model.get_booster()[2:5].predict(xgboost.DMatrix(data[0]), output_margin=True)
    np.testing.assert_allclose(paths.transform(data[0]).sum(axis=1) + paths.base_value_, margin, atol=1e-5)
    with pytest.raises(ValueError, match="iteration_range"):
        PathContributions(model, iteration_range=(0, N_TREES + 1)).fit(data[0])


def test_a_softmax_of_two_classes_has_the_difference_of_its_margins(data):
    X, y = data
    model = fit_xgboost(X, y, objective="multi:softprob", num_class=2)
    paths = PathContributions(model).fit(X)
    p = model.predict_proba(X)[:, 1].astype(float)
    Z = paths.transform(X)
    assert Z.shape == X.shape
    np.testing.assert_allclose(Z.sum(axis=1) + paths.base_value_, np.log(p / (1 - p)), atol=1e-4)


def test_they_are_shapley_values_where_every_tree_asks_one_question(data):
    stumps = fit_xgboost(*data, max_depth=1)
    exact = ShapValues(stumps).fit_transform(data[0])
    np.testing.assert_allclose(PathContributions(stumps).fit_transform(data[0]), exact, atol=1e-5)


def test_a_tree_by_hand():
    """y = x0 and x1, 100 rows of each corner: the feature that is asked first steps to the mean of its half.

    This step does not depend on the other feature, as a SHAP value does.
    """
    corners = np.array([[0, 0], [0, 1], [1, 0], [1, 1]], dtype=float)
    X = np.repeat(corners, 100, axis=0)
    y = (X.sum(axis=1) == 2).astype(int)
    settings = {"n_estimators": 1, "max_depth": 2, "learning_rate": 1, "reg_lambda": 0, "base_score": 0.5}
    tree = xgboost.XGBClassifier(**settings, tree_method="exact", n_jobs=1).fit(X, y)
    paths = PathContributions(tree).fit(corners)
    Z = paths.transform(corners)
    first = int(tree.get_booster().trees_to_dataframe()["Feature"][0].removeprefix("f"))
    # Leaves: minus the sum of gradients (q - y) over that of hessians q (1 - q) at q = 1/2: -2, and 2 for the corner
    # (1, 1). The root has their mean, -1; the half where the first feature is 0 has -2, the other one 0.
    assert paths.base_value_ == pytest.approx(-1, abs=1e-5)
    assert Z[:, first] == pytest.approx(np.where(corners[:, first] == 1, 1, -1), abs=1e-5)
    assert Z[:, 1 - first] == pytest.approx(np.where(corners[:, first] == 1, [0, -2, -2, 2], 0), abs=1e-5)


def test_they_are_the_steps_between_means_weighted_by_cover(data):
    """Against a walk through the trees as XGBoost tells them, with rounds whose rows weigh differently."""
    X, y = data
    model = fit_xgboost(X, y, n_estimators=3, learning_rate=1, base_score=0.2)
    nodes = model.get_booster().trees_to_dataframe().set_index("ID")

    def mean(name):
        node = nodes.loc[name]
        if node["Feature"] == "Leaf":
            return node["Gain"]
        below = [node["Yes"], node["No"]]
        return np.average([mean(one) for one in below], weights=nodes.loc[below, "Cover"])

    def walk(x):
        found = np.zeros(X.shape[1])
        for tree in range(3):
            name = f"{tree}-0"
            while (feature := nodes.loc[name, "Feature"]) != "Leaf":
                j = int(feature.removeprefix("f"))
                child = nodes.loc[name, "Yes" if x[j] < nodes.loc[name, "Split"] else "No"]
                found[j] += mean(child) - mean(name)
                name = child
        return found

    paths = PathContributions(model).fit(X)
    np.testing.assert_allclose(paths.transform(X[:20]), [walk(x) for x in X[:20].astype(np.float32)], atol=1e-4)
    roots = sum(mean(f"{tree}-0") for tree in range(3))
    assert paths.base_value_ == pytest.approx(np.log(0.2 / 0.8) + roots, abs=1e-4)


def test_names_pipelines_frames_and_clones(data):
    X, y = data
    frame = pd.DataFrame(X).add_prefix("f")
    model = make_pipeline(StandardScaler(), xgboost.XGBClassifier(n_estimators=5, n_jobs=1)).fit(frame, y)
    Z = PathContributions(model).fit(frame).transform(frame)
    alone = PathContributions(model[-1]).fit_transform(model[:-1].transform(frame))
    np.testing.assert_array_equal(Z, alone)
    copy = clone(PathContributions(FrozenEstimator(model))).fit(frame)
    np.testing.assert_array_equal(copy.transform(frame), Z)
    assert copy.get_feature_names_out().tolist() == list(frame.columns)
    order = re.escape("expected the order of the model, ['f0', 'f1', 'f2', 'f3', 'f4', 'f5'].")
    with pytest.raises(ValueError, match=order):
        copy.transform(frame[frame.columns[::-1]])


def test_other_models_are_refused(data):
    X, y = data
    linear = fit_xgboost(X, y, booster="gblinear", max_depth=None)
    with pytest.raises(ValueError, match="gblinear"):
        PathContributions(linear).fit(X)


@pytest.mark.parametrize(
    ("other", "instead"),
    [
        (LogisticRegression(), "StandardizedFeatures"),
        (RandomForestClassifier(3), "LeafCoverage"),
        (HistGradientBoostingClassifier(max_iter=3), "ShapValues"),
        (CalibratedClassifierCV(LogisticRegression(), cv=2), "StandardizedFeatures"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_of_other_models_it_names_a_representation_that_takes_them(data, other, instead):
    X, y = data
    message = rf"model is a {type(other).__name__}; expected a classifier of XGBoost .*such as {instead}\)"
    with pytest.raises(ValueError, match=message):
        PathContributions(other.fit(X, y)).fit(X)
    with pytest.raises(ValueError, match=message):
        CalibratedClassifier(other, RidgeCalibration(), representation=[PathContributions()], cv=2).fit(X, y)


@pytest.mark.parametrize("ensemble", [True, False])
def test_they_work_within_a_calibrated_classifier(data, ensemble):
    X, y = data
    classifier = xgboost.XGBClassifier(n_estimators=5, max_depth=2, n_jobs=1)
    # Leaves have other axes in every fold, so that they are for ensembles.
    representation = [PathContributions(), LeafCoverage(n_components=4)] if ensemble else PathContributions()
    model = CalibratedClassifier(
        classifier, RidgeCalibration(), representation=representation, cv=3, ensemble=ensemble
    ).fit(X, y)
    P = model.predict_proba(X)
    assert P.shape == (400, 2)
    np.testing.assert_allclose(P.sum(axis=1), 1)
    with pytest.raises(ValueError, match="expected a classifier of XGBoost"):
        CalibratedClassifier(LogisticRegression(), RidgeCalibration(), representation=PathContributions()).fit(X, y)
