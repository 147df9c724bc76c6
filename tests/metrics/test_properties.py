"""What must hold for every metric and any valid forecast."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from clustcal import metrics

few = settings(deadline=None, max_examples=40)

ERRORS = {
    "ece": metrics.ece,
    "ece l2": lambda y, P, **kw: metrics.ece(y, P, norm="l2", **kw),
    "ece quantile": lambda y, P, **kw: metrics.ece(y, P, strategy="quantile", n_bins=4, **kw),
    "ece top-label": lambda y, P, **kw: metrics.ece(y, P, kind="top-label", **kw),
    "mce": metrics.mce,
    "ada_ece": metrics.ada_ece,
    "classwise_ece": metrics.classwise_ece,
    "debiased_ece": metrics.debiased_ece,
    "smooth_ece": metrics.smooth_ece,
}
SCORES = {
    "log_loss": metrics.log_loss,
    "brier": metrics.brier,
    "accuracy": metrics.accuracy,
    "murphy": lambda y, P, **kw: metrics.murphy_decomposition(y, P, **kw).resolution,
    "murphy log-loss": lambda y, P, **kw: metrics.murphy_decomposition(y, P, score="log_loss", **kw).reliability,
    "rejection": lambda y, P, **kw: metrics.rejection_curve(y, P, **kw).error[5],
}
SCORES |= {
    "corp": lambda y, P, **kw: metrics.corp_decomposition(y, P, **kw).miscalibration,
    "corp log-loss": lambda y, P, **kw: metrics.corp_decomposition(y, P, score="log_loss", **kw).discrimination,
    "net benefit": lambda y, P, **kw: metrics.decision_curve(y == 0, P[:, 0], labels=[False, True], **kw).net_benefit[
        30
    ],
    "cost curve": lambda y, P, **kw: metrics.cost_curve(y == 0, P[:, 0], labels=[False, True], **kw).best[30],
    "expected cost": lambda y, P, **kw: (
        metrics.expected_cost(y, P, np.arange(P.shape[1])[:, None] ** [0.5, 2], **kw).cost
    ),
}
each = pytest.mark.parametrize("metric", [*ERRORS.values(), *SCORES.values()], ids=[*ERRORS, *SCORES])


@st.composite
def forecasts(draw):
    """Labels and probabilities with ties, exact zeros and ones, two to four classes, classes that do not occur."""
    n, n_classes = draw(st.integers(1, 25)), draw(st.integers(2, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    P = rng.integers(0, draw(st.sampled_from([2, 5, 1000])), size=(n, n_classes)).astype(float)
    P[P.sum(axis=1) == 0, 0] = 1.0
    return rng.integers(n_classes, size=n), P / P.sum(axis=1, keepdims=True), rng


@each
@few
@given(case=forecasts())
def test_weights_equal_repetition(metric, case):
    """scikit-learn issue 20610: sample weights that are lost."""
    y, P, rng = case
    weights = rng.integers(0, 4, size=len(y))
    assume(weights.any())
    rows = np.repeat(np.arange(len(y)), weights)
    assert metric(y, P, sample_weight=weights) == pytest.approx(metric(y[rows], P[rows]), abs=1e-9)


@each
@few
@given(case=forecasts())
def test_the_order_of_rows_does_not_matter(metric, case):
    y, P, rng = case
    order = rng.permutation(len(y))
    assert metric(y[order], P[order]) == pytest.approx(metric(y, P), abs=1e-9)


@pytest.mark.parametrize("metric", ERRORS.values(), ids=ERRORS)
@few
@given(case=forecasts())
def test_calibration_errors_lie_between_0_and_1(metric, case):
    y, P, _ = case
    assert 0 <= metric(y, P) <= 1


@few
@given(case=forecasts())
def test_the_norms_are_ordered(case):
    y, P, _ = case
    l1, l2, largest = (metrics.ece(y, P, norm=norm) for norm in ("l1", "l2", "max"))
    assert l1 <= l2 + 1e-12
    assert l2 <= largest + 1e-12


@few
@given(case=forecasts())
def test_names_of_classes_do_not_matter_and_columns_follow_them(case):
    y, P, rng = case
    n_classes = P.shape[1]
    order = rng.permutation(n_classes)
    names = np.array(["b", "d", "a", "c"])[:n_classes]
    for metric in (metrics.log_loss, metrics.brier, metrics.classwise_ece):
        renamed = metric(names[y], P[:, order], labels=names[order])
        assert renamed == pytest.approx(metric(y, P), abs=1e-9)


@few
@given(case=forecasts())
def test_scores_are_proper_where_the_forecast_is_constant(case):
    """Of all constant forecasts, the class frequencies cost least."""
    y, P, _ = case
    frequency = np.bincount(y, minlength=P.shape[1]) / len(y)
    for score in (metrics.log_loss, metrics.brier):
        best = score(y, np.tile(frequency, (len(y), 1)))
        assert best <= score(y, np.tile(P[0], (len(y), 1))) + 1e-12
