"""The table of clusters, on two groups of known rows; how a classifier fills it is tested there."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from clustcal.cluster_table import cluster_table, columns_of

GROUP = np.repeat([0, 1], [101, 49])


def summary_of(**columns):
    """The clusters of the two groups, with other columns."""
    W, P = np.eye(3)[GROUP], np.full((150, 2), 0.5)  # and a third cluster without rows
    return cluster_table(W, P, P, np.array([0, 1]), None, pd.DataFrame(columns))


@pytest.mark.parametrize("dtype", [bool, "boolean", object])
def test_true_and_false_have_a_share(dtype):
    truth = pd.Series(np.r_[np.arange(101) < 20, np.arange(49) < 40]).astype(dtype)
    summary = summary_of(truth=truth)
    np.testing.assert_allclose(summary["truth share"], [20 / 101, 40 / 49, np.nan])
    assert summary["truth share"].dtype == float
    assert "truth q25" not in summary


@pytest.mark.parametrize("dtype", ["boolean", object])
def test_the_share_is_that_among_known_values(dtype):
    truth = pd.Series([True, False, False, False, *[None] * 97, *[True] * 49], dtype=dtype)
    assert summary_of(truth=truth)["truth share"].tolist()[:2] == [0.25, 1]


@pytest.mark.parametrize("kind", ["naive", "in a time zone", "of Python", "with gaps"])
def test_dates_have_quartiles_that_are_dates(kind):
    start = pd.Timestamp("2020-01-01", tz="Europe/Paris" if kind == "in a time zone" else None)
    day = pd.Series(start + pd.to_timedelta(np.r_[np.arange(101), np.full(49, 7)], unit="D"))
    expected = [[start + pd.Timedelta(days=n) for n in days] for days in ([25, 7], [75, 7])]
    if kind == "of Python":
        day = day.dt.date
    if kind == "with gaps":  # of the first group the days 0, 2, ..., 100 are left, whose quartiles are 25 and 75
        day = day.where(day.index % 2 == 0)
        expected = [[start + pd.Timedelta(days=n) for n in days] for days in ([24, 7], [74, 7])]
    summary = summary_of(day=day)
    assert [summary[f"day {q}"].tolist()[:2] for q in ("q25", "q75")] == expected
    assert summary["day q25"].isna().tolist() == [False, False, True]


def test_lengths_of_time_have_quartiles():
    stay = pd.to_timedelta(np.r_[np.arange(101), np.full(49, 7)], unit="h")
    assert summary_of(stay=stay)["stay q75"].tolist()[:2] == [pd.Timedelta(hours=75), pd.Timedelta(hours=7)]


def test_columns_without_a_value_do_not_stop_it():
    empty = {"date": pd.Series(pd.NaT, range(150)), "truth": pd.array([None] * 150, dtype="boolean"), "any": None}
    summary = summary_of(**empty, month=pd.period_range("2020-01", periods=150, freq="M"))
    assert summary[["date q25", "date q75", "truth share", "any mode"]].isna().all(axis=None)


def test_sizes_means_and_errors_are_those_of_the_rows_where_a_membership_is_largest():
    """Three rows, by hand: the first two in cluster 0, the last in cluster 1."""
    W = np.array([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7]])
    P = np.array([[0.8, 0.2], [0.4, 0.6], [0.1, 0.9]])
    Q = np.array([[0.7, 0.3], [0.5, 0.5], [0.4, 0.6]])
    table = cluster_table(W, P, Q, np.array(["no", "yes"]), np.array(["no", "yes", "yes"]), pd.DataFrame())
    expected = {
        "size": [2, 1],
        "mean_score": [0.4, 0.9],
        "mean_calibrated": [0.4, 0.6],
        "base_rate": [0.5, 1.0],
        "score_error": [-0.1, -0.1],
        "calibrated_error": [-0.1, -0.4],
    }
    assert list(table) == list(expected)
    for name, values in expected.items():
        np.testing.assert_allclose(table[name], values)


def test_of_three_classes_the_most_probable_one_after_calibration_is_meant():
    P = np.array([[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]])
    Q = np.array([[0.1, 0.7, 0.2], [0.3, 0.3, 0.4]])
    table = cluster_table(np.ones((2, 1)), P, Q, np.array([5, 6, 7]), np.array([6, 5]), pd.DataFrame())
    assert table.loc[0, "mean_score"] == pytest.approx((0.3 + 0.6) / 2)
    assert table.loc[0, "mean_calibrated"] == pytest.approx((0.7 + 0.4) / 2)
    assert table.loc[0, "base_rate"] == 0.5


def test_labels_of_another_number_are_refused():
    P = np.full((3, 2), 0.5)
    with pytest.raises(ValueError, match="y has 2 rows"):
        cluster_table(np.ones((3, 1)), P, P, np.array([0, 1]), np.array([0, 1]), pd.DataFrame())


def test_columns_of_a_table_keep_their_names_or_get_some():
    assert columns_of(pd.DataFrame({"age": [1, 2]}, index=[7, 9])).index.tolist() == [0, 1]
    assert list(columns_of(np.eye(2))) == ["x0", "x1"]
    assert list(columns_of(np.eye(2), names=["a", "b"])) == ["a", "b"]


@pytest.mark.parametrize("rows", [["a text", "another"], sparse.eye(2).tocsr(), np.zeros((2, 3, 3))])
def test_rows_that_are_no_table_have_no_columns(rows):
    assert columns_of(rows).empty
