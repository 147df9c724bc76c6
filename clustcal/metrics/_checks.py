"""Checks of the numbers that several metrics take beside a forecast: levels, resamples."""

from numbers import Integral, Real


def check_level(level, name="confidence_level"):
    """Raise a ValueError if ``level`` is not a number strictly between 0 and 1."""
    if not isinstance(level, Real) or isinstance(level, bool) or not 0 < level < 1:
        raise ValueError(f"{name} is {level!r}; expected a number between 0 and 1.")


def check_count(number, name, least=1):
    """Raise a ValueError if ``number`` is not a whole number of at least ``least``."""
    if not isinstance(number, Integral) or isinstance(number, bool) or number < least:
        raise ValueError(f"{name} is {number!r}; expected a whole number of at least {least}.")
