"""The ledger: every number of the paper beside ours, with a verdict that follows from the results by a fixed rule.

Builds on `paper` for what is printed, on the studies for ours, and on `verdicts` for the rule; ``clustcal claims``
writes and checks it.
"""

import math
from pathlib import Path

import numpy as np
import pandas as pd

from clustcal.datasets import list_datasets
from clustcal.experiments.paper import load_claims
from clustcal.experiments.tabular.grid import GATED, PAPER_DATASETS, STAND_INS
from clustcal.experiments.tabular.recompute import compute
from clustcal.experiments.tabular.runs import complete_datasets
from clustcal.experiments.verdicts import VERDICTS, find_tolerance, judge

# Where no function of ours computes a number: what stands in the way, by the first word of its id.
NOT_YET = {
    "images": "the study of images has not been run",
    "text": "the study of text has not been run",
    "deep-text": "the studies of images and text have not been run",
    "overhead": "the studies of images and text have not been run",
    "datasets": "no loader of ours reads it",
}
# The numbers by the first word of their ids, in words.
GROUPS = {
    "toy": "Toy example: table",
    "toy-text": "Toy example: text",
    "datasets": "Data sets",
    "performance": "Tabular: all methods",
    "capacity": "Tabular: by capacity",
    "improvement": "Tabular: gain by data set",
    "stroke-clusters": "Stroke: clusters",
    "rejection": "Stroke: rejection",
    "images": "Images",
    "text": "Text",
    "correlations": "Correlations: table",
    "protocol": "Size of the study",
    "figures": "Tabular: text",
    "stroke-text": "Stroke: text",
    "deep-text": "Images and text: text",
    "correlations-text": "Correlations: text",
    "overhead": "Overhead",
}
FEWEST_DECIMALS = 4  # of a number so small that it is better written with an exponent
MINUS = "\N{MINUS SIGN}"


def make_ledger(rows, claims=None):
    """Judge every number of the paper.

    Parameters
    ----------
    rows : DataFrame
        All results, as :meth:`clustcal.experiments.store.Store.read` returns them.
    claims : DataFrame, optional
        By default the paper's: see :func:`clustcal.experiments.paper.load_claims`.

    Returns
    -------
    ledger : DataFrame
        The paper's columns and: ``ours``; ``sd``, its standard deviation over seeds; ``tolerance``; ``verdict``;
        ``reason``, for those not judged; and ``open``, the same number with open data in the place of the two data sets
        under use agreements, which is never judged.
    """
    claims = load_claims() if claims is None else claims
    available = complete_datasets(rows)
    ours = compute(rows, PAPER_DATASETS)
    stand_ins = compute(rows, PAPER_DATASETS | STAND_INS, spread=False)
    lines = []
    for claim in claims.itertuples(index=False):
        missing = _missing(claim.needs, PAPER_DATASETS, available, claim.recompute)
        found = ours.get(claim.id) if not missing else None
        tolerance = find_tolerance(claim, found)
        gated = [name for name in _needed(claim.needs) if PAPER_DATASETS[name] in GATED]
        with_open = not _missing(claim.needs, PAPER_DATASETS | STAND_INS, available, claim.recompute)
        lines.append(
            {
                "ours": np.nan if found is None else found.value,
                "sd": np.nan if found is None else found.sd,
                "tolerance": tolerance,
                **_judge(claim, found, tolerance, missing),
                "open": stand_ins[claim.id].value if gated and with_open and claim.id in stand_ins else np.nan,
            }
        )
    return pd.concat([claims.reset_index(drop=True), pd.DataFrame(lines)], axis=1)


def write_ledger(ledger, path):
    """Write the ledger as CSV, numbers to six digits."""
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    ledger.to_csv(path, index=False, float_format="%.6g", lineterminator="\n")


def read_ledger(path):
    """Read what `write_ledger` wrote."""
    text = ["id", "place", "printed", "unit", "metric", "better", "rule", "recompute", "needs", "verdict", "reason"]
    numbers = ["value", "half_digit", "ours", "sd", "tolerance", "open"]
    ledger = pd.read_csv(path, dtype=dict.fromkeys(text, str), keep_default_na=False)
    return ledger.assign(**{name: pd.to_numeric(ledger[name]) for name in numbers})


def compare_ledgers(stored, fresh):
    """Return one sentence for every claim whose stored verdict does not follow from the results."""
    old, new = stored.set_index("id")["verdict"], fresh.set_index("id")["verdict"]
    together = pd.DataFrame({"stored": old, "fresh": new}).fillna("nothing")
    wrong = together[together["stored"] != together["fresh"]]
    return [
        f"{row.Index}: the ledger says {row.stored!r}, the results say {row.fresh!r}." for row in wrong.itertuples()
    ]


def summarise(ledger):
    """Count the verdicts, by table or kind of figure and in total."""
    group = ledger["id"].str.split("/").str[0]
    counts = pd.crosstab(group, ledger["verdict"]).reindex(columns=list(VERDICTS), fill_value=0)
    counts = counts.loc[list(dict.fromkeys(group))]
    counts.loc["total"] = counts.sum()
    return counts.rename_axis(index="numbers", columns=None)


def as_printed(value, half_digit):
    """Return a number with one digit more than the paper prints; nothing where there is none.

    Examples
    --------
    >>> from clustcal.experiments.ledger import as_printed
    >>> as_printed(0.298349, half_digit=0.00005), as_printed(2.91e-11, half_digit=5e-13)
    ('0.29835', '2.9e-11')
    """
    if pd.isna(value):
        return ""
    decimals = max(0, round(-math.log10(2 * half_digit)))
    small = 0 < abs(value) < 10.0**-FEWEST_DECIMALS and decimals > FEWEST_DECIMALS
    # A count has no more digits than it is printed with, unless ours is a mean of counts.
    text = f"{value:.1e}" if small else f"{value:,.{decimals + (decimals > 0 or value != round(value))}f}"
    return text.replace("-", MINUS) if text.startswith("-") else text


def _judge(claim, found, tolerance, missing):
    if found is not None:
        verdict = judge(claim.value, found.value, tolerance, claim.half_digit, claim.better)
        return {"verdict": verdict, "reason": ""}
    gated = [name for name in missing if PAPER_DATASETS[name] in GATED]
    if gated:
        return {"verdict": "blocked", "reason": f"needs {' and '.join(gated)}, under a data use agreement"}
    if missing:
        return {"verdict": "not attempted", "reason": f"no results yet for {', '.join(missing)}"}
    reason = NOT_YET.get(claim.id.split("/")[0], "") if not claim.recompute else "the results lack the rows for it"
    return {"verdict": "not attempted", "reason": reason}


def _needed(needs):
    if not needs:
        return []
    return list(PAPER_DATASETS) if needs == "all six" else needs.split("+")


def _missing(needs, names, available, recompute):
    """Return the paper's names of data sets that a claim needs and that are not there."""
    if recompute in ("stroke_clusters", "rejection"):
        return []  # from the scores that the package ships
    if recompute == "datasets":
        return [name for name in _needed(needs) if pd.isna(list_datasets().loc[names[name], "rows"])]
    return [name for name in _needed(needs) if names[name] not in available]
