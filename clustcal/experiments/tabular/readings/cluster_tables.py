"""The table of stroke clusters under other readings: of which representation, and whether rows are scaled to length 1.

``python -m clustcal.experiments.tabular.readings.cluster_tables`` computes what ``results/readings/clusters/`` lacks,
from raw data: for every capacity, seed and arm of the study one table for each reading.
"""

from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from clustcal.experiments import protocol, runner
from clustcal.experiments.paper import load_claims
from clustcal.experiments.provenance import describe_commit, describe_versions
from clustcal.experiments.results import FOLDER
from clustcal.experiments.store import Store
from clustcal.experiments.tabular.readings.study_command import say_outcome, study_parser
from clustcal.experiments.tabular.stroke import stroke_clusters
from clustcal.experiments.tabular.train_scores import RECIPES, describe_clusters
from clustcal.experiments.tabular.units import Unit
from clustcal.experiments.verdicts import Computed

DATASET = "stroke"
FEATURES = RECIPES[DATASET].quartiles_of
CELLS = (*(f"{feature}_{q}" for feature in ("age", "bmi", "avg_glucose_level") for q in ("q25", "q75")), "rate")
NORMALIZE = (True, False)
# On these cells of the table a reading is chosen, on the others it is judged: every second one, as on a chessboard.
CHOOSING = np.indices((protocol.N_CLUSTERS, len(CELLS))).sum(axis=0) % 2 == 0
RUN = ("dataset", "n_estimators", "max_depth", "seed")
READING = ("representation", "normalize")
KEY = (*RUN, *READING, "cluster", "arm")
COLUMNS = (*KEY, *CELLS, "versions", "commit")
TEXT = ("dataset", "representation", "normalize", "arm", "versions", "commit")


@dataclass(frozen=True)
class ClusterStudy:
    """What `runner.run` needs to know."""

    n_estimators: tuple[int, ...] = protocol.N_ESTIMATORS
    max_depths: tuple[int, ...] = protocol.MAX_DEPTHS
    seeds: tuple[int, ...] = protocol.SEEDS
    arms: tuple[str, ...] = protocol.ARMS

    def units(self):
        """Return all units."""
        return [Unit(DATASET, *parts) for parts in product(self.max_depths, self.seeds, self.arms)]

    def missing(self, unit, known):
        """Return the keys that a unit lacks."""
        parts = product(self.n_estimators, protocol.REPRESENTATIONS, NORMALIZE, range(protocol.N_CLUSTERS))
        keys = [
            (unit.dataset, n, unit.max_depth, unit.seed, name, str(normalize), cluster, unit.arm)
            for n, name, normalize, cluster in parts
        ]
        return [key for key in keys if key not in known]

    def compute(self, data, unit, missing):
        """Return all rows of a unit."""
        with threadpool_limits(1):
            return run_unit(data, unit, self.n_estimators)

    def cost(self, unit):
        """Return the seconds of a unit, about."""
        return 10


def run_unit(data, unit, n_estimators=protocol.N_ESTIMATORS):
    """Return the clusters of every reading, numbered as the paper's, for the first trees of one classifier."""
    parts = protocol.split(data.y, unit.seed)
    capacity = {"n_estimators": max(n_estimators), "max_depth": unit.max_depth}
    model = protocol.train_model(data, parts.train, arm=unit.arm, seed=unit.seed, **capacity)
    rows = {"cal": data.X.iloc[parts.calibration], "test": data.X.iloc[parts.test]}
    labels = {"cal": data.y[parts.calibration], "test": data.y[parts.test]}
    common = {**unit._asdict(), "versions": describe_versions(), "commit": describe_commit()}
    found = []
    for n in n_estimators:
        Z = {}
        for name in protocol.REPRESENTATIONS:
            representation = protocol.make_representation(name, model, unit.seed, (0, n)).fit(rows["cal"])
            Z[name] = tuple(representation.transform(X) for X in rows.values())
        for normalize in NORMALIZE:
            clusters = describe_clusters(Z, rows, labels, unit.seed, FEATURES, normalize)
            for name in Z:
                for cluster, cells in stroke_clusters(clusters, name).iterrows():
                    reading = {"representation": name, "normalize": str(normalize), "cluster": cluster}
                    found.append(common | {"n_estimators": n} | reading | cells.to_dict())
    return found


def printed():
    """Return the paper's table: clusters in lines, `CELLS` in columns."""
    claims = load_claims().set_index("id")["value"]
    names = {cell: cell.replace("_q", "/q") for cell in CELLS}
    clusters = range(protocol.N_CLUSTERS)
    table = {cell: [claims[f"stroke-clusters/{k}/{name}"] for k in clusters] for cell, name in names.items()}
    return pd.DataFrame(table, index=pd.Index(clusters, name="cluster"))


def half_digits():
    """Return half of the last printed digit of every cell of the paper's table, in its shape."""
    claims = load_claims().set_index("id")["half_digit"]
    table = printed()
    return table.apply(
        lambda column: [claims[f"stroke-clusters/{k}/{column.name.replace('_q', '/q')}"] for k in table.index]
    )


def bands(rows):
    """Return how far a cell may be from the printed one, the same for all readings, in the shape of `printed`.

    Twice the median over readings, arms and capacities of a cell's standard deviation over seeds, and at least half of
    the last printed digit. A reading whose cells scatter gains nothing by that.
    """
    spread = rows.groupby([*READING, "arm", "n_estimators", "max_depth", "cluster"])[list(CELLS)].std()
    return (2 * spread.groupby("cluster").median()).clip(lower=half_digits())


def count_passes(rows):
    """Return for every run and reading how many of the 28 cells are within the `bands`.

    Returns
    -------
    passes : Series of int
        Indexed by reading, arm, capacity and seed.
    """
    of_line = _inside(rows).sum(axis=1)
    return of_line.groupby(level=list(of_line.index.names[:-1])).sum()


def choose_reading(rows):
    """Choose the reading by one half of the cells, and judge every reading on the other half.

    Returns
    -------
    table : DataFrame
        By reading: the mean number of ``chosen by`` cells that pass, over arms, capacities and seeds, and of ``judged``
        cells; and the most of all 28 that one run of it passes, ``best run``. The first line is the chosen reading.
    """
    inside = _inside(rows)
    choosing = pd.DataFrame(CHOOSING, columns=list(CELLS)).loc[inside.index.get_level_values("cluster")].to_numpy()
    run = list(inside.index.names[:-1])
    passed = (
        pd.DataFrame(
            {
                "chosen by": (inside & choosing).sum(axis=1),
                "judged": (inside & ~choosing).sum(axis=1),
                "best run": inside.sum(axis=1),
            }
        )
        .groupby(level=run)
        .sum()
        .groupby(level=list(READING))
    )
    table = passed[["chosen by", "judged"]].mean().join(passed["best run"].max())
    return table.sort_values("chosen by", ascending=False, kind="stable")


def compute_judged(rows, capacity=(300, 8), arm=""):
    """Return the cells that did not choose the reading, under the reading that the others chose.

    Parameters
    ----------
    rows : DataFrame
    capacity : (int, int), default=(300, 8)
        Trees and their depth, those of the shipped scores.
    arm : str, default=""

    Returns
    -------
    computed : dict of str to Computed
        By the id of the claim: the mean over seeds and its error; for the spread half of the cell's band, as all
        readings have the same.
    """
    reading = choose_reading(rows).index[0]
    run = dict(zip([*READING, "n_estimators", "max_depth", "arm"], [*reading, *capacity, arm], strict=True))
    chosen = rows[(rows[list(run)] == list(run.values())).all(axis=1)]
    found, half_band = chosen.groupby("cluster")[list(CELLS)].agg(["mean", "sem"]), bands(rows) / 2
    return {
        f"stroke-clusters/{cluster}/{cell.replace('_q', '/q')}": Computed(
            found.loc[cluster, (cell, "mean")], half_band.loc[cluster, cell], found.loc[cluster, (cell, "sem")]
        )
        for i, cluster in enumerate(found.index)
        for j, cell in enumerate(CELLS)
        if not CHOOSING[i, j]
    }


def cross_judge(rows, seed=0, draws=500):
    """Choose a reading on half of the cells and judge it on the other half, over random halves.

    Parameters
    ----------
    rows : DataFrame
        As `read` returns them.
    seed : int
        Of the halves.
    draws : int, default=500

    Returns
    -------
    table : DataFrame
        By reading: the share of halves on which it is ``chosen`` (the most cells passed on average over runs; a tie
        goes to the first), and ``passed elsewhere``, the mean share of the other half's cells that it passes then.
    """
    inside = _inside(rows)
    shares = inside.groupby(level=[*READING, "cluster"]).mean().unstack("cluster").T.reset_index(drop=True).T
    rng = np.random.default_rng(seed)
    chosen, elsewhere = [], []
    for _ in range(draws):
        half = rng.permutation(shares.shape[1])[: shares.shape[1] // 2]
        best = shares[half].mean(axis=1).idxmax()
        chosen.append(best)
        elsewhere.append(shares.drop(columns=half).loc[best].mean())
    frame = pd.DataFrame({"reading": chosen, "elsewhere": elsewhere})
    found = frame.groupby("reading")["elsewhere"].agg(["size", "mean"])
    found.index = pd.MultiIndex.from_tuples(found.index, names=READING)
    return found.assign(size=found["size"] / draws).set_axis(["chosen", "passed elsewhere"], axis=1)


def _inside(rows):
    """Return whether every cell is within its band: a line for each reading, run and cluster."""
    by_run = rows.set_index([*READING, "arm", "n_estimators", "max_depth", "seed", "cluster"])[list(CELLS)].sort_index()
    clusters = by_run.index.get_level_values("cluster")
    away = (by_run - printed().loc[clusters].to_numpy()).abs()
    return away <= bands(rows).loc[clusters].to_numpy()


def open_store(folder=FOLDER):
    """Return the store of the clusters in a folder of results."""
    return Store(Path(folder) / "readings" / "clusters", KEY, COLUMNS, TEXT)


def read(folder=FOLDER):
    """Return the committed rows of both arms."""
    return open_store(folder).read(arm=None)


def main(arguments=None):
    """Run the command."""
    options = study_parser(__spec__.name, __doc__).parse_args(arguments)
    store = open_store(options.results)
    outcome = runner.run(ClusterStudy(), store, jobs=options.jobs)
    say_outcome(outcome, store)


if __name__ == "__main__":
    main()
