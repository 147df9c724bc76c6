"""Global parametric calibrators: one map from scores to calibrated probabilities, fitted by minimum NLL.

Each class names its family; checking input is left to `base`, the mathematics to `families`, the optimum to `solvers`.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from clustcal.calibrators.base import CalibrationSet, Calibrator
from clustcal.core import evidence, families, priors, solvers
from clustcal.core.array_types import Floats, Matrix
from clustcal.core.parameters import check_at_least_0, check_one_of, numbers_in, shown
from clustcal.core.probabilities import Scores

__all__ = [
    "BetaCalibration",
    "DirichletCalibration",
    "PlattScaling",
    "QuadraticScaling",
    "TemperatureScaling",
    "VectorScaling",
]
# What Dirichlet calibration may be pulled to.
SHRINK_TO = ("zero", "temperature")


class ParametricCalibrator(Calibrator):
    """Fit by minimum NLL within one family, under a prior if there is one.

    A subclass says which family serves n classes, and what is believed of its parameters before there are data.
    """

    prior: Literal["auto"] | None = None  # of those that do not ask for one
    _unit = 1.0  # of all rows, which their parts share

    def __init__(
        self, classes: ArrayLike | None = None, from_logits: bool = False, prior: Literal["auto"] | None = "auto"
    ) -> None:
        self.classes = classes
        self.from_logits = from_logits
        self.prior = prior

    def _fit(self, data: CalibrationSet) -> None:
        family = self.family(data.n_classes)
        found, penalty = self._find(family, data.scores.features(family), data)
        found.warn()
        self.theta_: Floats = found.theta[0]
        self.n_iter_ = found.n_iter
        self._penalty: Any = penalty

    def _find(self, family: Any, X: Floats, data: CalibrationSet) -> tuple[solvers.Fit, priors.Prior | None]:
        """Return the fit, and the prior under which it was made, None without one."""
        self._unit = self._unit_of(X, data.weights)
        penalty = None if self.prior is None else self._prior_of(X, data)
        return solvers.fit(family, X, data.codes, data.weights[:, None], penalty=penalty), penalty

    def _prior_in_a_part(self, X: Floats, part: CalibrationSet) -> priors.Prior | None:
        """Return the prior for a fit to some of the rows of a fitted calibrator."""
        return None if self._penalty is None else self._prior_of(X, part)

    def _prior_of(self, X: Floats, data: CalibrationSet) -> priors.Prior:
        """Return the prior for these rows; a calibrator whose strengths come from all rows leaves them as they are."""
        return self._penalty.moved_to(self.theta_)

    def _unit_of(self, X: Floats, weights: Floats) -> float:
        """Return the unit in which the prior measures how much the map bends, for those in which it can."""
        return 1.0

    def _check_parameters(self) -> None:
        if self.prior is not None and not (isinstance(self.prior, str) and self.prior == "auto"):
            raise ValueError(f"prior is {shown(self.prior)}; expected 'auto' or None.")
        self.family(2)

    def _check_number_of_classes(self, n_classes: int) -> None:
        self.family(n_classes)

    def _calibrate(self, scores: Scores, Z: Matrix) -> Floats:
        family = self.family(len(self.classes_))
        return family.predict(self.theta_, scores.features(family))


def _binary_only(n_classes: int, name: str, multiclass_name: str) -> None:
    if n_classes != 2:
        raise ValueError(f"P has {n_classes} columns; {name} expects 2 classes, use {multiclass_name} for more.")


class PlattScaling(ParametricCalibrator):
    r"""Platt scaling: an affine map of the logit, for two classes.

    .. math:: c_\theta(p) = \sigma(A \, \mathrm{logit}(p) + B), \qquad \theta = (A, B)

    Parameters
    ----------
    classes : array-like of shape (2,), optional
        The label of each column of P; by default the sorted labels.
    from_logits : bool, default=False
        Whether P holds logits (log-odds of the second class, or a column for every class) instead of probabilities.
        Nothing is cut then, where log p of a probability of 0 must be.
    prior : "auto" or None, default="auto"
        ``"auto"`` keeps a few dozen rows from a map that is far too steep or too flat, see Notes, and fades as rows are
        added. None is maximum likelihood, the fit of the paper.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    theta_ : ndarray of shape (2,)
        Slope A and intercept B; (1, 0) leaves scores unchanged.
    n_iter_ : int
        Newton iterations.

    See Also
    --------
    VectorScaling : the same for more than two classes.

    Notes
    -----
    With ``prior="auto"`` labels enter as Platt's smoothed targets, :math:`(n_1 + 1) / (n_1 + 2)` and
    :math:`1 / (n_0 + 2)`, which keep A finite; and a slope A below 3/4 costs :math:`(3/4 - A)^2 / (2 \cdot 0.5^2)`, as
    few rows often look as if the scores said less than they do. Steeper slopes cost nothing, since their size is one
    of units: scores in a narrow band, as those of AdaBoost, may need a slope of 40. Nor does B, however rare events
    are; with :math:`n_1` of them the mean forecast is :math:`n_1 (n_1 + 1) / (n_1 + 2) + n_0 / (n_0 + 2)` over n
    exactly, as long as A is at least 3/4.

    References
    ----------
    J. Platt, "Probabilistic outputs for support vector machines and comparisons to regularized likelihood
    methods", Advances in Large Margin Classifiers, 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from clustcal import PlattScaling
    >>> p, y = np.repeat([0.2, 0.8], 10), [0] * 6 + [1] * 4 + [0] * 4 + [1] * 6
    >>> PlattScaling(prior=None).fit(p, y).predict_proba([0.2, 0.8]).round(3)
    array([[0.6, 0.4],
           [0.4, 0.6]])
    """

    def family(self, n_classes: int) -> families.BinaryFamily:
        """Return the parametric family for this number of classes."""
        _binary_only(n_classes, "PlattScaling", "VectorScaling")
        return families.PLATT

    def _prior_of(self, X: Floats, data: CalibrationSet) -> priors.Prior:
        return priors.slope_prior(1, priors.smoothing_tilt(X, data.codes, data.weights))


class TemperatureScaling(ParametricCalibrator):
    r"""Temperature scaling: one temperature divides all logits.

    .. math:: c_\theta(p) = \sigma(\mathrm{logit}(p) / T) \quad\text{or}\quad
        \mathrm{softmax}(\log p / T), \qquad \theta = 1 / T > 0

    The parameter is 1 / T because the NLL is convex in it. T is kept between 0.01 and 100, with a warning at 100.

    Parameters
    ----------
    classes : array-like of shape (L,), optional
        The label of each column of P; by default the sorted labels.
    from_logits : bool, default=False
        Whether P holds logits (log-odds of the second class, or a column for every class) instead of probabilities.
        Nothing is cut then, where log p of a probability of 0 must be.
    prior : "auto" or None, default="auto"
        ``"auto"`` adds :math:`(1 - 1/T)^2 / (2 \cdot 0.5^2)` to the summed NLL where T is above 1, so that few rows
        need good reason to distrust the classifier, and for two classes takes labels as Platt's smoothed targets, see
        `PlattScaling`. None is maximum likelihood, the fit of the paper.

    Attributes
    ----------
    classes_ : ndarray of shape (L,)
    theta_ : ndarray of shape (1,)
        The inverse temperature.
    temperature_ : float
        T; above 1 it makes an over-confident classifier more modest.
    n_iter_ : int
        Newton iterations.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Weinberger, "On calibration of modern neural networks", ICML 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from clustcal import TemperatureScaling
    >>> p, y = np.repeat([0.1, 0.9], 4), [0, 0, 0, 1, 0, 1, 1, 1]
    >>> round(TemperatureScaling(prior=None).fit(p, y).temperature_, 6)  # log 9 / log 3
    2.0
    """

    def family(self, n_classes: int) -> families.BinaryFamily | families.TemperatureFamily:
        """Return the parametric family for this number of classes."""
        return families.TEMPERATURE if n_classes == 2 else families.TemperatureFamily(n_classes)

    def _prior_of(self, X: Floats, data: CalibrationSet) -> priors.Prior:
        return priors.temperature_prior(
            priors.smoothing_tilt(X, data.codes, data.weights) if data.n_classes == 2 else 0.0
        )

    def _find(self, family: Any, X: Floats, data: CalibrationSet) -> tuple[solvers.Fit, priors.Prior | None]:
        found, penalty = super()._find(family, X, data)
        found.failure = found.failure or families.say_if_flattest(found.theta[0, 0])
        return found, penalty

    @property
    def temperature_(self) -> float:
        check_is_fitted(self)
        return float(1 / self.theta_[0])


class BetaCalibration(ParametricCalibrator):
    r"""Beta calibration with three parameters ("abm"), for two classes; never decreasing.

    .. math:: c_\theta(p) = \sigma(a \log p - b \log(1 - p) + c), \qquad
        \theta = (a, b, c), \quad a \ge 0, \; b \ge 0

    Parameters
    ----------
    classes : array-like of shape (2,), optional
        The label of each column of P; by default the sorted labels.
    from_logits : bool, default=False
        Whether P holds logits (log-odds of the second class, or a column for every class) instead of probabilities.
        Nothing is cut then, where log p of a probability of 0 must be.
    prior : "auto" or None, default="auto"
        ``"auto"`` keeps a few dozen rows from a map that is far too steep or too flat, see Notes, and changes little
        from a thousand rows on. None is maximum likelihood, the fit of the paper.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    theta_ : ndarray of shape (3,)
        a, b and c; (1, 1, 0) leaves scores unchanged.
    n_iter_ : int
        Newton iterations.

    See Also
    --------
    DirichletCalibration : the generalisation to more than two classes.

    Notes
    -----
    The paper writes ``+ b log(1 - p)``; with the minus sign of Kull et al. both coefficients of an increasing map
    are positive.

    With ``prior="auto"`` labels enter as Platt's smoothed targets, and the prior of `PlattScaling` is that of the mean
    slope, which is :math:`a (1 - \bar p) + b \bar p`. The difference of a and b is 0 give or take 1/2, so that few rows
    give a map like Platt's; give or take 1/2 over s where the standard deviation s of the logit is below 1. Rows may
    widen this, as those of forests do, whose trees often all agree: after a fit with a larger difference d, the prior
    variance is the mean of the one above and of :math:`d^2`, and four such updates come near the optimum under a prior
    with the tails of Cauchy's distribution, which lets go of what is clearly far away.

    References
    ----------
    M. Kull, T. Silva Filho, P. Flach, "Beta calibration: a well-founded and easily implemented improvement on
    logistic calibration for binary classifiers", AISTATS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from clustcal import BetaCalibration
    >>> p, y = np.repeat([0.2, 0.5, 0.8], 4), [0, 0, 0, 1, 0, 0, 1, 1, 0, 1, 1, 1]
    >>> BetaCalibration(prior=None).fit(p, y).predict_proba([0.2, 0.5, 0.8])[:, 1].round(3)
    array([0.25, 0.5 , 0.75])
    """

    def family(self, n_classes: int) -> families.BinaryFamily:
        """Return the parametric family for this number of classes."""
        _binary_only(n_classes, "BetaCalibration", "DirichletCalibration")
        return families.BETA

    def _prior_of(self, X: Floats, data: CalibrationSet) -> priors.Prior:
        mean = data.weights @ data.scores.P[:, 1] / data.weights.sum()
        return priors.two_slopes_prior(mean, self._unit, priors.smoothing_tilt(X, data.codes, data.weights))

    def _unit_of(self, X: Floats, weights: Floats) -> float:
        return priors.unit(X[:, 0] + X[:, 1], weights)

    def _find(self, family: Any, X: Floats, data: CalibrationSet) -> tuple[solvers.Fit, priors.Prior | None]:
        found, penalty = super()._find(family, X, data)
        if penalty is None:
            return found, None
        narrow, weights = self._unit, data.weights[:, None]
        for _ in range(priors.WIDENINGS):
            a, b, _c = found.theta[0]
            unit = priors.widened(narrow, a - b)
            if unit == self._unit:
                break
            self._unit = unit
            penalty = self._prior_of(X, data)
            found = solvers.fit(family, X, data.codes, weights, penalty=penalty, start=found.theta)
        return found, penalty


class QuadraticScaling(ParametricCalibrator):
    r"""Quadratic scaling: a quadratic function of the logit, for two classes; it need not increase.

    .. math:: c_\theta(p) = \sigma(A z + C z^2 + B), \qquad z = \mathrm{logit}(p), \quad \theta = (A, C, B)

    Parameters
    ----------
    classes : array-like of shape (2,), optional
        The label of each column of P; by default the sorted labels.
    from_logits : bool, default=False
        Whether P holds logits (log-odds of the second class, or a column for every class) instead of probabilities.
        Nothing is cut then, where log p of a probability of 0 must be.
    prior : "auto" or None, default="auto"
        ``"auto"`` is that of `PlattScaling`, for the slope at the mean logit, and C is 0 give or take 0.05; give or
        take 0.05 over s squared where the standard deviation s of the logit is below 1. None is maximum likelihood.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    theta_ : ndarray of shape (3,)
        A, C and B; (1, 0, 0) leaves scores unchanged.
    n_iter_ : int
        Newton iterations.

    References
    ----------
    The logistic recalibration with a squared term by which medical models are examined; D. R. Cox, "Two further
    applications of a model for binary regression", Biometrika, 1958, without it.

    Examples
    --------
    Three scores, three observed frequencies, of which the last falls:

    >>> import numpy as np
    >>> from clustcal import QuadraticScaling
    >>> p, y = np.repeat([0.2, 0.5, 0.8], 4), [0, 0, 0, 1, 0, 1, 1, 1, 0, 0, 1, 1]
    >>> QuadraticScaling(prior=None).fit(p, y).predict_proba([0.2, 0.5, 0.8])[:, 1].round(3)
    array([0.25, 0.75, 0.5 ])
    """

    def family(self, n_classes: int) -> families.BinaryFamily:
        """Return the parametric family for this number of classes."""
        _binary_only(n_classes, "QuadraticScaling", "StructuredScaling")
        return families.QUADRATIC

    def _prior_of(self, X: Floats, data: CalibrationSet) -> priors.Prior:
        mean = data.weights @ X[:, 0] / data.weights.sum()
        return priors.quadratic_prior(mean, self._unit, priors.smoothing_tilt(X, data.codes, data.weights))

    def _unit_of(self, X: Floats, weights: Floats) -> float:
        return priors.unit(X[:, 0], weights)


def _found(theta: Floats, found: evidence.Found) -> solvers.Fit:
    """A fit that a prior keeps finite."""
    finite = np.ones(1, dtype=bool)
    return solvers.Fit(theta[None], np.zeros(1), found.n_iter, is_finite=finite, failure=found.failure)


class VectorScaling(ParametricCalibrator):
    r"""Vector scaling: a slope and an intercept for the logit of every class, then a softmax.

    .. math:: c_\theta(p) = \mathrm{softmax}(a \odot \log p + b), \qquad \theta = (a, b)

    Parameters
    ----------
    classes : array-like of shape (L,), optional
        The label of each column of P; by default the sorted labels.
    from_logits : bool, default=False
        Whether P holds logits (log-odds of the second class, or a column for every class) instead of probabilities.
        Nothing is cut then, where log p of a probability of 0 must be.
    prior : "auto" or None, default="auto"
        ``"auto"`` pulls the slopes to those of temperature scaling and the intercepts to 0, as strongly as the data
        say, see Notes. None is maximum likelihood, the fit of the paper: with many classes and few rows of each it
        predicts far worse than no calibration.

    Attributes
    ----------
    classes_ : ndarray of shape (L,)
    theta_ : ndarray of shape (2 L,)
        The L slopes, then the L intercepts.
    n_iter_ : int
        Iterations of the solver.

    See Also
    --------
    PlattScaling : the same idea for two classes, with two parameters instead of four.

    Notes
    -----
    The paper speaks of a sigmoid after the affine map; the softmax of Guo et al. is what gives rows that sum to 1.

    With ``prior="auto"`` first a temperature T is fitted; then :math:`a = (1 + v) / T`, and
    :math:`\tau_v \lVert v \rVert^2 / 2 + \tau_b \lVert b \rVert^2 / 2` is added to the summed NLL. The strengths
    :math:`\tau` are those under which the data are most probable (Laplace's approximation, MacKay's updates), given
    that :math:`30 \sqrt{L}` and :math:`\max(20, L / 5)` are expected, with the weight of three parameters. Structured
    vector scaling of Berta et al. has strengths that depend on n and L only.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Weinberger, "On calibration of modern neural networks", ICML 2017.

    E. Berta, D. Holzmüller, M. I. Jordan, F. Bach, "Structured matrix scaling for multi-class calibration",
    AISTATS 2026.

    Examples
    --------
    >>> import numpy as np
    >>> from clustcal import VectorScaling
    >>> P = np.repeat([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]], 10, axis=0)
    >>> y = [0] * 6 + [1, 1, 2, 2] + [1] * 6 + [0, 0, 2, 2] + [2] * 6 + [0, 0, 1, 1]
    >>> VectorScaling(prior=None).fit(P, y).predict_proba([[0.8, 0.1, 0.1]]).round(3)
    array([[0.6, 0.2, 0.2]])
    """

    def family(self, n_classes: int) -> families.VectorFamily:
        """Return the parametric family for this number of classes."""
        return families.VectorFamily(n_classes)

    def _find(self, family: Any, X: Floats, data: CalibrationSet) -> tuple[solvers.Fit, priors.Prior | None]:
        if self.prior is None:
            return super()._find(family, X, data)
        inverse, (intercepts, slopes), strengths, found = evidence.near_temperature(X, data.codes, data.weights)
        theta = np.concatenate([inverse * (1 + slopes), intercepts])
        precision = np.repeat([strengths[1] / inverse**2, strengths[0]], data.n_classes)
        return _found(theta, found), priors.Prior(inverse * family.identity, precision)


def matrix_near_temperature(
    family: families.DirichletFamily, X: Floats, data: CalibrationSet
) -> tuple[solvers.Fit, priors.Prior]:
    """Return the fit of a matrix and intercepts that are pulled to temperature scaling, and the prior that pulls."""
    n_classes = data.n_classes
    near = evidence.near_temperature(X[:, :n_classes], data.codes, data.weights, with_matrix=True)
    inverse, (intercepts, slopes, off_diagonal), strengths, found = near
    V = inverse * (np.diag(1 + slopes) + off_diagonal)
    theta = np.column_stack([V, intercepts]).ravel()
    of_V = strengths[2] / inverse**2
    np.fill_diagonal(of_V, strengths[1] / inverse**2)
    precision = np.column_stack([of_V, np.full(n_classes, strengths[0])])
    return _found(theta, found), priors.Prior(inverse * family.identity, precision.ravel())


class DirichletCalibration(ParametricCalibrator):
    r"""Dirichlet calibration: a full linear map of the log-probabilities, then a softmax.

    .. math:: c_\theta(p) = \mathrm{softmax}(V \log p + b)

    fitted by the mean NLL plus a penalty, which many classes need: there are L (L + 1) parameters.

    Parameters
    ----------
    l2 : "auto" or float, default="auto"
        Weight of the squared distance of (V, b) from what ``shrink_to`` names. ``"auto"`` pulls the diagonal of V and
        b towards temperature scaling as strongly as the data say, see Notes; a number is the same for all, and the
        paper's fit is ``l2=1e-3, shrink_to="zero"``. 0 is matrix scaling without a penalty. Not used with ``odir``.
    shrink_to : {"temperature", "zero"}, default="temperature"
        ``"temperature"`` measures the distance from the nearest temperature scaling, (t I, 0) with t free, so that a
        strong penalty gives temperature scaling. ``"zero"`` is the paper's weight decay: a strong penalty gives every
        class the same probability; it needs a number as ``l2``. Not used with ``odir``.
    odir : tuple of two floats, optional
        Weights of the mean squared off-diagonal element of V and of the mean squared element of b, the
        regularisation that Kull et al. recommend; the diagonal is then free.
    classes : array-like of shape (L,), optional
        The label of each column of P; by default the sorted labels.
    from_logits : bool, default=False
        Whether P holds logits (log-odds of the second class, or a column for every class) instead of probabilities.
        Nothing is cut then, where log p of a probability of 0 must be.

    Attributes
    ----------
    classes_ : ndarray of shape (L,)
    theta_ : ndarray of shape (L * (L + 1),)
        Class by class, the row of V and then the element of b.
    n_iter_ : int
        Iterations of the solver.

    See Also
    --------
    StructuredScaling : What we recommend for more than two classes.

    Notes
    -----
    With ``l2="auto"`` the diagonal of V and b have the prior of `VectorScaling`. The elements off the diagonal of
    :math:`V T` have a Gaussian prior around 0 too, for whose precision :math:`4 L^3 / 5` is expected: there are L of
    them in every logit, each times a number that grows with L. With few rows for :math:`L^3` (20 classes and 1,000
    rows, say) they stay at 0, and this is `VectorScaling`.

    References
    ----------
    M. Kull et al., "Beyond temperature scaling: obtaining well-calibrated multi-class probabilities with
    Dirichlet calibration", NeurIPS 2019.

    Examples
    --------
    >>> import numpy as np
    >>> from clustcal import DirichletCalibration
    >>> P = np.repeat([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]], 10, axis=0)
    >>> y = [0] * 6 + [1, 1, 2, 2] + [1] * 6 + [0, 0, 2, 2] + [2] * 6 + [0, 0, 1, 1]
    >>> DirichletCalibration(l2=0.0).fit(P, y).predict_proba([[0.8, 0.1, 0.1]]).round(3)
    array([[0.6, 0.2, 0.2]])
    """

    def __init__(
        self,
        l2: float | Literal["auto"] = "auto",
        odir: tuple[float, float] | None = None,
        classes: ArrayLike | None = None,
        shrink_to: Literal["temperature", "zero"] = "temperature",
        from_logits: bool = False,
    ) -> None:
        self.l2 = l2
        self.odir = odir
        self.classes = classes
        self.shrink_to = shrink_to
        self.from_logits = from_logits

    def family(self, n_classes: int) -> families.DirichletFamily:
        """Return the parametric family for this number of classes."""
        odir = None if self.odir is None else numbers_in(self.odir)
        l2, shrink_to = (0.0, "zero") if self._is_auto() or odir is not None else (self.l2, self.shrink_to)
        return families.DirichletFamily(n_classes, l2, odir, shrink_to)

    def _check_number_of_classes(self, n_classes: int) -> None:
        self._check_parameters()  # all that a calibrator around this one asks of it

    def _is_auto(self) -> bool:
        return self.odir is None and isinstance(self.l2, str)

    def _find(self, family: Any, X: Floats, data: CalibrationSet) -> tuple[solvers.Fit, priors.Prior | None]:
        if not self._is_auto():
            return super()._find(family, X, data)
        return matrix_near_temperature(family, X, data)

    def _check_parameters(self) -> None:
        if not (isinstance(self.l2, str) and self.l2 == "auto"):
            if isinstance(self.l2, str):
                raise ValueError(f"l2 is {shown(self.l2)}; expected 'auto' or a number of at least 0.")
            check_at_least_0("l2", self.l2)
        if self.odir is not None:
            odir = numbers_in(self.odir)
            if odir.shape != (2,) or not (np.isfinite(odir).all() and (odir >= 0).all()):
                raise ValueError(f"odir is {shown(self.odir)}; expected two weights of at least 0.")
        check_one_of("shrink_to", self.shrink_to, SHRINK_TO)
        if self._is_auto() and self.shrink_to == "zero":
            raise ValueError("shrink_to is 'zero' and l2 is 'auto'; expected a number as l2, or 'temperature'.")
