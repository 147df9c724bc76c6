"""The base models of the alternatives: packaged sets, models that stop, labels of known truth."""

import numpy as np
import pytest

from clustcal.experiments.alternatives import base_models
from clustcal.experiments.alternatives.base_models import BASE_MODELS, PACKAGED_ROWS
from tests.experiments.made_up import make_data

SMALL = {"n_estimators": 20, "max_depth": 2, "learning_rate": 0.3}


@pytest.fixture(autouse=True)
def small_models(monkeypatch):
    """Let the base models have 20 trees."""
    for name, model in BASE_MODELS.items():
        monkeypatch.setitem(BASE_MODELS, name, model._replace(settings=model.settings | SMALL))


def test_a_model_that_stops_uses_fewer_trees_than_it_may(monkeypatch):
    settings = {"n_estimators": 400, "max_depth": 3, "learning_rate": 0.3}
    monkeypatch.setitem(BASE_MODELS, "xgb-stopped-4", base_models.BaseModel(settings, stops=True))
    data = make_data("stroke", 400)
    model = base_models.train(data, np.arange(300), "xgb-stopped-4", 0)
    assert model[-1].best_iteration < 399
    watched = base_models.train(data, np.arange(200), "xgb-300x8", 0, stop_on=np.arange(200, 300))
    assert hasattr(watched[-1], "best_iteration")
    assert not hasattr(base_models.train(data, np.arange(200), "xgb-300x8", 0)[-1], "best_score")


def test_known_truth_is_what_labels_are_drawn_from():
    data = make_data("stroke", 4000)
    drawn = base_models.with_known_truth(data, 5)
    assert drawn.truth.min() >= 1e-3
    # The sum of labels less that of probabilities has a standard deviation of about 30 here.
    assert abs(drawn.y.sum() - drawn.truth.sum()) < 120
    assert (drawn.y != data.y).any()
    np.testing.assert_array_equal(base_models.with_known_truth(data, 5).y, drawn.y)


def test_packaged_sets_have_the_rows_that_are_said():
    data = base_models.load("breast_cancer")
    assert len(data.X) == len(data.y) == PACKAGED_ROWS["breast_cancer"]
    pytest.importorskip("statsmodels")
    data = base_models.load("affairs")
    assert data.X.shape == (PACKAGED_ROWS["affairs"], 8)
    assert data.y.sum() == 2053
