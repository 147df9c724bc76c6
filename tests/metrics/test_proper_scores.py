"""Scores against scikit-learn, closed forms and the paper's toy table."""

import numpy as np
import pytest
import sklearn.metrics

from clustcal.metrics import accuracy, brier, log_loss, roc_auc


@pytest.fixture
def binary():
    rng = np.random.default_rng(0)
    p = rng.random(300)
    return (rng.random(300) < p).astype(int), p, rng.random(300)


@pytest.fixture
def many():
    rng = np.random.default_rng(1)
    P = rng.dirichlet([1.0, 2.0, 0.5, 1.0], size=300)
    return np.array([rng.choice(4, p=row) for row in P]), P, rng.random(300)


def test_log_loss_agrees_with_scikit_learn(binary, many):
    for y, p, w in (binary, many):
        expected = sklearn.metrics.log_loss(y, p, sample_weight=w)
        assert log_loss(y, p, sample_weight=w) == pytest.approx(expected, rel=1e-12)


def test_brier_agrees_with_scikit_learn(binary, many):
    for y, p, w in (binary, many):
        expected = sklearn.metrics.brier_score_loss(y, p, sample_weight=w)
        assert brier(y, p, sample_weight=w) == pytest.approx(expected, rel=1e-12)


def test_accuracy_agrees_with_scikit_learn(binary, many):
    for y, p, w in (binary, many):
        predicted = (p > 0.5) if p.ndim == 1 else p.argmax(axis=1)
        expected = sklearn.metrics.accuracy_score(y, predicted, sample_weight=w)
        assert accuracy(y, p, sample_weight=w) == pytest.approx(expected, rel=1e-12)


def test_binary_auc_agrees_with_scikit_learn(binary):
    y, p, w = binary
    expected = sklearn.metrics.roc_auc_score(y, p, sample_weight=w)
    assert roc_auc(y, p, sample_weight=w) == pytest.approx(expected, rel=1e-12)


def test_many_class_auc_is_the_macro_one_vs_rest_of_scikit_learn(many):
    y, P, w = many
    expected = sklearn.metrics.roc_auc_score(y, P, multi_class="ovr", average="macro", sample_weight=w)
    assert roc_auc(y, P, sample_weight=w) == pytest.approx(expected, rel=1e-12)


def test_auc_leaves_out_a_class_without_rows(many):
    y, P, _ = many
    rows = y != 2
    expected = np.mean([sklearn.metrics.roc_auc_score(y[rows] == k, P[rows, k]) for k in (0, 1, 3)])
    assert roc_auc(y[rows], P[rows], labels=[0, 1, 2, 3]) == pytest.approx(expected, rel=1e-12)


def test_auc_of_one_class_is_refused_by_name():
    with pytest.raises(ValueError, match="y_true holds only the label 1"):
        roc_auc([1, 1], [0.2, 0.3])


@pytest.mark.parametrize(("p_a", "p_b", "expected"), [(0.5, 0.5, 0.693147), (0.6, 0.4, 0.632465)])
def test_log_loss_of_the_papers_toy_table(p_a, p_b, expected):
    y = np.repeat([1, 0, 1, 0], [7, 3, 3, 7])
    p = np.repeat([p_a, p_b], 10)
    assert log_loss(y, p) == pytest.approx(expected, abs=5e-7)


def test_an_impossible_event_costs_a_finite_amount():
    """-log of the float64 epsilon: 36.04 nats."""
    assert log_loss([1, 0], [0.0, 0.0]) == pytest.approx(36.0437 / 2, abs=1e-3)


def test_a_perfect_forecast_costs_nothing():
    assert log_loss([0, 1], [0.0, 1.0]) == pytest.approx(0, abs=1e-15)
    assert brier([0, 1], [0.0, 1.0]) == 0


def test_the_many_class_convention_on_two_classes_would_be_twice_the_binary_one():
    """(0.3)^2 for the positive class alone; a third column that is always 0 shows the sum over classes."""
    assert brier([1, 0], [0.7, 0.3]) == pytest.approx(0.09)
    assert brier([1, 0], [[0.3, 0.7, 0.0], [0.7, 0.3, 0.0]]) == pytest.approx(0.18)


def test_a_tie_predicts_the_first_column():
    assert accuracy([0, 1], [0.5, 0.5]) == 0.5
    assert accuracy([0, 1, 2], [[0.4, 0.4, 0.2]] * 3) == pytest.approx(1 / 3)
