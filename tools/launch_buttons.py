"""Let the launch and download buttons of a chapter lead to its generated notebook (`book/notebooks`).

The theme makes the buttons of all pages with a kernel, and points them at the text of the page, which Colab cannot open
and which is full of directives of the book. For notebooks that have no page, the assignments, there is a directive:
``{open-notebook} assignments/01-measuring``. Loaded by `_config.yml`.
"""

import shutil
from pathlib import Path

from docutils import nodes
from sphinx.addnodes import download_reference
from sphinx.util.docutils import SphinxDirective

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


class OpenNotebook(SphinxDirective):
    """Three links to a notebook of the book: open it in Colab, on Binder, or download it."""

    required_arguments = 1

    def run(self):
        theme, file = self.config.html_theme_options, f"{self.arguments[0]}.ipynb"
        hosts, branch, path = theme["launch_buttons"], theme["repository_branch"], f"{theme['path_to_docs']}/{file}"
        project = "/".join(theme["repository_url"].split("/")[-2:])
        places = {
            "open in Colab": f"{hosts['colab_url']}/github/{project}/blob/{branch}/{path}",
            "open on Binder": f"{hosts['binderhub_url']}/v2/gh/{project}/{branch}?urlpath=lab/tree/{path}",
        }
        name = file.rpartition("/")[2]
        shown = nodes.paragraph("", f"{name}: ")
        for words, address in places.items():
            shown += [nodes.reference("", words, refuri=address), nodes.Text(", ")]
        download = download_reference("", "download", reftarget=f"/{file}", refdoc=self.env.docname, reftype="download")
        shown += download
        return [shown]


def setup(app):
    app.add_directive("open-notebook", OpenNotebook)
    app.connect("html-page-context", point_at_notebook, priority=900)
    app.connect("build-finished", offer_notebooks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
