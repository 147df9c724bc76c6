"""The judgement of the readings of the stroke clusters, on tables whose verdicts are plain."""

import numpy as np
import pandas as pd
import pytest

from clustcal.experiments.tabular.readings import cluster_tables as clusters


@pytest.fixture
def rows():
    """Of two readings one is the paper's table but for noise, the other far off in all but one cell."""
    printed, rng = clusters.printed(), np.random.default_rng(0)
    half = clusters.half_digits()
    frames = []
    for representation in ("coverage", "shap"):
        for seed in range(5):
            noise = rng.uniform(-1, 1, printed.shape) * half
            off = 50.0 * (representation == "coverage") * (np.arange(printed.size).reshape(printed.shape) > 0)
            table = (printed + noise + off).reset_index()
            run = {"dataset": "stroke", "n_estimators": 300, "max_depth": 8, "seed": seed, "arm": ""}
            frames.append(table.assign(**run, representation=representation, normalize="True"))
    return pd.concat(frames, ignore_index=True)


def test_printed_table_is_the_papers():
    table = clusters.printed()
    assert table.loc[0, ["age_q25", "age_q75", "rate"]].tolist() == [60, 78, 14.9]
    assert table.shape == (4, 7)


def test_cells_within_the_bands_are_counted(rows):
    passes = clusters.count_passes(rows).groupby("representation").mean()
    assert passes["shap"] == 28
    assert passes["coverage"] == 1


def test_bands_do_not_depend_on_the_reading(rows):
    """A reading that scatters more than the others does not widen its own bands beyond theirs."""
    assert (clusters.bands(rows) >= clusters.half_digits()).all(axis=None)
    assert clusters.bands(rows).shape == (4, 7)


def test_reading_is_chosen_on_14_cells_and_judged_on_14(rows):
    found = clusters.choose_reading(rows)
    assert found.index[0] == ("shap", "True")
    assert found.loc[("shap", "True")].tolist() == [14, 14, 28]
    assert found.loc[("coverage", "True")].sum() - found.loc[("coverage", "True"), "best run"] == 1


def test_judged_cells_are_those_that_did_not_choose(rows):
    found = clusters.compute_judged(rows)
    assert len(found) == 14
    assert "stroke-clusters/0/age/q25" not in found  # a corner of the chessboard
    printed = clusters.printed().loc[0, "age_q75"]
    assert abs(found["stroke-clusters/0/age/q75"].value - printed) < 0.5


def test_half_of_the_cells_choose_and_the_others_judge(rows):
    found = clusters.cross_judge(rows, draws=50)
    assert found.index.tolist() == [("shap", "True")]
    assert found["chosen"].item() == 1
    assert found["passed elsewhere"].item() == 1
