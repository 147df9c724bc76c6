"""The explorer of thresholds in "Groups and fairness": its numbers are those of the chapter, and it can be used."""

import json
import re

import explorer_data
import numpy as np
import pandas as pd
import pytest
from axe_checks import faults_of_colour
from book_sources import ROOT, source
from scipy.special import logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import confusion_matrix

from clustcal import PlattScaling, datasets

CHAPTER = "using/groups-and-fairness"
SCRIPT = ROOT / "book/_assets/groups-explorer.js"
RACES = np.array(["American Indian", "Asian or Pacific", "Black", "other", "White"])


@pytest.fixture(scope="module")
def groups():
    return explorer_data.read("adult-groups")


@pytest.fixture(scope="module")
def people():
    """Sex, outcome and forecast of the test people, with the groups by name as in the chapter."""
    adult = datasets.load_scores("adult")
    parts = {}
    for part in ("cal", "test"):
        frame = pd.DataFrame(adult[f"Z_{part}"]["data"], columns=adult.feature_names["data"])
        race = RACES[frame["race"].rank(method="dense").astype(int) - 1]
        parts[part] = pd.DataFrame({"sex": np.where(frame["sex"] > 0, "men", "women"), "race": race})
    platt = PlattScaling().fit(adult.P_cal, adult.y_cal)

    def design(part):
        p = platt.predict_proba(adult[f"P_{part}"])[:, 1]
        terms = [parts[part]["sex"] == "women"]
        terms += [parts[part]["race"] == race for race in ("White", "Black", "Asian or Pacific", "American Indian", "other")]
        return np.column_stack([logit(p), *terms]).astype(float)

    q = LogisticRegression(C=1.0).fit(design("cal"), adult.y_cal).predict_proba(design("test"))[:, 1]
    return pd.DataFrame({"sex": parts["test"]["sex"], "y": adult.y_test, "q": q})


def test_data_are_those_of_the_shipped_scores(groups):
    made = explorer_data.adult_groups()
    for name in ("men", "women"):
        assert groups[name]["positives"] == made[name]["positives"]
        assert groups[name]["negatives"] == made[name]["negatives"]
        for what in ("chosenPositives", "chosenNegatives"):
            assert np.abs(np.subtract(groups[name][what], made[name][what])).max() <= 1  # a score on a threshold


@pytest.mark.parametrize("name", ["men", "women"])
@pytest.mark.parametrize("threshold", [0.05, 0.33, 0.5, 0.9])
def test_rates_are_those_of_the_confusion_matrix(evaluate, groups, people, name, threshold):
    found = evaluate(f"groupsExplorer.rates({json.dumps(groups[name])}, {threshold})")
    mine = people[people["sex"] == name]
    (tn, fp), (fn, tp) = confusion_matrix(mine["y"], mine["q"] >= threshold)
    assert found["tpr"] == pytest.approx(tp / (tp + fn), abs=2e-3)
    assert found["fpr"] == pytest.approx(fp / (fp + tn), abs=2e-3)
    assert found["ppv"] == pytest.approx(tp / (tp + fp), abs=2e-3)
    assert found["chosen"] == pytest.approx((tp + fp) / len(mine), abs=2e-3)
    assert found["wrong"] == pytest.approx(fn + fp, abs=2)


@pytest.mark.parametrize("name", ["men", "women"])
def test_the_four_numbers_are_tied_as_the_chapter_says(evaluate, groups, name):
    """FPR = r / (1 - r) (1 - PPV) / PPV TPR."""
    group = groups[name]
    found = evaluate(f"groupsExplorer.rates({json.dumps(group)}, 0.4)")
    odds = group["positives"] / group["negatives"]
    assert found["fpr"] == pytest.approx(odds * (1 - found["ppv"]) / found["ppv"] * found["tpr"], abs=1e-12)


@pytest.mark.parametrize("measure", ["chosen", "tpr", "fpr", "ppv"])
def test_a_match_is_the_nearest_of_all_thresholds(evaluate, groups, measure):
    women = json.dumps(groups["women"])
    found = evaluate(f"groupsExplorer.match({women}, '{measure}', 0.6)")
    assert 0 < found < 1
    every = evaluate(f"Array.from({{length: 99}}, (_, i) => groupsExplorer.rates({women}, (i + 1) / 100).{measure})")
    nearest = min(abs(value - 0.6) for value in every if value is not None)
    assert abs(every[round(100 * found) - 1] - 0.6) == pytest.approx(nearest, abs=1e-12)


def test_wrong_decisions_over_all_people(evaluate, groups, people):
    found = evaluate(f"groupsExplorer.wrong({json.dumps(groups)}, {{men: 0.5, women: 0.33}})")
    act = people["q"] >= np.where(people["sex"] == "men", 0.5, 0.33)
    assert found == pytest.approx((act != people["y"]).mean(), abs=3e-4)


def test_no_threshold_of_the_women_makes_two_of_the_three_rates_equal(evaluate, groups):
    """What the reader is asked to try, with a threshold of 0.5 for the men."""
    rates = f"groupsExplorer.rates({json.dumps(groups['men'])}, 0.5)"
    men = evaluate(rates)
    women = rates.replace(json.dumps(groups["men"]), json.dumps(groups["women"])).replace("0.5)", "(i + 1) / 100)")
    for found in evaluate(f"Array.from({{length: 99}}, (_, i) => {women})"):
        near = [m for m in ("tpr", "fpr", "ppv") if found[m] is not None and abs(found[m] - men[m]) < 0.01]
        assert len(near) < 2


def test_every_control_has_a_label():
    text = source(CHAPTER).read_text(encoding="utf-8")
    panel = re.search(r'<section id="groups-explorer".*?</section>', text, re.DOTALL)[0]
    controls = re.findall(r'<input[^>]* id="([^"]+)"', panel)
    assert len(controls) == 2
    assert sorted(re.findall(r'<label for="([^"]+)"', panel)) == sorted(controls)


@pytest.fixture(params=["light", "dark"])
def page(site, browser, request):
    browser.open((site / f"{CHAPTER}.html").as_uri(), width=390, scheme=request.param)
    browser.wait_for("!document.getElementById('groups-explorer').hidden")
    return browser


def cells(page, row):
    words = page.run(f"[...document.querySelectorAll('#groups-explorer [data-row={row}] td')].map((e) => e.textContent)")
    return [float(word.removesuffix(" %")) for word in words]


def equal(page):
    return page.run("document.querySelector('#groups-explorer .explorer-verdict').dataset.equal").split()


def test_the_mouse_finds_equal_opportunity(page):
    page.page.get_by_role("button", name="One threshold").click()
    men, women = cells(page, "tpr")
    assert women < men - 3
    page.page.get_by_role("button", name="Equal opportunity").click()
    page.wait_for("Number(document.getElementById('groups-women').value) < 45")
    men, women = cells(page, "tpr")
    assert abs(men - women) < 1
    assert equal(page) == ["tpr"]


def test_the_keyboard_moves_a_threshold_to_its_ends(page):
    slider = page.page.locator("#groups-men")
    slider.press("End")
    page.wait_for("document.querySelector('output[for=groups-men]').textContent === '0.99'")
    assert cells(page, "chosen")[0] < 5
    slider.press("Home")
    page.wait_for("document.querySelector('output[for=groups-men]').textContent === '0.01'")
    assert cells(page, "tpr")[0] > 99


def test_the_picture_says_in_words_what_stands_below_it(page):
    words = page.run("document.querySelector('#groups-explorer .explorer-plot').getAttribute('aria-label')")
    assert page.run("document.querySelector('#groups-explorer .explorer-verdict').textContent") in words


def test_the_panel_fits_a_phone(page):
    inside = "[...document.querySelectorAll('#groups-explorer *')].every((e) => e.getBoundingClientRect().right <= 390)"
    assert page.run(inside)


def test_words_can_be_read_in_their_colours(page, axe):
    assert faults_of_colour(page, axe, set()) == []
