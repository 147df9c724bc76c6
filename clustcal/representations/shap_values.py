"""SHAP values of a fitted tree ensemble: what each feature adds to the score of a row.

The packages of trees, shap and woodelf are imported only where a model needs them.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
)
from sklearn.utils.validation import check_is_fitted

from clustcal.core.array_types import Estimator, Floats, Inputs
from clustcal.core.parameters import check_one_of
from clustcal.representations.tree_models import (
    LEAF_MODELS,
    TreeRepresentation,
    boosting_rounds,
    catboost_pool,
    check_that_xgboost_gives_contributions,
    lightgbm_predict,
    names_of_contributions,
    package_of,
    split_contributions,
    xgboost_booster,
    xgboost_predict,
)

SHAP_MODELS = (*LEAF_MODELS, HistGradientBoostingClassifier)
SHAP_METHODS = ("auto", "xgboost", "woodelf", "shap")
# What to install for a module that is missing.
EXTRA = {"shap": "shap", "woodelf": "woodelf-explainer"}
# Measured on Adult: one row costs XGBoost as much as 1/1,700 (depth 10) to 1/2,900 (depth 4) of WOODELF's fixed cost.
WOODELF_MIN_ROWS = 2000
# Up to here WOODELF was measured against XGBoost; its tables grow with 2^depth.
WOODELF_MAX_DEPTH = 12


class ShapValues(TreeRepresentation):
    r"""SHAP values of a tree ensemble: what each feature adds to the score of a row, in log-odds.

    The values are the exact path-dependent Shapley values :math:`\psi(x) \in \mathbb{R}^d` of TreeSHAP. With
    `base_value_` the values of a row sum to its margin, the log-odds before the sigmoid (with more classes:
    to the margin of each class, before the softmax). Forests and single trees of scikit-learn predict by averaging
    probabilities, so their values are in units of probability.

    Parameters
    ----------
    model : fitted classifier
        A classifier of XGBoost (with trees, each of one output, its default), LightGBM (without linear trees) or
        CatBoost (with symmetric trees, its default: of others its values do not add up to the margin); or, through the
        package shap, scikit-learn's `RandomForestClassifier`, `ExtraTreesClassifier`, `DecisionTreeClassifier`,
        `HistGradientBoostingClassifier` without categorical features, or binary `GradientBoostingClassifier`. Also a
        `Pipeline` that ends in one of them (values are then those of the features behind its other steps), or one of
        them in a `FrozenEstimator`. May be set later: ``ShapValues().set_params(model=model)``.
    iteration_range : (int, int), optional
        For XGBoost, LightGBM and CatBoost: use only the boosting rounds from the first number up to the second. Left
        out: all, or up to the best round of a model that stopped early.
    method : {"auto", "xgboost", "woodelf", "shap"}, default="auto"
        How to compute the values; all are exact. ``"xgboost"`` is its ``pred_contribs``: its time grows with the rows.
        ``"woodelf"`` (package woodelf-explainer) first prepares tables for all trees, after which a row costs next to
        nothing. ``"shap"`` is for models of scikit-learn. ``"auto"`` takes LightGBM's and CatBoost's own values; for
        XGBoost, ``"woodelf"`` above 2,000 rows where it is installed and serves the model (two classes, trees up to
        depth 12, no categorical features, NaN as the missing value), else ``"xgboost"``.

    Attributes
    ----------
    base_value_ : float, or ndarray of shape (L,) with more than two classes
        The margin of a row (the probability, of scikit-learn's forests and single trees) before any feature is known.
    n_features_in_ : int

    See Also
    --------
    LeafCoverage : Which leaves a row falls in.
    PathContributions : For XGBoost, in one pass through each tree; not Shapley values, but they add up as well.
    StagedMargins : What each stage of boosting adds to the margin.
    clustcal.RidgeCalibration : A linear map of such columns.

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

    # Whether the axes of Z mean the same for models that were fitted to other rows.
    axes_are_features = True
    # `fit` looks at one row only, so that weights of rows mean nothing.
    learns_from_rows = False

    def __init__(
        self,
        model: Estimator = None,
        iteration_range: tuple[int, int] | None = None,
        method: Literal["auto", "xgboost", "woodelf", "shap"] = "auto",
    ) -> None:
        self.model = model
        self.iteration_range = iteration_range
        self.method = method

    def fit(self, X: Inputs, y: object = None) -> Self:
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
        self.__dict__.pop("n_features_in_", None)
        trees, rows = self._read(X)
        _check_model(trees, len(trees.classes_), rows, self.method, self.iteration_range)
        _check_shap_method(trees, rows, self.method)
        _, base = _shap_with_base(trees, rows[:1], self.iteration_range)
        self.base_value_ = base if len(base) > 1 else float(base[0])
        self._names = names_of_contributions(self.model, rows, trees.classes_)
        self.n_features_in_ = np.shape(X)[1]
        return self

    def transform(self, X: Inputs) -> Floats:
        """Return the SHAP values of every row, shape (n, d), or (n, L d) with L > 2 classes; float64."""
        check_is_fitted(self)
        trees, X = self._read(X)
        method = _check_shap_method(trees, X, self.method)
        if method == "woodelf":
            values = _woodelf(trees, X, self.iteration_range)
        else:
            values, _ = _shap_with_base(trees, X, self.iteration_range)
        return values.reshape(len(values), -1).astype(np.float64)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Return the name of every column: the feature's, with more than two classes ``"class:feature"``."""
        self._check_names(input_features)
        return self._names

    def _check_kind(self, trees: Estimator, n_classes: int, X: Inputs) -> None:
        _check_model(trees, n_classes, X, self.method, self.iteration_range)


def _shap_with_base(trees: Estimator, X: Inputs, iteration_range: tuple[int, int] | None) -> tuple[Floats, Any]:
    """Return SHAP values (n, L, d) and base values (L,), by the package of the model; L is 1 with two classes."""
    package = package_of(trees)
    if package is None:
        return _shap_package(trees, X)
    return split_contributions(CONTRIBUTIONS[package](trees, X, iteration_range))


def _shap_package(trees: Estimator, X: Inputs) -> tuple[Floats, Any]:
    import shap

    explainer = shap.TreeExplainer(trees, feature_perturbation="tree_path_dependent")
    values = np.asarray(explainer.shap_values(X))
    values = values.reshape(*values.shape[:2], -1).transpose(0, 2, 1)
    base = np.atleast_1d(explainer.expected_value)  # wrong until shap_values has run
    if len(base) == 2:
        values, base = values[:, 1:], base[1:]
    return values, base.astype(np.float64)


def _contributions_of_lightgbm(
    trees: Estimator, X: Inputs, iteration_range: tuple[int, int] | None
) -> tuple[Floats, Any]:
    found = lightgbm_predict(trees, X, iteration_range, pred_contrib=True)
    dense = lambda A: A.toarray() if sparse.issparse(A) else A
    found = np.stack([dense(A) for A in found], axis=1) if isinstance(found, list) else dense(found)
    return found.reshape(len(found), -1, trees.n_features_in_ + 1)


def _contributions_of_catboost(
    trees: Estimator, X: Inputs, iteration_range: tuple[int, int] | None
) -> tuple[Floats, Any]:
    start, end = boosting_rounds(trees, iteration_range)
    pool = catboost_pool(trees, X)
    if (start, end) != (0, trees.tree_count_):
        trees = trees.copy()
        trees.shrink(ntree_start=start, ntree_end=end)
    return trees.get_feature_importance(pool, type="ShapValues")


# How each package of boosted trees is asked for its SHAP values: for every row, and with more classes for each of
# them, those of the features and then the base value.
CONTRIBUTIONS: dict[str, Callable[..., Any]] = {
    "xgboost": lambda trees, X, rounds: xgboost_predict(trees, X, rounds, pred_contribs=True),
    "lightgbm": _contributions_of_lightgbm,
    "catboost": _contributions_of_catboost,
}


def _woodelf(trees: Estimator, X: Inputs, iteration_range: tuple[int, int] | None) -> Floats:
    """Return the SHAP values (n, d) of an XGBoost model of two classes."""
    from woodelf import WoodelfExplainer

    booster = xgboost_booster(trees, iteration_range)
    # XGBoost asks x < t in float32. WOODELF 0.4.8 asks x < t', with t' the float32 before t, so x = t' would go astray.
    # Half a float32 step below x lies on the right side of t' in both cases, and also if it asked x <= t'.
    X = _as_float32(X)
    frame = pd.DataFrame((X.astype(np.float64) + np.nextafter(X, np.float32(-np.inf))) / 2)
    explainer = WoodelfExplainer(booster, feature_perturbation="tree_path_dependent")
    return explainer.shap_values(frame, verbose=False)


def _check_model(
    trees: Estimator, n_classes: int, X: Inputs, method: str, iteration_range: tuple[int, int] | None
) -> None:
    """Raise an error if there are no SHAP values of a model, fitted or not, by this method.

    X holds the rows as the trees see them; it is None where that is not known yet.
    """
    check_one_of("method", method, SHAP_METHODS)
    package = package_of(trees)
    if package is None:
        _check_model_of_scikit_learn(trees, n_classes, X, method, iteration_range)
    elif package == "xgboost":
        check_that_xgboost_gives_contributions(trees)
        if method == "shap":
            raise ValueError('method is "shap"; expected "auto", "xgboost" or "woodelf" for an XGBoost classifier.')
        if method == "woodelf":
            _check_installed("woodelf", "method='woodelf'")
    else:
        if method != "auto":
            raise ValueError(f"method is {method!r}; expected 'auto' for a {type(trees).__name__}.")
        if obstacle := obstacle_to_shap_values(trees):
            raise ValueError(
                f"model is a {type(trees).__name__} with {obstacle}, of which it gives no SHAP values that add up to "
                "its margin; expected one without, or LeafCoverage."
            )


def obstacle_to_shap_values(trees: Estimator) -> str | None:
    """Return which setting keeps a package of boosted trees from giving right SHAP values, or None."""
    params = trees.get_params()
    if package_of(trees) == "xgboost" and params.get("multi_strategy") == "multi_output_tree":
        return "multi_strategy='multi_output_tree'"
    if package_of(trees) == "lightgbm" and any(params.get(name) for name in ("linear_tree", "linear_trees")):
        return "linear_tree=True"
    if package_of(trees) == "catboost" and params.get("grow_policy", "SymmetricTree") != "SymmetricTree":
        return f"grow_policy={params['grow_policy']!r}"
    return None


def _check_model_of_scikit_learn(
    trees: Estimator, n_classes: int, X: Inputs, method: str, iteration_range: tuple[int, int] | None
) -> None:
    if not isinstance(trees, SHAP_MODELS):
        raise ValueError(
            f"model is a {type(trees).__name__}; expected a classifier of XGBoost, LightGBM or CatBoost, or one of "
            f"{[known.__name__ for known in SHAP_MODELS]} (or another representation, such as StandardizedFeatures)."
        )
    if method not in ("auto", "shap"):
        raise ValueError(f'method is {method!r}, which needs an XGBoost classifier; expected "auto" or "shap".')
    if isinstance(trees, GradientBoostingClassifier) and n_classes > 2:
        raise ValueError(f"model is a GradientBoostingClassifier of {n_classes} classes; expected 2.")
    if iteration_range is not None:
        raise ValueError("iteration_range is given; expected None, as only SHAP values of boosted trees can use it.")
    if isinstance(trees, HistGradientBoostingClassifier) and _has_categories(trees, X):
        raise ValueError(
            "model is a HistGradientBoostingClassifier with categorical features, of which the package shap gives "
            "wrong values; expected a model of encoded features, such as by an OrdinalEncoder and without "
            "categorical_features, or another representation."
        )
    _check_installed("shap", f"ShapValues of a {type(trees).__name__}")


def _has_categories(boosting: Any, X: Inputs) -> bool:
    """Whether histogram boosting, fitted or not, takes some features for categories."""
    if hasattr(boosting, "classes_"):
        return boosting.is_categorical_ is not None and bool(np.any(boosting.is_categorical_))
    asked = boosting.categorical_features
    if isinstance(asked, str) and asked == "from_dtype":
        return any(
            "categor" in str(dtype).lower() or "enum" in str(dtype).lower() for dtype in getattr(X, "dtypes", [])
        )
    return asked is not None and bool(np.any(np.asarray(asked, dtype=object) != False))  # noqa: E712


def _check_installed(package: str, what: str) -> None:
    if find_spec(package) is None:
        raise ImportError(f"{what} needs the package {EXTRA[package]}: pip install 'clustcal[trees]'.")


def _check_shap_method(trees: Estimator, X: Inputs, method: str) -> str:
    """Return the method to use, or raise the ValueError that says why it cannot be."""
    if package_of(trees) == "xgboost":
        return _check_xgboost_method(trees, X, method)
    return method


def _check_xgboost_method(trees: Estimator, X: Inputs, method: str) -> str:
    obstacle = _woodelf_obstacle(trees, X)
    if method == "woodelf" and obstacle:
        raise ValueError(f'method is "woodelf", which does not serve {obstacle}; expected "auto" or "xgboost".')
    if method != "auto":
        return method
    worth_it = X.shape[0] > WOODELF_MIN_ROWS and not obstacle and find_spec("woodelf") is not None
    return "woodelf" if worth_it else "xgboost"


def _woodelf_obstacle(trees: Estimator, X: Inputs) -> str | None:
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


def _as_float32(X: Inputs) -> Any:
    if hasattr(X, "to_numpy"):
        return X.to_numpy(dtype=np.float32, na_value=np.nan)
    return np.asarray(X, dtype=np.float32)
