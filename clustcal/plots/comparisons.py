"""Estimates with what chance gives: errors of groups, differences of pairs, parts of a score."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import Bunch

from clustcal.core.array_types import Integers
from clustcal.plots._style import DIAGONAL_COLOUR, check_axes, check_results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_calibration_differences", "plot_group_errors", "plot_score_parts"]

ROW_HEIGHT = 0.42


def plot_group_errors(result: Bunch, *, ax: Axes | None = None) -> Axes:
    """Draw the calibration error of each group beside what chance alone gives in a group of its size.

    Parameters
    ----------
    result : Bunch
        What `clustcal.metrics.multicalibration_error` returns.
    ax : matplotlib Axes, optional
        By default a new figure.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from clustcal.metrics import multicalibration_error
    >>> from clustcal.plots import plot_group_errors
    >>> result = multicalibration_error([0, 1, 1, 0], [0.2, 0.7, 0.4, 0.1], list("aabb"), n_bins=1, n_draws=20)
    >>> plot_group_errors(result).get_xlabel()
    'Calibration error within the group'
    """
    check_results("result", result, "table", "confidence_level", several=False)
    table = result.table
    names = [f"{name} ({weight:,.0f})" for name, weight in zip(table.index, table["weight"], strict=True)]
    ax, places = _rows(names, ax)
    chance: dict[str, Any] = {"color": DIAGONAL_COLOUR, "alpha": 0.35, "height": 0.5, "zorder": 1}
    ax.barh(places, table["chance_high"], label=f"{100 * result.confidence_level:.4g} % of errors by chance", **chance)
    ax.barh(places, table["chance"], label="mean error by chance", **{**chance, "alpha": 0.45})
    ax.plot(table["error"], places, ls="", marker="o", zorder=3, label="error")
    ax.set_xlabel("Calibration error within the group")
    ax.set_xlim(left=0)
    _legend_below(ax)
    return ax


def plot_calibration_differences(result: Bunch, *, ax: Axes | None = None) -> Axes:
    """Draw the difference of the squared calibration errors of each pair with its interval.

    Parameters
    ----------
    result : Bunch
        What `clustcal.metrics.compare_calibration` returns.
    ax : matplotlib Axes, optional
        By default a new figure.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from clustcal.metrics import compare_calibration
    >>> from clustcal.plots import plot_calibration_differences
    >>> result = compare_calibration([0, 1, 1, 0], {"a": [0.2, 0.7, 0.4, 0.1], "b": [0.5] * 4}, n_bins=1)
    >>> plot_calibration_differences(result).get_yticklabels()[0].get_text()
    'a - b'
    """
    check_results("result", result, "pairs", several=False)
    pairs = result.pairs
    ax, places = _rows([f"{a} - {b}" for a, b in zip(pairs["first"], pairs["second"], strict=True)], ax)
    reach = np.abs(pairs[["low", "high"]].to_numpy().T - pairs["difference"].to_numpy())
    ax.axvline(0, color=DIAGONAL_COLOUR, lw=1.2, ls=(0, (2, 2)))
    ax.errorbar(pairs["difference"], places, xerr=reach, fmt="o", capsize=3)
    ax.set_xlabel("Difference of squared calibration errors")
    return ax


def plot_score_parts(parts: Mapping[str, Bunch], *, ax: Axes | None = None) -> Axes:
    """Draw the refinement and the calibration part of each forecast's score as one stacked bar.

    Parameters
    ----------
    parts : mapping from names to Bunches
        What `clustcal.metrics.refinement_decomposition` returns.
    ax : matplotlib Axes, optional
        By default a new figure.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> import numpy as np
    >>> from clustcal.metrics import refinement_decomposition
    >>> from clustcal.plots import plot_score_parts
    >>> p, y = np.tile([0.1, 0.3, 0.7, 0.9], 25), np.arange(100) % 4 > np.arange(100) % 3
    >>> plot_score_parts({"model": refinement_decomposition(y, p)}).get_xlabel()
    'Score'
    """
    several = isinstance(parts, Mapping) and parts and all(isinstance(part, Mapping) for part in parts.values())
    if not several:
        raise ValueError("parts is no mapping from names to decompositions; expected such as {'model': parts}.")
    check_results("parts", parts, "refinement", "calibration", "calibration_interval")
    ax, places = _rows(list(parts), ax)
    refinement, calibration = (
        np.array([part[name] for part in parts.values()]) for name in ("refinement", "calibration")
    )
    limits = np.array([part["calibration_interval"] for part in parts.values()]).T
    look: dict[str, Any] = {"height": 0.6, "edgecolor": "white"}
    ax.barh(places, refinement, color="#0072B2", label="refinement", **look)
    ax.barh(places, calibration, left=refinement, color="#E69F00", hatch="///", label="calibration", **look)
    error: dict[str, Any] = {"fmt": "none", "ecolor": "0.15", "capsize": 3, "label": "interval of the calibration part"}
    ax.errorbar(refinement + calibration, places, xerr=np.abs(limits - calibration), **error)
    ax.set_xlabel("Score")
    _legend_below(ax)
    return ax


def _rows(names: list[str], ax: Axes | None) -> tuple[Axes, Integers]:
    """Axes with one row per name, the first on top, and the places of the rows."""
    import matplotlib.pyplot as plt

    check_axes(ax)
    if ax is None:
        ax = plt.subplots(figsize=(6.4, 1.8 + ROW_HEIGHT * len(names)), layout="constrained")[1]
    places = np.arange(len(names))
    ax.set_yticks(places, names)
    ax.set_ylim(len(names) - 0.5, -0.5)
    ax.grid(visible=False, axis="y")
    return ax, places


def _legend_below(ax: Axes) -> None:
    # Rows fill the axes, so the legend stands above them.
    ax.legend(loc="lower center", bbox_to_anchor=(0.5, 1.01), ncols=3, borderaxespad=0.2, columnspacing=1.2)
