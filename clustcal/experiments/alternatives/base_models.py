"""The classifiers whose scores the alternatives correct, and what each says about the rows: scores, representations.

Builds on `protocol` for splits and preparation.
"""

from importlib import import_module
from time import process_time
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline
from sklearn.utils import Bunch

from clustcal import datasets
from clustcal.experiments import protocol
from clustcal.representations import LeafCoverage, PathContributions, StagedMargins

# Sets that packages ship, by the number of their rows: that of scikit-learn, and the survey on affairs of statsmodels.
PACKAGED_ROWS = {"breast_cancer": 569, "affairs": 6366}
N_COMPONENTS = 64  # of leaf coverage
N_CUTS = 32  # numbers of rounds among which one may be chosen
STOPPING_SHARE, PATIENCE = 0.1, 50
# Probabilities of the arm with known truth stay this far from 0 and 1.
MARGIN = 1e-3
TEACHER: dict[str, Any] = {"n_estimators": 200, "max_depth": 4, "learning_rate": 0.05}
TEACHER_SEEDS = 10_000  # so that no seed of a model is that of a teacher


class BaseModel(NamedTuple):
    """Settings of XGBoost; ``stops`` says that the number of trees is chosen on a part of the training rows."""

    settings: dict[str, Any]
    stops: bool = False


BASE_MODELS = {
    "xgb-300x8": BaseModel({**protocol.BOOSTING, "n_estimators": 300, "max_depth": 8}),
    "xgb-1000x8": BaseModel({**protocol.BOOSTING, "n_estimators": 1000, "max_depth": 8}),
    "xgb-100x3": BaseModel({**protocol.BOOSTING, "n_estimators": 100, "max_depth": 3}),
    "xgb-stopped-4": BaseModel(
        {**protocol.BOOSTING, "learning_rate": 0.05, "n_estimators": 2000, "max_depth": 4}, stops=True
    ),
}


def load(name):
    """Return a data set as :func:`clustcal.datasets.load` does; also ``"breast_cancer"`` and ``"affairs"``."""
    if name == "breast_cancer":
        found = load_breast_cancer(as_frame=True)
        return Bunch(X=found.data, y=found.target.to_numpy(dtype=np.int64), categorical=[], name=name)
    if name == "affairs":
        table = import_module("statsmodels.datasets.fair").load_pandas().data
        y = (table["affairs"] > 0).to_numpy(dtype=np.int64)
        return Bunch(X=table.drop(columns="affairs"), y=y, categorical=[], name=name)
    return datasets.load(name)


def classifier(base_model, seed, weights=None, **settings):
    """Return an XGBoost classifier, unfitted, with the settings of a base model and others."""
    from xgboost import XGBClassifier

    given = BASE_MODELS[base_model].settings | (weights or {}) | settings
    return XGBClassifier(**given, random_state=seed, n_jobs=1)


def train(data, rows, base_model, seed, arm="", stop_on=None):
    """Fit preparation and classifier to some rows.

    Parameters
    ----------
    data : Bunch
        With ``X``, ``y`` and ``categorical``.
    rows : array of int
    base_model : str
        One of `BASE_MODELS`.
    seed : int
    arm : str, default=""
        Of the study of the paper's tables: see `protocol.weigh_classes`.
    stop_on : array of int, optional
        Rows by whose log-loss the number of trees is chosen; by default a tenth of ``rows`` where it stops.

    Returns
    -------
    model : Pipeline
    """
    weights = protocol.weigh_classes(data.y[rows], arm)
    if stop_on is None and not BASE_MODELS[base_model].stops:
        preparation = protocol.make_preprocessor(data.categorical)
        model = Pipeline([*preparation.steps, ("classifier", classifier(base_model, seed, weights))])
        return model.fit(data.X.iloc[rows], data.y[rows])
    if stop_on is None:
        rows, stop_on = train_test_split(rows, test_size=STOPPING_SHARE, stratify=data.y[rows], random_state=seed)
    preparation = protocol.make_preprocessor(data.categorical)
    X = preparation.fit_transform(data.X.iloc[rows])
    last = classifier(base_model, seed, weights, early_stopping_rounds=PATIENCE, eval_metric="logloss")
    watched = [(preparation.transform(data.X.iloc[stop_on]), data.y[stop_on])]
    last.fit(X, data.y[rows], eval_set=watched, verbose=False)
    return Pipeline([*preparation.steps, ("classifier", last)])


def represent(model, X_cal, X_test, seed, names=("shap", "coverage", "raw")):
    """Return representations of both parts and what each took.

    Parameters
    ----------
    model : fitted Pipeline
    X_cal, X_test : frame
    seed : int
    names : sequence of str
        ``shap``, ``coverage`` (64 components), ``raw``, the features that the model sees, ``paths``,
        ``stages`` (eight) and ``cuts`` (32 stages).

    Returns
    -------
    Z : dict of str to pair of ndarray
        The representations of both parts.
    seconds : dict of str to float
    """
    makers = {
        "shap": protocol.make_representation("shap", model, seed),
        "coverage": LeafCoverage(model, N_COMPONENTS, random_state=seed),
        "raw": protocol.make_representation("data", model, seed),
        "paths": PathContributions(model),
        "stages": StagedMargins(model),
        "cuts": StagedMargins(model, N_CUTS),
    }
    Z, seconds = {}, {}
    for name in names:
        start = process_time()
        Z[name] = makers[name].fit_transform(X_cal), makers[name].transform(X_test)
        seconds[name] = process_time() - start
    return Z, seconds


def with_known_truth(data, seed):
    """Return the data with labels drawn anew from probabilities that are known.

    Returns
    -------
    data : Bunch
        As it was, but for ``y``, and with ``truth`` (n,), the probabilities behind it.
    """
    from xgboost import XGBClassifier

    preparation = protocol.make_preprocessor(data.categorical)
    teacher = XGBClassifier(**TEACHER, random_state=TEACHER_SEEDS + seed, n_jobs=1)
    X = preparation.fit_transform(data.X)
    truth = np.clip(teacher.fit(X, data.y).predict_proba(X)[:, 1].astype(float), MARGIN, 1 - MARGIN)
    rng = np.random.default_rng([TEACHER_SEEDS, seed])
    y = (rng.random(len(truth)) < truth).astype(np.int64)
    return Bunch(X=data.X, y=y, categorical=data.categorical, truth=truth)
