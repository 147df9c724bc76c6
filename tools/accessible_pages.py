"""Mend what the theme and Sphinx leave out for people who use a screen reader. Loaded by `_config.yml`."""


def list_references(app, pagename, templatename, context, doctree):
    """Make the entries of a list of references items of that list; their own role is not allowed there."""
    if "body" in context:
        context["body"] = context["body"].replace('role="doc-biblioentry"', 'role="listitem"')


def name_switches(app, pagename, templatename, context, doctree):
    """Give a name to the arrows that open and close a branch of the table of contents."""
    contents = context.get("generate_toctree_html")
    if contents is None:
        return

    def named(*arguments, **options):
        soup = contents(*arguments, **options)
        for summary in soup.select("li > details > summary"):
            link = summary.parent.parent.find("a", recursive=False)
            if link:
                summary["aria-label"] = f"Pages of {link.get_text(strip=True)}"
        return soup

    context["generate_toctree_html"] = named


def setup(app):
    app.connect("html-page-context", list_references, priority=900)
    app.connect("html-page-context", name_switches, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
