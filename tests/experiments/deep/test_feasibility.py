"""What many classes cost is measured on one evaluation, and refused where the parameters alone do not fit."""

import numpy as np
import pytest

from clustcal.experiments.deep import feasibility
from clustcal.experiments.deep.outputs import Outputs


@pytest.fixture
def many_classes():
    rng = np.random.default_rng(0)
    return Outputs(rng.normal(size=(400, 12)), np.arange(400) % 12, np.arange(400), {})


@pytest.mark.parametrize(("family", "parameters"), [("TS", 3), ("Vector", 72), ("Dirichlet", 468)])
def test_an_evaluation_is_timed_for_all_clusters(many_classes, family, parameters):
    unit = {"name": "tiny-imagenet-1000", "family": family, "n_clusters": 3}
    (row,) = feasibility.measure(unit, load=lambda name: many_classes)
    assert (row["n"], row["n_classes"], row["parameters"]) == (200, 12, parameters)
    assert row["seconds"] >= 0
    assert row["optimiser_gb"] == pytest.approx(24 * 8 * parameters / 1e9)


def test_what_does_not_fit_into_memory_is_not_run(many_classes, monkeypatch):
    monkeypatch.setattr(feasibility, "MEMORY_LIMIT", 1e-6)
    unit = {"name": "tiny-imagenet-1000", "family": "Dirichlet", "n_clusters": 3}
    (row,) = feasibility.measure(unit, load=lambda name: many_classes)
    assert np.isnan(row["seconds"])
