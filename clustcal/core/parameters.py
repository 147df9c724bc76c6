"""Checks of parameters, one sentence each: which parameter, what was found, what is expected."""

from numbers import Real

import numpy as np


def check_at_least_0(name, value):
    """Raise a ValueError unless the parameter is a finite number of at least 0."""
    if not isinstance(value, Real) or not 0 <= value < np.inf:
        raise ValueError(f"{name} is {value!r}; expected a number of at least 0.")
