"""Metrics of probabilistic forecasts: scores, calibration errors, their parts, and how sure they are.

Which question does a reader have, and which function answers it:

- How good is the forecast as a whole? `log_loss`, `brier`, `accuracy`, `roc_auc`
- How far from calibrated, in bins? `reliability_curve`, `ece`, `mce`, `ada_ece`, `classwise_ece`, `debiased_ece`
- And without bins? `smooth_ece`, `corp_curve`, `corp_decomposition`
- Is it right on average? `calibration_in_the_large`
- Is it too extreme, or too timid? `cox_calibration`, `spiegelhalter_test`
- Are all probabilities of a row right together? `kernel_calibration_test`
- Has it stopped being right? `sequential_calibration_test`
- What of a score would recalibration gain? `murphy_decomposition`, `corp_decomposition`, `refinement_decomposition`
- And recalibration in groups, which of them needs it? `local_calibration_gain`
- Which of several forecasts is better calibrated? `compare_calibration`
- Is it right for every group, or near every row? `multicalibration_error`, `lce`, `mlce`, `local_calibration_errors`
- What is it worth for decisions? `decision_curve`, `expected_cost`, `cost_curve`, `rejection_curve`
- How sure is a number? `proportion_interval`, `bootstrap_interval`, `t_interval`
- How to judge many comparisons? `adjust_pvalues`, `paired_wilcoxon`, `spearman_table`

Those that judge a forecast take ``(y_true, y_prob, *, sample_weight, labels, pos_label, ...)``, with whatever else they
need in third place, such as groups or costs; `compare_calibration` takes a mapping of forecasts as ``y_prob``. Those of
the last two questions take what they are about: counts, values, p-values, a table, or, `bootstrap_interval`, a metric
first. What checks a forecast, and the one rule of bins, is in `clustcal.core.probabilities`.
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
from clustcal.metrics.calibration_gain import local_calibration_gain
from clustcal.metrics.calibration_tests import calibration_in_the_large, cox_calibration, spiegelhalter_test
from clustcal.metrics.comparison import adjust_pvalues, compare_calibration
from clustcal.metrics.corp import corp_curve, corp_decomposition
from clustcal.metrics.decision_curves import cost_curve, decision_curve, expected_cost
from clustcal.metrics.decisions import rejection_curve
from clustcal.metrics.decomposition import murphy_decomposition
from clustcal.metrics.group_calibration import multicalibration_error
from clustcal.metrics.intervals import bootstrap_interval, paired_wilcoxon, spearman_table, t_interval
from clustcal.metrics.kernel_tests import kernel_calibration_test
from clustcal.metrics.local_errors import lce, local_calibration_errors, mlce
from clustcal.metrics.monitoring import sequential_calibration_test
from clustcal.metrics.proper_scores import accuracy, brier, log_loss, roc_auc
from clustcal.metrics.proportions import proportion_interval
from clustcal.metrics.refinement import refinement_decomposition

__all__ = [
    "ReliabilityCurve",
    "accuracy",
    "ada_ece",
    "adjust_pvalues",
    "bootstrap_interval",
    "brier",
    "calibration_in_the_large",
    "classwise_ece",
    "compare_calibration",
    "corp_curve",
    "corp_decomposition",
    "cost_curve",
    "cox_calibration",
    "debiased_ece",
    "decision_curve",
    "ece",
    "expected_cost",
    "kernel_calibration_test",
    "lce",
    "local_calibration_errors",
    "local_calibration_gain",
    "log_loss",
    "mce",
    "mlce",
    "multicalibration_error",
    "murphy_decomposition",
    "paired_wilcoxon",
    "proportion_interval",
    "refinement_decomposition",
    "rejection_curve",
    "reliability_curve",
    "roc_auc",
    "sequential_calibration_test",
    "smooth_ece",
    "spearman_table",
    "spiegelhalter_test",
    "t_interval",
]
