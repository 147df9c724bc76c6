"""Hostile input to every public function and class that takes probabilities: one clear sentence, nothing fitted."""

import inspect
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator

import clustcal
from clustcal import metrics, plots
from clustcal.experiments.methods import get_methods

RNG = np.random.default_rng(0)
N = 60
P = RNG.uniform(0.05, 0.95, N)
Y = np.arange(N) % 2
Z = RNG.normal(size=(N, 3))
WEIGHTS = np.ones(N)


def changed(array, value):
    array = np.array(array, dtype=float)
    array.flat[3] = value
    return array


# What is wrong with which argument; "P" and "y" are called y_prob and y_true where metrics are concerned.
HOSTILE = {
    "NaN in P": ("P", changed(P, np.nan)),
    "infinity in P": ("P", changed(P, np.inf)),
    "P above 1": ("P", changed(P, 1.5)),
    "P below 0": ("P", changed(P, -0.5)),
    "rows that do not sum to 1": ("P", np.column_stack([P, P])),
    "text as P": ("P", np.array(["high"] * N)),
    "P of three dimensions": ("P", np.ones((N, 2, 2)) / 2),
    "empty P": ("P", P[:0]),
    "P too short": ("P", P[:-1]),
    "empty y": ("y", Y[:0]),
    "y too short": ("y", Y[:-1]),
    "three labels for two columns": ("y", np.arange(N) % 3),
    "NaN in y": ("y", changed(Y, np.nan)),
    "None in y": ("y", np.array([None, *Y[1:]], dtype=object)),
    "y of two columns": ("y", np.column_stack([Y, Y])),
    "negative weight": ("sample_weight", changed(WEIGHTS, -1)),
    "NaN as weight": ("sample_weight", changed(WEIGHTS, np.nan)),
    "no weight at all": ("sample_weight", 0 * WEIGHTS),
    "weights too short": ("sample_weight", WEIGHTS[:-1]),
}
hopeless = pytest.mark.filterwarnings("ignore:The temperature is at its bound")  # labels do not depend on scores
hostile = pytest.mark.parametrize(("argument", "value"), HOSTILE.values(), ids=HOSTILE)

NAMES = [name for name in clustcal.__all__ if hasattr(getattr(clustcal, name), "predict_proba")]
NEEDS = {"BinwiseCalibration": {"calibrator": clustcal.PlattScaling()}}
CALIBRATORS = {name: getattr(clustcal, name)(**NEEDS.get(name, {})) for name in NAMES if name != "CalibratedClassifier"}

METRICS = {
    name: getattr(metrics, name)
    for name in (
        *("log_loss", "brier", "accuracy", "roc_auc", "ece", "mce", "ada_ece", "classwise_ece", "debiased_ece"),
        *("smooth_ece", "reliability_curve", "murphy_decomposition", "rejection_curve", "spiegelhalter_test"),
        *("cox_calibration", "calibration_in_the_large", "corp_decomposition", "corp_curve", "decision_curve"),
        *("cost_curve", "refinement_decomposition", "kernel_calibration_test"),
    )
}
METRICS |= {
    "expected_cost": lambda y, p, **kw: metrics.expected_cost(y, p, [[0, 1], [1, 0]], **kw),
    "multicalibration_error": lambda y, p, **kw: metrics.multicalibration_error(y, p, np.arange(N) % 3, **kw),
    "compare_calibration": lambda y, p, **kw: metrics.compare_calibration(y, {"one": p, "other": p}, **kw),
}


def assert_one_clear_sentence(error):
    text = str(error.value)
    assert text[0].isalpha() or text[0] in "'\""
    assert len(text) < 300
    assert "\n" not in text


@hostile
@pytest.mark.parametrize("calibrator", CALIBRATORS.values(), ids=CALIBRATORS)
def test_fit_refuses_it_and_fits_nothing(calibrator, argument, value):
    call = {"P": P, "y": Y, "Z": Z, argument: value}
    unfitted = clone(calibrator)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # nothing may be computed from it first
        with pytest.raises(ValueError) as error:  # noqa: PT011
            unfitted.fit(call.pop("P"), call.pop("y"), call.pop("Z"), **call)
    assert_one_clear_sentence(error)
    assert not [name for name in vars(unfitted) if name.endswith("_")]


@hopeless
@pytest.mark.parametrize(
    "value", [value for argument, value in HOSTILE.values() if argument == "P" and len(value)][:-1]
)
@pytest.mark.parametrize("calibrator", CALIBRATORS.values(), ids=CALIBRATORS)
def test_predict_proba_refuses_bad_probabilities(calibrator, value):
    fitted = clone(calibrator).fit(P, Y, Z)
    with pytest.raises(ValueError) as error:  # noqa: PT011
        fitted.predict_proba(value, Z)
    assert_one_clear_sentence(error)


@hostile
@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_metrics_refuse_it(metric, argument, value):
    call = {"P": P, "y": Y, argument: value}
    with pytest.raises(ValueError) as error:  # noqa: PT011
        metric(call.pop("y"), call.pop("P"), **call)
    assert_one_clear_sentence(error)


def test_every_method_of_the_paper_is_among_those_tested():
    tested = {type(calibrator).__name__ for calibrator in CALIBRATORS.values()} | {"Uncalibrated"}
    assert {type(method.calibrator).__name__ for method in get_methods()} <= tested


@pytest.mark.filterwarnings("error")
def test_the_classifier_says_what_is_wrong_with_its_data():
    model = DummyClassifier(strategy="prior").fit(Z, Y)
    for X, y in [(Z, Y[:-1]), (Z[:0], Y[:0]), (Z, 0 * Y)]:
        with pytest.raises(ValueError) as error:  # noqa: PT011
            clustcal.CalibratedClassifier(FrozenEstimator(model)).fit(X, y)
        assert_one_clear_sentence(error)


# What no parameter of a metric or a figure is, whatever its name.
NO_PARAMETER = ["a", -1, [None], [[1, 2], [3]], object(), {"a": 1}, complex(1, 1), {1, 2}, np.zeros((2, 2, 2)), b"x"]
OPTIONS = (
    *("n_bins", "strategy", "norm", "kind", "interval", "confidence_level", "n_resamples", "n_draws", "random_state"),
    *("score", "band", "adjust", "cv", "calibrator", "quantiles", "ties", "thresholds", "costs", "groups", "gamma"),
    *("bandwidth", "labels", "pos_label", "sample_weight", "limit", "ax", "stratify", "reference"),
)
BY_NAME = {name: {} for name in metrics.__all__ if name not in ("ReliabilityCurve", "adjust_pvalues", "t_interval")}
BY_NAME |= {
    "compare_calibration": {"y_prob": {"one": P, "other": P**2}},
    "bootstrap_interval": {"metric": metrics.brier},
}
BY_NAME |= {"expected_cost": {"costs": [[0, 1], [1, 0]]}, "multicalibration_error": {"groups": np.arange(N) % 3}}
BY_NAME |= {name: {"Z": Z} for name in ("lce", "mlce", "local_calibration_errors")}
FIGURES = {"plot_corp_diagram": {}, "plot_reliability_bars": {}}


@pytest.mark.parametrize("name", [*BY_NAME, *FIGURES])
def test_what_is_no_parameter_is_refused_in_one_sentence(name):
    """Whatever is put in the place of an option: a result, or a ValueError; nothing else, and no warning of numpy."""
    function = getattr(metrics, name, None) or getattr(plots, name)
    given = inspect.signature(function).parameters
    if "y_prob" not in given:
        return
    for option in set(OPTIONS) & set(given):
        for value in NO_PARAMETER:
            call = {"y_true": Y, "y_prob": P, **BY_NAME.get(name, {}), option: value}
            with warnings.catch_warnings():
                warnings.simplefilter("error", RuntimeWarning)
                try:
                    function(**call)
                except ValueError as error:
                    text = str(error)
                    assert text[0].isalpha(), (option, value, text)
                    assert len(text) < 300, (option, value, text)
                    assert "\n" not in text, (option, value, text)
    plt.close("all")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: metrics.t_interval("a"), "values could not be read as numbers"),
        (lambda: metrics.paired_wilcoxon({"a": 1}, [1]), "a could not be read as numbers"),
        (lambda: metrics.spearman_table([1]), "frame is list"),
        (lambda: metrics.bootstrap_interval(None, Y, P), "metric is None"),
        (lambda: metrics.bootstrap_interval(metrics.brier, Y, P, stratify="no"), "stratify is 'no'"),
        (lambda: metrics.murphy_decomposition(Y, P, groups=3), "groups has 0 dimensions"),
        (lambda: metrics.proportion_interval([1, 2], [3, 4, 5]), r"events has shape \(2,\)"),
        (lambda: metrics.lce(Y, P, Z, bandwidth=None), "bandwidth is None"),
        (lambda: metrics.smooth_ece(Y, P, bandwidth="a"), "bandwidth is 'a'"),
        (lambda: metrics.rejection_curve(Y, P, quantiles={}), "quantiles could not be read as numbers"),
        (lambda: plots.plot_decision_curves({"a": None}), "curves lacks 'threshold'"),
        (lambda: plots.plot_cost_curves({}), "curves is empty"),
        (lambda: plots.plot_rejection_curves([1]), "curves is no mapping"),
        (lambda: plots.plot_group_errors(None), "result lacks 'table'"),
        (lambda: plots.plot_score_parts({"a": {}}), "parts lacks 'refinement'"),
        (lambda: plots.plot_clusters("a", [1]), "points could not be read as numbers"),
        (lambda: plots.plot_pipeline(ax=3), "ax is 3; expected Axes"),
        (lambda: plots.ReliabilityDisplay.from_curve(None), "curve is no ReliabilityCurve"),
    ],
)
def test_what_is_no_result_or_table_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


NONSENSE = [
    (name, parameter) for name, calibrator in CALIBRATORS.items() for parameter in calibrator.get_params(deep=False)
]


@pytest.mark.parametrize("value", ["nonsense", object(), -1.5, [object()]], ids=["text", "object", "number", "list"])
@pytest.mark.parametrize(("name", "parameter"), NONSENSE)
def test_a_parameter_that_is_nonsense_is_refused_and_leaves_nothing(name, parameter, value):
    calibrator = clone(CALIBRATORS[name]).set_params(**{parameter: value})
    with pytest.raises(ValueError) as error:  # noqa: PT011
        calibrator.fit(P, Y, Z)
    assert_one_clear_sentence(error)
    assert not [name for name in vars(calibrator) if name.endswith("_")]


@hopeless
@pytest.mark.parametrize("name", CALIBRATORS)
def test_a_fit_that_fails_half_way_leaves_nothing_new(name, monkeypatch):
    """Whatever a fit calls last in here may fail: attributes are set once all is found."""

    def fail(*args, **kwargs):
        raise MemoryError

    for place in (clustcal.calibrators.clustered.solvers, clustcal.calibrators.soft_kmeans.KMeans):
        calibrator = clone(CALIBRATORS[name])
        with monkeypatch.context() as patch:
            patch.setattr(place, "fit", fail)
            try:
                calibrator.fit(P, Y, Z)
            except MemoryError:
                assert not [name for name in vars(calibrator) if name.endswith("_")]
