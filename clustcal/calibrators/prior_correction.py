"""Probabilities for other rates of the classes than those of the calibration set: label shift, sampled classes."""

from __future__ import annotations

from numbers import Real
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.exceptions import ConvergenceWarning

from clustcal.calibrators.base import CalibrationSet, Calibrator
from clustcal.core.array_types import Floats, Matrix
from clustcal.core.parameters import check_whole_number, numbers_in, shown
from clustcal.core.probabilities import ROW_SUM_TOLERANCE, Scores, as_weights
from clustcal.core.user_warnings import warn_user

__all__ = ["PriorCorrection"]


class PriorCorrection(Calibrator):
    r"""Correct calibrated probabilities for other rates of the classes, given or learned from unlabelled scores.

    Where the classes come at other rates :math:`\pi'` than the :math:`\pi` of the calibration set, and the rows of each
    class are as before (label shift), Bayes' rule gives

    .. math:: q_l \propto p_l \, \pi'_l / \pi_l .

    Without given rates `adapt` learns them from scores without labels, as the fixed point of
    :math:`\pi'_l = \mathrm{mean}_i \, q_{il}` (EM for the maximum likelihood of the scores; Saerens et al.).

    Parameters
    ----------
    rates : array-like of shape (L,) or float, optional
        The new rates, in the order of ``classes_``; a number is that of the second of two classes. Left out: those of
        the calibration set, until `adapt` is called.
    max_iter : int, default=10000
    tol : float, default=1e-10
        EM stops where no rate changes by more.
    classes : array-like of shape (L,), optional
        The label of each column of P; by default the sorted labels.

    Attributes
    ----------
    classes_ : ndarray of shape (L,)
    old_rates_ : ndarray of shape (L,)
        Of the calibration set.
    rates_ : ndarray of shape (L,)
        For which probabilities are given.
    n_iter_ : int
        Iterations of EM in the last `adapt`; 0 before there is one.

    Notes
    -----
    P should be calibrated on rows with the old rates: calibrate first, then correct. After undersampling of one class
    the old rates are those of the sample, and the new ones those of the population. A class without rows in the
    calibration set is left as it is. A row without probability for any class that the new rates leave keeps what it
    had, though that class should not occur.

    References
    ----------
    M. Saerens, P. Latinne, C. Decaestecker, "Adjusting the outputs of a classifier to new a priori probabilities: a
    simple procedure", Neural Computation, 2002.

    Examples
    --------
    Half of the sample are events, one in a hundred of the population: odds fall by a factor of 99.

    >>> from clustcal import PriorCorrection
    >>> corrected = PriorCorrection(rates=0.01).fit([0.2, 0.8], [0, 1])
    >>> corrected.predict_proba([0.5, 0.99])[:, 1]
    array([0.01, 0.5 ])
    """

    def __init__(
        self,
        rates: ArrayLike | None = None,
        max_iter: int = 10_000,
        tol: float = 1e-10,
        classes: ArrayLike | None = None,
    ) -> None:
        self.rates = rates
        self.max_iter = max_iter
        self.tol = tol
        self.classes = classes

    def _fit(self, data: CalibrationSet) -> None:
        rates = self._given_rates(data.n_classes)
        self.n_iter_ = 0
        self.old_rates_ = np.bincount(data.codes, data.weights, minlength=data.n_classes) / data.weights.sum()
        self.rates_ = self.old_rates_ if rates is None else rates

    def adapt(self, P: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Learn the new rates from scores without labels, and keep them.

        Parameters
        ----------
        P : array-like of shape (n,) or (n, L)
            Calibrated probabilities, of rows at the new rates.
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        self
        """
        P = self._read_scores(P).P
        weights = as_weights(sample_weight, len(P))
        share = weights / weights.sum()
        rates = self.old_rates_
        n_iter, change = 0, np.inf
        while change > self.tol and n_iter < self.max_iter:
            previous, rates = rates, share @ _corrected(P, self.old_rates_, rates)
            n_iter, change = n_iter + 1, np.abs(rates - previous).max()
        if change > self.tol:
            warn_user(f"EM stopped after {self.max_iter} iterations.", ConvergenceWarning)
        self.rates_, self.n_iter_ = rates, n_iter
        return self

    def _calibrate(self, scores: Scores, Z: Matrix) -> Floats:
        return _corrected(scores.P, self.old_rates_, self.rates_)

    def _check_parameters(self) -> None:
        check_whole_number("max_iter", self.max_iter)
        if not isinstance(self.tol, Real) or not 0 < self.tol < np.inf:
            raise ValueError(f"tol is {shown(self.tol)}; expected a number above 0.")

    def _given_rates(self, n_classes: int) -> Floats | None:
        if self.rates is None:
            return None
        rates = numbers_in(self.rates)
        if rates.ndim == 0 and n_classes == 2:
            rates = np.array([1 - rates, rates])
        if rates.shape != (n_classes,) or not (rates >= 0).all() or not abs(rates.sum() - 1) <= ROW_SUM_TOLERANCE:
            raise ValueError(
                f"rates is {shown(self.rates)}; expected a rate for each of {n_classes} classes, of sum 1."
            )
        return rates / rates.sum()


def _corrected(P: Floats, old_rates: Floats, rates: Floats) -> Floats:
    """Return P times the ratio of rates, each row divided by its sum; rows that would be 0 stay as they were."""
    ratio = np.divide(rates, old_rates, out=np.ones_like(rates), where=old_rates > 0)
    Q = P * ratio
    sums = Q.sum(axis=1, keepdims=True)
    return np.divide(Q, sums, out=P.copy(), where=sums > 0)
