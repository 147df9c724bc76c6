"""The ledger: every number of the paper beside ours, with a verdict that follows from the results by a fixed rule.

Builds on `paper` for what is printed and on `tables` and `figures` for ours; ``clustcal claims`` writes and checks it.
"""

from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

from clustcal import metrics
from clustcal.datasets import list_datasets, load_scores
from clustcal.experiments import figures, protocol, tables
from clustcal.experiments.grid import GATED, PAPER_DATASETS, STAND_INS, get_entries
from clustcal.experiments.paper import load_claims
from clustcal.experiments.results import complete_datasets, keep_complete

VERDICTS = ("match", "within tolerance", "better", "differs", "not attempted", "blocked")
# Where no function of ours computes a number: what stands in the way, by the first word of its id.
NOT_YET = {
    "images": "the study of images has not been run",
    "text": "the study of text has not been run",
    "deep-text": "the studies of images and text have not been run",
    "overhead": "the studies of images and text have not been run",
    "datasets": "no loader of ours reads it",
}
ROUNDING = 1e-9  # of the comparison with half a printed digit


class Computed(NamedTuple):
    """Our value of a number, and its standard deviation over seeds where it has one."""

    value: float
    sd: float = np.nan


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


def judge(printed, ours, tolerance, half_digit, better=""):
    """Return the verdict on one number.

    Parameters
    ----------
    printed, ours : float
    tolerance : float
        See `find_tolerance`.
    half_digit : float
        Half of the last printed digit of the paper's number.
    better : {"lower", "higher", ""}
        Which way is better, if any.

    Returns
    -------
    verdict : {"match", "within tolerance", "better", "differs"}
        ``"match"``: ours rounds to the printed number. ``"within tolerance"``: not that, but within the tolerance.
        ``"better"``: farther away, on the better side. ``"differs"``: all else.

    Examples
    --------
    >>> from clustcal.experiments.ledger import judge
    >>> judge(0.30, 0.304, tolerance=0.01, half_digit=0.005, better="lower")
    'match'
    >>> judge(0.30, 0.308, tolerance=0.01, half_digit=0.005, better="lower")
    'within tolerance'
    >>> judge(0.30, 0.25, tolerance=0.01, half_digit=0.005, better="lower")
    'better'
    >>> judge(0.30, 0.35, tolerance=0.01, half_digit=0.005, better="lower")
    'differs'
    """
    distance = abs(ours - printed)
    if distance <= half_digit * (1 + ROUNDING):
        return "match"
    if distance <= tolerance * (1 + ROUNDING):
        return "within tolerance"
    is_better = {"lower": ours < printed, "higher": ours > printed}.get(better, False)
    return "better" if is_better else "differs"


def find_tolerance(claim, found):
    """Return how far our value may be from the printed one, by the rule of the claim; NaN if there is no value."""
    if found is None:
        return np.nan
    if claim.rule == "factor 2":
        # From half to twice the printed number: as a distance, on the side where ours lies.
        return abs(claim.value) * (1.0 if found.value > claim.value else 0.5)
    if claim.rule == "half digit":
        return claim.half_digit
    return float(np.nanmax([claim.half_digit, 2 * found.sd]))


def compute(rows, names, spread=True):
    """Compute every number of ours that the results allow.

    Parameters
    ----------
    rows : DataFrame
        All results.
    names : dict of str to str
        The paper's names of data sets, and the names in the rows that stand for them.
    spread : bool, default=True
        Compute everything from each seed alone as well, for the standard deviation of figures that come from rows.

    Returns
    -------
    computed : dict of str to Computed
        By the id of the claim.
    """
    computed = {**_toy(), **_protocol(), **_datasets(), **_stroke_clusters(), **_rejection()}
    paper = tables.as_paper_rows(keep_complete(rows, "paper"), names)
    variants = tables.as_paper_rows(keep_complete(rows, "variants"), names, "variants")
    if not paper.empty:
        for function in FROM_ROWS:
            computed |= _from_rows(function, paper, variants, spread)
    return computed


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


def _from_rows(function, paper, variants, spread):
    """Values from all seeds, and the standard deviation of the values from each seed alone."""
    values = function(paper, variants)
    seeds = sorted(paper["seed"].unique()) if spread else []
    each = [function(paper[paper["seed"] == seed], variants[variants["seed"] == seed]) for seed in seeds]
    sd = pd.DataFrame(each).std(ddof=1) if len(each) > 1 else pd.Series(dtype=float)
    defined = {key: value for key, value in values.items() if not pd.isna(value)}
    return {key: Computed(float(value), float(sd.get(key, np.nan))) for key, value in defined.items()}


def _performance(paper, variants):
    table = tables.performance(paper)
    return {
        f"performance/{name}/{Z}/{metric}": value
        for (name, Z), row in table.iterrows()
        for metric, value in row.items()
    }


def _capacity(paper, variants):
    table = tables.capacity(paper)
    return {f"capacity/{n}/{d}/{column}": value for (n, d), row in table.iterrows() for column, value in row.items()}


def _improvement(paper, variants):
    table = tables.improvement(paper)
    return {f"improvement/{name}/{m}/{part}": x for name, row in table.iterrows() for (m, part), x in row.items()}


def _correlations(paper, variants):
    table = tables.correlations(paper)
    values = {f"{calibration}/{other}": value for calibration, row in table.iterrows() for other, value in row.items()}
    return {f"{group}/{key}": value for group in ("correlations", "correlations-text") for key, value in values.items()}


def _text_figures(paper, variants):
    return {f"figures/{name}": value for name, value in figures.text_figures(paper).items()}


def _variations(paper, variants):
    if not set(figures.VARIED) <= set(variants["dataset"]):
        return {}
    return {f"figures/{name}": value for name, value in figures.variation_figures(paper, variants).items()}


def _overhead(paper, variants):
    return {f"overhead/{name}": value for name, value in figures.overhead_figures(paper).items()}


FROM_ROWS = (_performance, _capacity, _improvement, _correlations, _text_figures, _variations, _overhead)


def _toy():
    """The toy example: regions of frequencies 0.7 and 0.3, given 0.5 before, and 0.6 and 0.4 after."""
    y = [1] * 7 + [0] * 3 + [1] * 3 + [0] * 7
    forecasts = {"before": [0.5] * 20, "after": [0.6] * 10 + [0.4] * 10}
    values = {"toy-text/term/1": -np.log(0.6), "toy-text/term/2": -np.log(0.4)}
    for name, p in forecasts.items():
        for place in ("toy", "toy-text"):
            values[f"{place}/{name}/NLL"] = metrics.log_loss(y, p)
            values[f"{place}/{name}/ECE"] = metrics.ece(y, p, n_bins=5)
    return {key: Computed(float(value)) for key, value in values.items()}


def _protocol():
    test, calibration = protocol.TEST_SHARE, protocol.CALIBRATION_SHARE
    configurations = len(protocol.N_ESTIMATORS) * len(protocol.MAX_DEPTHS)
    sizes = {
        "datasets": len(PAPER_DATASETS),
        "methods": len(get_entries("paper")),
        "configurations": configurations,
        "repeats": len(protocol.SEEDS),
    }
    values = {f"protocol/{name}": size for name, size in sizes.items()}
    values |= {
        "protocol/points": np.prod(list(sizes.values())),
        "protocol/share/train": 100 * (1 - test - calibration),
        "protocol/share/calibration": 100 * calibration,
        "protocol/share/test": 100 * test,
        "protocol/shrinkage": protocol.SHRINKAGE,
        "stroke-text/clusters": protocol.N_CLUSTERS,
    }
    return {key: Computed(float(value)) for key, value in values.items()}


def _datasets():
    table = list_datasets()
    counts = {"features": "features", "samples": "rows"}
    return {
        f"datasets/{paper}/{word}": Computed(float(table.loc[name, column]))
        for paper, name in PAPER_DATASETS.items()
        for word, column in counts.items()
        if not pd.isna(table.loc[name, column])
    }


@cache
def _stroke_clusters():
    """Means over the seeds, each with clusters of its own."""
    found = [tables.stroke_clusters(load_scores("stroke", seed).clusters) for seed in protocol.SEEDS]
    values = {}
    for cluster, row in _mean_and_sd(found):
        for column, computed in row.items():
            feature, _, quartile = column.rpartition("_")
            name = f"{feature}/{quartile}" if feature else column
            values[f"stroke-clusters/{cluster}/{name}"] = computed
            if feature == "age":
                values[f"stroke-text/age/{cluster}/{quartile}"] = computed
        values[f"stroke-text/rate/{cluster}"] = row["rate"]
    return values


@cache
def _rejection():
    found = [tables.rejection(load_scores("stroke", seed)) for seed in protocol.SEEDS]
    return {
        f"rejection/{quantile}/{method}": computed
        for quantile, row in _mean_and_sd(found)
        for method, computed in row.items()
    }


def _mean_and_sd(found):
    """Yield the lines of several tables of one shape as dicts of `Computed`."""
    stacked = np.stack([table.to_numpy(dtype=float) for table in found])
    mean, sd = stacked.mean(axis=0), stacked.std(axis=0, ddof=1)
    for i, label in enumerate(found[0].index):
        yield label, {column: Computed(mean[i, j], sd[i, j]) for j, column in enumerate(found[0].columns)}
