"""The readers of texts, on small files of the same form and on the files themselves."""

import io
import lzma
import os
import tarfile
from itertools import permutations
from pathlib import Path

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


# ----------------------------------------------------------------------------------- the paper's count of Emotion


def cleaning_rules():
    """Ways to drop repeated texts: within the whole or within the parts, keeping one, or none; labels apart or not."""
    rules = {}
    for keep in ("first", False):
        for columns in (["text"], ["text", "y"], ["text", "part"]):
            rules[f"repeats of {' and '.join(columns)}, {'all but one' if keep else 'all'}"] = (
                lambda frame, columns=columns, keep=keep: frame.drop_duplicates(columns, keep=keep)
            )
    for columns in (["text"], ["text", "part"]):
        rules[f"texts with two labels, by {' and '.join(columns)}"] = lambda frame, columns=columns: frame[
            frame.groupby(columns)["y"].transform("nunique") == 1
        ]
    for one, two in permutations(("train", "val", "test"), 2):
        rules[f"rows of {one} whose text is in {two}"] = lambda frame, one=one, two=two: frame[
            ~((frame["part"] == one) & frame["text"].isin(frame.loc[frame["part"] == two, "text"]))
        ]
    return rules


@pytest.fixture(scope="module")
def emotion_rows():
    if not os.environ.get("CLUSTCAL_DATA_DIR"):
        pytest.skip("CLUSTCAL_DATA_DIR is not set: no raw data to test on")
    data = load("emotion")
    return pd.DataFrame({"text": data.X, "y": data.y, "part": data.part})


@pytest.fixture(scope="module")
def erratum():
    yaml = pytest.importorskip("yaml")
    entries = yaml.safe_load((Path(__file__).resolve().parents[2] / "results" / "errata.yml").read_text())
    (entry,) = [entry for entry in entries if entry["id"] == "emotion-count"]
    return entry["numbers"]


@pytest.mark.data
def test_what_single_rules_leave_of_emotion_is_as_the_erratum_says(emotion_rows, erratum):
    rules = cleaning_rules()
    left = {name: len(rule(emotion_rows)) for name, rule in rules.items()}
    assert 19_930 not in left.values()
    assert left["repeats of text and y, all but one"] == erratum["distinct_pairs_of_text_and_label"]
    assert left["repeats of text, all but one"] == erratum["distinct_texts"]
    assert left["repeats of text and part, all but one"] == erratum["distinct_texts_within_each_part"]
    assert left["repeats of text and part, all"] == erratum["texts_that_occur_once_within_their_part"]
    assert left["repeats of text, all"] == erratum["texts_that_occur_once"]
    words = emotion_rows["text"].str.split().str.len()
    assert (words > 3).sum() == erratum["texts_of_more_than_three_words"]
    for lengths in (words, emotion_rows["text"].str.len()):
        limits = lengths.unique()
        reached = {(lengths > limit).sum() for limit in limits} | {(lengths < limit).sum() for limit in limits}
        assert 19_930 not in reached


@pytest.mark.data
def test_three_rules_leave_the_papers_count_of_emotion(emotion_rows, erratum):
    rules = cleaning_rules()
    steps = (
        "repeats of text and y, all but one",
        "texts with two labels, by text and part",
        "rows of train whose text is in val",
    )
    sizes = [len(emotion_rows)]
    frame = emotion_rows
    for step in steps:
        frame = rules[step](frame)
        sizes.append(len(frame))
    assert (-np.diff(sizes)).tolist() == erratum["dropped_by_three_rules"]
    assert sizes[-1] == erratum["left_by_three_rules"] == 19_930


@pytest.mark.data
def test_so_many_counts_are_in_reach_that_one_of_them_says_little(emotion_rows, erratum):
    """All sequences of one to three rules. Each leaves texts that occur once alone, so only the others are here."""
    repeated = emotion_rows[emotion_rows.duplicated("text", keep=False)]
    rules = cleaning_rules()
    reached = set()
    for length in (1, 2, 3):
        for sequence in permutations(rules.values(), length):
            frame = repeated
            for rule in sequence:
                frame = rule(frame)
            reached.add(20_000 - len(repeated) + len(frame))
    assert len(rules) == erratum["rules_tried"]
    assert len(reached) == erratum["counts_in_reach_of_up_to_three"]
    assert (min(reached), max(reached)) == (19_896, 19_999)
    assert 19_930 in reached
