"""What the choices that the paper leaves open change: the study at one capacity, each time with one of them changed.

``python -m clustcal.experiments.open_choices`` computes what ``results/open_choices/`` lacks, from raw data. Rows are
those of `store`; ``settings`` names the choice, and is empty for the study's own.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from clustcal import LocalRecalibration, metrics
from clustcal.datasets import load, load_scores
from clustcal.experiments import protocol, tables
from clustcal.experiments.grid import select_entries
from clustcal.experiments.results import FOLDER
from clustcal.experiments.runner import Unit, missing_entries, run_unit
from clustcal.experiments.store import Store

CAPACITY = (300, 8)
DATASETS = ("credit_approval", "stroke", "support2", "adult")
CHOICES = {"": {}, "stratify=False": {"stratify": False}, "encoding=one-hot": {"encoding": "one-hot"}}
# The other binary target of Diabetes 130; its rows stand under a name of their own.
OTHER_TARGET = "diabetes130-any"
METHODS = ("Platt", "Beta", "TS", "base")
BINS = (5, 10, 15, 20)
BANDWIDTHS = (0.05, 0.2, 1.0)


def compute(store, names=DATASETS, seeds=protocol.SEEDS, choices=CHOICES, load=load):
    """Compute what the store lacks, and yield the name of every unit when it is there.

    Parameters
    ----------
    store : Store
    names : sequence of str
        Data sets.
    seeds : sequence of int
    choices : dict of str to dict, default=CHOICES
        Arguments of `runner.run_unit`, by the ``settings`` of the rows.
    load : callable, default=:func:`clustcal.datasets.load`
    """
    n_estimators, max_depth = CAPACITY
    for name in names:
        data = load(name)
        for seed in seeds:
            for settings, changes in choices.items():
                unit = Unit(name, max_depth, seed)
                entries = [entry._replace(settings=settings) for entry in select_entries(METHODS)]
                missing = missing_entries(unit, [n_estimators], entries, store.keys(name))
                if missing:
                    store.append(name, run_unit(data, unit, missing, **changes))
                    yield f"{name} seed {seed} {settings or 'as in the study'}"


def compare(rows):
    """Return what each choice gives, by data set: log-losses and the gain of clustering.

    Parameters
    ----------
    rows : DataFrame
        As the store returns them.

    Returns
    -------
    table : DataFrame
        Indexed by data set and settings: NLL of ``base``, of the best ``global`` and the best ``clustered`` method by
        mean over the seeds, the ``gain`` in percent and its half width ``ci``, a 95 % t interval over the seeds.
    """
    by = ["dataset", "settings"]
    lines = {key: _compare(of_choice) for key, of_choice in rows.groupby(by, sort=False)}
    return pd.DataFrame.from_dict(lines, orient="index").rename_axis(by)


def bins_of_ece(names=("adult", "stroke"), n_bins=BINS):
    """Return the paper's ECE (quantile bins, root mean square) of base, Platt and Beta for several numbers of bins.

    From the shipped scores of seed 0; indexed by data set and method, one column per number of bins.
    """
    lines = {}
    for name in names:
        scores = load_scores(name)
        for entry in select_entries(["Platt/Baseline", "Beta/Baseline", "base"]):
            Q = entry.method.make(0).fit(scores.P_cal, scores.y_cal).predict_proba(scores.P_test)
            errors = {n: metrics.ada_ece(scores.y_test, Q, n_bins=n) for n in n_bins}
            lines[name, entry.method.name] = errors
    return pd.DataFrame.from_dict(lines, orient="index").rename_axis(["dataset", "method"])


def settings_of_lore(names=("adult", "stroke"), bandwidths=BANDWIDTHS):
    """Return the NLL of LoRe for every representation and several bandwidths, from the shipped scores of seed 0.

    Indexed by data set and representation, one column per bandwidth.
    """
    lines = {}
    for name in names:
        scores = load_scores(name)
        for Z in protocol.REPRESENTATIONS:
            fitted = [
                LocalRecalibration(bandwidth=bandwidth).fit(scores.P_cal, scores.y_cal, scores.Z_cal[Z])
                for bandwidth in bandwidths
            ]
            Q = [calibrator.predict_proba(scores.P_test, scores.Z_test[Z]) for calibrator in fitted]
            lines[name, Z] = dict(zip(bandwidths, [metrics.log_loss(scores.y_test, q) for q in Q], strict=True))
    return pd.DataFrame.from_dict(lines, orient="index").rename_axis(["dataset", "representation"])


def read(folder=FOLDER):
    """Return the committed rows."""
    return Store(Path(folder) / "open_choices").read()


def main(arguments=None):
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m clustcal.experiments.open_choices", description=__doc__)
    parser.add_argument("--results", type=Path, default=Path("results"), metavar="DIR", help="default: results")
    store = Store(parser.parse_args(arguments).results / "open_choices")
    for unit in compute(store):
        print(unit, flush=True)
    for unit in compute(store, (OTHER_TARGET,), choices={"": {}}):
        print(unit, flush=True)


def _compare(rows):
    is_base, is_global = rows["calibrator"] == "base", rows["representation"] == tables.BASELINE
    kinds = (is_global & ~is_base, ~is_global)
    before, after = (tables.best_method(rows[kind], "nll").set_index("seed")["nll"] for kind in kinds)
    gain = tables.percent_better(after, before, "NLL")
    interval = metrics.t_interval(gain) if len(gain) > 1 else None
    return {
        "base": rows.loc[is_base, "nll"].mean(),
        "global": before.mean(),
        "clustered": after.mean(),
        "gain": gain.mean(),
        "ci": np.nan if interval is None else interval.half_width,
    }


if __name__ == "__main__":
    main()
