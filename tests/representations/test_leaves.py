"""LeafCoverage against scikit-learn's TF-IDF and the leaves that the models tell."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.tree import DecisionTreeClassifier

from clustcal.representations import LeafCoverage
from tests.representations.tree_data import N_TREES, fit_xgboost, make_data

xgboost = pytest.importorskip("xgboost")


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
