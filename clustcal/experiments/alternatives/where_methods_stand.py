"""Where global calibrators stand: all of ours and those of other libraries, on scores of many models, by log-loss.

``python -m clustcal.experiments.alternatives.where_methods_stand`` computes what ``results/where_methods_stand/`` lacks
and can be stopped at any moment. A draw takes n rows at random to calibrate on; all methods get the same. Scores that
come with the package and those of other classifiers are tested on their test part, those of networks on up to 5,000
of the rows that were not drawn.
Networks must be in the cache (`clustcal.experiments.deep.outputs`), the other libraries are in the extras ``bench`` and
``interop``.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path

import numpy as np
from scipy.special import log_softmax, logit
from sklearn.base import clone
from threadpoolctl import threadpool_limits

import clustcal
from clustcal import metrics
from clustcal.datasets import load_scores
from clustcal.datasets.fetching import cache_dir
from clustcal.experiments import runner
from clustcal.experiments.alternatives import other_classifiers
from clustcal.experiments.deep.outputs import load_outputs
from clustcal.experiments.provenance import LIBRARIES, describe_commit, describe_versions
from clustcal.experiments.results import FOLDER
from clustcal.experiments.store import Store

KEY = ("dataset", "n", "draw", "method", "arm")
COLUMNS = (*KEY, "n_classes", "n_test", "nll_base", "nll", "brier_base", "brier", "fit_seconds", "commit")
TEXT = ("dataset", "method", "arm", "commit")
VERSIONS = "versions.txt"
DRAWS = 10
# Of few rows draws differ much more, so that some methods have more draws of up to so many rows on some scores.
DRAWS_OF_FEW, FEW = 30, 300
MORE_OF_FEW = ("adult", "credit_card_default", "stroke-seed0")
SIZES = (20, 50, 100, 300, 1000, 3000)
SIZES_OF_OTHERS = (20, 100, 1000)
SIZES_OF_NETWORKS = (300, 1000, 5000)
MOST_TEST_ROWS = 5000
SCORES = {"nll": metrics.log_loss, "brier": metrics.brier}
EPS = np.finfo(float).eps
# Maximum likelihood of more parameters than this per row takes minutes and predicts nothing.
FEW_CLASSES = 10


# Whether a prior of ours was chosen with an eye on scores, on others that share their rows, or without.
TUNED, SHARES_ROWS, NOT_IN_VIEW = "in view", "shares rows with one in view", "not in view"


@dataclass(frozen=True)
class Source:
    """Scores to compare on. The name begins with that of the data set, and a hyphen; ``view`` is one of the above."""

    name: str
    load: Callable
    view: str
    sizes: tuple[int, ...]


@dataclass(frozen=True)
class Parts:
    """A pool of rows to calibrate on, and the rows to test on; without these, the rest of the pool."""

    P: np.ndarray
    y: np.ndarray
    P_test: np.ndarray | None = None
    y_test: np.ndarray | None = None


def _shipped(name, seed=0):
    scores = load_scores(name, seed)
    return Parts(scores.P_cal, scores.y_cal, scores.P_test, scores.y_test)


def _network(name, only_classes_that_occur=False):
    outputs = load_outputs(name)
    logits, y = outputs.logits.astype(float), outputs.y
    if only_classes_that_occur:
        classes, y = np.unique(y, return_inverse=True)
        logits = logits[:, classes]
    return Parts(np.exp(log_softmax(logits, axis=1)), y)


def _imagenet():
    with np.load(cache_dir() / "imagenet_val1300_lite0" / "lite0_outputs.npz") as stored:
        return Parts(np.exp(log_softmax(stored["logits"].astype(float), axis=1)), stored["labels"].astype(int))


# Forests widened the prior of the two slopes of Beta calibration; nothing was changed for the others.
OTHERS = (
    ("bank_marketing", "adaboost", NOT_IN_VIEW),
    ("bank_marketing", "bayes", NOT_IN_VIEW),
    ("bank_marketing", "forest", TUNED),
    ("breast_cancer", "adaboost", NOT_IN_VIEW),
    ("made_up", "adaboost", NOT_IN_VIEW),
)


def _sources():
    for name in ("credit_approval", "diabetes130", "diabetes130-los", "support2"):
        yield Source(name, lambda name=name: _shipped(name), NOT_IN_VIEW, SIZES)
    for name in ("adult", "credit_card_default"):
        yield Source(name, lambda name=name: _shipped(name), TUNED, SIZES)
    for seed in range(5):
        view = TUNED if seed == 0 else SHARES_ROWS
        yield Source(f"stroke-seed{seed}", lambda seed=seed: _shipped("stroke", seed), view, SIZES)
    for name, classifier, view in OTHERS:
        load = lambda name=name, classifier=classifier: Parts(*other_classifiers.scores(name, classifier))
        yield Source(f"{name}-{classifier}", load, view, SIZES_OF_OTHERS)
    # The last two made the priors for few classes stronger: with the weaker ones temperature scaling was better there.
    tuned = ("cifar10-wideresnet", "cifar100-wideresnet", "cifar100-densenet", "bloodmnist-rebuilt", "emotion")
    views = dict.fromkeys(("cifar100-resnet20", "cifar100-overconfident"), SHARES_ROWS)
    views |= {"tiny-imagenet": NOT_IN_VIEW} | dict.fromkeys(tuned, TUNED)
    for name, view in views.items():
        load = lambda name=name: _network(name, only_classes_that_occur=name == "tiny-imagenet")
        yield Source(name, load, view, SIZES_OF_NETWORKS)
    yield Source("imagenet-lite0", _imagenet, TUNED, (300, 650))


SOURCES = {source.name: source for source in _sources()}


@dataclass(frozen=True)
class Method:
    """A calibrator: ``fit(P, y)`` returns what turns probabilities (n, L) into calibrated ones.

    ``kind``: for "binary" or "multiclass" scores, or "both"; ``few_classes``: not for more than ten classes; ``draws``:
    at most so many.
    """

    name: str
    fit: Callable
    kind: str = "both"
    few_classes: bool = False
    draws: int = DRAWS

    def serves(self, n_classes, draw):
        is_of_kind = self.kind in ("both", "binary" if n_classes == 2 else "multiclass")
        return is_of_kind and draw < self.draws and not (self.few_classes and n_classes > FEW_CLASSES)


def _ours(calibrator):
    def fit(P, y):
        # Rows of some of many classes may be missing.
        return clone(calibrator).set_params(classes=np.arange(P.shape[1])).fit(P, y).predict_proba

    return fit


def _of_probmetrics(name, **settings):
    def fit(P, y):
        return import_module("probmetrics.calibrators").get_calibrator(name, **settings).fit(P, y).predict_proba

    return fit


def _class_of_probmetrics(name):
    def fit(P, y):
        return getattr(import_module("probmetrics.calibrators"), name)().fit(P, y).predict_proba

    return fit


def _spline_of_lucena(P, y):
    model = import_module("splinecalib").SplineCalib()
    model.fit(P[:, 1], y)
    return lambda P: np.column_stack([1 - model.calibrate(P[:, 1]), model.calibrate(P[:, 1])])


def _sigmoid_of_scikit_learn(P, y):
    features = lambda P: logit(np.clip(P[:, 1], EPS, 1 - EPS))
    model = import_module("sklearn.calibration")._SigmoidCalibration().fit(features(P), y)
    predict = lambda P: model.predict(features(P))
    return lambda P: np.column_stack([1 - predict(P), predict(P)])


def _one_vs_rest(calibrator):
    return _ours(clustcal.OneVsRestCalibration(calibrator))


SOME = 6  # draws of what takes seconds with many classes, where the others take fractions of one
METHODS = (
    Method("temperature", _ours(clustcal.TemperatureScaling()), draws=DRAWS_OF_FEW),
    Method("temperature, no prior", _ours(clustcal.TemperatureScaling(prior=None)), draws=DRAWS_OF_FEW),
    Method("ensemble temperature", _ours(clustcal.EnsembleTemperatureScaling())),
    Method("Platt", _ours(clustcal.PlattScaling()), "binary", draws=DRAWS_OF_FEW),
    Method("Platt, no prior", _ours(clustcal.PlattScaling(prior=None)), "binary", draws=DRAWS_OF_FEW),
    Method("Beta", _ours(clustcal.BetaCalibration()), "binary", draws=DRAWS_OF_FEW),
    Method("Beta, no prior", _ours(clustcal.BetaCalibration(prior=None)), "binary", draws=DRAWS_OF_FEW),
    Method("quadratic", _ours(clustcal.QuadraticScaling()), "binary"),
    Method("quadratic, no prior", _ours(clustcal.QuadraticScaling(prior=None)), "binary"),
    Method("spline", _ours(clustcal.SplineScaling()), "binary", draws=DRAWS_OF_FEW),
    Method("histogram, equal width", _ours(clustcal.HistogramBinning())),
    Method("histogram, equal mass", _ours(clustcal.HistogramBinning(strategy="quantile"))),
    Method("scaling-binning", _ours(clustcal.ScalingBinning()), "binary"),
    Method("BBQ", _ours(clustcal.BayesianBinning()), "binary"),
    Method("isotonic", _ours(clustcal.IsotonicCalibration()), draws=DRAWS_OF_FEW),
    Method("centred isotonic", _ours(clustcal.CentredIsotonicCalibration())),
    Method("Venn-Abers", _ours(clustcal.VennAbersCalibration()), draws=DRAWS_OF_FEW),
    Method("Platt, one vs rest", _one_vs_rest(clustcal.PlattScaling()), "multiclass"),
    Method("spline, one vs rest", _one_vs_rest(clustcal.SplineScaling()), "multiclass", draws=SOME),
    Method("vector", _ours(clustcal.VectorScaling()), "multiclass"),
    Method("vector, no prior", _ours(clustcal.VectorScaling(prior=None)), "multiclass", few_classes=True),
    Method("matrix", _ours(clustcal.MatrixScaling()), "multiclass"),
    Method("matrix, no prior", _ours(clustcal.MatrixScaling(prior=None)), "multiclass", few_classes=True),
    Method(
        "Dirichlet, the paper's",
        _ours(clustcal.DirichletCalibration(l2=1e-3, shrink_to="zero")),
        "multiclass",
        few_classes=True,
    ),
    Method("Dirichlet", _ours(clustcal.DirichletCalibration()), "multiclass"),
    Method("structured", _ours(clustcal.StructuredScaling()), "multiclass"),
    Method("scikit-learn: sigmoid", _sigmoid_of_scikit_learn, "binary", draws=DRAWS_OF_FEW),
    Method("probmetrics: quadratic", _of_probmetrics("quadratic-scaling"), "binary"),
    Method("probmetrics: CDF spline", _class_of_probmetrics("CDFSplineCalibrator"), "binary"),
    Method("splinecalib: spline", _spline_of_lucena, "binary"),
    Method("probmetrics: temperature, mixed", _of_probmetrics("ts-mix")),
    Method("probmetrics: vector", _class_of_probmetrics("VectorScalingCalibrator"), "multiclass", few_classes=True),
    Method("probmetrics: SVS", _of_probmetrics("svs", svs_print_init_info=False), draws=DRAWS_OF_FEW),
    Method("probmetrics: SMS", _of_probmetrics("sms", sms_print_init_info=False)),
)


def _has_rows(parts, n):
    """Whether n rows leave enough: as many to test on, where these come from the same pool."""
    return n <= (len(parts.y) if parts.P_test is not None else len(parts.y) // 2)


def draws_of(name, n):
    """Return how many draws of n rows of a source there are."""
    return DRAWS_OF_FEW if name in MORE_OF_FEW and n <= FEW else DRAWS


@cache
def load_parts(name):
    """Return the rows of a source, with a column for every class."""
    parts = SOURCES[name].load()
    both = lambda P: np.column_stack([1 - P, P]) if P is not None and P.ndim == 1 else P
    return Parts(both(parts.P), parts.y, both(parts.P_test), parts.y_test)


def draw_rows(parts, n, draw):
    """Return the calibration rows of a draw, and the probabilities and labels to test on.

    Both classes of two occur at least once, as no method serves one alone.
    """
    rng = np.random.default_rng([draw, n])
    while True:
        order = rng.permutation(len(parts.y))
        if len(np.unique(parts.y[order[:n]])) > 1:
            break
    if parts.P_test is not None:
        return order[:n], parts.P_test, parts.y_test
    test = order[n : n + MOST_TEST_ROWS]
    return order[:n], parts.P[test], parts.y[test]


@dataclass(frozen=True)
class StandingStudy:
    """What `runner.run` needs to know. A unit is (source, n, draw); ``draws``: of every source and size at most."""

    names: tuple[str, ...] = tuple(SOURCES)
    draws: int = DRAWS_OF_FEW

    def units(self):
        """Return all units, draw by draw, so that a run that is stopped has all sources."""
        return [
            (name, n, draw)
            for draw in range(self.draws)
            for name in self.names
            for n in SOURCES[name].sizes
            if draw < draws_of(name, n) and _has_rows(load_parts(name), n)
        ]

    def missing(self, unit, known):
        """Return the methods that a unit lacks."""
        name, n, draw = unit
        n_classes = load_parts(name).P.shape[1]
        names = [method.name for method in METHODS if method.serves(n_classes, draw)]
        return [one for one in names if (name, n, draw, one, "") not in known]

    def compute(self, data, unit, missing):
        """Return the rows of a unit."""
        return judge(data, *unit, [method for method in METHODS if method.name in missing])

    def cost(self, unit):
        """Return the seconds of a unit, about."""
        return load_parts(unit[0]).P.shape[1] * unit[1] / 50_000 + 1


def judge(parts, name, n, draw, methods):
    """Return one row per method, fitted to one draw."""
    rows, P_test, y_test = draw_rows(parts, n, draw)
    P, y = parts.P[rows], parts.y[rows]
    common = {"dataset": name, "n": n, "draw": draw, "n_classes": P.shape[1], "n_test": len(y_test)}
    score = lambda Q, suffix="": {
        f"{name}{suffix}": round(of(y_test, Q, labels=np.arange(P.shape[1])), 6) for name, of in SCORES.items()
    }
    common |= score(P_test, "_base")
    found = []
    for method in methods:
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of thousands of fits; what a method returns is what is judged
            start = time.process_time()
            try:
                predict = method.fit(P, y)
            except Exception as error:  # a library that cannot take these rows has no result
                print(f"{method.name} on {name}, n = {n}: {type(error).__name__}: {error}", flush=True)
                continue
            seconds = time.process_time() - start
            Q = np.asarray(predict(P_test), dtype=float)
        Q = np.clip(Q, 0, 1)
        Q /= Q.sum(axis=1, keepdims=True)
        known = {"method": method.name, "fit_seconds": round(seconds, 4), "commit": describe_commit()}
        found.append(common | score(Q) | known)
    return found


def read(folder=FOLDER):
    """Return the committed rows, with the columns ``view`` and ``improvement``, the share of log-loss that is gone."""
    rows = Store(Path(folder) / "where_methods_stand", KEY, COLUMNS, TEXT).read()
    return rows.assign(
        view=rows["dataset"].map({name: source.view for name, source in SOURCES.items()}),
        improvement=1 - rows["nll"] / rows["nll_base"],
    )


def main(arguments=None):
    """Run the command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--results", type=Path, default=FOLDER, metavar="DIR")
    parser.add_argument("--names", nargs="+", default=list(SOURCES), choices=list(SOURCES))
    parser.add_argument("--draws", type=int, default=DRAWS_OF_FEW)
    options = parser.parse_args(arguments)
    store = Store(options.results / "where_methods_stand", KEY, COLUMNS, TEXT)
    store.folder.mkdir(exist_ok=True)
    (store.folder / VERSIONS).write_text(
        describe_versions((*LIBRARIES, "probmetrics", "splinecalib")) + "\n", encoding="utf-8"
    )
    print(runner.run(StandingStudy(tuple(options.names), options.draws), store, load=load_parts))


if __name__ == "__main__":
    main()
