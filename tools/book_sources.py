"""The pages of the book as its table of contents has them, what each needs, and whether files have changed."""

import hashlib
from importlib.util import find_spec
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
IGNORED_FOLDERS = {"__pycache__", ".ipynb_checkpoints", ".pytest_cache"}


def table_of_contents(root=ROOT):
    return yaml.safe_load((root / "_toc.yml").read_text(encoding="utf-8")) or {}


def pages(node=None):
    """Return every page of the table of contents (or of a part of it) in reading order, as ``start/quickstart``."""
    if node is None:
        node = table_of_contents()
    if isinstance(node, list):
        return [page for child in node for page in pages(child)]
    own = [node[key] for key in ("root", "file") if key in node]
    return own + [page for key in ("parts", "chapters", "sections") for page in pages(node.get(key, []))]


def without(some, node):
    """Return a table of contents (or a part of it) without some of its pages."""
    if isinstance(node, list):
        return [without(some, child) for child in node if not isinstance(child, dict) or child.get("file") not in some]
    return {key: without(some, value) for key, value in node.items()} if isinstance(node, dict) else node


def source(page, root=ROOT):
    """Return the source file of a page."""
    return root / "book" / f"{page}.md"


def front_matter(page, root=ROOT):
    """Return what a page says about itself before its text, as a dictionary."""
    text = source(page, root).read_text(encoding="utf-8")
    return yaml.safe_load(text.split("---\n")[1]) if text.startswith("---\n") else {}


def chapters(root=ROOT):
    """Return the pages that run code: those whose front matter names a kernel."""
    written = (page for page in pages(table_of_contents(root)) if source(page, root).exists())
    return [page for page in written if "kernelspec" in front_matter(page, root)]


def missing(page, root=ROOT):
    """Return the modules that a chapter needs, by ``needs`` in its front matter, and that are not installed."""
    return [name for name in front_matter(page, root).get("needs", []) if find_spec(name) is None]


def left_out(root=ROOT):
    """Return the chapters that cannot be built here, each with the modules that it misses."""
    misses = {page: missing(page, root) for page in chapters(root)}
    return {page: names for page, names in misses.items() if names}


def built():
    """Return the pages of the book as it is built here."""
    return pages(without(left_out(), table_of_contents()))


def files_under(paths, root=ROOT):
    """Yield the files at or under the given paths, in a fixed order, without caches."""
    for path in paths:
        here = root / path
        for file in sorted(here.rglob("*")) if here.is_dir() else [here]:
            if file.is_file() and not IGNORED_FOLDERS & set(file.relative_to(root).parts):
                yield file


def fingerprint(paths, root=ROOT, contents=True):
    """Return a hash of the names, and by default the contents, of all files at or under the given paths."""
    digest = hashlib.sha256()
    for file in files_under(paths, root):
        digest.update(f"{file.relative_to(root).as_posix()}\0".encode())
        if contents:
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()
