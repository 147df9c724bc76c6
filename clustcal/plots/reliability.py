"""Reliability diagrams: forecast against frequency, with the number of rows behind each point.

Bins are those of `clustcal.metrics.reliability_curve`, and so of the calibration errors.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike

from clustcal.core.array_types import AnySeed, Bins, Estimator, Inputs, Kind, Strategy
from clustcal.core.parameters import check_level, check_one_of, check_share
from clustcal.metrics import ReliabilityCurve, reliability_curve
from clustcal.plots._style import DIAGONAL_COLOUR, check_axes, next_look

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

# The panel of counts below the diagram: its name, and its height as a share of the diagram's.
COUNTS_LABEL = "counts"
COUNTS_HEIGHT = 0.2
# Lines up to which a legend finds room inside the diagram.
FEW_LINES = 4
PREDICTED_COLOUR, OBSERVED_COLOUR = "#E69F00", "#0072B2"
# What the legend calls each kind of interval.
BAND_NAMES = {"clopper-pearson": "Clopper-Pearson", "wilson": "Wilson", "bootstrap": "bootstrap"}


class ReliabilityDisplay:
    """Reliability diagram: square axes, the diagonal, one marker per bin, and a panel of bin counts.

    Make one with `from_predictions`, `from_estimator` or, of a curve at hand such as one merged from batches,
    `from_curve`. Several on the same axes share the panel.

    Parameters
    ----------
    curve : ReliabilityCurve, or dict of them by class
        What `clustcal.metrics.reliability_curve` returns.
    band : tuple of two ndarrays of shape (n_bins,), optional
        Lower and upper limit of the observed frequency of each bin in ``curve``; for a dict, one by class.
    confidence_level : float, optional
        Confidence level of the band, for the legend.
    band_name : str, optional
        Kind of the band, for the legend.
    name : str, optional
        Label in the legend.
    kind : {"positive", "top-label", "classwise"}, default="positive"
        What the curve is about; names the axes.
    pos_label : label, optional
        Named on the axes if given.

    Attributes
    ----------
    ax_, counts_ax_ : matplotlib Axes
        The diagram and its panel of counts (None if not asked for, or if ``ax`` is not part of a grid).
    figure_ : matplotlib Figure
    line_ : matplotlib Line2D, or dict of them by class
    band_ : matplotlib artist or None, or dict of them by class

    Examples
    --------
    >>> from clustcal.plots import ReliabilityDisplay
    >>> display = ReliabilityDisplay.from_predictions(
    ...     [0, 0, 1, 1, 1, 0], [0.1, 0.3, 0.35, 0.8, 0.9, 0.7], n_bins=2, name="model"
    ... )
    >>> display.curve.frequency.round(2)
    array([0.33, 0.67])
    """

    def __init__(
        self,
        curve: ReliabilityCurve | dict[Any, ReliabilityCurve],
        *,
        band: Any = None,
        confidence_level: float | None = None,
        band_name: str | None = None,
        name: str | None = None,
        kind: str = "positive",
        pos_label: Hashable = None,
    ) -> None:
        self.curve = curve
        self.band = band
        self.confidence_level = confidence_level
        self.band_name = band_name
        self.name = name
        self.kind = kind
        self.pos_label = pos_label

    @classmethod
    def from_estimator(
        cls, estimator: Estimator, X: Inputs, y: ArrayLike, *, name: str | None = None, **kwargs: Any
    ) -> Self:
        """Diagram of a fitted classifier's probabilities on (X, y).

        Parameters
        ----------
        estimator : classifier with ``predict_proba`` and ``classes_``
        X, y : data to predict, and its labels
        name : str, optional
            By default the name of the class.
        **kwargs
            As in `from_predictions`.

        Returns
        -------
        ReliabilityDisplay
        """
        if not hasattr(estimator, "predict_proba"):
            raise ValueError(f"estimator is {type(estimator).__name__}, which has no predict_proba.")
        name = type(estimator).__name__ if name is None else name
        kwargs = {"labels": estimator.classes_, **kwargs}
        return cls.from_predictions(y, estimator.predict_proba(X), name=name, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        y_prob: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        labels: ArrayLike | None = None,
        pos_label: Hashable = None,
        n_bins: Bins = 10,
        strategy: Strategy = "uniform",
        kind: Kind = "auto",
        band: float | None = 0.95,
        interval: Literal["clopper-pearson", "wilson", "bootstrap"] = "clopper-pearson",
        n_resamples: int = 200,
        random_state: AnySeed = 0,
        name: str | None = None,
        ax: Axes | None = None,
        counts: bool = True,
        limit: float = 1.0,
        legend: bool = True,
        **line_kwargs: Any,
    ) -> Self:
        """Diagram of given probabilities.

        Parameters
        ----------
        y_true, y_prob, sample_weight, labels, pos_label, n_bins, strategy, kind
            As in `clustcal.metrics.reliability_curve`; ``"classwise"`` draws one line per class.
        band : float or None, default=0.95
            Confidence level of the interval of each frequency, drawn as a band; None for none.
        interval : {"clopper-pearson", "wilson", "bootstrap"}, default="clopper-pearson"
            How the intervals are made: see `clustcal.metrics.proportion_interval`. Those of the bootstrap are too
            short for rare events, and have no width at a bin of only events or of none.
        n_resamples : int, default=200
        random_state : int, RandomState instance, Generator or None, default=0
            The last two are for the bootstrap; fixed by default, so that a figure does not change from run to run.
        name : str, optional
            Label in the legend.
        ax : matplotlib Axes, optional
            Drawn into; by default a new figure.
        counts : bool, default=True
            Whether to show the panel of bin counts.
        limit : float, default=1.0
            Show probabilities from 0 to here; for rare events, where all scores are small.
        legend : bool, default=True
            Whether to draw a legend; in small panels it covers data, and one panel with it may do.
        **line_kwargs
            Passed to ``ax.plot``.

        Returns
        -------
        ReliabilityDisplay

        Raises
        ------
        ValueError
            If the input is not as described.
        """
        if band is not None:
            check_level("band", band)
        curve = reliability_curve(
            y_true,
            y_prob,
            sample_weight=sample_weight,
            labels=labels,
            pos_label=pos_label,
            n_bins=n_bins,
            strategy=strategy,
            kind=kind,
            interval=None if band is None else interval,
            confidence_level=0.95 if band is None else band,
            n_resamples=n_resamples,
            random_state=random_state,
        )
        look: dict[str, Any] = {"counts": counts, "limit": limit, "legend": legend}
        return cls.from_curve(curve, name=name, pos_label=pos_label, ax=ax, **look, **line_kwargs)

    @classmethod
    def from_curve(
        cls,
        curve: ReliabilityCurve | dict[Any, ReliabilityCurve],
        *,
        name: str | None = None,
        pos_label: Hashable = None,
        ax: Axes | None = None,
        counts: bool = True,
        limit: float = 1.0,
        legend: bool = True,
        **line_kwargs: Any,
    ) -> Self:
        """Diagram of a curve, with the intervals that it holds.

        Parameters
        ----------
        curve : ReliabilityCurve, or dict of them by class
            What `clustcal.metrics.reliability_curve` returns.
        name, ax, counts, limit, legend, **line_kwargs
            As in `from_predictions`.
        pos_label : label, optional
            Named on the axes if given.

        Returns
        -------
        ReliabilityDisplay
        """
        _check_curve(curve)
        curves: dict[Any, Any] = curve if _is_classwise(curve) else {None: curve}
        bands = {label: (part.low, part.high) if "low" in part else None for label, part in curves.items()}
        first = next(iter(curves.values()))
        display = cls(
            curve,
            band=bands if _is_classwise(curve) else bands[None],
            confidence_level=first.confidence_level,
            band_name=BAND_NAMES.get(first.interval),
            name=name,
            kind="classwise" if _is_classwise(curve) else first.kind,
            pos_label=pos_label,
        )
        return display.plot(ax, counts=counts, limit=limit, legend=legend, **line_kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        counts: bool = True,
        diagonal: bool = True,
        limit: float = 1.0,
        legend: bool = True,
        **line_kwargs: Any,
    ) -> Self:
        """Draw the diagram.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            By default a new figure.
        name : str, optional
            Label in the legend; by default the one given before.
        counts : bool, default=True
            Whether to show the panel of bin counts.
        diagonal : bool, default=True
            Whether to draw the line of perfect calibration (once per axes).
        limit : float, default=1.0
            Show probabilities from 0 to here.
        legend : bool, default=True
            Whether to draw a legend.
        **line_kwargs
            Passed to ``ax.plot``.

        Returns
        -------
        self
        """
        check_axes(ax)
        check_share("limit", limit)
        name = self.name if name is None else name
        # A line per class leaves no room for a legend inside; on given axes there may be none beside either.
        beside = ax is None and self.kind == "classwise" and len(self.curve) > FEW_LINES
        ax = _new_axes(width=7.2 if beside and legend else 4.6) if ax is None else ax
        labels = set(ax.get_legend_handles_labels()[1])
        if diagonal and "perfect calibration" not in labels:
            look: dict[str, Any] = {"color": DIAGONAL_COLOUR, "ls": (0, (2, 2)), "lw": 1.2, "zorder": 1}
            ax.plot([0, 1], [0, 1], label="perfect calibration", **look)
        # Unclipped where all is shown, so that markers at 0 and 1 do not lose a half to the frame.
        options = {"clip_on": limit < 1, **line_kwargs}
        if self.kind == "classwise":
            parts = {label: self._draw(ax, label, name, counts, options) for label in self.curve}
            self.line_ = {label: line for label, (line, _, _) in parts.items()}
            self.band_ = {label: band for label, (_, band, _) in parts.items()}
            self.counts_ax_ = next(iter(parts.values()))[2]
        else:
            self.line_, self.band_, self.counts_ax_ = self._draw(ax, None, name, counts, options)
        _set_up_square(ax, self.counts_ax_, limit, *self._axis_labels())
        if legend:
            _draw_legend(ax, beside)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw(
        self, ax: Axes, label: Any, name: str | None, counts: bool, options: dict[str, Any]
    ) -> tuple[Any, Any, Any]:
        """Draw one curve (that of a class, if there is one for each): its line, band and counts."""
        classwise = self.kind == "classwise"
        curve: Any
        curve, band = (self.curve[label], self.band and self.band[label]) if classwise else (self.curve, self.band)
        if classwise:
            name = str(label) if name is None else f"{name}: {label}"
        look = next_look(len([line for line in ax.lines if line.get_gid() == "reliability"]))
        (line,) = ax.plot(curve.confidence, curve.frequency, **{"label": name, **look, **options})
        line.set_gid("reliability")
        band = None if band is None else self._draw_band(ax, curve, band, line)
        return line, band, _draw_counts(ax, curve, line) if counts else None

    def _draw_band(self, ax: Axes, curve: ReliabilityCurve, band: Any, line: Line2D) -> Any:
        low, high = band
        # Bands of many classes would hide each other; a bar stays with its point.
        bars = self.kind == "classwise"
        label = " ".join(filter(None, [self._level(), self.band_name, "intervals" if bars else "band"]))
        label = "_" + label if label in ax.get_legend_handles_labels()[1] else label
        colour = line.get_color()
        if bars:
            return ax.vlines(curve.confidence, low, high, color=colour, alpha=0.5, lw=1.2, zorder=2, label=label)
        if len(low) == 1:
            # A band needs two points; a single bin gets a bar.
            return ax.vlines(curve.confidence, low, high, color=colour, alpha=0.4, lw=6, label=label)
        return ax.fill_between(curve.confidence, low, high, color=colour, alpha=0.18, lw=0, label=label)

    def _level(self) -> str | None:
        return f"{100 * self.confidence_level:.4g} %" if self.confidence_level else None

    def _axis_labels(self) -> tuple[str, str]:
        if self.kind == "top-label":
            return "Mean confidence", "Accuracy"
        if self.kind == "classwise":
            return "Mean predicted probability of a class", "Observed frequency of the class"
        of_class = "" if self.pos_label is None else f" of {self.pos_label}"
        return f"Mean predicted probability{of_class}", f"Observed frequency{of_class}"


def plot_reliability_bars(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    pos_label: Hashable = None,
    n_bins: Bins = 10,
    strategy: Strategy = "uniform",
    kind: Kind = "auto",
    band: float | None = 0.95,
    interval: Literal["clopper-pearson", "wilson", "bootstrap"] = "clopper-pearson",
    name: str | None = None,
    ax: Axes | None = None,
    counts: bool = True,
    limit: float = 1.0,
    legend: bool = True,
) -> Axes:
    """Reliability diagram as pairs of bars, as in Fig. 1 of the paper.

    In each bin that holds rows, the left bar (orange) is the mean predicted probability and the right one (blue,
    hatched) the observed frequency, with its interval.

    Parameters
    ----------
    y_true, y_prob, sample_weight, labels, pos_label, n_bins, strategy, kind
        As in `clustcal.metrics.reliability_curve`.
    band : float or None, default=0.95
        Confidence level of the interval of each frequency; None for none.
    interval : {"clopper-pearson", "wilson"}, default="clopper-pearson"
        How it is made: see `clustcal.metrics.proportion_interval`.
    name : str, optional
        Title of the axes.
    ax : matplotlib Axes, optional
        By default a new figure.
    counts : bool, default=True
        Whether to show the panel of bin counts.
    limit : float, default=1.0
        Show probabilities from 0 to here.
    legend : bool, default=True
        Whether to draw a legend.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from clustcal.plots import plot_reliability_bars
    >>> ax = plot_reliability_bars([0, 0, 1, 1], [0.1, 0.3, 0.6, 0.9], n_bins=2)
    >>> len(ax.patches)
    4
    """
    check_axes(ax)
    check_share("limit", limit)
    if band is not None:
        check_level("band", band)
        check_one_of("interval", interval, ("clopper-pearson", "wilson"))
    curve = reliability_curve(
        y_true,
        y_prob,
        sample_weight=sample_weight,
        labels=labels,
        pos_label=pos_label,
        n_bins=n_bins,
        strategy=strategy,
        kind=kind,
        interval=None if band is None else interval,
        confidence_level=0.95 if band is None else band,
    )
    if _is_classwise(curve):
        raise ValueError("kind is 'classwise'; expected 'positive' (with pos_label) or 'top-label' for bars.")
    ax = _new_axes() if ax is None else ax
    left, right = curve.edges[curve.bin], curve.edges[curve.bin + 1]
    width = 0.42 * (right - left)
    middle = (left + right) / 2
    ax.bar(middle - width / 2, curve.confidence, width, color=PREDICTED_COLOUR, label="mean predicted")
    ax.bar(
        middle + width / 2,
        curve.frequency,
        width,
        color=OBSERVED_COLOUR,
        hatch="///",
        edgecolor="white",
        lw=0,
        label="observed frequency",
    )
    if band is not None:
        reach = np.abs(np.array([curve.low, curve.high]) - curve.frequency)
        look: dict[str, Any] = {"fmt": "none", "ecolor": "0.15", "elinewidth": 1.2, "capsize": 2.5}
        label = f"{100 * band:.4g} % {BAND_NAMES[interval]} interval"
        ax.errorbar(middle + width / 2, curve.frequency, reach, label=label, **look)
    counts_ax = _draw_counts(ax, curve) if counts else None
    _set_up_square(ax, counts_ax, limit, "Predicted probability, binned", "Probability")
    ax.set_title(name or "")
    if legend:
        ax.legend(loc="upper left", borderaxespad=0.3)
    return ax


def _check_curve(curve: Any) -> None:
    several = isinstance(curve, dict) and not isinstance(curve, ReliabilityCurve) and len(curve) > 0
    if not all(isinstance(one, ReliabilityCurve) for one in (curve.values() if several else [curve])):
        raise ValueError("curve is no ReliabilityCurve, nor a dict of them; expected what reliability_curve returns.")


def _is_classwise(curve: Any) -> bool:
    return not isinstance(curve, ReliabilityCurve)


def _new_axes(width: float = 4.6) -> Axes:
    import matplotlib.pyplot as plt

    # "compressed" is the layout that allows for axes of fixed shape.
    return plt.subplots(figsize=(width, 5.4), layout="compressed")[1]


def _set_up_square(ax: Axes, counts_ax: Axes | None, limit: float, x_label: str, y_label: str) -> None:
    from matplotlib.ticker import MaxNLocator

    ax.set(xlim=(0, limit), ylim=(0, limit), ylabel=y_label)
    ax.set_box_aspect(1)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(5, steps=[1, 2, 2.5, 5, 10]))
    lowest = ax if counts_ax is None else counts_ax
    lowest.set_xlabel(x_label)
    ax.tick_params(labelbottom=counts_ax is None)


def _draw_legend(ax: Axes, beside: bool = False) -> None:
    handles, labels = ax.get_legend_handles_labels()
    # What is compared comes first, what helps to read it after.
    order = sorted(range(len(handles)), key=lambda i: handles[i].get_gid() != "reliability")
    place = {"loc": "upper left", "bbox_to_anchor": (1.01, 1)} if beside else {"loc": "best"}
    ax.legend([handles[i] for i in order], [labels[i] for i in order], borderaxespad=0.3, **place)


def _draw_counts(ax: Axes, curve: ReliabilityCurve, line: Line2D | None = None) -> Axes | None:
    """Draw the weight of each bin into the panel below ``ax``, in the look of ``line``; return the panel."""
    panel = _counts_panel(ax)
    if panel is None:
        return None
    look: dict[str, Any] = (
        {"color": "0.35"} if line is None else {"color": line.get_color(), "ls": line.get_linestyle()}
    )
    counts = np.zeros(len(curve.edges) - 1)
    counts[curve.bin] = curve.count
    if panel.patches:
        # Fills of several methods would hide each other: outlines only.
        for artist in [patch for patch in panel.patches if patch.get_fill()] + list(panel.collections):
            artist.remove()
    else:
        panel.stairs(counts, curve.edges, fill=True, color=look["color"], alpha=0.25)
        inner = np.minimum(counts[:-1], counts[1:])
        panel.vlines(curve.edges[1:-1], 0, inner, color=look["color"], lw=0.6, alpha=0.6)
    panel.stairs(counts, curve.edges, lw=1.2, **look)
    _set_count_scale(panel)
    return panel


def _counts_panel(ax: Axes) -> Axes | None:
    """The panel below ``ax``: found if there, else cut off from the cell of the grid that ``ax`` fills."""
    for sibling in ax.get_shared_x_axes().get_siblings(ax):
        if sibling.get_label() == COUNTS_LABEL:
            return sibling
    cell = ax.get_subplotspec()
    if cell is None:
        return None
    grid = cell.subgridspec(2, 1, height_ratios=[1, COUNTS_HEIGHT])
    upper, lower = grid[0], grid[1]
    ax.set_subplotspec(upper)
    panel = ax.figure.add_subplot(lower, sharex=ax, label=COUNTS_LABEL)
    panel.set_box_aspect(COUNTS_HEIGHT)
    panel.set_ylabel("Rows")
    panel.grid(visible=False, axis="x")
    # Both boxes keep their shape within their cells and so may be smaller: they stay side by side.
    ax.set_anchor("S")
    panel.set_anchor("N")
    return panel


def _set_count_scale(panel: Axes) -> None:
    """Counts on a log scale, always: it is the bins with few rows that a reader must not miss."""
    from matplotlib.patches import StepPatch
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    drawn = np.concatenate([patch.get_data()[0] for patch in panel.patches if isinstance(patch, StepPatch)])
    drawn = drawn[drawn > 0]
    panel.set_yscale("log")
    panel.set_ylim(min(0.7, drawn.min() / 2), drawn.max() * 2)
    panel.yaxis.set_major_locator(LogLocator(numticks=3))
    panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _short(value)))
    # Every decade has a tick, also where not every one is named.
    panel.yaxis.set_minor_locator(LogLocator(numticks=99))
    panel.yaxis.set_minor_formatter(NullFormatter())


def _short(count: float) -> str:
    """Write a count in few characters: 950, 12k, 3M."""
    for unit, suffix in ((1e6, "M"), (1e3, "k")):
        if count >= unit:
            return f"{count / unit:.3g}{suffix}"
    return f"{count:.3g}"
