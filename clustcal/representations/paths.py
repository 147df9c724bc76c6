"""Contributions along the paths of boosted trees: what each feature adds to the margin of a row, at little cost."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from clustcal.core.array_types import Estimator, Floats, Inputs
from clustcal.representations.choice import default_representation
from clustcal.representations.tree_models import (
    TreeRepresentation,
    check_that_xgboost_gives_contributions,
    names_of_contributions,
    package_of,
    split_contributions,
    xgboost_predict,
)


class PathContributions(TreeRepresentation):
    r"""What each feature adds to the margin of a row along the paths that the row takes through boosted trees.

    What a tree adds to the margin (the log-odds before the sigmoid) is the mean of its root plus, at every split on
    the way down, the step from the mean of a node to that of the child that the row goes to. Each step is put down to
    the feature that is split on:

    .. math:: z_j(x) = \sum_t \sum_{v \in \mathrm{path}_t(x),\; j(v) = j} \big(\mu_{\mathrm{child}(v, x)} - \mu_v\big),

    with :math:`\mu_v` the mean of the leaves below node v, each weighted by its cover: the sum of the second
    derivatives of the loss of the training rows that reached it when the tree was grown. Like SHAP values these add
    up, with `base_value_`, to the margin. Unlike them they depend on the order in which a tree asks: they are not
    Shapley values. For an explanation, use `ShapValues`; to calibrate with, these cost one pass through each tree.

    Parameters
    ----------
    model : fitted classifier
        An `XGBClassifier` or `XGBRFClassifier` with trees, each of one output (the default), a `Pipeline` that ends in
        one, or one in a `FrozenEstimator`. May be set later: ``PathContributions().set_params(model=model)``.
    iteration_range : (int, int), optional
        Use only the boosting rounds from the first number up to the second. Left out: all, or up to the best round of
        a model that stopped early.

    Attributes
    ----------
    base_value_ : float, or ndarray of shape (L,) with more than two classes
        The intercept of the model plus the means at the roots of its trees.
    n_features_in_ : int

    See Also
    --------
    LeafCoverage : Which leaves a row falls in; a ridge was measured with both, side by side.
    ShapValues : The same, averaged over the orders of features: exact Shapley values, which take longer.
    StagedMargins : What each stage of boosting adds to the margin.
    clustcal.RidgeCalibration : The ridge that was measured with these beside `LeafCoverage`.

    Notes
    -----
    With two classes the result has one column per feature, for the second class. With L > 2 classes there are L times
    d columns: all features for the first class, then for the second, and so on. The values are XGBoost's
    ``approx_contribs``, which adds up in single precision.

    The decomposition is that of Palczewska et al. (2013), *Interpreting random forest models using a feature
    contribution method*, and Saabas (2014), *Interpreting random forests*, as XGBoost has it for boosting. Lundberg et
    al. (2020), *From local explanations to global understanding with explainable AI for trees*, show how it depends
    on the depth of splits.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from xgboost import XGBClassifier
    >>> from clustcal.representations import PathContributions
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = XGBClassifier(n_estimators=20, n_jobs=1).fit(X[:300], y[:300])
    >>> paths = PathContributions(model).fit(X[300:])
    >>> Z = paths.transform(X[300:])
    >>> Z.shape
    (269, 30)
    >>> margin = model.predict(X[300:], output_margin=True)
    >>> bool(np.allclose(Z.sum(axis=1) + paths.base_value_, margin, atol=1e-3))
    True

    Beside leaf coverage, in a ridge for a model that is fitted already:

    >>> from sklearn.frozen import FrozenEstimator
    >>> from clustcal import CalibratedClassifier, RidgeCalibration
    >>> from clustcal.representations import LeafCoverage
    >>> parts = [PathContributions(), LeafCoverage(n_components=8, random_state=0)]
    >>> ridge = CalibratedClassifier(FrozenEstimator(model), RidgeCalibration(), representation=parts)
    >>> ridge.fit(X[300:450], y[300:450]).predict_proba(X[450:]).shape
    (119, 2)
    """

    # Whether the axes of Z mean the same for models that were fitted to other rows.
    axes_are_features = True
    # `fit` looks at one row only, so that weights of rows mean nothing.
    learns_from_rows = False

    def __init__(self, model: Estimator = None, iteration_range: tuple[int, int] | None = None) -> None:
        self.model = model
        self.iteration_range = iteration_range

    def fit(self, X: Inputs, y: object = None) -> Self:
        """Check the model against the rows and read its base value; the contributions need nothing else.

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
            If the model is not one of XGBoost's with trees of one output each, or if X has other features than it.
        NotFittedError
            If the model is not fitted.
        """
        self.__dict__.pop("n_features_in_", None)
        trees, rows = self._read(X)
        self._check_kind(trees, len(trees.classes_), rows)
        _, base = self._contributions(trees, rows[:1])
        self.base_value_ = base if len(base) > 1 else float(base[0])
        self._names = names_of_contributions(self.model, rows, trees.classes_)
        self.n_features_in_ = np.shape(X)[1]
        return self

    def transform(self, X: Inputs) -> Floats:
        """Return the contributions of every row, shape (n, d), or (n, L d) with L > 2 classes; float64."""
        check_is_fitted(self)
        trees, X = self._read(X)
        values, _ = self._contributions(trees, X)
        return values.reshape(len(values), -1).astype(np.float64)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Return the name of every column: the feature's, with more than two classes ``"class:feature"``."""
        self._check_names(input_features)
        return self._names

    def _contributions(self, trees: Estimator, X: Inputs) -> tuple[NDArray[Any], Floats]:
        """Return contributions (n, L, d) and base values (L,); L is 1 with two classes."""
        found = xgboost_predict(trees, X, self.iteration_range, pred_contribs=True, approx_contribs=True)
        return split_contributions(found)

    def _check_kind(self, trees: Estimator, n_classes: int, X: Inputs) -> None:
        if package_of(trees) != "xgboost":
            instead = type(default_representation(trees, n_classes)).__name__
            raise ValueError(
                f"model is a {type(trees).__name__}; expected a classifier of XGBoost (or another representation, "
                f"such as {instead})."
            )
        check_that_xgboost_gives_contributions(trees)
