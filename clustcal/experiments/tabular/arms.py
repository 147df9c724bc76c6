"""Which arm of the study is more probably the paper's: chosen by two of its numbers, judged by all the others.

The paper's uncalibrated forecasts and its temperature scaling have a large AdaECE, as those of a classifier with
balanced class weights have, and those of one without much less. Neither method has an intercept, which forecasts
that are wrong in the mean need, so the AdaECE of these two decides between the arms, and they are not judged under the
arm that they chose. The other methods without an intercept share the error, so that their numbers are not independent
witnesses.
"""

import numpy as np
import pandas as pd
from scipy import stats

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
        With the smallest mean of ``|log(ours / printed)|`` over `CHOOSING`; ours with open data in the place of the two
        data sets under use agreements, as far as they have been run.
    """
    distances = arm_distances(rows, claims)
    return min(distances, key=distances.get)


def arm_distances(rows, claims):
    """Return for every arm the mean absolute logarithm of the ratio of ours to the printed numbers of `CHOOSING`."""
    printed = claims.set_index("id")["value"][list(CHOOSING)]
    distances = {}
    for arm, of_arm in common_rows(rows).items():
        table = tables.performance(of_arm)
        ours = [table.loc[tuple(name.split("/")[1:3]), name.split("/")[3]] for name in CHOOSING]
        distances[arm] = float(np.abs(np.log(ours / printed.to_numpy())).mean())
    return distances


def common_rows(rows):
    """Return the paper's methods on the paper's data sets, or those in their place, that have been run in every arm.

    Parameters
    ----------
    rows : dict of str to DataFrame
        The rows of the study by arm.

    Returns
    -------
    rows : dict of str to DataFrame
        As :func:`clustcal.experiments.tabular.tables.as_paper_rows` returns them, all of the same data sets.
    """
    named = {
        arm: tables.as_paper_rows(keep_complete(of_arm), PAPER_DATASETS | STAND_INS) for arm, of_arm in rows.items()
    }
    common = set.intersection(*(set(of_arm["dataset"]) for of_arm in named.values()))
    return {arm: of_arm[of_arm["dataset"].isin(common)] for arm, of_arm in named.items()}


def agreement(rows, claims):
    """Return how near every arm comes to the main table of the paper, without the numbers that chose the arm.

    Parameters
    ----------
    rows : dict of str to DataFrame
        The rows of the study by arm.
    claims : DataFrame

    Returns
    -------
    table : DataFrame
        In lines the metrics, in columns pairs of a measure and an arm: ``"rank correlation"``, Spearman's, of ours and
        the paper's values over methods; ``"log ratio"``, the mean over methods of
        ``|log(ours / our Platt) - log(theirs / their Platt)|``, which levels of data sets do not enter.
    """
    printed = claims.set_index("id")["value"]
    found = {}
    for arm, of_arm in common_rows(rows).items():
        table = tables.performance(of_arm)
        for metric in table:
            ids = [f"performance/{name}/{Z}/{metric}" for name, Z in table.index]
            is_judged = ~np.isin(ids, CHOOSING)
            ours, theirs = table[metric].to_numpy(), printed[ids].to_numpy()
            platt = ids.index(f"performance/Platt/{tables.BASELINE}/{metric}")
            away = np.abs(np.log(ours / ours[platt]) - np.log(theirs / theirs[platt]))
            correlation = stats.spearmanr(ours[is_judged], theirs[is_judged]).statistic
            found[metric, "rank correlation", arm or "printed"] = correlation
            found[metric, "log ratio", arm or "printed"] = away[is_judged].mean()
    return pd.Series(found).unstack(level=[1, 2]).loc[list(tables.MAIN_METRICS)]


def is_judged_by_arm(claim):
    """Return whether a number depends on the arm and did not choose it."""
    return claim.recompute in FUNCTIONS and claim.id not in CHOOSING
