"""The decision guide on one sheet of paper, and on a phone."""

import re

import pytest


@pytest.fixture
def address(site):
    return (site / "beyond/decision-guide.html").as_uri()


def test_it_is_printed_on_one_page(address, browser):
    browser.open(address)
    printed = browser.page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page[^s]", printed)) == 1


def test_on_a_phone_its_lines_are_blocks_that_fit(address, browser):
    browser.open(address, width=390)
    assert browser.run("document.querySelector('.guide table').getBoundingClientRect().right") <= 390
    assert browser.run("getComputedStyle(document.querySelector('.guide td')).display") == "block"
