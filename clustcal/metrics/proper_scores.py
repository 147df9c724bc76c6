"""Scores of a whole forecast: two proper scoring rules, accuracy and the area under the ROC curve.

Means over rows, weighted by ``sample_weight``; a weight of 2 counts as the row given twice.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import roc_auc_score

from clustcal.core.array_types import Booleans, Floats
from clustcal.core.probabilities import log_probabilities
from clustcal.metrics._inputs import Forecast, read_forecast

__all__ = ["accuracy", "brier", "log_loss", "roc_auc"]


def log_loss(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    pos_label: Hashable = None,
) -> float:
    """Mean negative log-likelihood of the labels (NLL, cross-entropy), in nats.

    .. math:: \\mathrm{NLL} = -\\frac{1}{n} \\sum_{i=1}^n \\log p_i(y_i)

    A probability of exactly 0 or 1 is taken as the nearest float64 that has a finite logit, so that one
    impossible event costs 36 nats and not infinity.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels of any type.
    y_prob : array-like of shape (n,), (n, 1) or (n, L)
        Probabilities, not scores or logits. One column is the probability of ``pos_label``.
    sample_weight : array-like of shape (n,), optional
    labels : array-like of shape (L,), optional
        The label of each column. Needed when ``y_true`` lacks a class and its labels are not 0 .. L - 1.
    pos_label : label, optional
        The class that a single column speaks of; by default the second of the sorted labels. Of more than two
        columns it picks one: the score is that of the forecast of this class against all others.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If the input is not as described: see `clustcal.core.probabilities`.

    Examples
    --------
    >>> from clustcal.metrics import log_loss
    >>> round(log_loss(["no", "yes"], [0.5, 0.5]), 4)
    0.6931
    >>> round(log_loss(["no", "no"], [0.2, 0.4], labels=["no", "yes"]), 4)
    0.367
    """
    forecast = read_forecast(y_true, y_prob, sample_weight, labels, pos_label)
    return float(np.average(_log_losses(forecast), weights=forecast.weights))


def brier(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    pos_label: Hashable = None,
) -> float:
    """Brier score: mean squared distance between probabilities and outcome.

    For two classes, the squared error of the positive class alone, between 0 and 1; for more classes, the
    sum over classes of Brier's original definition, between 0 and 2:

    .. math::

        \\mathrm{BS}_2 = \\frac{1}{n} \\sum_i (p_i - y_i)^2, \\qquad
        \\mathrm{BS}_L = \\frac{1}{n} \\sum_i \\sum_{k=1}^L (p_{ik} - 1[y_i = k])^2

    These are the defaults of scikit-learn, too. (The second, used on two classes, is twice the first.)

    Parameters
    ----------
    y_true, y_prob, sample_weight, labels, pos_label
        As in `log_loss`.

    Returns
    -------
    float

    References
    ----------
    Brier, G. W. (1950). Verification of forecasts expressed in terms of probability. Monthly Weather Review 78.

    Examples
    --------
    >>> from clustcal.metrics import brier
    >>> round(brier([0, 1], [0.2, 0.6]), 4)
    0.1
    >>> round(brier([0, 1], [[0.8, 0.1, 0.1], [0.2, 0.6, 0.2]]), 4)
    0.15
    """
    forecast = read_forecast(y_true, y_prob, sample_weight, labels, pos_label)
    return float(np.average(_squared_errors(forecast), weights=forecast.weights))


def accuracy(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    pos_label: Hashable = None,
) -> float:
    """Share of rows whose most probable class occurred; of equally probable classes, the first column's.

    With two classes the positive one is thus predicted when its probability is above 0.5.

    Parameters
    ----------
    y_true, y_prob, sample_weight, labels, pos_label
        As in `log_loss`.

    Returns
    -------
    float

    Examples
    --------
    >>> from clustcal.metrics import accuracy
    >>> accuracy([0, 1, 1, 1], [0.3, 0.7, 0.9, 0.5])
    0.75
    """
    forecast = read_forecast(y_true, y_prob, sample_weight, labels, pos_label)
    return float(np.average(_hits(forecast), weights=forecast.weights))


def roc_auc(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    pos_label: Hashable = None,
) -> float:
    """Area under the ROC curve; for more than two classes, the plain mean over classes of one-vs-rest areas.

    Classes without a row (of positive weight) have no area and are left out of the mean.

    Parameters
    ----------
    y_true, y_prob, sample_weight, labels, pos_label
        As in `log_loss`.

    Returns
    -------
    float

    Raises
    ------
    ValueError
        If only one class occurs: the area is then not defined.

    Examples
    --------
    >>> from clustcal.metrics import roc_auc
    >>> roc_auc([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    0.75
    """
    forecast = read_forecast(y_true, y_prob, sample_weight, labels, pos_label)
    weighted = forecast.weights > 0
    P, codes, weights = forecast.P[weighted], forecast.codes[weighted], forecast.weights[weighted]
    present = np.unique(codes)
    if present.size == 1:
        only = forecast.classes.tolist()[present[0]]
        raise ValueError(f"y_true holds only the label {only!r}; expected at least two classes.")
    columns = [1] if forecast.is_binary else present
    areas = [roc_auc_score(codes == k, P[:, k], sample_weight=weights) for k in columns]
    return float(np.mean(areas))


def _of_outcome(forecast: Forecast) -> Floats:
    """The probability that each row gave to what then happened, shape (n,)."""
    return forecast.P[np.arange(len(forecast.P)), forecast.codes]


def _log_losses(forecast: Forecast) -> Floats:
    return -log_probabilities(_of_outcome(forecast))


def _squared_errors(forecast: Forecast) -> Floats:
    of_outcome = _of_outcome(forecast)
    if forecast.is_binary:
        return (1 - of_outcome) ** 2
    # The square is completed so that no one-hot matrix is needed: sum p^2 - p_y^2 + (1 - p_y)^2.
    return np.einsum("nk,nk->n", forecast.P, forecast.P) - of_outcome**2 + (1 - of_outcome) ** 2


def _hits(forecast: Forecast) -> Booleans:
    return forecast.P.argmax(axis=1) == forecast.codes


# The metrics that are means over rows, and what they are means of: a resample of rows is then a sum of these.
ROW_VALUES = {log_loss: _log_losses, brier: _squared_errors, accuracy: _hits}
