"""Pages that have moved: their old addresses lead to the new ones, with and without scripts, and keep the place."""

from io import StringIO

import pytest
import yaml
from book_sources import ROOT, built, pages
from bs4 import BeautifulSoup
from moved_pages import moved_pages
from sphinx.application import Sphinx
from sphinx.util.docutils import docutils_namespace, patch_docutils

SETTINGS = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["sphinx"]["config"]
MOVED = moved_pages(SETTINGS["redirects"])
# The addresses of the first edition.
FIRST = {
    "assignments/for-instructors",
    "foundations/local-and-multicalibration",
    "reproduction/deviations",
    "reproduction/errata",
    "reproduction/overhead",
    "reproduction/scoreboard",
    "start/notation",
}


def test_addresses_of_the_first_edition_lead_to_pages_of_this_one():
    assert FIRST <= set(MOVED)
    assert set(MOVED.values()) <= set(pages())
    assert set(MOVED) & set(pages()) == set()


def test_names_are_taken_from_addresses_as_the_old_page_sees_them():
    assert moved_pages({"a/b": "../c/d.html", "e": "a/f.html"}) == {"a/b": "c/d", "e": "a/f"}


@pytest.fixture(scope="module")
def small_site(tmp_path_factory):
    """A site of empty pages in which the pages of the book have moved as they have there."""
    folder = tmp_path_factory.mktemp("moved")
    for name in ("index", *sorted(set(MOVED.values()))):
        file = folder / "source" / f"{name}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text("---\norphan: true\n---\n\n# A page\n\n## A place\n", encoding="utf-8")
    (folder / "tools").mkdir()
    (folder / "tools" / "moved_page.html").write_bytes((ROOT / "tools" / "moved_page.html").read_bytes())
    settings = {
        "extensions": ["myst_parser", "sphinx_reredirects"],
        "source_suffix": {".md": "markdown"},
        **{key: SETTINGS[key] for key in ("redirects", "redirect_html_template_file")},
    }
    warnings = StringIO()
    with patch_docutils(), docutils_namespace():
        Sphinx(
            folder / "source", None, folder / "html", folder / "trees", "html", settings, status=None, warning=warnings
        ).build()
    assert warnings.getvalue() == ""
    return folder / "html"


@pytest.mark.parametrize("old", sorted(MOVED))
def test_an_old_address_leads_to_the_same_place_of_the_new_page(small_site, browser, old):
    browser.open("about:blank")
    browser.page.goto((small_site / f"{old}.html").as_uri() + "?from=elsewhere#a-place")
    new = (small_site / f"{MOVED[old]}.html").as_uri()
    browser.page.wait_for_url(f"{new}?from=elsewhere#a-place")
    assert browser.errors == []


@pytest.mark.parametrize("old", sorted(MOVED))
def test_an_old_address_leads_to_the_new_page_without_scripts(small_site, browser, old):
    context = browser.browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto((small_site / f"{old}.html").as_uri())
    page.wait_for_url((small_site / f"{MOVED[old]}.html").as_uri())
    context.close()


def test_a_page_that_has_moved_can_be_read_and_is_not_listed_by_search_engines(small_site):
    for old in MOVED:
        soup = BeautifulSoup((small_site / f"{old}.html").read_text(encoding="utf-8"), "html.parser")
        assert soup.html["lang"] == "en"
        assert soup.title.get_text() == soup.h1.get_text() == "This page has moved"
        assert soup.find("meta", attrs={"name": "robots"})["content"] == "noindex"
        (link,) = soup.find_all("a", href=True)
        assert link["href"] == soup.find("link", rel="canonical")["href"] == SETTINGS["redirects"][old]


@pytest.mark.parametrize("old", [old for old, new in sorted(MOVED.items()) if new in built()])
def test_the_site_has_a_page_at_the_old_address_that_leads_to_the_new_one(site, old):
    soup = BeautifulSoup((site / f"{old}.html").read_text(encoding="utf-8"), "html.parser")
    (link,) = soup.find_all("a", href=True)
    assert (site / f"{old}.html").parent.joinpath(link["href"]).resolve() == site.resolve() / f"{MOVED[old]}.html"


@pytest.mark.parametrize("old", [old for old, new in sorted(MOVED.items()) if new in built()])
def test_the_notebook_of_an_old_page_can_still_be_downloaded(site, old):
    kept = ROOT / "book" / "notebooks" / f"{MOVED[old]}.ipynb"
    offered = site / "_sources" / f"{old}.ipynb"
    assert offered.exists() == kept.exists()
    assert not kept.exists() or offered.read_bytes() == kept.read_bytes()
