"""Maps of clusters: colours, markers, counts."""

import numpy as np
import pytest

from clustcal.plots import plot_clusters
from tests.plots.legends import legend_texts


def test_clusters_differ_in_colour_and_marker_and_are_counted():
    ax = plot_clusters([[0, 0], [1, 0], [5, 5]], ["b", "b", "a"], axis_names=("age", "BMI"), centres=False)
    assert legend_texts(ax) == ["cluster a (n = 1)", "cluster b (n = 2)"]
    a, b = ax.collections
    assert a.get_offsets().tolist() == [[5, 5]]
    assert not np.array_equal(a.get_facecolor(), b.get_facecolor())
    assert len(a.get_paths()[0].vertices) != len(b.get_paths()[0].vertices)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("age", "BMI")


def test_memberships_are_drawn_as_their_largest():
    ax = plot_clusters([[0, 0], [1, 0]], [[0.9, 0.1], [0.2, 0.8]], names=["old", "young"])
    assert legend_texts(ax) == ["old (n = 1)", "young (n = 1)"]


@pytest.mark.parametrize(
    ("points", "clusters", "kwargs", "message"),
    [
        ([[0, 0, 0]], [0], {}, "points has shape"),
        ([[0, 0]], [0, 1], {}, "clusters has shape"),
        ([[0, 0]], [0], {"names": ["a", "b"]}, "names has 2 entries"),
    ],
)
def test_points_that_make_no_map_are_refused(points, clusters, kwargs, message):
    with pytest.raises(ValueError, match=message):
        plot_clusters(points, clusters, **kwargs)
