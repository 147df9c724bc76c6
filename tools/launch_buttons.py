"""Let the launch and download buttons of a chapter lead to its generated notebook (`book/notebooks`).

The theme makes the buttons of all pages with a kernel, and points them at the text of the page, which Colab cannot open
and which is full of directives of the book. Loaded by `_config.yml`.
"""

import shutil
from pathlib import Path

FOLDER = "notebooks"  # in the folder of the book, with the folders of the chapters below it


def point_at_notebook(app, pagename, templatename, context, doctree):
    """Write the path of the notebook into the addresses of the launch buttons."""
    for group in context.get("header_buttons", ()):
        if group.get("label") == "launch-buttons":
            for button in group["buttons"]:
                button["url"] = button["url"].replace(f"/{pagename}.md", f"/{FOLDER}/{pagename}.ipynb")


def offer_notebooks(app, error):
    """Replace the notebooks that the theme offers for download, which are full of directives, by the generated ones."""
    if error is None and app.builder.format == "html":
        for notebook in Path(app.srcdir, FOLDER).rglob("*.ipynb"):
            offered = Path(app.outdir, "_sources", notebook.relative_to(Path(app.srcdir, FOLDER)))
            if offered.exists():
                shutil.copyfile(notebook, offered)


def setup(app):
    app.connect("html-page-context", point_at_notebook, priority=900)
    app.connect("build-finished", offer_notebooks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
