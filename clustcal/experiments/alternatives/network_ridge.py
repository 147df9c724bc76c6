"""The alternatives on images and texts: ridge and clusters on the shipped layers of five networks, in five splits each.

``python -m clustcal.experiments.alternatives.network_ridge`` computes what ``results/alternatives/networks/`` lacks and
can be stopped at any moment. What is judged, and how, stands in ``results/alternatives/networks.yml``. Builds on
`load_scores`, and on `runner` and `store`.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from clustcal import (
    BetaCalibration,
    ClusteredCalibration,
    ClusteredCalibrationCV,
    PlattScaling,
    RidgeCalibration,
    StructuredScaling,
    TemperatureScaling,
    metrics,
)
from clustcal.datasets import load_scores
from clustcal.experiments import runner
from clustcal.experiments.alternatives.confirmation import by_set, judge_mean
from clustcal.experiments.methods import Uncalibrated
from clustcal.experiments.provenance import describe_commit, describe_versions
from clustcal.experiments.results import FOLDER
from clustcal.experiments.store import Store

NETWORKS = ("emotion", "imdb", "bloodmnist", "cifar100", "tiny-imagenet")
SEEDS = (0, 1, 2, 3, 4)
TEST_TO_TRAIN = 1.0  # a half calibrates, a half tests
KEY = ("dataset", "seed", "arm", "method")
TEXT = ("dataset", "arm", "method", "versions", "commit")
MEASURES = ("nll", "brier", "accuracy")
COLUMNS = (*KEY, "n_classes", "n_calibration", "n_test", "layers", *MEASURES, "seconds", "versions", "commit")
LIBRARIES = ("numpy", "scikit-learn", "scipy")
PRIMARY, LAST, CLUSTERS, PERMUTED = "ridge layers", "ridge last", "clusters CV", "ridge permuted"
BASELINES = {True: ("Platt", "Beta"), False: ("TS", "structured")}  # by whether there are two classes


class Method(NamedTuple):
    """A method: ``make(seed)`` returns a calibrator, and ``choose(layers, rng)`` what it is given of the layers."""

    name: str
    make: Callable
    choose: Callable | None = None
    binary_only: bool = False


def last(layers, rng):
    """Return the layer that the chapters on images and texts use."""
    return layers[0]


def every(layers, rng):
    """Return all layers, each a representation of its own."""
    return layers


def shuffled(layers, rng):
    """Return all layers, of other rows."""
    order = rng.permutation(len(layers[0]))
    return [layer[order] for layer in layers]


def _in_clusters(seed):
    return ClusteredCalibration(TemperatureScaling(prior=None), random_state=seed)


METHODS = (
    Method("base", lambda seed: Uncalibrated()),
    Method("Platt", lambda seed: PlattScaling(prior=None), binary_only=True),
    Method("Beta", lambda seed: BetaCalibration(prior=None), binary_only=True),
    Method("TS", lambda seed: TemperatureScaling(prior=None)),
    Method("structured", lambda seed: StructuredScaling()),
    Method("clusters of the paper", _in_clusters, last),
    Method(CLUSTERS, lambda seed: ClusteredCalibrationCV(TemperatureScaling(), random_state=seed), last),
    Method(LAST, lambda seed: RidgeCalibration(), last),
    Method(PRIMARY, lambda seed: RidgeCalibration(), every),
    Method(f"{PRIMARY}, caution 0", lambda seed: RidgeCalibration(caution=0), every),
    Method(PERMUTED, lambda seed: RidgeCalibration(), shuffled),
)


class Unit(NamedTuple):
    """A unit of work: a network and a split."""

    dataset: str
    seed: int


@dataclass(frozen=True)
class NetworkStudy:
    """What `runner.run` needs to know."""

    names: Sequence[str] = NETWORKS
    seeds: Sequence[int] = SEEDS

    def units(self):
        """Return all units, split by split, so that every network has a row early."""
        return [Unit(name, seed) for name in self.names for seed in self.seeds]

    def missing(self, unit, known):
        """Return the methods that are missing of a unit."""
        return [one for one in methods_for(unit.dataset) if (*unit, "", one.name) not in known]

    def compute(self, load, unit, wanted):
        """Return the rows of a unit."""
        return run_unit(load(unit.dataset, unit.seed), unit, wanted)

    def cost(self, unit):
        """Return about how many seconds a unit takes, by the number of classes."""
        return {"imdb": 20, "cifar100": 100, "tiny-imagenet": 400}.get(unit.dataset, 20)


def methods_for(name):
    """Return the methods that are run on a network: two of them are for two classes only."""
    return [one for one in METHODS if name == "imdb" or not one.binary_only]


def run_unit(scores, unit, wanted):
    """Fit methods to the calibration half of some scores and judge them on the other half."""
    layers = {part: list(Z.values()) for part, Z in (("cal", scores.Z_cal), ("test", scores.Z_test))}
    n_classes = 2 if scores.P_cal.ndim == 1 else scores.P_cal.shape[1]
    rows = []
    with threadpool_limits(1):
        for one in wanted:
            rng = np.random.default_rng(unit.seed)
            Z_cal, Z_test = (one.choose(layers[part], rng) if one.choose else None for part in ("cal", "test"))
            start = process_time()
            calibrator = one.make(unit.seed)
            if "classes" in calibrator.get_params(deep=False):
                calibrator.set_params(classes=np.arange(n_classes))
            Q = calibrator.fit(scores.P_cal, scores.y_cal, Z_cal).predict_proba(scores.P_test, Z_test)
            seconds = process_time() - start
            row = {**unit._asdict(), "arm": "", "method": one.name, "n_classes": n_classes}
            row |= {"n_calibration": len(scores.y_cal), "n_test": len(scores.y_test), "layers": len(layers["cal"])}
            row |= judge(scores.y_test, Q) | {"seconds": round(seconds, 4)}
            row |= {"versions": describe_versions(LIBRARIES), "commit": describe_commit()}
            rows.append(row)
    return rows


def judge(y, Q):
    """Return the measures of forecasts Q (n, L) of labels y (n,) that number the columns."""
    found = {
        "nll": metrics.log_loss(y, Q, labels=np.arange(Q.shape[1])),
        "brier": metrics.brier(y, Q, labels=np.arange(Q.shape[1])),
        "accuracy": np.mean(Q.argmax(axis=1) == y),
    }
    return {name: float(value) for name, value in found.items()}


def open_store(folder=FOLDER):
    """Return the store of the study in a folder of results."""
    return Store(Path(folder) / "alternatives" / "networks", KEY, COLUMNS, TEXT)


def run(store, *, names=NETWORKS, seeds=SEEDS, load=load_scores, jobs=1, progress=True):
    """Compute what the store lacks of the study."""
    return runner.run(NetworkStudy(names, seeds), store, load=lambda name: load, jobs=jobs, progress=progress)


def read_rows(folder=FOLDER):
    """Return the stored rows of networks that are complete: all methods on all splits."""
    rows = open_store(folder).read()
    runs = rows.groupby("dataset").size()
    complete = [name for name in runs.index if runs[name] == len(SEEDS) * len(methods_for(name))]
    return rows[rows["dataset"].isin(complete)].reset_index(drop=True)


def gains(rows):
    """Return the gain of every method on every split, in percent of the log-loss of the better baseline.

    Returns
    -------
    gains : DataFrame
        Indexed by data set and seed, a column per method; NaN where a method is for other numbers of classes.
    """
    nll = rows.pivot_table(index=["dataset", "seed"], columns="method", values="nll")
    is_binary = rows.groupby(["dataset", "seed"])["n_classes"].first().eq(2)
    best = pd.concat(
        [nll.loc[is_binary == two].reindex(columns=BASELINES[two]).min(axis=1) for two in (True, False)]
    ).reindex(nll.index)
    return 100 * (1 - nll.div(best, axis=0))


def by_network(values):
    """Return mean, interval and verdict of one quantity for every network, indexed by data set and seed."""
    return by_set(values, TEST_TO_TRAIN, NETWORKS)


def compare(table):
    """Return the comparisons of the protocol over networks, each of them one observation."""
    pairs = {
        PRIMARY: table[PRIMARY],
        LAST: table[LAST],
        f"{PRIMARY} - {CLUSTERS}": table[PRIMARY] - table[CLUSTERS],
        f"{PRIMARY} - {PERMUTED}": table[PRIMARY] - table[PERMUTED],
        PERMUTED: table[PERMUTED],
        f"{PRIMARY}, caution 0 - {PRIMARY}": table[f"{PRIMARY}, caution 0"] - table[PRIMARY],
    }
    lines = {}
    for name, values in pairs.items():
        means = values.dropna().groupby(level="dataset").mean()
        lines[name] = judge_mean(means) | {"networks": len(means)}
    return pd.DataFrame.from_dict(lines, orient="index")


def main(arguments=None):
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("names", nargs="*", default=list(NETWORKS), help="networks; default: all")
    parser.add_argument("--results", type=Path, default=FOLDER, metavar="DIR")
    options = parser.parse_args(arguments)
    for name in options.names:
        if name not in NETWORKS:
            parser.error(f"names has {name!r}; expected some of {', '.join(NETWORKS)}.")
    outcome = run(open_store(options.results), names=options.names)
    print(f"{outcome.done} units computed, {outcome.complete} were there already.")


if __name__ == "__main__":
    main()
