"""Which representation a model is given where none is named."""

import numpy as np
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier

from clustcal.representations.features import StandardizedFeatures
from clustcal.representations.leaves import LeafCoverage
from clustcal.representations.shap_values import ShapValues

FORESTS = (RandomForestClassifier, ExtraTreesClassifier, DecisionTreeClassifier)
BOOSTING = (GradientBoostingClassifier, HistGradientBoostingClassifier)
# Told by the name of their package, so that asking imports none of them.
BOOSTING_PACKAGES = ("xgboost", "lightgbm", "catboost")


def default_representation(model, n_classes=None):
    """Return the representation, unfitted, that suits a model.

    Parameters
    ----------
    model : classifier
        Fitted or not; of a pipeline the last step counts.
    n_classes : int, optional
        The number of classes; left out, what a fitted model says.

    Returns
    -------
    representation : transformer
        `ShapValues` for boosted trees (XGBoost, scikit-learn's of two classes and its histogram boosting; also for
        LightGBM and CatBoost, whose models it does not read yet and refuses); `LeafCoverage` for forests, single
        trees, and scikit-learn's gradient boosting of more classes, for which there are no SHAP values;
        `StandardizedFeatures` for everything else. The activations of a network must be named, as nobody but its maker
        knows its layers.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from clustcal.representations import default_representation
    >>> default_representation(RandomForestClassifier())
    LeafCoverage(random_state=0)
    """
    last = _last_step(model)
    n_classes = np.size(getattr(last, "classes_", None)) if n_classes is None else n_classes
    if isinstance(last, FORESTS) or (isinstance(last, GradientBoostingClassifier) and n_classes > 2):
        return LeafCoverage(random_state=0)
    if isinstance(last, BOOSTING) or any(_is_of_package(last, package) for package in BOOSTING_PACKAGES):
        return ShapValues()
    return StandardizedFeatures()


def _last_step(model):
    if isinstance(model, FrozenEstimator):
        return _last_step(model.estimator)
    return _last_step(model[-1]) if isinstance(model, Pipeline) else model


def _is_of_package(model, package):
    return any(base.__module__.split(".")[0] == package for base in type(model).__mro__)
