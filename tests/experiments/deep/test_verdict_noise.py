"""The noise of a verdict is that of a paired interval, against one worked out by hand."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from clustcal.experiments.deep import verdict_noise


def test_the_interval_takes_into_account_that_halves_share_rows():
    """Nadeau and Bengio with as many rows to test as to calibrate: variance times 1 / n + 1."""
    values = [0.1, 0.2, 0.4, 0.1, 0.3]
    mean, half_width = verdict_noise.find_interval(values)
    by_hand = stats.t.ppf(0.975, 4) * np.std(values, ddof=1) * np.sqrt(1 / 5 + 1)
    assert (mean, half_width) == (pytest.approx(0.22), pytest.approx(by_hand))


def test_a_difference_whose_interval_contains_zero_is_within_noise():
    one = np.array([0.30, 0.31, 0.32])
    assert verdict_noise.describe_sign(one, one - [0.01, -0.01, 0.02])[1] == "within noise"
    assert verdict_noise.describe_sign(one, one - [0.0100, 0.0101, 0.0102])[1] == ""


def test_what_is_called_equal_has_two_borders():
    one = np.array([0.30, 0.31, 0.32])
    assert verdict_noise.describe_sign(one, one - 0.0001, margin=0.0005)[1] == ""
    assert verdict_noise.describe_sign(one, one - [0.0001, 0.0011, -0.0009], margin=0.0005)[1] == "within noise"


def test_a_ratio_near_one_of_its_borders_is_within_noise():
    two = np.ones(5)
    near = two - [0.14, 0.15, 0.16, 0.15, 0.14]  # printed .3: from .15 to .6
    assert verdict_noise.describe_ratio(near, two, 0.15, 0.6) == ("+0.14800 ± 0.02545", "within noise")
    assert verdict_noise.describe_ratio(two - [0.3, 0.31, 0.29, 0.3, 0.3], two, 0.15, 0.6)[1] == ""


def test_one_split_has_no_interval():
    assert verdict_noise.describe_sign([0.3], [0.2]) == ("+0.10000", "one split")


def test_a_place_is_held_against_the_nearest_on_the_other_side():
    nll = {"A": [0.30, 0.31, 0.30], "B": [0.29, 0.32, 0.30], "C": [0.5, 0.5, 0.5]}
    lines = [{"method": name, "seed": seed, "nll": v} for name, vs in nll.items() for seed, v in enumerate(vs)]
    table = pd.DataFrame(lines)
    assert verdict_noise.describe_place(table, "NLL", "A", ["B"], list(nll))[1] == "within noise"
    difference, noise = verdict_noise.describe_place(table, "NLL", "A", ["C"], list(nll))
    assert noise == ""
    assert difference.startswith("+0.19667")
    assert verdict_noise.describe_place(table, "NLL", "A", list(nll), list(nll)) == ("", "")
