"""Multicalibration: calibration within groups, beside what chance alone would show in groups of their size."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.utils import Bunch

from clustcal.core.array_types import AnySeed, Bins, Booleans, Event, Floats, Integers, Strategy
from clustcal.core.parameters import check_level, check_one_of, check_whole_number, shown
from clustcal.core.probabilities import assign_bins, bin_edges
from clustcal.core.random_states import as_generator
from clustcal.metrics._inputs import forecast_event, read_forecast, weights_as_rows

__all__ = ["multicalibration_error"]

NORMS = ("l1", "l2")
# Outcomes that are drawn at once, whatever n: 32 MB.
DRAWS_AT_ONCE = 2**22


def multicalibration_error(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    groups: Any,
    *,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    pos_label: Hashable = None,
    n_bins: Bins = 10,
    strategy: Strategy = "quantile",
    norm: Literal["l1", "l2", "max"] = "l1",
    kind: Event = "auto",
    confidence_level: float = 0.95,
    n_draws: int = 500,
    random_state: AnySeed = 0,
) -> Bunch:
    """Calibration error within each of given groups, and the largest, with what chance alone gives.

    In group g, over the bins b of the forecast, which all groups share,

    .. math:: E_g = \\sum_b \\frac{n_{gb}}{n_g} \\, |A_{gb} - \\hat P_{gb}|, \\qquad E = \\max_g E_g

    (norm ``"l2"``: the root of the mean square). Small groups have large errors from noise alone. So outcomes are
    drawn from the forecasts, many times, and every error is computed from them: that is what a forecast shows which
    is calibrated in every group.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels of any type.
    y_prob : array-like of shape (n,), (n, 1) or (n, L)
        Probabilities. One column is the probability of ``pos_label``.
    groups : array-like of shape (n,) or (n, G), DataFrame, or mapping from names to masks of shape (n,)
        A label for each row (groups that do not overlap); or a column of True and False per group, which may overlap.
        Of a DataFrame (of pandas or polars), columns that are not boolean give one group per value, named
        ``"column=value"``. Rows without a value are in none of them.
    sample_weight : array-like of shape (n,), optional
        How much each row counts; apart from the column ``weight``, the scale does not matter.
    labels, pos_label, n_bins, strategy, kind
        As in `reliability_curve`, but with bins of equal weight by default, and ``"auto"`` bins by Kish's effective
        number of rows; not classwise.
    norm : {"l1", "l2"}, default="l1"
    confidence_level : float, default=0.95
        Of the limit that errors by chance stay below.
    n_draws : int, default=500
        No p-value is below 1 / (n_draws + 1).
    random_state : int, RandomState instance, Generator or None, default=0

    Returns
    -------
    result : Bunch
        ``error`` (the largest) and ``group`` (its name); ``chance`` and ``chance_high``, the mean and the limit of the
        largest error by chance; ``pvalue`` of the null that the forecast is calibrated in every group;
        ``confidence_level``; and ``table``, a DataFrame by group with ``weight``, ``observed`` and ``forecast``
        (means), ``error``, ``chance``, ``chance_high``, ``pvalue`` of the group by itself and ``pvalue_adjusted``
        for looking at all of them.

    Raises
    ------
    ValueError
        If the input is not as described, or a group has no row.

    Notes
    -----
    For ``pvalue`` the error of each group is first measured from its mean by chance in its standard deviations, so
    that large groups count though their errors are small; it is the share of draws whose largest such number, over
    all groups, is at least that of the data. Adjusted p-values compare each group's with the same largest ones (a
    single step of Westfall and Young), so that the chance of any false discovery stays at the level, also for groups
    that overlap. Both are exact for independent rows and a calibrated forecast, as draws and data are then alike.

    References
    ----------
    Hebert-Johnson, U., Kim, M. P., Reingold, O. and Rothblum, G. (2018). Multicalibration: calibration for the
    (computationally-identifiable) masses. ICML.

    Hansen, D., Devic, S., Nakkiran, P. and Sharan, V. (2024). When is multicalibration post-processing necessary?
    NeurIPS.

    Westfall, P. H. and Young, S. S. (1993). Resampling-based multiple testing. Wiley.

    Examples
    --------
    A forecast of 1/2 for all, of whom a third of 30 women and two thirds of 30 men have the event: right on average.

    >>> from clustcal.metrics import ece, multicalibration_error
    >>> y, sex = [1] * 10 + [0] * 20 + [1] * 20 + [0] * 10, ["f"] * 30 + ["m"] * 30
    >>> ece(y, [0.5] * 60)
    0.0
    >>> result = multicalibration_error(y, [0.5] * 60, sex)
    >>> result.table[["observed", "error", "chance", "chance_high"]].round(2)
       observed  error  chance  chance_high
    f      0.33   0.17    0.07         0.17
    m      0.67   0.17    0.07         0.17
    """
    check_one_of("norm", norm, NORMS)
    check_level("confidence_level", confidence_level)
    check_whole_number("n_draws", n_draws)
    rng = as_generator(random_state)
    forecast = read_forecast(y_true, y_prob, sample_weight, labels, pos_label)
    p, hit = forecast_event(forecast, kind)
    names, masks = _read_groups(groups, len(p))
    weights = forecast.weights / forecast.weights.sum()
    _check_members(names, masks, weights)
    edges = bin_edges(p, n_bins, strategy, weights_as_rows(forecast.weights))
    cells = _Cells(masks, assign_bins(p, edges), len(edges) - 1, weights)
    seen = cells.errors((hit - p)[:, None], norm)
    drawn = cells.errors_by_chance(p, norm, n_draws, rng)
    pvalues, adjusted = _pvalues(seen[0], drawn)
    largest, worst = drawn.max(axis=1), int(seen[0].argmax())
    table = pd.DataFrame(
        {
            "weight": cells.weight_of_groups * forecast.weights.sum(),
            "observed": cells.means(hit),
            "forecast": cells.means(p),
            "error": seen[0],
            "chance": drawn.mean(axis=0),
            "chance_high": np.quantile(drawn, confidence_level, axis=0),
            "pvalue": pvalues,
            "pvalue_adjusted": adjusted,
        },
        index=pd.Index(names),
    )
    return Bunch(
        error=float(seen[0, worst]),
        group=names[worst],
        chance=float(largest.mean()),
        chance_high=float(np.quantile(largest, confidence_level)),
        pvalue=float(adjusted.min()),
        confidence_level=confidence_level,
        table=table,
    )


class _Cells:
    """Sums over rows within each group and bin, as one sparse product: (rows) -> (groups * bins)."""

    def __init__(self, masks: Booleans, bins: Integers, n_bins: int, weights: Floats) -> None:
        self.n_groups, self.n_bins = masks.shape[1], n_bins
        rows, group = np.nonzero(masks)
        shape = (self.n_groups * n_bins, len(bins))
        self.membership = sparse.csr_matrix((weights[rows], (group * n_bins + bins[rows], rows)), shape=shape)
        self.weights = (self.membership @ np.ones(len(bins))).reshape(self.n_groups, n_bins)
        self.weight_of_groups = self.weights.sum(axis=1)

    def means(self, values: Floats) -> Floats:
        return (self.membership @ values).reshape(self.n_groups, -1).sum(axis=1) / self.weight_of_groups

    def errors(self, residuals: Floats, norm: str) -> Floats:
        """Error of every group for each column of residuals (n, m): shape (m, G)."""
        sums = (self.membership @ residuals).reshape(self.n_groups, self.n_bins, -1)
        if norm == "l1":
            return (np.abs(sums).sum(axis=1) / self.weight_of_groups[:, None]).T
        squares = np.divide(sums**2, self.weights[:, :, None], out=np.zeros_like(sums), where=sums != 0)
        return np.sqrt(squares.sum(axis=1) / self.weight_of_groups[:, None]).T

    def errors_by_chance(self, p: Floats, norm: str, n_draws: int, rng: np.random.Generator) -> Floats:
        step = max(1, DRAWS_AT_ONCE // len(p))
        return np.concatenate(
            [
                self.errors((rng.random((len(p), min(step, n_draws - start))) < p[:, None]) - p[:, None], norm)
                for start in range(0, n_draws, step)
            ]
        )


def _pvalues(seen: Floats, drawn: Floats) -> tuple[Floats, Floats]:
    """P-value of each group by itself and adjusted for all, each (G,)."""
    # The data are one of the draws under the null, so they take part in what all are measured by.
    everything = np.vstack([seen, drawn])
    # The allowance keeps rounding from telling equal errors apart.
    alone = (everything >= seen - 1e-12).mean(axis=0)
    spread = everything.std(axis=0)
    standard = np.divide(everything - everything.mean(axis=0), spread, np.zeros_like(everything), where=spread > 0)
    adjusted = (standard.max(axis=1)[:, None] >= standard[0] - 1e-9).mean(axis=0)
    return alone, np.maximum(adjusted, alone)


def _read_groups(groups: Any, n: int) -> tuple[list[str], Booleans]:
    """Names of the groups and their masks (n, G)."""
    if hasattr(groups, "columns"):  # a frame of pandas or polars
        named = [pair for name in groups.columns for pair in _groups_of_column(name, _as_series(groups[name]))]
    elif isinstance(groups, Mapping):
        named = [(name, _as_mask(mask, f"group {shown(name)}")) for name, mask in groups.items()]
    else:
        named = _groups_of_array(groups)
    if not named:
        raise ValueError("groups is empty; expected at least one group.")
    for name, mask in named:
        if len(mask) != n:
            raise ValueError(f"group {shown(name)} has {len(mask)} rows and y_prob has {n}; expected the same number.")
    return [name for name, _ in named], np.column_stack([mask for _, mask in named])


def _groups_of_array(groups: Any) -> list[tuple[Any, Booleans]]:
    try:
        n_dimensions = np.ndim(groups)
    except ValueError:
        raise ValueError("groups could not be read as an array; expected shape (n,) or (n, G).") from None
    if n_dimensions == 2:
        return [(k, _as_mask(column, "groups")) for k, column in enumerate(np.asarray(groups).T)]
    if n_dimensions == 1:
        return _groups_of_labels("groups", _as_series(groups))
    raise ValueError(f"groups has {n_dimensions} dimensions; expected shape (n,) or (n, G).")


def _groups_of_column(name: str, column: Any) -> list[tuple[Any, Booleans]]:
    if _is_boolean(column):
        return [(name, _as_mask(column, f"group {shown(name)}"))]
    labels = _groups_of_labels(f"groups[{name!r}]", column)
    return [(f"{name}={label}", mask) for label, mask in labels]


def _groups_of_labels(name: str, column: pd.Series) -> list[tuple[Any, Booleans]]:
    try:
        codes, labels = pd.factorize(column, sort=True)
    except TypeError:
        raise ValueError(
            f"{name} holds something that cannot be a label; expected numbers, text or booleans."
        ) from None
    return [(label, codes == k) for k, label in enumerate(labels.tolist())]


def _as_mask(values: Any, name: str) -> Booleans:
    column = _as_series(values) if np.ndim(values) == 1 else None
    if column is not None and _is_boolean(column):
        return (column.isin([True])).to_numpy(dtype=bool)
    if column is None or column.dtype == object or not column.isin([0, 1]).all():
        raise ValueError(f"{name} is no mask; expected True or False for every row, shape (n,).")
    return column.to_numpy().astype(bool)


def _as_series(values: Any) -> pd.Series:
    """A column of any library as one of pandas, in which missing values are known as such."""
    if isinstance(values, pd.Series):
        return values
    return pd.Series(values.to_list() if hasattr(values, "to_list") else values)


def _is_boolean(column: Any) -> bool:
    """Whether a column holds True and False alone, whatever its type; also with missing values among them."""
    return pd.api.types.is_bool_dtype(column) or pd.api.types.infer_dtype(column, skipna=True) == "boolean"


def _check_members(names: list[str], masks: Booleans, weights: Floats) -> None:
    empty = [name for name, weight in zip(names, weights @ masks, strict=True) if not weight > 0]
    if empty:
        raise ValueError(f"group {empty[0]!r} has no row with weight; expected at least one.")
