"""Whether forecasts differ in calibration: debiased squared errors, compared pair by pair on the same rows.

A plain calibration error favours the coarser of two forecasts, which has fewer bins of less noise. Here the noise is
taken off, and what is left is judged by what calibrated forecasts show.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from itertools import combinations
from typing import Literal, TypeAlias, cast, get_args

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.stats import false_discovery_control, norm
from sklearn.utils import Bunch

from clustcal.core.array_types import AnySeed, Bins, Event, Floats, Integers, Strategy
from clustcal.core.parameters import check_level, check_one_of, check_whole_number, numbers_in
from clustcal.core.probabilities import assign_bins, bin_edges
from clustcal.core.random_states import as_generator
from clustcal.core.user_warnings import warn_user
from clustcal.metrics._inputs import forecast_event, read_forecast, weights_as_rows

__all__ = ["adjust_pvalues", "compare_calibration"]

# Share of the weight that may lie in bins of one row before a word is said.
MOST_ALONE = 0.1
Adjustment: TypeAlias = Literal["holm", "bonferroni", "benjamini-hochberg"]
ADJUSTMENTS = get_args(Adjustment)


def compare_calibration(
    y_true: ArrayLike,
    y_prob: Mapping[str, ArrayLike],
    *,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    pos_label: Hashable = None,
    n_bins: Bins = 10,
    strategy: Strategy = "quantile",
    kind: Event = "auto",
    confidence_level: float = 0.95,
    adjust: Adjustment = "holm",
    n_draws: int = 20_000,
    random_state: AnySeed = 0,
) -> Bunch:
    """Compare the calibration errors of forecasts of the same rows, without favour to the coarser one.

    The squared error of a forecast is estimated from its residuals :math:`r_i = y_i - p_i` over bins b of its own
    probabilities, without the products of a residual with itself, which are the noise:

    .. math::

        \\hat E = \\sum_b \\frac{n_b}{n} \\,
        \\frac{(\\sum_{i \\in b} r_i)^2 - \\sum_{i \\in b} r_i^2}{n_b (n_b - 1)}

    Over random rows its mean is :math:`\\sum_b (n_b / n) (E[r \\mid b])^2`, for any fixed bins, those of a single row
    left out; of a calibrated forecast it is 0. (So it can be negative; `debiased_ece` shows a root of its positive
    part.) If two forecasts A and B are calibrated, the sums of residuals in all their bins are near normal with
    means 0 and covariances that the residuals show, also between bins of A and of B; from such sums the
    distribution of :math:`\\hat E_A - \\hat E_B` is drawn, and ``pvalue_calibrated`` is the share of draws at least
    as far from 0 as what was seen.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels of any type.
    y_prob : mapping from names to array-likes of shape (n,), (n, 1) or (n, L)
        At least two forecasts of the same rows. One column is the probability of ``pos_label``.
    sample_weight : array-like of shape (n,), optional
        How much each row counts; the scale does not matter.
    labels, pos_label, n_bins, strategy, kind
        As in `reliability_curve`, but with bins of equal weight by default, and ``"auto"`` bins by Kish's effective
        number of rows. Each forecast has bins of its own.
    confidence_level : float, default=0.95
    adjust : {"holm", "bonferroni", "benjamini-hochberg"}, default="holm"
        How p-values are corrected for the number of pairs: see `adjust_pvalues`.
    n_draws : int, default=20000
        No p-value is below 1 / (n_draws + 1).
    random_state : int, RandomState instance, Generator or None, default=0

    Returns
    -------
    result : Bunch
        ``errors``: DataFrame by forecast, with ``squared_error`` and ``pvalue`` of the null that this forecast is
        calibrated. ``pairs``: DataFrame of all pairs (``first``, ``second``), with ``difference`` of the squared
        errors (first - second) and its interval ``low``, ``high``; ``pvalue`` of the null that both have the same
        error, be it 0 or not; ``pvalue_calibrated`` of the null that both are calibrated; and both corrected for
        the number of pairs, ``pvalue_adjusted`` and ``pvalue_calibrated_adjusted``.

    Raises
    ------
    ValueError
        If the input is not as described, or no bin of a forecast holds two rows.

    Warns
    -----
    UserWarning
        If more than a tenth of the weight is in bins of a single row, of which the error says nothing.

    Notes
    -----
    Two questions, two p-values. A small ``pvalue``, with an interval that leaves out 0, says that the errors differ.
    A small ``pvalue_calibrated`` alone says that not both are calibrated, and has more power; but two forecasts that
    are wrong to the same extent get one, too; and so do two that share their bins and differ in their means there,
    however little, as only one of them can be right. ``pvalue`` is the larger of ``pvalue_calibrated`` and of that of a
    normal approximation with

    .. math:: \\mathrm{SE}^2 = \\max(V_1 - V_0, V_0)

    where V_0 is the variance if both are calibrated and V_1 that of the linear part of the difference, in which the
    noise of its own estimate counts V_0 too much. So it is cautious near calibration.

    Assumes independent rows, forecasts that were not fitted to them, and bins with enough rows for normal sums, some
    ten events and non-events each. What cancels within a bin is not seen. Errors that are not squared, as in `ece`,
    cannot be compared so: no unbiased estimate of an absolute value exists.

    References
    ----------
    Broecker, J. (2012). Estimating reliability and resolution of probability forecasts through decomposition of the
    empirical score. Climate Dynamics 39.

    Kumar, A., Liang, P. and Ma, T. (2019). Verified uncertainty calibration. NeurIPS.

    Lee, D., Huang, X., Hassani, H. and Dobriban, E. (2023). T-Cal: an optimal test for the calibration of predictive
    models. JMLR 24.

    Examples
    --------
    Two calibrated forecasts, one of which knows only two levels, and one that is too extreme:

    >>> import numpy as np
    >>> from clustcal.metrics import compare_calibration
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=4000)
    >>> y = (rng.uniform(size=4000) < p).astype(int)
    >>> forecasts = {"fine": p, "coarse": np.where(p < 0.5, 0.25, 0.75), "extreme": p**2 / (p**2 + (1 - p) ** 2)}
    >>> result = compare_calibration(y, forecasts)
    >>> result.pairs[["first", "second", "pvalue", "pvalue_adjusted"]].round(3)
        first   second  pvalue  pvalue_adjusted
    0    fine   coarse   0.281            0.281
    1    fine  extreme   0.000            0.000
    2  coarse  extreme   0.000            0.000
    """
    check_level("confidence_level", confidence_level)
    check_whole_number("n_draws", n_draws)
    check_one_of("adjust", adjust, ADJUSTMENTS)
    rng = as_generator(random_state)
    if not isinstance(y_prob, Mapping) or len(y_prob) < 2:
        raise ValueError("y_prob is no mapping of two or more; expected forecasts by name.")
    binned = {}
    for name, P in y_prob.items():
        forecast = read_forecast(y_true, P, sample_weight, labels, pos_label)
        p, hit = forecast_event(forecast, kind)
        weights = weights_as_rows(forecast.weights)
        bins = assign_bins(p, bin_edges(p, n_bins, strategy, weights))
        _check_pairs(name, bins[weights > 0], weights[weights > 0])
        binned[name] = _Residuals(hit - p, bins, weights)
    # Every pair is drawn from the same stream: one normal vector per draw for all bins of all forecasts.
    noise = _draw_sums(list(binned.values()), n_draws, rng)
    errors = pd.DataFrame(
        {
            "squared_error": {name: found.error for name, found in binned.items()},
            "pvalue": {
                name: _tail(found.error, draws) for (name, found), draws in zip(binned.items(), noise, strict=True)
            },
        }
    )
    pairs = []
    for (i, first), (j, second) in combinations(enumerate(binned), 2):
        a, b = binned[first], binned[second]
        difference, draws = a.error - b.error, noise[i] - noise[j]
        pvalue = _tail(difference, draws)
        error = _standard_error(a, b)
        reach = norm.ppf((1 + confidence_level) / 2) * error
        normal = 2 * norm.sf(abs(difference) / error) if error > 0 else 1.0
        pairs.append((first, second, difference, difference - reach, difference + reach, max(pvalue, normal), pvalue))
    columns = ["first", "second", "difference", "low", "high", "pvalue", "pvalue_calibrated"]
    pairs = pd.DataFrame(pairs, columns=columns)
    for name in ("pvalue", "pvalue_calibrated"):
        pairs[f"{name}_adjusted"] = adjust_pvalues(pairs[name], method=adjust)
    return Bunch(errors=errors, pairs=pairs)


def adjust_pvalues(pvalues: ArrayLike, *, method: Adjustment = "holm") -> Floats:
    """Correct p-values for their number, so that one may look at many comparisons and believe the small ones.

    With the p-values sorted, :math:`p_{(1)} \\le \\dots \\le p_{(m)}`,

    .. math::

        \\text{Holm: } \\max_{j \\le i} \\min(1, (m - j + 1) \\, p_{(j)}), \\quad
        \\text{Bonferroni: } \\min(1, m \\, p_{(i)}), \\quad
        \\text{Benjamini-Hochberg: } \\min_{j \\ge i} \\min(1, m \\, p_{(j)} / j)

    Parameters
    ----------
    pvalues : array-like of shape (m,)
    method : {"holm", "bonferroni", "benjamini-hochberg"}, default="holm"
        Holm and Bonferroni keep the chance of any false discovery at the level, whatever the dependence; Holm's are
        never larger. Benjamini and Hochberg's keep the expected share of false ones among the discoveries, if tests
        are independent or positively dependent.

    Returns
    -------
    adjusted : ndarray of shape (m,)
        To be held against the level as p-values are.

    Raises
    ------
    ValueError
        If a value is not between 0 and 1.

    References
    ----------
    Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics 6.

    Benjamini, Y. and Hochberg, Y. (1995). Controlling the false discovery rate. J. Royal Statistical Society B 57.

    Examples
    --------
    >>> from clustcal.metrics import adjust_pvalues
    >>> adjust_pvalues([0.01, 0.04, 0.03])
    array([0.03, 0.06, 0.06])
    """
    check_one_of("method", method, ADJUSTMENTS)
    pvalues = numbers_in(pvalues)
    if pvalues.ndim != 1 or not pvalues.size or not ((pvalues >= 0) & (pvalues <= 1)).all():
        raise ValueError("pvalues holds something that is no p-value; expected numbers from 0 to 1, shape (m,).")
    m = len(pvalues)
    if method == "bonferroni":
        return np.minimum(1, m * pvalues)
    if method == "benjamini-hochberg":
        return false_discovery_control(pvalues, method="bh")
    order = np.argsort(pvalues)
    adjusted = np.empty(m)
    adjusted[order] = np.maximum.accumulate(np.minimum(1, (m - np.arange(m)) * pvalues[order]))
    return adjusted


def _check_pairs(name: str, bins: Integers, weights: Floats) -> None:
    """Refuse bins that all hold one row, and warn where many do: without pairs there is no estimate."""
    alone = weights[np.bincount(bins)[bins] == 1].sum() / weights.sum()
    if alone > 1 - 1e-12:
        raise ValueError(f"n_bins leaves one row in each bin of the forecast {name!r}; expected bins of two or more.")
    if alone > MOST_ALONE:
        message = f"{alone:.0%} of the weight of the forecast {name!r} is in bins of one row, which say nothing: "
        warn_user(message + "choose fewer bins.")


class _Residuals:
    """Weighted residuals of one forecast in its bins, and what follows from their sums.

    ``scale`` (B,) turns the square of the sum in a bin, less its noise, into the share of the bin in the error.
    """

    def __init__(self, residuals: Floats, bins: Integers, weights: Floats) -> None:
        self.bins = bins
        self.n_bins = int(bins.max()) + 1
        self.residuals = weights * residuals / weights.sum()
        share = self._sum(weights / weights.sum())
        squares = self._sum((weights / weights.sum()) ** 2)
        pairs = share**2 - squares
        # A bin of one row has no pairs, and nothing can be said of it.
        self.scale = np.divide(share, pairs, out=np.zeros(self.n_bins), where=pairs > 1e-12 * share**2)
        self.sums = self._sum(self.residuals)
        self.noise = self._sum(self.residuals**2)
        self.error = float(self.scale @ (self.sums**2 - self.noise))
        mean = np.divide(self.sums, share, out=np.zeros(self.n_bins), where=share > 0)
        # How much each row moves the error: its residual by twice that of its bin, its weight by the square.
        centred = self.residuals - (weights / weights.sum()) * mean[bins]
        self.influence = 2 * mean[bins] * centred + (weights / weights.sum()) * (mean[bins] ** 2 - share @ mean**2)

    def _sum(self, values: Floats) -> Floats:
        return cast(Floats, np.bincount(self.bins, values, self.n_bins))

    def shared_noise(self, other: _Residuals) -> Floats:
        """Covariances of the sums of this forecast's bins with those of the other's, (B, B')."""
        cells = np.bincount(
            self.bins * other.n_bins + other.bins, self.residuals * other.residuals, self.n_bins * other.n_bins
        )
        return cast(Floats, cells.reshape(self.n_bins, other.n_bins))


def _draw_sums(forecasts: list[_Residuals], n_draws: int, rng: np.random.Generator) -> list[Floats]:
    """Errors that calibrated forecasts with these residuals would show: (n_draws,) for each, drawn jointly."""
    covariance = np.block([[one.shared_noise(other) for other in forecasts] for one in forecasts])
    values, vectors = np.linalg.eigh(covariance)
    sums = rng.standard_normal((n_draws, len(values))) @ (vectors * np.sqrt(values.clip(0))).T
    ends = np.cumsum([found.n_bins for found in forecasts])
    return [
        (sums[:, end - found.n_bins : end] ** 2 - found.noise) @ found.scale
        for found, end in zip(forecasts, ends, strict=True)
    ]


def _tail(value: float, draws: Floats) -> float:
    """Share of draws at least as far from 0 as the value, the value itself among them."""
    # The allowance lets a forecast that is compared with itself have the p-value 1.
    return float((1 + np.count_nonzero(np.abs(draws) >= abs(value) - 1e-15)) / (1 + len(draws)))


def _standard_error(a: _Residuals, b: _Residuals) -> float:
    """Of the difference of two errors: see the notes of `compare_calibration`."""
    scale = np.concatenate([a.scale, -b.scale])
    shared = a.shared_noise(b)
    covariance = np.block([[np.diag(a.noise), shared], [shared.T, np.diag(b.noise)]])
    if_calibrated = 2 * scale @ covariance**2 @ scale
    linear = ((a.influence - b.influence) ** 2).sum()
    return float(np.sqrt(max(linear - if_calibrated, if_calibrated, 0.0)))
