"""Data that the tests of several calibrators share."""

import numpy as np
import pytest
from scipy.special import expit, logit


@pytest.fixture
def binary():
    rng = np.random.default_rng(0)
    p = expit(rng.normal(-1, 2, 2000))
    return p, (rng.random(2000) < expit(0.6 * logit(p) + 0.4)).astype(int), rng.random(500)
