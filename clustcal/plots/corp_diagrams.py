"""CORP reliability diagrams: the isotonic curve, its band, and the three parts of the score beside it."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch

from clustcal.core.array_types import AnySeed, Event
from clustcal.core.parameters import check_share
from clustcal.metrics.corp import corp_curve, corp_decomposition
from clustcal.plots._style import DIAGONAL_COLOUR, check_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["plot_corp_diagram"]


def plot_corp_diagram(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    band: Literal["consistency", "confidence"] | None = "consistency",
    confidence_level: float = 0.95,
    n_resamples: int = 1000,
    random_state: AnySeed = 0,
    score: Literal["brier", "log_loss", "spherical"] | Callable[[Any, Any], Any] | None = "brier",
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    pos_label: Hashable = None,
    kind: Event = "auto",
    name: str | None = None,
    ax: Axes | None = None,
    limit: float = 1.0,
    legend: bool = True,
) -> Axes:
    """CORP reliability diagram: observed frequency against forecast by isotonic regression, without bins.

    Parameters
    ----------
    y_true, y_prob, sample_weight, labels, pos_label, kind, band, confidence_level, n_resamples, random_state
        As in `clustcal.metrics.corp_curve`.
    score : {"brier", "log_loss", "spherical"}, callable or None, default="brier"
        The score whose parts (MCB, DSC, UNC) are written into the diagram; None for none.
    name : str, optional
        Label in the legend.
    ax : matplotlib Axes, optional
        By default a new figure.
    limit : float, default=1.0
        Show probabilities from 0 to here.
    legend : bool, default=True

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from clustcal.plots import plot_corp_diagram
    >>> ax = plot_corp_diagram([0, 1, 0, 1], [0.2, 0.4, 0.6, 0.8], n_resamples=50)
    >>> print(ax.texts[0].get_text())
    MCB 0.075
    DSC 0.125
    UNC 0.250
    """
    import matplotlib.pyplot as plt

    check_axes(ax)
    check_share("limit", limit)
    forecast: dict[str, Any] = {"sample_weight": sample_weight, "labels": labels, "pos_label": pos_label, "kind": kind}
    options: dict[str, Any] = {"band": band, "confidence_level": confidence_level, "n_resamples": n_resamples}
    curve = corp_curve(y_true, y_prob, random_state=random_state, **options, **forecast)
    ax = plt.subplots(figsize=(4.6, 4.6), layout="compressed")[1] if ax is None else ax
    if "perfect calibration" not in ax.get_legend_handles_labels()[1]:
        ax.plot([0, 1], [0, 1], color=DIAGONAL_COLOUR, ls=(0, (2, 2)), lw=1.2, label="perfect calibration")
    (line,) = ax.plot(curve.forecast, curve.frequency, lw=1.8, zorder=3, label=name or "CORP")
    if band is not None:
        # A consistency band belongs to the diagonal, a confidence band to the curve.
        colour = DIAGONAL_COLOUR if band == "consistency" else line.get_color()
        label = f"{100 * confidence_level:.4g} % {band} band"
        ax.fill_between(curve.forecast, curve.low, curve.high, color=colour, alpha=0.2, lw=0, label=label)
    _draw_rug(ax, curve, limit)
    if score is not None:
        parts = corp_decomposition(y_true, y_prob, score=score, **forecast)
        text = f"MCB {parts.miscalibration:.3f}\nDSC {parts.discrimination:.3f}\nUNC {parts.uncertainty:.3f}"
        ax.text(0.97, 0.05, text, transform=ax.transAxes, ha="right", va="bottom")
    ax.set(xlim=(0, limit), ylim=(0, limit), xlabel="Predicted probability", ylabel="Observed frequency (isotonic)")
    ax.set_box_aspect(1)
    if legend:
        ax.legend(loc="upper left", borderaxespad=0.3)
    return ax


def _draw_rug(ax: Axes, curve: Bunch, limit: float) -> None:
    """A histogram of the forecasts along the foot of the diagram, a tenth of its height."""
    counts, edges = np.histogram(curve.forecast, bins=50, range=(0, limit), weights=curve.count)
    if counts.any():
        heights = counts / counts.max() * 0.1 * limit
        ax.stairs(heights, edges, fill=True, color=DIAGONAL_COLOUR, alpha=0.5, zorder=1)
