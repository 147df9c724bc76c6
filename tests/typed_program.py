"""A program of a user, which is checked against the installed package and never run."""

from typing import assert_type

import numpy as np
from numpy.typing import NDArray

from clustcal import (
    CalibratedClassifier,
    ClusteredCalibration,
    ClusteredCalibrationCV,
    PlattScaling,
    SoftKMeans,
    metrics,
    plots,
)
from clustcal.datasets import load_scores, make_subpopulations
from clustcal.representations import LeafCoverage

rng = np.random.default_rng(0)
p, y, Z = rng.random(100), rng.integers(2, size=100), rng.random((100, 3))


def calibrate_and_measure() -> None:
    # Whatever numpy can read goes in; arrays of float64 come out.
    platt = PlattScaling(prior=None).fit([0.1, 0.9], ["no", "yes"])
    assert_type(platt, PlattScaling)
    assert_type(platt.predict_proba([0.2, 0.3]), NDArray[np.float64])
    assert_type(platt.score(p, y), float)
    clustered = ClusteredCalibration(PlattScaling(), n_clusters=3, membership="chord", random_state=0).fit(p, y, Z)
    assert_type(clustered, ClusteredCalibration)
    assert_type(clustered.memberships(Z), NDArray[np.float64])
    assert_type(clustered.theta_, NDArray[np.float64])
    assert_type(clustered.calibrator_.theta_, NDArray[np.float64])
    ClusteredCalibrationCV([PlattScaling()], n_clusters=(2, 4), cv=[(range(50), range(50, 100))]).fit(p, y, Z)
    assert_type(SoftKMeans(2).fit(Z).transform(Z), NDArray[np.float64])

    classifier = CalibratedClassifier(object(), clustered, LeafCoverage(random_state=0), cv=3)
    assert_type(classifier.fit(Z, y, sample_weight=p).predict_proba(Z), NDArray[np.float64])

    assert_type(metrics.log_loss(y, p, sample_weight=p.tolist()), float)
    assert_type(metrics.ece(y, p, n_bins=[0, 0.1, 1], norm="max", kind="classwise"), float)
    assert_type(metrics.adjust_pvalues([0.1, 0.2]), NDArray[np.float64])
    curve = metrics.reliability_curve(y, p, strategy="quantile", interval="wilson")
    plots.ReliabilityDisplay.from_curve(curve).plot(name="again")
    plots.plot_clusters(Z[:, :2], clustered.memberships(Z)).set_title("Clusters")
    scores = load_scores("stroke")
    metrics.brier(scores.y_test, scores.P_test)
    data = make_subpopulations(100)
    metrics.lce(data.y, data.P, data.Z)
