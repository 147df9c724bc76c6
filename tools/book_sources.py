"""The pages of the book as its table of contents has them, for tools and tests."""

from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent


def pages(node=None):
    """Return every page of the table of contents (or of a part of it) in reading order, as ``start/notation``."""
    if node is None:
        node = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    if isinstance(node, list):
        return [page for child in node for page in pages(child)]
    own = [node[key] for key in ("root", "file") if key in node]
    return own + [page for key in ("parts", "chapters", "sections") for page in pages(node.get(key, []))]


def source(page):
    """Return the source file of a page."""
    return ROOT / "book" / f"{page}.md"


def chapters():
    """Return the pages that run code: those whose front matter names a kernel."""
    return [page for page in pages() if source(page).exists() and "\nkernelspec:" in front_matter(page)]


def front_matter(page):
    return source(page).read_text(encoding="utf-8").split("\n---\n")[0]
