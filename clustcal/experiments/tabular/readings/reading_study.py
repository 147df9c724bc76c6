"""The clustered methods under every reading, at one capacity: representations, memberships, losses, early stops.

``python -m clustcal.experiments.tabular.readings.reading_study`` computes what ``results/readings/`` lacks, from raw
data. Rows are those of `store`: ``representation`` is a name of `represent.READINGS`, and ``settings`` says what is
changed of the paper's clustered method; the global methods stand under "Baseline".
"""

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from threadpoolctl import threadpool_limits

from clustcal import metrics
from clustcal.experiments import protocol, runner
from clustcal.experiments.methods import BASELINE, GLOBAL, format_settings, get_methods
from clustcal.experiments.provenance import describe_commit, describe_versions
from clustcal.experiments.results import FOLDER
from clustcal.experiments.store import Store
from clustcal.experiments.tabular.grid import OPEN_DATASETS
from clustcal.experiments.tabular.readings.represent import READINGS, Rows
from clustcal.experiments.tabular.readings.shared_centroids import share_centroids
from clustcal.experiments.tabular.readings.stopped_fits import stopped_forecast
from clustcal.experiments.tabular.readings.study_command import say_outcome, study_parser
from clustcal.experiments.tabular.units import Part, Unit, known_rows

CAPACITY = (300, 8)
# Path nodes of so many rows do not fit this study's time: about nine indicators a tree in place of one.
MOST_ROWS_OF_PATHS = 60_000
SHRINKAGE_DATASETS = ("adult", "support2")
MEMBERSHIPS = ({"membership": "chord"}, {"temperature": 0.1}, {"temperature": 0.0})


class Reading(NamedTuple):
    """A representation, what is changed of the clustered method, and after how many iterations its fits stop."""

    representation: str
    changes: tuple[tuple[str, object], ...] = ()
    iterations: int | None = None

    @property
    def settings(self):
        """The column of the store."""
        stop = {} if self.iterations is None else {"iterations": self.iterations}
        return format_settings(dict(self.changes) | stop)


def get_readings(dataset, n_rows):
    """Return the readings that are tried on a data set, each once."""
    found = [Reading(name) for name in READINGS if n_rows <= MOST_ROWS_OF_PATHS or not name.startswith("path")]
    found += [Reading(name, tuple(changes.items())) for name in protocol.REPRESENTATIONS for changes in MEMBERSHIPS]
    found += [Reading(name, (("normalize", False),)) for name in protocol.REPRESENTATIONS]
    if dataset in SHRINKAGE_DATASETS:
        found += _shrinkage_readings()
    return list(dict.fromkeys(found))


def _shrinkage_readings():
    """With and without shrinkage, mean and sum, soft and hard, converged and stopped."""
    for name in ("shap", "coverage"):
        for loss in ("mean", "sum"):
            for temperature in (1.0, 0.0):
                for shrinkage in (protocol.SHRINKAGE, 0.0):
                    changes = {"shrinkage": shrinkage, "loss": loss, "temperature": temperature}
                    for iterations in (None, 2, 5):
                        yield Reading(name, tuple(changes.items()), iterations)


@dataclass(frozen=True)
class ReadingStudy:
    """What `runner.run` needs to know."""

    names: tuple[str, ...] = OPEN_DATASETS
    seeds: tuple[int, ...] = protocol.SEEDS
    arms: tuple[str, ...] = protocol.ARMS

    def units(self):
        """Return all units."""
        return [Unit(name, CAPACITY[1], seed, arm) for name in self.names for arm in self.arms for seed in self.seeds]

    def missing(self, unit, known):
        """Return the keys that a unit lacks."""
        keys = _keys(unit, get_readings(unit.dataset, known_rows(unit.dataset)))
        return [key for key in keys if key not in known]

    def compute(self, data, unit, missing):
        """Return all rows of a unit; the store keeps those that it lacks."""
        return run_unit(data, unit, get_readings(unit.dataset, known_rows(unit.dataset)))

    def cost(self, unit):
        """Return the seconds of a unit, about."""
        return 20 + known_rows(unit.dataset) / 200


def run_unit(data, unit, readings):
    """Train one classifier and judge every family under every reading.

    Parameters
    ----------
    data : Bunch
        As :func:`clustcal.datasets.load` returns it.
    unit : Unit
    readings : list of Reading

    Returns
    -------
    rows : list of dict
        Of the store: the paper's global methods and ``base`` first.
    """
    with threadpool_limits(1):
        model, (X_cal, X_test), cal, test, common = read_parts(data, unit)
        found = {(method.name, BASELINE, ""): _global_forecast(method, cal, test) for method in _global_methods()}
        rows = Rows(model, X_cal, X_test, unit.seed)
        for name in dict.fromkeys(reading.representation for reading in readings):
            Z_cal, Z_test = READINGS[name](rows)
            centroids = {}
            for reading in readings:
                if reading.representation == name:
                    parts = cal._replace(Z=Z_cal), test._replace(Z=Z_test)
                    found |= _clustered_forecasts(reading, *parts, unit.seed, centroids)
    common |= {f"n_{name}": len(rows) for name, rows in protocol.split(data.y, unit.seed)._asdict().items()}
    common |= {"versions": describe_versions(), "commit": describe_commit()}
    names = ("calibrator", "representation", "settings")
    return [common | dict(zip(names, key, strict=True)) | _judge(test.y, Q) for key, Q in found.items()]


def read_parts(data, unit):
    """Train the classifier of a unit.

    Returns
    -------
    model : Pipeline
    X : pair of DataFrame
        Of the calibration and of the test part.
    cal, test : Part
        Without a representation.
    common : dict
        What the rows of the unit share, for the store.
    """
    parts = protocol.split(data.y, unit.seed)
    capacity = {"n_estimators": CAPACITY[0], "max_depth": unit.max_depth}
    model = protocol.train_model(data, parts.train, arm=unit.arm, seed=unit.seed, **capacity)
    X = data.X.iloc[parts.calibration], data.X.iloc[parts.test]
    P = (model.predict_proba(rows)[:, 1] for rows in X)
    cal, test = (Part(p, data.y[rows], None) for p, rows in zip(P, parts[1:], strict=True))
    return model, X, cal, test, {**unit._asdict(), **capacity}


def run(store, *, jobs=1, progress=True, **which):
    """Compute what the store lacks; see `ReadingStudy` for ``which``, and `runner.run` for the rest."""
    return runner.run(ReadingStudy(**which), store, jobs=jobs, progress=progress)


def read(folder=FOLDER, arm=""):
    """Return the committed rows of one arm, or of all if ``arm`` is None."""
    return Store(Path(folder) / "readings").read(arm=arm)


def main(arguments=None):
    """Run the command."""
    options = study_parser(__spec__.name, __doc__, OPEN_DATASETS).parse_args(arguments)
    store = Store(options.results / "readings")
    outcome = run(store, jobs=options.jobs, names=tuple(options.datasets))
    say_outcome(outcome, store)


def _global_methods():
    return [method for method in get_methods() if method.name in (*GLOBAL, "base") and method.clustered == BASELINE]


def _global_forecast(method, cal, test):
    return method.make(0).fit(cal.P, cal.y).predict_proba(test.P)


def _clustered_forecasts(reading, cal, test, seed, centroids):
    """Return the forecasts of the paper's three clustered families under one reading, by their keys in the store."""
    found = {}
    for method in get_methods():
        if method.clustered == "SHAP":  # the clustered method of each family; its Z is ours to choose
            calibrator = method.make(seed).set_params(**dict(reading.changes))
            calibrator = share_centroids(calibrator, centroids).fit(cal.P, cal.y, cal.Z)
            if reading.iterations is None:
                Q = calibrator.predict_proba(test.P, test.Z)
            else:
                Q = stopped_forecast(calibrator, cal, test, reading.iterations)
            found[method.name, reading.representation, reading.settings] = Q
    return found


def _keys(unit, readings):
    names = [method.name for method in _global_methods()]
    methods = [(name, BASELINE, "") for name in names]
    methods += [(name, reading.representation, reading.settings) for reading in readings for name in GLOBAL]
    return [(unit.dataset, CAPACITY[0], unit.max_depth, unit.seed, *method, unit.arm) for method in methods]


def _judge(y, Q):
    return {
        "nll": metrics.log_loss(y, Q),
        "auc": metrics.roc_auc(y, Q),
        "brier": metrics.brier(y, Q),
        "ada_ece": metrics.ada_ece(y, Q),
    }


if __name__ == "__main__":
    main()
