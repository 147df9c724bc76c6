"""The door to all calibrators: what comes in is checked here, once, and behind it everything is trusted.

A public `fit` or `predict_proba` brings its arguments into canonical form; private ones, which calibrators that contain
others call, take that form as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import check_is_fitted

from clustcal.core.array_types import Floats, Integers, Labels, Matrix, Representation
from clustcal.core.labels import (
    as_labels,
    check_names_of_features,
    column_names,
    distinct,
    encode_labels,
    names_of_features,
    order_of_columns,
)
from clustcal.core.parameters import check_true_or_false
from clustcal.core.probabilities import (
    Scores,
    are_several,
    as_counts,
    as_representation,
    as_representations,
    as_scores,
    as_weights,
    check_same_length,
)


@dataclass(frozen=True)
class CalibrationSet:
    """What a calibrator is fitted to, in canonical form: n rows, L classes, representations of m numbers.

    ``scores``; ``codes`` (n,), the column of each label; ``classes`` (L,), the label of each column; ``weights`` (n,);
    and the representation ``Z`` (n, m), None for calibrators that use none. ``sizes`` says how many columns each of
    several representations has, where Z was a list of them.
    """

    scores: Scores
    codes: Integers
    classes: Labels
    weights: Floats
    Z: Matrix = None
    sizes: tuple[int, ...] | None = None

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def n_classes(self) -> int:
        return len(self.classes)

    def take(self, rows: Integers) -> CalibrationSet:
        """Return some of the rows."""
        return replace(
            self,
            scores=self.scores.take(rows),
            codes=self.codes[rows],
            weights=self.weights[rows],
            Z=None if self.Z is None else self.Z[rows],
        )


def read_calibration_set(
    P: ArrayLike,
    y: ArrayLike,
    Z: Representation | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    classes: ArrayLike | None = None,
    from_logits: bool = False,
    needs_representation: bool = False,
    takes_several_representations: bool = False,
) -> CalibrationSet:
    """Bring what `fit` is given into canonical form, before anything is fitted."""
    scores = as_scores(P, from_logits)
    n = len(scores.P)
    check_same_length(n, y=y)
    weights = as_counts(as_weights(sample_weight, n))
    names = column_names(P)
    order = None
    if names is not None:
        order, classes = order_of_columns(names, distinct(as_labels(y)), classes)
    classes, codes = encode_labels(y, scores.P.shape[1], classes, weights=weights)
    if order is not None:
        scores = scores.take(columns=order)
    if not needs_representation:
        return CalibrationSet(scores, codes, classes, weights)
    return CalibrationSet(scores, codes, classes, weights, *_as_one_or_more(Z, takes_several_representations, n))


def _as_one_or_more(
    Z: Representation | None, takes_several: bool, *shape: int | None
) -> tuple[Matrix, tuple[int, ...] | None]:
    """Return a representation, or several side by side for a calibrator that takes them, and their sizes or None."""
    if takes_several:
        return as_representations(Z, *shape)
    if are_several(Z):
        raise ValueError("Z is a list of representations; expected one, as only RidgeCalibration takes more.")
    return as_representation(Z, *shape), None


class Calibrator(ClassifierMixin, BaseEstimator):
    """What every calibrator has in common, for n rows, L classes and representations of m numbers.

    A subclass gives ``_fit(data)``, which fits it to a `CalibrationSet`, and ``_calibrate(scores, Z)``, which returns
    calibrated probabilities (n, L); and, where it has parameters to check, ``_check_parameters()``.
    """

    # Whether Z is used, so that it must be given.
    needs_representation = False
    # Whether Z may be a list of representations.
    takes_several_representations = False
    classes: ArrayLike | None = None
    from_logits: bool = False
    _names_of_Z: list[str] | None = None
    _n_columns_of_Z: int | None = None
    _sizes_of_Z: tuple[int, ...] | None = None

    def _fit(self, data: CalibrationSet) -> None:
        raise NotImplementedError

    def _calibrate(self, scores: Scores, Z: Matrix) -> Floats:
        raise NotImplementedError

    def fit(
        self, P: ArrayLike, y: ArrayLike, Z: Representation | None = None, sample_weight: ArrayLike | None = None
    ) -> Self:
        """Fit to a calibration set: rows that the classifier was not trained on.

        Parameters
        ----------
        P : array-like or frame of shape (n,) or (n, L)
            Probabilities of the classifier; its logits where ``from_logits`` is set. One column is read as the
            probability (the log-odds) of the second class. Columns of a frame that bear the names of the classes are
            taken by name, in any order; others go by position, in the order of ``classes``.
        y : array-like of shape (n,)
            Labels of any type.
        Z : array-like or sparse matrix of shape (n, m), optional
            The representation of every row, for calibrators that use one; ignored by all others. `RidgeCalibration`
            also takes a list of representations.
        sample_weight : array-like of shape (n,), optional
            A weight of 2 is the same as two equal rows. Weights that sum to less than their effective number of rows,
            as those do that sum to 1, are scaled to it.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If an argument is not as described; nothing is fitted then.
        """
        self._check()
        data = read_calibration_set(
            P,
            y,
            Z,
            sample_weight,
            classes=self._classes_of_columns(),
            from_logits=self._takes_logits(),
            needs_representation=self.needs_representation,
            takes_several_representations=self.takes_several_representations,
        )
        self._fit_to(data)
        self._names_of_Z = names_of_features(Z) if self.needs_representation else None
        return self

    def predict_proba(self, P: ArrayLike, Z: Representation | None = None) -> Floats:
        """Return calibrated probabilities.

        Parameters
        ----------
        P : array-like or frame of shape (n,) or (n, L)
            Probabilities (or logits) of the classifier, in the form that `fit` was given, or any other for these
            classes.
        Z : array-like or sparse matrix of shape (n, m), optional
            The representation of every row; ignored by calibrators that use none.

        Returns
        -------
        Q : ndarray of shape (n, L)
            One column per label in ``classes_``; rows sum to 1.
        """
        return self._calibrate(*self._read(P, Z))

    def _read(self, P: ArrayLike, Z: Representation | None) -> tuple[Scores, Matrix]:
        """Return new scores and their representation in canonical form."""
        scores = self._read_scores(P)
        if self.needs_representation:
            check_names_of_features(Z, self._names_of_Z)
            Z, sizes = _as_one_or_more(Z, self.takes_several_representations, len(scores.P), self._n_columns_of_Z)
            if sizes is not None and self._sizes_of_Z is not None and sizes != self._sizes_of_Z:
                raise ValueError(
                    f"Z has representations of {list(sizes)} columns; expected {list(self._sizes_of_Z)}, as in fit."
                )
        return scores, Z

    def _read_scores(self, P: ArrayLike) -> Scores:
        """Return new scores in canonical form, their columns in the order of ``classes_``."""
        check_is_fitted(self)
        scores = as_scores(P, self._takes_logits())
        names = column_names(P)
        order = None if names is None else order_of_columns(names, self.classes_, self.classes_)[0]
        if scores.P.shape[1] != len(self.classes_):
            raise ValueError(f"P has {scores.P.shape[1]} columns; expected {len(self.classes_)}, as in fit.")
        return scores if order is None else scores.take(columns=order)

    def predict(self, P: ArrayLike, Z: Representation | None = None) -> Labels:
        """Return the most probable label of every row after calibration, shape (n,)."""
        best = self.predict_proba(P, Z).argmax(axis=1)  # first, as it says whether this is fitted
        return self.classes_[best]

    def score(
        self, P: ArrayLike, y: ArrayLike, Z: Representation | None = None, sample_weight: ArrayLike | None = None
    ) -> float:
        """Return the accuracy of `predict`, as scikit-learn's classifiers do.

        Calibration hardly changes it: to compare calibrators use ``scoring="neg_log_loss"`` or `clustcal.metrics`.
        """
        return accuracy_score(as_labels(y), self.predict(P, Z), sample_weight=sample_weight)

    def _has_the_common_door(self) -> bool:
        """Whether `fit` and `predict_proba` are those of this class, which private calls may pass by.

        A calibrator of a user may have its own, which does more than to read.
        """
        return type(self).fit is Calibrator.fit and type(self).predict_proba is Calibrator.predict_proba

    def _fit_to(self, data: CalibrationSet) -> Self:
        """Fit to a calibration set that is in canonical form already."""
        before = self.__dict__.copy()
        try:
            self._fit(data)
        except BaseException:  # an interruption too: a fit that does not end leaves what was there
            self.__dict__ = before
            raise
        self.classes_ = data.classes
        self._n_columns_of_Z = None if data.Z is None else data.Z.shape[1]
        self._sizes_of_Z = data.sizes
        return self

    def _check(self) -> None:
        """Raise a ValueError if a parameter cannot serve."""
        check_true_or_false("from_logits", self.from_logits)
        self._check_parameters()

    def _check_parameters(self) -> None:
        """Raise a ValueError if a parameter cannot serve."""

    def _check_number_of_rows(self, n: int, which: str = "rows") -> None:
        """Raise a ValueError if n rows are too few; ``which`` says in the error which rows these are."""

    def _check_number_of_classes(self, n_classes: int) -> None:
        """Raise a ValueError if it does not serve so many classes."""

    def _classes_of_columns(self) -> ArrayLike | None:
        """Return the labels of the columns as parameters give them, or None."""
        return self.classes

    def _takes_logits(self) -> bool:
        """Whether P holds logits."""
        return self.from_logits

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array = True
        return tags
