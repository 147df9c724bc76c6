"""The look of all figures: where the style file lies, and the markers that go with its colours."""

from importlib.resources import as_file, files

# One marker per colour of the style's cycle; all differ in outline, also when small.
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DIAGONAL_COLOUR = "0.45"


def next_look(drawn):
    """Marker of the next line on axes that hold ``drawn`` of them already.

    When the colours come round again the markers are one further, so that no two of 49 lines look alike.
    """
    marker = MARKERS[(drawn + drawn // len(MARKERS)) % len(MARKERS)]
    return {"marker": marker, "markeredgecolor": "white", "zorder": 3}


def style():
    """Context manager: figures made inside it have the look of this package.

    Examples
    --------
    >>> import matplotlib.pyplot as plt
    >>> from clustcal.plots import style
    >>> with style():
    ...     plt.rcParams["figure.facecolor"]
    'white'
    """
    import matplotlib.pyplot as plt

    with as_file(_style_file()) as path:
        return plt.style.context(str(path))


def use_style():
    """Give all figures from here on the look of this package, as the chapters of the book do."""
    import matplotlib.pyplot as plt

    with as_file(_style_file()) as path:
        plt.style.use(str(path))


def _style_file():
    return files("clustcal") / "clustcal.mplstyle"
