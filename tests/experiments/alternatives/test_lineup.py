"""The methods of the study of the alternatives: each gives probabilities, and useless columns tell nothing."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

from clustcal.experiments import protocol
from clustcal.experiments.alternatives import alternatives_study as study
from clustcal.experiments.alternatives.base_models import BASE_MODELS
from clustcal.experiments.alternatives.lineup import ALTERNATIVES, GROUPS, Case, permuted, select
from tests.experiments.made_up import make_data

UNIT = study.Unit("stroke", "xgb-300x8", 5)
SMALL = {"n_estimators": 20, "max_depth": 2, "learning_rate": 0.3}


@pytest.fixture(autouse=True)
def small_models(monkeypatch):
    """Let the base models have 20 trees."""
    for name, model in BASE_MODELS.items():
        monkeypatch.setitem(BASE_MODELS, name, model._replace(settings=model.settings | SMALL))


@pytest.mark.parametrize("name", [name for name, one in ALTERNATIVES.items() if one.group != "libraries"])
def test_every_method_of_ours_gives_measures(name):
    (row,) = study.run_unit(make_data("stroke", 400), UNIT, select([name]))
    assert row["failure"] == ""
    assert 0.2 < row["nll"] < 3
    assert row["nll"] == pytest.approx(row["miscalibration"] - row["discrimination"] + entropy_of_base_rate(), abs=1e-6)


def entropy_of_base_rate():
    data = make_data("stroke", 400)
    r = data.y[protocol.split(data.y, 5).test].mean()
    return -r * np.log(r) - (1 - r) * np.log(1 - r)


def test_permuted_rows_tell_nothing():
    """SHAP values that give the label away help, and those of other rows do not."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    p = np.full(2000, 0.5) + rng.normal(0, 0.01, 2000)
    Z = {"shap": y[:, None] + rng.normal(0, 0.3, (2000, 1))}
    case = Case(p, y, p, Z, Z, 0, None, None, "", "")
    assert log_loss(y, permuted(case)) > 0.68
    assert log_loss(y, ALTERNATIVES["ridge SHAP"].forecast(case)) < 0.3


def test_names_and_groups_select_and_others_are_refused():
    assert [one.name for one in select(["ridge raw", "Platt"])] == ["Platt", "ridge raw"]
    assert {one.group for one in select(["post", "retrained"])} == {"post", "retrained"}
    assert not set(ALTERNATIVES) & set(GROUPS)
    known = "post, libraries, rival, cheap, retrained, or one of"
    with pytest.raises(ValueError, match=f"methods has 'moon'; expected {known}"):
        select(["moon"])


def test_cutting_off_is_stopping_on_the_calibration_part(monkeypatch):
    """With the same rows, settings and seed, the trees of a model that stops are the first of one that does not."""
    settings = {"n_estimators": 32, "max_depth": 4, "learning_rate": 0.5}
    monkeypatch.setitem(BASE_MODELS, "xgb-300x8", BASE_MODELS["xgb-300x8"]._replace(settings=settings))
    rows = study.run_unit(make_data("stroke", 2000), UNIT, select(["cut off + Platt", "stopped + Platt", "Platt"]))
    nll = {row["method"]: row["nll"] for row in rows}
    assert nll["cut off + Platt"] == pytest.approx(nll["stopped + Platt"], abs=1e-6)
    assert nll["cut off + Platt"] < nll["Platt"]
