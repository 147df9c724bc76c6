"""The forecasting game in "Measuring it": its rules and scores are right, and it can be played."""

import json
import re

import numpy as np
import pytest
from book_sources import ROOT, source
from scipy import stats

from clustcal import metrics

CHAPTER = "foundations/measuring-it"
SCRIPT = ROOT / "book/_assets/forecasting-game.js"


@pytest.fixture(scope="module")
def rounds(evaluate):
    """Many rounds of the game: the share of the urn, the blue balls among ten, and whether the next one is blue."""
    script = """((draw) => Array.from({ length: 20000 }, () => {
        const urn = forecastingGame.newUrn(draw);
        return [urn.share, urn.blue, draw() < urn.share ? 1 : 0];
    }))(explorer.random(7))"""
    return np.array(evaluate(script)).T


def test_shares_are_uniform_and_balls_are_binomial(rounds):
    share, blue, outcome = rounds
    assert stats.kstest(share, "uniform").pvalue > 0.001
    # With a uniform share every number of blue balls among ten is equally probable.
    assert stats.chisquare(np.bincount(blue.astype(int), minlength=11)).pvalue > 0.001
    assert abs(outcome.mean() - 0.5) < 4 * 0.5 / np.sqrt(len(outcome))


def test_the_best_forecast_is_what_happens(evaluate, rounds):
    _, blue, outcome = rounds
    for k in range(11):
        best = evaluate(f"forecastingGame.best({k})")
        assert best == pytest.approx(stats.beta(k + 1, 11 - k).mean())
        chosen = outcome[blue == k]
        assert abs(chosen.mean() - best) < 4 * np.sqrt(best * (1 - best) / len(chosen))


def test_a_seed_repeats_a_game_and_another_does_not(evaluate):
    first, again, other = evaluate(
        "[3, 3, 4].map((seed) => { const draw = explorer.random(seed); return [draw(), draw(), draw()]; })"
    )
    assert first == again
    assert first != other


@pytest.mark.parametrize("n", [1, 7, 200])
def test_scores_are_those_of_the_package(evaluate, n):
    rng = np.random.default_rng(n)
    q = rng.integers(1, 100, size=n) / 100  # as the slider gives them, some on the edges of bins
    y = (rng.random(n) < q).astype(int)
    found = evaluate(f"forecastingGame.judge({json.dumps(q.tolist())}, {json.dumps(y.tolist())})")
    assert found["nll"] == pytest.approx(-np.log(np.where(y == 1, q, 1 - q)).mean())
    assert found["brier"] == pytest.approx(((y - q) ** 2).mean())
    if len(set(y)) == 2:
        assert found["nll"] == pytest.approx(metrics.log_loss(y, q))
        assert found["ece"] == pytest.approx(metrics.ece(y, q, n_bins=5))
        curve = metrics.reliability_curve(y, q, n_bins=5)
        seen = [one for one in found["bins"] if one["count"]]
        assert [one["count"] for one in seen] == [int(c) for c in curve.count if c]
        assert [one["happened"] for one in seen] == pytest.approx(curve.frequency[curve.count > 0])


def test_robots_are_the_players_of_the_chapter(evaluate):
    k = np.arange(11)
    expected = {
        "sample": np.clip(k / 10, 0.01, 0.99),
        "bold": np.select([k > 5, k < 5], [0.95, 0.05], 0.5),
        "coin": np.full(11, 0.5),
        "best": (k + 1) / 12,
    }
    for robot, forecasts in expected.items():
        found = evaluate(f"{k.tolist()}.map(forecastingGame.ROBOTS.{robot})")
        assert found == pytest.approx(forecasts)


def test_every_control_has_a_label():
    text = source(CHAPTER).read_text(encoding="utf-8")
    panel = re.search(r'<section id="forecasting-game".*?</section>', text, re.DOTALL)[0]
    assert re.findall(r'<label for="([^"]+)"', panel) == re.findall(r'<input[^>]* id="([^"]+)"', panel) == ["game-forecast"]
    assert set(re.findall(r'data-robot="(\w+)"', panel)) == {"sample", "bold", "coin", "best"}


@pytest.fixture(params=["light", "dark"])
def page(site, browser, request):
    browser.open((site / f"{CHAPTER}.html").as_uri(), width=390, scheme=request.param)
    browser.wait_for("!document.getElementById('forecasting-game').hidden")
    return browser


def cells(page, row):
    return page.run(f"[...document.querySelectorAll('#forecasting-game [data-row={row}] td')].map((e) => e.textContent)")


def verdict(page):
    return page.run("document.querySelector('#forecasting-game .explorer-verdict').textContent")


def n_rounds(page):
    return int(page.run("document.querySelector('.game-rounds').textContent"))


def test_the_keyboard_plays_a_round(page):
    slider = page.page.locator("#game-forecast")
    slider.press("End")
    slider.press("Tab")
    page.page.keyboard.press("Enter")
    assert n_rounds(page) == 1
    assert "You said 99 % blue" in verdict(page)
    assert cells(page, "bin-4")[0] == "1"
    nll = float(cells(page, "yours")[0])
    assert nll == pytest.approx(-np.log(0.99 if "it was blue" in verdict(page) else 0.01), abs=6e-4)


def test_the_mouse_lets_others_play_and_begins_anew(page):
    page.page.get_by_role("button", name="Best", exact=True).click()
    assert n_rounds(page) == 50
    assert cells(page, "yours") == cells(page, "best")
    page.page.get_by_role("button", name="Bold").click()
    assert n_rounds(page) == 100
    assert cells(page, "yours") != cells(page, "best")
    assert sum(int(cells(page, f"bin-{i}")[0]) for i in range(5)) == 100
    page.page.get_by_role("button", name="New game").click()
    assert n_rounds(page) == 0


def test_a_finger_plays_a_round(site, browser):
    context = browser.browser.new_context(viewport={"width": 390, "height": 900}, has_touch=True)
    try:
        page = context.new_page()
        page.goto((site / f"{CHAPTER}.html").as_uri())
        page.locator("#game-play").tap()
        assert page.locator(".game-rounds").text_content() == "1"
    finally:
        context.close()


def test_pictures_say_in_words_what_they_show(page):
    words = page.run("document.querySelector('.game-urn').getAttribute('aria-label')")
    blue, orange = map(int, re.findall(r"\d+", words))
    assert page.run("document.querySelectorAll('.game-urn circle').length") == blue
    assert page.run("document.querySelectorAll('.game-urn rect').length") == orange == 10 - blue
    page.page.get_by_role("button", name="Coin").click()
    record = page.run("document.querySelector('#forecasting-game .explorer-plot').getAttribute('aria-label')")
    assert all(cell in record for cell in cells(page, "yours"))


def test_the_panel_fits_a_phone(page):
    page.page.get_by_role("button", name="Coin").click()
    inside = "[...document.querySelectorAll('#forecasting-game *')].every((e) => e.getBoundingClientRect().right <= 390)"
    assert page.run(inside)


def test_words_can_be_read_in_their_colours(page, axe):
    from axe_checks import faults_of_colour

    page.page.get_by_role("button", name="Bold").click()
    assert faults_of_colour(page, axe, set()) == []
