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


def test_lines_beyond_the_knots_and_none_in_between():
    splines = NaturalSplines(KNOTS)
    for beyond in (np.array([-52.0, -36.0, -20.0, -4.0]), np.array([7.0, 47.0, 87.0, 127.0])):
        values = splines(beyond)
        np.testing.assert_allclose(values[1:-1], (values[2:] + values[:-2]) / 2, rtol=1e-9)
    at_knots = splines(KNOTS)
    np.testing.assert_allclose(np.column_stack([np.ones(6), KNOTS]).T @ at_knots, 0, atol=1e-9)


@pytest.mark.parametrize("knots", [[], [1.0], [1.0, 2.0]])
def test_of_less_than_three_knots_there_are_only_lines(knots):
    assert NaturalSplines(np.array(knots))(np.arange(3.0)).shape == (3, 0)
