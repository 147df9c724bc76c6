"""Two representations of XGBoost's trees that cost next to nothing beside exact SHAP values; both add up to the margin.

Builds on the representations of the package for reading a fitted model.
"""

from itertools import pairwise

import numpy as np

from clustcal.representations.tree_models import split_model, xgboost_booster, xgboost_predict

N_STAGES = 8


def path_contributions(model, X):
    """Return what each feature adds to the score along the paths that a row takes.

    A tree's score of a row is the mean of its root and, at every split on the way, the step from the mean of a node to
    that of the child; each step is the feature's that is split on. Unlike SHAP values, which average over orders of
    features, they depend on the order in which a tree asks.

    Parameters
    ----------
    model : fitted XGBClassifier of two classes, or Pipeline that ends in one
    X : array-like or frame of shape (n, d)

    Returns
    -------
    Z : ndarray of shape (n, d)
        In log-odds.
    """
    trees, X = _read(model, X)
    found = xgboost_predict(trees, X, None, pred_contribs=True, approx_contribs=True)
    return found[:, :-1].astype(np.float64)


def staged_margins(model, X):
    """Return what each of eight stages of boosting adds to the score: as many rounds in each, as far as they divide.

    Parameters
    ----------
    model : fitted XGBClassifier of two classes, or Pipeline that ends in one
    X : array-like or frame of shape (n, d)

    Returns
    -------
    Z : ndarray of shape (n, 8)
        In log-odds, each with the model's intercept in it; fewer columns where there are fewer rounds.
    """
    trees, X = _read(model, X)
    rounds = xgboost_booster(trees, None).num_boosted_rounds()
    ends = np.unique(np.linspace(0, rounds, N_STAGES + 1).astype(int)).tolist()
    stages = [xgboost_predict(trees, X, pair, output_margin=True) for pair in pairwise(ends)]
    return np.column_stack(stages).astype(np.float64)


def _read(model, X):
    """Return the trees, and the rows as they see them."""
    steps, trees = split_model(model)
    return trees, X if steps is None else steps.transform(X)
