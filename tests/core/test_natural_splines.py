"""Natural splines: their roughness by numerical integration, and straight lines beyond the knots."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

from clustcal.core.natural_splines import NaturalSplines

KNOTS = np.array([-4.0, -1.5, 0.0, 0.5, 3.0, 7.0])
STEP = 1e-3


def second_derivatives(splines, z):
    return (splines(z + STEP) - 2 * splines(z) + splines(z - STEP)) / STEP**2


def test_roughness_is_one_and_no_two_share_any():
    splines = NaturalSplines(KNOTS)
    assert splines.n_functions == 4
    product = lambda t, i, j: np.prod(second_derivatives(splines, np.array([t]))[0, [i, j]])
    for i in range(4):
        for j in range(4):
            pieces = pairwise(KNOTS)
            integral = sum(quad(product, a, b, args=(i, j), epsabs=1e-8)[0] for a, b in pieces)
            assert integral == pytest.approx(float(i == j), abs=1e-3)


def test_lines_beyond_the_knots_for_as_far_again_then_constants_and_none_of_them_in_between():
    splines = NaturalSplines(KNOTS)
    for end, away in ((KNOTS[0], -1), (KNOTS[-1], 1)):
        reach = away * np.ptp(KNOTS)
        values = splines(end + reach * np.linspace(0.01, 1, 5))
        np.testing.assert_allclose(values[1:-1], (values[2:] + values[:-2]) / 2, rtol=1e-9)
        np.testing.assert_array_equal(splines(end + reach * np.array([1, 2, 1e6])), values[[-1] * 3])
    at_knots = splines(KNOTS)
    np.testing.assert_allclose(np.column_stack([np.ones(6), KNOTS]).T @ at_knots, 0, atol=1e-9)


@pytest.mark.parametrize("knots", [[], [1.0], [1.0, 2.0]])
def test_of_less_than_three_knots_there_are_only_lines(knots):
    assert NaturalSplines(np.array(knots))(np.arange(3.0)).shape == (3, 0)
