"""The paper's protocol for tabular data: the splits, the preparation, the classifier and the representations.

Everything that the paper fixes, and every choice that it leaves open, is stated here once, as data where it can be.
Builds on `representations`; the data come from `datasets.load`.
"""

from typing import NamedTuple

import numpy as np
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, OrdinalEncoder, StandardScaler

from clustcal.representations import LeafCoverage, ShapValues

SEEDS = (0, 1, 2, 3, 4)  # five repeated holdouts
N_ESTIMATORS = (100, 300, 1000)
MAX_DEPTHS = (6, 8)
BOOSTING = {"learning_rate": 0.1, "subsample": 0.8, "colsample_bytree": 0.8}
CALIBRATION_SHARE = 0.2
TEST_SHARE = 0.2  # the remaining 60 % train the classifier
# Rows that test for each that trains, classifier or calibrator: what intervals over the splits, which overlap, need.
TEST_TO_TRAIN = TEST_SHARE / (1 - TEST_SHARE)
N_COMPONENTS = 256
N_CLUSTERS = 4
SHRINKAGE = 0.05
# The arms of the study: as printed, and with balanced weights of the classes, which the paper does not mention.
ARMS = ("", "weighted")


class Split(NamedTuple):
    """Row numbers of the three parts of one holdout."""

    train: np.ndarray
    calibration: np.ndarray
    test: np.ndarray


def split(y, seed, stratify=True):
    """Draw one of the repeated holdouts: 60 % to train, 20 % to calibrate, 20 % to test.

    The paper does not say whether its splits are stratified. These are: Stroke has 249 positive rows, of which an
    unstratified test part would get anything from 35 to 65.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels; every part gets the same share of each class, to within one row.
    seed : int
    stratify : bool, default=True
        False draws without regard to the labels.

    Returns
    -------
    parts : Split
        Arrays of row numbers ``train``, ``calibration`` and ``test``, disjoint and together all n rows.

    Examples
    --------
    >>> from clustcal.experiments.protocol import split
    >>> [len(part) for part in split([0, 1] * 50, seed=0)]
    [60, 20, 20]
    """
    y = np.asarray(y)
    classes = lambda rows: y[rows] if stratify else None
    everything, share_of_rest = np.arange(len(y)), CALIBRATION_SHARE / (1 - TEST_SHARE)
    rest, test = train_test_split(everything, test_size=TEST_SHARE, stratify=classes(everything), random_state=seed)
    train, calibration = train_test_split(rest, test_size=share_of_rest, stratify=classes(rest), random_state=seed)
    return Split(train, calibration, test)


def make_preprocessor(categorical, encoding="ordinal"):
    """Return the preparation of the features, to be fitted on the training part only.

    Categories become whole numbers in their sorted order (the paper says "encode": an ordinal code keeps one column
    per feature, as its counts of features do). Then the most frequent value of a column replaces missing
    ones, and every column is scaled to mean 0 and standard deviation 1. A category that the training part lacks is
    read as missing.

    Parameters
    ----------
    categorical : list of str
        Columns of the frame that hold categories; the others hold numbers.
    encoding : {"ordinal", "one-hot"}, default="ordinal"
        One-hot gives every category, and a missing one, a column of its own.

    Returns
    -------
    preprocessor : Pipeline
        Maps a frame to an array of shape (n, d), categorical columns first; ``get_feature_names_out`` names them.
    """
    # Coding before imputing gives the same result, and imputes numbers, which is faster than objects.
    if encoding not in ENCODERS:
        raise ValueError(f"encoding is {encoding!r}; expected one of {tuple(ENCODERS)}.")
    encoder = ENCODERS[encoding]()
    columns = make_column_transformer(
        (encoder, list(categorical)), remainder="passthrough", verbose_feature_names_out=False
    )
    imputer = SimpleImputer(strategy="most_frequent", keep_empty_features=True)
    return make_pipeline(columns, imputer, StandardScaler())


ENCODERS = {
    "ordinal": lambda: OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan),
    "one-hot": lambda: OneHotEncoder(handle_unknown="ignore", sparse_output=False),
}


def make_classifier(n_estimators=300, max_depth=8, seed=0, n_jobs=1, **settings):
    """Return the paper's XGBoost classifier, unfitted; ``settings`` are of XGBoost and not named in the paper."""
    from xgboost import XGBClassifier

    capacity = {"n_estimators": n_estimators, "max_depth": max_depth}
    return XGBClassifier(**capacity, **BOOSTING, random_state=seed, n_jobs=n_jobs, **settings)


def weigh_classes(y, arm=""):
    """Return the settings of the classifier that an arm of the study adds.

    Parameters
    ----------
    y : array-like of shape (n,)
        Labels of the training part, 0 or 1.
    arm : {"", "weighted"}, default=""
        The study as printed, or with ``scale_pos_weight`` = negatives / positives, so that both classes weigh the same.

    Returns
    -------
    settings : dict

    Examples
    --------
    >>> from clustcal.experiments.protocol import weigh_classes
    >>> weigh_classes([0, 0, 0, 1], "weighted")
    {'scale_pos_weight': 3.0}
    """
    if arm not in ARMS:
        raise ValueError(f"arm is {arm!r}; expected one of {ARMS}.")
    positives = int(np.count_nonzero(y))
    return {"scale_pos_weight": (len(y) - positives) / positives} if arm == "weighted" else {}


def train_model(data, train, encoding="ordinal", arm="", **classifier):
    """Fit preparation and classifier on the training part.

    Parameters
    ----------
    data : Bunch
        With ``X``, ``y`` and ``categorical``, as :func:`clustcal.datasets.load` returns it.
    train : array of int
        Row numbers of the training part.
    encoding : {"ordinal", "one-hot"}, default="ordinal"
    arm : {"", "weighted"}, default=""
        Of the study, see `weigh_classes`.
    **classifier
        n_estimators, max_depth, seed, n_jobs: see `make_classifier`.

    Returns
    -------
    model : Pipeline
        Takes rows of ``data.X`` as they are.
    """
    preparation = make_preprocessor(data.categorical, encoding)
    weights = weigh_classes(data.y[train], arm)
    model = Pipeline([*preparation.steps, ("classifier", make_classifier(**classifier, **weights))])
    return model.fit(data.X.iloc[train], data.y[train])


def make_representation(name, model, seed=0, iteration_range=None):
    """Return one of the paper's three representations of rows, to be fitted on the calibration part.

    Parameters
    ----------
    name : {"coverage", "shap", "data"}
        `LeafCoverage`, `ShapValues`, or the prepared features themselves, the paper's ablation.
    model : Pipeline
        As `train_model` returns it.
    seed : int
        Of the SVD behind the coverage.
    iteration_range : (int, int), optional
        The boosting rounds to represent, for coverage and SHAP.

    Returns
    -------
    representation : transformer
    """
    if name not in REPRESENTATIONS:
        raise ValueError(f"name is {name!r}; expected one of {tuple(REPRESENTATIONS)}.")
    return REPRESENTATIONS[name](model, seed, iteration_range)


REPRESENTATIONS = {
    "coverage": lambda model, seed, rounds: LeafCoverage(model, N_COMPONENTS, rounds, random_state=seed),
    "shap": lambda model, seed, rounds: ShapValues(model, iteration_range=rounds),
    # A function, because the preparation was fitted on the training part and stays so.
    "data": lambda model, seed, rounds: FunctionTransformer(model[:-1].transform),
}
