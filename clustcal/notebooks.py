"""What the chapters of the book need from their notebook, and nothing else in the package uses."""


def glue(name, value):
    """Hand a value to the running text of the book, where ``{glue:text}`name``` prints it.

    It also prints the name and the value, which the book hides: in a notebook the text has the name in place of the
    value. Where myst_nb is not installed it does nothing else, so that a chapter runs anywhere.

    Parameters
    ----------
    name : str
        A name of its own within the chapter.
    value : object
        A number, or a string.

    Examples
    --------
    >>> glue("rows", 10)
    rows = 10
    """
    value = getattr(value, "item", lambda: value)()  # a numpy number prints as np.float64(...)
    print(f"{name} = {value:.6g}" if isinstance(value, float) else f"{name} = {value}")
    try:
        from myst_nb import glue as glue_into_book
    except ImportError:
        return
    glue_into_book(name, value, display=False)
