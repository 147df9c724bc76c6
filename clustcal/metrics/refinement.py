"""Refinement and calibration parts of a score: what recalibration cannot gain, and what it would."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import norm
from sklearn.base import clone
from sklearn.utils import Bunch
from sklearn.utils.validation import has_fit_parameter

from clustcal.calibrators.base import CalibrationSet, Calibrator
from clustcal.calibrators.parametric import TemperatureScaling
from clustcal.core.array_types import AnySeed, Estimator, Floats, Integers, Splits
from clustcal.core.parameters import check_level, check_one_of, shown
from clustcal.core.probabilities import Scores, as_counts, log_probabilities
from clustcal.core.random_states import as_generator
from clustcal.metrics._inputs import Forecast, read_folds, read_forecast

__all__ = ["refinement_decomposition"]


def refinement_decomposition(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    *,
    score: Literal["brier", "log_loss"] = "log_loss",
    calibrator: Estimator = None,
    cv: Splits = 5,
    confidence_level: float = 0.95,
    random_state: AnySeed = 0,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    pos_label: Hashable = None,
) -> Bunch:
    """Split log-loss (or Brier score) into refinement and calibration by cross-validated recalibration.

    The refinement part is the least expected score that any recalibration g of the forecast could have, the
    calibration part what the forecast loses to it,

    .. math::

        S(p) = \\underbrace{\\min_g S(g(p))}_{\\text{refinement}} +
        \\underbrace{S(p) - \\min_g S(g(p))}_{\\text{calibration}},

    and the minimum is estimated over the maps of one calibrator (temperature scaling, unless another is given), each
    row being scored with a map that was fitted to the other folds. So the calibration part is not inflated by a fit to
    the same rows: of a calibrated forecast it is near 0, on either side.

    Parameters
    ----------
    y_true, y_prob, sample_weight, labels, pos_label
        As in `log_loss`.
    score : {"log_loss", "brier"}, default="log_loss"
        In nats, or as in `brier`.
    calibrator : calibrator, optional
        Unfitted, such as ``BetaCalibration()``; it gets probabilities alone, so not one with ``from_logits``. Its
        ``classes``, if it has any, are to be those of the columns. By default `TemperatureScaling`.
    cv : int or splitter of scikit-learn, default=5
        A number of folds, shuffled, and with the classes in equal shares; or folds that hold out every row once.
    confidence_level : float, default=0.95
    random_state : int, RandomState instance, Generator or None, default=0

    Returns
    -------
    parts : Bunch
        ``score`` = ``refinement`` + ``calibration``; ``refinement_interval`` and ``calibration_interval``, (low, high)
        each.

    Raises
    ------
    ValueError
        If the input is not as described, or the calibrator cannot be fitted to a fold.

    Notes
    -----
    An upper bound of refinement, and a lower one of calibration, as far as the calibrator's family lacks the best map;
    temperature scaling has one parameter, and is the choice of the reference for models of many classes. Intervals are
    normal ones of the row means, given the fitted maps, and wider on each side by the noise of these maps: by how
    much better a map fitted to all rows seems on them than the cross-validated ones do. Near calibration that noise,
    of the order of the number of parameters over n, is all there is. Assumes independent rows that the forecast was
    not fitted to.

    Refinement is also what remains of early stopping once a calibrator follows: by its refinement, not by its loss, a
    model should then be chosen.

    References
    ----------
    Berta, E., Holzmueller, D., Jordan, M. I. and Bach, F. (2025). Rethinking early stopping: refine, then calibrate.
    arXiv 2501.19195.

    Broecker, J. (2009). Reliability, sufficiency, and the decomposition of proper scores. Quarterly Journal of the
    Royal Meteorological Society 135.

    Examples
    --------
    Forecasts with twice the logits that are right. The mean entropy of p is 1/2, and its mean divergence from the
    forecast (pi - 3) / 2 = 0.071:

    >>> import numpy as np
    >>> from clustcal.metrics import refinement_decomposition
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(size=5000)
    >>> y = (rng.uniform(size=5000) < p).astype(int)
    >>> parts = refinement_decomposition(y, p**2 / (p**2 + (1 - p) ** 2))
    >>> round(parts.refinement, 2), round(parts.calibration, 2)
    (0.5, 0.07)
    """
    check_level("confidence_level", confidence_level)
    check_one_of("score", score, ROW_SCORES)
    calibrator = _check_calibrator(calibrator)
    rng = as_generator(random_state)
    forecast = read_forecast(y_true, y_prob, sample_weight, labels, pos_label)
    calibrator = _of_codes(calibrator, forecast.classes.tolist())
    P, codes, weights = forecast.P, forecast.codes, forecast.weights
    everything = np.arange(len(P))
    folds = read_folds(cv, codes, weights, rng)
    _check_that_two_occur(forecast, everything, "y_true holds")
    for train, _ in folds:
        _check_that_two_occur(forecast, train, "cv has a fold that trains on")
    recalibrate = _recalibration(calibrator, forecast)
    Q = np.empty_like(P)
    for train, test in folds:
        Q[test] = recalibrate(train, test)
    in_sample = recalibrate(everything, everything)
    of_rows = ROW_SCORES[score]
    before, after, fitted = of_rows(P, codes), of_rows(Q, codes), of_rows(in_sample, codes)
    optimism = max(0.0, float(np.average(after - fitted, weights=weights)))
    refinement, refinement_interval = _mean_interval(after, weights, confidence_level, optimism)
    calibration, calibration_interval = _mean_interval(before - after, weights, confidence_level, optimism)
    return Bunch(
        score=float(np.average(before, weights=weights)),
        refinement=refinement,
        calibration=calibration,
        refinement_interval=refinement_interval,
        calibration_interval=calibration_interval,
    )


def _check_calibrator(calibrator: Estimator) -> Estimator:
    if calibrator is None:
        return TemperatureScaling(prior=None)
    methods = all(hasattr(calibrator, name) for name in ("fit", "predict_proba", "get_params"))
    if not methods or isinstance(calibrator, type):
        raise ValueError(f"calibrator is {shown(calibrator)}; expected an unfitted one, such as PlattScaling().")
    if not has_fit_parameter(calibrator, "sample_weight"):
        raise ValueError(f"calibrator is {shown(calibrator)}; expected one that is fitted with sample_weight.")
    if getattr(calibrator, "needs_representation", False):
        raise ValueError(
            f"calibrator is {shown(calibrator)}, which needs a representation; expected one of scores alone."
        )
    takes_logits = getattr(calibrator, "_takes_logits", lambda: getattr(calibrator, "from_logits", False))
    if takes_logits():
        raise ValueError("calibrator has from_logits=True and y_prob holds probabilities; expected from_logits=False.")
    return calibrator


def _of_codes(calibrator: Estimator, classes: list[Any]) -> Estimator:
    """The calibrator for the codes of labels: what it says of the classes must be so, and is then left out."""
    named = {name: value for name, value in calibrator.get_params().items() if name.split("__")[-1] == "classes"}
    for given in named.values():
        if given is not None and np.asarray(given).tolist() != classes:
            raise ValueError(f"calibrator has classes={shown(given)}; expected those of the columns, {classes}.")
    return clone(calibrator).set_params(**dict.fromkeys(named))


def _check_that_two_occur(forecast: Forecast, rows: Integers, which: str) -> None:
    """Raise a ValueError if rows of positive weight hold one class only; ``which`` says which rows these are."""
    present = np.unique(forecast.codes[rows[forecast.weights[rows] > 0]])
    if len(present) < 2:
        label = forecast.classes[present].tolist()
        found = f"labels of one class only, {shown(label[0])}" if label else "no rows of positive weight"
        raise ValueError(f"{which} {found}; expected at least two classes.")


def _recalibration(calibrator: Estimator, forecast: Forecast) -> Callable[[Integers, Integers], Floats]:
    """Return what fits the calibrator to some rows, and gives the probabilities that it makes of others."""
    P, codes, weights = forecast.P, forecast.codes, forecast.weights
    if isinstance(calibrator, Calibrator) and calibrator._has_the_common_door():
        calibrator._check()
        # A class that is missing from a fold is no news: the columns say which classes there are.
        data = CalibrationSet(Scores(P), codes, np.arange(P.shape[1]), as_counts(weights))
        return lambda train, test: clone(calibrator)._fit_to(data.take(train))._calibrate(data.scores.take(test), None)

    def recalibrate(train: Integers, test: Integers) -> Floats:
        fitted = clone(calibrator).fit(P[train], codes[train], sample_weight=weights[train])
        Q = np.asarray(fitted.predict_proba(P[test]))
        if Q.shape != P[test].shape:
            raise ValueError(f"calibrator returned shape {Q.shape}; expected {P[test].shape}, a column for each class.")
        return Q

    return recalibrate


def _mean_interval(
    values: Floats, weights: Floats, confidence_level: float, allowance: float
) -> tuple[float, tuple[float, float]]:
    share = weights / weights.sum()
    mean = float(share @ values)
    # n / (n - 1), with Kish's number of rows.
    lost = 1 - share @ share
    error = np.sqrt(share**2 @ (values - mean) ** 2 / lost) if lost > 1e-12 else np.inf
    reach = float(norm.ppf((1 + confidence_level) / 2) * error) + allowance
    return mean, (mean - reach, mean + reach)


def _log_loss_of_rows(P: Floats, codes: Integers) -> Any:
    return -log_probabilities(P[np.arange(len(P)), codes])


def _brier_of_rows(P: Floats, codes: Integers) -> Any:
    of_outcome = P[np.arange(len(P)), codes]
    if P.shape[1] == 2:
        return (1 - of_outcome) ** 2
    return np.einsum("nk,nk->n", P, P) - of_outcome**2 + (1 - of_outcome) ** 2


ROW_SCORES = {"log_loss": _log_loss_of_rows, "brier": _brier_of_rows}
