"""How global calibrators with few and with many parameters fare on 100 classes, as the calibration set grows.

``python -m clustcal.experiments.alternatives.dirichlet_collapse OUTPUTS.npz ...`` writes
``results/dirichlet_collapse.csv``, which a chapter of the book shows. Each file holds what a classifier said about a
test set: ``predictions`` (n, L) and
``ground_truth`` (n,). Ours are the CIFAR-100 outputs of DenseNet-BC-100 and WideResNet-16-4 that the netcal project
publishes (github.com/EFS-OpenSource/calibration-framework, examples/classification/records/cifar100, Apache-2.0).
"""

import argparse
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import clone

from clustcal import DirichletCalibration, TemperatureScaling, VectorScaling, metrics
from clustcal.calibrators.parametric import ParametricCalibrator
from clustcal.core import solvers
from clustcal.core.families import DirichletFamily
from clustcal.experiments.results import FOLDER

FILE = FOLDER / "dirichlet_collapse.csv"
SEEDS = (0, 1, 2)
ROWS_PER_CLASS = (5, 10, 20, 50)  # of the calibration set
TEST_ROWS_PER_CLASS = 50
N_BINS = 15


class DirichletNearTemperature(ParametricCalibrator):
    """Dirichlet calibration pulled towards temperature scaling, where weight decay pulls towards equal probabilities.

    Parameters
    ----------
    shrinkage : float, default=0.1
        Weight of the squared distance of (V, b) from (1 / T times the identity, 0), beside the mean NLL.
    classes : array-like of shape (L,), optional
    """

    def __init__(self, shrinkage=0.1, classes=None):
        self.shrinkage = shrinkage
        self.classes = classes

    def family(self, n_classes):
        """Return the family of Dirichlet calibration, without a penalty of its own."""
        return DirichletFamily(n_classes)

    def _fit(self, data):
        """Fit a temperature, then the full map near it."""
        family = self.family(data.n_classes)
        prior = TemperatureScaling(prior=None)._fit_to(data).theta_ * family.identity
        features = data.scores.features(family)
        found = solvers.fit(
            family, features, data.codes, data.weights[:, None], prior=prior, shrinkage=self.shrinkage
        ).warn()
        self.theta_ = found.theta[0]
        self.n_iter_ = found.n_iter


METHODS = {
    "temperature": TemperatureScaling(prior=None),
    "vector": VectorScaling(prior=None),
    "Dirichlet": DirichletCalibration(l2=1e-3, shrink_to="zero"),  # the paper's weight decay
    "Dirichlet, l2 = 0.1": DirichletCalibration(l2=0.1, shrink_to="zero"),
    "Dirichlet near temperature": DirichletNearTemperature(shrinkage=0.1),
}


def learning_curves(P, y, *, seeds=SEEDS, rows_per_class=ROWS_PER_CLASS, test_rows_per_class=TEST_ROWS_PER_CLASS):
    """Fit every method on calibration sets of growing size and judge it on rows that none of them holds.

    Parameters
    ----------
    P : ndarray of shape (n, L)
    y : ndarray of shape (n,), int
        Column of P that happened.
    seeds : sequence of int
        Of the draws; the sets of one seed are nested.
    rows_per_class : sequence of int
        Rows of every class in the calibration set.
    test_rows_per_class : int

    Returns
    -------
    curves : DataFrame
        One line per seed, size and method: ``seed``, ``n`` (size of the calibration set), ``method`` ("none": as it
        is), ``parameters`` (how many are fitted), ``nll_cal`` (on the rows of the fit), ``nll``, ``accuracy`` and
        ``ece`` (15 bins of equal width, L1, top label) on the test rows.

    Raises
    ------
    ValueError
        If a class has too few rows.
    """
    enough = test_rows_per_class + max(rows_per_class)
    fewest = np.bincount(y, minlength=P.shape[1]).min()
    if fewest < enough:
        raise ValueError(f"y has a class with {fewest} rows; expected at least {enough} of every class.")
    lines = []
    for seed in seeds:
        rng = np.random.default_rng(seed)
        shuffled = [rng.permutation(np.flatnonzero(y == k)) for k in range(P.shape[1])]
        rows_of = lambda first, last, shuffled=shuffled: np.concatenate([rows[first:last] for rows in shuffled])
        test = rows_of(0, test_rows_per_class)
        for size in rows_per_class:
            cal = rows_of(test_rows_per_class, test_rows_per_class + size)
            lines += [{"seed": seed, "n": len(cal), **line} for line in _judge_all(P, y, cal, test)]
    return pd.DataFrame(lines)


def _judge_all(P, y, cal, test):
    """Yield the line of every method on one calibration set."""
    yield {"method": "none", "parameters": 0, **_judge(y, cal, P[cal], test, P[test])}
    for name, method in METHODS.items():
        fitted = clone(method).fit(P[cal], y[cal])
        forecasts = fitted.predict_proba(P[cal]), fitted.predict_proba(P[test])
        yield {"method": name, "parameters": fitted.theta_.size, **_judge(y, cal, forecasts[0], test, forecasts[1])}


def _judge(y, cal, Q_cal, test, Q_test):
    return {
        "nll_cal": metrics.log_loss(y[cal], Q_cal),
        "nll": metrics.log_loss(y[test], Q_test),
        "accuracy": metrics.accuracy(y[test], Q_test),
        "ece": metrics.ece(y[test], Q_test, n_bins=N_BINS, kind="top-label"),
    }


def read():
    """Return the curves that the command wrote, with the column ``model`` in front."""
    return pd.read_csv(FILE)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("outputs", nargs="+", type=Path, help="files with predictions and ground_truth")
    parser.add_argument("--to", type=Path, default=FILE, help="the CSV file to write")
    options = parser.parse_args(arguments)
    curves = {}
    for path in options.outputs:
        with np.load(path) as stored:
            P, y = stored["predictions"].astype(float), stored["ground_truth"]
        curves[path.stem] = learning_curves(P / P.sum(axis=1, keepdims=True), y)
    table = pd.concat(curves, names=["model"]).reset_index("model")
    table.to_csv(options.to, index=False, float_format="%.6f", lineterminator="\n")


if __name__ == "__main__":
    main()
