"""Forecasts of three classes as points of a triangle, and where a calibrator moves them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from clustcal.core.array_types import Floats
from clustcal.core.labels import encode_labels
from clustcal.core.parameters import shown
from clustcal.core.probabilities import as_probabilities, check_same_length
from clustcal.plots._style import MARKERS, check_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(3) / 2]])


def plot_simplex(
    P: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    moved_to: ArrayLike | None = None,
    class_names: Sequence[str] | None = None,
    ax: Axes | None = None,
    **scatter_kwargs: Any,
) -> Axes:
    """Draw forecasts of three classes in a triangle whose corners are certainty of one class.

    A forecast p stands at :math:`p_1 v_1 + p_2 v_2 + p_3 v_3`, with the corners v: the nearer to a corner, the surer of
    its class, and the height above the opposite side is the probability.

    Parameters
    ----------
    P : array-like of shape (n, 3)
    labels : array-like of shape (n,), optional
        The class of each row: colour and marker. As in `log_loss` the columns belong to the sorted labels.
    moved_to : array-like of shape (n, 3), optional
        Other forecasts of the same rows: an arrow leads from each to it, in place of points.
    class_names : sequence of three str, optional
        Lower left, lower right, top; by default the labels, or 1, 2, 3.
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
        If P has not three columns, or what belongs to it another length.

    Examples
    --------
    >>> from clustcal.plots import plot_simplex
    >>> ax = plot_simplex([[1, 0, 0], [0.2, 0.2, 0.6]], class_names=["cat", "dog", "fox"])
    >>> ax.collections[0].get_offsets()[0].tolist()
    [0.0, 0.0]
    """
    import matplotlib.pyplot as plt

    check_axes(ax)
    P = _three_columns("P", P)
    classes, codes = ([1, 2, 3], None) if labels is None else encode_labels(labels, 3, require_two=False)
    names: list[Any] = list(classes if class_names is None else class_names)
    if len(names) != 3:
        raise ValueError(f"class_names is {shown(class_names)}; expected three names.")
    if codes is not None:
        check_same_length(len(P), labels=codes)
    ax = plt.subplots(figsize=(4.6, 4.2))[1] if ax is None else ax
    _draw_triangle(ax, names)
    points = P @ CORNERS
    if moved_to is not None:
        moved_to = _three_columns("moved_to", moved_to)
        check_same_length(len(P), moved_to=moved_to)
        steps = moved_to @ CORNERS - points
        ax.quiver(*points.T, *steps.T, angles="xy", scale_units="xy", scale=1, width=0.006, color="C0", zorder=3)
        return ax
    options = {"s": 18, "alpha": 0.6, "linewidths": 0.3, "edgecolors": "white", "zorder": 3, **scatter_kwargs}
    if codes is None:
        ax.scatter(*points.T, color="C0", **options)
        return ax
    for k, name in enumerate(names):
        mine = points[codes == k]
        ax.scatter(*mine.T, marker=MARKERS[k], color=f"C{k}", label=f"{name} (n = {len(mine):,})", **options)
    legend = ax.legend(loc="upper center", bbox_to_anchor=(0.5, 0.02))  # below: the corners have names
    for handle in filter(None, legend.legend_handles):
        handle.set(alpha=1, sizes=[45])
    return ax


def _three_columns(name: str, P: ArrayLike) -> Floats:
    P = as_probabilities(P, name=name)
    if P.shape[1] != 3:
        raise ValueError(f"{name} has {P.shape[1]} columns; expected 3, one for each corner.")
    return P


def _draw_triangle(ax: Axes, names: list[Any]) -> None:
    """Draw the sides, the lines on which two classes tie for the first place, and a name at each corner."""
    around = CORNERS[[0, 1, 2, 0]]
    ax.plot(*around.T, color="0.3", lw=1.2, ls="-", zorder=2)
    centre = CORNERS.mean(axis=0)
    for k in range(3):
        middle = CORNERS[np.arange(3) != k].mean(axis=0)
        ax.plot(*np.array([centre, middle]).T, color="0.75", lw=1, ls="-", zorder=1)
    places = [("left", "top", -6), ("right", "top", -6), ("center", "bottom", 6)]
    for corner, name, (ha, va, away) in zip(CORNERS, names, places, strict=True):
        ax.annotate(str(name), corner, (0, away), textcoords="offset points", ha=ha, va=va)
    ax.set(aspect="equal", xlim=(-0.06, 1.06), ylim=(-0.12, 0.99))
    ax.axis("off")
