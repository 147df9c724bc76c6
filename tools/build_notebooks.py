"""Write the chapters that run code as notebooks into `book/notebooks` (`make notebooks`).

    python tools/build_notebooks.py [--output FOLDER]

Sphinx reads the whole book without running it, so that a notebook has the numbers, references and citations of its page
in the book, in a few seconds. A notebook has no outputs, and the same sources give the same bytes. A number that the
book takes from the code (`glue`) is a name in ‹angle marks›: the cell before the text prints its value.
"""

import argparse
import hashlib
import re
import shutil
import sys
import tempfile
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from io import StringIO
from pathlib import Path

import nbformat
from book_sources import front_matter
from jupyter_book.config import get_final_config
from launch_buttons import FOLDER
from moved_pages import moved_pages
from notebook_markdown import Page
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from sphinx.application import Sphinx
from sphinx.builders import Builder
from sphinx.util.docutils import docutils_namespace, patch_docutils

ROOT = Path(__file__).resolve().parent.parent
NOT_FOR_READERS = {"all", "bench", "book", "test"}  # extras
NOTE = """\
*This notebook is made from [a chapter of the book]({source}).
A number in ‹angle marks› comes from the code: run the cells in order, and the last one before the text prints it.*\
"""
MOVED = """\
# This notebook has moved

It is now [{name}.ipynb]({address}).\
"""
SETUP = """\
# Installs the package where it is missing, as on Colab; elsewhere this does nothing.
from importlib.util import find_spec

if not all(map(find_spec, {modules})):
    %pip install --quiet "{requirement}"\
"""


def project():
    """Return what `pyproject.toml` says of the package."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def extras(modules):
    """Return the extras of the package that bring the given modules, sorted."""
    brought_by = {}
    for extra, requirements in project()["optional-dependencies"].items():
        if extra not in NOT_FOR_READERS:
            brought_by |= {canonicalize_name(Requirement(requirement).name): extra for requirement in requirements}
    found = set()
    for module in modules:
        names = {canonicalize_name(name) for name in [module, *installed().get(module, ())]}
        extra = next((brought_by[name] for name in sorted(names) if name in brought_by), None)
        if extra is None:
            raise ValueError(f"a chapter needs {module}, which no extra of the package brings")
        found.add(extra)
    return sorted(found)


@cache
def installed():
    """Return which distributions installed here bring a module: a slow question, asked once."""
    return packages_distributions()


def setup_cell(modules, repository, branch):
    """Return the code that installs the package with what a chapter needs, if any of it is missing."""
    needed = f"[{','.join(extras(modules))}]" if modules else ""
    requirement = f"clustcal{needed} @ git+{repository}@{branch}"
    return SETUP.format(modules=str(["clustcal", *modules]).replace("'", '"'), requirement=requirement)


def notebook(parts, note, setup):
    """Return the parts of a page as a notebook: title and note, the installing cell, then the page."""
    cells, text = [], []

    def write_text():
        if text:
            cells.append(("markdown", "\n\n".join(part.source for part in text), text[0].folded))
            text.clear()

    for part in parts:
        if part.kind != "text":
            write_text()
        if part.kind == "code":
            cells.append(("code", part.source, False))
            continue
        text.append(part)
        if len(cells) == 0 and part.kind == "heading":
            cells += [("markdown", f"{part.source}\n\n{note}", False), ("code", setup, False)]
            text.clear()
        elif part.folded:
            write_text()  # what is folded are the cells below
    write_text()
    return assembled(cells)


def assembled(cells):
    """Return a notebook of (type, source, whether it is a heading that starts folded), with ids that stay the same."""
    made, times_seen, folded_ids = nbformat.v4.new_notebook(), {}, []
    for kind, source, folded in cells:
        name = hashlib.sha256(source.encode()).hexdigest()[:12]
        times_seen[name] = times_seen.get(name, 0) + 1
        cell = getattr(nbformat.v4, f"new_{kind}_cell")(source, id=f"{name}-{times_seen[name]}")
        if folded:
            cell.metadata |= {"id": cell.id, "jp-MarkdownHeadingCollapsed": True}  # for Colab and JupyterLab
            folded_ids.append(cell.id)
        made.cells.append(cell)
    made.metadata = {
        "colab": {"collapsed_sections": folded_ids},
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    nbformat.validate(made)
    return made


class NotebookBuilder(Builder):
    """Write every page with a kernel as a notebook; links to other pages lead to their files in the repository."""

    name = "notebooks"
    allow_parallel = False

    def get_outdated_docs(self):
        return self.env.found_docs

    def prepare_writing(self, docnames):
        pass

    def is_chapter(self, docname):
        return "kernelspec" in self.env.metadata.get(docname, {})

    def write(self, build_docnames, updated_docnames, method="update"):
        super().write(filter(self.is_chapter, self.env.found_docs), [], method)

    def in_repository(self, path):
        """Return the address at which a reader finds a file of the book: relative links do not work on Colab."""
        theme = self.config.html_theme_options
        return f"{theme['repository_url']}/blob/{theme['repository_branch']}/{theme['path_to_docs']}/{path}"

    def get_target_uri(self, docname, typ=None):
        return self.in_repository(f"{FOLDER}/{docname}.ipynb" if self.is_chapter(docname) else f"{docname}.md")

    def get_relative_uri(self, from_, to, typ=None):
        return "" if from_ == to else self.get_target_uri(to)

    def finish(self):
        """Leave a note at the old addresses of notebooks, which links on Colab and Binder still have."""
        for old, new in moved_pages(self.config.redirects).items():
            if self.is_chapter(new):
                address = self.get_target_uri(new)
                self.write_notebook(old, assembled([("markdown", MOVED.format(name=new, address=address), False)]))

    def write_doc(self, docname, doctree):
        if not self.is_chapter(docname):
            return
        theme = self.config.html_theme_options
        modules = front_matter(docname, Path(self.srcdir).parent).get("needs", [])
        setup = setup_cell(modules, theme["repository_url"], theme["repository_branch"])
        note = NOTE.format(source=self.in_repository(f"{docname}.md"))
        self.write_notebook(docname, notebook(Page(doctree, docname, self.env).parts(), note, setup))

    def write_notebook(self, docname, made):
        file = Path(self.outdir, f"{docname}.ipynb")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(nbformat.writes(made) + "\n", encoding="utf-8")


def prepare_source(app, docname, source):
    """Keep the code that the book hides, name the numbers that it hands to the text, and do not read the API pages."""
    text = re.sub(r"^:?tags: *\[.*\]\n", "", source[0], flags=re.MULTILINE)
    text = re.sub(r"\{glue:text\}`([^`:]+)(?::[^`]*)?`", r"‹\1›", text)
    source[0] = re.sub(r"^```\{eval-rst\}\n.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def setup(app):
    app.add_builder(NotebookBuilder)
    app.connect("source-read", prepare_source)
    return {"parallel_read_safe": True}


def build(output, root=ROOT):
    """Write all notebooks below a folder; return the warnings of Sphinx."""
    settings, _ = get_final_config(
        user_yaml=root / "_config.yml", sourcedir=root / "book", cli_config={"latex_individualpages": False}
    )
    settings |= {
        "extensions": [*settings["extensions"], "build_notebooks"],
        "clustcal_left_out": [],  # a notebook installs what its chapter needs
        "external_toc_path": str(root / "_toc.yml"),
        "nb_execution_mode": "off",
        # Some places that the text links to are outputs of cells; that they are there is seen when the book is built.
        "suppress_warnings": [*settings["suppress_warnings"], "myst.xref_missing"],
    }
    warnings = StringIO()
    with tempfile.TemporaryDirectory() as work, patch_docutils(), docutils_namespace():
        Sphinx(
            srcdir=root / "book",
            confdir=None,
            outdir=output,
            doctreedir=work,
            buildername=NotebookBuilder.name,
            confoverrides=settings,
            freshenv=True,
            status=None,
            warning=warnings,
        ).build(force_all=True)
    return warnings.getvalue()


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Write the chapters as notebooks.")
    parser.add_argument("--output", type=Path, default=ROOT / "book" / FOLDER)
    folder = parser.parse_args(arguments).output
    with tempfile.TemporaryDirectory() as made:
        if warnings := build(Path(made)):
            sys.exit(f"The notebooks were not written:\n{warnings}")
        shutil.rmtree(folder, ignore_errors=True)
        notebooks = sorted(Path(made).rglob("*.ipynb"))
        for file in notebooks:
            target = folder / file.relative_to(made)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, target)
    print(f"{len(notebooks)} notebooks written into {folder}")


if __name__ == "__main__":
    main()
