"""Our values of the numbers that the paper prints on images and texts, each under the id of its claim.

They come from other networks than the paper's, so that they stand beside its numbers and are not judged by them. Builds
on `network_tables` and on what is known of cost; the ledger shows what is computed here.
"""

import numpy as np

from clustcal.experiments.deep import design
from clustcal.experiments.deep.further_statements import FAMILIES, find_seconds
from clustcal.experiments.deep.network_tables import (
    CHOICES,
    CLUSTERED,
    METRICS,
    STAND_INS,
    find_tables,
    most_frequent_cell,
)
from clustcal.experiments.deep.statements import MissingRows
from clustcal.experiments.paper import load_claims
from clustcal.experiments.verdicts import Computed

# What is ours to set and was set as in the paper.
SETTINGS = {
    "deep-text/splits": Computed(float(len(design.SEEDS))),
    "deep-text/share": Computed(100 * (1 - design.TEST_SHARE)),
}


def compute(known):
    """Return our values of the networks that are judged.

    Parameters
    ----------
    known : further_statements.Known

    Returns
    -------
    values : dict of str to Computed
    """
    return SETTINGS | compute_cells(known.tables) | compute_imdb(known.tables) | _compute_seconds(known)


def compute_open(known):
    """Return our values of what is blocked, with open data and under the same ids."""
    tables = find_tables(known.rows)
    blocked = {paper: one.beside[0] for paper, one in STAND_INS.items() if one.judged is None}
    return compute_cells({paper: tables[study] for paper, study in blocked.items() if study in tables})


def compute_cells(tables):
    """Return our values of the cells of the paper's two tables.

    Parameters
    ----------
    tables : dict of str to DataFrame
        By the paper's name of a data set, see `tables.choose_cells`.

    Returns
    -------
    values : dict of str to Computed
        Means over the splits, with their standard deviation and the error of a mean over splits that share rows; of a
        choice that of the most frequent cell.
    """
    values = {}
    for name in load_claims()["id"]:
        parts = name.split("/")
        if parts[0] not in ("images", "text") or len(parts) < 4 or parts[1] not in tables:
            continue
        _, dataset, method, metric = parts
        found = tables[dataset][tables[dataset]["method"] == method]
        if found.empty:
            continue
        if metric in METRICS:
            values[name] = _mean(found[METRICS[metric]])
        else:
            cell = dict(zip(CHOICES, most_frequent_cell(tables[dataset], method)[1:], strict=True))
            values[name] = Computed(float(cell[metric]))
    return values


def compute_imdb(tables):
    """Return the figures of the text on IMDB: reductions by the best global and bin-wise method, and two log-losses."""
    if "IMDB" not in tables:
        return {}
    nll = tables["IMDB"].pivot_table(index="seed", columns="method", values="nll")
    best_global, binwise, clustered = (
        nll[nll.columns.intersection(names)].pipe(lambda found: found[found.mean().idxmin()])
        for names in (
            ["Platt", "Beta"],
            [f"Binwise-{family}" for family in ("Platt", "TS", "Beta")],
            [family + CLUSTERED for family in ("Platt", "Beta", "TS")],
        )
    )
    return {
        "deep-text/IMDB/global-reduction": _mean(100 * (1 - best_global / nll["Base"])),
        "deep-text/IMDB/binwise-reduction": _mean(100 * (1 - binwise / nll["Base"])),
        "deep-text/IMDB/binwise-NLL": _mean(binwise),
        "deep-text/IMDB/clustered-NLL": _mean(clustered),
    }


def _compute_seconds(known):
    try:
        seconds = find_seconds(known)
    except MissingRows:
        return {}
    values = {
        f"overhead/deep/{family}/{kind}": Computed(float(seconds.loc[family, f"{kind}_seconds"]))
        for family in FAMILIES
        for kind in ("global", "clustered")
    }
    return values | {
        "overhead/deep/k-means": Computed(float(seconds["clustering_seconds"].mean())),
        "overhead/deep/ratio/low": Computed(float(seconds["ratio"].min())),
        "overhead/deep/ratio/high": Computed(float(seconds["ratio"].max())),
    }


def _mean(values):
    sd = float(values.std(ddof=1)) if len(values) > 1 else np.nan
    # The halves share rows: as many test as calibrate, so that the variance of the mean is that of 1 + 1 / n of them.
    return Computed(float(values.mean()), sd, sd * np.sqrt(1 / len(values) + 1))
