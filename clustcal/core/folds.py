"""Folds of rows for cross-validation, dealt out by class and by weight."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from clustcal.core.array_types import Floats, Folds, Integers
from clustcal.core.parameters import shown


def make_folds(cv: Any, codes: Integers, weights: Floats, seed: int | None = None) -> Folds:
    """Return the folds as pairs (train, held_out) of row numbers.

    Parameters
    ----------
    cv : int, splitter or iterable
        As for `ClusteredCalibrationCV`.
    codes : ndarray of shape (n,), int
    weights : ndarray of shape (n,)
    seed : int, optional
        Draws which rows of a class go to which fold; without it each fold holds out a block of the rows of each class,
        as scikit-learn's do. Neighbours, often copies of a row or measures of one person, thus mostly stay together.
    """
    if not isinstance(cv, Integral):
        if not hasattr(cv, "split"):
            cv = _pairs(cv)
        folds = list(check_cv(cv).split(codes, codes))
        if not folds:
            raise ValueError("cv has no folds; expected at least one (an iterator can be used up only once).")
        folds = [tuple(np.arange(len(codes))[part] for part in fold) for fold in folds]  # masks become numbers
        for train, held_out in folds:
            shared = np.intersect1d(train, held_out)
            if shared.size:
                raise ValueError(f"cv has a fold that trains on row {shared[0]} and holds it out; expected either.")
        return folds
    check_number_of_folds(cv, len(codes))
    # Each class is dealt out evenly. StratifiedKFold does so too, but refuses classes with fewer rows than folds.
    chance = np.zeros(len(codes)) if seed is None else np.random.default_rng(seed).random(len(codes))
    dealt = np.lexsort([chance, codes, weights == 0])
    fold = np.empty(len(codes), dtype=int)
    fold[dealt] = np.arange(len(codes)) % cv
    if seed is None:
        fold[dealt] = fold[dealt][np.lexsort([fold[dealt], codes[dealt], weights[dealt] == 0])]
    return [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(cv)]


def _pairs(cv: Any) -> list[tuple[Any, Any]]:
    try:
        return [(train, held_out) for train, held_out in cv]
    except (TypeError, ValueError):
        raise ValueError(
            f"cv is {shown(cv)[:80]}; expected a number of folds, a splitter, or pairs of (train, held out) rows."
        ) from None


def check_number_of_folds(cv: Any, n: int) -> None:
    """Raise a ValueError unless n rows can be dealt out to this number of folds."""
    if isinstance(cv, bool) or not 2 <= cv <= n:
        raise ValueError(f"cv is {shown(cv)}; expected from 2 to {n} folds, the number of rows.")
