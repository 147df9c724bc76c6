"""A classifier with calibrated probabilities: an estimator, a representation of its rows, and a calibrator, in one.

Builds on the calibrators and on the representations, for which it is the scikit-learn door: X in, labels and
probabilities out.
"""

import warnings
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import softmax
from sklearn import get_config
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    ClassNamePrefixFeaturesOutMixin,
    MetaEstimatorMixin,
    clone,
    is_regressor,
)
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline
from sklearn.utils import _safe_indexing, assert_all_finite, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_method_params, check_is_fitted, column_or_1d, has_fit_parameter

from clustcal.calibrators.base import Calibrator
from clustcal.calibrators.parametric import PlattScaling, TemperatureScaling
from clustcal.cluster_table import cluster_table, columns_of
from clustcal.core.folds import make_folds
from clustcal.core.labels import as_labels, check_no_label_missing
from clustcal.core.probabilities import as_representation, as_weights, log_probabilities
from clustcal.model_scores import ModelScores
from clustcal.representations.choice import default_representation
from clustcal.representations.features import StandardizedFeatures

__all__ = ["CalibratedClassifier"]

DEFAULT_FOLDS = 5


@dataclass
class CalibratedMember:
    """One fitted model with the representation and the calibrator that go with it."""

    estimator: object
    scores: ModelScores = field(repr=False)
    representation: object
    calibrator: Calibrator

    def predict_proba(self, X, Z=None):
        """Return calibrated probabilities, shape (n, L)."""
        return self.calibrator.predict_proba(self.calibrator_input(X), self.represent(X, Z))

    def calibrator_input(self, X):
        """Return the scores of rows in the form in which the calibrator takes them."""
        return _in_form_of(self.calibrator, self.scores.read(X), self.scores.are_logits)

    def represent(self, X, Z=None):
        """Return Z as given, or else the representation of rows, or None if there is none."""
        return Z if Z is not None or self.representation is None else self.representation.transform(X)


class CalibratedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier whose probabilities are calibrated, globally or by clusters of a representation of its rows.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba`` or ``decision_function``. A model that is fitted already, on other rows, comes in a
        ``sklearn.frozen.FrozenEstimator``; any other is cloned and fitted here.
    calibrator : calibrator, default=None
        Any of this package, unfitted. Left out: `PlattScaling` for two classes, `TemperatureScaling` for more.
    representation : None, "data" or transformer, default=None
        What the calibrator gets as Z. A transformer, such as `LeafCoverage`, is fitted without labels to the rows that
        the calibrator sees; where it has a parameter ``model`` that is None, the fitted estimator is put in. ``"data"``
        is `StandardizedFeatures`. None: nothing for a calibrator that uses no Z, else what
        `clustcal.representations.default_representation` says: SHAP values for boosted trees, leaf coverage for
        forests, the standardised features for the rest.
    cv : int, splitter or iterable, default=None
        The folds: their number (None: 5), in which case the rows of each class are dealt out in turn; or a splitter or
        list of (train, held out) rows that holds out each row once. Not used for a `FrozenEstimator`.
    ensemble : bool, default=True
        True: in every fold the estimator is fitted to the other rows, and representation and calibrator to the rows
        held out; predictions are the mean over folds. False: one estimator of all rows; the calibrator is fitted to the
        scores and representations of rows by models that were not fitted to them. This needs a representation whose
        axes mean the same for each of these models: SHAP values or features, not leaves. Not used for a
        `FrozenEstimator`, which has one calibrator, fitted to all rows.

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

    **Logits.** Where a softmax of the decision values (or the raw margins of XGBoost, LightGBM and CatBoost) gives the
    estimator's probabilities, calibrators with a parameter ``from_logits`` are fitted to them, so that nothing is cut
    near 0 and 1. Decision values of an estimator without probabilities are first divided by their root mean square,
    whatever their scale; what is wrong with that, the calibrator corrects.

    **Metadata.** ``sample_weight`` goes to the calibrator and, if it takes weights, to the estimator; other
    keywords of `fit` go to the estimator's ``fit``. With scikit-learn's
    metadata routing switched on, the estimator gets what it requested. Z, a representation that was computed
    elsewhere, can be given to `fit` and to the methods that predict, in place of a transformer; it must not come from
    a model that was trained on these rows.

    **Missing classes.** With folds, a class that the training rows of a fold lack has probability 0 for the rows
    held out there.

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

    def __init__(self, estimator, calibrator=None, representation=None, cv=None, ensemble=True):
        self.estimator = estimator
        self.calibrator = calibrator
        self.representation = representation
        self.cv = cv
        self.ensemble = ensemble

    def fit(self, X, y, sample_weight=None, Z=None, **fit_params):
        """Fit the calibrator, and the estimator too unless it is frozen.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d)
            Rows as the estimator takes them; rows that a frozen estimator was not fitted to.
        y : array-like of shape (n,)
            Labels of any type.
        sample_weight : array-like of shape (n,), optional
            A weight of 2 is the same as two equal rows.
        Z : array-like or sparse matrix of shape (n, m), optional
            The representation of every row, in place of ``representation``.
        **fit_params : dict
            For the estimator's ``fit``; entries with one value per row are cut into folds.

        Returns
        -------
        self
        """
        self._check_parameters(fit_params)
        before = dict(vars(self))
        try:
            return self._fit(X, y, sample_weight, Z, fit_params)
        except BaseException:
            # A fit that failed leaves what was there: nothing, or the classifier of an earlier fit.
            vars(self).clear()
            vars(self).update(before)
            raise

    def _fit(self, X, y, sample_weight, Z, fit_params):
        y = _check_labels(y)
        X, y = indexable(X, y)
        if Z is not None:
            Z = as_representation(Z, len(y))
        weights = None if sample_weight is None else as_weights(sample_weight, len(y))
        if self._is_frozen():
            members = [self._fit_to_frozen(X, y, weights, Z)]
        else:
            params = self._params_for_estimator(weights, fit_params)
            self.classes_, codes = np.unique(y, return_inverse=True)
            folds = self._folds(codes, weights)
            if self.ensemble:
                members = [self._fit_fold(X, y, weights, Z, params, fold) for fold in folds]
            else:
                members = [self._fit_to_all(X, y, weights, Z, params, folds)]
        self.calibrated_classifiers_ = members
        for name in ("n_features_in_", "feature_names_in_"):
            vars(self).pop(name, None)
            if hasattr(members[0].estimator, name):
                setattr(self, name, getattr(members[0].estimator, name))
        return self

    def predict_proba(self, X, Z=None):
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

    def predict(self, X, Z=None):
        """Return the most probable label of every row after calibration, shape (n,); X and Z as `predict_proba`."""
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X, Z).argmax(axis=1)]

    def predict_scores(self, X):
        """Return the probabilities of the estimator before calibration, shape (n, L); the mean over members."""
        check_is_fitted(self)
        return _mean([member.scores.probabilities(X) for member in self.calibrated_classifiers_])

    @property
    def representation_(self):
        return self._members()[0].representation

    @property
    def estimator_(self):
        return self._only_member("estimator_").estimator

    @property
    def calibrator_(self):
        return self._only_member("calibrator_").calibrator

    def cluster_summary(self, X, y=None, Z=None):
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

    def get_metadata_routing(self):
        """Return what is routed where: see scikit-learn's metadata routing."""
        router = MetadataRouter(owner=type(self).__name__).add_self_request(self)
        return router.add(estimator=self.estimator, method_mapping=MethodMapping().add(caller="fit", callee="fit"))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        if not hasattr(self.estimator, "__sklearn_tags__"):
            return tags
        inner = get_tags(self.estimator)
        tags.input_tags = inner.input_tags
        if inner.classifier_tags is not None:
            tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        return tags

    def _table_of(self, member, columns, X, y, Z):
        """Return the table of the clusters of one member."""
        if not hasattr(member.calibrator, "memberships"):
            raise ValueError(f"calibrator is {member.calibrator!r}; expected a clustered one.")
        Z = member.represent(X, Z)
        W = member.calibrator.memberships(Z)
        Q = member.calibrator.predict_proba(member.calibrator_input(X), Z)
        return cluster_table(W, member.scores.probabilities(X), Q, self.classes_, y, columns)

    def _is_frozen(self):
        """Whether the estimator only predicts: frozen by the user, or without a `fit`, as exported models are."""
        return isinstance(self.estimator, FrozenEstimator) or not hasattr(self.estimator, "fit")

    def _members(self):
        members = vars(self).get("calibrated_classifiers_")
        if members is None:
            raise AttributeError("This CalibratedClassifier is not fitted yet.")
        return members

    def _only_member(self, name):
        members = self._members()
        if len(members) > 1:
            raise AttributeError(
                f"There are {len(members)} members, each with its own {name[:-1]}: see calibrated_classifiers_."
            )
        return members[0]

    def _check_parameters(self, fit_params):
        _check_estimator(self.estimator)
        if not isinstance(self._calibrator(2), Calibrator):
            raise ValueError(f"calibrator is {self.calibrator!r}; expected a calibrator of this package, unfitted.")
        self._calibrator(2)._check_parameters()
        if not isinstance(self.ensemble, (bool, np.bool_)):
            raise ValueError(f"ensemble is {self.ensemble!r}; expected True or False.")
        if isinstance(self.cv, str):
            raise ValueError(
                f"cv is {self.cv!r}; expected a number of folds, a splitter or folds "
                "(a model that is fitted already comes in a FrozenEstimator)."
            )
        is_transformer = hasattr(self.representation, "fit") and not isinstance(self.representation, type)
        if not is_transformer and self.representation not in (None, "data"):
            raise ValueError(f'representation is {self.representation!r}; expected None, "data" or a transformer.')
        if self._is_frozen() and fit_params:
            raise ValueError(f"fit got {sorted(fit_params)} for an estimator that is frozen; expected none.")

    def _fit_to_frozen(self, X, y, weights, Z):
        """Return the member of an estimator that is taken as it is."""
        model = self.estimator
        if isinstance(model, FrozenEstimator):
            model = model.estimator
        if hasattr(model, "fit"):
            check_is_fitted(
                model,
                msg="%(name)s is frozen but not fitted; fit it on other rows first, or give it unfrozen.",
            )
        if not hasattr(model, "classes_"):
            raise ValueError(f"estimator is a {type(model).__name__} without classes_; expected a fitted classifier.")
        self.classes_ = np.asarray(model.classes_)
        unknown = set(np.unique(y).tolist()) - set(self.classes_.tolist())
        if unknown:
            raise ValueError(f"y holds the label {unknown.pop()!r}; expected one of {self.classes_.tolist()}.")
        return self._fit_member(model, X, y, weights, Z)

    def _folds(self, codes, weights):
        weights = np.ones(len(codes)) if weights is None else weights
        folds = make_folds(DEFAULT_FOLDS if self.cv is None else self.cv, codes, weights)
        if (np.bincount(np.concatenate([held_out for _, held_out in folds]), minlength=len(codes)) != 1).any():
            raise ValueError("cv holds out some rows never or more than once; expected each row to be held out once.")
        for train, held_out in folds:
            for part, rows in (
                ("trains on", train),
                ("holds out", held_out) if self.ensemble else ("trains on", train),
            ):
                only = np.unique(codes[rows[weights[rows] > 0]])
                if len(only) < 2:
                    found = "no rows" if len(only) == 0 else f"rows of {self.classes_[only[0]].item()!r} only"
                    raise ValueError(f"cv has a fold that {part} {found}; expected at least two classes in each.")
        return folds

    def _fit_fold(self, X, y, weights, Z, params, fold):
        """Return the member of one fold: the estimator of the other rows, the calibrator of the rows held out."""
        train, held_out = fold
        model = self._fit_estimator(X, y, params, train)
        return self._fit_member(
            model,
            _safe_indexing(X, held_out),
            y[held_out],
            None if weights is None else weights[held_out],
            None if Z is None else _safe_indexing(Z, held_out),
        )

    def _fit_estimator(self, X, y, params, rows):
        params = _check_method_params(X, params, rows)
        return clone(self.estimator).fit(_safe_indexing(X, rows), y[rows], **params)

    def _fit_member(self, model, X, y, weights, Z):
        """Return the member of a fitted model, its representation and its calibrator fitted to other rows."""
        scores = ModelScores(model, self.classes_)
        S = scores.learn(X)
        representation = self._representation(model) if Z is None else None
        if representation is not None:
            representation = _fill_model(representation, model)
            Z = _fit_transform(representation, X, weights)
        return self._calibrated(model, scores, S, representation, Z, y, weights)

    def _fit_to_all(self, X, y, weights, Z, params, folds):
        """Return the one member of all rows, calibrated on what models of other rows say of each row."""
        representation = self._representation(self.estimator) if Z is None else None
        by_fold = representation is not None and _takes_a_model(representation)
        if by_fold:
            _check_that_axes_are_features(representation, self.estimator)
        parts = []
        for train, held_out in folds:
            model = self._fit_estimator(X, y, params, train)
            rows = _safe_indexing(X, held_out)
            scores = ModelScores(model, self.classes_)
            S = scores.learn(rows)
            of_fold = _fill_model(representation, model) if by_fold else None
            Z_fold = _fit_transform(of_fold, rows, None if weights is None else weights[held_out]) if by_fold else None
            parts.append((held_out, scores, S, of_fold, Z_fold))
        model = clone(self.estimator).fit(X, y, **params)
        scores = ModelScores(model, self.classes_)
        scores.learn(X)
        scores.are_logits &= all(part[1].are_logits for part in parts)
        S = np.empty((len(y), len(self.classes_)))
        for held_out, of_fold, S_fold, _, _ in parts:
            S[held_out] = softmax(S_fold, axis=1) if of_fold.are_logits and not scores.are_logits else S_fold
        if representation is not None:
            representation = _fill_model(representation, model)
            Z = (
                _joined(parts, _fit(representation, X, weights))
                if by_fold
                else _fit_transform(representation, X, weights)
            )
        return self._calibrated(model, scores, S, representation, Z, y, weights)

    def _calibrated(self, model, scores, S, representation, Z, y, weights):
        """Fit the calibrator to scores S and representation Z of rows, and return the member."""
        if scores.are_logits and not hasattr(model, "predict_proba"):
            scores.scale = np.sqrt(np.mean(S**2)) or 1.0
            S = S / scores.scale
        calibrator = clone(self._calibrator(len(self.classes_)))
        names = calibrator.get_params(deep=False)
        given = {"classes": self.classes_.tolist(), "from_logits": scores.are_logits}
        calibrator.set_params(**{name: value for name, value in given.items() if name in names})
        S = _in_form_of(calibrator, S, scores.are_logits)
        return CalibratedMember(model, scores, representation, calibrator.fit(S, y, Z, sample_weight=weights))

    def _calibrator(self, n_classes):
        if self.calibrator is not None:
            return self.calibrator
        return PlattScaling() if n_classes == 2 else TemperatureScaling()

    def _representation(self, model):
        """Return the representation to use, unfitted, or None."""
        if isinstance(self.representation, str):
            return StandardizedFeatures()
        if self.representation is not None:
            return clone(self.representation)
        if not self._calibrator(len(self.classes_)).needs_representation:
            return None
        return default_representation(model, len(self.classes_))

    def _params_for_estimator(self, weights, fit_params):
        """Return the keywords for the estimator's `fit`."""
        if get_config()["enable_metadata_routing"]:
            given = fit_params if weights is None else {**fit_params, "sample_weight": weights}
            return process_routing(self, "fit", **given).estimator.fit if given else {}
        if weights is None:
            return fit_params
        name, taker = "sample_weight", self.estimator
        while isinstance(taker, Pipeline):
            step, taker = taker.steps[-1]
            name = f"{step}__{name}"
        if not has_fit_parameter(taker, "sample_weight"):
            warnings.warn(
                f"{type(taker).__name__} takes no sample_weight, which weighs the rows for the calibrator only.",
                UserWarning,
                stacklevel=3,
            )
            return fit_params
        return {**fit_params, name: weights}


def _in_form_of(calibrator, S, are_logits):
    """Return scores as the calibrator takes them: a calibrator within it may say that P holds logits."""
    if calibrator._takes_logits() == are_logits:
        return S
    return softmax(S, axis=1) if are_logits else log_probabilities(S)


def _mean(parts):
    return parts[0] if len(parts) == 1 else np.mean(parts, axis=0)


def _check_estimator(estimator):
    """Raise a ValueError unless the estimator can give scores of classes."""
    inner = estimator.estimator if isinstance(estimator, FrozenEstimator) else estimator
    gives_scores = hasattr(inner, "predict_proba") or hasattr(inner, "decision_function")
    is_regressor_ = isinstance(inner, BaseEstimator) and is_regressor(inner)
    if isinstance(inner, type) or is_regressor_ or not gives_scores:
        name = inner.__name__ if isinstance(inner, type) else type(inner).__name__
        raise ValueError(
            f"estimator is a {name}; expected a classifier with predict_proba or decision_function (probabilities of "
            "anything else go to a calibrator directly, as in PlattScaling().fit(p, y))."
        )


def _check_labels(y):
    """Return y as an array of labels of at least two classes."""
    if y is None:
        raise ValueError("CalibratedClassifier requires y to be passed, but the target y is None.")
    if isinstance(y, (pd.Series, pd.api.extensions.ExtensionArray)):
        y = as_labels(y)  # missing values of some types of pandas cannot even be compared
    check_no_label_missing(y)
    y = column_or_1d(y, warn=True)
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    classes = np.unique(y)
    if len(classes) == 1:
        raise ValueError(f"y holds 1 class only, {classes.tolist()[0]!r}; expected at least two.")
    return y


def _models_of(representation):
    """Return the names of the parameters ``model``, at any depth, and their values."""
    params = representation.get_params()
    return {key: value for key, value in params.items() if key.split("__")[-1] == "model"}


def _takes_a_model(representation):
    return any(value is None for value in _models_of(representation).values())


def _fill_model(representation, model):
    """Return a clone in which every parameter ``model`` that is None, at any depth, is this model."""
    missing = [key for key, value in _models_of(representation).items() if value is None]
    return clone(representation).set_params(**dict.fromkeys(missing, model))


def _fit(representation, X, weights):
    """Fit a representation to rows, without their labels."""
    if isinstance(representation, StandardizedFeatures):
        return representation.fit(X, sample_weight=weights)
    return representation.fit(X)


def _fit_transform(representation, X, weights):
    """Fit a representation to rows, without their labels, and return it of the same rows."""
    if isinstance(representation, StandardizedFeatures) or not hasattr(representation, "fit_transform"):
        return _fit(representation, X, weights).transform(X)
    return representation.fit_transform(X)


def _check_that_axes_are_features(representation, estimator):
    """Raise a ValueError unless rows by the models of different folds can be compared."""
    rotated = [
        type(step).__name__
        for step in estimator.get_params().values()
        if isinstance(step, ClassNamePrefixFeaturesOutMixin)
    ]
    if not getattr(representation, "axes_are_features", False) or rotated:
        what = f"{type(representation).__name__} behind {rotated[0]}" if rotated else type(representation).__name__
        raise ValueError(
            f"representation is {what}, whose axes differ from fold to fold, and ensemble is False; expected "
            "ensemble=True, or a representation by features, such as ShapValues."
        )


def _joined(parts, representation):
    """Return the representations of the rows held out in each fold as one array, in the order of the rows."""
    names = list(representation.get_feature_names_out())
    n = sum(len(held_out) for held_out, *_ in parts)
    Z = np.empty((n, len(names)))
    for held_out, _, _, of_fold, Z_fold in parts:
        if list(of_fold.get_feature_names_out()) != names:
            raise ValueError(
                "representation has other features in one fold than in all rows, and ensemble is False; expected "
                "ensemble=True."
            )
        Z[held_out] = Z_fold.toarray() if sparse.issparse(Z_fold) else Z_fold
    return Z
