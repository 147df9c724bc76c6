"""Local recalibration (LoRe): accuracy among calibration rows of similar confidence and similar representation.

Builds on `probabilities`, which says what the bins are and what counts as the confidence of a row.
"""

from __future__ import annotations

from numbers import Real

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics.pairwise import manhattan_distances

from clustcal.calibrators.base import CalibrationSet, Calibrator
from clustcal.core.array_types import Bins, Confidence, Floats, Integers, Matrix
from clustcal.core.parameters import check_one_of, shown
from clustcal.core.probabilities import (
    KINDS,
    Scores,
    assign_bins,
    check_bins,
    confidence_columns,
    find_edges,
    take_columns,
)

__all__ = ["LocalRecalibration"]

# Distances held at once: 32 MB, whatever the number of rows.
KERNEL_BLOCK = 2**22


class LocalRecalibration(Calibrator):
    r"""Local recalibration: a kernel estimate of the accuracy around every row, within its bin of confidence.

    .. math:: q(x) = \frac{\sum_{i \in B(x)} c_i \, k(x, x_i)}{\sum_{i \in B(x)} k(x, x_i)}, \qquad
        k(x, x') = \exp\Bigl(-\frac{\lVert z - z' \rVert_1}{m \, \gamma}\Bigr)

    with the calibration rows :math:`x_i` in the confidence bin of x, whether their most probable label was right,
    :math:`c_i`, the representations z and their dimension m.

    Parameters
    ----------
    bandwidth : float, default=0.2
        :math:`\gamma`, by default that of `clustcal.metrics.lce`, so that the method and its yardstick know the same
        neighbours. It is a length per column of Z, so bring the columns to a common scale first. As it grows, q
        becomes the accuracy in the bin; towards 0, that of the nearest row. Choose it by validation: the value
        depends on the representation, and the reference works on features reduced to few dimensions.
    n_bins : int, "auto" or array-like of edges, default=15
        Bins of equal width, or bins of your own; see ``clustcal.core.probabilities.bin_edges``.
    kind : {"top-label", "positive"}, default="top-label"
        What is recalibrated: the probability of the most probable label, as in the reference and for any number of
        classes, or the probability of the second of two classes (:math:`c_i` then says whether it occurred).
    classes : array-like of shape (L,), optional
        The label of each column of P; by default the sorted labels.

    Attributes
    ----------
    classes_ : ndarray of shape (L,)
    edges_ : ndarray of shape (n_bins + 1,)
    Z_ : ndarray or sparse matrix of shape (n, m)
        The calibration rows, bin after bin.
    hits_, weights_ : ndarray of shape (n,)
        c and the sample weight of these rows.
    offsets_ : ndarray of shape (n_bins + 1,)
        Bin b holds the rows ``offsets_[b]`` to ``offsets_[b + 1]``.

    Notes
    -----
    What q leaves of the probability goes to the other classes in proportion to what the classifier gave them, and
    evenly if it gave them nothing. For two classes that is the other class. The label changes where q is so low
    that another class gets more.

    Rows in a bin that is empty in the calibration set keep their probabilities. Where all neighbours agree q is
    exactly 0 or 1; the log-loss of a test set then depends on how these are clipped.

    A prediction looks at all calibration rows of its bin: time grows with the product of both numbers of rows,
    memory only with their sum.

    The paper reports LoRe on tabular data and does not say on which representation.

    References
    ----------
    R. Luo et al., "Local calibration: metrics and recalibration", UAI 2022.

    Examples
    --------
    Two regions with the same scores; the classifier is right in one of them, and half of the time in the other:

    >>> import numpy as np
    >>> from clustcal import LocalRecalibration
    >>> p, y, Z = np.full(8, 0.75), [1, 1, 1, 1, 0, 1, 0, 1], np.repeat([[0.0], [9.0]], 4, axis=0)
    >>> LocalRecalibration().fit(p, y, Z).predict_proba([0.75, 0.75], [[0.0], [9.0]]).round(3)
    array([[0. , 1. ],
           [0.5, 0.5]])
    """

    needs_representation = True

    def __init__(
        self,
        bandwidth: float = 0.2,
        n_bins: Bins = 15,
        kind: Confidence = "top-label",
        classes: ArrayLike | None = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.n_bins = n_bins
        self.kind = kind
        self.classes = classes

    def _fit(self, data: CalibrationSet) -> None:
        P, weights = data.scores.P, data.weights
        columns = confidence_columns(P, self.kind)
        confidence = take_columns(P, columns)
        edges = find_edges(confidence, self.n_bins, weights=weights)
        bins = assign_bins(confidence, edges)
        order = np.argsort(bins, kind="stable")
        order = order[weights[order] > 0]
        # Keep the calibration rows, sorted by the bin of their confidence.
        self.edges_ = edges
        self.Z_, self.hits_, self.weights_ = data.Z[order], (data.codes == columns)[order].astype(float), weights[order]
        self.offsets_ = np.searchsorted(bins[order], np.arange(len(edges)))

    def _check_number_of_classes(self, n_classes: int) -> None:
        confidence_columns(np.empty((0, n_classes)), self.kind)

    def _check_parameters(self) -> None:
        check_one_of("kind", self.kind, KINDS)
        if not isinstance(self.bandwidth, Real) or not 0 < self.bandwidth < np.inf:
            raise ValueError(f"bandwidth is {shown(self.bandwidth)}; expected a positive number.")
        check_bins(self.n_bins)

    def _calibrate(self, scores: Scores, Z: Matrix) -> Floats:
        P = scores.P
        columns = confidence_columns(P, self.kind)
        q = take_columns(P, columns)
        bins = assign_bins(q, self.edges_)
        for b in np.unique(bins):
            near = slice(*self.offsets_[b : b + 2])
            if near.start < near.stop:
                rows = np.flatnonzero(bins == b)
                q[rows] = self._local_frequency(Z[rows], near)
        return _with_probability(P, columns, q)

    def _local_frequency(self, Z: Matrix, near: slice) -> Floats:
        """Kernel estimate of the frequency of hits around every row of Z, among the calibration rows ``near``."""
        Z_near, hits, weights = self.Z_[near], self.hits_[near], self.weights_[near]
        step = max(1, KERNEL_BLOCK // len(hits))
        q = np.empty(Z.shape[0])
        for start in range(0, len(q), step):
            distance = manhattan_distances(Z[start : start + step], Z_near)
            # The nearest row gets weight 1, which cancels in the ratio; so no sum of kernels is 0.
            distance -= distance.min(axis=1, keepdims=True)
            kernel = np.exp(distance * (-1 / (Z.shape[1] * self.bandwidth)))
            q[start : start + step] = (kernel @ (weights * hits)) / (kernel @ weights)
        return np.minimum(q, 1)


def _with_probability(P: Floats, columns: Integers, q: Floats) -> Floats:
    """P with the probability of one column of every row changed to q, the others in proportion."""
    Q = P.copy()
    np.put_along_axis(Q, columns[:, None], 0.0, axis=1)
    others = Q.sum(axis=1)
    none = others < np.finfo(float).tiny
    Q[none] = 1.0
    np.put_along_axis(Q, columns[:, None], 0.0, axis=1)
    Q *= ((1 - q) / np.where(none, P.shape[1] - 1, others))[:, None]
    np.put_along_axis(Q, columns[:, None], q[:, None], axis=1)
    return Q / Q.sum(axis=1, keepdims=True)  # only rounding is left to remove
