"""Maps of clusters in two dimensions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clustcal.core.parameters import read_numbers, shown
from clustcal.plots._style import MARKERS, check_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_clusters(
    points: ArrayLike,
    clusters: ArrayLike,
    *,
    names: Sequence[str] | None = None,
    axis_names: Sequence[str] | None = None,
    centres: bool = True,
    ax: Axes | None = None,
    **scatter_kwargs: Any,
) -> Axes:
    """Scatter rows in a plane, each cluster with a colour and a marker of its own.

    Parameters
    ----------
    points : array-like of shape (n, 2)
        Two features, or a projection to two dimensions; a DataFrame names the axes.
    clusters : array-like of shape (n,) or (n, K)
        Cluster of each row, or memberships, of which the largest counts.
    names : sequence of str, optional
        Names of the clusters in sorted order; by default "cluster 0", ....
    axis_names : pair of str, optional
    centres : bool, default=True
        Whether to mark each cluster's median.
    ax : matplotlib Axes, optional
        By default a new figure.
    **scatter_kwargs
        Passed to ``ax.scatter``.

    Returns
    -------
    ax : matplotlib Axes

    Raises
    ------
    ValueError
        If shapes do not fit.

    Examples
    --------
    >>> from clustcal.plots import plot_clusters
    >>> ax = plot_clusters([[0, 0], [0, 1], [5, 5]], [0, 0, 1], axis_names=("age", "BMI"))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['cluster 0 (n = 2)', 'cluster 1 (n = 1)']
    """
    import matplotlib.pyplot as plt

    if axis_names is None and hasattr(points, "columns"):
        axis_names = [str(column) for column in points.columns]
    check_axes(ax)
    points, found = read_numbers("points", points), _as_array("clusters", clusters)
    if points.ndim != 2 or points.shape[1] != 2:
        raise ValueError(f"points has shape {points.shape}; expected (n, 2).")
    if found.ndim == 2:
        found = np.argmax(found, axis=1)
    if found.shape != (len(points),):
        raise ValueError(f"clusters has shape {found.shape}; expected one cluster for each of {len(points)} rows.")
    if axis_names is not None and (not isinstance(axis_names, (list, tuple)) or len(axis_names) != 2):
        raise ValueError(f"axis_names is {shown(axis_names)}; expected two names.")
    present = np.unique(found)
    if names is not None and (isinstance(names, str) or not np.iterable(names)):
        raise ValueError(f"names is {shown(names)}; expected a name for each of {len(present)} clusters.")
    names = [f"cluster {cluster}" for cluster in present] if names is None else list(names)
    if len(names) != len(present):
        raise ValueError(f"names has {len(names)} entries; expected {len(present)}, one per cluster.")

    ax = plt.subplots()[1] if ax is None else ax
    options: dict[str, Any] = {"s": 22, "alpha": 0.55, "linewidths": 0.4, "edgecolors": "white", **scatter_kwargs}
    for number, (cluster, name) in enumerate(zip(present, names, strict=True)):
        mine = points[found == cluster]
        marker = MARKERS[number % len(MARKERS)]
        colour = f"C{number}"
        ax.scatter(*mine.T, marker=marker, color=colour, label=f"{name} (n = {len(mine):,})", **options)
        if centres:
            x, y = np.median(mine, axis=0)
            ax.scatter(x, y, marker=marker, color=colour, s=140, edgecolors="black", zorder=4)
    if axis_names is not None:
        ax.set(xlabel=axis_names[0], ylabel=axis_names[1])
    # Above the map: inside, it would cover points wherever it stood.
    legend = ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    for handle in filter(None, legend.legend_handles):
        handle.set(alpha=1, sizes=[45])
    return ax


def _as_array(name: str, values: Any) -> NDArray[Any]:
    try:
        values = np.asarray(values)
        np.unique(values)
        return values
    except (TypeError, ValueError):
        raise ValueError(f"{name} could not be read as an array of one cluster for each row.") from None
