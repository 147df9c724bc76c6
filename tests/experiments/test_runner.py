"""The runner: right numbers from one training, the same on every road, and no harm from any end."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from clustcal.experiments.store import KEY, Store
from clustcal.experiments.tabular import units
from clustcal.experiments.tabular.grid import select_entries
from tests.experiments.made_up import make_data

xgboost = pytest.importorskip("xgboost")

COMMAND = [sys.executable, str(Path(__file__).with_name("made_up.py")), "reproduce", "tabular"]


def numbers(rows):
    """Rows in a fixed order, without what depends on the clock."""
    kept = rows.drop(columns=[column for column in rows if column.endswith("seconds")])
    return kept.sort_values(list(KEY)).reset_index(drop=True)


def run(store, entries, **options):
    options = {"n_estimators": (3, 5), "max_depths": (2, 3), "seeds": (0, 1), "progress": False} | options
    return units.run(["stroke"], entries, store, load=make_data, **options)


@pytest.fixture(scope="module")
def few():
    return select_entries(["Platt", "Isotonic"])


@pytest.fixture(scope="module")
def expected(few, tmp_path_factory):
    """The rows of `few` on the small grid of `run`, made in this process."""
    store = Store(tmp_path_factory.mktemp("expected"))
    assert run(store, few) == (4, 0, 0)
    return numbers(store.read())


class TestRun:
    def test_grid_is_complete(self, expected, few):
        assert len(expected) == 2 * 2 * 2 * len(few)

    def test_a_second_run_has_nothing_to_do(self, few, tmp_path):
        store = Store(tmp_path)
        run(store, few, seeds=(0,))
        before = store.path("stroke").read_bytes()
        assert run(store, few, seeds=(0,)) == (0, 2, 0)
        assert store.path("stroke").read_bytes() == before

    def test_what_is_missing_is_added_in_any_order(self, few, expected, tmp_path):
        store = Store(tmp_path)
        run(store, few[:2], max_depths=(3,))
        run(store, few, seeds=(1,), n_estimators=(5,))
        run(store, few)
        pd.testing.assert_frame_equal(numbers(store.read()), expected, rtol=0, atol=1e-9)

    def test_processes_give_the_same_rows(self, few, expected, tmp_path):
        store = Store(tmp_path)
        assert run(store, few, jobs=2) == (4, 0, 0)
        pd.testing.assert_frame_equal(numbers(store.read()), expected, rtol=0, atol=1e-9)

    @pytest.mark.slow
    def test_workers_of_a_dask_cluster_give_the_same_rows(self, few, expected, tmp_path):
        distributed = pytest.importorskip("dask.distributed")
        store = Store(tmp_path)
        local = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
        with distributed.LocalCluster(**local) as cluster:
            assert run(store, few, dask=cluster.scheduler_address) == (4, 0, 0)
        pd.testing.assert_frame_equal(numbers(store.read()), expected, rtol=0, atol=1e-9)

    def test_units_of_another_process_are_left_to_it(self, few, tmp_path):
        store = Store(tmp_path)
        claim = store.claim("stroke-2-0")
        assert run(store, few) == (3, 0, 1)
        claim.release()
        assert run(store, few) == (1, 3, 0)

    @pytest.mark.parametrize("jobs", [1, 2])
    def test_rows_of_finished_units_survive_an_error(self, few, tmp_path, jobs):
        store = Store(tmp_path)

        def load(name):
            if name == "adult":
                raise FileNotFoundError("no such data")
            return make_data(name)

        options = {"n_estimators": (3,), "max_depths": (2,), "seeds": (0, 1, 2), "progress": False}
        with pytest.raises(FileNotFoundError, match="no such data"):
            units.run(["stroke", "adult"], few, store, load=load, jobs=jobs, **options)
        assert len(store.read("stroke")) == 3 * len(few)
        assert store.claim("adult-2-0") is not None

    def test_bar_shows_units_and_time(self, few, tmp_path, capsys):
        run(Store(tmp_path), few, progress=True)
        shown = capsys.readouterr().err
        assert "4 of 4 units, stroke depth 3 seed 1" in shown
        assert "100%" in shown


def test_ctrl_c_that_a_library_swallows_ends_the_run_after_the_unit(few, tmp_path):
    def load(name):
        try:
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
        except KeyboardInterrupt:
            pass
        return make_data(name)

    store = Store(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        units.run(["stroke"], few, store, load=load, n_estimators=(3,), max_depths=(2,), progress=False)
    assert store.read()["seed"].unique().tolist() == [0]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


class TestEnds:
    """The command in a process of its own, ended in the middle of a run."""

    OPTIONS = ("--datasets", "stroke", "--n-estimators", "20", "--depths", "2", "--methods", "Platt", "--quiet")

    @pytest.fixture
    def start(self):
        """A function that starts the command; what a failed test leaves running is killed."""
        running = []

        def start(folder, *options):
            command = [*COMMAND, *self.OPTIONS, "--results", folder, *options]
            streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
            running.append(subprocess.Popen(command, start_new_session=True, **streams))
            return running[-1]

        yield start
        for process in running:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)

    def wait_for_rows(self, store, units):
        deadline = time.monotonic() + 60
        while store.read()["seed"].nunique() < units:
            assert time.monotonic() < deadline
            time.sleep(0.01)

    def test_killed_in_the_middle_it_goes_on_to_the_same_rows(self, start, tmp_path):
        seeds = ["--seeds", *map(str, range(12))]
        store = Store(tmp_path / "killed" / "tabular")
        process = start(tmp_path / "killed", "--jobs", "1", *seeds)
        self.wait_for_rows(store, 2)
        os.killpg(process.pid, signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
        left = store.read()
        assert 2 <= left["seed"].nunique() < 12
        assert (left.groupby("seed").size() == 4).all()
        resumed = start(tmp_path / "killed", "--jobs", "1", *seeds)
        assert f"{left['seed'].nunique()} were there already" in resumed.communicate()[0]
        whole = Store(tmp_path / "whole" / "tabular")
        run(whole, select_entries(["Platt"]), n_estimators=(20,), max_depths=(2,), seeds=range(12))
        pd.testing.assert_frame_equal(numbers(store.read()), numbers(whole.read()), rtol=0, atol=1e-9)
        assert_array_equal(store.read()[: len(left)]["nll"], left["nll"])

    def test_two_processes_share_the_work(self, start, tmp_path):
        store = Store(tmp_path / "tabular")
        seeds = ["--seeds", *map(str, range(16))]
        processes = [start(tmp_path, "--jobs", "1", *seeds) for _ in range(2)]
        said = [process.communicate()[0] for process in processes]
        assert [process.returncode for process in processes] == [0, 0]
        assert sum(int(text.split(" units computed")[0]) for text in said) == 16
        rows = store.read()
        assert len(rows) == 16 * 4
        assert not rows.duplicated(list(KEY)).any()

    @pytest.mark.parametrize("jobs", ["1", "2"])
    def test_ctrl_c_ends_cleanly(self, start, tmp_path, jobs):
        store = Store(tmp_path / "tabular")
        process = start(tmp_path, "--jobs", jobs, "--seeds", *map(str, range(5000)))
        self.wait_for_rows(store, 2 * int(jobs))  # by then all processes are at work
        os.killpg(process.pid, signal.SIGINT)
        said, _ = process.communicate(timeout=30)
        assert process.returncode == 130
        assert "Stopped. What was finished is in" in said
        assert "Traceback" not in said
        assert (store.read().groupby("seed").size() == 4).all()
