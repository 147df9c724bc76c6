"""How calibrators rank by the rows of `where_methods_stand`, and beside the published ranking of a benchmark.

The win rate of a method in one experiment (a source, a number of rows, a draw) is the share of the other methods that
have a larger loss there. Intervals resample data sets, as rows of one data set say much the same: several splits,
targets, networks or classifiers of one count as one.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import spearmanr

from clustcal import metrics
from clustcal.experiments.results import FOLDER

BASE = "as it is"
EXPERIMENT = ["dataset", "n", "draw"]
PUBLISHED = "published_winrates.csv"
RESAMPLES = 1000
# The benchmark's names for methods that are the same here. Its vector and matrix scaling, without a prior, are run here
# for few classes only, its Dirichlet calibration and the rest not at all.
SAME = {
    "Base-model": BASE,
    "Hist-uniform": "histogram, equal width",
    "Hist-quantile": "histogram, equal mass",
    "Scaling-Binning": "scaling-binning",
    "BBQ": "BBQ",
    "Isotonic": "isotonic",
    "CIR": "centred isotonic",
    "Venn-Abers": "Venn-Abers",
    "TS": "temperature, no prior",
    "ETS": "ensemble temperature",
    "Platt-logits": "scikit-learn: sigmoid",
    "Quadratic": "probmetrics: quadratic",
    "Beta": "Beta, no prior",
    "Spline": "splinecalib: spline",
    "CDF-Spline": "probmetrics: CDF spline",
    "SVS": "probmetrics: SVS",
    "SMS": "probmetrics: SMS",
}


def losses(rows, score="nll"):
    """Return losses by experiment (rows) and method (columns), uncalibrated scores among them.

    Only methods that every experiment has, and only draws that every method has, so that all are compared on the same.
    """
    table = rows.pivot(index=EXPERIMENT, columns="method", values=score)
    table[BASE] = rows.groupby(EXPERIMENT)[f"{score}_base"].first()
    first_draws = table[table.index.get_level_values("draw") < _draws_of_all(rows)]
    return first_draws.dropna(axis=1)


def _draws_of_all(rows):
    """Return how many draws the method has that has the fewest."""
    return rows.groupby("method")["draw"].max().min() + 1


def win_rates(table):
    """Return the win rate of every method in every experiment, in the form of the table of losses.

    Examples
    --------
    >>> import pandas as pd
    >>> win_rates(pd.DataFrame({"a": [0.1, 0.4], "b": [0.2, 0.2], "c": [0.3, 0.3]}))
         a    b    c
    0  1.0  0.5  0.0
    1  0.0  1.0  0.5
    """
    values = table.to_numpy()
    wins = (values[:, :, None] < values[:, None, :]).sum(axis=2)
    return pd.DataFrame(wins / (values.shape[1] - 1), table.index, table.columns)


def standings(table, random_state=0):
    """Return the mean win rate of every method with a 95 % interval, best first.

    Parameters
    ----------
    table : DataFrame
        As `losses` returns it.
    random_state : int

    Returns
    -------
    standings : DataFrame
        Indexed by method: ``win_rate``, ``low``, ``high``.
    """
    by_data_set = _by_data_set(win_rates(table))
    means = _resampled(by_data_set, random_state)
    low, high = np.quantile(means, [0.025, 0.975], axis=0)
    of_all = pd.DataFrame({"win_rate": by_data_set.mean(), "low": low, "high": high})
    return of_all.sort_values("win_rate", ascending=False)


def agreement(table, published, random_state=0):
    """Compare the order of methods with a published one.

    Parameters
    ----------
    table : DataFrame
        As `losses` returns it.
    published : Series
        Win rates by the benchmark's names.

    Returns
    -------
    orders : DataFrame
        Indexed by the benchmark's names, best of the benchmark first: ``published``, and ``here`` among these methods.
    correlation : tuple of three floats
        Spearman's rank correlation and its 95 % interval over data sets.
    """
    shared = [name for name in published.sort_values(ascending=False).index if SAME.get(name) in table]
    by_data_set = _by_data_set(win_rates(table[[SAME[name] for name in shared]]))
    orders = pd.DataFrame({"published": published[shared], "here": by_data_set.mean().to_numpy()}, shared)
    rank = lambda rates: spearmanr(orders["published"], rates).statistic
    low, high = np.quantile([rank(one) for one in _resampled(by_data_set, random_state)], [0.025, 0.975])
    return orders, (rank(orders["here"]), low, high)


def paired(rows, ours, theirs, score="nll"):
    """Return by source and number of rows the loss of one method and of others, and the paired difference over draws.

    Parameters
    ----------
    rows : DataFrame
    ours : str
        A method.
    theirs : sequence of str
        The others, of which the best by mean is what ours is compared with.

    Returns
    -------
    table : DataFrame
        Indexed by ``dataset`` and ``n``: ``base``, the loss of each method, ``difference`` (ours less the best of
        theirs), ``half_width`` of a 95 % t interval over the draws, and ``worst`` (the largest loss of ours over its
        mean).
    """
    lines = {}
    for key, group in rows.groupby(["dataset", "n"]):
        wide = group.pivot(index="draw", columns="method", values=score)[[ours, *theirs]].dropna()
        best = wide[list(theirs)].mean().idxmin()
        interval = metrics.t_interval(wide[ours] - wide[best])
        lines[key] = {"base": group[f"{score}_base"].mean(), **wide.mean(), "difference": interval.mean}
        lines[key] |= {"half_width": interval.half_width, "worst": wide[ours].max() / wide[ours].mean()}
    return pd.DataFrame.from_dict(lines, orient="index").rename_axis(["dataset", "n"])


def verdicts(table):
    """Say of every line of a table of `paired` how ours compares: "ahead", "behind", or "level" within the interval.

    Examples
    --------
    >>> import pandas as pd
    >>> verdicts(pd.DataFrame({"difference": [-0.2, 0.2, 0.2], "half_width": [0.1, 0.1, 0.3]})).tolist()
    ['ahead', 'behind', 'level']
    """
    is_clear = table["difference"].abs() > table["half_width"]
    words = table["difference"].lt(0).map({True: "ahead", False: "behind"})
    return words.where(is_clear, "level")


def read_published(folder=FOLDER):
    """Return the win rates (Brier score) of the benchmark CalArena, by ``kind`` and method, the mean of its parts."""
    table = pd.read_csv(Path(folder) / PUBLISHED).set_index(["kind", "method"])
    return table.mean(axis=1)


def data_set_of(source):
    """Return the data set whose rows a source has: what stands before the first hyphen of its name.

    Examples
    --------
    >>> [data_set_of(source) for source in ("adult", "stroke-seed3", "cifar100-densenet", "cifar100-resnet20")]
    ['adult', 'stroke', 'cifar100', 'cifar100']
    """
    return source.split("-")[0]


def _by_data_set(rates):
    """Return means by data set, each source of it with the same weight."""
    by_source = rates.groupby("dataset").mean()
    return by_source.groupby(by_source.index.map(data_set_of)).mean()


def _resampled(by_data_set, random_state):
    rng = np.random.default_rng(random_state)
    n = len(by_data_set)
    return by_data_set.to_numpy()[rng.integers(n, size=(RESAMPLES, n))].mean(axis=1)
