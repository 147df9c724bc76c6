"""Standardised features against scikit-learn's scaler, with the names that the steps before the model give them."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, PolynomialFeatures, StandardScaler

from clustcal.representations import StandardizedFeatures

RNG = np.random.default_rng(0)
X = RNG.normal(3, 2, (60, 2))
Y = np.arange(60) % 2


def fitted(*steps, X=X):
    return make_pipeline(*steps, LogisticRegression()).fit(X, Y)


def test_without_a_model_they_are_the_columns():
    features = StandardizedFeatures().fit(X)
    np.testing.assert_allclose(features.transform(X), (X - X.mean(axis=0)) / X.std(axis=0))
    assert features.get_feature_names_out().tolist() == ["x0", "x1"]


def test_new_rows_are_measured_with_what_fit_saw():
    features = StandardizedFeatures().fit(X)
    np.testing.assert_allclose(features.transform(X[:3]), ((X - X.mean(axis=0)) / X.std(axis=0))[:3])


def test_of_a_pipeline_they_are_what_its_last_step_sees():
    model = fitted(PolynomialFeatures(include_bias=False))
    for given in (model, FrozenEstimator(model)):
        features = StandardizedFeatures(given).fit(X)
        seen = np.column_stack([X, X[:, 0] ** 2, X[:, 0] * X[:, 1], X[:, 1] ** 2])
        np.testing.assert_allclose(features.transform(X), (seen - seen.mean(axis=0)) / seen.std(axis=0))
        assert features.get_feature_names_out().tolist() == ["x0", "x1", "x0^2", "x0 x1", "x1^2"]


def test_weights_equal_repetition():
    counts = RNG.integers(0, 4, 60)
    weighted = StandardizedFeatures().fit(X, sample_weight=counts)
    np.testing.assert_allclose(weighted.transform(X), StandardizedFeatures().fit(X.repeat(counts, axis=0)).transform(X))


def test_sparse_features_stay_sparse():
    Z = StandardizedFeatures().fit_transform(sparse.csr_matrix(X))
    assert sparse.issparse(Z)
    np.testing.assert_allclose(Z.toarray(), X / X.std(axis=0))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_frames_keep_their_names(library):
    frame = pytest.importorskip(library).DataFrame({"age": X[:, 0], "size": X[:, 1]})
    features = StandardizedFeatures().fit(frame)
    assert features.get_feature_names_out().tolist() == ["age", "size"]
    np.testing.assert_allclose(features.transform(frame), StandardScaler().fit_transform(X))
    assert features.set_output(transform="pandas").transform(frame).columns.tolist() == ["age", "size"]
    assert features.fit(X).get_feature_names_out().tolist() == ["x0", "x1"]


def test_names_behind_a_column_transformer():
    frame = pd.DataFrame({"kind": np.array(["a", "b"])[Y], "size": X[:, 0]})
    columns = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
    features = StandardizedFeatures(fitted(columns, X=frame)).fit(frame)
    assert features.get_feature_names_out().tolist() == [
        "onehotencoder__kind_a",
        "onehotencoder__kind_b",
        "remainder__size",
    ]


def test_steps_without_names_give_numbered_features():
    features = StandardizedFeatures(fitted(FunctionTransformer(np.square))).fit(X)
    assert features.get_feature_names_out().tolist() == ["x0", "x1"]


def test_transform_before_fit_is_refused():
    for ask in (lambda one: one.transform(X), lambda one: one.get_feature_names_out()):
        with pytest.raises(NotFittedError):
            ask(StandardizedFeatures())


def test_a_clone_keeps_the_fitted_model():
    model = fitted(StandardScaler())
    assert clone(StandardizedFeatures(model)).model is model
