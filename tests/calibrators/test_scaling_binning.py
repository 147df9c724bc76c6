"""Scaling-binning, by hand, against the library of its authors, and by what it keeps."""

import numpy as np
import pytest

from clustcal import BetaCalibration, HistogramBinning, PlattScaling, ScalingBinning
from tests.calibrators.interface import CHECKS, make_data, name_of


@pytest.mark.parametrize("check", CHECKS, ids=name_of)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_interface(check, n_classes):
    check(ScalingBinning(), n_classes)


@pytest.mark.parametrize("n_bins", [5, 10])
def test_it_is_the_authors_binning_of_our_platt_scaling(n_bins):
    calibration = pytest.importorskip("calibration")
    P, y, _ = make_data(2, n=500)
    q = PlattScaling(prior=None).fit(P, y).predict_proba(P)[:, 1]
    theirs = calibration.get_discrete_calibrator(q, calibration.get_equal_bins(q, n_bins))(q)
    Q = ScalingBinning(PlattScaling(prior=None), n_bins).fit(P, y).predict_proba(P)
    np.testing.assert_allclose(Q[:, 1], theirs, atol=1e-12)


def test_it_is_the_authors_whole_method_where_their_optimum_is_exact_enough():
    calibration = pytest.importorskip("calibration")
    P, y, _ = make_data(2, n=500)
    theirs = calibration.PlattBinnerCalibrator(num_calibration=None, num_bins=10)
    theirs.train_calibration(P[:, 1], y)
    Q = ScalingBinning(PlattScaling(prior=None)).fit(P, y).predict_proba(P)
    np.testing.assert_allclose(Q[:, 1], theirs.calibrate(P[:, 1]), atol=1e-4)  # their logistic regression stops early


def test_each_value_is_the_mean_of_the_smooth_map_in_its_bin():
    P, y, _ = make_data(2, n=400)
    binned = ScalingBinning(BetaCalibration(), n_bins=4).fit(P, y)
    smooth = BetaCalibration().fit(P, y).predict_proba(P)[:, 1]
    Q = binned.predict_proba(P)[:, 1]
    assert len(np.unique(Q)) == 4
    for value in np.unique(Q):
        assert smooth[value == Q].mean() == pytest.approx(value)
        assert (value == Q).sum() == 100


def test_values_vary_less_between_samples_than_those_of_a_histogram():
    rng = np.random.default_rng(0)
    p = rng.random((200, 100))
    y = rng.random(p.shape) < p
    spread = lambda one: np.std([one.fit(a, b).predict_proba([0.3, 0.9])[:, 1] for a, b in zip(p, y, strict=True)])
    assert spread(ScalingBinning()) < spread(HistogramBinning(strategy="quantile", prior=(0, 0)))


@pytest.mark.parametrize("wrong", [HistogramBinning(), "platt", PlattScaling(from_logits=True)])
def test_what_cannot_serve_is_refused(wrong):
    P, y, _ = make_data(2)
    with pytest.raises(ValueError, match=r"^calibrator is .*; expected"):
        ScalingBinning(wrong).fit(P, y)


def test_tied_scores_leave_no_bin_empty():
    """By hand: a third of the rows have the largest score, so that quantiles end there; above it the value stays."""
    p, y = np.repeat([0.2, 0.5, 0.8], 20), np.tile([0, 1, 0, 1, 1], 12)
    fitted = ScalingBinning().fit(p, y)
    smooth = PlattScaling().fit(p, y).predict_proba(p)[:, 1]
    np.testing.assert_allclose(fitted.predict_proba([0.2, 0.5, 0.8, 0.8001, 1.0])[:, 1], smooth[[0, 20, 40, 40, 40]])
    constant = ScalingBinning().fit(np.full(8, 0.3), np.arange(8) % 2).predict_proba([0.1, 0.3, 0.31, 0.9])[:, 1]
    assert np.ptp(constant) == 0
