"""What the tests of all figures share: a forecast, clean settings, and no figure left open."""

import matplotlib.pyplot as plt
import numpy as np
import pytest


@pytest.fixture(autouse=True)
def _without_a_window_and_with_clean_settings():
    with plt.rc_context(), plt.rc_context({"backend": "agg"}):
        yield
    plt.close("all")


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 2, size=600)
    return (rng.random(600) < p**1.5).astype(int), p
