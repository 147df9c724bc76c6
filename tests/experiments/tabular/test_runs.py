"""The committed runs, in the words of the paper."""

from itertools import product

import pytest

from clustcal.experiments.alternatives import dirichlet_collapse
from clustcal.experiments.results import FOLDER
from clustcal.experiments.store import Store
from clustcal.experiments.tabular.grid import get_entries
from clustcal.experiments.tabular.runs import METHOD_KEY, RUN, complete_datasets, read_rows, read_runs


def make_rows(dataset, group):
    """Every run of a group, each with a log-loss of 0.2 and an ada_ece of 0.01."""
    return [
        {**dict(zip(RUN, run, strict=True)), **dict(zip(METHOD_KEY, entry.key, strict=True))}
        | {"dataset": dataset, "nll": 0.2, "ada_ece": 0.01}
        for run in product(*RUN.values())
        for entry in get_entries(group)
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Results with two complete data sets, and one that lacks the last run of the paper's methods."""
    folder = tmp_path_factory.mktemp("results")
    store = Store(folder / "tabular")
    for dataset in ("adult", "support2", "stroke"):
        rows = make_rows(dataset, "paper")
        store.append(dataset, rows[: -1 if dataset == "stroke" else None] + make_rows(dataset, "cv"))
    return folder


def test_runs_carry_the_names_of_the_paper(folder):
    runs = read_runs(folder=folder)
    assert runs["dataset"].unique().tolist() == ["Adult"]
    assert runs[["NLL", "ECE"]].drop_duplicates().to_numpy().tolist() == [[0.2, 0.01]]


def test_runs_carry_the_names_that_they_are_given(folder):
    assert read_runs({"WiDS": "support2"}, folder=folder)["dataset"].unique().tolist() == ["WiDS"]
    assert read_runs(["support2", "unknown"], folder=folder)["dataset"].unique().tolist() == ["support2"]


def test_groups_are_kept_apart(folder):
    sizes = {group: len(read_runs(["adult"], group, folder)) for group in ("paper", "cv", "variants")}
    assert sizes == {"paper": 21 * 30, "cv": 3 * 30, "variants": 0}


def test_a_data_set_that_lacks_a_run_is_left_out(folder):
    assert read_runs(["stroke"], folder=folder).empty
    assert len(read_runs(["stroke"], "cv", folder)) == 3 * 30
    assert complete_datasets(Store(folder / "tabular").read()) == {"adult", "support2"}


def test_runs_beside_the_grid_are_left_out(folder):
    extra = [row | {"seed": 99} for row in make_rows("support2", "paper")[:21]]
    Store(folder / "tabular").append("support2", extra)
    assert 99 not in set(read_runs(["support2"], folder=folder)["seed"])


def test_arms_are_kept_apart(folder):
    printed = read_rows(folder)
    Store(folder / "tabular").append("adult", [{**row, "arm": "weighted"} for row in make_rows("adult", "cv")])
    assert len(read_rows(folder)) == len(printed)
    assert len(read_rows(folder, "weighted")) == 3 * 30


def test_the_folder_is_that_of_the_checkout():
    assert dirichlet_collapse.FILE.parent == FOLDER
    assert (FOLDER / "README.md").exists()
