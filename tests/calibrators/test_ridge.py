"""Ridge calibration: the interface, its moment conditions, its precisions, and what it is in special cases."""

import time

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import expit, logit, softmax
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

from clustcal import (
    CalibratedClassifier,
    ClusteredCalibration,
    PlattScaling,
    RidgeCalibration,
    SoftKMeans,
    metrics,
)
from clustcal.core import ridge_evidence
from clustcal.representations import StandardizedFeatures
from tests.calibrators.interface import CHECKS, name_of


@pytest.mark.parametrize("check", CHECKS, ids=name_of)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_interface(check, n_classes):
    check(RidgeCalibration(), n_classes)


def simulated(n=600, m=4, effect=0.7, seed=0):
    """Scores that are too sure and miss what the first column of Z says."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, m)) * np.linspace(1, 2, m)
    s = rng.normal(-0.5, 1.5, n)
    y = (rng.random(n) < expit(0.7 * s + effect * Z[:, 0])).astype(int)
    return expit(s), y, Z


def simulated_classes(n=900, n_classes=4, m=3, seed=0):
    rng = np.random.default_rng(seed)
    logits, Z = rng.normal(0, 1.5, (n, n_classes)), rng.normal(size=(n, m))
    truth = softmax(logits + Z @ rng.normal(0, 0.5, (m, n_classes)), axis=1)
    y = (truth.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    return softmax(1.5 * logits, axis=1), y, Z


def clipped_and_scaled(fitted, Z, k=0):
    """The columns as the docstring has them, by numpy alone; the scale is that of the docstring too."""
    low, high = np.quantile(Z, [0.001, 0.999], axis=0, method="inverted_cdf")
    Z = np.clip(Z, low, high)
    Z = Z - Z.mean(axis=0)
    assert fitted.scales_[k] == pytest.approx(np.sqrt((Z**2).mean()))
    return Z / fitted.scales_[k]


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6), n=st.integers(80, 3000), caution=st.sampled_from([0.0, 0.5]))
def test_moment_conditions(seed, n, caution):
    """The theorem of the docstring, and the bound on the bias along any direction that follows from it."""
    p, y, Z = simulated(n, seed=seed)
    fitted = RidgeCalibration(caution=caution).fit(p, y, Z)
    phi = clipped_and_scaled(fitted, Z)
    away = fitted.predict_proba(p, Z)[:, 1] - y
    assert abs(away.sum()) < 1e-6 * n
    assert abs(away @ logit(p)) < 1e-6 * n
    gamma = fitted.coefficients_[0] * fitted.scales_[0]
    strength = fitted.precisions_[0]
    if np.isfinite(strength):
        np.testing.assert_allclose(phi.T @ away, -strength * gamma, atol=1e-6 * n)
        delta = np.random.default_rng(seed).normal(size=4)
        assert abs(away @ phi @ delta) <= strength * np.linalg.norm(gamma) * np.linalg.norm(delta) + 1e-6 * n


def test_moment_conditions_of_more_classes():
    P, y, Z = simulated_classes()
    fitted = RidgeCalibration().fit(P, y, Z)
    away = fitted.predict_proba(P, Z) - np.eye(4)[y]
    np.testing.assert_allclose(away.sum(axis=0), 0, atol=1e-5)
    assert abs(np.sum(away * np.log(P))) < 1e-5
    gamma = fitted.coefficients_[0] * fitted.scales_[0]
    np.testing.assert_allclose(away.T @ clipped_and_scaled(fitted, Z), -fitted.precisions_[0] * gamma, atol=1e-4)


def test_given_the_precision_it_is_a_plain_minimum():
    """The objective of the docstring, written down and minimised by scipy without derivatives of ours."""
    p, y, Z = simulated(300)
    w = np.random.default_rng(1).integers(1, 4, 300).astype(float)
    fitted = RidgeCalibration().fit(p, y, Z, sample_weight=w)
    low, high = np.quantile(np.repeat(Z, w.astype(int), axis=0), [0.001, 0.999], axis=0, method="inverted_cdf")
    phi = np.clip(Z, low, high)
    phi = (phi - np.average(phi, axis=0, weights=w)) / fitted.scales_[0]

    def objective(theta):
        z = theta[0] * logit(p) + theta[1] + phi @ theta[2:]
        return w @ (np.logaddexp(0, z) - y * z) + fitted.precisions_[0] * np.sum(theta[2:] ** 2) / 2

    found = minimize(objective, np.zeros(6), method="BFGS", options={"gtol": 1e-5}).x
    np.testing.assert_allclose([fitted.slope_, fitted.intercept_], found[:2], atol=1e-4)
    np.testing.assert_allclose(fitted.coefficients_[0] * fitted.scales_[0], found[2:], atol=1e-4)


@pytest.mark.parametrize("caution", [0.0, 0.5])
def test_precisions_solve_the_equation_of_the_evidence(caution):
    """With the Hessian inverted by numpy, for two representations."""
    p, y, Z = simulated(2000)
    other = np.random.default_rng(3).normal(size=(2000, 3))
    other[:, 0] += 0.5 * (2 * y - 1)
    fitted = RidgeCalibration(caution=caution).fit(p, y, [Z, other])
    parts = [clipped_and_scaled(fitted, one, k) for k, one in enumerate((Z, other))]
    q = fitted.predict_proba(p, [Z, other])[:, 1]
    X = np.column_stack([logit(p), np.ones(2000), *parts])
    strengths = np.concatenate([[0, 0], np.repeat(fitted.precisions_, [4, 3])])
    inverse = np.linalg.inv((X * (q * (1 - q))[:, None]).T @ X + np.diag(strengths)).diagonal()
    for k, where in enumerate((slice(2, 6), slice(6, 9))):
        gamma = fitted.coefficients_[k] * fitted.scales_[k]
        determined = len(gamma) - fitted.precisions_[k] * inverse[where].sum()
        assert fitted.determined_[k] == pytest.approx(determined, rel=1e-3)
        assert fitted.precisions_[k] * gamma @ gamma == pytest.approx(determined + 2 * caution, rel=1e-3)


def test_the_coefficients_are_those_of_a_ridge_regression_of_scikit_learn():
    """Which shrinks slope and intercept too, unless they are scaled so much that this does not count."""
    p, y, Z = simulated(1000)
    fitted = RidgeCalibration().fit(p, y, Z)
    X = np.column_stack([1e4 * logit(p), 1e4 * np.ones(1000), clipped_and_scaled(fitted, Z)])
    peer = LogisticRegression(
        C=1 / fitted.precisions_[0], fit_intercept=False, solver="newton-cholesky", tol=1e-12, max_iter=500
    ).fit(X, y)
    np.testing.assert_allclose(fitted.predict_proba(p, Z), peer.predict_proba(X), atol=1e-5)


def test_clusters_mixed_in_logits_are_a_special_case():
    """phi = (w, w s): a slope and an intercept for each cluster, mixed by its memberships before the sigmoid."""
    p, y, Z = simulated(900)
    s, K = logit(p), 3
    clusters = SoftKMeans(K, temperature=0.1, random_state=0).fit(Z)
    w = clusters.transform(Z)
    ws = w * s[:, None]
    fitted = RidgeCalibration().fit(p, y, [w, ws])  # fewer than 1,000 rows: nothing is clipped
    constant = sum(mean @ c for mean, c in zip((w.mean(axis=0), ws.mean(axis=0)), fitted.coefficients_, strict=True))
    b = fitted.intercept_ - constant + fitted.coefficients_[0]
    a = fitted.slope_ + fitted.coefficients_[1]
    mixed = sum(w[:, k] * (a[k] * s + b[k]) for k in range(K))
    np.testing.assert_allclose(fitted.predict_proba(p, [w, ws])[:, 1], expit(mixed), atol=1e-12)


def test_a_useless_representation_is_dropped_and_leaves_platt_scaling():
    p, y, _ = simulated(2000, effect=0)
    noise = np.random.default_rng(5).normal(size=(2000, 30))
    fitted = RidgeCalibration().fit(p, y, noise)
    assert fitted.precisions_.tolist() == [np.inf]
    assert fitted.coefficients_[0].tolist() == [0] * 30
    platt = PlattScaling(prior=None).fit(p, y)
    np.testing.assert_allclose(fitted.predict_proba(p, noise), platt.predict_proba(p), atol=1e-7)
    assert fitted.slope_of_scores_ == pytest.approx(fitted.slope_)
    assert fitted.slope_of_scores_ == pytest.approx(platt.theta_[0], abs=1e-6)


def test_useless_representations_cost_little_in_sets_of_a_thousand_rows():
    """The mean loss on fresh rows, over draws, beside what Platt scaling has."""
    lost = []
    for seed in range(20):
        p, y, _ = simulated(3000, effect=0, seed=seed)
        noise = np.random.default_rng(seed).normal(size=(3000, 30))
        Q = RidgeCalibration().fit(p[:1000], y[:1000], noise[:1000]).predict_proba(p[1000:], noise[1000:])
        platt = PlattScaling(prior=None).fit(p[:1000], y[:1000]).predict_proba(p[1000:])
        lost.append(metrics.log_loss(y[1000:], Q) / metrics.log_loss(y[1000:], platt) - 1)
    assert np.mean(lost) < 0.001


def test_a_representation_that_helps_is_used():
    p, y, Z = simulated(4000)
    ridge = RidgeCalibration().fit(p[:2000], y[:2000], Z[:2000]).predict_proba(p[2000:], Z[2000:])
    platt = PlattScaling().fit(p[:2000], y[:2000]).predict_proba(p[2000:])
    truth = expit(0.7 * logit(p) + 0.7 * Z[:, 0])[2000:]
    best, before, after = (metrics.log_loss(y[2000:], q) for q in (truth, platt, ridge))
    assert after - best < 0.05 * (before - best)


def test_rows_far_out_move_no_further_than_the_quantiles():
    p, y, Z = simulated(2000)
    fitted = RidgeCalibration().fit(p, y, Z)
    edge = np.quantile(Z, 0.999, axis=0, method="inverted_cdf")
    Q = fitted.predict_proba([0.3, 0.3], np.array([edge, edge * 1e9]))
    np.testing.assert_allclose(Q[0], Q[1], rtol=1e-9)


def test_a_list_and_its_columns_side_by_side_with_groups_are_the_same():
    p, y, Z = simulated()
    other = Z[:, :2] ** 2
    expected = RidgeCalibration().fit(p, y, [Z, other])
    assert expected.groups_.tolist() == [4, 2]
    side_by_side = np.hstack([Z, other])
    grouped = RidgeCalibration(groups=[4, 2]).fit(p, y, side_by_side)
    np.testing.assert_array_equal(grouped.predict_proba(p, side_by_side), expected.predict_proba(p, [Z, other]))
    one = RidgeCalibration().fit(p, y, side_by_side)
    assert len(one.precisions_) == 1
    mixed = RidgeCalibration().fit(p, y, [sparse.csr_matrix(Z), pd.DataFrame(other)])
    np.testing.assert_allclose(mixed.predict_proba(p, [Z, other]), expected.predict_proba(p, [Z, other]), atol=1e-12)


def test_a_list_of_rows_is_one_representation():
    p, y, Z = simulated()
    fitted = RidgeCalibration().fit(p, y, Z.tolist())
    np.testing.assert_array_equal(
        fitted.predict_proba(p, Z.tolist()), RidgeCalibration().fit(p, y, Z).predict_proba(p, Z)
    )


@pytest.mark.parametrize(
    ("parameters", "Z", "message"),
    [
        ({"caution": -1}, None, "caution is -1; expected"),
        ({"groups": [2, 1]}, None, "groups adds up to 3 and Z has 4 columns"),
        ({"groups": [0, 4]}, None, r"groups is \[0, 4\]; expected whole numbers"),
        ({"groups": "ab"}, None, "groups is 'ab'; expected whole numbers"),
        ({"groups": [3, 1]}, [[2, 2]], "groups is .* and Z has representations of"),
        ({}, [[4, 600], [4, 599]], "Z has 599 rows and P has 600"),
    ],
)
def test_what_cannot_serve_is_refused(parameters, Z, message):
    p, y, given = simulated()
    if Z == [[2, 2]]:
        given = [given[:, :2], given[:, 2:]]
    elif Z is not None:
        given = [given, given[:599]]
    with pytest.raises(ValueError, match=message):
        RidgeCalibration(**parameters).fit(p, y, given)


def test_other_representations_than_in_fit_are_refused():
    p, y, Z = simulated()
    fitted = RidgeCalibration().fit(p, y, [Z[:, :3], Z[:, 3:]])
    with pytest.raises(ValueError, match=r"representations of \[1, 3\] columns; expected \[3, 1\]"):
        fitted.predict_proba(p, [Z[:, :1], Z[:, 1:]])
    named = [pd.DataFrame(Z, columns=list("abcd"))]
    fitted = RidgeCalibration().fit(p, y, named)
    with pytest.raises(ValueError, match="column 'b' where fit had 'a'"):
        fitted.predict_proba(p, [named[0][list("bacd")]])


def test_other_calibrators_refuse_a_list_of_representations():
    p, y, Z = simulated()
    with pytest.raises(ValueError, match="Z is a list of representations; expected one"):
        ClusteredCalibration().fit(p, y, [Z, Z])


def test_the_explanation_multiplies_shap_values_by_their_slopes():
    """Columns that add up to the log-odds: the calibrated logit is the sum of slope times column, and a constant."""
    rng = np.random.default_rng(0)
    parts = rng.normal(size=(900, 3)) * [2, 1, 0.5]
    s = parts.sum(axis=1)
    y = (rng.random(900) < expit(parts @ [0.5, 1.0, 1.0])).astype(int)
    frame = pd.DataFrame(parts, columns=["age", "dose", "weight"])
    fitted = RidgeCalibration().fit(expit(s), y, frame)
    table = fitted.explain()
    assert table.index.tolist() == ["age", "dose", "weight"]
    z = logit(fitted.predict_proba(expit(s), frame)[:, 1])
    np.testing.assert_allclose(z - parts @ table["slope"], (z - parts @ table["slope"]).mean(), atol=1e-8)
    np.testing.assert_allclose(table["slope"] - table["coefficient"], fitted.slope_)
    np.testing.assert_allclose(table["slope_of_scores"], PlattScaling(prior=None).fit(expit(s), y).theta_[0], atol=1e-6)
    np.testing.assert_allclose(table["effect"], np.abs(table["coefficient"]) * parts.std(axis=0))
    assert table["slope"].idxmin() == "age"  # the one that is too sure
    assert fitted.explain(names=["x", "y", "z"]).index.tolist() == ["x", "y", "z"]
    with pytest.raises(ValueError, match="representation is 1; expected a number from 0 to 0"):
        fitted.explain(1)
    with pytest.raises(ValueError, match="classes_ has 4 labels; expected 2"):
        RidgeCalibration().fit(*simulated_classes()).explain()


def test_many_parameters_use_blocks_of_classes_and_come_close(monkeypatch):
    """What the approximation leaves out is the covariance between classes, in the trace alone."""
    P, y, Z = simulated_classes(2000)
    whole = RidgeCalibration().fit(P, y, Z)
    monkeypatch.setattr(ridge_evidence, "WHOLE_UP_TO", 1)
    by_class = RidgeCalibration().fit(P, y, Z)
    assert by_class.precisions_[0] == pytest.approx(whole.precisions_[0], rel=0.5)
    np.testing.assert_allclose(by_class.predict_proba(P, Z), whole.predict_proba(P, Z), atol=0.01)
    away = by_class.predict_proba(P, Z) - np.eye(4)[y]
    np.testing.assert_allclose(away.sum(axis=0), 0, atol=1e-3)


def test_a_class_that_does_not_occur_keeps_a_probability():
    P, y, Z = simulated_classes()
    seen = y != 3
    with pytest.warns(UserWarning, match="no label of the classes"):
        fitted = RidgeCalibration(classes=[0, 1, 2, 3]).fit(P[seen], y[seen], Z[seen])
    assert 1e-4 < fitted.predict_proba(P[seen], Z[seen])[:, 3].mean() < 0.05


def test_columns_that_are_constant_do_nothing():
    p, y, Z = simulated()
    with_constants = np.column_stack([Z[:, 0], np.full(len(y), 0.1), Z[:, 1:]])
    for Z_constant in (with_constants, np.full((len(y), 2), 0.1)):
        fitted = RidgeCalibration().fit(p, y, Z_constant)
        assert np.isfinite(fitted.predict_proba(p, Z_constant)).all()
    assert fitted.precisions_.tolist() == [np.inf]


def test_it_works_in_a_calibrated_classifier_with_several_representations():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1500, 4))
    y = rng.random(1500) < expit(X[:, 0] + X[:, 1] * X[:, 2])
    squares = StandardizedFeatures()
    for ensemble in (True, False):
        classifier = CalibratedClassifier(
            LogisticRegression(), RidgeCalibration(), [StandardizedFeatures(), squares], cv=3, ensemble=ensemble
        ).fit(X, y)
        member = classifier.calibrated_classifiers_[0]
        assert member.calibrator.groups_.tolist() == [4, 4]
        assert classifier.predict_proba(X).shape == (1500, 2)
    product = np.column_stack([X[:, 1] * X[:, 2]])
    given = CalibratedClassifier(LogisticRegression(), RidgeCalibration(), cv=3).fit(X, y, Z=[X, product])
    assert given.calibrated_classifiers_[0].calibrator.groups_.tolist() == [4, 1]
    plain = CalibratedClassifier(LogisticRegression(), cv=3).fit(X, y)
    losses = [metrics.log_loss(y, c.predict_proba(X, **kw)) for c, kw in ((given, {"Z": [X, product]}), (plain, {}))]
    assert losses[0] < losses[1] - 0.02
    with pytest.raises(ValueError, match="representation is a list and calibrator is a PlattScaling"):
        CalibratedClassifier(LogisticRegression(), representation=[squares]).fit(X, y)
    with pytest.raises(ValueError, match="expected transformers in the list"):
        CalibratedClassifier(LogisticRegression(), RidgeCalibration(), ["data"]).fit(X, y)


def test_twenty_thousand_rows_of_a_hundred_columns_take_less_than_two_seconds():
    p, y, Z = simulated(20_000, 100)
    start = time.process_time()
    RidgeCalibration().fit(p, y, Z)
    assert time.process_time() - start < 2


def posterior_interval(fitted, P, y, Z, P_new, Z_new, level):
    """Laplace's interval from its definition, by numpy: the Hessian of the sum of losses with the precision."""
    low, high = np.quantile(Z, [0.001, 0.999], axis=0, method="inverted_cdf")
    columns = lambda values: (np.clip(values, low, high) - np.clip(Z, low, high).mean(axis=0)) / fitted.scales_[0]
    X, X_new = (np.column_stack([logit(p), np.ones(len(p)), columns(values)]) for p, values in ((P, Z), (P_new, Z_new)))
    q = fitted.predict_proba(P, Z)[:, 1]
    hessian = (X * (q * (1 - q))[:, None]).T @ X + np.diag([0, 0, *[fitted.precisions_[0]] * Z.shape[1]])
    sd = np.sqrt(np.einsum("ij,jk,ik->i", X_new, np.linalg.inv(hessian), X_new))
    middle = logit(fitted.predict_proba(P_new, Z_new)[:, 1])
    return expit(middle[:, None] + np.outer(sd, [-1, 1]) * norm.ppf((1 + level) / 2))


@pytest.mark.parametrize("level", [0.5, 0.95])
def test_an_interval_is_laplaces(level):
    P, y, Z = simulated()
    fitted = RidgeCalibration().fit(P[:400], y[:400], Z[:400])
    expected = posterior_interval(fitted, P[:400], y[:400], Z[:400], P[400:], Z[400:], level)
    np.testing.assert_allclose(fitted.predict_interval(P[400:], Z[400:], level), expected, atol=1e-6)


def test_an_interval_without_a_representation_is_that_of_a_logistic_regression():
    P, y, _ = simulated(400)
    fitted = RidgeCalibration().fit(P, y, np.zeros((400, 1)))
    X = np.column_stack([logit(P), np.ones(400)])
    q = LogisticRegression(C=np.inf, tol=1e-10).fit(X[:, :1], y).predict_proba(X[:, :1])[:, 1]
    covariance = np.linalg.inv((X * (q * (1 - q))[:, None]).T @ X)
    reach = 1.959964 * np.sqrt(np.einsum("ij,jk,ik->i", X, covariance, X))
    expected = expit(logit(q)[:, None] + np.outer(reach, [-1, 1]))
    np.testing.assert_allclose(fitted.predict_interval(P, np.zeros((400, 1))), expected, atol=1e-5)


def test_intervals_hold_the_truth_as_often_as_they_say_where_the_map_is_linear():
    rng = np.random.default_rng(3)
    held = []
    for _ in range(40):
        s, Z = rng.normal(size=600), rng.normal(size=(600, 3))
        truth = expit(0.7 * s + 0.5 * Z[:, 0] - 0.5 * Z[:, 1] + 0.3 * Z[:, 2])
        y = (rng.random(600) < truth).astype(int)
        fitted = RidgeCalibration().fit(expit(s[:300]), y[:300], Z[:300])
        interval = fitted.predict_interval(expit(s[300:]), Z[300:])
        held.append(np.mean((interval[:, 0] <= truth[300:]) & (truth[300:] <= interval[:, 1])))
    # Rows of one fit stand or fall together, so that a fit counts as one: its standard error from 40 of them.
    assert np.mean(held) == pytest.approx(0.95, abs=3 * np.std(held) / np.sqrt(40) + 0.01)


def test_a_weight_of_2_narrows_an_interval_as_a_second_row_does():
    P, y, Z = simulated(200)
    twice = RidgeCalibration().fit(P, y, Z, sample_weight=np.full(200, 2.0)).predict_interval(P, Z)
    rows = np.repeat(np.arange(200), 2)
    np.testing.assert_allclose(
        RidgeCalibration().fit(P[rows], y[rows], Z[rows]).predict_interval(P, Z), twice, atol=1e-6
    )


def test_an_interval_is_of_two_classes():
    P, y, Z = simulated_classes()
    with pytest.raises(ValueError, match="classes_ has 4 labels; expected 2, as an interval is of one logit"):
        RidgeCalibration().fit(P, y, Z).predict_interval(P, Z)
    P, y, Z = simulated(200)
    with pytest.raises(ValueError, match="confidence_level is 2"):
        RidgeCalibration().fit(P, y, Z).predict_interval(P, Z, confidence_level=2)
