"""What every metric does first: labels and probabilities of any accepted form in, one checked forecast out.

Builds on `clustcal.core.probabilities`, which does the checking. Here the two words that metrics have and
calibrators have not are given their meaning: ``pos_label`` and ``kind``.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from clustcal.core.array_types import Floats, Folds, Integers, Labels
from clustcal.core.folds import make_folds
from clustcal.core.labels import (
    as_labels,
    check_pos_label,
    column_names,
    distinct,
    encode_labels,
    order_of_columns,
)
from clustcal.core.parameters import check_one_of, shown
from clustcal.core.probabilities import as_probabilities, as_weights, check_same_length

KINDS = ("auto", "positive", "top-label", "classwise")


@dataclass(frozen=True)
class Forecast:
    """Checked probabilities P (n, L), label codes (n,), weights (n,), and the column of the positive class.

    ``one_vs_rest`` says that P has two columns because it was one class of many that was asked for.
    """

    P: Floats
    codes: Integers
    weights: Floats
    classes: Labels
    positive: int | None
    one_vs_rest: bool = False

    @property
    def is_binary(self) -> bool:
        return self.P.shape[1] == 2


def read_forecast(
    y_true: ArrayLike,
    y_prob: ArrayLike,
    sample_weight: ArrayLike | None = None,
    labels: ArrayLike | None = None,
    pos_label: Hashable = None,
    *,
    one_vs_rest: bool = True,
) -> Forecast:
    """Check the arguments that all metrics share and return them as a `Forecast`.

    One column of probabilities belongs to ``pos_label`` (default: the second of the sorted labels, in whatever
    order ``labels`` names them); the columns of a matrix belong to ``labels`` (default: the sorted labels), and
    ``pos_label`` picks one. Of more than two columns it picks that class against all others: a forecast of two
    columns, unless ``one_vs_rest`` is False. Columns of a frame that bear the names of the labels are taken by name.
    """
    P = as_probabilities(y_prob, name="y_prob")
    one_column = np.ndim(y_prob) == 1 or np.shape(y_prob)[1] == 1
    if one_column and pos_label is not None:
        if (names := column_names(y_prob)) is not None:
            check_pos_label(names[0], pos_label, as_labels(y_true) if labels is None else labels)
        labels = _negative_then_positive(y_true, labels, pos_label)
    else:
        if one_column and labels is not None:
            labels = np.unique(np.array(np.asarray(labels).tolist()))
        if (names := column_names(y_prob)) is not None:
            order, labels = order_of_columns(names, distinct(as_labels(y_true)), labels, name="y_prob")
            P = P if order is None else P[:, order]
    classes, codes = encode_labels(y_true, P.shape[1], classes=labels, require_two=False)
    check_same_length(len(P), y_true=codes)
    weights = as_weights(sample_weight, len(P))
    forecast = Forecast(P, codes, weights, classes, _positive_column(classes, pos_label))
    if one_vs_rest and pos_label is not None and not forecast.is_binary:
        return _against_the_rest(forecast, pos_label)
    return forecast


def forecast_events(forecast: Forecast, kind: str = "auto") -> list[tuple[Floats, Floats]]:
    """Return the list of (p, hit) pairs whose agreement ``kind`` speaks of: p in [0, 1], hit in {0, 1}, both (n,).

    ``"positive"``: the probability of the positive class, and whether it occurred. ``"top-label"``: the
    highest probability of the row, and whether that class occurred. ``"classwise"``: one pair per class.
    ``"auto"``: positive for two classes and for one class of many (pos_label), top-label for more.
    """
    kind = resolve_kind(forecast, kind)
    P, codes = forecast.P, forecast.codes
    if kind == "top-label":
        top = P.argmax(axis=1)
        return [(P[np.arange(len(P)), top], (top == codes).astype(float))]
    if kind == "classwise":
        return [(P[:, k], (codes == k).astype(float)) for k in range(P.shape[1])]
    return [(P[:, forecast.positive], (codes == forecast.positive).astype(float))]


def weights_as_rows(weights: Floats) -> Floats:
    """The weights at the scale at which they add up to Kish's effective number of rows, whatever theirs was.

    Examples
    --------
    >>> weights_as_rows(np.array([10.0, 10.0, 0.0]))
    array([1., 1., 0.])
    """
    share = weights / weights.sum()
    return share / (share @ share)


def read_folds(cv: Any, codes: Integers, weights: Floats, rng: np.random.Generator) -> Folds:
    """Return the folds as pairs of row numbers, once it is sure that they score every row once."""
    is_number = isinstance(cv, Integral) and not isinstance(cv, bool)
    if isinstance(cv, str) or not (is_number or hasattr(cv, "split") or hasattr(cv, "__iter__")):
        raise ValueError(f"cv is {shown(cv)}; expected a number of folds, a splitter, or pairs of row numbers.")
    try:
        if not is_number and not hasattr(cv, "split"):
            cv = [(fold[0], fold[1]) for fold in cv if len(fold) == 2 and len(fold[0]) and len(fold[1])]
        folds = make_folds(cv, codes, weights, int(rng.integers(2**31 - 1)))
        scored = np.bincount(np.concatenate([test for _, test in folds]), minlength=len(codes))
    except (TypeError, IndexError, KeyError, AttributeError):
        raise ValueError("cv could not be read as folds; expected pairs of row numbers (train, held out).") from None
    if not (scored == 1).all():
        raise ValueError("cv does not score every row once; expected folds that are a partition of the rows.")
    return folds


def event_classes(forecast: Forecast, kind: str = "auto") -> list[tuple[str, Any]]:
    """The kind and the class of each pair of `forecast_events`; the class is None for top labels."""
    kind = resolve_kind(forecast, kind)
    if kind == "top-label":
        return [(kind, None)]
    columns = range(forecast.P.shape[1]) if kind == "classwise" else [forecast.positive]
    return [("positive", forecast.classes.tolist()[k]) for k in columns]


def resolve_kind(forecast: Forecast, kind: str) -> str:
    """Check ``kind`` and say what "auto" means for this forecast."""
    check_one_of("kind", kind, KINDS)
    if kind == "auto":
        return "positive" if forecast.is_binary else "top-label"
    if kind == "positive" and forecast.positive is None:
        n_classes = forecast.P.shape[1]
        raise ValueError(
            f"kind is 'positive' and y_prob has {n_classes} columns; expected pos_label, to say which is meant."
        )
    if forecast.one_vs_rest and kind != "positive":
        label = forecast.classes.tolist()[forecast.positive]
        raise ValueError(f"kind is {kind!r} and pos_label is {label!r}; expected the kind 'positive', or no pos_label.")
    return kind


def forecast_event(forecast: Forecast, kind: str) -> tuple[Floats, Floats]:
    """The one (p, hit) pair of a ``kind`` that has only one."""
    check_one_of("kind", kind, KINDS)
    if kind == "classwise":
        raise ValueError("kind is 'classwise'; expected 'positive' (with pos_label) or 'top-label' here.")
    return forecast_events(forecast, kind)[0]


def _negative_then_positive(y_true: ArrayLike, labels: ArrayLike | None, pos_label: Any) -> Labels:
    """Order two labels so that the second is the one that a single column of probabilities speaks of."""
    known = pd.unique(np.ravel(y_true if labels is None else labels)).tolist()
    others = [label for label in known if label != pos_label]
    if len(others) == 2 and len(known) == 2:
        raise ValueError(f"pos_label is {shown(pos_label)}; expected one of {known}.")
    if len(others) > 1:
        raise ValueError(f"y_prob has one column and the labels are {known}; expected two classes.")
    if not others:
        # Only the positive class is known; any other label may stand for the class that did not occur.
        others = [f"not {pos_label}" if isinstance(pos_label, str) else pos_label - 1 if pos_label else 1]
    return np.array([others[0], pos_label])


def _positive_column(classes: Labels, pos_label: Hashable) -> int | None:
    """The column that ``pos_label`` names; without it, that of the second of two sorted labels and none of more."""
    if pos_label is None:
        return int(np.argmax(classes == np.unique(classes)[1])) if len(classes) == 2 else None
    found = [column for column, label in enumerate(classes.tolist()) if label == pos_label]
    if not found:
        raise ValueError(f"pos_label is {shown(pos_label)}; expected one of {classes.tolist()}.")
    return found[0]


def _against_the_rest(forecast: Forecast, pos_label: Hashable) -> Forecast:
    """The forecast of two columns that speaks of the positive class alone, which is the second."""
    p = forecast.P[:, forecast.positive]
    # Labels of any type, so the other one is no number or word that could be mistaken for one of them.
    classes = np.empty(2, dtype=object)
    classes[:] = [f"other than {pos_label}", forecast.classes.tolist()[forecast.positive]]
    codes = (forecast.codes == forecast.positive).astype(np.intp)
    return Forecast(np.column_stack([1 - p, p]), codes, forecast.weights, classes, 1, one_vs_rest=True)
