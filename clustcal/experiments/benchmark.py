"""A benchmark that others can join: frozen scores, representations and labels, one rule, and a file with a calibrator.

``clustcal benchmark my_calibrator.py`` fits what the file holds to the calibration part of every task and judges it on
the test part, beside methods whose rows are stored. ``python -m clustcal.experiments.benchmark`` computes these rows
anew. The rules stand in ``results/benchmark/protocol.yml``, the tasks in ``tasks.csv`` beside it; entries of others,
each a Python file and its rows, in ``entries/``. Builds on `load_scores`.
"""

import argparse
import copy
import inspect
import sys
import traceback
from collections.abc import Callable
from contextlib import contextmanager
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.base import clone

from clustcal import (
    BetaCalibration,
    ClusteredCalibration,
    ClusteredCalibrationCV,
    IsotonicCalibration,
    PlattScaling,
    RidgeCalibration,
    StructuredScaling,
    TemperatureScaling,
    VennAbersCalibration,
    datasets,
    metrics,
)
from clustcal.datasets import shipped_scores
from clustcal.experiments.methods import Uncalibrated
from clustcal.experiments.results import FOLDER

# A change of tasks, of their files or of a rule is another version, whose rows are not compared with those of this one.
VERSION = 1
# Two targets on the same patients are one observation where sets are counted; the five splits of Stroke are, too.
SAME_PATIENTS = {"diabetes130-los": "diabetes130"}
BASELINE = "Platt"
REPRESENTATIONS = shipped_scores.REPRESENTATIONS
COLUMNS = ("version", "method", "dataset", "seed", "nll", "brier", "auc", "ada_ece", "seconds")
RESAMPLES, LEVEL = 4000, 0.95
SUM_TOLERANCE = 1e-3
ENTRY_MODULE = "clustcal_entry_"  # before the name of a file, so that none hides a module of another package


class Entrant(NamedTuple):
    """What takes part: its name, the representations that it asks for, and a function that makes a fresh calibrator.

    ``needs`` is a name, a tuple of names, or None; a calibrator of a tuple gets a list. ``path`` is the file, if it
    comes from one.
    """

    name: str
    needs: str | tuple[str, ...] | None
    make: Callable
    path: Path | None = None


def read_entrant(path):
    """Return the calibrator that a file holds.

    Parameters
    ----------
    path : path
        A Python file. It has either a name ``calibrator``, or one class with ``fit`` and ``predict_proba`` that can be
        made without arguments. The name ``representation``, of the file or of the class, says what it asks for: one of
        ``"shap"``, ``"coverage"`` and ``"data"``, a tuple of these, or None, which is also what no such name means.

    Returns
    -------
    entrant : Entrant

    Raises
    ------
    ValueError
        If there is no such file, or none or several calibrators in it.
    """
    path = Path(path)
    if not path.is_file():
        raise ValueError(f"calibrator is {str(path)!r}, which is no file; expected a Python file with a calibrator.")
    spec = spec_from_file_location(f"{ENTRY_MODULE}{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ValueError(f"calibrator is {str(path)!r}; expected a Python file, with a name that ends in .py.")
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # where dataclasses and pickle look for it
    with _blamed_on(path, f"{path.name} cannot be read"):
        spec.loader.exec_module(module)
    holder, make = _maker(module, path)
    needs = getattr(module, "representation", getattr(holder, "representation", None))
    if not (needs is None or isinstance(needs, str | tuple | list)):
        raise ValueError(f"representation is {needs!r}; expected some of {REPRESENTATIONS}, or None.")
    for name in (needs,) if isinstance(needs, str) else needs or ():
        if name not in REPRESENTATIONS:
            raise ValueError(f"representation is {needs!r}; expected some of {REPRESENTATIONS}, or None.")
    with _blamed_on(path, f"The calibrator of {path.name} cannot be made"):
        make()
    if path.stem in [one.name for one in REFERENCES]:
        raise ValueError(f"The file is named {path.name}, as a method of the benchmark is; expected a name of its own.")
    return Entrant(path.stem, needs if isinstance(needs, str) else tuple(needs) if needs else None, make, path)


def read_tasks(folder=FOLDER):
    """Return the tasks of this version, pairs of a data set and a seed.

    Raises
    ------
    ValueError
        If the scores of this installation are other files than those of the version.
    """
    tasks = pd.read_csv(Path(folder) / "benchmark" / "tasks.csv")
    tasks = tasks[tasks["version"] == VERSION]
    for task in tasks.itertuples():
        if shipped_scores.checksum_of(task.dataset, task.seed) != task.sha256:
            raise ValueError(
                f"The scores of {task.dataset!r}, seed {task.seed}, are not those of version {VERSION}; expected an "
                "installation of the package that has them."
            )
    return list(zip(tasks["dataset"], tasks["seed"], strict=True))


def run(entrant, tasks=None, load=datasets.load_scores):
    """Yield the row of an entrant for every task.

    Parameters
    ----------
    entrant : Entrant
    tasks : sequence of (str, int), optional
        By default those of `read_tasks`.
    load : callable
        Gives the scores of a name and a seed.

    Raises
    ------
    ValueError
        If it fails, or what it forecasts is no probability for every row.
    """
    for name, seed in read_tasks() if tasks is None else tasks:
        scores = load(name, seed)
        Z_cal, Z_test = (_chosen(Z, entrant.needs) for Z in (scores.Z_cal, scores.Z_test))
        start = process_time()
        with _blamed_on(entrant.path, f"fit of {entrant.name} failed on {name}"):
            calibrator = entrant.make()
            calibrator.fit(scores.P_cal, scores.y_cal, *Z_cal)
        with _blamed_on(entrant.path, f"predict_proba of {entrant.name} failed on {name}"):
            Q = np.asarray(calibrator.predict_proba(scores.P_test, *Z_test), dtype=float)
        q = _probability_of_1(Q, len(scores.y_test), name)
        seconds = process_time() - start
        found = {"brier": metrics.brier(scores.y_test, q)}
        found |= {"nll": metrics.log_loss(scores.y_test, q), "auc": metrics.roc_auc(scores.y_test, q)}
        found |= {"ada_ece": metrics.ada_ece(scores.y_test, q), "seconds": round(seconds, 4)}
        yield {"version": VERSION, "method": entrant.name, "dataset": name, "seed": seed} | {
            key: float(value) for key, value in found.items()
        }


def read_rows(folder=FOLDER):
    """Return the stored rows of this version: those of `REFERENCES`, and those of the entries of others."""
    files = [_file(folder), *sorted((Path(folder) / "benchmark" / "entries").glob("*.csv"))]
    rows = pd.concat([pd.read_csv(file) for file in files])
    return rows[rows["version"] == VERSION].reset_index(drop=True)


def standings(rows):
    """Return the table of all entries, the largest mean gain first.

    Parameters
    ----------
    rows : DataFrame
        With all tasks of every method.

    Returns
    -------
    table : DataFrame
        Indexed by method: ``gain``, the mean over data sets in percent; ``worst``, that of the worst data set; ``rank``
        with the interval ``low`` to ``high``, see `rank_interval`; and ``seconds`` of a task.
    """
    table = gains(rows)
    ranks = {method: rank_interval(table, method) for method in table}
    found = pd.DataFrame.from_dict(ranks, orient="index", columns=["rank", "low", "high"])
    found.insert(0, "worst", table.min())
    found.insert(0, "gain", table.mean())
    found["seconds"] = rows.groupby("method")["seconds"].mean()
    return found.sort_values("gain", ascending=False)


def gains(rows):
    """Return the gain of every method on every data set, in percent of the log-loss of Platt scaling.

    Parameters
    ----------
    rows : DataFrame
        With all tasks of every method, those of the baseline among them.

    Returns
    -------
    gains : DataFrame
        Indexed by data set, a column per method. The splits of a data set, and two targets of the same patients, are
        averaged.
    """
    nll = rows.pivot_table(index=["dataset", "seed"], columns="method", values="nll")
    percent = 100 * (1 - nll.div(nll[BASELINE], axis=0))
    by_set = percent.groupby(level="dataset").mean()
    return by_set.groupby(by_set.index.map(lambda name: SAME_PATIENTS.get(name, name))).mean()


def paired_differences(table, method):
    """Return how much more a method gains than every other: mean over data sets, with an interval.

    Parameters
    ----------
    table : DataFrame
        As `gains` returns it.
    method : str

    Returns
    -------
    differences : DataFrame
        Indexed by the other methods: ``difference`` in percentage points, ``low`` and ``high``, a 95 % t interval in
        which each data set is one observation, and ``sets``, on how many the method gains more.
    """
    lines = {}
    for other in table.columns.drop(method):
        difference = table[method] - table[other]
        interval = metrics.t_interval(difference.to_numpy(), confidence_level=LEVEL)
        lines[other] = {
            "difference": difference.mean(),
            "low": difference.mean() - interval.half_width,
            "high": difference.mean() + interval.half_width,
            "sets": int((difference > 0).sum()),
        }
    return pd.DataFrame.from_dict(lines, orient="index").rename_axis("than")


def rank_interval(table, method, seed=0):
    """Return the rank of a method by its mean gain, 1 the best, and an interval: data sets are drawn with replacement.

    Returns
    -------
    rank, low, high : int
    """
    values = table.to_numpy()
    place = list(table.columns).index(method)
    rank = lambda means: 1 + (means > means[..., [place]]).sum(axis=-1)
    rng = np.random.default_rng(seed)
    drawn = rng.integers(len(values), size=(RESAMPLES, len(values)))
    ranks = rank(values[drawn].mean(axis=1))
    low, high = np.quantile(ranks, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], method="inverted_cdf")
    return int(rank(values.mean(axis=0))), int(low), int(high)


def report(rows, method):
    """Return what ``clustcal benchmark`` prints: the row of a method, its differences from others, and its rank."""
    table = gains(rows)
    own = rows[rows["method"] == method]
    rank, low, high = rank_interval(table, method)
    number = "{:+.2f}".format
    means = table.mean().sort_values(ascending=False)
    line = own[["nll", "brier", "auc", "ada_ece"]].mean()
    differences = paired_differences(table, method).loc[[name for name in means.index if name != method]]
    return "\n".join(
        [
            f"Benchmark, version {VERSION}: {len(own)} tasks, {len(table)} data sets",
            "",
            f"{method}: gain in test log-loss over {BASELINE} scaling, percent",
            table[[method]].T.to_string(float_format=number, index=False),
            f"mean {means[method]:+.2f}, worst {table[method].min():+.2f}; mean of tasks: "
            + ", ".join(f"{name} {value:.4f}" for name, value in line.items())
            + f"; {own['seconds'].sum():.1f} processor seconds in all",
            "",
            "Gain beyond that of others, percentage points (95 % interval over data sets; sets on which it is more)",
            differences.to_string(float_format=number),
            "",
            f"Rank by mean gain: {rank} of {len(table.columns)} (95 % interval {low} to {high})",
        ]
    )


class FirstComponents:
    """A calibrator on SHAP values and the first components of leaf coverage."""

    def __init__(self, calibrator, n_components=64):
        self.calibrator, self.n_components = calibrator, n_components

    def fit(self, P, y, Z):
        self.calibrator.fit(P, y, self._cut(Z))
        return self

    def predict_proba(self, P, Z):
        return self.calibrator.predict_proba(P, self._cut(Z))

    def _cut(self, Z):
        return [Z[0], Z[1][:, : self.n_components]]


REFERENCES = (
    Entrant("base", None, Uncalibrated),
    Entrant(BASELINE, None, lambda: PlattScaling(prior=None)),
    Entrant("Beta", None, lambda: BetaCalibration(prior=None)),
    Entrant("temperature", None, lambda: TemperatureScaling(prior=None)),
    Entrant("Platt with prior", None, PlattScaling),
    Entrant("structured", None, StructuredScaling),
    Entrant("isotonic", None, IsotonicCalibration),
    Entrant("Venn-Abers", None, VennAbersCalibration),
    Entrant("clusters of the paper", "shap", lambda: ClusteredCalibration(PlattScaling(prior=None), random_state=0)),
    Entrant("clusters CV", "shap", lambda: ClusteredCalibrationCV(PlattScaling(), random_state=0)),
    Entrant("ridge data", "data", RidgeCalibration),
    Entrant("ridge SHAP", "shap", RidgeCalibration),
    Entrant("ridge SHAP+coverage", ("shap", "coverage"), lambda: FirstComponents(RidgeCalibration())),
)


def main(arguments=None):
    """Run the command that computes the stored rows."""
    parser = argparse.ArgumentParser(prog="python -m clustcal.experiments.benchmark", description=__doc__)
    parser.add_argument("--results", type=Path, default=Path("results"), metavar="DIR", help="default: results")
    path = _file(parser.parse_args(arguments).results)
    rows = []
    for entrant in REFERENCES:
        rows += run(entrant)
        print(entrant.name, flush=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(".csv.new")
    pd.DataFrame(rows, columns=list(COLUMNS)).to_csv(draft, index=False, lineterminator="\n")
    draft.replace(path)


def _file(folder):
    return Path(folder) / "benchmark" / "rows.csv"


def _maker(module, path):
    """Return what holds the calibrator of a module, and a function that makes a fresh one."""
    if hasattr(module, "calibrator"):
        given = module.calibrator
        _check_methods(given, path)
        if inspect.isclass(given):
            return given, given
        return given, lambda: clone(given) if hasattr(given, "get_params") else copy.deepcopy(given)
    own = [one for one in vars(module).values() if inspect.isclass(one) and one.__module__ == module.__name__]
    found = [one for one in own if hasattr(one, "fit") and hasattr(one, "predict_proba")]
    if len(found) != 1:
        raise ValueError(
            f"{path} has {len(found)} classes with fit and predict_proba; expected one, or a name `calibrator`."
        )
    return found[0], found[0]


def _check_methods(calibrator, path):
    for name in ("fit", "predict_proba"):
        if not hasattr(calibrator, name):
            raise ValueError(f"calibrator of {path} is {calibrator!r}, without {name}; expected fit and predict_proba.")


@contextmanager
def _blamed_on(path, what):
    """Say in one sentence what failed in the file of an entry, and where; errors of this package pass as they are."""
    try:
        yield
    except Exception as error:
        if path is None:
            raise
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename) == path]
        if isinstance(error, SyntaxError):
            lines, message = [error.lineno], error.msg
        else:
            message = " ".join(str(error).split())
        where = f" (line {lines[-1]} of {path.name})" if lines else ""
        raise ValueError(f"{what}: {type(error).__name__}: {message.rstrip('.')}{where}.") from error


def _chosen(Z, needs):
    """Return the representations that are asked for, as the arguments of `fit` after the labels."""
    if needs is None:
        return ()
    return (Z[needs],) if isinstance(needs, str) else ([Z[name] for name in needs],)


def _probability_of_1(Q, n, name):
    """Return the probability of label 1 of what an entrant forecasts, shape (n,)."""
    q = Q[:, 1] if Q.ndim == 2 and Q.shape[1] == 2 else Q
    if q.shape != (n,) or not np.isfinite(q).all() or q.min() < 0 or q.max() > 1:
        raise ValueError(f"predict_proba gave shape {Q.shape} on {name}; expected ({n},) or ({n}, 2) probabilities.")
    if Q.ndim == 2 and not np.allclose(Q.sum(axis=1), 1, atol=SUM_TOLERANCE):
        raise ValueError(
            f"predict_proba gave rows that do not sum to 1 on {name}; expected probabilities of both labels."
        )
    return q


if __name__ == "__main__":
    main()
