"""The optimum against scipy, closed forms, and the limits of shrinkage."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from sklearn.exceptions import ConvergenceWarning

from clustcal.core import families, solvers
from clustcal.core.probabilities import as_probabilities

BINARY = [families.PLATT, families.TEMPERATURE, families.BETA]
MULTICLASS = [
    families.TemperatureFamily(4),
    families.VectorFamily(4),
    families.DirichletFamily(4, l2=1e-3),
    families.DirichletFamily(4, l2=1e-3, shrink_to="temperature"),
]


def make_data(family, n=400, seed=0):
    """Scores whose true probabilities are a distortion of them that the family can mostly undo."""
    rng = np.random.default_rng(seed)
    if isinstance(family, families.BinaryFamily):
        p = expit(rng.normal(-0.5, 1.5, n))
        return as_probabilities(p), (rng.random(n) < expit(0.6 * logit(p) + 0.3)).astype(int)
    U = rng.normal(0, 1.5, (n, 4))
    P, truth = np.exp(U), np.exp(0.6 * U + rng.normal(0, 0.3, 4))
    truth /= truth.sum(axis=1, keepdims=True)
    return P / P.sum(axis=1, keepdims=True), (truth.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)


def mean_nll(family, theta, X, codes, w):
    """Written out once more, from the predicted probabilities alone."""
    q = family.predict(theta, X)[np.arange(len(codes)), codes]
    penalty = 0.0
    if isinstance(family, families.DirichletFamily):
        t = np.trace(theta.reshape(4, 5)[:, :4]) / 4 if family.shrink_to == "temperature" else 0.0
        penalty = family.l2 * np.sum((theta - t * family.identity) ** 2)
    return -(w @ np.log(q)) / w.sum() + penalty


def scipy_optimum(family, X, codes, w, prior, shrinkage):
    """SLSQP on the objective as written out above, with central differences, restarted where it stopped."""
    objective = lambda theta: mean_nll(family, theta, X, codes, w) + shrinkage * np.sum((theta - prior) ** 2)
    options = {"ftol": 1e-16, "maxiter": 1000}
    bounds = np.column_stack([family.lower, family.upper])
    theta = family.identity
    for _ in range(3):
        theta = minimize(objective, theta, jac="3-point", method="SLSQP", bounds=bounds, options=options).x
    return theta


@pytest.mark.parametrize("family", BINARY + MULTICLASS)
def test_parameters_agree_with_scipy_in_every_cluster(family):
    P, codes = make_data(family)
    X = family.features(P)
    W = np.random.default_rng(1).uniform(0, 1, (len(P), 3))
    prior = family.identity * 0.8
    found = solvers.fit(family, X, codes, W, prior=prior, shrinkage=0.05)
    for k in range(3):
        expected = scipy_optimum(family, X, codes, W[:, k], prior, 0.05)
        np.testing.assert_allclose(found.theta[k], expected, atol=1e-6)


@pytest.mark.parametrize("family", [*BINARY, families.TemperatureFamily(4)])
def test_gradient_vanishes_at_the_optimum_of_a_global_fit(family):
    P, codes = make_data(family)
    X, W = family.features(P), np.ones((len(P), 1))
    theta = solvers.fit(family, X, codes, W).theta
    assert np.abs(family.nll(theta, X, codes, W)[1]).max() / len(P) < 1e-10


@pytest.mark.parametrize("family", BINARY + MULTICLASS)
def test_where_it_starts_changes_the_way_and_not_the_optimum(family):
    P, codes = make_data(family)
    X, W = family.features(P), np.random.default_rng(1).uniform(0, 1, (len(P), 2))
    near = solvers.fit(family, X, codes, W, shrinkage=0.05)
    again = solvers.fit(family, X, codes, W, shrinkage=0.05, start=near.theta)
    np.testing.assert_allclose(again.theta, near.theta, atol=1e-6)
    assert again.n_iter < near.n_iter


@pytest.mark.parametrize("family", BINARY)
def test_a_looser_tolerance_misses_the_optimum_by_less_than_it(family):
    P, codes = make_data(family)
    X, W = family.features(P), np.ones((len(P), 1))
    exact, loose = (solvers.fit(family, X, codes, W, tol=tol) for tol in (1e-12, 1e-5))
    assert loose.n_iter < exact.n_iter
    assert mean_nll(family, loose.theta[0], X, codes, W[:, 0]) - exact.loss[0] < 1e-5


def test_a_subsample_as_a_start_does_not_change_the_optimum(monkeypatch):
    P, codes = make_data(families.BETA, n=5000)
    X, W = families.BETA.features(P), np.ones((5000, 1))
    from_a_part = solvers.fit(families.BETA, X, codes, W).theta
    monkeypatch.setattr(solvers, "MANY_NUMBERS", 10**9)
    np.testing.assert_allclose(solvers.fit(families.BETA, X, codes, W).theta, from_a_part, atol=1e-9)


def test_a_subsample_of_one_class_does_no_harm():
    P, codes = make_data(families.PLATT, n=6000)
    codes = np.zeros_like(codes)
    codes[1::400] = 1
    assert not codes[:: solvers.PART].any()
    X, W = families.PLATT.features(P), np.ones((6000, 1))
    theta = solvers.fit(families.PLATT, X, codes, W).theta
    assert np.abs(families.PLATT.nll(theta, X, codes, W)[1]).max() / 6000 < 1e-10


class Recorder:
    """A family that remembers at which parameters it was evaluated on all rows."""

    def __init__(self, family, n):
        self.family, self.n, self.points = family, n, []

    def __getattr__(self, name):
        return getattr(self.family, name)

    def nll(self, theta, X, codes, W):
        if len(X) == self.n:
            self.points.append(theta.copy())
        return self.family.nll(theta, X, codes, W)


@pytest.mark.parametrize("family", [families.PLATT, families.BETA, families.VectorFamily(4)])
def test_nothing_is_evaluated_twice_however_bad_the_start(family):
    """Scores that are sure and often wrong: the loss at the identity is far above that of a coin."""
    P, codes = make_data(family)
    P = P**20 / (P**20).sum(axis=1, keepdims=True)
    recorder = Recorder(family, len(P))
    X = family.features(P)
    assert mean_nll(family, family.identity, X, codes, np.ones(len(P))) > np.log(P.shape[1]) + 1
    solvers.fit(recorder, X, codes, np.ones((len(P), 1)), prior=family.identity)
    points = np.concatenate(recorder.points)
    assert len(np.unique(points, axis=0)) == len(points)


def test_few_passes_over_many_rows_are_needed():
    P, codes = make_data(families.PLATT, n=200_000)
    recorder = Recorder(families.PLATT, len(P))
    solvers.fit(recorder, families.PLATT.features(P), codes, np.ones((len(P), 1)))
    assert len(recorder.points) <= 3


@pytest.mark.parametrize("shrinkage", [0.0, 0.05])
@pytest.mark.parametrize("absent", [False, True])
def test_cholesky_takes_the_steps_of_the_pseudo_inverse(shrinkage, absent, monkeypatch):
    """Also where equal intercepts for all classes change nothing, and where a class does not occur."""
    family = families.VectorFamily(4)
    P, codes = make_data(family)
    codes = codes % 3 if absent else codes
    X, W = family.features(P), np.random.default_rng(1).uniform(0, 1, (len(P), 2))
    thetas = []
    for many in (10**9, 0):
        monkeypatch.setattr(solvers, "MANY_PARAMETERS", many)
        thetas.append(solvers.fit(family, X, codes, W, shrinkage=shrinkage).theta)
    for k in range(2):
        np.testing.assert_allclose(family.predict(thetas[1][k], X), family.predict(thetas[0][k], X), atol=1e-7)
    if not absent:
        np.testing.assert_allclose(thetas[1], thetas[0], atol=1e-7)


def test_a_negative_coefficient_of_beta_is_held_at_0_and_the_rest_refitted():
    # Scores above 1/2 say nothing; the free optimum has b < 0.
    rng = np.random.default_rng(3)
    p = rng.uniform(0.01, 0.99, 3000)
    codes = (rng.random(3000) < np.where(p < 0.5, p, 0.5 - 0.2 * (p - 0.5))).astype(int)
    X, W = families.BETA.features(as_probabilities(p)), np.ones((3000, 1))
    theta = solvers.fit(families.BETA, X, codes, W).theta[0]
    rest = scipy_optimum(families.BETA, X, codes, W[:, 0], families.BETA.identity, 0.0)
    assert theta[1] == 0
    assert theta[0] > 0
    np.testing.assert_allclose(theta, rest, atol=1e-6)


def test_scores_that_point_the_wrong_way_give_the_base_rate():
    p = np.repeat([0.1, 0.9], 50)
    codes = np.repeat([1, 0, 0], [40, 20, 40])
    X = families.BETA.features(as_probabilities(p))
    theta = solvers.fit(families.BETA, X, codes, np.ones((100, 1))).theta[0]
    np.testing.assert_allclose(theta, [0, 0, logit(0.4)], atol=1e-8)


@pytest.mark.parametrize("family", [families.PLATT, families.BETA])
def test_constant_scores_give_the_base_rate(family):
    X = family.features(as_probabilities(np.full(10, 0.3)))
    codes = np.array([1] * 4 + [0] * 6)
    theta = solvers.fit(family, X, codes, np.ones((10, 1))).theta[0]
    np.testing.assert_allclose(family.predict(theta, X)[:, 1], 0.4, atol=1e-9)


@pytest.mark.parametrize("family", BINARY + MULTICLASS[:2])
def test_separable_classes_give_finite_parameters_and_a_warning(family):
    P = np.full((20, 2 if family in BINARY else 4), 0.1)
    codes = np.arange(20) % P.shape[1]
    P[np.arange(20), codes] = 0.6
    P /= P.sum(axis=1, keepdims=True)
    found = solvers.fit(family, family.features(P), codes, np.ones((20, 1)))
    with pytest.warns(ConvergenceWarning, match="separate"):
        found.warn()
    assert not found.is_finite.any()
    assert np.isfinite(found.theta).all()
    assert (family.predict(found.theta[0], family.features(P)).argmax(axis=1) == codes).all()


@pytest.mark.parametrize("family", BINARY + MULTICLASS)
def test_a_cluster_without_weight_keeps_the_prior(family):
    P, codes = make_data(family)
    W = np.column_stack([np.ones(len(P)), np.zeros(len(P))])
    prior = np.clip(family.identity * 0.9 + 0.01, family.lower, family.upper)
    found = solvers.fit(family, family.features(P), codes, W, prior=prior, shrinkage=0.0)
    np.testing.assert_array_equal(found.theta[1], prior)


@pytest.mark.parametrize("family", BINARY + MULTICLASS)
def test_strong_shrinkage_gives_the_prior(family):
    P, codes = make_data(family)
    prior = family.identity * 0.9
    found = solvers.fit(family, family.features(P), codes, np.ones((len(P), 2)), prior=prior, shrinkage=1e8)
    np.testing.assert_allclose(found.theta, [prior, prior], atol=1e-7)


@pytest.mark.parametrize("family", MULTICLASS[1:])
def test_l_bfgs_reaches_the_optimum_of_newton(family, monkeypatch):
    P, codes = make_data(family)
    X, W = family.features(P), np.random.default_rng(1).uniform(0, 1, (len(P), 2))
    newton = solvers.fit(family, X, codes, W, shrinkage=0.05)
    monkeypatch.setattr(families, "DENSE", 0)
    np.testing.assert_allclose(solvers.fit(family, X, codes, W, shrinkage=0.05).theta, newton.theta, atol=2e-5)


@pytest.mark.parametrize("family", BINARY)
def test_scores_of_0_and_1_alone_give_the_frequencies_of_both_groups(family):
    """Saturated scores have no slope at the identity; the optimum is the frequency at 0 and the one at 1."""
    p, codes = np.repeat([0.0, 1.0], 30), np.repeat([0, 1, 0, 1], [24, 6, 6, 24])
    X = family.features(as_probabilities(p))
    theta = solvers.fit(family, X, codes, np.ones((60, 1))).theta[0]
    np.testing.assert_allclose(family.predict(theta, X)[[0, -1], 1], [0.2, 0.8], atol=1e-6)


def test_beta_reaches_the_optimum_of_scipy_on_small_samples():
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X = families.BETA.features(as_probabilities(rng.uniform(size=30)))
        codes = rng.permutation(np.arange(30) % 2)
        theta = solvers.fit(families.BETA, X, codes, np.ones((30, 1))).theta[0]
        best = scipy_optimum(families.BETA, X, codes, np.ones(30), families.BETA.identity, 0.0)
        ours, theirs = (mean_nll(families.BETA, t, X, codes, np.ones(30)) for t in (theta, best))
        assert ours <= theirs + 1e-9


def test_a_step_whose_successor_is_foreseen_to_be_negligible_is_the_last():
    """Newton's method written out: the gain g = s'Hs / 2 of a step foretells the next one, g^3 / g'^2 after g'."""
    family = families.PLATT
    P, codes = make_data(family, seed=4)
    X = family.features(P)
    theta, gains = family.identity, []
    for _ in range(20):
        q = expit(X @ theta)
        gradient = X.T @ (q - codes) / len(X)
        step = -np.linalg.solve((X.T * (q * (1 - q))) @ X / len(X), gradient)
        gains.append(-gradient @ step / 2)
        theta = theta + step
    small = next(i for i, gain in enumerate(gains) if gain < 1e-12)
    foreseen = next(i for i in range(1, 20) if gains[i] ** 3 < 1e-17 * gains[i - 1] ** 2)
    assert foreseen < small
    found = solvers.fit(family, X, codes, np.ones((len(X), 1)))
    assert found.n_iter == foreseen + 1
    np.testing.assert_allclose(found.theta[0], theta, atol=1e-8)
