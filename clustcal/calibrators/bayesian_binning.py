"""Bayesian binning (BBQ): an average over histograms with many numbers of bins.

All bins of all histograms are counted at once, from one sort of the scores.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammaln, softmax, xlogy

from clustcal.calibrators.one_vs_rest import OneVsRest, StepFunction, frequency
from clustcal.core.array_types import Booleans, Floats, Integers, Strategy
from clustcal.core.parameters import check_one_of
from clustcal.core.probabilities import STRATEGIES

__all__ = ["BayesianBinning"]

# Naeini et al.: from n^(1/3) / 10 to 10 n^(1/3) bins. The cap keeps the arrays small; it acts from n = 8e6 on.
BINS_PER_CUBE_ROOT = 10.0
MOST_BINS = 2000
# Naeini et al.: the prior of a whole binning is worth this many observations.
PRIOR_STRENGTH = 2.0
# The binning next in rank is kept while its score falls by more than this share of the variance of the scores.
ELBOW = 1e-3


class BayesianBinning(OneVsRest):
    r"""Bayesian binning (BBQ): an average over histograms with many numbers of bins, weighted by their evidence.

    There are histograms with :math:`\max(1, \lfloor n^{1/3} / 10 \rfloor)` to
    :math:`\min(\lceil n / 5 \rceil, \lceil 10 n^{1/3} \rceil)` bins (at most 2,000); n is the total weight.

    Parameters
    ----------
    criterion : {"BIC", "AIC", "bayes"}, default="BIC"
        ``"BIC"`` and ``"AIC"`` are netcal's, which the paper uses: with k bins, plain frequencies and
        log-likelihood :math:`\ell`, a histogram weighs :math:`s = \exp(-\mathrm{BIC} / 2)`, where
        :math:`\mathrm{BIC} = -2 \ell + k \ln n` and :math:`\mathrm{AIC} = -2 \ell + 2 k`, relative to the best;
        then only the best are kept, down to where s falls by no more than 0.001 times the variance of all s.

        ``"bayes"`` is the original: the marginal likelihood under a Beta prior in every bin b of the k, with
        :math:`\alpha_b = 2 c_b / k` and :math:`\beta_b = 2 (1 - c_b) / k` around the midpoint :math:`c_b`; the value of
        a bin is its posterior mean, and every histogram counts.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width, the paper's setting (netcal's ``equal_intervals=True``), or of equal weight, which the
        original has; see ``clustcal.core.probabilities.bin_edges``.
    classes : array-like of shape (L,), optional
        The label of each column of P; by default the sorted labels.

    Attributes
    ----------
    classes_ : ndarray of shape (L,)
    maps_ : list of StepFunction, and None for a class without rows
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
    >>> from clustcal import BayesianBinning
    >>> p, y = np.repeat([0.2, 0.8], 50), np.repeat([0, 1, 0, 1], [40, 10, 5, 45])
    >>> BayesianBinning().fit(p, y).predict_proba([0.2, 0.8])[:, 1].round(3)
    array([0.2, 0.9])
    """

    def __init__(
        self,
        criterion: Literal["BIC", "AIC", "bayes"] = "BIC",
        strategy: Strategy = "uniform",
        classes: ArrayLike | None = None,
    ) -> None:
        self.criterion = criterion
        self.strategy = strategy
        self.classes = classes

    def _check_parameters(self) -> None:
        """Raise a ValueError if a parameter cannot serve."""
        check_one_of("criterion", self.criterion, CRITERIA)
        check_one_of("strategy", self.strategy, STRATEGIES)

    def _fit_map(self, p: Floats, hit: Booleans, weights: Floats) -> StepFunction:
        """Return the `StepFunction` that averages the histograms."""
        histograms = _histograms(p, hit, weights, self.strategy)
        values, evidence = CRITERIA[self.criterion](histograms)
        return _average(histograms, values, evidence)


@dataclass(frozen=True)
class _Histograms:
    """All bins of all histograms, one histogram after the other.

    ``first`` (H,) is where each histogram starts; the other arrays have one element per bin: its ``lower`` and
    ``upper`` edge, the weight ``total`` in it and the part of it, ``hits``, that belongs to the class.
    """

    first: Integers
    lower: Floats
    upper: Floats
    total: Floats
    hits: Floats

    @property
    def n_bins(self) -> Integers:
        """The number of bins of every histogram, shape (H,)."""
        return np.diff(self.first, append=len(self.upper))

    @property
    def middle(self) -> Floats:
        return (self.lower + self.upper) / 2

    def sums(self, values: Floats) -> Floats:
        """Sum one value per bin over each histogram."""
        return np.add.reduceat(values, self.first)

    def before(self, values: Floats) -> Floats:
        """The value of the bin to the left, and 0 for the first of every histogram."""
        return _before(values, self.first)


def _before(values: NDArray[Any], first: Integers) -> NDArray[Any]:
    left = np.roll(values, 1)
    left[first] = 0
    return left


def _histograms(p: Floats, hit: Booleans, weights: Floats, strategy: Strategy) -> _Histograms:
    """Count the bins of every histogram from one sort and its cumulative sums."""
    order = np.argsort(p)
    p = p[order]
    total = np.concatenate([[0.0], np.cumsum(weights[order])])  # total[i] is the weight of the i lowest scores
    hits = np.concatenate([[0.0], np.cumsum((weights * hit)[order])])
    first, upper = _upper_edges(p, total, _numbers_of_bins(total[-1]), strategy)
    below = np.searchsorted(p, upper, side="right")
    in_bin = lambda cumulative: cumulative[below] - cumulative[_before(below, first)]
    return _Histograms(first, _before(upper, first), upper, in_bin(total), np.minimum(in_bin(hits), in_bin(total)))


def _numbers_of_bins(n: float) -> Integers:
    root = np.cbrt(n)
    fewest = max(1, int(root / BINS_PER_CUBE_ROOT))
    most = int(min(np.ceil(n / 5), np.ceil(BINS_PER_CUBE_ROOT * root), MOST_BINS))
    return np.arange(min(fewest, most), most + 1)


def _upper_edges(p: Floats, total: Floats, numbers: Integers, strategy: Strategy) -> tuple[Integers, Floats]:
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


def _by_criterion(penalty: Callable[[float], float]) -> Callable[[_Histograms], tuple[Floats, Floats]]:
    """Values and weights as in netcal, by an information criterion with this penalty per bin."""

    def score(histograms: _Histograms) -> tuple[Floats, Floats]:
        total, hits = histograms.total, histograms.hits
        values = frequency(hits, total, histograms.middle)
        log_likelihood = histograms.sums(xlogy(hits, values) + xlogy(total - hits, 1 - values))
        n = total[: histograms.n_bins[0]].sum()
        criterion = -2 * log_likelihood + penalty(n) * histograms.n_bins
        return values, _keep_down_to_elbow(np.exp((criterion.min() - criterion) / 2))

    return score


def _keep_down_to_elbow(scores: Floats) -> Floats:
    """Set to 0 what comes after the first small fall in the ranking of scores (equal ones at the top stay)."""
    ranking = np.argsort(-scores, kind="stable")
    falls = -np.diff(scores[ranking])
    variance = scores.var()
    small = (falls <= ELBOW * variance) & (np.cumsum(falls) > 0)
    n_kept = np.argmax(small) + 1 if small.any() else len(scores)
    kept = np.zeros_like(scores)
    kept[ranking[:n_kept]] = scores[ranking[:n_kept]]
    return kept


def _by_marginal_likelihood(histograms: _Histograms) -> tuple[Floats, Floats]:
    """Values and weights of Naeini et al.: posterior means and marginal likelihoods under Beta priors."""
    total, hits, middle = histograms.total, histograms.hits, histograms.middle
    strength = np.repeat(PRIOR_STRENGTH / histograms.n_bins, histograms.n_bins)
    alpha = np.maximum(strength * middle, np.finfo(float).tiny)
    beta = np.maximum(strength * (1 - middle), np.finfo(float).tiny)
    rises = lambda a, count: gammaln(a + count) - gammaln(a)  # log of a (a + 1) ... (a + count - 1)
    evidence = histograms.sums(rises(alpha, hits) + rises(beta, total - hits) - rises(strength, total))
    return (hits + alpha) / (total + strength), softmax(evidence)


CRITERIA = {
    "BIC": _by_criterion(np.log),
    "AIC": _by_criterion(lambda n: 2.0),
    "bayes": _by_marginal_likelihood,
}


def _average(histograms: _Histograms, values: Floats, weights: Floats) -> StepFunction:
    """The weighted mean of all histograms as one step function: the sum of their jumps up to a score."""
    share = np.repeat(weights / weights.sum(), histograms.n_bins)
    counted = share > 0
    jumps = (share * (values - histograms.before(values)))[counted]
    edges, places = np.unique(histograms.lower[counted], return_inverse=True)
    heights = np.cumsum(np.bincount(places, jumps))
    return StepFunction(np.append(edges, 1.0), heights.clip(0, 1))
