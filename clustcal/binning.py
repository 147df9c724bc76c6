"""Calibration by bins of the score: frequencies per bin, averages of binnings, isotonic steps, a calibrator per bin.

Bins follow the one rule of `probabilities`. Methods that give a frequency work on one column of P at a time:
`OneVsRest` makes rows of many classes of them. `BinwiseCalibration` fits the families of `calibrators` in each bin.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real

import numpy as np
from scipy.special import gammaln, softmax, xlogy
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.isotonic import IsotonicRegression

from clustcal import solvers
from clustcal.calibrators import Calibrator, ParametricCalibrator, TemperatureScaling, check_fit_input
from clustcal.probabilities import (
    STRATEGIES,
    as_probabilities,
    as_weights,
    assign_bins,
    bin_edges,
    check_same_length,
    encode_labels,
)

__all__ = ["BayesianBinning", "BinwiseCalibration", "HistogramBinning", "IsotonicCalibration"]

KINDS = ("top-label", "positive")
# Naeini et al.: from n^(1/3) / 10 to 10 n^(1/3) bins. The cap keeps the arrays small; it acts from n = 8e6 on.
BINS_PER_CUBE_ROOT = 10.0
MOST_BINS = 2000
# Naeini et al.: the prior of a whole binning is worth this many observations.
PRIOR_STRENGTH = 2.0
# The binning next in rank is kept while its score falls by more than this share of the variance of the scores.
ELBOW = 1e-3


@dataclass(frozen=True)
class StepFunction:
    """A constant in every bin: ``values[b]`` for scores in bin b of ``edges``."""

    edges: np.ndarray
    values: np.ndarray

    def __call__(self, p):
        return self.values[assign_bins(p, self.edges)]


class OneVsRest(Calibrator):
    """Calibrators that map one score to one frequency: once for two classes, once per class for more.

    A subclass gives ``_check_parameters()`` and ``_fit_map(p, hit, weights)``, which returns the map from scores of
    one class to its frequencies. With more than two classes each row is divided by its sum; a row for which every
    class gets 0 stays as it was.
    """

    def fit(self, P, y, Z=None, sample_weight=None):
        """Fit the map of the second class, or of every class if there are more than two.

        Parameters
        ----------
        P : array-like of shape (n,) or (n, L)
            Uncalibrated probabilities on the calibration set. One column is read as the probability of the
            second class.
        y : array-like of shape (n,)
            Labels of any type.
        Z : ignored
            Present so that all calibrators are called alike.
        sample_weight : array-like of shape (n,), optional
            A weight of 2 is the same as two equal rows.

        Returns
        -------
        self
        """
        self._check_parameters()
        P, classes, codes, weights = check_fit_input(P, y, sample_weight, self.classes)
        columns = [1] if P.shape[1] == 2 else range(P.shape[1])
        self.maps_ = [self._fit_map(P[:, column], codes == column, weights) for column in columns]
        self.classes_ = classes
        return self

    def _calibrate(self, P, Z):
        if len(self.maps_) == 1:
            q = self.maps_[0](P[:, 1])
            return np.column_stack([1 - q, q])
        Q = np.column_stack([frequency(p) for frequency, p in zip(self.maps_, P.T, strict=True)])
        nothing = ~Q.any(axis=1)
        Q[nothing] = P[nothing]
        return Q / Q.sum(axis=1, keepdims=True)


class HistogramBinning(OneVsRest):
    r"""Histogram binning: the frequency of a class among the scores of a bin, as a posterior mean.

    With m of the n scores in a bin belonging to the class and a Beta(:math:`\alpha, \beta`) prior,

    .. math:: q = \frac{m + \alpha}{n + \alpha + \beta}.

    Parameters
    ----------
    n_bins : int, default=10
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width or of equal weight; see ``clustcal.probabilities.bin_edges``.
    prior : tuple of two floats, default=(1.0, 1.0)
        :math:`\alpha` and :math:`\beta`, the paper's defaults; (0, 0) gives the plain frequency.
    classes : array-like of shape (L,), optional
        The label of each column of P; by default the sorted labels.

    Attributes
    ----------
    classes_ : ndarray of shape (L,)
    maps_ : list of StepFunction
        ``edges`` and ``values`` of the second class, or of every class if there are more than two.

    Notes
    -----
    An empty bin gives the mean of the prior, :math:`\alpha / (\alpha + \beta)`, which is 1/2 by default: nothing is
    known there. With the prior (0, 0), which has no mean, it gives its midpoint.

    References
    ----------
    B. Zadrozny, C. Elkan, "Obtaining calibrated probability estimates from decision trees and naive Bayesian
    classifiers", ICML 2001.

    Examples
    --------
    >>> from clustcal.binning import HistogramBinning
    >>> p, y = [0.1, 0.2, 0.3, 0.9], [0, 1, 0, 1]
    >>> HistogramBinning(n_bins=2).fit(p, y).predict_proba([0.25, 0.75])  # (1 + 1) / (3 + 2), (1 + 1) / (1 + 2)
    array([[0.6       , 0.4       ],
           [0.33333333, 0.66666667]])
    """

    def __init__(self, n_bins=10, strategy="uniform", prior=(1.0, 1.0), classes=None):
        self.n_bins = n_bins
        self.strategy = strategy
        self.prior = prior
        self.classes = classes

    def _check_parameters(self):
        """Raise a ValueError if a parameter cannot serve."""
        bin_edges(np.array([0.5]), self.n_bins, self.strategy)
        prior = np.asarray(self.prior, dtype=float)
        if prior.shape != (2,) or not (np.isfinite(prior).all() and (prior >= 0).all()):
            raise ValueError(f"prior is {self.prior!r}; expected two numbers of at least 0.")

    def _fit_map(self, p, hit, weights):
        """Return the `StepFunction` of the posterior means."""
        alpha, beta = self.prior
        edges = bin_edges(p, self.n_bins, self.strategy, weights)
        bins = assign_bins(p, edges)
        total = np.bincount(bins, weights, minlength=len(edges) - 1) + alpha + beta
        hits = np.bincount(bins, weights * hit, minlength=len(edges) - 1) + alpha
        return StepFunction(edges, _frequency(hits, total, (edges[:-1] + edges[1:]) / 2))


class BayesianBinning(OneVsRest):
    r"""Bayesian binning (BBQ): an average over histograms with many numbers of bins, weighted by their evidence.

    There are histograms with :math:`\max(1, \lfloor n^{1/3} / 10 \rfloor)` to
    :math:`\min(\lceil n / 5 \rceil, \lceil 10 n^{1/3} \rceil)` bins (at most 2,000); n is the total weight.

    Parameters
    ----------
    score : {"BIC", "AIC", "bayes"}, default="BIC"
        ``"BIC"`` and ``"AIC"`` are netcal's, which the paper uses: with k bins, plain frequencies and
        log-likelihood :math:`\ell`, a histogram weighs :math:`s = \exp(-\mathrm{BIC} / 2)`, where
        :math:`\mathrm{BIC} = -2 \ell + k \ln n` and :math:`\mathrm{AIC} = -2 \ell + 2 k`, relative to the best;
        then only the best are kept, down to where s falls by no more than 0.001 times the variance of all s.

        ``"bayes"`` is the original: the marginal likelihood under a Beta prior in every bin b of the k, with
        :math:`\alpha_b = 2 c_b / k` and :math:`\beta_b = 2 (1 - c_b) / k` around the midpoint :math:`c_b`; the value of
        a bin is its posterior mean, and every histogram counts.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width, the paper's setting (netcal's ``equal_intervals=True``), or of equal weight, which the
        original has; see ``clustcal.probabilities.bin_edges``.
    classes : array-like of shape (L,), optional
        The label of each column of P; by default the sorted labels.

    Attributes
    ----------
    classes_ : ndarray of shape (L,)
    maps_ : list of StepFunction
        The average, for the second class or for every class if there are more than two: an average of step
        functions is one, so that a prediction is one look-up.

    Notes
    -----
    An empty bin gives its midpoint. Weights count rows, so n, and with it the numbers of bins, grows with them.

    Scores are sorted once; the counts of every bin of every histogram are then differences of cumulative sums.

    References
    ----------
    M. P. Naeini, G. Cooper, M. Hauskrecht, "Obtaining well calibrated probabilities using Bayesian binning",
    AAAI 2015.

    Examples
    --------
    >>> import numpy as np
    >>> from clustcal.binning import BayesianBinning
    >>> p, y = np.repeat([0.2, 0.8], 50), np.repeat([0, 1, 0, 1], [40, 10, 5, 45])
    >>> BayesianBinning().fit(p, y).predict_proba([0.2, 0.8])[:, 1].round(3)
    array([0.2, 0.9])
    """

    def __init__(self, score="BIC", strategy="uniform", classes=None):
        self.score = score
        self.strategy = strategy
        self.classes = classes

    def _check_parameters(self):
        """Raise a ValueError if a parameter cannot serve."""
        if self.score not in SCORES:
            raise ValueError(f"score is {self.score!r}; expected one of {tuple(SCORES)}.")
        if self.strategy not in STRATEGIES:
            raise ValueError(f"strategy is {self.strategy!r}; expected one of {STRATEGIES}.")

    def _fit_map(self, p, hit, weights):
        """Return the `StepFunction` that averages the histograms."""
        histograms = _histograms(p, hit, weights, self.strategy)
        values, evidence = SCORES[self.score](histograms)
        return _average(histograms, values, evidence)


class IsotonicCalibration(OneVsRest):
    """Isotonic regression: the increasing map with the least squared error.

    Parameters
    ----------
    out_of_bounds : {"clip", "raise"}, default="clip"
        What scores beyond those of the calibration set get: the value at the nearest end, or a ValueError.
    classes : array-like of shape (L,), optional
        The label of each column of P; by default the sorted labels.

    Attributes
    ----------
    classes_ : ndarray of shape (L,)
    maps_ : list of callables
        The maps of `sklearn.isotonic.IsotonicRegression`, for the second class or for every class if there are
        more than two. Linear between the scores of the calibration set.

    Notes
    -----
    Values of exactly 0 and 1 are usual at the ends; the log-loss of a test set then depends on how they are clipped.

    References
    ----------
    B. Zadrozny, C. Elkan, "Transforming classifier scores into accurate multiclass probability estimates",
    KDD 2002.

    Examples
    --------
    >>> from clustcal.binning import IsotonicCalibration
    >>> IsotonicCalibration().fit([0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1]).predict_proba([0.4, 0.5, 0.9])[:, 1]
    array([0.5, 0.5, 1. ])
    """

    def __init__(self, out_of_bounds="clip", classes=None):
        self.out_of_bounds = out_of_bounds
        self.classes = classes

    def _check_parameters(self):
        """Raise a ValueError if a parameter cannot serve."""
        if self.out_of_bounds not in ("clip", "raise"):
            raise ValueError(f"out_of_bounds is {self.out_of_bounds!r}; expected 'clip' or 'raise'.")

    def _fit_map(self, p, hit, weights):
        """Return the prediction of a fitted isotonic regression."""
        regression = IsotonicRegression(y_min=0, y_max=1, out_of_bounds=self.out_of_bounds)
        return regression.fit(p, hit.astype(float), sample_weight=weights).predict


class BinwiseCalibration(Calibrator):
    """A parametric calibrator in every bin of the confidence; bin-wise temperature scaling (BTS) and its kin.

    Parameters
    ----------
    calibrator : PlattScaling, TemperatureScaling, BetaCalibration, VectorScaling or DirichletCalibration
        The family, unfitted. Left out: `TemperatureScaling`.
    n_bins : int, default=10
    min_bin_size : float, default=30
        Bins with less weight than this (fewer rows, without weights) use the global fit.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width or of equal weight; see ``clustcal.probabilities.bin_edges``.
    kind : {"top-label", "positive"}, default="top-label"
        The confidence: the highest probability of a row, as in BTS and for any number of classes, or the
        probability of the second of two classes. The paper does not say which of them it takes for two classes.
        The default treats both classes alike and is one definition for any number of them; but a bin then holds
        rows of both predictions, and with two classes half of the bins of equal width lie below 1/2, empty.

    Attributes
    ----------
    classes_ : ndarray of shape (L,)
    calibrator_ : calibrator
        The global fit.
    edges_ : ndarray of shape (B + 1,)
        Of the bins of the confidence, the same at fit and at prediction.
    fitted_bins_ : ndarray of shape (B,), bool
        Which bins have parameters of their own.
    theta_ : ndarray of shape (B, p)
        The parameters of every bin; those of the global fit where a bin has none of its own.

    Notes
    -----
    The global fit also serves bins without a finite optimum: those with one class only, and those where scores
    separate the classes. A class that is absent from a bin with several others gets a probability near 0 there from
    `VectorScaling` and `DirichletCalibration`, as it does from a global fit without that class.

    References
    ----------
    B. Ji, H. Jung, J. Yoon, K. Kim, Y. Shin, "Bin-wise temperature scaling (BTS): improvement in confidence
    calibration performance through simple scaling techniques", ICCV Workshops 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from clustcal import TemperatureScaling
    >>> from clustcal.binning import BinwiseCalibration
    >>> p, y = np.repeat([0.1, 0.6, 0.9], 100), np.repeat([0, 1, 0, 1, 0, 1], [75, 25, 45, 55, 25, 75])
    >>> BinwiseCalibration(TemperatureScaling()).fit(p, y).predict_proba([0.1, 0.6, 0.9])[:, 1].round(3)
    array([0.25, 0.55, 0.75])
    """

    def __init__(self, calibrator=None, n_bins=10, min_bin_size=30, strategy="uniform", kind="top-label"):
        self.calibrator = calibrator
        self.n_bins = n_bins
        self.min_bin_size = min_bin_size
        self.strategy = strategy
        self.kind = kind

    def fit(self, P, y, Z=None, sample_weight=None):
        """Fit the global calibrator, and one in every bin that is large enough.

        Parameters
        ----------
        P : array-like of shape (n,) or (n, L)
            Uncalibrated probabilities on the calibration set. One column is read as the probability of the
            second class.
        y : array-like of shape (n,)
            Labels of any type.
        Z : ignored
            Present so that all calibrators are called alike.
        sample_weight : array-like of shape (n,), optional
            A weight of 2 is the same as two equal rows.

        Returns
        -------
        self
        """
        calibrator = self._check_parameters()
        P = as_probabilities(P)
        check_same_length(len(P), y=np.asarray(y))
        weights = as_weights(sample_weight, len(P))
        confidence = take_columns(P, confidence_columns(P, self.kind))
        edges = bin_edges(confidence, self.n_bins, self.strategy, weights)
        self.calibrator_ = calibrator.fit(P, y, sample_weight=weights)
        self.classes_, codes = encode_labels(y, P.shape[1], calibrator.classes_, require_two=False)
        self.edges_ = edges
        self._fit_bins(P, codes, weights, assign_bins(confidence, edges))
        return self

    def _fit_bins(self, P, codes, weights, bins):
        """Fit each bin on its own rows: together that is one pass over the data, which one call with a column of
        weights per bin would make once per bin."""
        n_bins = len(self.edges_) - 1
        family = self.calibrator_.family(P.shape[1])
        self.theta_ = np.tile(self.calibrator_.theta_, (n_bins, 1))
        self.fitted_bins_ = np.zeros(n_bins, dtype=bool)
        for b in np.flatnonzero(np.bincount(bins, weights, minlength=n_bins) >= self.min_bin_size):
            rows = np.flatnonzero((bins == b) & (weights > 0))
            if len(rows) == 0 or (codes[rows] == codes[rows[0]]).all():
                continue
            theta = _fit_if_finite(family, P[rows], codes[rows], weights[rows], self.calibrator_.theta_)
            if theta is not None:
                self.theta_[b], self.fitted_bins_[b] = theta, True

    def _calibrate(self, P, Z):
        family = self.calibrator_.family(P.shape[1])
        bins = assign_bins(take_columns(P, confidence_columns(P, self.kind)), self.edges_)
        Q = np.empty_like(P)
        for b in np.unique(bins):
            rows = np.flatnonzero(bins == b)
            Q[rows] = family.predict(self.theta_[b], family.features(P[rows]))
        return Q / Q.sum(axis=1, keepdims=True)  # only rounding is left to remove

    def _check_parameters(self):
        """Return an unfitted copy of the calibrator, once every parameter but those of the bins has been checked."""
        calibrator = TemperatureScaling() if self.calibrator is None else self.calibrator
        if not isinstance(calibrator, ParametricCalibrator):
            raise ValueError(f"calibrator is {calibrator!r}; expected a parametric one, such as PlattScaling().")
        if not isinstance(self.min_bin_size, Real) or not self.min_bin_size >= 0:
            raise ValueError(f"min_bin_size is {self.min_bin_size!r}; expected a number of at least 0.")
        return clone(calibrator)


def confidence_columns(P, kind):
    """Return for every row the column whose probability is its confidence, shape (n,).

    The most probable one for the kind ``"top-label"``, the second of two for ``"positive"``.
    """
    if kind not in KINDS:
        raise ValueError(f"kind is {kind!r}; expected one of {KINDS}.")
    if kind == "top-label":
        return P.argmax(axis=1)
    if P.shape[1] != 2:
        raise ValueError(f"kind is 'positive' and P has {P.shape[1]} columns; expected 2, or the kind 'top-label'.")
    return np.ones(len(P), dtype=int)


def take_columns(P, columns):
    """Return the element of every row in its column, shape (n,)."""
    return np.take_along_axis(P, columns[:, None], axis=1)[:, 0]


@dataclass(frozen=True)
class _Histograms:
    """All bins of all histograms, one histogram after the other.

    ``first`` (H,) is where each histogram starts; the other arrays have one element per bin: its ``lower`` and
    ``upper`` edge, the weight ``total`` in it and the part of it, ``hits``, that belongs to the class.
    """

    first: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    total: np.ndarray
    hits: np.ndarray

    @property
    def n_bins(self):
        """The number of bins of every histogram, shape (H,)."""
        return np.diff(self.first, append=len(self.upper))

    @property
    def middle(self):
        return (self.lower + self.upper) / 2

    def sums(self, values):
        """Sum one value per bin over each histogram."""
        return np.add.reduceat(values, self.first)

    def before(self, values):
        """The value of the bin to the left, and 0 for the first of every histogram."""
        return _before(values, self.first)


def _before(values, first):
    left = np.roll(values, 1)
    left[first] = 0
    return left


def _histograms(p, hit, weights, strategy):
    """Count the bins of every histogram from one sort and its cumulative sums."""
    order = np.argsort(p)
    p = p[order]
    total = np.concatenate([[0.0], np.cumsum(weights[order])])  # total[i] is the weight of the i lowest scores
    hits = np.concatenate([[0.0], np.cumsum((weights * hit)[order])])
    first, upper = _upper_edges(p, total, _numbers_of_bins(total[-1]), strategy)
    below = np.searchsorted(p, upper, side="right")
    in_bin = lambda cumulative: cumulative[below] - cumulative[_before(below, first)]
    return _Histograms(first, _before(upper, first), upper, in_bin(total), np.minimum(in_bin(hits), in_bin(total)))


def _numbers_of_bins(n):
    root = n ** (1 / 3)
    fewest = max(1, int(root / BINS_PER_CUBE_ROOT))
    most = int(min(np.ceil(n / 5), np.ceil(BINS_PER_CUBE_ROOT * root), MOST_BINS))
    return np.arange(min(fewest, most), most + 1)


def _upper_edges(p, total, numbers, strategy):
    """Upper edges of all bins, and where each histogram starts: `bin_edges` for many numbers of bins at once."""
    first = np.cumsum(numbers) - numbers
    j = np.arange(numbers.sum()) - np.repeat(first, numbers) + 1
    upper = j / np.repeat(numbers, numbers)
    if strategy == "uniform":
        return first, upper
    last = upper == 1
    reached = np.searchsorted(total[1:], upper * total[-1] * (1 - 1e-12))
    upper = np.where(last, 1.0, p[reached])
    # Equal scores are never separated, so edges may coincide.
    kept = last | ((upper > _before(upper, first)) & (upper < 1))
    return np.concatenate([[0], np.cumsum(np.add.reduceat(kept, first, dtype=int))[:-1]]), upper[kept]


def _by_criterion(penalty: Callable[[float], float]):
    """Values and weights as in netcal, by an information criterion with this penalty per bin."""

    def score(histograms):
        total, hits = histograms.total, histograms.hits
        values = _frequency(hits, total, histograms.middle)
        log_likelihood = histograms.sums(xlogy(hits, values) + xlogy(total - hits, 1 - values))
        n = total[: histograms.n_bins[0]].sum()
        criterion = -2 * log_likelihood + penalty(n) * histograms.n_bins
        return values, _keep_down_to_elbow(np.exp((criterion.min() - criterion) / 2))

    return score


def _keep_down_to_elbow(scores):
    """Set to 0 what comes after the first small fall in the ranking of scores (equal ones at the top stay)."""
    ranking = np.argsort(-scores, kind="stable")
    falls = -np.diff(scores[ranking])
    variance = scores.var()
    small = (falls <= ELBOW * variance) & (np.cumsum(falls) > 0)
    n_kept = np.argmax(small) + 1 if small.any() else len(scores)
    kept = np.zeros_like(scores)
    kept[ranking[:n_kept]] = scores[ranking[:n_kept]]
    return kept


def _by_marginal_likelihood(histograms):
    """Values and weights of Naeini et al.: posterior means and marginal likelihoods under Beta priors."""
    total, hits, middle = histograms.total, histograms.hits, histograms.middle
    strength = np.repeat(PRIOR_STRENGTH / histograms.n_bins, histograms.n_bins)
    alpha = np.maximum(strength * middle, np.finfo(float).tiny)
    beta = np.maximum(strength * (1 - middle), np.finfo(float).tiny)
    rises = lambda a, count: gammaln(a + count) - gammaln(a)  # log of a (a + 1) ... (a + count - 1)
    evidence = histograms.sums(rises(alpha, hits) + rises(beta, total - hits) - rises(strength, total))
    return (hits + alpha) / (total + strength), softmax(evidence)


SCORES = {
    "BIC": _by_criterion(np.log),
    "AIC": _by_criterion(lambda n: 2.0),
    "bayes": _by_marginal_likelihood,
}


def _average(histograms, values, weights):
    """The weighted mean of all histograms as one step function: the sum of their jumps up to a score."""
    share = np.repeat(weights / weights.sum(), histograms.n_bins)
    counted = share > 0
    jumps = (share * (values - histograms.before(values)))[counted]
    edges, places = np.unique(histograms.lower[counted], return_inverse=True)
    heights = np.cumsum(np.bincount(places, jumps))
    return StepFunction(np.append(edges, 1.0), heights.clip(0, 1))


def _frequency(hits, total, otherwise):
    """hits / total, and ``otherwise`` where there is nothing."""
    return np.divide(hits, total, out=otherwise.copy(), where=total > 0)


def _fit_if_finite(family, P, codes, weights, start):
    """Return the parameters of a bin, or None if the best ones are infinite."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        found = solvers.fit(family, family.features(P), codes, weights[:, None], prior=start)
    infinite = found.loss[0] < solvers.SEPARATED or (found.theta[0] >= family.upper).any()
    return None if infinite else found.theta[0]
