"""What global and clustered calibration of networks cost: seconds of each step, and the memory of all of it.

``python -m clustcal.experiments.deep.overhead [STUDY ...]`` writes ``results/deep/overhead.csv``; it can be stopped,
and then goes on. Every family of every study is measured in a process of its own with one thread, on the first split
and at the layer, K and shrinkage that were chosen most often. Beside them stands calibration with all 10,000 rows and
1,000 classes, for the memory it takes.
"""

import argparse
import json
import math
import resource
import subprocess
import sys
from contextlib import contextmanager, nullcontext
from pathlib import Path
from time import process_time

import numpy as np
from sklearn.base import clone
from sklearn.preprocessing import normalize
from threadpoolctl import threadpool_limits

from clustcal import SoftKMeans
from clustcal.calibrators.soft_kmeans import squared_distances
from clustcal.core import solvers
from clustcal.experiments.deep import design, measured, study
from clustcal.experiments.deep.network_tables import (
    CLUSTERED,
    PAPER_TEMPERATURE,
    find_tables,
    most_frequent_cell,
    read_rows,
)
from clustcal.experiments.deep.outputs import load_outputs, read_table
from clustcal.experiments.results import FOLDER

PATH = FOLDER / "deep" / "overhead.csv"
SEED = 0
REPEATS = 3  # of what takes less than `LONG` seconds; the least counts
LONG = 5.0
ALL_ROWS = "tiny-imagenet-1000"  # the study with the most classes: all of its rows at once
LARGE_CELL = ("pooled", 10, 1.0)
LARGE_FAMILIES = ("TS", "Vector")
FEW_STEPS = 5  # of L-BFGS, where memory alone is asked for


def measure(unit):
    """Return the row of one study and family, measured in a process of its own."""
    command = [sys.executable, "-m", __spec__.name, "--one", json.dumps(unit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{unit} failed: {done.stderr.strip().splitlines()[-1]}")
    return [json.loads(done.stdout.splitlines()[-1])]


def measure_here(unit, load=load_outputs):
    """Return seconds and memory of a study and family in this process.

    Parameters
    ----------
    unit : dict
        ``name``, ``rows`` ("half" of them, or "all", for the memory alone: fits are stopped), ``family``, ``layer``,
        ``n_clusters`` and ``shrinkage``.
    load : callable
        From the name of a network to its `Outputs`.

    Returns
    -------
    row : dict
    """
    one = design.STUDIES[unit["name"]]
    outputs = load(one.network)
    outputs = outputs._replace(representations={unit["layer"]: outputs.representations[unit["layer"]]})
    part = design.prepare(outputs, one.only_classes_that_occur)
    if unit["rows"] == "all":
        cal = test = part._replace(Z={unit["layer"]: part.Z[unit["layer"]].astype(np.float64)})
    else:
        cal, test = design.halve(part, SEED)
    Z_cal, Z_test = cal.Z[unit["layer"]], test.Z[unit["layer"]]
    family = design.get_families(design.count_classes(cal.P))[unit["family"]]
    before = find_peak_mb()
    for_memory = unit["rows"] == "all"
    with threadpool_limits(1), stopped_fits(FEW_STEPS) if for_memory else nullcontext():
        global_seconds, fitted = find_least_seconds(lambda: clone(family).fit(cal.P, cal.y))
        global_predict_seconds, _ = find_least_seconds(lambda: fitted.predict_proba(test.P))
        clustering_seconds, kmeans = find_least_seconds(
            lambda: SoftKMeans(unit["n_clusters"], random_state=SEED).fit(Z_cal)
        )
        distances = [squared_distances(normalize(Z), kmeans.centroids_, kmeans.membership) for Z in (Z_cal, Z_test)]
        predict = []

        def fit_in_clusters():
            ((_, _, seconds),) = study.fit_path(fitted, cal, test, distances, [unit["shrinkage"]], PAPER_TEMPERATURE)
            predict.append(seconds["predict_seconds"])

        clustered_seconds, _ = find_least_seconds(fit_in_clusters)
    return {
        "n": len(cal.y),
        "n_classes": design.count_classes(cal.P),
        "width": Z_cal.shape[1],
        "global_seconds": math.nan if for_memory else global_seconds,
        "clustered_seconds": math.nan if for_memory else clustered_seconds - min(predict),
        "clustering_seconds": clustering_seconds,
        "global_predict_seconds": global_predict_seconds,
        "clustered_predict_seconds": min(predict),
        "before_mb": before,
        "peak_mb": find_peak_mb(),
    }


@contextmanager
def stopped_fits(steps):
    """Let L-BFGS stop after a few steps: its memory is then that of all of them."""
    before = dict(solvers.QUASI_NEWTON)
    solvers.QUASI_NEWTON.update(maxiter=steps)
    try:
        yield
    finally:
        solvers.QUASI_NEWTON.update(before)


def find_least_seconds(work):
    """Return the processor time of some work, the least of three if it is short, and what the last run returned.

    Examples
    --------
    >>> from clustcal.experiments.deep.overhead import find_least_seconds
    >>> seconds, result = find_least_seconds(lambda: sum(range(1000)))
    >>> result, 0 <= seconds < 1
    (499500, True)
    """
    taken = []
    while len(taken) < REPEATS and (not taken or taken[0] < LONG):
        started = process_time()
        result = work()
        taken.append(process_time() - started)
    return min(taken), result


def find_peak_mb():
    """Return the largest memory that this process has had, in megabytes."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1 << 20 if sys.platform == "darwin" else 1 << 10)


def find_units(names, tables):
    """Return the units of some studies: the paper's families, each at its most frequent cell."""
    units = []
    for name in names:
        methods = [m for m in dict.fromkeys(tables[name]["method"]) if m.endswith(CLUSTERED)]
        for method in methods:
            layer, n_clusters, shrinkage = most_frequent_cell(tables[name], method)
            cell = {"layer": layer, "n_clusters": n_clusters, "shrinkage": shrinkage}
            units.append({"name": name, "rows": "half", "family": method.removesuffix(CLUSTERED)} | cell)
    return units


def find_large_units():
    """Return the units of all rows with 1,000 classes."""
    cell = dict(zip(("layer", "n_clusters", "shrinkage"), LARGE_CELL, strict=True))
    return [{"name": ALL_ROWS, "rows": "all", "family": family} | cell for family in LARGE_FAMILIES]


def find_extraction_seconds(unit, row, networks):
    """Return the seconds by the clock that the network took for as many rows as were calibrated on."""
    network = networks.set_index("name").loc[design.STUDIES[unit["name"]].network]
    return float(network["scoring_seconds"]) * row["n"] / float(network["n_scored"])


def read(folder=FOLDER):
    """Return the stored measurements; they may be empty."""
    return measured.read(Path(folder) / "deep" / "overhead.csv")


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", help="default: the complete studies with layers")
    parser.add_argument("--large", action="store_true", help="also 1,000 classes with all rows")
    parser.add_argument("--to", type=Path, default=PATH)
    parser.add_argument("--one", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.one:
        print(json.dumps(measure_here(json.loads(options.one))))
        return
    tables = find_tables(read_rows())
    networks = read_table(FOLDER / "deep" / "models.csv")
    units = find_units(options.names or list(tables), tables) + (find_large_units() if options.large else [])

    def compute(unit):
        (row,) = measure(unit)
        return [row | {"extraction_seconds": find_extraction_seconds(unit, row, networks)}]

    print(f"{measured.extend(options.to, units, compute)} units measured: {options.to}")


if __name__ == "__main__":
    main()
