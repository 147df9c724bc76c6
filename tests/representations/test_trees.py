"""LeafCoverage and ShapValues against scikit-learn's TF-IDF, the models' own margins, and each other."""

import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from clustcal.representations import LeafCoverage, ShapValues, trees

xgboost = pytest.importorskip("xgboost")

N_TREES = 12


def make_data(n_classes=2, seed=0, n=400):
    X, y = make_classification(
        n_samples=n, n_features=6, n_informative=4, n_classes=n_classes, flip_y=0.2, random_state=seed
    )
    return X, y


def fit_xgboost(X, y, **parameters):
    parameters = {"n_estimators": N_TREES, "max_depth": 4, "n_jobs": 1, "random_state": 0} | parameters
    return xgboost.XGBClassifier(**parameters).fit(X, y)


@pytest.fixture(scope="module")
def data():
    return make_data()


@pytest.fixture(scope="module")
def model(data):
    return fit_xgboost(*data)


@pytest.fixture(scope="module")
def three_class_model():
    return fit_xgboost(*make_data(n_classes=3))


class TestLeafCoverage:
    @pytest.mark.parametrize(
        ("classifier", "n_classes", "n_trees"),
        [
            (RandomForestClassifier(7, max_depth=4, random_state=0), 2, 7),
            (RandomForestClassifier(7, max_depth=4, random_state=0), 3, 7),
            (ExtraTreesClassifier(7, max_depth=4, random_state=0), 3, 7),
            (GradientBoostingClassifier(n_estimators=5, random_state=0), 2, 5),
            (GradientBoostingClassifier(n_estimators=5, random_state=0), 3, 15),
            (DecisionTreeClassifier(max_depth=4, random_state=0), 3, 1),
            (xgboost.XGBClassifier(n_estimators=5, max_depth=4, n_jobs=1), 2, 5),
            (xgboost.XGBClassifier(n_estimators=5, max_depth=4, n_jobs=1), 3, 15),
            (xgboost.XGBRFClassifier(n_estimators=5, max_depth=4, n_jobs=1), 2, 5),
        ],
    )
    def test_a_row_has_exactly_one_one_per_tree(self, classifier, n_classes, n_trees):
        X, y = make_data(n_classes)
        one_hot = LeafCoverage(classifier.fit(X, y), n_components=3).fit(X).one_hot(X)
        assert sparse.issparse(one_hot)
        assert one_hot.format == "csr"
        np.testing.assert_array_equal(one_hot.data, 1)
        np.testing.assert_array_equal(np.diff(one_hot.indptr), n_trees)
        np.testing.assert_array_equal(one_hot.sum(axis=1), n_trees)

    @pytest.mark.parametrize(
        "classifier",
        [RandomForestClassifier(3, random_state=0), GradientBoostingClassifier(n_estimators=3, random_state=0)],
    )
    def test_a_frame_that_the_model_was_fitted_on_gives_no_warning(self, data, classifier):
        """Boosting hands a frame on to trees that were fitted without names, each of which warns of them."""
        X, y = data
        frame = pd.DataFrame(X).add_prefix("f")
        model = classifier.fit(frame, y)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            leaves = LeafCoverage(model, n_components=3).fit(frame).leaves(frame)
        np.testing.assert_array_equal(leaves, clone(classifier).fit(X, y).apply(X).reshape(leaves.shape))

    def test_boosting_refuses_a_frame_with_its_columns_in_another_order(self, data):
        X, y = data
        frame = pd.DataFrame(X).add_prefix("f")
        coverage = LeafCoverage(GradientBoostingClassifier(n_estimators=3).fit(frame, y), n_components=3).fit(frame)
        with pytest.raises(ValueError, match="feature names"):
            coverage.leaves(frame[frame.columns[::-1]])

    def test_rows_share_a_column_exactly_where_they_share_a_leaf(self, data, model):
        X, _ = data
        one_hot = LeafCoverage(model, n_components=3).fit(X).one_hot(X)
        leaves = model.apply(X)
        shared = (leaves[:, None, :] == leaves[None, :, :]).sum(axis=2)
        np.testing.assert_array_equal((one_hot @ one_hot.T).toarray(), shared)

    def test_leaves_are_those_the_model_tells(self, data, model):
        X, _ = data
        np.testing.assert_array_equal(LeafCoverage(model, n_components=3).fit(X).leaves(X), model.apply(X))

    def test_idf_is_scikit_learns_smooth_idf(self, data, model):
        X, _ = data
        coverage = LeafCoverage(model, n_components=3).fit(X)
        tfidf = TfidfTransformer(smooth_idf=True).fit(coverage.one_hot(X).astype(float))
        np.testing.assert_allclose(coverage.idf_, tfidf.idf_, rtol=1e-12)

    def test_idf_by_hand(self):
        # One split at 0 sends one of four rows to one leaf and three to the other.
        X, y = np.array([[-1.0], [1.0], [2.0], [3.0]]), np.array([0, 1, 1, 1])
        coverage = LeafCoverage(DecisionTreeClassifier().fit(X, y), n_components=2).fit(X)
        np.testing.assert_allclose(coverage.idf_, [np.log(5 / 2) + 1, np.log(5 / 4) + 1])

    def test_embedding_is_the_truncated_svd_of_tfidf(self, data, model):
        X, _ = data
        coverage = LeafCoverage(model, n_components=5, random_state=0)
        Z = coverage.fit_transform(X)
        tfidf = TfidfTransformer().fit_transform(coverage.one_hot(X).astype(float))
        reference = TruncatedSVD(5, algorithm="arpack").fit_transform(tfidf)
        np.testing.assert_allclose(Z @ Z.T, reference @ reference.T, atol=2e-3)

    def test_full_embedding_keeps_cosines_of_tfidf(self, data, model):
        X, _ = data
        coverage = LeafCoverage(model, n_components=1000, random_state=0)
        Z = coverage.fit_transform(X)
        tfidf = TfidfTransformer().fit_transform(coverage.one_hot(X).astype(float))
        np.testing.assert_allclose(Z @ Z.T, (tfidf @ tfidf.T).toarray(), atol=1e-5)

    def test_transform_of_the_calibration_rows_is_fit_transform(self, data, model):
        X, _ = data
        coverage = LeafCoverage(model, n_components=5, random_state=0)
        np.testing.assert_allclose(coverage.fit_transform(X), coverage.transform(X), atol=1e-6)

    def test_output_is_dense_float64(self, data, model):
        X, _ = data
        Z = LeafCoverage(model, n_components=5).fit(X).transform(X[:7])
        assert isinstance(Z, np.ndarray)
        assert Z.dtype == np.float64
        assert Z.shape == (7, 5)

    @pytest.mark.parametrize("n_rows", [5, 400])
    def test_components_are_capped_by_rows_and_leaves(self, data, model, n_rows):
        X, _ = data
        coverage = LeafCoverage(model, n_components=10_000, random_state=0)
        Z = coverage.fit_transform(X[:n_rows])
        assert coverage.n_components_ == Z.shape[1] == min(n_rows, coverage.n_leaves_)

    def test_leaves_unseen_at_fit_are_left_out(self, data, model):
        X, _ = data
        coverage = LeafCoverage(model, n_components=3).fit(X[:20])
        seen = [set(column) for column in model.apply(X[:20]).T]
        expected = [sum(leaf in known for leaf, known in zip(row, seen, strict=True)) for row in model.apply(X)]
        assert min(expected) < N_TREES  # else this test would say nothing
        np.testing.assert_array_equal(np.diff(coverage.one_hot(X).indptr), expected)

    def test_row_with_no_known_leaf_is_embedded_at_zero(self):
        X, y = np.array([[-1.0], [1.0], [2.0], [3.0]] * 3), np.array([0, 1, 2, 3] * 3)
        coverage = LeafCoverage(DecisionTreeClassifier().fit(X, y), n_components=2).fit(X[[0, 1, 2]])
        np.testing.assert_array_equal(coverage.transform([[3.0]]), [[0.0, 0.0]])

    @given(st.integers(1, N_TREES))
    @settings(max_examples=5)
    def test_iteration_range_of_xgboost_is_that_of_apply(self, data, model, end):
        X, _ = data
        coverage = LeafCoverage(model, n_components=3, iteration_range=(0, end)).fit(X)
        np.testing.assert_array_equal(
            coverage.leaves(X).reshape(len(X), -1), model.apply(X, (0, end)).reshape(len(X), -1)
        )

    def test_first_rounds_are_a_separately_trained_smaller_model(self, data, model):
        X, y = data
        smaller = fit_xgboost(X, y, n_estimators=4)
        Z = LeafCoverage(model, 3, iteration_range=(0, 4), random_state=0).fit_transform(X)
        np.testing.assert_array_equal(Z, LeafCoverage(smaller, 3, random_state=0).fit_transform(X))

    def test_iteration_range_may_start_later(self, data, model):
        X, _ = data
        coverage = LeafCoverage(model, n_components=3, iteration_range=(3, 7)).fit(X)
        np.testing.assert_array_equal(coverage.leaves(X), model.apply(X)[:, 3:7])

    def test_iteration_range_of_a_forest_picks_trees(self, data):
        X, y = data
        forest = RandomForestClassifier(6, max_depth=3, random_state=0).fit(X, y)
        coverage = LeafCoverage(forest, n_components=3, iteration_range=(1, 4)).fit(X)
        np.testing.assert_array_equal(coverage.leaves(X), forest.apply(X)[:, 1:4])

    def test_iteration_range_of_multiclass_boosting_picks_rounds(self):
        X, y = make_data(3)
        boosting = GradientBoostingClassifier(n_estimators=4, random_state=0).fit(X, y)
        coverage = LeafCoverage(boosting, n_components=3, iteration_range=(0, 2)).fit(X)
        np.testing.assert_array_equal(coverage.leaves(X), boosting.apply(X)[:, :2].reshape(len(X), -1))

    def test_early_stopping_keeps_the_best_rounds_only(self, data):
        X, y = data
        stopped = xgboost.XGBClassifier(n_estimators=200, early_stopping_rounds=2, n_jobs=1)
        stopped.fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])], verbose=False)
        assert LeafCoverage(stopped, n_components=3).fit(X).leaves(X).shape[1] == stopped.best_iteration + 1

    def test_same_random_state_gives_the_same_embedding(self, data, model):
        X, _ = data
        one, other = (LeafCoverage(model, 4, random_state=3).fit_transform(X) for _ in range(2))
        np.testing.assert_array_equal(one, other)

    def test_refit_forgets_the_earlier_model(self, data, model):
        X, y = data
        narrow = fit_xgboost(X[:, :4], y)
        coverage = LeafCoverage(model, 3, random_state=0).fit(X)
        Z = coverage.set_params(model=narrow).fit_transform(X[:, :4])
        np.testing.assert_array_equal(Z, LeafCoverage(narrow, 3, random_state=0).fit_transform(X[:, :4]))

    def test_names_number_the_components(self, data, model):
        X, _ = data
        names = LeafCoverage(model, n_components=2).fit(X).get_feature_names_out()
        assert names.tolist() == ["leafcoverage0", "leafcoverage1"]

    def test_histogram_boosting_is_refused(self, data):
        X, y = data
        boosting = HistGradientBoostingClassifier(max_iter=3).fit(X, y)
        with pytest.raises(ValueError, match="HistGradientBoostingClassifier, which has no public way to tell leaves"):
            LeafCoverage(boosting).fit(X)

    @pytest.mark.parametrize("n_components", [0, 2.5, "all"])
    def test_n_components_is_checked(self, data, model, n_components):
        with pytest.raises(ValueError, match=f"n_components is {n_components!r}"):
            LeafCoverage(model, n_components=n_components).fit(data[0])

    def test_a_single_leaf_is_refused(self, data):
        X, _ = data
        stump = DecisionTreeClassifier().fit(X, np.zeros(len(X)))
        with pytest.raises(ValueError, match="to one leaf"):
            LeafCoverage(stump).fit(X)


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
        monkeypatch.setattr(trees, "WOODELF_MIN_ROWS", 100)
        choose = lambda rows: trees._check_xgboost_method(model, rows, "auto")
        assert choose(data[0][:100]) == "xgboost"
        assert choose(data[0][:101]) == "woodelf"

    def test_auto_does_without_woodelf_where_it_is_not_installed(self, data, model, monkeypatch):
        monkeypatch.setattr(trees, "WOODELF_MIN_ROWS", 0)
        monkeypatch.setattr(trees, "find_spec", lambda name: None)
        assert trees._check_xgboost_method(model, data[0], "auto") == "xgboost"

    @pytest.mark.parametrize(
        "parameters", [{"max_depth": 0}, {"max_depth": 13}, {"booster": "dart"}, {"missing": -1.0}]
    )
    def test_auto_does_without_woodelf_where_it_does_not_serve(self, data, parameters, monkeypatch):
        monkeypatch.setattr(trees, "WOODELF_MIN_ROWS", 0)
        model = fit_xgboost(*data, **parameters)
        assert trees._check_xgboost_method(model, data[0], "auto") == "xgboost"
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
        assert trees._woodelf_obstacle(model, frame) == "categorical features"

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
        with pytest.raises(ValueError, match="only XGBoost's SHAP values can use it"):
            ShapValues(forest, iteration_range=(0, 2)).fit(data[0])


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
