"""Relations between the printed numbers of the paper's tables of images and texts, read off the tables by fixed rules.

Levels depend on the network, relations less so. The rules, and the statements of the running text, are in
``results/deep/relations.yml``; the relations of the tables are in ``relations.csv`` beside it, written by
``python -m clustcal.experiments.deep.relations`` before the study was run.
"""

from pathlib import Path

import pandas as pd

from clustcal.experiments.paper import load_claims

METRICS = ("NLL", "Brier", "ECE", "Acc")
CLUSTERED = " clustered"
KINDS = ("sign against base", "sign against global", "ratio to base", "ratio to global", "first", "last", "choice")
COLUMNS = ("id", "kind", "dataset", "metric", "method", "against", "printed", "printed_against", "expected", "listed")
PATH = Path("results") / "deep" / "relations.csv"


def find_relations(claims=None):
    """Return every relation of the two tables that is judged.

    Parameters
    ----------
    claims : DataFrame, optional
        By default the paper's: see :func:`clustcal.experiments.paper.load_claims`.

    Returns
    -------
    relations : DataFrame
        One line per relation: ``kind``, one of `KINDS`; the ``dataset`` and the ``metric``; the ``method`` and the one
        it is held ``against``; the numbers as they are printed; and what is ``expected`` of ours: "lower", "higher" or
        "equal" for a sign, a share of the log-loss for a ratio, names of methods for a place, a number for a choice.
        For a place, the methods ``listed`` in the table, among which it is.

    Examples
    --------
    >>> from clustcal.experiments.deep.relations import find_relations
    >>> relations = find_relations().set_index("id")
    >>> relations.loc["text/Emotion/TS clustered/NLL/sign against global", "printed":"expected"].tolist()
    ['0.160', '0.158', 'higher']
    """
    cells = _cells(load_claims() if claims is None else claims)
    lines = []
    for (table, dataset), rows in cells.groupby(["table", "dataset"], sort=False):
        grid = rows.set_index(["method", "metric"])
        methods = list(dict.fromkeys(rows["method"]))
        for method in methods:
            others = {"base": "Base" if method != "Base" else None, "global": _global_form(method)}
            for name, other in others.items():
                if other is not None:
                    lines += _signs(grid, table, dataset, method, other, name)
                    lines.append(_ratio(grid, table, dataset, method, other, name))
            lines += _choices(grid, table, dataset, method)
        lines += _places(rows, table, dataset)
    return pd.DataFrame(lines, columns=list(COLUMNS))


def write_relations(path=PATH):
    """Write `find_relations` as CSV and return how many there are."""
    relations = find_relations()
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    relations.to_csv(path, index=False, lineterminator="\n")
    return len(relations)


def _cells(claims):
    """The cells of the two tables, with their row and column."""
    parts = claims["id"].str.split("/", expand=True)
    is_cell = parts[0].isin(["images", "text"]) & parts[3].notna()
    names = parts.loc[is_cell, :3].set_axis(["table", "dataset", "method", "metric"], axis=1)
    return names.join(claims[["printed", "value", "better"]])


def _global_form(method):
    return method.removesuffix(CLUSTERED) if method.endswith(CLUSTERED) else None


def _signs(grid, table, dataset, method, other, name):
    for metric in METRICS:
        one, two = grid.loc[(method, metric)], grid.loc[(other, metric)]
        expected = "equal" if one["value"] == two["value"] else "lower" if one["value"] < two["value"] else "higher"
        yield _line(f"sign against {name}", table, dataset, metric, method, other, one, two, expected)


def _ratio(grid, table, dataset, method, other, name):
    one, two = grid.loc[(method, "NLL")], grid.loc[(other, "NLL")]
    share = f"{1 - one['value'] / two['value']:.4f}"
    return _line(f"ratio to {name}", table, dataset, "NLL", method, other, one, two, share)


def _choices(grid, table, dataset, method):
    for metric in ("K", "shrinkage"):
        if (method, metric) in grid.index:
            printed = grid.loc[(method, metric)]
            yield _line("choice", table, dataset, metric, method, "", printed, None, printed["printed"])


def _places(rows, table, dataset):
    for metric in METRICS:
        cells = rows[rows["metric"] == metric]
        lower_is_better = cells["better"].iloc[0] == "lower"
        ends = {"first": lower_is_better, "last": not lower_is_better}
        for kind, is_least in ends.items():
            value = cells["value"].min() if is_least else cells["value"].max()
            there = cells[cells["value"] == value]
            line = _line(kind, table, dataset, metric, "", "", there.iloc[0], None, "; ".join(there["method"]))
            yield line | {"listed": "; ".join(cells["method"])}


def _line(kind, table, dataset, metric, method, against, one, two, expected):
    return {
        "id": "/".join(part for part in (table, dataset, method, metric, kind) if part),
        "kind": kind,
        "dataset": dataset,
        "metric": metric,
        "method": method,
        "against": against,
        "printed": one["printed"],
        "printed_against": "" if two is None else two["printed"],
        "expected": expected,
        "listed": "",
    }


if __name__ == "__main__":
    print(f"{write_relations()} relations: {PATH}")
