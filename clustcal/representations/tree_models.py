"""Fitted tree ensembles as the representations see them: the model behind a pipeline, its rows, its rounds.

xgboost, lightgbm and catboost are told by the names of their modules, so that asking imports none of them.
"""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from clustcal.core.array_types import Estimator, Floats, Inputs
from clustcal.representations.features import names_behind

# scikit-learn's classifiers with a public `apply`; histogram boosting has none.
BOOSTING_PACKAGES = ("xgboost", "lightgbm", "catboost")
LEAF_MODELS = (RandomForestClassifier, ExtraTreesClassifier, GradientBoostingClassifier, DecisionTreeClassifier)


class TreeRepresentation(TransformerMixin, BaseEstimator):
    """What representations by trees share: the fitted model that they describe, and the check of its rows."""

    # The parameter that holds a whole number, for whoever gives one in the place of the model.
    whole_number: str | None = None

    def __sklearn_clone__(self) -> Self:
        # A clone describes the same fitted model: cloning the model as well would leave it unfitted.
        return type(self)(**self.get_params(deep=False))

    def check_beforehand(self, estimator: Estimator, X: Inputs, n_classes: int) -> None:
        """Raise an error if this cannot describe the estimator once that is fitted to rows X of n_classes classes."""
        self._check_classifier(estimator)
        trees = last_step(estimator)
        self._check_kind(trees, n_classes, X if trees is unfrozen(estimator) else None)

    def _read(self, X: Inputs) -> tuple[Estimator, Inputs]:
        """Return the fitted trees and the rows as the trees see them, after the steps of a pipeline before them."""
        self._check_classifier(self.model)
        steps, trees = split_model(self.model)
        expected = getattr(self, "n_features_in_", getattr(self.model, "n_features_in_", None))
        X = as_rows(X, expected)
        check_order_of_columns(self.model, X)
        return trees, X if steps is None else steps.transform(X)

    def _check_names(self, input_features: ArrayLike | None) -> None:
        """Raise an error unless this is fitted, and to as many features as there are names given."""
        check_is_fitted(self)
        if input_features is not None and np.size(input_features) != self.n_features_in_:
            raise ValueError(f"input_features has {np.size(input_features)} names; expected {self.n_features_in_}.")

    def _check_classifier(self, model: Any) -> None:
        """Raise a ValueError unless a model, fitted or not, is a classifier, and none that is only around one."""
        if isinstance(model, Integral) and self.whole_number is not None:
            raise ValueError(
                f"model is {model}; expected a fitted tree classifier (or {self.whole_number}={model}, by its name)."
            )
        last = last_step(model)
        check_classifier(last)
        if hasattr(last, "best_estimator_"):
            raise ValueError(
                f"model is a {type(last).__name__}; expected the classifier that it found, its best_estimator_."
            )


def check_classifier(model: Any) -> None:
    """Raise a ValueError unless a model, fitted or not, is a classifier."""
    model = unfrozen(model)
    if not isinstance(model, type) and hasattr(model, "predict_proba"):
        return
    what = repr(model) if model is None or isinstance(model, (str, Integral)) else f"a {type(model).__name__}"
    expected = "a fitted tree classifier"
    if isinstance(model, type):
        what = f"the class {model.__name__}"
    elif package_of(model) == "xgboost" and type(model).__name__ == "Booster":
        expected = "an XGBClassifier, whose load_model takes the path of a saved booster, or what its save_raw returns"
    raise ValueError(f"model is {what}; expected {expected}.")


def split_model(model: Estimator) -> tuple[Estimator, Estimator]:
    """Return the steps before the trees (None if there are none) and the fitted trees themselves."""
    check_classifier(model)
    model = unfrozen(model)
    check_is_fitted(model)
    if not isinstance(model, Pipeline):
        return None, model
    steps = model[:-1] if len(model) > 1 else None
    return steps, split_model(model[-1])[1]


def unfrozen(model: Estimator) -> Estimator:
    return model.estimator if isinstance(model, FrozenEstimator) else model


def last_step(model: Estimator) -> Estimator:
    """Return the last step of a model, fitted or not; the model itself where it has no steps."""
    model = unfrozen(model)
    return last_step(model[-1]) if isinstance(model, Pipeline) else model


def package_of(trees: Estimator) -> str | None:
    """Return which package of boosted trees a model comes from, or None."""
    homes = {base.__module__.split(".")[0] for base in type(trees).__mro__}
    return next((package for package in BOOSTING_PACKAGES if package in homes), None)


def is_random_forest(trees: Estimator) -> bool:
    """Whether a model of a package of boosted trees, fitted or not, grows a random forest in the place of boosting."""
    package = package_of(trees)
    if package == "xgboost":
        from xgboost import XGBRFClassifier

        return isinstance(trees, XGBRFClassifier)
    # LightGBM takes its parameter by any of these names.
    params = trees.get_params() if package == "lightgbm" else {}
    return any(params.get(name) in ("rf", "random_forest") for name in ("boosting_type", "boosting", "boost"))


def stops_early(trees: Estimator) -> bool:
    """Whether a model stops by rows that its `fit` must be given."""
    return package_of(trees) == "xgboost" and trees.early_stopping_rounds is not None


def rounds_found(trees: Estimator) -> int | None:
    """Return how many rounds a fitted model that stops early has kept; None for any other."""
    return trees.best_iteration + 1 if stops_early(trees) and trees.__sklearn_is_fitted__() else None


def check_order_of_columns(model: Estimator, X: Inputs) -> None:
    """Raise a ValueError if X has the columns of the model in another order, which not every package looks at."""
    known = getattr(unfrozen(model), "feature_names_in_", getattr(unfrozen(model), "feature_names_", None))
    if known is None or not hasattr(X, "columns"):
        return
    known, found = [name.item() if isinstance(name, np.str_) else name for name in known], list(X.columns)
    if set(known) == set(found) and known != found:
        raise ValueError(f"X has the feature names {found}; expected the order of the model, {known}.")


def check_that_names_differ(X: Inputs) -> None:
    """Raise a ValueError if a frame of pandas has two columns of one name, which XGBoost cannot read."""
    if isinstance(X, pd.DataFrame) and not X.columns.is_unique:
        twice = X.columns[X.columns.duplicated()].tolist()[0]
        raise ValueError(f"X has two columns named {twice!r}; expected each name once.")


def as_rows(X: Inputs, n_features: int | None) -> Inputs:
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


def xgboost_predict(trees: Estimator, X: Inputs, iteration_range: tuple[int, int] | None, **what: Any) -> NDArray[Any]:
    import xgboost

    check_that_names_differ(X)
    rows = xgboost.DMatrix(
        X,
        missing=trees.missing,
        feature_types=_types_of_features(trees, X),
        nthread=trees.n_jobs,
        enable_categorical=trees.enable_categorical,
    )
    # As in predict_proba, arrays are taken where the model was fitted on a frame.
    booster = xgboost_booster(trees, iteration_range)
    return booster.predict(rows, validate_features=hasattr(X, "columns"), **what)


def _types_of_features(trees: Estimator, X: Inputs) -> Any:
    """Return the types of the features of XGBoost, with the categories by which it reads those of a frame if any.

    A booster tells these from its training rows (since XGBoost 3.1), but a slice of it has forgotten them.
    """
    booster = trees.get_booster()
    if trees.enable_categorical and hasattr(X, "columns") and hasattr(booster, "get_categories"):
        categories = booster.get_categories()
        return trees.feature_types if categories.empty() else categories
    return trees.feature_types


def xgboost_booster(trees: Estimator, iteration_range: tuple[int, int] | None) -> Any:
    """Return the boosting rounds to use, as a Booster."""
    check_that_xgboost_has_trees(trees)
    booster = trees.get_booster()
    start, end = boosting_rounds(trees, iteration_range)
    return booster if (start, end) == (0, booster.num_boosted_rounds()) else booster[start:end]


def boosting_rounds(trees: Estimator, iteration_range: tuple[int, int] | None) -> tuple[int, int]:
    """Return the first round to use and the one behind the last: those asked for, or up to the best one, or all."""
    package = package_of(trees)
    if package == "xgboost":
        n_rounds, best = trees.get_booster().num_boosted_rounds(), getattr(trees, "best_iteration", None)
        best = None if best is None else best + 1
    elif package == "lightgbm":
        n_rounds, best = trees.booster_.current_iteration(), trees.best_iteration_ or None
    else:  # a model of CatBoost that stopped early has kept its best rounds alone
        n_rounds, best = trees.tree_count_, None
    return check_range(iteration_range if iteration_range is not None or best is None else (0, best), n_rounds)


def check_that_xgboost_has_trees(trees: Estimator) -> None:
    if trees.booster == "gblinear":
        raise ValueError('model is an XGBoost classifier with booster "gblinear"; expected one with trees.')


def check_that_xgboost_gives_contributions(trees: Estimator) -> None:
    check_that_xgboost_has_trees(trees)
    if trees.multi_strategy == "multi_output_tree":
        raise ValueError(
            f'model is a {type(trees).__name__} with multi_strategy "multi_output_tree", of which XGBoost gives no '
            'contributions of features; expected "one_output_per_tree", or LeafCoverage, or StagedMargins.'
        )


def lightgbm_predict(trees: Estimator, X: Inputs, iteration_range: tuple[int, int] | None, **what: Any) -> NDArray[Any]:
    start, end = boosting_rounds(trees, iteration_range)
    with warnings.catch_warnings():
        # As in predict_proba, arrays are taken where the model was fitted on a frame.
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        return trees.predict(X, start_iteration=start, num_iteration=end - start, **what)


def catboost_pool(trees: Estimator, X: Inputs) -> Any:
    """Return rows as CatBoost takes them for SHAP values: it must be told which features are no numbers."""
    from catboost import Pool

    return Pool(
        X,
        cat_features=trees.get_cat_feature_indices(),
        text_features=trees.get_text_feature_indices(),
        embedding_features=trees.get_embedding_feature_indices(),
        thread_count=catboost_threads(trees),
    )


def catboost_threads(trees: Estimator) -> int:
    return trees.get_param("thread_count") or -1


def split_contributions(found: NDArray[Any]) -> tuple[NDArray[Any], Floats]:
    """Return contributions (n, L, d) and base values (L,), which packages put behind them; L is 1 with two classes."""
    found = found.reshape(len(found), -1, found.shape[-1])
    if found.shape[1] == 2:  # a softmax of two classes: the log-odds are the difference of its margins
        found = found[:, 1:] - found[:, :1]
    return found[:, :, :-1], found[0, :, -1].astype(np.float64)


def names_of_contributions(model: Estimator, X: Inputs, classes: NDArray[Any]) -> NDArray[Any]:
    """Return the names of what features, as the trees see them in X, add to the margin; of each class of several."""
    steps, trees = split_model(model)
    # XGBoost and scikit-learn know names of a frame alone; LightGBM and CatBoost make some up.
    known = getattr(trees, "feature_names_in_", None) if package_of(trees) in ("xgboost", None) else None
    if hasattr(X, "columns"):
        names = np.asarray(X.columns, dtype=object)
    elif steps is None and known is not None:
        names = np.asarray([str(name) for name in known], dtype=object)
    else:
        names = names_behind(steps, X.shape[1])
    if len(classes) == 2:
        return names
    return np.array([f"{label}:{name}" for label in classes for name in names], dtype=object)


def check_range(iteration_range: tuple[int, int] | None, n_rounds: int) -> tuple[int, int]:
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
