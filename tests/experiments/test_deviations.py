"""Numbers in the list of deviations that no stored row holds: computed again from the scores that the package ships."""

import pytest

from clustcal import LocalRecalibration, PlattScaling, metrics
from clustcal.datasets import load_scores
from clustcal.experiments.entries import read_entries
from clustcal.experiments.results import FOLDER


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


def test_bins_of_the_adaptive_error(effects):
    data = load_scores("adult")
    q = PlattScaling(prior=None).fit(data.P_cal, data.y_cal).predict_proba(data.P_test)
    few, ten, fifteen, many = (metrics.ada_ece(data.y_test, q, n_bins=n) for n in (5, 10, 15, 20))
    assert f"{few:.4f}, {ten:.4f}, {fifteen:.4f} and {many:.4f} with 5, 10, 15 and 20 bins" in effects["bins-of-ece"]
