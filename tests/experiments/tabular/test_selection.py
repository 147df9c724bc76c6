"""Ways to choose the best method: by hand, against the paper's table, and under a null that is known."""

import numpy as np
import pytest
from scipy import stats

from clustcal.experiments.tabular import selection, tables
from clustcal.experiments.tabular.runs import read_runs


@pytest.fixture(scope="module")
def rows():
    return read_runs(["stroke", "credit_approval"])


@pytest.fixture(scope="module")
def table(rows):
    return selection.compare_choices(rows, n_draws=300)


def test_choices_by_hand():
    """Two methods, three seeds: means 2 and 7/3. Without seed 0 the second is chosen, 1.5 against 3; it has 4 there."""
    values = np.array([[0.0, 4.0], [3.0, 1.0], [3.0, 2.0]])
    assert selection.choose_on_test(values) == 2
    # Without seed 1 the first is chosen (1.5 against 3), which has 3; without seed 2 the first (1.5, 2.5), which has 3.
    assert selection.choose_elsewhere(values) == pytest.approx((4 + 3 + 3) / 3)


def test_arrays_hold_the_log_losses_of_the_rows(rows):
    losses = selection.arrange(rows)
    assert losses.names == ["credit_approval", "stroke"]
    assert (losses.own.shape, losses.clustered.shape) == ((2, 6, 5, 3), (2, 6, 5, 9))
    line = rows.query("dataset == 'stroke' and n_estimators == 300 and max_depth == 8 and seed == 2")
    values = line.set_index(["calibrator", "representation"])["NLL"]
    assert losses.own[1, 3, 2, 1] == values["Beta", "Baseline"]
    assert losses.clustered[1, 3, 2, 3:6].tolist() == values["Beta"][["Coverage", "SHAP", "Data"]].tolist()


def test_the_papers_way_gives_the_papers_table(rows, table):
    line = table.loc["test part, nine against three"]
    assert line["gain"] == pytest.approx(tables.improvement(rows).loc["All", ("NLL", "mean")])
    found = tables.significance(rows).loc["NLL"]
    assert (line["wins"], line["pairs"]) == (found["wins"], found["pairs"])


def test_three_of_nine_are_all_84_ways():
    subsets = selection.triples()
    assert len(subsets) == 84
    assert len({frozenset(subset) for subset in subsets.tolist()}) == 84


def test_more_to_choose_from_gains_more_on_the_test_part(table):
    more, equal = (table.loc[f"test part, {n} against three"] for n in ("nine", "three"))
    assert more["gain"] > equal["gain"]
    assert more["chance wins"] > equal["chance wins"]


def test_chance_leaves_either_side_its_half_where_one_method_faces_its_own():
    """A single family against itself under drawn signs: the difference of each pair has a symmetric distribution."""
    rng = np.random.default_rng(0)
    own = rng.normal(1.0, 0.01, (2, 6, 5, 3))
    clustered = np.repeat(own, 3, axis=-1) - rng.normal(0.0, 0.01, (2, 6, 5, 9))
    losses = selection.Losses(own, clustered, ["a", "b"])
    wins = [
        (drawn[..., 0].mean(axis=-1) < own[..., 0].mean(axis=-1)).sum()
        for chunk in selection.draw_signs(losses, 1000)
        for drawn in chunk
    ]
    assert np.mean(wins) == pytest.approx(6, abs=0.3)


def test_signs_are_one_for_a_data_set_and_a_seed(rows):
    losses = selection.arrange(rows)
    before = np.repeat(losses.own, 3, axis=-1)
    (drawn,) = selection.draw_signs(losses, 20)
    signs = (drawn - before) / (losses.clustered - before)
    np.testing.assert_allclose(np.abs(signs), 1, rtol=1e-6)
    assert (np.ptp(signs, axis=(2, 4)) < 1e-6).all()
    assert len(np.unique(signs.round())) == 2


def test_five_seeds_cannot_go_below_a_sixteenth():
    """By the exact tests of signs and of ranks, with every difference on one side."""
    assert stats.binomtest(5, 5).pvalue == selection.LEAST_P_OF_FIVE_SEEDS
    assert stats.wilcoxon(np.arange(1, 6)).pvalue == selection.LEAST_P_OF_FIVE_SEEDS
