"""What the chapters of the book need from their notebook, and nothing else in the package uses."""


def glue(name, value):
    """Hand a value to the running text of the book, where ``{glue:text}`name``` prints it.

    Outside the book, where myst_nb is not installed, this does nothing, so that a chapter runs anywhere.

    Parameters
    ----------
    name : str
        A name of its own within the chapter.
    value : object
        A number, or a string.

    Examples
    --------
    >>> glue("rows", 10)
    """
    try:
        from myst_nb import glue as glue_into_book
    except ImportError:
        return
    # A numpy number prints as np.float64(...), which the book cannot format.
    glue_into_book(name, getattr(value, "item", lambda: value)(), display=False)
