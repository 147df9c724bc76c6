"""What the stored rows of the directions say by their protocol: complete sets, paired differences, verdicts.

The rules stand in ``results/directions/protocol.yml``. Builds on `direction_study` for the rows.
"""

import numpy as np
import pandas as pd
from scipy.stats import kendalltau

from clustcal import metrics
from clustcal.experiments import protocol
from clustcal.experiments.directions import direction_study as study
from clustcal.experiments.results import FOLDER

WORTH, REFUTED, OPEN = "worth it", "refuted", "open"
DIAGNOSTICS = ("nll", "gain narrow", "gain", "gap narrow", "corp", "ece", "ada_ece", "debiased_ece")


def read_complete(direction, folder=FOLDER):
    """Return the stored rows of a direction, those of data sets with all arms and seeds alone."""
    rows = study.read(direction, folder)
    wanted = study.module_of(direction).DATASETS
    there = rows.groupby("dataset")[["arm", "seed"]].apply(lambda part: len(part.drop_duplicates()))
    complete = [name for name, (arms, seeds) in wanted.items() if there.get(name, 0) == len(arms) * len(seeds)]
    rows = rows[rows["dataset"].isin(complete)]
    return rows.assign(dataset=pd.Categorical(rows["dataset"], complete)).reset_index(drop=True)


def gains(rows, baseline, measure="nll"):
    """Return by how many percent the loss of each method is below that of the baseline, split by split.

    Returns
    -------
    gains : DataFrame
        Indexed by data set and seed, a column for each method.
    """
    values = rows.pivot_table(index=["dataset", "seed"], columns="method", values=measure, observed=True)
    return 100 * (1 - values.div(values[baseline], axis=0))


def by_set(values):
    """Return mean and interval of one quantity for every data set, over seeds whose splits overlap.

    Parameters
    ----------
    values : Series
        Indexed by data set and seed.

    Returns
    -------
    table : DataFrame
        ``mean``, ``low``, ``high``, ``worst`` (the smallest) by data set.
    """
    lines = {}
    for name, part in values.groupby(level="dataset", observed=True):
        found = metrics.t_interval(part.to_numpy(), test_to_train=protocol.TEST_TO_TRAIN)
        lines[name] = {"mean": found.mean, "low": found.low, "high": found.high, "worst": part.min()}
    return pd.DataFrame.from_dict(lines, orient="index")


def over_sets(values, good=1):
    """Return mean, interval and verdict of one quantity, each data set one observation.

    Parameters
    ----------
    values : Series
        Indexed by data set and seed.
    good : {1, -1}, default=1
        Whether more is better, or less.

    Returns
    -------
    line : dict
        ``mean``, ``low``, ``high``, ``verdict``, ``sets``; ``better`` and ``worse``, how many sets have an interval of
        their own on that side of 0.
    """
    means = values.groupby(level="dataset", observed=True).mean()
    within = by_set(values)
    half = metrics.t_interval(means.to_numpy()).half_width if len(means) > 1 else np.inf
    low, high = means.mean() - half, means.mean() + half
    up, down = int((within["low"] > 0).sum()), int((within["high"] < 0).sum())
    sides = (low > 0, high < 0) if good == 1 else (high < 0, low > 0)
    return {
        "mean": means.mean(),
        "low": low,
        "high": high,
        "verdict": WORTH if sides[0] else REFUTED if sides[1] else OPEN,
        "better": up if good == 1 else down,
        "worse": down if good == 1 else up,
        "sets": len(means),
    }


def compare(table, pairs):
    """Return the paired differences of columns, over data sets: one line for every pair (method, other).

    Parameters
    ----------
    table : DataFrame
        As `gains` returns it.
    pairs : dict of str to pair of str
    """
    found = {name: over_sets(table[one] - table[other]) for name, (one, other) in pairs.items()}
    return pd.DataFrame.from_dict(found, orient="index")


def agreement(rows, diagnostics=DIAGNOSTICS, without=()):
    """Return Kendall's tau of each diagnostic with the log-loss of other rows, cut by cut.

    Parameters
    ----------
    rows : DataFrame
        Of the direction ``"diagnostics"`` and its arm of forecasts.
    diagnostics : sequence of str
    without : sequence of str
        Forecasts that are left out.

    Returns
    -------
    table : DataFrame
        Indexed by data set and seed, a column for each diagnostic. The seeds of Stroke are one data set.
    """
    rows = rows[~rows["method"].isin(without)]
    lines = {}
    for (name, seed), part in rows.groupby(["dataset", "seed"], observed=True):
        name, _, number = str(name).partition("-seed")
        tau = {one: kendalltau(part[one], part["other nll"]).statistic for one in diagnostics}
        lines[name, int(number or seed)] = tau
    return pd.DataFrame.from_dict(lines, orient="index").rename_axis(["dataset", "seed"])
