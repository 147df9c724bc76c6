"""The two looks at Stroke, with answers worked out by hand."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.utils import Bunch

from clustcal import BetaCalibration
from clustcal.datasets import load_scores
from clustcal.experiments.tabular.stroke import rejection, stroke_clusters


def test_stroke_clusters_are_ordered_as_the_papers():
    """Its clusters 0, 2, 3 and 1 go from the oldest to the youngest."""
    ages = {"age_q25": [13, 60, 39, 50], "age_q75": [29, 78, 44, 62]}
    others = {f"{name}_{q}": [1.0] * 4 for name in ("bmi", "avg_glucose_level") for q in ("q25", "q75")}
    clusters = pd.DataFrame({"representation": "coverage", "rate": [0.0, 0.149, 0.007, 0.055], **ages, **others})
    table = stroke_clusters(clusters)
    assert table.index.tolist() == [0, 1, 2, 3]
    assert table["age_q25"].tolist() == [60, 13, 50, 39]
    assert_allclose(table["rate"], [14.9, 0, 5.5, 0.7])


def test_rejection_gives_errors_of_accepted_rows():
    scores = load_scores("stroke")
    table = rejection(scores)
    assert list(table.columns) == ["base", "Beta", "clustered Beta"]
    assert table.loc[0.0, "base"] == pytest.approx(np.mean((scores.P_test > 0.5) != scores.y_test))
    beta = BetaCalibration(prior=None).fit(scores.P_cal, scores.y_cal).predict_proba(scores.P_test)[:, 1]
    confident = np.sort(np.maximum(beta, 1 - beta))[-511:]
    accepted = np.maximum(beta, 1 - beta) >= confident[0]
    assert table.loc[0.5, "Beta"] == pytest.approx(np.mean(((beta > 0.5) != scores.y_test)[accepted]))


def test_rejection_needs_nothing_but_scores():
    rng = np.random.default_rng(0)
    p = rng.uniform(size=400)
    y = (rng.random(400) < p).astype(int)
    half = {"P_cal": p[:200], "P_test": p[200:], "y_cal": y[:200], "y_test": y[200:]}
    Z = {"Z_cal": {"coverage": rng.normal(size=(200, 3))}, "Z_test": {"coverage": rng.normal(size=(200, 3))}}
    table = rejection(Bunch(**half, **Z, parameters={"seed": 0}))
    assert (table.iloc[-1] < table.iloc[0]).all()
