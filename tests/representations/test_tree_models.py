"""What leaf coverage and SHAP values share: pipelines, frozen models, rows and their errors."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.ensemble import (
    RandomForestClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clustcal import CalibratedClassifier, RidgeCalibration
from clustcal.representations import (
    LeafCoverage,
    PathContributions,
    ShapValues,
    StagedMargins,
    default_representation,
)
from tests.representations.tree_data import fit_xgboost, make_data

xgboost = pytest.importorskip("xgboost")


@pytest.mark.parametrize("make", [lambda m: LeafCoverage(m, 4, random_state=0), ShapValues], ids=["coverage", "shap"])
class TestBoth:
    def test_transform_before_fit_raises_not_fitted(self, data, model, make):
        with pytest.raises(NotFittedError):
            make(model).transform(data[0])

    def test_unfitted_model_raises_not_fitted(self, data, make):
        with pytest.raises(NotFittedError):
            make(xgboost.XGBClassifier()).fit(data[0])

    def test_model_may_be_set_later(self, data, model, make):
        late = make(None).set_params(model=model)
        np.testing.assert_array_equal(late.fit_transform(data[0]), make(model).fit_transform(data[0]))

    def test_clone_keeps_the_fitted_model_and_is_unfitted(self, data, model, make):
        fitted = make(model).fit(data[0])
        copy = clone(fitted)
        assert copy.model is model
        assert copy.get_params(deep=False) == fitted.get_params(deep=False)
        with pytest.raises(NotFittedError):
            copy.transform(data[0])

    def test_pickle_round_trip_gives_the_same_values(self, data, model, make):
        fitted = make(model).fit(data[0])
        copy = pickle.loads(pickle.dumps(fitted))
        np.testing.assert_array_equal(copy.transform(data[0]), fitted.transform(data[0]))

    def test_frames_and_arrays_give_the_same_values(self, data, make):
        X, y = data
        frame = pd.DataFrame(X).add_prefix("f")
        model = fit_xgboost(frame, y)
        fitted = make(model).fit(frame)
        np.testing.assert_array_equal(fitted.transform(frame), fitted.transform(X))

    def test_pipeline_is_followed_to_its_trees(self, data, make):
        X, y = data
        scale = StandardScaler().fit(X)
        pipeline = make_pipeline(StandardScaler(), xgboost.XGBClassifier(n_estimators=5, n_jobs=1)).fit(X, y)
        direct = make(pipeline[-1]).fit_transform(scale.transform(X))
        np.testing.assert_array_equal(make(pipeline).fit_transform(X), direct)

    def test_frozen_model_is_unwrapped(self, data, model, make):
        X, _ = data
        np.testing.assert_array_equal(make(FrozenEstimator(model)).fit_transform(X), make(model).fit_transform(X))

    def test_input_is_left_as_it_was(self, data, model, make):
        X = data[0].copy()
        X.flags.writeable = False
        make(model).fit_transform(X)
        np.testing.assert_array_equal(X, data[0])

    def test_other_number_of_features_is_refused_at_fit(self, data, model, make):
        with pytest.raises(ValueError, match="X has 5 features; expected 6"):
            make(model).fit(data[0][:, :5])

    def test_other_number_of_features_is_refused_at_transform(self, data, model, make):
        with pytest.raises(ValueError, match="X has 7 features; expected 6"):
            make(model).fit(data[0]).transform(np.ones((3, 7)))

    @pytest.mark.parametrize(
        ("X", "message"), [(np.ones(6), "X has 1 dimensions"), (np.ones((0, 6)), "X is empty")], ids=["1-d", "empty"]
    )
    def test_other_shapes_are_refused(self, data, model, make, X, message):
        with pytest.raises(ValueError, match=message):
            make(model).fit(data[0]).transform(X)

    @pytest.mark.parametrize("wrong", [(0, 0), (3, 3), (-1, 2), (0, 13), (0.0, 2.0), 5, "ab", (1, 2, 3)])
    def test_iteration_range_is_checked(self, data, model, make, wrong):
        with pytest.raises(ValueError, match=re.escape(f"iteration_range is {wrong!r}; expected two whole numbers")):
            make(model).set_params(iteration_range=wrong).fit(data[0])

    @pytest.mark.parametrize("wrong", [None, "trees", RandomForestClassifier], ids=["None", "text", "class"])
    def test_what_is_no_fitted_classifier_is_refused(self, data, make, wrong):
        with pytest.raises(ValueError, match="expected a fitted tree classifier"):
            make(wrong).fit(data[0])

    def test_models_without_trees_are_refused(self, data, make):
        X, y = data
        with pytest.raises(ValueError, match="model is a LogisticRegression"):
            make(LogisticRegression().fit(X, y)).fit(X)
        with pytest.raises(ValueError, match='booster "gblinear"; expected one with trees'):
            make(xgboost.XGBClassifier(booster="gblinear", n_jobs=1).fit(X, y)).fit(X)


MAKERS = [PathContributions, StagedMargins, LeafCoverage, ShapValues]


@pytest.mark.parametrize("make", MAKERS)
class TestWhatIsNoTreeClassifier:
    def test_a_regressor_is_named_by_its_class(self, data, make):
        with pytest.raises(ValueError, match=r"^model is a XGBRegressor; expected a fitted tree classifier\.$"):
            make(xgboost.XGBRegressor(n_estimators=2).fit(*data)).fit(data[0])
        with pytest.raises(ValueError, match="model is the class RandomForestClassifier; expected"):
            make(RandomForestClassifier).fit(data[0])

    def test_a_booster_is_told_how_it_becomes_a_classifier(self, data, model, make, tmp_path):
        booster = model.get_booster()
        with pytest.raises(ValueError, match="model is a Booster; expected an XGBClassifier, whose load_model takes"):
            make(booster).fit(data[0])
        booster.save_model(tmp_path / "booster.json")
        for source in (tmp_path / "booster.json", booster.save_raw()):
            loaded = xgboost.XGBClassifier()
            loaded.load_model(source)
            fitted = make(loaded).set_params(**{"random_state": 0} if make is LeafCoverage else {}).fit(data[0])
            direct = make(model).set_params(**{"random_state": 0} if make is LeafCoverage else {}).fit(data[0])
            np.testing.assert_allclose(fitted.transform(data[0]), direct.transform(data[0]), atol=1e-6)

    def test_a_search_is_told_to_give_the_model_that_it_found(self, data, make):
        X, y = data
        trees = xgboost.XGBClassifier(n_estimators=2, n_jobs=1)
        search = GridSearchCV(trees, {"max_depth": [2]}, cv=2).fit(X, y)
        with pytest.raises(
            ValueError, match="model is a GridSearchCV; expected the classifier that it found, its best"
        ):
            make(search).fit(X)
        with pytest.raises(ValueError, match="expected the classifier that it found"):
            CalibratedClassifier(FrozenEstimator(search), RidgeCalibration(), representation=make()).fit(X, y)
        assert len(make(search.best_estimator_).fit_transform(X)) == len(X)

    def test_two_columns_of_one_name_are_refused(self, data, model, make):
        rows = pd.DataFrame(data[0], columns=list("abacde"))
        with pytest.raises(ValueError, match="X has two columns named 'a'; expected each name once"):
            make(model).fit(rows)


def test_a_number_in_the_place_of_the_model_is_told_its_name(data):
    X, y = data
    boosting = xgboost.XGBClassifier(n_estimators=2, n_jobs=1)
    for number, name in ((LeafCoverage(64), "n_components=64"), (StagedMargins(8), "n_stages=8")):
        message = rf"model is (64|8); expected a fitted tree classifier \(or {name}, by its name\)"
        with pytest.raises(ValueError, match=message):
            number.fit(X)
        with pytest.raises(ValueError, match=message):
            CalibratedClassifier(boosting, RidgeCalibration(), representation=[ShapValues(), number], cv=2).fit(X, y)


@pytest.mark.parametrize(
    ("make", "trees"),
    [
        (PathContributions, xgboost.XGBClassifier(n_estimators=3, n_jobs=1)),
        (ShapValues, xgboost.XGBClassifier(n_estimators=3, n_jobs=1)),
        (ShapValues, RandomForestClassifier(3)),
    ],
    ids=lambda one: getattr(one, "__name__", type(one).__name__),
)
def test_names_are_those_of_the_frame_that_the_model_was_fitted_on_also_for_arrays(data, make, trees):
    X, y = data
    frame = pd.DataFrame(X).add_prefix("f")
    names = make(clone(trees).fit(frame, y)).fit(X).get_feature_names_out().tolist()
    assert names == list(frame.columns)
    assert {type(name) for name in names} == {str}
    assert make(clone(trees).fit(X, y)).fit(X).get_feature_names_out().tolist() == [f"x{j}" for j in range(6)]


@pytest.mark.parametrize("make", MAKERS)
def test_a_list_of_other_names_than_those_of_the_features_is_refused(data, model, make):
    fitted = make(model).fit(data[0])
    with pytest.raises(ValueError, match=r"input_features"):
        fitted.get_feature_names_out(["a"])
    assert len(fitted.get_feature_names_out([f"x{j}" for j in range(6)])) == fitted.transform(data[0]).shape[1]


class TestTreesOfSeveralOutputs:
    """XGBoost's own error has a thousand letters and a stack trace, after the model was trained."""

    @pytest.mark.parametrize("kind", [PathContributions, ShapValues])
    def test_are_refused_before_anything_is_fitted_where_contributions_are_asked_for(self, kind, monkeypatch):
        X, y = make_data(n_classes=3)
        model = xgboost.XGBClassifier(n_estimators=3, multi_strategy="multi_output_tree", n_jobs=1)
        fitted = clone(model).fit(X, y)
        monkeypatch.setattr(xgboost.XGBClassifier, "fit", lambda *args, **kwargs: pytest.fail("fitted"))
        message = 'model is a XGBClassifier with multi_strategy "multi_output_tree", of which XGBoost gives no'
        with pytest.raises(ValueError, match=message):
            kind(fitted).fit(X)
        with pytest.raises(ValueError, match=message):
            CalibratedClassifier(model, RidgeCalibration(), representation=kind()).fit(X, y)

    def test_have_leaves_and_stages(self):
        X, y = make_data(n_classes=3)
        model = fit_xgboost(X, y, multi_strategy="multi_output_tree")
        assert type(default_representation(model)) is LeafCoverage
        np.testing.assert_array_equal(LeafCoverage(model, 3).fit(X).leaves(X), model.apply(X))
        sums = StagedMargins(model, 4).fit_transform(X).reshape(400, 4, 3).sum(axis=1)
        np.testing.assert_allclose(sums, model.predict(X, output_margin=True), atol=1e-5)
