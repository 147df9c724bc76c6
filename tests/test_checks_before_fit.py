"""What a calibrated classifier refuses before it fits anything, and in which folds axes agree."""

import importlib.util
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomTreesEmbedding,
)
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, Normalizer, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.random_projection import GaussianRandomProjection

from clustcal import (
    BinwiseCalibration,
    CalibratedClassifier,
    ClusteredCalibration,
    ClusteredCalibrationCV,
    DirichletCalibration,
    LocalRecalibration,
    PlattScaling,
    RidgeCalibration,
    VectorScaling,
)
from clustcal.checks_before_fit import keeps_axes
from clustcal.representations import LeafCoverage, ShapValues, StandardizedFeatures

X, y = make_classification(200, n_features=6, n_informative=4, flip_y=0.2, random_state=0)
THREE = np.where(X[:, 0] > 1, 2, y)
CLUSTERED = ClusteredCalibration(n_clusters=2, temperature=0.1, random_state=0)
FOREST = RandomForestClassifier(5, max_depth=3, random_state=0)
FITTED = RandomForestClassifier(5, max_depth=3, random_state=0).fit(X, y)


@pytest.fixture(autouse=True)
def nothing_is_fitted(request, monkeypatch):
    """Every test that is marked so fails if an estimator is fitted in it."""
    if "refused" not in request.node.name:
        return
    for kind in (GaussianNB, RandomForestClassifier, LogisticRegression, HistGradientBoostingClassifier):

        def fit(self, *args, **kwargs):
            pytest.fail("fitted before the check")

        monkeypatch.setattr(kind, "fit", fit)


@pytest.mark.parametrize("ensemble", [True, False])
@pytest.mark.parametrize(
    "representation",
    [
        ShapValues(FITTED),
        LeafCoverage(FITTED, n_components=3),
        ShapValues(FrozenEstimator(FITTED)),
        StandardizedFeatures(make_pipeline(StandardScaler().fit(X), FITTED)),
        make_pipeline(LeafCoverage(FITTED, n_components=3), StandardScaler()),
        make_union(StandardScaler(), ShapValues(FITTED)),
        FrozenEstimator(LeafCoverage(FITTED, n_components=3).fit(X)),
        FunctionTransformer(FITTED.apply),
    ],
    ids=lambda one: type(one).__name__,
)
def test_a_fitted_model_in_the_representation_of_an_estimator_fitted_in_folds_is_refused(representation, ensemble):
    wrapped = CalibratedClassifier(FOREST, CLUSTERED, representation, cv=2, ensemble=ensemble)
    with pytest.raises(
        ValueError, match=r"representation holds a fitted .*expected .* without a model, .* or estimator"
    ):
        wrapped.fit(X, y)
    frozen = CalibratedClassifier(FrozenEstimator(FITTED), CLUSTERED, representation).fit(X, y)
    assert frozen.predict_proba(X).shape == (200, 2)


def test_of_a_list_the_member_to_blame_is_named_and_refused():
    for members, message in (
        (
            [ShapValues(), LeafCoverage(FITTED, 3)],
            r"representation\[1\] holds .*; expected LeafCoverage without a model",
        ),
        ([ShapValues(FITTED), LeafCoverage()], r"representation\[0\] holds .*; expected ShapValues without a model"),
    ):
        with pytest.raises(ValueError, match=message):
            CalibratedClassifier(FOREST, RidgeCalibration(), members, cv=2).fit(X, y)
    for members, message in (
        ([ShapValues(), LeafCoverage()], r"representation\[1\] is LeafCoverage, whose axes differ"),
        ([PCA(2), ShapValues()], r"representation\[0\] is PCA, whose axes differ"),
    ):
        with pytest.raises(ValueError, match=message):
            CalibratedClassifier(FOREST, RidgeCalibration(), members, cv=2, ensemble=False).fit(X, y)


def test_what_holds_no_model_is_taken():
    for representation in (ShapValues(), make_pipeline(ShapValues(), StandardScaler()), StandardScaler(), PCA(2)):
        assert CalibratedClassifier(FOREST, CLUSTERED, representation, cv=2).fit(X, y).predict_proba(X).shape == (
            200,
            2,
        )


@pytest.mark.parametrize(
    "model", [IsolationForest(), GaussianMixture(2), make_pipeline(StandardScaler(), IsolationForest())]
)
def test_what_gives_scores_of_something_else_is_refused(model):
    for estimator in (model, FrozenEstimator(model)):
        with pytest.raises(ValueError, match=r"estimator is a .*expected a classifier"):
            CalibratedClassifier(estimator).fit(X, y)


@pytest.mark.parametrize(
    ("calibrator", "message"),
    [
        (
            ClusteredCalibration(n_clusters=41),
            r"n_clusters is 41; expected .* from 1 to 40, the number of rows that a fold",
        ),
        (
            ClusteredCalibrationCV(n_clusters=(2, 33)),
            r"n_clusters is 33; expected a whole number from 1 to 32, .* 4 folds",
        ),
        (ClusteredCalibrationCV(cv=41), r"cv is 41; expected from 2 to 40 folds"),
        (PlattScaling(classes=[5, 6]), r"calibrator has the classes \[5, 6\]; expected none, or .*\[0, 1\]"),
        (PlattScaling(classes=[1, 0]), r"calibrator has the classes \[1, 0\]"),
        (ClusteredCalibration(PlattScaling(classes=["a", "b"])), r"calibrator has the classes \['a', 'b'\]"),
        (ClusteredCalibration(PlattScaling(classes=[0, 1]), classes=[1, 0]), "expected one order of the columns"),
        (PlattScaling(from_logits="x"), "from_logits is 'x'; expected True or False"),
        (ClusteredCalibration(PlattScaling(from_logits="x")), "from_logits is 'x'; expected True or False"),
        (ClusteredCalibration(random_state="a"), "random_state is 'a'"),
        (DirichletCalibration(l2=-1), "l2 is -1"),
    ],
    ids=str,
)
def test_a_calibrator_that_cannot_serve_is_refused(calibrator, message):
    wrapped = CalibratedClassifier(GaussianNB(), calibrator, "data")
    with pytest.raises(ValueError, match=message):
        wrapped.fit(X, y)
    with pytest.raises(NotFittedError):
        wrapped.predict(X)


@pytest.mark.parametrize(
    "calibrator",
    [
        PlattScaling(),
        ClusteredCalibration(PlattScaling()),
        BinwiseCalibration(kind="positive"),
        LocalRecalibration(kind="positive"),
    ],
    ids=str,
)
def test_calibrators_of_two_classes_are_refused_for_three(calibrator):
    with pytest.raises(ValueError, match=r"P has 3 columns"):
        CalibratedClassifier(GaussianNB(), calibrator, "data").fit(X, THREE)


@pytest.mark.parametrize("labels", [[0, "1"] * 100, tuple(["no", True] * 100)])
def test_labels_of_text_beside_others_are_refused(labels):
    with pytest.raises(ValueError, match="y mixes strings and other types"):
        CalibratedClassifier(GaussianNB()).fit(X, labels)


WORDS = pd.DataFrame({"size": X[:, 0], "kind": np.array(["a", "b", "c"])[np.arange(200) % 3]})
CATEGORIES = WORDS.assign(kind=pd.Categorical(WORDS["kind"]))


class Anything(BaseEstimator):
    """A classifier that takes rows of every kind."""

    classes_ = np.array([0, 1])

    def predict_proba(self, X):
        return np.full((len(X), 2), 0.5)


class TestRowsThatTheDefaultCannotTake:
    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            (WORDS, "column 'kind' of"),
            (CATEGORIES, "column 'kind' of category"),
            (WORDS.to_numpy(), "values that are no numbers"),
            (WORDS["kind"].tolist(), "1 dimensions"),
            (np.where(X > 2, np.nan, X), "NaN or infinite values"),
        ],
        ids=["words", "categories", "array", "texts", "NaN"],
    )
    def test_refused_for_standardised_features(self, rows, message):
        for representation in (None, "data", StandardizedFeatures()):
            with pytest.raises(ValueError, match=f"X (has|holds) .*{message}.*StandardizedFeatures cannot standardise"):
                CalibratedClassifier(Anything(), CLUSTERED, representation).fit(rows, y)

    @pytest.mark.parametrize(
        "options", [{}, {"categorical_features": ["kind"]}, {"categorical_features": [False, True]}]
    )
    def test_refused_for_shap_values_of_histogram_boosting(self, options):
        pytest.importorskip("shap")
        model = HistGradientBoostingClassifier(max_iter=3, **options)
        with pytest.raises(ValueError, match="with categorical features, of which the package shap gives wrong values"):
            CalibratedClassifier(model, CLUSTERED).fit(CATEGORIES, y)

    def test_of_histogram_boosting_the_values_are_wrong_indeed(self):
        shap = pytest.importorskip("shap")
        rows = np.column_stack([X[:, 0], np.arange(200) % 3])
        model = HistGradientBoostingClassifier(max_iter=10, categorical_features=[1]).fit(rows, y ^ (rows[:, 1] == 1))
        explainer = shap.TreeExplainer(model, feature_perturbation="tree_path_dependent")
        sums = explainer.shap_values(rows).sum(axis=1) + explainer.expected_value
        assert np.abs(sums - model.decision_function(rows)).max() > 0.01  # if not, they may be allowed
        with pytest.raises(ValueError, match="shap gives wrong values"):
            ShapValues(model).fit(rows)

    def test_behind_an_encoder_all_is_well(self):
        pytest.importorskip("shap")
        encoder = make_column_transformer((OrdinalEncoder(), ["kind"]), remainder="passthrough")
        for model in (HistGradientBoostingClassifier(max_iter=3), LogisticRegression()):
            wrapped = CalibratedClassifier(make_pipeline(encoder, model), CLUSTERED, cv=2).fit(CATEGORIES, y)
            assert wrapped.predict_proba(CATEGORIES).shape == (200, 2)

    def test_numbers_in_every_dress_are_numbers(self):
        for rows in (X.astype(object), pd.DataFrame(X).astype("Float64"), pd.DataFrame(X > 0), X.tolist()):
            assert CalibratedClassifier(Anything(), CLUSTERED).fit(rows, y).predict_proba(rows).shape == (200, 2)


class TestModelsAndPackages:
    @pytest.mark.parametrize("representation", [ShapValues(), LeafCoverage()])
    def test_models_without_trees_are_refused(self, representation):
        with pytest.raises(ValueError, match="model is a LogisticRegression"):
            CalibratedClassifier(LogisticRegression(), CLUSTERED, representation).fit(X, y)

    @pytest.mark.parametrize(
        ("representation", "message"),
        [
            (ShapValues(method="exact"), "method is 'exact'"),
            (ShapValues(iteration_range=(0, 2)), "iteration_range is given"),
            (LeafCoverage(n_components=0), "n_components is 0"),
            (LeafCoverage(random_state="a"), "random_state is 'a'"),
            (make_pipeline(LeafCoverage(n_components=0), StandardScaler()), "n_components is 0"),
        ],
        ids=str,
    )
    def test_bad_parameters_of_a_representation_are_refused(self, representation, message):
        with pytest.raises(ValueError, match=message):
            CalibratedClassifier(FOREST, CLUSTERED, representation).fit(X, y)

    def test_a_missing_package_is_named_with_what_brings_it_and_refused(self, monkeypatch):
        find = importlib.util.find_spec
        hide = lambda name, *rest: None if name in ("shap", "woodelf") else find(name, *rest)
        monkeypatch.setattr("clustcal.representations.shap_values.find_spec", hide)
        with pytest.raises(
            ImportError,
            match=r"^ShapValues of a HistGradientBoostingClassifier needs the package shap: .*"
            r"clustcal\[trees\]'\.$",
        ):
            CalibratedClassifier(HistGradientBoostingClassifier(), CLUSTERED).fit(X, y)
        xgboost = pytest.importorskip("xgboost")
        model = xgboost.XGBClassifier(n_estimators=2)
        with pytest.raises(ImportError, match=r"woodelf-explainer: pip install 'clustcal\[trees\]'"):
            CalibratedClassifier(model, CLUSTERED, ShapValues(method="woodelf")).fit(X, y)


def test_early_stopping_without_rows_to_stop_by_is_refused_and_with_them_serves():
    """scikit-learn's CalibratedClassifierCV hands on what XGBoost says in the middle of a fold."""
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBClassifier(n_estimators=20, early_stopping_rounds=2, n_jobs=1)
    for estimator in (model, make_pipeline(StandardScaler(), model)):
        with pytest.raises(ValueError, match=r"XGBClassifier with early_stopping_rounds.*FrozenEstimator"):
            CalibratedClassifier(estimator, cv=2).fit(X, y)
    wrapped = CalibratedClassifier(model, cv=2).fit(X[50:], y[50:], eval_set=[(X[:50], y[:50])], verbose=False)
    assert wrapped.predict_proba(X).shape == (200, 2)
    frozen = FrozenEstimator(model.fit(X[50:], y[50:], eval_set=[(X[:50], y[:50])], verbose=False))
    assert CalibratedClassifier(frozen, CLUSTERED).fit(X[:50], y[:50]).predict_proba(X).shape == (200, 2)


@pytest.mark.parametrize("ensemble", [True, False])
@pytest.mark.parametrize("in_pipeline", [False, True])
def test_a_fitted_model_that_stopped_early_is_refitted_with_the_rounds_that_it_kept(in_pipeline, ensemble):
    xgboost = pytest.importorskip("xgboost")
    model = xgboost.XGBClassifier(n_estimators=100, early_stopping_rounds=2, n_jobs=1)
    model.fit(X[50:], y[50:], eval_set=[(X[:50], y[:50])], verbose=False)
    kept = model.best_iteration + 1
    estimator = Pipeline([("scale", StandardScaler()), ("trees", model)]) if in_pipeline else model
    fitted = CalibratedClassifier(estimator, cv=2, ensemble=ensemble).fit(X, y)
    for member in fitted.calibrated_classifiers_:
        refitted = member.estimator[-1] if in_pipeline else member.estimator
        assert refitted.get_booster().num_boosted_rounds() == kept < 100
    assert model.early_stopping_rounds == 2  # what was given stays as it was


class Rotation(TransformerMixin, BaseEstimator):
    """Principal components that go by the names of the features."""

    def fit(self, X, y=None):
        self.pca_ = PCA().fit(X)
        self.n_features_in_ = X.shape[1]
        return self

    def transform(self, X):
        return self.pca_.transform(X)


class NamedRotation(Rotation):
    def get_feature_names_out(self, input_features=None):
        return np.array([f"x{j}" for j in range(self.n_features_in_)], dtype=object)


class Shift(Rotation):
    """A step of one's own that says that it keeps the columns."""

    axes_are_features = True

    def transform(self, X):
        return X - self.pca_.mean_


KEEPS = [
    StandardScaler(),
    SimpleImputer(),
    SelectKBest(k=2),
    Normalizer(),
    OneHotEncoder(),
    FunctionTransformer(np.abs),
    Shift(),
    FrozenEstimator(PCA().fit(X)),
    make_pipeline(StandardScaler(), SelectKBest(k=3)),
    make_union(StandardScaler(), SimpleImputer()),
    make_column_transformer((StandardScaler(), [0, 1]), remainder="passthrough"),
    CountVectorizer(),
    TfidfVectorizer(),
    "passthrough",
    None,
]
TURNS = [
    PCA(2),
    RandomTreesEmbedding(3, max_depth=2),
    GaussianRandomProjection(3),
    Rotation(),
    NamedRotation(),
    make_pipeline(StandardScaler(), PCA(2)),
    make_union(StandardScaler(), PCA(2)),
    make_column_transformer((PCA(1), [0, 1]), remainder="passthrough"),
    make_column_transformer((StandardScaler(), [0, 1]), remainder=PCA(1)),
]


class TestAxesOfFolds:
    @pytest.mark.parametrize("step", KEEPS, ids=str)
    def test_steps_whose_columns_are_named_after_columns_keep_the_axes(self, step):
        assert keeps_axes(step)

    @pytest.mark.parametrize("step", TURNS, ids=str)
    def test_pipelines_with_axes_of_their_own_are_refused(self, step):
        assert not keeps_axes(step)
        wrapped = CalibratedClassifier(make_pipeline(step, LogisticRegression()), CLUSTERED, cv=2, ensemble=False)
        with pytest.raises(ValueError, match=r"StandardizedFeatures behind .*whose axes differ from fold to fold"):
            wrapped.fit(X, y)

    @pytest.mark.parametrize("step", [PCA(2), Rotation()])
    def test_what_is_refused_would_mix_axes_up(self, step):
        """In two halves of the rows the first axis of a rotation is another one; that of a scaler is the same."""
        halves = [type(step)().fit(X[rows]).transform(X) for rows in (slice(100), slice(100, 200))]
        assert min(abs(np.corrcoef(halves[0][:, j], halves[1][:, j])[0, 1]) for j in range(6)) < 0.9
        halves = [StandardScaler().fit(X[rows]).transform(X) for rows in (slice(100), slice(100, 200))]
        assert min(np.corrcoef(halves[0][:, j], halves[1][:, j])[0, 1] for j in range(6)) > 0.999

    @pytest.mark.parametrize(
        "model",
        [
            make_pipeline(StandardScaler(), LogisticRegression()),
            make_pipeline(Shift(), LogisticRegression()),
            GridSearchCV(make_pipeline(PCA(2), LogisticRegression()), {"pca__n_components": [1, 2]}, cv=2),
            LogisticRegression(),
        ],
        ids=["scaled", "own", "search", "plain"],
    )
    def test_others_are_calibrated_with_one_model(self, model):
        wrapped = CalibratedClassifier(model, CLUSTERED, "data", cv=2, ensemble=False).fit(X, y)
        assert wrapped.predict_proba(X).shape == (200, 2)
        assert wrapped.calibrator_.centroids_.shape == (2, 6)

    def test_a_transformer_that_sees_no_model_has_one_set_of_axes(self):
        wrapped = CalibratedClassifier(GaussianNB(), CLUSTERED, PCA(2), cv=2, ensemble=False).fit(X, y)
        np.testing.assert_allclose(
            np.abs(wrapped.representation_.transform(X)), np.abs(PCA(2).fit(X).transform(X)), atol=1e-9
        )


class TestFitsThatFail:
    class Failing(GaussianNB):
        fits: ClassVar = []

        def fit(self, X, y):
            self.fits.append(len(y))
            if len(self.fits) > 1:
                raise MemoryError
            return super().fit(X, y)

    @pytest.mark.parametrize("ensemble", [True, False])
    def test_half_way_leave_no_attribute(self, ensemble):
        self.Failing.fits.clear()
        wrapped = CalibratedClassifier(self.Failing(), CLUSTERED, cv=2, ensemble=ensemble)
        with pytest.raises(MemoryError):
            wrapped.fit(X, y)
        assert [name for name in vars(wrapped) if name.endswith("_")] == []

    def test_half_way_leave_the_earlier_classifier(self):
        wrapped = CalibratedClassifier(GaussianNB(), cv=2).fit(X, y)
        before = dict(vars(wrapped))
        wrapped.estimator = self.Failing()
        self.Failing.fits[:] = [0]
        with pytest.raises(MemoryError):
            wrapped.fit(X, np.array(["no", "yes"])[y])
        assert dict(vars(wrapped)) == before | {"estimator": wrapped.estimator}


def test_neighbours_serve_too():
    assert CalibratedClassifier(KNeighborsClassifier(), VectorScaling(), cv=2).fit(X, THREE).classes_.tolist() == [
        0,
        1,
        2,
    ]
