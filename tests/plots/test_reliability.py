"""Reliability diagrams and bars: points, bands, panels and words are those of the curve."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from scipy import stats
from sklearn.linear_model import LogisticRegression

from clustcal.metrics import reliability_curve
from clustcal.plots import ReliabilityDisplay, plot_reliability_bars, style
from tests.plots.legends import legend_texts


def test_points_are_those_of_the_reliability_curve(data):
    display = ReliabilityDisplay.from_predictions(*data, n_bins=7, strategy="quantile")
    curve = reliability_curve(*data, n_bins=7, strategy="quantile")
    assert display.line_.get_xdata() == pytest.approx(curve.confidence)
    assert display.line_.get_ydata() == pytest.approx(curve.frequency)


def test_axes_are_square_on_the_canvas_and_show_all_probabilities(data):
    display = ReliabilityDisplay.from_predictions(*data)
    display.figure_.canvas.draw()
    box = display.ax_.get_window_extent()
    assert box.width == pytest.approx(box.height, rel=1e-3)
    assert display.ax_.get_xlim() == display.ax_.get_ylim() == (0, 1)


def test_the_panel_of_counts_lies_below_and_is_as_wide(data):
    display = ReliabilityDisplay.from_predictions(*data)
    display.figure_.canvas.draw()
    diagram, panel = display.ax_.get_window_extent(), display.counts_ax_.get_window_extent()
    assert (panel.x0, panel.x1) == pytest.approx((diagram.x0, diagram.x1), abs=0.5)
    assert panel.y1 < diagram.y0


def test_nothing_is_cut_off_also_in_a_grid(data):
    with style():
        figure, axes = plt.subplots(1, 3, figsize=(10, 4))
        for ax in axes:
            ReliabilityDisplay.from_predictions(*data, ax=ax, band=None)
        figure.canvas.draw()
    inside = figure.get_tightbbox()
    width, height = figure.get_size_inches()
    assert min(inside.x0, inside.y0) >= -0.01
    assert inside.x1 <= width + 0.01
    assert inside.y1 <= height + 0.01


def test_the_panel_shows_the_weight_of_each_bin():
    display = ReliabilityDisplay.from_predictions([0, 1, 1], [0.1, 0.9, 0.8], n_bins=3, sample_weight=[1, 2, 4])
    assert display.counts_ax_.patches[-1].get_data().values.tolist() == [1, 0, 6]


def test_the_panel_can_be_left_out(data):
    display = ReliabilityDisplay.from_predictions(*data, counts=False)
    assert display.counts_ax_ is None
    assert display.figure_.axes == [display.ax_]
    assert display.ax_.get_xlabel() == "Mean predicted probability"


def test_axes_placed_by_hand_get_no_panel(data):
    ax = plt.figure().add_axes([0.1, 0.1, 0.8, 0.8])
    assert ReliabilityDisplay.from_predictions(*data, ax=ax).counts_ax_ is None


def test_methods_on_the_same_axes_share_panel_and_diagonal_and_differ_in_colour_and_marker(data):
    y, p = data
    first = ReliabilityDisplay.from_predictions(y, p, name="before")
    second = ReliabilityDisplay.from_predictions(y, p**1.5, name="after", ax=first.ax_)
    assert second.counts_ax_ is first.counts_ax_
    assert len(first.figure_.axes) == 2
    assert legend_texts(first.ax_) == ["before", "after", "perfect calibration", "95 % Clopper-Pearson band"]
    assert first.line_.get_color() != second.line_.get_color()
    assert first.line_.get_marker() != second.line_.get_marker()


def test_the_band_covers_the_points_and_is_wider_where_rows_are_few(data):
    display = ReliabilityDisplay.from_predictions(*data, interval="bootstrap")
    low, high = display.band
    curve = display.curve
    assert (low <= curve.frequency).all()
    assert (curve.frequency <= high).all()
    expected = 2 * 1.96 * np.sqrt(curve.frequency * (1 - curve.frequency) / curve.count)
    full = curve.count > 30
    assert (high - low)[full] == pytest.approx(expected[full], rel=0.35)


def test_the_band_weighs_rows_as_the_points_do(data):
    weights = np.where(data[0] == 1, 3.0, 0.5)
    display = ReliabilityDisplay.from_predictions(*data, sample_weight=weights)
    low, high = display.band
    assert ((low <= display.curve.frequency) & (display.curve.frequency <= high)).all()


def test_the_band_is_seeded(data):
    bands = [
        ReliabilityDisplay.from_predictions(*data, interval="bootstrap", random_state=seed).band for seed in (1, 1, 2)
    ]
    assert np.array_equal(bands[0], bands[1])
    assert not np.array_equal(bands[0], bands[2])


def test_the_band_can_be_left_out_and_its_level_is_named(data):
    without = ReliabilityDisplay.from_predictions(*data, band=None)
    assert without.band_ is None
    assert legend_texts(without.ax_) == ["perfect calibration"]
    assert "80 % Clopper-Pearson band" in legend_texts(ReliabilityDisplay.from_predictions(*data, band=0.8).ax_)
    for interval, name in [("wilson", "Wilson"), ("bootstrap", "bootstrap")]:
        display = ReliabilityDisplay.from_predictions(*data, interval=interval)
        assert f"95 % {name} band" in legend_texts(display.ax_)


def test_the_band_is_clopper_and_pearsons_also_where_nothing_occurred():
    y, p = np.zeros(128, int), np.full(128, 0.01)
    low, high = ReliabilityDisplay.from_predictions(y, p, labels=[0, 1]).band
    exact = stats.binomtest(0, 128).proportion_ci(0.95, "exact")
    assert (low[0], high[0]) == pytest.approx(tuple(exact))


def test_one_class_of_many_is_what_the_diagram_speaks_of():
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(4), 300)
    y = np.array(list("abcd"))[[rng.choice(4, p=row) for row in P]]
    display = ReliabilityDisplay.from_predictions(y, P, pos_label="c")
    of_c = reliability_curve((y == "c").astype(int), P[:, 2])
    assert display.line_.get_ydata() == pytest.approx(of_c.frequency)
    assert display.counts_ax_.get_xlabel() == "Mean predicted probability of c"


def test_all_classes_fit_into_one_diagram():
    rng = np.random.default_rng(0)
    P = rng.dirichlet(np.ones(4), 300)
    y = np.array(list("abcd"))[[rng.choice(4, p=row) for row in P]]
    display = ReliabilityDisplay.from_predictions(y, P, kind="classwise")
    for label, column in zip("abcd", P.T, strict=True):
        of_class = reliability_curve((y == label).astype(int), column)
        assert display.line_[label].get_ydata() == pytest.approx(of_class.frequency)
        assert display.band[label][0] == pytest.approx(of_class.low)
    assert legend_texts(display.ax_) == [*"abcd", "perfect calibration", "95 % Clopper-Pearson intervals"]


def test_twenty_lines_look_different(data):
    P = np.random.default_rng(0).dirichlet(np.ones(20), 400)
    y = np.arange(400) % 20
    with style():
        display = ReliabilityDisplay.from_predictions(y, P, kind="classwise")
    assert len({(line.get_color(), line.get_marker()) for line in display.line_.values()}) == 20


def test_a_merged_curve_is_drawn_with_its_intervals(data):
    y, p = data
    merged = reliability_curve(y[:200], p[:200]).merge(reliability_curve(y[200:], p[200:]))
    display = ReliabilityDisplay.from_curve(merged, name="batches")
    whole = ReliabilityDisplay.from_predictions(y, p)
    assert display.line_.get_ydata() == pytest.approx(whole.line_.get_ydata())
    assert np.array_equal(display.band, whole.band)
    assert legend_texts(display.ax_) == ["batches", "perfect calibration", "95 % Clopper-Pearson band"]


def test_a_single_bin_still_shows_its_band():
    display = ReliabilityDisplay.from_predictions([0, 1, 1, 0], [0.5] * 4)
    (segment,) = display.band_.get_segments()
    assert segment[1, 1] > segment[0, 1]


def test_axes_say_which_probability_is_meant(data):
    y, p = data
    positive = ReliabilityDisplay.from_predictions(np.where(y == 1, "ill", "well"), p, pos_label="ill")
    assert positive.ax_.get_ylabel() == "Observed frequency of ill"
    assert positive.counts_ax_.get_xlabel() == "Mean predicted probability of ill"
    top = ReliabilityDisplay.from_predictions(y, p, kind="top-label")
    assert (top.counts_ax_.get_xlabel(), top.ax_.get_ylabel()) == ("Mean confidence", "Accuracy")


def test_rare_events_can_be_looked_at_closely(data):
    y, p = data
    display = ReliabilityDisplay.from_predictions(y, p, limit=0.3)
    assert display.ax_.get_xlim() == display.ax_.get_ylim() == display.counts_ax_.get_xlim() == (0, 0.3)


def test_from_estimator_predicts_names_and_knows_the_classes(data):
    y, p = data
    words = np.where(y == 1, "yes", "no")
    model = LogisticRegression().fit(p[:, None], words)
    display = ReliabilityDisplay.from_estimator(model, p[:, None], words, band=None)
    curve = reliability_curve(y, model.predict_proba(p[:, None])[:, 1])
    assert display.line_.get_ydata() == pytest.approx(curve.frequency)
    assert legend_texts(display.ax_)[0] == "LogisticRegression"


def test_from_estimator_asks_for_probabilities():
    with pytest.raises(ValueError, match="no predict_proba"):
        ReliabilityDisplay.from_estimator(object(), [[0]], [0])


def test_a_display_can_be_drawn_again(data):
    display = ReliabilityDisplay.from_predictions(*data, name="model")
    first = display.ax_
    assert display.plot(name="again").ax_ is not first
    assert legend_texts(display.ax_)[0] == "again"


@pytest.mark.parametrize(
    ("kwargs", "message"),
    [({"band": 95}, "band is 95"), ({"limit": 0}, "limit is 0"), ({"interval": "wald"}, "interval is 'wald'")],
)
def test_options_that_make_no_figure_are_refused(data, kwargs, message):
    with pytest.raises(ValueError, match=message):
        ReliabilityDisplay.from_predictions(*data, **kwargs)


def test_bars_stand_in_pairs_of_prediction_and_frequency(data):
    ax = plot_reliability_bars(*data, n_bins=5, name="before")
    curve = reliability_curve(*data, n_bins=5)
    predicted, observed, reach = ax.containers
    assert [bar.get_height() for bar in predicted] == pytest.approx(curve.confidence)
    assert [bar.get_height() for bar in observed] == pytest.approx(curve.frequency)
    for left, right, k in zip(predicted, observed, curve.bin, strict=True):
        assert curve.edges[k] <= left.get_x() < right.get_x() < curve.edges[k + 1]
    assert legend_texts(ax) == ["mean predicted", "observed frequency", "95 % Clopper-Pearson interval"]
    (segments,) = reach[2]
    drawn = np.array([segment[:, 1] for segment in segments.get_segments()])
    assert drawn == pytest.approx(np.column_stack([curve.low, curve.high]))
    assert len(plot_reliability_bars(*data, band=None).containers) == 2
    assert ax.get_title() == "before"


def test_bars_are_orange_and_blue_as_in_the_paper_and_differ_without_colour(data):
    predicted, observed, _ = plot_reliability_bars(*data).containers
    red, _, blue = to_rgb(predicted[0].get_facecolor())
    assert red > blue
    red, _, blue = to_rgb(observed[0].get_facecolor())
    assert blue > red
    assert observed[0].get_hatch() != predicted[0].get_hatch()
