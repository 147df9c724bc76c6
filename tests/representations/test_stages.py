"""StagedMargins: they add up to the margin, and each is a difference of the margins that the packages tell."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from clustcal import CalibratedClassifier, RidgeCalibration
from clustcal.checks_before_fit import keeps_axes
from clustcal.representations import StagedMargins
from tests.representations.tree_data import N_TREES, fit_xgboost, make_data

xgboost = pytest.importorskip("xgboost")


def make_model(package, n_classes):
    """A model of 12 rounds that any of the packages fits."""
    X, y = make_data(n_classes)
    pytest.importorskip(package)
    if package == "xgboost":
        return X, fit_xgboost(X, y)
    if package == "lightgbm":
        from lightgbm import LGBMClassifier

        return X, LGBMClassifier(n_estimators=N_TREES, n_jobs=1, verbose=-1).fit(X, y)
    from catboost import CatBoostClassifier

    settings = {"iterations": N_TREES, "verbose": False, "thread_count": 1, "allow_writing_files": False}
    return X, CatBoostClassifier(**settings).fit(X, y)


def margin_of(model, X, end):
    """The margin after ``end`` rounds, by the package's own words for it."""
    if isinstance(model, xgboost.XGBClassifier):
        return model.predict(X, output_margin=True, iteration_range=(0, end))
    if hasattr(model, "booster_"):
        return model.predict(X, raw_score=True, num_iteration=end)
    return model.predict(X, prediction_type="RawFormulaVal", ntree_end=end)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("package", ["xgboost", "lightgbm", "catboost"])
def test_stages_are_differences_of_margins(package, n_classes):
    X, model = make_model(package, n_classes)
    stages = StagedMargins(model, n_stages=5).fit(X)
    assert stages.ends_ == [2, 4, 7, 9, 12]  # of 12 rounds, 2.4 each
    Z = stages.transform(X).reshape(400, 5, -1)
    for k, end in enumerate(stages.ends_):
        margin = margin_of(model, X, end).reshape(400, -1)
        np.testing.assert_allclose(Z[:, : k + 1].sum(axis=1), margin, atol=1e-5)
    names = [f"rounds {rounds}" for rounds in ("1-2", "3-4", "5-7", "8-9", "10-12")]
    if n_classes == 3:
        names = [f"{label}: {name}" for name in names for label in range(3)]
    assert stages.get_feature_names_out().tolist() == names
    frame = stages.set_output(transform="pandas").transform(X)
    assert frame.columns.tolist() == names
    np.testing.assert_array_equal(frame.to_numpy(), Z.reshape(400, -1))


@given(n_stages=st.integers(1, 40), start=st.integers(0, N_TREES - 1), length=st.integers(1, N_TREES))
def test_any_number_of_stages_adds_up(n_stages, start, length):
    X, y = make_data(n=50)
    model = fit_xgboost(X, y)
    end = min(start + length, N_TREES)
    stages = StagedMargins(model, n_stages, iteration_range=(start, end)).fit(X)
    Z = stages.transform(X)
    assert Z.shape == (50, min(n_stages, end - start)) == (50, stages.n_stages_)
    margin = model.predict(X, output_margin=True, iteration_range=(start, end))
    np.testing.assert_allclose(Z.sum(axis=1), margin, atol=1e-4)


def test_names_count_the_rounds_of_the_model_from_one(model, data):
    names = StagedMargins(model, 3, iteration_range=(4, 9)).fit(data[0]).get_feature_names_out().tolist()
    assert names == ["rounds 5-5", "rounds 6-7", "rounds 8-9"]
    with pytest.raises(NotFittedError):
        StagedMargins(model).get_feature_names_out()


def test_they_end_where_a_model_stopped(data):
    X, y = data
    model = xgboost.XGBClassifier(n_estimators=400, learning_rate=0.5, early_stopping_rounds=3, n_jobs=1)
    model.fit(X[:200], y[:200], eval_set=[(X[200:], y[200:])], verbose=False)
    assert model.best_iteration < 100
    stages = StagedMargins(model).fit(X)
    assert stages.ends_[-1] == model.best_iteration + 1
    np.testing.assert_allclose(stages.transform(X).sum(axis=1), model.predict(X, output_margin=True), atol=1e-4)


def test_a_softmax_of_two_classes_has_the_difference_of_its_margins(data):
    X, y = data
    model = fit_xgboost(X, y, objective="multi:softprob", num_class=2)
    p = model.predict_proba(X)[:, 1].astype(float)
    Z = StagedMargins(model, 3).fit_transform(X)
    assert Z.shape == (400, 3)
    np.testing.assert_allclose(Z.sum(axis=1), np.log(p / (1 - p)), atol=1e-4)


def test_pipelines_clones_and_calibrated_classifiers(data):
    X, y = data
    model = make_pipeline(StandardScaler(), xgboost.XGBClassifier(n_estimators=5, n_jobs=1)).fit(X, y)
    Z = clone(StagedMargins(model)).fit_transform(X)
    np.testing.assert_array_equal(Z, StagedMargins(model[-1]).fit_transform(model[:-1].transform(X)))
    fitted = CalibratedClassifier(clone(model), RidgeCalibration(), representation=StagedMargins(), cv=3).fit(X, y)
    assert fitted.predict_proba(X).shape == (400, 2)
    # The rounds of a name are those of another model in every fold.
    assert not keeps_axes(StagedMargins(model))
    with pytest.raises(ValueError, match="StagedMargins, whose axes differ from fold to fold"):
        fitted.set_params(ensemble=False).fit(X, y)


def test_other_models_and_numbers_are_refused(data, model):
    X, y = data
    with pytest.raises(ValueError, match="model is a RandomForestClassifier; expected a boosting classifier"):
        StagedMargins(RandomForestClassifier(3).fit(X, y)).fit(X)
    with pytest.raises(ValueError, match="gblinear"):
        StagedMargins(fit_xgboost(X, y, booster="gblinear", max_depth=None)).fit(X)
    with pytest.raises(ValueError, match="n_stages"):
        StagedMargins(model, n_stages=0).fit(X)
    with pytest.raises(ValueError, match="X has 5 features; expected 6"):
        StagedMargins(model).fit(X).transform(X[:, :5])


def test_random_forests_of_the_packages_have_no_stages_and_are_refused(data):
    X, y = data
    forest = xgboost.XGBRFClassifier(n_estimators=3, n_jobs=1)
    with pytest.raises(ValueError, match="model is a XGBRFClassifier that grows a random forest, which has no stages"):
        StagedMargins(forest.fit(X, y)).fit(X)
    with pytest.raises(ValueError, match="expected a boosting classifier, or LeafCoverage"):
        CalibratedClassifier(clone(forest), RidgeCalibration(), representation=StagedMargins(), cv=2).fit(X, y)


@pytest.mark.parametrize("options", [{"boosting_type": "rf"}, {"boosting": "random_forest"}, {"boost": "rf"}], ids=str)
def test_the_raw_scores_of_a_random_forest_of_lightgbm_are_no_margins(data, options):
    lightgbm = pytest.importorskip("lightgbm")
    settings = {"n_estimators": 12, "subsample": 0.5, "subsample_freq": 1, "n_jobs": 1, "verbose": -1}
    model = lightgbm.LGBMClassifier(**settings, **options).fit(*data)
    p = model.predict_proba(data[0])[:, 1]
    raw = model.predict(data[0], raw_score=True)
    assert np.abs(raw - np.log(p / (1 - p))).max() > 1  # if not, they may be allowed
    with pytest.raises(ValueError, match="model is a LGBMClassifier that grows a random forest, which has no stages"):
        StagedMargins(model).fit(data[0])
