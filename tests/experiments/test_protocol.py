"""The protocol: splits, preparation and classifier, by hand on small frames."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils import Bunch

from clustcal.experiments import protocol
from clustcal.representations import LeafCoverage, ShapValues

xgboost = pytest.importorskip("xgboost")


def make_data(n=300, seed=0):
    rng = np.random.default_rng(seed)
    age = rng.normal(50, 10, n)
    group = pd.Categorical(rng.choice(["a", "b", "c"], n))
    y = (age + 10 * (group == "b") + rng.normal(0, 10, n) > 55).astype(np.int64)
    return Bunch(X=pd.DataFrame({"age": age, "group": group}), y=y, categorical=["group"])


@pytest.fixture(scope="module")
def data():
    return make_data()


@pytest.fixture(scope="module")
def parts(data):
    return protocol.split(data.y, seed=0)


@pytest.fixture(scope="module")
def model(data, parts):
    return protocol.train_model(data, parts.train, n_estimators=10, max_depth=3)


class TestSplit:
    @given(n=st.integers(50, 400), positives=st.floats(0.1, 0.9), seed=st.integers(0, 1000))
    @settings(max_examples=30)
    def test_parts_are_disjoint_and_complete(self, n, positives, seed):
        y = np.arange(n) < positives * n
        parts = protocol.split(y, seed)
        assert_array_equal(np.sort(np.concatenate(parts)), np.arange(n))

    @given(n=st.integers(50, 400), positives=st.floats(0.1, 0.9), seed=st.integers(0, 1000))
    @settings(max_examples=30)
    def test_parts_are_60_20_20_and_stratified(self, n, positives, seed):
        y = np.arange(n) < positives * n
        for part, share in zip(protocol.split(y, seed), (0.6, 0.2, 0.2), strict=True):
            assert abs(len(part) - share * n) <= 2
            assert abs(y[part].sum() - share * y.sum()) <= 2

    def test_same_seed_gives_the_same_parts(self):
        y = np.arange(100) % 2
        for one, other in zip(protocol.split(y, 3), protocol.split(y, 3), strict=True):
            assert_array_equal(one, other)

    def test_without_strata_positives_fall_where_they_may(self):
        y = np.arange(400) < 40
        positives = [y[protocol.split(y, seed, stratify=False).test].sum() for seed in range(20)]
        assert len(set(positives)) > 3
        assert len(protocol.split(y, 0, stratify=False).train) == 240

    def test_other_seed_gives_other_parts(self):
        y = np.arange(100) % 2
        assert set(protocol.split(y, 0).test) != set(protocol.split(y, 1).test)


class TestPreprocessor:
    def fit_transform(self, train, new=None):
        categorical = train.select_dtypes("category").columns.tolist()
        preprocessor = protocol.make_preprocessor(categorical).fit(train)
        return preprocessor.transform(train if new is None else new)

    def test_numbers_are_standardised(self):
        found = self.fit_transform(pd.DataFrame({"x": [1.0, 3.0]}))
        assert_allclose(found, [[-1], [1]])

    def test_categories_become_sorted_numbers(self):
        found = self.fit_transform(pd.DataFrame({"g": pd.Categorical(["b", "c", "a"])}))
        assert_allclose(found[:, 0] * np.sqrt(2 / 3), [0, 1, -1], atol=1e-12)

    @pytest.mark.parametrize(
        "column",
        [pd.Series([1.0, 5.0, 5.0, np.nan]), pd.Series(["a", "z", "z", None], dtype="category")],
        ids=["number", "category"],
    )
    def test_most_frequent_value_replaces_missing_ones(self, column):
        found = self.fit_transform(pd.DataFrame({"x": column}))
        assert found[3] == found[1] != found[0]

    def test_statistics_are_those_of_the_training_part(self):
        found = self.fit_transform(pd.DataFrame({"x": [1.0, 3.0]}), pd.DataFrame({"x": [101.0]}))
        assert_allclose(found, [[99]])

    def test_unknown_category_is_read_as_missing(self):
        train = pd.DataFrame({"g": pd.Categorical(["a", "b", "b"])})
        found = self.fit_transform(train, pd.DataFrame({"g": pd.Categorical(["b", "new"])}))
        assert found[0] == found[1]

    def test_column_without_values_is_kept(self):
        found = self.fit_transform(pd.DataFrame({"x": [1.0, 2.0], "none": [np.nan, np.nan]}))
        assert_array_equal(found[:, 1], 0)

    def test_one_hot_gives_every_category_a_column_and_an_unknown_one_none(self):
        group = pd.Categorical(["a", "b", "b", None])
        preprocessor = protocol.make_preprocessor(["g"], "one-hot").fit(pd.DataFrame({"g": group}))
        assert preprocessor.get_feature_names_out().tolist() == ["g_a", "g_b", "g_nan"]
        a, b, none, new = preprocessor.transform(pd.DataFrame({"g": pd.Categorical(["a", "b", None, "new"])})) > 0
        assert [a.tolist(), b.tolist(), none.tolist()] == np.eye(3, dtype=bool).tolist()
        assert not new.any()

    def test_unknown_encoding_is_refused(self):
        with pytest.raises(ValueError, match=r"encoding is 'target'; expected one of \('ordinal', 'one-hot'\)"):
            protocol.make_preprocessor([], "target")

    def test_names_follow_the_columns(self):
        data = make_data()
        preprocessor = protocol.make_preprocessor(data.categorical).fit(data.X)
        assert preprocessor.get_feature_names_out().tolist() == ["group", "age"]


class TestModel:
    def test_classifier_has_the_papers_parameters(self):
        found = protocol.make_classifier(n_estimators=1000, max_depth=6, seed=2).get_params()
        expected = {
            "n_estimators": 1000,
            "max_depth": 6,
            "learning_rate": 0.1,
            "subsample": 0.8,
            "colsample_bytree": 0.8,
            "random_state": 2,
        }
        assert {name: found[name] for name in expected} == expected

    def test_only_the_training_part_is_seen(self, data, parts, model):
        spoiled = Bunch(X=data.X.copy(), y=data.y.copy(), categorical=data.categorical)
        unseen = np.concatenate([parts.calibration, parts.test])
        spoiled.X.loc[unseen, "age"] = 1e6
        spoiled.y[unseen] = 1 - spoiled.y[unseen]
        other = protocol.train_model(spoiled, parts.train, n_estimators=10, max_depth=3)
        assert_array_equal(other.predict_proba(data.X), model.predict_proba(data.X))

    def test_first_trees_are_those_of_a_smaller_model(self, data, parts, model):
        smaller = protocol.train_model(data, parts.train, n_estimators=4, max_depth=3)
        assert_array_equal(model.predict_proba(data.X, iteration_range=(0, 4)), smaller.predict_proba(data.X))

    def test_weights_of_classes_are_those_of_sample_weights(self, data, parts):
        """XGBoost multiplies a row's gradient by ``scale_pos_weight`` just as by its own weight."""
        weighted = protocol.train_model(data, parts.train, arm="weighted", n_estimators=4, max_depth=3)
        y = data.y[parts.train]
        assert y.mean() != 0.5
        row_weights = np.where(y == 1, (y == 0).sum() / (y == 1).sum(), 1.0)
        classifier = protocol.make_classifier(4, 3)
        X = weighted[:-1].transform(data.X.iloc[parts.train])
        classifier.fit(X, y, sample_weight=row_weights)
        assert_allclose(classifier.predict_proba(X), weighted[-1].predict_proba(X), atol=1e-6)

    def test_unknown_arm_is_refused(self):
        with pytest.raises(ValueError, match=r"arm is 'heavy'; expected one of"):
            protocol.weigh_classes([0, 1], "heavy")

    @pytest.mark.parametrize("name", protocol.REPRESENTATIONS)
    def test_representations_take_raw_rows(self, data, parts, model, name):
        rows = data.X.iloc[parts.calibration]
        representation = protocol.make_representation(name, model).fit(rows)
        Z = representation.transform(data.X.iloc[parts.test])
        assert Z.shape[0] == len(parts.test)
        assert np.isfinite(Z).all()

    def test_data_are_the_prepared_features_of_the_training_part(self, data, parts, model):
        rows = data.X.iloc[parts.test]
        found = protocol.make_representation("data", model).fit(rows).transform(rows)
        assert_array_equal(found, protocol.make_preprocessor(["group"]).fit(data.X.iloc[parts.train]).transform(rows))

    def test_iteration_range_reaches_coverage_and_shap(self, model):
        for name, kind in [("coverage", LeafCoverage), ("shap", ShapValues)]:
            representation = protocol.make_representation(name, model, iteration_range=(0, 4))
            assert isinstance(representation, kind)
            assert representation.iteration_range == (0, 4)

    def test_coverage_has_256_components_at_most(self, model):
        assert protocol.make_representation("coverage", model).n_components == 256

    def test_unknown_representation_lists_what_there_is(self, model):
        with pytest.raises(ValueError, match=r"name is 'pixels'; expected one of \('coverage', 'shap', 'data'\)"):
            protocol.make_representation("pixels", model)
