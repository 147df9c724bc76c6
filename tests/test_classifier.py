"""The wrapper as scikit-learn's users meet it: its checks, its tools, and the reports of users of other wrappers."""

import pickle
import warnings
from collections import deque
from typing import ClassVar

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
)
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, KFold, PredefinedSplit, ShuffleSplit, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from clustcal import (
    BetaCalibration,
    CalibratedClassifier,
    ClusteredCalibration,
    PlattScaling,
    TemperatureScaling,
    VectorScaling,
)
from clustcal.calibrators.base import Calibrator
from clustcal.calibrators.clustered_cv import ClusteredCalibrationCV
from clustcal.calibrators.histogram import HistogramBinning
from clustcal.calibrators.isotonic import IsotonicCalibration
from clustcal.representations import LeafCoverage, ShapValues, StandardizedFeatures, default_representation

X, y = make_classification(900, n_features=6, n_informative=4, flip_y=0.2, random_state=0)
TRAIN, CALIBRATE, TEST = slice(300), slice(300, 600), slice(600, 900)
MODEL = GaussianNB().fit(X[TRAIN], y[TRAIN])
FOREST = RandomForestClassifier(20, max_depth=4, random_state=0).fit(X[TRAIN], y[TRAIN])
CLUSTERED = ClusteredCalibration(n_clusters=2, temperature=0.1, random_state=0)


# The checks fit to a dozen random rows, which the scores often separate: the warning is right.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [
        CalibratedClassifier(LogisticRegression(), cv=3),
        CalibratedClassifier(LogisticRegression(), VectorScaling(), cv=2, ensemble=False),
        CalibratedClassifier(LinearSVC(), cv=3),
        CalibratedClassifier(LogisticRegression(), IsotonicCalibration(), "data", cv=3),
        CalibratedClassifier(
            LogisticRegression(),
            ClusteredCalibration(VectorScaling(), random_state=0),
            "data",
            cv=3,
            ensemble=False,
        ),
        CalibratedClassifier(
            LogisticRegression(), ClusteredCalibration(TemperatureScaling(), n_clusters=2, random_state=0), cv=2
        ),
    ]
)
def test_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


class TestPrefit:
    def test_it_is_the_calibrator_on_the_probabilities_of_the_model(self):
        wrapped = CalibratedClassifier(FrozenEstimator(MODEL), BetaCalibration()).fit(X[CALIBRATE], y[CALIBRATE])
        by_hand = BetaCalibration().fit(MODEL.predict_proba(X[CALIBRATE]), y[CALIBRATE])
        np.testing.assert_array_equal(
            wrapped.predict_proba(X[TEST]), by_hand.predict_proba(MODEL.predict_proba(X[TEST]))
        )

    def test_the_model_is_left_as_it_was(self):
        wrapped = CalibratedClassifier(FrozenEstimator(MODEL)).fit(X[CALIBRATE], y[CALIBRATE])
        assert wrapped.estimator_ is MODEL

    def test_folds_of_a_frozen_model_are_one_fit_to_all_rows(self):
        plain = CalibratedClassifier(FrozenEstimator(MODEL)).fit(X[CALIBRATE], y[CALIBRATE])
        folds = CalibratedClassifier(FrozenEstimator(MODEL), cv=4).fit(X[CALIBRATE], y[CALIBRATE])
        np.testing.assert_allclose(folds.predict_proba(X[TEST]), plain.predict_proba(X[TEST]), atol=1e-12)

    def test_a_clone_keeps_the_fitted_model(self):
        wrapped = clone(CalibratedClassifier(FrozenEstimator(MODEL), BetaCalibration()))
        assert wrapped.estimator.estimator is MODEL
        assert not hasattr(wrapped, "calibrator_")
        assert clone(CalibratedClassifier(MODEL)).estimator is not MODEL

    def test_a_model_that_is_not_fitted_is_refused(self):
        with pytest.raises(NotFittedError, match="frozen but not fitted"):
            CalibratedClassifier(FrozenEstimator(GaussianNB())).fit(X[CALIBRATE], y[CALIBRATE])

    def test_labels_that_the_model_does_not_know_are_refused(self):
        with pytest.raises(ValueError, match="label 7"):
            CalibratedClassifier(FrozenEstimator(MODEL)).fit(X[CALIBRATE], np.where(y[CALIBRATE] == 1, 7, 0))


class TestFolds:
    def test_the_calibrator_sees_rows_held_out_and_the_model_all_rows(self):
        folds = KFold(4)
        wrapped = CalibratedClassifier(GaussianNB(), cv=folds, ensemble=False).fit(X, y)
        P = cross_val_predict(GaussianNB(), X, y, cv=folds, method="predict_proba")
        by_hand = PlattScaling().fit(P, y)
        np.testing.assert_allclose(wrapped.calibrator_.theta_, by_hand.theta_, atol=1e-12)
        np.testing.assert_allclose(wrapped.predict_scores(X), GaussianNB().fit(X, y).predict_proba(X), atol=1e-12)

    @pytest.mark.parametrize("cv", [ShuffleSplit(3, random_state=0), PredefinedSplit(np.r_[-1, np.arange(899) % 3])])
    def test_rows_must_be_held_out_once(self, cv):
        with pytest.raises(ValueError, match="each row to be held out once"):
            CalibratedClassifier(GaussianNB(), cv=cv).fit(X, y)

    def test_entries_for_an_estimator_that_is_not_fitted_are_refused(self):
        with pytest.raises(ValueError, match="note"):
            CalibratedClassifier(FrozenEstimator(MODEL)).fit(X, y, note=1)

    @pytest.mark.parametrize(("cv", "message"), [("prefit", "FrozenEstimator"), (1, "cv is 1"), (901, "cv is 901")])
    def test_bad_folds_are_named(self, cv, message):
        with pytest.raises(ValueError, match=message):
            CalibratedClassifier(GaussianNB(), cv=cv).fit(X, y)

    def test_entries_of_fit_params_are_cut_into_folds(self):
        class Recorder(GaussianNB):
            def fit(self, X, y, note=None, option=None):
                assert len(note) == len(X)
                assert option == "whole"
                np.testing.assert_array_equal(note, X[:, 0])
                return super().fit(X, y)

        CalibratedClassifier(Recorder(), cv=3).fit(X, y, note=X[:, 0], option="whole")


class Witness(GaussianNB):
    """A model that writes down the numbers of the rows it is fitted to: they stand in the last column."""

    seen: ClassVar = deque()

    def fit(self, X, y):
        self.rows = set(X[:, -1].astype(int))
        self.seen.append(self.rows)
        return super().fit(X[:, :-1], y)

    def predict_proba(self, X):
        return super().predict_proba(X[:, :-1])


class WitnessedFeatures(StandardizedFeatures):
    """A representation that writes down of which rows it was asked, and by which model."""

    seen: ClassVar = deque()

    def fit(self, X, y=None, sample_weight=None):
        return super().fit(X, sample_weight=sample_weight)

    def transform(self, X):
        self.seen.append((self.model.rows, set(X[:, -1].astype(int))))
        return super().transform(X)


class WitnessedCalibration(ClusteredCalibration):
    """A calibrator that writes down which rows it is fitted to, by their Z."""

    seen: ClassVar = deque()

    def _fit(self, data):
        self.seen.append((data.scores.P, data.Z))
        super()._fit(data)


class TestWhichRowsEachPartSees:
    rows = np.column_stack([X, np.arange(900)])
    folds = tuple(KFold(3).split(X))

    @pytest.fixture
    def fitted(self, ensemble):
        for witness in (Witness, WitnessedFeatures, WitnessedCalibration):
            witness.seen.clear()
        calibrator = WitnessedCalibration(n_clusters=2, random_state=0)
        wrapped = CalibratedClassifier(
            Witness(), calibrator, WitnessedFeatures(), cv=list(self.folds), ensemble=ensemble
        )
        return wrapped.fit(self.rows, y)

    @pytest.mark.parametrize("ensemble", [True])
    def test_each_member_is_calibrated_on_rows_that_its_model_never_saw(self, fitted):
        assert list(Witness.seen) == [set(train) for train, _ in self.folds]
        assert list(WitnessedFeatures.seen) == [(set(train), set(held_out)) for train, held_out in self.folds]
        for (P, Z), (train, held_out) in zip(WitnessedCalibration.seen, self.folds, strict=True):
            model = GaussianNB().fit(X[train], y[train])
            np.testing.assert_allclose(P, model.predict_proba(X[held_out]), atol=1e-12)
            np.testing.assert_allclose(Z[:, -1], StandardScaler().fit_transform(held_out[:, None])[:, 0])
        members = fitted.calibrated_classifiers_
        by_hand = np.mean([member.predict_proba(self.rows[:9]) for member in members], axis=0)
        np.testing.assert_allclose(fitted.predict_proba(self.rows[:9]), by_hand)

    @pytest.mark.parametrize("ensemble", [False])
    def test_the_one_calibrator_gets_scores_and_representations_by_models_of_other_rows(self, fitted):
        assert list(Witness.seen) == [*(set(train) for train, _ in self.folds), set(range(900))]
        assert list(WitnessedFeatures.seen) == [(set(train), set(held_out)) for train, held_out in self.folds]
        ((P, Z),) = WitnessedCalibration.seen
        out_of_fold = cross_val_predict(GaussianNB(), X, y, cv=list(self.folds), method="predict_proba")
        np.testing.assert_allclose(P, out_of_fold, atol=1e-12)
        assert Z.shape == (900, 7)
        assert fitted.estimator_.rows == set(range(900))


@pytest.mark.parametrize(("kind", "ensemble"), [("boosting", True), ("boosting", False), ("forest", True)])
def test_a_clustered_calibrator_in_folds_is_no_worse_than_global_platt(kind, ensemble):
    """The leak of a representation of training rows: the log-loss of the test rows was .776, of global Platt .498."""
    X, y = make_classification(2000, n_features=10, n_informative=5, flip_y=0.25, random_state=0)
    if kind == "boosting":
        model = pytest.importorskip("xgboost").XGBClassifier(n_estimators=60, max_depth=6, n_jobs=1)
        representation = ShapValues()
    else:
        model = RandomForestClassifier(60, random_state=0)
        representation = LeafCoverage(n_components=16, random_state=0)
    calibrator = ClusteredCalibrationCV(
        n_clusters=(2, 4), shrinkages=(0.05,), temperatures=(0.3, 0.1), n_repeats=1, random_state=0
    )
    train, test = slice(1000), slice(1000, 2000)

    def loss_of(fitted):
        return log_loss(y[test], fitted.fit(X[train], y[train]).predict_proba(X[test]))

    clustered = loss_of(CalibratedClassifier(model, calibrator, representation, cv=3, ensemble=ensemble))
    assert clustered <= loss_of(CalibratedClassifier(model, PlattScaling(), cv=3, ensemble=ensemble))
    assert clustered < loss_of(clone(model))


class TestLogits:
    @pytest.mark.parametrize("n_classes", [2, 3])
    @pytest.mark.parametrize("name", ["xgboost", "lightgbm", "catboost", "sklearn", "pipeline"])
    def test_margins_of_boosted_trees_are_read(self, name, n_classes):
        X, y = make_classification(600, 6, n_informative=5, n_redundant=0, n_classes=n_classes, random_state=0)
        if name == "xgboost":
            model = pytest.importorskip(name).XGBClassifier(n_estimators=5, n_jobs=1)
            margins = lambda rows: model.predict(rows, output_margin=True)
        elif name == "lightgbm":
            model = pytest.importorskip(name).LGBMClassifier(n_estimators=5, n_jobs=1, verbose=-1)
            margins = lambda rows: model.predict(rows, raw_score=True)
        elif name == "catboost":
            options = {"verbose": False, "allow_writing_files": False, "thread_count": 1}
            model = pytest.importorskip(name).CatBoostClassifier(iterations=5, **options)
            margins = lambda rows: model.predict(rows, prediction_type="RawFormulaVal")
        elif name == "sklearn":
            model = HistGradientBoostingClassifier(max_iter=5)
            margins = lambda rows: model.decision_function(rows)
        else:
            model = make_pipeline(StandardScaler(), LogisticRegression())
            margins = lambda rows: model.decision_function(rows)
        model.fit(X[:300], y[:300])
        calibrator = TemperatureScaling()
        wrapped = CalibratedClassifier(FrozenEstimator(model), calibrator).fit(X[300:], y[300:])
        assert wrapped.calibrator_.from_logits
        by_hand = TemperatureScaling(from_logits=True).fit(margins(X[300:]), y[300:])
        np.testing.assert_allclose(wrapped.predict_proba(X[:9]), by_hand.predict_proba(margins(X[:9])), atol=1e-6)
        np.testing.assert_allclose(wrapped.predict_scores(X), model.predict_proba(X), atol=1e-6)

    def test_what_probabilities_have_lost_is_kept(self):
        """A model that is too sure by a temperature of 30: most of its probabilities are 0 or 1 or nearly so."""

        class Sure:
            classes_ = np.array([0, 1])

            def decision_function(self, X):
                return 30 * X[:, 0]

            def predict_proba(self, X):
                q = 1 / (1 + np.exp(-30 * X[:, 0]))
                return np.column_stack([1 - q, q])

        rng = np.random.default_rng(0)
        rows = rng.normal(0, 2, (20_000, 1))
        labels = (rng.random(20_000) < 1 / (1 + np.exp(-rows[:, 0]))).astype(int)
        wrapped = CalibratedClassifier(Sure(), TemperatureScaling()).fit(rows, labels)
        assert wrapped.calibrator_.temperature_ == pytest.approx(30, rel=0.03)

    def test_decision_values_that_are_no_logits_are_left_aside(self):
        model = RandomForestClassifier(5, random_state=0).fit(X[TRAIN], y[TRAIN])
        model.decision_function = lambda rows: np.ones(len(rows))
        wrapped = CalibratedClassifier(FrozenEstimator(model)).fit(X[CALIBRATE], y[CALIBRATE])
        assert not wrapped.calibrator_.from_logits

    def test_a_calibrator_within_that_asks_for_logits_gets_them_from_any_model(self):
        plain = CalibratedClassifier(FrozenEstimator(MODEL), CLUSTERED, "data").fit(X[CALIBRATE], y[CALIBRATE])
        asks = clone(CLUSTERED).set_params(calibrator=PlattScaling(from_logits=True))
        wrapped = CalibratedClassifier(FrozenEstimator(MODEL), asks, "data").fit(X[CALIBRATE], y[CALIBRATE])
        np.testing.assert_allclose(wrapped.predict_proba(X[TEST]), plain.predict_proba(X[TEST]), atol=1e-6)


class TestBadInput:
    """One sentence, before anything is fitted."""

    @pytest.mark.parametrize("Z", [X[:50], np.vstack([X, X]), X[:, 0], np.full((900, 2), np.nan)])
    @pytest.mark.parametrize("ensemble", [True, False])
    def test_representations_of_other_rows(self, Z, ensemble):
        Witness.seen.clear()
        with pytest.raises(ValueError, match=r"Z (has|holds)"):
            CalibratedClassifier(Witness(), CLUSTERED, ensemble=ensemble).fit(X, y, Z=Z)
        assert not Witness.seen

    @pytest.mark.parametrize("container", [list, pd.Series, lambda y: np.array(y, dtype=object), "polars"])
    def test_missing_labels(self, container):
        container = pytest.importorskip("polars").Series if container == "polars" else container
        for labels in ([None, *["a", "b"] * 449, "a"], [None, *[True, False] * 449, True]):
            with pytest.raises(ValueError, match="y holds missing values"):
                CalibratedClassifier(GaussianNB()).fit(X, container(labels))

    def test_no_folds(self):
        for cv in ([], iter([])):
            with pytest.raises(ValueError, match="cv has no folds"):
                CalibratedClassifier(GaussianNB(), cv=cv).fit(X, y)

    @pytest.mark.parametrize("model", [LinearRegression(), LinearRegression, object(), RandomForestClassifier])
    def test_what_is_no_classifier(self, model):
        for estimator in (model, FrozenEstimator(model)) if not isinstance(model, type) else (model,):
            with pytest.raises(ValueError, match=r"estimator is a .*expected a classifier"):
                CalibratedClassifier(estimator).fit(X, y)

    @pytest.mark.parametrize("representation", [LeafCoverage(), make_pipeline(ShapValues(), StandardScaler())])
    def test_representations_whose_axes_differ_between_folds(self, representation):
        wrapped = CalibratedClassifier(RandomForestClassifier(3), CLUSTERED, representation, cv=2, ensemble=False)
        with pytest.raises(ValueError, match=r"axes differ from fold to fold.*expected ensemble=True"):
            wrapped.fit(X, y)

    def test_the_default_of_a_model_without_shap_values_is_refused_by_its_name(self):
        three = np.where(X[:, 0] > 1, 2, y)
        calibrator = ClusteredCalibration(VectorScaling(), n_clusters=2)
        with pytest.raises(ValueError, match="representation is LeafCoverage, whose axes"):
            CalibratedClassifier(GradientBoostingClassifier(n_estimators=2), calibrator, ensemble=False).fit(X, three)


class TestReportsFromUsers:
    """Each test names the report, in another library, of which it is the right behaviour."""

    def test_scikit_learn_29551_and_17827_a_fold_without_one_class(self):
        """Class "b" occurs once, so that one fold's model knows two of three classes: columns follow the labels."""
        labels = np.array(["a", "c"])[y[:60]].astype(object)
        labels[7] = "b"
        wrapped = CalibratedClassifier(GaussianNB(), TemperatureScaling(), cv=3).fit(X[:60], labels)
        assert wrapped.classes_.tolist() == ["a", "b", "c"]
        Q = wrapped.predict_proba(X[TEST])
        assert Q.shape == (300, 3)
        assert roc_auc_score(y[TEST], Q[:, 2]) > 0.6

    @pytest.mark.parametrize(
        "cv", ["frozen", [(np.arange(150, 300), np.arange(150)), (np.arange(150), np.arange(150, 300))]]
    )
    @pytest.mark.parametrize("ensemble", [True, False])
    def test_scikit_learn_20610_sample_weight_is_not_lost(self, cv, ensemble):
        weights = np.random.default_rng(0).integers(0, 4, 300)
        rows = np.repeat(np.arange(300), weights)
        if cv == "frozen":
            cv, folds_again, model = None, None, FrozenEstimator(MODEL)
        else:
            folds_again, model = [(np.flatnonzero(rows >= 150), np.flatnonzero(rows < 150))], GaussianNB()
            folds_again.append(folds_again[0][::-1])
        weighted = CalibratedClassifier(model, cv=cv, ensemble=ensemble).fit(X[:300], y[:300], sample_weight=weights)
        wrapped = CalibratedClassifier(model, cv=folds_again, ensemble=ensemble)
        repeated = wrapped.fit(X[:300][rows], y[:300][rows])
        np.testing.assert_allclose(weighted.predict_proba(X[TEST]), repeated.predict_proba(X[TEST]), atol=1e-7)

    def test_scikit_learn_20610_weights_reach_the_last_step_of_a_pipeline(self):
        weights = np.random.default_rng(0).uniform(0, 2, 900)
        pipeline = make_pipeline(StandardScaler(), LogisticRegression())
        wrapped = CalibratedClassifier(pipeline, cv=3, ensemble=False).fit(X, y, sample_weight=weights)
        alone = clone(pipeline).fit(X, y, logisticregression__sample_weight=weights)
        np.testing.assert_allclose(wrapped.predict_scores(X), alone.predict_proba(X))

    def test_weights_reach_the_last_step_of_a_pipeline_in_a_pipeline(self):
        weights = np.random.default_rng(0).uniform(0, 2, 900)
        pipeline = make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), LogisticRegression()))
        wrapped = CalibratedClassifier(pipeline, cv=3, ensemble=False).fit(X, y, sample_weight=weights)
        alone = clone(pipeline).fit(X, y, pipeline__logisticregression__sample_weight=weights)
        np.testing.assert_allclose(wrapped.predict_scores(X), alone.predict_proba(X))

    def test_scikit_learn_20610_a_model_that_takes_no_weights_is_said_so(self):
        with pytest.warns(UserWarning, match="KNeighborsClassifier takes no sample_weight"):
            CalibratedClassifier(KNeighborsClassifier(), cv=3).fit(X, y, sample_weight=np.ones(900))

    def test_scikit_learn_26766_decision_values_near_1e5(self):
        class Huge(LinearSVC):
            def decision_function(self, X):
                return 1e5 * super().decision_function(X)

        small = CalibratedClassifier(LinearSVC(random_state=0), cv=3).fit(X, y).predict_proba(X)
        large = CalibratedClassifier(Huge(random_state=0), cv=3).fit(X, y).predict_proba(X)
        np.testing.assert_allclose(large, small, atol=1e-6)
        assert roc_auc_score(y, large[:, 1]) > 0.6

    @pytest.mark.parametrize("weight_type", [np.float32, np.int64, list])
    def test_scikit_learn_28245_and_30868_float32_scores_and_weights_of_other_types(self, weight_type):
        class Float32(GaussianNB):
            def predict_proba(self, X):
                return super().predict_proba(X).astype(np.float32)

        weights = np.arange(300) % 3
        given = weights.tolist() if weight_type is list else weights.astype(weight_type)
        model = FrozenEstimator(Float32().fit(X[TRAIN], y[TRAIN]))
        low = CalibratedClassifier(model).fit(X[CALIBRATE], y[CALIBRATE], given)
        high = CalibratedClassifier(FrozenEstimator(MODEL)).fit(X[CALIBRATE], y[CALIBRATE], weights)
        assert low.predict_proba(X[TEST]).dtype == np.float64
        np.testing.assert_allclose(low.predict_proba(X[TEST]), high.predict_proba(X[TEST]), atol=1e-4)

    @pytest.mark.parametrize("labels", [[1, 2], [-1, 1], ["no", "yes"], [False, True]])
    def test_labels_other_than_0_and_1(self, labels):
        """As probed in netcal, scikit-learn's _SigmoidCalibration and venn-abers: labels {1, 2} gave wrong output."""
        renamed = np.array(labels)[y]
        wrapped = CalibratedClassifier(GaussianNB(), cv=3).fit(X, renamed)
        plain = CalibratedClassifier(GaussianNB(), cv=3).fit(X, y)
        np.testing.assert_array_equal(wrapped.predict_proba(X), plain.predict_proba(X))
        np.testing.assert_array_equal(wrapped.predict(X), np.array(labels)[plain.predict(X)])

    def test_dirichletcal_19_predict_returns_labels(self):
        wrapped = CalibratedClassifier(GaussianNB(), cv=3).fit(X, np.array(["no", "yes"])[y])
        assert set(wrapped.predict(X)) == {"no", "yes"}
        np.testing.assert_array_equal(wrapped.predict(X), wrapped.classes_[wrapped.predict_proba(X).argmax(axis=1)])

    def test_mcgrad_314_a_refit_forgets(self):
        wrapped = CalibratedClassifier(GaussianNB(), CLUSTERED, "data", cv=3).fit(
            pd.DataFrame(X[:, :4]).add_prefix("x"), y
        )
        again = wrapped.fit(X, 1 - y)
        fresh = clone(wrapped).fit(X, 1 - y)
        np.testing.assert_array_equal(again.predict_proba(X), fresh.predict_proba(X))
        assert not hasattr(again, "feature_names_in_")

    @pytest.mark.parametrize("ask", ["predict", "predict_proba", "predict_scores", "cluster_summary"])
    def test_mcgrad_309_prediction_before_fit(self, ask):
        with pytest.raises(NotFittedError):
            getattr(CalibratedClassifier(FrozenEstimator(MODEL), CLUSTERED), ask)(X)

    def test_uncertainty_calibration_10_one_class_only_is_refused(self):
        with pytest.raises(ValueError, match="1 class only"):
            CalibratedClassifier(FrozenEstimator(MODEL)).fit(X[:5], np.ones(5))

    def test_uncertainty_calibration_2_a_calibration_set_that_lacks_a_class(self):
        three = np.where(X[:, 0] > 1, 2, y)
        model = GaussianNB().fit(X[TRAIN], three[TRAIN])
        seen = three[CALIBRATE] != 2
        with pytest.warns(UserWarning, match=r"\[2\]"):
            wrapped = CalibratedClassifier(FrozenEstimator(model)).fit(X[CALIBRATE][seen], three[CALIBRATE][seen])
        assert wrapped.predict_proba(X[TEST]).shape == (300, 3)

    def test_rows_with_weight_of_one_class_only_are_refused(self):
        with pytest.raises(ValueError, match="only the label 1 with weight"):
            CalibratedClassifier(FrozenEstimator(MODEL)).fit(X, y, sample_weight=(y == 1) * 1.0)

    @pytest.mark.parametrize(
        ("shape", "message"),
        [((900, 3), "scores of shape .900, 3.; expected a column"), ((899, 2), "scores of 899 rows; expected 900")],
    )
    def test_scores_of_another_shape_are_refused_in_one_sentence(self, shape, message):
        class Broken:
            classes_ = np.arange(2)

            def predict_proba(self, rows):
                return np.full(shape, 1 / shape[1])

        with pytest.raises(ValueError, match=message):
            CalibratedClassifier(Broken()).fit(X, y)

    def test_a_calibrator_with_a_door_of_its_own_is_entered_through_it(self):
        class Clipped(PlattScaling):
            def fit(self, P, y, Z=None, sample_weight=None):
                return super().fit(np.clip(P, 0.2, 0.8), y, Z, sample_weight)

            def predict_proba(self, P, Z=None):
                return super().predict_proba(np.clip(P, 0.2, 0.8), Z)

        found = CalibratedClassifier(FrozenEstimator(MODEL), Clipped()).fit(X, y).predict_proba(X)
        P = MODEL.predict_proba(X)
        np.testing.assert_allclose(found, Clipped().fit(P, y).predict_proba(P))

    @pytest.mark.parametrize("calibrator", [None, CLUSTERED])
    def test_weights_that_sum_to_one_are_relative(self, calibrator):
        """Of all rows, not of each fold anew: what equal ones say is what no weights say."""
        make = lambda: CalibratedClassifier(GaussianNB(), calibrator, "data", cv=3)
        relative = make().fit(X, y, sample_weight=np.full(900, 1 / 900)).predict_proba(X)
        np.testing.assert_allclose(relative, make().fit(X, y).predict_proba(X), atol=1e-9)

    def test_a_class_that_some_folds_lack_is_told_once_and_at_the_line_of_the_user(self):
        with_rare = y.copy()
        with_rare[:2] = 7
        with pytest.warns(UserWarning, match=r"no label of the classes \[7\] in some folds") as caught:
            CalibratedClassifier(GaussianNB(), cv=5).fit(X, with_rare)
        assert [warning.filename for warning in caught if "[7]" in str(warning.message)] == [__file__]

    @pytest.mark.parametrize("ensemble", [True, False])
    def test_labels_are_read_once_for_all_folds(self, monkeypatch, ensemble):
        """The door of the calibrators, which reads and checks them, is not passed again in every fold."""
        monkeypatch.setattr(Calibrator, "fit", lambda *_: pytest.fail("a fold reads its labels anew"))
        wrapped = CalibratedClassifier(GaussianNB(), CLUSTERED, "data", cv=3, ensemble=ensemble).fit(X, y)
        assert wrapped.predict_proba(X).shape == (len(X), 2)

    @pytest.mark.filterwarnings("ignore:y has no label of the classes")
    @pytest.mark.parametrize("ensemble", [True, False])
    @pytest.mark.parametrize("calibrator", [None, CLUSTERED])
    def test_rows_of_a_class_that_its_fold_cannot_learn_do_not_change_the_temperature(self, ensemble, calibrator):
        """Ten classes of one row each: nobody could be right about them, and all others must not pay for that."""
        three = np.where(X[:, 0] > 1, 2, y)
        with_rare = three.copy()
        with_rare[:10] = np.arange(10, 20)
        make = lambda: CalibratedClassifier(GaussianNB(), calibrator, "data", cv=3, ensemble=ensemble)
        Q = make().fit(X[:600], with_rare[:600]).predict_proba(X[TEST])[:, :3]
        Q /= Q.sum(axis=1, keepdims=True)
        without = make().fit(X[10:600], three[10:600]).predict_proba(X[TEST])
        assert log_loss(three[TEST], Q) < log_loss(three[TEST], without) + 0.01
        assert Q.max(axis=1).mean() == pytest.approx(without.max(axis=1).mean(), abs=0.02)

    @pytest.mark.parametrize(
        "wrap",
        [
            lambda stack: stack,
            lambda stack: make_pipeline(StandardScaler(), stack),
            lambda stack: GridSearchCV(stack, {"cv": [2]}, cv=2),
        ],
    )
    def test_a_stack_with_the_default_at_its_end_gives_scores_once_it_is_fitted(self, wrap):
        stack = wrap(StackingClassifier([("bayes", GaussianNB())], cv=2))
        wrapped = CalibratedClassifier(stack, cv=2, ensemble=False).fit(X[:300], y[:300])
        alone = clone(stack).fit(X[:300], y[:300])
        np.testing.assert_allclose(wrapped.predict_scores(X[TEST]), alone.predict_proba(X[TEST]))

    def test_columns_of_a_given_z_in_another_order_than_in_fit_are_refused(self):
        Z = pd.DataFrame(X[:300, :2], columns=["age", "weight"])
        wrapped = CalibratedClassifier(GaussianNB(), CLUSTERED, cv=2).fit(X[:300], y[:300], Z=Z)
        assert wrapped.predict_proba(X[:300], Z).shape == (300, 2)
        with pytest.raises(ValueError, match="Z has the column 'weight' where fit had 'age'"):
            wrapped.predict_proba(X[:300], Z[["weight", "age"]])

    def test_a_fold_that_holds_out_one_class_that_it_knows_is_refused(self):
        labels = np.array([0, 1, 0, 1, 0, 0, 2, 2])
        folds = [(np.arange(4), np.arange(4, 8)), (np.arange(4, 8), np.arange(4))]
        with pytest.raises(ValueError, match="calibrates on rows of 0 only"):
            CalibratedClassifier(GaussianNB(), cv=folds).fit(X[:8], labels)

    def test_uncertainty_calibration_wrappers_can_be_pickled(self):
        wrapped = CalibratedClassifier(FrozenEstimator(FOREST), CLUSTERED, LeafCoverage(n_components=4, random_state=0))
        wrapped.fit(X[CALIBRATE], y[CALIBRATE])
        np.testing.assert_array_equal(
            pickle.loads(pickle.dumps(wrapped)).predict_proba(X[TEST]), wrapped.predict_proba(X[TEST])
        )

    def test_gpleiss_and_autogluon_separable_scores_give_finite_probabilities(self):
        class Oracle:
            classes_ = np.array([0, 1])

            def predict_proba(self, X):
                p = np.where(X[:, 0] > 0, 0.9, 0.1)
                return np.column_stack([1 - p, p])

        with pytest.warns(ConvergenceWarning, match="separate"):
            wrapped = CalibratedClassifier(Oracle(), TemperatureScaling(prior=None)).fit(X, (X[:, 0] > 0).astype(int))
        assert np.isfinite(wrapped.predict_proba(X)).all()


class TestRepresentation:
    @pytest.mark.parametrize("representation", [LeafCoverage(n_components=4, random_state=0), ShapValues()])
    def test_trees_get_the_fitted_model(self, representation):
        wrapped = CalibratedClassifier(FrozenEstimator(FOREST), CLUSTERED, representation).fit(
            X[CALIBRATE], y[CALIBRATE]
        )
        Z = clone(representation).set_params(model=FOREST).fit(X[CALIBRATE])
        by_hand = clone(CLUSTERED)
        by_hand.fit(FOREST.predict_proba(X[CALIBRATE]), y[CALIBRATE], Z.transform(X[CALIBRATE]))
        expected = by_hand.predict_proba(FOREST.predict_proba(X[TEST]), Z.transform(X[TEST]))
        np.testing.assert_allclose(wrapped.predict_proba(X[TEST]), expected, atol=1e-5)
        assert representation.model is None

    def test_with_folds_each_member_has_that_of_its_own_model(self):
        forest = RandomForestClassifier(5, random_state=0)
        wrapped = CalibratedClassifier(forest, CLUSTERED, LeafCoverage(n_components=4, random_state=0), cv=2).fit(X, y)
        for member in wrapped.calibrated_classifiers_:
            assert member.representation.model is member.estimator

    def test_trees_within_a_pipeline_of_transformers_get_it_too(self):
        representation = make_pipeline(LeafCoverage(n_components=4, random_state=0), StandardScaler())
        wrapped = CalibratedClassifier(FrozenEstimator(FOREST), CLUSTERED, representation).fit(
            X[CALIBRATE], y[CALIBRATE]
        )
        assert wrapped.representation_[0].model is FOREST

    def test_a_model_that_was_given_is_kept(self):
        other = clone(FOREST).set_params(random_state=1).fit(X[TRAIN], y[TRAIN])
        representation = LeafCoverage(other, n_components=4, random_state=0)
        wrapped = CalibratedClassifier(FrozenEstimator(FOREST), CLUSTERED, representation).fit(
            X[CALIBRATE], y[CALIBRATE]
        )
        assert wrapped.representation_.model is other

    def test_data_are_the_standardised_features(self):
        wrapped = CalibratedClassifier(FrozenEstimator(MODEL), CLUSTERED, "data").fit(X[CALIBRATE], y[CALIBRATE])
        Z = StandardScaler().fit(X[CALIBRATE])
        np.testing.assert_allclose(wrapped.representation_.transform(X[TEST]), Z.transform(X[TEST]))

    def test_data_of_a_pipeline_are_what_its_last_step_sees(self):
        frame = pd.DataFrame({"kind": np.array(["a", "b", "c"])[np.arange(900) % 3], "size": X[:, 0]})
        columns = make_column_transformer((OneHotEncoder(), ["kind"]), remainder="passthrough")
        model = make_pipeline(columns, LogisticRegression()).fit(frame[TRAIN], y[TRAIN])
        wrapped = CalibratedClassifier(FrozenEstimator(model), CLUSTERED, "data").fit(frame[CALIBRATE], y[CALIBRATE])
        assert wrapped.calibrator_.centroids_.shape == (2, 4)
        assert wrapped.predict_proba(frame[TEST]).shape == (300, 2)

    def test_any_transformer_serves(self):
        square = FunctionTransformer(np.square)
        wrapped = CalibratedClassifier(FrozenEstimator(MODEL), CLUSTERED, square).fit(X[CALIBRATE], y[CALIBRATE])
        given = CalibratedClassifier(FrozenEstimator(MODEL), CLUSTERED).fit(
            X[CALIBRATE], y[CALIBRATE], Z=X[CALIBRATE] ** 2
        )
        np.testing.assert_array_equal(wrapped.predict_proba(X[TEST]), given.predict_proba(X[TEST], Z=X[TEST] ** 2))
        np.testing.assert_array_equal(wrapped.predict(X[TEST]), given.predict(X[TEST], Z=X[TEST] ** 2))

    def test_where_none_is_named_the_model_decides(self):
        for model, kind in ((MODEL, StandardizedFeatures), (FOREST, LeafCoverage)):
            wrapped = CalibratedClassifier(FrozenEstimator(model), CLUSTERED).fit(X[CALIBRATE], y[CALIBRATE])
            named = CalibratedClassifier(FrozenEstimator(model), CLUSTERED, default_representation(model))
            assert isinstance(wrapped.representation_, kind)
            np.testing.assert_array_equal(
                wrapped.predict_proba(X[TEST]), named.fit(X[CALIBRATE], y[CALIBRATE]).predict_proba(X[TEST])
            )
        assert CalibratedClassifier(FrozenEstimator(MODEL)).fit(X[CALIBRATE], y[CALIBRATE]).representation_ is None

    @pytest.mark.parametrize("ensemble", [True, False])
    def test_a_weight_of_2_is_two_rows_for_standardised_features_too(self, ensemble):
        weights = np.random.default_rng(0).integers(1, 4, 900)
        rows = np.repeat(np.arange(900), weights)
        folds = [(np.arange(450, 900), np.arange(450)), (np.arange(450), np.arange(450, 900))]
        again = [(np.flatnonzero(rows >= 450), np.flatnonzero(rows < 450))]
        again.append(again[0][::-1])
        weighted = CalibratedClassifier(GaussianNB(), CLUSTERED, "data", cv=folds, ensemble=ensemble)
        repeated = CalibratedClassifier(GaussianNB(), CLUSTERED, "data", cv=again, ensemble=ensemble)
        np.testing.assert_allclose(
            weighted.fit(X, y, sample_weight=weights).predict_proba(X[TEST]),
            repeated.fit(X[rows], y[rows]).predict_proba(X[TEST]),
            atol=1e-7,
        )

    @pytest.mark.parametrize("container", ["pandas", "polars"])
    @pytest.mark.parametrize(
        "representation", [None, "data", make_pipeline(LeafCoverage(n_components=3), StandardScaler())]
    )
    def test_scikit_learn_may_be_set_to_give_frames(self, container, representation):
        """artefactual issue 306, scikit-learn issue 26460."""
        pytest.importorskip(container)
        forest = RandomForestClassifier(5, random_state=0)
        arrays = CalibratedClassifier(forest, CLUSTERED, representation, cv=2)
        with config_context(transform_output=container), warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            Q = clone(arrays).fit(X, y).predict_proba(X)
        assert isinstance(Q, np.ndarray)
        if representation != "data":
            return
        np.testing.assert_allclose(Q, arrays.fit(X, y).predict_proba(X), atol=1e-9)

    def test_steps_without_names_of_features(self):
        xgboost = pytest.importorskip("xgboost")
        for model in (xgboost.XGBClassifier(n_estimators=3, n_jobs=1), GaussianNB()):
            pipeline = make_pipeline(FunctionTransformer(np.asarray), model)
            wrapped = CalibratedClassifier(pipeline, CLUSTERED, cv=2).fit(X, y)
            assert wrapped.representation_.get_feature_names_out().tolist() == [f"x{j}" for j in range(6)]

    def test_an_unknown_name_is_refused(self):
        wrapped = CalibratedClassifier(GaussianNB(), CLUSTERED, "shap", cv=3)
        with pytest.raises(ValueError, match="representation is 'shap'"):
            wrapped.fit(X, y)
        assert not hasattr(wrapped, "estimator_")


class TestWithScikitLearn:
    def test_grid_search_over_the_calibrator_of_a_fitted_model(self):
        wrapped = CalibratedClassifier(FrozenEstimator(MODEL), CLUSTERED, "data")
        grid = {"calibrator__shrinkage": [0.01, 1.0], "calibrator__calibrator": [PlattScaling(), BetaCalibration()]}
        search = GridSearchCV(wrapped, grid, scoring="neg_log_loss", cv=3, error_score="raise")
        search.fit(X[CALIBRATE], y[CALIBRATE])
        assert search.best_params_["calibrator__shrinkage"] in (0.01, 1.0)
        assert log_loss(y[TEST], search.predict_proba(X[TEST])) < log_loss(y[TEST], MODEL.predict_proba(X[TEST]))

    def test_grid_search_over_the_model(self):
        search = GridSearchCV(
            CalibratedClassifier(LogisticRegression(), cv=3), {"estimator__C": [0.1, 1]}, cv=2, error_score="raise"
        )
        assert search.fit(X, y).best_estimator_.estimator.C in (0.1, 1)

    def test_it_is_a_step_of_a_pipeline(self):
        pipeline = make_pipeline(StandardScaler(), CalibratedClassifier(GaussianNB(), CLUSTERED, "data", cv=3))
        assert pipeline.fit(X, y).score(X, y) > 0.6

    def test_a_calibrator_that_chooses_its_parameters(self):
        calibrator = ClusteredCalibrationCV(n_clusters=(2,), temperatures=(0.1,), n_repeats=1, random_state=0)
        wrapped = CalibratedClassifier(FrozenEstimator(MODEL), calibrator, "data").fit(X[CALIBRATE], y[CALIBRATE])
        assert wrapped.calibrator_.best_params_["n_clusters"] in (1, 2)

    def test_frames_keep_their_names(self):
        frame = pd.DataFrame(X, columns=list("abcdef"))
        wrapped = CalibratedClassifier(GaussianNB(), CLUSTERED, "data", cv=3).fit(
            frame, pd.Series(y, index=frame.index + 5)
        )
        assert wrapped.feature_names_in_.tolist() == list("abcdef")
        assert wrapped.n_features_in_ == 6
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            Q = wrapped.predict_proba(frame)
        arrays = CalibratedClassifier(GaussianNB(), CLUSTERED, "data", cv=3).fit(X, y)
        np.testing.assert_allclose(Q, arrays.predict_proba(X), atol=1e-12)

    def test_the_calibrator_that_was_given_stays_unfitted(self):
        calibrator = HistogramBinning()
        CalibratedClassifier(FrozenEstimator(MODEL), calibrator).fit(X[CALIBRATE], y[CALIBRATE])
        assert not hasattr(calibrator, "classes_")

    def test_routing_gives_the_model_what_it_requested(self):
        weights = np.random.default_rng(0).uniform(0, 2, 900)
        with config_context(enable_metadata_routing=True):
            for requested in (True, False):
                model = GaussianNB().set_fit_request(sample_weight=requested)
                wrapped = CalibratedClassifier(model, cv=3, ensemble=False).fit(X, y, sample_weight=weights)
                alone = GaussianNB().fit(X, y, sample_weight=weights if requested else None)
                np.testing.assert_allclose(wrapped.estimator_.theta_, alone.theta_)

    def test_routing_carries_weights_and_representation_through_a_search(self):
        seen: ClassVar = deque()

        class Witness(PlattScaling):
            needs_representation = True

            def _fit(self, data):
                seen.append((data.Z[:, 0], data.weights))
                super()._fit(data)

            def predict_proba(self, P, Z=None):  # a search gives no Z to what it scores
                return self._calibrate(self._read_scores(P), None)

        with config_context(enable_metadata_routing=True):
            wrapped = CalibratedClassifier(FrozenEstimator(MODEL), Witness())
            wrapped.set_fit_request(sample_weight=True, Z=True).set_score_request(sample_weight=False)
            search = GridSearchCV(wrapped, {"cv": [None]}, cv=KFold(2), error_score="raise")
            search.fit(X, y, sample_weight=np.arange(900) + 1.0, Z=np.arange(900.0)[:, None])
        assert [len(Z) for Z, _ in seen] == [450, 450, 900]
        for Z, weights in seen:
            np.testing.assert_array_equal(Z + 1, weights)

    def test_tags_tell_what_the_model_takes(self):
        from sklearn.utils import get_tags

        tags = get_tags(CalibratedClassifier(HistGradientBoostingClassifier(), cv=3))
        assert tags.input_tags.allow_nan
        assert tags.estimator_type == "classifier"


class TestClusterSummary:
    """Two groups of known size, features, base rate and score."""

    frame = pd.DataFrame(
        {"age": np.r_[np.arange(101.0), np.full(49, 7.0)], "work": np.repeat(["farm", "mine"], [101, 49])}
    )
    group = np.repeat([0, 1], [101, 49])
    labels = np.r_[np.arange(101) < 20, np.arange(49) < 40].astype(int)

    class Half:
        """A model that only predicts, and gives every row 0.5."""

        classes_ = np.array([0, 1])

        def predict_proba(self, X):
            return np.full((len(X), 2), 0.5)

    @pytest.fixture
    def summary(self):
        calibrator = ClusteredCalibration(PlattScaling(prior=None), 2, shrinkage=0, temperature=0, random_state=0)
        wrapped = CalibratedClassifier(self.Half(), calibrator)
        Z = np.eye(2)[self.group]
        wrapped.fit(self.frame, self.labels, Z=Z)
        return wrapped.cluster_summary(self.frame, self.labels, Z=Z).sort_values("size", ascending=False)

    def test_sizes_rates_and_errors(self, summary):
        assert summary["size"].tolist() == [101, 49]
        np.testing.assert_allclose(summary["base_rate"], [20 / 101, 40 / 49])
        np.testing.assert_allclose(summary["mean_score"], 0.5)
        np.testing.assert_allclose(summary["mean_calibrated"], [20 / 101, 40 / 49], atol=1e-6)
        np.testing.assert_allclose(summary["score_error"], 0.5 - summary["base_rate"])
        np.testing.assert_allclose(summary["calibrated_error"], 0, atol=1e-6)

    def test_typical_features(self, summary):
        assert summary["age q25"].tolist() == [25, 7]
        assert summary["age q75"].tolist() == [75, 7]
        assert summary["work mode"].tolist() == ["farm", "mine"]

    def test_columns_of_every_kind(self):
        """Booleans, integers with gaps and categories: all of them of rows whose index is not 0, 1, 2."""
        frame = pd.DataFrame({"truth": y == 1, "count": pd.array([None, *range(899)], dtype="Int64")})
        frame["kind"] = pd.Categorical(np.where(y == 1, "a", None))
        frame.index += 7
        summary = CalibratedClassifier(self.Half(), CLUSTERED).fit(frame, y, Z=X).cluster_summary(frame, Z=X)
        assert (summary["kind mode"] == "a").all()
        assert summary["truth share"].between(0, 1).all()
        assert np.isfinite(summary["count q25"].astype(float)).all()

    def test_labels_of_another_length_are_refused(self):
        wrapped = CalibratedClassifier(FrozenEstimator(MODEL), CLUSTERED, "data").fit(X[CALIBRATE], y[CALIBRATE])
        with pytest.raises(ValueError, match="y has 5 rows"):
            wrapped.cluster_summary(X[TEST], y[:5])

    def test_without_labels_there_is_no_base_rate(self):
        wrapped = CalibratedClassifier(FrozenEstimator(MODEL), CLUSTERED, "data").fit(X[CALIBRATE], y[CALIBRATE])
        summary = wrapped.cluster_summary(X[TEST])
        assert "base_rate" not in summary
        assert summary["size"].sum() == 300
        assert {"x0 q25", "x5 q75"} <= set(summary.columns)

    def test_a_cluster_without_rows_is_kept(self):
        wrapped = CalibratedClassifier(FrozenEstimator(MODEL), CLUSTERED, "data").fit(X[CALIBRATE], y[CALIBRATE])
        assert sorted(wrapped.cluster_summary(X[:1])["size"]) == [0, 1]

    def test_of_more_classes_it_is_the_predicted_label(self):
        three = np.where(X[:, 0] > 1, 2, y)
        calibrator = ClusteredCalibration(VectorScaling(), n_clusters=2, random_state=0)
        wrapped = CalibratedClassifier(GaussianNB(), calibrator, "data", cv=3, ensemble=False).fit(X, three)
        summary = wrapped.cluster_summary(X, three)
        right = (wrapped.predict(X) == three).mean()
        assert (summary["base_rate"] * summary["size"]).sum() / 900 == pytest.approx(right)

    def test_a_global_calibrator_has_no_clusters(self):
        with pytest.raises(ValueError, match=r"PlattScaling.*expected a clustered one"):
            CalibratedClassifier(FrozenEstimator(MODEL)).fit(X[CALIBRATE], y[CALIBRATE]).cluster_summary(X)


class TestWhatARefereeFound:
    def test_decision_values_of_pairs_are_refused(self):
        three = np.where(X[:, 0] > 1, 2, y)
        model = SVC(decision_function_shape="ovo").fit(X[TRAIN], three[TRAIN])
        with pytest.raises(ValueError, match="decision_function_shape='ovr'"):
            CalibratedClassifier(FrozenEstimator(model)).fit(X[CALIBRATE], three[CALIBRATE])

    @pytest.mark.parametrize("ensemble", [True, False])
    def test_folds_that_overlap_are_refused(self, ensemble):
        everyone = np.arange(900)
        cv = [(everyone, everyone[::2]), (everyone, everyone[1::2])]
        with pytest.raises(ValueError, match="trains on row 0 and holds it out"):
            CalibratedClassifier(GaussianNB(), cv=cv, ensemble=ensemble).fit(X, y)

    def test_columns_of_a_model_that_predicts_a_frame_go_by_name(self):
        class Framed(GaussianNB):
            def predict_proba(self, X):
                return pd.DataFrame(super().predict_proba(X), columns=self.classes_)[["yes", "no"]]

        words = np.array(["no", "yes"])[y]
        framed, plain = (CalibratedClassifier(model, cv=3).fit(X, words) for model in (Framed(), GaussianNB()))
        np.testing.assert_array_equal(framed.predict_proba(X), plain.predict_proba(X))

    def test_a_fit_that_fails_leaves_what_was_there(self):
        fresh = CalibratedClassifier(GaussianNB(), cv=1)
        with pytest.raises(ValueError, match="cv is 1"):
            fresh.fit(X, y)
        with pytest.raises(NotFittedError):
            fresh.predict(X)
        fitted = CalibratedClassifier(GaussianNB()).fit(X, y)
        before = fitted.predict(X)
        fitted.cv = 1
        with pytest.raises(ValueError, match="cv is 1"):
            fitted.fit(X, np.array(["no", "yes"])[y])
        np.testing.assert_array_equal(fitted.predict(X), before)

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            ({"calibrator": HistogramBinning(n_bins=0)}, "n_bins"),
            ({"calibrator": ClusteredCalibration(shrinkage=-1)}, "shrinkage"),
            ({"representation": 5}, "representation is 5"),
            ({"ensemble": "no"}, "ensemble is 'no'"),
        ],
    )
    def test_bad_parameters_are_found_before_anything_is_fitted(self, wrong, message):
        class Counting(GaussianNB):
            fits = 0

            def fit(self, X, y):
                Counting.fits += 1
                return super().fit(X, y)

        with pytest.raises(ValueError, match=message):
            CalibratedClassifier(Counting(), **wrong).fit(X, y)
        assert Counting.fits == 0

    def test_values_that_are_no_logits_of_rare_events_are_not_taken_for_them(self):
        class Rare:
            """Says sigmoid(x); its decision values are three times x."""

            classes_ = np.array([0, 1])

            def predict_proba(self, X):
                return np.column_stack([expit(-X[:, 0]), expit(X[:, 0])])

            def decision_function(self, X):
                return 3 * X[:, 0]

        rows = np.linspace(-11, -9.5, 400)[:, None]
        wrapped = CalibratedClassifier(Rare()).fit(rows, np.arange(400) % 2)
        np.testing.assert_allclose(wrapped.predict_scores(rows), Rare().predict_proba(rows))

    @pytest.mark.parametrize(
        "calibrator", [ClusteredCalibration(n_clusters=2), ClusteredCalibrationCV(n_clusters=(2,)), None]
    )
    def test_more_classes_need_no_other_calibrator(self, calibrator):
        three = np.where(X[:, 0] > 1, 2, y)
        assert CalibratedClassifier(GaussianNB(), calibrator, cv=2).fit(X, three).predict_proba(X).shape == (900, 3)
