"""Figures of calibration, with matplotlib alone: reliability diagrams, decisions, groups, triangles, maps of clusters.

Built on `clustcal.metrics`; one style file, ``clustcal.mplstyle``, is shared by all (see `style`).
"""

from clustcal.plots._style import style, use_style
from clustcal.plots.clusters import plot_clusters
from clustcal.plots.comparisons import plot_calibration_differences, plot_group_errors, plot_score_parts
from clustcal.plots.corp_diagrams import plot_corp_diagram
from clustcal.plots.net_benefit import plot_cost_curves, plot_decision_curves
from clustcal.plots.pipeline import plot_pipeline
from clustcal.plots.rejection import plot_rejection_curves
from clustcal.plots.reliability import ReliabilityDisplay, plot_reliability_bars
from clustcal.plots.simplex import plot_simplex

__all__ = [
    "ReliabilityDisplay",
    "plot_calibration_differences",
    "plot_clusters",
    "plot_corp_diagram",
    "plot_cost_curves",
    "plot_decision_curves",
    "plot_group_errors",
    "plot_pipeline",
    "plot_rejection_curves",
    "plot_reliability_bars",
    "plot_score_parts",
    "plot_simplex",
    "style",
    "use_style",
]
