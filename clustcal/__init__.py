"""Probability calibration, global and clustered: the package under the clustcal book.

Scores in, calibrated probabilities out::

    from clustcal import BetaCalibration, ClusteredCalibration, metrics

    calibrator = ClusteredCalibration(BetaCalibration(), random_state=0).fit(P_cal, y_cal, Z_cal)
    metrics.log_loss(y_test, calibrator.predict_proba(P_test, Z_test))
"""

from clustcal import datasets, metrics, plots, representations
from clustcal.binning import BayesianBinning, BinwiseCalibration, HistogramBinning, IsotonicCalibration
from clustcal.calibrators import (
    BetaCalibration,
    DirichletCalibration,
    PlattScaling,
    TemperatureScaling,
    VectorScaling,
)
from clustcal.classifier import CalibratedClassifier
from clustcal.clustered import ClusteredCalibration, SoftKMeans
from clustcal.clustered_cv import ClusteredCalibrationCV
from clustcal.ensemble import EnsembleTemperatureScaling
from clustcal.local import LocalRecalibration

__version__ = "0.1.0"

__all__ = [
    "BayesianBinning",
    "BetaCalibration",
    "BinwiseCalibration",
    "CalibratedClassifier",
    "ClusteredCalibration",
    "ClusteredCalibrationCV",
    "DirichletCalibration",
    "EnsembleTemperatureScaling",
    "HistogramBinning",
    "IsotonicCalibration",
    "LocalRecalibration",
    "PlattScaling",
    "SoftKMeans",
    "TemperatureScaling",
    "VectorScaling",
    "datasets",
    "metrics",
    "plots",
    "representations",
]
