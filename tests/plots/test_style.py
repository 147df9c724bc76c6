"""The look of all figures: colours, line styles, grounds, and where it begins and ends."""

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.colors import to_hex

from clustcal import metrics, plots
from clustcal.plots import style, use_style
from clustcal.plots._style import MARKERS, check_axes, check_results, next_look

OKABE_ITO = {"#000000", "#e69f00", "#56b4e9", "#009e73", "#0072b2", "#d55e00", "#cc79a7"}


def test_the_cycle_is_okabe_itos_and_its_first_four_differ_in_line_style_too():
    with style():
        cycle = list(mpl.rcParams["axes.prop_cycle"])
    assert {to_hex(entry["color"]) for entry in cycle} == OKABE_ITO
    assert len({entry["linestyle"] for entry in cycle[:4]}) == 4


def test_grounds_are_white_and_opaque():
    with style():
        for key in ("figure.facecolor", "axes.facecolor", "savefig.facecolor"):
            assert to_hex(mpl.rcParams[key]) == "#ffffff"
        assert not mpl.rcParams["savefig.transparent"]


def test_the_style_ends_with_its_context_and_stays_after_use_style():
    before = mpl.rcParams["axes.spines.top"]
    with style():
        assert mpl.rcParams["axes.spines.top"] is False
    assert mpl.rcParams["axes.spines.top"] == before
    use_style()
    assert mpl.rcParams["axes.spines.top"] is False


def test_importing_the_plots_does_not_start_pyplot():
    code = "import sys, clustcal.plots; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_all_that_is_offered_exists():
    assert all(callable(getattr(plots, name)) for name in plots.__all__)


FIGURES = {
    "diagram": lambda y, p: plots.ReliabilityDisplay.from_predictions(y, p, name="model").ax_,
    "classes": lambda y, p: plots.ReliabilityDisplay.from_predictions(y, p, kind="classwise").ax_,
    "bars": lambda y, p: plots.plot_reliability_bars(y, p),
    "rejection": lambda y, p: plots.plot_rejection_curves({"model": metrics.rejection_curve(y, p)}),
    "clusters": lambda y, p: plots.plot_clusters(np.eye(2), [0, 1]),
    "pipeline": lambda y, p: plots.plot_pipeline(),
    "corp": lambda y, p: plots.plot_corp_diagram(y, p, n_resamples=20),
    "decisions": lambda y, p: plots.plot_decision_curves({"model": metrics.decision_curve(y, p)}),
    "costs": lambda y, p: plots.plot_cost_curves({"model": metrics.cost_curve(y, p)}),
    "groups": lambda y, p: plots.plot_group_errors(metrics.multicalibration_error(y, p, y, n_draws=5)),
    "pairs": lambda y, p: plots.plot_calibration_differences(metrics.compare_calibration(y, {"a": p, "b": p / 2})),
    "simplex": lambda y, p: plots.plot_simplex(np.column_stack([p / 2, p / 2, 1 - p]), y),
    "parts": lambda y, p: plots.plot_score_parts({"model": metrics.refinement_decomposition(y, p)}),
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


def test_every_figure_is_looked_at():
    drawn = {name for draw in FIGURES.values() for name in draw.__code__.co_names}
    offered = {name for name in plots.__all__ if name not in ("style", "use_style")}
    assert offered <= drawn


def test_markers_differ_from_their_neighbours_when_colours_come_round_again():
    looks = [(number % len(MARKERS), next_look(number)["marker"]) for number in range(len(MARKERS) ** 2)]
    assert len(set(looks)) == len(MARKERS) ** 2


@pytest.mark.parametrize(
    ("results", "several", "message"),
    [
        ({}, True, "curves is empty"),
        ({"model": {"a": 1}}, True, "curves lacks 'b'"),
        ({"model": 3}, True, "curves lacks 'a'"),
        ({"a": 1}, False, "curves lacks 'b'"),
        ([{"a": 1, "b": 2}], True, "curves lacks 'a'; expected a mapping from names"),
    ],
)
def test_results_without_what_is_drawn_are_refused(results, several, message):
    with pytest.raises(ValueError, match=message):
        check_results("curves", results, "a", "b", several=several)
    check_results("curves", {"model": {"a": 1, "b": 2}}, "a", "b")


def test_axes_of_another_kind_are_refused():
    with pytest.raises(ValueError, match="ax is 3; expected Axes of matplotlib"):
        check_axes(3)
    check_axes(None)
