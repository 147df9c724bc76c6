"""The rejection curve, by hand."""

import numpy as np
import pytest

from clustcal.metrics import accuracy, rejection_curve

# Ten rows of rising confidence 0.55 ... 1.0; rows 0, 2 and 5 are wrong.
P = np.linspace(0.55, 1.0, 10)
Y = np.array([0, 1, 0, 1, 1, 0, 1, 1, 1, 1])


def test_error_rates_at_deciles_by_hand():
    curve = rejection_curve(Y, P)
    expected = [3 / 10, 2 / 9, 2 / 8, 1 / 7, 1 / 6, 1 / 5, 0, 0, 0, 0]
    assert curve.error == pytest.approx(expected)
    assert curve.coverage == pytest.approx(1 - curve.quantile)
    assert curve.threshold == pytest.approx(P)


def test_nothing_rejected_is_one_minus_accuracy():
    rng = np.random.default_rng(8)
    Q, y, w = rng.dirichlet(np.ones(4), size=50), rng.integers(4, size=50), rng.random(50)
    curve = rejection_curve(y, Q, quantiles=0, sample_weight=w)
    assert curve.error[0] == pytest.approx(1 - accuracy(y, Q, sample_weight=w))


def test_confidence_is_on_either_side():
    """0.1 is as confident as 0.9: the row at 0.6 is rejected first."""
    curve = rejection_curve([0, 0, 1], [0.1, 0.6, 0.9], quantiles=[0, 1 / 3])
    assert curve.error == pytest.approx([1 / 3, 0])


def test_kept_ties_never_reject_more_than_asked():
    curve = rejection_curve([0, 1, 1, 1], [0.7, 0.7, 0.7, 0.9], quantiles=[0.0, 0.5, 0.75])
    assert curve.coverage == pytest.approx([1, 1, 0.25])
    assert curve.error == pytest.approx([0.25, 0.25, 0])


def test_averaged_ties_reject_exactly_what_is_asked():
    """Two of the three tied rows go: a third of their one error stays, among two accepted rows."""
    curve = rejection_curve([0, 1, 1, 1], [0.7, 0.7, 0.7, 0.9], quantiles=[0.5], ties="average")
    assert curve.coverage == pytest.approx([0.5])
    assert curve.error == pytest.approx([(1 / 3) / 2])


@pytest.mark.parametrize("ties", ["keep", "average"])
def test_the_order_of_rows_does_not_matter(ties):
    rng = np.random.default_rng(9)
    y, p = rng.integers(2, size=40), rng.integers(11, size=40) / 10
    order = rng.permutation(40)
    assert rejection_curve(y[order], p[order], ties=ties).error == pytest.approx(rejection_curve(y, p, ties=ties).error)


@pytest.mark.parametrize("ties", ["keep", "average"])
def test_weights_equal_repetition(ties):
    weights = np.array([1, 2, 0, 3, 1, 1, 2, 1, 0, 4])
    repeated = rejection_curve(np.repeat(Y, weights), np.repeat(P, weights), ties=ties)
    weighted = rejection_curve(Y, P, sample_weight=weights, ties=ties)
    for name in ("error", "coverage", "threshold"):
        assert weighted[name] == pytest.approx(repeated[name])


@pytest.mark.parametrize("quantiles", [[1.0], [-0.1], [np.nan]])
def test_a_share_that_is_none_is_refused(quantiles):
    with pytest.raises(ValueError, match="quantiles is"):
        rejection_curve(Y, P, quantiles=quantiles)


def test_an_unknown_tie_rule_is_named():
    with pytest.raises(ValueError, match="ties is 'random'"):
        rejection_curve(Y, P, ties="random")
