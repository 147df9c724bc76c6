"""Intervals and how they are judged, against hand calculations."""

import numpy as np
import pytest
from scipy.special import expit, logit

from clustcal import metrics
from clustcal.experiments.directions import probability_intervals as intervals
from clustcal.experiments.directions.direction_study import Unit


@pytest.fixture
def case():
    return intervals.simulate(Unit("subpopulations", "n300", 0))


def test_simulated_scores_know_their_truth_given_the_score(case):
    """The mean truth of the rows of a bin of the score is what the probability given the score says."""
    assert len(case.P_cal) == 300
    order = np.argsort(case.P_test)
    for rows in np.array_split(order, 5):
        assert case.truth[rows].mean() == pytest.approx(case.given_score[rows].mean(), abs=0.03)


def test_intervals_of_a_level_are_normal_in_the_logit():
    low, high = intervals.Intervals(np.array([0.0]), np.array([1.0])).at(0.95)
    assert logit(high) == pytest.approx(1.959964, abs=1e-5)
    assert low + high == pytest.approx(1)


def test_a_widened_interval_has_the_same_middle_and_is_wider(case):
    plain, wide = intervals.ridge_by_laplace(case), intervals.ridge_with_clusters(case)
    np.testing.assert_array_equal(plain.middle, wide.middle)
    assert (wide.sd >= plain.sd).all()


def test_measures_by_hand(case):
    """Intervals of known reach around the truth: inside for the first half of the rows, off by 0.1 for the second."""
    n = len(case.truth)
    truth = np.full(n, 0.5)
    off = np.arange(n) >= n // 2
    low, high = 0.4 + 0.3 * off, 0.6 + 0.3 * off

    class Given:
        def predict_interval(self, P):
            return np.column_stack([low, high])

        def predict_proba(self, P):
            return np.column_stack([(low + high) / 2] * 2)

    region = off.astype(int)
    found = intervals.judge(Given(), case._replace(truth=truth, given_score=None), {"clusters": region})
    assert found["coverage-95"] == pytest.approx(0.5)
    assert found["width-95"] == pytest.approx(0.2)
    assert found["interval-score-95"] == pytest.approx(0.2 + 40 * 0.2 / 2)
    assert (found["clusters-lowest"], found["clusters-highest"]) == (0, 1)
    assert found["clusters-sd"] == pytest.approx(0.5)
    assert found["clusters-sd-chance"] < 0.05
    q = np.where(off, 0.8, 0.5)
    assert found["nll"] == pytest.approx(metrics.log_loss(case.y_test, q))
    assert found["excess"] == pytest.approx(np.mean(off) * (0.5 * np.log(0.5 / 0.8) + 0.5 * np.log(0.5 / 0.2)))


def test_regions_with_more_misses_are_found_by_their_labels():
    rng = np.random.default_rng(0)
    region = np.repeat(np.arange(4), 5000)
    truth = expit(np.array([0, 0.3, 0.8, 1.5]))[region]
    y = (rng.random(len(truth)) < truth).astype(int)
    assert intervals._found(np.array([0, 0.2, 0.6, 0.9]), y, np.full(len(y), 0.5), region) == pytest.approx(1)


def test_a_bootstrap_has_about_the_width_of_laplace_where_the_map_is_linear():
    rng = np.random.default_rng(0)
    s, Z = rng.normal(size=1200), rng.normal(size=(1200, 2))
    y = (rng.random(1200) < expit(s + Z[:, 0])).astype(int)
    parts = (expit(s[:800]), y[:800], Z[:800], expit(s[800:]), y[800:], Z[800:])
    case = intervals.Case(*parts, expit(s + Z[:, 0])[800:], None, 0)
    ratio = intervals.ridge_by_bootstrap(case).sd / intervals.ridge_by_laplace(case).sd
    assert np.median(ratio) == pytest.approx(1, abs=0.25)


def test_every_method_of_a_unit_has_its_measures(case):
    low = intervals.METHODS["Venn-Abers"](case).predict_interval(case.P_test)[:, 0]
    assert (low <= 1).all()
    regions = {"clusters": np.arange(len(case.truth)) % 3}
    for name in ("Platt, Laplace", "ridge with slopes, Laplace", "Venn-Abers"):
        found = intervals.judge(intervals.METHODS[name](case), case, regions)
        assert 0 <= found["coverage-95"] <= 1
        assert ("coverage-50" in found) == (name != "Venn-Abers")
