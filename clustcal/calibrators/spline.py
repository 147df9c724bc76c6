"""Spline scaling: Platt scaling that bends where the data say so, for two classes."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from clustcal.calibrators.base import CalibrationSet
from clustcal.calibrators.parametric import ParametricCalibrator, _binary_only
from clustcal.core import families, priors, solvers
from clustcal.core.array_types import Floats
from clustcal.core.natural_splines import NaturalSplines
from clustcal.core.parameters import check_at_least_0, check_whole_number, shown

__all__ = ["SplineScaling"]

# What is expected of the penalty before there are data: a map whose slope changes by about 0.3 over 8 units of the
# logit; and how many splines that knowledge is worth.
ROUGHNESS, WORTH = 100.0, 2.0
UPDATES = 10
# More take memory and time for nothing, as the penalty makes the map smooth.
MOST_KNOTS = 200
# The share of the weight beyond either outer knot, where the map is straight: a few rows far out should not bend it.
BEYOND = 0.05


class SplineScaling(ParametricCalibrator):
    r"""Spline scaling: a smooth function of the logit, which is Platt scaling where the data ask for nothing else.

    .. math:: q = \sigma(s(z)), \qquad z = \mathrm{logit}(p), \qquad
        \text{minimising} \quad \sum_i \ell(q_i, y_i) + \frac{\tau}{2} \int s''(t)^2 \, dt

    over natural cubic splines s: cubic between knots, straight beyond the outer ones. It need not increase.

    Parameters
    ----------
    n_knots : int, default=12
        Knots lie at equidistant quantiles of the logit from 5 % to 95 %; fewer where there are fewer different scores,
        and at most 200. The penalty makes the map smooth, so that more knots change little.
    roughness : "auto" or float, default="auto"
        The penalty :math:`\tau`. ``"auto"`` is the one under which the data are most probable, see Notes; 0 fits the
        splines by maximum likelihood; as it grows the map becomes Platt scaling.
    classes : array-like of shape (2,), optional
        The label of each column of P; by default the sorted labels.
    from_logits : bool, default=False
        Whether P holds logits (log-odds of the second class, or a column for every class) instead of probabilities.
        Nothing is cut then, where log p of a probability of 0 must be.
    prior : "auto" or None, default="auto"
        ``"auto"`` is that of `PlattScaling` for the slope of the line, and its smoothed targets. None leaves the
        penalty alone.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    knots_ : ndarray of shape (m,)
        On the logit.
    roughness_ : float
        :math:`\tau`.
    theta_ : ndarray of shape (m,)
        Slope, intercept, and the weights of m - 2 splines of roughness 1 each.
    n_iter_ : int
        Newton iterations.

    See Also
    --------
    QuadraticScaling : one parameter more than Platt scaling.
    IsotonicCalibration : any increasing function, in steps.

    Notes
    -----
    The integral is minus the logarithm of a Gaussian prior of precision :math:`\tau` for every weight. MacKay's update
    of it (Laplace's approximation) is repeated ten times, given that 100 is expected, with the weight of two splines;
    100 times the third power of the standard deviation of the logit where that is below 1.

    Beyond the outer knots, where 5 % of the weight lies on either side, the map goes on straight for as far again as
    the knots reach, and from there in parallel to its line, the slope of which all rows share. So a single score of 0
    or 1 with the wrong label, whose logit may be 36, cannot turn the map round; it makes the line flatter, as it does
    that of `PlattScaling`.

    Lucena's splines differ: knots drawn at random from the scores, rows added that pull to the identity, a penalty on
    the coefficients of a truncated basis, and its strength by one fold. Without any penalty, and with the same knots,
    the two are one method.

    References
    ----------
    B. Lucena, "Spline-based probability calibration", arXiv:1809.07751, 2018.

    D. MacKay, "Bayesian interpolation", Neural Computation, 1992.

    Examples
    --------
    Scores that say too little near 1/2 and too much far from it:

    >>> import numpy as np
    >>> from scipy.special import expit
    >>> from clustcal import PlattScaling, SplineScaling, metrics
    >>> rng = np.random.default_rng(0)
    >>> z = rng.uniform(-6, 6, 6000)
    >>> y = rng.random(6000) < expit(3 * np.tanh(z))
    >>> for calibrator in (PlattScaling(), SplineScaling()):
    ...     q = calibrator.fit(expit(z[:3000]), y[:3000]).predict_proba(expit(z[3000:]))
    ...     print(round(metrics.log_loss(y[3000:], q) - metrics.log_loss(y[3000:], expit(3 * np.tanh(z[3000:]))), 3))
    0.039
    0.003
    """

    def __init__(
        self,
        n_knots: int = 12,
        roughness: Literal["auto"] | float = "auto",
        classes: ArrayLike | None = None,
        from_logits: bool = False,
        prior: Literal["auto"] | None = "auto",
    ) -> None:
        self.n_knots = n_knots
        self.roughness = roughness
        self.classes = classes
        self.from_logits = from_logits
        self.prior = prior

    def family(self, n_classes: int) -> families.BinaryFamily:
        """Return the parametric family for this number of classes; after `fit`, with the knots that it found."""
        self._check_number_of_classes(n_classes)
        return families.spline_family(NaturalSplines(getattr(self, "knots_", np.empty(0))))

    def _check_number_of_classes(self, n_classes: int) -> None:
        _binary_only(n_classes, "SplineScaling", "OneVsRestCalibration(SplineScaling())")

    def _fit(self, data: CalibrationSet) -> None:
        self._check_number_of_classes(data.n_classes)
        self.knots_ = _knots(data.scores.features(families.TEMPERATURE)[:, 0], data.weights, self.n_knots)
        super()._fit(data)

    def _find(self, family: Any, X: Floats, data: CalibrationSet) -> tuple[solvers.Fit, priors.Prior]:
        """Return the fit, and its prior, with the strength that the data choose unless it is given."""
        is_given = not isinstance(self.roughness, str)
        self._unit = priors.unit(X[:, 0], data.weights)
        self.roughness_ = float(self.roughness) if is_given else self._expected()
        W = data.weights[:, None]
        start = None
        n_splines = X.shape[1] - 2
        for _ in range(UPDATES if n_splines and not is_given else 0):
            found = solvers.fit(family, X, data.codes, W, penalty=self._prior_of(X, data), start=start, tol=1e-6)
            start = found.theta
            self.roughness_ = self._updated(family.nll(start, X, data.codes, W)[2][0], start[0], X, data)
        penalty = self._prior_of(X, data)
        return solvers.fit(family, X, data.codes, W, penalty=penalty, start=start), penalty

    def _updated(self, hessian: Floats, theta: Floats, X: Floats, data: CalibrationSet) -> float:
        """MacKay's update: how many weights the data determine, over their squared length."""
        precision = self._prior_of(X, data).cost(theta[None])[2].reshape(hessian.shape)
        left = np.linalg.pinv(hessian + precision, hermitian=True).diagonal()[2:]
        determined = np.sum(1 - self.roughness_ * left)
        return float((determined + WORTH) / (theta[2:] @ theta[2:] + WORTH / self._expected()))

    def _expected(self) -> float:
        """Return the roughness that is expected; the integral of the squared second derivative is cubic in the unit."""
        return ROUGHNESS / self._unit**3

    def _prior_of(self, X: Floats, data: CalibrationSet) -> priors.Prior:
        is_auto = self.prior is not None
        tilt = priors.smoothing_tilt(X, data.codes, data.weights) if is_auto else 0.0
        return priors.spline_prior(X.shape[1] - 2, self.roughness_, tilt, lines=is_auto)

    def _prior_in_a_part(self, X: Floats, part: CalibrationSet) -> priors.Prior:
        return self._prior_of(X, part)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole_number("n_knots", self.n_knots, lowest=3)
        if self.n_knots > MOST_KNOTS:
            raise ValueError(f"n_knots is {self.n_knots}; expected at most {MOST_KNOTS}.")
        if isinstance(self.roughness, str):
            if self.roughness != "auto":
                raise ValueError(f"roughness is {shown(self.roughness)}; expected 'auto' or a number of at least 0.")
        else:
            check_at_least_0("roughness", self.roughness)


def _knots(z: Floats, weights: Floats, n_knots: int) -> Floats:
    """Return weighted quantiles of the logits, the outer ones at a share of BEYOND from either end."""
    shares = np.linspace(BEYOND, 1 - BEYOND, n_knots)
    # From both ends, so that they mirror as the classes are exchanged.
    return np.unique((_quantiles(z, weights, shares) - _quantiles(-z, weights, 1 - shares)) / 2)


def _quantiles(z: Floats, weights: Floats, shares: Floats) -> Floats:
    """Return the smallest z up to which these shares of the weight lie."""
    order = np.argsort(z)
    below = np.cumsum(weights[order])
    # Sums round; a share that all rows up to one reach exactly is that row's.
    return z[order[np.searchsorted(below, shares * below[-1] * (1 - 1e-12))]]
