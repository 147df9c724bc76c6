"""What this book adds to Sphinx: the repository's address and results as text, tables of names, links in docstrings.

Loaded by `_config.yml`.
"""

import posixpath
import re
import sys
from importlib import import_module
from inspect import isclass, isfunction

from book_sources import left_out
from docutils.statemachine import StringList
from sphinx.ext.autosummary import Autosummary
from sphinx.util.nodes import make_refnode

# The modules that have a page in the API reference, in its order; a public name of `clustcal` is shown with its module.
MODULES = tuple(
    f"clustcal.{name}"
    for name in (
        "calibrators.parametric",
        "calibrators.spline",
        "calibrators.matrix",
        "calibrators.structured",
        "calibrators.one_vs_rest_of_binary",
        "calibrators.prior_correction",
        "calibrators.ensemble",
        "calibrators.histogram",
        "calibrators.scaling_binning",
        "calibrators.bayesian_binning",
        "calibrators.isotonic",
        "calibrators.centred_isotonic",
        "calibrators.venn_abers",
        "calibrators.binwise",
        "calibrators.ridge",
        "calibrators.local",
        "calibrators.clustered",
        "calibrators.soft_kmeans",
        "calibrators.clustered_cv",
        "classifier",
        "representations",
        "metrics",
        "plots",
        "datasets",
    )
)


def public_names(module_name):
    """Return the public names of a module: its ``__all__``, or else the classes and functions defined in it."""
    module = import_module(module_name)
    if hasattr(module, "__all__"):
        return list(module.__all__)
    return [
        name
        for name, value in vars(module).items()
        if not name.startswith("_") and (isclass(value) or isfunction(value)) and value.__module__ == module_name
    ]


def documented_name(module_name, name):
    """Return the full name under which the API reference describes a public name of a module."""
    homes = [home for home in MODULES if name in public_names(home)]
    return f"{module_name if module_name in homes or not homes else homes[0]}.{name}"


class PublicNames(Autosummary):
    """``.. public-names:: module`` is a table of the module's public names and what each is for."""

    required_arguments = 1
    has_content = False

    def run(self):
        module_name = self.arguments[0]
        self.env.note_dependency(import_module(module_name).__file__)
        names = [f"~{documented_name(module_name, name)}" for name in public_names(module_name)]
        self.content = StringList(names, module_name)
        self.options["nosignatures"] = None
        return super().run()


def add_assets(app, config):
    """Copy `book/_assets` to the site. Named in `_config.yml`, Jupyter Book would load its scripts on every page."""
    config.html_static_path.append("_assets")


def repository_substitutions(app, config):
    """Let pages write ``{{ repository_link }}`` and ``{{ clone_command }}``; the address stays in `_config.yml`."""
    address = config.html_theme_options["repository_url"]
    config.myst_substitutions = {
        **config.myst_substitutions,
        "repository_link": f"[repository]({address})",
        "clone_command": f"```sh\ngit clone {address}\ncd {address.rsplit('/', 1)[-1]}\n```",
    }


def without_links_to(some, page, text):
    """Return the text of a page, with the words alone where it links to one of some other pages."""

    def words_or_link(link):
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page), link["target"]))
        return link["words"] if target in some else link[0]

    return re.sub(r"\[(?P<words>[^\]]*)\]\((?P<target>[^)#\s]+)\.md(#[^)\s]*)?\)", words_or_link, text)


def unlink_left_out_pages(app, page, source):
    """Take out of a page the links to chapters that cannot be built here, which would fail the build."""
    source[0] = without_links_to(app.config.clustcal_left_out, page, source[0])


def insert_results(app, page, source):
    """Put text from the results where a page asks for it."""
    if "```{from-results}" in source[0]:
        import results_pages  # which reads the studies: only where they are needed

        results_pages.insert(app, page, source)


def resolve_short_name(app, env, node, text):
    """Link the `Name` of a docstring to its description, in whatever module that is; other bare words are code.

    Modules that have no page are code as well. Any other dotted name that leads nowhere fails the build.
    """
    if node.get("refdomain") != "py":
        return None
    target = node["reftarget"].removeprefix("clustcal.")
    found = [name for name in env.domaindata["py"]["objects"] if name.endswith(f".{target}")]
    if len(found) == 1:
        entry = env.domaindata["py"]["objects"][found[0]]
        return make_refnode(app.builder, node["refdoc"], entry.docname, entry.node_id, text, found[0])
    is_word = "." not in node["reftarget"] or node["reftarget"] in sys.modules
    return text if is_word else None


def skip_generated_methods(app, what, name, obj, skip, options):
    """Leave out ``set_fit_request`` and its kind, which scikit-learn adds to every estimator."""
    return True if name.startswith("set_") and name.endswith("_request") else None


def setup(app):
    app.add_directive("public-names", PublicNames)
    app.add_config_value("clustcal_left_out", sorted(left_out()), "env")
    app.connect("source-read", insert_results)
    app.connect("source-read", unlink_left_out_pages)
    app.connect("config-inited", add_assets)
    app.connect("config-inited", repository_substitutions)
    app.connect("missing-reference", resolve_short_name)
    app.connect("autodoc-skip-member", skip_generated_methods)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
