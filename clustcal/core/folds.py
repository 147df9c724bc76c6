"""Folds of rows for cross-validation, dealt out by class and by weight."""

from numbers import Integral

import numpy as np
from sklearn.model_selection import check_cv


def make_folds(cv, codes, weights, seed=None):
    """Return the folds as pairs (train, held_out) of row numbers.

    Parameters
    ----------
    cv : int, splitter or iterable
        As for `ClusteredCalibrationCV`.
    codes : ndarray of shape (n,), int
    weights : ndarray of shape (n,)
    seed : int, optional
        Draws which rows of a class go to which fold; without it they are dealt out as they stand.
    """
    if not isinstance(cv, Integral):
        folds = list(check_cv(cv).split(codes, codes))
        if not folds:
            raise ValueError("cv has no folds; expected at least one (an iterator can be used up only once).")
        folds = [tuple(np.arange(len(codes))[part] for part in fold) for fold in folds]  # masks become numbers
        for train, held_out in folds:
            shared = np.intersect1d(train, held_out)
            if shared.size:
                raise ValueError(f"cv has a fold that trains on row {shared[0]} and holds it out; expected either.")
        return folds
    if not 2 <= cv <= len(codes):
        raise ValueError(f"cv is {cv}; expected from 2 to {len(codes)} folds, the number of rows.")
    # Each class is dealt out in turn. StratifiedKFold does so too, but refuses classes with fewer rows than folds.
    chance = np.zeros(len(codes)) if seed is None else np.random.default_rng(seed).random(len(codes))
    dealt = np.lexsort([chance, codes, weights == 0])
    fold = np.empty(len(codes), dtype=int)
    fold[dealt] = np.arange(len(codes)) % cv
    return [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(cv)]
