"""Which pages of the book have moved, and where to: what `redirects` in `_config.yml` says, by the names of the pages.

The extension sphinx-reredirects leaves a page at each old address of the site. Loaded by `_config.yml`, this module
also leaves the notebook that the old page offered for download.
"""

import posixpath
import shutil
from pathlib import Path

from launch_buttons import FOLDER


def moved_pages(redirects):
    """Return the new name of every page that has moved, by its old one.

    Parameters
    ----------
    redirects : dict of str
        The address of the new page as seen from the old one, such as ``../appendix/notation.html``, by the old name.

    Returns
    -------
    names : dict of str

    Examples
    --------
    >>> moved_pages({"start/notation": "../appendix/notation.html"})
    {'start/notation': 'appendix/notation'}
    """
    return {
        old: posixpath.normpath(posixpath.join(posixpath.dirname(old), address)).removesuffix(".html")
        for old, address in redirects.items()
    }


def offer_moved_notebooks(app, error):
    """Put the notebook of a chapter that has moved where its old page offered it for download."""
    if error is None and app.builder.format == "html":
        for old, new in moved_pages(app.config.redirects).items():
            notebook, offered = Path(app.srcdir, FOLDER, f"{new}.ipynb"), Path(app.outdir, "_sources", f"{old}.ipynb")
            if notebook.exists():
                offered.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(notebook, offered)


def setup(app):
    app.connect("build-finished", offer_moved_notebooks)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
