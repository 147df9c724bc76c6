"""Murphy's decomposition: what of a score is miscalibration, what is resolution, what is the task itself.

Rows are put into groups (bins of the forecast, or any groups given), and within each group the forecast is
compared with what happened.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import entr
from sklearn.utils import Bunch

from clustcal.core.array_types import Bins, Floats, Integers, Strategy
from clustcal.core.parameters import check_one_of
from clustcal.core.probabilities import assign_bins, bin_edges, check_same_length, log_probabilities
from clustcal.metrics._inputs import Forecast, forecast_event, read_forecast

__all__ = ["murphy_decomposition"]

SCORES = ("brier", "log_loss")


def murphy_decomposition(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    score: Literal["brier", "log_loss"] = "brier",
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    pos_label: Hashable = None,
    n_bins: Bins = 10,
    strategy: Strategy = "uniform",
    groups: ArrayLike | None = None,
) -> Bunch:
    """Split a proper score into reliability, resolution, uncertainty and what happens within the groups.

    .. math:: S = \\mathrm{REL} - \\mathrm{RES} + \\mathrm{UNC} + \\mathrm{WITHIN}

    With, in group b, the share w of the weight, the mean forecast :math:`\\hat p_b` and the class frequencies
    :math:`o_b`, the class frequencies o of all rows, and the divergence d and entropy H that belong to the score
    (Brier: squared distance and :math:`\\sum_k o_k (1 - o_k)`; log-loss: Kullback-Leibler divergence and Shannon
    entropy, in nats):

    .. math::

        \\mathrm{REL} = \\sum_b w_b \\, d(o_b, \\hat p_b), \\quad
        \\mathrm{RES} = \\sum_b w_b \\, d(o_b, o), \\quad
        \\mathrm{UNC} = H(o)

    The first three add up exactly to the score of the *binned* forecast, which gives every row the mean
    forecast of its group; the fourth is the score of the forecast minus that. So all four add up to the
    score itself. WITHIN is 0 where forecasts do not vary within a group. For the Brier score it equals the
    within-group variance of the forecast minus twice its covariance with the outcome (Stephenson et al. 2008).

    Parameters
    ----------
    y_true, y_prob, sample_weight, labels, pos_label
        As in `log_loss`.
    score : {"brier", "log_loss"}, default="brier"
        Conventions as in `brier` (two classes: the positive one alone) and `log_loss`.
    n_bins, strategy
        The groups: bins of the probability of the positive class; for more than two classes, bins of the top
        probability within each predicted class.
    groups : array-like of shape (n,), optional
        Groups to use instead of bins, such as clusters.

    Returns
    -------
    parts : Bunch
        ``score``, ``reliability`` (lower is better), ``resolution`` (higher is better), ``uncertainty``,
        ``within``, ``binned_score`` and ``n_groups``.

    Raises
    ------
    ValueError
        If the input is not as described.

    References
    ----------
    Murphy, A. H. (1973). A new vector partition of the probability score. J. Applied Meteorology 12. (Brier score.)

    Broecker, J. (2009). Reliability, sufficiency, and the decomposition of proper scores. Quarterly Journal of the
    Royal Meteorological Society 135. (Every proper score.)

    Stephenson, D. B., Coelho, C. A. S. and Jolliffe, I. T. (2008). Two extra components in the Brier score
    decomposition. Weather and Forecasting 23.

    Examples
    --------
    >>> from clustcal.metrics import murphy_decomposition
    >>> parts = murphy_decomposition([0, 0, 0, 1, 1, 1, 1, 0], [0.25] * 4 + [0.5] * 4)
    >>> parts.reliability, parts.resolution, parts.uncertainty, parts.score
    (0.03125, 0.0625, 0.25, 0.21875)
    """
    check_one_of("score", score, SCORES)
    forecast = read_forecast(y_true, y_prob, sample_weight, labels, pos_label)
    members = _members(forecast, n_bins, strategy, groups)
    counted = forecast.weights > 0
    members = np.unique(members[counted], return_inverse=True)[1]
    P, codes, weights = forecast.P[counted], forecast.codes[counted], forecast.weights[counted]
    outcomes = np.eye(P.shape[1])[codes]
    parts = _brier_parts if score == "brier" else _log_loss_parts
    result = parts(P, outcomes, weights / weights.sum(), members)
    if score == "brier" and forecast.is_binary:
        # Both columns carry the same error; the binary score counts it once.
        result = {name: value / 2 for name, value in result.items()}
    binned = result["reliability"] - result["resolution"] + result["uncertainty"]
    result = {"score": binned + result["within"], **result, "binned_score": binned}
    return Bunch(**{name: float(value) for name, value in result.items()}, n_groups=int(members.max()) + 1)


def _members(forecast: Forecast, n_bins: Bins, strategy: Strategy, groups: Any) -> Integers:
    if groups is not None:
        return _members_of_groups(groups, len(forecast.P))
    p, _ = forecast_event(forecast, "positive" if forecast.is_binary else "top-label")
    bins = assign_bins(p, bin_edges(p, n_bins, strategy, forecast.weights))
    if forecast.is_binary:
        return bins
    return bins + forecast.P.argmax(axis=1) * (bins.max() + 1)


def _members_of_groups(groups: Any, n: int) -> Integers:
    try:
        groups = np.asarray(groups)
        if groups.ndim == 1:
            check_same_length(n, groups=groups)
            return np.unique(groups, return_inverse=True)[1]
    except TypeError:
        raise ValueError("groups holds what cannot be a label; expected numbers, text or booleans.") from None
    raise ValueError(f"groups has {groups.ndim} dimensions; expected a group for every row, shape (n,).")


def _brier_parts(P: Floats, outcomes: Floats, weights: Floats, members: Integers) -> dict[str, float]:
    share, forecast, frequency, overall = _group_means(P, outcomes, weights, members)
    spread = P - forecast[members]
    return {
        "reliability": share @ ((frequency - forecast) ** 2).sum(axis=1),
        "resolution": share @ ((frequency - overall) ** 2).sum(axis=1),
        "uncertainty": overall @ (1 - overall),
        "within": weights @ (spread * (spread - 2 * (outcomes - frequency[members]))).sum(axis=1),
    }


def _log_loss_parts(P: Floats, outcomes: Floats, weights: Floats, members: Integers) -> dict[str, float]:
    share, forecast, frequency, overall = _group_means(P, outcomes, weights, members)
    cross_entropy = -(frequency * log_probabilities(forecast)).sum(axis=1)
    entropy = entr(frequency).sum(axis=1)
    gain = log_probabilities(forecast[members]) - log_probabilities(P)
    return {
        "reliability": share @ (cross_entropy - entropy),
        "resolution": entr(overall).sum() - share @ entropy,
        "uncertainty": entr(overall).sum(),
        "within": weights @ (gain * outcomes).sum(axis=1),
    }


def _group_means(
    P: Floats, outcomes: Floats, weights: Floats, members: Integers
) -> tuple[NDArray[Any], Floats, Floats, Floats]:
    """Share of each group (B,), its mean forecast (B, L) and class frequencies (B, L), and those of all (L,)."""
    share = np.bincount(members, weights)

    def means(values: Floats) -> Floats:
        sums = [np.bincount(members, weights * column, len(share)) for column in values.T]
        return np.column_stack(sums) / share[:, None]

    return share, means(P), means(outcomes), weights @ outcomes
