"""The explorer of memberships in "Clusters and soft memberships": its numbers are the package's, and it can be used."""

import json
import re

import explorer_data
import numpy as np
import pytest
from book_sources import ROOT, source
from sklearn.preprocessing import normalize

from clustcal import ClusteredCalibration, PlattScaling, datasets, metrics
from clustcal.calibrators.soft_kmeans import soft_memberships, squared_distances
from clustcal.core import solvers

CHAPTER = "method/clusters-and-memberships"
SCRIPT = ROOT / "book/_assets/memberships-explorer.js"
SETTINGS = [(4, 1.0, 0.05), (2, 0.1, 0.01), (8, 0.03, 1.0), (8, 0.001, 0.001)]


@pytest.fixture(scope="module")
def scores():
    return datasets.load_scores("stroke")


@pytest.fixture(scope="module")
def data():
    return explorer_data.read("stroke-rows")


@pytest.fixture(scope="module")
def found(evaluate, data):
    """What the explorer finds for each of the settings, without its memberships."""
    given = json.dumps(data)
    calls = ",".join(f"of(data.centroids[{K}], {tau}, {lam})" for K, tau, lam in SETTINGS)
    done = evaluate(
        f"""((data) => {{
            const parts = {{ calibration: membershipsExplorer.read(data.calibration), test: membershipsExplorer.read(data.test) }};
            const of = (...setting) => ({{ ...membershipsExplorer.clustered(parts, ...setting), W: undefined }});
            return [{calls}];
        }})({given})"""
    )
    return dict(zip(SETTINGS, done, strict=True))


def test_data_are_those_of_the_shipped_scores(data):
    made = json.loads(json.dumps(explorer_data.stroke_rows()))
    for part in ("calibration", "test"):
        assert data[part]["labels"] == made[part]["labels"]
        for name in ("logits", "directions"):
            assert np.abs(np.subtract(data[part][name], made[part][name])).max() <= 1
    assert data["centroids"].keys() == made["centroids"].keys()
    for K, centroids in made["centroids"].items():
        assert np.abs(np.subtract(data["centroids"][K], centroids)).max() <= 1


@pytest.mark.parametrize("temperature", [10, 1, 0.1, 0.01, 0.001])
def test_memberships_are_those_of_the_package(evaluate, data, temperature):
    Z = np.reshape(data["calibration"]["directions"], (-1, 10))[:100] / 1000
    for K in ("2", "8"):
        centroids = np.array(data["centroids"][K]) / 1000
        ours = evaluate(
            f"membershipsExplorer.memberships({json.dumps(normalize(Z).tolist())}, {json.dumps(centroids.tolist())}, {temperature})"
        )
        theirs = soft_memberships(squared_distances(normalize(Z), centroids, "cosine"), temperature)
        assert np.allclose(ours, theirs, atol=1e-9)


@pytest.mark.parametrize("shrinkage", [0.0, 0.001, 0.05, 10.0])
def test_fit_is_that_of_the_package(evaluate, scores, shrinkage):
    family = PlattScaling(prior=None).family(2)
    X, y = family.features(np.column_stack([1 - scores.P_cal, scores.P_cal])), scores.y_cal
    W = np.random.default_rng(0).random((len(y), 1))
    target = PlattScaling(prior=None).fit(scores.P_cal, y).theta_
    theirs = solvers.fit(family, X, y, W, prior=target, shrinkage=shrinkage).theta[0]
    arguments = (X[:, 0].tolist(), y.tolist(), W[:, 0].tolist(), target.tolist(), shrinkage)
    ours = evaluate(f"membershipsExplorer.platt({', '.join(map(json.dumps, arguments))})")
    assert ours == pytest.approx(theirs, abs=1e-6)


@pytest.mark.parametrize("setting", SETTINGS)
def test_the_whole_is_that_of_the_package_but_for_rounding(found, scores, setting):
    K, temperature, shrinkage = setting
    model = ClusteredCalibration(PlattScaling(prior=None), K, shrinkage, temperature=temperature, random_state=0)
    model.fit(scores.P_cal, scores.y_cal, scores.Z_cal["shap"])
    for part, P, y, Z in (
        ("calibration", scores.P_cal, scores.y_cal, scores.Z_cal),
        ("test", scores.P_test, scores.y_test, scores.Z_test),
    ):
        of_clusters = metrics.log_loss(y, model.predict_proba(P, Z["shap"]))
        of_global = metrics.log_loss(y, model.calibrator_.predict_proba(P))
        assert found[setting][part]["clustered"] == pytest.approx(of_clusters, abs=1e-3)
        assert found[setting][part]["global"] == pytest.approx(of_global, abs=1e-5)
    W = model.memberships(scores.Z_cal["shap"])
    assert found[setting]["largest"] == pytest.approx(W.max(axis=1).mean(), abs=5e-3)
    assert np.allclose(found[setting]["global"], model.global_theta_, atol=1e-3)


def test_every_control_has_a_label():
    text = source(CHAPTER).read_text(encoding="utf-8")
    panel = re.search(r'<section id="memberships-explorer".*?</section>', text, re.DOTALL)[0]
    controls = re.findall(r'<input[^>]* id="([^"]+)"', panel)
    assert len(controls) == 3
    assert sorted(re.findall(r'<label for="([^"]+)"', panel)) == sorted(controls)


@pytest.fixture(params=["light", "dark"])
def page(site, browser, request):
    browser.open((site / f"{CHAPTER}.html").as_uri(), width=390, scheme=request.param)
    browser.wait_for("!document.getElementById('memberships-explorer').hidden")
    return browser


def kind(page):
    return page.run("document.querySelector('#memberships-explorer .explorer-verdict').dataset.kind")


def n_clusters(page):
    return page.run("document.querySelectorAll('#memberships-explorer tr[data-row]:not([hidden])').length - 3")


def test_the_page_starts_with_the_paper_s_setting(page, found):
    cells = page.run("[...document.querySelectorAll('#memberships-explorer [data-row=test] td')].map((e) => e.textContent)")
    expected = found[4, 1.0, 0.05]["test"]
    assert [float(cell) for cell in cells] == pytest.approx([expected["global"], expected["clustered"]], abs=1e-4)
    assert n_clusters(page) == 4


def test_the_keyboard_makes_memberships_hard(page):
    slider = page.page.locator("#memberships-temperature")
    slider.press("Home")
    page.wait_for("document.querySelector('output[for=memberships-temperature]').textContent === '0.001'")
    assert kind(page) == "Nearly hard"
    slider.press("End")
    page.wait_for("document.querySelector('output[for=memberships-temperature]').textContent === '10'")
    assert kind(page) == "Nearly uniform"


def test_the_mouse_presses_a_button(page):
    page.page.get_by_role("button", name="Hard, many, free").click()
    page.wait_for("document.querySelector('output[for=memberships-k]').textContent === '8'")
    assert n_clusters(page) == 8
    assert page.run("document.querySelectorAll('#memberships-explorer .explorer-part').length") == 12 * 8


def test_the_picture_says_in_words_what_stands_below_it(page):
    words = page.run("document.querySelector('#memberships-explorer .explorer-plot').getAttribute('aria-label')")
    assert page.run("document.querySelector('#memberships-explorer .explorer-verdict').textContent") in words


def test_the_panel_fits_a_phone(page):
    inside = "[...document.querySelectorAll('#memberships-explorer *')].every((e) => e.getBoundingClientRect().right <= 390)"
    assert page.run(inside)


def test_words_can_be_read_in_their_colours(page, axe):
    from axe_checks import faults_of_colour

    assert faults_of_colour(page, axe, set()) == []
