"""Both tables of the paper, ours beside them, come from the chosen cells of complete studies."""

import numpy as np
import pytest

from clustcal.experiments.deep import network_tables
from clustcal.experiments.paper import load_claims
from tests.experiments.deep.made_up_rows import make_networks, make_rows

PAPER = load_claims().set_index("id")["value"]


def as_printed(calibrator, layer, n_clusters, shrinkage, temperature, seed):
    """The paper's log-losses on Emotion at the cell that it prints, and more everywhere else; -2 to 2 off by seed."""
    method = calibrator + (network_tables.CLUSTERED if layer else "")
    value = PAPER.get(f"text/Emotion/{method}/NLL", 0.5) + 0.01 * (seed - 2)
    is_cell = (layer, n_clusters, shrinkage, temperature) == ("mean", 25, 1.0, 1.0)
    return value + 0.1 * (bool(layer) and not is_cell)


@pytest.fixture(scope="module")
def rows():
    return make_rows("emotion", 6, as_printed)


def test_the_table_has_the_papers_lines_in_the_papers_order(rows):
    text = network_tables.compare("text", rows)
    assert len(text) == 11 + 9
    assert text.loc["Emotion"].index[:3].tolist() == ["Base", "Vector", "Dirichlet"]
    assert len(network_tables.compare("images", rows)) == 27


def test_ours_is_the_mean_over_the_splits_of_the_chosen_cell(rows):
    emotion = network_tables.compare("text", rows).loc["Emotion"]
    np.testing.assert_allclose(emotion["NLL", "ours"], emotion["NLL", "paper"])
    np.testing.assert_allclose(emotion["NLL", "sd"], 0.01 * np.sqrt(2.5))
    chosen = emotion.loc["TS clustered"]
    assert [chosen[name, "ours"] for name in ("layer", "K", "shrinkage")] == ["mean", 25, 1.0]


def test_what_has_no_rows_is_empty(rows):
    text = network_tables.compare("text", rows)
    assert text.loc["IMDB", ("NLL", "ours")].isna().all()
    assert text.loc["IMDB", ("NLL", "paper")].notna().all()


def test_another_network_can_stand_for_a_data_set(rows):
    other = network_tables.compare("text", rows.assign(dataset="imdb"), {"Emotion": "imdb"})
    assert other.loc[("Emotion", "TS"), ("NLL", "ours")] == pytest.approx(0.158)
    assert set(other.loc["Emotion", ("study", "")]) == {"imdb"}


def test_a_study_with_a_hole_is_left_out(rows):
    networks = make_networks(emotion=100)
    assert len(network_tables.keep_complete(rows, networks)) == len(rows)
    assert network_tables.keep_complete(rows.drop(index=7), networks).empty
    assert network_tables.keep_complete(rows[rows["layer"] != "mean"], networks).empty
    assert network_tables.keep_complete(rows, make_networks(imdb=100)).empty


def test_the_most_frequent_cell_is_that_of_most_splits(rows):
    table = network_tables.choose_cells(rows)
    of_ts = table["method"] == "TS clustered"
    table.loc[of_ts & (table["seed"] < 3), ["n_clusters", "shrinkage", "layer"]] = [50, 10.0, "cls"]
    assert network_tables.most_frequent_cell(table, "TS clustered") == ("cls", 50, 10.0)
