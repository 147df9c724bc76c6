"""The readers of texts, on small files of the same form and on the files themselves."""

import io
import lzma
import tarfile

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from clustcal.datasets import load, texts

EMOTION = {"train": "a; b;joy\nc;fear\n", "val": "\nd;sadness\n", "test": "e;surprise\n"}
REVIEWS = {
    "train/pos/10_9": "good",
    "train/pos/2_7": "fine",
    "train/neg/0_1": "bad, truly",
    "test/neg/3_4": 'dull<br /><br />"so"',
    "test/pos/0_10": "naïve but NA",
    "train/unsup/0_0": "unlabelled",
}


@pytest.fixture
def emotion(tmp_path):
    """The three files of Emotion, with five texts."""
    for part, content in EMOTION.items():
        (tmp_path / f"{part}.txt").write_text(content)
    return {f"{part}.txt": tmp_path / f"{part}.txt" for part in EMOTION}


@pytest.fixture
def archive(tmp_path):
    """An archive in the layout of IMDB, with six reviews and what else it holds."""
    path = tmp_path / "aclImdb_v1.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        for name, text in {**REVIEWS, "README": "about", "train/urls_pos": "http"}.items():
            content = text.encode()
            member = tarfile.TarInfo(f"aclImdb/{name}.txt" if "/" in name and "_" in name[-4:] else f"aclImdb/{name}")
            member.size = len(content)
            tar.addfile(member, io.BytesIO(content))
    return {"aclImdb_v1.tar.gz": path}


@pytest.fixture
def tables(tmp_path):
    """The same reviews as two tables."""
    columns = ["id", "label", "rating", "val", "text"]
    train = [(0, 0, 1, 1, "bad, truly"), (2, 1, 7, 0, "fine"), (10, 1, 9, 0, "good")]
    test = [(3, 0, 4, None, 'dull<br /><br />"so"'), (0, 1, 10, None, "naïve but NA")]
    paths = {}
    for part, rows in {"train": train, "test": test}.items():
        frame = pd.DataFrame(rows, columns=columns)
        frame = frame if part == "train" else frame.drop(columns="val")
        paths[f"{part}.csv.xz"] = tmp_path / f"{part}.csv.xz"
        paths[f"{part}.csv.xz"].write_bytes(lzma.compress(frame.to_csv(index=False).encode()))
    return paths


def test_emotion_splits_at_the_last_semicolon_and_skips_the_empty_line(emotion):
    X, y, part, classes = texts.read_emotion(emotion)
    assert X.tolist() == ["a; b", "c", "d", "e"]
    assert [classes[i] for i in y] == ["joy", "fear", "sadness", "surprise"]
    assert part.tolist() == ["train", "train", "val", "test"]
    assert y.tolist() == [1, 4, 0, 5]  # the published numbers


def test_emotion_refuses_a_label_it_does_not_know(emotion):
    emotion["test.txt"].write_text("fine;happiness\n")
    with pytest.raises(ValueError, match=r"test.txt has the label 'happiness' in line 1; expected one of"):
        texts.read_emotion(emotion)


@pytest.mark.parametrize("form", ["archive", "tables"])
def test_imdb_is_the_same_from_both_packings(form, request):
    X, y, part, classes = texts.read_imdb(request.getfixturevalue(form))
    assert X.tolist() == ["bad, truly", "fine", "good", 'dull<br /><br />"so"', "naïve but NA"]
    assert [classes[i] for i in y] == ["negative", "positive", "positive", "negative", "positive"]
    assert part.tolist() == ["train", "train", "train", "test", "test"]


# ------------------------------------------------------------------------------------------------ on the raw data


@pytest.mark.data
def test_emotion_has_the_published_counts(raw_data):
    data = load("emotion")
    published = {
        "train": {"joy": 5362, "sadness": 4666, "anger": 2159, "fear": 1937, "love": 1304, "surprise": 572},
        "val": {"joy": 704, "sadness": 550, "anger": 275, "fear": 212, "love": 178, "surprise": 81},
        "test": {"joy": 695, "sadness": 581, "anger": 275, "fear": 224, "love": 159, "surprise": 66},
    }
    found = pd.crosstab(data.part, np.array(data.classes)[data.y])
    for part, counts in published.items():
        assert found.loc[part].to_dict() == counts


@pytest.mark.data
def test_emotion_repeats_the_texts_that_its_description_counts(raw_data):
    data = load("emotion")
    frame = pd.DataFrame({"text": data.X, "y": data.y, "part": data.part})
    groups = frame.groupby("text")
    assert groups.ngroups == 19_948
    assert groups.size().value_counts().to_dict() == {1: 19_896, 2: 52}
    assert (groups["y"].nunique() == 2).sum() == 51
    assert (groups["part"].nunique() == 2).sum() == 19
    shared = frame.groupby("text")["part"].agg(lambda parts: "/".join(sorted(set(parts)))).value_counts()
    assert shared[["train/val", "test/train", "test/val"]].tolist() == [5, 11, 3]


@pytest.mark.data
def test_imdb_has_the_facts_of_its_source(raw_data):
    data = load("imdb")
    assert pd.crosstab(data.part, data.y).to_numpy().tolist() == [[12_500, 12_500], [12_500, 12_500]]
    assert sum(len(text.encode()) for text in data.X) == 65_483_508
    assert sum(not text.isascii() for text in data.X) == 4_660
    train, test = (set(data.X[data.part == part]) for part in ("train", "test"))
    assert (len(train), len(test), len(train & test)) == (24_904, 24_801, 123)
    assert max(len(text.split()) for text in data.X) == 2_470
    assert_array_equal(np.flatnonzero(np.diff(data.y)), [12_499, 24_999, 37_499])
