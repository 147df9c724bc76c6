"""The local calibration error of the clustered methods, each measured with its own representation, over bandwidths.

``python -m clustcal.experiments.tabular.readings.own_local_errors`` computes what ``results/readings/local_errors/``
lacks, from raw data. The paper prints a "LCE" and says neither on which representation nor with which bandwidth.
"""

from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pandas as pd
from threadpoolctl import threadpool_limits

from clustcal import metrics
from clustcal.experiments import protocol, runner
from clustcal.experiments.methods import BASELINE, GLOBAL, REPRESENTATIONS, get_methods
from clustcal.experiments.provenance import describe_commit, describe_versions
from clustcal.experiments.results import FOLDER
from clustcal.experiments.store import Store
from clustcal.experiments.tabular.grid import OPEN_DATASETS
from clustcal.experiments.tabular.readings.reading_study import CAPACITY, read_parts
from clustcal.experiments.tabular.readings.represent import represent
from clustcal.experiments.tabular.readings.study_command import say_outcome, study_parser
from clustcal.experiments.tabular.units import Unit, known_rows

MOST_ROWS = 60_000  # the time grows with the square of the test part
BANDWIDTHS = (0.05, 0.1, 0.2, 0.5, 1.0)
KEY = ("dataset", "n_estimators", "max_depth", "seed", "calibrator", "representation", "gamma", "arm")
COLUMNS = (*KEY, "lce", "mlce", "versions", "commit")
TEXT = ("dataset", "calibrator", "representation", "arm", "versions", "commit")


@dataclass(frozen=True)
class LocalErrorStudy:
    """What `runner.run` needs to know."""

    names: tuple[str, ...] = tuple(name for name in OPEN_DATASETS if known_rows(name) <= MOST_ROWS)
    seeds: tuple[int, ...] = protocol.SEEDS
    arms: tuple[str, ...] = protocol.ARMS

    def units(self):
        """Return all units."""
        return [Unit(name, CAPACITY[1], seed, arm) for name in self.names for arm in self.arms for seed in self.seeds]

    def missing(self, unit, known):
        """Return the keys that a unit lacks."""
        head = (unit.dataset, CAPACITY[0], unit.max_depth, unit.seed)
        parts = product(_methods(), BANDWIDTHS)
        keys = [(*head, method.name, method.clustered, gamma, unit.arm) for method, gamma in parts]
        return [key for key in keys if key not in known]

    def compute(self, data, unit, missing):
        """Return all rows of a unit."""
        with threadpool_limits(1):
            return run_unit(data, unit)

    def cost(self, unit):
        """Return the seconds of a unit, about."""
        return 10 + (known_rows(unit.dataset) / 4000) ** 2


def run_unit(data, unit, bandwidths=BANDWIDTHS):
    """Train one classifier, fit the clustered methods, and measure each where it has its clusters."""
    model, (X_cal, X_test), cal, test, common = read_parts(data, unit)
    common |= {"versions": describe_versions(), "commit": describe_commit()}
    rows = []
    for name in protocol.REPRESENTATIONS:
        Z_cal, Z_test = represent(name, model, X_cal, X_test, unit.seed)
        forecasts = {}
        for method in _methods():
            if method.representation == name:
                calibrator = method.make(unit.seed).fit(cal.P, cal.y, Z_cal)
                forecasts[method.name, method.clustered] = calibrator.predict_proba(test.P, Z_test)
        for gamma in bandwidths:
            errors = metrics.local_calibration_errors(test.y, forecasts, Z_test, bandwidth=gamma)
            for (calibrator, representation), found in errors.items():
                key = {"calibrator": calibrator, "representation": representation, "gamma": gamma}
                rows.append(common | key | {"lce": float(found.mean()), "mlce": float(found.max())})
    return rows


def open_store(folder=FOLDER):
    """Return the store of the local errors in a folder of results."""
    return Store(Path(folder) / "readings" / "local_errors", KEY, COLUMNS, TEXT)


def read(folder=FOLDER, arm=""):
    """Return the committed rows of one arm, or of all if ``arm`` is None."""
    return open_store(folder).read(arm=arm)


def by_bandwidth(rows, claims):
    """Return the largest local error by representation and bandwidth, beside the paper's column "LCE".

    Parameters
    ----------
    rows : DataFrame
        As `read` returns them; means are taken over families and seeds, then over data sets.
    claims : DataFrame
        As :func:`clustcal.experiments.paper.load_claims` returns them.

    Returns
    -------
    table : DataFrame
        In lines the bandwidths, and ``"paper"`` last; ``Coverage``, ``SHAP``, ``Data``; ``level``, the mean of the
        three; and ``spread``, the largest divided by the smallest.
    """
    of_sets = rows.groupby(["dataset", "gamma", "representation"])["mlce"].mean()
    table = of_sets.groupby(["gamma", "representation"]).mean().unstack()
    printed = claims.set_index("id")["value"]
    cells = {word: [printed[f"performance/{name}/{word}/LCE"] for name in GLOBAL] for word in REPRESENTATIONS}
    table = table[list(REPRESENTATIONS)].rename_axis(columns=None)
    table.loc["paper"] = pd.DataFrame(cells).mean()
    return table.assign(level=table.mean(axis=1), spread=table.max(axis=1) / table.min(axis=1))


def main(arguments=None):
    """Run the command."""
    options = study_parser(__spec__.name, __doc__, LocalErrorStudy.names).parse_args(arguments)
    store = open_store(options.results)
    outcome = runner.run(LocalErrorStudy(tuple(options.datasets)), store, jobs=options.jobs)
    say_outcome(outcome, store)


def _methods():
    return [method for method in get_methods() if method.clustered != BASELINE]


if __name__ == "__main__":
    main()
