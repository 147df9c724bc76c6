"""One canonical form for what enters the package: probabilities, logits, weights, representations.

Input is checked here, once, at the public door; behind it arrays are float64 and trusted. The one rule for
bins lives here too, so that calibrators, metrics and diagrams can never disagree about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import logit, softmax

from clustcal.core.array_types import Bins, Floats, Integers, Matrix, Strategy
from clustcal.core.parameters import check_one_of, shown

# log p and log(1 - p) are taken at the nearest float64 to 0 and 1 that has a logit, as scikit-learn does.
EPS = np.finfo(np.float64).eps
# Rows may miss 1 by this much (float32 and printed probabilities do); they are then renormalised. Rows of a type with
# fewer digits may miss it by this many of its rounding errors.
ROW_SUM_TOLERANCE = 1e-3
ROW_SUM_ULPS = 4
# Sums and differences of probabilities may pass 0 and 1 by this many rounding errors of their type; never by more than
# the second number, whatever the type.
RANGE_ULPS = 64
RANGE_TOLERANCE = 1e-5
# Squares of larger logits, and sums of them, would pass what float64 holds.
LARGEST_LOGIT = 1e100
# Below this a row's sum differs from 1 by float64 rounding alone.
ROUNDING = 1e-12

COMPLEX = (complex, np.complexfloating)

STRATEGIES = ("uniform", "quantile")
FEW_EDGES = 25

# What the confidence of a row may be.
KINDS = ("top-label", "positive")


def as_probabilities(P: ArrayLike, name: str = "P") -> Floats:
    """Bring class probabilities into the canonical form: float64, shape (n, L), rows that sum to 1.

    Parameters
    ----------
    P : array-like of shape (n,), (n, 1) or (n, L)
        One column is read as the probability of the second of two classes. Anything pandas, polars, numpy
        or torch holds is accepted; sums within 1e-3 of 1 are renormalised as rounding, and what is beyond 0 or 1 by
        no more than the rounding of a sum is taken as 0 or 1.
    name : str, default="P"
        What to call the argument in an error.

    Returns
    -------
    P : ndarray of shape (n, L), float64
        A new array, or the input itself where it was canonical already; never modified in place.

    Raises
    ------
    ValueError
        If P is empty, has the wrong number of dimensions, holds NaN, infinite values or values outside
        [0, 1], or has rows that do not sum to 1.

    Examples
    --------
    >>> as_probabilities([0.25, 1.0])
    array([[0.75, 0.25],
           [0.  , 1.  ]])
    """
    given, P = P, _as_float_array(P, name)
    if P.ndim not in (1, 2):
        raise ValueError(f"{name} has {P.ndim} dimensions; expected shape (n,) or (n, L).")
    if P.size == 0:
        raise ValueError(f"{name} is empty; expected at least one row of probabilities.")
    lowest, highest = P.min(), P.max()
    if not (lowest >= 0 and highest <= 1):  # so said, it holds for NaN as well
        _check_finite(P, name)
        allowance = min(RANGE_ULPS * _precision(given), RANGE_TOLERANCE)
        if lowest < -allowance or highest > 1 + allowance:
            wrong = lowest if lowest < -allowance else highest
            raise ValueError(
                f"{name} holds {float(wrong)!r}; expected probabilities between 0 and 1, not scores or logits."
            )
        P = P.clip(0, 1)
    if P.ndim == 1 or P.shape[1] == 1:
        p = P.reshape(-1)
        return np.column_stack([1 - p, p])
    return _with_unit_rows(P, given, name)


def as_logits(S: ArrayLike, name: str = "P") -> Floats:
    """Bring logits into the canonical form: float64, shape (n, L), such that softmax gives the probabilities.

    Parameters
    ----------
    S : array-like of shape (n,), (n, 1) or (n, L)
        One column is read as the log-odds of the second of two classes. Rows may be shifted by any constant.
    name : str, default="P"

    Raises
    ------
    ValueError
        If S is empty, has the wrong number of dimensions, or holds NaN, infinite values or any beyond 1e100.

    Examples
    --------
    >>> as_logits([0.5, -40.0])
    array([[  0. ,   0.5],
           [  0. , -40. ]])
    """
    S = _as_float_array(S, name)
    if S.ndim not in (1, 2):
        raise ValueError(f"{name} has {S.ndim} dimensions; expected logits of shape (n,) or (n, L).")
    if S.size == 0:
        raise ValueError(f"{name} is empty; expected at least one row of logits.")
    _check_finite(S, name)
    if max(S.max(), -S.min()) > LARGEST_LOGIT:
        raise ValueError(f"{name} holds {float(np.abs(S).max())!r}; expected logits of at most {LARGEST_LOGIT:g}.")
    if S.ndim == 1 or S.shape[1] == 1:
        s = S.reshape(-1)
        return np.column_stack([np.zeros_like(s), s])
    return S


@dataclass(frozen=True)
class Scores:
    """What a classifier said: probabilities P (n, L), and the logits (n, L) behind them where these were given."""

    P: Floats
    logits: Floats | None = None

    def features(self, family: Any) -> Floats:
        """Return the features of every row for a parametric family; from logits nothing is cut."""
        return family.features(self.P) if self.logits is None else family.features_of_logits(self.logits)

    def take(self, rows: Any = slice(None), columns: Any = slice(None)) -> Scores:
        """Return the scores of some rows, with the columns in some order."""
        pick = lambda A: A[rows][:, columns]
        return replace(self, P=pick(self.P), logits=None if self.logits is None else pick(self.logits))


def as_scores(P: ArrayLike, from_logits: bool = False, name: str = "P") -> Scores:
    """Return probabilities or logits of any accepted form as `Scores`."""
    if not from_logits:
        return Scores(as_probabilities(P, name))
    logits = as_logits(P, name)
    return Scores(softmax(logits, axis=1), logits)


def as_weights(sample_weight: ArrayLike | None, n: int) -> Floats:
    """Return sample weights as float64, shape (n,); ones where there are none.

    Raises
    ------
    ValueError
        If there are not n of them, if one is negative or not finite, or if all are 0.

    Examples
    --------
    >>> as_weights(None, 2)
    array([1., 1.])
    """
    if sample_weight is None:
        return np.ones(n)
    weights = _as_float_array(sample_weight, "sample_weight")
    if weights.shape != (n,):
        raise ValueError(f"sample_weight has shape {weights.shape}; expected ({n},), one weight per row.")
    _check_finite(weights, "sample_weight")
    if weights.min() < 0:
        raise ValueError(f"sample_weight holds {weights.min():.6g}; expected weights of at least 0.")
    if not weights.any():
        raise ValueError("sample_weight is zero everywhere; expected a positive total weight.")
    return weights


def as_counts(weights: Floats) -> Floats:
    r"""Return weights that count rows: as they are, unless they sum to less than their effective number of rows.

    Weights that were divided by their sum would pass for a single row, and all that a prior, a smallest bin or an added
    row weighs would outweigh the data. Such weights are relative, so they are scaled to their effective number (Kish),
    :math:`(\sum_i w_i)^2 / \sum_i w_i^2`, which is the number of rows if all are equal. No weights that are whole
    numbers sum to less.

    Examples
    --------
    >>> as_counts(np.array([0.25, 0.25, 0.25, 0.25]))
    array([1., 1., 1., 1.])
    >>> as_counts(np.array([2.0, 1.0, 0.0]))
    array([2., 1., 0.])
    """
    relative = weights / weights.max()
    effective = relative.sum() ** 2 / (relative @ relative)
    return weights if weights.sum() >= effective else relative * (effective / relative.sum())


def as_representation(Z: Any, n: int | None = None, n_features: int | None = None) -> Matrix:
    """Return a representation as float64, shape (n, m): a CSR matrix if it was sparse, else an array.

    Parameters
    ----------
    Z : array-like or sparse matrix of shape (n, m)
    n : int, optional
        The number of rows that is expected.
    n_features : int, optional
        The number of columns that is expected, if something was fitted already.

    Raises
    ------
    ValueError
        If Z is missing, not two-dimensional, empty, of another shape than expected, or not finite.
    """
    if Z is None:
        raise ValueError("Z is missing; expected a representation of shape (n, m) for every row of P.")
    if sparse.issparse(Z):
        if Z.dtype.kind == "c":
            raise ValueError("Z holds complex numbers; expected real ones.")
        Z = sparse.csr_matrix(Z, dtype=np.float64)
        values = Z.data
    else:
        Z = _as_float_array(Z, "Z")
        values = Z
    if Z.ndim != 2 or 0 in Z.shape:
        raise ValueError(f"Z has shape {Z.shape}; expected (n, m) with at least one row and one column.")
    if n is not None and Z.shape[0] != n:
        raise ValueError(f"Z has {Z.shape[0]} rows and P has {n}; expected one row of Z for every row of P.")
    if n_features is not None and Z.shape[1] != n_features:
        raise ValueError(f"Z has {Z.shape[1]} columns; expected {n_features}, as in fit.")
    _check_finite(values, "Z")
    return Z


def as_representations(
    Z: Any, n: int | None = None, n_features: int | None = None
) -> tuple[Matrix, tuple[int, ...] | None]:
    """Return one representation or a list of them as one matrix, and how many columns each has.

    Parameters
    ----------
    Z : array-like or sparse matrix of shape (n, m), or a list of these
        A list is one of representations where each of its elements has two dimensions, else one of rows.
    n, n_features : int, optional
        As in `as_representation`, for all columns together.

    Returns
    -------
    Z : ndarray of shape (n, m), or CSR matrix
    sizes : tuple of int, or None
        None where Z is no list of representations.

    Examples
    --------
    >>> as_representations([[[1.0], [2.0]], [[3.0, 4.0], [5.0, 6.0]]])
    (array([[1., 3., 4.],
           [2., 5., 6.]]), (1, 2))
    """
    if not are_several(Z):
        return as_representation(Z, n, n_features), None
    parts = [as_representation(part, n) for part in Z]
    rows = {part.shape[0] for part in parts}
    if len(rows) > 1:
        raise ValueError(f"Z has representations of {sorted(rows)} rows; expected the same number in each.")
    stacked = sparse.hstack(parts, "csr") if any(map(sparse.issparse, parts)) else np.hstack(parts)
    return as_representation(stacked, n, n_features), tuple(part.shape[1] for part in parts)


def are_several(Z: Any) -> bool:
    """Whether Z is a list of representations: of arrays, frames or matrices of two dimensions."""
    if not isinstance(Z, (list, tuple)) or not len(Z):
        return False
    return all(len(getattr(part, "shape", None) or np.shape(part)) == 2 for part in Z)


def check_same_length(n: int, **arrays: Any) -> None:
    """Raise a ValueError that names the first of ``arrays`` whose length is not n, the number of rows of P."""
    for name, array in arrays.items():
        if not hasattr(array, "__len__"):
            raise ValueError(f"{name} is {array!r}; expected one value for every row of P.")
        if len(array) != n:
            raise ValueError(f"{name} has {len(array)} rows and P has {n}; expected the same number.")


def log_probabilities(P: Floats) -> Floats:
    """Return log P, shape (n, L), with probabilities of exactly 0 taken as the smallest that has a logit."""
    return np.log(np.clip(P, EPS, 1 - EPS))


def logits(p: Floats) -> Floats:
    """Return log(p / (1 - p)) with p clipped as in `log_probabilities`."""
    return logit(np.clip(p, EPS, 1 - EPS))


def weighted_quantiles(Z: Floats, levels: Sequence[float], weights: Floats) -> Floats:
    """Return quantiles of every column: the smallest value with at least a share of the weight at or below it.

    Parameters
    ----------
    Z : ndarray of shape (n, m)
    levels : sequence of float
        Above 0, at most 1.
    weights : ndarray of shape (n,)

    Returns
    -------
    quantiles : ndarray of shape (len(levels), m)

    Examples
    --------
    >>> weighted_quantiles(np.array([[1.0], [2.0], [9.0]]), (0.5, 0.9), np.array([2.0, 1.0, 0.0]))
    array([[1.],
           [2.]])
    """
    at = np.asarray(levels) * (1 - 1e-12)  # rounding in the sum of the weights moves no quantile by a row
    if (weights == weights[0]).all():
        return np.sort(Z, axis=0)[np.ceil(at * len(Z)).astype(int) - 1]
    order = np.argsort(Z, axis=0)
    cumulative = np.cumsum(weights[order], axis=0)
    places = [(cumulative < level * cumulative[-1]).sum(axis=0) for level in at]
    return np.array([Z[order[place, column], column] for place in places for column in [np.arange(Z.shape[1])]])


def bin_edges(p: Any, n_bins: Bins, strategy: Strategy = "uniform", weights: Floats | None = None) -> Floats:
    """Edges of the bins over [0, 1] by the package's one rule.

    Bins are open on the left and closed on the right, (a, b], and the first also holds its left edge, so
    that 0 and 1 both lie in a bin. ``"uniform"`` makes ``n_bins`` bins of equal width. ``"quantile"`` makes
    bins of equal weight: an inner edge is the smallest score that has at least a share j / n_bins of the
    weight at or below it; equal scores are never separated, so there may be fewer than ``n_bins``.

    Parameters
    ----------
    p : ndarray of shape (n,)
        Scores in [0, 1]; not used by a whole number of ``"uniform"`` bins, nor by edges.
    n_bins : int, "auto" or array-like of shape (B + 1,)
        A number of bins; or ``"auto"``, the cube root of the total weight (of the number of rows, without
        weights), rounded up: the rate at which the squared bias and the variance of a histogram fall together;
        or the edges themselves, increasing from 0 to 1, whatever the strategy.
    strategy : {"uniform", "quantile"}, default="uniform"
    weights : ndarray of shape (n,), optional

    Returns
    -------
    edges : ndarray of shape (at most n_bins + 1,)
        Strictly increasing, from 0 to 1.

    Raises
    ------
    ValueError
        If ``n_bins`` or ``strategy`` is not as described.

    Examples
    --------
    >>> bin_edges(None, 5)
    array([0. , 0.2, 0.4, 0.6, 0.8, 1. ])
    >>> bin_edges(np.array([0.1, 0.2, 0.3, 0.9]), 2, "quantile")
    array([0. , 0.2, 1. ])
    >>> bin_edges(np.linspace(0, 1, 27), "auto")
    array([0.        , 0.33333333, 0.66666667, 1.        ])
    >>> bin_edges(None, [0, 0.001, 0.01, 1])
    array([0.   , 0.001, 0.01 , 1.   ])
    """
    check_bins(n_bins, strategy)
    return find_edges(p, n_bins, strategy, weights)


def check_bins(n_bins: Bins, strategy: Strategy = "uniform") -> None:
    """Raise a ValueError if `bin_edges` could not take the two."""
    check_one_of("strategy", strategy, STRATEGIES)
    if _are_edges(n_bins):
        _check_edges(n_bins)
    elif n_bins != "auto" and (not isinstance(n_bins, (int, np.integer)) or isinstance(n_bins, bool) or n_bins < 1):
        raise ValueError(
            f"n_bins is {shown(n_bins)}; expected a whole number of at least 1, 'auto', or edges from 0 to 1."
        )


def find_edges(p: Any, n_bins: Bins, strategy: Strategy = "uniform", weights: Floats | None = None) -> Floats:
    """Return the edges of `bin_edges` for arguments that `check_bins` has seen."""
    if _are_edges(n_bins):
        return np.asarray(n_bins, dtype=np.float64)
    n_bins = _number_of_bins(n_bins, p, weights)
    # j / n_bins is the float that is closest to the edge, which linspace does not always give.
    levels = np.arange(n_bins + 1) / n_bins
    if strategy == "uniform":
        return levels
    order = np.argsort(p, kind="stable")
    cumulative = np.cumsum(np.ones(len(p)) if weights is None else weights[order])
    # The allowance keeps rounding in the sum from moving an edge by a row.
    reached = np.searchsorted(cumulative, levels[1:-1] * cumulative[-1] * (1 - 1e-12))
    inner = p[order[reached]]
    return np.unique(np.concatenate([[0.0], inner[(inner > 0) & (inner < 1)], [1.0]]))


def assign_bins(p: Floats, edges: Floats) -> Integers:
    """Index of the bin of every score, by the rule of `bin_edges`: (a, b], and 0 belongs to the first.

    Examples
    --------
    >>> assign_bins(np.array([0.0, 0.2, 0.21, 1.0]), bin_edges(None, 5))
    array([0, 0, 1, 4])
    """
    if len(edges) > FEW_EDGES:
        return np.searchsorted(edges[1:-1], p, side="left")
    # For few edges it is faster to count the edges below each score than to search for its place.
    bins = np.zeros(np.shape(p), dtype=np.intp)
    for edge in edges[1:-1]:
        bins += p > edge
    return bins


def confidence_columns(P: Floats, kind: str) -> Integers:
    """Return for every row the column whose probability is its confidence, shape (n,), for one of KINDS.

    The most probable one for the kind ``"top-label"``, the second of two for ``"positive"``.
    """
    if kind == "top-label":
        return P.argmax(axis=1)
    if P.shape[1] != 2:
        raise ValueError(f"kind is 'positive' and P has {P.shape[1]} columns; expected 2, or the kind 'top-label'.")
    return np.ones(len(P), dtype=int)


def take_columns(P: Floats, columns: Integers) -> Floats:
    """Return the element of every row in its column, shape (n,)."""
    return np.take_along_axis(P, columns[:, None], axis=1)[:, 0]


def _are_edges(n_bins: Any) -> bool:
    return hasattr(n_bins, "__len__") and not isinstance(n_bins, str)


def _check_edges(edges: Any) -> None:
    try:
        found = np.asarray(edges, dtype=np.float64)
        valid = found.ndim == 1 and len(found) > 1 and found[0] == 0 and found[-1] == 1 and (np.diff(found) > 0).all()
    except (TypeError, ValueError):
        valid = False
    if not valid:
        raise ValueError(f"n_bins is {_shown(edges)}; expected edges that increase from 0 to 1.")


def _number_of_bins(n_bins: Any, p: Any, weights: Floats | None) -> int:
    if n_bins != "auto":
        return int(n_bins)
    total = len(p) if weights is None else weights.sum()
    # The allowance keeps rounding in the sum of the weights from adding a bin to a cube.
    return max(1, int(np.ceil(np.cbrt(total) * (1 - 1e-12))))


def _shown(values: Any) -> str:
    """A list as an error can show it: whole if it is short, else its beginning."""
    text = str(values.tolist() if isinstance(values, np.ndarray) else list(values))
    return text if len(text) <= 80 else text[:77] + "..."


def _as_float_array(values: Any, name: str) -> Floats:
    try:
        if not hasattr(values, "dtype") and not hasattr(values, "dtypes"):
            values = np.asarray(values)
        if not _is_complex(values):
            return _to_float(values)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} could not be read as an array of numbers.") from None
    raise ValueError(f"{name} holds complex numbers; expected real ones.")


def _to_float(values: Any) -> Floats:
    if hasattr(values, "iloc"):  # of pandas, where missing values of some types have no number
        return values.to_numpy(dtype=np.float64, na_value=np.nan)
    if hasattr(values, "detach"):  # of torch: numpy knows no bfloat16, and takes no tensor with a gradient
        values = values.detach().cpu().double()
    if isinstance(values, np.ma.MaskedArray):
        return np.ma.filled(values.astype(np.float64), np.nan)
    return np.asarray(values, dtype=np.float64)


def _is_complex(values: Any) -> bool:
    """Whether numbers are complex: numpy would read them as real ones, without their imaginary part."""
    if hasattr(values, "is_complex"):  # of torch
        return values.is_complex()
    if hasattr(values, "dtypes"):  # a frame, or a series of pandas
        return any(getattr(dtype, "kind", "") == "c" for dtype in np.array(values.dtypes, dtype=object).ravel())
    kind = getattr(values.dtype, "kind", "")
    return kind == "c" or (kind == "O" and any(isinstance(value, COMPLEX) for value in np.ravel(values)))


def _precision(values: Any) -> float:
    """Return the rounding error at 1 of the type in which values were given."""
    if hasattr(values, "detach"):
        import torch

        return torch.finfo(values.dtype).eps if values.dtype.is_floating_point else EPS
    dtype = np.asarray(values).dtype
    return np.finfo(dtype).eps if dtype.kind == "f" else EPS


def _check_finite(values: Floats, name: str) -> None:
    # One sum finds a NaN or an infinity without a mask as large as the input.
    if not np.isfinite(values.sum()) and not np.isfinite(values).all():
        found = "NaN" if np.isnan(values).any() else "infinite values"
        raise ValueError(f"{name} holds {found}; expected finite numbers.")


def _with_unit_rows(P: Floats, given: Any, name: str) -> Floats:
    sums = P @ np.ones(P.shape[1])  # much faster than a sum along the short axis
    if max(sums.max() - 1, 1 - sums.min()) <= ROUNDING:
        return P
    worst = np.argmax(np.abs(sums - 1))
    if abs(sums[worst] - 1) > max(ROW_SUM_TOLERANCE, ROW_SUM_ULPS * _precision(given)):
        raise ValueError(
            f"{name} has a row that sums to {sums[worst]:.6g} (row {worst}); expected rows that sum to 1 "
            "(divide each row by its sum if they were rounded to 16 bits)."
        )
    # Rows that are right already keep their last digits, and so stay on their side of the edge of a bin.
    sums[np.abs(sums - 1) <= ROUNDING] = 1.0
    return P / sums[:, None]
