"""A table of clusters: how large they are, what is typical of their rows, and how well calibrated they are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from clustcal.core.array_types import Floats, Inputs, Labels
from clustcal.core.probabilities import check_same_length


def cluster_table(
    W: Floats, P: Floats, Q: Floats, classes: Labels, y: Labels | None, columns: pd.DataFrame
) -> pd.DataFrame:
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


def columns_of(X: Inputs, names: Any = None) -> pd.DataFrame:
    """Return the columns of rows as a frame of pandas; without columns where rows are texts, images or sparse."""
    if hasattr(X, "iloc"):
        return X.reset_index(drop=True)
    if hasattr(X, "columns"):  # of polars, and of what else has columns that numpy can read
        return pd.DataFrame({name: np.asarray(X[name]) for name in X.columns})
    if sparse.issparse(X) or np.ndim(X) != 2:
        return pd.DataFrame()
    X = np.asarray(X)
    return pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])] if names is None else names)


def _typical(frame: pd.DataFrame, cluster: pd.Categorical) -> Iterator[pd.Series]:
    """Yield, for every column, what its values are in each cluster."""
    for name, column in frame.items():
        column = _with_type(column)
        values = column.groupby(cluster, observed=False)
        if pd.api.types.is_bool_dtype(column.dtype):
            yield values.mean().astype(float).rename(f"{name} share")
        elif pd.api.types.is_numeric_dtype(column.dtype):
            quartiles = values.quantile([0.25, 0.75]).unstack()
            yield from (quartiles[q].rename(f"{name} q{100 * q:.0f}") for q in (0.25, 0.75))
        elif column.dtype.kind in "mM":  # between two days there may be none that is meant: take the earlier of them
            for q in (0.25, 0.75):
                yield values.quantile(q, interpolation="lower").rename(f"{name} q{100 * q:.0f}")
        else:
            yield values.agg(lambda one: one.mode().get(0)).rename(f"{name} mode")


def _with_type(column: pd.Series) -> pd.Series:
    """Return a column as truth values, numbers or times, where it holds such, and as objects otherwise."""
    kind = pd.api.types.infer_dtype(column, skipna=True)
    if pd.api.types.is_bool_dtype(column.dtype) or (column.dtype == object and kind == "boolean"):
        return column.astype("boolean")
    if pd.api.types.is_numeric_dtype(column.dtype):
        return column.astype(float)
    if column.dtype.kind in "mM" or (column.dtype == object and kind in {"date", "datetime"}):
        return pd.to_datetime(column) if column.dtype == object else column
    return column.astype(object)
