"""What the two data sets under use agreements would have to show for the paper to hold, given ours on the open ones.

Many numbers of the paper are means in which every data set counts the same. Where some of the sets are open, the others
are left with one value that makes the printed mean true. If no open data set comes near that value, the number is a
disagreement though nobody can judge it. Builds on `tables`.
"""

import pandas as pd

from clustcal.experiments.methods import BASELINE, REPRESENTATIONS, format_settings
from clustcal.experiments.tabular import tables
from clustcal.experiments.tabular.grid import GATED, OPEN_DATASETS, PAPER_DATASETS, STAND_INS
from clustcal.experiments.tabular.runs import keep_complete
from clustcal.experiments.tabular.text_numbers import LEARNED, VARIED

ABLATIONS = {
    "figures/no-shrinkage/NLL": ({"shrinkage": 0.0}, LEARNED),
    "figures/K7/NLL": ({"n_clusters": 7}, tuple(REPRESENTATIONS)),
}
MEAN_GAIN = "improvement/All/NLL/mean"


def find_needed(rows, claims):
    """Return for every mean over data sets what the blocked ones would have to show.

    With m of N data sets open, v the printed mean and v_o ours on the open ones, the others need a mean of

    .. math:: \\frac{N v - \\sum_o v_o}{N - m}

    Parameters
    ----------
    rows : DataFrame
        The rows of one arm of the study.
    claims : DataFrame
        As :func:`clustcal.experiments.paper.load_claims` returns them.

    Returns
    -------
    table : DataFrame
        One line per number, by its id; ``clustered gain/...`` is the difference of two numbers of the main table, the
        log-loss of a global method minus that of its clustered one. ``printed``; ``ours``, the mean over the paper's
        open sets; ``open data``, the mean with stand-ins for the blocked sets; ``blocked``, which these are;
        ``needed`` of them, and ``rounding``, how far that can be off because the paper rounds; ``lowest`` and
        ``highest`` of all open data sets; and ``outside``, how far ``needed`` is beyond these after rounding, in units
        of the largest absolute value of an open set: 0 or less where an open set shows as much. Sorted by that.
    """
    found = values_by_dataset(rows)
    printed, half_digit = (printed_means(claims, column).reindex(found.index) for column in ("value", "half_digit"))
    lines = {}
    for name, values in found.iterrows():
        averaged = VARIED if name in ABLATIONS else tuple(PAPER_DATASETS)
        blocked = [word for word in averaged if PAPER_DATASETS[word] in GATED]
        have = values.reindex([PAPER_DATASETS[word] for word in averaged if word not in blocked])
        stand_ins = values.reindex([STAND_INS[word] for word in blocked])
        needed = (len(averaged) * printed[name] - have.sum()) / len(blocked)
        rounding = len(averaged) * half_digit[name] / len(blocked)
        lowest, highest = values.min(), values.max()
        beyond = max(needed - highest, lowest - needed) - rounding
        lines[name] = {
            "printed": printed[name],
            "ours": have.mean(skipna=False),
            "open data": pd.concat([have, stand_ins]).mean(skipna=False),
            "blocked": " and ".join(blocked),
            "needed": needed,
            "rounding": rounding,
            "lowest": lowest,
            "highest": highest,
            "outside": beyond / values.abs().max(),
        }
    table = pd.DataFrame.from_dict(lines, orient="index")
    return table.dropna(subset=["printed", "ours"]).sort_values("outside", ascending=False, kind="stable")


def values_by_dataset(rows):
    """Return ours on every open data set that is complete: numbers in lines, data sets in columns."""
    complete, variants = keep_complete(rows), keep_complete(rows, "variants")
    columns = {}
    for name in OPEN_DATASETS:
        if (complete["dataset"] == name).any():
            of_set = tables.as_paper_rows(complete, {name: name})
            changed = tables.as_paper_rows(variants, {name: name}, "variants")
            columns[name] = _main_table(of_set) | _gain(of_set) | _ablations(of_set, changed)
    return pd.DataFrame(columns)


def printed_means(claims, column="value"):
    """Return the printed number of everything that `values_by_dataset` computes, by its name there.

    With ``column="half_digit"`` by how much each can be off because it is rounded; of a difference, both of its parts.
    """
    printed = claims.set_index("id")[column]
    main = printed[printed.index.str.startswith("performance/")]
    cells = {tuple(name.split("/")[1:]): value for name, value in main.items()}
    if column == "half_digit":
        cells = {key: value if key[1] == BASELINE else -value for key, value in cells.items()}
    return pd.concat([main, printed[[MEAN_GAIN, *ABLATIONS]], pd.Series(_differences(cells))])


def _main_table(rows):
    table = tables.performance(rows)
    cells = {(*method, metric): row[metric] for method, row in table.iterrows() for metric in table}
    return {"/".join(("performance", *key)): value for key, value in cells.items()} | _differences(cells)


def _differences(cells):
    """Log-loss of the global method of a family minus that of its clustered one."""
    return {
        f"clustered gain/{name}/{word}/NLL": cells[name, BASELINE, metric] - value
        for (name, word, metric), value in cells.items()
        if metric == "NLL" and word != BASELINE
    }


def _gain(rows):
    return {MEAN_GAIN: tables.improvement(rows).loc["All", ("NLL", "mean")]}


def _ablations(rows, variants):
    if variants.empty:
        return {}
    return {
        name: tables.variation(rows, variants, format_settings(changes), words).loc["NLL", "mean"]
        for name, (changes, words) in ABLATIONS.items()
    }
