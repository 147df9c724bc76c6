"""What every calibrator has in common: the checked way in, and the labels and columns that come out."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from clustcal.core.probabilities import as_probabilities, as_weights, check_same_length, encode_labels


class Calibrator(BaseEstimator):
    """What every calibrator has in common: labels come back from `predict`, columns are checked.

    A subclass gives ``fit`` and ``_calibrate(P, Z)``, which maps canonical probabilities to such.
    """

    def predict_proba(self, P, Z=None):
        """Return calibrated probabilities.

        Parameters
        ----------
        P : array-like of shape (n,) or (n, L)
            Probabilities of the classifier, in the form that `fit` was given, or any other for these classes.
        Z : array-like or sparse matrix of shape (n, m), optional
            The representation of every row; ignored by global calibrators.

        Returns
        -------
        Q : ndarray of shape (n, L)
            One column per label in ``classes_``; rows sum to 1.
        """
        check_is_fitted(self)
        P = as_probabilities(P)
        if P.shape[1] != len(self.classes_):
            raise ValueError(f"P has {P.shape[1]} columns; expected {len(self.classes_)}, as in fit.")
        return self._calibrate(P, Z)

    def predict(self, P, Z=None):
        """Return the most probable label of every row after calibration, shape (n,)."""
        return self.classes_[self.predict_proba(P, Z).argmax(axis=1)]


def check_fit_input(P, y, sample_weight, classes):
    """Bring what `fit` is given into canonical form, before anything is fitted.

    Returns
    -------
    P : (n, L), classes : (L,), codes : (n,), weights : (n,)
    """
    P = as_probabilities(P)
    check_same_length(len(P), y=np.asarray(y))
    weights = as_weights(sample_weight, len(P))
    classes, codes = encode_labels(y, P.shape[1], classes)
    return P, classes, codes, weights
