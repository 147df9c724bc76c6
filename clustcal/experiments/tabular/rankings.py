"""How metrics order methods: how alike from seed to seed, at what cost to who chooses, and where they contradict.

The questions are ours, the rows those of `tables`. A case is a data set and a capacity; in every case each metric
orders the same methods once per seed.
"""

from itertools import combinations

import numpy as np
import pandas as pd
from scipy import stats

from clustcal.experiments.methods import BASELINE, GLOBAL
from clustcal.experiments.tabular.tables import CASE, HIGHER_IS_BETTER, METHOD

# What the columns of `tables.as_paper_rows` are called outside of the paper, whose "ECE" is AdaECE and "LCE" is MLCE.
PLAIN_NAMES = {"ECE": "AdaECE", "fixed-bin ECE": "ECE", "mce": "MCE", "mean LCE": "LCE", "LCE": "MLCE"}
PROPER = ("NLL", "Brier")
CALIBRATION = ("AdaECE", "ECE", "MCE", "LCE", "MLCE")
METRICS = (*PROPER, "AUC", "Accuracy", *CALIBRATION)
# These cannot set right a forecast whose mean is wrong: they have no intercept, or do nothing.
NO_INTERCEPT = ("TS", "ensemble-TS", "Binwise-TS", "base")
BINNED = ("Histogram Binning", "Bayesian Binning", "Isotonic", "Binwise-Platt", "Binwise-Beta", "Binwise-TS")
TIE = 1e-12  # values that differ by rounding alone, as the AUC of increasing maps of one score does
KINDS = ("clustered, its global", "parametric, binned", "other")


def plain_names(rows):
    """Return rows of `tables.as_paper_rows` with every metric under its plain name, see `METRICS`."""
    return rows.rename(columns=PLAIN_NAMES)


def mean_ranks(rows, columns=METRICS):
    """Return the place of every method in the order of every metric, 1 for the best.

    Parameters
    ----------
    rows : DataFrame
        With plain names.
    columns : sequence of str
        Metrics.

    Returns
    -------
    table : DataFrame
        Methods in lines, metrics in columns: the mean over cases of the rank of the mean over seeds.
    """
    values = rows.groupby([*CASE, *METHOD])[list(columns)].mean()
    return _lower_is_better(values).groupby(level=CASE).rank().groupby(level=METHOD).mean()


def seed_agreement(rows, columns=METRICS):
    """Return how alike two seeds order the methods: the mean Spearman correlation over pairs of seeds and capacities.

    Parameters
    ----------
    rows : DataFrame
        With plain names.
    columns : sequence of str
        Metrics.

    Returns
    -------
    table : DataFrame
        Data sets in lines, metrics in columns.
    """
    lines = []
    for case, values in _cases(rows, columns):
        by_metric = np.moveaxis(values, 2, 0)  # (metrics, methods, seeds)
        found = {name: _mean_correlation(of_metric) for name, of_metric in zip(columns, by_metric, strict=True)}
        lines.append({"dataset": case[0]} | found)
    return pd.DataFrame(lines).groupby("dataset").mean()


def choices(rows, columns=METRICS, judge="NLL"):
    """Let every metric choose a method on the test part of one seed, and judge the choice on the other seeds.

    Parameters
    ----------
    rows : DataFrame
        With plain names.
    columns : sequence of str
        Metrics to choose by.
    judge : str, default="NLL"
        Metric to judge by: its mean over the other seeds.

    Returns
    -------
    choices : DataFrame
        One row per case, seed and metric: ``best``, whether no other method is better on the other seeds; ``regret``,
        by how many percent of the best value the chosen one is worse; ``own best``, whether the choice is the best on
        the other seeds by the metric itself. Where several methods tie for the choice, the mean over them.
    """
    every = list(dict.fromkeys([*columns, judge]))
    lines = []
    for case, values in _cases(rows, every):
        for seed in range(values.shape[1]):
            others = np.delete(values, seed, axis=1).mean(axis=1)
            judged = others[:, every.index(judge)]
            regret = 100 * (judged - judged.min()) / abs(judged.min())
            for number, metric in enumerate(columns):
                chosen = _is_least(values[:, seed, number])
                line = dict(zip(CASE, case, strict=True)) | {"seed": seed, "metric": metric}
                line |= {"best": _is_least(judged)[chosen].mean(), "regret": regret[chosen].mean()}
                lines.append(line | {"own best": _is_least(others[:, number])[chosen].mean()})
    return pd.DataFrame(lines)


def compare_pairs(rows, columns=METRICS):
    """Return which of two methods every metric prefers, for every pair of methods, case and seed.

    Parameters
    ----------
    rows : DataFrame
        With plain names.
    columns : sequence of str
        Metrics.

    Returns
    -------
    pairs : DataFrame
        Columns of the case, ``seed``, ``first``, ``second`` (as ``"Platt/SHAP"``), ``kind`` (one of `KINDS`); and by
        metric 1 where the first is better, -1 where the second is, 0 for a tie.
    """
    frames = []
    for case, values in _cases(rows, columns):
        methods = _methods(rows)
        first, second = np.array(list(combinations(range(len(methods)), 2))).T
        change = values[first] - values[second]  # (pairs, seeds, metrics)
        signs = -np.sign(np.where(np.abs(change) < TIE, 0, change)).astype(int)
        names = ["/".join(method) for method in methods]
        kinds = [_kind(methods[i], methods[j]) for i, j in zip(first, second, strict=True)]
        for seed in range(values.shape[1]):
            frame = pd.DataFrame(signs[:, seed], columns=list(columns))
            key = dict(zip(CASE, case, strict=True)) | {"seed": seed}
            pair = {"first": [names[i] for i in first], "second": [names[j] for j in second], "kind": kinds}
            frames.append(frame.assign(**key, **pair))
    return pd.concat(frames, ignore_index=True)


def contradictions(pairs, columns=CALIBRATION, judges=(*PROPER, "AUC")):
    """Return what metrics say of the pairs on which all judges agree in every seed.

    This is the toy example's question: where log-loss, Brier score and AUC call one method better, does a calibration
    error call it worse?

    Parameters
    ----------
    pairs : DataFrame
        As `compare_pairs` returns them.
    columns, judges : sequence of str
        Metrics.

    Returns
    -------
    verdicts : DataFrame
        One row per case and pair with the agreement of all judges: ``better``, ``worse``, ``kind``; and by metric
        ``"same"`` if it agrees with them in every seed, ``"reversed"`` if it contradicts them in every seed,
        ``"undecided"`` otherwise.
    """
    by_pair = pairs.groupby([*CASE, "first", "second", "kind"], sort=False)
    sums = by_pair[list(dict.fromkeys([*columns, *judges]))].sum().reset_index()
    seeds = pairs["seed"].nunique()
    direction = np.sign(sums[judges[0]])
    agreed = (sums[list(judges)].mul(direction, axis=0) == seeds).all(axis=1)
    sums, direction = sums[agreed], direction[agreed]
    said = sums[list(columns)].mul(direction, axis=0)
    words = np.select([said == seeds, said == -seeds], ["same", "reversed"], "undecided")
    better = np.where(direction > 0, sums["first"], sums["second"])
    worse = np.where(direction > 0, sums["second"], sums["first"])
    verdicts = sums[[*CASE, "kind"]].assign(better=better, worse=worse)
    return verdicts.join(pd.DataFrame(words, columns=list(columns), index=sums.index)).reset_index(drop=True)


def _cases(rows, columns):
    """Yield every case with its values (methods, seeds, metrics), in the order of `_methods`, lower always better."""
    columns = list(columns)
    shape = (len(_methods(rows)), rows["seed"].nunique(), len(columns))
    for case, of_case in rows.groupby(CASE):
        table = of_case.set_index([*METHOD, "seed"])[columns].sort_index()
        if len(table) != shape[0] * shape[1]:
            raise ValueError(f"rows has {len(table)} runs of {case}; expected {shape[0]} methods x {shape[1]} seeds.")
        yield case, _lower_is_better(table).to_numpy().reshape(shape)


def _methods(rows):
    return sorted(set(rows[METHOD].itertuples(index=False, name=None)))


def _lower_is_better(values):
    return values.assign(**{name: -values[name] for name in HIGHER_IS_BETTER if name in values})


def _is_least(values):
    return values <= values.min() + TIE


def _mean_correlation(values):
    """Mean Spearman correlation of every two columns; a column without differences has none."""
    ranks = stats.rankdata(np.round(values, 12), axis=0)
    ranks = ranks[:, ranks.std(axis=0) > 0]
    if ranks.shape[1] < 2:
        return np.nan
    return np.corrcoef(ranks.T)[np.triu_indices(ranks.shape[1], 1)].mean()


def _kind(first, second):
    """Say what two methods (calibrator, representation) are to each other."""
    is_clustered = [method[1] != BASELINE for method in (first, second)]
    if first[0] == second[0] and any(is_clustered) and not all(is_clustered):
        return KINDS[0]
    is_binned = [method[0] in BINNED for method in (first, second)]
    is_parametric = [method[0] in (*GLOBAL, "ensemble-TS") for method in (first, second)]
    if any(is_binned) and any(is_parametric):
        return KINDS[1]
    return KINDS[2]
