"""Other rates of the classes: Bayes' rule by hand, EM against the likelihood and a simulation."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning

from clustcal import PriorCorrection, metrics
from tests.calibrators.interface import CHECKS, make_data, name_of


@pytest.mark.parametrize("check", CHECKS, ids=name_of)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_interface(check, n_classes):
    check(PriorCorrection(), n_classes)


def two_normals(n, rate, rng):
    """Labels at a rate, scores x of mean 1 or -1, and what Bayes' rule says at a rate of 1/2: 1 / (1 + e^-2x)."""
    y = (rng.random(n) < rate).astype(int)
    x = rng.normal(2 * y - 1)
    return x, y, 1 / (1 + np.exp(-2 * x))


def test_given_rates_give_the_posterior_of_bayes_rule():
    x, y, p = two_normals(2000, 0.5, np.random.default_rng(0))
    y[:1000], y[1000:] = 0, 1  # rates of exactly 1/2
    likelihood = norm(1, 1).pdf(x) * 0.1, norm(-1, 1).pdf(x) * 0.9
    for rates in (0.1, [0.9, 0.1]):
        Q = PriorCorrection(rates).fit(p, y).predict_proba(p)
        np.testing.assert_allclose(Q[:, 1], likelihood[0] / (likelihood[0] + likelihood[1]), atol=1e-12)


def test_three_classes_by_hand():
    """(0.2, 0.3, 0.5) from rates of a third to (0.5, 0.3, 0.2): (10, 9, 10) / 29."""
    P, y = [[0.2, 0.3, 0.5]] * 3, [0, 1, 2]
    Q = PriorCorrection([0.5, 0.3, 0.2]).fit(P, y).predict_proba(P)
    np.testing.assert_allclose(Q[0], np.array([10, 9, 10]) / 29)


def test_em_finds_the_rate_of_the_highest_likelihood():
    """The score's density at a rate r is r f_1 + (1 - r) f_0, and f_1 / f_0 the old odds."""
    rng = np.random.default_rng(1)
    _, _, p = two_normals(500, 0.2, rng)
    fitted = PriorCorrection().fit([0.3, 0.7], [0, 1]).adapt(p)
    best = minimize_scalar(lambda r: -np.log(r * p + (1 - r) * (1 - p)).sum(), bounds=(0, 1), options={"xatol": 1e-10})
    assert fitted.rates_[1] == pytest.approx(best.x, abs=1e-6)
    assert fitted.predict_proba(p)[:, 1].mean() == pytest.approx(fitted.rates_[1], abs=1e-8)


def test_em_recovers_the_rates_of_a_simulation_and_improves_the_forecast():
    rng = np.random.default_rng(2)
    _, y, p = two_normals(20_000, 0.15, rng)
    fitted = PriorCorrection().fit([0.3, 0.7], [0, 1]).adapt(p)
    # The standard error of the rate is below 0.004 here.
    assert fitted.rates_[1] == pytest.approx(0.15, abs=0.012)
    assert metrics.log_loss(y, fitted.predict_proba(p)) < metrics.log_loss(y, p) - 0.05


def test_rates_that_did_not_change_are_found_to_be_the_old_ones():
    _, y, p = two_normals(20_000, 0.5, np.random.default_rng(3))
    assert PriorCorrection().fit(p, y).adapt(p).rates_[1] == pytest.approx(y.mean(), abs=0.012)


def test_weights_are_repetition_in_em():
    _, y, p = two_normals(100, 0.3, np.random.default_rng(4))
    counts = np.arange(100) % 3
    fitted = PriorCorrection().fit(p, y)
    weighted = fitted.adapt(p, counts).rates_
    np.testing.assert_allclose(weighted, fitted.adapt(np.repeat(p, counts)).rates_, atol=1e-8)


def test_em_that_is_stopped_says_so():
    with pytest.warns(ConvergenceWarning, match="after 1 iterations"):
        PriorCorrection(max_iter=1).fit([0.3, 0.7], [0, 1]).adapt([0.1, 0.2])


@pytest.mark.parametrize("rates", [1.5, [0.5, 0.6], [0.2, 0.3, 0.5], "many", [-0.1, 1.1], [np.nan, 1]])
def test_rates_that_are_none_are_refused(rates):
    with pytest.raises(ValueError, match=r"rates is .*; expected a rate for each of 2 classes"):
        PriorCorrection(rates).fit([0.3, 0.7], [0, 1])


def test_other_columns_are_refused_in_adapt():
    with pytest.raises(ValueError, match="3 columns; expected 2"):
        PriorCorrection().fit([0.3, 0.7], [0, 1]).adapt(make_data(3)[0])


def test_rates_are_learned_from_columns_by_name():
    rng = np.random.default_rng(3)
    p = rng.random(200)
    frame = pd.DataFrame({"no": 1 - p, "yes": p})
    fitted = PriorCorrection(classes=["no", "yes"]).fit(frame, np.where(rng.random(200) < p, "yes", "no"))
    fresh = frame[p < 0.6]
    straight = fitted.adapt(fresh).rates_
    np.testing.assert_array_equal(fitted.adapt(fresh[["yes", "no"]]).rates_, straight)


def test_a_new_fit_forgets_the_iterations_of_the_last_adaptation():
    fitted = PriorCorrection().fit([0.2, 0.6, 0.7], [0, 1, 1])
    assert fitted.adapt([0.1, 0.3, 0.9]).n_iter_ > 0
    assert fitted.fit([0.2, 0.6, 0.7], [0, 1, 1]).n_iter_ == 0
