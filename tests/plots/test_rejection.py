"""Rejection curves: drawn as given, and told apart."""

import pytest

from clustcal.metrics import rejection_curve
from clustcal.plots import plot_rejection_curves
from tests.plots.legends import legend_texts


def test_rejection_curves_are_drawn_as_given_with_markers_of_their_own(data):
    y, p = data
    curves = {"base": rejection_curve(y, p), "other": rejection_curve(y, p**2)}
    ax = plot_rejection_curves(curves)
    assert legend_texts(ax) == ["base", "other"]
    for line, curve in zip(ax.lines, curves.values(), strict=True):
        assert line.get_ydata() == pytest.approx(curve.error)
    assert len({line.get_marker() for line in ax.lines}) == 2
    assert ax.get_ylim()[0] == 0


def test_rejection_curves_with_limits_get_a_band(data):
    curve = rejection_curve(*data)
    curve.low, curve.high = curve.error - 0.01, curve.error + 0.01
    assert len(plot_rejection_curves({"base": curve}).collections) == 1


def test_no_rejection_curve_is_refused():
    with pytest.raises(ValueError, match="curves is empty"):
        plot_rejection_curves({})
