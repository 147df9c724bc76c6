"""Run the study of images and texts: every method on every network and split, each cell of the grid kept.

One unit of work is a network, a seed and either all methods without clusters or one clustering (a layer and a K). A
clustering is made once, and once in each fold; all families and shrinkages share it, and the fit at one shrinkage goes
on from that at the next stronger one. Builds on `design` for what is done and on `store` for the rows.
"""

from time import process_time
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from clustcal import ClusteredCalibrationCV, SoftKMeans, metrics
from clustcal.calibrators.clustered import mixture
from clustcal.calibrators.soft_kmeans import soft_memberships, squared_distances
from clustcal.core import solvers
from clustcal.core.probabilities import as_probabilities
from clustcal.experiments.deep import design
from clustcal.experiments.deep.outputs import load_outputs
from clustcal.experiments.provenance import describe_commit, describe_versions
from clustcal.experiments.store import Store

LIBRARIES = ("numpy", "scikit-learn", "scipy")
KEY = ("dataset", "seed", "calibrator", "layer", "n_clusters", "shrinkage", "temperature", "arm")
TEXT = ("dataset", "calibrator", "layer", "arm", "versions", "commit")
METRICS = ("nll", "brier", "ada_ece", "ece", "accuracy", "auc")
COLUMNS = (
    *KEY,
    *("n_classes", "n_calibration", "n_test"),
    *METRICS,
    "nll_cv",
    *("clustering_seconds", "fit_seconds", "predict_seconds", "cv_seconds"),
    *("versions", "commit"),
)
# In the place of K, shrinkage and temperature where there are no clusters; numbers, because they are part of the key.
NO_CLUSTERS = {"layer": "", "n_clusters": 1, "shrinkage": 0.0, "temperature": 0.0}


class Unit(NamedTuple):
    """A unit of work: without layer, all methods without clusters; else one clustering and some families."""

    study: str
    seed: int
    layer: str = ""
    n_clusters: int = 1
    families: tuple[str, ...] = ()

    def __str__(self):
        what = f"{self.layer} K={self.n_clusters}" if self.layer else "without clusters"
        return f"{self.study} seed {self.seed} {what}"


class Outcome(NamedTuple):
    """What `run` did: units computed, units that were complete before, and units that another process has."""

    done: int
    complete: int
    taken: int


def open_store(results):
    """Return the store of the study in a folder of results."""
    return Store(results / "deep" / "study", KEY, COLUMNS, TEXT)


def run(names, store, *, seeds=design.SEEDS, load=load_outputs, progress=True):
    """Compute what the store lacks, unit by unit; each unit's rows are kept as soon as they are there.

    Parameters
    ----------
    names : sequence of str
        Of `design.STUDIES`.
    store : Store
        As `open_store` returns it.
    seeds : sequence of int
    load : callable
        From the name of a network to its `Outputs`.
    progress : bool

    Returns
    -------
    outcome : Outcome
    """
    from tqdm import tqdm

    done = complete = taken = 0
    for name in names:
        study = design.STUDIES[name]
        part = design.prepare(load(study.network), study.only_classes_that_occur)
        units = make_units(name, part, seeds)
        for unit in tqdm(units, desc=name, disable=not progress):
            claim = store.claim("-".join(map(str, unit[:4])))
            if claim is None:
                taken += 1
                continue
            try:
                if find_keys(unit, part) <= store.keys(name):
                    complete += 1
                    continue
                store.append(name, run_unit(part, unit))
                done += 1
            finally:
                claim.release()
        store.merge(name)
    return Outcome(done, complete, taken)


def make_units(name, part, seeds):
    """Return the units of one network, those without clusters first."""
    n_classes = design.count_classes(part.P)
    units = [Unit(name, seed) for seed in seeds]
    for seed in seeds:
        units += [Unit(name, seed, *cell) for cell in design.get_cells(name, n_classes, list(part.Z), seed)]
    return units


def find_keys(unit, part):
    """Return the keys of the rows that a unit gives, as `Store.keys` returns them."""
    common = (unit.study, unit.seed)
    if not unit.layer:
        names = design.get_global_methods(design.count_classes(part.P), bool(part.Z))
        return {(*common, name, *NO_CLUSTERS.values(), "") for name in names}
    return {
        (*common, family, unit.layer, unit.n_clusters, shrinkage, temperature, "")
        for family in unit.families
        for shrinkage in design.SHRINKAGES
        for temperature in design.TEMPERATURES
    }


def run_unit(part, unit):
    """Return the rows of one unit."""
    # One thread, as in the tabular study: its times can be compared, and sums are taken in one order.
    with threadpool_limits(1):
        cal, test = design.halve(part, unit.seed)
        rows = _run_cells(cal, test, unit) if unit.layer else _run_global(cal, test, unit)
    common = {
        "dataset": unit.study,
        "seed": unit.seed,
        "n_classes": design.count_classes(part.P),
        "n_calibration": len(cal.y),
        "n_test": len(test.y),
        "versions": describe_versions(LIBRARIES),
        "commit": describe_commit(),
    }
    return [common | row for row in rows]


def fit_path(calibrator, cal, test, clusters, shrinkages, temperature):
    """Fit one family in given clusters, from the strongest shrinkage to the weakest.

    Parameters
    ----------
    calibrator : parametric calibrator
        Fitted to all of `cal`: the global one.
    cal, test : Part
    clusters : pair of ndarray
        Squared distances of the rows of `cal` and of `test` to the centroids.
    shrinkages : sequence of float
    temperature : float

    Yields
    ------
    shrinkage : float
    Q : ndarray
        What the clustered calibrator says about `test`.
    seconds : dict
        Of the fit and of the prediction.
    """
    P_cal, P_test = as_probabilities(cal.P), as_probabilities(test.P)
    family = calibrator.family(P_cal.shape[1])
    W_cal, W_test = (soft_memberships(distances, temperature) for distances in clusters)
    X_cal, X_test = family.features(P_cal), family.features(P_test)
    theta = None
    for shrinkage in sorted(shrinkages, reverse=True):
        start = process_time()
        theta = solvers.fit(
            family, X_cal, cal.y, W_cal, prior=calibrator.theta_, shrinkage=shrinkage, start=theta
        ).theta
        fitted = process_time()
        Q = mixture(family, theta, X_test, W_test)
        yield shrinkage, Q, {"fit_seconds": fitted - start, "predict_seconds": process_time() - fitted}


def _run_global(cal, test, unit):
    methods = design.get_global_methods(design.count_classes(cal.P), bool(cal.Z))
    layer = next(iter(cal.Z), None)
    for name, method in methods.items():
        calibrator = clone(method)
        if "random_state" in calibrator.get_params(deep=False):
            calibrator.set_params(random_state=unit.seed)
        Z_cal, Z_test = (None, None) if layer is None else (cal.Z[layer], test.Z[layer])
        start = process_time()
        calibrator.fit(cal.P, cal.y, Z_cal)
        fitted = process_time()
        Q = calibrator.predict_proba(test.P, Z_test)
        seconds = {"fit_seconds": fitted - start, "predict_seconds": process_time() - fitted}
        yield {"calibrator": name, **NO_CLUSTERS, **_judge(test.y, Q), **_rounded(seconds)}


def _run_cells(cal, test, unit):
    families = design.get_families(design.count_classes(cal.P))
    chosen = [families[name] for name in unit.families]
    Z_cal, Z_test = cal.Z[unit.layer], test.Z[unit.layer]
    start = process_time()
    validated = ClusteredCalibrationCV(
        chosen,
        n_clusters=(unit.n_clusters,),
        shrinkages=design.SHRINKAGES,
        temperatures=design.TEMPERATURES,
        cv=design.FOLDS,
        n_repeats=1,
        selection="best",
        include_global=False,
        random_state=unit.seed,
    ).fit(cal.P, cal.y, Z_cal)
    cv_seconds = process_time() - start
    start = process_time()
    kmeans = SoftKMeans(unit.n_clusters, random_state=unit.seed).fit(Z_cal)
    clustering = {"clustering_seconds": process_time() - start, "cv_seconds": cv_seconds}
    distances = [squared_distances(_unit_rows(Z), kmeans.centroids_, kmeans.membership) for Z in (Z_cal, Z_test)]
    losses = _validation_losses(validated.cv_results_, families)
    for name in unit.families:
        base = clone(families[name]).fit(cal.P, cal.y)
        for temperature in design.TEMPERATURES:
            path = fit_path(base, cal, test, distances, design.SHRINKAGES, temperature)
            for shrinkage, Q, seconds in path:
                yield {
                    "calibrator": name,
                    "layer": unit.layer,
                    "n_clusters": unit.n_clusters,
                    "shrinkage": shrinkage,
                    "temperature": temperature,
                    "nll_cv": losses[name, shrinkage, temperature],
                    **_judge(test.y, Q),
                    **_rounded(clustering | seconds),
                }


def _validation_losses(results, families):
    """By family, shrinkage and temperature: the mean log-loss on rows held out within the calibration half."""
    names = {repr(family): name for name, family in families.items()}
    return {(names[repr(row.calibrator)], row.shrinkage, row.temperature): row.log_loss for row in results.itertuples()}


def _unit_rows(Z):
    from sklearn.preprocessing import normalize

    return normalize(Z)


def _judge(y, Q):
    n_classes = Q.shape[1]
    labels = None if n_classes == 2 else np.arange(n_classes)
    Q = Q[:, 1] if n_classes == 2 else Q
    found = {name: getattr(metrics, name)(y, Q, labels=labels) for name in ("brier", "accuracy", "ada_ece", "ece")}
    found["nll"] = metrics.log_loss(y, Q, labels=labels)
    if n_classes == 2:
        found["auc"] = metrics.roc_auc(y, Q)
    return {name: float(found[name]) for name in METRICS if name in found}


def _rounded(seconds):
    return {name: round(value, 6) for name, value in seconds.items()}
