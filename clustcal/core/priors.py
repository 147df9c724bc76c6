"""Priors of parameters: what is believed of them before there are data, in the units of the summed NLL.

Builds on numpy alone; `solvers` adds them to the loss.
"""

from dataclasses import dataclass

import numpy as np

# Few rows mislead a fit in two ways. Slopes that are too steep are kept finite by Platt's smoothed targets, which cost
# next to nothing where the scores are right to be sure. Slopes that are too flat, against a classifier that knows more
# than these rows do, are what the prior is for: it pulls up to this slope, and leaves all that is steeper alone. How
# steep a map must be depends on the units of the scores (those of boosting may need a slope of 40), so that nothing
# can be believed of it beforehand; and nothing is of the height of the map, as events may be rare.
SLOPE, SLOPE_SD = 0.75, 0.5
# A temperature with no intercept beside it has less to lose by trusting the classifier.
LONE_SLOPE = 1.0
# Of the difference of the two slopes of Beta calibration, and of the coefficient of the squared logit, both for logits
# that spread by 1 or more; for narrower ones in units of their spread, see `unit`.
SKEW_SD = 0.5
BEND_SD = 0.05
WIDENINGS = 4  # of the first, as many as it takes to come near the optimum


@dataclass(frozen=True)
class Prior:
    r"""Minus the logarithm of a prior density, (theta - centre)' precision (theta - centre) / 2 + tilt' theta.

    ``centre`` (p,); ``precision`` (p, p), or (p,) where it is diagonal; ``tilt`` (p,) or 0. ``slope`` (p,), if given,
    says what of theta is the slope of the map; below ``least`` it costs (slope' theta - least)^2 / (2 SLOPE_SD^2) too.
    """

    centre: np.ndarray
    precision: np.ndarray
    tilt: np.ndarray | float = 0.0
    slope: np.ndarray | None = None
    least: float = SLOPE

    def moved_to(self, centre):
        """Return the same strength around other parameters, without the tilt."""
        return Prior(centre, self.precision)

    def cost(self, theta):
        """Return the cost (K,) of parameters (K, p), its gradient (K, p) and its Hessian, (K, p, p) or one for all."""
        away = theta - self.centre
        pull = away * self.precision if self.precision.ndim == 1 else away @ self.precision
        hessian = np.diag(self.precision) if self.precision.ndim == 1 else self.precision
        tilt = np.broadcast_to(self.tilt, self.centre.shape)
        cost = (away * pull).sum(axis=1) / 2 + theta @ tilt
        if self.slope is None:
            return cost, pull + tilt, hessian
        short = np.maximum(self.least - theta @ self.slope, 0) / SLOPE_SD
        pull = pull - short[:, None] * self.slope / SLOPE_SD
        more = (short > 0)[:, None, None] * np.outer(self.slope, self.slope) / SLOPE_SD**2
        return cost + short**2 / 2, pull + tilt, hessian + more


def smoothing_tilt(X, codes, weights):
    r"""Return what Platt's smoothed targets add to the summed NLL, as a vector (p,) that theta is multiplied with.

    With targets :math:`(n_1 + 1) / (n_1 + 2)` and :math:`1 / (n_0 + 2)` instead of 1 and 0 the NLL of a row with
    logit z grows by :math:`z / (n_1 + 2)` where y is 1 and by :math:`-z / (n_0 + 2)` where it is 0.
    """
    ones, zeros = weights * codes, weights * (1 - codes)
    return ones @ X / (ones.sum() + 2) - zeros @ X / (zeros.sum() + 2)


def unit(logits, weights):
    """Return 1 over the standard deviation of logits (n,), at least 1: what a slope is measured in, of narrow scores.

    Scores that all but agree have no spread to speak of, and the unit is 1.
    """
    away = logits - weights @ logits / weights.sum()
    spread = np.sqrt(weights @ away**2 / weights.sum())
    is_constant = spread <= np.sqrt(np.finfo(float).eps) * np.abs(logits).max()
    return 1.0 if is_constant else max(1.0, 1 / spread)


def widened(unit, skew):
    r"""Return in what unit to measure the skew d that a fit has found, where ``unit`` is that of a prior of width s.

    Out to s the prior stays normal; beyond, its tails are those of Cauchy's distribution of width s, which is a normal
    one of a variance drawn at random: after d its precision is expected to be :math:`2 / (s^2 + d^2)`.
    """
    return max(unit, np.sqrt((unit**2 + (skew / SKEW_SD) ** 2) / 2))


def temperature_prior(tilt=0.0):
    """Return the prior of a slope alone."""
    return Prior(np.zeros(1), np.zeros(1), tilt, np.ones(1), LONE_SLOPE)


def slope_prior(n_more, tilt=0.0):
    """Return the prior of a slope, followed by parameters of which nothing is believed, such as an intercept."""
    return Prior(np.zeros(1 + n_more), np.zeros(1 + n_more), tilt, np.eye(1 + n_more)[0])


def quadratic_prior(mean_logit, unit, tilt=0.0):
    """Return the prior of a slope, of the coefficient of the squared logit, and of an intercept.

    The slope is that at the mean logit, and the coefficient is 0 give or take BEND_SD.
    """
    precision = np.array([0.0, (BEND_SD * unit**2) ** -2.0, 0.0])
    return Prior(np.zeros(3), precision, tilt, np.array([1.0, 2 * mean_logit, 0.0]))


def spline_prior(n_splines, roughness, tilt=0.0, lines=True):
    """Return the prior of a slope, an intercept and the weights of splines; of the first two none without ``lines``."""
    precision = np.concatenate([np.zeros(2), np.full(n_splines, roughness)])
    return Prior(np.zeros(2 + n_splines), precision, tilt, np.eye(2 + n_splines)[0] if lines else None)


def two_slopes_prior(mean_probability, unit, tilt=0.0):
    r"""Return the prior of Beta calibration: the difference of a and b is 0 give or take SKEW_SD, times ``unit``.

    The slope is the mean one, as :math:`a \log p - b \log(1 - p)` grows by :math:`a (1 - p) + b p` with the logit.
    """
    skew = np.array([1.0, -1.0, 0.0])
    slope = np.array([1 - mean_probability, mean_probability, 0.0])
    return Prior(np.zeros(3), np.outer(skew, skew) / (SKEW_SD * unit) ** 2, tilt, slope)
