"""Histogram binning: the frequency of a class among the scores of a bin."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from clustcal.calibrators.one_vs_rest import OneVsRest, StepFunction, frequency
from clustcal.core.array_types import Bins, Booleans, Floats, Strategy
from clustcal.core.parameters import numbers_in, shown
from clustcal.core.probabilities import assign_bins, check_bins, find_edges

__all__ = ["HistogramBinning"]

# The default prior counts as much as this many rows in every bin, as the paper's (1, 1) does.
PRIOR_STRENGTH = 2.0


class HistogramBinning(OneVsRest):
    r"""Histogram binning: the frequency of a class among the scores of a bin, as a posterior mean.

    With m of the n scores in a bin belonging to the class and a Beta(:math:`\alpha, \beta`) prior,

    .. math:: q = \frac{m + \alpha}{n + \alpha + \beta}.

    Parameters
    ----------
    n_bins : int, "auto" or array-like of edges, default=10
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width or of equal weight; not used with edges. See ``clustcal.core.probabilities.bin_edges``.
    prior : tuple of two floats, optional
        :math:`\alpha` and :math:`\beta`. Left out: :math:`\alpha + \beta = 2` with the frequency of the class among
        all rows for their mean, so that predictions keep the mean of rare events too. The paper's prior is (1, 1),
        which pulls every bin to 1/2; (0, 0) gives the plain frequency.
    classes : array-like of shape (L,), optional
        The label of each column of P; by default the sorted labels.

    Attributes
    ----------
    classes_ : ndarray of shape (L,)
    maps_ : list of StepFunction, and None for a class without rows
        ``edges`` and ``values`` of the second class, or of every class if there are more than two.

    Notes
    -----
    An empty bin gives the mean of the prior, :math:`\alpha / (\alpha + \beta)`, by default the frequency of the class:
    nothing else is known there. With the prior (0, 0), which has no mean, it gives its midpoint.

    References
    ----------
    B. Zadrozny, C. Elkan, "Obtaining calibrated probability estimates from decision trees and naive Bayesian
    classifiers", ICML 2001.

    Examples
    --------
    >>> from clustcal import HistogramBinning
    >>> p, y = [0.1, 0.2, 0.3, 0.9], [0, 1, 0, 1]
    >>> histogram = HistogramBinning(n_bins=2, prior=(1, 1)).fit(p, y)
    >>> histogram.predict_proba([0.25, 0.75])  # (1 + 1) / (3 + 2) and (1 + 1) / (1 + 2)
    array([[0.6       , 0.4       ],
           [0.33333333, 0.66666667]])
    """

    def __init__(
        self,
        n_bins: Bins = 10,
        strategy: Strategy = "uniform",
        prior: tuple[float, float] | None = None,
        classes: ArrayLike | None = None,
    ) -> None:
        self.n_bins = n_bins
        self.strategy = strategy
        self.prior = prior
        self.classes = classes

    def _check_parameters(self) -> None:
        """Raise a ValueError if a parameter cannot serve."""
        check_bins(self.n_bins, self.strategy)
        prior = np.ones(2) if self.prior is None else numbers_in(self.prior)
        if prior.shape != (2,) or not (np.isfinite(prior).all() and (prior >= 0).all()):
            raise ValueError(f"prior is {shown(self.prior)}; expected two numbers of at least 0.")

    def _fit_map(self, p: Floats, hit: Booleans, weights: Floats) -> StepFunction:
        """Return the `StepFunction` of the posterior means."""
        alpha, beta = self._prior_of(hit, weights)
        edges = find_edges(p, self.n_bins, self.strategy, weights)
        bins = assign_bins(p, edges)
        total = np.bincount(bins, weights, minlength=len(edges) - 1) + alpha + beta
        hits = np.bincount(bins, weights * hit, minlength=len(edges) - 1) + alpha
        return StepFunction(edges, frequency(hits, total, (edges[:-1] + edges[1:]) / 2))

    def _prior_of(self, hit: Booleans, weights: Floats) -> tuple[float, float]:
        if self.prior is not None:
            return self.prior
        rate = (weights @ hit) / weights.sum()
        return PRIOR_STRENGTH * rate, PRIOR_STRENGTH * (1 - rate)
