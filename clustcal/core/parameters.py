"""Checks of parameters, one sentence each: which parameter, what was found, what is expected."""

from __future__ import annotations

from collections.abc import Collection
from numbers import Integral, Real
from typing import Any

import numpy as np

from clustcal.core.array_types import Floats

# Characters of a value that an error shows.
LONGEST_SHOWN = 88


def is_real(value: Any) -> bool:
    """Whether it is a real number."""
    return isinstance(value, Real)


def numbers_in(value: Any) -> Floats:
    """Return a sequence of numbers as an array; an empty one if it is no such thing, which no check then accepts."""
    try:
        return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        return np.empty(0)


def shown(value: Any) -> str:
    """Return a value as an error shows it: 0 and not np.int64(0), also within a list; on one line, and not too long.

    Examples
    --------
    >>> print(shown([np.int64(0), np.float64(0.5)]))
    [0, 0.5]
    >>> print(shown("long " * 100))
    'long long long long long long long long long long long long long long long long long...
    """
    try:
        with np.printoptions(legacy="1.25"):
            text = " ".join(repr(value).split())
    except ValueError:  # a whole number of thousands of digits
        text = f"a {type(value).__name__} too large to show"
    return text if len(text) <= LONGEST_SHOWN else text[: LONGEST_SHOWN - 3] + "..."


def check_at_least_0(name: str, value: Any) -> None:
    """Raise a ValueError unless the parameter is a finite number of at least 0."""
    if not is_real(value) or isinstance(value, (bool, np.bool_)) or not 0 <= value < np.inf:
        raise ValueError(f"{name} is {shown(value)}; expected a number of at least 0.")


def check_above_0(name: str, value: Any) -> None:
    """Raise a ValueError unless the parameter is a finite number above 0."""
    if not is_real(value) or isinstance(value, bool) or not 0 < value < np.inf:
        raise ValueError(f"{name} is {shown(value)}; expected a number above 0.")


def check_share(name: str, value: Any) -> None:
    """Raise a ValueError unless the parameter is a number above 0 and at most 1."""
    if not is_real(value) or isinstance(value, bool) or not 0 < value <= 1:
        raise ValueError(f"{name} is {shown(value)}; expected a number above 0 and at most 1.")


def read_numbers(name: str, values: Any) -> Floats:
    """Return values as an array of float64, or raise a ValueError that says that they could not be read as one."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"{name} could not be read as numbers.") from None


def check_one_of(name: str, value: Any, choices: Collection[Any], *, otherwise: str | None = None) -> None:
    """Raise a ValueError unless the parameter is one of the choices; ``otherwise`` says what else the caller takes."""
    if not (value is None or isinstance(value, str)) or value not in choices:
        also = "" if otherwise is None else f" or {otherwise}"
        raise ValueError(f"{name} is {shown(value)}; expected one of {tuple(choices)}{also}.")


def check_true_or_false(name: str, value: Any) -> None:
    """Raise a ValueError unless the parameter is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise ValueError(f"{name} is {shown(value)}; expected True or False.")


def check_whole_number(name: str, value: Any, lowest: int = 1) -> None:
    """Raise a ValueError unless the parameter is a whole number of at least the lowest."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < lowest:
        raise ValueError(f"{name} is {shown(value)}; expected a whole number of at least {lowest}.")


def check_level(name: str, value: Any) -> None:
    """Raise a ValueError unless the parameter is a number strictly between 0 and 1."""
    if not is_real(value) or isinstance(value, bool) or not 0 < value < 1:
        raise ValueError(f"{name} is {shown(value)}; expected a number between 0 and 1.")
