"""What the four studies of future directions share: units, rows, the store, and the command that runs them.

    python -m clustcal.experiments.directions.direction_study [DIRECTION ...]

A direction is a module with ``DATASETS``, a dict from data sets to pairs of arms and seeds, and
``compute(data, unit)``, which returns a dict from methods to dicts from measures to numbers. What is run, and how it is
judged, stands in ``results/directions/protocol.yml``. Builds on `runner` and `store`.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from threadpoolctl import threadpool_limits

from clustcal.experiments import runner
from clustcal.experiments.alternatives import base_models
from clustcal.experiments.provenance import LIBRARIES, describe_commit, describe_versions
from clustcal.experiments.results import FOLDER
from clustcal.experiments.store import Store

DIRECTIONS = {
    "intervals": "probability_intervals",
    "representations": "adaptive_representations",
    "diagnostics": "diagnostic_agreement",
    "joint": "joint_training",
}
SEEDS = (10, 11, 12, 13, 14)  # of splits and models; other studies have 0 to 9
MAIN_MODEL = "xgb-300x8"
KEY = ("dataset", "seed", "arm", "method", "measure")
TEXT = ("dataset", "arm", "method", "measure", "versions", "commit")
COLUMNS = (*KEY, "value", "versions", "commit")


class Unit(NamedTuple):
    """A unit of work: a data set, an arm and a seed."""

    dataset: str
    arm: str
    seed: int

    def __str__(self):
        return f"{self.dataset} {self.arm} seed {self.seed}".replace("  ", " ")


@dataclass(frozen=True)
class DirectionStudy:
    """What `runner.run` needs to know of one direction.

    Parameters
    ----------
    direction : str
        One of `DIRECTIONS`.
    names : sequence of str, optional
        Data sets; by default all of the direction.
    """

    direction: str
    names: Sequence[str] = ()

    def units(self):
        """Return all units, data set by data set."""
        datasets = module_of(self.direction).DATASETS
        return [
            Unit(name, arm, seed)
            for name, (arms, seeds) in datasets.items()
            if name in (self.names or datasets)
            for arm in arms
            for seed in seeds
        ]

    def missing(self, unit, known):
        """Return the unit itself if none of its rows is known: they come together."""
        return [] if any((key[0], key[2], key[1]) == unit for key in known) else [unit]

    def compute(self, data, unit, wanted):
        """Return the rows of a unit."""
        with threadpool_limits(1):
            found = module_of(self.direction).compute(data, unit)
        said = {"versions": describe_versions(LIBRARIES), "commit": describe_commit()}
        return [
            {**unit._asdict(), "method": method, "measure": measure, "value": float(value), **said}
            for method, measures in found.items()
            for measure, value in measures.items()
        ]

    def cost(self, unit):
        """Return about how many seconds a unit takes."""
        return 30.0


def module_of(direction):
    """Return the module of a direction."""
    return import_module(f"clustcal.experiments.directions.{DIRECTIONS[direction]}")


def open_store(direction, folder=FOLDER):
    """Return the store of a direction in a folder of results."""
    return Store(Path(folder) / "directions" / direction, KEY, COLUMNS, TEXT)


def read(direction, folder=FOLDER):
    """Return the stored rows of a direction, of all arms, with a column for each measure."""
    rows = open_store(direction, folder).read(arm=None)
    if unknown := set(rows["dataset"]) - set(module_of(direction).DATASETS):
        raise ValueError(f"results holds {sorted(unknown)} of {direction}; expected data sets of that direction.")
    table = rows.pivot_table(index=list(KEY[:-1]), columns="measure", values="value", dropna=False, observed=True)
    return table.dropna(how="all").reset_index().rename_axis(columns=None)


def load(name):
    """Return the data that a unit trains on; None where it makes or reads scores of its own."""
    trains = name in base_models.PACKAGED_ROWS or name in ("credit_approval", "stroke", "support2")
    return base_models.load(name) if trains else None


def main(arguments=None):
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("directions", nargs="*", default=list(DIRECTIONS), metavar="DIRECTION")
    parser.add_argument("--results", type=Path, default=FOLDER, metavar="DIR")
    parser.add_argument("--datasets", nargs="+", default=[])
    options = parser.parse_args(arguments)
    for direction in options.directions:
        store = open_store(direction, options.results)
        store.folder.mkdir(parents=True, exist_ok=True)
        print(direction, runner.run(DirectionStudy(direction, options.datasets), store, load=load), flush=True)


if __name__ == "__main__":
    main()
