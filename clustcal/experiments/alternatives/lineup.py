"""The methods that are compared: what each makes of scores, labels and representations, in five groups.

``post`` work on the calibration part alone and come from this package; ``libraries`` do so and come from others, or
take long; ``rival`` is the plainest that many would try first, and ``cheap`` is what needs neither training nor
representations that take time, both run after the others; ``retrained`` fit classifiers anew. Builds on `base_models`
and on `methods`.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import Pipeline

from clustcal import (
    BayesianBinning,
    BetaCalibration,
    BinwiseCalibration,
    CentredIsotonicCalibration,
    ClusteredCalibration,
    ClusteredCalibrationCV,
    EnsembleTemperatureScaling,
    HistogramBinning,
    IsotonicCalibration,
    LocalRecalibration,
    PlattScaling,
    QuadraticScaling,
    RidgeCalibration,
    SoftKMeans,
    StructuredScaling,
    TemperatureScaling,
    VennAbersCalibration,
)
from clustcal.core.probabilities import logits
from clustcal.experiments import benchmark, protocol
from clustcal.experiments.alternatives import base_models
from clustcal.experiments.methods import Uncalibrated
from clustcal.experiments.results import FOLDER

GROUPS = ("post", "libraries", "rival", "cheap", "retrained")
FOLDS = 5
# Clusters mixed in logits: their number and the temperature of the memberships.
MIXED = {"n_clusters": 4, "temperature": 0.1}
# Boosting that starts from Platt scaling: shallow and slow, stopped by cross-validation.
BOOSTING = {"max_depth": 3, "eta": 0.05, "subsample": 0.8, "min_child_weight": 5, "objective": "binary:logistic"}
MOST_ROUNDS, PATIENCE = 300, 20


@dataclass(frozen=True)
class Case:
    """All that a method may use: scores, labels and representations of both parts, and the data behind them.

    ``Z_cal`` and ``Z_test`` hold representations by name. The rest serves methods that train.
    """

    P_cal: np.ndarray
    y_cal: np.ndarray
    P_test: np.ndarray
    Z_cal: dict
    Z_test: dict
    seed: int
    data: object
    parts: protocol.Split
    base_model: str
    weighting: str


class Alternative(NamedTuple):
    """A method: its group, the representations that it needs, and ``forecast(case)``, what it says of the test part."""

    name: str
    group: str
    needs: tuple[str, ...]
    forecast: Callable


def ours(name, calibrator, *needs, group="post"):
    """Return an alternative that is one of the package's calibrators, on one representation, several or none."""

    def forecast(case):
        fresh = clone(calibrator)
        if "random_state" in fresh.get_params(deep=False):
            fresh.set_params(random_state=case.seed)
        Z_cal, Z_test = ([Z[need] for need in needs] for Z in (case.Z_cal, case.Z_test))
        if len(needs) < 2:
            Z_cal, Z_test = (Z[0] if Z else None for Z in (Z_cal, Z_test))
        return fresh.fit(case.P_cal, case.y_cal, Z_cal).predict_proba(case.P_test, Z_test)[:, 1]

    return Alternative(name, group, needs, forecast)


def mixed_in_logits(case):
    """Clusters of SHAP values mixed before the sigmoid: the ridge on memberships, and memberships times the score."""
    clusters = SoftKMeans(**MIXED, random_state=case.seed).fit(case.Z_cal["shap"])
    sides = []
    for P, Z in ((case.P_cal, case.Z_cal), (case.P_test, case.Z_test)):
        w = clusters.transform(Z["shap"])
        sides.append([w, w * logits(P)[:, None]])
    return RidgeCalibration().fit(case.P_cal, case.y_cal, sides[0]).predict_proba(case.P_test, sides[1])[:, 1]


def permuted(case):
    """The ridge on SHAP values of other rows, which tell nothing."""
    rng = np.random.default_rng(case.seed)
    Z_cal, Z_test = (rng.permutation(Z["shap"]) for Z in (case.Z_cal, case.Z_test))
    return RidgeCalibration().fit(case.P_cal, case.y_cal, Z_cal).predict_proba(case.P_test, Z_test)[:, 1]


def boosted(case):
    """Boosting on SHAP values and leaf coverage that starts from Platt scaling; folds choose the rounds."""
    import xgboost as xgb

    platt = PlattScaling().fit(case.P_cal, case.y_cal)
    start = lambda P: logit(np.clip(platt.predict_proba(P)[:, 1], 1e-9, 1 - 1e-9))
    X_cal, X_test = (np.hstack([Z["shap"], Z["coverage"]]) for Z in (case.Z_cal, case.Z_test))
    rows = xgb.DMatrix(X_cal, case.y_cal, base_margin=start(case.P_cal), nthread=1)
    settings = BOOSTING | {"seed": case.seed, "nthread": 1, "eval_metric": "logloss"}
    folds = list(StratifiedKFold(FOLDS, shuffle=True, random_state=case.seed).split(X_cal, case.y_cal))
    history = xgb.cv(settings, rows, MOST_ROUNDS, folds=folds, early_stopping_rounds=PATIENCE)["test-logloss-mean"]
    alone = np.mean([_loss(case.y_cal[test], expit(start(case.P_cal[test]))) for _, test in folds])
    if history.min() >= alone:
        return expit(start(case.P_test))
    model = xgb.train(settings, rows, int(history.argmin()) + 1)
    return model.predict(xgb.DMatrix(X_test, base_margin=start(case.P_test), nthread=1)).astype(float)


def cut_off(calibrator, *needs):
    """Return what a calibrator makes of the forecasts of as many of the model's rounds as have the least log-loss.

    The rounds are chosen on the calibration part; nothing is trained. Representations are those of the whole model.
    """

    def forecast(case):
        margins_cal, margins_test = (np.cumsum(Z["cuts"], axis=1) for Z in (case.Z_cal, case.Z_test))
        forecasts = np.clip(expit(margins_cal), 1e-9, 1 - 1e-9)
        best = int(np.argmin([_loss(case.y_cal, q) for q in forecasts.T]))
        shorter = replace(case, P_cal=forecasts[:, best], P_test=expit(margins_test[:, best]))
        return ours("", calibrator, *needs).forecast(shorter)

    return forecast


def logistic_by_folds(case):
    """Return the forecast of the benchmark's entry of that kind: one strength, chosen by folds, for all columns."""
    entrant = benchmark.read_entrant(FOLDER / "benchmark" / "entries" / "by_folds.py")
    names = entrant.needs
    calibrator = entrant.make().fit(case.P_cal, case.y_cal, [case.Z_cal[name] for name in names])
    return calibrator.predict_proba(case.P_test, [case.Z_test[name] for name in names])[:, 1]


def stopped_on_calibration(case):
    """The classifier stopped by the calibration part, and Platt scaling on the same part."""
    model = base_models.train(
        case.data, case.parts.train, case.base_model, case.seed, case.weighting, stop_on=case.parts.calibration
    )
    P_cal, P_test = (_scores(model, case, rows) for rows in (case.parts.calibration, case.parts.test))
    return PlattScaling().fit(P_cal, case.y_cal).predict_proba(P_test)[:, 1]


def retrained_in_folds(case):
    """Classifiers of folds of training and calibration part, each stopped by the rows held out; their mean."""
    rows = np.concatenate([case.parts.train, case.parts.calibration])
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=case.seed).split(rows, case.data.y[rows])
    forecasts = []
    for train, held_out in folds:
        model = base_models.train(
            case.data, rows[train], case.base_model, case.seed, case.weighting, stop_on=rows[held_out]
        )
        forecasts.append(_scores(model, case, case.parts.test))
    return np.mean(forecasts, axis=0)


def retrained(case):
    """The classifier as it is, of training and calibration part, uncalibrated."""
    rows = np.concatenate([case.parts.train, case.parts.calibration])
    return _scores(
        base_models.train(case.data, rows, case.base_model, case.seed, case.weighting), case, case.parts.test
    )


def calibrated_in_folds(method):
    """Return scikit-learn's `CalibratedClassifierCV` of training and calibration part."""

    def forecast(case):
        rows = np.concatenate([case.parts.train, case.parts.calibration])
        weights = protocol.weigh_classes(case.data.y[rows], case.weighting)
        preparation = protocol.make_preprocessor(case.data.categorical)
        last = base_models.classifier(case.base_model, case.seed, weights)
        model = Pipeline([*preparation.steps, ("classifier", last)])
        fitted = CalibratedClassifierCV(model, method=method, cv=FOLDS).fit(case.data.X.iloc[rows], case.data.y[rows])
        return fitted.predict_proba(case.data.X.iloc[case.parts.test])[:, 1]

    return forecast


def mcgrad(case):
    """MCGrad on SHAP values and leaf coverage, with its own defaults."""
    method = import_module("mcgrad.methods").MCGrad(random_state=case.seed)
    frames = []
    for P, Z in ((case.P_cal, case.Z_cal), (case.P_test, case.Z_test)):
        columns = np.hstack([Z["shap"], Z["coverage"]])
        names = [f"z{j}" for j in range(columns.shape[1])]
        frames.append(pd.DataFrame(columns, columns=names).assign(score=P))
    frames[0]["label"] = case.y_cal
    method.fit(frames[0], "score", "label", numerical_feature_column_names=names)
    return np.asarray(method.predict(frames[1], "score", numerical_feature_column_names=names), dtype=float)


def venn_abers_library(case):
    """The package venn-abers, its merged probability."""
    model = import_module("venn_abers").VennAbers()
    model.fit(_both(case.P_cal), case.y_cal)
    return model.predict_proba(_both(case.P_test))[0][:, 1]


def probmetrics(name, **settings):
    """Return a calibrator of probmetrics, by its name there."""

    def forecast(case):
        calibrator = import_module("probmetrics.calibrators").get_calibrator(name, **settings)
        return calibrator.fit(_both(case.P_cal), case.y_cal).predict_proba(_both(case.P_test))[:, 1]

    return forecast


RIDGE, CLUSTERS = RidgeCalibration(), ClusteredCalibrationCV(PlattScaling())
ALTERNATIVES = {
    one.name: one
    for one in (
        ours("base", Uncalibrated()),
        ours("Platt", PlattScaling(prior=None)),
        ours("Beta", BetaCalibration(prior=None)),
        ours("TS", TemperatureScaling(prior=None)),
        ours("Platt prior", PlattScaling()),
        ours("Beta prior", BetaCalibration()),
        ours("quadratic", QuadraticScaling()),
        ours("structured", StructuredScaling()),
        ours("ensemble-TS", EnsembleTemperatureScaling()),
        ours("isotonic", IsotonicCalibration()),
        ours("centred isotonic", CentredIsotonicCalibration()),
        ours("Venn-Abers", VennAbersCalibration()),
        ours("histogram", HistogramBinning()),
        ours("Bayesian binning", BayesianBinning()),
        ours("binwise Platt", BinwiseCalibration(PlattScaling())),
        ours("clusters of the paper", ClusteredCalibration(PlattScaling(prior=None)), "shap"),
        ours("clusters CV", CLUSTERS, "shap"),
        Alternative("clusters in logits", "post", ("shap",), mixed_in_logits),
        ours("ridge SHAP", RIDGE, "shap"),
        ours("ridge SHAP+coverage", RIDGE, "shap", "coverage"),
        ours("ridge SHAP, caution 0", RidgeCalibration(caution=0), "shap"),
        ours("ridge SHAP+coverage, caution 0", RidgeCalibration(caution=0), "shap", "coverage"),
        ours("ridge raw", RIDGE, "raw"),
        ours("ridge SHAP+raw", RIDGE, "shap", "raw"),
        Alternative("ridge permuted", "post", ("shap",), permuted),
        Alternative("boosting from Platt", "post", ("shap", "coverage"), boosted),
        ours("LoRe", LocalRecalibration(), "raw", group="libraries"),
        Alternative("MCGrad", "libraries", ("shap", "coverage"), mcgrad),
        Alternative("Venn-Abers (venn-abers)", "libraries", (), venn_abers_library),
        Alternative("logistic (probmetrics)", "libraries", (), probmetrics("logistic")),
        Alternative("logistic by folds", "rival", ("shap", "coverage"), logistic_by_folds),
        ours("ridge coverage", RIDGE, "coverage", group="cheap"),
        ours("ridge paths", RIDGE, "paths", group="cheap"),
        ours("ridge paths+coverage", RIDGE, "paths", "coverage", group="cheap"),
        ours("ridge stages", RIDGE, "stages", group="cheap"),
        ours("ridge stages+coverage", RIDGE, "stages", "coverage", group="cheap"),
        Alternative("cut off + Platt", "cheap", ("cuts",), cut_off(PlattScaling())),
        Alternative("cut off + ridge", "cheap", ("cuts", "paths", "coverage"), cut_off(RIDGE, "paths", "coverage")),
        Alternative("cut off + clusters CV", "cheap", ("cuts", "paths"), cut_off(CLUSTERS, "paths")),
        Alternative("stopped + Platt", "retrained", (), stopped_on_calibration),
        Alternative("retrained as it is", "retrained", (), retrained),
        Alternative("retrained in folds", "retrained", (), retrained_in_folds),
        Alternative("CalibratedClassifierCV sigmoid", "retrained", (), calibrated_in_folds("sigmoid")),
        Alternative("CalibratedClassifierCV isotonic", "retrained", (), calibrated_in_folds("isotonic")),
    )
}


def select(words):
    """Return the alternatives that groups or names say, in the order of the table.

    Raises
    ------
    ValueError
        If a word names nothing.

    Examples
    --------
    >>> from clustcal.experiments.alternatives.lineup import select
    >>> [one.name for one in select(["Platt", "ridge SHAP"])]
    ['Platt', 'ridge SHAP']
    """
    for word in words:
        if word not in GROUPS and word not in ALTERNATIVES:
            raise ValueError(f"methods has {word!r}; expected {', '.join(GROUPS)}, or one of {list(ALTERNATIVES)}.")
    return [one for one in ALTERNATIVES.values() if one.name in words or one.group in words]


def _scores(model, case, rows):
    return model.predict_proba(case.data.X.iloc[rows])[:, 1].astype(float)


def _both(p):
    return np.column_stack([1 - p, p])


def _loss(y, q):
    return -np.mean(np.log(np.where(y == 1, q, 1 - q)))
