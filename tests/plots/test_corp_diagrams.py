"""CORP diagrams: curve, band and parts are what the metrics say."""

import pytest

from clustcal import metrics, plots
from tests.plots.legends import legend_texts


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
