"""Representations of weighted rows: a weight of 2 is two rows, for every transformer."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from clustcal import CalibratedClassifier, ClusteredCalibration
from clustcal.fold_representations import SideBySide, fit_and_transform, fit_representation
from clustcal.representations import LeafCoverage, ShapValues, StandardizedFeatures

X, y = make_classification(240, n_features=6, n_informative=4, flip_y=0.2, random_state=0)
WEIGHTS = np.random.default_rng(0).integers(0, 4, 240)
ROWS = np.repeat(np.arange(240), WEIGHTS)
FOREST = RandomForestClassifier(6, max_depth=3, random_state=0).fit(X, y)
CLUSTERED = ClusteredCalibration(n_clusters=2, temperature=0.1, random_state=0)
REPRESENTATIONS = [
    StandardizedFeatures(),
    StandardScaler(),
    PCA(3, svd_solver="full"),
    LeafCoverage(FOREST, n_components=5, random_state=0),
    make_pipeline(LeafCoverage(FOREST, n_components=5, random_state=0), StandardScaler()),
    make_pipeline(StandardScaler(), PCA(2, svd_solver="full")),
    ShapValues(FOREST),
    FunctionTransformer(np.square),
    SideBySide.of([StandardizedFeatures(), PCA(3, svd_solver="full"), ShapValues(FOREST)]),
]


@pytest.mark.parametrize("representation", REPRESENTATIONS, ids=lambda one: type(one).__name__)
@pytest.mark.filterwarnings("error::UserWarning")
def test_a_weight_of_2_is_two_rows(representation):
    repeated = fit_and_transform(representation, X[ROWS], None)
    weighted = fit_and_transform(representation, X, WEIGHTS.astype(float))
    assert weighted.shape == (240, repeated.shape[1])
    np.testing.assert_allclose(np.abs(weighted[ROWS]), np.abs(repeated), atol=1e-6)


@pytest.mark.parametrize("representation", [*REPRESENTATIONS[:4], None], ids=lambda one: type(one).__name__)
def test_the_calibrated_classifier_says_the_same_of_weighted_and_of_repeated_rows(representation):
    wrapped = CalibratedClassifier(FrozenEstimator(FOREST), CLUSTERED, representation)
    Q = wrapped.fit(X, y, sample_weight=WEIGHTS).predict_proba(X)
    np.testing.assert_allclose(Q, wrapped.fit(X[ROWS], y[ROWS]).predict_proba(X), atol=1e-6)


@pytest.mark.parametrize("weights", [WEIGHTS + 0.5, WEIGHTS * 1e9], ids=["fractions", "large"])
def test_rows_that_cannot_be_repeated_count_once_with_a_warning(weights):
    with pytest.warns(UserWarning, match="PCA takes no sample_weight"):
        pca = fit_representation(PCA(2), X, weights)
    np.testing.assert_allclose(pca.mean_, X[weights > 0].mean(axis=0))


def test_one_that_learns_nothing_from_rows_needs_no_repetition():
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        fit_representation(ShapValues(FOREST), X, WEIGHTS + 0.5)
        fit_representation(StandardizedFeatures(), X, WEIGHTS + 0.5)


def test_each_of_a_list_takes_weights_in_its_own_way():
    """Whoever learns nothing from rows needs no warning, and whoever takes weights gets them, fractions as well."""
    weights = WEIGHTS + 0.5
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        fitted = fit_representation(SideBySide.of([ShapValues(FOREST), StandardizedFeatures()]), X, weights)
    expected = StandardizedFeatures().fit(X, sample_weight=weights).transform(X)
    np.testing.assert_array_equal(fitted.transform(X), np.hstack([ShapValues(FOREST).fit_transform(X), expected]))
    with pytest.warns(UserWarning, match="^PCA takes no sample_weight") as found:
        fit_representation(SideBySide.of([ShapValues(FOREST), PCA(2)]), X, weights)
    assert len(found) == 1
