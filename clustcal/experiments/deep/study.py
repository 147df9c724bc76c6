"""Run the study of images and texts: every method on every network and split, each cell of the grid kept.

One unit of work is a network, a seed and either all methods without clusters or one clustering (a layer and a K). A
clustering is made once, and once in each fold; all families and shrinkages share it, and the fit at one shrinkage goes
on from that at the next stronger one. Builds on `design` for what is done, and on `runner` and `store` for how.
"""

from collections.abc import Sequence
from dataclasses import dataclass
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
from clustcal.experiments import runner
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
    """A unit of work: without layer, all methods without clusters; else one clustering and some families.

    ``families`` are names joined by "+".
    """

    study: str
    seed: int
    layer: str = ""
    n_clusters: int = 1
    families: str = ""


class Shape(NamedTuple):
    """What the units of a network depend on."""

    n_rows: int
    n_classes: int
    layers: tuple[str, ...]


@dataclass
class DeepStudy:
    """What `runner.run` needs to know of the study of images and texts: its units, what each lacks, how it is computed.

    Parameters
    ----------
    shapes : dict of str to Shape
        By the name of a study, in the order in which they are run.
    seeds : sequence of int
    """

    shapes: dict
    seeds: Sequence[int] = design.SEEDS

    def units(self):
        """Return all units: of each network those without clusters first."""
        units = []
        for name, shape in self.shapes.items():
            units += [Unit(name, seed) for seed in self.seeds]
            for seed in self.seeds:
                cells = design.get_cells(shape.n_classes, shape.layers, seed)
                units += [Unit(name, seed, layer, K, "+".join(families)) for layer, K, families in cells]
        return units

    def missing(self, unit, known):
        """Return the keys of the rows of a unit that are not among the known ones."""
        return find_keys(unit, self.shapes[unit.study]) - known

    def compute(self, data, unit, wanted):
        """Return the rows of a unit."""
        return run_unit(data, unit)

    def cost(self, unit):
        """Return about how many seconds a unit takes; enough to weigh units by."""
        shape = self.shapes[unit.study]
        per_family = {"Dirichlet": shape.n_classes**2, "Dirichlet-TS": shape.n_classes**2, "Vector": shape.n_classes}
        families = unit.families.split("+") if unit.families else []
        features = sum(per_family.get(family, 1) for family in families) + 10
        return 1 + shape.n_rows * shape.n_classes * features * unit.n_clusters / 1e7


def open_store(results):
    """Return the store of the study in a folder of results."""
    return Store(results / "deep" / "study", KEY, COLUMNS, TEXT)


def run(names, store, *, seeds=design.SEEDS, load=load_outputs, jobs=1, progress=True):
    """Compute what the store lacks of the study.

    Parameters
    ----------
    names : sequence of str
        Of `design.STUDIES`.
    store : Store
        As `open_store` returns it.
    seeds : sequence of int
    load : callable
        From the name of a network to its `Outputs`.
    jobs, progress
        See :func:`clustcal.experiments.runner.run`.

    Returns
    -------
    outcome : Outcome
        See `runner`.
    """

    def prepare(name):
        study = design.STUDIES[name]
        return design.prepare(load(study.network), study.only_classes_that_occur)

    shapes = {}
    for name in names:
        part = prepare(name)
        shapes[name] = Shape(len(part.y), design.count_classes(part.P), tuple(part.Z))
    return runner.run(DeepStudy(shapes, seeds), store, load=prepare, jobs=jobs, progress=progress)


def find_keys(unit, shape):
    """Return the keys of the rows that a unit gives, as `Store.keys` returns them."""
    common = (unit.study, unit.seed)
    if not unit.layer:
        names = design.get_global_methods(shape.n_classes, bool(shape.layers))
        return {(*common, name, *NO_CLUSTERS.values(), "") for name in names}
    return {
        (*common, family, unit.layer, unit.n_clusters, shrinkage, temperature, "")
        for family in unit.families.split("+")
        for shrinkage in design.SHRINKAGES
        for temperature in design.TEMPERATURES
    }


def run_unit(part, unit):
    """Return the rows of one unit."""
    # One thread, as in the tabular study: its times can be compared, and sums are taken in one order.
    with threadpool_limits(1):
        cal, test = design.halve(part, unit.seed)
        rows = run_cells(cal, test, unit) if unit.layer else _run_global(cal, test, unit)
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


def run_cells(cal, test, unit):
    """Yield the rows of one clustering: every family of the unit at every shrinkage and temperature.

    Parameters
    ----------
    cal, test : Part
    unit : Unit
        With a layer of the parts.
    """
    families = design.get_families(design.count_classes(cal.P))
    names = unit.families.split("+")
    chosen = [families[name] for name in names]
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
    for name in names:
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
                    **judge(test.y, Q),
                    **_rounded(clustering | seconds),
                }


def judge(y, Q):
    """Return the metrics of the paper's tables for probabilities Q (n, L) and class numbers y."""
    n_classes = Q.shape[1]
    labels = None if n_classes == 2 else np.arange(n_classes)
    Q = Q[:, 1] if n_classes == 2 else Q
    found = {name: getattr(metrics, name)(y, Q, labels=labels) for name in ("brier", "accuracy", "ada_ece", "ece")}
    found["nll"] = metrics.log_loss(y, Q, labels=labels)
    if n_classes == 2:
        found["auc"] = metrics.roc_auc(y, Q)
    return {name: float(found[name]) for name in METRICS if name in found}


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
        yield {"calibrator": name, **NO_CLUSTERS, **judge(test.y, Q), **_rounded(seconds)}


def _validation_losses(results, families):
    """By family, shrinkage and temperature: the mean log-loss on rows held out within the calibration half."""
    names = {repr(family): name for name, family in families.items()}
    return {(names[repr(row.calibrator)], row.shrinkage, row.temperature): row.log_loss for row in results.itertuples()}


def _unit_rows(Z):
    from sklearn.preprocessing import normalize

    return normalize(Z)


def _rounded(seconds):
    return {name: round(value, 6) for name, value in seconds.items()}
