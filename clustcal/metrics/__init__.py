"""Metrics of probabilistic forecasts: scores, calibration errors, their parts, and how sure they are.

All take ``(y_true, y_prob, *, sample_weight, labels, pos_label, ...)`` and build on
`clustcal.core.probabilities` for checking and for the one rule of bins.
"""

from clustcal.metrics.binned_curves import ReliabilityCurve, reliability_curve
from clustcal.metrics.calibration import (
    ada_ece,
    classwise_ece,
    debiased_ece,
    ece,
    mce,
    smooth_ece,
)
from clustcal.metrics.decisions import rejection_curve
from clustcal.metrics.decomposition import murphy_decomposition
from clustcal.metrics.intervals import bootstrap_interval, paired_wilcoxon, spearman_table, t_interval
from clustcal.metrics.local_errors import lce, local_calibration_errors, mlce
from clustcal.metrics.proper_scores import accuracy, brier, log_loss, roc_auc
from clustcal.metrics.proportions import proportion_interval

__all__ = [
    "ReliabilityCurve",
    "accuracy",
    "ada_ece",
    "bootstrap_interval",
    "brier",
    "classwise_ece",
    "debiased_ece",
    "ece",
    "lce",
    "local_calibration_errors",
    "log_loss",
    "mce",
    "mlce",
    "murphy_decomposition",
    "paired_wilcoxon",
    "proportion_interval",
    "rejection_curve",
    "reliability_curve",
    "roc_auc",
    "smooth_ece",
    "spearman_table",
    "t_interval",
]
