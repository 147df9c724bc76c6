"""Soft K-means: clusters of the directions of a representation, and soft memberships in them."""

from __future__ import annotations

import warnings
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from clustcal.core.array_types import AnySeed, Booleans, Floats, Matrix, Membership, Representation
from clustcal.core.parameters import (
    check_at_least_0,
    check_one_of,
    check_true_or_false,
    check_whole_number,
    shown,
)
from clustcal.core.probabilities import as_representation, as_weights
from clustcal.core.random_states import as_random_state, check_random_state
from clustcal.core.user_warnings import warn_user

__all__ = ["SoftKMeans"]

# Squared distance of two directions from their cosine, for each name of a membership.
SQUARED_DISTANCES = {
    "cosine": lambda cosine: (1 - cosine) ** 2,
    "chord": lambda cosine: 2 * (1 - cosine),
}
# Coordinates of unit vectors that agree to so many digits are the same.
DIGITS = 12
# Above this number of rows K-means starts from a part of them, of about the second number; all rows then move the
# centroids at most so many times. On noise without clusters, the hardest case, the inertia is within 0.5 % of what ten
# starts on all rows find.
MANY_ROWS = 50_000
SAMPLE = 20_000
REFINEMENTS = 10
HASH_BLOCK = 2**16
# K-means uses one thread for fewer numbers than this.
THREADS_FROM = 10_000_000


class SoftKMeans(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    r"""K-means on the directions of a representation, and soft memberships in its clusters.

    Rows are scaled to unit length, K-means finds centroids :math:`\mu_k` (the same ones for rows in any order and,
    up to 50,000 of them, for weighted and repeated rows; above that it starts from a part of dense rows), and

    .. math:: w_k(x) = \frac{\exp(-d^2(\phi(x), \mu_k) / \tau)}{\sum_j \exp(-d^2(\phi(x), \mu_j) / \tau)}.

    With ``normalize=False`` K-means works on the rows as they are, so that their length counts too; memberships are
    still those of the directions.

    Parameters
    ----------
    n_clusters : int, default=4
        K.
    membership : {"cosine", "chord"}, default="cosine"
        The "squared cosine distance" :math:`d^2`, which the paper does not spell out: ``"cosine"`` is
        :math:`(1 - \cos)^2`; ``"chord"`` is :math:`2 (1 - \cos)`, the squared Euclidean distance of the unit vectors.
    temperature : float, default=1.0
        :math:`\tau`; the paper's formula has 1. Distances of directions are at most 4, so at 1 memberships
        are nearly uniform; towards 0 they become hard. 0 is allowed and gives hard memberships.
    n_init : int, default=10
        How many times K-means starts anew; the best result is kept.
    random_state : int, RandomState instance, Generator or None, default=None
    normalize : bool, default=True
        Whether rows are scaled to unit length before K-means, as in Algorithm 1.

    Attributes
    ----------
    centroids_ : ndarray of shape (K, m)
        Cluster centres, in the space of unit vectors unless ``normalize`` is False.
    n_iter_ : int
        Iterations of K-means.

    Examples
    --------
    >>> import numpy as np
    >>> from clustcal import SoftKMeans
    >>> Z = np.array([[1.0, 0.0], [2.0, 0.1], [0.0, 1.0], [0.1, 3.0]])
    >>> SoftKMeans(n_clusters=2, temperature=0.1, random_state=0).fit_transform(Z).max(axis=1).round(2)
    array([1., 1., 1., 1.])
    """

    def __init__(
        self,
        n_clusters: int = 4,
        membership: Membership = "cosine",
        temperature: float = 1.0,
        n_init: int = 10,
        random_state: AnySeed = None,
        normalize: bool = True,
    ) -> None:
        self.n_clusters = n_clusters
        self.membership = membership
        self.temperature = temperature
        self.n_init = n_init
        self.random_state = random_state
        self.normalize = normalize

    def fit(self, Z: Representation, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Find the centroids.

        Parameters
        ----------
        Z : array-like or sparse matrix of shape (n, m)
        y : ignored
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        self
        """
        rows = as_representation(Z)
        self.check_parameters()
        self.check_number_of_rows(rows.shape[0])
        return self._fit(rows, as_weights(sample_weight, rows.shape[0]))

    def _fit(self, Z: Matrix, weights: Floats) -> Self:
        """Find the centroids of a representation that is in canonical form."""
        rows = normalize(Z) if self.normalize else Z
        if not weights.all():
            rows, weights = rows[weights > 0], weights[weights > 0]
        some = _sampled(rows) if rows.shape[0] > MANY_ROWS and not sparse.issparse(rows) else None
        if some is not None:
            return self._fit_to_many(rows, weights, some)
        rows, weights = distinct_rows(rows, weights)
        few = _few_directions(rows, self.n_clusters)
        if few is not None:
            return self._keep(few)
        kmeans = KMeans(self.n_clusters, n_init=self.n_init, random_state=as_random_state(self.random_state))
        # Small problems run ten times slower with threads where other processes keep the cores busy.
        with threadpool_limits(1 if Z.shape[0] * Z.shape[1] < THREADS_FROM else None):
            kmeans.fit(rows, sample_weight=weights)
        self.centroids_ = kmeans.cluster_centers_
        self.n_iter_ = kmeans.n_iter_
        return self

    def _fit_to_many(self, rows: Floats, weights: Floats, some: Booleans) -> Self:
        """Find the centroids on some rows, and let all rows move them once."""
        found = SoftKMeans(self.n_clusters, n_init=self.n_init, random_state=self.random_state, normalize=False)
        found._fit(rows[some], weights[some])
        # K-means centres a copy of the rows. Rows scaled to unit length are a copy already, and one is enough.
        copy_x = not self.normalize
        kmeans = KMeans(self.n_clusters, init=found.centroids_, n_init=1, max_iter=REFINEMENTS, copy_x=copy_x)
        with threadpool_limits(1 if rows.size < THREADS_FROM else None), warnings.catch_warnings():
            # Fewer directions than clusters were spoken of above; and the refinement may stop before the last digit.
            warnings.simplefilter("ignore", ConvergenceWarning)
            kmeans.fit(rows, sample_weight=weights)
        self.centroids_ = kmeans.cluster_centers_
        self.n_iter_ = found.n_iter_ + kmeans.n_iter_
        return self

    def _keep(self, rows: Floats) -> Self:
        """Take the rows themselves for centroids where they are fewer than these; some stand twice."""
        warn_user(
            f"n_clusters is {self.n_clusters} and the representation has only {rows.shape[0]} different directions; "
            "some clusters are the same.",
            ConvergenceWarning,
        )
        self.centroids_ = rows[np.arange(self.n_clusters) % len(rows)]
        self.n_iter_ = 0
        return self

    def transform(self, Z: Representation) -> Floats:
        """Return the memberships W of every row, shape (n, K); rows sum to 1."""
        check_is_fitted(self)
        return self._memberships(as_representation(Z, n_features=self.centroids_.shape[1]))

    @property
    def _n_features_out(self) -> int:
        return len(self.centroids_)

    def _memberships(self, Z: Matrix) -> Floats:
        """Return the memberships of rows that are in canonical form."""
        return soft_memberships(squared_distances(normalize(Z), self.centroids_, self.membership), self.temperature)

    def check_parameters(self) -> None:
        """Raise a ValueError if a parameter cannot serve."""
        check_whole_number("n_clusters", self.n_clusters)
        check_one_of("membership", self.membership, SQUARED_DISTANCES)
        check_at_least_0("temperature", self.temperature)
        check_whole_number("n_init", self.n_init)
        check_random_state(self.random_state)
        check_true_or_false("normalize", self.normalize)

    def check_number_of_rows(self, n: int, which: str = "rows") -> None:
        """Raise a ValueError if n rows cannot be parted into so many clusters; ``which`` says which rows these are."""
        if self.n_clusters > n:
            raise ValueError(
                f"n_clusters is {shown(self.n_clusters)}; expected a whole number from 1 to {n}, the number of {which}."
            )


def distinct_rows(Z: Matrix, weights: Floats) -> tuple[Matrix, Floats]:
    """Return the different rows of positive weight, in the order of their numbers, and their weights.

    K-means draws its first centroids by their place, so without this it would tell a row of weight 2 from two rows.
    """
    if sparse.issparse(Z):
        _, first, copy_of = np.unique(_sort_keys(Z), return_index=True, return_inverse=True)
    else:
        _, first, copy_of = np.unique(Z, axis=0, return_index=True, return_inverse=True)
    weights = cast(Floats, np.bincount(copy_of, weights=weights))
    return Z[first[weights > 0]], weights[weights > 0]


def _sampled(rows: Floats) -> Booleans | None:
    """Return which rows to start from, shape (n,), bool, about SAMPLE of them; None where too few of these differ.

    The numbers in a row decide whether it is taken, so that neither order nor repetition matters.
    """
    random = np.random.default_rng(0)
    odd = random.integers(2**63, size=rows.shape[1], dtype=np.uint64) * np.uint64(2) + np.uint64(1)
    key = np.empty(len(rows), dtype=np.uint64)
    for start in range(0, len(rows), HASH_BLOCK):
        bits = (rows[start : start + HASH_BLOCK] + 0.0).view(np.uint64)  # 0 added, as -0 is the same number as 0
        bits ^= bits >> np.uint64(29)  # round numbers differ in their first bits only
        key[start : start + HASH_BLOCK] = (bits * odd).sum(axis=1)
    key ^= key >> np.uint64(32)
    key *= np.uint64(0x9E3779B97F4A7C15)
    chosen = key < np.uint64(2**64 - 1) // np.uint64(max(1, len(rows) // SAMPLE))
    return chosen if len(np.unique(key[chosen])) > SAMPLE // 2 and chosen.sum() <= MANY_ROWS else None


def _few_directions(rows: Matrix, n_clusters: int) -> Floats | None:
    """Return the rows that differ by more than rounding if they are fewer than the clusters, else None.

    Copies of a row that are scaled differ in their last digits when they are brought to unit length.
    """
    dense = lambda A: A.toarray() if sparse.issparse(A) else A
    scale = max(abs(rows).max(), np.finfo(float).tiny)
    rounded = lambda A: (A / scale).round(DIGITS) + 0.0  # 0 added, as -0 would be another number than 0
    if len(np.unique(rounded(dense(rows[: 50 * n_clusters])), axis=0)) >= n_clusters:
        return None
    rows = dense(rows)
    _, first = np.unique(rounded(rows), axis=0, return_index=True)
    return rows[first] if len(first) < n_clusters else None


def _sort_keys(Z: Matrix) -> NDArray[Any]:
    """Return for every sparse row bytes that are in the order of the rows, as numbers, and equal where these are."""
    Z.sum_duplicates()
    Z.eliminate_zeros()
    # Where one row has an entry and another none, the entry decides by its sign: 0 and 2, and 1 for the end of a row.
    negative = Z.data < 0
    bits = Z.data.view(np.uint64)
    entries = np.empty(Z.nnz, dtype=[("sign", "u1"), ("place", ">i8"), ("value", ">u8")])
    entries["sign"] = np.where(negative, 0, 2)
    entries["place"] = np.where(negative, Z.indices, Z.shape[1] - Z.indices)
    entries["value"] = np.where(negative, ~bits, bits)
    ends = zip(Z.indptr[:-1], Z.indptr[1:], strict=True)
    return np.array([entries[start:end].tobytes() + b"\1" for start, end in ends], dtype=object)


def squared_distances(unit_rows: Matrix, centroids: Floats, membership: str) -> Floats:
    """Return the squared distance of every row of unit length from every centroid, shape (n, K)."""
    return SQUARED_DISTANCES[membership](unit_rows @ normalize(centroids).T)


def soft_memberships(squared_distance: Floats, temperature: float) -> Floats:
    """Turn squared distances (n, K) into memberships (n, K)."""
    # Distances beyond the nearest, so that a temperature of 0 or close to it leaves the nearest alone.
    beyond = squared_distance - squared_distance.min(axis=1, keepdims=True)
    return softmax(-beyond / max(temperature, 1e-300), axis=1)
