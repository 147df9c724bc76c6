"""Leaf coverage: which leaves of a fitted tree ensemble a row falls in, compressed to a dense vector."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import (
    GradientBoostingClassifier,
)
from sklearn.preprocessing import normalize
from sklearn.utils.validation import check_is_fitted, validate_data

from clustcal.core.array_types import AnySeed, Estimator, Floats, Inputs, Matrix
from clustcal.core.parameters import check_whole_number
from clustcal.core.random_states import as_random_state, check_random_state
from clustcal.representations.tree_models import (
    LEAF_MODELS,
    TreeRepresentation,
    boosting_rounds,
    catboost_threads,
    check_range,
    check_that_xgboost_has_trees,
    lightgbm_predict,
    package_of,
    xgboost_predict,
)


class LeafCoverage(ClassNamePrefixFeaturesOutMixin, TreeRepresentation):
    r"""Tree-coverage vectors: the leaves that a row falls in, weighted by TF-IDF and compressed by truncated SVD.

    With one indicator per leaf of the ensemble, a row of the matrix :math:`C` holds exactly one 1 per tree. Then

    .. math:: \tilde C = \mathrm{norm}_{\ell_2}\big(C \cdot \mathrm{diag}(\mathrm{idf})\big), \qquad
        \mathrm{idf}_j = \log \frac{n + 1}{\mathrm{df}_j + 1} + 1,

    where :math:`\mathrm{df}_j` counts the rows in leaf j, and truncated SVD turns :math:`\tilde C` into the dense
    embedding Z. Leaves, idf and SVD are those of the rows that `fit` is given: the calibration set.

    Parameters
    ----------
    model : fitted classifier
        A classifier of XGBoost (with trees), LightGBM or CatBoost, or scikit-learn's `RandomForestClassifier`,
        `ExtraTreesClassifier`, `GradientBoostingClassifier` or `DecisionTreeClassifier`; also a `Pipeline` that ends
        in one of them, or one of them in a `FrozenEstimator`. `HistGradientBoostingClassifier` has no public way
        to tell leaves. May be set later: ``LeafCoverage().set_params(model=model)``.
    n_components : int, default=256
        r, the length of the embedding. It is shorter where the calibration set has fewer rows, or the
        ensemble fewer leaves: `n_components_` tells.
    iteration_range : (int, int), optional
        Use only the boosting rounds, or the trees of a forest, from the first number up to the second. Left out: all,
        or up to the best round of a boosted model that stopped early.
    random_state : int, RandomState instance, Generator or None, default=None
        Of the randomised SVD.

    Attributes
    ----------
    idf_ : ndarray of shape (n_leaves_,)
    n_leaves_ : int
        Leaves that the calibration set reaches.
    n_components_ : int
    svd_ : TruncatedSVD
    n_features_in_ : int

    See Also
    --------
    PathContributions : What each feature adds to the margin; a ridge was measured with both, with 64 components.
    ShapValues : The same as exact Shapley values.
    StagedMargins : What each stage of boosting adds to the margin.
    clustcal.RidgeCalibration : A linear map of such columns.
    clustcal.ClusteredCalibration : Clusters the embedding and calibrates in every cluster.

    Notes
    -----
    A new row may fall in a leaf that no calibration row reached. That leaf has no column and is left out, so such a
    row has fewer than T ones; the direction of its embedding is the one that a column of zeros would give.
    Indicators, TF-IDF and SVD are in single precision, which halves the time and changes the embedding by
    about 1e-6 of its size; the embedding that comes out is float64.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from clustcal.representations import LeafCoverage
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> forest = RandomForestClassifier(20, random_state=0).fit(X[:300], y[:300])
    >>> coverage = LeafCoverage(forest, n_components=8, random_state=0)
    >>> coverage.fit_transform(X[300:]).shape
    (269, 8)
    """

    whole_number = "n_components"

    def __init__(
        self,
        model: Estimator = None,
        n_components: int = 256,
        iteration_range: tuple[int, int] | None = None,
        random_state: AnySeed = None,
    ) -> None:
        self.model = model
        self.n_components = n_components
        self.iteration_range = iteration_range
        self.random_state = random_state

    def fit(self, X: Inputs, y: object = None) -> Self:
        """Learn the leaves, their idf and the SVD from the calibration set.

        Parameters
        ----------
        X : array-like or frame of shape (n, d)
            Rows as the model takes them.
        y : ignored

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If the model is not one of the trees above, has other features than X, or reaches a single leaf.
        NotFittedError
            If the model is not fitted.
        """
        self.fit_transform(X)
        return self

    def fit_transform(self, X: Inputs, y: object = None) -> Floats:
        """Fit and return the embedding Z of the same rows, shape ``(n, n_components_)``."""
        self._check_parameters()
        # A refit forgets the previous model's features, which `_read` would otherwise compare with.
        self.__dict__.pop("n_features_in_", None)
        trees, rows = self._read(X)
        leaves = _leaves(trees, rows, self.iteration_range)
        self._fit_leaves(leaves)
        weighted = self._weighted(self._indicators(leaves))
        svd = TruncatedSVD(self.n_components_, random_state=as_random_state(self.random_state))
        self.svd_ = svd.set_output(transform="default")  # arrays, whatever scikit-learn is set to
        Z = self.svd_.fit_transform(weighted)
        self.n_features_in_ = np.shape(X)[1]
        return Z.astype(np.float64)

    def transform(self, X: Inputs) -> Floats:
        """Return the embedding Z of new rows, shape ``(n, n_components_)``, float64."""
        weighted = self._weighted(self.one_hot(X))
        return self.svd_.transform(weighted).astype(np.float64)

    def one_hot(self, X: Inputs) -> Any:
        """Return the indicators C as a CSR matrix of shape ``(n, n_leaves_)``.

        Every row of the calibration set has exactly T ones, one per tree.
        """
        return self._indicators(self.leaves(X))

    def leaves(self, X: Inputs) -> NDArray[Any]:
        """Return the number of the leaf that each row falls in, for every tree, shape (n, T)."""
        check_is_fitted(self)
        trees, X = self._read(X)
        return _leaves(trees, X, self.iteration_range)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def _check_parameters(self) -> None:
        check_whole_number("n_components", self.n_components)
        check_random_state(self.random_state)

    def _check_kind(self, trees: Estimator, n_classes: int, X: Inputs) -> None:
        self._check_parameters()
        _check_that_leaves_can_be_told(trees)

    def _fit_leaves(self, leaves: NDArray[Any]) -> None:
        """Give every leaf that occurs a column, and its idf."""
        n = len(leaves)
        # Leaf numbers restart in every tree, so tree t owns the keys from starts[t] to starts[t + 1].
        starts = np.concatenate([[0], np.cumsum(leaves.max(axis=0) + 1)])
        df = np.bincount((leaves + starts[:-1]).ravel(), minlength=starts[-1])
        occurs = df > 0
        if occurs.sum() < 2:
            raise ValueError("The trees of model send all rows of X to one leaf; expected at least two leaves.")
        self._starts = starts
        self._column = np.where(occurs, np.cumsum(occurs) - 1, -1)
        self.idf_ = np.log((n + 1) / (df[occurs] + 1)) + 1
        self.n_leaves_ = len(self.idf_)
        self.n_components_ = min(self.n_components, n, self.n_leaves_)

    def _indicators(self, leaves: NDArray[Any]) -> Matrix:
        keys = leaves + self._starts[:-1]
        known = keys < self._starts[1:]
        columns = np.where(known, self._column[np.where(known, keys, 0)], -1)
        known = columns >= 0
        row_ends = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
        ones = np.ones(row_ends[-1], dtype=np.float32)
        return sparse.csr_matrix((ones, columns[known], row_ends), shape=(len(leaves), self.n_leaves_))

    def _weighted(self, indicators: Matrix) -> Matrix:
        """Apply idf and scale rows to unit length."""
        weights = self.idf_.astype(np.float32)[indicators.indices]
        weighted = sparse.csr_matrix((weights, indicators.indices, indicators.indptr), shape=indicators.shape)
        return normalize(weighted, copy=False)


def _leaves(trees: Estimator, X: Inputs, iteration_range: tuple[int, int] | None) -> NDArray[Any]:
    """Return leaf numbers of shape (n, T)."""
    _check_that_leaves_can_be_told(trees)
    leaves = LEAVES[package_of(trees)](trees, X, iteration_range)
    return np.asarray(leaves).reshape(len(leaves), -1).astype(np.int64)


def _check_that_leaves_can_be_told(trees: Estimator) -> None:
    if package_of(trees) is None and not isinstance(trees, LEAF_MODELS):
        raise ValueError(
            f"model is a {type(trees).__name__}, which has no public way to tell leaves; expected a classifier of "
            f"XGBoost, LightGBM or CatBoost, or one of {[known.__name__ for known in LEAF_MODELS]}."
        )
    if package_of(trees) == "xgboost":
        check_that_xgboost_has_trees(trees)


def _leaves_of_scikit_learn(trees: Estimator, X: Inputs, iteration_range: tuple[int, int] | None) -> NDArray[Any]:
    if isinstance(trees, GradientBoostingClassifier):
        # Its `apply` hands the rows on to its trees as they are, and these know no names of features.
        X = validate_data(trees, X, reset=False, dtype=np.float32, accept_sparse="csr")
    leaves = trees.apply(X)
    leaves = leaves[:, None] if leaves.ndim == 1 else leaves
    start, end = check_range(iteration_range, leaves.shape[1])
    return leaves[:, start:end]


def _leaves_of_catboost(trees: Estimator, X: Inputs, iteration_range: tuple[int, int] | None) -> NDArray[Any]:
    start, end = boosting_rounds(trees, iteration_range)
    return trees.calc_leaf_indexes(X, ntree_start=start, ntree_end=end, thread_count=catboost_threads(trees))


# How each package of trees is asked for the leaves of rows.
LEAVES = {
    "xgboost": lambda trees, X, rounds: xgboost_predict(trees, X, rounds, pred_leaf=True),
    "lightgbm": lambda trees, X, rounds: lightgbm_predict(trees, X, rounds, pred_leaf=True),
    "catboost": _leaves_of_catboost,
    None: _leaves_of_scikit_learn,
}
