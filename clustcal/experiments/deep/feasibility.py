"""What calibration costs with 200 and with 1,000 classes: seconds of one evaluation of the loss, and so of a cell.

``python -m clustcal.experiments.deep.feasibility`` writes ``results/deep/feasibility.csv``; it can be stopped, and
then goes on. Loss and gradient of a family in K clusters are evaluated on the calibration half of Tiny ImageNet's
first split, over the 200 classes that occur and over all 1,000. A fit takes some hundred evaluations, a cell with its
cross-validation five fits more: the product says which part of the grid a day of one processor could hold.
"""

from itertools import product
from pathlib import Path
from time import process_time

import numpy as np
from threadpoolctl import threadpool_limits

from clustcal.core.probabilities import as_probabilities
from clustcal.experiments.deep import design, measured
from clustcal.experiments.deep.outputs import load_outputs
from clustcal.experiments.deep.overhead import find_peak_mb
from clustcal.experiments.results import FOLDER

PATH = FOLDER / "deep" / "feasibility.csv"
STUDIES = ("tiny-imagenet", "tiny-imagenet-1000")
FAMILIES = ("TS", "Vector", "Dirichlet")
N_CLUSTERS = (1, 4, 10)
SEED = 0
GIGABYTE = 1e9
NUMBER = 8  # bytes
MEMORY_LIMIT = 8.0  # gigabytes of parameters and of what L-BFGS keeps of them
KEPT = 2 * 10 + 4  # copies of the parameters that L-BFGS has, with ten corrections


def measure(unit, load=load_outputs):
    """Return the row of one study, family and K; no seconds where the parameters alone would not fit."""
    one = design.STUDIES[unit["name"]]
    outputs = load(one.network)._replace(representations={})
    cal, _ = design.halve(design.prepare(outputs, one.only_classes_that_occur), SEED)
    n_classes = design.count_classes(cal.P)
    family = design.get_families(n_classes)[unit["family"]].family(n_classes)
    n_parameters = len(family.identity) * unit["n_clusters"]
    row = {"n": len(cal.y), "n_classes": n_classes, "parameters": n_parameters}
    row["optimiser_gb"] = KEPT * NUMBER * n_parameters / GIGABYTE
    if row["optimiser_gb"] > MEMORY_LIMIT:
        return [row | {"seconds": np.nan, "peak_mb": np.nan}]
    X = family.features(as_probabilities(cal.P))
    W = np.full((len(cal.y), unit["n_clusters"]), 1 / unit["n_clusters"])
    theta = np.tile(np.asarray(family.identity, float), (unit["n_clusters"], 1))
    with threadpool_limits(1):
        seconds = min(_time(family, theta, X, cal.y, W) for _ in range(2))
    return [row | {"seconds": seconds, "peak_mb": find_peak_mb()}]


def find_units():
    """Return all units, those of few classes first."""
    parts = product(STUDIES, FAMILIES, N_CLUSTERS)
    return [{"name": name, "family": family, "n_clusters": K} for name, family, K in parts]


def read(folder=FOLDER):
    """Return the stored rows; they may be empty."""
    return measured.read(Path(folder) / "deep" / "feasibility.csv")


def _time(family, theta, X, y, W):
    """Seconds of processor time of one evaluation of loss and gradient, cluster by cluster as L-BFGS asks for them."""
    started = process_time()
    for k in range(len(theta)):
        family.nll(theta[[k]], X, y, W[:, [k]])
    return process_time() - started


def main(arguments=None):
    measured.run_command(__doc__, PATH, lambda _: find_units(), measure, arguments)


if __name__ == "__main__":
    main()
