"""The table of stroke clusters from clusters that know no representation: of age alone, and of the forecast alone.

``python -m clustcal.experiments.tabular.readings.cluster_controls`` writes
``results/readings/cluster_controls/stroke.csv`` from raw data and the shipped scores, within seconds. A reading of the
paper's table that passes no more cells than these says nothing of representations. Builds on `cluster_tables`, whose
bands judge them.
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from clustcal import datasets
from clustcal.core.probabilities import logits
from clustcal.experiments import protocol
from clustcal.experiments.provenance import describe_versions
from clustcal.experiments.results import FOLDER
from clustcal.experiments.tabular.readings import cluster_tables
from clustcal.experiments.tabular.readings.cluster_tables import CELLS, CHOOSING, DATASET, FEATURES
from clustcal.experiments.tabular.stroke import stroke_clusters
from clustcal.experiments.tabular.train_scores import describe_clusters

PATH = FOLDER / "readings" / "cluster_controls" / "stroke.csv"
CONTROLS = ("age alone", "forecast alone")


def compute(seed, data=None):
    """Return the clusters of every control in one split, numbered as the paper's.

    Parameters
    ----------
    seed : int
        Of the split.
    data : Bunch, optional
        Stroke as :func:`clustcal.datasets.load` returns it, which is also the default.

    Returns
    -------
    rows : DataFrame
        One line per control and cluster. K-means sees the ages, or the logits of the shipped scores (300 trees of
        depth 8), as they are; clusters are described as those of the readings are.
    """
    data = datasets.load(DATASET) if data is None else data
    parts = protocol.split(data.y, seed)
    rows = {"cal": data.X.iloc[parts.calibration], "test": data.X.iloc[parts.test]}
    labels = {"cal": data.y[parts.calibration], "test": data.y[parts.test]}
    scores = datasets.load_scores(DATASET, seed)
    if not all(np.array_equal(labels[part], scores[f"y_{part}"]) for part in labels):
        raise ValueError(f"the shipped scores of seed {seed} are of other rows than the split; expected the same.")
    column = lambda values: np.asarray(values, dtype=float)[:, None]
    Z = {
        "age alone": tuple(column(part["age"]) for part in rows.values()),
        "forecast alone": (column(logits(scores.P_cal)), column(logits(scores.P_test))),
    }
    clusters = describe_clusters(Z, rows, labels, seed, FEATURES, normalize=False)
    found = [stroke_clusters(clusters, name).reset_index().assign(control=name, seed=seed) for name in Z]
    return pd.concat(found, ignore_index=True)[["control", "seed", "cluster", *CELLS]]


def read(path=PATH):
    """Return the stored rows."""
    return pd.read_csv(path)


def count_passes(controls, readings):
    """Return how many cells of the paper's table each control passes, by the bands of the readings.

    Parameters
    ----------
    controls : DataFrame
        As `read` returns it.
    readings : DataFrame
        As `cluster_tables.read` returns it: the bands are theirs, so that controls and readings are judged alike.

    Returns
    -------
    passes : DataFrame
        By control and seed: of the 28 ``cells``, and of the 14 that judge a reading, ``judged``.
    """
    printed, bands = cluster_tables.printed(), cluster_tables.bands(readings)
    lines = {}
    for key, table in controls.groupby(["control", "seed"]):
        inside = (table.set_index("cluster")[list(CELLS)] - printed).abs() <= bands
        lines[key] = {"cells": int(inside.to_numpy().sum()), "judged": int(inside.to_numpy()[~CHOOSING].sum())}
    return pd.DataFrame.from_dict(lines, orient="index").rename_axis(["control", "seed"])


def main(arguments=None):
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--to", type=Path, default=PATH)
    options = parser.parse_args(arguments)
    data = datasets.load(DATASET)
    rows = pd.concat([compute(seed, data) for seed in protocol.SEEDS], ignore_index=True)
    draft = options.to.with_suffix(".tmp")
    rows.assign(versions=describe_versions()).to_csv(draft, index=False)
    draft.replace(options.to)
    print(f"{len(rows)} rows: {options.to}")


if __name__ == "__main__":
    main()
