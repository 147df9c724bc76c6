"""Which arm of the study is more probably the paper's: chosen by two of its numbers, judged by all the others.

The paper's uncalibrated forecasts and its temperature scaling are biased in the mean, as those of a classifier with
balanced class weights are and those of one without are not. Neither method can mend a biased mean, so the AdaECE of
these two decides between the arms, and they are not judged under the arm that they chose.
"""

import numpy as np

from clustcal.experiments.tabular import tables
from clustcal.experiments.tabular.grid import PAPER_DATASETS, STAND_INS
from clustcal.experiments.tabular.runs import keep_complete

# By these, and by nothing else, the arm is chosen; they were named before the second arm had been run in full.
CHOOSING = ("performance/base/Baseline/ECE", "performance/TS/Baseline/ECE")
# What the arm concerns: numbers that come from the rows of the study. Seconds do not depend on weights.
FUNCTIONS = ("performance", "capacity", "improvement", "correlations", "text_figures")


def choose_arm(rows, claims):
    """Return the arm whose bias is nearest to the paper's.

    Parameters
    ----------
    rows : dict of str to DataFrame
        The rows of the study by arm.
    claims : DataFrame
        As :func:`clustcal.experiments.paper.load_claims` returns them.

    Returns
    -------
    arm : str
        The smallest mean of ``|log(ours / printed)|`` over `CHOOSING`; ours with open data in the place of the two
        data sets under use agreements, as far as they have been run.
    """
    distances = arm_distances(rows, claims)
    return min(distances, key=distances.get)


def arm_distances(rows, claims):
    """Return for every arm the mean absolute logarithm of the ratio of ours to the printed numbers of `CHOOSING`."""
    printed = claims.set_index("id")["value"][list(CHOOSING)]
    distances = {}
    for arm, of_arm in rows.items():
        table = tables.performance(tables.as_paper_rows(keep_complete(of_arm), PAPER_DATASETS | STAND_INS))
        ours = [table.loc[tuple(name.split("/")[1:3]), name.split("/")[3]] for name in CHOOSING]
        distances[arm] = float(np.abs(np.log(ours / printed.to_numpy())).mean())
    return distances


def is_judged_by_arm(claim):
    """Return whether a number depends on the arm and did not choose it."""
    return claim.recompute in FUNCTIONS and claim.id not in CHOOSING
