"""Matrix scaling: a full matrix and intercepts on the logits of all classes."""

from __future__ import annotations

from typing import Any

from clustcal.calibrators.base import CalibrationSet
from clustcal.calibrators.parametric import ParametricCalibrator, matrix_near_temperature
from clustcal.core import priors, solvers
from clustcal.core.array_types import Floats
from clustcal.core.families import DirichletFamily

__all__ = ["MatrixScaling"]


class MatrixScaling(ParametricCalibrator):
    r"""Matrix scaling: a matrix and an intercept for the logits of all classes, then a softmax.

    .. math:: q = \mathrm{softmax}(V \log p + b)

    Parameters
    ----------
    classes : array-like of shape (L,), optional
        The label of each column of P; by default the sorted labels.
    from_logits : bool, default=False
        Whether P holds logits (log-odds of the second class, or a column for every class) instead of probabilities.
        Nothing is cut then, where log p of a probability of 0 must be.
    prior : "auto" or None, default="auto"
        ``"auto"`` pulls V and b to temperature scaling with the structure and the strengths of `StructuredScaling`:
        intercepts, diagonal and the rest each as strongly as the data say. None is maximum likelihood, the fit of Guo
        et al.: with L (L + 1) parameters it predicts far worse than no calibration unless each class has very many
        rows.

    Attributes
    ----------
    classes_ : ndarray of shape (L,)
    theta_ : ndarray of shape (L * (L + 1),)
        Class by class, the row of V and then the element of b.
    n_iter_ : int
        Iterations of the solver.

    See Also
    --------
    StructuredScaling : The same with a second matrix, on probabilities; what we recommend for more than two classes.
    DirichletCalibration : The same map, with the penalties of Kull et al.

    Notes
    -----
    The prior of ``"auto"`` is that of `DirichletCalibration` with ``l2="auto"``, where it is written out; with few
    rows for :math:`L^3` the rest of the matrix stays at 0. Structured matrix scaling of Berta et al. has the same
    structure, and strengths that depend on n and L only.

    A matrix makes something of a constant that is added to all logits of a row, which a softmax does not notice. Here
    that constant is taken away first, as the logits become log-probabilities.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun, K. Weinberger, "On calibration of modern neural networks", ICML 2017.

    E. Berta, D. Holzmüller, M. I. Jordan, F. Bach, "Structured matrix scaling for multi-class calibration",
    AISTATS 2026.

    Examples
    --------
    The classifier takes half of the third class for the second, which no slope of a single class can put right:

    >>> import numpy as np
    >>> from clustcal import MatrixScaling
    >>> P = np.repeat([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]], 10, axis=0)
    >>> y = [0] * 8 + [1, 2] + [0] * 2 + [1] * 4 + [2] * 4
    >>> MatrixScaling(prior=None).fit(P, y).predict_proba([[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]]).round(3)
    array([[0.8, 0.1, 0.1],
           [0.2, 0.4, 0.4]])
    """

    def family(self, n_classes: int) -> DirichletFamily:
        """Return the parametric family for this number of classes."""
        return DirichletFamily(n_classes)

    def _find(self, family: Any, X: Floats, data: CalibrationSet) -> tuple[solvers.Fit, priors.Prior | None]:
        return super()._find(family, X, data) if self.prior is None else matrix_near_temperature(family, X, data)
