"""The arguments that all metrics share: forms of y_prob, labels, pos_label, weights, kinds, and hostile input."""

import numpy as np
import pandas as pd
import pytest

from clustcal import IsotonicCalibration, metrics

Y = np.array([0, 1, 1, 0, 1, 0])
P = np.array([0.2, 0.6, 0.9, 0.65, 0.7, 0.1])
Z = np.arange(12.0).reshape(6, 2)

# Every metric that maps (y_true, y_prob) to one number, with the extra arguments that it needs.
NUMBERS = {
    "log_loss": metrics.log_loss,
    "brier": metrics.brier,
    "accuracy": metrics.accuracy,
    "roc_auc": metrics.roc_auc,
    "ece": metrics.ece,
    "mce": metrics.mce,
    "ada_ece": metrics.ada_ece,
    "classwise_ece": metrics.classwise_ece,
    "debiased_ece": metrics.debiased_ece,
    "smooth_ece": metrics.smooth_ece,
    "lce": lambda y, p, **kw: metrics.lce(y, p, np.arange(2.0 * len(y)).reshape(-1, 2), **kw),
    "mlce": lambda y, p, **kw: metrics.mlce(y, p, np.arange(2.0 * len(y)).reshape(-1, 2), **kw),
    "murphy": lambda y, p, **kw: metrics.murphy_decomposition(y, p, **kw).reliability,
    "reliability_curve": lambda y, p, **kw: metrics.reliability_curve(y, p, **kw).frequency[0],
    "rejection_curve": lambda y, p, **kw: metrics.rejection_curve(y, p, **kw).error[0],
    "spiegelhalter": lambda y, p, **kw: metrics.spiegelhalter_test(y, p, **kw).statistic,
    "cox": lambda y, p, **kw: metrics.cox_calibration(y, p, **kw).slope,
    "in the large": lambda y, p, **kw: metrics.calibration_in_the_large(y, p, **kw).ratio,
    "kernel": lambda y, p, **kw: metrics.kernel_calibration_test(y, p, bandwidth=0.5, n_draws=3, **kw).statistic,
    "corp": lambda y, p, **kw: metrics.corp_decomposition(y, p, **kw).miscalibration,
    "corp_curve": lambda y, p, **kw: metrics.corp_curve(y, p, band=None, **kw).frequency.mean(),
    "decision_curve": lambda y, p, **kw: metrics.decision_curve(y, p, **kw).net_benefit.sum(),
    "cost_curve": lambda y, p, **kw: metrics.cost_curve(y, p, **kw).cost.sum(),
    "expected_cost": lambda y, p, **kw: _cost(y, p, **kw),
    "multicalibration": lambda y, p, **kw: (
        metrics.multicalibration_error(y, p, np.arange(len(y)) % 2, n_draws=5, **kw).error
    ),
    "refinement": lambda y, p, **kw: _calibration_part(y, p, **kw),
    "comparison": lambda y, p, **kw: (
        metrics.compare_calibration(y, {"a": p, "b": p}, n_draws=5, n_bins=2, **kw).errors["squared_error"].iloc[0]
    ),
    "bootstrap": lambda y, p, **kw: (
        metrics.bootstrap_interval(metrics.brier, y, p, n_resamples=5, random_state=0, **kw).low
    ),
}


def _cost(y, p, **kw):
    """A miss costs 3 and a false alarm 1; for more classes, every error costs 1."""
    n_classes = 2 if np.ndim(p) == 1 or np.shape(p)[1] <= 2 or kw.get("pos_label") is not None else np.shape(p)[1]
    costs = 1 - np.eye(n_classes) if n_classes > 2 else [[0, 1], [1, 0]]
    return metrics.expected_cost(y, p, costs, **kw).cost


def _calibration_part(y, p, **kw):
    return metrics.refinement_decomposition(y, p, calibrator=IsotonicCalibration(), cv=2, **kw).calibration


# Metrics that are about one class, which pos_label must name if there are many.
OF_ONE_CLASS = ["decision_curve", "cost_curve"]
each_metric = pytest.mark.parametrize("metric", NUMBERS.values(), ids=NUMBERS.keys())


@each_metric
def test_one_column_two_columns_and_a_vector_are_the_same_forecast(metric):
    expected = metric(Y, P)
    assert metric(Y, P[:, None]) == pytest.approx(expected, abs=1e-12)
    assert metric(Y, np.column_stack([1 - P, P])) == pytest.approx(expected, abs=1e-12)


@each_metric
@pytest.mark.parametrize(
    "form",
    [
        lambda a: a.tolist(),
        pd.Series,
        lambda a: np.repeat(a, 2)[::2],  # not contiguous
        lambda a: _read_only(a),
        lambda a: np.asarray(a, dtype=object),
    ],
    ids=["list", "series", "strided", "read-only", "object"],
)
def test_any_container_gives_the_same_number(metric, form):
    assert metric(form(Y), form(P)) == metric(Y, P)


@each_metric
@pytest.mark.parametrize("names", [("no", "yes"), (False, True), (1, 2), (-1, 1)])
def test_labels_of_any_type_give_the_same_number(metric, names):
    """Reported for netcal, venn-abers and others: labels {1, 2} give a wrong number without a word."""
    labels = np.array(names)[Y]
    assert metric(labels, P) == metric(Y, P)
    assert metric(labels, P, pos_label=names[1]) == metric(Y, P)


@each_metric
def test_pos_label_says_whose_probability_a_single_column_is(metric):
    """scikit-learn issue 21029: string labels in calibration curves need a pos_label."""
    words = np.where(Y == 1, "ill", "well")  # sorts before "well", so the default would be wrong
    assert metric(words, P, pos_label="ill") == metric(Y, P)


@each_metric
def test_pos_label_picks_a_column_of_a_matrix(metric):
    words = np.where(Y == 1, "ill", "well")
    in_sorted_order = np.column_stack([P, 1 - P])
    assert metric(words, in_sorted_order, pos_label="ill") == pytest.approx(metric(Y, P), abs=1e-12)


@each_metric
def test_labels_name_the_columns(metric):
    words = np.where(Y == 1, "ill", "well")
    columns = np.column_stack([1 - P, P])
    named = metric(words, columns, labels=["well", "ill"], pos_label="ill")
    assert named == pytest.approx(metric(Y, P), abs=1e-12)


@each_metric
def test_the_order_of_labels_moves_columns_and_not_the_positive_class(metric):
    """The positive class is the second of the sorted labels, however a model orders its classes_."""
    words = np.where(Y == 1, "yes", "no")
    columns = np.column_stack([P, 1 - P])
    assert metric(words, columns, labels=["yes", "no"]) == pytest.approx(metric(Y, P), abs=1e-12)
    assert metric(words, P, labels=["yes", "no"]) == metric(words, P, labels=["no", "yes"]) == metric(Y, P)
    assert metric(1 - Y, columns, labels=[0, 1], pos_label=0) == pytest.approx(metric(Y, P), abs=1e-12)


def test_one_column_belongs_to_the_second_of_the_sorted_labels():
    """(.2^2 + .1^2) / 2."""
    assert metrics.brier(["no", "yes"], [0.2, 0.9], labels=["yes", "no"]) == pytest.approx(0.025)
    assert metrics.brier(["no", "yes"], [0.2, 0.9], labels=["yes", "no"], pos_label="no") == pytest.approx(0.725)
    curve = metrics.reliability_curve([1, 1, 0], [[0.9, 0.1], [0.7, 0.3], [0.2, 0.8]], labels=[1, 0], n_bins=1)
    assert (curve.confidence[0], curve.frequency[0], curve.pos_label) == (pytest.approx(0.6), pytest.approx(2 / 3), 1)


# Metrics that read a top label unless told otherwise, and those that are about all classes.
OF_TOP_LABEL, OF_ALL = ["lce", "mlce"], ["classwise_ece"]


@pytest.mark.parametrize("name", sorted(set(NUMBERS) - {*OF_ALL, "bootstrap"}))
def test_pos_label_of_many_classes_speaks_of_that_class(name):
    """mlflow pull request 14702, skore pull request 1764: the calibration of one class of many."""
    rng = np.random.default_rng(0)
    many = rng.dirichlet(np.ones(4), 200)
    y = np.array([rng.choice(4, p=row) for row in many])
    options = {"kind": "positive"} if name in OF_TOP_LABEL else {}
    against_the_rest = NUMBERS[name]((y == 2).astype(int), many[:, 2], **options)
    assert NUMBERS[name](y, many, pos_label=2, **options) == pytest.approx(against_the_rest, abs=1e-12)
    words = np.array(list("dbca"))[y]  # names of columns in no order
    of_c = NUMBERS[name](words, many, labels=list("dbca"), pos_label="c", **options)
    assert of_c == pytest.approx(against_the_rest, abs=1e-12)


def test_the_bootstrap_passes_on_which_class_is_meant():
    rng = np.random.default_rng(0)
    many = rng.dirichlet(np.ones(3), 100)
    y = np.array([rng.choice(3, p=row) for row in many])
    of_one = metrics.bootstrap_interval(metrics.ece, y, many, pos_label=1, n_resamples=3, random_state=0)
    assert of_one.estimate == pytest.approx(metrics.ece(y == 1, many[:, 1]))


@pytest.mark.parametrize("name", [*OF_TOP_LABEL, *OF_ALL])
def test_pos_label_of_many_classes_is_refused_where_it_cannot_be_followed(name):
    many = np.full((3, 3), 1 / 3)
    with pytest.raises(ValueError, match="pos_label is 2; expected the kind 'positive', or no pos_label"):
        NUMBERS[name]([0, 1, 2], many, pos_label=2)


@pytest.mark.parametrize("name", ["ece", "mce", "debiased_ece", "reliability_curve"])
@pytest.mark.parametrize("kind", ["top-label", "classwise"])
def test_pos_label_and_another_kind_contradict_each_other(name, kind):
    with pytest.raises(ValueError, match=f"kind is '{kind}' and pos_label is 2"):
        NUMBERS[name]([0, 1, 2], np.full((3, 3), 1 / 3), pos_label=2, kind=kind)


@pytest.mark.parametrize("metric", [NUMBERS[name] for name in NUMBERS if name not in OF_ONE_CLASS])
def test_a_class_that_does_not_occur_is_named_by_labels(metric):
    """uncertainty-calibration issues 2 and 10: a label set that lacks a class."""
    y = np.array(["a", "c", "a", "c"])
    probabilities = np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7], [0.4, 0.3, 0.3], [0.2, 0.5, 0.3]])
    value = metric(y, probabilities, labels=["a", "b", "c"])
    assert value == metric(np.array([0, 2, 0, 2]), probabilities)
    assert np.isfinite(value)


@pytest.mark.parametrize("name", sorted(set(NUMBERS) - {"roc_auc", "cox", "refinement"}))
@pytest.mark.parametrize("only", [0, 1])
def test_one_class_alone_has_a_value(name, only):
    """uncertainty-calibration issue 10: the whole set, or a bin, has one class."""
    assert np.isfinite(NUMBERS[name](np.full(6, only), P))


def test_one_class_alone_needs_no_labels_where_pos_label_says_which():
    assert metrics.brier(["yes", "yes"], [0.5, 1.0], pos_label="yes") == 0.125
    assert metrics.brier(["no", "no"], [0.5, 1.0], labels=["no", "yes"]) == 0.625


@each_metric
def test_float32_scores_and_weights_of_another_type_are_cast_once(metric):
    """scikit-learn issues 28245 and 30868: float32 scores, weights of mixed type."""
    weights = np.array([1, 2, 1, 1, 3, 1])
    narrow = np.array([0.25, 0.5, 0.75, 0.625, 0.875, 0.0625], dtype=np.float32)
    wide = metric(Y, narrow.astype(float), sample_weight=weights.astype(float))
    assert metric(Y, narrow, sample_weight=weights) == wide
    assert metric(Y, narrow, sample_weight=weights.astype(np.float32)) == wide


@each_metric
def test_scores_outside_the_unit_interval_are_refused_and_not_guessed_to_be_logits(metric):
    """netcal issues 32 and 55: logits or probabilities?"""
    with pytest.raises(ValueError, match=r"y_prob holds -?\d.*expected probabilities between 0 and 1"):
        metric(Y, np.array([-2.0, 0.3, 1.5, 0.2, 0.1, 0.0]))


HOSTILE = {
    "nan": (Y, np.array([0.1, np.nan, 0.2, 0.3, 0.4, 0.5]), {}, "NaN"),
    "infinite": (Y, np.array([0.1, np.inf, 0.2, 0.3, 0.4, 0.5]), {}, "infinite"),
    "rows do not sum to 1": (Y, np.full((6, 2), 0.4), {}, "sums to 0.8"),
    "lengths differ": (Y[:5], P, {}, "y_true has 5 rows"),
    "empty": ([], [], {}, "empty"),
    "missing label": ([0, 1, None, 0, 1, 0], P, {}, "missing values"),
    "nan label": ([0, 1, np.nan, 0, 1, 0], P, {}, "NaN"),
    "more labels than columns": ([0, 1, 2, 0, 1, 0], P, {}, "3 different labels"),
    "label not among labels": (Y, P, {"labels": [0, 2]}, "expected one of"),
    "unknown pos_label": (Y, P, {"pos_label": 7}, "pos_label is 7"),
    "negative weight": (Y, P, {"sample_weight": [1, 1, -1, 1, 1, 1]}, "sample_weight holds -1"),
    "zero weight": (Y, P, {"sample_weight": np.zeros(6)}, "sample_weight is zero everywhere"),
    "too few weights": (Y, P, {"sample_weight": np.ones(5)}, "sample_weight has shape"),
    "words for probabilities": (Y, ["a"] * 6, {}, "y_prob could not be read"),
}


@each_metric
@pytest.mark.parametrize("case", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_input_gets_one_clear_sentence(metric, case):
    y, p, kwargs, message = case
    with pytest.raises(ValueError, match=message) as error:
        metric(y, p, **kwargs)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["cox", "refinement"])
def test_what_cannot_be_fitted_to_one_class_says_so(name):
    with pytest.raises(ValueError, match=r"expected both outcomes|expected at least two classes"):
        NUMBERS[name](np.ones(6, int), P)


@pytest.mark.parametrize("name", OF_ONE_CLASS)
def test_metrics_of_one_class_ask_which_of_many(name):
    with pytest.raises(ValueError, match="expected pos_label"):
        NUMBERS[name]([0, 1, 2], np.full((3, 3), 1 / 3))


BINNED = [
    "ece",
    "mce",
    "debiased_ece",
    "classwise_ece",
    "lce",
    "mlce",
    "murphy",
    "reliability_curve",
    "multicalibration",
]


@pytest.mark.parametrize("name", BINNED)
def test_an_unknown_strategy_is_named_in_the_error(name):
    with pytest.raises(ValueError, match="strategy is 'width'"):
        NUMBERS[name](Y, P, strategy="width")


@pytest.mark.parametrize("name", [*BINNED, "ada_ece"])
@pytest.mark.parametrize("n_bins", [0, -1, 2.5, "10", [0, 0.5], [0.5, 0.1, 1]])
def test_a_number_of_bins_that_is_none_is_refused(name, n_bins):
    with pytest.raises(ValueError, match="n_bins is"):
        NUMBERS[name](Y, P, n_bins=n_bins)


@pytest.mark.parametrize("name", [*BINNED, "ada_ece"])
def test_bins_by_rule_and_own_edges_serve_every_binned_metric(name):
    """The cube root of 300 rows, rounded up, is 7; edges that are those of five bins give their value."""
    rng = np.random.default_rng(0)
    p = rng.random(300)
    y = (rng.random(300) < p**2).astype(int)
    assert NUMBERS[name](y, p, n_bins="auto") == NUMBERS[name](y, p, n_bins=7)
    if name not in (
        "ada_ece",
        "debiased_ece",
        "multicalibration",
    ):  # whose bins hold equal weight, unless edges are given
        assert NUMBERS[name](y, p, n_bins=[0, 0.2, 0.4, 0.6, 0.8, 1]) == NUMBERS[name](y, p, n_bins=5)
    rare = [0, 0.001, 0.01, 0.1, 1]
    assert np.isfinite(NUMBERS[name](y, p**5, n_bins=rare))


@pytest.mark.parametrize("name", ["ece", "mce", "ada_ece", "debiased_ece", "smooth_ece", "lce", "reliability_curve"])
def test_an_unknown_kind_is_named_in_the_error(name):
    with pytest.raises(ValueError, match="kind is 'top'"):
        NUMBERS[name](Y, P, kind="top")


def test_the_positive_kind_of_many_classes_asks_for_pos_label():
    probabilities = np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7], [0.4, 0.3, 0.3]])
    with pytest.raises(ValueError, match="expected pos_label"):
        metrics.ece([0, 2, 1], probabilities, kind="positive")
    one_against_rest = metrics.ece([0, 1, 0], probabilities[:, 2])
    assert metrics.ece([0, 2, 1], probabilities, kind="positive", pos_label=2) == pytest.approx(one_against_rest)


def _read_only(a):
    a = a.copy()
    a.flags.writeable = False
    return a
