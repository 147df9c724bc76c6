"""Numbers in the list of deviations: computed again from the scores that the package ships, or from stored rows."""

import pytest

from clustcal import LocalRecalibration, PlattScaling, metrics
from clustcal.datasets import load_scores
from clustcal.experiments.entries import read_entries
from clustcal.experiments.paper import load_claims
from clustcal.experiments.results import FOLDER
from clustcal.experiments.tabular.readings import forensics, own_local_errors, reading_study


@pytest.fixture(scope="module")
def effects():
    return {one["id"]: " ".join(one["effect"].split()) for one in read_entries(FOLDER / "deviations.yml")}


def loss_of_local_recalibration(data, name, bandwidth=0.2):
    calibrator = LocalRecalibration(bandwidth=bandwidth).fit(data.P_cal, data.y_cal, data.Z_cal[name])
    return metrics.log_loss(data.y_test, calibrator.predict_proba(data.P_test, data.Z_test[name]))


def test_local_recalibration_in_each_representation(effects):
    found = {}
    for name in ("adult", "stroke"):
        data = load_scores(name)
        found[name] = [f"{loss_of_local_recalibration(data, one):.3f}" for one in ("shap", "data", "coverage")]
    adult, stroke = found["adult"], found["stroke"]
    expected = f"{adult[0]} with SHAP values, {adult[1]} with the features and {adult[2]} with coverage on Adult"
    assert expected in effects["lore-representation"]
    assert f"{stroke[0]}, {stroke[1]} and {stroke[2]} on Stroke" in effects["lore-representation"]


def test_local_recalibration_with_other_bandwidths(effects):
    narrow, wide = (loss_of_local_recalibration(load_scores("adult"), "data", one) for one in (0.05, 1))
    assert f"{narrow:.3f} and {wide:.3f} with the features" in effects["lore-representation"]


def test_largest_local_errors_in_each_representation(effects):
    data = load_scores("adult")
    base = {"base": data.P_test}
    coverage, shap, features = (
        metrics.local_calibration_errors(data.y_test, base, data.Z_test[one], bandwidth=0.2)["base"].max()
        for one in ("coverage", "shap", "data")
    )
    expected = f"{coverage:.2f} in coverage, {shap:.2f} in SHAP values and {features:.2f} in the features"
    assert expected in effects["lce-is-mlce"]


def test_local_errors_of_each_method_in_its_own_representation(effects):
    tables = [own_local_errors.by_bandwidth(own_local_errors.read(arm=arm), load_claims()) for arm in ("", "weighted")]
    for table in tables:
        ours = table.drop("paper").loc[:0.5]
        assert ((ours["Coverage"] < ours["SHAP"]) & (ours["SHAP"] < ours["Data"])).all()
    largest = max(table.drop("paper")["Coverage"].max() for table in tables)
    assert f"coverage stays below {largest + 0.005:.2f} on average" in effects["lce-is-mlce"]


def test_bins_of_the_adaptive_error(effects):
    data = load_scores("adult")
    q = PlattScaling(prior=None).fit(data.P_cal, data.y_cal).predict_proba(data.P_test)
    few, ten, fifteen, many = (metrics.ada_ece(data.y_test, q, n_bins=n) for n in (5, 10, 15, 20))
    assert f"{few:.4f}, {ten:.4f}, {fifteen:.4f} and {many:.4f} with 5, 10, 15 and 20 bins" in effects["bins-of-ece"]


def test_gains_of_readings_of_coverage(effects):
    said = effects["centred-coverage"]
    names = ["coverage", "coverage, centred", "coverage, centred, r = 16", "shap"]
    printed, weighted = (forensics.gains_by_set(reading_study.read(arm=arm)).loc[names] for arm in ("", "weighted"))
    assert printed.shape[1] == weighted.shape[1] == 7
    as_it_is, centred, few, shap = (f"{value:.2f}" for value in printed.mean(axis=1))
    assert f"{as_it_is} % as it is, {centred} % with the mean row taken off, and {few} % with that" in said
    assert f"without, {shap} %" in said
    *_, few, shap = (f"{value:.2f}" for value in weighted.mean(axis=1))
    assert f"the last gains {few} %, where SHAP values gain {shap} %" in said
    *_, few, shap = (f"{value:.2f}" for value in weighted["stroke"])
    assert f"there it gains {few} % and SHAP values {shap} %" in said
    *_, few, shap = (f"{value:.2f}" for value in weighted.drop(columns="stroke").mean(axis=1))
    assert f"over the six others {few} % and {shap} %" in said
