"""Decision and cost curves: drawn as the metrics say, beside doing without a forecast."""

import numpy as np
import pytest

from clustcal import metrics, plots
from tests.plots.legends import legend_texts


def test_decision_curves_are_drawn_beside_treating_all_and_none(data):
    y, p = data
    curves = {"one": metrics.decision_curve(y, p), "other": metrics.decision_curve(y, p**2)}
    ax = plots.plot_decision_curves(curves)
    assert legend_texts(ax) == ["one", "other", "treat all", "treat none"]
    for line, curve in zip(ax.lines, curves.values(), strict=False):
        assert line.get_ydata() == pytest.approx(curve.net_benefit)
    assert ax.lines[2].get_ydata() == pytest.approx(curves["one"].treat_all)
    assert len(ax.collections) == 2
    assert ax.get_ylim()[1] >= curves["one"].high.max()
    assert not plots.plot_decision_curves(curves, intervals=False).collections


def test_cost_curves_are_drawn_with_the_best_threshold_and_doing_without(data):
    y, p = data
    curve = metrics.cost_curve(y, p)
    ax = plots.plot_cost_curves({"model": curve})
    assert legend_texts(ax) == ["model", "model, best threshold", "no forecast"]
    heights = [line.get_ydata() for line in ax.lines]
    for drawn, expected in zip(heights, (curve.cost, curve.best), strict=False):
        assert drawn == pytest.approx(expected)
    assert heights[2] == pytest.approx(np.minimum(curve.treat_all, curve.treat_none))
    assert legend_texts(plots.plot_cost_curves({"model": curve}, best=False)) == ["model", "no forecast"]


@pytest.mark.parametrize("draw", [plots.plot_decision_curves, plots.plot_cost_curves])
def test_curves_without_names_are_refused(data, draw):
    with pytest.raises(ValueError, match="curves is empty"):
        draw({})
    for bare in (metrics.decision_curve(*data), [1, 2]):
        with pytest.raises(ValueError, match="curves is no mapping from names to curves"):
            draw(bare)
