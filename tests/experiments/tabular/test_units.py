"""A unit of the tabular study: right numbers from one training, the same as from trainings of their own."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from clustcal import metrics
from clustcal.experiments import protocol
from clustcal.experiments.store import COLUMNS, KEY, METRICS
from clustcal.experiments.tabular import units
from clustcal.experiments.tabular.grid import select_entries
from tests.experiments.made_up import make_data

pytest.importorskip("xgboost")

UNIT = units.Unit("stroke", 3, 0)
CAPACITIES = (4, 7, 12)


@pytest.fixture(scope="module")
def data():
    return make_data()


@pytest.fixture(scope="module")
def entries():
    return select_entries(["paper"])


@pytest.fixture(scope="module")
def rows(data, entries):
    return pd.DataFrame(units.run_unit(data, UNIT, dict.fromkeys(CAPACITIES, entries)))


def test_arm_trains_another_classifier_and_names_its_rows(data, rows):
    unit = UNIT._replace(arm="weighted")
    base = select_entries(["base"])
    weighted = pd.DataFrame(units.run_unit(data, unit, {4: base}))
    assert set(weighted["arm"]) == {"weighted"}
    model = protocol.train_model(data, protocol.split(data.y, 0).train, arm="weighted", n_estimators=4, max_depth=3)
    test = protocol.split(data.y, 0).test
    expected = metrics.log_loss(data.y[test], model.predict_proba(data.X.iloc[test]))
    assert_allclose(weighted["nll"], expected)
    assert expected != rows.query("n_estimators == 4 and calibrator == 'base'")["nll"].item()


def test_one_row_for_every_capacity_and_method(rows, entries):
    assert len(rows) == 3 * 21
    assert set(rows["n_estimators"]) == set(CAPACITIES)
    assert not rows.duplicated(list(KEY)).any()
    assert set(rows.columns) <= set(COLUMNS)


@pytest.mark.parametrize("n", CAPACITIES)
def test_first_trees_are_a_classifier_trained_on_its_own(data, entries, rows, n):
    """The shared training changes nothing, for any method: probabilities, leaves and SHAP values are the same."""
    alone = pd.DataFrame(units.run_unit(data, UNIT, {n: entries}))
    shared = rows[rows["n_estimators"] == n]
    # SHAP values are summed in single precision in another order; K-means may pass that on.
    tolerance = np.where(shared["representation"] == "SHAP", 1e-5, 1e-12)[:, None]
    distance = np.abs(shared[list(METRICS)].to_numpy() - alone[list(METRICS)].to_numpy())
    assert (distance <= tolerance).all()


def test_base_is_the_classifier_of_the_protocol(data, rows):
    parts = protocol.split(data.y, 0)
    model = protocol.train_model(data, parts.train, n_estimators=7, max_depth=3, seed=0)
    P, y = model.predict_proba(data.X.iloc[parts.test])[:, 1], data.y[parts.test]
    base = rows[(rows["calibrator"] == "base") & (rows["n_estimators"] == 7)].iloc[0]
    assert base["nll"] == pytest.approx(metrics.log_loss(y, P), abs=1e-12)
    assert base["auc"] == metrics.roc_auc(y, P)
    assert base["ada_ece"] == pytest.approx(metrics.ada_ece(y, P), abs=1e-12)
    assert base["mlce"] == pytest.approx(metrics.mlce(y, P, model[:-1].transform(data.X.iloc[parts.test])), abs=1e-12)


def test_clustered_method_is_the_one_of_the_registry(data, rows, entries):
    parts = protocol.split(data.y, 0)
    X_cal, X_test = data.X.iloc[parts.calibration], data.X.iloc[parts.test]
    model = protocol.train_model(data, parts.train, n_estimators=4, max_depth=3, seed=0)
    coverage = protocol.make_representation("coverage", model, seed=0)
    Z_cal, Z_test = coverage.fit_transform(X_cal), coverage.transform(X_test)
    method = next(entry.method for entry in entries if entry.key == ("Beta", "Coverage", ""))
    calibrator = method.make(0).fit(model.predict_proba(X_cal)[:, 1], data.y[parts.calibration], Z_cal)
    Q = calibrator.predict_proba(model.predict_proba(X_test)[:, 1], Z_test)
    found = rows[(rows[["calibrator", "representation"]] == ["Beta", "Coverage"]).all(axis=1)]
    nll = found[found["n_estimators"] == 4]["nll"].item()
    assert nll == pytest.approx(metrics.log_loss(data.y[parts.test], Q), abs=1e-12)


def test_shap_values_of_a_capacity_are_sums_over_ranges_of_trees(data, entries):
    parts = protocol.split(data.y, 0)
    X_cal, X_test = data.X.iloc[parts.calibration], data.X.iloc[parts.test]
    model = protocol.train_model(data, parts.train, n_estimators=12, max_depth=3, seed=0)
    Z, seconds = units.represent(model, X_cal, X_test, 0, dict.fromkeys(CAPACITIES, entries))
    for n in CAPACITIES:
        direct = protocol.make_representation("shap", model, iteration_range=(0, n)).fit(X_cal)
        assert_allclose(Z[n, "shap"][1], direct.transform(X_test), atol=1e-6)
    assert seconds[4, "shap"] < seconds[7, "shap"] < seconds[12, "shap"]


def test_only_the_representations_that_are_needed_are_made(data):
    parts = protocol.split(data.y, 0)
    model = protocol.train_model(data, parts.train, n_estimators=4, max_depth=2, seed=0)
    wanted = {4: select_entries(["Platt/Data", "Isotonic"])}
    Z, _ = units.represent(model, data.X[:50], data.X[50:], 0, wanted)
    assert list(Z) == [(4, "data")]


def test_sizes_are_those_of_the_split(rows):
    assert rows[["n_train", "n_calibration", "n_test"]].drop_duplicates().to_numpy().tolist() == [[120, 40, 40]]


def test_seconds_are_there_for_what_took_time(rows):
    clustered = rows["representation"] != "Baseline"
    assert (rows["fit_seconds"] > 0).all()
    assert (rows["clustering_seconds"].notna() == clustered).all()
    assert (rows["extraction_seconds"].notna() == (clustered | (rows["calibrator"] == "LoRe"))).all()


def test_log_loss_on_the_calibration_part_is_there_for_the_methods_that_are_compared(rows):
    compared = rows["calibrator"].isin(["Platt", "Beta", "TS"])
    assert (rows["nll_calibration"].notna() == compared).all()


def test_same_seed_gives_the_same_numbers(data, entries, rows):
    again = pd.DataFrame(units.run_unit(data, UNIT, dict.fromkeys(CAPACITIES, entries)))
    assert_allclose(again[list(METRICS)], rows[list(METRICS)], atol=1e-9)


def test_other_seed_gives_other_numbers(data, entries, rows):
    other = pd.DataFrame(units.run_unit(data, UNIT._replace(seed=1), {4: entries}))
    assert not np.isclose(other["nll"], rows[rows["n_estimators"] == 4]["nll"]).any()
