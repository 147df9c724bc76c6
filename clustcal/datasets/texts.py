"""Read the data sets of texts: Emotion and IMDB.

Each reader takes the paths that `fetch` returns and gives texts, class numbers, the part ("train", "val" or "test") of
every row, and the names of the classes.
"""

import lzma
import re
import tarfile

import numpy as np
import pandas as pd

EMOTIONS = ("sadness", "joy", "love", "anger", "fear", "surprise")  # in the order of the published class numbers
SENTIMENTS = ("negative", "positive")


def read_emotion(paths):
    """Emotion: one ``text;label`` a line, in one file for each part, in the order of the files."""
    rows = []
    for part in ("train", "val", "test"):
        path = paths[f"{part}.txt"]
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            text, _, label = line.rpartition(";")
            if not line:  # one copy of the files starts with an empty line
                continue
            if label not in EMOTIONS:
                raise ValueError(f"{path} has the label {label!r} in line {number}; expected one of {EMOTIONS}.")
            rows.append((text, EMOTIONS.index(label), part))
    return (*_columns(rows), EMOTIONS)


def read_imdb(paths):
    """IMDB: reviews of films, half of them for training, negative ones first and then by number.

    From the original archive, or from the two tables that hold the same.
    """
    rows = _imdb_archive(paths["aclImdb_v1.tar.gz"]) if "aclImdb_v1.tar.gz" in paths else _imdb_tables(paths)
    return (*_columns(rows), SENTIMENTS)


def _imdb_archive(path):
    """The reviews of an archive whose members are such as ``aclImdb/test/neg/12_3.txt``: number 12, three stars."""
    found = []
    with tarfile.open(path) as archive:
        for member in archive:  # in the order of the archive, as going back in a compressed one is slow
            match = re.fullmatch(r"aclImdb/(train|test)/(neg|pos)/(\d+)_\d+\.txt", member.name)
            if match and member.isfile():
                part, label, number = match.groups()
                text = archive.extractfile(member).read().decode("utf-8")
                found.append((part == "test", label == "pos", int(number), text))
    found.sort(key=lambda row: row[:3])
    return [(text, int(label), "test" if is_test else "train") for is_test, label, _, text in found]


def _imdb_tables(paths):
    # A column `val` marks a part of the training rows that a third party had set aside; it is not used.
    for part in ("train", "test"):
        with lzma.open(paths[f"{part}.csv.xz"]) as stream:
            frame = pd.read_csv(stream, usecols=["label", "text"], keep_default_na=False, dtype={"text": object})
        yield from zip(frame["text"], frame["label"], [part] * len(frame), strict=True)


def _columns(rows):
    text, y, part = zip(*rows, strict=True)
    return np.array(text, dtype=object), np.array(y, dtype=np.int64), np.array(part, dtype=object)
