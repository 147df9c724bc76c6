"""The store: nothing lost, nothing twice, whatever kills the process."""

import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from clustcal.experiments.store import COLUMNS, KEY, Store

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
"""


def make_row(seed=0, settings="", **values):
    key = {"dataset": "stroke", "n_estimators": 100, "max_depth": 6, "seed": seed, "calibrator": "Platt"}
    return key | {"representation": "SHAP", "settings": settings} | values


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
    before = store.path("stroke").read_bytes()
    store.append("stroke", [make_row(seed=1, nll=0.2)])
    assert store.path("stroke").read_bytes().startswith(before)
    assert store.path("stroke").read_bytes() != before


def test_a_row_is_not_stored_twice(store):
    assert store.append("stroke", [make_row(nll=0.1), make_row(nll=0.1), make_row(settings="n_clusters=7")]) == 2
    assert store.append("stroke", [make_row(nll=0.3)]) == 0
    assert store.read()["nll"].tolist()[0] == 0.1


def test_data_sets_have_files_of_their_own(store):
    store.append("stroke", [make_row(nll=0.1)])
    store.append("adult", [make_row(nll=0.2) | {"dataset": "adult"}])
    assert [path.name for path in sorted(store.folder.glob("*.csv"))] == ["adult.csv", "stroke.csv"]
    assert store.read("adult")["nll"].tolist() == [0.2]
    assert len(store.read()) == 2


def test_unknown_columns_are_refused_and_leave_the_file_alone(store):
    store.append("stroke", [make_row(nll=0.1)])
    before = store.path("stroke").read_bytes()
    with pytest.raises(ValueError, match="surprise"):
        store.append("stroke", [make_row(seed=1, surprise=1)])
    assert store.path("stroke").read_bytes() == before


def test_set_aside_keeps_the_old_file_and_starts_anew(store):
    store.append("stroke", [make_row(nll=0.1)])
    before = store.path("stroke").read_bytes()
    store.set_aside("stroke")
    assert store.read().empty
    assert [path.read_bytes() for path in (store.folder / "superseded").iterdir()] == [before]


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
    assert store.path("made_up").read_bytes().endswith(b"\n")


def test_two_processes_lose_and_repeat_nothing(store):
    """Both write the units from 20 to 40, and each some of its own."""
    writers = [start_writer(store.folder, 0, 40), start_writer(store.folder, 20, 60)]
    assert [writer.wait() for writer in writers] == [0, 0]
    rows = store.read("made_up")
    assert_whole(rows)
    assert rows["seed"].nunique() == 60
