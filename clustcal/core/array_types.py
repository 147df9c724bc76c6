"""The types that signatures share: what may be given, and what comes out.

Public functions take what numpy can read, ``ArrayLike``, and give arrays of float64. Those behind the door take these.
"""

from collections.abc import Iterable
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.intp]
Booleans: TypeAlias = NDArray[np.bool_]
Labels: TypeAlias = NDArray[Any]

# A representation behind the door: an array of float64, or a CSR matrix of scipy, which has no types of its own.
Matrix: TypeAlias = Any
# Rows as a classifier takes them: an array, a frame, texts, images.
Inputs: TypeAlias = Any
# An estimator of scikit-learn, or of what is made like it; these have no types either.
Estimator: TypeAlias = Any


class Sparse(Protocol):
    """A sparse matrix or array of scipy."""

    def tocsr(self) -> Any: ...


class Splitter(Protocol):
    """What parts rows into folds, such as `sklearn.model_selection.KFold`."""

    def split(self, X: Any, y: Any = None, groups: Any = None) -> Iterable[tuple[Any, Any]]: ...


Representation: TypeAlias = ArrayLike | Sparse
Folds: TypeAlias = list[tuple[Integers, Integers]]
# What a parameter cv may be, and a random_state of scikit-learn's and of ours.
Splits: TypeAlias = int | Splitter | Iterable[tuple[ArrayLike, ArrayLike]]
Seed: TypeAlias = int | np.random.RandomState | None
AnySeed: TypeAlias = Seed | np.random.Generator

Bins: TypeAlias = int | Literal["auto"] | list[float] | tuple[float, ...] | NDArray[Any]
Strategy: TypeAlias = Literal["uniform", "quantile"]
Confidence: TypeAlias = Literal["top-label", "positive"]
Kind: TypeAlias = Literal["auto", "positive", "top-label", "classwise"]
Event: TypeAlias = Literal["auto", "positive", "top-label"]
Membership: TypeAlias = Literal["cosine", "chord"]
