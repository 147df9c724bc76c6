"""How sure a number is, and whether two differ: intervals, a paired test, tables of rank correlations."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from sklearn.utils import Bunch

from clustcal.core.array_types import AnySeed, Floats, Integers
from clustcal.core.parameters import check_level, check_true_or_false, check_whole_number, read_numbers, shown
from clustcal.core.random_states import as_generator
from clustcal.metrics._inputs import Forecast, read_forecast
from clustcal.metrics.proper_scores import ROW_VALUES

__all__ = ["bootstrap_interval", "paired_wilcoxon", "spearman_table", "t_interval"]

# Pairs up to which all assignments of signs are counted, in some tenths of a second.
EXACT_PAIRS = 500


def bootstrap_interval(
    metric: Callable[..., float],
    y_true: ArrayLike,
    y_prob: Any,
    *,
    confidence_level: float = 0.95,
    n_resamples: int = 1000,
    stratify: bool = False,
    random_state: AnySeed = None,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    pos_label: Hashable = None,
    **kwargs: Any,
) -> Bunch:
    """Percentile interval of a metric by resampling the rows of a test set.

    Parameters
    ----------
    metric : callable
        Any metric of this package with the signature ``metric(y_true, y_prob, *, labels, pos_label, ...)``.
    y_true, y_prob, sample_weight, labels, pos_label
        As in `log_loss`; a row is drawn together with its weight.
    confidence_level : float, default=0.95
    n_resamples : int, default=1000
    stratify : bool, default=False
        Draw within each class, so that rare classes never vanish; the base rate is then taken as known.
    random_state : int, RandomState instance, Generator or None, default=None
    **kwargs
        Passed to the metric.

    Returns
    -------
    interval : Bunch
        ``estimate`` (on the rows as they are), ``low``, ``high``, and ``samples`` of shape (n_resamples,).

    Raises
    ------
    ValueError
        If the input is not as described, or a resample has no value (AUC without one class: use stratify).

    Notes
    -----
    For means over rows, such as log-loss and Brier score, and for smooth functions of them, such as AUC. Not for
    calibration errors: a resample adds its own noise to that of the rows, and a sum of absolute or squared gaps grows
    with noise, so that the interval lies too high, and never holds the 0 of a calibrated forecast. For these see
    `compare_calibration`.

    References
    ----------
    Efron, B. and Tibshirani, R. (1993). An introduction to the bootstrap. Chapman and Hall.

    Examples
    --------
    >>> from clustcal.metrics import bootstrap_interval, brier
    >>> interval = bootstrap_interval(brier, [0, 1, 1, 1], [0.2, 0.4, 0.8, 1.0], random_state=0)
    >>> round(interval.estimate, 4), interval.low <= interval.estimate <= interval.high
    (0.11, True)
    """
    if not callable(metric):
        raise ValueError(f"metric is {shown(metric)}; expected a function such as clustcal.metrics.brier.")
    check_level("confidence_level", confidence_level)
    check_whole_number("n_resamples", n_resamples)
    check_true_or_false("stratify", stratify)
    rng = as_generator(random_state)
    forecast = read_forecast(y_true, y_prob, sample_weight, labels, pos_label, one_vs_rest=False)
    if getattr(metric, "__hash__", None) and metric in ROW_VALUES and not kwargs:
        value = _mean_of_rows(ROW_VALUES[metric](forecast), forecast.weights)
    else:
        value = _metric_of_rows(metric, forecast, sample_weight is not None, kwargs)
    everyone = np.arange(len(forecast.codes))
    strata = [everyone[forecast.codes == k] for k in np.unique(forecast.codes)] if stratify else [everyone]
    samples = np.array(
        [
            value(np.concatenate([rows[rng.integers(len(rows), size=len(rows))] for rows in strata]))
            for _ in range(n_resamples)
        ]
    )
    tail = (1 - confidence_level) / 2
    low, high = np.quantile(samples, [tail, 1 - tail])
    return Bunch(estimate=float(value(everyone)), low=float(low), high=float(high), samples=samples)


def _metric_of_rows(
    metric: Callable[..., float], forecast: Forecast, is_weighted: bool, kwargs: dict[str, Any]
) -> Callable[[Any], float]:
    """Return the function from rows to the metric of these rows."""
    # Labels of the columns come from all rows, as a resample may lack a class.
    kwargs = {**kwargs, "labels": forecast.classes}
    if forecast.positive is not None:
        kwargs["pos_label"] = forecast.classes[forecast.positive].item()
    y = forecast.classes[forecast.codes]

    def value(rows: Integers) -> float:
        weights = forecast.weights[rows] if is_weighted else None
        return metric(y[rows], forecast.P[rows], sample_weight=weights, **kwargs)

    return value


def _mean_of_rows(values: NDArray[Any], weights: Floats) -> Callable[[Any], float]:
    """Return the function from rows to the weighted mean of one value per row, which is many times faster."""
    if (weights == weights[0]).all():
        return lambda rows: values.take(rows).mean()
    weighted = weights * values
    return lambda rows: weighted[rows].sum() / weights[rows].sum()


def t_interval(values: ArrayLike, *, test_to_train: float = 0.0, confidence_level: float = 0.95) -> Bunch:
    """Mean, standard deviation and t-based interval of the mean, over repeated runs (the paper's "95% CI").

    .. math:: \\bar v \\pm t_{n-1} \\, s \\sqrt{1 / n + \\rho}

    With :math:`\\rho = 0` the values count as independent. Those of repeated splits of one data set are not: their
    parts overlap. Nadeau and Bengio (2003) then take :math:`\\rho = n_\\text{test} / n_\\text{train}`.

    Parameters
    ----------
    values : array-like of shape (n,)
        One number per seed; at least 2.
    test_to_train : float, default=0.0
        The ratio :math:`\\rho` of rows that test to rows that train, at least 0.
    confidence_level : float, default=0.95

    Returns
    -------
    interval : Bunch
        ``mean``, ``sd`` (with n - 1), ``half_width``, ``low``, ``high``, ``n``.

    Raises
    ------
    ValueError
        If there are fewer than 2 values, or one is not finite, or the ratio is negative.

    References
    ----------
    C. Nadeau and Y. Bengio, Inference for the generalization error, Machine Learning 52 (2003) 239-281.

    Examples
    --------
    >>> from clustcal.metrics import t_interval
    >>> interval = t_interval([1.0, 2.0, 3.0, 4.0, 5.0])
    >>> round(interval.mean, 4), round(interval.half_width, 4)
    (3.0, 1.9632)

    Five splits that train on four times as many rows as they test:

    >>> round(t_interval([1.0, 2.0, 3.0, 4.0, 5.0], test_to_train=0.25).half_width, 4)
    2.9449
    """
    check_level("confidence_level", confidence_level)
    if not (isinstance(test_to_train, Real) and 0 <= test_to_train < np.inf):
        raise ValueError(f"test_to_train is {test_to_train!r}; expected a number of at least 0.")
    values = _as_finite_vector(values, "values")
    n = len(values)
    if n < 2:
        raise ValueError(f"values has {n} entries; expected at least 2.")
    mean, sd = float(values.mean()), float(values.std(ddof=1))
    half_width = float(stats.t.ppf((1 + confidence_level) / 2, n - 1) * sd * np.sqrt(1 / n + test_to_train))
    return Bunch(mean=mean, sd=sd, half_width=half_width, low=mean - half_width, high=mean + half_width, n=n)


def paired_wilcoxon(a: ArrayLike, b: ArrayLike) -> Bunch:
    """Two-sided Wilcoxon signed-rank test of paired values, exact for up to 500 pairs that differ.

    Every assignment of signs to the ranks of the absolute differences is equally likely under the null
    hypothesis; all 2^n are counted, so the p-value is exact, also with ties (mid-ranks). That takes time in
    proportion to n^3; beyond 500 pairs it is scipy's normal approximation with its correction for ties.
    Pairs without a difference are left out, as Wilcoxon did.

    Parameters
    ----------
    a, b : array-like of shape (n,)
        The same quantity of two methods on the same n cases.

    Returns
    -------
    result : Bunch
        ``statistic`` (rank sum of the pairs with a > b), ``pvalue``, ``n`` (pairs that differ), ``n_greater``
        (a > b), ``n_less`` (a < b), ``n_equal``.

    Raises
    ------
    ValueError
        If lengths differ, values are not finite, or no pair differs.

    References
    ----------
    Wilcoxon, F. (1945). Individual comparisons by ranking methods. Biometrics Bulletin 1.

    Examples
    --------
    36 of 36 pairs with the same sign, as in the paper's comparison of clustered with global calibrators:

    >>> from clustcal.metrics import paired_wilcoxon
    >>> result = paired_wilcoxon(range(1, 37), [0] * 36)
    >>> result.pvalue == 2 / 2**36, f"{result.pvalue:.1e}"
    (True, '2.9e-11')
    """
    a, b = _as_finite_vector(a, "a"), _as_finite_vector(b, "b")
    if len(a) != len(b):
        raise ValueError(f"b has {len(b)} entries and a has {len(a)}; expected pairs.")
    difference = a - b
    moved = difference[difference != 0]
    if not moved.size:
        raise ValueError("a and b are equal in every pair; expected at least one that differs.")
    # Mid-ranks are multiples of 1/2: doubled, they are whole numbers that can index an array.
    ranks = np.rint(2 * stats.rankdata(np.abs(moved))).astype(int)
    statistic = int(ranks[moved > 0].sum())
    if len(moved) <= EXACT_PAIRS:
        pvalue = _signed_rank_pvalue(ranks, statistic)
    else:
        # "approx" is the name that all supported versions of scipy understand.
        pvalue = float(stats.wilcoxon(moved, method="approx", correction=False).pvalue)
    return Bunch(
        statistic=statistic / 2,
        pvalue=pvalue,
        n=int(moved.size),
        n_greater=int((moved > 0).sum()),
        n_less=int((moved < 0).sum()),
        n_equal=int(difference.size - moved.size),
    )


def spearman_table(
    frame: pd.DataFrame, *, by: str | list[str] | None = None, columns: list[str] | None = None
) -> pd.DataFrame:
    """Spearman correlations between the columns of a table, as a square table of mean correlations.

    With ``by``, correlations are taken within each group and then averaged, as in the paper's table of
    metric correlations (groups: model capacities). A group in which a column is constant has no correlation
    there and does not count for it.

    Parameters
    ----------
    frame : DataFrame
        One row per method (and data set, seed ...), one column per metric.
    by : str or list of str, optional
        Columns that define the groups.
    columns : list of str, optional
        The metrics; by default all numeric columns that are not in ``by``.

    Returns
    -------
    table : DataFrame of shape (m, m)

    Raises
    ------
    ValueError
        If a column is unknown.

    References
    ----------
    Spearman, C. (1904). The proof and measurement of association between two things. Am. J. Psychology 15.

    Examples
    --------
    >>> import pandas as pd
    >>> from clustcal.metrics import spearman_table
    >>> runs = pd.DataFrame({"size": [1, 1, 1, 2, 2, 2], "ece": [1, 2, 3, 1, 2, 3], "auc": [3, 2, 1, 3, 1, 2]})
    >>> spearman_table(runs, by="size").loc["ece", "auc"]
    np.float64(-0.75)
    """
    if not isinstance(frame, pd.DataFrame):
        raise ValueError(f"frame is {type(frame).__name__}; expected a DataFrame with a row for each run.")
    by, columns = _as_names("by", by), None if columns is None else _as_names("columns", columns)
    if columns is None:
        columns = [name for name in frame.select_dtypes("number").columns if name not in by]
    known = list(frame.columns)
    unknown = [name for name in [*by, *columns] if name not in known]
    if unknown:
        raise ValueError(f"frame has no column {shown(unknown[0])}; expected one of {shown(known)}.")
    groups = [rows for _, rows in frame.groupby(by)] if by else [frame]
    tables = np.array([rows[columns].corr(method="spearman").to_numpy() for rows in groups])
    defined = np.isfinite(tables)
    counts = defined.sum(axis=0)
    sums = np.where(defined, tables, 0.0).sum(axis=0)
    means = np.divide(sums, counts, out=np.full(counts.shape, np.nan), where=counts > 0)
    return pd.DataFrame(means, index=list(columns), columns=list(columns))


def _as_names(name: str, value: Any) -> list[str]:
    """Names of columns as a list: one alone, several, or none."""
    value = [] if value is None else [value] if isinstance(value, str) else value
    if not isinstance(value, (list, tuple, pd.Index)):
        raise ValueError(f"{name} is {shown(value)}; expected the name of a column, or a list of them.")
    return list(value)


def _signed_rank_pvalue(ranks: Integers, statistic: int) -> float:
    """Two-sided p-value of a signed-rank sum, from the distribution over all sign assignments."""
    chance = np.zeros(ranks.sum() + 1)
    chance[0] = 1.0
    reached = 0
    for rank in np.sort(ranks):
        # Both signs start from the same chances, so the old ones are kept until both are done.
        shifted = chance[: reached + 1].copy()
        chance[: reached + 1] *= 0.5
        chance[rank : rank + reached + 1] += 0.5 * shifted
        reached += rank
    # Summed from the outside in, so that a small tail keeps its digits.
    tail = min(chance[: statistic + 1].sum(), chance[statistic:][::-1].sum())
    return float(min(1.0, 2 * tail))


def _as_finite_vector(values: Any, name: str) -> Floats:
    values = read_numbers(name, values)
    if values.ndim != 1 or not values.size:
        raise ValueError(f"{name} has shape {values.shape}; expected (n,) with at least one entry.")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} holds NaN or infinite values; expected finite numbers.")
    return values
