"""The features themselves as a representation: those that a model sees, standardised."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from clustcal.core.array_types import Estimator, Floats, Inputs


class StandardizedFeatures(TransformerMixin, BaseEstimator):
    """The features that a model sees, each with mean 0 and variance 1 on the rows that `fit` is given.

    Parameters
    ----------
    model : fitted classifier, optional
        Of a `Pipeline` the features are those that its last step sees. Left out, or for any other model: the columns
        of X as they are.

    Attributes
    ----------
    scaler_ : StandardScaler
        Without centring for sparse features, which would not stay sparse.
    n_features_in_ : int
        Where X has columns.

    Examples
    --------
    >>> from clustcal.representations import StandardizedFeatures
    >>> StandardizedFeatures().fit_transform([[1.0, 5.0], [3.0, 9.0]])
    array([[-1., -1.],
           [ 1.,  1.]])
    """

    # Whether the axes of Z mean the same for models that were fitted to other rows.
    axes_are_features = True

    def __init__(self, model: Estimator = None) -> None:
        self.model = model

    def fit(self, X: Inputs, y: object = None, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the mean and the variance of every feature.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d), or whatever the first step of the pipeline takes
        y : ignored
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        self
        """
        features = self._features(X)
        scaler = StandardScaler(with_mean=not sparse.issparse(features)).set_output(transform="default")
        self.scaler_ = scaler.fit(features, sample_weight=sample_weight)
        self.n_features_in_ = np.shape(X)[1] if len(np.shape(X)) == 2 else features.shape[1]
        return self

    def transform(self, X: Inputs) -> Floats:
        """Return the standardised features, shape (n, m)."""
        check_is_fitted(self)
        return self.scaler_.transform(self._features(X))

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[Any]:
        """Return the names of the features, as the steps before the last one tell them."""
        check_is_fitted(self)
        names = getattr(self, "_names", None)
        if names is None:
            names = names_behind(_steps_before_the_last(self.model), self.scaler_.n_features_in_)
        return np.array(names, dtype=object)

    def __sklearn_clone__(self) -> Self:
        # A clone describes the same fitted model: cloning the model as well would leave it unfitted.
        return type(self)(**self.get_params(deep=False))

    def check_beforehand(self, estimator: Estimator, X: Inputs, n_classes: int) -> None:
        """Raise a ValueError if rows X cannot be standardised; behind steps of a pipeline only these can tell."""
        if _steps_before_the_last(estimator) is None:
            _check_numbers(X)
            values = X.data if sparse.issparse(X) else np.asarray(X, dtype=float)
            if not np.isfinite(values).all():
                raise ValueError(
                    "X holds NaN or infinite values, which StandardizedFeatures cannot standardise; expected numbers, "
                    "an imputer in a pipeline before the model, or another representation."
                )

    def _features(self, X: Inputs) -> Floats:
        """Return the features as an array without names, or a sparse matrix."""
        steps = _steps_before_the_last(self.model)
        if steps is not None:
            X = steps.transform(X)
        self._names = list(X.columns) if hasattr(X, "columns") else None
        _check_numbers(X)
        return X if sparse.issparse(X) else np.asarray(X)


def names_behind(steps: Estimator, m: int) -> NDArray[Any]:
    """Return the names of the m features behind the steps of a pipeline; x0, x1, ... where these do not tell them."""
    try:
        names = [f"x{j}" for j in range(m)] if steps is None else steps.get_feature_names_out()
    except (AttributeError, ValueError):  # a step without names, such as a function
        names = [f"x{j}" for j in range(m)]
    return np.asarray(names, dtype=object)


def _check_numbers(X: Inputs) -> None:
    """Raise a ValueError unless X is a table of numbers."""
    what = (
        "which StandardizedFeatures cannot standardise; expected numbers, an encoder in a pipeline before the model, "
    )
    what += "or another representation"
    if hasattr(X, "columns"):
        for name in X.columns:
            if not _holds_numbers(X[name]):
                raise ValueError(f"X has the column {name!r} of {X[name].dtype}, {what}.")
    elif not sparse.issparse(X):
        X = np.asarray(X)
        if X.ndim != 2:
            raise ValueError(f"X has {X.ndim} dimensions, {what}.")
        if not _holds_numbers(X):
            raise ValueError(f"X has values that are no numbers, {what}.")


def _holds_numbers(values: Any) -> bool:
    try:
        values = np.asarray(values)
        return values.dtype.kind in "biuf" or (values.dtype.kind == "O" and bool(values.astype(float).size))
    except ValueError:
        return False
    except TypeError:  # neither text nor numbers: numpy says best what these are
        return True


def _steps_before_the_last(model: Estimator) -> Estimator:
    if isinstance(model, FrozenEstimator):
        model = model.estimator
    return model[:-1] if isinstance(model, Pipeline) and len(model) > 1 else None
