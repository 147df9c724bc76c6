"""Isotonic calibration against scikit-learn and its definition."""

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from clustcal.calibrators.isotonic import IsotonicCalibration
from tests.calibrators.interface import assert_probabilities, make_data


class TestIsotonicCalibration:
    def test_it_is_that_of_scikit_learn(self, binary):
        p, y, fresh = binary
        peer = IsotonicRegression(out_of_bounds="clip").fit(p, y).predict(fresh)
        np.testing.assert_allclose(IsotonicCalibration().fit(p, y).predict_proba(fresh)[:, 1], peer, atol=1e-12)

    def test_weights_of_equal_scores_are_summed(self):
        """scikit-learn issue 9432. Score 0.5 holds 1 of weight 4 and 0 of weight 4; then 0.7 holds 0 of weight 2, and
        the two are pooled: 4 / 10."""
        p, y, w = [0.5, 0.5, 0.5, 0.7, 0.9], [1, 1, 0, 0, 1], [1, 3, 4, 2, 1]
        Q = IsotonicCalibration().fit(p, y, sample_weight=w).predict_proba([0.5, 0.7, 0.9])
        np.testing.assert_allclose(Q[:, 1], [0.4, 0.4, 1])

    def test_many_classes_come_back_as_one_matrix(self):
        """PyCalib issue 1: one-vs-rest isotonic gave (2, n, L)."""
        P, y, _ = make_data(4)
        assert_probabilities(IsotonicCalibration().fit(P, y).predict_proba(P), 200, 4)

    def test_order_of_scores_is_kept(self, binary):
        p, y, fresh = binary
        assert (np.diff(IsotonicCalibration().fit(p, y).predict_proba(np.sort(fresh))[:, 1]) >= 0).all()

    def test_constant_scores_get_the_base_rate(self):
        """betacal PR 7."""
        Q = IsotonicCalibration().fit(np.full(10, 0.3), [0] * 7 + [1] * 3).predict_proba([0.0, 0.3, 1.0])
        np.testing.assert_allclose(Q[:, 1], 0.3)

    def test_scores_out_of_bounds_can_be_refused(self):
        fitted = IsotonicCalibration("raise").fit([0.2, 0.8], [0, 1])
        with pytest.raises(ValueError, match="below"):
            fitted.predict_proba([0.1])

    def test_nan_is_no_choice_for_scores_out_of_bounds(self):
        with pytest.raises(ValueError, match="out_of_bounds"):
            IsotonicCalibration("nan").fit([0.2, 0.8], [0, 1])
