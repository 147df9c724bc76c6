"""Verdicts of the directions, by hand; and what the stored rows must have."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import kendalltau

from clustcal.experiments.directions import direction_verdicts as verdicts


def values_of(means, spread=0.1):
    index = pd.MultiIndex.from_product([list("abcd")[: len(means)], range(5)], names=["dataset", "seed"])
    return pd.Series(np.repeat(means, 5) + np.tile(np.linspace(-spread, spread, 5), len(means)), index)


def test_gains_are_percent_of_the_baseline():
    rows = pd.DataFrame({"dataset": ["a"] * 2, "seed": [0] * 2, "method": ["Platt", "other"], "nll": [0.5, 0.4]})
    assert verdicts.gains(rows, "Platt").loc[("a", 0)].to_dict() == {"Platt": 0, "other": pytest.approx(20)}


@pytest.mark.parametrize(
    ("means", "good", "verdict"),
    [
        ([1.0, 1.1, 0.9, 1.2], 1, "worth it"),
        ([1.0, 1.1, 0.9, 1.2], -1, "refuted"),
        ([-1.0, -1.1, -0.9, -1.2], 1, "refuted"),
        ([1.0, -1.1, 0.9, -1.2], 1, "open"),
        ([1.0], 1, "open"),
    ],
)
def test_verdicts(means, good, verdict):
    line = verdicts.over_sets(values_of(means), good)
    assert line["verdict"] == verdict
    assert line["mean"] == pytest.approx(np.mean(means))
    assert line["sets"] == len(means)
    assert line["better"] == sum(np.sign(means) == good)


def test_an_interval_within_a_set_has_the_correction_for_overlapping_splits():
    """Nadeau and Bengio: t(4) s sqrt(1/5 + 1/4), s the standard deviation of five seeds."""
    line = verdicts.by_set(values_of([1.0])).loc["a"]
    s = np.std(np.linspace(-0.1, 0.1, 5), ddof=1)
    assert line["high"] - line["mean"] == pytest.approx(2.776445 * s * np.sqrt(0.45), rel=1e-5)
    assert line["worst"] == pytest.approx(0.9)


def test_agreement_is_kendalls_and_the_seeds_of_stroke_are_one_data_set():
    rng = np.random.default_rng(0)
    names = ["stroke-seed0", "stroke-seed1", "adult"]
    rows = pd.DataFrame(
        [
            {"dataset": name, "seed": 10, "method": str(k), "ece": rng.random(), "other nll": rng.random()}
            for name in names
            for k in range(6)
        ]
    )
    table = verdicts.agreement(rows, ["ece"])
    assert sorted(table.index) == [("adult", 10), ("stroke", 0), ("stroke", 1)]
    last = rows[rows["dataset"] == "adult"]
    assert table.loc[("adult", 10), "ece"] == pytest.approx(kendalltau(last["ece"], last["other nll"]).statistic)
    fewer = verdicts.agreement(rows, ["ece"], without=["0"])
    assert fewer.loc[("adult", 10), "ece"] == pytest.approx(
        kendalltau(last["ece"].iloc[1:], last["other nll"].iloc[1:]).statistic
    )
