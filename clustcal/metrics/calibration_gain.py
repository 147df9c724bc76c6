"""Local calibration gain: how much log-loss a cautious recalibration of groups would save, read like bins."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import expit
from scipy.stats import norm
from sklearn.utils import Bunch

from clustcal.core import ridge_evidence
from clustcal.core.array_types import AnySeed, Floats, Integers, Splits
from clustcal.core.parameters import check_level, check_whole_number, shown
from clustcal.core.probabilities import check_same_length, log_probabilities, logits, weighted_quantiles
from clustcal.core.random_states import as_generator
from clustcal.metrics._inputs import read_folds, read_forecast

__all__ = ["local_calibration_gain"]

# A direction of the groups that varies less than this, beside the one that varies most, is rounding.
NEGLIGIBLE = 1e-7
CAUTION = 0.5  # as of `RidgeCalibration`


def local_calibration_gain(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    groups: Any = None,
    *,
    n_bins: int = 10,
    cv: Splits = 5,
    confidence_level: float = 0.95,
    random_state: AnySeed = 0,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    pos_label: Hashable = None,
) -> Bunch:
    r"""Log-loss that a cautious recalibration of soft groups saves on rows that it was not fitted to, by group.

    Every fold is recalibrated by a map that was fitted to the other folds,

    .. math:: \mathrm{logit} \, q = a \, s + b + \sum_k w_k \, (b_k + a_k s), \qquad s = \mathrm{logit} \, p,

    with memberships w of the groups that sum to 1, and corrections :math:`b_k, a_k` as large as the labels support (the
    evidence of `RidgeCalibration`). The gain is the mean over rows of :math:`g = \ell(p, y) - \ell(q, y)`, in nats, and
    that of group k is its share, :math:`G_k = \frac1n \sum_i w_{ik} \, g_i`: as those of bins, they add up.

    Parameters
    ----------
    y_true, y_prob, sample_weight, labels, pos_label
        As in `log_loss`, of two classes.
    groups : array-like of shape (n,) or (n, K), or DataFrame, optional
        A label for every row; or memberships of at least 0, soft or of 0 and 1, overlapping or not, which are divided
        by their sum over the row. Left out: soft bins of the score, without the :math:`a_k`.
    n_bins : int, default=10
        Of the soft bins, which are hats over quantiles of s: a row between two quantiles belongs to both in part.
    cv : int or splitter of scikit-learn, default=5
        A number of folds, shuffled; or folds that hold out every row once.
    confidence_level : float, default=0.95
    random_state : int, RandomState instance, Generator or None, default=0

    Returns
    -------
    result : Bunch
        ``score``, the log-loss; ``gain`` and its ``interval`` (low, high); ``global_gain``, that of a and b alone
        (Platt scaling, by the same folds), and ``local_gain``, the rest; and ``table``, a DataFrame by group with
        ``weight`` (its share of the rows), ``observed`` and ``forecast`` (means), ``recalibrated`` (mean of q),
        ``gain`` (:math:`G_k`), and its interval ``low``, ``high``.

    Raises
    ------
    ValueError
        If the input is not as described, a row is in no group, or a class has fewer than two rows.

    Notes
    -----
    **What it is.** Let :math:`c = P(Y = 1 \mid p, w)`. Given the maps, the expected gain is

    .. math:: \mathbb E \, [\mathrm{KL}(c, p)] - \mathbb E \, [\mathrm{KL}(c, q)],

    as p and q are functions of (p, w). So it never exceeds :math:`\mathbb E [\mathrm{KL}(c, p)]`, what is lost by not
    being calibrated in the groups; and of a forecast that is calibrated in them, :math:`p = c`, it is at most 0, with
    any number of rows, where errors of bins are above 0 by chance. And the log-loss of p is the gain plus the log-loss
    of q, on any data: of two forecasts whose recalibrations are equally good, the one with the smaller gain has the
    smaller log-loss.

    **Groups count by their span.** Splitting a group in two parts that are alike, or naming it twice beside the
    others in proportion, leaves the gain as it is, as the corrections are penalised by the mean square of what they
    add to the logit.

    **Few rows.** Slope and intercept are free, so that with a hundred rows or so, above all of scores that nearly
    separate the classes, the gain can be far below 0 by the noise of their fit. It is for several hundred rows or more.

    The interval is a normal one of the row means, given the maps; these make it too narrow where rows are few. It does
    not see what neither scores nor groups tell: the forecast of the base rate has no gain in bins of its score.

    Examples
    --------
    A forecast of 1/2 for all, of whom a third of 300 women and two thirds of 300 men have the event: right in bins of
    the score, and worth :math:`\mathrm{KL}(1/3, 1/2) = 0.057` less than it could be; caution costs a little of that.

    >>> from clustcal.metrics import ece, local_calibration_gain
    >>> y = [1] * 100 + [0] * 200 + [1] * 200 + [0] * 100
    >>> sex = ["f"] * 300 + ["m"] * 300
    >>> ece(y, [0.5] * 600)
    0.0
    >>> bool(local_calibration_gain(y, [0.5] * 600).gain < 1e-9)
    True
    >>> result = local_calibration_gain(y, [0.5] * 600, sex)
    >>> round(result.gain, 3)
    0.053
    >>> result.table[["observed", "forecast", "recalibrated", "gain"]].round(3)
       observed  forecast  recalibrated   gain
    f     0.333       0.5         0.339  0.026
    m     0.667       0.5         0.661  0.027
    """
    check_level("confidence_level", confidence_level)
    check_whole_number("n_bins", n_bins)
    rng = as_generator(random_state)
    forecast = read_forecast(y_true, y_prob, sample_weight, labels, pos_label)
    if not forecast.is_binary or forecast.positive is None:
        raise ValueError(f"y_prob has {forecast.P.shape[1]} columns; expected two classes, or pos_label.")
    p, y, weights = (
        forecast.P[:, forecast.positive],
        (forecast.codes == forecast.positive).astype(int),
        forecast.weights,
    )
    if min(np.bincount(y, weights > 0, 2)) < 2:
        raise ValueError("y_true has fewer than two rows of a class; expected more, as every fold needs both.")
    s = logits(p)
    names, W = _soft_bins(s, p, n_bins, weights) if groups is None else _read_groups(groups, len(p))
    blocks = [W] if groups is None else [W, W * s[:, None]]
    q, platt = np.empty(len(p)), np.empty(len(p))
    for train, test in read_folds(cv, y, weights, rng):
        q[test], platt[test] = _recalibrated(s, blocks, y, weights, train, test)
    share = weights / weights.sum()
    loss, gain_of_platt = _losses(p, y), _losses(p, y) - _losses(platt, y)
    gains = loss - _losses(q, y)
    reach = norm.ppf((1 + confidence_level) / 2)
    gain, low, high = _mean_interval(gains, share, reach)
    global_gain = float(share @ gain_of_platt)
    of_groups = share @ W
    lines = [(of_groups[k], *_mean_interval(W[:, k] * gains, share, reach)) for k in range(W.shape[1])]
    table = pd.DataFrame(lines, columns=["weight", "gain", "low", "high"], index=pd.Index(names))
    for place, (name, values) in enumerate({"observed": y, "forecast": p, "recalibrated": q}.items(), 1):
        table.insert(place, name, (share * values) @ W / np.where(of_groups > 0, of_groups, np.nan))
    return Bunch(
        score=float(share @ loss),
        gain=gain,
        interval=(low, high),
        global_gain=global_gain,
        local_gain=gain - global_gain,
        table=table,
    )


def _recalibrated(
    s: Floats, blocks: list[Floats], y: Integers, weights: Floats, train: Integers, test: Integers
) -> tuple[Floats, Floats]:
    """Recalibrate rows by maps fitted to others: with the groups, and with slope and intercept alone."""
    share = weights[train] / weights[train].sum()
    if min(np.bincount(y[train], share > 0, 2)) == 0:
        raise ValueError("cv has a fold that trains on one class; expected both in every fold.")
    centre = share @ s[train]
    unit = np.sqrt(share @ (s[train] - centre) ** 2) or 1.0
    S = (s - centre) / unit
    bases = [basis for block in blocks if (basis := _basis(block, train, share)).shape[1]]
    Phi = np.column_stack([np.empty((len(s), 0)), *bases])
    problem = ridge_evidence.pose(S[train, None], Phi[train], y[train], weights[train], 2)
    a, b = ridge_evidence.fit_scores_alone(problem)
    platt = expit(a * S[test] + b[0])
    if not bases:
        return platt, platt
    found = ridge_evidence.fit(problem, [basis.shape[1] for basis in bases], CAUTION)
    return expit(found.a * S[test] + found.B[0, 0] + Phi[test] @ found.B[0, 1:]), platt


def _basis(block: Floats, train: Integers, share: Floats) -> Floats:
    """Return columns with the same span (beside a constant) whose mean square over the training rows is 1: (n, r)."""
    centred = block - share @ block[train]
    _, lengths, axes = np.linalg.svd(np.sqrt(share)[:, None] * centred[train], full_matrices=False)
    size = np.sqrt(share @ (block[train] ** 2).sum(axis=1))
    kept = lengths > NEGLIGIBLE * max(size, np.finfo(float).tiny)
    basis: Floats = centred @ (axes[kept].T / lengths[kept])
    return basis


def _soft_bins(s: Floats, p: Floats, n_bins: int, weights: Floats) -> tuple[list[str], Floats]:
    """Return names and memberships (n, K) of hats over the quantiles of s; rows sum to 1."""
    levels = (np.arange(n_bins) + 0.5) / n_bins
    knots = np.unique(weighted_quantiles(s[:, None], levels.tolist(), weights)[:, 0])
    if len(knots) == 1:
        return [f"{expit(knots[0]):.3g}"], np.ones((len(s), 1))
    place = np.interp(s, knots, np.arange(len(knots)))
    return [f"{expit(knot):.3g}" for knot in knots], np.clip(1 - np.abs(place[:, None] - np.arange(len(knots))), 0, 1)


def _read_groups(groups: Any, n: int) -> tuple[list[Any], Floats]:
    """Return names and memberships (n, K) whose rows sum to 1."""
    names = list(groups.columns) if hasattr(groups, "columns") else None
    try:
        values = np.asarray(groups)
    except ValueError:
        raise ValueError(f"groups could not be read as an array; expected shape ({n},) or ({n}, K).") from None
    if values.ndim == 0:
        raise ValueError(f"groups is {shown(groups)}; expected shape ({n},) or ({n}, K).")
    check_same_length(n, groups=values)
    if values.ndim == 1:
        codes, found = pd.factorize(values, sort=True)
        if (codes < 0).any():
            raise ValueError("groups has a row without a label; expected one for every row.")
        return found.tolist(), np.eye(len(found))[codes]
    if values.ndim != 2 or values.shape[1] == 0:
        raise ValueError(f"groups has shape {values.shape}; expected ({n},) or ({n}, K).")
    try:
        W = values.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"groups is {shown(groups)}; expected memberships, which are numbers.") from None
    if not np.isfinite(W).all() or (W < 0).any():
        raise ValueError("groups has memberships below 0 or not finite; expected finite ones of at least 0.")
    total = W.sum(axis=1, keepdims=True)
    if not (total > 0).all():
        raise ValueError(f"row {int(np.argmin(total))} of groups is in no group; expected every row in at least one.")
    return list(range(W.shape[1])) if names is None else names, W / total


def _losses(p: Floats, y: Integers) -> Any:
    return -log_probabilities(np.where(y == 1, p, 1 - p))


def _mean_interval(values: Floats, share: Floats, reach: float) -> tuple[float, float, float]:
    mean = float(share @ values)
    error = float(np.sqrt(share**2 @ (values - mean) ** 2))
    return mean, mean - reach * error, mean + reach * error
