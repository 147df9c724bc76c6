"""The explorer of bins in "Measuring it": its numbers are those of integrals and of the package, and it can be used."""

import json
import re

import numpy as np
import pytest
from book_sources import ROOT, source
from scipy import integrate, stats
from scipy.special import expit, logit

from clustcal import metrics

CHAPTER = "foundations/measuring-it"
SCRIPT = ROOT / "book/_assets/bins-explorer.js"
SCORES = {
    "uniform": lambda u: u,
    "rare": lambda u: 0.4 * u**3,
    "confident": lambda u: np.sin(np.pi * u / 2) ** 2,
}
TRUTHS = {
    "calibrated": lambda s: s,
    "wave": lambda s: s + 0.1 * np.sin(10 * np.pi * s),
    "power": lambda s: s**1.2,
    "extreme": lambda s: expit(0.6 * logit(s)),
}
CASES = [
    ("uniform", "calibrated", "mass", 15, 1000),
    ("uniform", "wave", "width", 5, 30_000),
    ("uniform", "wave", "width", 40, 300),
    ("rare", "extreme", "width", 10, 1000),
    ("rare", "extreme", "mass", 10, 1000),
    ("confident", "power", "mass", 30, 3000),
]


def settings(scores, truth, kind, n_bins, n):
    return {"scores": scores, "truth": truth, "kind": kind, "nBins": n_bins, "n": n}


def test_the_true_error_is_the_integral(evaluate):
    for scores in SCORES:
        for truth in TRUTHS:
            found = evaluate(f"binsExplorer.errors({json.dumps(settings(scores, truth, 'width', 10, 1000))})")["truth"]
            gap = lambda u: abs(TRUTHS[truth](SCORES[scores](u)) - SCORES[scores](u))
            assert found == pytest.approx(
                integrate.quad(gap, 0, 1, limit=500, points=np.linspace(0, 1, 21))[0], abs=2e-4
            )


def test_the_wave_of_the_chapter_has_the_error_that_the_chapter_states(evaluate):
    found = evaluate(f"binsExplorer.errors({json.dumps(settings('uniform', 'wave', 'width', 5, 1000))})")
    assert found["truth"] == pytest.approx(0.2 / np.pi, abs=1e-4)
    assert found["endless"] == pytest.approx(0, abs=1e-3)  # a whole wave in each bin


@pytest.mark.parametrize("case", CASES)
def test_endless_rows_in_bins_are_very_many_rows(evaluate, case):
    scores, truth, kind, n_bins, _ = case
    s = SCORES[scores]((np.arange(200_000) + 0.5) / 200_000)
    strategy = {"width": "uniform", "mass": "quantile"}[kind]
    # Each row stands twice, with what happens and what does not, weighted by the truth: no chance is left.
    y, weight = np.r_[np.ones_like(s), np.zeros_like(s)], np.r_[TRUTHS[truth](s), 1 - TRUTHS[truth](s)]
    expected = metrics.ece(y, np.r_[s, s], n_bins=n_bins, strategy=strategy, sample_weight=weight)
    found = evaluate(f"binsExplorer.errors({json.dumps(settings(*case))})")
    assert found["endless"] == pytest.approx(expected, abs=2e-3)
    assert found["endless"] <= found["truth"] + 1e-9
    assert found["endless"] <= found["rows"] + 1e-9


@pytest.mark.parametrize("case", CASES)
def test_the_mean_of_samples_is_what_the_panel_says_it_is(evaluate, case):
    scores, truth, kind, n_bins, n = case
    rng = np.random.default_rng(0)
    strategy = {"width": "uniform", "mass": "quantile"}[kind]
    drawn = []
    for _ in range(60):
        s = SCORES[scores](rng.uniform(size=n))
        drawn.append(metrics.ece(rng.random(n) < TRUTHS[truth](s), s, n_bins=n_bins, strategy=strategy))
    found = evaluate(f"binsExplorer.errors({json.dumps(settings(*case))})")["rows"]
    assert found == pytest.approx(np.mean(drawn), rel=0.05, abs=4 * np.std(drawn) / 60**0.5)


def test_mean_absolute_values_are_those_of_a_folded_normal_variable(evaluate):
    for mean, deviation in [(0.0, 1.0), (0.3, 0.2), (-0.05, 0.1), (2.0, 0.1), (0.4, 0.0)]:
        expected = stats.foldnorm.mean(abs(mean) / deviation, scale=deviation) if deviation else abs(mean)
        assert evaluate(f"binsExplorer.meanAbsolute({mean}, {deviation})") == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize("case", CASES)
def test_the_sample_has_the_ece_of_the_package_and_the_distribution_that_it_claims(evaluate, case):
    scores, truth, kind, n_bins, n = case
    call = f"(() => {{ const d = binsExplorer.draw({json.dumps(settings(*case) | {'seed': 7})}); "
    drawn = evaluate(call + f"return {{ ...d, ece: binsExplorer.ece(d, {n_bins}, '{kind}') }}; }})()")
    s, y = np.array(drawn["s"]), np.array(drawn["y"])
    strategy = {"width": "uniform", "mass": "quantile"}[kind]
    assert drawn["ece"] == pytest.approx(metrics.ece(y, s, n_bins=n_bins, strategy=strategy), abs=1e-12)
    population = SCORES[scores]((np.arange(100_000) + 0.5) / 100_000)
    assert len(s) == n
    assert stats.ks_2samp(s, population).pvalue > 1e-3
    z = (y - TRUTHS[truth](s)).sum() / np.sqrt((TRUTHS[truth](s) * (1 - TRUTHS[truth](s))).sum())
    assert abs(z) < 3.5


def test_every_control_has_a_label_and_the_panel_has_its_scripts_once():
    text = source(CHAPTER).read_text(encoding="utf-8")
    panel = re.search(r'<section id="bins-explorer".*?</section>', text, re.DOTALL)[0]
    controls = re.findall(r'<(?:input|select)[^>]* id="([^"]+)"', panel)
    assert sorted(re.findall(r'<label for="([^"]+)"', panel)) == sorted(controls)
    assert len(re.findall(r'<label><input type="radio"', panel)) == 2
    for script in ("explorer.js", "bins-explorer.js"):
        assert text.count(f'src="../_static/{script}"') == 1


@pytest.fixture(params=["light", "dark"])
def page(site, browser, request):
    browser.open((site / f"{CHAPTER}.html").as_uri(), width=390, scheme=request.param)
    browser.wait_for("!document.getElementById('bins-explorer').hidden")
    return browser


def value(page, row, column=1):
    text = page.run(f"document.querySelector('#bins-explorer [data-row={row}] td:nth-of-type({column})').textContent")
    return float(text.replace("\N{MINUS SIGN}", "-"))


def test_the_mouse_shows_a_wave_that_five_bins_hide(page):
    page.page.get_by_role("button", name="A wave in five bins").click()
    page.wait_for("document.querySelector('output[for=bins-number]').textContent === '5'")
    assert value(page, "truth") == pytest.approx(0.2 / np.pi, abs=5e-4)
    assert value(page, "endless") < 0.001
    assert page.run("document.querySelector('#bins-explorer .explorer-verdict').dataset.verdict") == "too low"


def test_the_keyboard_moves_the_number_of_bins_and_chooses_their_kind(page):
    page.page.get_by_role("button", name="A perfect forecast").click()
    before = value(page, "rows")
    page.page.locator("#bins-number").press("End")
    page.wait_for("document.querySelector('output[for=bins-number]').textContent === '60'")
    # The root of the number of bins, as in the formula of the chapter.
    assert value(page, "rows") / before == pytest.approx(2, abs=0.1)
    page.page.locator("#bins-explorer input[value=mass]").press("ArrowLeft")
    assert page.run("document.querySelector('#bins-explorer input[value=width]').checked")


def test_another_sample_changes_the_sample_and_nothing_else(page):
    before = [value(page, row) for row in ("truth", "endless", "rows", "sample")]
    page.page.get_by_role("button", name="Another sample").click()
    after = [value(page, row) for row in ("truth", "endless", "rows", "sample")]
    assert before[:3] == after[:3]
    assert before[3] != after[3]
    assert page.errors == []


def test_the_table_adds_up_and_the_picture_says_its_words(page):
    for row in ("endless", "rows", "sample"):
        assert value(page, row, 2) == pytest.approx(value(page, row) - value(page, "truth"), abs=2e-4)
    words = page.run("document.querySelector('#bins-explorer .explorer-plot').getAttribute('aria-label')")
    assert page.run("document.querySelector('#bins-explorer .explorer-verdict').textContent") in words


def test_the_panel_fits_a_phone(page):
    inside = "[...document.querySelectorAll('#bins-explorer *')].every((e) => e.getBoundingClientRect().right <= 390)"
    assert page.run(inside)


def test_words_can_be_read_in_their_colours(page, axe):
    from axe_checks import faults_of_colour

    assert faults_of_colour(page, axe, set()) == []
