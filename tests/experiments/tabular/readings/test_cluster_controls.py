"""Clusters that know no representation, as a control of the readings of the paper's table of stroke patients."""

import os

import pandas as pd
import pytest

from clustcal.experiments import protocol
from clustcal.experiments.tabular.readings import cluster_controls, cluster_tables


@pytest.fixture
def readings():
    return cluster_tables.read()


def test_the_printed_table_passes_all_of_its_own_cells(readings):
    table = cluster_tables.printed().reset_index().assign(control="the paper", seed=0)
    passes = cluster_controls.count_passes(table, readings)
    assert passes.loc[("the paper", 0)].to_dict() == {"cells": 28, "judged": 14}


def test_a_cell_outside_of_its_band_does_not_pass(readings):
    table = cluster_tables.printed()
    table.loc[0, "age_q25"] += 1.01 * cluster_tables.bands(readings).loc[0, "age_q25"]  # a cell that chooses
    passes = cluster_controls.count_passes(table.reset_index().assign(control="moved", seed=0), readings)
    assert passes.loc[("moved", 0)].to_dict() == {"cells": 27, "judged": 14}


def test_every_control_is_stored_for_every_split():
    stored = cluster_controls.read()
    counted = stored.groupby(["control", "seed"])["cluster"].apply(sorted)
    assert set(counted.index) == {(name, seed) for name in cluster_controls.CONTROLS for seed in protocol.SEEDS}
    assert all(clusters == [0, 1, 2, 3] for clusters in counted)


def test_clusters_of_age_are_intervals_of_age():
    stored = cluster_controls.read()
    for _, table in stored[stored["control"] == "age alone"].groupby("seed"):
        by_age = table.sort_values("age_q25")
        assert (by_age["age_q75"].to_numpy()[:-1] < by_age["age_q25"].to_numpy()[1:]).all()


def test_stored_rows_are_those_of_the_code_as_it_is_now():
    if "CLUSTCAL_DATA_DIR" not in os.environ:
        pytest.skip("CLUSTCAL_DATA_DIR is not set: no raw data to compute rows from")
    stored = cluster_controls.read()
    stored = stored[stored["seed"] == 0].drop(columns="versions").reset_index(drop=True)
    pd.testing.assert_frame_equal(cluster_controls.compute(0), stored, check_dtype=False)
