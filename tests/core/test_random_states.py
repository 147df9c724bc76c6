"""What random_state may be, and what it then stands for."""

import numpy as np
import pytest
import sklearn.utils

from clustcal.core.random_states import as_generator, check_random_state


def test_a_seed_is_numpys_default_generator_of_it():
    assert as_generator(3).random() == as_generator(np.int64(3)).random() == np.random.default_rng(3).random()


def test_a_generator_is_itself():
    rng = np.random.default_rng(0)
    assert as_generator(rng) is rng


def test_a_random_state_is_drawn_from_and_moves_on():
    state, untouched = np.random.RandomState(0), np.random.RandomState(0)
    one, two = as_generator(state).random(), as_generator(state).random()
    assert one != two
    assert one == as_generator(untouched).random()
    assert state.random() != np.random.RandomState(0).random()


def test_none_draws_anew():
    assert as_generator(None).random() != as_generator(None).random()


@pytest.mark.parametrize("state", ["3", -1, 1.5, True, [1]])
def test_anything_else_is_refused(state):
    with pytest.raises(ValueError, match="random_state is"):
        as_generator(state)


@pytest.mark.parametrize("state", ["a", -1, 2**32, 1.5, True, [1], np.random.default_rng(0)])
def test_what_scikit_learn_cannot_draw_from_is_refused(state):
    with pytest.raises(ValueError, match=r"random_state is .*expected a whole number from 0 to 4294967295"):
        check_random_state(state)


@pytest.mark.parametrize("state", [None, 0, np.int64(7), 2**32 - 1, np.random.RandomState(0)])
def test_what_it_can_draw_from_passes(state):
    check_random_state(state)
    sklearn.utils.check_random_state(state)
