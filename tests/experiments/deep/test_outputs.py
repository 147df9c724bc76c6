"""Outputs on disk: what is written is read again, another file than the table's is refused, summaries by hand."""

from hashlib import sha256

import numpy as np
import pytest

from clustcal.experiments.deep import outputs
from clustcal.experiments.deep.outputs import Outputs


@pytest.fixture
def said():
    """Three rows of three classes: 0.25, 0.5, 0.25; 0.8, 0.1, 0.1; and nothing known."""
    P = np.array([[0.25, 0.5, 0.25], [0.8, 0.1, 0.1], [1 / 3, 1 / 3, 1 / 3]])
    representations = {"cls": np.arange(6.0).reshape(3, 2), "mean": np.ones((3, 1))}
    return Outputs(np.log(P) + 7.0, np.array([1, 2, 0]), np.array([5, 3, 9]), representations)


def write_line(path, name, **values):
    outputs.write_line(path, dict.fromkeys(outputs.COLUMNS, "") | {"name": name} | values)


def test_summaries_follow_by_hand(said):
    found = outputs.summarise(said)
    assert found["accuracy"] == pytest.approx(2 / 3)  # equal probabilities: the first class is said
    assert found["nll"] == pytest.approx(-np.log(0.5 * 0.1 / 3) / 3)
    brier = [0.25**2 + 0.5**2 + 0.25**2, 0.8**2 + 0.1**2 + 0.9**2, (2 / 3) ** 2 + 2 * (1 / 3) ** 2]
    assert found["brier"] == pytest.approx(np.mean(brier))
    assert found["confidence"] == pytest.approx((0.5 + 0.8 + 1 / 3) / 3)


@pytest.mark.parametrize("kept", [True, False])
def test_what_is_written_is_read_again(said, tmp_path, kept):
    path = tmp_path / "new" / "folder" / outputs.FILE
    outputs.write_outputs(path, said, representations=kept)
    found = outputs.read_outputs(path)
    np.testing.assert_allclose(found.logits, said.logits, rtol=1e-6)
    assert (found.y.tolist(), found.rows.tolist()) == ([1, 2, 0], [5, 3, 9])
    assert list(found.representations) == (["cls", "mean"] if kept else [])
    for name, Z in found.representations.items():
        assert np.array_equal(Z, said.representations[name])
    assert [one.name for one in path.parent.iterdir()] == [outputs.FILE]


def test_outputs_that_are_not_there_are_named_with_the_command_that_makes_them(tmp_path):
    with pytest.raises(FileNotFoundError, match="clustcal train emotion"):
        outputs.load_outputs("emotion", tmp_path)


def test_only_the_file_of_the_table_is_taken(said, tmp_path):
    path = tmp_path / "emotion" / outputs.FILE
    outputs.write_outputs(path, said)
    digest = sha256(path.read_bytes()).hexdigest()
    assert outputs.file_digest(path) == digest
    table = tmp_path / "models.csv"
    write_line(table, "emotion", sha256=digest)
    assert outputs.load_outputs("emotion", tmp_path, outputs.read_table(table)).y.tolist() == [1, 2, 0]
    write_line(table, "emotion", sha256="0" * 64)
    with pytest.raises(ValueError, match="is not the file of the table"):
        outputs.load_outputs("emotion", tmp_path, outputs.read_table(table))
    write_line(table, "emotion", sha256=digest)
    write_line(table, "imdb", sha256="0" * 64)  # of another network
    outputs.load_outputs("emotion", tmp_path, outputs.read_table(table))


def test_lines_are_sorted_and_a_newer_one_takes_the_place_of_the_older(tmp_path):
    table = tmp_path / "new" / "models.csv"
    assert outputs.read_table(table).empty
    for name, epochs in (("imdb", "3"), ("emotion", "2"), ("imdb", "4")):
        write_line(table, name, epochs=epochs)
    found = outputs.read_table(table)
    assert tuple(found) == outputs.COLUMNS
    assert found[["name", "epochs"]].to_numpy().tolist() == [["emotion", "2"], ["imdb", "4"]]


def test_the_cache_is_where_the_user_says_or_in_that_of_the_system(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.delenv("CLUSTCAL_MODEL_DIR", raising=False)
    assert outputs.cache_folder() == tmp_path / "clustcal" / "models"
    monkeypatch.setenv("CLUSTCAL_MODEL_DIR", str(tmp_path / "mine"))
    assert outputs.cache_folder() == tmp_path / "mine"
