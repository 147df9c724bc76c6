"""Scores of other classifiers: three parts without rows in common, and the faults they are there for."""

import numpy as np
import pytest
from scipy.special import logit

from clustcal import PlattScaling, metrics
from clustcal.experiments.alternatives import other_classifiers


@pytest.fixture(scope="module")
def modest():
    return other_classifiers.scores("breast_cancer", "adaboost")


def test_parts_are_thirds_of_a_small_set(modest):
    _, y_cal, p_test, y_test = modest
    assert [len(part) for part in modest] == [190, 190, 189, 189]
    assert set(y_cal.tolist()) == set(y_test.tolist()) == {0, 1}
    assert metrics.log_loss(y_test, p_test) < 0.69  # it has learned something


def test_adaboost_is_far_too_modest(modest):
    p_cal, y_cal, p_test, y_test = modest
    platt = PlattScaling(prior=None).fit(p_cal, y_cal)
    assert platt.theta_[0] > 3
    assert metrics.log_loss(y_test, platt.predict_proba(p_test)) < metrics.log_loss(y_test, p_test) / 2


def test_naive_bayes_is_far_too_sure():
    p_cal, y_cal = other_classifiers.scores("breast_cancer", "bayes")[:2]
    p_cal = np.clip(p_cal, 1e-12, 1 - 1e-12)
    assert np.std(logit(p_cal)) > 5
    assert PlattScaling(prior=None).fit(p_cal, y_cal).theta_[0] < 0.5
