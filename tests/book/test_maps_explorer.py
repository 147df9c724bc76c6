"""The explorer of maps in "Global calibrators": its arithmetic is that of the package, and it can be used."""

import json
import re

import numpy as np
import pytest
from book_sources import ROOT, source

from clustcal import BetaCalibration, PlattScaling, TemperatureScaling, metrics

CHAPTER = "foundations/global-calibrators"
SCRIPT = ROOT / "book/_assets/maps-explorer.js"
FAMILIES = {"temperature": TemperatureScaling, "platt": PlattScaling, "beta": BetaCalibration}
SCORES = [(1, 1), (0.5, 0.5), (1, 8), (4, 4)]


def js(value):
    return json.dumps(np.asarray(value).tolist())


@pytest.fixture(scope="module")
def world(evaluate):
    """Scores, their weights, and the truths of each kind on them, as the explorer has them."""

    def of(alpha, beta, truth):
        made = evaluate(f"mapsExplorer.distribution({alpha}, {beta})")
        p, w = np.array(made["scores"]), np.array(made["weights"])
        return p, w, np.array(evaluate(f"{js(p)}.map(mapsExplorer.TRUTHS.{truth})"))

    return of


def as_rows(p, w, truth):
    """Every score twice, once for each outcome, with the weights that make them a population."""
    return np.tile(p, 2), np.repeat([1, 0], len(p)), np.r_[w * truth, w * (1 - truth)]


@pytest.mark.parametrize(("alpha", "beta"), SCORES)
def test_weights_are_those_of_a_beta_density(world, alpha, beta):
    p, w, _ = world(alpha, beta, "wave")
    assert w.sum() == pytest.approx(1)
    assert w @ p == pytest.approx(alpha / (alpha + beta), abs=1e-3)


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("truth", ["temperature", "platt", "beta", "wave"])
def test_the_best_of_a_family_is_the_fit_of_the_package(world, evaluate, family, truth):
    p, w, t = world(1, 8, truth)
    theta = evaluate(f"mapsExplorer.fit('{family}', {js(p)}, {js(w)}, {js(t)})")
    rows, y, weights = as_rows(p, w, t)
    fitted = FAMILIES[family](prior=None).fit(rows, y, sample_weight=weights)
    mapped = evaluate(f"{js(p)}.map((p) => mapsExplorer.apply('{family}', {js(theta)}, p))")
    assert mapped == pytest.approx(fitted.predict_proba(p)[:, 1], abs=1e-5)


@pytest.mark.parametrize("truth", ["temperature", "platt", "beta"])
def test_a_family_finds_its_own_truth(world, evaluate, truth):
    p, w, t = world(1, 1, truth)
    theta = evaluate(f"mapsExplorer.fit('{truth}', {js(p)}, {js(w)}, {js(t)})")
    expected = {"temperature": [0.5], "platt": [0.7, -1], "beta": [0.2, 1.8, -1]}[truth]
    assert theta == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(("alpha", "beta"), SCORES)
def test_scores_are_those_of_the_package(world, evaluate, alpha, beta):
    p, w, t = world(alpha, beta, "wave")
    q = np.clip(p**1.3, 1e-6, 1 - 1e-6)
    found = evaluate(f"mapsExplorer.judge({js(w)}, {js(t)}, {js(q)})")
    _, y, weights = as_rows(p, w, t)
    forecast = np.tile(q, 2)
    assert found["nll"] == pytest.approx(metrics.log_loss(y, forecast, sample_weight=weights), abs=1e-12)
    assert found["brier"] == pytest.approx(metrics.brier(y, forecast, sample_weight=weights), abs=1e-12)
    assert found["mean"] == pytest.approx(w @ q)
    assert found["distance"] == pytest.approx(w @ np.abs(q - t))


def test_truths_are_those_of_the_chapter():
    text = source(CHAPTER).read_text(encoding="utf-8")
    script = SCRIPT.read_text(encoding="utf-8")
    for in_chapter, in_script in {
        "expit(logit(p) / 2)": "sigmoid(logit(p) / 2)",
        "expit(0.7 * logit(p) - 1)": "sigmoid(0.7 * logit(p) - 1)",
        "p + 0.07 * np.sin(4 * np.pi * p)": "p + 0.07 * Math.sin(4 * Math.PI * p)",
    }.items():
        assert in_chapter in text
        assert in_script in script


def test_every_control_has_a_label():
    panel = re.search(r'<section id="maps-explorer".*?</section>', source(CHAPTER).read_text(encoding="utf-8"), re.DOTALL)[0]
    controls = re.findall(r'<(?:input|select)[^>]* id="([^"]+)"', panel)
    assert len(controls) == 5
    assert sorted(re.findall(r'<label for="([^"]+)"', panel)) == sorted(controls)
    assert len(re.findall(r'<label><input type="radio"', panel)) == panel.count('type="radio"') == 3


@pytest.fixture(params=["light", "dark"])
def page(site, browser, request):
    browser.open((site / f"{CHAPTER}.html").as_uri(), width=390, scheme=request.param)
    browser.wait_for("!document.getElementById('maps-explorer').hidden")
    return browser


def cells(page, row):
    return page.run(f"[...document.querySelectorAll('#maps-explorer [data-row={row}] td')].map((e) => Number(e.textContent))")


def test_at_first_the_map_changes_nothing(page):
    assert cells(page, "map") == cells(page, "none")
    assert cells(page, "truth")[3] == 0


def test_the_keyboard_chooses_a_family_and_moves_a_slider(page):
    page.page.locator("[name=maps-family][value=temperature]").press("ArrowRight")
    page.wait_for("document.querySelector('[name=maps-family][value=platt]').checked")
    page.wait_for("!document.querySelector('#maps-c').disabled")
    page.page.locator("#maps-c").press("ArrowRight")
    page.wait_for("document.querySelector('output[for=maps-c]').textContent === '0.01'")
    assert cells(page, "map") != cells(page, "none")


def test_the_mouse_finds_the_best_of_a_family(page):
    page.page.get_by_role("button", name="Best of this family").click()
    page.wait_for("document.querySelector('#maps-explorer .explorer-verdict').dataset.best === 'true'")
    assert page.run("document.querySelector('output[for=maps-a]').textContent") == "0.50"
    assert cells(page, "map") == cells(page, "truth")
    page.page.get_by_role("button", name="A temperature for a rare event").click()
    assert cells(page, "best")[2] > cells(page, "truth")[2]
    page.page.locator("#maps-truth").select_option("wave")
    assert cells(page, "best")[0] > cells(page, "truth")[0]


def test_the_picture_says_in_words_what_the_table_says(page):
    words = page.run("document.querySelector('#maps-explorer .explorer-plot').getAttribute('aria-label')")
    assert f"{cells(page, 'map')[0] - cells(page, 'best')[0]:.4f}" in words


def test_the_panel_fits_a_phone(page):
    inside = "[...document.querySelectorAll('#maps-explorer *')].every((e) => e.getBoundingClientRect().right <= 390)"
    assert page.run(inside)


def test_words_can_be_read_in_their_colours(page, axe):
    from axe_checks import faults_of_colour

    assert faults_of_colour(page, axe, set()) == []
