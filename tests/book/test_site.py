"""The built site, read from disk: every link leads somewhere, nothing is loaded from elsewhere, all can be found."""

import json
import re
from functools import cache
from urllib.parse import unquote, urlsplit

import pytest
from book_extension import MODULES, documented_name, public_names
from book_sources import ROOT, built
from bs4 import BeautifulSoup

from clustcal import _addresses

# What makes a browser load something: element and attribute. A plain hyperlink does not.
LOADING = {
    "src": ("script", "img", "iframe", "embed", "source", "video", "audio", "track"),
    "srcset": ("img", "source"),
    "data": ("object",),
    "poster": ("video",),
    "href": ("use", "image"),
}
LOADING_LINKS = {"stylesheet", "preload", "modulepreload", "prefetch", "preconnect", "dns-prefetch", "icon", "manifest"}
CSS_ADDRESS = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")


@cache
def page(path):
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


@cache
def anchors(path):
    """Return the names that a link to a page may end with."""
    return {element.get("id") or element.get("name") for element in page(path).find_all(id=True)} | {
        element["name"] for element in page(path).find_all("a", attrs={"name": True})
    }


def pages(site):
    """Return all pages of the site. Static files are no pages, though some may be HTML."""
    return [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]


def is_elsewhere(address):
    return bool(urlsplit(address).netloc)


def addresses_in_css(text):
    return [first or second for first, second in CSS_ADDRESS.findall(text)]


def loaded_by(soup):
    """Yield every address that a page makes the browser load."""
    for attribute, names in LOADING.items():
        yield from (element[attribute] for element in soup.find_all(names, attrs={attribute: True}))
    for link in soup.find_all("link", href=True):
        if LOADING_LINKS & set(link.get("rel", ())):
            yield link["href"]
    for style in soup.find_all("style"):
        yield from addresses_in_css(style.get_text())
    for element in soup.find_all(style=True):
        yield from addresses_in_css(element["style"])
    for meta in soup.find_all("meta", attrs={"http-equiv": re.compile("refresh", re.IGNORECASE)}):
        yield meta["content"].partition("=")[2]


def internal_links(path):
    """Yield (as written, file, anchor) for every link of a page that stays in the site."""
    links = [element["href"] for element in page(path).find_all(["a", "link"], href=True)]
    for link in [*links, *loaded_by(page(path))]:
        parts = urlsplit(link)
        if parts.scheme or parts.netloc:
            continue
        target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        yield link, target, unquote(parts.fragment)


@pytest.mark.parametrize("name", built())
def test_every_page_of_the_contents_is_there_with_one_title(site, name):
    assert len(page(site / f"{name}.html").select("article h1")) == 1


def test_every_internal_link_leads_to_a_file(site):
    broken = [
        (path.name, link) for path in pages(site) for link, target, _ in internal_links(path) if not target.is_file()
    ]
    assert broken == []


def test_every_internal_link_leads_to_an_anchor(site):
    broken = [
        (path.name, link)
        for path in pages(site)
        for link, target, anchor in internal_links(path)
        if anchor and target.suffix == ".html" and anchor not in anchors(target)
    ]
    assert broken == []


def test_pages_load_nothing_from_other_hosts(site):
    outside = {
        (path.name, address) for path in pages(site) for address in loaded_by(page(path)) if is_elsewhere(address)
    }
    assert outside == set()


def test_styles_load_nothing_from_other_hosts(site):
    outside = [
        (path.name, address)
        for path in site.rglob("*.css")
        for address in addresses_in_css(path.read_text(encoding="utf-8"))
        if is_elsewhere(address)
    ]
    assert outside == []


def test_every_picture_has_an_alternative_text(site):
    article = [(path.name, image) for path in pages(site) for image in page(path).select("article img")]
    assert [(name, str(image)) for name, image in article if not image.get("alt", "").strip()] == []


def test_pictures_outside_the_text_say_whether_they_are_decoration(site):
    assert [str(image) for path in pages(site) for image in page(path).find_all("img", alt=False)] == []


def test_no_role_or_directive_is_left_as_text(site):
    for path in pages(site):
        for code in (copy := BeautifulSoup(str(page(path).find("article") or ""), "html.parser")).find_all(
            ["pre", "code"]
        ):
            code.decompose()
        assert re.findall(r"\{[a-z:-]+\}`|^[`:]{3,}\{", copy.get_text(), re.MULTILINE) == [], path


def test_citations_lead_to_the_references_of_their_page(site):
    links = [(path.name, a["href"]) for path in pages(site) for a in page(path).select(".bibtex-citation a[href]")]
    assert links
    assert [(name, link) for name, link in links if not link.startswith("#")] == []


def test_search_index_finds_platt(site):
    index = json.loads(
        (site / "searchindex.js").read_text(encoding="utf-8").removeprefix("Search.setIndex(").rstrip(");\n")
    )
    found = index["terms"]["platt"]
    names = {index["docnames"][number] for number in (found if isinstance(found, list) else [found])}
    assert "appendix/notation" in names


@pytest.mark.parametrize("module", ["clustcal", *MODULES])
def test_every_public_name_is_on_the_api_page_and_described(site, module):
    links = {
        a.get("title") or a["href"].partition("#")[2]
        for a in page(site / "reference/api.html").select("article a[href]")
    }
    names = {documented_name(module, name) for name in public_names(module)}
    assert names
    assert names - links == set()


def test_the_address_of_the_project_is_written_once_for_the_book_and_once_for_the_package():
    config = (ROOT / "_config.yml").read_text(encoding="utf-8")
    address = re.search(r"url: (https://\S+)", config)[1]
    branch = re.search(r"branch: (\S+)", config)[1]
    assert (_addresses.REPOSITORY, _addresses.BRANCH) == (address, branch)
    written = [
        path
        for folder in ("book", "tools", "clustcal")
        for path in (ROOT / folder).rglob("*")
        if path.suffix in {".md", ".py", ".css"}
    ]
    assert config.count(address) == 1
    assert [path.name for path in written if address in path.read_text(encoding="utf-8")] == ["_addresses.py"]
