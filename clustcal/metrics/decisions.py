"""What probabilities are worth for decisions: how the error falls when the least certain cases are handed on."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch

from clustcal.core.parameters import check_one_of, read_numbers, shown
from clustcal.metrics._inputs import read_forecast

__all__ = ["rejection_curve"]

TIES = ("keep", "average")
DECILES = tuple(j / 10 for j in range(10))


def rejection_curve(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    quantiles: ArrayLike | None = DECILES,
    ties: Literal["keep", "average"] = "keep",
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    pos_label: Hashable = None,
) -> Bunch:
    """Error rate of the accepted rows after rejecting the least confident share.

    Confidence is the highest probability of a row, and an error is a row whose most probable class did not
    occur (of equally probable classes the first column's is predicted, as in `accuracy`).

    Parameters
    ----------
    y_true, y_prob, sample_weight, labels, pos_label
        As in `log_loss`.
    quantiles : array-like of shape (q,), default=(0.0, 0.1, ..., 0.9)
        Shares of the weight to reject, at least 0 (accept all) and below 1.
    ties : {"keep", "average"}, default="keep"
        Rows of equal confidence across the threshold: ``"keep"`` accepts them all, so that up to the share
        asked for is rejected, never more; ``"average"`` rejects exactly that share, and the error rate is
        its mean over all choices among the tied rows. Either way the order of the rows does not matter.

    Returns
    -------
    curve : Bunch
        Arrays of shape (q,): ``quantile``, ``error`` (rate among accepted rows), ``coverage`` (share of the
        weight that is accepted) and ``threshold`` (lowest confidence accepted).

    Raises
    ------
    ValueError
        If the input is not as described.

    Examples
    --------
    >>> from clustcal.metrics import rejection_curve
    >>> curve = rejection_curve([1, 0, 1, 1], [0.6, 0.7, 0.8, 0.9], quantiles=[0, 0.25, 0.5])
    >>> curve.error.round(4), curve.coverage
    (array([0.25  , 0.3333, 0.    ]), array([1.  , 0.75, 0.5 ]))
    """
    quantiles = np.atleast_1d(read_numbers("quantiles", quantiles))
    if quantiles.ndim != 1 or not quantiles.size or not ((quantiles >= 0) & (quantiles < 1)).all():
        raise ValueError(f"quantiles is {shown(quantiles.tolist())}; expected shares of at least 0 and below 1.")
    check_one_of("ties", ties, TIES)
    forecast = read_forecast(y_true, y_prob, sample_weight, labels, pos_label)
    counted = forecast.weights > 0
    weights = forecast.weights[counted] / forecast.weights.sum()
    wrong = forecast.P.argmax(axis=1) != forecast.codes
    levels, group = np.unique(forecast.P.max(axis=1)[counted], return_inverse=True)
    mass = np.bincount(group, weights)
    errors = np.bincount(group, weights * wrong[counted])

    # Mass and errors at or above each level of confidence, and the level at which each quantile stops.
    accepted = np.cumsum(mass[::-1])[::-1]
    failed = np.cumsum(errors[::-1])[::-1]
    below = np.concatenate([[0.0], np.cumsum(mass)[:-1]])
    # The allowance keeps rounding in the sums from moving a threshold by a row.
    stop = np.searchsorted(below, quantiles + 1e-12, side="right") - 1
    coverage, error = accepted[stop], failed[stop]
    if ties == "average":
        surplus = np.maximum(coverage - (1 - quantiles), 0.0)
        coverage, error = coverage - surplus, error - surplus * errors[stop] / mass[stop]
    return Bunch(quantile=quantiles, error=error / coverage, coverage=coverage, threshold=levels[stop])
