"""Probability calibration, global and clustered: the package under the clustcal book.

Scores in, calibrated probabilities out::

    from clustcal import BetaCalibration, ClusteredCalibration, metrics

    calibrator = ClusteredCalibration(BetaCalibration(), random_state=0).fit(P_cal, y_cal, Z_cal)
    metrics.log_loss(y_test, calibrator.predict_proba(P_test, Z_test))

Names are loaded when they are first used, because scikit-learn alone takes a second or two to import.
"""

from importlib import import_module

__version__ = "0.1.0"

# Every public class, and the module that holds it.
_HOMES = {
    "BayesianBinning": "binning",
    "BetaCalibration": "calibrators",
    "BinwiseCalibration": "binning",
    "CalibratedClassifier": "classifier",
    "ClusteredCalibration": "clustered",
    "ClusteredCalibrationCV": "clustered_cv",
    "DirichletCalibration": "calibrators",
    "EnsembleTemperatureScaling": "ensemble",
    "HistogramBinning": "binning",
    "IsotonicCalibration": "binning",
    "LocalRecalibration": "local",
    "PlattScaling": "calibrators",
    "SoftKMeans": "clustered",
    "TemperatureScaling": "calibrators",
    "VectorScaling": "calibrators",
}
_MODULES = ("datasets", "metrics", "plots", "representations")

__all__ = [*_HOMES, *_MODULES]


def __getattr__(name):
    if name in _MODULES:
        return import_module(f"{__name__}.{name}")
    if name in _HOMES:
        value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
        globals()[name] = value  # found directly from now on
        return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})
