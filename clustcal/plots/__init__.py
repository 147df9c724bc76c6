"""Figures of calibration, with matplotlib alone: reliability diagrams, rejection curves, maps of clusters.

Built on `clustcal.metrics`; one style file, ``clustcal.mplstyle``, is shared by all (see `style`).
"""

from clustcal.plots._style import style, use_style
from clustcal.plots.clusters import plot_clusters
from clustcal.plots.pipeline import plot_pipeline
from clustcal.plots.rejection import plot_rejection_curves
from clustcal.plots.reliability import ReliabilityDisplay, plot_reliability_bars

__all__ = [
    "ReliabilityDisplay",
    "plot_clusters",
    "plot_pipeline",
    "plot_rejection_curves",
    "plot_reliability_bars",
    "style",
    "use_style",
]
