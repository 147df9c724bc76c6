"""What the metrics do by default, and at scales finer than their grids."""

import inspect

import numpy as np
import pytest
from scipy.stats import norm

from clustcal import metrics

RNG = np.random.default_rng(0)
P = RNG.uniform(size=300)
Y = (RNG.random(300) < P**2).astype(int)


@pytest.mark.parametrize("name", ["ece", "mce", "ada_ece", "classwise_ece", "debiased_ece", "reliability_curve"])
def test_there_are_ten_bins_by_default(name):
    metric = getattr(metrics, name)
    assert inspect.signature(metric).parameters["n_bins"].default == 10
    if name != "reliability_curve":
        assert metric(Y, P) == metric(Y, P, n_bins=10) != metric(Y, P, n_bins=9)


@pytest.mark.parametrize("bandwidth", [1e-4, 1e-3])
def test_two_opposite_residuals_close_together_cancel_as_their_kernels_overlap(bandwidth):
    """The integral of r |phi(t - a) - phi(t - b)| is 2 r (2 Phi(d / 2 sigma) - 1) with d = b - a."""
    d = 2 * bandwidth
    p, residual = np.array([0.5 - d / 2, 0.5 + d / 2]), (0.5 + d / 2) / 2
    expected = 2 * residual * (2 * norm.cdf(d / (2 * bandwidth)) - 1)
    assert metrics.smooth_ece([1, 0], p, bandwidth=bandwidth) == pytest.approx(expected, rel=2e-3)
