"""The scores that fits are measured on, and the clock."""

import time

import numpy as np
from scipy.special import expit, softmax


def make_scores(n, n_classes, rng):
    """Over-confident scores and labels, of which the true probabilities are a softened and shifted version."""
    if n_classes == 2:
        z = rng.normal(-1, 2, n)
        p = expit(z)
        return np.column_stack([1 - p, p]), (rng.random(n) < expit(0.6 * z + 0.3)).astype(int)
    z = rng.normal(0, 2, (n, n_classes))
    truth = softmax(0.5 * z + rng.normal(0, 0.3, n_classes), axis=1)
    return softmax(z, axis=1), (truth.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)


def make_parts(n, n_test, n_classes, seed=0):
    """Return scores and labels of one classifier in two parts, to fit to and to test on: P, y, P_test, y_test."""
    P, y = make_scores(n + n_test, n_classes, np.random.default_rng(seed))
    return P[:n], y[:n], P[n:], y[n:]


def median_cpu_seconds(function, *arguments, repeats=1):
    """Return the median CPU seconds of several calls, and what the last one returned."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        result = function(*arguments)
        seconds.append(time.process_time() - start)
    return float(np.median(seconds)), result
