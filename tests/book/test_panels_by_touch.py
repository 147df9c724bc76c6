"""The panels of the chapters on a phone: fingers move them, and where scripts are off they say so and show nothing dead.

Each chapter's panels are put on a page of their own, with the scripts and styles that the site ships.
"""

import re

import pytest
from book_sources import ROOT, source

CHAPTERS = {
    "bins-explorer": "foundations/measuring-it",
    "costs-explorer": "foundations/what-calibration-means",
    "ece-explorer": "theory/when-ece-misranks",
    "forecasting-game": "foundations/measuring-it",
    "groups-explorer": "using/groups-and-fairness",
    "maps-explorer": "foundations/global-calibrators",
    "memberships-explorer": "method/clusters-and-memberships",
}
RAW = re.compile(r"^```\{raw\} html\n(.*?)^```$", re.DOTALL | re.MULTILINE)
# What each sort of panel says in words and numbers.
SAID = ".explorer-verdict, .ece-verdict, output, table"


def panels(chapter):
    return "\n".join(RAW.findall(source(chapter).read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A folder as that of the site, whose pages hold panels alone."""
    folder = tmp_path_factory.mktemp("panels")
    (folder / "_static").symlink_to(ROOT / "book" / "_assets")
    for chapter in set(CHAPTERS.values()):
        page = folder / f"{chapter}.html"
        page.parent.mkdir(exist_ok=True)
        head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>-</title>'
        page.write_text(f'<!doctype html><html lang="en">{head}<body>{panels(chapter)}</body></html>', encoding="utf-8")
    return folder


@pytest.fixture(params=CHAPTERS)
def phone(pages, browser, request):
    """A panel in a browser that has a finger and no mouse."""
    context = browser.browser.new_context(viewport={"width": 390, "height": 900}, has_touch=True, is_mobile=True)
    context.set_default_timeout(60_000)
    page = context.new_page()
    page.goto((pages / f"{CHAPTERS[request.param]}.html").as_uri())
    panel = page.locator(f"#{request.param}")
    panel.wait_for(state="visible")
    yield panel
    context.close()


def said(panel):
    return panel.locator(SAID).all_text_contents()


def test_no_panel_of_a_chapter_is_left_out():
    found = set()
    for path in (ROOT / "book").glob("*/*.md"):
        found |= set(re.findall(r'^<section id="([^"]+)"', path.read_text(encoding="utf-8"), re.MULTILINE))
    assert found == set(CHAPTERS)


def test_a_finger_moves_each_slider_to_both_ends(phone):
    for richest in phone.locator("input[type=radio]").all()[-1:]:
        richest.tap()  # the family that has all the parameters
    for slider in phone.locator("input[type=range]").all():
        box = slider.bounding_box()
        seen = {}
        for end, x in (("min", 2), ("max", box["width"] - 2)):
            slider.tap(position={"x": x, "y": box["height"] / 2})
            assert slider.input_value() == slider.get_attribute(end)
            seen[end] = phone.locator(f"output[for={slider.get_attribute('id')}]").text_content()
        assert seen["min"] != seen["max"]


def test_a_finger_presses_each_button(phone):
    """Each changes what the panel says after the last slider was moved to its end."""
    buttons = phone.locator("button").all()
    assert len(buttons) >= 2
    slider = phone.locator("input[type=range]:enabled").last
    for button in buttons:
        box = slider.bounding_box()
        slider.tap(position={"x": box["width"] - 2, "y": box["height"] / 2})
        before = said(phone)
        button.tap()
        assert said(phone) != before, button.text_content()


def test_a_finger_chooses(phone):
    for radio in phone.locator("input[type=radio]").all():
        radio.tap()
        assert radio.is_checked()


def test_what_a_finger_has_to_hit_is_large_enough(phone):
    """24 CSS pixels either way, as WCAG 2.2 asks for (success criterion 2.5.8); text beside a radio button counts."""
    for target in phone.locator("button, input[type=range], select, label:has(input)").all():
        box = target.bounding_box()
        assert min(box["width"], box["height"]) >= 24, target.evaluate("(e) => e.outerHTML")


def test_nothing_reaches_beyond_a_phone(phone):
    assert phone.evaluate("(e) => [...e.querySelectorAll('*')].every((x) => x.getBoundingClientRect().right <= 390)")


@pytest.mark.parametrize("name", CHAPTERS)
def test_without_scripts_a_line_stands_in_for_the_panel(pages, browser, name):
    context = browser.browser.new_context(java_script_enabled=False)
    try:
        page = context.new_page()
        page.goto((pages / f"{CHAPTERS[name]}.html").as_uri())
        assert not page.locator(f"#{name}").is_visible()
        assert [one for one in page.locator("button, input, select, svg").all() if one.is_visible()] == []
        line = page.locator(f"noscript:has(+ #{name}) p")
        assert line.is_visible()
        assert re.search(r"needs JavaScript; .*(table|figure)", line.text_content())
    finally:
        context.close()
