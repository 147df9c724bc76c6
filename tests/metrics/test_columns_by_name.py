"""Columns of frames belong to classes by name in every metric, whatever library the frame is of."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import brier_score_loss, log_loss

from clustcal import metrics
from tests.metrics.test_inputs import NUMBERS

RNG = np.random.default_rng(0)
P = RNG.uniform(0.05, 0.95, 60)
HIT = (RNG.random(60) < P).astype(int)
HIT[:2] = 0, 1
MANY = RNG.dirichlet(np.ones(3), 60)
CODES = (MANY.cumsum(axis=1) > RNG.random((60, 1))).argmax(axis=1)
LABELS = {
    "words": (np.array(["no", "yes"]), ["no", "yes"]),
    "numbers": (np.array([1, 2]), ["1", "2"]),
    "numbers with a point": (np.array([1.0, 2.0]), ["1", "2"]),
    "truth": (np.array([False, True]), ["False", "True"]),
    "digits": (np.array(["0", "1"]), ["0", "1"]),
}
each_metric = pytest.mark.parametrize("metric", NUMBERS.values(), ids=NUMBERS.keys())


def frame_of(library):
    return pytest.importorskip(library).DataFrame


@each_metric
@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("kind", LABELS)
def test_names_equal_to_the_classes_reorder_the_columns(metric, library, kind):
    """NannyML issue 346."""
    labels, (negative, positive) = LABELS[kind]
    swapped = frame_of(library)({positive: P, negative: 1 - P})
    assert metric(labels[HIT], swapped) == pytest.approx(metric(HIT, P), abs=1e-12)


@pytest.mark.parametrize("name", sorted(set(NUMBERS) - {"decision_curve", "cost_curve"}))  # these ask for pos_label
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_of_many_classes_too(name, library):
    metric = NUMBERS[name]
    names = np.array(["ant", "bee", "cat"])
    turned = frame_of(library)({names[k]: MANY[:, k] for k in (2, 0, 1)})
    assert metric(names[CODES], turned) == pytest.approx(metric(CODES, MANY), abs=1e-12)


@each_metric
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_other_names_go_by_position_and_a_part_of_the_names_is_refused(metric, library):
    words = np.array(["no", "yes"])[HIT]
    foreign = frame_of(library)({"p of no": 1 - P, "p of yes": P})
    assert metric(words, foreign) == pytest.approx(metric(HIT, P), abs=1e-12)
    with pytest.raises(ValueError, match=r"y_prob has the columns \['yes', 'other'\]; expected the names"):
        metric(words, frame_of(library)({"yes": P, "other": 1 - P}))


@each_metric
def test_the_default_index_is_no_name(metric):
    assert metric(HIT + 1, pd.DataFrame({0: 1 - P, 1: P})) == pytest.approx(metric(HIT, P), abs=1e-12)


@each_metric
@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_name_of_a_series_is_the_class_that_it_speaks_of(metric, library):
    words = np.array(["no", "yes"])[HIT]
    of_no, of_yes = (frame_of(library)({"no": 1 - P, "yes": P})[name] for name in ("no", "yes"))
    for series in (of_no, of_yes):
        assert metric(words, series) == pytest.approx(metric(HIT, P), abs=1e-12)


def test_by_other_libraries():
    words = np.array(["no", "yes"])[HIT]
    swapped = pd.DataFrame({"yes": P, "no": 1 - P})
    assert metrics.log_loss(words, swapped) == pytest.approx(log_loss(HIT, P))
    assert metrics.brier(words, swapped) == pytest.approx(brier_score_loss(HIT, P))


def test_one_label_alone_does_not_turn_a_series_around():
    """Whose probability it is cannot be known, unless pos_label says so: never the wrong number without a word."""
    series = pd.Series([0.2, 0.9], name="yes")
    with pytest.raises(ValueError, match="expected every class to occur"):
        metrics.brier(["yes", "yes"], series)
    assert metrics.brier(["yes", "yes"], series, pos_label="yes") == pytest.approx((0.8**2 + 0.1**2) / 2)


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        (lambda: metrics.ece(HIT, P, n_bins=np.int64(0)), "n_bins is 0;"),
        (lambda: metrics.smooth_ece(HIT, P, bandwidth=np.float64(-1)), "bandwidth is -1.0;"),
        (lambda: metrics.brier(HIT, P, pos_label=np.int64(7)), "pos_label is 7;"),
        (lambda: metrics.lce(HIT, P, MANY, bandwidth=np.float32(-1)), "bandwidth is -1.0;"),
        (lambda: metrics.roc_auc(np.zeros(60, np.int64), P), "only the label 0;"),
    ],
)
def test_numbers_of_numpy_stand_in_errors_as_numbers(call, expected):
    with pytest.raises(ValueError, match=expected) as error:
        call()
    assert "np." not in str(error.value)


def test_a_column_named_after_one_class_cannot_be_the_probability_of_another():
    y, p = ["no", "yes", "yes", "no"], [0.2, 0.8, 0.7, 0.4]
    expected = metrics.log_loss(y, p, pos_label="yes")
    assert metrics.log_loss(y, pd.Series(p, name="yes"), pos_label="yes") == expected
    assert metrics.log_loss(y, pd.Series(p, name="score"), pos_label="yes") == expected
    for named in (pd.Series(p, name="no"), pd.DataFrame({"no": p})):
        with pytest.raises(ValueError, match=r"pos_label is 'yes' and the column of y_prob is named 'no'"):
            metrics.log_loss(y, named, pos_label="yes")
