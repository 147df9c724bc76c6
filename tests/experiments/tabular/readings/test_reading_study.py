"""The study of readings on made-up data: all of its rows, and those that another study has too."""

import pandas as pd
import pytest
from numpy.testing import assert_allclose

from clustcal.experiments.store import Store
from clustcal.experiments.tabular import units
from clustcal.experiments.tabular.grid import select_entries
from clustcal.experiments.tabular.readings import reading_study as study
from tests.experiments.made_up import make_data

pytest.importorskip("xgboost")
SOME = (study.Reading("shap"), study.Reading("data"), study.Reading("data", (("temperature", 0.0),)))


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(study, "CAPACITY", (4, 3))
    monkeypatch.setattr(study, "get_readings", lambda dataset, n_rows: list(SOME))


def test_rows_are_those_of_the_tabular_study_where_it_has_them(small):
    data, unit = make_data(), units.Unit("stroke", 3, 0, "weighted")
    rows = pd.DataFrame(study.run_unit(data, unit, SOME))
    theirs = pd.DataFrame(units.run_unit(data, unit, {4: select_entries(["paper"])}))
    key = ["calibrator", "representation"]
    printed = rows[rows["settings"] == ""].replace({"representation": {"shap": "SHAP", "data": "Data"}})
    both = printed.merge(theirs, on=key, suffixes=("", "_theirs"))
    assert len(both) == 4 + 2 * 3
    assert_allclose(both["nll"], both["nll_theirs"], rtol=1e-9)


def test_a_second_run_finds_everything_there(small, tmp_path):
    data = make_data()
    which = {"names": ("stroke",), "seeds": (0,), "arms": ("", "weighted")}
    store = Store(tmp_path)
    load = lambda name: data
    first = study.runner.run(study.ReadingStudy(**which), store, load=load, progress=False)
    again = study.runner.run(study.ReadingStudy(**which), store, load=load, progress=False)
    assert (first.done, again.done, again.complete) == (2, 0, 2)
    assert len(store.read(arm=None)) == 2 * (4 + 3 * len(SOME))


def test_readings_are_different_and_shrinkage_is_varied_where_the_paper_does():
    everywhere, varied = study.get_readings("stroke", 5_000), study.get_readings("adult", 50_000)
    assert len({(one.representation, one.settings) for one in varied}) == len(varied)
    assert set(everywhere) < set(varied)
    assert not any(one.representation.startswith("path") for one in study.get_readings("diabetes130", 100_000))
