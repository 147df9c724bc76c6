"""Figures of the diagnostics: what is drawn where, and that it is what the metrics say."""

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

from clustcal import metrics, plots


@pytest.fixture(autouse=True)
def _without_a_window_and_with_clean_settings():
    with plt.rc_context(), plt.rc_context({"backend": "agg"}):
        yield
    plt.close("all")


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 2, size=600)
    return (rng.random(600) < p**1.5).astype(int), p


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


# CORP ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("band", ["consistency", "confidence"])
def test_the_corp_diagram_draws_curve_and_band(data, band):
    ax = plots.plot_corp_diagram(*data, band=band, n_resamples=50, name="model")
    curve = metrics.corp_curve(*data, band=band, n_resamples=50)
    line = next(line for line in ax.lines if line.get_label() == "model")
    assert line.get_xdata() == pytest.approx(curve.forecast)
    assert line.get_ydata() == pytest.approx(curve.frequency)
    assert legend_texts(ax) == ["perfect calibration", "model", f"95 % {band} band"]
    (drawn,) = ax.collections
    heights = drawn.get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == pytest.approx((curve.low.min(), curve.high.max()))


def test_the_corp_diagram_says_the_parts_of_the_score(data):
    parts = metrics.corp_decomposition(*data, score="log_loss")
    (text,) = plots.plot_corp_diagram(*data, score="log_loss", band=None).texts
    assert text.get_text() == (
        f"MCB {parts.miscalibration:.3f}\nDSC {parts.discrimination:.3f}\nUNC {parts.uncertainty:.3f}"
    )
    without = plots.plot_corp_diagram(*data, score=None, band=None)
    assert (list(without.texts), list(without.collections)) == ([], [])


def test_corp_diagrams_share_axes(data):
    y, p = data
    ax = plots.plot_corp_diagram(y, p, band=None, name="one", score=None)
    plots.plot_corp_diagram(y, p**1.5, band=None, name="other", score=None, ax=ax)
    assert legend_texts(ax) == ["perfect calibration", "one", "other"]
    assert ax.get_xlim() == ax.get_ylim() == (0, 1)


def test_a_limit_that_shows_nothing_is_refused(data):
    with pytest.raises(ValueError, match="limit is 0"):
        plots.plot_corp_diagram(*data, limit=0)


# Decisions ----------------------------------------------------------------------------------------------------


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


# Groups, pairs and parts --------------------------------------------------------------------------------------


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


FIGURES = {
    "corp": lambda y, p: plots.plot_corp_diagram(y, p, n_resamples=20),
    "decisions": lambda y, p: plots.plot_decision_curves({"model": metrics.decision_curve(y, p)}),
    "costs": lambda y, p: plots.plot_cost_curves({"model": metrics.cost_curve(y, p)}),
    "groups": lambda y, p: plots.plot_group_errors(metrics.multicalibration_error(y, p, y, n_draws=5)),
    "pairs": lambda y, p: plots.plot_calibration_differences(metrics.compare_calibration(y, {"a": p, "b": p / 2})),
    "parts": lambda y, p: plots.plot_score_parts({"model": metrics.refinement_decomposition(y, p)}),
    "classes": lambda y, p: plots.ReliabilityDisplay.from_predictions(y, p, kind="classwise").ax_,
}


@pytest.mark.parametrize("draw", FIGURES.values(), ids=FIGURES)
def test_text_is_of_10_points_and_inside_of_the_figure(data, draw):
    with plots.style():
        figure = draw(*data).figure
        figure.canvas.draw()
        sizes = [t.get_fontsize() for t in figure.findobj(mpl.text.Text) if t.get_text() and t.get_visible()]
    assert min(sizes) >= 10
    inside, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
    assert min(inside.x0, inside.y0) >= -0.02
    assert inside.x1 <= width + 0.02
    assert inside.y1 <= height + 0.02
