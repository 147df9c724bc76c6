"""The built pages and their notebooks: buttons lead to files that are there, and both have the same numbers."""

import re
from functools import cache
from urllib.parse import parse_qs, unquote, urlsplit

import nbformat
import pytest
import yaml
from book_sources import ROOT, built, chapters
from bs4 import BeautifulSoup

CONFIG = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
REPOSITORY = "/".join(CONFIG["repository"]["url"].split("/")[-2:])
BRANCH = CONFIG["repository"]["branch"]
CHAPTERS = [page for page in chapters() if page in built()]
ASSIGNMENTS = "assignments/overview"


@cache
def page(path):
    return BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")


@cache
def notebook(chapter):
    cells = nbformat.read(ROOT / "book" / "notebooks" / f"{chapter}.ipynb", as_version=4).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def launched(path):
    """Return where the launch buttons of a page lead: host -> file of the repository."""
    files = {}
    for link in page(path).select("a[href]"):
        address = urlsplit(link["href"])
        if address.netloc == "mybinder.org":
            start, target = f"/v2/gh/{REPOSITORY}/{BRANCH}", parse_qs(address.query)["urlpath"][0]
            files[address.netloc] = target.removeprefix("lab/tree/") if address.path == start else address.path
        elif address.netloc == "colab.research.google.com":
            files[address.netloc] = unquote(address.path).removeprefix(f"/github/{REPOSITORY}/blob/{BRANCH}/")
    return files


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_chapter_can_be_launched_on_binder_and_on_colab(site, chapter):
    file = f"book/notebooks/{chapter}.ipynb"
    assert launched(site / f"{chapter}.html") == {"mybinder.org": file, "colab.research.google.com": file}
    assert (ROOT / file).is_file()


def test_pages_without_code_have_no_launch_buttons(site):
    names = [*built(), "search", "genindex"]
    others = [site / f"{name}.html" for name in names if name not in [*CHAPTERS, ASSIGNMENTS]]
    assert [(path.name, launched(path)) for path in others if launched(path)] == []


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_notebook_for_download_is_the_generated_one(site, chapter):
    offered = [link["href"] for link in page(site / f"{chapter}.html").select('a[href$=".ipynb"][href*="_sources"]')]
    assert len(offered) == 1
    kept = ROOT / "book" / "notebooks" / f"{chapter}.ipynb"
    assert ((site / f"{chapter}.html").parent / offered[0]).read_bytes() == kept.read_bytes()


def test_every_assignment_can_be_opened_in_colab_on_binder_and_downloaded(site):
    files = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "book/assignments").glob("*.ipynb"))
    links = [link["href"] for link in page(site / f"{ASSIGNMENTS}.html").select("article a[href]")]
    colab = f"https://colab.research.google.com/github/{REPOSITORY}/blob/{BRANCH}/"
    binder = f"https://mybinder.org/v2/gh/{REPOSITORY}/{BRANCH}?urlpath=lab/tree/"
    for start in (colab, binder):
        assert [link.removeprefix(start) for link in links if link.startswith(start)] == files
    offered = [site / "assignments" / link for link in links if "_downloads/" in link]
    assert [path.read_bytes() for path in offered] == [(ROOT / file).read_bytes() for file in files]


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_captions_theorems_exercises_and_equations_have_the_numbers_of_the_page(site, chapter):
    article = page(site / f"{chapter}.html").select_one("article")
    captions = {re.sub(r"\s+", " ", n.get_text()).strip() for n in article.select(".caption-number")}
    equations = {n.get_text().strip().removesuffix("#") for n in article.select(".eqno")}
    text = notebook(chapter)
    assert set(re.findall(r"\*\*(Fig\. [\d.]*\d)\.?\*\*", text)) == {n for n in captions if n.startswith("Fig.")}
    stated = {n for n in captions if not n.startswith(("Fig.", "Table", "Exercise"))}
    assert set(re.findall(r"^> (?:<a [^>]*></a>)?\*\*([A-Z][a-z]+ [\d.]+)\*\*", text, re.MULTILINE)) == stated
    exercises = {n for n in captions if n.startswith("Exercise")}
    assert set(re.findall(r"^### (?:<a [^>]*></a>)?(Exercise [\d.]+)$", text, re.MULTILINE)) == exercises
    assert {f"({n})" for n in re.findall(r"\\tag\{([\d.]+)\}", text)} == {re.sub(r"[^\d.()]", "", n) for n in equations}
