"""The paper's two closer looks at Stroke, from the shipped scores: its clusters, and rejection.

Both fit or describe one classifier; the tables of many runs are in `tables`.
"""

import numpy as np
import pandas as pd

from clustcal import BetaCalibration, ClusteredCalibration, metrics
from clustcal.experiments import protocol

CLUSTERS = "coverage"
REJECTION_QUANTILES = tuple(j / 10 for j in range(10))


def stroke_clusters(clusters, representation=CLUSTERS):
    """Return the table of stroke clusters, numbered as the paper's by age: 0 oldest, then 2, 3, and 1 youngest.

    Parameters
    ----------
    clusters : DataFrame
        The attribute ``clusters`` of :func:`clustcal.datasets.load_scores`.
    representation : str, default="coverage"

    Returns
    -------
    table : DataFrame
        Quartiles of age, BMI and glucose, and the rate of strokes in percent.
    """
    chosen = clusters[clusters["representation"] == representation]
    age = (chosen["age_q25"] + chosen["age_q75"]).to_numpy()
    oldest_first = np.argsort(-age, kind="stable")
    table = chosen.iloc[oldest_first].set_axis([0, 2, 3, 1][: len(chosen)], axis=0).sort_index()
    quartiles = [f"{feature}_{q}" for feature in ("age", "bmi", "avg_glucose_level") for q in ("q25", "q75")]
    return table[quartiles].assign(rate=100 * table["rate"]).rename_axis("cluster")


def rejection(scores, representation=CLUSTERS):
    """Return the error rate after rejecting the least certain rows: uncalibrated, global and clustered Beta.

    Parameters
    ----------
    scores : Bunch
        As :func:`clustcal.datasets.load_scores` returns them.
    representation : str, default="coverage"
        The paper does not say on which representation its clusters are.
    """
    clustered = ClusteredCalibration(
        BetaCalibration(prior=None),
        n_clusters=protocol.N_CLUSTERS,
        shrinkage=protocol.SHRINKAGE,
        random_state=scores.parameters["seed"],
    )
    methods = {"Beta": BetaCalibration(prior=None), "clustered Beta": clustered}
    P = {"base": scores.P_test}
    for name, calibrator in methods.items():
        calibrator.fit(scores.P_cal, scores.y_cal, scores.Z_cal[representation])
        P[name] = calibrator.predict_proba(scores.P_test, scores.Z_test[representation])
    errors = {
        name: metrics.rejection_curve(scores.y_test, probabilities, quantiles=REJECTION_QUANTILES).error
        for name, probabilities in P.items()
    }
    return pd.DataFrame(errors, index=pd.Index(REJECTION_QUANTILES, name="quantile"))
