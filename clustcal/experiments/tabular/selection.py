"""How much of the gain of the best clustered method comes from choosing, and how often chance would win.

The paper compares the best of nine with the best of three, both chosen by the log-loss that is then compared. Here the
choice is made in other ways, some with equal numbers on both sides; and each way is repeated on data in which the sign
of every difference between a clustered method and its global one is drawn by a coin. Builds on `tables`.
"""

from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd

from clustcal.experiments.methods import BASELINE, GLOBAL, REPRESENTATIONS
from clustcal.experiments.tabular.tables import CASE

# Two-sided, for one data set: five seeds have 2^5 patterns of signs, and the two extreme ones count.
LEAST_P_OF_FIVE_SEEDS = 2 / 2**5
CHUNK = 250  # draws at a time, so that memory stays small


class Losses(NamedTuple):
    """Log-losses by data set, capacity, seed and method.

    Attributes
    ----------
    own : ndarray of shape (D, C, S, 3)
        Of the global methods, in the order of `GLOBAL`.
    clustered : ndarray of shape (D, C, S, 9)
        For each of these in turn with each of the `REPRESENTATIONS`.
    names : list of str
        Of the data sets.
    """

    own: np.ndarray
    clustered: np.ndarray
    names: list


def arrange(rows):
    """Return the log-losses of the parametric methods as arrays.

    Parameters
    ----------
    rows : DataFrame
        As :func:`clustcal.experiments.tabular.tables.as_paper_rows` returns them; complete.

    Returns
    -------
    losses : Losses
    """
    chosen = rows[rows["calibrator"].isin(GLOBAL)]
    table = chosen.pivot_table("NLL", [*CASE, "seed"], ["calibrator", "representation"])
    shape = (table.index.levshape[0], -1, table.index.levshape[-1])
    take = lambda columns: table[columns].to_numpy().reshape(*shape, len(columns))
    own = take([(name, BASELINE) for name in GLOBAL])
    return Losses(own, take([(name, word) for name in GLOBAL for word in REPRESENTATIONS]), list(table.index.levels[0]))


def choose_on_test(values):
    """Return the log-loss of the method with the least mean over seeds: (..., C, S, M) to (..., C)."""
    return values.mean(axis=-2).min(axis=-1)


def choose_elsewhere(values):
    """Return the log-loss of the method that the other seeds choose, mean over seeds: (..., C, S, M) to (..., C)."""
    n_seeds = values.shape[-2]
    total = values.sum(axis=-2, keepdims=True)
    best = ((total - values) / (n_seeds - 1)).argmin(axis=-1)
    return np.take_along_axis(values, best[..., None], axis=-1)[..., 0].mean(axis=-1)


def triples(n_methods=9):
    """Return all ways to take three of so many methods, shape (T, 3)."""
    return np.array(list(combinations(range(n_methods), 3)))


def gains(own, clustered, subsets, choose_own=choose_on_test, choose_clustered=choose_on_test):
    """Return the gain of clustered over global in percent, by subset of the clustered methods.

    Parameters
    ----------
    own, clustered : ndarray of shape (..., C, S, M)
    subsets : array of int of shape (T, m)
        The clustered methods to choose among, in each of T comparisons.
    choose_own, choose_clustered : callable

    Returns
    -------
    gain : ndarray of shape (T, ..., C)
    """
    before = choose_own(own)
    return np.stack([100 * (1 - choose_clustered(clustered[..., subset]) / before) for subset in subsets])


def draw_signs(losses, n_draws, seed=0):
    """Yield clustered log-losses in which one sign for each data set and seed multiplies every difference to the own.

    Yields
    ------
    clustered : ndarray of shape (up to CHUNK, D, C, S, 9)
    """
    rng = np.random.default_rng(seed)
    before = np.repeat(losses.own, len(REPRESENTATIONS), axis=-1)
    n_sets, _, n_seeds, _ = before.shape
    for first in range(0, n_draws, CHUNK):
        n = min(CHUNK, n_draws - first)
        yield before + rng.choice([-1, 1], size=(n, n_sets, 1, n_seeds, 1)) * (losses.clustered - before)


WAYS = {
    "test part, nine against three": (np.arange(9)[None], choose_on_test, choose_on_test),
    "other seeds, nine against three": (np.arange(9)[None], choose_elsewhere, choose_elsewhere),
    "global on the test part, nine by other seeds": (np.arange(9)[None], choose_on_test, choose_elsewhere),
    "test part, three against three": (triples(), choose_on_test, choose_on_test),
    "other seeds, three against three": (triples(), choose_elsewhere, choose_elsewhere),
}


def compare_choices(rows, n_draws=2000, seed=0):
    """Compare ways to choose, each with what chance gives.

    Parameters
    ----------
    rows : DataFrame
        As for `arrange`.
    n_draws : int, default=2000
        Of signs; see `draw_signs`. The choice is made anew in each.
    seed : int, default=0

    Returns
    -------
    table : DataFrame
        In lines `WAYS`, and each representation alone with its three methods against three. ``gain``, in percent, a
        mean over pairs of a data set and a capacity (and over the 84 ways to take three of nine methods); ``wins``, the
        pairs won, and ``pairs``; ``chance gain`` and ``chance wins``, means over draws; ``p wins`` and ``p gain``, in
        which share of draws chance has at least as many, or as much.
    """
    losses = arrange(rows)
    ways = dict(WAYS)
    for number, word in enumerate(REPRESENTATIONS):
        mine = np.arange(number, 9, len(REPRESENTATIONS))[None]
        ways[f"test part, three with {word} against three"] = (mine, choose_on_test, choose_on_test)
    found = {name: _summarise(gains(losses.own, losses.clustered, *way)) for name, way in ways.items()}
    chance = {name: [] for name in ways}
    for clustered in draw_signs(losses, n_draws, seed):
        for name, way in ways.items():
            chance[name].append(_summarise(gains(losses.own, clustered, *way)))
    lines = {}
    for name, (gain, wins) in found.items():
        drawn = np.concatenate([np.stack(part) for part in chance[name]], axis=-1)  # (2, draws)
        lines[name] = {
            "gain": float(gain),
            "wins": float(wins),
            "pairs": losses.own.shape[0] * losses.own.shape[1],
            "chance gain": drawn[0].mean(),
            "chance wins": drawn[1].mean(),
            "p wins": (drawn[1] >= wins - 1e-9).mean(),
            "p gain": (drawn[0] >= gain - 1e-12).mean(),
        }
    return pd.DataFrame.from_dict(lines, orient="index")


def _summarise(gain):
    """Mean gain and number of wins over pairs, means over subsets: (T, ..., D, C) to two arrays (...)."""
    return gain.mean(axis=(0, -2, -1)), (gain > 0).mean(axis=0).sum(axis=(-2, -1))
