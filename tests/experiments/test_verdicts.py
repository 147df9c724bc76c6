"""The verdict on one number: what matches, what is near enough, what is better, and what chance alone allows."""

import numpy as np
import pandas as pd
import pytest

from clustcal.experiments.verdicts import Computed, find_noise, find_tolerance, judge


def claim(rule="half digit or 2 SD", value=0.30, half_digit=0.005):
    (row,) = pd.DataFrame([{"rule": rule, "value": value, "half_digit": half_digit}]).itertuples()
    return row


class TestRules:
    @pytest.mark.parametrize(("ours", "verdict"), [(0.3049, "match"), (0.305, "match"), (0.2951, "match")])
    def test_match_is_half_a_printed_digit(self, ours, verdict):
        assert judge(0.30, ours, tolerance=0.1, half_digit=0.005) == verdict

    def test_within_tolerance_is_farther_than_half_a_digit(self):
        assert judge(0.30, 0.3051, tolerance=0.006, half_digit=0.005) == "within tolerance"
        assert judge(0.30, 0.3061, tolerance=0.006, half_digit=0.005) == "differs"

    @pytest.mark.parametrize(
        ("better", "ours", "verdict"),
        [
            ("lower", 0.2, "better"),
            ("lower", 0.4, "differs"),
            ("higher", 0.4, "better"),
            ("higher", 0.2, "differs"),
            ("", 0.2, "differs"),
            ("", 0.4, "differs"),
        ],
    )
    def test_better_needs_a_direction(self, better, ours, verdict):
        assert judge(0.30, ours, tolerance=0.01, half_digit=0.005, better=better) == verdict

    def test_tolerance_is_the_larger_of_half_a_digit_and_two_sd(self):
        assert find_tolerance(claim(), Computed(0.3, 0.01)) == 0.02
        assert find_tolerance(claim(), Computed(0.3, 0.001)) == 0.005
        assert find_tolerance(claim(), Computed(0.3)) == 0.005

    def test_counts_have_no_tolerance_beyond_their_digit(self):
        assert find_tolerance(claim("half digit", 36.0, 0.5), Computed(30.0, 5.0)) == 0.5

    @pytest.mark.parametrize(("ours", "verdict"), [(0.19, "within tolerance"), (0.051, "within tolerance")])
    def test_seconds_may_be_off_by_a_factor_of_two(self, ours, verdict):
        tolerance = find_tolerance(claim("factor 2", 0.1, 0.0005), Computed(ours))
        assert judge(0.1, ours, tolerance, 0.0005, "lower") == verdict

    @pytest.mark.parametrize(("ours", "verdict"), [(0.21, "differs"), (0.049, "better")])
    def test_seconds_farther_off_differ_or_are_better(self, ours, verdict):
        tolerance = find_tolerance(claim("factor 2", 0.1, 0.0005), Computed(ours))
        assert judge(0.1, ours, tolerance, 0.0005, "lower") == verdict

    def test_without_a_value_there_is_no_tolerance(self):
        assert np.isnan(find_tolerance(claim(), None))


class TestNoise:
    def test_two_means_with_the_same_error_reach_this_far_by_chance(self):
        """Of pairs of means over five seeds about 5 % are farther apart than t times the error of their difference."""
        rng = np.random.default_rng(0)
        theirs, ours = rng.normal(size=(2, 20_000, 5))
        error = ours.std(axis=1, ddof=1) / np.sqrt(5)
        reach = np.array([find_noise(Computed(0.0, error=e), 0.0) for e in error])
        beyond = np.abs(ours.mean(axis=1) - theirs.mean(axis=1)) > reach
        assert 0.03 < beyond.mean() < 0.07

    def test_one_split_of_the_papers_scatters_more(self):
        rng = np.random.default_rng(0)
        ours = rng.normal(size=(20_000, 5))
        error = ours.std(axis=1, ddof=1) / np.sqrt(5)
        reach = np.array([find_noise(Computed(0.0, error=e), 0.0, of_one_split=True) for e in error])
        beyond = np.abs(ours.mean(axis=1) - rng.normal(size=20_000)) > reach
        assert 0.04 < beyond.mean() < 0.06

    def test_half_a_digit_is_always_allowed(self):
        assert find_noise(Computed(0.3, error=0.0), 0.005) == 0.005
        assert np.isnan(find_noise(Computed(0.3), 0.005))
        assert np.isnan(find_noise(None, 0.005))
