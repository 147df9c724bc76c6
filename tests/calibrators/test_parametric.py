"""The calibrators as their users meet them: against other libraries, closed forms and properties."""

import warnings

import numpy as np
import pytest
from betacal import BetaCalibration as PeerBeta
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit, logit
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression

import clustcal
from clustcal import (
    BetaCalibration,
    DirichletCalibration,
    PlattScaling,
    QuadraticScaling,
    SplineScaling,
    TemperatureScaling,
    VectorScaling,
)
from tests.calibrators.interface import CHECKS, make_data, name_of
from tests.calibrators.interface import fit as fit_quietly

LIKELIHOOD = [PlattScaling(prior=None), TemperatureScaling(prior=None), BetaCalibration(prior=None)]
hopeless = pytest.mark.filterwarnings("ignore:The temperature is at its bound")  # labels do not depend on scores
BINARY = [PlattScaling(), TemperatureScaling(), BetaCalibration(), QuadraticScaling(), *LIKELIHOOD]
MULTICLASS = [
    TemperatureScaling(),
    TemperatureScaling(prior=None),
    VectorScaling(),
    VectorScaling(prior=None),
    DirichletCalibration(),
    DirichletCalibration(l2=1e-3, shrink_to="zero"),
    DirichletCalibration(l2=0.1, shrink_to="temperature"),
]
EVERY = [*[(calibrator, 2) for calibrator in BINARY], *[(calibrator, 3) for calibrator in MULTICLASS]]


class TestAgainstOthers:
    p = expit(np.random.default_rng(0).normal(-1, 2, 3000))
    y = (np.random.default_rng(1).random(3000) < expit(0.6 * logit(p) + 0.4)).astype(int)

    def test_platt_is_logistic_regression_on_the_logit(self):
        peer = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10).fit(logit(self.p)[:, None], self.y)
        np.testing.assert_allclose(
            PlattScaling(prior=None).fit(self.p, self.y).theta_, [peer.coef_[0, 0], peer.intercept_[0]], atol=1e-6
        )

    def test_quadratic_scaling_is_logistic_regression_on_the_logit_and_its_square(self):
        z = logit(self.p)
        peer = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10).fit(np.column_stack([z, z**2]), self.y)
        np.testing.assert_allclose(
            QuadraticScaling(prior=None).fit(self.p, self.y).theta_, [*peer.coef_[0], peer.intercept_[0]], atol=1e-6
        )

    def test_temperature_is_logistic_regression_without_intercept(self):
        peer = LogisticRegression(C=np.inf, fit_intercept=False, solver="newton-cholesky", tol=1e-10)
        peer.fit(logit(self.p)[:, None], self.y)
        assert TemperatureScaling(prior=None).fit(self.p, self.y).theta_[0] == pytest.approx(peer.coef_[0, 0], abs=1e-6)

    def test_beta_is_that_of_betacal(self):
        """betacal stops L-BFGS at a tolerance of 1e-4 and penalises slightly (C = 1e11): hence 1e-4 here."""
        peer = PeerBeta(parameters="abm").fit(self.p[:, None], self.y)
        np.testing.assert_allclose(
            BetaCalibration(prior=None).fit(self.p, self.y).predict_proba(self.p)[:, 1], peer.predict(self.p), atol=1e-4
        )

    def test_multiclass_temperature_is_that_of_scikit_learn(self):
        from sklearn.calibration import CalibratedClassifierCV
        from sklearn.datasets import load_digits
        from sklearn.frozen import FrozenEstimator

        X, y = load_digits(return_X_y=True)
        model = LogisticRegression(C=1e-3, max_iter=1000).fit(X[:900], y[:900])
        peer = CalibratedClassifierCV(FrozenEstimator(model), method="temperature").fit(X[900:], y[900:])
        ours = TemperatureScaling(prior=None).fit(model.predict_proba(X[900:]), y[900:])
        np.testing.assert_allclose(
            ours.predict_proba(model.predict_proba(X[900:])), peer.predict_proba(X[900:]), atol=1e-4
        )

    def test_vector_scaling_is_a_constrained_multinomial_regression(self):
        """Two classes make vector scaling a logistic regression on both log-probabilities."""
        P = np.column_stack([1 - self.p, self.p])
        peer = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-10).fit(np.log(P), self.y)
        np.testing.assert_allclose(
            VectorScaling(prior=None).fit(P, self.y).predict_proba(P), peer.predict_proba(np.log(P)), atol=1e-6
        )

    def test_dirichlet_without_penalty_is_multinomial_regression(self):
        P, y, _ = make_data(3, n=2000)
        peer = LogisticRegression(C=np.inf, tol=1e-10, max_iter=10_000).fit(np.log(P), y)
        np.testing.assert_allclose(
            DirichletCalibration(l2=0.0).fit(P, y).predict_proba(P), peer.predict_proba(np.log(P)), atol=1e-5
        )

    def test_dirichlet_that_is_strongly_shrunk_to_a_temperature_is_temperature_scaling(self):
        P, y, _ = make_data(3)
        strong = DirichletCalibration(l2=1e7, shrink_to="temperature").fit(P, y)
        temperature = TemperatureScaling(prior=None).fit(P, y)
        np.testing.assert_allclose(strong.predict_proba(P), temperature.predict_proba(P), atol=1e-6)

    def test_dirichlet_that_is_strongly_shrunk_to_zero_gives_equal_probabilities(self):
        P, y, _ = make_data(3)
        strong = DirichletCalibration(l2=1e7, shrink_to="zero").fit(P, y)
        np.testing.assert_allclose(strong.predict_proba(P), 1 / 3, atol=1e-6)

    def test_strong_odir_leaves_only_the_diagonal(self):
        P, y, _ = make_data(3)
        V = DirichletCalibration(odir=(1e6, 1e6)).fit(P, y).theta_.reshape(3, 4)[:, :3]
        np.testing.assert_allclose(V, np.diag(np.diag(V)), atol=1e-4)
        assert np.abs(np.diag(V)).min() > 0.1


@pytest.mark.parametrize("check", CHECKS, ids=name_of)
@pytest.mark.parametrize(("calibrator", "n_classes"), EVERY, ids=name_of)
def test_interface(check, calibrator, n_classes):
    check(calibrator, n_classes)


@pytest.mark.parametrize("calibrator", BINARY)
class TestBinary:
    @settings(max_examples=25, deadline=None)
    @given(data=st.data())
    def test_weights_equal_repetition(self, calibrator, data):
        rng = np.random.default_rng(data.draw(st.integers(0, 10**6)))
        p, y = rng.uniform(size=30), np.arange(30) % 2
        counts = rng.integers(0, 4, 30)
        counts[:4] += 1
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            weighted = clone(calibrator).fit(p, y, sample_weight=counts)
            repeated = clone(calibrator).fit(np.repeat(p, counts), np.repeat(y, counts))
        np.testing.assert_allclose(weighted.predict_proba(p), repeated.predict_proba(p), atol=1e-6)

    @hopeless
    @settings(max_examples=25, deadline=None)
    @given(seed=st.integers(0, 10**6))
    def test_order_of_rows_does_not_matter(self, calibrator, seed):
        rng = np.random.default_rng(seed)
        p, y = rng.uniform(size=40), np.arange(40) % 2
        shuffled = rng.permutation(40)
        Q = clone(calibrator).fit(p, y).predict_proba(p)
        np.testing.assert_allclose(clone(calibrator).fit(p[shuffled], y[shuffled]).predict_proba(p), Q, atol=1e-9)

    def test_swapping_the_labels_mirrors_the_probabilities(self, calibrator):
        P, y, _ = make_data(2)
        Q = clone(calibrator).fit(P, y).predict_proba(P)
        np.testing.assert_allclose(
            clone(calibrator).fit(P[:, ::-1], 1 - y).predict_proba(P[:, ::-1]), Q[:, ::-1], atol=1e-9
        )

    @hopeless
    def test_scores_of_exactly_0_and_1_are_accepted(self, calibrator):
        p, y = [0.0, 0.0, 0.2, 0.8, 1.0, 1.0], [0, 1, 0, 1, 1, 0]
        assert np.isfinite(clone(calibrator).fit(p, y).predict_proba(p)).all()


def test_scores_that_point_the_wrong_way_leave_no_decreasing_map():
    """Probed in betacal: it refits with one parameter when a or b is negative, and does not look at that one again."""
    p = np.linspace(0.05, 0.95, 40)
    y = (np.random.default_rng(0).random(40) > p).astype(int)
    fitted = BetaCalibration(prior=None).fit(p, y)
    assert (fitted.theta_[:2] >= 0).all()
    np.testing.assert_allclose(fitted.predict_proba(p)[:, 1], y.mean(), atol=1e-6)


@hopeless
@pytest.mark.parametrize("calibrator", [TemperatureScaling(), BetaCalibration()])
@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_monotone_calibrators_keep_the_order_of_scores(calibrator, seed):
    rng = np.random.default_rng(seed)
    p, y = np.sort(rng.uniform(size=40)), rng.permutation(np.arange(40) % 2)
    assert (np.diff(clone(calibrator).fit(p, y).predict_proba(p)[:, 1]) >= -1e-12).all()


@pytest.mark.parametrize(
    ("calibrator", "serves"), [(PlattScaling(), "VectorScaling"), (BetaCalibration(), "DirichletCalibration")]
)
def test_more_classes_are_refused_with_the_name_of_what_serves(calibrator, serves):
    P, y, _ = make_data(3)
    with pytest.raises(ValueError, match=serves):
        calibrator.fit(P, y)


@pytest.mark.parametrize("calibrator", MULTICLASS)
def test_relabelling_the_classes_permutes_the_columns(calibrator):
    P, y, _ = make_data(3)
    order = np.array([2, 0, 1])  # column j of the new P is column order[j] of the old
    Q = clone(calibrator).fit(P, y).predict_proba(P)
    np.testing.assert_allclose(
        clone(calibrator).fit(P[:, order], np.argsort(order)[y]).predict_proba(P[:, order]), Q[:, order], atol=1e-6
    )


def test_probcal_0_1_2_nearly_separated_classes_have_a_finite_optimum_and_it_is_found():
    """One overlapping pair in a thousand keeps the slope finite, however steep; stopping early would flatten it."""
    p = np.concatenate([np.linspace(0.01, 0.49, 500), np.linspace(0.51, 0.99, 500)])
    y = np.repeat([0, 1], 500)
    y[[499, 500]] = 1, 0
    peer = LogisticRegression(C=np.inf, solver="newton-cholesky", tol=1e-12, max_iter=1000).fit(logit(p)[:, None], y)
    np.testing.assert_allclose(
        PlattScaling(prior=None).fit(p, y).theta_, [peer.coef_[0, 0], peer.intercept_[0]], rtol=1e-5, atol=1e-9
    )
    assert peer.coef_[0, 0] > 20


def test_calibration_in_the_sample_never_raises_the_nll():
    P, y, _ = make_data(2)
    before = clustcal.metrics.log_loss(y, P)
    for calibrator in LIKELIHOOD:
        assert clustcal.metrics.log_loss(y, clone(calibrator).fit(P, y).predict_proba(P)) <= before + 1e-12


def test_the_toy_of_the_paper_is_mended_exactly():
    """Two scores, two observed frequencies: Platt has two parameters and hits both."""
    p = np.repeat([0.4, 0.6], 10)
    y = np.repeat([1, 0, 1, 0], [3, 7, 7, 3])
    fitted = PlattScaling(prior=None).fit(p, y)
    np.testing.assert_allclose(fitted.predict_proba([0.4, 0.6])[:, 1], [0.3, 0.7], atol=1e-9)


def test_odir_may_be_an_array():
    P, y, _ = make_data(3)
    np.testing.assert_array_equal(
        DirichletCalibration(odir=np.array([0.01, 0.1])).fit(P, y).theta_,
        DirichletCalibration(odir=(0.01, 0.1)).fit(P, y).theta_,
    )


def test_a_temperature_of_10_is_recovered_from_logits_of_ten_classes():
    """From probabilities, whose logarithms must be cut, it would be 8."""
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 3, (20_000, 10))
    truth = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    y = (truth.cumsum(axis=1) > rng.random((20_000, 1))).argmax(axis=1)
    fitted = TemperatureScaling(from_logits=True, prior=None).fit(10 * logits, y)
    assert fitted.temperature_ == pytest.approx(10, rel=0.02)
    np.testing.assert_allclose(fitted.predict_proba(10 * logits), truth, atol=0.01)


@pytest.mark.parametrize(
    "calibrator", [TemperatureScaling(), VectorScaling(), clustcal.StructuredScaling()], ids=name_of
)
def test_a_temperature_at_its_bound_of_100_is_warned_of(calibrator):
    """Logits that are three hundred times too large; in units of ten of them T is 30, and nothing is said."""
    rng = np.random.default_rng(0)
    U = rng.normal(0, 300, (400, 3))
    truth = np.exp(U / 300)
    y = ((truth / truth.sum(axis=1, keepdims=True)).cumsum(axis=1) > rng.random((400, 1))).argmax(axis=1)
    calibrator = clone(calibrator).set_params(from_logits=True)
    with pytest.warns(ConvergenceWarning, match="^The temperature is at its bound of 100: "):
        calibrator.fit(U, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        calibrator.fit(U / 10, y)


def test_bad_penalties_of_dirichlet_are_refused():
    P, y, _ = make_data(3)
    for wrong in (
        DirichletCalibration(l2=-1),
        DirichletCalibration(odir=(1.0,)),
        DirichletCalibration(odir=(1, np.nan)),
        DirichletCalibration(odir=(1, np.inf)),
        DirichletCalibration(odir=(-1, 0.1)),
    ):
        with pytest.raises(ValueError, match="of at least 0"):
            wrong.fit(P, y)


def test_what_dirichlet_is_shrunk_to_is_checked():
    P, y, _ = make_data(3)
    with pytest.raises(ValueError, match="shrink_to is 'identity'"):
        DirichletCalibration(shrink_to="identity").fit(P, y)
    with pytest.raises(ValueError, match="l2 is 'auto'"):
        DirichletCalibration(shrink_to="zero").fit(P, y)


def smoothed_sigmoid(p, y):
    """scikit-learn's sigmoid calibration, Platt's smoothed targets and no other prior, on the logit."""
    from sklearn.calibration import _sigmoid_calibration

    a, b = _sigmoid_calibration(logit(p), y)
    return lambda p: expit(-(a * logit(p) + b))


SHIPPED = ["adult", "credit_card_default", "stroke", "diabetes130", "diabetes130-los", "credit_approval"]


@pytest.mark.parametrize("name", SHIPPED)
def test_twenty_rows_are_no_disaster_and_better_used_than_by_smoothed_targets_alone(name):
    """Over ten draws and in the worst of them, where it holds: on SUPPORT2 a worst draw is 1.34 times the mean.

    The last three sets were not in view when the prior of Platt scaling was chosen; variants of Beta's were compared on
    all of them.

    Maximum likelihood fails both conditions, and smoothed targets without the prior of the slope the second.
    """
    scores = clustcal.datasets.load_scores(name)
    rng = np.random.default_rng(0)
    methods = {"Platt": PlattScaling(), "Beta": BetaCalibration(), "likelihood": PlattScaling(prior=None)}
    losses = {method: [] for method in (*methods, "sigmoid")}
    while len(losses["sigmoid"]) < 10:
        rows = rng.choice(len(scores.y_cal), 20, replace=False)
        p, y = scores.P_cal[rows], scores.y_cal[rows]
        if 0 < y.sum() < 20:
            loss_of = lambda q: clustcal.metrics.log_loss(scores.y_test, q)
            losses["sigmoid"].append(loss_of(smoothed_sigmoid(p, y)(scores.P_test)))
            for method, calibrator in methods.items():
                losses[method].append(loss_of(fit_quietly(calibrator, p, y, None).predict_proba(scores.P_test)))
    mean = {method: np.mean(of_draws) for method, of_draws in losses.items()}
    is_disaster = lambda method: max(losses[method]) > 1.3 * mean[method]
    assert mean["likelihood"] > mean["sigmoid"]
    assert is_disaster("likelihood")
    for method in ("Platt", "Beta"):
        assert mean[method] <= 0.99 * mean["sigmoid"]
        assert not is_disaster(method)


@pytest.mark.parametrize("slope", [0.05, 0.3, 1.0, 5.0, 50.0])
@pytest.mark.parametrize("mean", [0.0, -3.0])
@pytest.mark.parametrize("calibrator", [*BINARY[:3], QuadraticScaling(), SplineScaling()])
def test_the_prior_hardly_matters_with_a_thousand_rows_however_steep_the_map_must_be(calibrator, mean, slope):
    """Scores whose logit is the true one over the slope: those of AdaBoost need a slope of 10 to 40."""
    rng = np.random.default_rng(0)
    truth = rng.normal(mean, 4, 21_000)
    y = (rng.random(21_000) < expit(truth)).astype(int)
    # From an offset temperature scaling could not recover.
    p = expit(truth / slope)
    fit = lambda prior: clone(calibrator).set_params(prior=prior).fit(p[:1000], y[:1000])
    loss = {prior: clustcal.metrics.log_loss(y[1000:], fit(prior).predict_proba(p[1000:])) for prior in ("auto", None)}
    assert loss["auto"] <= 1.02 * loss[None]


def test_the_prior_of_beta_calibration_lets_go_of_a_skew_that_a_thousand_rows_show():
    """Scores whose best map is Beta calibration with a = 0.1 and b = 4, as of forests, whose trees all say no."""
    rng = np.random.default_rng(1)
    p = np.clip(rng.beta(0.2, 2, 41_000), 1e-12, 1 - 1e-12)
    truth = expit(0.1 * np.log(p) - 4 * np.log1p(-p) - 2)
    y = (rng.random(len(p)) < truth).astype(int)
    loss = {}
    for prior in ("auto", None):
        fitted = BetaCalibration(prior=prior).fit(p[:1000], y[:1000])
        loss[prior] = clustcal.metrics.log_loss(y[1000:], fitted.predict_proba(p[1000:]))
    assert loss["auto"] <= 1.001 * loss[None]


@pytest.mark.parametrize("calibrator", [PlattScaling(), BetaCalibration()])
def test_modest_scores_lose_little_to_the_prior_with_few_rows(calibrator):
    """The probability of a true logit over 30, of 50 rows: no worse than smoothed targets alone, over ten draws."""
    losses = {"ours": [], "sigmoid": []}
    for seed in range(10):
        rng = np.random.default_rng(seed)
        truth = rng.normal(0, 4, 3050)
        p, y = expit(truth / 30), (rng.random(3050) < expit(truth)).astype(int)
        loss_of = lambda q, y=y: clustcal.metrics.log_loss(y[50:], q)
        losses["ours"].append(loss_of(clone(calibrator).fit(p[:50], y[:50]).predict_proba(p[50:])))
        losses["sigmoid"].append(loss_of(smoothed_sigmoid(p[:50], y[:50])(p[50:])))
    assert np.mean(losses["ours"]) <= 1.01 * np.mean(losses["sigmoid"])


def test_of_rare_events_the_mean_forecast_is_that_of_smoothed_targets():
    """Four events of 3,000 rows, scores that are balanced: (4 * 5/6 + 2996 / 2998) / 3000, which is 8 % more than 4."""
    rng = np.random.default_rng(0)
    y = (np.arange(3000) < 4).astype(int)
    p = expit(rng.normal(2.0 * y, 1.5))
    mean = PlattScaling().fit(p, y).predict_proba(p)[:, 1].mean()
    assert mean == pytest.approx((4 * 5 / 6 + 2996 / 2998) / 3000, rel=1e-6)
    assert PlattScaling(prior=None).fit(p, y).predict_proba(p)[:, 1].mean() == pytest.approx(4 / 3000, rel=1e-6)


@pytest.mark.parametrize("calibrator", [PlattScaling(), TemperatureScaling(), BetaCalibration(), VectorScaling()])
def test_a_million_times_the_weight_is_maximum_likelihood(calibrator):
    """Without a prior the size of weights says nothing; with one it says how little the prior counts."""
    n_classes = 3 if isinstance(calibrator, VectorScaling) else 2
    P, y, _ = make_data(n_classes, n=400)
    weights = np.random.default_rng(0).uniform(1, 2, 400)
    fit = lambda prior, scale: clone(calibrator).set_params(prior=prior).fit(P, y, sample_weight=scale * weights)
    likelihood = fit(None, 1).predict_proba(P)
    np.testing.assert_allclose(fit(None, 1e6).predict_proba(P), likelihood, atol=1e-6)
    np.testing.assert_allclose(fit("auto", 1e6).predict_proba(P), likelihood, atol=1e-3)
    assert np.abs(fit("auto", 1).predict_proba(P) - likelihood).max() > 1e-4


@pytest.mark.parametrize("calibrator", [*BINARY[:3], SplineScaling(), VectorScaling(), clustcal.StructuredScaling()])
@pytest.mark.parametrize("scale", [1 / 500, 1e-300])
def test_weights_that_sum_to_one_or_less_are_read_as_relative(calibrator, scale):
    P, y, _ = make_data(2)
    plain = clone(calibrator).fit(P, y).predict_proba(P)
    weighted = clone(calibrator).fit(P, y, sample_weight=np.full(len(y), scale)).predict_proba(P)
    np.testing.assert_allclose(weighted, plain, atol=1e-9)


@pytest.mark.parametrize("calibrator", [*BINARY[:3], VectorScaling()])
def test_another_prior_than_the_two_is_refused(calibrator):
    P, y, _ = make_data(3 if isinstance(calibrator, VectorScaling) else 2)
    for wrong in ("none", 1.0, True):
        with pytest.raises(ValueError, match="expected 'auto' or None"):
            clone(calibrator).set_params(prior=wrong).fit(P, y)
