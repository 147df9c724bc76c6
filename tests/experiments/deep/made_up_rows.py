"""Rows of a study that is made up: every method and cell with a log-loss of one's choice."""

import pandas as pd

from clustcal.experiments.deep import design, study
from clustcal.experiments.deep.outputs import COLUMNS as NETWORK_COLUMNS

LAYERS = ("cls", "mean")
GIVEN = ("calibrator", "layer", "n_clusters", "shrinkage", "temperature", "seed")


def make_rows(name, n_classes, nll, layers=LAYERS, seeds=design.SEEDS):
    """Return the rows of a complete study.

    `nll` gives the log-loss from calibrator, layer, K, shrinkage, temperature and seed; by cross-validation it is the
    same, so that the best cell is chosen.
    """
    shape = study.Shape(100, n_classes, layers)
    rows = []
    for unit in study.DeepStudy({name: shape}, seeds).units():
        for key in study.find_keys(unit, shape):
            row = dict(zip(study.KEY, key, strict=True))
            value = nll(
                row["calibrator"], row["layer"], row["n_clusters"], row["shrinkage"], row["temperature"], row["seed"]
            )
            row |= {"n_classes": n_classes, "nll": value, "nll_cv": value if row["layer"] else None}
            rows.append(row | {"brier": value / 2, "ada_ece": value / 10, "accuracy": 0.9, "auc": 0.95})
    return pd.DataFrame(rows, columns=list(study.COLUMNS))


def make_networks(layers=LAYERS, **n_scored):
    """Return a table of networks with these rows each."""
    representations = " ".join(f"{layer}:8" for layer in layers)
    lines = [{"name": name, "n_scored": str(n), "representations": representations} for name, n in n_scored.items()]
    return pd.DataFrame(lines, columns=list(NETWORK_COLUMNS))
