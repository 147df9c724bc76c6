"""Probability calibration, global and clustered: the package under the clustcal book.

Scores in, calibrated probabilities out::

    from clustcal import BetaCalibration, ClusteredCalibration, metrics

    calibrator = ClusteredCalibration(BetaCalibration(), random_state=0).fit(P_cal, y_cal, Z_cal)
    metrics.log_loss(y_test, calibrator.predict_proba(P_test, Z_test))
"""

from clustcal import metrics, plots
from clustcal.calibrators import (
    BetaCalibration,
    DirichletCalibration,
    PlattScaling,
    TemperatureScaling,
    VectorScaling,
)
from clustcal.clustered import ClusteredCalibration, SoftKMeans

__version__ = "0.1.0"

__all__ = [
    "BetaCalibration",
    "ClusteredCalibration",
    "DirichletCalibration",
    "PlattScaling",
    "SoftKMeans",
    "TemperatureScaling",
    "VectorScaling",
    "metrics",
    "plots",
]
