"""The study of the alternatives on a made-up data set: what a unit gives, what is run, and what the protocol says."""

from functools import partial

import numpy as np
import pytest
import yaml
from sklearn.metrics import log_loss

from clustcal import RidgeCalibration, cli
from clustcal.experiments import protocol
from clustcal.experiments.alternatives import alternatives_study as study
from clustcal.experiments.alternatives import base_models
from clustcal.experiments.alternatives.base_models import BASE_MODELS
from clustcal.experiments.alternatives.lineup import ALTERNATIVES, Alternative, select
from clustcal.experiments.results import FOLDER
from tests.experiments.made_up import make_data

FEW = ("base", "Platt", "ridge SHAP")
SMALL = {"n_estimators": 20, "max_depth": 2, "learning_rate": 0.3}


@pytest.fixture(autouse=True)
def small_models(monkeypatch):
    """Let the base models have 20 trees."""
    for name, model in BASE_MODELS.items():
        monkeypatch.setitem(BASE_MODELS, name, model._replace(settings=model.settings | SMALL))


def run_unit(methods=FEW, model="xgb-300x8", arm="", n=400):
    return study.run_unit(make_data("stroke", n), study.Unit("stroke", model, 5, arm), select(methods))


def test_a_row_is_what_the_method_says_of_the_test_part():
    """Computed again by the steps that the protocol names, and judged by scikit-learn."""
    data = make_data("stroke", 400)
    rows = {row["method"]: row for row in run_unit()}
    parts = protocol.split(data.y, 5)
    model = base_models.train(data, parts.train, "xgb-300x8", 5)
    P = {name: model.predict_proba(data.X.iloc[part])[:, 1].astype(float) for name, part in parts._asdict().items()}
    shap = protocol.make_representation("shap", model).fit(data.X.iloc[parts.calibration])
    Z = {name: shap.transform(data.X.iloc[part]) for name, part in parts._asdict().items()}
    assert rows["base"]["nll"] == pytest.approx(log_loss(data.y[parts.test], P["test"]))
    ridge = RidgeCalibration().fit(P["calibration"], data.y[parts.calibration], Z["calibration"])
    expected = log_loss(data.y[parts.test], ridge.predict_proba(P["test"], Z["test"]))
    assert rows["ridge SHAP"]["nll"] == pytest.approx(expected, rel=1e-4)
    assert (rows["base"]["n_train"], rows["base"]["n_calibration"], rows["base"]["n_test"]) == (240, 80, 80)
    assert rows["base"]["extraction_seconds"] == 0
    assert rows["ridge SHAP"]["extraction_seconds"] > 0


def test_a_learning_curve_cuts_the_calibration_part_alone():
    (row,) = run_unit(("Platt",), arm="curve-30")
    assert (row["n_train"], row["n_calibration"], row["n_test"]) == (240, 30, 80)


def test_the_weighted_arm_raises_the_forecasts_of_the_rarer_class():
    plain, weighted = run_unit(("base",)), run_unit(("base",), arm="weighted")
    assert plain[0]["nll"] != weighted[0]["nll"]


def test_a_library_that_fails_leaves_a_row_and_ours_ends_the_run():
    def fail(case):
        raise RuntimeError("no\nluck")

    wrong = [
        Alternative("theirs", "libraries", (), fail),
        Alternative("beyond", "libraries", (), lambda c: 2 * c.P_test),
    ]
    data, unit = make_data("stroke"), study.Unit("stroke", "xgb-300x8", 5)
    rows = study.run_unit(data, unit, wrong)
    assert [row["failure"] for row in rows] == ["RuntimeError: no luck", "The forecasts are not probabilities."]
    assert "nll" not in rows[0]
    with pytest.raises(RuntimeError):
        study.run_unit(data, unit, [wrong[0]._replace(group="post")])


def test_units_of_arms():
    arms = study.ARMS
    units = study.AlternativesStudy(names=("stroke", "credit_approval"), arms=arms, seeds=(5,)).units()
    assert [unit.base_model for unit in units if unit.arm == "" and unit.dataset == "stroke"] == list(BASE_MODELS)
    assert {unit.base_model for unit in units if unit.arm} == {"xgb-300x8"}
    assert [unit.dataset for unit in units if unit.arm == "weighted"] == ["stroke"]
    curves = {(unit.dataset, unit.arm) for unit in units if unit.arm.startswith("curve")}
    assert curves == {("credit_approval", "curve-100"), ("stroke", "curve-100"), ("stroke", "curve-300"),
                      ("stroke", "curve-1000")}  # fmt: skip


def test_the_command_goes_on_where_it_was(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(study, "run", partial(study.run, load=make_data))
    command = ["reproduce", "alternatives", "--datasets", "stroke", "--models", "xgb-300x8", "--seeds", "5", "6"]
    command += ["--results", str(tmp_path), "--quiet", "--jobs", "1", "--methods"]
    assert cli.main([*command, "base"]) == 0
    assert cli.main([*command, "base", "Platt"]) == 0
    assert "2 units computed, 0 were there already" in capsys.readouterr().out.splitlines()[-1]
    assert cli.main([*command, "base", "Platt"]) == 0
    assert "0 units computed, 2 were there already" in capsys.readouterr().out
    rows = study.open_store(tmp_path).read("stroke")
    assert sorted(zip(rows["seed"], rows["method"], strict=True)) == [
        *((5, "Platt"), (5, "base"), (6, "Platt"), (6, "base")),
    ]
    assert cli.main([*command[:2], "--datasets", "moon"]) == 1
    assert "datasets has 'moon'" in capsys.readouterr().err
    assert cli.main([*command[:2], "--methods", "moon"]) == 1
    assert "methods has 'moon'" in capsys.readouterr().err


def test_the_protocol_names_what_is_run():
    said = yaml.safe_load((FOLDER / "alternatives" / "protocol.yml").read_text(encoding="utf-8"))
    sets = said["sets"]
    assert {*sets["open"], *sets["new"], *sets["beside"]} == set(study.DATASETS)
    assert tuple(sets["seeds"]) == study.SEEDS
    assert not set(study.SEEDS) & set(protocol.SEEDS)
    assert set(said["base_models"]) == set(BASE_MODELS)
    assert {arm for arm in study.ARMS if not arm.startswith("curve")} | {"curve-N"} == set(said["arms"])
    assert said["method"]["primary"] in ALTERNATIVES
    assert set(said["controls"]) <= set(ALTERNATIVES)


def test_excess_is_the_divergence_from_the_truth():
    drawn = base_models.with_known_truth(make_data("stroke", 1000), 5)
    p, q = drawn.truth, np.full(1000, 0.4)
    excess = study.judge(drawn.y, q, p, np.arange(1000))["excess"]
    entropy = -np.mean(p * np.log(p) + (1 - p) * np.log(1 - p))
    cross = -np.mean(p * np.log(0.4) + (1 - p) * np.log(0.6))
    assert excess == pytest.approx(cross - entropy)
    assert study.judge(drawn.y, p, p, np.arange(1000))["excess"] == pytest.approx(0, abs=1e-12)
    rows = run_unit(("base",), arm="known-truth")
    assert rows[0]["excess"] > 0
