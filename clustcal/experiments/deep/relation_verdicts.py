"""What our networks say about the relations of the tables of images and texts, by the rules written down before.

The rules are in ``results/deep/relations.yml``. Builds on `relations` for what is printed, and on the rows of `study`.
"""

import numpy as np
import pandas as pd

from clustcal.experiments.deep.relations import CLUSTERED, find_relations

# The paper's columns, and ours.
METRICS = {"NLL": "nll", "Brier": "brier", "ECE": "ada_ece", "Acc": "accuracy"}
CHOICES = {"K": "n_clusters", "shrinkage": "shrinkage"}
PAPER_TEMPERATURE = 1.0
RATIO_MARGIN = 0.01
RATIO_FACTOR = 2.0
VERDICTS = ("holds", "fails", "undecided", "equal or not", "blocked")
OPEN, EQUAL = "open", "equal"


def choose_cells(rows, temperature=PAPER_TEMPERATURE):
    """Return the methods of one network under the paper's names, a clustered one with the cell chosen for it.

    Parameters
    ----------
    rows : DataFrame
        Of one network, as the store of the study has them.
    temperature : float
        Of the memberships.

    Returns
    -------
    table : DataFrame
        One row per seed and ``method``, with all columns of `rows`. Of the cells of a clustered method (layer, K and
        shrinkage) that of the lowest cross-validated log-loss within the calibration half is kept, for each seed.
    """
    without = rows[rows["layer"] == ""]
    cells = rows[(rows["layer"] != "") & (rows["temperature"] == temperature)]
    chosen = cells.loc[cells.groupby(["seed", "calibrator"])["nll_cv"].idxmin()]
    return pd.concat(
        [
            without.assign(method=without["calibrator"]),
            chosen.assign(method=chosen["calibrator"] + CLUSTERED),
        ],
        ignore_index=True,
    )


def judge(tables, relations=None):
    """Judge every relation of the paper's two tables.

    Parameters
    ----------
    tables : dict of str to DataFrame
        By the paper's name of a data set, what `choose_cells` returns for the network that stands for it. What is not
        there is blocked.
    relations : DataFrame, optional
        By default `find_relations`.

    Returns
    -------
    judged : DataFrame
        The relations with two more columns: ``ours``, in the form of ``expected``, and the ``verdict``.
    """
    relations = find_relations() if relations is None else relations
    lines = []
    for relation in relations.itertuples(index=False):
        table = tables.get(relation.dataset)
        ours = None if table is None else _ours(relation, table)
        verdict = "blocked" if ours is None else _verdict(relation, ours)
        lines.append({"ours": "" if ours is None else ours, "verdict": verdict})
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


def _ours(relation, table):
    """Our side of a relation, in the form of what is expected; None where the table lacks a method."""
    if relation.kind in ("first", "last"):
        return _place(relation, table)
    column = CHOICES.get(relation.metric) or METRICS[relation.metric]
    values = table.pivot_table(index="seed", columns="method", values=column)
    if not {relation.method, relation.against or relation.method} <= set(values.columns):
        return None
    if relation.kind == "choice":
        chosen = table[table["method"] == relation.method]
        cell = chosen.groupby(list(CHOICES.values())).size().idxmax()  # of equally frequent ones the smallest
        return f"{cell[list(CHOICES).index(relation.metric)]:g}"
    one, two = values[relation.method], values[relation.against]
    if relation.kind.startswith("ratio"):
        return f"{1 - one.mean() / two.mean():.4f}"
    return find_sign(one, two, _last_digit(relation.printed))


def _place(relation, table):
    """The method that is first or last among those that the paper's table lists."""
    listed = {*relation.listed.split("; ")}
    means = table.groupby("method")[METRICS[relation.metric]].mean()
    if not listed <= set(means.index):
        return None
    lower_is_better = relation.metric != "Acc"
    takes_least = lower_is_better == (relation.kind == "first")
    means = means[sorted(listed)]
    return means.idxmin() if takes_least else means.idxmax()


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
    low, high = sorted([printed / RATIO_FACTOR, printed * RATIO_FACTOR])
    return low <= ours <= high or abs(ours - printed) <= RATIO_MARGIN


def _last_digit(printed):
    decimals = len(printed.partition(".")[2])
    return 10.0**-decimals
