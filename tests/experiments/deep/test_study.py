"""The study of images and texts: every cell once, the same numbers as the library's, and nothing lost by a kill."""

import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import clone

from clustcal import ClusteredCalibration, SoftKMeans, cli, metrics
from clustcal.calibrators.soft_kmeans import squared_distances
from clustcal.experiments.deep import design, study
from clustcal.experiments.deep.outputs import Outputs, write_outputs

pytest.importorskip("tqdm")

get_global_methods = design.get_global_methods


def make_outputs(n_classes=3, n=240, n_layers=2, seed=0):
    """An over-confident network on made-up rows, with layers of a few numbers."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    Z = rng.normal(size=(n, 4)) + np.eye(4)[y % 4]
    logits = 4 * (np.eye(n_classes)[y] + rng.normal(size=(n, n_classes)))
    layers = {f"layer{i}": (Z + i * rng.normal(size=Z.shape)).astype(np.float16) for i in range(n_layers)}
    return Outputs(logits.astype(np.float32), y, np.arange(n), layers)


def make_small(set_attribute):
    """A grid of two clusterings and two shrinkages, one network, and no methods that choose a clustering themselves."""
    quick = lambda n_classes, has_layers: get_global_methods(n_classes, False)
    set_attribute(design, "N_CLUSTERS", (2, 3))
    set_attribute(design, "SHRINKAGES", (0.05, 1.0))
    set_attribute(design, "STUDIES", {"toy": design.Study("toy", "toy")})
    set_attribute(design, "get_global_methods", quick)


@pytest.fixture
def small(monkeypatch):
    make_small(monkeypatch.setattr)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_method_and_cell_gets_one_row_a_split(small, tmp_path, n_classes):
    store = study.open_store(tmp_path)
    load = lambda name: make_outputs(n_classes)
    outcome = study.run(["toy"], store, seeds=(0, 1), load=load, progress=False)
    rows = store.read("toy")
    families = design.get_families(n_classes)
    cells = rows[rows["layer"] != ""]
    assert outcome == (2 * (1 + 2 * 2), 0, 0)
    assert len(cells) == 2 * 2 * 2 * 2 * 2 * len(families)  # seeds, layers, K, shrinkages, temperatures
    assert set(rows.loc[rows["layer"] == "", "calibrator"]) == set(design.get_global_methods(n_classes, True))
    assert not rows.duplicated(list(study.KEY)).any()
    assert rows[["nll", "brier", "ada_ece", "ece", "accuracy"]].notna().all().all()
    assert rows["auc"].notna().all() == (n_classes == 2)
    assert cells["nll_cv"].notna().all()
    assert study.run(["toy"], store, seeds=(0, 1), load=load, progress=False) == (0, outcome.done, 0)


def test_a_cell_is_the_librarys_clustered_calibration(small):
    part = design.prepare(make_outputs())
    cal, test = design.halve(part, 0)
    rows = study.run_unit(part, study.Unit("toy", 0, "layer0", 3, "Vector"))
    (row,) = [row for row in rows if (row["shrinkage"], row["temperature"]) == (0.05, 0.1)]
    ours = ClusteredCalibration(
        design.get_families(3)["Vector"], n_clusters=3, shrinkage=0.05, temperature=0.1, random_state=0
    ).fit(cal.P, cal.y, cal.Z["layer0"])
    Q = ours.predict_proba(test.P, test.Z["layer0"])
    assert row["nll"] == pytest.approx(metrics.log_loss(test.y, Q), abs=1e-6)
    assert row["brier"] == pytest.approx(metrics.brier(test.y, Q), abs=1e-6)


def test_a_path_of_shrinkages_gives_what_each_gives_alone():
    part = design.prepare(make_outputs(n_classes=2))
    cal, test = design.halve(part, 1)
    kmeans = SoftKMeans(3, random_state=1).fit(cal.Z["layer0"])
    distances = [
        squared_distances(study._unit_rows(half.Z["layer0"]), kmeans.centroids_, "cosine") for half in (cal, test)
    ]
    family = design.get_families(2)["Platt"]
    base = clone(family).fit(cal.P, cal.y)
    for shrinkage, Q, _ in study.fit_path(base, cal, test, distances, (10.0, 0.05), 1.0):
        alone = ClusteredCalibration(family, n_clusters=3, shrinkage=shrinkage, random_state=1)
        alone.fit(cal.P, cal.y, cal.Z["layer0"])
        assert_allclose(Q, alone.predict_proba(test.P, test.Z["layer0"]), atol=1e-7)


def test_ours_choose_their_clusters_where_there_are_layers_and_few_classes():
    ours = lambda *arguments: {name for name in get_global_methods(*arguments) if name.endswith("-CV")}
    assert ours(2, True) == {"Platt-CV", "Beta-CV", "TS-CV"}
    assert ours(2, False) == ours(100, True) == set()


def test_halves_share_no_row_and_have_equal_classes():
    part = design.prepare(make_outputs(n=242))
    cal, test = design.halve(part, 3)
    assert (len(cal.y), len(test.y)) == (121, 121)
    assert np.abs(np.bincount(cal.y) - np.bincount(test.y)).max() <= 1
    rows = np.concatenate([cal.P, test.P])
    assert len(np.unique(rows, axis=0)) == 242
    assert not np.array_equal(cal.y, design.halve(part, 4)[0].y)


def test_only_classes_that_occur_share_the_probability():
    outputs = make_outputs(n_classes=3)
    wide = outputs._replace(
        logits=np.insert(outputs.logits, 1, 5.0, axis=1), y=np.where(outputs.y > 0, outputs.y + 1, 0)
    )
    assert_allclose(design.prepare(wide, True).P, design.prepare(outputs).P)
    assert design.prepare(wide, True).y.tolist() == outputs.y.tolist()
    assert design.prepare(wide).P.shape[1] == 4


def test_with_many_classes_the_costly_families_are_run_in_few_cells():
    cells = {(layer, K): families for layer, K, families in design.get_cells(100, ["a"], 0)}
    assert cells["a", 10] == ("Dirichlet", "Dirichlet-TS", "Vector", "TS")
    assert cells["a", 50] == ("Vector", "TS")
    assert {(layer, K): f for layer, K, f in design.get_cells(100, ["a"], 1)}["a", 50] == ("TS",)
    assert all("Dirichlet" not in f for _, _, f in design.get_cells(1000, ["a"], 0))
    assert design.get_cells(1000, ["a"], 1) == []
    assert not any("Dirichlet" in name for name in design.get_global_methods(1000, has_layers=True))


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from test_study import make_outputs, make_small
from clustcal.experiments.deep import study

make_small(setattr)
run_unit, calls = study.run_unit, 0
def killing(part, unit):
    global calls
    calls += 1
    rows = run_unit(part, unit)
    if calls == 3:
        os.kill(os.getpid(), signal.SIGKILL)
    return rows
study.run_unit = killing
study.run(["toy"], study.open_store(Path({folder!r})), seeds=(0,), load=lambda name: make_outputs(), progress=False)
"""


def test_a_killed_study_loses_one_unit_and_ends_with_the_same_rows(small, tmp_path):
    load = lambda name: make_outputs()
    code = KILLED.format(tests=str(Path(__file__).parent), folder=str(tmp_path / "killed"))
    assert subprocess.run([sys.executable, "-c", code]).returncode == -signal.SIGKILL
    killed, whole = study.open_store(tmp_path / "killed"), study.open_store(tmp_path / "whole")
    assert study.run(["toy"], killed, seeds=(0,), load=load, progress=False) == (3, 2, 0)
    study.run(["toy"], whole, seeds=(0,), load=load, progress=False)
    columns = [*study.KEY, *study.METRICS, "nll_cv"]
    assert killed.read("toy")[columns].equals(whole.read("toy")[columns])


def test_the_command_runs_the_networks_whose_outputs_are_in_the_cache(small, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("CLUSTCAL_MODEL_DIR", str(tmp_path))
    command = ["reproduce", "deep", "--seeds", "0", "--jobs", "1", "--quiet", "--results", str(tmp_path / "results")]
    assert cli.main(command) == 0
    assert "0 units computed" in capsys.readouterr().out
    write_outputs(tmp_path / "toy" / "outputs.npz", make_outputs(n_layers=0))
    assert cli.main(command) == 0
    assert "1 units computed" in capsys.readouterr().out
    assert "Vector" in (tmp_path / "results" / "deep" / "study" / "toy.csv").read_text()
    assert cli.main([*command, "--networks", "resnet"]) == 1
    assert "networks has 'resnet'; expected some of toy." in capsys.readouterr().err


def test_a_unit_that_another_process_has_is_left_to_it(small, tmp_path):
    store = study.open_store(tmp_path)
    claim = store.claim("toy-0-1")
    outcome = study.run(["toy"], store, seeds=(0,), load=lambda name: make_outputs(), progress=False)
    claim.release()
    assert (outcome.done, outcome.taken) == (4, 1)
    assert "Base" not in set(store.read("toy")["calibrator"])
