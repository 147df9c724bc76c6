"""Local errors with each method's own representation: those of the metric, and the limit of a wide kernel."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from clustcal import metrics
from clustcal.experiments.paper import load_claims
from clustcal.experiments.tabular.readings import own_local_errors as local_errors
from clustcal.experiments.tabular.readings import reading_study as study
from clustcal.experiments.tabular.units import Unit
from tests.experiments.made_up import make_data

pytest.importorskip("xgboost")


@pytest.fixture
def unit(monkeypatch):
    monkeypatch.setattr(study, "CAPACITY", (4, 3))
    return Unit("stroke", 3, 0)


def test_one_row_for_every_method_and_bandwidth(unit):
    rows = pd.DataFrame(local_errors.run_unit(make_data(), unit))
    assert len(rows) == 9 * len(local_errors.BANDWIDTHS)
    assert set(rows.columns) <= set(local_errors.COLUMNS)
    assert not rows.duplicated(["calibrator", "representation", "gamma"]).any()


def test_with_a_wide_kernel_the_largest_error_is_that_of_a_bin(unit):
    """All rows of a bin are neighbours then, so MLCE is the largest gap of the bins, whatever the representation."""
    data = make_data()
    rows = pd.DataFrame(local_errors.run_unit(data, unit, bandwidths=(1e9,)))
    model, (X_cal, X_test), cal, test, _ = study.read_parts(data, unit)
    Z = [local_errors.represent("shap", model, X_cal, X_test, 0)[i] for i in (0, 1)]
    method = next(one for one in local_errors._methods() if (one.name, one.clustered) == ("Platt", "SHAP"))
    Q = method.make(0).fit(cal.P, cal.y, Z[0]).predict_proba(test.P, Z[1])
    expected = metrics.mce(test.y, Q, n_bins=15, strategy="uniform", kind="top-label")
    found = rows.query("calibrator == 'Platt' and representation == 'SHAP'")["mlce"].item()
    assert_allclose(found, expected, rtol=1e-6)
    assert np.isfinite(rows["lce"]).all()


def test_by_bandwidth_data_sets_count_alike_and_the_paper_stands_last():
    """Two rows of one set and one of the other: (0.2 + 0.4) / 2 = 0.3, and with 0.7 a mean of 0.5."""
    lines = [("a", 0.2), ("a", 0.4), ("b", 0.7)]
    rows = pd.DataFrame([{"dataset": name, "gamma": 0.2, "representation": "Coverage", "mlce": x} for name, x in lines])
    more = [rows.assign(representation=word, mlce=rows["mlce"] * times) for word, times in (("SHAP", 1), ("Data", 2))]
    table = local_errors.by_bandwidth(pd.concat([rows, *more]), load_claims())
    assert table.loc[0.2].tolist() == pytest.approx([0.5, 0.5, 1.0, 2 / 3, 2.0])
    assert table.loc["paper", "Coverage"] == pytest.approx((0.5725 + 0.5710 + 0.6553) / 3)
