"""Ridge calibration: Platt or temperature scaling, plus as much of a representation as the data support.

Builds on ``core.ridge_evidence`` for the fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import sparse
from scipy.special import expit, log_softmax, softmax
from scipy.stats import norm
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from clustcal.calibrators.base import CalibrationSet, Calibrator
from clustcal.core import ridge_evidence
from clustcal.core.array_types import Floats, Matrix, Representation
from clustcal.core.parameters import check_at_least_0, check_level, numbers_in, shown
from clustcal.core.probabilities import Scores, log_probabilities, logits, weighted_quantiles
from clustcal.core.user_warnings import warn_user

__all__ = ["RidgeCalibration"]

CLIPPED = 0.001  # the share of rows at either end of a column


class RidgeCalibration(Calibrator):
    r"""Ridge calibration: one linear map of scores and representations, whose strengths the data choose.

    .. math:: \mathrm{logit} \, q(x) = a \, s(x) + b + \sum_k \gamma_k^\top \phi_k(x), \qquad
        s = \mathrm{logit} \, \hat p,

    with the representations :math:`\phi_1, \phi_2, \dots` of the row. The parameters minimise the sum of the log-loss
    over the calibration rows, plus :math:`\frac12 \sum_k \lambda_k \lvert \gamma_k \rvert^2`; slope and intercept are
    free. With L > 2 classes :math:`z = a \, s + b + \Gamma \phi` are the logits of a softmax, s is
    :math:`\log \hat p`, and :math:`\Gamma` has a row for every class.

    Parameters
    ----------
    caution : float, default=0.5
        c. Pulls every precision up: a representation that says nothing is then dropped or nearly so. 0 takes the most
        probable precisions; see Notes.
    groups : array-like of int, optional
        How many columns of Z belong to each representation, where Z holds several side by side. Left out: Z is one
        representation, or a list, each with a precision of its own.
    classes : array-like of shape (L,), optional
        The label of each column of P; by default the sorted labels.
    from_logits : bool, default=False
        Whether P holds logits (log-odds of the second class, or a column for every class) instead of probabilities.

    Attributes
    ----------
    classes_ : ndarray of shape (L,)
    slope_ : float
        a.
    intercept_ : float, or ndarray of shape (L,)
        b, that of columns at their mean in the calibration set.
    coefficients_ : list of ndarray of shape (m_k,), or (L, m_k)
        :math:`\gamma_k` per unit of the column as it was given: 0 where the representation was dropped.
    precisions_ : ndarray of shape (number of representations,)
        :math:`\lambda_k`, of columns divided by ``scales_``; infinite where the representation was dropped.
    determined_ : ndarray of shape (number of representations,)
        How many coefficients the data determine, :math:`m_k - \lambda_k \, \mathrm{tr}(H^{-1})_{kk}`, of
        :math:`m_k`.
    scales_ : ndarray of shape (number of representations,)
        The one number by which the columns of each were divided: the root mean square of all of them after centring.
    slope_of_scores_, intercept_of_scores_ : float (and ndarray of shape (L,) with L > 2)
        a and b without any representation: Platt scaling by maximum likelihood, or temperature scaling with intercepts.
    n_iter_ : int
        Updates of the precisions.

    See Also
    --------
    ClusteredCalibration : A representation by way of clusters.
    PlattScaling : What is left if nothing of the representation helps.

    Notes
    -----
    **Columns** are clipped to their 0.1 and 99.9 % quantiles in the calibration set, so that no row far out can move
    a forecast at will, then centred, and divided by one number for each representation: columns that vary little stay
    small. A sparse Z becomes dense.

    **Precisions** are, with c = 0, those under which the labels are most probable, by Laplace's approximation and
    MacKay's, which takes H as it stands though it moves with the precisions. With H the Hessian at the optimum, and
    :math:`m_k` coefficients (columns times L, with L > 2 classes), his update is

    .. math:: \lambda_k \leftarrow \frac{m_k - \lambda_k \, \mathrm{tr} (H^{-1})_{kk} + 2 c}{\lvert \gamma_k \rvert^2},

    kept between :math:`10^{-4} n` and :math:`10^4 n`, n the sum of weights, and overshot by one half in logarithms, at
    most 40 times. A representation that ends at the upper bound is dropped. Above 2,000 parameters the trace leaves out
    the covariances between the coefficients of different classes.

    **Caution** is a prior: the update looks, by the same approximations, for the mode in :math:`\log \lambda` of
    the evidence times :math:`\lambda^c`, which is the limit of a Gamma distribution of shape c whose mean goes to
    infinity. As :math:`\lambda \le 10^4 n`, it stands for the proper one of mean :math:`10^4 n`. Under that prior
    the coefficients together have Student's distribution with 2 c degrees of freedom, Cauchy's by default, and scale
    :math:`1 / \sqrt{10^4 n}`: very probably next to nothing, and if not, of any size.

    **Moment conditions.** On the calibration rows, with their weights,

    .. math:: \sum_i (q_i - y_i) = 0, \qquad \sum_i (q_i - y_i) \, s_i = 0, \qquad
        \sum_i (q_i - y_i) \, \phi_{ki} = - \lambda_k \gamma_k .

    Proof: these are the derivatives of the objective by b, a and :math:`\gamma_k`, which vanish at its minimum. So
    forecasts are right on average, and for every direction f in the span of scores and representations,
    :math:`f = \alpha + \beta s + \sum_k \delta_k^\top \phi_k`, the bias :math:`\frac1n \sum_i (q_i - y_i) f_i` is at
    most :math:`\sum_k \lambda_k \lvert \gamma_k \rvert \lvert \delta_k \rvert / n`. Where the updates have settled
    within the bounds this is :math:`\sum_k \sqrt{\lambda_k (d_k + 2 c)} \, \lvert \delta_k \rvert / n`, with
    :math:`d_k` in ``determined_``, as then :math:`\lambda_k \lvert \gamma_k \rvert^2 = d_k + 2 c`. (With more classes
    the same holds for each, but for the second condition, which holds for the sum over classes.)

    **Clusters mixed in logits** are a special case: with memberships w that sum to 1 and :math:`\phi = (w, w s)` the
    logit is :math:`\sum_k w_k (a_k s + b_k)`, every :math:`(a_k, b_k)` pulled to a common one.

    **Small sets.** Slope and intercept have no prior, as the moment conditions ask for. Where a hundred rows or so are
    nearly separated by the scores, forecasts are then too sure, as those of Platt scaling by maximum likelihood are;
    compare with the scores as they are there. Caution may also drop a representation that would have helped, and
    does not always drop one that says nothing.

    **Intervals.** By Laplace's approximation the parameters are normal around the optimum with covariance
    :math:`H^{-1}`, H the Hessian of the objective (of the sum over rows). With x a row's score, 1 and columns, the
    logit has the variance :math:`x^\top H^{-1} x`; its normal interval, taken back by the sigmoid, is that of
    `predict_interval`. It takes precisions as known and the map as linear: what shrinkage holds back, or what scores
    and representations do not say of a row, is not in it.

    A class that does not occur keeps an intercept that a normal prior holds near those of the others. Scores that
    separate the classes have no finite optimum; a finite one is used, with a warning.

    References
    ----------
    D. MacKay, "Bayesian interpolation" and "The evidence framework applied to classification networks", Neural
    Computation, 1992.

    M. E. Tipping, "Sparse Bayesian learning and the relevance vector machine", JMLR, 2001.

    Examples
    --------
    Scores that miss one of two things that matter, and a representation that holds it beside noise:

    >>> import numpy as np
    >>> from clustcal import PlattScaling, RidgeCalibration, metrics
    >>> rng = np.random.default_rng(0)
    >>> Z = rng.normal(size=(4000, 5))
    >>> s = rng.normal(size=4000)
    >>> y = rng.random(4000) < 1 / (1 + np.exp(-s - Z[:, 0]))
    >>> P = 1 / (1 + np.exp(-2 * s))
    >>> cal, test = slice(2000), slice(2000, None)
    >>> ridge = RidgeCalibration().fit(P[cal], y[cal], Z[cal])
    >>> platt = PlattScaling().fit(P[cal], y[cal])
    >>> for Q in (platt.predict_proba(P[test]), ridge.predict_proba(P[test], Z[test])):
    ...     print(round(metrics.log_loss(y[test], Q), 2))
    0.61
    0.54

    Two representations, the second of which is noise:

    >>> noise = rng.normal(size=(4000, 20))
    >>> ridge = RidgeCalibration().fit(P[cal], y[cal], [Z[cal], noise[cal]])
    >>> bool(ridge.precisions_[1] > 100 * ridge.precisions_[0])
    True
    """

    needs_representation = True
    takes_several_representations = True

    def __init__(
        self,
        caution: float = 0.5,
        groups: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        from_logits: bool = False,
    ) -> None:
        self.caution = caution
        self.groups = groups
        self.classes = classes
        self.from_logits = from_logits

    def explain(self, representation: int = 0, names: Sequence[Any] | None = None) -> pd.DataFrame:
        """Return what each column of a representation does to the logit, for two classes.

        Parameters
        ----------
        representation : int, default=0
            Which one, in the order of `fit`.
        names : sequence of str, optional
            Of its columns; by default those of the frame in `fit`, else numbers.

        Returns
        -------
        table : DataFrame with a row per column
            ``coefficient``, what one unit adds to the log-odds beside the score; ``slope``, the same plus ``slope_``:
            where the columns are SHAP values in log-odds, which add up to the score, this is by what each of them is
            multiplied in all; ``slope_of_scores``, by what Platt scaling multiplies every one of them; and ``effect``,
            the standard deviation over the calibration set of what the column adds beside the score.

        Raises
        ------
        ValueError
            If there are more than two classes, or no such representation.
        """
        check_is_fitted(self)
        if len(self.classes_) > 2:
            raise ValueError(
                f"classes_ has {len(self.classes_)} labels; expected 2, as an explanation is of one logit."
            )
        if representation not in range(len(self.coefficients_)):
            raise ValueError(
                f"representation is {shown(representation)}; expected a number from 0 to {len(self.coefficients_) - 1}."
            )
        coefficient = self.coefficients_[representation]
        first, last = np.cumsum([0, *self.groups_])[[representation, representation + 1]]
        if names is None:
            names = range(last - first) if self._names_of_Z is None else self._names_of_Z[first:last]
        table = pd.DataFrame({"coefficient": coefficient, "slope": self.slope_ + coefficient}, index=list(names))
        table["slope_of_scores"] = self.slope_of_scores_
        table["effect"] = np.abs(coefficient) * self._spreads[representation]
        return table

    def predict_interval(self, P: ArrayLike, Z: Representation | None = None, confidence_level: float = 0.95) -> Floats:
        """Return between which probabilities the calibrated one lies, for two classes, by Laplace's approximation.

        Parameters
        ----------
        P, Z
            As in `predict_proba`.
        confidence_level : float, default=0.95

        Returns
        -------
        interval : ndarray of shape (n, 2)
            The lower and the upper probability of the second class. See Notes of the class for what is not in it.

        Raises
        ------
        ValueError
            If there are more than two classes, or an argument is not as described.

        Examples
        --------
        Few rows say little, and least where there are none:

        >>> import numpy as np
        >>> from clustcal import RidgeCalibration
        >>> rng = np.random.default_rng(0)
        >>> s = rng.normal(size=4000)
        >>> y = rng.random(4000) < 1 / (1 + np.exp(-s))
        >>> P, Z = 1 / (1 + np.exp(-s)), rng.normal(size=(4000, 2))
        >>> for n in (100, 4000):
        ...     interval = RidgeCalibration().fit(P[:n], y[:n], Z[:n]).predict_interval([0.5, 0.9], [[0, 0], [0, 0]])
        ...     print((interval[:, 1] - interval[:, 0]).round(2))
        [0.21 0.3 ]
        [0.03 0.03]
        """
        check_is_fitted(self)
        check_level("confidence_level", confidence_level)
        if len(self.classes_) > 2:
            raise ValueError(f"classes_ has {len(self.classes_)} labels; expected 2, as an interval is of one logit.")
        scores, Z = self._read(P, Z)
        a, B = self._theta
        S, Phi = self._scores(scores), self._columns(_dense(Z))
        X = np.column_stack([S[:, 0], np.ones(len(S)), Phi])
        middle = X @ np.concatenate([[a], B[0]])
        variance = np.einsum("ij,ij->i", X @ self._covariance, X)
        reach = norm.ppf((1 + confidence_level) / 2) * np.sqrt(variance)
        interval: Floats = expit(np.column_stack([middle - reach, middle + reach]))
        return interval

    def _fit(self, data: CalibrationSet) -> None:
        sizes = self._sizes(data)
        weights = data.weights
        S = self._learn_scores(_log_scores(data.scores), weights)
        Phi = self._learn_columns(_dense(data.Z), sizes, weights)
        problem = ridge_evidence.pose(S, Phi, data.codes, weights, data.n_classes)
        found = ridge_evidence.fit(problem, sizes, self.caution)
        if not found.is_finite:
            message = "The scores separate the classes, so the best parameters are infinite; finite ones are used."
            warn_user(message, ConvergenceWarning)
        self._theta, self._covariance = (found.a, found.B), found.covariance
        self.slope_, self.intercept_ = self._in_units_of_scores(found.a, found.B[:, 0])
        alone = ridge_evidence.fit_scores_alone(problem)
        self.slope_of_scores_, self.intercept_of_scores_ = self._in_units_of_scores(*alone)
        per_unit = found.B[:, 1:] / np.repeat(self._units, sizes)
        ends = np.cumsum(sizes)[:-1]
        is_binary = data.n_classes == 2
        self.coefficients_ = [part[0] if is_binary else part for part in np.split(per_unit, ends, axis=1)]
        self._spreads = np.split(self._spread, ends)
        self.precisions_, self.determined_, self.n_iter_ = found.precisions, found.determined, found.n_updates
        self.groups_ = np.array(sizes)

    def _calibrate(self, scores: Scores, Z: Matrix) -> Floats:
        a, B = self._theta
        logit_or_logits = a * self._scores(scores) + B[:, 0] + self._columns(_dense(Z)) @ B[:, 1:].T
        if B.shape[0] > 1:
            return softmax(logit_or_logits, axis=1)
        z = logit_or_logits[:, 0]
        return np.column_stack([expit(-z), expit(z)])

    def _learn_scores(self, S: Floats, weights: Floats) -> Floats:
        """Centre scores and bring them to one unit, in which sums of squares are safe."""
        share = weights / weights.sum()
        self._centre_of_scores = share @ S
        away = S - self._centre_of_scores
        self._unit_of_scores = _root_mean_square(away, share)
        return away / self._unit_of_scores

    def _learn_columns(self, Z: Floats, sizes: list[int], weights: Floats) -> Floats:
        """Clip, centre and scale the columns of every representation, and remember how."""
        share = weights / weights.sum()
        self._lower, self._upper = weighted_quantiles(Z, (CLIPPED, 1 - CLIPPED), weights)
        Z = np.clip(Z, self._lower, self._upper)
        self._centre = share @ Z
        Z -= self._centre
        parts = np.split(Z, np.cumsum(sizes)[:-1], axis=1)
        self._units = np.array([_root_mean_square(part, share) for part in parts])
        is_constant = self._upper == self._lower
        unit = np.repeat(self._units, sizes)
        Z /= unit
        Z[:, is_constant] = 0.0  # without what rounding leaves
        self._spread = np.sqrt(share @ Z**2) * unit
        self.scales_ = self._units
        return Z

    def _scores(self, scores: Scores) -> Floats:
        return (_log_scores(scores) - self._centre_of_scores) / self._unit_of_scores

    def _columns(self, Z: Floats) -> Floats:
        sizes = self.groups_
        Phi = (np.clip(Z, self._lower, self._upper) - self._centre) / np.repeat(self._units, sizes)
        Phi[:, self._upper == self._lower] = 0.0
        return Phi

    def _in_units_of_scores(self, a: float, b: Floats) -> tuple[float, float | Floats]:
        """Return slope and intercepts for scores as they are."""
        slope = a / self._unit_of_scores
        intercept = b - slope * self._centre_of_scores
        return float(slope), float(intercept[0]) if intercept.size == 1 else intercept - intercept.mean()

    def _sizes(self, data: CalibrationSet) -> list[int]:
        """Return the numbers of columns of the representations, as a list of int."""
        width = data.Z.shape[1]
        if self.groups is None:
            return [width] if data.sizes is None else list(data.sizes)
        sizes = [int(m) for m in np.asarray(self.groups)]
        if sum(sizes) != width:
            raise ValueError(f"groups adds up to {sum(sizes)} and Z has {width} columns; expected the same number.")
        if data.sizes is not None and list(data.sizes) != sizes:
            raise ValueError(
                f"groups is {shown(self.groups)} and Z has representations of {list(data.sizes)} columns; expected the "
                "same."
            )
        return sizes

    def _check_parameters(self) -> None:
        check_at_least_0("caution", self.caution)
        if self.groups is not None:
            sizes = numbers_in(self.groups)
            if sizes.ndim != 1 or sizes.size == 0 or not ((sizes >= 1) & (sizes == np.round(sizes))).all():
                raise ValueError(f"groups is {shown(self.groups)}; expected whole numbers of columns, each at least 1.")


def _log_scores(scores: Scores) -> Floats:
    """Return what the slope multiplies: the logit (n, 1) of two classes, else the logarithms (n, L)."""
    if scores.P.shape[1] == 2:
        s = logits(scores.P[:, 1]) if scores.logits is None else scores.logits[:, 1] - scores.logits[:, 0]
        return s[:, None]
    U = log_probabilities(scores.P) if scores.logits is None else log_softmax(scores.logits, axis=1)
    return U


def _dense(Z: Matrix) -> Floats:
    return Z.toarray() if sparse.issparse(Z) else Z


def _root_mean_square(values: Floats, share: Floats) -> float:
    """Return the root of the weighted mean of squares over all columns; 1 where all are 0."""
    largest = np.abs(values).max()
    if largest == 0:
        return 1.0
    return largest * np.sqrt(np.mean(share @ (values / largest) ** 2)) or 1.0
