"""The design of the study of images and texts, as data: networks, splits, methods and the grid of cells.

The rows of a network are its merged validation and test part; half of them calibrate and half of them test. Builds on
`methods` for the calibrators that the tabular study has too.
"""

from typing import NamedTuple

import numpy as np
from scipy.special import softmax
from sklearn.model_selection import train_test_split

from clustcal import (
    BetaCalibration,
    BinwiseCalibration,
    ClusteredCalibrationCV,
    DirichletCalibration,
    HistogramBinning,
    IsotonicCalibration,
    PlattScaling,
    TemperatureScaling,
    VectorScaling,
)
from clustcal.experiments.methods import Uncalibrated

SEEDS = (0, 1, 2, 3, 4)
TEST_SHARE = 0.5
N_CLUSTERS = (4, 10, 25, 50)
SHRINKAGES = (0.05, 1.0, 5.0, 10.0)
TEMPERATURES = (1.0, 0.1)  # of the memberships: the paper's, and ours
PENALTY = 1e-3  # of Dirichlet calibration, the paper's weight decay
FOLDS = 5
FEW_CLASSES = 10  # up to this many everything is run
MOST_CLASSES = 200  # up to this many Dirichlet calibration is run, and clusterings for every seed


class Study(NamedTuple):
    """One network in the study.

    Attributes
    ----------
    name : str
        Of the rows in the results.
    network : str
        See `network_runs.NAMES`.
    only_classes_that_occur : bool
        Take softmax over the classes that have rows, and over no other.
    """

    name: str
    network: str
    only_classes_that_occur: bool = False


STUDIES = {
    study.name: study
    for study in (
        Study("emotion", "emotion"),
        Study("imdb-overconfident", "imdb-overconfident"),
        Study("imdb", "imdb"),
        Study("bloodmnist-rebuilt", "bloodmnist-rebuilt"),
        Study("bloodmnist-rebuilt-cut", "bloodmnist-rebuilt-cut"),
        Study("bloodmnist", "bloodmnist"),
        Study("bloodmnist-cut", "bloodmnist-cut"),
        Study("cifar100-overconfident", "cifar100-overconfident"),
        Study("cifar100-resnet20", "cifar100-resnet20"),
        Study("cifar100-wideresnet", "cifar100-wideresnet"),
        Study("cifar100-densenet", "cifar100-densenet"),
        Study("cifar10-wideresnet", "cifar10-wideresnet"),
        Study("tiny-imagenet", "tiny-imagenet", only_classes_that_occur=True),
        Study("tiny-imagenet-1000", "tiny-imagenet"),
        Study("imagenet", "imagenet"),
    )
}


class Part(NamedTuple):
    """Rows to calibrate or to test on: probabilities (n, L), or (n,) of the second of two classes; labels; layers."""

    P: np.ndarray
    y: np.ndarray
    Z: dict


def prepare(outputs, only_classes_that_occur=False):
    """Return what a network says as one `Part`.

    Parameters
    ----------
    outputs : Outputs
    only_classes_that_occur : bool
    """
    logits, y = outputs.logits.astype(np.float64), outputs.y
    if only_classes_that_occur:
        classes, y = np.unique(y, return_inverse=True)
        logits = logits[:, classes]
    P = softmax(logits, axis=1)
    # Of two classes the second: the metrics are then those of the paper's tables of binary data.
    return Part(P[:, 1] if P.shape[1] == 2 else P, y, outputs.representations)


def halve(part, seed):
    """Cut rows into a half to calibrate and a half to test on, with equal shares of the classes.

    Returns
    -------
    calibration, test : Part
    """
    rows = np.arange(len(part.y))
    halves = train_test_split(rows, test_size=TEST_SHARE, stratify=part.y, random_state=seed)
    return tuple(
        Part(part.P[half], part.y[half], {name: Z[half].astype(np.float64) for name, Z in part.Z.items()})
        for half in map(np.sort, halves)
    )


def count_classes(P):
    """Return L."""
    return 2 if P.ndim == 1 else P.shape[1]


def get_families(n_classes):
    """Return the parametric families by their names in the paper's two tables.

    ``Dirichlet-TS``, ours, shrinks Dirichlet calibration to temperature scaling instead of to zero.
    """
    if n_classes == 2:
        makers = {"Platt": PlattScaling, "Beta": BetaCalibration, "TS": TemperatureScaling}
        return {name: maker(prior=None) for name, maker in makers.items()}
    classes = np.arange(n_classes)
    return {
        "Vector": VectorScaling(classes=classes, prior=None),
        "Dirichlet": DirichletCalibration(l2=PENALTY, classes=classes, shrink_to="zero"),
        "Dirichlet-TS": DirichletCalibration(l2=PENALTY, classes=classes, shrink_to="temperature"),
        "TS": TemperatureScaling(classes=classes, prior=None),
    }


def get_global_methods(n_classes, has_layers):
    """Return the methods without clusters, and ours that choose their clusters themselves, by name.

    Bin-wise Dirichlet calibration is left out where there are many classes: with ten bins of a hundred rows each it
    would fit ten thousand parameters to a hundred rows. Dirichlet calibration itself is left out where there are a
    thousand: its million parameters take hours (`feasibility` measures a step).
    """
    classes = None if n_classes == 2 else np.arange(n_classes)
    families = get_families(n_classes)
    if n_classes > MOST_CLASSES:
        families = {name: family for name, family in families.items() if not name.startswith("Dirichlet")}
    binwise = {
        f"Binwise-{name}": BinwiseCalibration(family, n_bins=10, min_bin_size=30)
        for name, family in families.items()
        if n_classes <= FEW_CLASSES or name in ("Vector", "TS")
    }
    methods = {"Base": Uncalibrated(classes=classes), **families, **binwise}
    methods |= {
        "Histogram-Binning": HistogramBinning(prior=(1, 1), classes=classes),
        "Isotonic": IsotonicCalibration(out_of_bounds="clip", classes=classes),
    }
    if has_layers and n_classes <= FEW_CLASSES:
        methods |= {
            f"{name}-CV": ClusteredCalibrationCV(family) for name, family in families.items() if name != "Dirichlet"
        }
    return methods


def get_cells(n_classes, layers, seed):
    """Return which clusterings are run for which families: a list of (layer, K, names of families).

    With few classes all of them. With a hundred or more the cost of vector scaling grows with K times the classes, and
    that of Dirichlet calibration with K times their square: temperature scaling runs in all cells, vector scaling up
    to K = 10, and to 50 for one seed and up to a hundred classes, Dirichlet calibration at K = 4 and 10 for
    one seed and up to a hundred classes. With a thousand all of this is for one seed.
    """
    if n_classes > MOST_CLASSES and seed != SEEDS[0]:
        return []
    families = list(get_families(n_classes))
    cells = []
    for layer in layers:
        for n_clusters in N_CLUSTERS:
            chosen = families
            if n_classes > FEW_CLASSES:
                chosen = ["TS"]
                if n_clusters <= 10 or (seed == SEEDS[0] and n_classes <= 100):
                    chosen = ["Vector", *chosen]
                if n_clusters <= 10 and seed == SEEDS[0] and n_classes <= 100:
                    chosen = ["Dirichlet", "Dirichlet-TS", *chosen]
            cells.append((layer, n_clusters, tuple(chosen)))
    return cells
