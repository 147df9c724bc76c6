"""The units of the tabular study: a data set, a depth and a seed, with all capacities and methods of one classifier.

The classifier with the most trees is trained once; the smaller ones are its first trees. SHAP values of more trees are
those of fewer plus the rest, and one pass over the kernel gives the local calibration error of every method. Builds on
`protocol` for what is done and on `grid` for the methods; `runner` runs the units.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from time import process_time
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from clustcal import ClusteredCalibration, datasets, metrics
from clustcal.calibrators.base import read_calibration_set
from clustcal.experiments import protocol, runner
from clustcal.experiments.methods import GLOBAL, Entry
from clustcal.experiments.provenance import describe_commit, describe_versions
from clustcal.experiments.store import METRICS

ROWS_IF_UNKNOWN = 50_000


class Unit(NamedTuple):
    """A unit of work: everything that one trained classifier serves."""

    dataset: str
    max_depth: int
    seed: int
    arm: str = ""

    def __str__(self):
        return f"{self.dataset} depth {self.max_depth} seed {self.seed} {self.arm}".rstrip()


class Forecast(NamedTuple):
    """What one method says about the test part, and what is known before the methods are compared."""

    Q: np.ndarray
    nll_calibration: float | None
    seconds: dict


class Part(NamedTuple):
    """Rows of the calibration or of the test part, with what the classifier and one representation make of them."""

    P: np.ndarray
    y: np.ndarray
    Z: dict


@dataclass(frozen=True)
class TabularStudy:
    """What `runner.run` needs to know of the tabular study: its units, what each lacks, and how it is computed.

    Parameters
    ----------
    names : sequence of str
        Data sets, in the order in which they are run.
    entries : list of Entry
        Methods; see :func:`clustcal.experiments.tabular.grid.select_entries`.
    n_estimators, max_depths, seeds : sequence of int
    arm : str, default=""
        Of the store, to which the rows belong.
    """

    names: Sequence[str]
    entries: Sequence[Entry]
    n_estimators: Sequence[int] = protocol.N_ESTIMATORS
    max_depths: Sequence[int] = protocol.MAX_DEPTHS
    seeds: Sequence[int] = protocol.SEEDS
    arm: str = ""

    def units(self):
        """Return all units, in the order in which they are run."""
        return [Unit(*parts, self.arm) for parts in product(self.names, self.max_depths, self.seeds)]

    def missing(self, unit, known):
        """Return what is missing of a unit in the form that `run_unit` takes, given the keys of the rows there are."""
        return missing_entries(unit, self.n_estimators, self.entries, known)

    def compute(self, data, unit, wanted):
        """Return the rows of a unit."""
        return run_unit(data, unit, wanted)

    def cost(self, unit):
        """Return the seconds of a unit, about: a part that does not grow with its rows, one that does, the kernel's."""
        rows = known_rows(unit.dataset)
        return 30 + rows / 400 + (rows / 8000) ** 2


def run(names, entries, store, *, load=datasets.load, jobs=1, dask=None, progress=True, **capacities):
    """Compute what the store lacks of the tabular study.

    Parameters
    ----------
    names, entries, **capacities
        See `TabularStudy`.
    store, load, jobs, dask, progress
        See :func:`clustcal.experiments.runner.run`.

    Returns
    -------
    outcome : Outcome
        See `runner`.
    """
    study = TabularStudy(names, entries, **capacities)
    return runner.run(study, store, load=load, jobs=jobs, dask=dask, progress=progress)


def run_unit(data, unit, wanted, *, stratify=True, encoding="ordinal"):
    """Train one classifier and judge the methods on it.

    Parameters
    ----------
    data : Bunch
        With ``X``, ``y`` and ``categorical``, as :func:`clustcal.datasets.load` returns it.
    unit : Unit
    wanted : dict of int to list of Entry
        The methods to judge on the first trees of the classifier, for each number of trees.
    stratify, encoding
        Two choices that the paper leaves open: see `protocol.split` and `protocol.make_preprocessor`.

    Returns
    -------
    rows : list of dict
        One per number of trees and method, with the columns of `store`.
    """
    # One thread: units run beside each other, and sums in another order are other numbers. Times are those of the
    # processor, which one thread makes comparable, whatever else the machine does.
    with threadpool_limits(1):
        start = process_time()
        parts = protocol.split(data.y, unit.seed, stratify)
        capacity = {"n_estimators": max(wanted), "max_depth": unit.max_depth}
        model = protocol.train_model(data, parts.train, encoding, unit.arm, seed=unit.seed, **capacity)
        trained = process_time()
        X_cal, X_test = data.X.iloc[parts.calibration], data.X.iloc[parts.test]
        y_cal, y_test = data.y[parts.calibration], data.y[parts.test]
        Z, extraction = represent(model, X_cal, X_test, unit.seed, wanted)
        forecasts = {}
        for n, entries in wanted.items():
            P_cal, P_test = (model.predict_proba(X, iteration_range=(0, n))[:, 1] for X in (X_cal, X_test))
            for entry in entries:
                Z_cal, Z_test = Z.get((n, entry.method.representation), (None, None))
                cal, test = Part(P_cal, y_cal, Z_cal), Part(P_test, y_test, Z_test)
                forecasts[n, entry] = make_forecast(entry.method, cal, test, unit.seed)
        judged = process_time()
        local = local_errors(y_test, forecasts, protocol.make_representation("data", model).fit_transform(X_test))
        end = process_time()
    common = {**unit._asdict(), **{f"n_{name}": len(rows) for name, rows in parts._asdict().items()}}
    seconds = {"training_seconds": trained - start, "kernel_seconds": end - judged, "unit_seconds": end - start}
    rows = []
    for (n, entry), forecast in forecasts.items():
        spent = seconds | forecast.seconds | {"extraction_seconds": extraction.get((n, entry.method.representation))}
        rows.append(
            {
                **common,
                "n_estimators": n,
                **dict(zip(("calibrator", "representation", "settings"), entry.key, strict=True)),
                **_judge(y_test, forecast.Q, local[n, entry]),
                "nll_calibration": forecast.nll_calibration,
                **{name: round(value, 6) for name, value in spent.items() if value is not None},
                "versions": describe_versions(),
                "commit": describe_commit(),
            }
        )
    return rows


def represent(model, X_cal, X_test, seed, wanted):
    """Make the representations that the wanted methods need.

    Returns
    -------
    Z : dict of (int, str) to pair of ndarray
        By number of trees and name: the representation of the calibration and of the test part.
    seconds : dict of (int, str) to float
        What it took; for SHAP, together with the trees before.
    """
    needed = {name: [n for n in sorted(wanted) if _needs(wanted[n], name)] for name in protocol.REPRESENTATIONS}
    Z, seconds = {}, {}
    for name, capacities in needed.items():
        made = _shap if name == "shap" else _fit_each
        for n, pair, spent in made(name, model, X_cal, X_test, seed, capacities):
            Z[n, name], seconds[n, name] = pair, spent
    return Z, seconds


def make_forecast(method, cal, test, seed):
    """Fit a method on the calibration part and apply it to the test part, with the time that each took."""
    calibrator = method.make(seed)
    start = process_time()
    calibrator.fit(cal.P, cal.y, cal.Z)
    fitted = process_time()
    Q = calibrator.predict_proba(test.P, test.Z)
    seconds = {"fit_seconds": fitted - start, "predict_seconds": process_time() - fitted}
    if isinstance(calibrator, ClusteredCalibration):
        without_clustering = time_cluster_fits(calibrator, cal)
        seconds["clustering_seconds"] = max(0.0, seconds["fit_seconds"] - without_clustering)
        seconds["fit_seconds"] = without_clustering
    nll = None
    if method.name in GLOBAL:  # the comparisons choose among these, on request by their log-loss here
        nll = metrics.log_loss(cal.y, calibrator.predict_proba(cal.P, cal.Z))
    return Forecast(Q, nll, seconds)


def time_cluster_fits(calibrator, cal):
    """Return the seconds of fitting a clustered calibrator when the clusters are given: all but K-means."""
    data = read_calibration_set(cal.P, cal.y)
    start = process_time()
    base = clone(calibrator.calibrator_)._fit_to(data)
    calibrator._fit_clusters(data, base, calibrator.memberships(cal.Z))
    return process_time() - start


def local_errors(y, forecasts, Z):
    """Return mean and largest local calibration error of every forecast, from one pass over the kernel."""
    errors = metrics.local_calibration_errors(y, {key: forecast.Q for key, forecast in forecasts.items()}, Z)
    return {key: (float(values.mean()), float(values.max())) for key, values in errors.items()}


def missing_entries(unit, n_estimators, entries, known):
    """Return what is missing of a unit, in the form that `run_unit` takes; ``known`` are the keys of its data set."""
    key = lambda n, entry: (unit.dataset, n, unit.max_depth, unit.seed, *entry.key, unit.arm)
    missing = {n: [entry for entry in entries if key(n, entry) not in known] for n in sorted(n_estimators)}
    return {n: entries for n, entries in missing.items() if entries}


def _needs(entries, name):
    return any(entry.method.representation == name for entry in entries)


def _fit_each(name, model, X_cal, X_test, seed, capacities):
    for n in capacities:
        start = process_time()
        representation = protocol.make_representation(name, model, seed, (0, n))
        pair = representation.fit_transform(X_cal), representation.transform(X_test)
        yield n, pair, process_time() - start


def _shap(name, model, X_cal, X_test, seed, capacities):
    """SHAP values are sums over trees, so every tree is looked at once, whatever the number of capacities."""
    X = pd.concat([X_cal, X_test])
    start, first, total = process_time(), 0, 0.0
    for n in capacities:
        total = total + protocol.make_representation(name, model, seed, (first, n)).fit(X).transform(X)
        first = n
        yield n, (total[: len(X_cal)], total[len(X_cal) :]), process_time() - start


def _judge(y, Q, local):
    lce, mlce = local
    found = {name: getattr(metrics, name)(y, Q) for name in ("brier", "accuracy", "ada_ece", "ece", "mce")}
    found |= {"nll": metrics.log_loss(y, Q), "auc": metrics.roc_auc(y, Q), "lce": lce, "mlce": mlce}
    return {name: float(found[name]) for name in METRICS}


def known_rows(dataset):
    """Return how many rows a data set has, or a guess where nothing is known of it."""
    rows = _registered_rows().get(dataset, ROWS_IF_UNKNOWN)
    return ROWS_IF_UNKNOWN if pd.isna(rows) else int(rows)


@cache
def _registered_rows():
    return datasets.list_datasets()["rows"]
