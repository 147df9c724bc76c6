"""Bin-wise calibration: each bin is the global fit of its own rows."""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

from clustcal import BetaCalibration, DirichletCalibration, PlattScaling, TemperatureScaling, VectorScaling
from clustcal.calibrators.binwise import BinwiseCalibration
from clustcal.calibrators.histogram import HistogramBinning
from clustcal.core import families, solvers
from clustcal.core.priors import smoothing_tilt, two_slopes_prior
from clustcal.core.probabilities import assign_bins
from tests.calibrators.interface import make_data


class TestBinwiseCalibration:
    @pytest.mark.parametrize(
        ("calibrator", "n_classes"),
        [
            (PlattScaling(prior=None), 2),
            (TemperatureScaling(prior=None), 2),
            (BetaCalibration(prior=None), 2),
            (TemperatureScaling(prior=None), 3),
            (VectorScaling(prior=None), 3),
            (DirichletCalibration(l2=1e-3, shrink_to="zero"), 3),
        ],
    )
    def test_each_bin_is_calibrated_alone(self, calibrator, n_classes):
        P, y, _ = make_data(n_classes, n=3000)
        fitted = BinwiseCalibration(calibrator, n_bins=5).fit(P, y)
        Q = fitted.predict_proba(P)
        bins = np.ceil(P.max(axis=1) * 5).astype(int) - 1
        for b in np.unique(bins):
            rows = bins == b
            alone = clone(calibrator).fit(P[rows], y[rows])
            assert fitted.fitted_bins_[b]
            np.testing.assert_allclose(Q[rows], alone.predict_proba(P[rows]), atol=1e-5)

    def test_small_bins_use_the_global_fit(self):
        P, y, _ = make_data(2, n=3000)
        keep = np.flatnonzero(P.max(axis=1) <= 0.9)[:1000].tolist() + np.flatnonzero(P.max(axis=1) > 0.9)[:29].tolist()
        P, y = P[keep], y[keep]
        fitted = BinwiseCalibration(PlattScaling(prior=None)).fit(P, y)
        assert fitted.fitted_bins_.tolist() == [False] * 5 + [True] * 4 + [False]
        rows = P.max(axis=1) > 0.9
        expected = PlattScaling(prior=None).fit(P, y).predict_proba(P[rows])
        np.testing.assert_allclose(fitted.predict_proba(P[rows]), expected, atol=1e-12)

    @pytest.mark.parametrize(("size", "is_fitted"), [(29, False), (30, True), (31, True)])
    def test_thirty_rows_are_enough_by_default(self, size, is_fitted):
        """Two thirds of the rows in the middle are what their score says, and so are all of those at the end."""
        p, y = np.r_[np.full(300, 0.6), np.full(size, 0.95)], np.r_[np.arange(300) % 3 > 0, np.arange(size) % 5 > 0]
        assert BinwiseCalibration(PlattScaling()).fit(p, y.astype(int)).fitted_bins_[-1] == is_fitted

    def test_the_size_of_a_bin_is_its_weight(self):
        P, y, _ = make_data(2, n=3000)
        few = slice(0, 100)
        assert not BinwiseCalibration(min_bin_size=60).fit(P[few], y[few]).fitted_bins_.any()
        assert BinwiseCalibration(min_bin_size=60).fit(P[few], y[few], sample_weight=np.full(100, 9)).fitted_bins_.any()

    def test_a_bin_of_one_class_uses_the_global_fit_without_a_warning(self):
        """uncertainty-calibration issue 10: a bin with one class."""
        p = np.concatenate([np.linspace(0.51, 0.79, 100), np.linspace(0.91, 0.99, 50)])
        y = np.concatenate([np.arange(100) % 3 > 0, np.ones(50)]).astype(int)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fitted = BinwiseCalibration(PlattScaling(prior=None)).fit(p, y)
        assert fitted.fitted_bins_.tolist() == [False] * 5 + [True] * 3 + [False] * 2
        expected = PlattScaling(prior=None).fit(p, y).predict_proba([0.95])
        np.testing.assert_allclose(fitted.predict_proba([0.95]), expected, atol=1e-12)

    @pytest.mark.parametrize(
        "calibrator", [PlattScaling(prior=None), TemperatureScaling(prior=None), BetaCalibration(prior=None)]
    )
    def test_a_bin_that_its_scores_separate_uses_the_global_fit_without_a_warning(self, calibrator):
        """All of the surest predictions are right, on both sides: their best temperature would be 0 (autogluon
        PR 4396)."""
        rng = np.random.default_rng(0)
        p = np.concatenate([rng.uniform(0.2, 0.8, 300), rng.uniform(0.91, 0.99, 50), rng.uniform(0.01, 0.09, 50)])
        y = np.concatenate([rng.random(300) < p[:300], np.ones(50), np.zeros(50)]).astype(int)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fitted = BinwiseCalibration(calibrator).fit(p, y)
        assert not fitted.fitted_bins_[-1]
        np.testing.assert_array_equal(fitted.theta_[-1], fitted.calibrator_.theta_)

    def test_an_empty_bin_uses_the_global_fit(self):
        P, y, _ = make_data(2)
        fitted = BinwiseCalibration(PlattScaling(prior=None), kind="positive", min_bin_size=5)
        seen = P[:, 1] < 0.7
        fitted.fit(P[seen], y[seen])
        expected = PlattScaling(prior=None).fit(P[seen], y[seen]).predict_proba([0.95])
        np.testing.assert_allclose(fitted.predict_proba([0.95]), expected, atol=1e-12)

    def test_scores_on_an_edge_use_the_bin_that_they_were_fitted_in(self):
        """netcal issue 19: one rule for edges. 0.7 lies in (0.6, 0.7], 0.8 in (0.7, 0.8]."""
        p, y = np.repeat([0.7, 0.8], 100), np.repeat([1, 0, 1, 0], [60, 40, 95, 5])
        Q = BinwiseCalibration(TemperatureScaling(prior=None)).fit(p, y).predict_proba([0.7, 0.8])
        np.testing.assert_allclose(Q[:, 1], [0.6, 0.95], atol=1e-6)

    def test_the_kind_says_which_probability_is_binned(self):
        """0.3 and 0.7 share the top-label bin (0.6, 0.7]: one temperature for the frequencies 0.4 and 0.8."""
        p, y = np.repeat([0.3, 0.7], 100), np.repeat([0, 1, 0, 1], [60, 40, 20, 80])
        positive = BinwiseCalibration(TemperatureScaling(prior=None), kind="positive").fit(p, y)
        np.testing.assert_allclose(positive.predict_proba([0.3, 0.7])[:, 1], [0.4, 0.8], atol=1e-6)
        top_label = BinwiseCalibration(TemperatureScaling(prior=None)).fit(p, y)
        np.testing.assert_allclose(top_label.predict_proba([0.3, 0.7])[:, 1], [0.3, 0.7], atol=1e-6)

    def test_the_default_is_temperature_scaling(self):
        P, y, _ = make_data(3)
        assert isinstance(BinwiseCalibration().fit(P, y).calibrator_, TemperatureScaling)

    def test_the_given_calibrator_is_left_unfitted(self):
        P, y, _ = make_data(2)
        calibrator = PlattScaling(prior=None)
        BinwiseCalibration(calibrator).fit(P, y)
        assert not hasattr(calibrator, "theta_")

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            ({"calibrator": HistogramBinning()}, "calibrator"),
            ({"n_bins": 0}, "n_bins"),
            ({"min_bin_size": -1}, "min_bin_size"),
            ({"min_bin_size": "few"}, "min_bin_size"),
            ({"strategy": "kmeans"}, "strategy"),
            ({"kind": "classwise"}, "kind"),
        ],
    )
    def test_bad_parameters_are_named_before_anything_is_fitted(self, wrong, message):
        P, y, _ = make_data(2)
        unfitted = BinwiseCalibration(**wrong)
        with pytest.raises(ValueError, match=message):
            unfitted.fit(P, y)
        assert not hasattr(unfitted, "calibrator_")

    def test_more_classes_have_no_positive_one(self):
        P, y, _ = make_data(3)
        with pytest.raises(ValueError, match="kind is 'positive' and P has 3 columns"):
            BinwiseCalibration(kind="positive").fit(P, y)


@pytest.mark.parametrize(
    ("calibrator", "n_classes"),
    [(PlattScaling(), 2), (TemperatureScaling(), 2), (TemperatureScaling(), 3)],
)
def test_every_bin_has_the_prior_that_its_rows_alone_would_have(calibrator, n_classes):
    P, y, _ = make_data(n_classes, n=300)
    fitted = BinwiseCalibration(calibrator, n_bins=5).fit(P, y)
    bins = assign_bins(P.max(axis=1), fitted.edges_)
    assert fitted.fitted_bins_.sum() > 1
    for b in np.flatnonzero(fitted.fitted_bins_):
        alone = clone(calibrator).fit(P[bins == b], y[bins == b])
        np.testing.assert_allclose(fitted.theta_[b], alone.theta_, atol=1e-6)


def test_how_much_a_map_may_bend_in_a_bin_is_measured_by_the_spread_of_all_scores():
    """In a bin logits are close together, which does not make them narrow; these spread by more than 1 on the whole."""
    P, y, _ = make_data(2, n=300)
    assert np.std(np.log(P[:, 1] / P[:, 0])) > 1
    fitted = BinwiseCalibration(BetaCalibration(), n_bins=5).fit(P, y)
    bins = assign_bins(P.max(axis=1), fitted.edges_)
    family = families.BETA
    for b in np.flatnonzero(fitted.fitted_bins_):
        X, codes, weights = family.features(P[bins == b]), y[bins == b], np.ones((bins == b).sum())
        prior = two_slopes_prior(P[bins == b, 1].mean(), 1.0, smoothing_tilt(X, codes, weights))
        alone = solvers.fit(family, X, codes, weights[:, None], penalty=prior)
        np.testing.assert_allclose(fitted.theta_[b], alone.theta[0], atol=1e-6)
