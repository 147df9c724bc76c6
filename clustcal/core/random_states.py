"""One meaning of ``random_state`` for metrics and generated data: what scikit-learn accepts, and numpy's Generators.

Calibrators hand theirs to scikit-learn's K-means, and so take what that takes.
"""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np

from clustcal.core.parameters import shown


def as_generator(random_state: Any) -> np.random.Generator:
    """Return the numpy Generator that ``random_state`` stands for.

    Parameters
    ----------
    random_state : int, RandomState instance, Generator or None
        A whole number is a seed. A RandomState or a Generator is drawn from, and so moves on. None: new entropy.

    Returns
    -------
    numpy.random.Generator

    Raises
    ------
    ValueError
        If it is none of these.
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        # The Generator draws from the same stream of bits, which thus moves on as users of RandomState expect.
        return np.random.Generator(random_state._bit_generator)
    is_seed = _is_whole(random_state) and random_state >= 0
    if random_state is None or is_seed:
        return np.random.default_rng(random_state)
    raise ValueError(
        f"random_state is {shown(random_state)}; expected a whole number of at least 0, a RandomState, a Generator "
        "or None."
    )


def check_random_state(random_state: Any) -> None:
    """Raise a ValueError unless scikit-learn can draw from it: a seed of 32 bits, a RandomState or None."""
    is_seed = _is_whole(random_state) and 0 <= random_state < 2**32
    if not (random_state is None or is_seed or isinstance(random_state, np.random.RandomState)):
        raise ValueError(
            f"random_state is {shown(random_state)}; expected a whole number from 0 to {2**32 - 1}, a RandomState or "
            "None."
        )


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)
