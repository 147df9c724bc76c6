"""The built site in a real browser, opened from disk. Skipped, with the reason, where there is no Chromium."""

import pytest
from book_sources import built


@pytest.fixture(scope="module", params=[*built(), "search", "genindex"])
def opened(site, browser, request):
    """The browser with a page open; every test of the page uses this one visit."""
    browser.open((site / f"{request.param}.html").as_uri())
    return browser


def test_page_opens_from_disk_without_errors(opened):
    assert opened.errors() == []


def test_page_asks_other_hosts_for_nothing(opened):
    assert [address for address in opened.requests() if not address.startswith(("file:", "data:", "about:"))] == []


def test_all_mathematics_is_set_without_errors(opened):
    assert opened.run("document.querySelectorAll('article .math:not(:has(mjx-container))').length") == 0
    assert opened.run("document.querySelectorAll('[data-mjx-error]').length") == 0


def test_phone_does_not_scroll_sideways(opened):
    opened.set_width(390)
    assert opened.run("document.documentElement.scrollWidth") <= 390


def test_notation_page_has_mathematics(site, browser):
    browser.open((site / "start/notation.html").as_uri())
    assert browser.run("document.querySelectorAll('article mjx-container').length") > 50


def test_search_finds_platt(site, browser):
    browser.open((site / "search.html").as_uri() + "?q=Platt")
    browser.wait_for("document.querySelector('#search-results').innerText.includes('PlattScaling')")
    browser.wait_for("document.querySelector('#search-results').innerText.includes('Notation')")
    assert browser.errors() == []


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_page_follows_the_colour_scheme_of_the_reader(site, browser, mode):
    browser.open((site / "index.html").as_uri(), scheme=mode)
    assert browser.run("document.documentElement.dataset.theme") == mode
