"""What our networks say about the relations of the tables of images and texts, by the rules written down before.

The rules are in ``results/deep/relations.yml``. Builds on `relations` for what is printed, and on the rows of `study`.
"""

import numpy as np
import pandas as pd

from clustcal.experiments.deep import verdict_noise
from clustcal.experiments.deep.network_tables import CHOICES, METRICS, STAND_INS, choose_cells, most_frequent_cell
from clustcal.experiments.deep.relations import find_relations

__all__ = ["VERDICTS", "choose_cells", "find_common", "find_sign", "judge"]

RATIO_MARGIN = 0.01
RATIO_FACTOR = 2.0
VERDICTS = ("holds", "fails", "undecided", "equal or not", "blocked", "not attempted")
OPEN, EQUAL = "open", "equal"


def judge(tables, relations=None):
    """Judge every relation of the paper's two tables.

    Parameters
    ----------
    tables : dict of str to DataFrame
        By the paper's name of a data set, what `choose_cells` returns for the network that stands for it.
    relations : DataFrame, optional
        By default `find_relations`.

    Returns
    -------
    judged : DataFrame
        The relations with five more columns: ``ours``, in the form of ``expected``; ``splits``, how many both methods
        have; the ``verdict``; the ``difference`` that it rests on, with its interval; and its ``noise``, see
        `verdict_noise`. Where no network may stand for the paper's it is "blocked", where one lacks the rows
        "not attempted".
    """
    relations = find_relations() if relations is None else relations
    lines = []
    for relation in relations.itertuples(index=False):
        table = tables.get(relation.dataset)
        ours, splits = (None, 0) if table is None else _ours(relation, table)
        if ours is None:
            is_blocked = table is None and STAND_INS[relation.dataset].judged is None
            line = {"ours": "", "splits": 0, "verdict": "blocked" if is_blocked else "not attempted"}
            lines.append(line | {"difference": "", "noise": ""})
        else:
            difference, noise = _noise(relation, table, ours)
            line = {"ours": ours, "splits": splits, "verdict": _verdict(relation, ours)}
            lines.append(line | {"difference": difference, "noise": noise})
    return pd.concat([relations.reset_index(drop=True), pd.DataFrame(lines)], axis=1)


def find_sign(one, two, last_digit):
    """Return how one method stands to another in a metric, by the rule of signs.

    Parameters
    ----------
    one, two : array-like of shape (n_seeds,)
        The metric of both on the same splits.
    last_digit : float
        One unit of the last digit that the paper prints.

    Returns
    -------
    sign : {"lower", "higher", "equal", "open"}

    Examples
    --------
    >>> from clustcal.experiments.deep.relation_verdicts import find_sign
    >>> find_sign([0.30, 0.31], [0.35, 0.33], last_digit=0.001)
    'lower'
    >>> find_sign([0.30, 0.35], [0.35, 0.31], last_digit=0.001)
    'open'
    >>> find_sign([0.3001, 0.35], [0.30, 0.3502], last_digit=0.001)
    'equal'
    """
    difference = np.asarray(one, float) - np.asarray(two, float)
    if abs(difference.mean()) < last_digit / 2:
        return EQUAL
    if (difference < 0).all():
        return "lower"
    return "higher" if (difference > 0).all() else OPEN


def find_common(table, one, two, column):
    """Return a metric of two methods on the splits that both have: two arrays of shape (n_splits,)."""
    values = table[table["method"].isin([one, two])].pivot_table(index="seed", columns="method", values=column).dropna()
    return values[one].to_numpy(), values[two].to_numpy()


def _ours(relation, table):
    """Our side of a relation, in the form of what is expected, and the number of splits; None where a method lacks."""
    if relation.kind in ("first", "last"):
        return _place(relation, table)
    methods = [relation.method, relation.against or relation.method]
    if not set(methods) <= set(table["method"]):
        return None, 0
    if relation.kind == "choice":
        cell = dict(zip(CHOICES, most_frequent_cell(table, relation.method)[1:], strict=True))
        return f"{cell[relation.metric]:g}", int((table["method"] == relation.method).sum())
    one, two = find_common(table, *methods, METRICS[relation.metric])
    if relation.kind.startswith("ratio"):
        return f"{1 - one.mean() / two.mean():.4f}", len(one)
    return find_sign(one, two, _last_digit(relation.printed)), len(one)


def _place(relation, table):
    """The method that is first or last among those that the paper's table lists."""
    listed = {*relation.listed.split("; ")}
    by_method = table.groupby("method")[METRICS[relation.metric]]
    means = by_method.mean()
    if not listed <= set(means.index):
        return None, 0
    lower_is_better = relation.metric != "Acc"
    takes_least = lower_is_better == (relation.kind == "first")
    means = means[sorted(listed)]
    return (means.idxmin() if takes_least else means.idxmax()), int(by_method.size()[sorted(listed)].min())


def _verdict(relation, ours):
    expected = relation.expected
    if relation.kind in ("first", "last"):
        return "holds" if ours in expected.split("; ") else "fails"
    if relation.kind == "choice":
        return "holds" if float(ours) == float(expected) else "fails"
    if relation.kind.startswith("ratio"):
        return "holds" if _is_near(float(ours), float(expected)) else "fails"
    if ours == OPEN:
        return "undecided"
    if ours == expected:
        return "holds"
    return "equal or not" if EQUAL in (ours, expected) else "fails"


def _is_near(ours, printed):
    """Whether a share lies between half and twice another, or within the margin of it."""
    low, high = find_borders(printed)
    return low <= ours <= high or abs(ours - printed) <= RATIO_MARGIN  # the second where rounding leaves the first


def find_borders(printed):
    """Return from where to where a share may lie if the printed one is this.

    Examples
    --------
    >>> from clustcal.experiments.deep.relation_verdicts import find_borders
    >>> find_borders(0.3), find_borders(0.004)
    ((0.15, 0.6), (-0.006, 0.014))
    """
    low, high = sorted([printed / RATIO_FACTOR, printed * RATIO_FACTOR])
    return min(low, printed - RATIO_MARGIN), max(high, printed + RATIO_MARGIN)


def _noise(relation, table, ours):
    """The difference that a verdict rests on, with its interval, and whether the border of the rule lies in it."""
    if relation.kind == "choice":
        return "", ""
    if relation.kind in ("first", "last"):
        return verdict_noise.describe_place(
            table, relation.metric, ours, relation.expected.split("; "), relation.listed.split("; ")
        )
    pair = find_common(table, relation.method, relation.against, METRICS[relation.metric])
    if relation.kind.startswith("ratio"):
        return verdict_noise.describe_ratio(*pair, *find_borders(float(relation.expected)))
    return verdict_noise.describe_sign(*pair, margin=_last_digit(relation.printed) / 2 if ours == EQUAL else 0.0)


def _last_digit(printed):
    decimals = len(printed.partition(".")[2])
    return 10.0**-decimals
