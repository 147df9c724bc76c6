"""Spread of reliability on rows that fitted nothing: what it should be is put into made-up gaps."""

import numpy as np
import pytest

from clustcal.datasets import load_scores
from clustcal.experiments.deep import design, reliability_spread


def make_gaps(n, base_rate, shift, seed=0):
    """Outcomes of one rate, forecasts that are off by a share of their standard deviation, up or down by cluster."""
    rng = np.random.default_rng(seed)
    clusters = rng.integers(2, size=n)
    outcome = (rng.random(n) < base_rate).astype(float)
    off = shift * np.sqrt(base_rate * (1 - base_rate)) * (2 * clusters - 1)
    return outcome - base_rate + off, outcome, clusters


@pytest.mark.parametrize("base_rate", [0.05, 0.5])
@pytest.mark.parametrize("n", [4000, 40_000])
def test_the_excess_depends_neither_on_the_base_rate_nor_on_the_number_of_rows(base_rate, n):
    found = reliability_spread.measure_spread(*make_gaps(n, base_rate, 0.2))
    assert found["excess"] == pytest.approx(0.2, abs=0.04)


def test_the_ratio_is_that_of_as_many_rows_whatever_there_are():
    """Two equal clusters off by a share s: s over the mean of |N(0, 1)| / sqrt(n), which is sqrt(2 / pi) / sqrt(n)."""
    by_hand = 0.1 * np.sqrt(1022 * np.pi / 2)
    gaps = make_gaps(30_000, 0.5, 0.1)
    assert reliability_spread.measure_spread(*gaps)["equal_ratio"] == pytest.approx(by_hand, rel=0.2)
    by_hand = 0.1 * np.sqrt(30_000 * np.pi / 2)
    assert reliability_spread.measure_spread(*gaps, rows=30_000)["equal_ratio"] == pytest.approx(by_hand, rel=0.2)


def test_without_a_difference_there_is_what_chance_gives():
    ratios = [reliability_spread.measure_spread(*make_gaps(1000, 0.5, 0.0, seed))["equal_ratio"] for seed in range(20)]
    assert np.mean(ratios) == pytest.approx(1.0, abs=0.35)


def test_clusters_and_calibrator_are_those_of_the_other_half(outputs):
    """Of one of two groups the forecasts are noise, which clusters of the calibration half find on the test half."""
    cal, test = design.halve(design.prepare(outputs), 0)
    halves = {f"{key}_{half}": getattr(part, key) for half, part in (("cal", cal), ("test", test)) for key in "PyZ"}
    rows = reliability_spread.measure({"name": "emotion", "seed": 0, "layer": "cls"}, load=lambda name, seed: halves)
    assert [row["n_clusters"] for row in rows] == [4, 25]
    assert rows[0]["n"] == 300
    assert rows[0]["equal_ratio"] > 2


def test_stroke_has_as_many_test_rows_as_all_are_cut_to():
    assert len(load_scores("stroke").y_test) == reliability_spread.EQUAL_ROWS


def test_units_are_the_shipped_layers_in_five_splits():
    units = reliability_spread.find_units(["stroke", "imdb-overconfident"])
    assert {(unit["name"], unit["layer"]) for unit in units} >= {("stroke", "coverage"), ("imdb-overconfident", "cls")}
    assert {unit["seed"] for unit in units} == {0, 1, 2, 3, 4}
