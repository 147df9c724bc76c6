"""The arguments that all metrics share: forms of y_prob, labels, pos_label, weights, kinds, and hostile input."""

import numpy as np
import pandas as pd
import pytest

from clustcal import metrics

Y = np.array([0, 1, 1, 0, 1, 0])
P = np.array([0.2, 0.6, 0.9, 0.45, 0.7, 0.1])
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
    "bootstrap": lambda y, p, **kw: (
        metrics.bootstrap_interval(metrics.brier, y, p, n_resamples=5, random_state=0, **kw).low
    ),
}
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
    assert metric(words, columns, labels=["well", "ill"]) == pytest.approx(metric(Y, P), abs=1e-12)


@each_metric
def test_a_class_that_does_not_occur_is_named_by_labels(metric):
    """uncertainty-calibration issues 2 and 10: a label set that lacks a class."""
    y = np.array(["a", "c", "a", "c"])
    probabilities = np.array([[0.7, 0.2, 0.1], [0.1, 0.2, 0.7], [0.4, 0.3, 0.3], [0.2, 0.5, 0.3]])
    value = metric(y, probabilities, labels=["a", "b", "c"])
    assert value == metric(np.array([0, 2, 0, 2]), probabilities)
    assert np.isfinite(value)


@pytest.mark.parametrize("name", sorted(set(NUMBERS) - {"roc_auc"}))
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
    narrow = np.array([0.25, 0.5, 0.75, 0.125, 0.875, 0.0625], dtype=np.float32)
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


BINNED = ["ece", "mce", "debiased_ece", "classwise_ece", "lce", "mlce", "murphy", "reliability_curve"]


@pytest.mark.parametrize("name", BINNED)
def test_an_unknown_strategy_is_named_in_the_error(name):
    with pytest.raises(ValueError, match="strategy is 'width'"):
        NUMBERS[name](Y, P, strategy="width")


@pytest.mark.parametrize("name", [*BINNED, "ada_ece"])
@pytest.mark.parametrize("n_bins", [0, -1, 2.5, "10"])
def test_a_number_of_bins_that_is_none_is_refused(name, n_bins):
    with pytest.raises(ValueError, match="n_bins is"):
        NUMBERS[name](Y, P, n_bins=n_bins)


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
