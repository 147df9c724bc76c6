"""What the choices that the paper leaves open change: the study at one capacity, each time with one of them changed.

``python -m clustcal.experiments.tabular.open_choices`` computes what ``results/open_choices/`` lacks, from raw data.
Rows are those of `store`; ``settings`` names the choice, and is empty for the study's own.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from clustcal import metrics
from clustcal.datasets import load
from clustcal.experiments import protocol
from clustcal.experiments.methods import format_settings
from clustcal.experiments.results import FOLDER
from clustcal.experiments.store import Store
from clustcal.experiments.tabular import tables
from clustcal.experiments.tabular.grid import select_entries
from clustcal.experiments.tabular.units import Unit, missing_entries, run_unit

CAPACITY = (300, 8)
DATASETS = ("credit_approval", "stroke", "support2", "adult")
# Arguments of `units.run_unit`; none for the study as it is.
CHOICES: tuple[dict[str, object], ...] = ({}, {"stratify": False}, {"encoding": "one-hot"})
# The other binary target of Diabetes 130; its rows stand under a name of their own.
OTHER_TARGET = "diabetes130-any"
METHODS = ("Platt", "Beta", "TS", "base")


def compute(store, names=DATASETS, seeds=protocol.SEEDS, choices=CHOICES, load=load):
    """Compute what the store lacks, and yield the name of every unit when it is there.

    Parameters
    ----------
    store : Store
    names : sequence of str
        Data sets.
    seeds : sequence of int
    choices : sequence of dict, default=CHOICES
        Each the arguments of `units.run_unit` that are changed together; they are the ``settings`` of the rows.
    load : callable, default=:func:`clustcal.datasets.load`
    """
    n_estimators, max_depth = CAPACITY
    for name in names:
        data = load(name)
        for seed in seeds:
            for changes in choices:
                unit = Unit(name, max_depth, seed)
                entries = [entry._replace(settings=tuple(changes.items())) for entry in select_entries(METHODS)]
                missing = missing_entries(unit, [n_estimators], entries, store.keys(name))
                if missing:
                    store.append(name, run_unit(data, unit, missing, **changes))
                    yield f"{name} seed {seed} {format_settings(changes) or 'as in the study'}"
        store.merge(name)


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
        mean over the seeds, the ``gain`` in percent and its half width ``ci``, a 95 % t interval over the seeds,
        corrected for splits that overlap.
    """
    by = ["dataset", "settings"]
    lines = {key: _compare(of_choice) for key, of_choice in rows.groupby(by, sort=False)}
    return pd.DataFrame.from_dict(lines, orient="index").rename_axis(by)


def read(folder=FOLDER):
    """Return the committed rows."""
    return Store(Path(folder) / "open_choices").read()


def main(arguments=None):
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m clustcal.experiments.tabular.open_choices", description=__doc__)
    parser.add_argument("--results", type=Path, default=Path("results"), metavar="DIR", help="default: results")
    store = Store(parser.parse_args(arguments).results / "open_choices")
    for unit in compute(store):
        print(unit, flush=True)
    for unit in compute(store, (OTHER_TARGET,), choices=({},)):
        print(unit, flush=True)


def _compare(rows):
    is_base, is_global = rows["calibrator"] == "base", rows["representation"] == tables.BASELINE
    kinds = (is_global & ~is_base, ~is_global)
    before, after = (tables.best_method(rows[kind], "nll").set_index("seed")["nll"] for kind in kinds)
    gain = tables.percent_better(after, before, "NLL")
    interval = metrics.t_interval(gain, test_to_train=protocol.TEST_TO_TRAIN) if len(gain) > 1 else None
    return {
        "base": rows.loc[is_base, "nll"].mean(),
        "global": before.mean(),
        "clustered": after.mean(),
        "gain": gain.mean(),
        "ci": np.nan if interval is None else interval.half_width,
    }


if __name__ == "__main__":
    main()
