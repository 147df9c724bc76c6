"""Leaves and SHAP values of LightGBM and CatBoost: categories, early stopping, two classes and more."""

import numpy as np
import pandas as pd
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clustcal import CalibratedClassifier, ClusteredCalibration, PlattScaling
from clustcal.representations import LeafCoverage, ShapValues, default_representation

RNG = np.random.default_rng(0)
N = 600
FRAME = pd.DataFrame(RNG.normal(size=(N, 3)), columns=["a", "b", "c"])
FRAME["k"] = pd.Categorical(RNG.choice(["u", "v", "w"], N))
MARGIN = FRAME["a"] + 2 * (FRAME["k"] == "u") + RNG.logistic(size=N)
LABELS = {2: np.where(MARGIN > 0.5, "yes", "no"), 3: np.digitize(MARGIN, [0, 1.5])}
TRAIN, STOP = slice(400), slice(400, N)
PACKAGES = ["lightgbm", "catboost"]


def make_model(package, **options):
    pytest.importorskip(package)
    if package == "lightgbm":
        from lightgbm import LGBMClassifier

        return LGBMClassifier(**{"n_estimators": 12, "n_jobs": 1, "verbose": -1} | options)
    from catboost import CatBoostClassifier

    options = {"iterations": options.pop("n_estimators", 12), "cat_features": ["k"]} | options
    return CatBoostClassifier(verbose=False, thread_count=1, allow_writing_files=False, random_state=0, **options)


def fit_early(package, n_classes):
    """Return a model that stopped long before its last round."""
    y = LABELS[n_classes]
    stop = {"eval_set": [(FRAME[STOP], y[STOP])]}
    if package == "lightgbm":
        stop["callbacks"] = [pytest.importorskip("lightgbm").early_stopping(3, verbose=False)]
        return make_model(package, n_estimators=500).fit(FRAME[TRAIN], y[TRAIN], **stop)
    return make_model(package, n_estimators=500, learning_rate=0.5).fit(
        FRAME[TRAIN], y[TRAIN], early_stopping_rounds=3, **stop
    )


def margins_of(model, X, rounds=None):
    if hasattr(model, "booster_"):
        rounds = {} if rounds is None else {"start_iteration": rounds[0], "num_iteration": rounds[1] - rounds[0]}
        return model.predict(X, raw_score=True, **rounds)
    rounds = {} if rounds is None else {"ntree_start": rounds[0], "ntree_end": rounds[1]}
    return model.predict(X, prediction_type="RawFormulaVal", **rounds)


@pytest.fixture(params=[(package, n_classes) for package in PACKAGES for n_classes in (2, 3)], ids=str)
def case(request):
    package, n_classes = request.param
    y = LABELS[n_classes]
    return package, n_classes, make_model(package).fit(FRAME[TRAIN], y[TRAIN])


class TestShapValues:
    def test_with_the_base_value_they_sum_to_the_margin(self, case):
        _, n_classes, model = case
        shap = ShapValues(model).fit(FRAME)
        Z = shap.transform(FRAME)
        margins = margins_of(model, FRAME)
        if n_classes == 2:
            assert Z.shape == (N, 4)
            np.testing.assert_allclose(Z.sum(axis=1) + shap.base_value_, margins, atol=1e-6)
        else:
            assert Z.shape == (N, 12)
            np.testing.assert_allclose(Z.reshape(N, 3, 4).sum(axis=2) + shap.base_value_, margins, atol=1e-6)

    def test_a_feature_that_no_tree_looks_at_adds_nothing(self, case):
        package, n_classes, _ = case
        constant = FRAME.assign(b=1.0)
        Z = ShapValues(make_model(package).fit(constant, LABELS[n_classes])).fit_transform(constant)
        np.testing.assert_allclose(Z.reshape(N, -1, 4)[:, :, 1], 0, atol=1e-12)
        assert np.abs(Z.reshape(N, -1, 4)[:, :, 3]).max() > 0.1  # the category counts

    def test_names_are_those_of_the_features(self, case):
        _, n_classes, model = case
        names = ShapValues(model).fit(FRAME).get_feature_names_out().tolist()
        assert names == (
            ["a", "b", "c", "k"] if n_classes == 2 else [f"{k}:{name}" for k in range(3) for name in "abck"]
        )

    def test_of_some_rounds_they_sum_to_the_margin_of_these(self, case):
        *_, model = case
        shap = ShapValues(model, iteration_range=(0, 5)).fit(FRAME)
        sums = shap.transform(FRAME).reshape(N, -1, 4).sum(axis=2) + shap.base_value_
        np.testing.assert_allclose(np.squeeze(sums), margins_of(model, FRAME, (0, 5)), atol=1e-6)

    @pytest.mark.parametrize("package", PACKAGES)
    def test_of_one_split_they_are_its_two_values(self, package):
        """Of one feature the value is the margin less its mean over the training rows."""
        x = np.repeat([0.0, 1.0], [100, 300])
        y = np.r_[np.arange(100) % 4 == 0, np.arange(300) % 4 != 0].astype(int)
        options = {"n_estimators": 1, "max_depth": 1} | ({} if package == "lightgbm" else {"cat_features": []})
        model = make_model(package, **options).fit(x[:, None], y)
        Z = ShapValues(model).fit_transform(x[:, None])[:, 0]
        margins = margins_of(model, x[:, None])
        np.testing.assert_allclose(Z, margins - margins.mean(), atol=1e-6)

    @pytest.mark.parametrize("package", PACKAGES)
    def test_a_softmax_of_two_classes_has_one_column_for_each_feature_too(self, package):
        objective = (
            {"objective": "multiclass", "num_class": 2} if package == "lightgbm" else {"loss_function": "MultiClass"}
        )
        model = make_model(package, **objective).fit(FRAME, LABELS[2])
        shap = ShapValues(model).fit(FRAME)
        P = model.predict_proba(FRAME)
        np.testing.assert_allclose(
            shap.transform(FRAME).sum(axis=1) + shap.base_value_, np.log(P[:, 1] / P[:, 0]), atol=1e-6
        )

    @pytest.mark.parametrize("policy", ["Lossguide", "Depthwise"])
    def test_of_trees_that_are_not_symmetric_catboosts_are_wrong_and_refused(self, policy):
        model = make_model("catboost", n_estimators=60, grow_policy=policy).fit(FRAME, LABELS[2])
        from clustcal.representations.tree_models import catboost_pool

        wrong = model.get_feature_importance(catboost_pool(model, FRAME), type="ShapValues")
        assert np.abs(wrong.sum(axis=1) - margins_of(model, FRAME)).max() > 0.01  # if not, they may be allowed
        with pytest.raises(ValueError, match=f"grow_policy='{policy}', of which it gives no SHAP values"):
            ShapValues(model).fit(FRAME)
        assert type(default_representation(model)) is LeafCoverage
        assert LeafCoverage(model, 3).fit_transform(FRAME).shape == (N, 3)

    def test_linear_trees_of_lightgbm_are_refused(self):
        model = make_model("lightgbm", linear_tree=True)
        assert type(default_representation(model)) is LeafCoverage
        with pytest.raises(ValueError, match="linear_tree=True, of which it gives no SHAP values"):
            ShapValues(model.fit(FRAME, LABELS[2])).fit(FRAME)

    @pytest.mark.parametrize("package", PACKAGES)
    @pytest.mark.parametrize("method", ["woodelf", "xgboost", "shap"])
    def test_other_methods_are_refused(self, package, method):
        model = make_model(package, n_estimators=2).fit(FRAME, LABELS[2])
        with pytest.raises(ValueError, match=f"method is '{method}'; expected 'auto'"):
            ShapValues(model, method=method).fit(FRAME)

    def test_sparse_rows_of_lightgbm(self):
        from scipy import sparse

        for n_classes in (2, 3):
            rows = np.where(FRAME[["a", "b", "c"]] > 0.5, FRAME[["a", "b", "c"]], 0)
            model = make_model("lightgbm").fit(rows, LABELS[n_classes])
            dense = ShapValues(model).fit_transform(rows)
            np.testing.assert_allclose(ShapValues(model).fit_transform(sparse.csr_matrix(rows)), dense, atol=1e-12)


class TestLeafCoverage:
    def test_rows_of_one_leaf_in_every_tree_have_one_margin(self, case):
        _, n_classes, model = case
        leaves = LeafCoverage(model, n_components=3).fit(FRAME).leaves(FRAME)
        trees = 12 * (n_classes if n_classes > 2 and hasattr(model, "booster_") else 1)
        assert leaves.shape == (N, trees)
        _, group = np.unique(leaves, axis=0, return_inverse=True)
        margins = margins_of(model, FRAME).reshape(N, -1)
        for g in np.unique(group):
            np.testing.assert_allclose(margins[group == g], margins[group == g][:1].repeat((group == g).sum(), 0))
        assert len(np.unique(group)) > 10

    def test_margins_are_a_sum_over_leaves(self, case):
        """A linear model of the indicators of all leaves says what the trees say, so that no leaf is mistaken."""
        _, _, model = case
        one_hot = LeafCoverage(model, n_components=3).fit(FRAME).one_hot(FRAME).toarray().astype(float)
        margins = margins_of(model, FRAME).reshape(N, -1)
        found = one_hot @ np.linalg.lstsq(one_hot, margins, rcond=None)[0]
        np.testing.assert_allclose(found, margins, atol=1e-6)

    def test_a_range_of_rounds_picks_their_trees(self, case):
        package, n_classes, model = case
        per_round = n_classes if n_classes > 2 and package == "lightgbm" else 1
        whole = LeafCoverage(model, n_components=3).fit(FRAME).leaves(FRAME)
        some = LeafCoverage(model, n_components=3, iteration_range=(2, 5)).fit(FRAME).leaves(FRAME)
        np.testing.assert_array_equal(some, whole[:, 2 * per_round : 5 * per_round])


@pytest.mark.parametrize("package", PACKAGES)
class TestBoth:
    @pytest.mark.parametrize("n_classes", [2, 3])
    def test_after_early_stopping_the_best_rounds_count(self, package, n_classes):
        model = fit_early(package, n_classes)
        best = model.best_iteration_ + (package == "catboost")
        assert best < 100
        per_round = n_classes if n_classes > 2 and package == "lightgbm" else 1
        assert LeafCoverage(model, n_components=3).fit(FRAME).leaves(FRAME).shape[1] == best * per_round
        shap = ShapValues(model).fit(FRAME)
        sums = np.squeeze(shap.transform(FRAME).reshape(N, -1, 4).sum(axis=2) + shap.base_value_)
        np.testing.assert_allclose(sums, margins_of(model, FRAME), atol=1e-6)

    @pytest.mark.parametrize("representation", [LeafCoverage, ShapValues])
    def test_columns_in_another_order_are_refused(self, package, representation):
        fitted = representation(make_model(package, n_estimators=3).fit(FRAME, LABELS[2])).fit(FRAME)
        with pytest.raises(ValueError, match="expected the order of the model"):
            fitted.transform(FRAME[["k", "c", "b", "a"]])

    @pytest.mark.parametrize("representation", [LeafCoverage(n_components=3, random_state=0), ShapValues()])
    def test_arrays_pipelines_and_frozen_models_serve(self, package, representation):
        rows = FRAME[["a", "b", "c"]].to_numpy()
        options = {"n_estimators": 3} | ({} if package == "lightgbm" else {"cat_features": []})
        model = make_pipeline(StandardScaler(), make_model(package, **options)).fit(rows, LABELS[2])
        Z = representation.set_params(model=model).fit_transform(rows)
        alone = representation.set_params(model=FrozenEstimator(model[-1])).fit_transform(model[0].transform(rows))
        np.testing.assert_allclose(Z @ Z.T, alone @ alone.T, atol=1e-5)

    @pytest.mark.parametrize("n_classes", [2, 3])
    @pytest.mark.parametrize("representation", [None, LeafCoverage(n_components=4, random_state=0)])
    def test_they_are_calibrated_in_clusters(self, package, n_classes, representation):
        y = LABELS[n_classes]
        clustered = ClusteredCalibration(n_clusters=2, temperature=0.3, random_state=0)
        model = make_model(package, n_estimators=80)
        wrapped = CalibratedClassifier(model, clustered, representation, cv=2).fit(FRAME[TRAIN], y[TRAIN])
        assert type(wrapped.representation_) is (ShapValues if representation is None else LeafCoverage)
        rates = np.tile([(y[TRAIN] == label).mean() for label in wrapped.classes_], (N - 400, 1))
        assert log_loss(y[STOP], wrapped.predict_proba(FRAME[STOP])) < log_loss(y[STOP], rates) - 0.05

    def test_a_model_that_stopped_early_comes_frozen(self, package):
        model = FrozenEstimator(fit_early(package, 2))
        y = LABELS[2]
        wrapped = CalibratedClassifier(model, ClusteredCalibration(PlattScaling(), 2, random_state=0)).fit(FRAME, y)
        assert type(wrapped.representation_) is ShapValues
        assert np.isfinite(wrapped.predict_proba(FRAME)).all()
