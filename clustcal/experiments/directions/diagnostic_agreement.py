"""Direction 3: which diagnostic puts forecasts in the order of their log-loss, on rows that it has not seen.

Forecasts are those of calibrators on the shipped scores. The test part is cut in two: diagnostics are computed on one
part, the log-loss on the other.
"""

import numpy as np
from sklearn.model_selection import train_test_split

import clustcal
from clustcal import ClusteredCalibration, PlattScaling, RidgeCalibration, SoftKMeans, metrics
from clustcal.datasets import load_scores
from clustcal.experiments.directions.direction_study import SEEDS

FORECASTS, CALIBRATED = "forecasts", "calibrated"
ROWS = 2500  # of either part, at most
REDRAWS = 20  # of labels from a forecast
K = 8
DATASETS = {
    **{f"stroke-seed{seed}": ((FORECASTS, CALIBRATED), SEEDS[:1]) for seed in range(5)},
    **dict.fromkeys(
        ("credit_approval", "support2", "credit_card_default", "adult"), ((FORECASTS, CALIBRATED), SEEDS[:3])
    ),
}
GLOBAL = {
    "Platt": PlattScaling(),
    "Beta": clustcal.BetaCalibration(),
    "temperature": clustcal.TemperatureScaling(),
    "isotonic": clustcal.IsotonicCalibration(),
    "histogram": clustcal.HistogramBinning(),
    "Venn-Abers": clustcal.VennAbersCalibration(),
    "spline": clustcal.SplineScaling(),
}
LOCAL = {
    "clusters of the paper": (ClusteredCalibration(PlattScaling(prior=None), random_state=0), ("shap",)),
    "clusters, narrow": (ClusteredCalibration(PlattScaling(), temperature=0.1, random_state=0), ("shap",)),
    "ridge SHAP": (RidgeCalibration(), ("shap",)),
    "ridge SHAP+coverage": (RidgeCalibration(), ("shap", "coverage")),
}
# Memberships of the same clusters: as the paper's, narrower, and none shared.
MEMBERSHIPS = {"paper": 1.0, "narrow": 0.1, "hard": 0.0}


def compute(data, unit):
    """Return diagnostics of every forecast, or what they say of forecasts that are calibrated."""
    name, _, number = unit.dataset.partition("-seed")
    scores = load_scores(name, int(number or 0))
    first, second = parts_of_test(scores.y_test, unit.seed)
    q = forecasts(scores)
    W = {
        kind: SoftKMeans(K, temperature=temperature, random_state=0)
        .fit(scores.Z_cal["shap"])
        .transform(scores.Z_test["shap"])
        for kind, temperature in MEMBERSHIPS.items()
    }
    if unit.arm == CALIBRATED:
        return {"redrawn": of_calibrated(q["Platt"][first], W["narrow"][first], unit.seed)}
    return {
        method: diagnostics(scores.y_test[first], p[first], {kind: w[first] for kind, w in W.items()})
        | {"other nll": metrics.log_loss(scores.y_test[second], p[second])}
        for method, p in q.items()
    }


def parts_of_test(y, seed):
    """Return the rows of both parts, stratified and at most `ROWS` each."""
    first, second = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=seed)
    return first[:ROWS], second[:ROWS]


def forecasts(scores):
    """Return the forecasts of the test part by name: dict of arrays (n,)."""
    P, y = scores.P_cal, scores.y_cal
    found = {"scores": scores.P_test, "base rate": np.full(len(scores.P_test), y.mean())}
    for name, calibrator in GLOBAL.items():
        found[name] = calibrator.fit(P, y).predict_proba(scores.P_test)[:, 1]
    for name, (calibrator, needs) in LOCAL.items():
        Z_cal, Z_test = ([Z[need] for need in needs] for Z in (scores.Z_cal, scores.Z_test))
        if len(needs) == 1:
            Z_cal, Z_test = Z_cal[0], Z_test[0]
        found[name] = calibrator.fit(P, y, Z_cal).predict_proba(scores.P_test, Z_test)[:, 1]
    return found


def diagnostics(y, p, W):
    """Return log-loss, calibration errors, gains and gaps of one forecast.

    ``gain`` is that of soft bins of the score; ``gain narrow`` and so on those of clusters. ``gap narrow`` and so on is
    the mean over clusters of |observed - forecast|, weighted by membership: the error of bins with clusters for bins.
    """
    found = {
        "nll": metrics.log_loss(y, p),
        "ece": metrics.ece(y, p, n_bins=15),
        "ada_ece": metrics.ada_ece(y, p),
        "debiased_ece": metrics.debiased_ece(y, p),
        "corp": metrics.corp_decomposition(y, p, score="log_loss").miscalibration,
        "gain": metrics.local_calibration_gain(y, p).gain,
    }
    for kind, w in W.items():
        table = metrics.local_calibration_gain(y, p, w)
        found[f"gain {kind}"] = table.gain
        if kind == "narrow":
            found |= {"gain narrow low": table.interval[0], "gain narrow global": table.global_gain}
        lines = table.table
        found[f"gap {kind}"] = (lines["weight"] * (lines["observed"] - lines["forecast"]).abs()).sum()
    return found


def of_calibrated(p, w, seed):
    """Redraw labels from the forecast itself: every diagnostic should then be 0."""
    rng = np.random.default_rng(seed)
    lines = []
    while len(lines) < REDRAWS:
        y = (rng.random(len(p)) < p).astype(int)
        if min(np.bincount(y, minlength=2)) < 5:
            continue
        result = metrics.local_calibration_gain(y, p, w)
        bins = metrics.local_calibration_gain(y, p)
        lines.append(
            {
                "gain narrow": result.gain,
                "gain": bins.gain,
                "false alarms narrow": result.interval[0] > 0,
                "false alarms": bins.interval[0] > 0,
                "ece": metrics.ece(y, p, n_bins=15),
                "ada_ece": metrics.ada_ece(y, p),
                "debiased_ece": metrics.debiased_ece(y, p),
                "corp": metrics.corp_decomposition(y, p, score="log_loss").miscalibration,
            }
        )
    return {name: np.mean([line[name] for line in lines]) for name in lines[0]} | {"draws": REDRAWS}
