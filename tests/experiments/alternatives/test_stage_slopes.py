"""The slopes of stages: a unit on made-up data, what they mean, and the stored rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from clustcal import RidgeCalibration
from clustcal.experiments import protocol
from clustcal.experiments.alternatives import alternatives_study as study
from clustcal.experiments.alternatives import base_models, confirmation, stage_slopes
from clustcal.experiments.alternatives.base_models import BASE_MODELS
from clustcal.representations import StagedMargins
from tests.experiments.made_up import make_data

UNIT = study.Unit("stroke", "xgb-300x8", 5)


@pytest.fixture
def deep_trees(monkeypatch):
    """Let the base model have 80 deep trees, which is too many for what is made up."""
    settings = BASE_MODELS["xgb-300x8"].settings | {"n_estimators": 80, "max_depth": 8, "learning_rate": 0.3}
    monkeypatch.setitem(BASE_MODELS, "xgb-300x8", base_models.BaseModel(settings))
    return make_data("stroke", 3000)


def test_the_forecast_is_the_stages_times_their_slopes(deep_trees):
    rows = pd.DataFrame(stage_slopes.slopes(deep_trees, UNIT))
    assert rows["rounds"].tolist() == [10, 20, 30, 40, 50, 60, 70, 80]
    parts = protocol.split(deep_trees.y, 5)
    model = base_models.train(deep_trees, parts.train, "xgb-300x8", 5)
    X = deep_trees.X.iloc[parts.calibration]
    p, y, Z = (
        model.predict_proba(X)[:, 1].astype(float),
        deep_trees.y[parts.calibration],
        StagedMargins(model).fit_transform(X),
    )
    q = RidgeCalibration().fit(p, y, Z).predict_proba(p, Z)[:, 1]
    inside = ((np.quantile(Z, 0.001, axis=0) < Z) & (np.quantile(Z, 0.999, axis=0) > Z)).all(axis=1)
    rest = (np.log(q / (1 - q)) - Z @ rows["slope"])[inside]
    assert np.ptp(rest) < 1e-3
    platt = LogisticRegression(C=np.inf).fit(np.log(p / (1 - p))[:, None], y)
    assert rows["slope_of_scores"].unique() == pytest.approx(platt.coef_[0], abs=1e-3)
    # Late rounds of trees that are too many say less of new rows than the first.
    assert rows["slope"].iloc[0] > 2 * rows["slope"].iloc[4:].mean()


def test_a_run_goes_on_where_it_was_left(tmp_path, deep_trees):
    store = stage_slopes.open_store(tmp_path)
    choices = {"names": ["stroke"], "models": ["xgb-300x8"], "load": lambda name: deep_trees, "progress": False}
    assert stage_slopes.run(store, seeds=[5], **choices).done == 1
    assert stage_slopes.run(store, seeds=[5, 6], **choices)[:2] == (1, 1)
    assert store.read().groupby("seed").size().tolist() == [8, 8]


def test_means_by_hand():
    """Of three splits of Stroke the ridge has dropped the stages in the last; Breast Cancer stands beside."""
    units = {"dataset": ["stroke"] * 6 + ["breast_cancer"] * 2, "seed": [5, 5, 6, 6, 7, 7, 5, 5], "stage": [1, 2] * 4}
    rows = pd.DataFrame(units | {"slope": [1.0, 0.5, 0.5, 0.25, 0.7, 0.7, 9.0, 8.0]}).assign(base_model="xgb-300x8")
    assert stage_slopes.by_stage(rows).loc[("xgb-300x8", "stroke")].to_dict() == {1: 0.75, 2: 0.375}
    assert stage_slopes.count_kept(rows).loc[("xgb-300x8", "stroke")].to_dict() == {"kept": 2, "of": 3}
    assert len(stage_slopes.count_kept(rows)) == 1


def test_stored_rows_are_of_all_units():
    rows = stage_slopes.open_store().read()
    units = rows[["dataset", "base_model", "seed"]].drop_duplicates()
    assert {study.Unit(*unit) for unit in units.itertuples(index=False)} == set(stage_slopes.StageSlopes().units())
    assert rows["slope"].notna().all()
    assert set(confirmation.BESIDE) < set(rows["dataset"])
