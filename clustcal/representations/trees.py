"""Representations of a fitted tree ensemble: which leaves a row falls in, and what each feature adds to its score.

Both are transformers around one fitted model, fitted on the calibration set. Builds on scikit-learn; xgboost, shap
and woodelf are imported only where a model needs them.
"""

from importlib.util import find_spec
from numbers import Integral

import numpy as np
import pandas as pd
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import normalize
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted, validate_data

# scikit-learn's classifiers with a public `apply`; histogram boosting has none.
LEAF_MODELS = (RandomForestClassifier, ExtraTreesClassifier, GradientBoostingClassifier, DecisionTreeClassifier)
SHAP_MODELS = (*LEAF_MODELS, HistGradientBoostingClassifier)
SHAP_METHODS = ("auto", "xgboost", "woodelf", "shap")
# Measured on Adult: one row costs XGBoost as much as 1/1,700 (depth 10) to 1/2,900 (depth 4) of WOODELF's fixed cost.
WOODELF_MIN_ROWS = 2000
# Up to here WOODELF was measured against XGBoost; its tables grow with 2^depth.
WOODELF_MAX_DEPTH = 12


class _TreeRepresentation(TransformerMixin, BaseEstimator):
    """What both representations share: the fitted model that they describe, and the check of its rows."""

    def __sklearn_clone__(self):
        # A clone describes the same fitted model: cloning the model as well would leave it unfitted.
        return type(self)(**self.get_params(deep=False))

    def _read(self, X):
        """Return the fitted trees and the rows as the trees see them, after the steps of a pipeline before them."""
        steps, trees = _split_model(self.model)
        expected = getattr(self, "n_features_in_", getattr(self.model, "n_features_in_", None))
        X = _as_rows(X, expected)
        return trees, X if steps is None else steps.transform(X)


class LeafCoverage(ClassNamePrefixFeaturesOutMixin, _TreeRepresentation):
    r"""Tree-coverage vectors: the leaves that a row falls in, weighted by TF-IDF and compressed by truncated SVD.

    With one indicator per leaf of the ensemble, a row of the matrix :math:`C` holds exactly one 1 per tree. Then

    .. math:: \tilde C = \mathrm{norm}_{\ell_2}\big(C \cdot \mathrm{diag}(\mathrm{idf})\big), \qquad
        \mathrm{idf}_j = \log \frac{n + 1}{\mathrm{df}_j + 1} + 1,

    where :math:`\mathrm{df}_j` counts the rows in leaf j, and truncated SVD turns :math:`\tilde C` into the dense
    embedding Z. Leaves, idf and SVD are those of the rows that `fit` is given: the calibration set.

    Parameters
    ----------
    model : fitted classifier
        An XGBoost classifier with trees, or scikit-learn's `RandomForestClassifier`, `ExtraTreesClassifier`,
        `GradientBoostingClassifier` (binary or multiclass) or `DecisionTreeClassifier`; also a `Pipeline` that ends
        in one of them, or one of them in a `FrozenEstimator`. `HistGradientBoostingClassifier` has no public way
        to tell leaves. May be set later: ``LeafCoverage().set_params(model=model)``.
    n_components : int, default=256
        r, the length of the embedding. It is shorter where the calibration set has fewer rows, or the
        ensemble fewer leaves: `n_components_` tells.
    iteration_range : (int, int), optional
        Use only the boosting rounds, or the trees of a forest, from the first number up to the second. Left out: all,
        or up to the best round of an XGBoost model that stopped early.
    random_state : int, RandomState instance or None, default=None
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
    ShapValues : What each feature adds to the score.
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

    def __init__(self, model=None, n_components=256, iteration_range=None, random_state=None):
        self.model = model
        self.n_components = n_components
        self.iteration_range = iteration_range
        self.random_state = random_state

    def fit(self, X, y=None):
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

    def fit_transform(self, X, y=None):
        """Fit and return the embedding Z of the same rows, shape ``(n, n_components_)``."""
        if not isinstance(self.n_components, Integral) or self.n_components < 1:
            raise ValueError(f"n_components is {self.n_components!r}; expected a whole number of at least 1.")
        # A refit forgets the previous model's features, which `_read` would otherwise compare with.
        vars(self).pop("n_features_in_", None)
        trees, rows = self._read(X)
        leaves = _leaves(trees, rows, self.iteration_range)
        self._fit_leaves(leaves)
        weighted = self._weighted(self._indicators(leaves))
        self.svd_ = TruncatedSVD(self.n_components_, random_state=self.random_state)
        Z = self.svd_.fit_transform(weighted)
        self.n_features_in_ = np.shape(X)[1]
        return Z.astype(np.float64)

    def transform(self, X):
        """Return the embedding Z of new rows, shape ``(n, n_components_)``, float64."""
        weighted = self._weighted(self.one_hot(X))
        return self.svd_.transform(weighted).astype(np.float64)

    def one_hot(self, X):
        """Return the indicators C as a CSR matrix of shape ``(n, n_leaves_)``.

        Every row of the calibration set has exactly T ones, one per tree.
        """
        return self._indicators(self.leaves(X))

    def leaves(self, X):
        """Return the number of the leaf that each row falls in, for every tree, shape (n, T)."""
        check_is_fitted(self)
        trees, X = self._read(X)
        return _leaves(trees, X, self.iteration_range)

    @property
    def _n_features_out(self):
        return self.n_components_

    def _fit_leaves(self, leaves):
        """Give every leaf that occurs a column, and its idf."""
        n = len(leaves)
        # Leaf numbers restart in every tree, so tree t owns the keys from starts[t] to starts[t + 1].
        self._starts = np.concatenate([[0], np.cumsum(leaves.max(axis=0) + 1)])
        df = np.bincount((leaves + self._starts[:-1]).ravel(), minlength=self._starts[-1])
        occurs = df > 0
        self._column = np.where(occurs, np.cumsum(occurs) - 1, -1)
        self.idf_ = np.log((n + 1) / (df[occurs] + 1)) + 1
        self.n_leaves_ = len(self.idf_)
        if self.n_leaves_ < 2:
            raise ValueError("The trees of model send all rows of X to one leaf; expected at least two leaves.")
        self.n_components_ = min(self.n_components, n, self.n_leaves_)

    def _indicators(self, leaves):
        keys = leaves + self._starts[:-1]
        known = keys < self._starts[1:]
        columns = np.where(known, self._column[np.where(known, keys, 0)], -1)
        known = columns >= 0
        row_ends = np.concatenate([[0], np.cumsum(known.sum(axis=1))])
        ones = np.ones(row_ends[-1], dtype=np.float32)
        return sparse.csr_matrix((ones, columns[known], row_ends), shape=(len(leaves), self.n_leaves_))

    def _weighted(self, indicators):
        """Apply idf and scale rows to unit length."""
        weights = self.idf_.astype(np.float32)[indicators.indices]
        weighted = sparse.csr_matrix((weights, indicators.indices, indicators.indptr), shape=indicators.shape)
        return normalize(weighted, copy=False)


class ShapValues(_TreeRepresentation):
    r"""SHAP values of a tree ensemble: what each feature adds to the score of a row, in log-odds.

    The values are the exact path-dependent Shapley values :math:`\psi(x) \in \mathbb{R}^d` of TreeSHAP. With
    `base_value_` the values of a row sum to its margin, the log-odds before the sigmoid (with more classes:
    to the margin of each class, before the softmax). Forests and single trees of scikit-learn predict by averaging
    probabilities, so their values are in units of probability.

    Parameters
    ----------
    model : fitted classifier
        An XGBoost classifier with trees; or, through the package shap, scikit-learn's `RandomForestClassifier`,
        `ExtraTreesClassifier`, `DecisionTreeClassifier`, `HistGradientBoostingClassifier` or binary
        `GradientBoostingClassifier`. Also a `Pipeline` that ends in one of them (values are then those of the
        features behind its other steps), or one of them in a `FrozenEstimator`. May be set later:
        ``ShapValues().set_params(model=model)``.
    iteration_range : (int, int), optional
        For XGBoost: use only the boosting rounds from the first number up to the second. Left out: all, or up to
        the best round of a model that stopped early.
    method : {"auto", "xgboost", "woodelf", "shap"}, default="auto"
        How to compute the values; all are exact. ``"xgboost"`` is its ``pred_contribs``: its time grows with the rows.
        ``"woodelf"`` (package woodelf-explainer) first prepares tables for all trees, after which a row costs next to
        nothing. ``"shap"`` is for models of scikit-learn. ``"auto"`` takes, for XGBoost, ``"woodelf"`` above 2,000
        rows where it is installed and serves the model (two classes, trees up to depth 12, no categorical
        features, NaN as the missing value), else ``"xgboost"``.

    Attributes
    ----------
    base_value_ : float, or ndarray of shape (L,) with more than two classes
        The score of a row before any feature is known.
    n_features_in_ : int

    See Also
    --------
    LeafCoverage : Which leaves a row falls in.

    Notes
    -----
    With two classes the result has one column per feature, for the second class. With L > 2 classes there are L times
    d columns: all features for the first class, then for the second, and so on.

    XGBoost and WOODELF add up in single precision: they agree to 1e-4 for hundreds of trees. On Adult, with 300 trees
    of depth 8 and one core, XGBoost takes about 6 ms a row; WOODELF takes 10 s, and 0.4 ms a row.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from xgboost import XGBClassifier
    >>> from clustcal.representations import ShapValues
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = XGBClassifier(n_estimators=20, n_jobs=1).fit(X[:300], y[:300])
    >>> shap = ShapValues(model).fit(X[300:])
    >>> Z = shap.transform(X[300:])
    >>> Z.shape
    (269, 30)
    >>> margin = model.predict(X[300:], output_margin=True)
    >>> bool(np.allclose(Z.sum(axis=1) + shap.base_value_, margin, atol=1e-3))
    True
    """

    def __init__(self, model=None, iteration_range=None, method="auto"):
        self.model = model
        self.iteration_range = iteration_range
        self.method = method

    def fit(self, X, y=None):
        """Check the model against the rows and read its base value; the values need nothing else.

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
            If the model, or the method for this model, is not supported, or if X has other features than the model.
        NotFittedError
            If the model is not fitted.
        """
        vars(self).pop("n_features_in_", None)
        trees, rows = self._read(X)
        _check_shap_method(trees, rows, self.method, self.iteration_range)
        _, base = _shap_with_base(trees, rows[:1], self.iteration_range)
        self.base_value_ = base if len(base) > 1 else float(base[0])
        self._names = _names_behind_steps(self.model, rows)
        self.n_features_in_ = np.shape(X)[1]
        return self

    def transform(self, X):
        """Return the SHAP values of every row, shape (n, d), or (n, L d) with L > 2 classes; float64."""
        check_is_fitted(self)
        trees, X = self._read(X)
        method = _check_shap_method(trees, X, self.method, self.iteration_range)
        if method == "woodelf":
            values = _woodelf(trees, X, self.iteration_range)
        else:
            values, _ = _shap_with_base(trees, X, self.iteration_range)
        return values.reshape(len(values), -1).astype(np.float64)

    def get_feature_names_out(self, input_features=None):
        """Return the name of every column: the feature's, with more than two classes ``"class:feature"``."""
        check_is_fitted(self)
        if np.ndim(self.base_value_) == 0:
            return self._names
        classes = _split_model(self.model)[1].classes_
        return np.array([f"{label}:{name}" for label in classes for name in self._names], dtype=object)


def _split_model(model):
    """Return the steps before the trees (None if there are none) and the fitted trees themselves."""
    if isinstance(model, FrozenEstimator):
        model = model.estimator
    if isinstance(model, type) or not hasattr(model, "predict_proba"):
        raise ValueError(f"model is {model!r}; expected a fitted tree classifier.")
    check_is_fitted(model)
    if not isinstance(model, Pipeline):
        return None, model
    steps = model[:-1] if len(model) > 1 else None
    return steps, _split_model(model[-1])[1]


def _as_rows(X, n_features):
    """Check the shape of X, and leave reading its values to the model, which may take frames and missing values."""
    if not hasattr(X, "shape"):
        X = np.asarray(X)
    if len(X.shape) != 2:
        raise ValueError(f"X has {len(X.shape)} dimensions; expected a table of shape (n, d).")
    if X.shape[0] == 0:
        raise ValueError("X is empty; expected at least one row.")
    if n_features is not None and X.shape[1] != n_features:
        raise ValueError(f"X has {X.shape[1]} features; expected {n_features}, as the model.")
    return X


def _names_behind_steps(model, X):
    """Return the names of the features that the trees see."""
    steps, _ = _split_model(model)
    if hasattr(X, "columns"):
        return np.asarray(X.columns, dtype=object)
    if steps is not None and hasattr(steps, "get_feature_names_out"):
        return np.asarray(steps.get_feature_names_out(), dtype=object)
    return np.array([f"x{j}" for j in range(X.shape[1])], dtype=object)


def _leaves(trees, X, iteration_range):
    """Return leaf numbers of shape (n, T)."""
    if _is_xgboost(trees):
        leaves = _xgboost_predict(trees, X, iteration_range, pred_leaf=True)
    elif isinstance(trees, LEAF_MODELS):
        if isinstance(trees, GradientBoostingClassifier):
            # Its `apply` hands the rows on to its trees as they are, and these know no names of features.
            X = validate_data(trees, X, reset=False, dtype=np.float32, accept_sparse="csr")
        leaves = trees.apply(X)
        leaves = leaves[:, None] if leaves.ndim == 1 else leaves
        start, end = _check_range(iteration_range, leaves.shape[1])
        leaves = leaves[:, start:end]
    else:
        raise ValueError(
            f"model is a {type(trees).__name__}, which has no public way to tell leaves; expected an XGBoost "
            f"classifier or one of {[known.__name__ for known in LEAF_MODELS]}."
        )
    return leaves.reshape(len(leaves), -1).astype(np.int64)


def _shap_with_base(trees, X, iteration_range):
    """Return SHAP values (n, L, d) and base values (L,), by the package of the model; L is 1 with two classes."""
    if not _is_xgboost(trees):
        return _shap_package(trees, X)
    contributions = _xgboost_predict(trees, X, iteration_range, pred_contribs=True)
    contributions = contributions.reshape(len(contributions), -1, contributions.shape[-1])
    return contributions[:, :, :-1], contributions[0, :, -1].astype(np.float64)


def _shap_package(trees, X):
    import shap

    explainer = shap.TreeExplainer(trees, feature_perturbation="tree_path_dependent")
    values = np.asarray(explainer.shap_values(X))
    values = values.reshape(*values.shape[:2], -1).transpose(0, 2, 1)
    base = np.atleast_1d(explainer.expected_value)  # wrong until shap_values has run
    if len(base) == 2:
        values, base = values[:, 1:], base[1:]
    return values, base.astype(np.float64)


def _woodelf(trees, X, iteration_range):
    """Return the SHAP values (n, d) of an XGBoost model of two classes."""
    try:
        from woodelf import WoodelfExplainer
    except ImportError as error:
        raise ImportError('method="woodelf" needs the package woodelf-explainer.') from error

    booster = _xgboost_booster(trees, iteration_range)
    # XGBoost asks x < t in float32. WOODELF 0.4.8 asks x < t', with t' the float32 before t, so x = t' would go astray.
    # Half a float32 step below x lies on the right side of t' in both cases, and also if it asked x <= t'.
    X = _as_float32(X)
    frame = pd.DataFrame((X.astype(np.float64) + np.nextafter(X, np.float32(-np.inf))) / 2)
    explainer = WoodelfExplainer(booster, feature_perturbation="tree_path_dependent")
    return explainer.shap_values(frame, verbose=False)


def _check_shap_method(trees, X, method, iteration_range):
    """Return the method to use, or raise the ValueError that says why it cannot be."""
    if method not in SHAP_METHODS:
        raise ValueError(f"method is {method!r}; expected one of {SHAP_METHODS}.")
    if _is_xgboost(trees):
        return _check_xgboost_method(trees, X, method)
    if not isinstance(trees, SHAP_MODELS):
        raise ValueError(
            f"model is a {type(trees).__name__}; expected an XGBoost classifier or one of "
            f"{[known.__name__ for known in SHAP_MODELS]}."
        )
    if method not in ("auto", "shap"):
        raise ValueError(f'method is {method!r}, which needs an XGBoost classifier; expected "auto" or "shap".')
    if isinstance(trees, GradientBoostingClassifier) and len(trees.classes_) > 2:
        raise ValueError(f"model is a GradientBoostingClassifier of {len(trees.classes_)} classes; expected 2.")
    if iteration_range is not None:
        raise ValueError("iteration_range is given; expected None, as only XGBoost's SHAP values can use it.")
    return "shap"


def _check_xgboost_method(trees, X, method):
    obstacle = _woodelf_obstacle(trees, X)
    if method == "shap":
        raise ValueError('method is "shap"; expected "auto", "xgboost" or "woodelf" for an XGBoost classifier.')
    if method == "woodelf" and obstacle:
        raise ValueError(f'method is "woodelf", which does not serve {obstacle}; expected "auto" or "xgboost".')
    if method != "auto":
        return method
    worth_it = X.shape[0] > WOODELF_MIN_ROWS and not obstacle and find_spec("woodelf") is not None
    return "woodelf" if worth_it else "xgboost"


def _woodelf_obstacle(trees, X):
    """Return what keeps WOODELF from serving this model and these rows, or None."""
    depth = 6 if trees.max_depth is None else trees.max_depth  # XGBoost's default is 6; 0 means no limit
    obstacles = {
        "more than two classes": trees.n_classes_ > 2,
        "the booster " + str(trees.booster): trees.booster not in (None, "gbtree"),
        f"trees deeper than {WOODELF_MAX_DEPTH}": not 1 <= depth <= WOODELF_MAX_DEPTH,
        "categorical features": "c" in (trees.get_booster().feature_types or ()),
        f"{trees.missing} as the missing value": not np.isnan(trees.missing),
        "sparse rows": sparse.issparse(X),
    }
    return next((name for name, is_so in obstacles.items() if is_so), None)


def _as_float32(X):
    if hasattr(X, "to_numpy"):
        return X.to_numpy(dtype=np.float32, na_value=np.nan)
    return np.asarray(X, dtype=np.float32)


def _is_xgboost(trees):
    # By name, so that asking does not import xgboost.
    return any(base.__module__.startswith("xgboost.") for base in type(trees).__mro__)


def _xgboost_predict(trees, X, iteration_range, **what):
    import xgboost

    rows = xgboost.DMatrix(
        X,
        missing=trees.missing,
        feature_types=trees.feature_types,
        nthread=trees.n_jobs,
        enable_categorical=trees.enable_categorical,
    )
    # As in predict_proba, arrays are taken where the model was fitted on a frame.
    booster = _xgboost_booster(trees, iteration_range)
    return booster.predict(rows, validate_features=hasattr(X, "columns"), **what)


def _xgboost_booster(trees, iteration_range):
    """Return the boosting rounds to use, as a Booster."""
    if trees.booster == "gblinear":
        raise ValueError('model is an XGBoost classifier with booster "gblinear"; expected one with trees.')
    booster = trees.get_booster()
    n_rounds = booster.num_boosted_rounds()
    best = getattr(trees, "best_iteration", None)
    if iteration_range is None and best is not None:
        iteration_range = (0, best + 1)
    start, end = _check_range(iteration_range, n_rounds)
    return booster if (start, end) == (0, n_rounds) else booster[start:end]


def _check_range(iteration_range, n_rounds):
    if iteration_range is None:
        return 0, n_rounds
    try:
        start, end = iteration_range
        is_valid = isinstance(start, Integral) and isinstance(end, Integral) and 0 <= start < end <= n_rounds
    except (TypeError, ValueError):
        is_valid = False
    if not is_valid:
        raise ValueError(
            f"iteration_range is {iteration_range!r}; expected two whole numbers (start, end) with "
            f"0 <= start < end <= {n_rounds}."
        )
    return start, end
