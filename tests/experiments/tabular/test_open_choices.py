"""What the open choices change: the right units are run once, and the comparison is right on rows made by hand."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from clustcal.experiments.methods import format_settings
from clustcal.experiments.store import Store
from clustcal.experiments.tabular import open_choices
from tests.experiments.made_up import make_data

pytest.importorskip("xgboost")


def test_every_choice_is_run_once_under_its_own_name(tmp_path, monkeypatch):
    monkeypatch.setattr(open_choices, "CAPACITY", (5, 2))
    store = Store(tmp_path)
    first = list(open_choices.compute(store, ["stroke"], seeds=(0,), load=make_data))
    assert first == [
        "stroke seed 0 as in the study",
        "stroke seed 0 stratify=False",
        "stroke seed 0 encoding=one-hot",
    ]
    assert list(open_choices.compute(store, ["stroke"], seeds=(0,), load=make_data)) == []
    rows = store.read()
    assert rows.groupby("settings").size().to_dict() == dict.fromkeys(map(format_settings, open_choices.CHOICES), 13)
    of_base = rows[rows["calibrator"] == "base"].set_index("settings")["nll"]
    assert of_base.nunique() == 3  # another split, and other columns, make another model


def make_rows(nll):
    """Rows of one data set and setting, from {(calibrator, representation): log-losses of the seeds}."""
    rows = [
        {"dataset": "d", "n_estimators": 300, "max_depth": 8, "settings": "", "seed": seed}
        | {"calibrator": name, "representation": Z, "nll": value}
        for (name, Z), values in nll.items()
        for seed, value in enumerate(values)
    ]
    return pd.DataFrame(rows)


def test_best_methods_are_compared_by_hand():
    rows = make_rows(
        {
            ("base", "Baseline"): [0.9, 0.7],
            ("Platt", "Baseline"): [0.5, 0.4],
            ("Beta", "Baseline"): [0.6, 0.2],  # the best global one by its mean, 0.4
            ("Platt", "SHAP"): [0.3, 0.19],
            ("TS", "Data"): [0.9, 0.1],
        }
    )
    found = open_choices.compare(rows).loc["d", ""]
    assert_allclose(found[["base", "global", "clustered"]], [0.8, 0.4, 0.245])
    assert found["gain"] == pytest.approx((50 + 5) / 2)
    assert found["ci"] == pytest.approx(
        12.7062 * 22.5 * np.sqrt(1.5), rel=1e-4
    )  # t of one degree of freedom, the standard error, and the correction for two splits that overlap


def test_one_seed_has_no_interval():
    rows = make_rows({key: [0.5] for key in [("base", "Baseline"), ("Platt", "Baseline"), ("Platt", "SHAP")]})
    found = open_choices.compare(rows).loc["d", ""]
    assert found["gain"] == 0
    assert np.isnan(found["ci"])


def test_committed_rows_are_complete():
    sizes = open_choices.read().groupby(["dataset", "settings"]).size()
    assert {
        (name, format_settings(choice)) for name in ("credit_approval", "stroke") for choice in open_choices.CHOICES
    } <= set(sizes.index)
    assert set(sizes) == {13 * 5}  # Platt, Beta and TS with four representations, and base; five seeds
