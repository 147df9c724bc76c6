"""Every chapter runs alone, in a fresh kernel, within its limits; its cells and figures keep the rules of the book."""

import re
from functools import cache

import chapter_runs
import jupytext
import pytest
from book_sources import chapters, missing, pages, source

# The tests of a chapter share one run of it; chapters may be run side by side.
CHAPTERS = [pytest.param(name, marks=pytest.mark.xdist_group(f"run {name}"), id=name) for name in chapters()]
SECONDS, GIGABYTES, LINES = 60, 1.5, 25


@cache
def executed(chapter):
    """Return the run of a chapter as it is now; it is made once, unless that has been done before."""
    if missing(chapter):
        pytest.skip(f"the chapter needs {', '.join(missing(chapter))}, which is not installed")
    return chapter_runs.run(chapter, timeout=SECONDS)


def code_cells(chapter):
    return [cell for cell in jupytext.read(source(chapter)).cells if cell.cell_type == "code"]


def outputs(chapter):
    return [output for cell in executed(chapter).notebook.cells for output in cell.get("outputs", ())]


def draws(cell):
    """Whether a cell shows a picture where it stands."""
    return any({"image/png", "image/svg+xml"} & set(output.get("data", ())) for output in cell.outputs)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_runs_alone_in_a_fresh_kernel_within_60_s_and_1500_mb(chapter):
    done = executed(chapter)
    assert done.seconds < SECONDS
    assert done.peak < GIGABYTES * 1e9


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_value_in_the_text_is_made_by_a_cell(chapter):
    made = {output.get("metadata", {}).get("scrapbook", {}).get("name") for output in outputs(chapter)}
    text = source(chapter).read_text(encoding="utf-8")
    assert set(re.findall(r"\{glue:\w+\}`([^`:]+)", text)) <= made


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_no_cell_warns(chapter):
    """The book takes what a cell writes to stderr for a fault."""
    said = [output.text for output in outputs(chapter) if output.output_type == "stream" and output.name == "stderr"]
    assert said == []


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_figure_has_caption_name_and_alt_text(chapter):
    cells = executed(chapter).notebook.cells
    captioned = lambda cell: "figure" in cell.metadata.get("mystnb", {})
    assert [cell.source for cell in cells if captioned(cell) and not draws(cell)] == []
    for cell in (cell for cell in cells if cell.cell_type == "code" and draws(cell)):
        metadata = cell.metadata.get("mystnb", {})
        assert metadata.get("figure", {}).get("caption"), f"no caption: {cell.source}"
        assert metadata.get("figure", {}).get("name"), f"no name: {cell.source}"
        assert metadata.get("image", {}).get("alt"), f"no alt text: {cell.source}"


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_no_cell_is_over_25_lines(chapter):
    for cell in code_cells(chapter):
        assert len(cell.source.splitlines()) <= LINES, cell.source


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_cells_install_nothing_and_set_no_style(chapter):
    for cell in code_cells(chapter):
        assert not re.search(r"^\s*[%!]|\brcParams\b|plt\.style|sns\.set", cell.source, re.MULTILINE), cell.source


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_solutions_are_hidden_until_opened(chapter):
    text = source(chapter).read_text(encoding="utf-8")
    solutions = re.findall(r"^[`:]{3,}\{solution(?:-start)?\}.*\n((?::.*\n)*)", text, re.MULTILINE)
    assert all(":class: dropdown" in options for options in solutions)


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_references_of_a_chapter_stand_at_its_end(chapter):
    text = source(chapter).read_text(encoding="utf-8")
    if "{cite" in text:
        assert re.search(r"\n## References\n\n```\{bibliography\}\n:filter: docname in docnames\n```\s*$", text)


@pytest.mark.parametrize("page", pages())
def test_every_page_of_the_contents_has_a_source(page):
    assert source(page).is_file()


def test_road_map_links_to_every_written_chapter():
    links = re.findall(r"\]\(([^)]+)\.md\)", source("roadmap").read_text(encoding="utf-8"))
    assert sorted(set(links)) == sorted(page for page in pages() if page != "roadmap" and "reference/api/" not in page)
