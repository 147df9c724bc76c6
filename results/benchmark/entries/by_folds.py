"""Logistic regression on score and representations, with one strength that folds choose: what many would try first.

Written as the plainest rival of the ridge; nothing in it was chosen by its results. The score's column is a hundred
times as large as the others, so that its coefficient is hardly penalised.
"""

import numpy as np
from scipy.special import logit
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold

representation = ("shap", "coverage")
N_COMPONENTS = 64  # of coverage, as the ridge has them
STRENGTHS = np.logspace(-5, 1, 13)


class ByFolds:
    def fit(self, P, y, Z):
        Z = [columns[:, :N_COMPONENTS] for columns in Z]
        self.means = [columns.mean(axis=0) for columns in Z]
        self.units = [np.sqrt(np.mean((columns - mean) ** 2)) for columns, mean in zip(Z, self.means, strict=True)]
        X, losses = self._columns(P, Z), np.zeros(len(STRENGTHS))
        for train, held_out in StratifiedKFold(5).split(X, y):
            for k, strength in enumerate(STRENGTHS):
                q = self._fitted(strength, X[train], y[train]).predict_proba(X[held_out])
                losses[k] -= np.log(q[np.arange(len(held_out)), y[held_out]]).sum()
        self.model = self._fitted(STRENGTHS[losses.argmin()], X, y)
        return self

    def predict_proba(self, P, Z):
        return self.model.predict_proba(self._columns(P, Z))

    def _columns(self, P, Z):
        scaled = [
            (columns[:, :N_COMPONENTS] - mean) / unit
            for columns, mean, unit in zip(Z, self.means, self.units, strict=True)
        ]
        return np.column_stack([100 * logit(np.clip(P, 1e-9, 1 - 1e-9)), *scaled])

    def _fitted(self, strength, X, y):
        return LogisticRegression(C=strength, solver="newton-cholesky", max_iter=200).fit(X, y)
