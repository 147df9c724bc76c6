"""What probabilities are worth for decisions: net benefit, expected cost, cost curves, each with intervals.

Every one is a sum of shares of rows times what each share is worth, and its interval is that of such a sum.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch

from clustcal.core.array_types import Floats
from clustcal.core.parameters import check_level, read_numbers, shown
from clustcal.metrics._inputs import forecast_event, read_forecast
from clustcal.metrics.proportions import shares_interval

__all__ = ["cost_curve", "decision_curve", "expected_cost"]

THRESHOLDS = tuple(j / 100 for j in range(1, 100))


def decision_curve(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    thresholds: ArrayLike | None = THRESHOLDS,
    reference: Any = None,
    confidence_level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    pos_label: Hashable = None,
) -> Bunch:
    """Net benefit of treating those whose risk reaches a threshold, against treating all and treating none.

    Who treats from a risk of t on holds a false positive to cost t / (1 - t) of what a true positive is worth. In
    units of true positives per row,

    .. math::

        \\mathrm{NB}(t) = \\frac{\\mathrm{TP}(t)}{n} - \\frac{t}{1 - t} \\, \\frac{\\mathrm{FP}(t)}{n}

    Treating none has a net benefit of 0; treating all, that of TP and FP being all events and all others.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels of any type.
    y_prob : array-like of shape (n,), (n, 1) or (n, L)
        Probabilities. One column is the probability of ``pos_label``.
    thresholds : array-like of shape (t,), default=(0.01, 0.02, ..., 0.99)
        Risks from which one would treat, at least 0 and below 1. A risk equal to it is treated.
    reference : array-like of shape (n,), (n, 1) or (n, L), optional
        Another forecast of the same rows: the difference to it, with its (paired) interval, is then given as well.
    confidence_level : float, default=0.95
        Of each interval by itself.
    sample_weight : array-like of shape (n,), optional
        A weight of 2 counts as the row given twice, except in intervals: see `proportion_interval`.
    labels : array-like of shape (L,), optional
        The label of each column.
    pos_label : label, optional
        The event. By default, of two, the second of the sorted labels; needed for more classes.

    Returns
    -------
    curve : Bunch
        Arrays of shape (t,): ``threshold``; ``net_benefit`` with ``low`` and ``high``; ``treat_all`` with
        ``treat_all_low`` and ``treat_all_high``; ``true_positives`` and ``false_positives`` (shares of the weight);
        with a reference also ``reference`` (its net benefit), ``difference``, ``difference_low`` and
        ``difference_high``.

    Raises
    ------
    ValueError
        If the input is not as described.

    Notes
    -----
    Intervals are built from the Clopper-Pearson limits of the shares that are added, by the method of variance
    estimates recovery (MOVER) with the covariances of a multinomial; so they have width also where no event is
    treated. They are for one threshold at a time, and for rows that were not used to make the model. Assumes
    independent rows with the share of events of the population where decisions will be taken.

    References
    ----------
    Vickers, A. J. and Elkin, E. B. (2006). Decision curve analysis: a novel method for evaluating prediction models.
    Medical Decision Making 26.

    Donner, A. and Zou, G. Y. (2012). Closed-form confidence intervals for functions of the normal mean and standard
    deviation. Statistical Methods in Medical Research 21.

    Examples
    --------
    >>> from clustcal.metrics import decision_curve
    >>> curve = decision_curve([0, 0, 1, 0, 1], [0.1, 0.2, 0.3, 0.6, 0.9], thresholds=[0.25, 0.5])
    >>> curve.net_benefit.round(4), curve.treat_all.round(4)        # 2/5 - 1/3 * 1/5 and 1/5 - 1 * 1/5
    (array([0.3333, 0.    ]), array([ 0.2, -0.2]))
    """
    check_level("confidence_level", confidence_level)
    thresholds = _as_shares(thresholds, "thresholds", above=False)
    forecast = read_forecast(y_true, y_prob, sample_weight, labels, pos_label)
    p, event = forecast_event(forecast, "positive")
    worth = np.column_stack([np.ones(len(thresholds)), -thresholds / (1 - thresholds)])
    treated = _Treated(p, event, forecast.weights)
    shares = treated.shares(thresholds)
    everyone = np.broadcast_to(treated.of_all, shares.shape)
    low, high = shares_interval(shares, treated.n_rows, worth, confidence_level)
    all_low, all_high = shares_interval(everyone, treated.n_rows, worth, confidence_level)
    curve = Bunch(
        threshold=thresholds,
        net_benefit=(shares * worth).sum(axis=1),
        low=low,
        high=high,
        treat_all=(everyone * worth).sum(axis=1),
        treat_all_low=all_low,
        treat_all_high=all_high,
        true_positives=shares[:, 0],
        false_positives=shares[:, 1],
    )
    if reference is not None:
        other = read_forecast(y_true, reference, sample_weight, labels, pos_label)
        other_p, _ = forecast_event(other, "positive")
        curve.update(_differences(p, other_p, event, forecast.weights, thresholds, worth, confidence_level))
    return curve


def expected_cost(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    costs: ArrayLike,
    *,
    confidence_level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    pos_label: Hashable = None,
) -> Bunch:
    """What decisions cost that are taken by the probabilities, under given costs.

    In every row the decision d is the one that the forecast expects to cost least, and what it then costs is read
    from the class k that occurred:

    .. math::

        d_i = \\arg\\min_d \\sum_k p_{ik} \\, C_{kd}, \\qquad \\bar C = \\frac{1}{n} \\sum_i C_{y_i d_i}

    Parameters
    ----------
    y_true, y_prob, sample_weight, labels, pos_label
        As in `log_loss`.
    costs : array-like of shape (L, D)
        The cost of each decision (column) for each class (row, in the order of the columns of the forecast: of the
        sorted labels, or of ``labels``; for a single column and with ``pos_label``, the other class first). There may
        be more decisions than classes, such as to hand a case on, and a gain is a negative cost.
    confidence_level : float, default=0.95

    Returns
    -------
    result : Bunch
        ``cost`` per row, with ``low`` and ``high``; ``predicted``, what the forecast expected it to be; ``decisions``
        (n,), the column chosen in each row (of equal ones the first); ``counts`` (L, D), the weight of each class and
        decision; and ``best_constant``, the cost of the one decision that is best for all rows alike.

    Raises
    ------
    ValueError
        If the input is not as described.

    Notes
    -----
    Where the forecast is calibrated, ``predicted`` and ``cost`` agree but for chance: the plainest use of
    calibration. The interval is that of a sum of multinomial shares, as in `decision_curve`; assumes independent rows
    that were not used to make the forecast.

    References
    ----------
    Elkan, C. (2001). The foundations of cost-sensitive learning. IJCAI.

    Examples
    --------
    A miss costs 10, a false alarm 1, handing the case on 0.5: at 3 % none is alarmed, at 20 % handed on costs least.

    >>> from clustcal.metrics import expected_cost
    >>> costs = [[0, 1, 0.5], [10, 0, 0.5]]
    >>> result = expected_cost([0, 0, 1, 1], [0.03, 0.2, 0.2, 0.9], costs)
    >>> result.decisions, result.cost
    (array([0, 2, 2, 1]), 0.25)
    """
    check_level("confidence_level", confidence_level)
    forecast = read_forecast(y_true, y_prob, sample_weight, labels, pos_label)
    costs = _as_costs(costs, forecast.P.shape[1])
    expected = forecast.P @ costs
    decisions = expected.argmin(axis=1)
    share = forecast.weights / forecast.weights.sum()
    cells = np.bincount(forecast.codes * costs.shape[1] + decisions, forecast.weights, costs.size)
    shares = cells / cells.sum()
    n_rows = 1 / (share @ share)
    # Measured from the cost of the commonest case, so that a cost which all have in common adds no doubt.
    common = costs.ravel()[shares.argmax()]
    low, high = shares_interval(shares[None], n_rows, costs.reshape(1, -1) - common, confidence_level)
    classes = np.bincount(forecast.codes, share, len(costs))
    return Bunch(
        cost=float(shares @ costs.ravel()),
        low=float(low[0] + common),
        high=float(high[0] + common),
        predicted=float(share @ expected[np.arange(len(expected)), decisions]),
        decisions=decisions,
        counts=cells.reshape(costs.shape),
        best_constant=float((classes @ costs).min()),
    )


def cost_curve(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    costs: ArrayLike | None = THRESHOLDS,
    confidence_level: float = 0.95,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    pos_label: Hashable = None,
) -> Bunch:
    """Cost of decisions by the probabilities as they are, for every ratio of the two errors' costs.

    A false positive costs c and a false negative 1 - c, so that treating those with p of at least c is best if p is
    right. With a factor of 2, which makes the mean cost over c a score,

    .. math::

        L(c) = 2 \\Bigl( c \\, \\frac{\\mathrm{FP}(c)}{n} + (1 - c) \\, \\frac{\\mathrm{FN}(c)}{n} \\Bigr), \\qquad
        \\int_0^1 L(c) \\, dc = \\frac{1}{n} \\sum_i (p_i - y_i)^2

    The area below the curve is the Brier score: it is the mean cost over all c.

    Parameters
    ----------
    y_true, y_prob, sample_weight, labels, pos_label
        As in `decision_curve`.
    costs : array-like of shape (c,), default=(0.01, 0.02, ..., 0.99)
        Shares of the cost of a false positive in that of both errors, from 0 to 1.
    confidence_level : float, default=0.95
        Of each interval by itself.

    Returns
    -------
    curve : Bunch
        Arrays of shape (c,): ``cost_share`` (c); ``cost`` with ``low`` and ``high``; ``treat_all`` and ``treat_none``,
        the costs without a forecast; and ``best``, the least cost that any threshold on these scores would have had
        on these rows (chosen with their outcomes, and so a little too good). The gap between ``cost`` and ``best`` is
        what miscalibration costs, and what hindsight gains: a calibrated forecast has one, too.

    Raises
    ------
    ValueError
        If the input is not as described.

    Notes
    -----
    The share of events is held at that of the rows. Drummond and Holte's cost curve is drawn over the product of
    costs and prevalence, for a threshold that is given; this one, Hernandez-Orallo and others' Brier curve, is for
    thresholds that follow the costs. Intervals as in `decision_curve`.

    References
    ----------
    Drummond, C. and Holte, R. C. (2006). Cost curves: an improved method for visualizing classifier performance.
    Machine Learning 65.

    Hernandez-Orallo, J., Flach, P. and Ferri, C. (2011). Brier curves: a new cost-based visualisation of classifier
    performance. ICML.

    Examples
    --------
    >>> from clustcal.metrics import cost_curve
    >>> curve = cost_curve([0, 0, 1, 1], [0.1, 0.6, 0.4, 0.9], costs=[0.2, 0.5])
    >>> curve.cost, curve.treat_all, curve.treat_none
    (array([0.1, 0.5]), array([0.2, 0.5]), array([0.8, 0.5]))
    >>> curve.best
    array([0.1 , 0.25])
    """
    check_level("confidence_level", confidence_level)
    costs = _as_shares(costs, "costs", above=True)
    forecast = read_forecast(y_true, y_prob, sample_weight, labels, pos_label)
    treated = _Treated(*forecast_event(forecast, "positive"), forecast.weights)
    shares = treated.shares(costs)
    events, others = treated.of_all
    wrong = np.column_stack([shares[:, 1], events - shares[:, 0]]).clip(0)
    worth = 2 * np.column_stack([costs, 1 - costs])
    low, high = shares_interval(wrong, treated.n_rows, worth, confidence_level)
    of_every_threshold = np.vstack([[0.0, 0.0], treated.upwards])
    errors = np.column_stack([of_every_threshold[:, 1], events - of_every_threshold[:, 0]])
    # One cost share at a time keeps memory at that of the rows.
    best = np.array([(errors @ one).min() for one in worth])
    return Bunch(
        cost_share=costs,
        cost=(wrong * worth).sum(axis=1),
        low=low,
        high=high,
        treat_all=2 * costs * others,
        treat_none=2 * (1 - costs) * events,
        best=best,
    )


class _Treated:
    """Shares of the weight of (true, false) positives at any threshold, from one sort of the scores."""

    def __init__(self, p: Floats, event: Floats, weights: Floats) -> None:
        share = weights / weights.sum()
        self.n_rows = 1 / (share @ share)
        self.levels, members = np.unique(p, return_inverse=True)
        at_level = np.column_stack([np.bincount(members, share * part) for part in (event, 1 - event)])
        # Row j: those at the j-th level or above.
        self.upwards = np.cumsum(at_level[::-1], axis=0)[::-1]
        self.of_all = self.upwards[0]

    def shares(self, thresholds: Floats) -> Floats:
        place = np.searchsorted(self.levels, thresholds, side="left")
        return np.vstack([self.upwards, [0.0, 0.0]])[place]


def _differences(
    p: Floats, other: Floats, event: Floats, weights: Floats, thresholds: Floats, worth: Floats, confidence_level: float
) -> dict[str, Floats]:
    """Difference in net benefit of p and another forecast, from the rows that only one of them treats."""
    share = weights / weights.sum()
    n_rows = 1 / (share @ share)
    parts = [share * event, share * (1 - event)]
    only = np.empty((len(thresholds), 4))
    both = np.empty(len(thresholds))
    for j, t in enumerate(thresholds):
        # A row that both treat, or neither, does not differ.
        first, second = (p >= t) & (other < t), (other >= t) & (p < t)
        only[j] = [part[rows].sum() for rows in (first, second) for part in parts]
        both[j] = np.array([part[other >= t].sum() for part in parts]) @ worth[j]
    signed = np.hstack([worth, -worth])
    low, high = shares_interval(only, n_rows, signed, confidence_level)
    difference = (only * signed).sum(axis=1)
    return {"reference": both, "difference": difference, "difference_low": low, "difference_high": high}


def _as_shares(values: Any, name: str, above: bool) -> Floats:
    values = np.atleast_1d(read_numbers(name, values))
    largest = values <= 1 if above else values < 1
    if values.ndim != 1 or not values.size or not ((values >= 0) & largest).all():
        upper = "to 1" if above else "and below 1"
        raise ValueError(f"{name} is {shown(values.tolist())}; expected numbers of at least 0 {upper}, shape (t,).")
    return values


def _as_costs(costs: ArrayLike, n_classes: int) -> Floats:
    costs = read_numbers("costs", costs)
    if costs.ndim != 2 or costs.shape[0] != n_classes or costs.shape[1] < 1:
        raise ValueError(f"costs has shape {costs.shape}; expected ({n_classes}, D), a row per class.")
    if not np.isfinite(costs).all():
        raise ValueError("costs holds NaN or infinite values; expected finite numbers.")
    return costs
