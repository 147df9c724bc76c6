"""What the directions share: units, rows and the store, on a direction of a test; and the protocol beside the code."""

from types import SimpleNamespace

import pytest
import yaml

from clustcal.experiments import runner
from clustcal.experiments.directions import direction_study as study
from clustcal.experiments.directions import direction_verdicts as verdicts
from clustcal.experiments.results import FOLDER

PROTOCOL = yaml.safe_load((FOLDER / "directions" / "protocol.yml").read_text(encoding="utf-8"))
TOY = SimpleNamespace(
    DATASETS={"a": (("x",), (0, 1)), "b": (("",), (0,))},
    compute=lambda data, unit: {"one": {"nll": 0.5 + unit.seed}, "two": {"nll": 0.4, "seconds": 1.0}},
)


@pytest.fixture
def toy(monkeypatch):
    monkeypatch.setattr(study, "module_of", lambda direction: TOY)


def test_a_run_stores_a_row_for_every_measure_and_none_twice(toy, tmp_path):
    store = study.open_store("toy", tmp_path)
    run = lambda: runner.run(study.DirectionStudy("toy"), store, load=lambda name: None, progress=False)
    assert run().done == 3
    assert run() == (0, 3, 0)
    table = study.read("toy", tmp_path).set_index(["dataset", "seed", "arm", "method"])
    assert len(table) == 6
    assert table.loc[("a", 1, "x", "one"), "nll"] == 1.5
    assert table["seconds"].isna().sum() == 3


def test_units_of_some_data_sets_alone(toy):
    assert study.DirectionStudy("toy", ("b",)).units() == [("b", "", 0)]
    assert str(study.DirectionStudy("toy", ("a",)).units()[0]) == "a x seed 0"


def test_rows_of_an_unknown_data_set_are_refused(toy, tmp_path):
    row = {"dataset": "c", "seed": 0, "arm": "", "method": "one", "measure": "nll", "value": 1.0}
    study.open_store("toy", tmp_path).append("c", [row])
    with pytest.raises(ValueError, match="expected data sets of that direction"):
        study.read("toy", tmp_path)


@pytest.mark.parametrize("direction", study.DIRECTIONS)
def test_the_protocol_names_each_direction_and_the_code_has_its_data_sets(direction):
    assert set(PROTOCOL["directions"]) == set(study.DIRECTIONS)
    datasets = study.module_of(direction).DATASETS
    if direction != "diagnostics":
        assert set(PROTOCOL["common"]["sets"]) <= set(datasets)
        assert all(list(datasets[name][1]) == PROTOCOL["common"]["seeds"] for name in PROTOCOL["common"]["sets"])


@pytest.mark.parametrize("direction", study.DIRECTIONS)
def test_stored_rows_are_finite_and_of_a_checkout_without_changes(direction):
    rows = study.open_store(direction).read(arm=None)
    assert rows["value"].notna().mean() > 0.98
    assert not rows["commit"].str.endswith("+").any()
    assert len(verdicts.read_complete(direction)) > 0
