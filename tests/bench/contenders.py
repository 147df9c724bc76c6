"""Who is measured: each of our calibrators, and each library that has the same method.

A contender is a function ``(P, y) -> predict``, where ``predict(P)`` gives class probabilities (n, L).
"""

from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec

import numpy as np
from scipy.special import logit

import clustcal

EPS = np.finfo(float).eps


@dataclass(frozen=True)
class Contender:
    """One library's version of a method, for binary or for multiclass scores."""

    method: str
    library: str
    fit: callable
    multiclass: bool = False
    up_to: int = 10**9  # rows; what takes minutes beyond is left out

    def is_installed(self):
        return self.library == "clustcal" or find_spec(MODULES.get(self.library, self.library)) is not None


MODULES = {"scikit-learn": "sklearn", "venn-abers": "venn_abers", "cir-model": "cir_model"}


def ours(calibrator):
    def fit(P, y):
        return calibrator.fit(P, y).predict_proba

    return fit


def two_columns(p):
    return np.column_stack([1 - p, p])


def logistic_regression_on_logit(P, y):
    from sklearn.linear_model import LogisticRegression

    features = lambda P: logit(np.clip(P[:, [1]], EPS, 1 - EPS))
    model = LogisticRegression(C=np.inf, solver="newton-cholesky").fit(features(P), y)
    return lambda P: model.predict_proba(features(P))


def isotonic_of_scikit_learn(P, y):
    from sklearn.isotonic import IsotonicRegression

    model = IsotonicRegression(out_of_bounds="clip").fit(P[:, 1], y)
    return lambda P: two_columns(model.predict(P[:, 1]))


def temperature_of_scikit_learn(P, y):
    # The class behind CalibratedClassifierCV(method="temperature"), so that nothing but the fit is timed.
    model = import_module("sklearn.calibration")._TemperatureScaling().fit(np.log(P + EPS), y)
    return lambda P: model.predict(np.log(P + EPS))


def beta_of_betacal(P, y):
    from betacal import BetaCalibration

    model = BetaCalibration(parameters="abm").fit(P[:, [1]], y)
    return lambda P: two_columns(model.predict(P[:, [1]]))


def netcal(path, **parameters):
    """A contender from netcal, by the place of its class."""
    module, name = path.rsplit(".", 1)

    def fit(P, y):
        model = getattr(import_module(f"netcal.{module}"), name)(**parameters)
        scores = (lambda P: P[:, 1]) if P.shape[1] == 2 else (lambda P: P)
        model.fit(scores(P), y)

        def predict(P):
            Q = np.asarray(model.transform(scores(P)))
            return two_columns(Q) if Q.ndim == 1 else Q

        return predict

    return fit


def probmetrics(name):
    """A contender from probmetrics, by the name of its calibrator."""

    def fit(P, y):
        calibrators = import_module("probmetrics.calibrators")
        settings = {f"{name}_print_init_info": False} if name in ("svs", "sms") else {}
        return calibrators.get_calibrator(name, **settings).fit(P, y).predict_proba

    return fit


def probcal(name):
    """A contender from probcal, by the name of its class."""

    def fit(P, y):
        model = getattr(import_module("probcal"), name)().fit(P[:, 1], y)
        return lambda P: two_columns(np.asarray(model.predict_proba(P[:, 1])).reshape(len(P), -1)[:, -1])

    return fit


def shift_of_probcal(P, y):
    """A shift of all logits, so that their mean becomes 1/10."""
    model = import_module("probcal").LogitOffset(target_mean=RATE).fit(P[:, 1])
    return lambda P: two_columns(np.asarray(model.transform(P[:, 1])))


def one_vs_rest_of_probmetrics(P, y):
    calibrators = import_module("probmetrics.calibrators")
    binary = calibrators.BinaryLogisticCalibrator(type="affine")
    return calibrators.MulticlassOneVsRestCalibrator(binary).fit(P, y).predict_proba


def splinecalib(P, y):
    model = import_module("splinecalib").SplineCalib()
    model.fit(P[:, 1], y)
    return lambda P: two_columns(model.calibrate(P[:, 1]))


def venn_abers(P, y):
    model = import_module("venn_abers").VennAbers()
    model.fit(P, y)
    return lambda P: model.predict_proba(P)[0]


def centred_isotonic_of_cir_model(P, y):
    model = import_module("cir_model").CenteredIsotonicRegression(out_of_bounds="clip")
    model.fit(P[:, 1], y.astype(float))
    return lambda P: two_columns(model.predict(P[:, 1]))


def sigmoid_of_scikit_learn(P, y):
    """Platt's smoothed targets, on the logit."""
    features = lambda P: logit(np.clip(P[:, 1], EPS, 1 - EPS))
    model = import_module("sklearn.calibration")._SigmoidCalibration().fit(features(P), y)
    return lambda P: two_columns(model.predict(features(P)))


RATE = 0.1
paper_dirichlet = clustcal.DirichletCalibration(l2=1e-3, shrink_to="zero")
near_temperature = clustcal.DirichletCalibration(l2=1.0, shrink_to="temperature")
BBQ = {"score_function": "BIC", "equal_intervals": True, "detection": False, "independent_probabilities": False}
CONTENDERS = [
    Contender("Platt, prior", "clustcal", ours(clustcal.PlattScaling())),
    Contender("Platt, prior", "scikit-learn", sigmoid_of_scikit_learn),
    Contender("Venn-Abers", "clustcal", ours(clustcal.VennAbersCalibration()), up_to=100_000),
    Contender("Venn-Abers", "venn-abers", venn_abers, up_to=100_000),
    Contender("centred isotonic", "clustcal", ours(clustcal.CentredIsotonicCalibration()), up_to=100_000),
    Contender("centred isotonic", "cir-model", centred_isotonic_of_cir_model, up_to=100_000),
    Contender("quadratic", "clustcal", ours(clustcal.QuadraticScaling(prior=None))),
    Contender("quadratic", "probmetrics", probmetrics("quadratic-scaling")),
    Contender("spline", "clustcal", ours(clustcal.SplineScaling()), up_to=100_000),
    Contender("spline", "probcal", probcal("SplineCalibrator"), up_to=100_000),
    Contender("spline", "splinecalib", splinecalib, up_to=10_000),
    Contender("scaling-binning", "clustcal", ours(clustcal.ScalingBinning(clustcal.PlattScaling(prior=None)))),
    Contender("scaling-binning", "probcal", probcal("ScalingBinningCalibrator")),
    Contender("prior correction", "clustcal", ours(clustcal.PriorCorrection(rates=RATE))),
    Contender("prior correction", "probcal", shift_of_probcal),
    Contender(
        "one vs rest",
        "clustcal",
        ours(clustcal.OneVsRestCalibration(clustcal.PlattScaling(prior=None))),
        multiclass=True,
    ),
    Contender("one vs rest", "probmetrics", one_vs_rest_of_probmetrics, multiclass=True),
    Contender("structured", "clustcal", ours(clustcal.StructuredScaling()), multiclass=True),
    Contender("structured", "probmetrics", probmetrics("sms"), multiclass=True),
    Contender("structured, beside SVS", "clustcal", ours(clustcal.StructuredScaling()), multiclass=True),
    Contender("structured, beside SVS", "probmetrics", probmetrics("svs"), multiclass=True),
    Contender("vector, prior", "clustcal", ours(clustcal.VectorScaling()), multiclass=True),
    Contender("vector, prior", "probmetrics", probmetrics("svs"), multiclass=True),
    Contender("Dirichlet, prior", "clustcal", ours(clustcal.DirichletCalibration()), multiclass=True),
    Contender("Dirichlet, prior", "probmetrics", probmetrics("sms"), multiclass=True),
    Contender("Platt", "clustcal", ours(clustcal.PlattScaling(prior=None))),
    Contender("Platt", "scikit-learn", logistic_regression_on_logit),
    Contender("Platt", "probcal", probcal("PlattCalibrator")),
    Contender("temperature", "clustcal", ours(clustcal.TemperatureScaling(prior=None))),
    Contender("temperature", "netcal", netcal("scaling.TemperatureScaling")),
    Contender("temperature", "probmetrics", probmetrics("temp-scaling")),
    Contender("Beta", "clustcal", ours(clustcal.BetaCalibration(prior=None))),
    Contender("Beta", "betacal", beta_of_betacal),
    Contender("Beta", "probcal", probcal("BetaCalibrator")),
    Contender("histogram", "clustcal", ours(clustcal.HistogramBinning(n_bins=15))),
    Contender("histogram", "netcal", netcal("binning.HistogramBinning", bins=15)),
    Contender("BBQ (BIC)", "clustcal", ours(clustcal.BayesianBinning()), up_to=100_000),
    Contender("BBQ (BIC)", "netcal", netcal("binning.BBQ", **BBQ), up_to=100_000),
    Contender("isotonic", "clustcal", ours(clustcal.IsotonicCalibration())),
    Contender("isotonic", "scikit-learn", isotonic_of_scikit_learn),
    Contender("temperature", "clustcal", ours(clustcal.TemperatureScaling(prior=None)), multiclass=True),
    Contender("temperature", "scikit-learn", temperature_of_scikit_learn, multiclass=True),
    Contender("temperature", "netcal", netcal("scaling.TemperatureScaling"), multiclass=True),
    Contender("vector", "clustcal", ours(clustcal.VectorScaling(prior=None)), multiclass=True),
    Contender("vector", "probmetrics", probmetrics("svs"), multiclass=True),
    Contender("Dirichlet", "clustcal", ours(clustcal.DirichletCalibration(odir=(1.0, 0.1))), multiclass=True),
    Contender("Dirichlet", "probmetrics", probmetrics("sms"), multiclass=True),
    Contender("Dirichlet (l2)", "clustcal", ours(paper_dirichlet), multiclass=True),
    Contender("Dirichlet (l2)", "probmetrics", probmetrics("sms"), multiclass=True),
    Contender("Dirichlet (near T)", "clustcal", ours(near_temperature), multiclass=True),
    Contender("Dirichlet (near T)", "probmetrics", probmetrics("sms"), multiclass=True),
]
