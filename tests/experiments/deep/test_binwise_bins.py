"""Bin-wise methods under other readings of their bins, on made-up outputs."""

import numpy as np
import pandas as pd
import pytest

from clustcal import BinwiseCalibration, VectorScaling, metrics
from clustcal.experiments.deep import binwise_bins, design
from clustcal.experiments.deep.outputs import Outputs


@pytest.fixture
def two_classes():
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 2, 1200)
    y = (rng.random(1200) < 1 / (1 + np.exp(-logits / 2))).astype(int)
    return Outputs(np.column_stack([0 * logits, logits]), y, np.arange(1200), {"cls": rng.normal(size=(1200, 3))})


def test_of_two_classes_there_are_four_readings_of_each_method(two_classes):
    rows = pd.DataFrame(binwise_bins.measure({"name": "imdb", "seed": 0}, load=lambda name: two_classes))
    assert rows.groupby("method").size().to_dict() == dict.fromkeys(["Binwise-Beta", "Binwise-Platt", "Binwise-TS"], 4)
    assert rows.groupby("method")["nll"].nunique().min() == 4
    assert rows["nll_cv"].notna().all()


def test_a_row_is_that_of_the_calibrator_itself(outputs):
    rows = pd.DataFrame(binwise_bins.measure({"name": "emotion", "seed": 1}, load=lambda name: outputs))
    cal, test = design.halve(design.prepare(outputs), 1)
    family = VectorScaling(classes=np.arange(cal.P.shape[1]), prior=None)
    one = BinwiseCalibration(family, n_bins=10, min_bin_size=30, strategy="quantile").fit(cal.P, cal.y)
    nll = metrics.log_loss(test.y, one.predict_proba(test.P), labels=np.arange(cal.P.shape[1]))
    row = rows.set_index(["method", "strategy"]).loc[("Binwise-Vector", "quantile")]
    assert row["nll"] == pytest.approx(nll)


def test_cross_validation_takes_each_row_once_out():
    """Of a method that says the share of the labels that it saw, the loss of each fold is known."""

    class Share:
        def get_params(self, deep=True):
            return {}

        def __sklearn_clone__(self):
            return Share()

        def fit(self, P, y):
            self.share = y.mean()
            return self

        def predict_proba(self, P):
            return np.column_stack([np.full(len(P), 1 - self.share), np.full(len(P), self.share)])

    y = np.repeat([0, 0, 0, 1], 25)
    part = design.Part(np.full(100, 0.5), y, {})
    assert binwise_bins.validate(Share(), part, 0) == pytest.approx(-(0.75 * np.log(0.75) + 0.25 * np.log(0.25)))


def test_only_binwise_methods_are_replaced_by_those_of_equal_mass():
    table = pd.DataFrame({"method": ["TS", "Binwise-TS"], "seed": [0, 0], "nll": [0.3, 0.4], "n_classes": [6, 6]})
    lines = [
        {"name": "emotion", "seed": 0, "method": "Binwise-TS", "strategy": s, "kind": "top-label", "nll": nll}
        for s, nll in (("uniform", 0.4), ("quantile", 0.2))
    ]
    replaced = binwise_bins.replace_binwise({"emotion": table, "other": table}, pd.DataFrame(lines))
    assert set(replaced) == {"emotion"}
    assert replaced["emotion"].set_index("method")["nll"].to_dict() == {"TS": 0.3, "Binwise-TS": 0.2}


def test_a_family_is_chosen_by_validation_and_not_by_the_test_half():
    rows = pd.DataFrame({"method": ["Binwise-TS", "Binwise-Vector"], "nll": [0.1, 0.9], "nll_cv": [0.3, 0.2]})
    rows = rows.assign(name="emotion", seed=0, strategy="uniform", kind="top-label")
    assert binwise_bins.choose_family(rows, "emotion", "uniform", "top-label") == "Vector"
