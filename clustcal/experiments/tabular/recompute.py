"""Our values of the numbers that the paper prints about tabular data, each under the id of its claim.

Builds on `tables`, `text_numbers` and `stroke`; the ledger judges what is computed here.
"""

from functools import cache

import numpy as np
import pandas as pd

from clustcal import metrics
from clustcal.datasets import list_datasets, load_scores
from clustcal.experiments import protocol
from clustcal.experiments.tabular import stroke, tables, text_numbers
from clustcal.experiments.tabular.grid import PAPER_DATASETS, get_entries
from clustcal.experiments.tabular.runs import keep_complete
from clustcal.experiments.verdicts import Computed

# The paper's names of its sets of images and texts, and ours; of these only the counts are compared here.
DEEP_DATASETS = {
    "BloodMNIST": "bloodmnist",
    "CIFAR-100": "cifar100",
    "ImageNet": "imagenet",
    "Emotion": "emotion",
    "IMDB": "imdb",
}
TOY_BINS = 5  # of equal width, as in the paper's table


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


def _from_rows(function, paper, variants, spread):
    """Values from all seeds, and what the seeds alone, and all but one of them, say of their spread and error."""
    seeds = sorted(paper["seed"].unique()) if spread else []
    values = function(paper, variants)
    alone = [function(paper[paper["seed"] == seed], variants[variants["seed"] == seed]) for seed in seeds]
    without = [function(paper[paper["seed"] != seed], variants[variants["seed"] != seed]) for seed in seeds]
    nothing = pd.Series(dtype=float)
    sd = pd.DataFrame(alone).std(ddof=1) if len(seeds) > 1 else nothing
    error = (len(seeds) - 1) * pd.DataFrame(without).sem(ddof=1) if len(seeds) > 2 else nothing
    defined = {key: value for key, value in values.items() if not pd.isna(value)}
    return {
        key: Computed(float(value), float(sd.get(key, np.nan)), float(error.get(key, np.nan)))
        for key, value in defined.items()
    }


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
    return {f"figures/{name}": value for name, value in text_numbers.text_figures(paper).items()}


def _variations(paper, variants):
    if not set(text_numbers.VARIED) <= set(variants["dataset"]):
        return {}
    return {f"figures/{name}": value for name, value in text_numbers.variation_figures(paper, variants).items()}


def _overhead(paper, variants):
    return {f"overhead/{name}": value for name, value in text_numbers.overhead_figures(paper).items()}


FROM_ROWS = (_performance, _capacity, _improvement, _correlations, _text_figures, _variations, _overhead)


def _toy():
    """The toy example: regions of frequencies 0.7 and 0.3, given 0.5 before, and 0.6 and 0.4 after."""
    y = [1] * 7 + [0] * 3 + [1] * 3 + [0] * 7
    forecasts = {"before": [0.5] * 20, "after": [0.6] * 10 + [0.4] * 10}
    values = {"toy-text/term/1": -np.log(0.6), "toy-text/term/2": -np.log(0.4)}
    for name, p in forecasts.items():
        for place in ("toy", "toy-text"):
            values[f"{place}/{name}/NLL"] = metrics.log_loss(y, p)
            values[f"{place}/{name}/ECE"] = metrics.ece(y, p, n_bins=TOY_BINS)
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
        for paper, name in (PAPER_DATASETS | DEEP_DATASETS).items()
        for word, column in counts.items()
        if name in table.index and not pd.isna(table.loc[name, column])
    }


@cache
def _stroke_clusters():
    """Means over the seeds, each with clusters of its own."""
    found = [stroke.stroke_clusters(load_scores("stroke", seed).clusters) for seed in protocol.SEEDS]
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
    found = [stroke.rejection(load_scores("stroke", seed)) for seed in protocol.SEEDS]
    return {
        f"rejection/{quantile}/{method}": computed
        for quantile, row in _mean_and_sd(found)
        for method, computed in row.items()
    }


def _mean_and_sd(found):
    """Yield the lines of several tables of one shape as dicts of `Computed`."""
    stacked = np.stack([table.to_numpy(dtype=float) for table in found])
    mean, sd = stacked.mean(axis=0), stacked.std(axis=0, ddof=1)
    error = sd / np.sqrt(len(found))  # what the jackknife gives for a mean
    for i, label in enumerate(found[0].index):
        yield label, {column: Computed(mean[i, j], sd[i, j], error[i, j]) for j, column in enumerate(found[0].columns)}
