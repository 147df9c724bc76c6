"""What clusters look like: lines, words and images of each."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.utils import Bunch

from clustcal.experiments import results
from clustcal.experiments.deep.cluster_looks import (
    MIN_TEXTS,
    describe,
    distinguishing_words,
    mean_images,
    typical_images,
)


def test_lines_say_size_accuracy_and_confidence():
    scores = Bunch(
        P_cal=np.array([[0.9, 0.1], [0.8, 0.2]]),
        P_test=np.array([[0.3, 0.7]]),
        y_cal=np.array([0, 1]),
        y_test=np.array([1]),
        classes=["bad", "good"],
    )
    table = describe(scores, np.array([0, 0, 1]))
    assert table["size"].tolist() == [2, 1]
    assert_allclose(table["accuracy"], [0.5, 1.0])
    assert_allclose(table["confidence"], [0.85, 0.7])
    assert table["first"].tolist() == ["bad 1.00", "good 1.00"]


def test_z_is_the_difference_of_log_odds_in_standard_errors():
    texts = ["rain"] * 6 + ["sun"] * 2 + ["rain"] * 1 + ["sun"] * 3
    words = distinguishing_words(texts, [0] * 8 + [1] * 4, min_texts=1).set_index(["cluster", "word"])
    cells = np.array([6.5, 2.5, 1.5, 3.5])
    by_hand = (np.log(6.5 / 2.5) - np.log(1.5 / 3.5)) / np.sqrt((1 / cells).sum())
    assert words.loc[(0, "rain"), "z"] == round(by_hand, 1)
    assert words.loc[(0, "rain"), "share"] == 0.75
    assert words.loc[(0, "rain"), "elsewhere"] == 0.25


def test_words_of_few_texts_are_left_out():
    texts = ["common rare"] + ["common"] * 4 + ["other"] * 5
    words = distinguishing_words(texts, [0] * 5 + [1] * 5, min_texts=2)
    assert "rare" not in set(words["word"])
    assert "common" in set(words["word"])


def test_typical_images_are_nearest_first_and_of_their_cluster():
    images = np.arange(4)[:, None, None, None] * np.ones((4, 2, 2, 3))
    memberships = np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.95, 0.05]])
    shown = typical_images(images, memberships, memberships.argmax(axis=1), n_images=1)
    assert_array_equal(shown[:, 0, 0, 0, 0], [3, 2])


def test_mean_images_are_rounded_to_bytes():
    images = np.array([0, 3, 10, 20], dtype=np.uint8)[:, None, None, None] * np.ones((1, 2, 2, 3), dtype=np.uint8)
    means = mean_images(images, np.array([0, 0, 1, 1]))
    assert means.dtype == np.uint8
    assert_array_equal(means[:, 0, 0, 0], [2, 15])


@pytest.mark.parametrize(
    "path", sorted((results.FOLDER / "deep" / "clusters").glob("*.words.csv")), ids=lambda p: p.name
)
def test_stored_words_are_those_of_many_texts(path):
    words = pd.read_csv(path, keep_default_na=False)
    sizes = pd.read_csv(path.with_name(path.name.replace(".words", ""))).set_index("cluster")["size"]
    texts = words["share"] * words["cluster"].map(sizes)
    assert texts.min() > MIN_TEXTS - 0.5
    assert words["word"].str.fullmatch(r"[a-z][a-z']+").all()
