"""Multicalibration errors: by hand, as the plain error where there is one group, and against chance in simulation."""

import numpy as np
import pandas as pd
import pytest

from clustcal.metrics import ece, multicalibration_error


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 2, 600)
    return (rng.random(600) < p).astype(int), p, rng.integers(0, 3, 600)


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_of_one_group_it_is_the_calibration_error(data, norm):
    y, p, _ = data
    found = multicalibration_error(y, p, np.zeros(600, int), norm=norm, n_draws=5)
    assert found.error == pytest.approx(ece(y, p, norm=norm, strategy="quantile"))


def test_each_group_has_the_error_of_its_rows_in_shared_bins(data):
    y, p, group = data
    edges = [0, 0.1, 0.3, 1]
    table = multicalibration_error(y, p, group, n_bins=edges, n_draws=5).table
    for k in range(3):
        rows = group == k
        assert table["error"][k] == pytest.approx(ece(y[rows], p[rows], n_bins=edges))
        assert table["weight"][k] == pytest.approx(rows.sum())
        assert (table["observed"][k], table["forecast"][k]) == pytest.approx((y[rows].mean(), p[rows].mean()))


def test_errors_that_cancel_over_all_are_seen_in_overlapping_groups():
    """1/2 for all; the even rows have the event in 3 of 4, the odd ones in 1 of 4; the first half is mixed."""
    y = np.tile([1, 0, 1, 0, 1, 0, 0, 1], 50)
    masks = {"even": np.arange(400) % 2 == 0, "odd": np.arange(400) % 2 == 1, "first": np.arange(400) < 200}
    found = multicalibration_error(y, np.full(400, 0.5), masks)
    assert found.table["error"].to_dict() == pytest.approx({"even": 0.25, "odd": 0.25, "first": 0.0})
    assert (found.error, found.group) == (pytest.approx(0.25), "even")
    assert found.pvalue < 0.01
    assert (found.table["pvalue_adjusted"][["even", "odd"]] < 0.01).all()
    assert found.table["pvalue_adjusted"]["first"] == 1


def test_chance_of_one_bin_is_the_mean_absolute_deviation_of_a_binomial():
    """100 rows at .3, of which E|X/n - .3| is by the sum over all counts .0365."""
    from scipy import stats

    counts = np.arange(101)
    expected = stats.binom.pmf(counts, 100, 0.3) @ np.abs(counts / 100 - 0.3)
    found = multicalibration_error([1] * 30 + [0] * 70, np.full(100, 0.3), np.zeros(100), n_draws=4000)
    assert found.table["chance"].iloc[0] == pytest.approx(expected, rel=0.05)


GROUPS = {
    "labels": lambda g: np.array(["a", "b", "c"])[g],
    "series": lambda g: pd.Series(["a", "b", "c"]).take(g).reset_index(drop=True),
    "masks": lambda g: g[:, None] == np.arange(3),
    "whole numbers as masks": lambda g: (g[:, None] == np.arange(3)).astype(int),
    "mapping": lambda g: {k: g == k for k in range(3)},
    "frame of masks": lambda g: pd.DataFrame({k: g == k for k in range(3)}),
    "frame of labels": lambda g: pd.DataFrame({"group": g}),
}


POLARS = {
    "series of text": lambda pl, g: pl.Series(["a", "b", "c"]).gather(g),
    "series of numbers": lambda pl, g: pl.Series(g),
    "categories": lambda pl, g: pl.Series(["a", "b", "c"]).gather(g).cast(pl.Categorical),
    "frame of masks": lambda pl, g: pl.DataFrame({str(k): g == k for k in range(3)}),
    "frame of text": lambda pl, g: pl.DataFrame({"group": pl.Series(["a", "b", "c"]).gather(g)}),
    "mapping of masks": lambda pl, g: {k: pl.Series(g == k) for k in range(3)},
}


@pytest.mark.parametrize("form", POLARS.values(), ids=POLARS)
def test_groups_of_polars_are_those_of_numpy(data, form):
    polars = pytest.importorskip("polars")
    y, p, group = data
    found = multicalibration_error(y, p, form(polars, group), n_draws=20).table
    expected = multicalibration_error(y, p, group, n_draws=20).table
    pd.testing.assert_frame_equal(found.reset_index(drop=True), expected.reset_index(drop=True))


def test_a_frame_of_polars_names_its_groups():
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"old": [True, None, False, True], "sex": ["f", "m", None, "f"]})
    table = multicalibration_error([0, 1, 1, 0], [0.2, 0.6, 0.9, 0.4], frame, n_draws=5).table
    assert table["weight"].to_dict() == {"old": 2, "sex=f": 2, "sex=m": 1}


MISSING = {
    "objects": lambda mask: mask,
    "nullable": lambda mask: pd.array(mask, dtype="boolean"),
    "frame of objects": lambda mask: pd.DataFrame({"g": mask})["g"],
}


@pytest.mark.parametrize("form", MISSING.values(), ids=MISSING)
@pytest.mark.parametrize("holder", [lambda mask: {"g": mask}, lambda mask: pd.DataFrame({"g": mask})])
def test_a_mask_with_missing_values_leaves_these_rows_out(form, holder):
    groups = holder(form([True, None, False, True]))
    table = multicalibration_error([0, 1, 1, 0], [0.2, 0.6, 0.9, 0.4], groups, n_draws=5).table
    assert table["weight"].to_dict() == {"g": 2}


def test_the_scale_of_weights_does_not_matter_to_auto_bins(data):
    y, p, group = data
    nine, *scaled = (
        multicalibration_error(y, p, group, sample_weight=weights, n_bins=n_bins, n_draws=20).table.drop(
            columns="weight"
        )
        for weights, n_bins in [(None, 9), (None, "auto"), (np.full(600, 1e-3), "auto"), (np.full(600, 1e3), "auto")]
    )
    for table in scaled:
        pd.testing.assert_frame_equal(table, nine)


@pytest.mark.parametrize("form", GROUPS.values(), ids=GROUPS)
def test_groups_come_in_any_form(data, form):
    y, p, group = data
    expected = multicalibration_error(y, p, group, n_draws=20).table
    found = multicalibration_error(y, p, form(group), n_draws=20).table
    np.testing.assert_allclose(found, expected)


def test_a_frame_names_its_groups_and_rows_without_a_value_are_in_none(data):
    y, p, group = data
    frame = pd.DataFrame(
        {
            "sex": pd.Series(np.where(group == 0, "f", "m")).where(np.arange(600) > 0),
            "old": pd.array([None, *(group[1:] == 2)], dtype="boolean"),
        }
    )
    table = multicalibration_error(y, p, frame, n_draws=5).table
    assert list(table.index) == ["sex=f", "sex=m", "old"]
    assert table["weight"]["sex=f"] + table["weight"]["sex=m"] == pytest.approx(599)


# Level and power ----------------------------------------------------------------------------------------------


def overlapping(rng, n):
    small = rng.random(n) < 0.05
    return np.column_stack([np.ones(n, bool), rng.random(n) < 0.5, small, small & (rng.random(n) < 0.5)])


@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_calibrated_forecasts_are_found_out_in_one_of_twenty_sets(norm):
    """400 sets with four overlapping groups of 500 rows to some 12; the binomial error is .011."""
    rng = np.random.default_rng(1)
    rejected = 0
    for _ in range(400):
        p = rng.beta(1, 2, 500)
        y = (rng.random(500) < p).astype(int)
        found = multicalibration_error(y, p, overlapping(rng, 500), norm=norm, n_draws=99, random_state=rng)
        rejected += found.pvalue <= 0.05
    assert rejected / 400 == pytest.approx(0.05, abs=0.033)


def test_a_group_that_is_wrong_is_found_and_the_others_are_not_blamed():
    rng = np.random.default_rng(2)
    found, blamed = 0, 0
    for _ in range(50):
        p, group = rng.uniform(0.2, 0.8, 4000), rng.integers(0, 10, 4000)
        y = (rng.random(4000) < np.where(group == 0, p - 0.15, p)).astype(int)
        adjusted = multicalibration_error(y, p, group, n_draws=199, random_state=rng).table["pvalue_adjusted"]
        found += adjusted[0] <= 0.05
        blamed += (adjusted[1:] <= 0.05).any()
    assert found >= 45
    assert blamed <= 8


def test_a_seed_fixes_the_draws(data):
    y, p, group = data
    one, same, other = (multicalibration_error(y, p, group, n_draws=20, random_state=s).chance for s in (1, 1, 2))
    assert one == same != other


def test_weights_count_and_rows_without_weight_do_not(data):
    y, p, group = data
    weights = np.where(np.arange(600) < 300, 2.0, 0.0)
    edges = [0, 0.2, 1]
    weighted = multicalibration_error(y, p, group, sample_weight=weights, n_bins=edges, n_draws=5).table
    alone = multicalibration_error(y[:300], p[:300], group[:300], n_bins=edges, n_draws=5).table
    assert weighted["error"].to_list() == pytest.approx(alone["error"].to_list())
    assert weighted["weight"].to_list() == pytest.approx((2 * alone["weight"]).to_list())


@pytest.mark.parametrize(
    ("groups", "message"),
    [
        ([0, 1], "group 0 has 2 rows"),
        (np.zeros((6, 2)), "group 0 has no row with weight"),
        (np.full((6, 2), 2), "groups is no mask"),
        (np.zeros((6, 2, 2)), "groups has 3 dimensions"),
        ({}, "groups is empty"),
        ({"a": [1, 0]}, "group 'a' has 2 rows"),
        ({"a": list("abcdef")}, "group 'a' is no mask"),
        ([None] * 6, "groups is empty"),
        ([{"a": 1}] * 6, "groups holds something that cannot be a label"),
        ("abcdef", "groups has 0 dimensions"),
        (None, "groups has 0 dimensions"),
        ([[True], [True, False]], "groups could not be read"),
        ({"a": [[True]] * 6}, "group 'a' is no mask"),
    ],
)
def test_groups_that_are_none_are_refused(groups, message):
    with pytest.raises(ValueError, match=message):
        multicalibration_error([0, 1, 1, 0, 1, 0], [0.2, 0.6, 0.9, 0.4, 0.7, 0.1], groups)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"norm": "max"}, "norm is 'max'"),
        ({"n_draws": 0}, "n_draws is 0"),
        ({"kind": "classwise"}, "kind is 'classwise'"),
    ],
)
def test_options_that_mean_nothing_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        multicalibration_error([0, 1], [0.2, 0.6], [0, 1], **options)
