"""axe-core finds no serious fault on any page, in either colour scheme. Skipped where Chromium or axe is missing."""

import json
from importlib.resources import files

import pytest
from book_sources import built

PAGES = [
    pytest.param(name, marks=pytest.mark.xdist_group(f"look at {name}"), id=name)
    for name in [*built(), "search", "genindex", "py-modindex"]
]
# Nothing moves while axe measures colours. Of words of code that look alike it sees one, and of a table four rows, which
# is twice as fast; and it does not go through the strokes of formulas, which MathJax hides from screen readers and reads
# out in words.
PREPARED = """
document.head.append(Object.assign(document.createElement("style"), {textContent: "* {transition: none !important}"}))
const seen = new Set()
for (const word of document.querySelectorAll("pre span[class]:not(:has(*))")) {
    const look = [word.className, word.closest("[class*=cell_]")?.className].join(" in ")
    if (seen.has(look)) word.remove()
    seen.add(look)
}
for (const row of document.querySelectorAll("tr:nth-child(n+5)")) row.remove()
"""
CONTEXT = {"exclude": [["mjx-container > svg"]]}
IN_LIGHT = {"resultTypes": ["violations"]}
IN_DARK = {"resultTypes": ["violations"], "runOnly": ["color-contrast", "link-in-text-block"]}


@pytest.fixture(scope="module")
def axe(browser):
    """The script of axe-core, which a Python package carries; a long page takes it seconds, more on a busy machine."""
    browser.timeout = 300
    pytest.importorskip("axe_playwright_python", reason="axe-core is not installed (extra `test`)")
    return (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


def serious_faults(browser, axe, options):
    """Return what axe finds in the open page and calls serious or critical: (rule, element, why)."""
    browser.run(PREPARED)
    browser.run(f"{axe}; 1")
    found = browser.run(f"axe.run({json.dumps(CONTEXT)}, {json.dumps(options)}).then((r) => r.violations)")
    return [
        (fault["id"], " ".join(map(str, node["target"])), node["failureSummary"])
        for fault in found
        if fault["impact"] in {"serious", "critical"}
        for node in fault["nodes"]
    ]


@pytest.mark.parametrize("name", PAGES)
def test_page_has_no_serious_fault(site, browser, axe, name):
    browser.open((site / f"{name}.html").as_uri())
    assert serious_faults(browser, axe, IN_LIGHT) == []


@pytest.mark.parametrize("name", PAGES)
def test_colours_of_the_dark_scheme_can_be_read(site, browser, axe, name):
    browser.open((site / f"{name}.html").as_uri(), scheme="dark")
    assert serious_faults(browser, axe, IN_DARK) == []


def test_a_fault_is_found(browser, axe):
    browser.open("data:text/html,<html lang=en><title>t</title><main><h1>t</h1><input></main>")
    assert [rule for rule, _, _ in serious_faults(browser, axe, IN_LIGHT)] == ["label"]


def test_colours_that_cannot_be_read_are_found(browser, axe):
    browser.open("data:text/html,<html lang=en><title>t</title><main><h1 style='color:%23bbb'>Title</h1></main>")
    assert [rule for rule, _, _ in serious_faults(browser, axe, IN_DARK)] == ["color-contrast"]
