"""What a `CalibratedClassifier` finds out before it fits anything: an estimator, a calibrator or a representation that
cannot serve, one that would see rows twice, and axes that differ between folds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, OneToOneFeatureMixin
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import StackingClassifier
from sklearn.exceptions import DataConversionWarning
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.feature_selection import SelectorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.impute import KNNImputer, MissingIndicator, SimpleImputer
from sklearn.model_selection import GridSearchCV, RandomizedSearchCV
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, PolynomialFeatures, SplineTransformer
from sklearn.utils import assert_all_finite, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import column_or_1d

from clustcal.core.array_types import Estimator, Inputs, Labels
from clustcal.core.labels import as_labels, check_no_label_missing, check_no_types_mixed
from clustcal.core.user_warnings import warn_user
from clustcal.fold_representations import named_members
from clustcal.representations.tree_models import last_step, rounds_found, stops_early, unfrozen

# Steps of scikit-learn, beside those that say so themselves, each of whose columns is a function of columns that it is
# named after.
NAMED_AFTER_COLUMNS = (
    *(OneToOneFeatureMixin, SelectorMixin, OneHotEncoder, PolynomialFeatures, SplineTransformer, KBinsDiscretizer),
    *(SimpleImputer, KNNImputer, MissingIndicator, CountVectorizer, DictVectorizer),
)


def check_estimator(estimator: Estimator) -> None:
    """Raise a ValueError unless the estimator can give scores of classes."""
    inner = unfrozen(estimator)
    gives_scores = hasattr(inner, "predict_proba") or hasattr(inner, "decision_function") or _will_give_scores(inner)
    is_class = isinstance(inner, type)
    # A regressor, or what finds outliers or densities and gives scores of other things; None is what says nothing.
    kind = get_tags(inner).estimator_type if hasattr(inner, "__sklearn_tags__") and not is_class else None
    if is_class or not gives_scores or kind not in (None, "classifier"):
        name = inner.__name__ if is_class else type(inner).__name__
        raise ValueError(
            f"estimator is a {name}; expected a classifier with predict_proba or decision_function (probabilities of "
            "anything else go to a calibrator directly, as in PlattScaling().fit(p, y))."
        )


def _will_give_scores(estimator: Estimator) -> bool:
    """Whether it is a stack that ends in scikit-learn's default, or is around one, which gives scores once fitted."""
    while isinstance(estimator, (Pipeline, GridSearchCV, RandomizedSearchCV)):
        estimator = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator.estimator
    return isinstance(estimator, StackingClassifier) and estimator.final_estimator is None


def check_early_stopping(estimator: Estimator, fit_params: dict[str, Any]) -> None:
    """Raise a ValueError if a model that stops early would be fitted in folds without rows to stop by.

    One that is fitted already has found its number of rounds, see `rounds_found`.
    """
    last = last_step(estimator)
    has_rows = any(name.endswith("eval_set") for name in fit_params)
    if stops_early(last) and not has_rows and rounds_found(last) is None:
        raise ValueError(
            f"estimator is a {type(last).__name__} with early_stopping_rounds, for which a fit in folds keeps no rows "
            "aside; expected it fitted already and in a FrozenEstimator, or without, or with an eval_set given to fit."
        )


def check_labels(y: ArrayLike) -> Labels:
    """Return y as an array of labels of at least two classes."""
    if y is None:
        raise ValueError("CalibratedClassifier requires y to be passed, but the target y is None.")
    if isinstance(y, (pd.Series, pd.api.extensions.ExtensionArray)):
        y = as_labels(y)  # missing values of some types of pandas cannot even be compared
    check_no_label_missing(y)
    check_no_types_mixed(y)
    array = np.asarray(y)
    if array.ndim == 2 and array.shape[1] == 1:
        # The words of scikit-learn, whose own warning would not name the line of the user.
        warn_user("A column-vector y was passed when a 1d array was expected.", DataConversionWarning)
    labels: Labels = column_or_1d(y)
    if len(labels) == 0:
        raise ValueError("y is empty; expected labels of at least two classes.")
    assert_all_finite(labels, input_name="y")
    check_classification_targets(labels)
    classes = np.unique(labels)
    if len(classes) == 1:
        raise ValueError(f"y holds 1 class only, {classes.tolist()[0]!r}; expected at least two.")
    return labels


def check_calibrator(calibrator: Any, classes: Labels, n: int, which: str) -> None:
    """Raise a ValueError unless a calibrator serves these classes and n rows."""
    named = calibrator._classes_of_columns()
    if named is not None and np.asarray(named).tolist() != classes.tolist():
        raise ValueError(
            f"calibrator has the classes {np.asarray(named).tolist()}; expected none, or those of the columns of "
            f"estimator, {classes.tolist()}."
        )
    calibrator._check_number_of_classes(len(classes))
    calibrator._check_number_of_rows(n, which)


def check_representation(
    representation: Estimator, estimator: Estimator, X: Inputs, n_classes: int, is_refitted: bool
) -> None:
    """Raise an error if a representation cannot serve, or if a model in it may have been fitted to the rows X."""
    for part in parts_of(representation):
        if hasattr(part, "check_beforehand"):
            model = getattr(part, "model", None)
            part.check_beforehand(estimator if model is None else model, X, n_classes)
    for name, member in named_members(representation):
        given = fitted_models_in(member)
        if is_refitted and given:
            raise ValueError(
                f"{name} holds a fitted {type(given[0]).__name__}, which may have seen the rows that estimator, "
                f"fitted anew in every fold, has not; expected {type(member).__name__} without a model, so that it "
                "gets that of each fold, or estimator in a FrozenEstimator, or Z."
            )


def parts_of(representation: Estimator) -> list[Any]:
    """Return a transformer and all that is within it, at any depth, frozen or not."""
    if isinstance(representation, FrozenEstimator):
        return parts_of(representation.estimator)
    values = representation.get_params().values() if hasattr(representation, "get_params") else []
    return [representation, *(value for value in values if hasattr(value, "fit") and not isinstance(value, type))]


def fitted_models_in(representation: Estimator) -> list[Any]:
    """Return the models in a representation that were fitted to labels: each ``model``, and each fitted classifier.

    A function may be the method of a classifier, as in ``FunctionTransformer(forest.apply)``.
    """
    found = []
    for part in parts_of(representation):
        for name, value in part.get_params(deep=False).items() if hasattr(part, "get_params") else ():
            owner = unfrozen(getattr(value, "__self__", value))
            if value is not None and (name == "model" or (hasattr(owner, "classes_") and not isinstance(owner, type))):
                found.append(owner)
    return found


def check_that_axes_agree(representation: Estimator, estimator: Estimator) -> None:
    """Raise a ValueError unless representations by the models of different folds can stand in one table.

    They can where every axis is a feature, and every feature is a function of columns of X that it is named after, or
    of a step that learns nothing; it then means the same in every fold, up to what scalers and encoders have learned.
    Leaves, and axes that a step finds by itself (components, random projections, clusters), do not; nor can it be known
    of a step that does not say where its columns come from. Of an estimator that is no pipeline the features are the
    columns of X, whatever is within it.
    """
    rotating = step_with_own_axes(unfrozen(estimator))
    for name, member in named_members(representation):
        what = type(member).__name__
        if getattr(member, "axes_are_features", False):
            if rotating is None:
                continue
            what = f"{what} behind {rotating}"
        raise ValueError(
            f"{name} is {what}, whose axes differ from fold to fold, and ensemble is False; expected "
            "ensemble=True, or a representation by features, such as ShapValues."
        )


def step_with_own_axes(model: Estimator) -> str | None:
    """Return the name of a step before the last of a pipeline that does not keep the columns of X, or None."""
    if not isinstance(model, Pipeline):
        return None
    before = [type(step).__name__ for _, step in model.steps[:-1] if not keeps_axes(step)]
    return before[0] if before else step_with_own_axes(model.steps[-1][1])


def keeps_axes(step: Any) -> bool:
    """Whether each column that a transformer puts out is a function of columns of its input, the same in every fold."""
    if step is None or isinstance(step, str):  # "passthrough", "drop"
        return True
    if isinstance(step, FrozenEstimator):
        return True  # nothing in it is fitted in a fold
    if isinstance(step, Pipeline):
        return all(keeps_axes(part) for _, part in step.steps)
    if isinstance(step, FeatureUnion):
        return all(keeps_axes(part) for _, part in step.transformer_list)
    if isinstance(step, ColumnTransformer):
        return all(keeps_axes(part) for part in (*(part[1] for part in step.transformers), step.remainder))
    if hasattr(step, "axes_are_features"):
        return bool(step.axes_are_features)
    if isinstance(step, ClassNamePrefixFeaturesOutMixin):
        return False
    learns = get_tags(step).requires_fit if hasattr(step, "__sklearn_tags__") else True
    return not learns or isinstance(step, NAMED_AFTER_COLUMNS)
