"""Ensemble temperature scaling: a mixture of the tempered, the original and the uniform probabilities.

Builds on `parametric` for the family and on `solvers` for the temperature.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize, minimize_scalar

from clustcal.calibrators.base import CalibrationSet, Calibrator
from clustcal.calibrators.parametric import TemperatureScaling
from clustcal.core import solvers
from clustcal.core.array_types import Floats, Integers, Matrix
from clustcal.core.parameters import check_one_of, numbers_in, shown
from clustcal.core.probabilities import Scores

__all__ = ["EnsembleTemperatureScaling"]

LOSSES = ("ce", "mse")
# The squared error may have several minima in the temperature: the best point of a grid says around which to search.
GRID = 9
SLSQP_OPTIONS = {"ftol": 1e-15, "maxiter": 200}


class EnsembleTemperatureScaling(Calibrator):
    r"""Ensemble temperature scaling (ETS): temperature scaling, mixed with no scaling and with no knowledge.

    .. math:: q = w_1 \, \mathrm{softmax}(\log p / T) + w_2 \, p + \frac{w_3}{L}, \qquad
        w \ge 0, \quad w_1 + w_2 + w_3 = 1

    First T is fitted alone, then the weights given T. The order of the classes, and with it the accuracy, stays.

    Parameters
    ----------
    loss : {"ce", "mse"}, default="ce"
        What both steps minimise: the cross-entropy, or the squared error summed over classes. The cross-entropy is
        convex in 1 / T, and either loss in the weights.
    bounds : tuple of two floats, default=(0.05, 5.0)
        Lowest and highest T; with ``"ce"`` never beyond 0.01 and 100, as in `TemperatureScaling`.
    classes : array-like of shape (L,), optional
        The label of each column of P; by default the sorted labels.
    from_logits : bool, default=False
        Whether P holds logits (log-odds of the second class, or a column for every class) instead of probabilities.
        Nothing is cut then, where log p of a probability of 0 must be.

    Attributes
    ----------
    classes_ : ndarray of shape (L,)
    temperature_ : float
        T.
    weights_ : ndarray of shape (3,)
        Of the tempered, the original and the uniform probabilities.

    Notes
    -----
    The reference fits T by the squared error whatever the loss of the weights. Where T is 1 the first two parts are
    equal and only the sum of their weights is determined.

    References
    ----------
    J. Zhang, B. Kailkhura, T. Y.-J. Han, "Mix-n-Match: ensemble and compositional methods for uncertainty
    calibration in deep learning", ICML 2020.

    Examples
    --------
    A classifier that is right in about 80 of 100 cases, whether it says 0.9 or 0.999:

    >>> import numpy as np
    >>> from clustcal import TemperatureScaling
    >>> from clustcal import EnsembleTemperatureScaling
    >>> p, y = np.repeat([0.9, 0.999], 100), np.repeat([1, 0, 1, 0], [80, 20, 82, 18])
    >>> TemperatureScaling().fit(p, y).predict_proba([0.9, 0.999])[:, 1].round(2)
    array([0.65, 0.87])
    >>> fitted = EnsembleTemperatureScaling().fit(p, y)
    >>> fitted.predict_proba([0.9, 0.999])[:, 1].round(2)
    array([0.77, 0.84])
    >>> fitted.weights_.round(2)
    array([0.  , 0.68, 0.32])
    """

    def __init__(
        self,
        loss: Literal["ce", "mse"] = "ce",
        bounds: tuple[float, float] = (0.05, 5.0),
        classes: ArrayLike | None = None,
        from_logits: bool = False,
    ) -> None:
        self.loss = loss
        self.bounds = bounds
        self.classes = classes
        self.from_logits = from_logits

    def _fit(self, data: CalibrationSet) -> None:
        lowest, highest = numbers_in(self.bounds)
        P, codes, weights = data.scores.P, data.codes, data.weights
        family = TemperatureScaling().family(data.n_classes)
        X = data.scores.features(family)
        temper = lambda temperature: family.predict(np.array([1 / temperature]), X)
        if self.loss == "ce":
            # One convex problem in one variable: the optimum within bounds is the nearest to the one without.
            inverse = solvers.fit(family, X, codes, weights[:, None]).warn().theta[0, 0]
            temperature = float(np.clip(1 / inverse, lowest, highest))
            objective = _cross_entropy(temper(temperature), P, codes, weights)
        else:
            squared_error = lambda temperature: _squared_error(temper(temperature), codes, weights)
            temperature = _minimum_in(squared_error, lowest, highest)
            objective = _squared_error_of_mixture(temper(temperature), P, codes, weights)
        self.weights_ = _minimum_on_simplex(objective)
        self.temperature_ = temperature

    def _calibrate(self, scores: Scores, Z: Matrix) -> Floats:
        P = scores.P
        family = TemperatureScaling().family(P.shape[1])
        tempered = family.predict(np.array([1 / self.temperature_]), scores.features(family))
        first, second, third = self.weights_
        Q = first * tempered + second * P + third / P.shape[1]
        return Q / Q.sum(axis=1, keepdims=True)  # only rounding is left to remove

    def _check_parameters(self) -> None:
        check_one_of("loss", self.loss, LOSSES)
        bounds = numbers_in(self.bounds)
        if bounds.shape != (2,) or not 0 < bounds[0] <= bounds[1] < np.inf:
            raise ValueError(
                f"bounds is {shown(self.bounds)}; expected the lowest and the highest temperature, above 0."
            )


def _cross_entropy(
    tempered: Floats, P: Floats, codes: Integers, weights: Floats
) -> Callable[[Floats], tuple[float, Floats]]:
    """Return w -> (loss, gradient): the mean NLL of the mixture with these weights."""
    rows = np.arange(len(P))
    parts = np.column_stack([tempered[rows, codes], P[rows, codes], np.full(len(P), 1 / P.shape[1])])
    share = weights / weights.sum()

    def objective(w: Floats) -> tuple[float, Floats]:
        mixture = np.maximum(parts @ w, np.finfo(float).tiny)
        return -(share @ np.log(mixture)), -((share / mixture) @ parts)

    return objective


def _squared_error(Q: Floats, codes: Integers, weights: Floats) -> float:
    """Mean over rows of the squared error summed over classes."""
    right = Q[np.arange(len(Q)), codes]
    return (weights @ (np.einsum("nl,nl->n", Q, Q) - 2 * right)) / weights.sum() + 1


def _squared_error_of_mixture(
    tempered: Floats, P: Floats, codes: Integers, weights: Floats
) -> Callable[[Floats], tuple[float, Floats]]:
    """Return w -> (loss, gradient): the mean squared error of the mixture, a quadratic form in the weights."""
    parts = [tempered, P, np.full_like(P, 1 / P.shape[1])]
    share = weights / weights.sum()
    products = np.array([[share @ np.einsum("nl,nl->n", A, B) for B in parts] for A in parts])
    right = np.array([share @ A[np.arange(len(P)), codes] for A in parts])

    def objective(w: Floats) -> tuple[float, Floats]:
        return w @ products @ w - 2 * (w @ right) + 1, 2 * (products @ w - right)

    return objective


def _minimum_in(function: Callable[[float], float], lowest: float, highest: float) -> float:
    """Minimise a function of a positive number: the best of a geometric grid, refined between its neighbours."""
    grid = np.geomspace(lowest, highest, GRID)
    best = int(np.argmin([function(x) for x in grid]))
    bracket = np.log(grid[[max(best - 1, 0), min(best + 1, GRID - 1)]])
    found = minimize_scalar(
        lambda log_x: function(np.exp(log_x)), bounds=bracket, method="bounded", options={"xatol": 1e-7}
    )
    candidates = [grid[best], np.exp(found.x)]  # the search never tries the ends of its bracket
    return float(np.clip(min(candidates, key=function), lowest, highest))


def _minimum_on_simplex(objective: Callable[[Floats], tuple[float, Floats]]) -> Floats:
    """Minimise a convex function of three weights of at least 0 that sum to 1."""
    found = minimize(
        objective,
        np.full(3, 1 / 3),
        jac=True,
        method="SLSQP",
        bounds=[(0, 1)] * 3,
        constraints={"type": "eq", "fun": lambda w: w.sum() - 1, "jac": np.ones_like},
        options=SLSQP_OPTIONS,
    )
    w = found.x.clip(0)
    return w / w.sum()
