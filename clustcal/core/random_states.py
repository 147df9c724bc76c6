"""One meaning of ``random_state`` for all that draws: seeds of any size, RandomState, numpy's Generators, or None.

What is cloned, as calibrators are by `CalibratedClassifier` and by searches, draws from a copy, so each clone draws
the same. None is new entropy, but where scikit-learn draws: there it is numpy's global state, as everywhere in
scikit-learn.
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


def as_random_state(random_state: Any) -> int | np.random.RandomState | None:
    """Return what scikit-learn draws from in place of ``random_state``, which is as in `as_generator`.

    Seeds of 32 bits, instances of RandomState and None are what it takes itself. A Generator, or one for a larger seed,
    hands over its stream of bits, which thus moves on.
    """
    is_seed_of_32_bits = _is_whole(random_state) and 0 <= random_state < 2**32
    if random_state is None or is_seed_of_32_bits or isinstance(random_state, np.random.RandomState):
        return random_state
    return np.random.RandomState(as_generator(random_state).bit_generator)


def check_random_state(random_state: Any) -> None:
    """Raise a ValueError unless `as_generator` takes it; nothing is drawn."""
    as_generator(random_state)


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)
