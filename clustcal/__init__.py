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
    "BayesianBinning": "calibrators",
    "BetaCalibration": "calibrators",
    "BinwiseCalibration": "calibrators",
    "CalibratedClassifier": "classifier",
    "ClusteredCalibration": "calibrators",
    "ClusteredCalibrationCV": "calibrators",
    "DirichletCalibration": "calibrators",
    "EnsembleTemperatureScaling": "calibrators",
    "HistogramBinning": "calibrators",
    "IsotonicCalibration": "calibrators",
    "LocalRecalibration": "calibrators",
    "PlattScaling": "calibrators",
    "SoftKMeans": "calibrators",
    "TemperatureScaling": "calibrators",
    "VectorScaling": "calibrators",
}
_MODULES = ("calibrators", "datasets", "metrics", "plots", "representations")

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
