"""A classifier with calibrated probabilities: an estimator, a representation of its rows, and a calibrator, in one.

Builds on the calibrators and on the representations, for which it is the scikit-learn door: X in, labels and
probabilities out.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy.special import softmax
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.validation import _check_method_params, check_is_fitted, has_fit_parameter

from clustcal.calibrators.base import CalibrationSet, Calibrator
from clustcal.calibrators.parametric import PlattScaling, TemperatureScaling
from clustcal.checks_before_fit import (
    check_calibrator,
    check_early_stopping,
    check_estimator,
    check_labels,
    check_representation,
    check_that_axes_agree,
)
from clustcal.cluster_table import cluster_table, columns_of
from clustcal.core.array_types import Estimator, Floats, Folds, Integers, Labels, Matrix, Representation, Splits
from clustcal.core.folds import make_folds
from clustcal.core.labels import as_labels, codes_of, names_of_features
from clustcal.core.parameters import check_true_or_false
from clustcal.core.probabilities import (
    are_several,
    as_counts,
    as_representation,
    as_representations,
    as_scores,
    as_weights,
)
from clustcal.core.user_warnings import warn_user
from clustcal.fold_representations import (
    SideBySide,
    fill_model,
    fit_and_transform,
    fit_representation,
    joined,
    takes_a_model,
)
from clustcal.model_scores import ModelScores, in_form_of
from clustcal.representations.choice import default_representation
from clustcal.representations.features import StandardizedFeatures
from clustcal.representations.tree_models import last_step, package_of, rounds_found, unfrozen

__all__ = ["CalibratedClassifier"]

DEFAULT_FOLDS = 5


@dataclass(frozen=True)
class Rows:
    """What a classifier is fitted to: n rows with labels, weights and a representation where there are any.

    ``classes`` (L,) are the labels of the columns, ``codes`` (n,) the column of each label, ``sizes`` the numbers of
    columns of several representations in Z.
    """

    X: object
    y: Labels
    weights: Floats | None
    Z: Matrix
    codes: Integers
    classes: Labels
    sizes: tuple[int, ...] | None = None

    def take(self, rows: Integers) -> Rows:
        """Return some of the rows."""
        pick = lambda values: None if values is None else _safe_indexing(values, rows)
        return replace(
            self,
            X=pick(self.X),
            y=self.y[rows],
            weights=pick(self.weights),
            Z=pick(self.Z),
            codes=self.codes[rows],
        )


@dataclass
class CalibratedMember:
    """One fitted model with the representation and the calibrator that go with it."""

    estimator: Estimator
    scores: ModelScores = field(repr=False)
    representation: Estimator
    calibrator: Calibrator

    def predict_proba(self, X: Any, Z: Representation | None = None) -> Floats:
        """Return calibrated probabilities, shape (n, L)."""
        return self.calibrator.predict_proba(self.calibrator_input(X), self.represent(X, Z))

    def calibrator_input(self, X: Any) -> Floats:
        """Return the scores of rows in the form in which the calibrator takes them."""
        return in_form_of(self.calibrator, self.scores.read(X), self.scores.are_logits)

    def represent(self, X: Any, Z: Representation | None = None) -> Any:
        """Return Z as given, or else the representation of rows, or None if there is none."""
        return Z if Z is not None or self.representation is None else self.representation.transform(X)


class CalibratedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier whose probabilities are calibrated, globally or by clusters of a representation of its rows.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba`` or ``decision_function``. A model that is fitted already, on other rows, comes in a
        ``sklearn.frozen.FrozenEstimator``; any other is cloned and fitted here. A fitted XGBoost model that stopped
        early is fitted here with the number of rounds that it kept, unless it gets an ``eval_set``.
    calibrator : calibrator, default=None
        Any of this package, unfitted. Left out: `PlattScaling` for two classes, `TemperatureScaling` for more.
    representation : None, "data", transformer or list of transformers, default=None
        What the calibrator gets as Z. A transformer, such as `LeafCoverage`, is fitted without labels to the rows that
        the calibrator sees; where it has a parameter ``model`` that is None, the fitted estimator is put in. ``"data"``
        is `StandardizedFeatures`. None: nothing for a calibrator that uses no Z, else what
        `clustcal.representations.default_representation` says: SHAP values for boosted trees, leaf coverage for
        forests, the standardised features for the rest. A list goes with a calibrator that takes several
        representations, `RidgeCalibration`.
    cv : int, splitter or iterable, default=None
        The folds: their number (None: 5), in which case each holds out a block of the rows of every class;
        or a splitter or list of (train, held out) rows that holds out each row once. Not used for a `FrozenEstimator`.
    ensemble : bool, default=True
        True: in every fold the estimator is fitted to the other rows, and representation and calibrator to the rows
        held out; predictions are the mean over folds. False: one estimator of all rows; the calibrator is fitted to the
        scores and representations of rows by models that were not fitted to them. This needs a representation whose
        axes mean the same for each of these models; see the notes. Not used for a `FrozenEstimator`, which has one
        calibrator, fitted to all rows.

    Attributes
    ----------
    classes_ : ndarray of shape (L,)
        The labels, in the order of the columns: that of a frozen estimator, else sorted.
    calibrated_classifiers_ : list
        The members, one per fold or one in all, each with ``estimator``, ``representation`` and ``calibrator``.
    representation_ : transformer or None
        The representation that is used; with several members, that of the first.
    estimator_, calibrator_ : classifier, calibrator
        Those of the member, if there is one only.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Both only where the estimator knows them.

    See Also
    --------
    clustcal.ClusteredCalibration : Works on arrays of probabilities and representations.
    sklearn.calibration.CalibratedClassifierCV : The same idea for sigmoid, isotonic and temperature scaling.

    Notes
    -----
    **No row is used twice.** A calibrator never sees a score, nor a representation, that a model gave to one of its own
    training rows: a boosted model is far surer of these, and its SHAP values are longer, so that clusters of them tell
    nothing of new rows.

    A representation that comes with a fitted model of its own is refused unless the estimator is frozen, as that model
    may have been fitted to the rows that a fold holds out.

    **Axes.** With ``ensemble=False`` representations by the models of different folds stand in one table. So each of
    their axes must be a feature (`ShapValues`, `StandardizedFeatures`), and each feature a function of columns of X
    that it is named after (scaled, imputed, encoded, selected, a count of a word) or of a step that learns nothing.
    Leaves are none, nor are components, random projections or whatever else a step of the pipeline finds by itself, nor
    what a step puts out that does not say what it is named after; one's own transformer says so by an attribute
    ``axes_are_features = True``. Of an estimator that is no pipeline, such as a search over one, the features are the
    columns of X.

    **Logits.** Where a softmax of the decision values (or the raw margins of XGBoost, LightGBM and CatBoost) gives the
    estimator's probabilities, calibrators with a parameter ``from_logits`` are fitted to them, so that nothing is cut
    near 0 and 1. Decision values of an estimator without probabilities are first divided by their root mean square,
    whatever their scale; what is wrong with that, the calibrator corrects.

    **Metadata.** ``sample_weight`` goes to the calibrator and, if they take weights, to the estimator and the
    representation; a representation that takes none is fitted to each row as often as its weight says, where weights
    are whole numbers (of at most 10 on average), and else, with a warning, once to each row of positive weight. Other
    keywords of `fit` go to the estimator's ``fit``. With scikit-learn's
    metadata routing switched on, the estimator gets what it requested. Z, a representation that was computed
    elsewhere, can be given to `fit` and to the methods that predict, in place of a transformer; it must not come from
    a model that was trained on these rows.

    **Missing classes.** With folds, a class that the training rows of a fold lack has probability 0 for the rows
    held out there. Rows of this class that are held out there are left out of the calibration: no map of scores can
    make them right, and a temperature that tried would flatten the probabilities of all others.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.frozen import FrozenEstimator
    >>> from clustcal import CalibratedClassifier, ClusteredCalibration
    >>> X, y = make_classification(900, random_state=0)
    >>> calibrator = ClusteredCalibration(n_clusters=2, random_state=0)
    >>> classifier = CalibratedClassifier(RandomForestClassifier(20, random_state=0), calibrator, cv=3)
    >>> classifier.fit(X[:600], y[:600]).predict_proba(X[600:]).shape
    (300, 2)
    >>> classifier.representation_  # none was named
    LeafCoverage(model=RandomForestClassifier(n_estimators=20, random_state=0),
                 random_state=0)

    A model that is fitted already:

    >>> forest = RandomForestClassifier(20, random_state=0).fit(X[:300], y[:300])
    >>> classifier = CalibratedClassifier(FrozenEstimator(forest), calibrator).fit(X[300:600], y[300:600])
    >>> classifier.calibrator_.theta_.shape
    (2, 2)
    """

    def __init__(
        self,
        estimator: Estimator,
        calibrator: Calibrator | None = None,
        representation: Estimator | Literal["data"] | None = None,
        cv: Splits | None = None,
        ensemble: bool = True,
    ) -> None:
        self.estimator = estimator
        self.calibrator = calibrator
        self.representation = representation
        self.cv = cv
        self.ensemble = ensemble

    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        Z: Representation | None = None,
        **fit_params: Any,
    ) -> Self:
        """Fit the calibrator, and the estimator too unless it is frozen.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d)
            Rows as the estimator takes them; rows that a frozen estimator was not fitted to.
        y : array-like of shape (n,)
            Labels of any type.
        sample_weight : array-like of shape (n,), optional
            A weight of 2 is the same as two equal rows.
        Z : array-like or sparse matrix of shape (n, m), or list of these, optional
            The representation of every row, in place of ``representation``.
        **fit_params : dict
            For the estimator's ``fit``; entries with one value per row are cut into folds.

        Returns
        -------
        self
        """
        self._check_parameters(fit_params)
        X, labels = indexable(X, check_labels(y))
        names_of_Z = names_of_features(Z)
        sizes = None
        if Z is not None:
            self._check_takes_several(are_several(Z), "Z")
            Z, sizes = as_representations(Z, len(labels))
        weights = None if sample_weight is None else as_weights(sample_weight, len(labels))
        classes = self._classes_of(labels)
        counts = None if weights is None else as_counts(weights)  # the estimator gets them as they are
        data = Rows(X, labels, counts, Z, codes_of(labels, classes), classes, sizes)
        if self._is_frozen():
            self._check_beforehand(data, len(labels), "rows")
            _warn_of_missing_classes(data, [np.arange(len(labels))])
            members = [self._fit_member(unfrozen(self.estimator), data)]
        else:
            folds = self._folds(data)
            parts = [_rows_to_calibrate_on(data, fold) for fold in folds]
            n, which = min(map(len, parts)), "rows that a fold holds out"
            if not self.ensemble:
                parts, n, which = [np.concatenate(parts)], len(labels), "rows"
            self._check_beforehand(data, n, which)
            _warn_of_missing_classes(data, parts)
            params = self._params_for_estimator(weights, fit_params)
            if self.ensemble:
                members = [self._fit_fold(data, params, fold) for fold in folds]
            else:
                members = [self._fit_to_all(data, params, folds)]
        # Only now, so that a fit that failed leaves what was there: nothing, or the classifier of an earlier fit.
        for member in members if names_of_Z else ():
            member.calibrator._names_of_Z = names_of_Z
        self.classes_, self.calibrated_classifiers_ = data.classes, members
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(members[0].estimator, name):
                setattr(self, name, getattr(members[0].estimator, name))
        return self

    def predict_proba(self, X: Any, Z: Representation | None = None) -> Floats:
        """Return calibrated probabilities.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d)
        Z : array-like or sparse matrix of shape (n, m), optional
            The representation of every row; needed where `fit` was given one.

        Returns
        -------
        Q : ndarray of shape (n, L)
            One column per label in ``classes_``; rows sum to 1.
        """
        check_is_fitted(self)
        return _mean([member.predict_proba(X, Z) for member in self.calibrated_classifiers_])

    def predict(self, X: Any, Z: Representation | None = None) -> Labels:
        """Return the most probable label of every row after calibration, shape (n,); X and Z as `predict_proba`."""
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X, Z).argmax(axis=1)]

    def predict_scores(self, X: Any) -> Floats:
        """Return the probabilities of the estimator before calibration, shape (n, L); the mean over members."""
        check_is_fitted(self)
        return _mean([member.scores.probabilities(X) for member in self.calibrated_classifiers_])

    @property
    def representation_(self) -> Estimator:
        return self._members()[0].representation

    @property
    def estimator_(self) -> Estimator:
        return self._only_member("estimator_").estimator

    @property
    def calibrator_(self) -> Calibrator:
        return self._only_member("calibrator_").calibrator

    def cluster_summary(self, X: Any, y: ArrayLike | None = None, Z: Representation | None = None) -> pd.DataFrame:
        """Describe the clusters: what is typical of their rows, and how well calibrated they are.

        A row is counted in the cluster in which its membership is largest.

        Parameters
        ----------
        X : array-like or frame of shape (n, d), or whatever the estimator takes
        y : array-like of shape (n,), optional
            Labels; without them there is no base rate and no error.
        Z : array-like of shape (n, m), optional
            As in `fit`.

        Returns
        -------
        summary : DataFrame with one row per cluster
            ``size`` in rows; ``mean_score`` and ``mean_calibrated``, the mean probability of the second class before
            and after calibration; with y, ``base_rate``, its share of the labels, and ``score_error`` and
            ``calibrated_error``, each mean less the base rate. With more than two classes the probability is that of
            the label predicted after calibration, and the base rate is how often this is right. Then for every column
            of numbers or dates in X its first and third quartile, ``"age q25"`` and ``"age q75"`` (of dates the
            earlier one where a quartile lies between two); for true and false the share of true among the known,
            ``"smokes share"``; for other columns the most frequent value, ``"work mode"``; nothing for texts and
            images, which have no columns. A cluster without rows has missing values. With several members the index is
            (fold, cluster), as each member has clusters of its own.

        Raises
        ------
        ValueError
            If the calibrator has no clusters.
        """
        check_is_fitted(self)
        y = None if y is None else as_labels(y)
        columns = columns_of(X, getattr(self, "feature_names_in_", None))
        tables = [self._table_of(member, columns, X, y, Z) for member in self.calibrated_classifiers_]
        return tables[0] if len(tables) == 1 else pd.concat(tables, keys=range(len(tables)), names=["fold"])

    def get_metadata_routing(self) -> MetadataRouter:
        """Return what is routed where: see scikit-learn's metadata routing."""
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        return router.add(estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if not hasattr(self.estimator, "__sklearn_tags__"):
            return tags
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        if inner.classifier_tags is not None:
            tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        return tags

    def _table_of(
        self, member: CalibratedMember, columns: pd.DataFrame, X: Any, y: Labels | None, Z: Representation | None
    ) -> pd.DataFrame:
        """Return the table of the clusters of one member."""
        if not hasattr(member.calibrator, "memberships"):
            raise ValueError(f"calibrator is {member.calibrator!r}; expected a clustered one.")
        Z = member.represent(X, Z)
        W = member.calibrator.memberships(Z)
        S = member.scores.read(X)
        Q = member.calibrator.predict_proba(in_form_of(member.calibrator, S, member.scores.are_logits), Z)
        P = softmax(S, axis=1) if member.scores.are_logits else S
        return cluster_table(W, P, Q, self.classes_, y, columns)

    def _is_frozen(self) -> bool:
        """Whether the estimator only predicts: frozen by the user, or without a `fit`, as exported models are."""
        return isinstance(self.estimator, FrozenEstimator) or not hasattr(self.estimator, "fit")

    def _members(self) -> list[CalibratedMember]:
        members = vars(self).get("calibrated_classifiers_")
        if members is None:
            raise AttributeError("This CalibratedClassifier is not fitted yet.")
        return members

    def _only_member(self, name: str) -> CalibratedMember:
        members = self._members()
        if len(members) > 1:
            raise AttributeError(
                f"There are {len(members)} members, each with its own {name[:-1]}: see calibrated_classifiers_."
            )
        return members[0]

    def _check_parameters(self, fit_params: dict[str, Any]) -> None:
        check_estimator(self.estimator)
        if not isinstance(self._calibrator(2), Calibrator):
            raise ValueError(f"calibrator is {self.calibrator!r}; expected a calibrator of this package, unfitted.")
        self._calibrator(2)._check()
        check_true_or_false("ensemble", self.ensemble)
        if isinstance(self.cv, str):
            raise ValueError(
                f"cv is {self.cv!r}; expected a number of folds, a splitter or folds "
                "(a model that is fitted already comes in a FrozenEstimator)."
            )
        several = isinstance(self.representation, (list, tuple))
        self._check_takes_several(several, "representation")
        if several and not (self.representation and all(map(_is_transformer, self.representation))):
            raise ValueError(f"representation is {self.representation!r}; expected transformers in the list.")
        if not several and not _is_transformer(self.representation) and self.representation not in (None, "data"):
            raise ValueError(f'representation is {self.representation!r}; expected None, "data" or a transformer.')
        if self._is_frozen() and fit_params:
            raise ValueError(f"fit got {sorted(fit_params)} for an estimator that is frozen; expected none.")
        if not self._is_frozen():
            check_early_stopping(self.estimator, fit_params)

    def _check_takes_several(self, several: bool, name: str) -> None:
        calibrator = self._calibrator(2)
        if several and not calibrator.takes_several_representations:
            raise ValueError(
                f"{name} is a list and calibrator is a {type(calibrator).__name__}; expected one representation, or "
                "RidgeCalibration."
            )

    def _check_beforehand(self, data: Rows, n: int, which: str) -> None:
        """Raise an error for all that can be known to fail later, before anything is fitted to n rows or more."""
        check_calibrator(self._calibrator(len(data.classes)), data.classes, n, which)
        if data.Z is not None:
            return
        representation = self._representation(self.estimator, data.classes)
        if representation is not None:
            is_refitted = not self._is_frozen()
            check_representation(representation, self.estimator, data.X, len(data.classes), is_refitted)
            if is_refitted and not self.ensemble and takes_a_model(representation):
                check_that_axes_agree(representation, self.estimator)

    def _classes_of(self, y: Labels) -> Labels:
        """Return the labels of the columns: those of a frozen estimator in its order, else those of y, sorted."""
        if not self._is_frozen():
            return np.unique(y)
        model = unfrozen(self.estimator)
        if hasattr(model, "fit"):
            check_is_fitted(
                model,
                msg="%(name)s is frozen but not fitted; fit it on other rows first, or give it unfrozen.",
            )
        if not hasattr(model, "classes_"):
            raise ValueError(f"estimator is a {type(model).__name__} without classes_; expected a fitted classifier.")
        classes = np.asarray(model.classes_)
        unknown = set(np.unique(y).tolist()) - set(classes.tolist())
        if unknown:
            raise ValueError(f"y holds the label {unknown.pop()!r}; expected one of {classes.tolist()}.")
        return classes

    def _folds(self, data: Rows) -> Folds:
        weights = np.ones(len(data.y)) if data.weights is None else data.weights
        codes = data.codes
        folds = make_folds(DEFAULT_FOLDS if self.cv is None else self.cv, codes, weights)
        if (np.bincount(np.concatenate([held_out for _, held_out in folds]), minlength=len(codes)) != 1).any():
            raise ValueError("cv holds out some rows never or more than once; expected each row to be held out once.")
        for train, held_out in folds:
            for part, rows in (
                ("trains on", train),
                ("calibrates on", _rows_to_calibrate_on(data, (train, held_out)))
                if self.ensemble
                else ("trains on", train),
            ):
                only = np.unique(codes[rows[weights[rows] > 0]])
                if len(only) < 2:
                    found = "no rows" if len(only) == 0 else f"rows of {data.classes[only[0]].item()!r} only"
                    raise ValueError(f"cv has a fold that {part} {found}; expected at least two classes in each.")
        return folds

    def _fit_fold(self, data: Rows, params: dict[str, Any], fold: tuple[Integers, Integers]) -> CalibratedMember:
        """Return the member of one fold: the estimator of the other rows, the calibrator of the rows held out."""
        model = self._fit_estimator(data, params, fold[0])
        return self._fit_member(model, data.take(_rows_to_calibrate_on(data, fold)))

    def _fit_estimator(self, data: Rows, params: dict[str, Any], rows: Integers) -> Estimator:
        params = _check_method_params(data.X, params, rows)
        return _unfitted(self.estimator, params).fit(_safe_indexing(data.X, rows), data.y[rows], **params)

    def _fit_member(self, model: Estimator, data: Rows) -> CalibratedMember:
        """Return the member of a fitted model, its representation and its calibrator fitted to other rows."""
        scores = ModelScores(model, data.classes)
        S = _learn_scores(scores, data)
        Z = data.Z
        representation = self._representation(model, data.classes) if Z is None else None
        if representation is not None:
            representation = fill_model(representation, model)
            Z = fit_and_transform(representation, data.X, data.weights)
        return self._calibrated(model, scores, S, representation, replace(data, Z=Z))

    def _fit_to_all(self, data: Rows, params: dict[str, Any], folds: Folds) -> CalibratedMember:
        """Return the one member of all rows, calibrated on what models of other rows say of each row."""
        Z = data.Z
        representation = self._representation(self.estimator, data.classes) if Z is None else None
        by_fold = representation is not None and takes_a_model(representation)
        parts = []
        for train, held_out in folds:
            model = self._fit_estimator(data, params, train)
            part = data.take(held_out)
            scores = ModelScores(model, data.classes)
            S = _learn_scores(scores, part)
            of_fold = fill_model(representation, model) if by_fold else None
            Z_fold = fit_and_transform(of_fold, part.X, part.weights) if by_fold else None
            parts.append((held_out, scores, S, of_fold, Z_fold))
        model = _unfitted(self.estimator, params).fit(data.X, data.y, **params)
        scores = ModelScores(model, data.classes)
        scores.learn(_safe_indexing(data.X, folds[0][1]))
        scores.are_logits &= all(part[1].are_logits for part in parts)
        S = np.empty((len(data.y), len(data.classes)))
        for held_out, of_fold, S_fold, _, _ in parts:
            S[held_out] = softmax(S_fold, axis=1) if of_fold.are_logits and not scores.are_logits else S_fold
        if by_fold:
            representation = fill_model(representation, model)
            Z = joined(parts, fit_representation(representation, data.X, data.weights))
        elif representation is not None:
            Z = fit_and_transform(representation, data.X, data.weights)
        known = np.sort(np.concatenate([_rows_to_calibrate_on(data, fold) for fold in folds]))
        return self._calibrated(model, scores, S[known], representation, replace(data, Z=Z).take(known))

    def _calibrated(
        self, model: Estimator, scores: ModelScores, S: Floats, representation: Estimator, data: Rows
    ) -> CalibratedMember:
        """Fit the calibrator to scores S and the representation of rows, and return the member."""
        scores.learn_scale(S, data.weights)
        if scores.scale != 1:
            S = S / scores.scale
        calibrator = clone(self._calibrator(len(data.classes)))
        if self.calibrator is None and not hasattr(model, "predict_proba"):
            calibrator.set_params(prior=None)  # what is believed of the slope of logits says nothing of other scores
        names = calibrator.get_params(deep=False)
        given = {"classes": data.classes.tolist(), "from_logits": scores.are_logits}
        if data.sizes is not None or isinstance(representation, SideBySide):
            given["groups"] = list(data.sizes or representation.sizes(data.X))
        calibrator.set_params(**{name: value for name, value in given.items() if name in names})
        S = in_form_of(calibrator, S, scores.are_logits)
        if calibrator._has_the_common_door():
            calibrator._fit_to(self._calibration_set(calibrator, S, representation, data))
            calibrator._names_of_Z = names_of_features(data.Z) if calibrator.needs_representation else None
        else:
            calibrator.fit(S, data.y, data.Z, sample_weight=data.weights)
        return CalibratedMember(model, scores, representation, calibrator)

    def _calibration_set(
        self, calibrator: Calibrator, S: Floats, representation: Estimator, data: Rows
    ) -> CalibrationSet:
        """Return what the calibrator is fitted to; labels, weights and a given Z were read once for all folds."""
        Z = data.Z if calibrator.needs_representation else None
        if Z is not None and representation is not None:
            Z = as_representation(Z, len(S))  # whatever a transformer of the user's put out
        return CalibrationSet(
            as_scores(S, calibrator._takes_logits()),
            data.codes,
            as_labels(data.classes.tolist()),
            np.ones(len(S)) if data.weights is None else data.weights,
            Z,
        )

    def _calibrator(self, n_classes: int) -> Calibrator:
        if self.calibrator is not None:
            return self.calibrator
        return PlattScaling() if n_classes == 2 else TemperatureScaling()

    def _representation(self, model: Estimator, classes: Labels) -> Estimator:
        """Return the representation to use, unfitted, or None."""
        if isinstance(self.representation, str):
            return StandardizedFeatures()
        if isinstance(self.representation, (list, tuple)):
            return SideBySide.of(self.representation)
        if self.representation is not None:
            return clone(self.representation)
        if not self._calibrator(len(classes)).needs_representation:
            return None
        return default_representation(model, len(classes))

    def _params_for_estimator(self, weights: Floats | None, fit_params: dict[str, Any]) -> dict[str, Any]:
        """Return the keywords for the estimator's `fit`."""
        if get_config()["enable_metadata_routing"]:
            given = fit_params if weights is None else {**fit_params, "sample_weight": weights}
            return process_routing(self, "fit", **given).estimator.fit if given else {}
        if weights is None:
            return fit_params
        prefix, taker = "", self.estimator
        while isinstance(taker, Pipeline):
            step, taker = taker.steps[-1]
            prefix += f"{step}__"
        if not has_fit_parameter(taker, "sample_weight"):
            warn_user(f"{type(taker).__name__} takes no sample_weight, which weighs the rows for the calibrator only.")
            return fit_params
        return {**fit_params, f"{prefix}sample_weight": weights}


def _rows_to_calibrate_on(data: Rows, fold: tuple[Integers, Integers]) -> Integers:
    """Return the rows that a fold holds out and whose label occurs, with weight, among those that it trains on."""
    train, held_out = fold
    if data.weights is not None:
        train = train[data.weights[train] > 0]
    return held_out[np.isin(data.y[held_out], np.unique(data.y[train]))]


def _learn_scores(scores: ModelScores, data: Rows) -> Floats:
    """Find out how to read the scores of a model, and return those of the rows, one for each."""
    S = scores.learn(data.X)
    if len(S) != len(data.y):
        raise ValueError(f"estimator gives scores of {len(S)} rows; expected {len(data.y)}, one for each row of X.")
    return S


def _warn_of_missing_classes(data: Rows, parts: list[Integers]) -> None:
    """Warn, once, of classes that do not occur with weight among the rows that some calibrator is fitted to."""
    weights = np.ones(len(data.y)) if data.weights is None else data.weights
    occur = [np.bincount(data.codes[rows], weights[rows], minlength=len(data.classes)) > 0 for rows in parts]
    if len(parts) == 1 and occur[0].sum() == 1:  # folds were checked when they were made
        only = data.classes[occur[0]].tolist()[0]
        raise ValueError(f"y holds only the label {only!r} with weight; expected at least two classes.")
    missing = data.classes[~np.all(occur, axis=0)].tolist()
    if missing:
        where, there = ("", "here") if len(parts) == 1 else (" in some folds", "there")
        warn_user(f"y has no label of the classes {missing}{where}; nothing can be learned about them {there}.")


def _is_transformer(representation: Any) -> bool:
    return hasattr(representation, "fit") and not isinstance(representation, type)


def _unfitted(estimator: Estimator, params: dict[str, Any]) -> Estimator:
    """Return an unfitted copy; of one that stopped early, and has no rows to stop by now, with the rounds it kept."""
    rounds = None if any(name.endswith("eval_set") for name in params) else rounds_found(last_step(estimator))
    if rounds is not None:
        copy = clone(estimator)
        last_step(copy).set_params(n_estimators=rounds, early_stopping_rounds=None)
        return copy
    if package_of(estimator) == "catboost":  # it copies lists that it is given, which scikit-learn takes for a fault
        return type(estimator)(**estimator.get_params())
    return clone(estimator)


def _mean(parts: list[Floats]) -> Floats:
    return parts[0] if len(parts) == 1 else np.mean(parts, axis=0)
