"""Decision curves and cost curves: what a forecast is worth, with intervals, beside what is done without one."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import Bunch

from clustcal.core.array_types import Floats
from clustcal.plots._style import DIAGONAL_COLOUR, check_axes, check_results, next_look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

__all__ = ["plot_cost_curves", "plot_decision_curves"]

MARKS_PER_LINE = 8


def plot_decision_curves(curves: Mapping[str, Bunch], *, intervals: bool = True, ax: Axes | None = None) -> Axes:
    """Draw net benefit against the threshold, one line per model, with treating all and treating none.

    Parameters
    ----------
    curves : mapping from names to Bunches
        What `clustcal.metrics.decision_curve` returns, of the same rows.
    intervals : bool, default=True
        Whether to draw the interval of each curve as a band.
    ax : matplotlib Axes, optional
        By default a new figure.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from clustcal.metrics import decision_curve
    >>> from clustcal.plots import plot_decision_curves
    >>> curve = decision_curve([0, 0, 1, 0, 1], [0.1, 0.2, 0.3, 0.6, 0.9], thresholds=[0.2, 0.4])
    >>> plot_decision_curves({"model": curve}).get_ylabel()
    'Net benefit'
    """
    ax = _axes_of(curves, ax, "threshold", "net_benefit", "treat_all", "low", "high")
    for name, curve in curves.items():
        _draw_line(ax, name, curve.threshold, curve.net_benefit, (curve.low, curve.high) if intervals else None)
    first = next(iter(curves.values()))
    ax.plot(first.threshold, first.treat_all, color=DIAGONAL_COLOUR, ls="-.", lw=1.2, label="treat all")
    ax.axhline(0, color="0.2", lw=1.0, ls=(0, (2, 2)), label="treat none")
    highest = max(curve.net_benefit.max() for curve in [*curves.values()])
    highest = max(highest, max(curve.high.max() for curve in curves.values()) if intervals else 0, 1e-9)
    # Treating all falls far below 0, where nobody needs to look.
    ax.set(xlabel="Threshold probability", ylabel="Net benefit", ylim=(-0.25 * highest, 1.05 * highest))
    ax.legend()
    return ax


def plot_cost_curves(
    curves: Mapping[str, Bunch], *, intervals: bool = True, best: bool = True, ax: Axes | None = None
) -> Axes:
    """Draw the cost of decisions against the share of a false positive in the costs, one line per model.

    Parameters
    ----------
    curves : mapping from names to Bunches
        What `clustcal.metrics.cost_curve` returns, of the same rows.
    intervals : bool, default=True
        Whether to draw the interval of each curve as a band.
    best : bool, default=True
        Whether to draw, dotted, what the best threshold would have cost: the gap is that of miscalibration.
    ax : matplotlib Axes, optional
        By default a new figure.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from clustcal.metrics import cost_curve
    >>> from clustcal.plots import plot_cost_curves
    >>> curve = cost_curve([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9])
    >>> plot_cost_curves({"model": curve}).get_ylabel()
    'Cost (area: Brier score)'
    """
    ax = _axes_of(curves, ax, "cost_share", "cost", "best", "treat_all", "treat_none", "low", "high")
    for name, curve in curves.items():
        line = _draw_line(ax, name, curve.cost_share, curve.cost, (curve.low, curve.high) if intervals else None)
        if best:
            label = f"{name}, best threshold"
            ax.plot(curve.cost_share, curve.best, color=line.get_color(), ls=":", lw=1.4, label=label)
    first = next(iter(curves.values()))
    without = np.minimum(first.treat_all, first.treat_none)
    ax.plot(first.cost_share, without, color=DIAGONAL_COLOUR, ls="-.", lw=1.2, label="no forecast")
    ax.set(xlabel="Share of a false positive in the costs", ylabel="Cost (area: Brier score)")
    ax.set_ylim(bottom=0)
    ax.legend()
    return ax


def _axes_of(curves: Any, ax: Axes | None, *keys: str) -> Axes:
    import matplotlib.pyplot as plt

    check_axes(ax)

    if not isinstance(curves, Mapping) or isinstance(next(iter(curves.values()), None), np.ndarray):
        raise ValueError("curves is no mapping from names to curves; expected such as {'model': curve}.")
    if not curves:
        raise ValueError("curves is empty; expected at least one curve.")
    check_results("curves", curves, *keys)
    return plt.subplots(layout="constrained")[1] if ax is None else ax


def _draw_line(ax: Axes, name: str, x: Floats, y: Floats, limits: tuple[Floats, Floats] | None) -> Line2D:
    drawn = len([line for line in ax.lines if line.get_gid() == "model"])
    look = {**next_look(drawn), "markevery": max(1, len(x) // MARKS_PER_LINE)}
    (line,) = ax.plot(x, y, label=name, **look)
    line.set_gid("model")
    if limits is not None:
        ax.fill_between(x, *limits, color=line.get_color(), alpha=0.15, lw=0)
    return line
