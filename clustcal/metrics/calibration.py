"""Calibration errors: how far forecast probabilities lie from observed frequencies.

Every error names its bins, their number, the norm, and which probability is meant. Bins follow the one rule
of `clustcal.core.probabilities.bin_edges`: (a, b], the first also holding 0.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.fft import dct, idct
from scipy.optimize import brentq

from clustcal.core.array_types import Bins, Event, Floats, Kind, Strategy
from clustcal.core.parameters import check_above_0, check_one_of
from clustcal.core.user_warnings import warn_user
from clustcal.metrics._inputs import forecast_event, forecast_events, read_forecast
from clustcal.metrics.binned_curves import binned

__all__ = [
    "ada_ece",
    "classwise_ece",
    "debiased_ece",
    "ece",
    "mce",
    "smooth_ece",
]

NORMS = ("l1", "l2", "max")
# Number of cells over [0, 1] that the residuals are spread on, coarse first, for `smooth_ece`.
GRID_SIZES = (2**12, 2**15, 2**18)
CELLS_PER_BANDWIDTH = 32
# Share of the weight that may lie in bins of one row before a word is said.
MOST_ALONE = 0.1


def ece(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    pos_label: Hashable = None,
    n_bins: Bins = 10,
    strategy: Strategy = "uniform",
    norm: Literal["l1", "l2", "max"] = "l1",
    kind: Kind = "auto",
) -> float:
    """Expected calibration error (eq. ECE of the paper for the defaults).

    .. math::

        \\mathrm{ECE}_1 = \\sum_b w_b |A_b - \\hat P_b|, \\quad
        \\mathrm{ECE}_2 = \\sqrt{\\sum_b w_b (A_b - \\hat P_b)^2}, \\quad
        \\mathrm{ECE}_{\\max} = \\max_b |A_b - \\hat P_b|

    with, in bin b, the share of the weight w, the observed frequency A and the mean forecast
    :math:`\\hat P`. Empty bins count for nothing. The estimate is biased upwards: even for a perfect
    forecast each bin shows the noise of its frequency (see `debiased_ece`).

    Parameters
    ----------
    y_true, y_prob, sample_weight, labels, pos_label, n_bins, strategy
        As in `reliability_curve`.
    norm : {"l1", "l2", "max"}, default="l1"
    kind : {"auto", "positive", "top-label", "classwise"}, default="auto"
        As in `reliability_curve`; ``"classwise"`` bins the probabilities of every class on their own and
        takes the norm over all classes and bins, each class having weight 1 / L.

    Returns
    -------
    float
        Between 0 and 1.

    References
    ----------
    Naeini, M. P., Cooper, G. and Hauskrecht, M. (2015). Obtaining well calibrated probabilities using
    Bayesian binning. AAAI.

    Examples
    --------
    The paper's toy case: two regions with frequencies 0.7 and 0.3 that are given 0.6 and 0.4.

    >>> from clustcal.metrics import ece
    >>> y = [1] * 7 + [0] * 3 + [1] * 3 + [0] * 7
    >>> round(ece(y, [0.6] * 10 + [0.4] * 10, n_bins=5), 4)
    0.1
    >>> round(ece(y, [0.5] * 20, n_bins=5), 4)
    0.0
    """
    check_one_of("norm", norm, NORMS)
    forecast = read_forecast(y_true, y_prob, sample_weight, labels, pos_label)
    curves = [binned(p, hit, forecast.weights, n_bins, strategy) for p, hit in forecast_events(forecast, kind)]
    gaps = np.concatenate([np.abs(curve.frequency - curve.confidence) for curve in curves])
    if norm == "max":
        return float(gaps.max())
    shares = np.concatenate([curve.count for curve in curves])
    if norm == "l1":
        return float(np.average(gaps, weights=shares))
    return float(np.sqrt(np.average(gaps**2, weights=shares)))


def mce(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    pos_label: Hashable = None,
    n_bins: Bins = 10,
    strategy: Strategy = "uniform",
    kind: Kind = "auto",
) -> float:
    """Maximum calibration error: the largest gap of any bin (eq. MCE of the paper). `ece` with norm="max".

    Parameters
    ----------
    y_true, y_prob, sample_weight, labels, pos_label, n_bins, strategy, kind
        As in `ece`.

    Returns
    -------
    float
        Between 0 and 1.

    Examples
    --------
    >>> from clustcal.metrics import mce
    >>> round(mce([0, 1, 1, 1], [0.2, 0.4, 0.8, 1.0], n_bins=2), 4)
    0.2
    """
    return ece(
        y_true,
        y_prob,
        sample_weight=sample_weight,
        labels=labels,
        pos_label=pos_label,
        n_bins=n_bins,
        strategy=strategy,
        norm="max",
        kind=kind,
    )


def ada_ece(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    pos_label: Hashable = None,
    n_bins: Bins = 10,
    kind: Kind = "auto",
) -> float:
    """The paper's AdaECE, its "ECE" in all tables: bins of equal mass, root mean square of the gaps.

    .. math::

        \\mathrm{AdaECE} = \\sqrt{\\frac{1}{N} \\sum_{i=1}^M |B_i| \\, (P(B_i) - \\hat P(B_i))^2}

    The same as `ece` with strategy="quantile" and norm="l2". The paper does not give M; 10 is the default
    here.

    Parameters
    ----------
    y_true, y_prob, sample_weight, labels, pos_label, n_bins, kind
        As in `ece`.

    Returns
    -------
    float
        Between 0 and 1.

    References
    ----------
    Nguyen, K. and O'Connor, B. (2015). Posterior calibration and exploratory analysis for natural language
    processing models. EMNLP.

    Examples
    --------
    >>> from clustcal.metrics import ada_ece
    >>> round(ada_ece([0, 1, 1, 1], [0.2, 0.4, 0.8, 1.0], n_bins=2), 4)
    0.1581
    """
    return ece(
        y_true,
        y_prob,
        sample_weight=sample_weight,
        labels=labels,
        pos_label=pos_label,
        n_bins=n_bins,
        strategy="quantile",
        norm="l2",
        kind=kind,
    )


def classwise_ece(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    pos_label: Hashable = None,
    n_bins: Bins = 10,
    strategy: Strategy = "uniform",
    norm: Literal["l1", "l2", "max"] = "l1",
) -> float:
    """Classwise calibration error: the mean over classes of one-vs-rest errors. `ece` with kind="classwise".

    Parameters
    ----------
    y_true, y_prob, sample_weight, labels, pos_label, n_bins, strategy, norm
        As in `ece`.

    Returns
    -------
    float
        Between 0 and 1.

    References
    ----------
    Kull, M. et al. (2019). Beyond temperature scaling: obtaining well-calibrated multiclass probabilities with
    Dirichlet calibration. NeurIPS.

    Examples
    --------
    >>> from clustcal.metrics import classwise_ece
    >>> round(classwise_ece([0, 1], [[0.8, 0.1, 0.1], [0.2, 0.6, 0.2]]), 4)
    0.2
    """
    return ece(
        y_true,
        y_prob,
        sample_weight=sample_weight,
        labels=labels,
        pos_label=pos_label,
        n_bins=n_bins,
        strategy=strategy,
        norm=norm,
        kind="classwise",
    )


def debiased_ece(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    pos_label: Hashable = None,
    n_bins: Bins = 10,
    strategy: Strategy = "quantile",
    kind: Kind = "auto",
) -> float:
    """Root mean square calibration error with the noise of each bin's frequency taken off (Kumar et al. 2019).

    .. math::

        \\sqrt{\\max\\Bigl(0, \\sum_b w_b \\Bigl[(A_b - \\hat P_b)^2 - \\frac{A_b (1 - A_b)}{n_b - 1}\\Bigr]\\Bigr)}

    The bracket is an unbiased estimate of the squared gap of a bin with n_b rows that share one forecast. A bin with
    one row or less has no such estimate and adds 0. Weights are frequencies: here their scale matters.

    Parameters
    ----------
    y_true, y_prob, sample_weight, labels, pos_label, n_bins, strategy
        As in `reliability_curve`, but with bins of equal mass by default, as in the reference.
    kind : {"auto", "positive", "top-label", "classwise"}, default="auto"
        As in `ece`; ``"classwise"`` averages the squared errors of the classes.

    Returns
    -------
    float
        Between 0 and 1.

    Warns
    -----
    UserWarning
        If more than a tenth of the weight is in bins of one row or less: the error is then too low.

    References
    ----------
    Kumar, A., Liang, P. and Ma, T. (2019). Verified uncertainty calibration. NeurIPS.

    Examples
    --------
    >>> from clustcal.metrics import debiased_ece, ece
    >>> y, p = [0, 0, 1, 0], [0.5, 0.5, 0.5, 0.5]
    >>> ece(y, p, norm="l2"), debiased_ece(y, p)
    (0.25, 0.0)
    """
    forecast = read_forecast(y_true, y_prob, sample_weight, labels, pos_label)
    squares = []
    for p, hit in forecast_events(forecast, kind):
        curve = binned(p, hit, forecast.weights, n_bins, strategy)
        enough = curve.count > 1
        _warn_of_small_bins(curve.count)
        count, frequency = curve.count[enough], curve.frequency[enough]
        noise = frequency * (1 - frequency) / (count - 1)
        gaps = (frequency - curve.confidence[enough]) ** 2 - noise
        squares.append(count @ gaps / curve.count.sum())
    return float(np.sqrt(max(0.0, np.mean(squares))))


def _warn_of_small_bins(count: Floats) -> None:
    alone = count[count <= 1].sum() / count.sum()
    if alone > MOST_ALONE:
        message = (
            f"{alone:.0%} of the weight is in bins of one row or less, which add 0 to the error: choose fewer bins."
        )
        warn_user(message)


def smooth_ece(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    pos_label: Hashable = None,
    kind: Event = "auto",
    bandwidth: float | None = None,
) -> float:
    """Smooth calibration error, smECE: no bins, and no bandwidth to choose (Blasiok and Nakkiran 2023).

    The residuals y - p are smoothed along p by a Gaussian that is reflected at 0 and 1, and the absolute
    value of the result is integrated:

    .. math::

        \\mathrm{smECE}_\\sigma = \\int_0^1 \\Bigl| \\frac{1}{n} \\sum_i (y_i - p_i) \\,
        \\tilde K_\\sigma(t, p_i) \\Bigr| dt

    It falls as the bandwidth grows, so that exactly one bandwidth equals its own error,
    :math:`\\mathrm{smECE}_{\\sigma^*} = \\sigma^*`: that number is smECE.

    Parameters
    ----------
    y_true, y_prob, sample_weight, labels, pos_label
        As in `reliability_curve`.
    kind : {"auto", "positive", "top-label"}, default="auto"
        As in `reliability_curve`.
    bandwidth : float, optional
        Return the error at this bandwidth instead of the fixed point.

    Returns
    -------
    float
        Between 0 and 1.

    Notes
    -----
    A Gaussian reflected at both ends is the heat kernel of the interval, whose eigenfunctions are cosines:
    smoothing is a multiplication by exp(-(pi k sigma)^2 / 2) between two cosine transforms. Residuals are
    spread linearly on a grid with at least 32 cells per bandwidth (up to 2^18 cells).

    References
    ----------
    Blasiok, J. and Nakkiran, P. (2024). Smooth ECE: principled reliability diagrams via kernel smoothing. ICLR.

    Examples
    --------
    One forecast for all: the residual cannot cancel, and the error is the gap, whatever the bandwidth.

    >>> from clustcal.metrics import smooth_ece
    >>> round(smooth_ece([0, 1, 1, 1], [0.5, 0.5, 0.5, 0.5]), 4)
    0.25
    """
    forecast = read_forecast(y_true, y_prob, sample_weight, labels, pos_label)
    p, hit = forecast_event(forecast, kind)
    residuals = forecast.weights * (hit - p) / forecast.weights.sum()
    if bandwidth is None:
        return _smoothing_fixed_point(p, residuals)
    check_above_0("bandwidth", bandwidth)
    size = next((s for s in GRID_SIZES if s * bandwidth >= CELLS_PER_BANDWIDTH), GRID_SIZES[-1])
    return _smoothed_norm(_cosine_coefficients(p, residuals, size), bandwidth)


def _smoothing_fixed_point(p: Floats, residuals: Floats) -> float:
    for size in GRID_SIZES:
        coefficients = _cosine_coefficients(p, residuals, size)
        if _smoothed_norm(coefficients, 0.0) == 0:
            return 0.0
        # The error never exceeds 1, so at bandwidth 2 the difference is surely negative.
        sigma = brentq(lambda s, c=coefficients: _smoothed_norm(c, s) - s, 0.0, 2.0, xtol=1e-12)
        if sigma * size >= CELLS_PER_BANDWIDTH:
            break
    return min(float(sigma), 1.0)


def _cosine_coefficients(p: Floats, residuals: Floats, size: int) -> Floats:
    """Spread residuals on the centres of ``size`` cells and return their cosine transform."""
    position = np.clip(p * size - 0.5, 0, size - 1)
    cell = np.minimum(position.astype(int), size - 2)
    right = position - cell
    masses = np.bincount(cell, residuals * (1 - right), size) + np.bincount(cell + 1, residuals * right, size)
    return dct(masses)


def _smoothed_norm(coefficients: Floats, sigma: float) -> float:
    frequencies = np.pi * np.arange(len(coefficients))
    return float(np.abs(idct(coefficients * np.exp(-0.5 * (frequencies * sigma) ** 2))).sum())
