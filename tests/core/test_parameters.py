"""Checks of levels and counts."""

import numpy as np
import pytest

from clustcal.core.parameters import check_level, check_whole_number


@pytest.mark.parametrize("level", [0, 1, 95, -0.1, np.nan, "0.9", None, True])
def test_a_level_that_is_none_is_refused(level):
    with pytest.raises(ValueError, match=r"band is .*; expected a number between 0 and 1"):
        check_level("band", level)


@pytest.mark.parametrize("number", [0, -1, 2.0, "3", None, True])
def test_a_count_that_is_none_is_refused(number):
    with pytest.raises(ValueError, match=r"n_draws is .*; expected a whole number of at least 1"):
        check_whole_number("n_draws", number)


def test_what_is_right_passes():
    check_level("band", np.float64(0.5))
    check_whole_number("n_draws", np.int64(3), 3)
