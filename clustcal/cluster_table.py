"""A table of clusters: how large they are, what is typical of their rows, and how well calibrated they are."""

import numpy as np
import pandas as pd
from scipy import sparse

from clustcal.core.probabilities import check_same_length


def cluster_table(W, P, Q, classes, y, columns):
    """Return one row per cluster, as `clustcal.CalibratedClassifier.cluster_summary` describes it.

    Parameters
    ----------
    W : ndarray of shape (n, K)
        Memberships; a row is counted where its own is largest.
    P, Q : ndarray of shape (n, L)
        Probabilities before and after calibration.
    classes : ndarray of shape (L,)
    y : ndarray of shape (n,) or None
        Labels.
    columns : DataFrame of n rows
        Whatever else is known of the rows.
    """
    column = np.ones(len(Q), dtype=int) if len(classes) == 2 else Q.argmax(axis=1)
    rows = np.arange(len(Q))
    table = pd.DataFrame({"mean_score": P[rows, column], "mean_calibrated": Q[rows, column]})
    if y is not None:
        check_same_length(len(table), y=y)
        table["base_rate"] = classes[column] == y
        for name in ("score", "calibrated"):
            table[f"{name}_error"] = table[f"mean_{name}"] - table["base_rate"]
    cluster = pd.Categorical(W.argmax(axis=1), categories=range(W.shape[1]))
    by_cluster = table.groupby(cluster, observed=False)
    summary = [by_cluster.size().rename("size"), by_cluster.mean(), *_typical(columns, cluster)]
    return pd.concat(summary, axis=1).rename_axis("cluster")


def columns_of(X, names=None):
    """Return the columns of rows as a frame of pandas; without columns where rows are texts, images or sparse."""
    if hasattr(X, "iloc"):
        return X.reset_index(drop=True)
    if hasattr(X, "columns"):  # of polars, and of what else has columns that numpy can read
        return pd.DataFrame({name: np.asarray(X[name]) for name in X.columns})
    if sparse.issparse(X) or np.ndim(X) != 2:
        return pd.DataFrame()
    X = np.asarray(X)
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])] if names is None else names)


def _typical(frame, cluster):
    """Yield, for every column, what its values are in each cluster."""
    for name in frame.columns:
        column = frame[name]
        if pd.api.types.is_numeric_dtype(column):
            quartiles = column.astype(float).groupby(cluster, observed=False).quantile([0.25, 0.75]).unstack()
            yield from (quartiles[q].rename(f"{name} q{100 * q:.0f}") for q in (0.25, 0.75))
        else:
            modes = column.astype(object).groupby(cluster, observed=False).agg(lambda one: one.mode().get(0))
            yield modes.rename(f"{name} mode")
