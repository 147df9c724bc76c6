"""The sequential test of calibration: by hand, its rates of false alarms in simulation, and what it finds."""

import numpy as np
import pytest
from scipy.special import expit, logit

from clustcal.metrics import sequential_calibration_test


def test_evidence_is_the_mean_of_products_of_likelihood_ratios():
    """A shift by log 3 makes 1/2 to 3/4, and one by -log 3 to 1/4: ratios 1.5 and .5 for an event, else .5 and 1.5."""
    found = sequential_calibration_test([1, 1, 0], [0.5] * 3, intercepts=[np.log(3), -np.log(3)], slopes=[])
    assert found.evidence == pytest.approx([1, (1.5**2 + 0.5**2) / 2, (1.5**2 * 0.5 + 0.5**2 * 1.5) / 2])


def test_change_begins_anew_at_every_row():
    """With ratios 1.5, .5, 1.5 the sum over beginnings is 1.5, then (1 + 1.5) * .5, then (1 + 1.25) * 1.5."""
    found = sequential_calibration_test([1, 0, 1], [0.5] * 3, intercepts=[np.log(3)], slopes=[])
    assert found.change == pytest.approx([1.5, 1.25, 3.375])


def test_a_slope_stretches_the_logit():
    p = 0.8
    q = expit(2 * logit(p))
    found = sequential_calibration_test([1, 0], [p, p], intercepts=[], slopes=[2])
    assert found.evidence == pytest.approx([q / p, q / p * (1 - q) / (1 - p)])


def test_no_more_false_alarms_than_promised_however_often_one_looks():
    """Of 300 streams of 1,000 calibrated rows at most 10 % may alarm; 45 have a binomial probability below 0.01."""
    rng = np.random.default_rng(0)
    alarms = 0
    for _ in range(300):
        p = rng.beta(1, 3, 1000)
        alarms += sequential_calibration_test(rng.random(1000) < p, p, level=0.1).alarm is not None
    assert alarms < 45


def test_rows_until_a_false_alarm_are_those_promised_on_average():
    """A run is cut at 400 rows, which makes its mean smaller: it still has to exceed the 50 that are promised."""
    rng = np.random.default_rng(1)
    runs = []
    for _ in range(100):
        p = rng.beta(1, 3, 400)
        at = sequential_calibration_test(rng.random(400) < p, p, rows_between_alarms=50).change_alarm
        runs.append(400 if at is None else at + 1)
    assert np.mean(runs) > 50


def test_a_change_after_a_long_good_past_is_found_by_the_restarted_evidence_first():
    rng = np.random.default_rng(2)
    p = rng.beta(1, 3, 6000)
    truth = np.where(np.arange(6000) < 4000, p, expit(logit(p) + 0.7))
    found = sequential_calibration_test(rng.random(6000) < truth, p)
    assert 4000 < found.change_alarm < 4400
    assert found.alarm is None or found.alarm > found.change_alarm


def test_forecasts_of_0_and_1_are_taken_and_no_number_overflows():
    found = sequential_calibration_test([1, 0] * 50, [0, 1] * 50)
    assert found.alarm is not None
    assert not np.isnan(found.evidence).any()


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [
        ({"level": 2}, "level is 2; expected"),
        ({"rows_between_alarms": 0}, "rows_between_alarms is 0; expected"),
        ({"intercepts": [], "slopes": []}, "expected at least one alternative"),
        ({"slopes": [1.0]}, "expected alternatives that differ"),
        ({"intercepts": ["a"]}, "intercepts"),
    ],
)
def test_what_is_no_alternative_is_refused(kwargs, message):
    with pytest.raises(ValueError, match=message):
        sequential_calibration_test([0, 1], [0.2, 0.7], **kwargs)
