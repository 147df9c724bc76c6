"""Which representation a model is given where none is named."""

from __future__ import annotations

import numpy as np
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.tree import DecisionTreeClassifier

from clustcal.core.array_types import Estimator
from clustcal.representations.features import StandardizedFeatures
from clustcal.representations.leaves import LeafCoverage
from clustcal.representations.shap_values import ShapValues, obstacle_to_shap_values
from clustcal.representations.tree_models import last_step, package_of

FORESTS = (RandomForestClassifier, ExtraTreesClassifier, DecisionTreeClassifier)
BOOSTING = (GradientBoostingClassifier, HistGradientBoostingClassifier)


def default_representation(model: Estimator, n_classes: int | None = None) -> Estimator:
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
        `ShapValues` for boosted trees (XGBoost, LightGBM, CatBoost, scikit-learn's of two classes and its histogram
        boosting); `LeafCoverage` for forests, single trees, and boosted trees for which there are no SHAP values
        (scikit-learn's gradient boosting of more classes, XGBoost's trees of several outputs, LightGBM's linear trees,
        CatBoost's that are not symmetric);
        `StandardizedFeatures` for everything else. The activations of a network must be named, as nobody but its maker
        knows its layers.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from clustcal.representations import default_representation
    >>> default_representation(RandomForestClassifier())
    LeafCoverage(random_state=0)
    """
    last = last_step(model)
    n_classes = np.size(getattr(last, "classes_", 0)) if n_classes is None else n_classes
    if isinstance(last, FORESTS) or (isinstance(last, GradientBoostingClassifier) and n_classes > 2):
        return LeafCoverage(random_state=0)
    if package_of(last) is not None:
        return LeafCoverage(random_state=0) if obstacle_to_shap_values(last) else ShapValues()
    return ShapValues() if isinstance(last, BOOSTING) else StandardizedFeatures()
