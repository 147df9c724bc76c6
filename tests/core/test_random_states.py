"""What random_state may be, and what it then stands for."""

import numpy as np
import pytest
import sklearn.utils

from clustcal import ClusteredCalibration, ClusteredCalibrationCV
from clustcal.core.random_states import as_generator, as_random_state, check_random_state


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


@pytest.mark.parametrize("state", ["a", -1, 1.5, True, [1]])
def test_both_readings_refuse_the_same(state):
    for read in (check_random_state, as_random_state):
        with pytest.raises(ValueError, match=r"random_state is .*expected a whole number of at least 0"):
            read(state)


@pytest.mark.parametrize("state", [None, 0, np.int64(7), 2**32 - 1, np.random.RandomState(0)])
def test_scikit_learn_gets_what_it_takes_as_it_is(state):
    check_random_state(state)
    assert as_random_state(state) is state
    sklearn.utils.check_random_state(state)


def test_a_generator_hands_over_its_stream_and_moves_on():
    rng, untouched = np.random.default_rng(5), np.random.default_rng(5)
    drawn = as_random_state(rng).random_sample()
    assert drawn == untouched.random()
    assert rng.random() == untouched.random()


def test_a_check_draws_nothing():
    rng = np.random.default_rng(5)
    check_random_state(rng)
    assert rng.random() == np.random.default_rng(5).random()


def test_a_seed_of_more_than_32_bits_is_a_seed():
    draw = lambda seed: sklearn.utils.check_random_state(as_random_state(seed)).random_sample()
    assert draw(2**40) == draw(2**40) != draw(2**40 + 1)


@pytest.mark.parametrize("seed", [2**40, np.random.default_rng(0)])
def test_calibrators_take_them_too(seed):
    rng = np.random.default_rng(0)
    Z, p = rng.normal(size=(200, 3)), rng.uniform(size=200)
    y = rng.uniform(size=200) < p
    assert ClusteredCalibration(random_state=seed).fit(p, y, Z).predict_proba(p, Z).shape == (200, 2)
    assert ClusteredCalibrationCV(n_clusters=(2,), cv=2, random_state=seed).fit(p, y, Z).n_iter_ > 0
