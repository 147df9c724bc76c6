"""Global parametric calibrators: one map from scores to calibrated probabilities, fitted by minimum NLL.

Each class names its family; checking input is left to `base`, the mathematics to `families`, the optimum to `solvers`.
"""

import numpy as np
from sklearn.utils.validation import check_is_fitted

from clustcal.calibrators.base import Calibrator
from clustcal.core import families, solvers
from clustcal.core.parameters import check_at_least_0, check_one_of, numbers_in, shown

__all__ = ["BetaCalibration", "DirichletCalibration", "PlattScaling", "TemperatureScaling", "VectorScaling"]
# What Dirichlet calibration may be pulled to.
SHRINK_TO = ("zero", "temperature")


class ParametricCalibrator(Calibrator):
    """Fit by minimum NLL within one family; a subclass says which family serves n classes."""

    def _fit(self, data):
        family = self.family(data.n_classes)
        found = solvers.fit(family, data.scores.features(family), data.codes, data.weights[:, None]).warn()
        self.theta_ = found.theta[0]
        self.n_iter_ = found.n_iter

    def _check_parameters(self):
        self.family(2)

    def _check_number_of_classes(self, n_classes):
        self.family(n_classes)

    def _calibrate(self, scores, Z):
        family = self.family(len(self.classes_))
        return family.predict(self.theta_, scores.features(family))


def _binary_only(n_classes, name, multiclass_name):
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
    Labels enter as 0 and 1. Platt's original smooths them towards the base rate, which matters for a few dozen
    samples only; the paper does not.

    References
    ----------
    J. Platt, "Probabilistic outputs for support vector machines and comparisons to regularized likelihood
    methods", Advances in Large Margin Classifiers, 2000.

    Examples
    --------
    >>> import numpy as np
    >>> from clustcal import PlattScaling
    >>> p, y = np.repeat([0.2, 0.8], 10), [0] * 6 + [1] * 4 + [0] * 4 + [1] * 6
    >>> PlattScaling().fit(p, y).predict_proba([0.2, 0.8]).round(3)
    array([[0.6, 0.4],
           [0.4, 0.6]])
    """

    def __init__(self, classes=None, from_logits=False):
        self.classes = classes
        self.from_logits = from_logits

    def family(self, n_classes):
        """Return the parametric family for this number of classes."""
        _binary_only(n_classes, "PlattScaling", "VectorScaling")
        return families.PLATT


class TemperatureScaling(ParametricCalibrator):
    r"""Temperature scaling: one temperature divides all logits.

    .. math:: c_\theta(p) = \sigma(\mathrm{logit}(p) / T) \quad\text{or}\quad
        \mathrm{softmax}(\log p / T), \qquad \theta = 1 / T > 0

    The parameter is 1 / T because the NLL is convex in it. T is kept between 0.01 and 100.

    Parameters
    ----------
    classes : array-like of shape (L,), optional
        The label of each column of P; by default the sorted labels.
    from_logits : bool, default=False
        Whether P holds logits (log-odds of the second class, or a column for every class) instead of probabilities.
        Nothing is cut then, where log p of a probability of 0 must be.

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
    >>> round(TemperatureScaling().fit(p, y).temperature_, 6)  # log 9 / log 3
    2.0
    """

    def __init__(self, classes=None, from_logits=False):
        self.classes = classes
        self.from_logits = from_logits

    def family(self, n_classes):
        """Return the parametric family for this number of classes."""
        return families.TEMPERATURE if n_classes == 2 else families.TemperatureFamily(n_classes)

    @property
    def temperature_(self):
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

    References
    ----------
    M. Kull, T. Silva Filho, P. Flach, "Beta calibration: a well-founded and easily implemented improvement on
    logistic calibration for binary classifiers", AISTATS 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from clustcal import BetaCalibration
    >>> p, y = np.repeat([0.2, 0.5, 0.8], 4), [0, 0, 0, 1, 0, 0, 1, 1, 0, 1, 1, 1]
    >>> BetaCalibration().fit(p, y).predict_proba([0.2, 0.5, 0.8])[:, 1].round(3)
    array([0.25, 0.5 , 0.75])
    """

    def __init__(self, classes=None, from_logits=False):
        self.classes = classes
        self.from_logits = from_logits

    def family(self, n_classes):
        """Return the parametric family for this number of classes."""
        _binary_only(n_classes, "BetaCalibration", "DirichletCalibration")
        return families.BETA


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

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Weinberger, "On calibration of modern neural networks", ICML 2017.

    Examples
    --------
    >>> import numpy as np
    >>> from clustcal import VectorScaling
    >>> P = np.repeat([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1], [0.1, 0.1, 0.8]], 10, axis=0)
    >>> y = [0] * 6 + [1, 1, 2, 2] + [1] * 6 + [0, 0, 2, 2] + [2] * 6 + [0, 0, 1, 1]
    >>> VectorScaling().fit(P, y).predict_proba([[0.8, 0.1, 0.1]]).round(3)
    array([[0.6, 0.2, 0.2]])
    """

    def __init__(self, classes=None, from_logits=False):
        self.classes = classes
        self.from_logits = from_logits

    def family(self, n_classes):
        """Return the parametric family for this number of classes."""
        return families.VectorFamily(n_classes)


class DirichletCalibration(ParametricCalibrator):
    r"""Dirichlet calibration: a full linear map of the log-probabilities, then a softmax.

    .. math:: c_\theta(p) = \mathrm{softmax}(V \log p + b)

    fitted by the mean NLL plus a penalty, which many classes need: there are L (L + 1) parameters.

    Parameters
    ----------
    l2 : float, default=1e-3
        Weight of the squared distance of (V, b) from what ``shrink_to`` names. Used unless ``odir`` is given.
    shrink_to : {"zero", "temperature"}, default="zero"
        ``"zero"`` is the paper's weight decay: a strong penalty gives every class the same probability.
        ``"temperature"`` measures the distance from the nearest temperature scaling, (t I, 0) with t free, so that a
        strong penalty gives temperature scaling; with many classes this predicts much better, at an ``l2`` of 0.1 to 1.
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

    def __init__(self, l2=1e-3, odir=None, classes=None, shrink_to="zero", from_logits=False):
        self.l2 = l2
        self.odir = odir
        self.classes = classes
        self.shrink_to = shrink_to
        self.from_logits = from_logits

    def family(self, n_classes):
        """Return the parametric family for this number of classes."""
        check_at_least_0("l2", self.l2)
        odir = None if self.odir is None else numbers_in(self.odir)
        if odir is not None and (odir.shape != (2,) or not (np.isfinite(odir).all() and (odir >= 0).all())):
            raise ValueError(f"odir is {shown(self.odir)}; expected two weights of at least 0.")
        check_one_of("shrink_to", self.shrink_to, SHRINK_TO)
        if self.odir is not None and self.shrink_to != "zero":
            raise ValueError(f"odir is given and shrink_to is {self.shrink_to!r}; expected only one of them.")
        return families.DirichletFamily(n_classes, self.l2, odir, self.shrink_to)
