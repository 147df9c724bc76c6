"""Errors of groups, differences of pairs and parts of scores: drawn as the metrics say."""

import numpy as np
import pytest

from clustcal import metrics, plots
from tests.plots.legends import legend_texts


def test_errors_of_groups_stand_beside_those_of_chance(data):
    y, p = data
    result = metrics.multicalibration_error(y, p, np.arange(600) % 3, n_draws=20, confidence_level=0.9)
    ax = plots.plot_group_errors(result)
    assert ax.lines[0].get_xdata() == pytest.approx(result.table["error"])
    limits, means = ax.containers
    assert [bar.get_width() for bar in limits] == pytest.approx(result.table["chance_high"])
    assert [bar.get_width() for bar in means] == pytest.approx(result.table["chance"])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["0 (200)", "1 (200)", "2 (200)"]
    assert legend_texts(ax) == ["error", "90 % of errors by chance", "mean error by chance"]


def test_differences_of_pairs_are_drawn_with_their_intervals(data):
    y, p = data
    result = metrics.compare_calibration(y, {"a": p, "b": p**2, "c": p**3}, n_draws=10)
    ax = plots.plot_calibration_differences(result)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["a - b", "a - c", "b - c"]
    ((_, _, (bars,)),) = ax.containers
    ends = np.array([segment[:, 0] for segment in bars.get_segments()])
    assert ends == pytest.approx(result.pairs[["low", "high"]].to_numpy())


def test_parts_of_a_score_are_stacked(data):
    y, p = data
    parts = {"model": metrics.refinement_decomposition(y, p), "other": metrics.refinement_decomposition(y, p**2)}
    ax = plots.plot_score_parts(parts)
    refinement, calibration = ax.containers[:2]
    for bar, rest, part in zip(refinement, calibration, parts.values(), strict=True):
        assert bar.get_width() == pytest.approx(part.refinement)
        assert (rest.get_x(), rest.get_width()) == pytest.approx((part.refinement, part.calibration))


def test_parts_without_names_are_refused(data):
    for bad in ({}, metrics.refinement_decomposition(*data), [1]):
        with pytest.raises(ValueError, match="parts is no mapping from names to decompositions"):
            plots.plot_score_parts(bad)
