"""The interface of all calibrators by bins, and rows of many classes from one map for each."""

import numpy as np
import pytest

from clustcal import (
    BetaCalibration,
    CentredIsotonicCalibration,
    DirichletCalibration,
    PlattScaling,
    TemperatureScaling,
    VectorScaling,
)
from clustcal.calibrators.bayesian_binning import BayesianBinning
from clustcal.calibrators.binwise import BinwiseCalibration
from clustcal.calibrators.histogram import HistogramBinning
from clustcal.calibrators.isotonic import IsotonicCalibration
from clustcal.calibrators.one_vs_rest import frequency
from tests.calibrators.interface import CHECKS, make_data, name_of

SYMMETRIC = [  # swapping two classes mirrors their bins
    HistogramBinning(),
    HistogramBinning(prior=(0, 0)),
    BayesianBinning(),
    BayesianBinning("AIC"),
    BayesianBinning("bayes"),
    IsotonicCalibration(),
    BinwiseCalibration(TemperatureScaling(), n_bins=5, min_bin_size=10),
    BinwiseCalibration(),
]
# Bins of equal weight end at a score, so that those of p and of 1 - p differ.
ONE_SIDED = [
    HistogramBinning(strategy="quantile"),
    BayesianBinning("bayes", "quantile"),
    BinwiseCalibration(PlattScaling(), min_bin_size=10, kind="positive"),
]
BINARY = [
    *SYMMETRIC,
    *ONE_SIDED,
    BinwiseCalibration(PlattScaling(), 5, min_bin_size=10),
    BinwiseCalibration(BetaCalibration(), 3, 10, "quantile"),
]
MULTICLASS = [
    *SYMMETRIC,
    *ONE_SIDED[:2],
    BinwiseCalibration(VectorScaling(), 5, min_bin_size=10),
    BinwiseCalibration(DirichletCalibration(), 3, min_bin_size=20),
]
EVERY = [*[(calibrator, 2) for calibrator in BINARY], *[(calibrator, 3) for calibrator in MULTICLASS]]


@pytest.mark.parametrize("check", CHECKS, ids=name_of)
@pytest.mark.parametrize(("calibrator", "n_classes"), EVERY, ids=name_of)
def test_interface(check, calibrator, n_classes):
    if "relabelling" in check.__name__ and n_classes == 2 and not any(calibrator is one for one in SYMMETRIC):
        pytest.skip("bins that mirror differently")
    check(calibrator, n_classes)


class TestOneVsRest:
    def test_a_row_that_every_class_calls_impossible_keeps_its_probabilities(self):
        """netcal issue 56: rows of a multiclass histogram that sum to 0 became NaN. No class occurs below 1/2 here."""
        P, y = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]], [0, 1, 2]
        Q = HistogramBinning(2, prior=(0, 0)).fit(P, y).predict_proba([[0.4, 0.4, 0.2], [0.6, 0.2, 0.2]])
        np.testing.assert_allclose(Q, [[0.4, 0.4, 0.2], [1, 0, 0]])

    @pytest.mark.parametrize("calibrator", [HistogramBinning(), IsotonicCalibration(), CentredIsotonicCalibration()])
    def test_a_class_without_rows_keeps_its_probability(self, calibrator):
        """Two of three classes occur; the third has 0.2 before rows are divided by their sums, not 0."""
        P = np.repeat([[0.5, 0.3, 0.2], [0.3, 0.5, 0.2]], 10, axis=0)
        y = [0] * 8 + [1] * 2 + [1] * 8 + [0] * 2
        with pytest.warns(UserWarning, match="no label of the classes"):
            fitted = calibrator.set_params(classes=[0, 1, 2]).fit(P, y)
        Q = fitted.predict_proba(P[[0]])
        assert fitted.maps_[2] is None
        np.testing.assert_allclose(Q[0, 2], 0.2 / (fitted.maps_[0](P[:1, 0]) + fitted.maps_[1](P[:1, 1]) + 0.2))

    def test_the_same_row_of_isotonic_regression(self):
        """A class occurs at 0.3 and never up to 0.2, beyond which no score of the first row goes."""
        P = [np.roll([0.3, 0.2, 0.125, 0.125, 0.125, 0.125], k) for k in range(6)]
        Q = IsotonicCalibration().fit(P, range(6)).predict_proba([[0.15, 0.2, 0.15, 0.15, 0.15, 0.2], P[0]])
        np.testing.assert_allclose(Q, [[0.15, 0.2, 0.15, 0.15, 0.15, 0.2], [1, 0, 0, 0, 0, 0]])

    def test_columns_are_calibrated_apart_and_rows_renormalised(self):
        P, y, _ = make_data(3)
        columns = [HistogramBinning().fit(P[:, k], y == k).predict_proba(P[:, k])[:, 1] for k in range(3)]
        expected = np.column_stack(columns)
        expected /= expected.sum(axis=1, keepdims=True)
        np.testing.assert_allclose(HistogramBinning().fit(P, y).predict_proba(P), expected, atol=1e-12)


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_frequencies_do_not_change_with_the_scale_of_weights(scale):
    P, y, _ = make_data(2)
    weights = np.arange(len(y)) % 3 + 1.0
    calibrator = HistogramBinning(10, prior=(0, 0))
    expected = calibrator.fit(P, y, sample_weight=weights).predict_proba(P)
    np.testing.assert_allclose(calibrator.fit(P, y, sample_weight=scale * weights).predict_proba(P), expected)


def test_a_frequency_needs_weight_and_no_whole_row():
    assert frequency(np.array([0.2, 0.0, 3.0]), np.array([0.8, 0.0, 4.0]), np.full(3, 0.5)).tolist() == [
        0.25,
        0.5,
        0.75,
    ]
