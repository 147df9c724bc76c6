"""How far the stored rows of the tabular study move when one unit of them is computed again by the code as it is now.

``python -m clustcal.experiments.tabular.drift --datasets stroke`` needs raw data. A row of another commit may differ
because K-means starts elsewhere, or because folds are drawn otherwise; this says by how much. Builds on `units`.
"""

import argparse
from pathlib import Path

import pandas as pd

from clustcal import datasets
from clustcal.experiments import protocol
from clustcal.experiments.methods import BASELINE
from clustcal.experiments.store import KEY, METRICS, Store
from clustcal.experiments.tabular.grid import get_entries, select_entries
from clustcal.experiments.tabular.units import Unit, run_unit

KINDS = ("not clustered", "clustered", "settings chosen")


def compute_again(data, unit, n_estimators=protocol.N_ESTIMATORS, entries=None):
    """Return the rows of one unit, computed now.

    Parameters
    ----------
    data : Bunch
        As :func:`clustcal.datasets.load` returns it.
    unit : Unit
    n_estimators : sequence of int
    entries : list of Entry, optional
        By default the paper's methods and ours.
    """
    entries = select_entries() if entries is None else entries
    return pd.DataFrame(run_unit(data, unit, dict.fromkeys(n_estimators, entries)))


def compare(stored, again):
    """Return the largest distance between two sets of rows.

    Parameters
    ----------
    stored, again : DataFrame
        Of the store; rows that are in one alone do not count.

    Returns
    -------
    table : DataFrame
        In lines `KINDS`: methods without clusters, the paper's clustered ones, and those that choose their settings by
        cross-validation. ``rows``, how many are in both; then for every metric the largest absolute difference.

    Raises
    ------
    ValueError
        If no row is in both.
    """
    both = stored.merge(again, on=list(KEY), suffixes=("", " again"))
    if both.empty:
        raise ValueError("stored and again have no row in common; expected rows of the same unit.")
    chosen = {entry.key[0] for entry in get_entries("cv")}
    kind = both["representation"].map(lambda word: KINDS[0] if word == BASELINE else KINDS[1])
    kind = kind.mask(both["calibrator"].isin(chosen), KINDS[2])
    apart = {metric: (both[metric] - both[f"{metric} again"]).abs() for metric in METRICS}
    table = pd.DataFrame(apart).groupby(kind).max()
    return table.assign(rows=kind.value_counts()).reindex(list(KINDS)).dropna()[["rows", *METRICS]]


def main(arguments=None):
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m clustcal.experiments.tabular.drift", description=__doc__)
    parser.add_argument("--datasets", nargs="+", required=True, metavar="NAME")
    parser.add_argument("--arm", choices=protocol.ARMS, default="")
    parser.add_argument("--depth", type=int, default=protocol.MAX_DEPTHS[0], metavar="D")
    parser.add_argument("--seed", type=int, default=protocol.SEEDS[0])
    parser.add_argument("--results", type=Path, default=Path("results"), metavar="DIR", help="default: results")
    options = parser.parse_args(arguments)
    for name in options.datasets:
        stored = Store(options.results / "tabular").read(name, options.arm)
        again = compute_again(datasets.load(name), Unit(name, options.depth, options.seed, options.arm))
        commits = ", ".join(stored["commit"].unique())
        print(f"{name}: rows of commit {commits}, computed again")
        print(compare(stored, again).to_string(float_format="{:.1e}".format))


if __name__ == "__main__":
    main()
