"""The guesses of a forensic reader, on papers whose settings are far apart, and on papers that cannot be told apart."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from clustcal.experiments.tabular.readings import forensics
from clustcal.experiments.tabular.readings.cluster_tables import CELLS
from tests.experiments.tabular.rows import make_paper_rows


def test_settings_that_are_far_apart_are_always_found():
    rng = np.random.default_rng(0)
    table = forensics.confusion({name: rng.normal(10 * i, 1, (5, 4)) for i, name in enumerate("abc")})
    assert_allclose(table, np.eye(3))
    assert forensics.recovered(table) == (1.0, 1 / 3)


def test_settings_that_are_the_same_are_guessed_at_the_rate_of_chance():
    rng = np.random.default_rng(0)
    found = [
        forensics.recovered(forensics.confusion({k: rng.normal(size=(5, 3)) for k in "abcd"}))[0] for _ in range(200)
    ]
    # A paper is a little nearer to the other settings, whose means it is no part of by luck alone: at most chance.
    assert 0.15 < np.mean(found) < 0.3


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10_000), st.floats(0.01, 100), st.floats(-50, 50))
def test_the_unit_of_a_number_does_not_matter(seed, factor, shift):
    rng = np.random.default_rng(seed)
    signatures = {name: rng.normal(i, 1, (4, 2)) for i, name in enumerate("ab")}
    changed = {name: np.column_stack([factor * v[:, 0] + shift, v[:, 1]]) for name, v in signatures.items()}
    pd.testing.assert_frame_equal(forensics.confusion(signatures), forensics.confusion(changed))


def test_coarse_printing_hides_what_is_small():
    fine = {name: 0.001 * np.array([[1.0], [1.1], [0.9]]) * k for k, name in enumerate("ab", 1)}
    assert forensics.recovered(forensics.confusion(fine))[0] == 1
    assert forensics.recovered(forensics.confusion(fine, decimals=2))[0] == 0.5


@pytest.mark.parametrize("wrong", [{"a": [[1.0], [2.0]]}, {"a": [[1.0]] * 3, "b": [[1.0]] * 4}, {"a": [1.0, 2.0, 3.0]}])
def test_other_shapes_are_refused(wrong):
    with pytest.raises(ValueError, match=r"signatures has the shapes .*; expected one shape"):
        forensics.confusion(wrong)


def test_arm_shows_in_the_mean_over_data_sets_and_capacities():
    rows = make_paper_rows(["adult", "stroke"])
    found = forensics.arm_signatures({"": rows, "weighted": rows.assign(ada_ece=2 * rows["ada_ece"])})
    assert found["printed"].shape == (5, 2)
    assert_allclose(found["printed"]["base"], 0.1304, atol=5e-4)
    assert_allclose(found["weighted"], 2 * found["printed"])


def test_gains_are_those_over_the_global_method_of_the_family():
    rows = make_paper_rows(["adult", "stroke"])
    found = forensics.gain_signatures(rows, lambda representation, changed: representation)
    assert set(found) == {"SHAP", "Coverage", "Data"}
    assert_allclose(found["SHAP"]["Platt"], 100 * (1 - 0.2983 / 0.2998), rtol=1e-9)


def test_gains_by_set_are_of_one_family_with_nothing_else_changed():
    rows = make_paper_rows(["adult", "stroke"]).assign(settings="")
    changed = rows[rows["representation"] == "SHAP"].assign(settings="temperature=0.1", nll=0.01)
    found = forensics.gains_by_set(pd.concat([rows, changed]), "Platt")
    assert list(found) == ["adult", "stroke"]
    assert_allclose(found.loc["SHAP"], 100 * (1 - 0.2983 / 0.2998), rtol=1e-9)


def test_clusters_have_28_numbers():
    cells = dict.fromkeys(CELLS, 1.0)
    run = {"n_estimators": 300, "max_depth": 8, "arm": "", "representation": "shap", "normalize": "False"}
    rows = pd.DataFrame([run | cells | {"seed": s, "cluster": k} for s in range(5) for k in range(4)])
    assert forensics.cluster_signatures(rows)["shap, raw"].shape == (5, 28)
