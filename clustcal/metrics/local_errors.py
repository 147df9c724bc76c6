"""Local calibration error (Luo et al. 2022): calibration among similar rows with similar confidence.

The kernel depends on the representation alone and the bins on each method's own confidences, so one pass
over the kernel, a chunk of rows at a time, serves any number of methods.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import sparse
from sklearn.metrics.pairwise import manhattan_distances

from clustcal.core.array_types import Bins, Event, Floats, Integers, Matrix, Representation, Strategy
from clustcal.core.parameters import check_above_0
from clustcal.core.probabilities import as_representation, assign_bins, bin_edges
from clustcal.metrics._inputs import forecast_event, read_forecast

__all__ = ["lce", "local_calibration_errors", "mlce"]

# Entries of the kernel held at once, whatever n: 4 MB, which the cache of a processor can hold.
KERNEL_BLOCK = 2**19


def local_calibration_errors(
    y_true: ArrayLike,
    y_prob: ArrayLike | Mapping[str, ArrayLike],
    Z: Representation,
    *,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    pos_label: Hashable = None,
    n_bins: Bins = 15,
    strategy: Strategy = "uniform",
    kind: Event = "top-label",
    bandwidth: float = 0.2,
) -> Any:
    """Local calibration error of every row.

    .. math::

        \\mathrm{LCE}(x) = \\frac{\\bigl|\\sum_{i \\in B(x)} (\\hat p_i - c_i) \\, k(x, x_i)\\bigr|}
        {\\sum_{i \\in B(x)} k(x, x_i)}, \\qquad
        k(x, x') = \\exp\\Bigl(-\\frac{\\lVert z - z' \\rVert_1}{d \\, \\gamma}\\Bigr)

    with confidence :math:`\\hat p` and correctness c of the rows in the same confidence bin as x, their
    representations z and its dimension d. A row is among its own neighbours.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels of any type.
    y_prob : array-like of shape (n,), (n, 1) or (n, L), or a mapping from names to such arrays
        Probabilities of one method, or of several that are to share one pass over the kernel.
    Z : array-like or sparse matrix of shape (n, d)
        Representation of the rows, used as it is: bring columns to a common scale first.
    sample_weight, labels, pos_label
        As in `reliability_curve`.
    n_bins : int, "auto" or array-like of edges, default=15
    strategy : {"uniform", "quantile"}, default="uniform"
    kind : {"top-label", "positive", "auto"}, default="top-label"
        Which probability is the confidence: see `reliability_curve`.
    bandwidth : float, default=0.2
        Of the kernel, :math:`\\gamma`. As it grows all rows of a bin become neighbours and each error becomes the gap
        of its bin; as it falls to 0 every row stands alone, with error ``|p - c|``.

    Returns
    -------
    errors : ndarray of shape (n,), or dict of such arrays
        In the form of ``y_prob``.

    Raises
    ------
    ValueError
        If the input is not as described.

    Notes
    -----
    Time grows with n^2 d, memory with n: the kernel is never held as a whole.

    References
    ----------
    Luo, R. et al. (2022). Local calibration: metrics and recalibration. UAI.

    Examples
    --------
    Two regions, far apart, whose errors cancel in the bin that they share but not in either region:

    >>> import numpy as np
    >>> from clustcal.metrics import ece, local_calibration_errors
    >>> y, p = np.array([1, 1, 0, 1]), np.full(4, 0.75)
    >>> Z = np.array([[0.0], [0.0], [99.0], [99.0]])
    >>> ece(y, p)
    0.0
    >>> local_calibration_errors(y, p, Z)
    array([0.25, 0.25, 0.25, 0.25])
    """
    check_above_0("bandwidth", bandwidth)
    several = isinstance(y_prob, Mapping)
    methods: Any = y_prob if several else {"": y_prob}
    if not methods:
        raise ValueError("y_prob is an empty mapping; expected the probabilities of at least one method.")
    binned = []
    for P in methods.values():
        forecast = read_forecast(y_true, P, sample_weight, labels, pos_label)
        confidence, correct = forecast_event(forecast, kind)
        bins = assign_bins(confidence, bin_edges(confidence, n_bins, strategy, forecast.weights))
        binned.append((bins, forecast.weights * (confidence - correct), forecast.weights))
    Z = as_representation(Z, len(forecast.P))
    errors = _kernel_pass(Z, bandwidth, binned)
    return dict(zip(methods, errors, strict=True)) if several else errors[0]


def lce(
    y_true: ArrayLike,
    y_prob: ArrayLike | Mapping[str, ArrayLike],
    Z: Representation,
    *,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    pos_label: Hashable = None,
    n_bins: Bins = 15,
    strategy: Strategy = "uniform",
    kind: Event = "top-label",
    bandwidth: float = 0.2,
) -> Any:
    """Mean over rows of the local calibration error. For lce and mlce from one pass, see the example.

    Parameters
    ----------
    y_true, y_prob, Z, sample_weight, labels, pos_label, n_bins, strategy, kind, bandwidth
        As in `local_calibration_errors`.

    Returns
    -------
    float, or dict of floats
        In the form of ``y_prob``; between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from clustcal.metrics import lce, local_calibration_errors
    >>> y, Z = np.array([1, 1, 0, 1]), np.array([[0.0], [0.0], [9.0], [9.0]])
    >>> methods = {"global": np.full(4, 0.75), "local": np.array([1.0, 1.0, 0.5, 0.5])}
    >>> {name: round(value, 4) for name, value in lce(y, methods, Z).items()}
    {'global': 0.25, 'local': 0.0}
    >>> errors = local_calibration_errors(y, methods, Z)     # one pass, then as many summaries as wanted
    >>> float(errors["local"].mean()), float(errors["local"].max())
    (0.0, 0.0)
    """
    errors = local_calibration_errors(
        y_true,
        y_prob,
        Z,
        sample_weight=sample_weight,
        labels=labels,
        pos_label=pos_label,
        n_bins=n_bins,
        strategy=strategy,
        kind=kind,
        bandwidth=bandwidth,
    )
    weights = None if sample_weight is None else np.asarray(sample_weight)
    return _summary(errors, lambda e: float(np.average(e, weights=weights)))


def mlce(
    y_true: ArrayLike,
    y_prob: ArrayLike | Mapping[str, ArrayLike],
    Z: Representation,
    *,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    pos_label: Hashable = None,
    n_bins: Bins = 15,
    strategy: Strategy = "uniform",
    kind: Event = "top-label",
    bandwidth: float = 0.2,
) -> Any:
    """Largest local calibration error of any row (of positive weight).

    Parameters
    ----------
    y_true, y_prob, Z, sample_weight, labels, pos_label, n_bins, strategy, kind, bandwidth
        As in `local_calibration_errors`.

    Returns
    -------
    float, or dict of floats
        In the form of ``y_prob``; between 0 and 1.

    Notes
    -----
    One row that stands alone decides it, and it moves much with ``bandwidth``. The paper's column "LCE" (0.54 to
    0.75) can only be of this kind: `lce` stays, for every kernel, near or below the mean absolute difference
    between confidence and correctness, which is several times smaller there. On Adult and Stroke, ``bandwidth``
    near 0.2 on standardised columns gives values of that size.

    Examples
    --------
    >>> import numpy as np
    >>> from clustcal.metrics import mlce
    >>> round(mlce([1, 1, 0, 1], np.full(4, 0.75), np.array([[0.0], [0.0], [0.0], [99.0]])), 4)
    0.25
    """
    errors = local_calibration_errors(
        y_true,
        y_prob,
        Z,
        sample_weight=sample_weight,
        labels=labels,
        pos_label=pos_label,
        n_bins=n_bins,
        strategy=strategy,
        kind=kind,
        bandwidth=bandwidth,
    )
    counted = slice(None) if sample_weight is None else np.asarray(sample_weight) > 0
    return _summary(errors, lambda e: float(e[counted].max()))


def _summary(errors: Any, summarise: Callable[[Floats], Any]) -> Any:
    if isinstance(errors, dict):
        return {name: summarise(values) for name, values in errors.items()}
    return summarise(errors)


def _kernel_pass(Z: Matrix, bandwidth: float, binned: list[tuple[Integers, Floats, Floats]]) -> list[Floats]:
    """Local errors (n,) of every (bins, residuals, weights) in ``binned``, from one pass over the kernel.

    With S, the sparse matrix that holds each row's residual in the line of its bin, S @ K sums the residuals
    of every bin around every row at once; each row then reads the line of its own bin.
    """
    n, d = Z.shape
    sizes = [bins.max() + 1 for bins, _, _ in binned]
    lines = sparse.vstack(
        [
            sparse.csr_matrix((values, (bins, np.arange(n))), shape=(size, n))
            for size, (bins, *parts) in zip(sizes, binned, strict=True)
            for values in parts
        ],
        format="csr",
    )
    errors = np.empty((len(binned), n))
    step = max(1, KERNEL_BLOCK // n)
    for start in range(0, n, step):
        rows = np.arange(start, min(start + step, n))
        kernel = manhattan_distances(Z, Z[rows])
        kernel *= -1 / (d * bandwidth)
        np.exp(kernel, out=kernel)
        sums = lines @ kernel
        first = 0
        for method, (size, (bins, _, _)) in enumerate(zip(sizes, binned, strict=True)):
            own, here = first + bins[rows], rows - start
            residual, weight = sums[own, here], sums[own + size, here]
            errors[method, rows] = np.abs(np.divide(residual, weight, np.zeros(len(rows)), where=weight > 0))
            first += 2 * size
    return list(errors)
