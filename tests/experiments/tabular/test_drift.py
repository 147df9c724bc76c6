"""Rows of the study computed again: those of the small data sets are what the code as it is now gives."""

import os

import numpy as np
import pandas as pd
import pytest

from clustcal import datasets
from clustcal.experiments import protocol
from clustcal.experiments.provenance import describe_versions
from clustcal.experiments.store import METRICS
from clustcal.experiments.tabular import drift
from clustcal.experiments.tabular.grid import select_entries
from clustcal.experiments.tabular.runs import read_rows
from clustcal.experiments.tabular.units import Unit
from tests.experiments.made_up import make_data

pytest.importorskip("xgboost")

METHODS = ["Platt", "Beta", "TS", "Isotonic", "base", "Platt-CV"]


@pytest.fixture(scope="module")
def rows():
    unit = Unit("stroke", 3, 0)
    again = drift.compute_again(make_data(), unit, (5,), select_entries(["Platt", "base", "Platt-CV"]))
    return again.assign(arm="")


def test_the_same_rows_are_apart_by_nothing(rows):
    table = drift.compare(rows, rows)
    assert table["rows"].to_dict() == {"not clustered": 2, "clustered": 3, "settings chosen": 1}
    assert (table[list(METRICS)] == 0).all(axis=None)


def test_a_row_that_moved_is_found_with_its_kind(rows):
    is_moved = rows["representation"] == "Coverage"
    moved = rows.assign(auc=rows["auc"] + np.where(is_moved, 0.01, 0.0))
    table = drift.compare(rows, moved)
    assert table["auc"].to_dict() == pytest.approx({"not clustered": 0, "clustered": 0.01, "settings chosen": 0})


def test_rows_of_another_unit_are_refused(rows):
    with pytest.raises(ValueError, match="no row in common"):
        drift.compare(rows, rows.assign(seed=1))


@pytest.mark.parametrize("arm", protocol.ARMS)
@pytest.mark.parametrize("name", ["credit_approval", "stroke"])
def test_stored_rows_are_those_of_the_code_as_it_is_now(name, arm):
    """Both sets, in both arms, with all methods of the paper's tests and one of ours; another machine may round."""
    if "CLUSTCAL_DATA_DIR" not in os.environ:
        pytest.skip("CLUSTCAL_DATA_DIR is not set: no raw data to compute rows from")
    stored = read_rows(arm=arm)
    stored = stored[stored["dataset"] == name]
    if set(stored["versions"]) != {describe_versions()}:
        pytest.skip("the stored rows are of other versions of the libraries")
    unit = Unit(name, protocol.MAX_DEPTHS[0], 0, arm)
    again = drift.compute_again(datasets.load(name), unit, (100,), select_entries(METHODS))
    table = drift.compare(stored, again)
    assert table["rows"].sum() == len(again)
    assert isinstance(table, pd.DataFrame)
    assert (table[list(METRICS)] < 1e-6).all(axis=None), table.to_string()
