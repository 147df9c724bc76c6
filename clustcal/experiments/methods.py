"""The paper's 21 calibration methods, named as in its main table, with its settings; our own variants beside them.

The experiments and the book take their methods from here, so that a name means the same everywhere.
"""

from functools import partial
from typing import NamedTuple

from sklearn.base import clone

from clustcal import (
    BayesianBinning,
    BetaCalibration,
    BinwiseCalibration,
    ClusteredCalibration,
    ClusteredCalibrationCV,
    DirichletCalibration,
    EnsembleTemperatureScaling,
    HistogramBinning,
    IsotonicCalibration,
    LocalRecalibration,
    PlattScaling,
    TemperatureScaling,
    VectorScaling,
)
from clustcal.calibrators.base import Calibrator
from clustcal.experiments.protocol import N_CLUSTERS, SHRINKAGE

# The table's word for a representation, and its name in `protocol.REPRESENTATIONS`.
REPRESENTATIONS = {"Coverage": "coverage", "SHAP": "shap", "Data": "data"}
BASELINE = "Baseline"
# The parametric families by their names in the table, see `get_families`: the paper compares these with one another.
GLOBAL = ("Platt", "Beta", "TS")
WEIGHT_DECAY = 1e-3  # of Dirichlet calibration


class Uncalibrated(Calibrator):
    """The identity: probabilities as the classifier gave them, the table's "base".

    Parameters
    ----------
    classes : array-like of shape (L,), optional
        The label of each column of P; by default the sorted labels.
    """

    def __init__(self, classes=None):
        self.classes = classes

    def _fit(self, data):
        """There is nothing to learn."""

    def _calibrate(self, scores, Z):
        return scores.P.copy()  # never the caller's own array


class Method(NamedTuple):
    """A row of the main table: its first two columns, the Z that it needs, and its calibrator, unfitted.

    ``representation`` names Z as `protocol.make_representation` does; None where the method needs none.
    """

    name: str
    clustered: str
    representation: str | None
    calibrator: Calibrator

    def make(self, seed):
        """Return a calibrator to fit, with this seed where it draws anything."""
        calibrator = clone(self.calibrator)
        is_random = "random_state" in calibrator.get_params(deep=False)
        return calibrator.set_params(random_state=seed) if is_random else calibrator


class Entry(NamedTuple):
    """A method as it is run: ``settings`` are pairs of a name and a value, empty for the method as the paper has it."""

    method: Method
    settings: tuple[tuple[str, object], ...] = ()

    @property
    def key(self):
        """The columns ``calibrator``, ``representation`` and ``settings`` of its rows."""
        return self.method.name, self.method.clustered, format_settings(self.settings)


def format_settings(settings):
    """Return what the column ``settings`` of a row says: the only place where settings become text.

    Parameters
    ----------
    settings : dict, or sequence of pairs

    Examples
    --------
    >>> from clustcal.experiments.methods import format_settings
    >>> format_settings({"n_clusters": 7, "shrinkage": 0.0})
    'n_clusters=7 shrinkage=0.0'
    """
    return " ".join(f"{name}={value}" for name, value in dict(settings).items())


def get_methods(n_classes=2):
    """Return the 21 methods of the paper: clustered ones first, then baselines.

    Parameters
    ----------
    n_classes : int, default=2
        With more than 2 "Platt" stands for vector scaling and "Beta" for Dirichlet calibration, as in the paper.

    Returns
    -------
    methods : list of Method

    Examples
    --------
    >>> from clustcal.experiments.methods import get_methods
    >>> methods = get_methods()
    >>> len(methods), methods[0].name, methods[0].clustered
    (21, 'Platt', 'Coverage')
    >>> methods[0].make(seed=0)
    ClusteredCalibration(calibrator=PlattScaling(prior=None), random_state=0)
    """
    families = get_families(n_classes)
    clustered = [
        Method(name, word, Z, ClusteredCalibration(family(), n_clusters=N_CLUSTERS, shrinkage=SHRINKAGE))
        for name, family in families.items()
        for word, Z in REPRESENTATIONS.items()
    ]
    parametric = [Method(name, BASELINE, None, family()) for name, family in families.items()]
    binwise = [
        Method(f"Binwise-{name}", BASELINE, None, BinwiseCalibration(family(), n_bins=10, min_bin_size=30))
        for name, family in families.items()
    ]
    others = [
        Method("Histogram Binning", BASELINE, None, HistogramBinning(prior=(1, 1))),
        Method("Bayesian Binning", BASELINE, None, BayesianBinning(criterion="BIC", strategy="uniform")),
        Method("Isotonic", BASELINE, None, IsotonicCalibration(out_of_bounds="clip")),
        Method("ensemble-TS", BASELINE, None, EnsembleTemperatureScaling(loss="ce", bounds=(0.05, 5.0))),
        # The paper does not say on which representation; the features leave the table's word "Baseline" true.
        Method("LoRe", BASELINE, "data", LocalRecalibration()),
        Method("base", BASELINE, None, Uncalibrated()),
    ]
    return [*clustered, *parametric, *binwise, *others]


def get_cv_methods(n_classes=2):
    """Return our three methods that choose K, shrinkage and temperature themselves, one for each family.

    All cluster by SHAP values, the representation of the first row of the paper's table.
    """
    families = get_families(n_classes)
    return [
        Method(f"{name}-CV", "SHAP", REPRESENTATIONS["SHAP"], ClusteredCalibrationCV(family()))
        for name, family in families.items()
    ]


def get_families(n_classes):
    """Return the parametric calibrator behind each of the paper's three names, as a function that makes it.

    The paper fits them by maximum likelihood, Dirichlet calibration with weight decay; our defaults do not.
    """
    temperature = partial(TemperatureScaling, prior=None)
    if n_classes == 2:
        beta = partial(BetaCalibration, prior=None)
        return {"Platt": partial(PlattScaling, prior=None), "Beta": beta, "TS": temperature}
    dirichlet = partial(DirichletCalibration, l2=WEIGHT_DECAY, shrink_to="zero")
    return {"Platt": partial(VectorScaling, prior=None), "Beta": dirichlet, "TS": temperature}
