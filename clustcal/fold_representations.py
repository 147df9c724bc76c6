"""A representation as a `CalibratedClassifier` fits it: to the model of a fold, to weighted rows, never to labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion
from sklearn.utils import _safe_indexing
from sklearn.utils.validation import has_fit_parameter

from clustcal.core.array_types import Estimator, Floats, Inputs, Integers, Matrix
from clustcal.core.user_warnings import warn_user

# Rows are repeated by their weights up to this many times their number, or up to the second number in all.
MOST_REPEATED = 10
ALWAYS_REPEATED = 100_000


class SideBySide(FeatureUnion):
    """Several representations of the same rows, their columns side by side."""

    @classmethod
    def of(cls, representations: Sequence[Estimator]) -> Self:
        """Return that of a list of transformers, copies of them and numbered in their order."""
        return cls([(str(k), clone(one)) for k, one in enumerate(representations)])

    @property
    def axes_are_features(self) -> bool:
        return all(getattr(one, "axes_are_features", False) for _, one in self.transformer_list)

    def sizes(self, X: Any) -> list[int]:
        """Return how many columns each representation has, fitted, given some rows."""
        row = _safe_indexing(X, [0])
        return [one.transform(row).shape[1] for _, one in self.transformer_list]


def named_members(representation: Estimator) -> list[tuple[str, Estimator]]:
    """Return the representations of a list as a user would call them, or the one that there is."""
    if isinstance(representation, SideBySide):
        return [(f"representation[{k}]", one) for k, (_, one) in enumerate(representation.transformer_list)]
    return [("representation", representation)]


def models_of(representation: Estimator) -> dict[str, Estimator]:
    """Return the names of the parameters ``model``, at any depth, and their values."""
    params = representation.get_params()
    return {key: value for key, value in params.items() if key.split("__")[-1] == "model"}


def takes_a_model(representation: Estimator) -> bool:
    """Whether some ``model`` of it, at any depth, is still missing."""
    return any(value is None for value in models_of(representation).values())


def fill_model(representation: Estimator, model: Estimator) -> Estimator:
    """Return a clone in which every parameter ``model`` that is None, at any depth, is this model."""
    missing = [key for key, value in models_of(representation).items() if value is None]
    filled = clone(representation)
    if missing:
        filled.set_params(**dict.fromkeys(missing, model))
    return filled


def fit_representation(representation: Estimator, X: Inputs, weights: Floats | None) -> Estimator:
    """Fit a representation to rows, without their labels; a weight of 2 is the same as two rows.

    A transformer that takes no ``sample_weight`` is fitted to each row as often as its weight says. That cannot be done
    for weights with a fraction, nor for very large ones: it then sees each row of positive weight once, with a warning.
    """
    if isinstance(representation, FrozenEstimator):
        return representation
    if weights is None or (weights == 1).all() or not getattr(representation, "learns_from_rows", True):
        return representation.fit(X)
    if isinstance(representation, SideBySide):  # each member takes weights in its own way
        members = representation.transformer_list
        representation.transformer_list = [(name, fit_representation(one, X, weights)) for name, one in members]
        return representation
    if has_fit_parameter(representation, "sample_weight"):
        return representation.fit(X, sample_weight=weights)
    return representation.fit(_safe_indexing(X, _repeated(weights, representation)))


def fit_and_transform(representation: Estimator, X: Inputs, weights: Floats | None) -> Matrix:
    """Fit a representation to rows, without their labels, and return it of the same rows."""
    is_plain = weights is None or (weights == 1).all()
    has_shortcut = hasattr(representation, "fit_transform") and not isinstance(representation, FrozenEstimator)
    if is_plain and has_shortcut and not has_fit_parameter(representation, "sample_weight"):
        return representation.fit_transform(X)
    return fit_representation(representation, X, weights).transform(X)


def _repeated(weights: Floats, representation: Estimator) -> Integers:
    """Return the number of every row as often as its weight says."""
    are_whole = (weights == np.round(weights)).all()
    if are_whole and weights.sum() <= max(MOST_REPEATED * len(weights), ALWAYS_REPEATED):
        return np.repeat(np.arange(len(weights)), weights.astype(int))
    warn_user(
        f"{type(representation).__name__} takes no sample_weight, and rows are repeated by whole weights only, up to "
        f"{MOST_REPEATED} on average; the representation counts each row of positive weight once."
    )
    return np.flatnonzero(weights > 0)


def joined(parts: list[Any], representation: Estimator) -> Matrix:
    """Return the representations of the rows held out in each fold as one array, in the order of the rows."""
    names = list(representation.get_feature_names_out())
    n = sum(len(held_out) for held_out, *_ in parts)
    Z = np.empty((n, len(names)))
    for held_out, _, _, of_fold, Z_fold in parts:
        if list(of_fold.get_feature_names_out()) != names:
            raise ValueError(
                "representation has other features in one fold than in all rows, and ensemble is False; expected "
                "ensemble=True."
            )
        Z[held_out] = Z_fold.toarray() if sparse.issparse(Z_fold) else Z_fold
    return Z
