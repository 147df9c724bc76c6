"""The checks of accessibility find the faults that they are for; `test_site_in_browser` makes them on every page."""

import pytest
from axe_checks import faults_of_colour, faults_of_structure

PAGE = "data:text/html,<html lang=en><title>t</title><main><h1>t</h1>{}</main>"


def test_a_fault_is_found(browser, axe):
    browser.open(PAGE.format("<input>"))
    assert [rule for rule, _, _ in faults_of_structure(browser, axe)] == ["label"]


@pytest.mark.parametrize(
    "words",
    [
        "<p style='color:%23bbb'>Words</p>",
        "<p style='color:black;background:%23333'>Words</p>",
        "<div style='background:%23333'><p style='color:black'>Words</p></div>",
        "<p style='opacity:.2'>Words</p>",
    ],
)
def test_colours_that_cannot_be_read_are_found_beside_others_that_were_seen(browser, axe, words):
    seen = set()
    browser.open(PAGE.format("<p>Words</p>"))
    assert faults_of_colour(browser, axe, seen) == []
    browser.open(PAGE.format(f"<p>Words</p>{words}"))
    assert [rule for rule, _, _ in faults_of_colour(browser, axe, seen)] == ["color-contrast"]


def test_a_link_that_colour_alone_sets_apart_is_found(browser, axe):
    seen = set()
    browser.open(PAGE.format("<p>Some words and <a href='a'>a link</a> in them.</p>"))
    assert faults_of_colour(browser, axe, seen) == []
    link = "<a href='a' style='text-decoration:none;color:%23222'>a link</a>"
    browser.open(PAGE.format(f"<p>Some words and {link} in them.</p>"))
    assert [rule for rule, _, _ in faults_of_colour(browser, axe, seen)] == ["link-in-text-block"]


def test_a_style_is_looked_at_once(browser, axe):
    seen = set()
    browser.open(PAGE.format("<p>Words</p><p>Words</p><p><b>Words</b></p>"))
    faults_of_colour(browser, axe, seen)
    assert len(seen) == 3  # of h1, p and b
    assert browser.run("document.querySelectorAll('[data-new-style]').length") == 3
    browser.open(PAGE.format("<p>Words</p>"))
    assert faults_of_colour(browser, axe, seen) == []
    assert len(seen) == 3
