"""Renormalising takes off what the network gave to classes that never come, and no more."""

import numpy as np
import pytest

from clustcal.experiments.deep import absent_classes, design
from clustcal.experiments.deep.outputs import Outputs


@pytest.fixture
def outputs_with_absent_classes():
    rng = np.random.default_rng(0)
    return Outputs(rng.normal(size=(600, 7)), 2 * (np.arange(600) % 3), np.arange(600), {})


def test_the_gain_is_the_mean_log_of_the_mass_on_classes_that_occur(outputs_with_absent_classes):
    load = lambda name: outputs_with_absent_classes
    nll = {}
    for form in ("1,000 classes", "200 classes"):
        (row,) = absent_classes.measure({"form": form, "seed": 0}, load)
        nll[form] = row["nll"]
        assert row["n_classes"] == (7 if form.startswith("1,000") else 3)
    _, test = design.halve(design.prepare(outputs_with_absent_classes), 0)
    on_those = test.P[:, [0, 2, 4]].sum(axis=1)
    assert nll["1,000 classes"] - nll["200 classes"] == pytest.approx(-np.log(on_those).mean())


def test_calibrated_forms_are_of_the_classes_that_occur(outputs_with_absent_classes):
    (row,) = absent_classes.measure(
        {"form": "200 classes, Vector", "seed": 1}, lambda name: outputs_with_absent_classes
    )
    assert (row["n"], row["n_classes"]) == (300, 3)
    assert row["nll"] < np.log(3) + 0.1  # labels without a signal: a fit says about a third to each
