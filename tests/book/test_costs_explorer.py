"""The explorer of costs in "What calibration means": its numbers are those of the chapter, and it can be used."""

import json
import re

import explorer_data
import numpy as np
import pytest
from book_sources import ROOT, source

from clustcal import BetaCalibration, datasets, metrics

CHAPTER = "foundations/what-calibration-means"
SCRIPT = ROOT / "book/_assets/costs-explorer.js"


@pytest.fixture(scope="module")
def counts():
    return explorer_data.read("stroke-counts")


@pytest.fixture(scope="module")
def people():
    """Labels, raw scores and calibrated scores of the test parts of five splits, as in the chapter."""
    splits = [datasets.load_scores("stroke", seed=seed) for seed in range(5)]
    calibrated = [BetaCalibration(prior=None).fit(s.P_cal, s.y_cal).predict_proba(s.P_test)[:, 1] for s in splits]
    y, raw = (np.concatenate([s[name] for s in splits]) for name in ("y_test", "P_test"))
    return {"y": y, "raw": raw, "calibrated": np.concatenate(calibrated)}


def test_data_are_those_of_the_shipped_scores(counts):
    made = explorer_data.stroke_counts()
    assert (counts["people"], counts["strokes"]) == (made["people"], made["strokes"])
    for name in ("raw", "calibrated"):
        for what in ("people", "strokes"):
            assert np.abs(np.subtract(counts[name][what], made[name][what])).max() <= 1  # a score on a threshold


@pytest.mark.parametrize("name", ["raw", "calibrated"])
@pytest.mark.parametrize(("threshold", "missed"), [(0.025, 40), (0.333, 3), (0.0, 7), (1.0, 7), (0.01, 100)])
def test_cost_is_that_of_the_decisions(evaluate, counts, people, name, threshold, missed):
    found = evaluate(f"costsExplorer.cost({json.dumps(counts)}, '{name}', {threshold}, {missed})")
    examined = people[name] > threshold
    assert found["examined"] == pytest.approx(examined.sum(), abs=1)
    assert found["found"] == pytest.approx(people["y"][examined].sum(), abs=1)
    by_hand = np.where(examined, 1.0, missed * people["y"]).mean()
    assert found["cost"] == pytest.approx(by_hand, abs=missed / len(examined))


def test_the_threshold_from_the_costs_decides_as_the_package_does(evaluate, counts, people):
    costs = [[0, 1], [40, 1]]  # rows: no stroke, stroke; columns: leave alone, examine
    for name in ("raw", "calibrated"):
        found = evaluate(f"costsExplorer.cost({json.dumps(counts)}, '{name}', 0.025, 40)")
        theirs = metrics.expected_cost(people["y"], people[name], costs)
        assert found["cost"] == pytest.approx(theirs.cost, abs=1e-9)


@pytest.mark.parametrize("missed", [3, 40])
def test_constant_policies(evaluate, counts, people, missed):
    found = evaluate(f"costsExplorer.constant({json.dumps(counts)}, {missed})")
    assert found["nobody"]["cost"] == pytest.approx(missed * people["y"].mean())
    assert found["everybody"]["cost"] == 1


@pytest.mark.parametrize("name", ["raw", "calibrated"])
def test_hindsight_finds_the_lowest_cost(evaluate, counts, people, name):
    best = evaluate(f"costsExplorer.hindsight({json.dumps(counts)}, '{name}', 40)")
    of = lambda t: np.where(people[name] > t, 1.0, 40 * people["y"]).mean()
    assert of(best) == pytest.approx(min(map(of, explorer_data.THRESHOLDS / 1000)), abs=1e-9)


def test_every_control_has_a_label():
    text = source(CHAPTER).read_text(encoding="utf-8")
    panel = re.search(r'<section id="costs-explorer".*?</section>', text, re.DOTALL)[0]
    controls = re.findall(r'<input[^>]* id="([^"]+)"', panel)
    assert len(controls) == 2
    assert sorted(re.findall(r'<label for="([^"]+)"', panel)) == sorted(controls)


@pytest.fixture(params=["light", "dark"])
def page(site, browser, request):
    browser.open((site / f"{CHAPTER}.html").as_uri(), width=390, scheme=request.param)
    browser.wait_for("!document.getElementById('costs-explorer').hidden")
    return browser


def cost(page, row):
    return float(page.run(f"document.querySelector('#costs-explorer [data-row={row}] td:last-child').textContent"))


def test_the_mouse_sets_what_the_table_of_the_chapter_has(page, people):
    page.page.get_by_role("button", name="As in the table").click()
    page.wait_for("document.querySelector('output[for=costs-threshold]').textContent === '0.025'")
    for name in ("raw", "calibrated"):
        expected = np.where(people[name] > 0.025, 1.0, 40 * people["y"]).mean()
        assert cost(page, name) == pytest.approx(expected, abs=5e-4)
    assert page.run("document.querySelector('#costs-explorer .explorer-verdict').dataset.right") == "true"


def test_the_keyboard_moves_the_threshold_to_its_ends(page):
    slider = page.page.locator("#costs-threshold")
    slider.press("End")
    page.wait_for("document.querySelector('output[for=costs-threshold]').textContent === '1.000'")
    assert cost(page, "raw") == cost(page, "calibrated") == cost(page, "nobody")
    slider.press("Home")
    page.wait_for("document.querySelector('output[for=costs-threshold]').textContent === '0.001'")
    assert cost(page, "calibrated") > 0.9 * cost(page, "everybody")


def test_the_picture_says_in_words_what_stands_below_it(page):
    words = page.run("document.querySelector('#costs-explorer .explorer-plot').getAttribute('aria-label')")
    assert page.run("document.querySelector('#costs-explorer .explorer-verdict').textContent") in words


def test_the_panel_fits_a_phone(page):
    inside = "[...document.querySelectorAll('#costs-explorer *')].every((e) => e.getBoundingClientRect().right <= 390)"
    assert page.run(inside)


def test_words_can_be_read_in_their_colours(page, axe):
    from axe_checks import faults_of_colour

    assert faults_of_colour(page, axe, set()) == []
