"""Tables as the chapters on images and text show them."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from clustcal.experiments.deep import network_tables, page_tables
from clustcal.experiments.deep.design import N_CLUSTERS, SHRINKAGES
from clustcal.experiments.results import FOLDER


@pytest.fixture
def compared():
    """The paper's table of texts beside rows of none of our networks."""
    return network_tables.compare("text", network_tables.read_rows().iloc[:0])


def test_what_has_no_rows_is_said_not_to_be_run(compared):
    shown = page_tables.show_scores(compared, "IMDB")
    assert (shown.xs("ours", axis=1, level=1) == page_tables.NOT_RUN).all(axis=None)
    assert shown.loc["Platt", ("NLL", "paper")] == "0.328"
    assert page_tables.count_run(compared, "IMDB") == 0
    choices = page_tables.show_choices(compared, "IMDB")
    assert choices.loc["Beta clustered", ("shrinkage", "paper")] == "5"
    assert (choices["layer", "ours"] == page_tables.NOT_RUN).all()
    assert (page_tables.show_accuracy(compared, "IMDB")["ours"] == page_tables.NOT_RUN).all()


def test_ours_is_shown_with_its_spread(compared):
    compared.loc[("IMDB", "Platt"), [("NLL", "ours"), ("NLL", "sd")]] = 0.31249, 0.0104
    compared.loc[("IMDB", "Platt"), ("Brier", "ours")] = 0.0981
    shown = page_tables.show_scores(compared, "IMDB")
    assert shown.loc["Platt", ("NLL", "ours")] == "0.312 ± 0.010"
    assert shown.loc["Platt", ("Brier", "ours")] == "0.098 (one split)"  # which has no standard deviation
    assert page_tables.count_run(compared, "IMDB") == 1


def test_an_accuracy_of_one_split_is_not_taken_for_a_mean(compared):
    compared.loc[("IMDB", "Platt"), [("Acc", "ours"), ("Acc", "sd")]] = 0.8249, 0.0104
    compared.loc[("IMDB", "Beta"), ("Acc", "ours")] = 0.8266
    shown = page_tables.show_accuracy(compared, "IMDB")["ours"]
    assert (shown["Platt"], shown["Beta"]) == ("0.825", "0.827 (one split)")


def test_a_reading_that_says_nothing_is_not_shown():
    other = page_tables.show_statements(["ece-against-nll-share"]).set_index("part")["another reading"]
    assert other["ImageNet"] == page_tables.NONE != other["Emotion"]


def test_statements_have_the_words_of_the_rules():
    shown = page_tables.show_statements(["sensitivity", "emotion-clustered"])
    assert list(shown.columns) == ["says", "part", "ours", "verdict", "cannot show", "another reading"]
    assert shown["says"].str.startswith("Clustered Vector gains a little").sum() == 1
    assert len(shown) >= 2


def test_relations_are_counted_without_statements():
    counts = page_tables.count_relations(FOLDER)
    assert "statement" not in counts.index
    assert counts.to_numpy().sum() > 300


class TestSurface:
    def rows(self, seeds=(0, 1)):
        lines = [
            {"dataset": "made", "calibrator": "TS", "layer": layer, "seed": seed, "n_clusters": K, "shrinkage": s}
            for layer in ("cls", "mean")
            for seed in seeds
            for K in N_CLUSTERS
            for s in SHRINKAGES
        ]
        rows = pd.DataFrame(lines).assign(temperature=1.0)
        return rows.assign(nll=np.where(rows["layer"] == "cls", 2.0 + 0.01 * rows["n_clusters"], 9.0))

    def test_cells_are_percent_above_the_lowest_at_the_layer_of_the_paper(self):
        surface = page_tables.find_surface(self.rows(), "made", "TS")
        assert surface.shape == (4, 4)
        assert_allclose(surface.loc[4], 0, atol=1e-12)
        assert_allclose(surface.loc[50], 100 * (2.5 / 2.04 - 1))

    def test_a_cell_that_lacks_a_split_is_missing(self):
        rows = self.rows()
        is_gone = (rows["n_clusters"] == 50) & (rows["seed"] == 1)
        surface = page_tables.find_surface(rows[~is_gone], "made", "TS")
        assert surface.loc[50].isna().all()
        assert surface.drop(index=50).notna().all(axis=None)

    def test_without_rows_it_is_empty(self):
        assert page_tables.find_surface(self.rows(), "other", "TS").empty


def test_gain_of_clusters_is_that_within_each_split():
    table = pd.DataFrame({"seed": [0, 1] * 2, "method": ["TS"] * 2 + ["TS clustered"] * 2, "nll": [1.0, 2.0, 0.9, 1.8]})
    gains = page_tables.find_local_gains(table, ["TS"])
    assert_allclose(gains.loc["TS"], [10.0, 0.0], atol=1e-9)


def test_the_range_over_cells_is_that_within_each_split():
    rows = TestSurface().rows()
    rows.loc[rows["seed"] == 1, "nll"] = 2.0  # a split in which no cell differs
    ranges = page_tables.find_ranges(rows, "made", ["TS"])
    assert_allclose(ranges.loc["TS"], [50 * (2.5 / 2.04 - 1), 0, 100 * (2.5 / 2.04 - 1)])


def test_bins_are_held_against_their_global_form_in_each_split(compared):
    table = pd.DataFrame({"method": ["TS"] * 2 + ["Vector"] * 2, "seed": [0, 1] * 2, "nll": [2.0, 4.0] * 2})
    lines = [
        {"name": "emotion", "method": method, "seed": seed, "strategy": "quantile", "kind": "top-label", "nll": nll}
        for method in ("Binwise-TS", "Binwise-Vector")
        for seed, nll in ((0, 1.9), (1, 3.8))
    ]
    bins = page_tables.find_bin_gains(pd.DataFrame(lines), {"emotion": table})
    assert_allclose(bins["gain"], 0.05)
    shown = page_tables.show_readings(bins, compared, "Emotion", "emotion")
    assert shown.loc["the paper"].tolist() == ["3.8", "1.3"]  # .152 and .156 below .158
    assert shown.loc["equal mass of the most probable class", "Binwise-TS"] == "5.00 ± 0.00"
