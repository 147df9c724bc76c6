"""Labels of any type, and which column of P belongs to which of them: by name, where columns have names."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from clustcal.core.array_types import Floats, Integers, Labels
from clustcal.core.parameters import shown
from clustcal.core.user_warnings import warn_user

MIXED = "y mixes strings and other types; expected labels of one type."


def as_labels(y: ArrayLike) -> Labels:
    """Return labels as an array of one type, shape (n,).

    Raises
    ------
    ValueError
        If there are none, if some are missing, if their types differ, or if there is more than one per row.
    """
    if hasattr(y, "detach"):  # a tensor of torch, which may carry a gradient or lie on another device
        y = y.detach().cpu()
    check_no_label_missing(y)
    y = _of_one_type(y)
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise ValueError(f"y has shape {y.shape}; expected one label per row, shape (n,).")
    if y.size == 0:
        raise ValueError("y is empty; expected at least one label.")
    if y.dtype.kind in "fc" and not np.isfinite(y).all():
        raise ValueError("y holds NaN or infinite values; expected a label for every row.")
    # "T" is numpy's text of any length, which cannot yet be compared with the older kind.
    return _labels_from_objects(y) if y.dtype.kind in "OT" else y


def check_no_types_mixed(y: ArrayLike) -> None:
    """Raise a ValueError if text stands beside labels of other types, which numpy would turn into text."""
    if y is not None and not hasattr(y, "dtype"):
        _of_one_type(y)


def check_no_label_missing(y: ArrayLike) -> None:
    """Raise a ValueError if a label is missing: what pandas calls so, or what a masked array hides."""
    if isinstance(y, np.ma.MaskedArray):
        missing = np.ma.is_masked(y)
    elif isinstance(y, (pd.Series, pd.api.extensions.ExtensionArray)):
        missing = pd.isna(y).any()  # before they are an array of numpy, which some types then cannot be
    else:
        y = np.asarray(y)
        missing = y.dtype.kind in "OTMm" and pd.isna(y.astype(object)).any()
    if missing:
        raise ValueError("y holds missing values; expected a label for every row.")


def encode_labels(
    y: ArrayLike,
    n_classes: int,
    classes: ArrayLike | None = None,
    *,
    require_two: bool = True,
    weights: Floats | None = None,
) -> tuple[Labels, Integers]:
    """Match labels of any type with the columns of P.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels: integers, strings, booleans.
    n_classes : int
        The number of columns of P.
    classes : array-like of shape (n_classes,), optional
        The label of each column of P. Left out, it is the sorted distinct labels if there are ``n_classes`` of
        them, else ``0 .. n_classes - 1`` if every label is one of these.
    require_two : bool, default=True
        Whether labels that are all alike are refused, as they must be where something is fitted.
    weights : ndarray of shape (n,), optional
        A class whose rows all have weight 0 does not occur.

    Returns
    -------
    classes : ndarray of shape (n_classes,)
    codes : ndarray of shape (n,), int
        ``classes[codes]`` equals ``y``.

    Raises
    ------
    ValueError
        If labels are missing, not among the classes, or all alike.

    Warns
    -----
    UserWarning
        Names the classes that do not occur in ``y``.

    Examples
    --------
    >>> encode_labels(["no", "yes", "no"], 2)
    (array(['no', 'yes'], dtype='<U3'), array([0, 1, 0]))
    """
    y = as_labels(y)
    present = distinct(y)
    classes = _labels_of_columns(present, n_classes, classes)
    if (classes.dtype.kind in "US") != (y.dtype.kind in "US"):
        raise ValueError(f"y holds the label {y[:1].tolist()[0]!r}; expected one of {classes.tolist()}.")
    unknown = _without(present, classes)
    if unknown:
        raise ValueError(f"y holds the label {unknown[0]!r}; expected one of {classes.tolist()}.")
    if require_two:
        _check_that_two_occur(y, present, classes, weights)
    return classes, codes_of(y, classes)


def order_of_columns(names: list[Any], present: Labels, classes: Any, name: str = "P") -> tuple[list[int] | None, Any]:
    """Return in which order the columns of a frame belong to sorted or given classes, and the classes themselves.

    Names that are the classes as a set say which column is whose, whole numbers too. Names that share nothing with the
    classes say nothing, nor do the numbers 0, 1, ... where they are not just the classes: a file or a library may have
    counted the columns. Columns then go by position.

    Parameters
    ----------
    names : list
        The names of the columns of P. One name alone is that of the class whose probability is given.
    present : ndarray
        The labels that occur, or the classes of a fitted calibrator.
    classes : array-like or None
        The classes, where they are known.
    name : str, default="P"
        What to call the frame in an error.

    Returns
    -------
    order : list of int or None
        For every class its column; None where columns go by position.
    classes : array-like or None
        As given, or what the names say.

    Raises
    ------
    ValueError
        If only some of the names are among the classes; or if the one name is 0, which is the class 0 for
        ``pd.DataFrame(P)[0]`` and no more than a number for ``pd.DataFrame(p)[0]``.

    Examples
    --------
    >>> order_of_columns(["yes", "no"], np.array(["no", "yes"]), None)
    ([1, 0], array(['no', 'yes'], dtype='<U3'))
    """
    known = np.asarray(present if classes is None else classes).tolist()
    labels = names if set(names) & set(known) else _as_named(names, known)
    shared = set(labels) & set(known)
    is_count = names == list(range(len(names)))
    if not shared or (is_count and len(names) > 1 and set(names) != set(known)):
        return None, classes
    if len(labels) == 1 and names[0] in (0, "0") and labels[0] == 0 and not isinstance(names[0], bool):
        raise ValueError(
            f"{name} is one column named {names[0]!r}, which may mean the class 0, or nothing; expected another name, "
            f"or none, as {name}.to_numpy() has."
        )
    if len(labels) == 1 and known == [0]:
        return [1, 0], classes  # of 0 and 1, of which no 1 occurs
    if len(labels) == 1 and len(known) <= 2:
        return ([1, 0] if len(known) == 2 and labels[0] == known[0] else None), known if len(known) == 2 else classes
    is_text = {isinstance(label, str) for label in labels}
    if classes is None and set(known) <= set(labels) and len(is_text) == 1:
        known = np.sort(np.array(labels))  # the names also tell of classes that do not occur
        return [labels.index(label) for label in known.tolist()], known
    if set(labels) != set(known) or len(labels) != len(known):
        raise ValueError(f"{name} has the columns {names}; expected the names {known}, in any order, or none of them.")
    return [labels.index(label) for label in known], known if classes is None else classes


def column_names(P: Any) -> list[Any] | None:
    """Return the names of the columns of a frame (or the name of a series) as a list, or None if P has none.

    The index 0, 1, ... that pandas gives where nobody named the columns is none.

    Examples
    --------
    >>> column_names(pd.DataFrame({"no": [0.2], "yes": [0.8]}))
    ['no', 'yes']
    """
    if hasattr(P, "columns"):
        names = list(P.columns)
        is_default = names == [0] or (isinstance(P.columns, pd.RangeIndex) and names == list(range(len(names))))
        return None if is_default else names
    name = getattr(P, "name", None)
    return [name] if name is not None and hasattr(P, "to_numpy") else None


def names_of_features(Z: Any) -> list[str] | None:
    """Return the names of the columns of a representation as a list, or None unless it is a frame with names of text.

    Of several representations in a list the names follow each other; None unless all have names.

    Examples
    --------
    >>> names_of_features(pd.DataFrame({"age": [60.0], "weight": [70.0]}))
    ['age', 'weight']
    """
    if isinstance(Z, (list, tuple)):
        names = []
        for part in Z:
            of_part = names_of_features(part)
            if of_part is None:
                return None
            names += of_part
    else:
        names = list(Z.columns) if hasattr(Z, "columns") else []
    return names if names and all(isinstance(name, str) for name in names) else None


def check_names_of_features(Z: Any, known: list[str] | None) -> None:
    """Raise a ValueError if the columns of a representation bear other names, or stand in another order, than in fit.

    Parameters
    ----------
    Z : array-like
    known : list or None
        The names in fit; None where it had none.
    """
    names = names_of_features(Z)
    if names is None or known is None or names == known:
        return
    at = next((j for j, (name, other) in enumerate(zip(names, known, strict=False)) if name != other), None)
    if at is not None:
        raise ValueError(f"Z has the column {names[at]!r} where fit had {known[at]!r}; expected the columns of fit.")


def check_pos_label(name: Any, pos_label: Hashable, known: ArrayLike) -> None:
    """Raise a ValueError if the one column of a frame, or the series, is named after another class than ``pos_label``.

    Parameters
    ----------
    name : object
        The name of the column.
    pos_label : label
        The class whose probability the column is said to hold.
    known : array-like
        The classes, or the labels that occur.

    Examples
    --------
    >>> check_pos_label("yes", "yes", ["no", "yes"])
    >>> check_pos_label("no", "yes", ["no", "yes"])
    Traceback (most recent call last):
    ...
    ValueError: pos_label is 'yes' and the column of y_prob is named 'no', which is another label; expected the same.
    """
    classes = np.asarray(known).tolist()
    (named,) = [name] if name in classes else _as_named([name], classes)
    if named in classes and named != pos_label:
        raise ValueError(
            f"pos_label is {pos_label!r} and the column of y_prob is named {name!r}, which is another label; expected "
            "the same."
        )


def distinct(y: Labels) -> Labels:
    """Return the distinct labels, sorted; small whole numbers are counted, which is faster than sorting."""
    if y.dtype.kind in "iu" and y.min() >= 0 and y.max() < max(len(y), 256):
        return np.flatnonzero(np.bincount(y)).astype(y.dtype)
    return np.unique(y)


def codes_of(y: Labels, classes: Labels) -> Integers:
    """Return the place of every label among the classes, of which it is one."""
    if y.dtype.kind in "iu" and np.array_equal(classes, np.arange(len(classes))):
        return y.astype(np.intp, copy=False)
    order = np.argsort(classes)
    return order[np.searchsorted(classes, y, sorter=order)]


def _check_that_two_occur(y: Labels, present: Labels, classes: Labels, weights: Floats | None) -> None:
    if weights is not None and not weights.all():
        present = distinct(y[weights > 0])
    if present.size == 1:
        raise ValueError(f"y holds only the label {present[:1].tolist()[0]!r}; expected at least two classes.")
    missing = _without(classes, present)
    if missing:
        warn_user(f"y has no label of the classes {missing}; nothing can be learned about them here.")


def _as_named(names: list[Any], labels: list[Any]) -> list[Any]:
    """Return the labels that names stand for if both are written out: frames of polars have names of text only."""
    by_text = {text: label for label in labels for text in _as_texts(label)}
    if {type(label) for label in labels} <= {int}:  # whole numbers that do not occur are labels too
        by_text = {**{name: int(name) for name in names if isinstance(name, str) and name.isdecimal()}, **by_text}
    return [next((by_text[text] for text in _as_texts(name) if text in by_text), name) for name in names]


def _as_texts(label: Any) -> list[str]:
    """Return how a label may be written: 1.0 also as 1, True also as true and 1."""
    if isinstance(label, bool):
        return [str(label), str(label).lower(), str(int(label))]
    return [str(label), str(int(label))] if isinstance(label, float) and label.is_integer() else [str(label)]


def _without(labels: Labels, others: Labels) -> list[Any]:
    """The labels that are not among the others."""
    found = set(others.tolist())
    return [label for label in labels.tolist() if label not in found]


def _of_one_type(y: Any) -> Labels:
    """Return labels as an array, unless numpy had to turn some into text for that."""
    array = np.asarray(y)
    if array.dtype.kind in "US" and not hasattr(y, "dtype"):
        kinds = {type(label) for label in np.asarray(y, dtype=object).ravel()}
        if not all(issubclass(kind, str) for kind in kinds) and len(kinds) > 1:
            raise ValueError(MIXED)
    return array


def _labels_from_objects(y: Labels) -> Labels:
    """Turn an object array into the array of its one type, so that it can be sorted and compared."""
    kinds = {type(label) for label in y}
    if any(issubclass(kind, str) for kind in kinds) and not all(issubclass(kind, str) for kind in kinds):
        raise ValueError(MIXED)
    return np.array(y.tolist())


def _labels_of_columns(present: Labels, n_classes: int, classes: ArrayLike | None) -> Labels:
    if classes is not None:
        classes = np.array(np.asarray(classes).tolist())
        if classes.shape != (n_classes,) or np.unique(classes).size != n_classes:
            raise ValueError(f"classes is {shown(classes.tolist())}; expected {n_classes} different labels.")
        return classes
    if present.size == n_classes:
        return present
    if present.size > n_classes:
        raise ValueError(f"y has {present.size} different labels; expected at most {n_classes}, the columns of P.")
    columns = np.arange(n_classes)
    if present.dtype.kind == "b":
        return columns.astype(bool)
    if present.dtype.kind in "iuf" and np.isin(present, columns).all():
        return columns.astype(present.dtype)
    raise ValueError(
        f"y holds the labels {present.tolist()} and P has {n_classes} columns; expected every class to occur, "
        "or the labels of the columns given as classes (labels in a metric)."
    )
