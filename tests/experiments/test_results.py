"""The committed runs, in the words of the paper."""

from clustcal.experiments import dirichlet_collapse
from clustcal.experiments.results import FOLDER, read_runs
from clustcal.experiments.store import Store

ROW = {"n_estimators": 100, "max_depth": 6, "seed": 0, "representation": "SHAP", "nll": 0.2, "ada_ece": 0.01}


def store_rows(folder):
    for dataset in ("adult", "credit_approval", "support2"):
        keys = [("Platt", ""), ("Platt", "n_clusters=7"), ("Platt-CV", "")]
        rows = [{**ROW, "dataset": dataset, "calibrator": name, "settings": settings} for name, settings in keys]
        Store(folder / "tabular").append(dataset, rows)


def test_runs_carry_the_names_of_the_paper(tmp_path):
    store_rows(tmp_path)
    runs = read_runs(folder=tmp_path)
    assert list(runs["dataset"]) == ["Adult", "Credit"]
    assert runs[["NLL", "ECE"]].drop_duplicates().to_numpy().tolist() == [[0.2, 0.01]]


def test_runs_carry_the_names_that_they_are_given(tmp_path):
    store_rows(tmp_path)
    assert list(read_runs({"WiDS": "support2"}, folder=tmp_path)["dataset"]) == ["WiDS"]
    assert list(read_runs(["support2", "unknown"], folder=tmp_path)["dataset"]) == ["support2"]


def test_groups_are_kept_apart(tmp_path):
    store_rows(tmp_path)
    found = {group: read_runs(["adult"], group, tmp_path) for group in ("paper", "cv", "variants")}
    assert {group: runs[["calibrator", "settings"]].to_numpy().tolist() for group, runs in found.items()} == {
        "paper": [["Platt", ""]],
        "cv": [["Platt-CV", ""]],
        "variants": [["Platt", "n_clusters=7"]],
    }


def test_the_folder_is_that_of_the_checkout():
    assert dirichlet_collapse.FILE.parent == FOLDER
    assert (FOLDER / "README.md").exists()
