"""A classifier with calibrated probabilities: an estimator, a representation of its rows, and a calibrator, in one.

Builds on the calibrators, for any of which it is the scikit-learn door: X in, labels and probabilities out.
"""

import warnings

import numpy as np
import pandas as pd
from scipy import sparse
from scipy.special import softmax
from sklearn import get_config
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.utils import _safe_indexing, assert_all_finite, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_method_params, check_is_fitted, column_or_1d, has_fit_parameter

from clustcal.calibrators.parametric import PlattScaling, TemperatureScaling
from clustcal.core.folds import make_folds
from clustcal.core.probabilities import as_weights, check_same_length

__all__ = ["CalibratedClassifier"]


class CalibratedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):
    """A classifier whose probabilities are calibrated, globally or by clusters of a representation of its rows.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba``, or else with ``decision_function``: its values are then divided by their root mean
        square over the calibration rows and sent through a sigmoid (softmax), whatever their scale; what is wrong
        with that, the calibrator corrects.
    calibrator : calibrator, default=None
        Any of this package, unfitted. Left out: `PlattScaling` for two classes, `TemperatureScaling` for more.
    representation : None, "data" or transformer, default=None
        What the calibrator gets as Z. None: nothing. ``"data"``: the features, standardised on the calibration rows;
        of a `Pipeline` the features that its last step sees. A transformer, such as `LeafCoverage`, is fitted on the
        calibration rows; where it has a parameter ``model`` that is None, the fitted estimator is put in.
    cv : "prefit", int, splitter or iterable, default="prefit"
        ``"prefit"``: the estimator is fitted already, on other rows than those that `fit` gets; `clone` keeps it
        fitted. Else the estimator is fitted here: in each fold to predict the rows held out, whose
        probabilities the calibrator is fitted to, and then to all rows. An int deals out the rows of each class in
        turn; a splitter or list of (train, held out) rows must hold out each row once.

    Attributes
    ----------
    classes_ : ndarray of shape (L,)
        The labels, in the order of the columns.
    estimator_ : classifier
        The fitted estimator.
    representation_ : transformer or None
    calibrator_ : calibrator
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Both only where the estimator knows them.

    See Also
    --------
    ClusteredCalibrationCV : a clustered calibrator that chooses its parameters.

    Notes
    -----
    **Metadata.** ``sample_weight`` weighs the rows for the calibrator and, if it can use weights, for the estimator
    (the last step of a pipeline); other keywords of `fit` go to the estimator's ``fit``. With scikit-learn's
    metadata routing switched on, the estimator gets what it requested. Z, a representation that was computed
    elsewhere, can be given to `fit` and to the methods that predict, in place of a transformer.

    **Missing classes.** With folds, a class that the training rows of a fold lack has probability 0 for the rows
    held out there.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from clustcal import ClusteredCalibration
    >>> from clustcal import CalibratedClassifier
    >>> from clustcal.representations import LeafCoverage
    >>> X, y = make_classification(900, random_state=0)
    >>> forest = RandomForestClassifier(50, random_state=0).fit(X[:300], y[:300])
    >>> calibrator = ClusteredCalibration(n_clusters=2, random_state=0)
    >>> classifier = CalibratedClassifier(forest, calibrator, LeafCoverage(n_components=8, random_state=0))
    >>> classifier.fit(X[300:600], y[300:600]).predict_proba(X[600:]).shape
    (300, 2)
    """

    def __init__(self, estimator, calibrator=None, representation=None, cv="prefit"):
        self.estimator = estimator
        self.calibrator = calibrator
        self.representation = representation
        self.cv = cv

    def fit(self, X, y, sample_weight=None, Z=None, **fit_params):
        """Fit the calibrator, and with folds the estimator too.

        Parameters
        ----------
        X : array-like, sparse matrix or frame of shape (n, d)
            Rows as the estimator takes them; with ``cv="prefit"`` rows that it was not fitted to.
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
        y = _check_labels(y)
        X, y = indexable(X, y)
        weights = None if sample_weight is None else as_weights(sample_weight, len(y))
        if self._is_prefit():
            scores = self._use_fitted_estimator(X, y)
        else:
            scores = self._fit_estimator(X, y, weights, self._params_for_estimator(weights, fit_params))
        for name in ("n_features_in_", "feature_names_in_"):
            vars(self).pop(name, None)
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))
        finite = scores[np.isfinite(scores)]
        self.score_scale_ = np.sqrt(finite @ finite / max(finite.size, 1)) or 1.0
        self.representation_ = None
        if Z is None and self.representation is not None:
            Z = self._fit_representation(X, y, weights)
        calibrator = self.calibrator
        if calibrator is None:
            calibrator = PlattScaling() if len(self.classes_) == 2 else TemperatureScaling()
        calibrator = _fill(calibrator, "classes", self.classes_.tolist())
        self.calibrator_ = calibrator.fit(self._as_probabilities(scores), y, Z, sample_weight=weights)
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
        return self.calibrator_.predict_proba(self.predict_scores(X), self._represent(X, Z))

    def predict(self, X, Z=None):
        """Return the most probable label of every row after calibration, shape (n,); X and Z as `predict_proba`."""
        check_is_fitted(self)
        return self.classes_[self.predict_proba(X, Z).argmax(axis=1)]

    def predict_scores(self, X):
        """Return the probabilities of the estimator before calibration, shape (n, L)."""
        check_is_fitted(self)
        return self._as_probabilities(_raw_scores(self.estimator_, X, self.classes_))

    def cluster_summary(self, X, y=None, Z=None):
        """Describe the clusters: what is typical of their rows, and how well calibrated they are.

        A row is counted in the cluster in which its membership is largest.

        Parameters
        ----------
        X : array-like or frame of shape (n, d)
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
            of numbers in X its first and third quartile, ``"age q25"`` and ``"age q75"``; of other columns the most
            frequent value, ``"work mode"``.

        Raises
        ------
        ValueError
            If the calibrator has no clusters.
        """
        check_is_fitted(self)
        if not hasattr(self.calibrator_, "memberships"):
            raise ValueError(f"calibrator is {self.calibrator_!r}; expected a clustered one.")
        Z = self._represent(X, Z)
        W = self.calibrator_.memberships(Z)
        scores = self.predict_scores(X)
        Q = self.calibrator_.predict_proba(scores, Z)
        column = np.ones(len(Q), dtype=int) if len(self.classes_) == 2 else Q.argmax(axis=1)
        rows = np.arange(len(Q))
        table = pd.DataFrame({"mean_score": scores[rows, column], "mean_calibrated": Q[rows, column]})
        if y is not None:
            check_same_length(len(table), y=np.asarray(y))
            table["base_rate"] = self.classes_[column] == np.asarray(y)
            for name in ("score", "calibrated"):
                table[f"{name}_error"] = table[f"mean_{name}"] - table["base_rate"]
        cluster = pd.Categorical(W.argmax(axis=1), categories=range(W.shape[1]))
        by_cluster = table.groupby(cluster, observed=False)
        summary = pd.concat([by_cluster.size().rename("size"), by_cluster.mean(), *self._typical(X, cluster)], axis=1)
        return summary.rename_axis("cluster")

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

    def __sklearn_clone__(self):
        copy = super().__sklearn_clone__()
        if self._is_prefit():
            copy.estimator = self.estimator  # fitted elsewhere: a clone of it would be of no use
        return copy

    def _is_prefit(self):
        return isinstance(self.cv, str) and self.cv == "prefit"

    def _check_parameters(self, fit_params):
        if isinstance(self.cv, str) and not self._is_prefit():
            raise ValueError(f'cv is {self.cv!r}; expected "prefit", a number of folds, a splitter or folds.')
        if isinstance(self.representation, str) and self.representation != "data":
            raise ValueError(f'representation is {self.representation!r}; expected None, "data" or a transformer.')
        if self._is_prefit() and fit_params:
            raise ValueError(f'fit got {sorted(fit_params)} for an estimator that cv="prefit" does not fit.')

    def _use_fitted_estimator(self, X, y):
        """Take the estimator as it is; return its scores for X."""
        if hasattr(self.estimator, "fit"):  # else it only predicts, as exported models do
            check_is_fitted(
                self.estimator,
                msg='%(name)s is not fitted, as cv="prefit" expects; fit it on other rows, or give a number of folds.',
            )
        self.estimator_ = self.estimator
        self.classes_ = np.asarray(self.estimator.classes_)
        strangers = set(np.unique(y).tolist()) - set(self.classes_.tolist())
        if strangers:
            raise ValueError(f"y holds the label {strangers.pop()!r}; expected one of {self.classes_.tolist()}.")
        return _raw_scores(self.estimator_, X, self.classes_)

    def _fit_estimator(self, X, y, weights, params):
        """Fit the estimator to all rows; return the scores of rows held out, from fits to the others."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        folds = make_folds(self.cv, codes, np.ones(len(y)) if weights is None else weights)
        if (np.bincount(np.concatenate([held_out for _, held_out in folds]), minlength=len(y)) != 1).any():
            raise ValueError("cv holds out some rows never or more than once; expected each row to be held out once.")
        scores = np.empty((len(y), len(self.classes_)))
        for train, held_out in folds:
            model = clone(self.estimator).fit(
                _safe_indexing(X, train), y[train], **_check_method_params(X, params, train)
            )
            scores[held_out] = _raw_scores(model, _safe_indexing(X, held_out), self.classes_)
        self.estimator_ = clone(self.estimator).fit(X, y, **params)
        return scores

    def _params_for_estimator(self, weights, fit_params):
        """Return the keywords for the estimator's `fit`."""
        if get_config()["enable_metadata_routing"]:
            given = fit_params if weights is None else {**fit_params, "sample_weight": weights}
            return process_routing(self, "fit", **given).estimator.fit if given else {}
        if weights is None or isinstance(self.estimator, FrozenEstimator):
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

    def _as_probabilities(self, scores):
        return scores if hasattr(self.estimator_, "predict_proba") else softmax(scores / self.score_scale_, axis=1)

    def _fit_representation(self, X, y, weights):
        """Fit the transformer from rows to Z, and return Z."""
        if not isinstance(self.representation, str):
            self.representation_ = _fill(self.representation, "model", self.estimator_)
            return self.representation_.fit_transform(X, y)
        model = self.estimator_.estimator if isinstance(self.estimator_, FrozenEstimator) else self.estimator_
        has_steps = isinstance(model, Pipeline) and len(model) > 1
        seen_by_model = FunctionTransformer(model[:-1].transform if has_steps else None)
        features = seen_by_model.transform(X)
        scaler = StandardScaler(with_mean=not sparse.issparse(features)).fit(features, sample_weight=weights)
        self.representation_ = make_pipeline(seen_by_model, scaler)
        return scaler.transform(features)

    def _represent(self, X, Z):
        if Z is not None or self.representation_ is None:
            return Z
        return self.representation_.transform(X)

    def _typical(self, X, cluster):
        """Yield, for every column of X, what its values are in each cluster."""
        if sparse.issparse(X):
            return
        if not hasattr(X, "columns"):
            X = np.asarray(X)
            X = pd.DataFrame(X, columns=getattr(self, "feature_names_in_", [f"x{j}" for j in range(X.shape[1])]))
        for name in X.columns:
            column = X[name].reset_index(drop=True)
            if pd.api.types.is_numeric_dtype(column):
                quartiles = column.astype(float).groupby(cluster, observed=False).quantile([0.25, 0.75]).unstack()
                yield from (quartiles[q].rename(f"{name} q{100 * q:.0f}") for q in (0.25, 0.75))
            else:
                modes = column.astype(object).groupby(cluster, observed=False).agg(lambda one: one.mode().get(0))
                yield modes.rename(f"{name} mode")


def _check_labels(y):
    """Return y as an array of labels of at least two classes."""
    if y is None:
        raise ValueError("CalibratedClassifier requires y to be passed, but the target y is None.")
    y = column_or_1d(y, warn=True)
    assert_all_finite(y, input_name="y")
    check_classification_targets(y)
    classes = np.unique(y)
    if len(classes) == 1:
        raise ValueError(f"y holds 1 class only, {classes.tolist()[0]!r}; expected at least two.")
    return y


def _raw_scores(model, X, classes):
    """Return probabilities, or else decision values, shape (n, L), in the order of ``classes``.

    A class that the model does not know has probability 0, or a decision value of minus infinity.
    """
    if hasattr(model, "predict_proba"):
        known, unknown = model.predict_proba(X), 0.0
    else:
        known, unknown = model.decision_function(X), -np.inf
        if known.ndim == 1:
            known = np.column_stack([np.zeros(len(known)), known])
    column = {label: j for j, label in enumerate(classes.tolist())}
    scores = np.full((len(known), len(classes)), unknown)
    scores[:, [column[label] for label in np.asarray(model.classes_).tolist()]] = known
    return scores


def _fill(component, name, value):
    """Return a clone in which every parameter of this name, at any depth, that is None has the value."""
    component = clone(component)
    keys = [key for key, now in component.get_params().items() if key.split("__")[-1] == name and now is None]
    return component.set_params(**dict.fromkeys(keys, value))
