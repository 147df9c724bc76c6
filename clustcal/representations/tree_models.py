"""Fitted tree ensembles as the representations see them: the model behind a pipeline, its rows, its rounds."""

from numbers import Integral

import numpy as np
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

# scikit-learn's classifiers with a public `apply`; histogram boosting has none.
LEAF_MODELS = (RandomForestClassifier, ExtraTreesClassifier, GradientBoostingClassifier, DecisionTreeClassifier)


class TreeRepresentation(TransformerMixin, BaseEstimator):
    """What both representations share: the fitted model that they describe, and the check of its rows."""

    def __sklearn_clone__(self):
        # A clone describes the same fitted model: cloning the model as well would leave it unfitted.
        return type(self)(**self.get_params(deep=False))

    def _read(self, X):
        """Return the fitted trees and the rows as the trees see them, after the steps of a pipeline before them."""
        steps, trees = split_model(self.model)
        expected = getattr(self, "n_features_in_", getattr(self.model, "n_features_in_", None))
        X = as_rows(X, expected)
        return trees, X if steps is None else steps.transform(X)


def split_model(model):
    """Return the steps before the trees (None if there are none) and the fitted trees themselves."""
    if isinstance(model, FrozenEstimator):
        model = model.estimator
    if isinstance(model, type) or not hasattr(model, "predict_proba"):
        raise ValueError(f"model is {model!r}; expected a fitted tree classifier.")
    check_is_fitted(model)
    if not isinstance(model, Pipeline):
        return None, model
    steps = model[:-1] if len(model) > 1 else None
    return steps, split_model(model[-1])[1]


def as_rows(X, n_features):
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


def is_xgboost(trees):
    # By name, so that asking does not import xgboost.
    return any(base.__module__.startswith("xgboost.") for base in type(trees).__mro__)


def xgboost_predict(trees, X, iteration_range, **what):
    import xgboost

    rows = xgboost.DMatrix(
        X,
        missing=trees.missing,
        feature_types=trees.feature_types,
        nthread=trees.n_jobs,
        enable_categorical=trees.enable_categorical,
    )
    # As in predict_proba, arrays are taken where the model was fitted on a frame.
    booster = xgboost_booster(trees, iteration_range)
    return booster.predict(rows, validate_features=hasattr(X, "columns"), **what)


def xgboost_booster(trees, iteration_range):
    """Return the boosting rounds to use, as a Booster."""
    if trees.booster == "gblinear":
        raise ValueError('model is an XGBoost classifier with booster "gblinear"; expected one with trees.')
    booster = trees.get_booster()
    n_rounds = booster.num_boosted_rounds()
    best = getattr(trees, "best_iteration", None)
    if iteration_range is None and best is not None:
        iteration_range = (0, best + 1)
    start, end = check_range(iteration_range, n_rounds)
    return booster if (start, end) == (0, n_rounds) else booster[start:end]


def check_range(iteration_range, n_rounds):
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
