"""Rows in three groups, for the tests of clusters."""

import numpy as np


def make_data(n_classes=2, n=300, seed=0):
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, 4)) + 3 * np.eye(4)[rng.integers(3, size=n)]
    P = rng.dirichlet(np.ones(n_classes), n)
    y = (P.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    return P, y, Z
