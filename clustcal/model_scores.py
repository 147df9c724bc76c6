"""The scores of a fitted classifier, a column for every class: its logits where it has them, else probabilities."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import log_softmax, softmax
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing

from clustcal.calibrators.base import Calibrator
from clustcal.core.array_types import Estimator, Floats, Inputs, Labels
from clustcal.core.labels import column_names, order_of_columns
from clustcal.core.probabilities import EPS, log_probabilities

# Logits belong to the probabilities if a softmax leads from one to the other, up to this in log p; models in single
# precision differ a bit.
AGREEMENT = 1e-2
# In single precision 1 - p is known to 6e-8, which is less than 1 % of this.
SMALLEST_SEEN = 1e-5
# On so many rows logits and probabilities are compared; asking for both of all rows would take twice the time.
COMPARED = 100


class ModelScores:
    """Reads the scores of one fitted model; `learn` finds out on some rows how.

    Decision values and raw margins are taken as logits if a softmax of them gives the model's probabilities, or if it
    has none; they hold what probabilities near 0 and 1 have lost. A class that the model does not know has
    probability 0, or the logit of the smallest probability that is not 0.

    Parameters
    ----------
    model : fitted classifier
    classes : ndarray of shape (L,)
        The labels of the columns that are wanted; those of the model may stand in any order and be fewer.

    Attributes
    ----------
    are_logits : bool
        What `read` returns.
    scale : float
        What logits are divided by; other than 1 only where they are not those of any probabilities.
    """

    def __init__(self, model: Estimator, classes: Labels) -> None:
        self.model = model.estimator if isinstance(model, FrozenEstimator) else model
        self.classes = classes
        self.scale = 1.0

    def learn(self, X: Inputs) -> Floats:
        """Find out how to read the scores, and return those of X, unscaled."""
        logits = self._logits(X)
        if not hasattr(self.model, "predict_proba"):
            self.are_logits = True
            return logits
        if logits is None:
            self.are_logits = False
        elif len(logits) <= COMPARED:
            P = self._columns(self.model.predict_proba(X), 0.0)
            self.are_logits = _agree(logits, P)
            return logits if self.are_logits else P
        else:
            # Rows from the least to the most certain, so that differences at either end are seen.
            order = np.argsort(np.ptp(logits, axis=1), kind="stable")
            rows = np.sort(order[np.linspace(0, len(order) - 1, COMPARED).astype(int)])
            P = self._columns(self.model.predict_proba(_safe_indexing(X, rows)), 0.0)
            self.are_logits = _agree(logits[rows], P)
        return logits if self.are_logits else self._columns(self.model.predict_proba(X), 0.0)

    def learn_scale(self, S: Floats, weights: Floats | None) -> None:
        """Find out the scale of the decision values S of an estimator without probabilities: their root mean square.

        Of two classes there is one value for a row; classes that the model does not know have none.
        """
        if not self.are_logits or hasattr(self.model, "predict_proba"):
            return
        known = np.isin(self.classes, self.model.classes_)
        values = S[:, known]
        if values.shape[1] == 2:
            values = values[:, 1:] - values[:, :1]
        largest = np.abs(values).max() or 1.0  # first, as the square of a large number may be none
        squares = np.mean((values / largest) ** 2, axis=1)
        self.scale = largest * np.sqrt(np.average(squares, weights=weights)) or 1.0

    def read(self, X: Inputs) -> Floats:
        """Return the scores of rows, shape (n, L)."""
        if self.are_logits:
            return self._logits(X) / self.scale
        return self._columns(self.model.predict_proba(X), 0.0)

    def probabilities(self, X: Inputs) -> Floats:
        """Return the scores of rows as probabilities, shape (n, L)."""
        scores = self.read(X)
        return softmax(scores, axis=1) if self.are_logits else scores

    def _logits(self, X: Inputs) -> Any:
        values = raw_logits(self.model, X)
        if values is None:
            return None
        values = np.asarray(values, dtype=np.float64)
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if values.ndim == 1:
            values = np.column_stack([np.zeros(len(values)), values])
        # Of three classes there are as many pairs, so that the number of columns alone would not tell.
        are_of_pairs = len(self.model.classes_) > 2 and getattr(self.model, "decision_function_shape", "ovr") == "ovo"
        if values.shape[1] != len(self.model.classes_) or are_of_pairs:
            if hasattr(self.model, "predict_proba"):
                return None
            raise ValueError(
                f"estimator gives decision values of shape {values.shape}, which are not one for each of its "
                f"{len(self.model.classes_)} classes; expected these (of SVC decision_function_shape='ovr')."
            )
        return self._columns(values, None)

    def _columns(self, known: Any, unknown: float | None) -> Floats:
        """Bring the columns of the model into the order of the classes."""
        labels = np.asarray(self.model.classes_)
        names = column_names(known)
        if names is not None and np.ndim(known) == 2:
            order, _ = order_of_columns(names, labels, labels, name="predict_proba")
            known = np.asarray(known) if order is None else np.asarray(known)[:, order]
        known = np.asarray(known)
        if known.ndim == 1:
            known = np.column_stack([1 - known, known])
        if known.ndim != 2 or known.shape[1] != len(labels):
            raise ValueError(
                f"estimator gives scores of shape {known.shape}; expected a column for each of its {len(labels)} "
                "classes."
            )
        column = {label: j for j, label in enumerate(self.classes.tolist())}
        places = [column[label] for label in labels.tolist()]
        if places == list(range(len(column))):
            return known
        low = known.max(axis=1, keepdims=True) + np.log(EPS) if unknown is None else np.full((len(known), 1), unknown)
        scores = np.repeat(low, len(column), axis=1)
        scores[:, places] = known
        return scores


def _agree(logits: Floats, P: Floats) -> bool:
    """Whether a softmax of the logits gives the probabilities, small ones too as far as single precision shows them."""
    seen = P > SMALLEST_SEEN
    difference = log_softmax(logits, axis=1) - log_probabilities(P)
    return bool((np.abs(difference[seen & (P < 1)]) < AGREEMENT).all())


def in_form_of(calibrator: Calibrator, S: Floats, are_logits: bool) -> Floats:
    """Return scores as the calibrator takes them: a calibrator within it may say that P holds logits."""
    if calibrator._takes_logits() == are_logits:
        return S
    return softmax(S, axis=1) if are_logits else log_probabilities(S)


def raw_logits(model: Estimator, X: Inputs) -> Any:
    """Return the decision values or raw margins of a fitted classifier for rows, or None if it has none."""
    if isinstance(model, FrozenEstimator):
        return raw_logits(model.estimator, X)
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    if isinstance(model, Pipeline):
        return raw_logits(model[-1], model[:-1].transform(X) if len(model) > 1 else X)
    for package, margins in RAW_MARGINS.items():
        if any(base.__module__.split(".")[0] == package for base in type(model).__mro__):
            return margins(model, X)
    return None


# How each package of boosted trees is asked for its margins.
RAW_MARGINS = {
    "xgboost": lambda model, X: model.predict(X, output_margin=True),
    "lightgbm": lambda model, X: model.predict_proba(X, raw_score=True),
    "catboost": lambda model, X: model.predict(X, prediction_type="RawFormulaVal"),
}
