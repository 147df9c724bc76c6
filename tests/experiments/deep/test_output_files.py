"""The outputs of the networks that the project holds are small, and are what their table says."""

from pathlib import Path

import numpy as np
import pytest

from clustcal.experiments.deep import network_runs, outputs
from clustcal.experiments.deep.networks import NETWORKS

FOLDER = Path(__file__).resolve().parents[3] / "results" / "deep"
TABLE = outputs.read_table(FOLDER / "models.csv").set_index("name")
FILES = sorted((FOLDER / "outputs").glob("*.npz"))
LIMIT = 5_000_000  # bytes: eleven networks of some 400 kB each


def test_the_table_names_networks_of_ours_once():
    assert set(TABLE.index) <= set(network_runs.NAMES)
    assert TABLE.index.is_unique
    assert tuple(TABLE.reset_index().columns) == outputs.COLUMNS


def test_the_folder_stays_small_and_holds_outputs_of_listed_networks_only():
    assert sum(path.stat().st_size for path in FOLDER.rglob("*") if path.is_file()) < LIMIT
    assert {path.stem for path in FILES} <= set(network_runs.COMMITTED) & set(TABLE.index)


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_stored_outputs_are_logits_and_labels_that_give_the_line_of_the_table(path):
    with np.load(path) as arrays:
        assert sorted(arrays.files) == ["logits", "rows", "y"]
        assert all(arrays[name].dtype.kind in "if" for name in arrays.files)
    found = outputs.read_outputs(path)
    line = TABLE.loc[path.stem]
    assert found.logits.shape == (int(line["n_scored"]), int(line["classes"]))
    assert len(set(found.rows)) == len(found.rows)
    for metric, value in outputs.summarise(found).items():
        assert value == pytest.approx(float(line[metric]), abs=1e-6)


@pytest.mark.parametrize("name", [name for name in TABLE.index if name in NETWORKS])
def test_a_trained_network_was_trained_as_its_entry_says(name):
    line, settings = TABLE.loc[name], NETWORKS[name].settings
    if settings is None:
        assert (line["n_train"], line["epochs"]) == ("0", "0")
        return
    assert int(line["n_train"]) > 0
    stopped = int(line["epochs"]) - int(line["best_epoch"])
    assert stopped == (settings.patience or 0) or int(line["epochs"]) == settings.epochs
