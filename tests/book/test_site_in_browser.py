"""The built site in a real browser, opened from disk. Skipped, with the reason, where there is no Chromium.

Every page is opened once: its tests stand in the order in which they leave the page, and the last one cuts it down.
"""

import pytest
from axe_checks import faults_of_colour, faults_of_structure
from book_sources import built

PAGES = [*built(), "search", "genindex", "py-modindex"]
ONE_VISIT = [pytest.param(name, marks=pytest.mark.xdist_group(f"look at {name}"), id=name) for name in PAGES]
DESK, PHONE = 1280, 390


@pytest.fixture(scope="module", params=ONE_VISIT)
def opened(site, browser, request):
    """The browser with a page open; every test of the page uses this one visit."""
    browser.open((site / f"{request.param}.html").as_uri(), width=DESK)
    return browser


@pytest.fixture(scope="module")
def seen():
    """The styles that were checked in this process, by colour scheme."""
    return {"light": set(), "dark": set()}


def test_page_opens_from_disk_without_errors(opened):
    assert opened.errors == []


def test_page_asks_other_hosts_for_nothing(opened):
    assert [address for address in opened.requests if not address.startswith(("file:", "data:", "about:"))] == []


def test_all_mathematics_is_set_without_errors(opened):
    assert opened.run("document.querySelectorAll('article .math:not(:has(mjx-container))').length") == 0
    assert opened.run("document.querySelectorAll('[data-mjx-error]').length") == 0


def test_phone_does_not_scroll_sideways(opened):
    opened.set_width(PHONE)
    assert opened.run("document.documentElement.scrollWidth") <= PHONE
    opened.set_width(DESK)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_can_be_read_in_their_colours(opened, axe, seen, scheme):
    opened.set_scheme(scheme)
    opened.wait_for(f"document.documentElement.dataset.theme === '{scheme}'")
    assert faults_of_colour(opened, axe, seen[scheme]) == []


def test_page_has_no_serious_fault_of_structure(opened, axe):
    opened.set_scheme("light")
    assert faults_of_structure(opened, axe) == []


def test_notation_page_has_mathematics(site, browser):
    browser.open((site / "appendix/notation.html").as_uri())
    assert browser.run("document.querySelectorAll('article mjx-container').length") > 50


def test_search_finds_platt(site, browser):
    browser.open((site / "search.html").as_uri() + "?q=Platt")
    browser.wait_for("document.querySelector('#search-results').innerText.includes('PlattScaling')")
    browser.wait_for("document.querySelector('#search-results').innerText.includes('Notation')")
    assert browser.errors == []


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_page_follows_the_colour_scheme_of_the_reader(site, browser, mode):
    browser.open((site / "index.html").as_uri(), scheme=mode)
    assert browser.run("document.documentElement.dataset.theme") == mode
