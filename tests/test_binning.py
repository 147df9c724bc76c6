"""Calibration by bins against netcal, scikit-learn, formulas written out, and hand calculations."""

import time
import warnings

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from netcal.binning import BBQ
from netcal.binning import HistogramBinning as PeerHistogram
from scipy.special import expit, gammaln, logit
from sklearn.base import clone
from sklearn.isotonic import IsotonicRegression

from clustcal import BetaCalibration, DirichletCalibration, PlattScaling, TemperatureScaling, VectorScaling, binning
from clustcal.binning import BayesianBinning, BinwiseCalibration, HistogramBinning, IsotonicCalibration
from clustcal.probabilities import assign_bins, bin_edges
from tests.calibrator_checks import CHECKS, assert_probabilities, make_data, name_of

SYMMETRIC = [  # swapping two classes mirrors their bins
    HistogramBinning(),
    HistogramBinning(prior=(0, 0)),
    BayesianBinning(),
    BayesianBinning("AIC"),
    BayesianBinning("bayes"),
    IsotonicCalibration(),
    BinwiseCalibration(TemperatureScaling(), n_bins=5, min_bin_size=10),
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


@pytest.fixture
def binary():
    rng = np.random.default_rng(0)
    p = expit(rng.normal(-1, 2, 2000))
    return p, (rng.random(2000) < expit(0.6 * logit(p) + 0.4)).astype(int), rng.random(500)


class TestOneVsRest:
    def test_a_row_that_every_class_calls_impossible_keeps_its_probabilities(self):
        """netcal issue 56: rows of a multiclass histogram that sum to 0 became NaN. No class occurs below 1/2 here."""
        P, y = [[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]], [0, 1, 2]
        Q = HistogramBinning(2, prior=(0, 0)).fit(P, y).predict_proba([[0.4, 0.4, 0.2], [0.6, 0.2, 0.2]])
        np.testing.assert_allclose(Q, [[0.4, 0.4, 0.2], [1, 0, 0]])

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
            first, upper = binning._upper_edges(p, total, numbers, strategy)
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
        np.testing.assert_array_equal(binning._keep_down_to_elbow(np.array(scores)), kept)

    def test_numbers_of_bins_follow_the_cube_root(self):
        assert binning._numbers_of_bins(1000.0)[[0, -1]].tolist() == [1, 100]
        assert binning._numbers_of_bins(30_000.0)[[0, -1]].tolist() == [3, 311]
        assert binning._numbers_of_bins(12.0)[[0, -1]].tolist() == [1, 3]
        assert binning._numbers_of_bins(1.0).tolist() == [1]
        assert binning._numbers_of_bins(1e12)[-1] == 2000

    def test_all_histograms_together_cost_little_more_than_a_sort(self):
        """netcal takes hundreds of times as long as the sort. About 6 times are measured, 20 allowed."""
        rng = np.random.default_rng(0)
        p, y = rng.random(200_000), rng.integers(0, 2, 200_000)
        best = lambda run: min(_seconds(run) for _ in range(3))
        assert best(lambda: BayesianBinning().fit(p, y)) < 20 * best(lambda: np.argsort(p))

    @pytest.mark.parametrize(("wrong", "message"), [({"score": "MDL"}, "score"), ({"strategy": "kmeans"}, "strategy")])
    def test_bad_parameters_are_named(self, wrong, message):
        with pytest.raises(ValueError, match=message):
            BayesianBinning(**wrong).fit([0.2, 0.8], [0, 1])


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


class TestBinwiseCalibration:
    @pytest.mark.parametrize(
        ("calibrator", "n_classes"),
        [
            (PlattScaling(), 2),
            (TemperatureScaling(), 2),
            (BetaCalibration(), 2),
            (TemperatureScaling(), 3),
            (VectorScaling(), 3),
            (DirichletCalibration(), 3),
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
        fitted = BinwiseCalibration(PlattScaling()).fit(P, y)
        assert fitted.fitted_bins_.tolist() == [False] * 5 + [True] * 4 + [False]
        rows = P.max(axis=1) > 0.9
        expected = PlattScaling().fit(P, y).predict_proba(P[rows])
        np.testing.assert_allclose(fitted.predict_proba(P[rows]), expected, atol=1e-12)

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
            fitted = BinwiseCalibration(PlattScaling()).fit(p, y)
        assert fitted.fitted_bins_.tolist() == [False] * 5 + [True] * 3 + [False] * 2
        expected = PlattScaling().fit(p, y).predict_proba([0.95])
        np.testing.assert_allclose(fitted.predict_proba([0.95]), expected, atol=1e-12)

    @pytest.mark.parametrize("calibrator", [PlattScaling(), TemperatureScaling(), BetaCalibration()])
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
        fitted = BinwiseCalibration(PlattScaling(), kind="positive", min_bin_size=5)
        seen = P[:, 1] < 0.7
        fitted.fit(P[seen], y[seen])
        expected = PlattScaling().fit(P[seen], y[seen]).predict_proba([0.95])
        np.testing.assert_allclose(fitted.predict_proba([0.95]), expected, atol=1e-12)

    def test_scores_on_an_edge_use_the_bin_that_they_were_fitted_in(self):
        """netcal issue 19: one rule for edges. 0.7 lies in (0.6, 0.7], 0.8 in (0.7, 0.8]."""
        p, y = np.repeat([0.7, 0.8], 100), np.repeat([1, 0, 1, 0], [60, 40, 95, 5])
        Q = BinwiseCalibration(TemperatureScaling()).fit(p, y).predict_proba([0.7, 0.8])
        np.testing.assert_allclose(Q[:, 1], [0.6, 0.95], atol=1e-6)

    def test_the_kind_says_which_probability_is_binned(self):
        """0.3 and 0.7 share the top-label bin (0.6, 0.7]: one temperature for the frequencies 0.4 and 0.8."""
        p, y = np.repeat([0.3, 0.7], 100), np.repeat([0, 1, 0, 1], [60, 40, 20, 80])
        positive = BinwiseCalibration(TemperatureScaling(), kind="positive").fit(p, y)
        np.testing.assert_allclose(positive.predict_proba([0.3, 0.7])[:, 1], [0.4, 0.8], atol=1e-6)
        top_label = BinwiseCalibration(TemperatureScaling()).fit(p, y)
        np.testing.assert_allclose(top_label.predict_proba([0.3, 0.7])[:, 1], [0.3, 0.7], atol=1e-6)

    def test_the_default_is_temperature_scaling(self):
        P, y, _ = make_data(3)
        assert isinstance(BinwiseCalibration().fit(P, y).calibrator_, TemperatureScaling)

    def test_the_given_calibrator_is_left_unfitted(self):
        P, y, _ = make_data(2)
        calibrator = PlattScaling()
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


def _seconds(run):
    start = time.process_time()
    run()
    return time.process_time() - start
