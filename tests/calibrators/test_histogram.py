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

    @pytest.mark.parametrize("strategy", ["uniform", "quantile"])
    @pytest.mark.parametrize("rate", [1e-4, 0.3, 1 - 1e-4])
    def test_the_default_keeps_the_mean_of_rare_events(self, strategy, rate):
        """imbalanced-learn issue 1128, xgboost issue 863: the prior (1, 1) doubles the number of frauds."""
        rng = np.random.default_rng(1)
        p = np.exp(rng.normal(np.log(min(rate, 1 - rate)) - 0.5, 1, 100_000)).clip(0, 1)
        p = p if rate < 0.5 else 1 - p
        y = (rng.random(100_000) < p).astype(int)
        assert 0 < y.mean() < 1
        q = HistogramBinning(strategy=strategy).fit(p, y).predict_proba(p)[:, 1]
        # In bin b of n_b rows q is (m_b + 2 r) / (n_b + 2) with r the rate: summed over rows that is the number of
        # events up to 2 per bin times |r - m_b / n_b|.
        assert abs(q.sum() - y.sum()) < 2 * 10 * max(y.mean(), 1 - y.mean())
        np.testing.assert_allclose(
            1 - q.mean() if rate > 0.5 else q.mean(), 1 - y.mean() if rate > 0.5 else y.mean(), rtol=0.25
        )

    def test_the_default_prior_is_two_rows_of_the_frequency(self):
        p, y = [0.1, 0.2, 0.8, 0.9], [0, 0, 0, 1]
        q = HistogramBinning(2).fit(p, y).predict_proba([0.3, 0.7])[:, 1]
        np.testing.assert_allclose(q, [(0 + 0.5) / 4, (1 + 0.5) / 4])
        assert HistogramBinning(4).fit(p, y).predict_proba([0.4])[0, 1] == pytest.approx(0.25)  # nothing there

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
