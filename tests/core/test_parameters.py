"""Checks of levels and counts."""

import numpy as np
import pytest

from clustcal.core.parameters import check_level, check_one_of, check_true_or_false, check_whole_number


@pytest.mark.parametrize("level", [0, 1, 95, -0.1, np.nan, "0.9", None, True])
def test_a_level_that_is_none_is_refused(level):
    with pytest.raises(ValueError, match=r"band is .*; expected a number between 0 and 1"):
        check_level("band", level)


@pytest.mark.parametrize("number", [0, -1, 2.0, "3", None, True])
def test_a_count_that_is_none_is_refused(number):
    with pytest.raises(ValueError, match=r"n_draws is .*; expected a whole number of at least 1"):
        check_whole_number("n_draws", number)


@pytest.mark.parametrize("choice", ["third", None, 1, ["first"], np.array(["first"]), ("first", "second")])
def test_a_choice_that_is_none_is_refused(choice):
    with pytest.raises(ValueError, match=r"order is .*; expected one of \('first', 'second'\)"):
        check_one_of("order", choice, ("first", "second"))


@pytest.mark.parametrize("value", ["x", "True", None, 1, 0, [True]])
def test_what_is_neither_true_nor_false_is_refused(value):
    with pytest.raises(ValueError, match=r"exact is .*; expected True or False"):
        check_true_or_false("exact", value)


def test_what_is_right_passes():
    check_one_of("order", "first", {"first": 1})
    check_one_of("order", None, ("first", None))
    check_true_or_false("exact", True)
    check_true_or_false("exact", np.bool_(False))
    check_level("band", np.float64(0.5))
    check_whole_number("n_draws", np.int64(3), 3)
