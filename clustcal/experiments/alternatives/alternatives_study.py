"""The study of what else one could do with the representation: its units, and how one of them is computed.

A unit is a data set, a base model, a seed and an arm; it trains the model once and judges all methods on the same
test part. What is confirmed, and how, stands in ``results/alternatives/protocol.yml``. Builds on `lineup` for the
methods, on `runner` and `store` for the rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits

from clustcal import metrics
from clustcal.experiments import protocol, runner
from clustcal.experiments.alternatives import base_models
from clustcal.experiments.alternatives.base_models import BASE_MODELS, PACKAGED_ROWS
from clustcal.experiments.alternatives.lineup import Alternative, Case, select
from clustcal.experiments.provenance import LIBRARIES, describe_commit, describe_versions
from clustcal.experiments.results import FOLDER
from clustcal.experiments.store import Store
from clustcal.experiments.tabular.units import known_rows

# Smallest first, so that complete sets exist early.
DATASETS = (
    *("breast_cancer", "credit_approval", "stroke", "affairs", "support2", "credit_card_default", "bank_marketing"),
    *("adult", "diabetes130-los", "diabetes130"),
)
SEEDS = (5, 6, 7, 8, 9)
PLAIN, WEIGHTED, KNOWN_TRUTH, CURVE = "", "weighted", "known-truth", "curve-"
CURVE_ROWS = (100, 300, 1000, 3000)
ARMS = (PLAIN, WEIGHTED, KNOWN_TRUTH, *(f"{CURVE}{n}" for n in CURVE_ROWS))
WEIGHTED_DATASETS = ("stroke", "support2", "credit_card_default")
MAIN_MODEL = "xgb-300x8"  # of the arms

KEY = ("dataset", "base_model", "seed", "arm", "method")
TEXT = ("dataset", "base_model", "arm", "method", "failure", "versions", "commit")
MEASURES = ("nll", "brier", "auc", "ada_ece", "miscalibration", "discrimination", "excess")
COLUMNS = (
    *KEY,
    *("n_train", "n_calibration", "n_test"),
    *MEASURES,
    *("method_seconds", "extraction_seconds", "training_seconds", "failure", "versions", "commit"),
)
ALL_LIBRARIES = (*LIBRARIES, "lightgbm", "mcgrad", "probmetrics", "statsmodels", "venn-abers")


class Unit(NamedTuple):
    """A unit of work: everything that one trained classifier serves."""

    dataset: str
    base_model: str
    seed: int
    arm: str = PLAIN

    def __str__(self):
        return f"{self.dataset} {self.base_model} seed {self.seed} {self.arm}".rstrip()


@dataclass(frozen=True)
class AlternativesStudy:
    """What `runner.run` needs to know: the units, what each lacks, and how it is computed.

    Parameters
    ----------
    names : sequence of str
        Data sets.
    methods : sequence of Alternative
    models, seeds, arms : sequence
        An arm other than the plain one is run on one base model, and the weighted one on three data sets.
    """

    names: Sequence[str] = DATASETS
    methods: Sequence[Alternative] = field(default_factory=lambda: select(["post"]))
    models: Sequence[str] = tuple(BASE_MODELS)
    seeds: Sequence[int] = SEEDS
    arms: Sequence[str] = (PLAIN,)

    def units(self):
        """Return all units, in the order in which they are run: data set by data set."""
        every = product(self.names, self.arms, self.models, self.seeds)
        return [Unit(name, model, seed, arm) for name, arm, model, seed in every if _is_run(name, model, arm)]

    def missing(self, unit, known):
        """Return the methods that are missing of a unit, given the keys of the rows of its data set."""
        return [one for one in self.methods if (*unit[:3], unit.arm, one.name) not in known]

    def compute(self, data, unit, wanted):
        """Return the rows of a unit."""
        return run_unit(data, unit, wanted)

    def cost(self, unit):
        """Return about how many seconds a unit takes."""
        trees = min(BASE_MODELS[unit.base_model].settings["n_estimators"], 1000)
        rows = _rows(unit.dataset)
        heavy = 5 if any(one.group == "retrained" for one in self.methods) else 1
        return 5 + rows / 300 * (trees / 300) * heavy


def open_store(folder=FOLDER):
    """Return the store of the study in a folder of results."""
    return Store(Path(folder) / "alternatives", KEY, COLUMNS, TEXT)


def run(store, *, jobs=1, progress=True, load=base_models.load, **choices):
    """Compute what the store lacks of the study; ``choices`` are those of `AlternativesStudy`."""
    return runner.run(AlternativesStudy(**choices), store, load=load, jobs=jobs, progress=progress)


def run_unit(data, unit, wanted):
    """Train one classifier and judge methods on it.

    Parameters
    ----------
    data : Bunch
        With ``X``, ``y`` and ``categorical``.
    unit : Unit
    wanted : sequence of Alternative

    Returns
    -------
    rows : list of dict
        One per method, with the columns of the store. A method of another library that fails has a ``failure`` and no
        measures; one of this package that fails ends the run.
    """
    with threadpool_limits(1):
        if unit.arm == KNOWN_TRUTH:
            data = base_models.with_known_truth(data, unit.seed)
        weighting = WEIGHTED if unit.arm == WEIGHTED else PLAIN
        parts = protocol.split(data.y, unit.seed)
        if unit.arm.startswith(CURVE):
            parts = parts._replace(calibration=_cut(parts.calibration, data.y, int(unit.arm[len(CURVE) :]), unit.seed))
        start = process_time()
        model = base_models.train(data, parts.train, unit.base_model, unit.seed, weighting)
        training = process_time() - start
        X_cal, X_test = data.X.iloc[parts.calibration], data.X.iloc[parts.test]
        P_cal, P_test = (model.predict_proba(X)[:, 1].astype(float) for X in (X_cal, X_test))
        needs = dict.fromkeys(need for one in wanted for need in one.needs)
        Z, extraction = base_models.represent(model, X_cal, X_test, unit.seed, needs)
        sides = ({name: pair[side] for name, pair in Z.items()} for side in (0, 1))
        case = Case(
            P_cal, data.y[parts.calibration], P_test, *sides, unit.seed, data, parts, unit.base_model, weighting
        )
        rows = []
        for one in wanted:
            start = process_time()
            q, failure = _forecast(one, case)
            row = {**unit._asdict(), "method": one.name}
            row |= {f"n_{name}": len(numbers) for name, numbers in parts._asdict().items()}
            if q is not None:
                row |= judge(data.y[parts.test], q, getattr(data, "truth", None), parts.test)
            seconds = {
                "method_seconds": process_time() - start,
                "extraction_seconds": sum(extraction[need] for need in one.needs),
                "training_seconds": training,
            }
            row |= {name: round(value, 4) for name, value in seconds.items()}
            row |= {"failure": failure, "versions": describe_versions(ALL_LIBRARIES), "commit": describe_commit()}
            rows.append(row)
    return rows


def judge(y, q, truth=None, rows=None):
    """Return the measures of a forecast q (n,) of labels y (n,).

    ``miscalibration`` and ``discrimination`` are those parts of the log-loss (CORP); ``excess`` is the mean divergence
    from the true probabilities, where these are known.
    """
    parts = metrics.corp_decomposition(y, q, score="log_loss")
    found = {
        "nll": metrics.log_loss(y, q),
        "brier": metrics.brier(y, q),
        "auc": metrics.roc_auc(y, q),
        "ada_ece": metrics.ada_ece(y, q),
        "miscalibration": parts.miscalibration,
        "discrimination": parts.discrimination,
    }
    if truth is not None:
        p = truth[rows]
        kept = np.clip(q, np.finfo(float).eps, 1 - np.finfo(float).eps)
        found["excess"] = np.mean(p * np.log(p / kept) + (1 - p) * np.log((1 - p) / (1 - kept)))
    # To twelve digits: what follows is of the order in which numbers were added up, and makes files a third larger.
    return {name: float(f"{value:.12g}") for name, value in found.items()}


def _forecast(one, case):
    """Return the forecast of a method, or None and what went wrong."""
    if one.group != "libraries":
        return one.forecast(case), ""
    try:
        q = np.asarray(one.forecast(case), dtype=float)
    except ImportError:
        raise
    except Exception as error:
        return None, " ".join(f"{type(error).__name__}: {error}".split())[:200]
    if q.shape != case.P_test.shape or not np.isfinite(q).all() or q.min() < 0 or q.max() > 1:
        return None, "The forecasts are not probabilities."
    return q, ""


def _cut(rows, y, n, seed):
    """Return n of the rows, stratified."""
    kept, _ = train_test_split(rows, train_size=n, stratify=y[rows], random_state=seed)
    return kept


def _is_run(name, model, arm):
    if arm == PLAIN:
        return True
    if arm == WEIGHTED and name not in WEIGHTED_DATASETS:
        return False
    if arm.startswith(CURVE) and int(arm[len(CURVE) :]) >= protocol.CALIBRATION_SHARE * _rows(name):
        return False
    return model == MAIN_MODEL


def _rows(name):
    return PACKAGED_ROWS[name] if name in PACKAGED_ROWS else known_rows(name)
