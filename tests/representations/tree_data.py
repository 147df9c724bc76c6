"""Data and a boosted model that the tests of tree representations share."""

import pytest
from sklearn.datasets import make_classification

xgboost = pytest.importorskip("xgboost")

N_TREES = 12


def make_data(n_classes=2, seed=0, n=400):
    X, y = make_classification(
        n_samples=n, n_features=6, n_informative=4, n_classes=n_classes, flip_y=0.2, random_state=seed
    )
    return X, y


def fit_xgboost(X, y, **parameters):
    parameters = {"n_estimators": N_TREES, "max_depth": 4, "n_jobs": 1, "random_state": 0} | parameters
    return xgboost.XGBClassifier(**parameters).fit(X, y)
