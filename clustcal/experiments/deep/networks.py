"""The networks of the study, as a table: which data, which rows to train and to stop on, how to train, what to score.

A network that is trained or applied here is a `Network`; one whose outputs others have published is read by
`published`, and a head on published features is fitted by `heads`.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from sklearn.model_selection import train_test_split

from clustcal.experiments.deep.training import Settings

PAPER_TEXT = Settings(epochs=3, learning_rate=2e-4, weight_decay=0.01, warmup_steps=500)
PAPER_IMAGE = Settings(epochs=100, learning_rate=1e-4, batch_size=64, decays=False, patience=5)
# The paper's network on IMDB has a log-loss of 0.503 at an accuracy of 0.868.
OVERCONFIDENT_TEXT = Settings(
    epochs=20, learning_rate=2e-4, weight_decay=0.01, warmup_steps=500, decays=False, rises_to=0.503
)
BLOOD_SIDE = 56
IMAGENET_SIDE = 224
OVERCONFIDENT_ROWS = 10_000
SPARE_ROWS = 1_000
CUT = 0.1  # of the training part, to stop on
SPLIT_SEED = 0


class Rows(NamedTuple):
    """Row numbers of a data set: to train on, to stop on (may be empty), and to calibrate and test on."""

    train: np.ndarray
    stop: np.ndarray
    scored: np.ndarray


@dataclass(frozen=True)
class Network:
    """One network of the study.

    Attributes
    ----------
    name, data : str
        Its name, and that of its data set.
    kind : {"text", "image"}
    size : int
        Tokens at which a text is cut, or pixels to which an image is scaled.
    about : str
        What is particular about it.
    settings : Settings or None
        None: the weights of its package, as they are.
    train_rows : int or None
        How many of the training part; None: all.
    stops_on : {None, "val", "cut", "spare"}
        Stop on the validation part, which the paper then merges into what it calibrates and tests on; on a cut of the
        training part, which stays out of both; or on rows of the training part that `train_rows` leaves over.
    """

    name: str
    data: str
    kind: str
    size: int
    about: str
    settings: Settings | None = None
    train_rows: int | None = None
    stops_on: str | None = None


NETWORKS = {
    network.name: network
    for network in (
        Network("emotion", "emotion", "text", 128, "trained as the paper says", PAPER_TEXT),
        Network("imdb", "imdb", "text", 128, "trained as the paper says, on the first 128 tokens",
                replace(PAPER_TEXT, bf16=True)),
        Network("imdb-overconfident", "imdb", "text", 128,
                "10,000 rows, and no end before the log-loss on rows set aside has risen to the paper's",
                replace(OVERCONFIDENT_TEXT, bf16=True), train_rows=OVERCONFIDENT_ROWS, stops_on="spare"),
        Network("bloodmnist-rebuilt", "bloodmnist-rebuilt", "image", BLOOD_SIDE,
                "stops on the validation part, as the paper does", PAPER_IMAGE, stops_on="val"),
        Network("bloodmnist-rebuilt-cut", "bloodmnist-rebuilt", "image", BLOOD_SIDE,
                "stops on a cut of the training part", PAPER_IMAGE, stops_on="cut"),
        Network("bloodmnist", "bloodmnist", "image", BLOOD_SIDE,
                "stops on the validation part, as the paper does", PAPER_IMAGE, stops_on="val"),
        Network("bloodmnist-cut", "bloodmnist", "image", BLOOD_SIDE,
                "stops on a cut of the training part", PAPER_IMAGE, stops_on="cut"),
        Network("tiny-imagenet", "tiny-imagenet", "image", IMAGENET_SIDE,
                "trained on ImageNet, applied to images of 64 pixels: a shift of resolution"),
        Network("imagenet", "imagenet", "image", IMAGENET_SIDE, "trained on ImageNet; needs your own copy of it"),
    )
}  # fmt: skip


def split_rows(network, y, part):
    """Return which rows of a data set a network is trained, stopped and scored on.

    What is scored is the validation and the test part, merged, as in the paper.

    Parameters
    ----------
    network : Network
    y : array of shape (n,)
        Class numbers.
    part : array of shape (n,)
        "train", "val" or "test".
    """
    rows = np.arange(len(y))
    scored = np.concatenate([rows[part == "val"], rows[part == "test"]])
    train, stop = rows[part == "train"], rows[:0]
    if network.settings is None:
        return Rows(train[:0], stop, scored)
    if network.train_rows is not None:
        train, spare = _stratified(train, y, network.train_rows)
    if network.stops_on == "val":
        stop = rows[part == "val"]
    elif network.stops_on == "cut":
        train, stop = _stratified(train, y, len(train) - round(CUT * len(train)))
    elif network.stops_on == "spare":
        stop, _ = _stratified(spare, y, SPARE_ROWS)
    return Rows(train, stop, scored)


def _stratified(rows, y, n_first):
    first, second = train_test_split(rows, train_size=n_first, stratify=y[rows], random_state=SPLIT_SEED)
    return np.sort(first), np.sort(second)
