"""The numbers that the paper prints: every cell of its tables and every figure of its running text, once.

They are in ``paper.csv`` beside this module, with their place; here they are read.
"""

from importlib.resources import files

import pandas as pd

RULES = ("half digit", "half digit or 2 SD", "factor 2")
TEXT = ("id", "place", "printed", "unit", "metric", "better", "rule", "recompute", "needs")


def load_claims():
    """Read the paper's numbers.

    Returns
    -------
    claims : DataFrame
        One line per printed number, with the columns

        id
            ``table/row/column`` or ``figures/name``, unique.
        place
            The table, or the section of the running text.
        printed, value, half_digit
            The number as it is printed, as a float, and half of its last digit.
        unit, metric
            What it measures, in full.
        better
            ``"lower"``, ``"higher"``, or empty where neither is.
        rule
            How far ours may be away, fixed before the study was run. ``"half digit"`` of the printed number, for counts
            and for what is computed without data; ``"half digit or 2 SD"`` of ours over the seeds, whichever is
            more, for what is measured; ``"factor 2"`` for seconds on another machine.
        recompute
            The function of `clustcal.experiments.tabular.recompute` that computes ours; empty where none does.
        needs
            The data: ``"all six"``, the paper's names of some, or nothing.

    Examples
    --------
    >>> from clustcal.experiments.paper import load_claims
    >>> claims = load_claims().set_index("id")
    >>> claims.loc["performance/Platt/SHAP/NLL", ["printed", "unit", "better"]].tolist()
    ['0.2983', 'nat', 'lower']
    """
    path = files(__package__).joinpath("paper.csv")
    with path.open(encoding="utf-8") as file:
        return pd.read_csv(file, dtype=dict.fromkeys(TEXT, str), keep_default_na=False)


def printed(claims, table):
    """Return a table as the paper prints it.

    Parameters
    ----------
    claims : DataFrame
        As `load_claims` returns them.
    table : str
        The first word of its ids, such as ``"performance"``; the rest of them must have the same number of parts.

    Returns
    -------
    values : Series
        Indexed by the other parts of the ids, which ``unstack`` can make columns of.
    """
    chosen = claims[claims["id"].str.startswith(f"{table}/")]
    parts = chosen["id"].str.split("/", expand=True).drop(columns=0)
    levels = [pd.to_numeric(part) if part.str.isdigit().all() else part for _, part in parts.items()]
    index = pd.MultiIndex.from_arrays(levels, names=[None] * len(levels))
    return pd.Series(chosen["value"].to_numpy(), index=index, name=table)
