"""Bayesian binning against netcal, the marginal likelihood written out, and hand calculations."""

import time

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from netcal.binning import BBQ
from scipy.special import gammaln

from clustcal.calibrators import bayesian_binning
from clustcal.calibrators.bayesian_binning import BayesianBinning
from clustcal.core.probabilities import assign_bins, bin_edges
from tests.calibrators.interface import assert_probabilities, make_data


class TestBayesianBinning:
    @pytest.mark.parametrize("n", [9, 50, 1000, 2000])
    @pytest.mark.parametrize("score", ["BIC", "AIC"])
    def test_it_is_that_of_netcal(self, binary, score, n, monkeypatch):
        """netcal adds up its log-likelihoods in float32, which alone moves weights by some 1e-4; told to use float64
        it agrees. Scores lie on no edge here: on one, netcal's fit and prediction contradict each other."""
        p, y, fresh = binary
        monkeypatch.setattr(torch, "FloatTensor", torch.DoubleTensor)
        peer = BBQ(score).fit(p[:n], y[:n]).transform(fresh)
        ours = BayesianBinning(score).fit(p[:n], y[:n]).predict_proba(fresh)[:, 1]
        np.testing.assert_allclose(ours, peer, atol=1e-10)

    def test_netcal_as_it_comes_differs_by_its_rounding_only(self, binary):
        p, y, fresh = binary
        peer = BBQ("BIC").fit(p, y).transform(fresh)
        np.testing.assert_allclose(BayesianBinning().fit(p, y).predict_proba(fresh)[:, 1], peer, atol=1e-3)

    def test_many_classes_are_as_in_netcal(self, monkeypatch):
        P, y, _ = make_data(3, n=1500)
        monkeypatch.setattr(torch, "FloatTensor", torch.DoubleTensor)
        peer = BBQ("BIC").fit(P, y).transform(P)
        np.testing.assert_allclose(BayesianBinning().fit(P, y).predict_proba(P), peer, atol=1e-10)

    @pytest.mark.parametrize("strategy", ["uniform", "quantile"])
    def test_the_original_is_the_published_formula_written_out(self, binary, strategy):
        """Naeini et al. 2015, one histogram and one bin at a time; n = 200 allows 1 to 40 bins (n / 5)."""
        p, y, fresh = (array[:200] for array in binary)
        log_scores, values = [], []
        for k in range(1, 41):
            edges = bin_edges(p, k, strategy)
            bins, k = assign_bins(p, edges), len(edges) - 1
            log_score, value = 0.0, np.empty(k)
            for b in range(k):
                n, m = np.sum(bins == b), np.sum(y[bins == b])
                middle = (edges[b] + edges[b + 1]) / 2
                alpha, beta = 2 / k * middle, 2 / k * (1 - middle)
                log_score += gammaln(2 / k) - gammaln(n + 2 / k)
                log_score += gammaln(m + alpha) - gammaln(alpha) + gammaln(n - m + beta) - gammaln(beta)
                value[b] = (m + alpha) / (n + alpha + beta)
            log_scores.append(log_score)
            values.append(value[assign_bins(fresh, edges)])
        weights = np.exp(np.array(log_scores) - max(log_scores))
        expected = weights @ np.array(values) / weights.sum()
        ours = BayesianBinning("bayes", strategy).fit(p, y).predict_proba(fresh)[:, 1]
        np.testing.assert_allclose(ours, expected, atol=1e-12)

    @pytest.mark.parametrize("score", ["BIC", "AIC", "bayes"])
    def test_two_well_populated_scores_get_their_frequencies(self, score):
        p, y = np.repeat([0.2, 0.8], 5000), np.repeat([0, 1, 0, 1], [4000, 1000, 500, 4500])
        np.testing.assert_allclose(
            BayesianBinning(score).fit(p, y).predict_proba([0.2, 0.8])[:, 1], [0.2, 0.9], atol=1e-3
        )

    @pytest.mark.parametrize("score", ["BIC", "AIC", "bayes"])
    def test_it_never_leaves_the_interval(self, score):
        """netcal issue 54: 1.0000000000000002."""
        rng = np.random.default_rng(1)
        p = rng.random(3000)
        Q = BayesianBinning(score).fit(p, p > 0.5).predict_proba(np.linspace(0, 1, 1001))
        assert_probabilities(Q, 1001, 2)

    @given(
        scores=st.lists(st.integers(0, 20), min_size=1, max_size=40),
        counts=st.lists(st.integers(0, 3), min_size=40, max_size=40),
        numbers=st.lists(st.integers(1, 12), min_size=1, max_size=4, unique=True),
    )
    def test_edges_of_many_histograms_at_once_are_those_of_the_one_rule(self, scores, counts, numbers):
        p, numbers = np.sort(scores) / 20, np.sort(numbers)
        weights = np.array(counts[: len(p)], dtype=float)
        weights[0] += 1
        total = np.concatenate([[0], np.cumsum(weights)])
        for strategy in ("uniform", "quantile"):
            first, upper = bayesian_binning._upper_edges(p, total, numbers, strategy)
            for number, edges in zip(numbers, np.split(upper, first[1:]), strict=True):
                np.testing.assert_array_equal(np.append(0, edges), bin_edges(p, int(number), strategy, weights))

    @pytest.mark.parametrize(
        ("scores", "kept"),
        [
            ([1.0], [1.0]),
            ([1.0, 1.0, 1.0], [1.0, 1.0, 1.0]),
            ([1.0, 1.0, 0.5, 0.5, 0.2], [1.0, 1.0, 0.5, 0, 0]),
            ([0.2, 1.0, 0.6], [0.2, 1.0, 0.6]),
            ([1.0, 0.99999, 0.5], [1.0, 0, 0]),
        ],
    )
    def test_scores_are_kept_down_to_the_elbow(self, scores, kept):
        """Ties at the top stay; among later ones the first small fall ends the list, which one of a tie is open."""
        np.testing.assert_array_equal(bayesian_binning._keep_down_to_elbow(np.array(scores)), kept)

    def test_numbers_of_bins_follow_the_cube_root(self):
        assert bayesian_binning._numbers_of_bins(1000.0)[[0, -1]].tolist() == [1, 100]
        assert bayesian_binning._numbers_of_bins(30_000.0)[[0, -1]].tolist() == [3, 311]
        assert bayesian_binning._numbers_of_bins(12.0)[[0, -1]].tolist() == [1, 3]
        assert bayesian_binning._numbers_of_bins(1.0).tolist() == [1]
        # 8000 ** (1 / 3) is 19.999...: the root of a cube is taken as a whole number.
        for root in range(10, 200, 10):
            assert bayesian_binning._numbers_of_bins(float(root**3))[[0, -1]].tolist() == [root // 10, 10 * root]
        assert bayesian_binning._numbers_of_bins(1e12)[-1] == 2000

    def test_all_histograms_together_cost_little_more_than_a_sort(self):
        """netcal takes hundreds of times as long as the sort. About 6 times are measured, 20 allowed."""
        rng = np.random.default_rng(0)
        p, y = rng.random(200_000), rng.integers(0, 2, 200_000)
        best = lambda run: min(_seconds(run) for _ in range(3))
        assert best(lambda: BayesianBinning().fit(p, y)) < 20 * best(lambda: np.argsort(p))

    @pytest.mark.parametrize(
        ("wrong", "message"), [({"criterion": "MDL"}, "criterion"), ({"strategy": "kmeans"}, "strategy")]
    )
    def test_bad_parameters_are_named(self, wrong, message):
        with pytest.raises(ValueError, match=message):
            BayesianBinning(**wrong).fit([0.2, 0.8], [0, 1])


def _seconds(run):
    start = time.process_time()
    run()
    return time.process_time() - start
