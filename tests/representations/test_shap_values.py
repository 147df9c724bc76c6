"""ShapValues against the models' own margins, the package shap, and each other."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)

from clustcal.representations import ShapValues, shap_values
from tests.representations.tree_data import N_TREES, fit_xgboost, make_data

xgboost = pytest.importorskip("xgboost")


class TestShapValues:
    @pytest.mark.parametrize("method", ["xgboost", "woodelf"])
    def test_rows_sum_with_the_base_value_to_the_margin(self, data, model, method):
        pytest.importorskip("woodelf")
        X, _ = data
        shap = ShapValues(model, method=method).fit(X)
        margin = model.predict(X, output_margin=True)
        np.testing.assert_allclose(shap.transform(X).sum(axis=1) + shap.base_value_, margin, atol=1e-3)

    @given(seed=st.integers(0, 10_000), depth=st.integers(1, 12), with_missing=st.booleans())
    @settings(max_examples=12)
    def test_both_routes_agree(self, seed, depth, with_missing):
        pytest.importorskip("woodelf")
        X, y = make_data(seed=seed, n=250)
        X[:, 0] = X[:, 0].round()  # ties
        if with_missing:
            X[np.random.default_rng(seed).random(X.shape) < 0.1] = np.nan
        model = fit_xgboost(X, y, max_depth=depth, n_estimators=5)
        exact, fast = (ShapValues(model, method=method).fit_transform(X) for method in ("xgboost", "woodelf"))
        np.testing.assert_allclose(fast, exact, atol=1e-4)

    def test_both_routes_agree_beside_a_threshold(self):
        pytest.importorskip("woodelf")
        # Neighbours of a threshold must take the branch that XGBoost takes, which rounds them to float32 first.
        x = np.repeat(np.linspace(0, 1, 50), 4)
        model = fit_xgboost(x[:, None], (x > 0.3).astype(int), n_estimators=1, max_depth=1, min_child_weight=0)
        threshold = float(model.get_booster().trees_to_dataframe()["Split"].iloc[0])
        steps = np.spacing(np.float32(threshold)) * np.array([-2, -1, -0.7, -0.4, -0.1, 0, 0.1, 0.4, 0.7, 1, 2])
        X = (threshold + steps)[:, None]
        exact, fast = (ShapValues(model, method=method).fit_transform(X) for method in ("xgboost", "woodelf"))
        assert len(np.unique(exact.round(3))) == 2
        np.testing.assert_allclose(fast, exact, atol=1e-6)

    @pytest.mark.parametrize("method", ["xgboost", "woodelf"])
    def test_iteration_range_sums_to_the_margin_of_those_rounds(self, data, model, method):
        pytest.importorskip("woodelf")
        X, _ = data
        shap = ShapValues(model, iteration_range=(0, 5), method=method).fit(X)
        margin = model.predict(X, output_margin=True, iteration_range=(0, 5))
        np.testing.assert_allclose(shap.transform(X).sum(axis=1) + shap.base_value_, margin, atol=1e-3)

    def test_values_of_consecutive_ranges_add_up(self, data, model):
        X, _ = data
        first, rest, whole = (ShapValues(model, r).fit_transform(X) for r in [(0, 5), (5, N_TREES), None])
        np.testing.assert_allclose(first + rest, whole, atol=1e-5)

    def test_one_feature_gets_the_whole_margin(self):
        X, y = make_data()
        model = fit_xgboost(X[:, :1], y)
        shap = ShapValues(model).fit(X[:, :1])
        margin = model.predict(X[:, :1], output_margin=True)
        np.testing.assert_allclose(shap.transform(X[:, :1])[:, 0], margin - shap.base_value_, atol=1e-5)

    def test_multiclass_lists_all_features_class_by_class(self, three_class_model):
        X, _ = make_data(3)
        shap = ShapValues(three_class_model).fit(X)
        Z = shap.transform(X)
        assert Z.shape == (len(X), 3 * 6)
        margins = three_class_model.predict(X, output_margin=True)
        np.testing.assert_allclose(Z.reshape(-1, 3, 6).sum(axis=2) + shap.base_value_, margins, atol=1e-3)

    def test_multiclass_names_say_class_and_feature(self, three_class_model):
        X, _ = make_data(3)
        names = ShapValues(three_class_model).fit(X).get_feature_names_out()
        assert names[:2].tolist() == ["0:x0", "0:x1"]
        assert names[-1] == "2:x5"

    def test_boosting_of_scikit_learn_sums_to_the_decision_function(self, data):
        pytest.importorskip("shap")
        X, y = data
        for boosting in (GradientBoostingClassifier(n_estimators=4), HistGradientBoostingClassifier(max_iter=4)):
            shap = ShapValues(boosting.fit(X, y)).fit(X)
            total = shap.transform(X).sum(axis=1) + shap.base_value_
            np.testing.assert_allclose(total, boosting.decision_function(X), atol=1e-8)

    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_forest_sums_to_the_probabilities(self, n_classes):
        pytest.importorskip("shap")
        X, y = make_data(n_classes)
        forest = RandomForestClassifier(5, max_depth=4, random_state=0).fit(X, y)
        shap = ShapValues(forest).fit(X)
        P = forest.predict_proba(X)
        expected = P[:, 1:] if n_classes == 2 else P
        total = shap.transform(X).reshape(len(X), -1, X.shape[1]).sum(axis=2) + shap.base_value_
        np.testing.assert_allclose(total, expected, atol=1e-8)

    def test_output_is_float64(self, data, model):
        assert ShapValues(model).fit_transform(data[0]).dtype == np.float64

    def test_auto_takes_woodelf_for_many_rows_only(self, data, model, monkeypatch):
        pytest.importorskip("woodelf")
        monkeypatch.setattr(shap_values, "WOODELF_MIN_ROWS", 100)
        choose = lambda rows: shap_values._check_xgboost_method(model, rows, "auto")
        assert choose(data[0][:100]) == "xgboost"
        assert choose(data[0][:101]) == "woodelf"

    def test_auto_does_without_woodelf_where_it_is_not_installed(self, data, model, monkeypatch):
        monkeypatch.setattr(shap_values, "WOODELF_MIN_ROWS", 0)
        monkeypatch.setattr(shap_values, "find_spec", lambda name: None)
        assert shap_values._check_xgboost_method(model, data[0], "auto") == "xgboost"

    @pytest.mark.parametrize(
        "parameters", [{"max_depth": 0}, {"max_depth": 13}, {"booster": "dart"}, {"missing": -1.0}]
    )
    def test_auto_does_without_woodelf_where_it_does_not_serve(self, data, parameters, monkeypatch):
        monkeypatch.setattr(shap_values, "WOODELF_MIN_ROWS", 0)
        model = fit_xgboost(*data, **parameters)
        assert shap_values._check_xgboost_method(model, data[0], "auto") == "xgboost"
        with pytest.raises(ValueError, match='method is "woodelf", which does not serve'):
            ShapValues(model, method="woodelf").fit(data[0])

    def test_woodelf_does_not_serve_more_than_two_classes(self, three_class_model):
        with pytest.raises(ValueError, match="does not serve more than two classes"):
            ShapValues(three_class_model, method="woodelf").fit(make_data(3)[0])

    def test_categorical_features_are_explained(self, data):
        X, y = data
        frame = pd.DataFrame(X).add_prefix("f")
        frame["f0"] = pd.cut(frame["f0"], 5, labels=list("abcde"))
        model = fit_xgboost(frame, y, enable_categorical=True)
        shap = ShapValues(model).fit(frame)
        margin = model.predict(frame, output_margin=True)
        np.testing.assert_allclose(shap.transform(frame).sum(axis=1) + shap.base_value_, margin, atol=1e-3)
        assert shap_values._woodelf_obstacle(model, frame) == "categorical features"

    def test_method_is_checked(self, data, model):
        with pytest.raises(ValueError, match="method is 'exact'; expected one of"):
            ShapValues(model, method="exact").fit(data[0])

    def test_methods_of_xgboost_are_refused_for_scikit_learn(self, data):
        forest = RandomForestClassifier(2, max_depth=2).fit(*data)
        with pytest.raises(ValueError, match="which needs an XGBoost classifier"):
            ShapValues(forest, method="woodelf").fit(data[0])

    def test_method_shap_is_refused_for_xgboost(self, data, model):
        with pytest.raises(ValueError, match='method is "shap"'):
            ShapValues(model, method="shap").fit(data[0])

    def test_multiclass_gradient_boosting_is_refused(self):
        X, y = make_data(3)
        with pytest.raises(ValueError, match="GradientBoostingClassifier of 3 classes; expected 2"):
            ShapValues(GradientBoostingClassifier(n_estimators=2).fit(X, y)).fit(X)

    def test_iteration_range_is_refused_for_scikit_learn(self, data):
        forest = RandomForestClassifier(4, max_depth=2).fit(*data)
        with pytest.raises(ValueError, match="only SHAP values of boosted trees can use it"):
            ShapValues(forest, iteration_range=(0, 2)).fit(data[0])
