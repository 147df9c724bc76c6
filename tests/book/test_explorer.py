"""The explorer of the chapter "When ECE mis-ranks": its arithmetic is that of the package, and it can be used."""

import json
import re

import numpy as np
import pytest
from book_sources import ROOT, source

from clustcal import metrics
from clustcal.core.probabilities import assign_bins, bin_edges

CHAPTER = "theory/when-ece-misranks"
SCRIPT = ROOT / "book/_assets/ece-explorer.js"


def settings(n=300):
    """Truths and forecasts as the sliders give them, in hundredths, many of them on the edges of bins."""
    rng = np.random.default_rng(0)
    values = rng.integers(1, 100, size=(n, 4)) / 100
    values[: n // 2] = rng.choice([0.1, 0.2, 0.25, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.9], size=(n // 2, 4))
    bins = rng.integers(1, 21, size=n)
    keys = ("pA", "pB", "qA", "qB")
    return [
        dict(zip(keys, map(float, row), strict=True)) | {"nBins": int(b)} for row, b in zip(values, bins, strict=True)
    ]


def by_the_package(p_a, p_b, q_a, q_b, n_bins):
    y, truth = np.array([1, 0, 1, 0]), np.repeat([p_a, p_b], 2)
    given = {"sample_weight": 0.5 * np.where(y == 1, truth, 1 - truth)}
    forecast = np.repeat([q_a, q_b], 2)
    return {
        "nll": metrics.log_loss(y, forecast, **given),
        "brier": metrics.brier(y, forecast, **given),
        "ece": metrics.ece(y, forecast, n_bins=n_bins, **given),
    }


def test_measures_are_those_of_the_package(evaluate):
    cases = settings()
    found = evaluate(f"{json.dumps(cases)}.map(eceExplorer.compare)")
    for case, one in zip(cases, found, strict=True):
        p_a, p_b, q_a, q_b, n_bins = case.values()
        assert one["after"] == pytest.approx(by_the_package(p_a, p_b, q_a, q_b, n_bins), abs=1e-12)
        middle = (p_a + p_b) / 2
        assert one["before"] == pytest.approx(by_the_package(p_a, p_b, middle, middle, n_bins), abs=1e-12)


def test_bins_are_those_of_the_package(evaluate):
    scores = np.arange(101) / 100
    for n_bins in range(1, 21):
        found = evaluate(f"{json.dumps(scores.tolist())}.map((q) => eceExplorer.binOf(q, {n_bins}))")
        assert found == assign_bins(scores, bin_edges(scores, n_bins)).tolist()


@pytest.mark.parametrize(
    ("forecast", "n_bins", "verdict"),
    [
        ((0.6, 0.4), 5, "reversal"),  # the paper's example
        ((0.6, 0.4), 3, "undecided"),  # both forecasts in one bin: the ECE stays 0
        ((0.6, 0.3), 1, "reversal"),  # errors of one sign: for any bins
        ((0.9, 0.1), 5, "agree"),  # worse by both
    ],
)
def test_verdict(evaluate, forecast, n_bins, verdict):
    case = {"pA": 0.7, "pB": 0.3, "qA": forecast[0], "qB": forecast[1], "nBins": n_bins}
    assert evaluate(f"eceExplorer.compare({json.dumps(case)})")["verdict"] == verdict


def test_every_control_has_a_label():
    text = source(CHAPTER).read_text(encoding="utf-8")
    controls = re.findall(r'<input [^>]*id="([^"]+)"', text)
    assert len(controls) == 5
    assert sorted(re.findall(r'<label for="([^"]+)"', text)) == sorted(controls)


@pytest.fixture(params=["light", "dark"])
def page(site, browser, request):
    browser.open((site / f"{CHAPTER}.html").as_uri(), width=390, scheme=request.param)
    browser.wait_for("!document.getElementById('ece-explorer').hidden")
    return browser


def verdict_on(page):
    return page.run("document.querySelector('.ece-verdict').dataset.verdict")


def test_the_page_starts_with_the_paper_s_example(page):
    assert verdict_on(page) == "reversal"
    cells = page.run("[...document.querySelectorAll('.ece-results td')].map((cell) => cell.textContent)")
    assert [cells[0], cells[1]] == ["0.6931", "0.6325"]


def test_the_keyboard_moves_a_slider(page):
    slider = page.page.locator("#ece-bins")
    slider.press("ArrowLeft")
    slider.press("ArrowLeft")
    page.wait_for("document.querySelector('output[for=ece-bins]').textContent === '3'")
    assert verdict_on(page) == "undecided"


def test_the_mouse_presses_a_button(page):
    page.page.locator(".ece-presets button:nth-child(4)").click()
    page.wait_for("document.querySelector('output[for=ece-qA]').textContent === '0.90'")
    assert verdict_on(page) == "agree"


def test_the_panel_fits_a_phone(page):
    inside = "[...document.querySelectorAll('#ece-explorer *')].every((e) => e.getBoundingClientRect().right <= 390)"
    assert page.run(inside)
