"""Margins by stages of boosting: what the first trees said of a row, what the next ones changed, and so on."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from clustcal.core.array_types import Estimator, Floats, Inputs
from clustcal.core.parameters import check_whole_number
from clustcal.representations.tree_models import (
    TreeRepresentation,
    boosting_rounds,
    catboost_threads,
    check_that_xgboost_has_trees,
    is_random_forest,
    lightgbm_predict,
    package_of,
    xgboost_predict,
)


class StagedMargins(TreeRepresentation):
    r"""What each stage of boosting adds to the margin of a row.

    The rounds of the model are cut into stages of equal length, up to one round. With :math:`s_r(x)` the margin (the
    log-odds before the sigmoid) after r rounds and :math:`r_0 = 0 < r_1 < \dots < r_K` the ends of the stages,

    .. math:: z_1(x) = s_{r_1}(x), \qquad z_k(x) = s_{r_k}(x) - s_{r_{k-1}}(x),

    so that the columns add up to the margin. They cost one prediction. A linear map of them can take back what late
    rounds have added too much.

    Parameters
    ----------
    model : fitted classifier
        A boosting classifier of XGBoost (with trees), LightGBM or CatBoost, but none that grows a random forest; a
        `Pipeline` that ends in one, or one in a `FrozenEstimator`. May be set later:
        ``StagedMargins().set_params(model=model)``.
    n_stages : int, default=8
        K; fewer where the model has fewer rounds: `n_stages_` tells.
    iteration_range : (int, int), optional
        Use only the boosting rounds from the first number up to the second. Left out: all, or up to the best round of
        a model that stopped early.

    Attributes
    ----------
    n_stages_ : int
    ends_ : list of int
        The rounds behind the last of each stage.
    n_features_in_ : int

    See Also
    --------
    LeafCoverage : Which leaves a row falls in; of random forests as well.
    PathContributions, ShapValues : What each feature adds to the margin.
    clustcal.RidgeCalibration : A linear map of such columns.

    Notes
    -----
    With two classes the result has a column for each stage. With L > 2 classes there are K times L columns: all
    classes for the first stage, then for the second, and so on. The packages of trees add up in single precision.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from xgboost import XGBClassifier
    >>> from clustcal.representations import StagedMargins
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = XGBClassifier(n_estimators=20, n_jobs=1).fit(X[:300], y[:300])
    >>> Z = StagedMargins(model, n_stages=4).fit_transform(X[300:])
    >>> Z.shape
    (269, 4)
    >>> bool(np.allclose(Z.sum(axis=1), model.predict(X[300:], output_margin=True), atol=1e-4))
    True
    >>> StagedMargins(model, n_stages=4).fit(X[300:]).get_feature_names_out().tolist()
    ['rounds 1-5', 'rounds 6-10', 'rounds 11-15', 'rounds 16-20']
    """

    # `fit` looks at one row only, so that weights of rows mean nothing.
    learns_from_rows = False
    whole_number = "n_stages"

    def __init__(
        self, model: Estimator = None, n_stages: int = 8, iteration_range: tuple[int, int] | None = None
    ) -> None:
        self.model = model
        self.n_stages = n_stages
        self.iteration_range = iteration_range

    def fit(self, X: Inputs, y: object = None) -> Self:
        """Check the model against the rows, and cut its rounds into stages.

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
            If the model is not one of the boosting classifiers above, or if X has other features than the model.
        NotFittedError
            If the model is not fitted.
        """
        self.__dict__.pop("n_features_in_", None)
        trees, rows = self._read(X)
        self._check_kind(trees, len(trees.classes_), rows)
        start, end = boosting_rounds(trees, self.iteration_range)
        ends = np.unique(np.linspace(start, end, self.n_stages + 1).astype(int))
        self._start, self.ends_ = start, ends[1:].tolist()
        self.n_stages_ = len(self.ends_)
        self._intercept = 0.0
        stages, margin = self._stages(trees, rows[:1]), _margins(trees, rows[:1], (start, end))
        # Some packages add the intercept of the model to the margin of any rounds: K times in all, where once is right.
        self._intercept = (stages.sum(axis=1) - margin)[0] / max(self.n_stages_ - 1, 1)
        self._labels = None if stages.ndim == 2 else trees.classes_
        self.n_features_in_ = np.shape(X)[1]
        return self

    def transform(self, X: Inputs) -> Floats:
        """Return what every stage adds to the margin, shape (n, K), or (n, K L) with L > 2 classes; float64."""
        check_is_fitted(self)
        stages = self._stages(*self._read(X))
        return stages.reshape(len(stages), -1)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Return the name of every column: ``"rounds 1-38"``, with more than two classes ``"class: rounds 1-38"``."""
        self._check_names(input_features)
        edges = [self._start, *self.ends_]
        names = [f"rounds {start + 1}-{end}" for start, end in pairwise(edges)]
        if self._labels is not None:
            names = [f"{label}: {name}" for name in names for label in self._labels]
        return np.array(names, dtype=object)

    def _stages(self, trees: Estimator, X: Inputs) -> Floats:
        """Return what every stage adds, shape (n, K), or (n, K, L) with L > 2 classes; the first has the intercept."""
        edges = [self._start, *self.ends_]
        stages = np.stack([_margins(trees, X, rounds) for rounds in pairwise(edges)], axis=1)
        stages[:, 1:] -= self._intercept
        return stages

    def _check_kind(self, trees: Estimator, n_classes: int, X: Inputs) -> None:
        check_whole_number("n_stages", self.n_stages)
        package = package_of(trees)
        if package is None:
            raise ValueError(
                f"model is a {type(trees).__name__}; expected a boosting classifier of XGBoost, LightGBM or CatBoost."
            )
        if package == "xgboost":
            check_that_xgboost_has_trees(trees)
        if is_random_forest(trees):
            raise ValueError(
                f"model is a {type(trees).__name__} that grows a random forest, which has no stages; expected a "
                "boosting classifier, or LeafCoverage."
            )


def _margins(trees: Estimator, X: Inputs, rounds: tuple[int, int]) -> Floats:
    """Return the margins of some rounds, shape (n,), or (n, L) with L > 2 classes."""
    margins = np.asarray(MARGINS[package_of(trees)](trees, X, rounds), dtype=np.float64)
    # A softmax of two classes: the log-odds are the difference of its margins.
    return margins[:, 1] - margins[:, 0] if margins.shape[1:] == (2,) else margins


def _margins_of_catboost(trees: Estimator, X: Inputs, rounds: tuple[int, int]) -> NDArray[Any]:
    start, end = rounds
    return trees.predict(
        X, prediction_type="RawFormulaVal", ntree_start=start, ntree_end=end, thread_count=catboost_threads(trees)
    )


# How each package is asked for the margins (n,), or (n, L) with more than two classes, of some rounds.
MARGINS: dict[str | None, Callable[..., Any]] = {
    "xgboost": lambda trees, X, rounds: xgboost_predict(trees, X, rounds, output_margin=True),
    "lightgbm": lambda trees, X, rounds: lightgbm_predict(trees, X, rounds, raw_score=True),
    "catboost": _margins_of_catboost,
}
