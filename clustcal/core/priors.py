"""Priors of parameters: what is believed of them before there are data, in the units of the summed NLL.

Builds on numpy alone; `solvers` adds them to the loss.
"""

from dataclasses import dataclass

import numpy as np

# Calibration maps of classifiers are flatter than the identity far more often than steeper: a slope of 1/2, that is a
# temperature of 2, and twice this standard deviation reaches from a flat map to one that is steeper than the identity.
SLOPE, SLOPE_SD = 0.5, 0.5
INTERCEPT_SD = 2.0
# Of the difference of the two slopes of Beta calibration.
SKEW_SD = 0.25
# Of the coefficient of the squared logit in quadratic scaling.
BEND_SD = 0.05


@dataclass(frozen=True)
class Prior:
    r"""Minus the logarithm of a prior density, (theta - centre)' precision (theta - centre) / 2 + tilt' theta.

    ``centre`` (p,); ``precision`` (p, p), or (p,) where it is diagonal; ``tilt`` (p,) or 0.
    """

    centre: np.ndarray
    precision: np.ndarray
    tilt: np.ndarray | float = 0.0

    def moved_to(self, centre):
        """Return the same strength around other parameters, without the tilt."""
        return Prior(centre, self.precision)

    def cost(self, theta):
        """Return the cost (K,) of parameters (K, p), its gradient (K, p) and its Hessian (p, p)."""
        away = theta - self.centre
        pull = away * self.precision if self.precision.ndim == 1 else away @ self.precision
        hessian = np.diag(self.precision) if self.precision.ndim == 1 else self.precision
        tilt = np.broadcast_to(self.tilt, self.centre.shape)
        return (away * pull).sum(axis=1) / 2 + theta @ tilt, pull + tilt, hessian


def smoothing_tilt(X, codes, weights):
    r"""Return what Platt's smoothed targets add to the summed NLL, as a vector (p,) that theta is multiplied with.

    With targets :math:`(n_1 + 1) / (n_1 + 2)` and :math:`1 / (n_0 + 2)` instead of 1 and 0 the NLL of a row with
    logit z grows by :math:`z / (n_1 + 2)` where y is 1 and by :math:`-z / (n_0 + 2)` where it is 0.
    """
    ones, zeros = weights * codes, weights * (1 - codes)
    return ones @ X / (ones.sum() + 2) - zeros @ X / (zeros.sum() + 2)


def slope_prior(n_intercepts, tilt=0.0):
    """Return the prior of one slope, followed by an intercept if there is one."""
    centre = np.array([SLOPE, 0.0])[: 1 + n_intercepts]
    return Prior(centre, np.array([SLOPE_SD, INTERCEPT_SD])[: 1 + n_intercepts] ** -2.0, tilt)


def quadratic_prior(tilt=0.0):
    """Return the prior of a slope, of the coefficient of the squared logit, and of an intercept."""
    return Prior(np.array([SLOPE, 0.0, 0.0]), np.array([SLOPE_SD, BEND_SD, INTERCEPT_SD]) ** -2.0, tilt)


def spline_prior(n_splines, roughness, tilt=0.0, lines=True):
    """Return the prior of a slope, an intercept and the weights of splines; of the first two none without ``lines``."""
    of_line = np.array([SLOPE_SD, INTERCEPT_SD]) ** -2.0 if lines else np.zeros(2)
    centre = np.concatenate([[SLOPE if lines else 0.0, 0.0], np.zeros(n_splines)])
    return Prior(centre, np.concatenate([of_line, np.full(n_splines, roughness)]), tilt)


def two_slopes_prior(tilt=0.0):
    """Return the prior of Beta calibration: that of a slope for the mean of a and b, and a pull of both together."""
    mean, skew, intercept = np.array([0.5, 0.5, 0.0]), np.array([1.0, -1.0, 0.0]), np.array([0.0, 0.0, 1.0])
    parts = zip((mean, skew, intercept), (SLOPE_SD, SKEW_SD, INTERCEPT_SD), strict=True)
    precision = sum(np.outer(direction, direction) / sd**2 for direction, sd in parts)
    return Prior(np.array([SLOPE, SLOPE, 0.0]), precision, tilt)
