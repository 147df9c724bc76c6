"""Run the tabular study: one unit of work is a data set, a depth and a seed, with all its capacities and methods.

The classifier with the most trees is trained once; the smaller ones are its first trees. SHAP values of more trees are
those of fewer plus the rest, and one pass over the kernel gives the local calibration error of every method. Builds on
`protocol` for what is done, on `grid` for the methods, and on `store` for the rows.
"""

import signal
import threading
from contextlib import contextmanager
from itertools import count, product
from time import process_time
from typing import NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed, parallel_config
from joblib.externals.loky import get_reusable_executor
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from clustcal import ClusteredCalibration, datasets, metrics
from clustcal.core import solvers
from clustcal.experiments import protocol
from clustcal.experiments.methods import GLOBAL
from clustcal.experiments.provenance import describe_commit, describe_versions
from clustcal.experiments.store import METRICS

ROWS_IF_UNKNOWN = 50_000


class Unit(NamedTuple):
    """A unit of work: everything that one trained classifier serves."""

    dataset: str
    max_depth: int
    seed: int

    def __str__(self):
        return f"{self.dataset} depth {self.max_depth} seed {self.seed}"


class Forecast(NamedTuple):
    """What one method says about the test part, and what is known before the methods are compared."""

    Q: np.ndarray
    nll_calibration: float | None
    seconds: dict


class Outcome(NamedTuple):
    """What `run` did: units computed, units that were complete before, and units that another process has."""

    done: int
    complete: int
    taken: int


class Part(NamedTuple):
    """Rows of the calibration or of the test part, with what the classifier and one representation make of them."""

    P: np.ndarray
    y: np.ndarray
    Z: dict


def run(
    names,
    entries,
    store,
    *,
    n_estimators=protocol.N_ESTIMATORS,
    max_depths=protocol.MAX_DEPTHS,
    seeds=protocol.SEEDS,
    jobs=1,
    dask=None,
    load=datasets.load,
    progress=True,
):
    """Compute what the store lacks.

    Parameters
    ----------
    names : sequence of str
        Data sets, in the order in which they are run.
    entries : list of Entry
        Methods; see :func:`clustcal.experiments.grid.select_entries`.
    store : Store
        Gets the rows of a unit as soon as they are there.
    n_estimators, max_depths, seeds : sequence of int
    jobs : int, default=1
        Units at a time, each in a process of its own with one thread; -1 for all cores.
    dask : str, optional
        Address of a Dask scheduler, whose workers run the units in place of processes of this machine. They need this
        package, but neither the data nor the store.
    load : callable, default=:func:`clustcal.datasets.load`
        Gives the data set of a name.
    progress : bool, default=True
        Show a bar with the remaining time, which weighs units by the number of their rows.

    Returns
    -------
    outcome : Outcome
    """
    units = [Unit(*parts) for parts in product(names, max_depths, seeds)]
    missing = _find_missing(units, n_estimators, entries, store)
    tasks = _Tasks(missing, n_estimators, entries, store, load)
    done = 0
    try:
        with (
            _remembered_interrupts() as came,
            _parallel(jobs, dask) as settings,
            _progress(missing, progress) as advance,
        ):
            for unit, rows in Parallel(return_as="generator_unordered", batch_size=1, **settings)(iter(tasks)):
                store.append(unit.dataset, rows)
                tasks.release(unit)
                advance(unit)
                done += 1
                if came:
                    raise KeyboardInterrupt
    finally:
        tasks.release(*tasks.claims)
    if tasks.error is not None:
        raise tasks.error
    left = _find_missing(units, n_estimators, entries, store)
    return Outcome(done, len(units) - len(missing), len(left))


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
        model = protocol.train_model(data, parts.train, encoding, seed=unit.seed, **capacity)
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
    start = process_time()
    base = clone(calibrator.calibrator_).fit(cal.P, cal.y)
    family = base.family(2)
    features = family.features(np.column_stack([1 - cal.P, cal.P]))
    W = calibrator.memberships(cal.Z)
    solvers.fit(family, features, cal.y, W, prior=base.theta_, shrinkage=calibrator.shrinkage)
    return process_time() - start


def local_errors(y, forecasts, Z):
    """Return mean and largest local calibration error of every forecast, from one pass over the kernel."""
    errors = metrics.local_calibration_errors(y, {key: forecast.Q for key, forecast in forecasts.items()}, Z)
    return {key: (float(values.mean()), float(values.max())) for key, values in errors.items()}


def _find_missing(units, n_estimators, entries, store):
    """Return the units of which the store lacks a row."""
    known = {name: store.keys(name) for name in {unit.dataset for unit in units}}
    return [unit for unit in units if missing_entries(unit, n_estimators, entries, known[unit.dataset])]


def missing_entries(unit, n_estimators, entries, known):
    """Return what is missing of a unit, in the form that `run_unit` takes; ``known`` are the keys of its data set."""
    key = lambda n, entry: (unit.dataset, n, unit.max_depth, unit.seed, *entry.key)
    missing = {n: [entry for entry in entries if key(n, entry) not in known] for n in sorted(n_estimators)}
    return {n: entries for n, entries in missing.items() if entries}


class _Tasks:
    """Units to compute, each claimed when it is taken, so that another process finds the rest free.

    An error in loading data ends the tasks, and is kept in ``error``: joblib takes tasks in threads of its own, where
    an error would be lost.
    """

    def __init__(self, units, n_estimators, entries, store, load):
        self.units, self.n_estimators, self.entries = units, n_estimators, entries
        self.store, self.load = store, load
        self.claims, self.error = {}, None

    def __iter__(self):
        data, loaded = None, None
        for unit in self.units:
            claim = self.store.claim(f"{unit.dataset}-{unit.max_depth}-{unit.seed}")
            if claim is None:
                continue
            self.claims[unit] = claim
            # Looked up after the claim: whoever had it before has stored its rows by now.
            wanted = missing_entries(unit, self.n_estimators, self.entries, self.store.keys(unit.dataset))
            if not wanted:
                self.release(unit)
                continue
            if loaded != unit.dataset:
                try:
                    data, loaded = self.load(unit.dataset), unit.dataset
                except Exception as error:
                    self.error = error
                    return
            yield delayed(_run_labelled)(data, unit, wanted)

    def release(self, *units):
        """Give up the claims of these units."""
        for unit in units:
            self.claims.pop(unit).release()


def _run_labelled(data, unit, wanted):
    return unit, run_unit(data, unit, wanted)


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


@contextmanager
def _parallel(jobs, dask):
    """Give joblib's settings for processes of this machine, or for the workers of a Dask cluster.

    As many units are taken as are being worked on. Leaving by Ctrl-C or an error ends the processes at once.
    """
    if dask is not None:
        from dask.distributed import Client

        with Client(dask, set_as_default=False) as client, parallel_config("dask", client=client):
            yield {"n_jobs": -1, "pre_dispatch": "n_jobs"}
        return
    with parallel_config("loky", inner_max_num_threads=1):
        try:
            yield {"n_jobs": jobs, "pre_dispatch": "n_jobs"}
        except BaseException:
            if jobs != 1:
                get_reusable_executor().shutdown(wait=False, kill_workers=True)
            raise


@contextmanager
def _remembered_interrupts():
    """Give a list that is not empty once Ctrl-C was pressed.

    Ctrl-C raises KeyboardInterrupt as ever, but that is lost where it meets a callback of compiled code or the deletion
    of an object. Nothing is changed where the signal is ignored or means something else already.
    """
    came = []
    default = signal.default_int_handler
    if threading.current_thread() is not threading.main_thread() or signal.getsignal(signal.SIGINT) is not default:
        yield came
        return

    def remember(number, frame):
        came.append(number)
        default(number, frame)

    signal.signal(signal.SIGINT, remember)
    try:
        yield came
    finally:
        signal.signal(signal.SIGINT, default)


@contextmanager
def _progress(units, show):
    """Give a function that moves a bar on by a unit; its remaining time takes units to last as `_cost` says."""
    if not show:
        yield lambda unit: None
        return
    from tqdm import tqdm

    rows = datasets.list_datasets()["rows"]
    cost = {unit: _cost(rows.get(unit.dataset, ROWS_IF_UNKNOWN)) for unit in units}
    form = "{percentage:3.0f}% |{bar}| {elapsed} gone, {remaining} left; {desc}"
    with tqdm(total=sum(cost.values()), smoothing=0, bar_format=form) as bar:
        bar.set_description_str(f"{len(units)} units")
        numbers = count(1)

        def advance(unit):
            bar.set_description_str(f"{next(numbers)} of {len(units)} units, {unit}", refresh=False)
            bar.update(cost[unit])

        yield advance


def _cost(rows):
    """Return about how long a unit takes: a part that does not grow with its rows, one that does, and the kernel's."""
    rows = ROWS_IF_UNKNOWN if pd.isna(rows) else int(rows)
    return 30 + rows / 400 + (rows / 8000) ** 2
