"""Forecasts of three classes in a triangle: where points stand, and where arrows lead."""

import numpy as np
import pytest

from clustcal import plots
from tests.plots.legends import legend_texts


def test_the_simplex_has_certainty_in_its_corners_and_ignorance_in_the_middle():
    ax = plots.plot_simplex([[1, 0, 0], [0, 1, 0], [0, 0, 1], [1 / 3, 1 / 3, 1 / 3]])
    points = np.asarray(ax.collections[0].get_offsets())
    assert points[:3] == pytest.approx(np.array([[0, 0], [1, 0], [0.5, 0.75**0.5]]))
    assert points[3] == pytest.approx(points[:3].mean(axis=0))


def test_the_simplex_shows_a_probability_as_the_height_above_the_opposite_side():
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(3), 20)
    points = np.asarray(plots.plot_simplex(P).collections[0].get_offsets())
    assert points[:, 1] / 0.75**0.5 == pytest.approx(P[:, 2])


def test_the_simplex_gives_every_class_its_rows():
    P = np.eye(3)[[0, 0, 1, 2]]
    ax = plots.plot_simplex(P, ["a", "a", "b", "c"])
    assert legend_texts(ax) == ["a (n = 2)", "b (n = 1)", "c (n = 1)"]
    assert [len(drawn.get_offsets()) for drawn in ax.collections] == [2, 1, 1]


def test_arrows_of_the_simplex_lead_from_one_forecast_to_the_other():
    P, Q = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]]), np.array([[0.3, 0.3, 0.4], [0.5, 0.3, 0.2]])
    (arrows,) = plots.plot_simplex(P, moved_to=Q).collections
    ends = plots.plot_simplex(Q).collections[0].get_offsets()
    assert np.asarray(arrows.get_offsets()) + np.column_stack([arrows.U, arrows.V]) == pytest.approx(np.asarray(ends))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([[0.5, 0.5]],), "P has 2 columns; expected 3"),
        ((np.eye(3), ["a", "b"]), "labels"),
        ((np.eye(3), None, {"class_names": ["a", "b"]}), "class_names is .*; expected three names"),
        ((np.eye(3), None, {"moved_to": np.eye(3)[:2]}), "moved_to"),
    ],
)
def test_the_simplex_refuses_what_is_no_forecast_of_three_classes(arguments, message):
    *given, more = arguments if isinstance(arguments[-1], dict) else (*arguments, {})
    with pytest.raises(ValueError, match=message):
        plots.plot_simplex(*given, **more)
