"""What the paper's own numbers say of each other: numbers of its text, worked out from its printed tables.

No run of ours is in them, so what does not agree here no data and no setting of ours can explain; the text may be about
more than its tables, though. Builds on `text_numbers`, whose functions read the same figures off our tables.
"""

import re

import numpy as np
import pandas as pd
from scipy import stats

from clustcal.experiments.tabular import text_numbers
from clustcal.experiments.tabular.grid import PAPER_DATASETS
from clustcal.experiments.tabular.tables import CAPACITY, METHOD, PAIRED_METRICS


def compute(claims):
    """Work out every number that follows from printed ones.

    Parameters
    ----------
    claims : DataFrame
        As :func:`clustcal.experiments.paper.load_claims` returns them.

    Returns
    -------
    values : dict of str to float
        By the id of the claim. The printed numbers are rounded, and so these are off by some of their last digit.
    """
    printed = claims.set_index("id")["value"]
    values = {f"figures/{name}": value for name, value in text_numbers.overall_figures(_performance(printed)).items()}
    found = text_numbers.capacity_figures(_capacity(printed))
    values |= {f"figures/{name}": value for name, value in found.items()}
    values |= _improvement(printed) | _p_values(printed) | _overhead(printed)
    values |= {
        name.replace("correlations/", "correlations-text/", 1): printed[name]
        for name in printed.index
        if name.startswith("correlations/")
    }
    shares = [printed[f"protocol/{name}"] for name in ("datasets", "methods", "configurations", "repeats")]
    values["protocol/points"] = float(np.prod(shares))
    values["figures/pairs"] = printed["protocol/datasets"] * printed["protocol/configurations"]
    return {name: float(value) for name, value in values.items() if name in printed.index and not pd.isna(value)}


def worst_rounding(claims):
    """Return by how much each value of `compute` can be off because the numbers it is made from are rounded, about.

    Every printed number that is no count is moved by half of its last digit, up or down by a coin, 60 times; the
    largest change counts. Of figures of many numbers the worst case may be somewhat larger.
    """
    rng, value = np.random.default_rng(0), claims["value"].to_numpy()
    half = np.where(claims["rule"] == "half digit", 0.0, claims["half_digit"])
    exact = pd.Series(compute(claims))
    moved = [
        pd.Series(compute(claims.assign(value=value + half * rng.choice([-1, 1], len(claims))))) for _ in range(60)
    ]
    return (pd.DataFrame(moved) - exact).abs().max().to_dict()


def _performance(printed):
    cells = printed[printed.index.str.startswith("performance/")]
    index = pd.MultiIndex.from_tuples([name.split("/")[1:] for name in cells.index], names=[*METHOD, "metric"])
    return pd.Series(cells.to_numpy(), index).unstack("metric").sort_values("NLL", kind="stable")


def _capacity(printed):
    cells = printed[printed.index.str.startswith("capacity/")]
    parts = [name.split("/")[1:] for name in cells.index]
    index = pd.MultiIndex.from_tuples([(int(n), int(d), column) for n, d, column in parts], names=[*CAPACITY, "column"])
    return pd.Series(cells.to_numpy(), index).unstack("column")


def _improvement(printed):
    """The line "All" is a mean over the data sets, which have equally many capacities; the text repeats it."""
    values = {}
    for metric in PAIRED_METRICS:
        means = [printed[f"improvement/{name}/{metric}/mean"] for name in PAPER_DATASETS]
        values[f"improvement/All/{metric}/mean"] = np.mean(means)
        mean, ci = (printed[f"improvement/All/{metric}/{part}"] for part in ("mean", "ci"))
        values[f"figures/improvement/{metric}/mean"] = mean
        values[f"figures/improvement/{metric}/low"] = mean - ci
        values[f"figures/improvement/{metric}/high"] = mean + ci
    return values


def _p_values(printed):
    """Where all pairs are won the exact test of Wilcoxon depends on their number alone."""
    values = {}
    for metric in ("NLL", "AUC"):
        if printed[f"figures/wins/{metric}"] == printed["figures/pairs"]:
            n, datasets = int(printed["figures/pairs"]), int(printed["protocol/datasets"])
            values[f"figures/wilcoxon/{metric}"] = stats.wilcoxon(np.arange(1, n + 1), method="exact").pvalue
            values[f"figures/wilcoxon-datasets/{metric}"] = stats.wilcoxon(np.arange(1, datasets + 1)).pvalue
    return values


def _overhead(printed):
    low, high = printed["overhead/ratio/low"], printed["overhead/ratio/high"]
    deep = "overhead/deep/"
    families = [name.split("/")[2] for name in printed.index if re.fullmatch(f"{deep}.+/global", name)]
    ratios = [printed[f"{deep}{name}/clustered"] / printed[f"{deep}{name}/global"] for name in families]
    return {
        "overhead/percent/low": 100 * (low - 1),
        "overhead/percent/high": 100 * (high - 1),
        f"{deep}ratio/low": min(ratios),
        f"{deep}ratio/high": max(ratios),
    }
