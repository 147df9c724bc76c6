"""Histogram binning against netcal, the posterior mean written out, and hand calculations."""

import numpy as np
import pytest
from netcal.binning import HistogramBinning as PeerHistogram

from clustcal.calibrators.histogram import HistogramBinning


class TestHistogramBinning:
    def test_values_are_posterior_means(self):
        """Bin (0, 0.5]: 2 of 3; bin (0.5, 1]: 1 of 1; prior Beta(2, 3)."""
        fitted = HistogramBinning(2, prior=(2, 3)).fit([0.1, 0.2, 0.5, 0.51], [0, 1, 1, 1])
        np.testing.assert_allclose(fitted.predict_proba([0.0, 1.0])[:, 1], [4 / 8, 3 / 6])

    def test_an_empty_bin_gives_the_mean_of_the_prior(self):
        fitted = HistogramBinning(10, prior=(1, 3)).fit([0.05, 0.95], [0, 1])
        assert fitted.predict_proba([0.5])[0, 1] == 0.25

    def test_without_a_prior_an_empty_bin_gives_its_midpoint(self):
        fitted = HistogramBinning(10, prior=(0, 0)).fit([0.05, 0.95], [0, 1])
        assert fitted.predict_proba([0.42])[0, 1] == pytest.approx(0.45)

    @pytest.mark.parametrize("n_bins", [1, 7, 15])
    def test_without_a_prior_it_is_that_of_netcal(self, binary, n_bins):
        p, y, fresh = binary
        ours = HistogramBinning(n_bins, prior=(0, 0)).fit(p, y).predict_proba(fresh)[:, 1]
        np.testing.assert_allclose(ours, PeerHistogram(n_bins).fit(p, y).transform(fresh), atol=1e-12)

    def test_scores_on_edges_are_counted_where_they_are_looked_up(self):
        """netcal issue 19: its fit counts 0.2 in [0.2, 0.3) and its prediction looks 0.2 up in (0.1, 0.2]; so here
        no two rows of the calibration set get the frequency of their own score from it."""
        p, y = np.repeat([0.2, 0.3], 10), np.repeat([0, 1], 10)
        np.testing.assert_allclose(HistogramBinning(10, prior=(0, 0)).fit(p, y).predict_proba([0.2, 0.3])[:, 1], [0, 1])
        assert PeerHistogram(10).fit(p, y).transform(np.array([0.2]))[0] == pytest.approx(0.15)

    def test_0_and_1_lie_in_the_outer_bins(self):
        """torchmetrics issues 3510, 1646 and 1744."""
        fitted = HistogramBinning(4, prior=(0, 0)).fit([0.0, 0.1, 0.9, 1.0], [1, 0, 1, 0])
        np.testing.assert_allclose(fitted.predict_proba([0.0, 1.0])[:, 1], [0.5, 0.5])

    def test_quantile_bins_hold_equal_weight(self):
        p = np.linspace(0.01, 0.4, 40)
        fitted = HistogramBinning(4, "quantile", prior=(0, 0)).fit(p, np.repeat([0, 1, 0, 1], 10))
        np.testing.assert_allclose(fitted.maps_[0].values, [0, 1, 0, 1])

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            ({"n_bins": 0}, "n_bins"),
            ({"n_bins": 2.5}, "n_bins"),
            ({"strategy": "kmeans"}, "strategy"),
            ({"prior": (1,)}, "prior"),
            ({"prior": (-1, 1)}, "prior"),
            ({"prior": (np.nan, 1)}, "prior"),
        ],
    )
    def test_bad_parameters_are_named(self, wrong, message):
        with pytest.raises(ValueError, match=message):
            HistogramBinning(**wrong).fit([0.2, 0.8], [0, 1])
