"""Rejection curves: the error that is left when the least confident cases are handed on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from clustcal.plots._style import MARKERS, check_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def plot_rejection_curves(curves: Mapping[str, Any], *, ax: Axes | None = None) -> Axes:
    """Draw error rate against the share of rows rejected, one line per method.

    Parameters
    ----------
    curves : mapping from names to Bunches
        What `clustcal.metrics.rejection_curve` returns, or anything with ``quantile`` and ``error``; also
        with ``low`` and ``high``, which are then drawn as a band.
    ax : matplotlib Axes, optional
        By default a new figure.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from clustcal.metrics import rejection_curve
    >>> from clustcal.plots import plot_rejection_curves
    >>> y, p = [1, 0, 1, 1], [0.6, 0.7, 0.8, 0.9]
    >>> ax = plot_rejection_curves({"model": rejection_curve(y, p, quantiles=[0, 0.25, 0.5])})
    >>> ax.get_xlabel()
    'Share of rows rejected'
    """
    import matplotlib.pyplot as plt

    check_axes(ax)
    if not isinstance(curves, Mapping):
        raise ValueError("curves is no mapping from names to curves; expected such as {'model': curve}.")
    if not curves:
        raise ValueError("curves is empty; expected at least one rejection curve.")
    for curve in curves.values():
        if not (hasattr(curve, "quantile") and hasattr(curve, "error")):
            raise ValueError("curves holds something without quantile and error; expected results of rejection_curve.")
    ax = plt.subplots()[1] if ax is None else ax
    for number, (name, curve) in enumerate(curves.items()):
        marker = MARKERS[number % len(MARKERS)]
        (line,) = ax.plot(curve.quantile, curve.error, marker=marker, markeredgecolor="white", label=name)
        if "low" in curve:
            ax.fill_between(curve.quantile, curve.low, curve.high, color=line.get_color(), alpha=0.18, lw=0)
    ax.set(xlabel="Share of rows rejected", ylabel="Error rate of accepted rows")
    ax.set_ylim(bottom=0)
    ax.legend()
    return ax
