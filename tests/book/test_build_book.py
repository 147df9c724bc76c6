"""The builder of the book: what it notices, what it keeps, and that a failing cell fails the build."""

import shutil
import subprocess
import sys

import build_book
import chapter_runs
import pytest
from book_sources import ROOT
from nbclient.exceptions import CellExecutionError

CHAPTER = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
needs: [{needs}]
---

# A chapter

```{{code-cell}} ipython3
{code}
```
"""
FAILING_CHAPTER = CHAPTER.format(needs="", code="1 / 0")
# Leaves a line behind each time that it runs.
COUNTING_CHAPTER = CHAPTER.format(needs="", code='print("ran", file=open("../ran.txt", "a"))\nprint("Hello")')


@pytest.fixture
def project(tmp_path):
    """A small project of the same shape: one chapter, one module."""
    for name, text in {
        "book/index.md": "# A book\n",
        "clustcal/__init__.py": "one = 1\n",
        "requirements/lock.txt": "",
        "_toc.yml": "format: jb-book\nroot: index\n",
        "_build/.jupyter_cache/outputs": "",
        "_build/html/index.html": "",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.fixture
def built(project):
    """The same project after a good build."""
    build = build_book.Build(project)
    build.write(**build.now)
    return project


def test_the_files_of_checks_of_a_site_are_there():
    assert [file for file in build_book.SITE_TESTS if not (ROOT / file).is_file()] == []


def test_a_site_is_current_after_its_build(built):
    assert build_book.Build(built).is_current()


@pytest.mark.parametrize("changed", ["book/index.md", "clustcal/__init__.py", "requirements/lock.txt", "_toc.yml"])
def test_a_site_is_not_current_after_a_change(built, changed):
    (built / changed).write_text("# changed\n")
    assert not build_book.Build(built).is_current()


def test_caches_of_python_are_no_change(built):
    (built / "clustcal/__pycache__").mkdir()
    (built / "clustcal/__pycache__/module.pyc").write_text("")
    assert build_book.Build(built).is_current()


def test_a_changed_package_empties_the_cache_of_outputs(built):
    (built / "clustcal/__init__.py").write_text("one = 2\n")
    build_book.Build(built).clear_stale()
    assert not (built / "_build/.jupyter_cache").exists()


def test_a_changed_text_keeps_cached_outputs_and_pages(built):
    (built / "book/index.md").write_text("# Another title\n")
    build_book.Build(built).clear_stale()
    assert (built / "_build/.jupyter_cache").exists()
    assert (built / "_build/html/index.html").exists()


def test_a_removed_page_clears_the_site(built):
    (built / "book/other.md").write_text("# Other\n")
    build = build_book.Build(built)
    build.write(**build.now)
    (built / "book/other.md").unlink()
    build_book.Build(built).clear_stale()
    assert not (built / "_build/html").exists()


def test_chapters_run_without_the_data_folder(monkeypatch):
    monkeypatch.setenv("CLUSTCAL_DATA_DIR", "/somewhere")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    assert not {"CLUSTCAL_DATA_DIR", "MPLBACKEND"} & set(chapter_runs.kernel_environment())


@pytest.fixture
def with_a_chapter_that_needs_more(project):
    (project / "_toc.yml").write_text("format: jb-book\nroot: index\nchapters:\n- file: more\n- file: other\n")
    (project / "book/index.md").write_text("# A book\n\nSee [more](more.md) and [the other page](other.md).\n")
    (project / "book/other.md").write_text("# Another page\n")
    (project / "book/more.md").write_text(CHAPTER.format(needs="no_such_module", code="import no_such_module"))
    return project


def test_a_site_without_a_chapter_is_not_current_once_the_chapter_can_be_built(
    with_a_chapter_that_needs_more, monkeypatch
):
    project = with_a_chapter_that_needs_more
    build = build_book.Build(project)
    build.write(**build.now)
    assert build_book.Build(project).is_current()
    monkeypatch.setattr(build_book, "left_out", lambda root: {})
    assert not build_book.Build(project).is_current()


def run_builder(project):
    """Run the builder on a project that gets the frame of the book; return how it ended and what it printed."""
    for name in ("_config.yml", "tools", "book/_static", "book/_assets"):
        source = ROOT / name
        (shutil.copytree if source.is_dir() else shutil.copy)(source, project / name)
    config = [line for line in (project / "_config.yml").read_text().splitlines() if "bibtex" not in line]
    (project / "_config.yml").write_text("\n".join(config))  # there is no bibliography here
    command = [sys.executable, "tools/build_book.py", "--no-checks"]
    ended = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout + ended.stderr


def test_a_failing_cell_fails_the_build_and_shows_its_traceback(project):
    (project / "book/index.md").write_text(FAILING_CHAPTER)
    status, printed = run_builder(project)
    assert status != 0
    assert "ZeroDivisionError" in printed
    assert not build_book.Build(project).is_current()


@pytest.fixture
def counting(project):
    """The project with a chapter that counts its runs in ran.txt."""
    (project / "book/index.md").write_text(COUNTING_CHAPTER)
    return project


def times_run(project):
    return len((project / "ran.txt").read_text().splitlines())


def test_a_chapter_that_has_been_run_is_not_run_again(counting):
    first = chapter_runs.run("index", counting)
    again = chapter_runs.run("index", counting)
    assert times_run(counting) == 1
    assert again == first
    assert again.notebook.cells[-1].outputs[0].text == "Hello\n"
    assert again.seconds > 0
    assert again.peak > 1e7


@pytest.mark.parametrize("changed", ["book/index.md", "clustcal/__init__.py"])
def test_a_chapter_is_run_again_after_a_change(counting, changed):
    chapter_runs.run("index", counting)
    with (counting / changed).open("a") as file:
        file.write("\n# changed\n")
    assert chapter_runs.kept_run("index", counting) is None
    chapter_runs.run("index", counting)
    assert times_run(counting) == 2


def test_a_run_that_fails_or_is_late_is_not_kept(counting):
    cell = "```{code-cell} ipython3\nimport time; time.sleep(0.6)\n```\n"
    (counting / "book/index.md").write_text(COUNTING_CHAPTER + cell + cell)  # neither cell is too slow, both are
    assert chapter_runs.run("index", counting, timeout=1).seconds > 1
    assert chapter_runs.kept_run("index", counting) is None
    (counting / "book/index.md").write_text(FAILING_CHAPTER)
    with pytest.raises(CellExecutionError, match="ZeroDivisionError"):
        chapter_runs.run("index", counting)
    assert chapter_runs.kept_run("index", counting) is None


def test_the_book_is_built_from_runs_that_are_there(counting):
    chapter_runs.run("index", counting)
    status, printed = run_builder(counting)
    assert status == 0, printed
    assert times_run(counting) == 1
    assert "Hello" in (counting / "_build/html/index.html").read_text()


def test_a_chapter_that_needs_a_missing_module_is_left_out_with_a_message(with_a_chapter_that_needs_more):
    project = with_a_chapter_that_needs_more
    status, printed = run_builder(project)
    assert status == 0, printed
    assert printed.count("The chapter more is left out: it needs no_such_module") == 1
    assert not (project / "_build/html/more.html").exists()
    page = (project / "_build/html/index.html").read_text()
    assert "See more and" in page
    assert "other.html" in page
