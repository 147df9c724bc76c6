"""Folds of rows, dealt out by class and by weight."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, StratifiedKFold

from clustcal.core.folds import make_folds

CODES = np.repeat([0, 1, 2], [10, 5, 2])


@pytest.mark.parametrize("seed", [None, 0])
@pytest.mark.parametrize("cv", [2, 3, 17])
def test_every_row_is_held_out_once_and_trained_on_otherwise(cv, seed):
    folds = make_folds(cv, CODES, np.ones(17), seed)
    assert len(folds) == cv
    np.testing.assert_array_equal(np.sort(np.concatenate([held_out for _, held_out in folds])), np.arange(17))
    for train, held_out in folds:
        np.testing.assert_array_equal(np.sort(np.concatenate([train, held_out])), np.arange(17))


@pytest.mark.parametrize("seed", [None, 3])
def test_every_class_is_dealt_out_evenly_and_so_are_all_rows(seed):
    folds = make_folds(5, CODES, np.ones(17), seed)
    for k, size in enumerate([10, 5, 2]):
        counts = [(CODES[held_out] == k).sum() for _, held_out in folds]
        assert sum(counts) == size
        assert max(counts) - min(counts) <= 1
    assert {len(held_out) for _, held_out in folds} == {3, 4}


def test_without_a_seed_folds_are_blocks_of_the_rows_of_each_class():
    """Copies of a row stand side by side; a fold must not train on one and calibrate on the other."""
    folds = make_folds(2, np.array([0, 1, 0, 1, 0, 1]), np.ones(6))
    assert [held_out.tolist() for _, held_out in folds] == [[0, 1, 2], [3, 4, 5]]


def test_without_a_seed_folds_are_those_of_scikit_learn():
    codes = np.random.default_rng(0).permutation(np.repeat([0, 1, 2], [50, 30, 20]))
    expected = StratifiedKFold(5).split(codes, codes)
    for (train, held_out), (their_train, their_held_out) in zip(
        make_folds(5, codes, np.ones(100)), expected, strict=True
    ):
        np.testing.assert_array_equal(train, their_train)
        np.testing.assert_array_equal(held_out, their_held_out)


def test_a_seed_draws_them():
    drawn = [make_folds(2, np.zeros(40, int), np.ones(40), seed)[0][1].tolist() for seed in (0, 0, 1)]
    assert drawn[0] == drawn[1] != drawn[2]


def test_rows_without_weight_are_dealt_out_apart():
    """They count for nothing, so each fold has its share of the rows that count."""
    weights = np.tile([2.0, 0, 0, 0, 0], 10)
    folds = make_folds(5, np.zeros(50, int), weights)
    assert [weights[held_out].sum() for _, held_out in folds] == [4] * 5


def test_splitters_and_lists_are_taken_as_they_are():
    expected = list(KFold(3).split(CODES))
    for given in (KFold(3), expected, iter(expected)):
        for (train, held_out), (their_train, their_held_out) in zip(
            make_folds(given, CODES, np.ones(17)), expected, strict=True
        ):
            np.testing.assert_array_equal(train, their_train)
            np.testing.assert_array_equal(held_out, their_held_out)


@pytest.mark.parametrize(
    ("cv", "message"), [(1, "cv is 1"), (18, "from 2 to 17"), (True, "cv is True"), ([], "no folds")]
)
def test_numbers_of_folds_that_cannot_serve_are_named(cv, message):
    with pytest.raises(ValueError, match=message):
        make_folds(cv, CODES, np.ones(17))
