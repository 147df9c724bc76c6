"""The generated notebooks follow from the chapters, can be read without the book, and are where the buttons lead."""

import ast
import re
import sys
from functools import cache
from types import SimpleNamespace

import build_notebooks
import jupytext
import nbformat
import pytest
import yaml
from book_sources import ROOT, chapters, front_matter, source
from docutils import nodes
from docutils.utils import new_document
from moved_pages import moved_pages
from notebook_markdown import Page, escaped, quoted, without_bars
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

FOLDER = ROOT / "book" / build_notebooks.FOLDER
SETTINGS = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
CONFIG = SETTINGS["repository"]
IN_REPOSITORY = f"{CONFIG['url']}/blob/{CONFIG['branch']}/"
CHAPTERS = chapters()
MOVED = {old: new for old, new in moved_pages(SETTINGS["sphinx"]["config"]["redirects"]).items() if new in CHAPTERS}


@pytest.fixture(scope="module")
def generated(tmp_path_factory):
    """A folder with the notebooks as they follow from the chapters now."""
    folder = tmp_path_factory.mktemp("notebooks")
    assert build_notebooks.build(folder) == ""
    return folder


def notebooks_in(folder):
    return sorted(path.relative_to(folder).with_suffix("").as_posix() for path in folder.rglob("*.ipynb"))


@cache
def read(chapter):
    return nbformat.read(FOLDER / f"{chapter}.ipynb", as_version=4)


def text(chapter):
    return "\n\n".join(cell.source for cell in read(chapter).cells if cell.cell_type == "markdown")


def code(chapter):
    return [cell.source for cell in read(chapter).cells if cell.cell_type == "code"]


def test_there_is_a_notebook_for_every_chapter_and_a_note_for_every_one_that_has_moved():
    assert notebooks_in(FOLDER) == sorted([*CHAPTERS, *MOVED])


@pytest.mark.parametrize("old", MOVED)
def test_a_notebook_that_has_moved_says_where_it_is(old, generated):
    assert (FOLDER / f"{old}.ipynb").read_bytes() == (generated / f"{old}.ipynb").read_bytes(), "run `make notebooks`"
    assert code(old) == []
    assert re.findall(r"\]\(([^)\s]+)\)", text(old)) == [f"{IN_REPOSITORY}book/notebooks/{MOVED[old]}.ipynb"]


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_notebook_follows_from_its_chapter_to_the_byte(chapter, generated):
    fresh, kept = ((folder / f"{chapter}.ipynb").read_bytes() for folder in (generated, FOLDER))
    assert fresh == kept, "run `make notebooks`"


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_notebook_is_valid_and_has_no_outputs(chapter):
    notebook = read(chapter)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    assert [c for c in notebook.cells if c.get("outputs") or c.get("execution_count")] == []


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_no_directive_role_or_label_is_left(chapter):
    left = r"\{[a-z:-]+\}`|^[ >]*(?:`{3,}\{|:{3,}).*|^\([a-z-]+\)=|^\+\+\+|\{\{"
    assert re.findall(left, text(chapter), re.MULTILINE) == []


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_first_code_cell_installs_the_package_with_what_the_chapter_needs(chapter):
    first, *others = code(chapter)
    needs = front_matter(chapter).get("needs", [])
    (installed,) = re.findall(r'%pip install --quiet "(.+)"', first)
    assert str(["clustcal", *needs]).replace("'", '"') in first
    assert Requirement(installed).name == "clustcal"
    assert Requirement(installed).url == f"git+{CONFIG['url']}@{CONFIG['branch']}"
    assert Requirement(installed).extras == set(build_notebooks.extras(needs))
    assert not any("%pip" in source for source in others)


def imports(cell):
    """Yield the modules that a cell imports."""
    for node in ast.walk(ast.parse(cell)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_imports_come_with_what_the_first_cell_installs(chapter):
    dependencies = {canonicalize_name(Requirement(line).name) for line in build_notebooks.project()["dependencies"]}
    imported = {name.split(".")[0] for cell in code(chapter)[1:] for name in imports(cell)}
    others = imported - sys.stdlib_module_names - {"clustcal", "IPython"} - set(front_matter(chapter).get("needs", []))
    bring = {name: set(map(canonicalize_name, build_notebooks.installed().get(name, ()))) for name in others}
    assert [name for name in others if not bring[name] & dependencies] == []


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_links_lead_to_files_of_the_repository_and_to_places_in_the_notebook(chapter):
    words = text(chapter)
    links = re.findall(r"\]\(([^)\s]+)\)", words)
    ours = [link.removeprefix(IN_REPOSITORY) for link in links if link.startswith(CONFIG["url"] + "/")]
    assert ours
    assert [path for path in ours if not (ROOT / path).is_file()] == []
    assert [link for link in links if not link.startswith(("https://", "http://", "#"))] == []
    places = set(re.findall(r'<a id="([^"]+)"></a>', words))
    assert {link[1:] for link in links if link.startswith("#")} - places == set()


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_folded_solution_hides_nothing_but_itself(chapter):
    cells = read(chapter).cells
    folded = [i for i, cell in enumerate(cells) if cell.metadata.get("jp-MarkdownHeadingCollapsed")]
    assert [cells[i].id for i in folded] == read(chapter).metadata.colab.collapsed_sections
    for i in folded:
        assert re.fullmatch(r"#### Solution to Exercise [\d.]+", cells[i].source)
        headings = [c.source for c in cells[i + 1 :] if c.cell_type == "markdown" and c.source.startswith("#")]
        assert re.match(r'### (<a id="[^"]*"></a>)?Exercise|## ', headings[0])


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_names_in_angle_marks_are_printed_by_the_code(chapter):
    """By a name written in the code, or put together there: whether it is printed is seen when the notebook runs."""
    names = set(re.findall(r"‹([^›\s]+)›", text(chapter)))
    written = [node for cell in code(chapter)[1:] for node in ast.walk(ast.parse(cell))]
    patterns = {re.escape(node.value) for node in written if isinstance(node, ast.Constant) and node.value in names}
    patterns |= {pattern(node) for node in written if isinstance(node, ast.JoinedStr)}
    assert [name for name in names if not any(re.fullmatch(one, name) for one in patterns)] == []


def pattern(formatted):
    """Return what an f-string can be, as a regular expression; one without any fixed part can be nothing."""
    parts = [re.escape(p.value) if isinstance(p, ast.Constant) else ".+" for p in formatted.values]
    return "".join(parts) if any(p != ".+" for p in parts) else "(?!)"


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_cells_that_hand_numbers_to_the_text_are_hidden_in_the_book(chapter):
    """They print these numbers, for those who read the notebook."""
    for cell in jupytext.read(source(chapter)).cells:
        if cell.cell_type == "code" and re.search(r"\bglue\(", cell.source):
            assert "remove-cell" in cell.metadata.get("tags", []), cell.source


def test_equal_cells_get_ids_of_their_own_that_do_not_change():
    cells = [("code", "1", False), ("code", "1", False), ("markdown", "2", True)]
    first, second = (build_notebooks.assembled(cells) for _ in range(2))
    assert [cell.id for cell in first.cells] == [cell.id for cell in second.cells]
    assert len({cell.id for cell in first.cells}) == 3


@pytest.mark.parametrize(
    ("modules", "expected"),
    [([], []), (["torch", "transformers"], ["deep"]), (["xgboost"], ["trees"]), (["shap", "torch"], ["deep", "trees"])],
)
def test_extras_are_those_that_bring_the_modules(modules, expected):
    assert build_notebooks.extras(modules) == expected


def test_a_module_that_no_extra_brings_is_refused():
    with pytest.raises(ValueError, match="needs seaborn, which no extra"):
        build_notebooks.extras(["seaborn"])


@pytest.fixture
def page():
    """A page of the book without content, and the way to write an element of it."""
    numbers = {"displaymath": {"eq": (6, 1)}}
    return Page(
        new_document("a"), "a", SimpleNamespace(toc_fignumbers={"a": numbers}, toc_secnumbers={"a": {"": (6,)}})
    )


def test_displayed_formula_has_its_number(page):
    formula = nodes.math_block("", "x = 1", label="x", ids=["eq"])
    assert [part.source for part in page.block(formula, 1)] == ["$$\nx = 1 \\tag{6.1}\n$$"]


def test_lines_of_a_displayed_formula_are_aligned(page):
    formula = nodes.math_block("", r"x &= 1 \\ y &= 2")
    (part,) = page.block(formula, 1)
    assert part.source == "$$\n\\begin{aligned}x &= 1 \\\\ y &= 2\\end{aligned}\n$$"


def test_code_with_a_figure_gets_its_caption_and_its_words_below(page):
    shown = {"mystnb": {"figure": {"caption": "Bins.", "name": "fig"}, "image": {"alt": "Three bars."}}}
    cell = nodes.container(nb_element="cell_code", cell_metadata=shown)
    cell += nodes.literal_block("", "plot()")
    below = "**Fig. 6.1.** Bins.\n\n<details><summary>The figure in words</summary>Three bars.</details>"
    assert [part.source for part in page.block(cell, 1)] == ["plot()", below]


def test_an_element_that_is_not_known_stops_the_build(page):
    with pytest.raises(NotImplementedError, match="cannot show a rubric yet"):
        page.block(nodes.rubric(), 1)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("5 * 3", r"5 \* 3"),
        ("n_bins and _private", r"n_bins and \_private"),
        ("5 $ for <b>", r"5 \$ for \<b>"),
        ("a < b [0, 1]", "a < b [0, 1]"),
    ],
)
def test_markdown_takes_no_word_for_markup(words, expected):
    assert escaped(words) == expected


@pytest.mark.parametrize("start", ["1. ", "- ", "# "])
def test_a_line_that_looks_like_a_list_or_a_heading_stays_a_line(page, start):
    written = page.block_paragraph(nodes.paragraph("", f"{start}is first"), 1)
    assert re.fullmatch(r"1?\\[.#-] is first", written)


def test_bars_do_not_end_a_cell_of_a_table():
    assert without_bars(r"$|x| + \|y\|$ or `a | b`") == r"$\vert x\vert  + \Vert y\Vert $ or `a \| b`"


def test_a_formula_in_a_quotation_stands_on_one_line():
    assert quoted("So\n\n$$\nx\n= 1\n$$") == "> So\n>\n> $$ x = 1 $$"
