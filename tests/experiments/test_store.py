"""The store: nothing lost, nothing twice, whatever kills the process."""

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from clustcal.experiments.store import COLUMNS, KEY, MERGE_FROM, Store

# Adds units of 50 rows, as fast as it can, each with the same number in all rows; its own seeds, given as arguments.
WRITER = """
import sys
from clustcal.experiments.store import Store

store, first, last = Store(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
print("ready", flush=True)
for seed in range(first, last):
    key = {"dataset": "made_up", "max_depth": 6, "seed": seed, "calibrator": "Platt", "representation": "SHAP"}
    rows = [key | {"n_estimators": n, "settings": "", "nll": seed / 7, "versions": "x" * 200} for n in range(50)]
    store.append("made_up", rows)
    if seed % 3 == 0:
        store.merge("made_up")
"""


def make_row(seed=0, settings="", **values):
    key = {"dataset": "stroke", "n_estimators": 100, "max_depth": 6, "seed": seed, "calibrator": "Platt"}
    return key | {"representation": "SHAP", "settings": settings} | values


def files_of(store):
    """The content of every file of rows, by its name."""
    paths = sorted(store.folder.rglob("*.csv"))
    return {path.relative_to(store.folder).as_posix(): path.read_bytes() for path in paths}


def start_writer(folder, first, last):
    writer = subprocess.Popen([sys.executable, "-c", WRITER, folder, str(first), str(last)], stdout=subprocess.PIPE)
    writer.stdout.readline()
    return writer


def assert_whole(rows):
    """All units are there with their 50 rows, each row once."""
    assert (rows.groupby("seed").size() == 50).all()
    assert not rows.duplicated(list(KEY)).any()
    np.testing.assert_array_equal(rows["nll"], rows["seed"] / 7)


@pytest.fixture
def store(tmp_path):
    return Store(tmp_path / "tabular")


def test_a_new_store_is_empty(store):
    assert store.read().empty
    assert tuple(store.read().columns) == COLUMNS
    assert store.keys("stroke") == set()


def test_rows_come_back_as_they_went_in(store):
    store.append("stroke", [make_row(nll=1 / 3, fit_seconds=None, versions="a; b")])
    (row,) = store.read("stroke").to_dict("records")
    assert row["nll"] == 1 / 3
    assert np.isnan(row["fit_seconds"])
    assert (row["seed"], row["settings"], row["versions"], row["commit"]) == (0, "", "a; b", "")


def test_rows_are_only_ever_added_to(store):
    store.append("stroke", [make_row(nll=0.1)])
    store.merge()
    before = store.path("stroke").read_bytes()
    store.append("stroke", [make_row(seed=1, nll=0.2)])
    store.merge()
    assert store.path("stroke").read_bytes().startswith(before)
    assert store.path("stroke").read_bytes() != before


def test_a_row_is_not_stored_twice(store):
    assert store.append("stroke", [make_row(nll=0.1), make_row(nll=0.1), make_row(settings="n_clusters=7")]) == 2
    assert store.append("stroke", [make_row(nll=0.3)]) == 0
    assert store.read()["nll"].tolist()[0] == 0.1


def test_data_sets_have_files_of_their_own(store):
    store.append("stroke", [make_row(nll=0.1)])
    store.append("adult", [make_row(nll=0.2) | {"dataset": "adult"}])
    store.merge()
    assert [path.name for path in sorted(store.folder.glob("*.csv"))] == ["adult.csv", "stroke.csv"]
    assert store.read("adult")["nll"].tolist() == [0.2]
    assert len(store.read()) == 2


def test_unknown_columns_are_refused_and_leave_the_files_alone(store):
    store.append("stroke", [make_row(nll=0.1)])
    before = files_of(store)
    with pytest.raises(ValueError, match="surprise"):
        store.append("stroke", [make_row(seed=1, surprise=1)])
    assert files_of(store) == before


def test_every_unit_has_a_file_of_its_own_until_it_is_merged(store):
    for seed in (0, 1):
        store.append("stroke", [make_row(seed=seed, nll=0.1)])
    assert list(files_of(store)) == [".units/stroke/000000.csv", ".units/stroke/000001.csv"]
    rows = store.read()
    store.merge()
    assert list(files_of(store)) == ["stroke.csv"]
    pd.testing.assert_frame_equal(store.read(), rows)


def test_merged_numbers_are_those_that_were_written_to_the_last_digit(store):
    store.append("stroke", [make_row(nll=0.1 + 0.2)])
    store.merge()
    assert "0.30000000000000004" in store.path("stroke").read_text()


def test_many_units_are_merged_before_they_make_reading_slow(store):
    for seed in range(MERGE_FROM + 1):
        store.append("stroke", [make_row(seed=seed)])
    assert list(files_of(store)) == [".units/stroke/000000.csv", "stroke.csv"]
    assert store.read()["seed"].tolist() == list(range(MERGE_FROM + 1))


def test_a_unit_that_was_merged_but_not_yet_removed_counts_once(store, monkeypatch):
    """A crash between the two steps of a merge, or, on Windows, a reader that keeps the file open."""

    unlink = Path.unlink

    def refuse(path, missing_ok=False):
        if path.suffix == ".csv":
            raise PermissionError
        unlink(path, missing_ok)

    store.append("stroke", [make_row(nll=0.1)])
    with monkeypatch.context() as patch:
        patch.setattr(Path, "unlink", refuse)
        store.merge()
    assert list(files_of(store)) == [".units/stroke/000000.csv", "stroke.csv"]
    assert len(store.read()) == 1
    assert store.append("stroke", [make_row(nll=0.1)]) == 0
    store.merge()
    assert list(files_of(store)) == ["stroke.csv"]
    assert len(store.read()) == 1


def test_a_file_that_somebody_reads_is_replaced_a_little_later(store, monkeypatch):
    """Windows refuses to replace an open file."""
    refusals, replace = iter([True, True, False, False]), Path.replace

    def sometimes(path, target):
        if next(refusals):
            raise PermissionError
        return replace(path, target)

    monkeypatch.setattr(Path, "replace", sometimes)
    assert store.append("stroke", [make_row(nll=0.1)]) == 1
    assert len(store.read()) == 1


def test_git_ignores_units_and_locks_wherever_the_store_is(store):
    store.append("stroke", [make_row(nll=0.1)])
    hidden = [path for path in store.folder.iterdir() if path.is_dir()]
    assert sorted(path.name for path in hidden) == [".locks", ".units"]
    assert [(path / ".gitignore").read_text() for path in hidden] == ["*\n", "*\n"]


class TestArms:
    def test_an_arm_has_a_file_of_its_own_and_is_read_on_request(self, store):
        store.append("stroke", [make_row(nll=0.1), make_row(arm="weighted", nll=0.2)])
        store.merge()
        assert list(files_of(store)) == ["stroke.csv", "stroke.weighted.csv"]
        assert store.read("stroke")["nll"].tolist() == [0.1]
        assert store.read(arm="weighted")["nll"].tolist() == [0.2]
        assert store.read(arm=None)["arm"].tolist() == ["", "weighted"]

    def test_the_arm_is_part_of_the_key(self, store):
        assert store.append("stroke", [make_row(arm="weighted"), make_row(arm="weighted"), make_row()]) == 2

    def test_set_aside_takes_one_arm(self, store):
        store.append("stroke", [make_row(nll=0.1), make_row(arm="weighted", nll=0.2)])
        store.set_aside("stroke", "weighted")
        assert store.read(arm=None)["nll"].tolist() == [0.1]

    def test_a_file_without_the_column_is_the_study_as_printed_and_keeps_its_columns(self, store):
        """As they were written before there were arms."""
        columns = [name for name in COLUMNS if name != "arm"]
        old = pd.DataFrame([make_row(nll=0.1)]).reindex(columns=columns)
        store.folder.mkdir()
        old.to_csv(store.path("stroke"), index=False, lineterminator="\n")
        before = store.path("stroke").read_bytes()
        assert store.append("stroke", [make_row(), make_row(seed=1, nll=0.2)]) == 1
        store.merge()
        assert store.path("stroke").read_bytes().startswith(before)
        assert store.read("stroke")["nll"].tolist() == [0.1, 0.2]
        assert set(store.read()["arm"]) == {""}

    def test_a_file_gets_the_columns_that_its_new_rows_need(self, store):
        store.folder.mkdir()
        pd.DataFrame([make_row(nll=0.1)]).to_csv(store.path("stroke"), index=False)
        store.append("stroke", [make_row(seed=1, nll=0.2, mlce=0.3)])
        store.merge()
        np.testing.assert_array_equal(store.read("stroke")[["nll", "mlce"]], [[0.1, np.nan], [0.2, 0.3]])


def test_other_studies_have_other_columns(tmp_path):
    key = ("dataset", "layer", "arm")
    store = Store(tmp_path, key, columns=(*key, "nll"), text=key)
    rows = [{"dataset": "images", "layer": layer, "nll": 0.1} for layer in ("last", "first", "last")]
    assert store.append("images", rows) == 2
    store.merge()
    assert store.path("images").read_text() == "dataset,layer,arm,nll\nimages,last,,0.1\nimages,first,,0.1\n"


def test_set_aside_keeps_the_old_file_and_starts_anew(store):
    store.append("stroke", [make_row(nll=0.1)])
    store.merge()
    before = store.path("stroke").read_bytes()
    store.append("stroke", [make_row(seed=1, nll=0.2)])
    store.set_aside("stroke")
    assert store.read().empty
    (kept,) = (store.folder / "superseded").iterdir()
    assert kept.read_bytes().startswith(before)
    assert kept.read_bytes().count(b"\n") == 3


def test_a_claim_excludes_others_until_it_is_released(store):
    claim = store.claim("stroke-6-0")
    assert store.claim("stroke-6-0") is None
    assert store.claim("stroke-6-1") is not None
    claim.release()
    assert store.claim("stroke-6-0") is not None


def test_a_claim_ends_with_its_process(store):
    code = (
        "import sys, time; from clustcal.experiments.store import Store\n"
        "claim = Store(sys.argv[1]).claim('unit'); print('ready', flush=True); time.sleep(60)"
    )
    holder = subprocess.Popen([sys.executable, "-c", code, store.folder], stdout=subprocess.PIPE)
    holder.stdout.readline()
    assert store.claim("unit") is None
    holder.kill()
    holder.wait()
    assert store.claim("unit") is not None


def test_killed_while_writing_the_file_stays_whole(store):
    """SIGKILL at a random moment, again and again; units that were stored stay."""
    rng, units, last = random.Random(0), 0, 0
    for _ in range(4):
        writer = start_writer(store.folder, last, last + 10_000)
        time.sleep(rng.uniform(0.05, 0.4))
        os.kill(writer.pid, signal.SIGKILL)
        assert writer.wait() == -signal.SIGKILL
        rows = store.read("made_up")
        assert_whole(rows)
        assert rows["seed"].nunique() > units
        units, last = rows["seed"].nunique(), int(rows["seed"].max()) + 1
    store.merge()
    assert_whole(store.read("made_up"))
    assert list(files_of(store)) == ["made_up.csv"]
    assert store.path("made_up").read_bytes().endswith(b"\n")


def test_two_processes_lose_and_repeat_nothing(store):
    """Both write the units from 20 to 40, and each some of its own."""
    writers = [start_writer(store.folder, 0, 40), start_writer(store.folder, 20, 60)]
    assert [writer.wait() for writer in writers] == [0, 0]
    rows = store.read("made_up")
    assert_whole(rows)
    assert rows["seed"].nunique() == 60
