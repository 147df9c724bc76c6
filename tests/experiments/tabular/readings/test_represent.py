"""Representations under other readings, against trees that are walked by hand and against each other."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from clustcal.experiments import protocol
from clustcal.experiments.tabular.readings import represent as module
from clustcal.experiments.tabular.readings.represent import READINGS, Rows, represent
from tests.experiments.made_up import make_data

pytest.importorskip("xgboost")


@pytest.fixture(scope="module")
def data():
    return make_data()


@pytest.fixture(scope="module")
def parts(data):
    return protocol.split(data.y, seed=0)


@pytest.fixture(scope="module")
def model(data, parts):
    return protocol.train_model(data, parts.train, n_estimators=6, max_depth=3)


@pytest.fixture(scope="module")
def rows(data, parts):
    return data.X.iloc[parts.calibration], data.X.iloc[parts.test]


def walk(model, row):
    """Return the nodes on the path of one prepared row in every tree, from the printed trees."""
    table = model[-1].get_booster().trees_to_dataframe().set_index("ID")
    paths = []
    for tree in sorted(set(table["Tree"])):
        node = table.loc[f"{tree}-0"]
        path = [0]
        while node["Feature"] != "Leaf":
            left = np.float32(row[int(node["Feature"].removeprefix("f"))]) < np.float32(node["Split"])
            node = table.loc[node["Yes"] if left else node["No"]]
            path.append(node["Node"])
        paths.append(path)
    return paths


@pytest.mark.parametrize("name", READINGS)
def test_every_reading_gives_finite_rows_of_one_width(name, model, rows):
    Z_cal, Z_test = represent(name, model, *rows, seed=0)
    assert (len(Z_cal), len(Z_test)) == (len(rows[0]), len(rows[1]))
    assert Z_cal.shape[1] == Z_test.shape[1]
    assert np.isfinite(Z_cal).all()
    assert np.isfinite(Z_test).all()


def test_paths_are_those_of_the_printed_trees(model, rows):
    """The cosine of two rows is the share of nodes, roots aside, that their paths have in common."""
    Z, _ = module.path_nodes(Rows(model, *rows, 0), centred=False)
    prepared = model[:-1].transform(rows[0])
    paths = [{(t, node) for t, path in enumerate(walk(model, row)) for node in path[1:]} for row in prepared[:12]]
    common = np.array([[len(a & b) for b in paths] for a in paths])
    sizes = np.diag(common)
    assert len(set(sizes)) > 1  # leaves at several depths, so that filled-up paths are tried
    assert_allclose(Z[:12] @ Z[:12].T, common / np.sqrt(np.outer(sizes, sizes)), atol=1e-4)


def test_leaf_values_add_up_to_the_score(model, rows):
    Z_cal, Z_test = represent("leaf values", model, *rows, seed=0)
    margin = [model.predict(X, output_margin=True) for X in rows]
    away = np.concatenate([margin[0] - Z_cal.sum(axis=1), margin[1] - Z_test.sum(axis=1)])
    assert_allclose(away, away[0], atol=1e-5)  # the base score


def test_own_coverage_is_the_packages(model, rows):
    """Other axes are allowed: angles and lengths are not."""
    ours, theirs = (module.coverage(Rows(model, *rows, 0)), represent("coverage", model, *rows, seed=0))
    for mine, reference in zip(ours, theirs, strict=True):
        assert_allclose(mine @ mine.T, reference @ reference.T, atol=1e-4)


def test_centred_rows_have_mean_zero(model, rows):
    for name in READINGS:
        if "centred" in name:
            Z_cal, _ = represent(name, model, *rows, seed=0)
            assert_allclose(Z_cal.mean(axis=0), 0, atol=1e-5)


def test_readings_of_the_same_rows_are_those_of_rows_of_their_own(model, rows):
    shared = Rows(model, *rows, 0)
    for name, reading in READINGS.items():
        for together, alone in zip(reading(shared), represent(name, model, *rows, seed=0), strict=True):
            assert_array_equal(together, alone)


def test_unreached_leaves_are_left_out():
    nodes = np.array([[0, 1], [0, 2]])
    C_cal, C_test = module._indicators(nodes, np.array([[0, 3], [5, 2]]))
    assert pd.DataFrame(C_cal.toarray()).equals(pd.DataFrame([[1, 1, 0], [1, 0, 1]], dtype=np.float32))
    assert C_test.toarray().tolist() == [[1, 0, 0], [0, 0, 1]]
