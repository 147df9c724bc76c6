"""Our values under the ids of the paper's claims: by hand, or from rows whose values are known."""

import numpy as np
import pandas as pd
import pytest

from clustcal.datasets import load_scores
from clustcal.experiments.paper import load_claims
from clustcal.experiments.tabular import recompute
from tests.experiments.tabular.rows import make_paper_rows


@pytest.fixture(scope="module")
def rows():
    """Two data sets, on which every method has the values of the paper's main table."""
    return make_paper_rows(["adult", "stroke"])


@pytest.fixture(scope="module")
def computed(rows):
    return recompute.compute(rows, {"Adult": "adult", "Stroke": "stroke"})


def test_the_toy_example_follows_by_hand(computed):
    nll = -(0.7 * np.log(0.6) + 0.3 * np.log(0.4))
    assert computed["toy/before/NLL"].value == pytest.approx(np.log(2))
    assert computed["toy/after/NLL"].value == pytest.approx(nll)
    assert computed["toy/before/ECE"].value == pytest.approx(0)
    assert computed["toy/after/ECE"].value == pytest.approx(0.1)
    assert computed["toy-text/term/1"].value == pytest.approx(0.5108, abs=5e-5)


def test_the_protocol_is_counted(computed):
    sizes = [computed[f"protocol/{name}"].value for name in ("datasets", "methods", "configurations", "repeats")]
    assert computed["protocol/points"].value == np.prod(sizes)
    assert sum(computed[f"protocol/share/{part}"].value for part in ("train", "calibration", "test")) == 100


def test_data_sets_are_those_of_the_registry(computed):
    assert computed["datasets/BloodMNIST/samples"].value == 17092
    assert computed["datasets/Stroke/samples"].value == 5110


def test_numbers_of_the_main_table_come_back(computed):
    printed = load_claims().set_index("id")["value"]
    cells = [key for key in computed if key.startswith("performance/") and key.endswith(("/NLL", "/AUC", "/Brier"))]
    assert len(cells) > 20
    for key in cells:
        assert computed[key].value == pytest.approx(printed[key], abs=1e-9)


def test_equal_seeds_have_no_spread_and_no_error(computed):
    found = computed["performance/Platt/SHAP/NLL"]
    assert (found.sd, found.error) == pytest.approx((0, 0), abs=1e-12)


def test_spread_and_error_are_those_of_a_mean_over_seeds(rows):
    """Log-losses of every method moved by 0, 1, 2, 3 and 4 hundredths: sd and sd / sqrt(5) of these."""
    moved = rows.assign(nll=rows["nll"] + rows["seed"] / 100)
    names = {"Adult": "adult", "Stroke": "stroke"}
    found = recompute.compute(moved, names)["performance/Platt/SHAP/NLL"]
    sd = np.std([0, 0.01, 0.02, 0.03, 0.04], ddof=1)
    assert (found.sd, found.error) == pytest.approx((sd, sd / np.sqrt(5)))
    alone = recompute.compute(moved, names, spread=False)["performance/Platt/SHAP/NLL"]
    assert alone.value == pytest.approx(found.value)
    assert np.isnan(alone.sd)
    assert np.isnan(alone.error)


def test_without_rows_only_what_needs_none_is_there(rows):
    found = recompute.compute(rows.iloc[:0], {"Adult": "adult"})
    assert "toy/after/ECE" in found
    assert not [key for key in found if key.startswith(("performance/", "improvement/", "overhead/"))]


def test_the_stroke_clusters_have_a_mean_and_a_spread_over_seeds(computed):
    rates = []
    for seed in range(5):
        clusters = load_scores("stroke", seed).clusters
        ours = clusters[clusters["representation"] == "coverage"]
        oldest = (ours["age_q25"] + ours["age_q75"]).idxmax()  # the paper's cluster 0
        rates.append(100 * ours.loc[oldest, "rate"])
    found = computed["stroke-clusters/0/rate"]
    sd = np.std(rates, ddof=1)
    assert found == pytest.approx((np.mean(rates), sd, sd / np.sqrt(5)))


def test_lines_of_tables_of_one_shape_are_averaged():
    tables = [pd.DataFrame({"x": [1.0, 5.0]}, index=["a", "b"]), pd.DataFrame({"x": [3.0, 5.0]}, index=["a", "b"])]
    found = dict(recompute._mean_and_sd(tables))
    assert found["a"]["x"] == pytest.approx((2, np.sqrt(2), 1))
    assert found["b"]["x"] == pytest.approx((5, 0, 0))
