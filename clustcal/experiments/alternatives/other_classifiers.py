"""Scores of classifiers other than boosted trees and networks, on data sets on which no prior was chosen.

They err in other ways: AdaBoost and short boosting are far too modest, naive Bayes is far too sure, the votes of a
forest come in steps. Each is a classifier of scikit-learn with fixed seeds, trained here in seconds.
"""

import numpy as np
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer, make_classification
from sklearn.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from clustcal.datasets import load

# The most rows to train on, to calibrate on, and to test on; of smaller sets a third each.
MOST = (8000, 8000, 5000)

CLASSIFIERS = {
    "adaboost": lambda: AdaBoostClassifier(n_estimators=100, random_state=0),
    "forest": lambda: RandomForestClassifier(100, random_state=0),
    "bayes": lambda: GaussianNB(),
    "logistic": lambda: LogisticRegression(max_iter=1000),
    "mlp": lambda: MLPClassifier((50,), max_iter=100, random_state=0),
    "short boosting": lambda: HistGradientBoostingClassifier(learning_rate=0.05, max_iter=5, random_state=0),
    "long boosting": lambda: HistGradientBoostingClassifier(learning_rate=0.2, max_iter=500, random_state=0),
}


def _of_the_registry(name):
    data = load(name)
    return data.X, data.y


DATA_SETS = {
    "bank_marketing": lambda: _of_the_registry("bank_marketing"),
    "breast_cancer": lambda: load_breast_cancer(return_X_y=True, as_frame=True),
    "made_up": lambda: make_classification(20_000, 20, n_informative=8, weights=[0.8], random_state=1),
}


def scores(data_set, classifier):
    """Return the probability of the second class and the labels, of rows to calibrate on and of rows to test on.

    Returns
    -------
    p_cal, y_cal, p_test, y_test : ndarray
    """
    X, y = DATA_SETS[data_set]()
    y = np.asarray(y).astype(int)
    order = np.random.default_rng(0).permutation(len(y))
    train, cal, test = (part[:most] for part, most in zip(np.array_split(order, 3), MOST, strict=True))
    take = (lambda rows: X.iloc[rows]) if hasattr(X, "iloc") else (lambda rows: X[rows])
    model = make_pipeline(_as_numbers(X), StandardScaler(), CLASSIFIERS[classifier]()).fit(take(train), y[train])
    p = lambda rows: model.predict_proba(take(rows))[:, 1]
    return p(cal), y[cal], p(test), y[test]


def _as_numbers(X):
    if not hasattr(X, "iloc"):
        return "passthrough"
    categories = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="missing"),
        OneHotEncoder(min_frequency=10, sparse_output=False, handle_unknown="infrequent_if_exist"),
    )
    return make_column_transformer(
        (SimpleImputer(strategy="median"), make_column_selector(dtype_include="number")),
        (categories, make_column_selector(dtype_exclude="number")),
    )
