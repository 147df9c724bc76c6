"""The look of all figures: where the style file lies, and the markers that go with its colours."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from importlib.resources import as_file, files
from importlib.resources.abc import Traversable
from typing import Any

from clustcal.core.parameters import shown

# One marker per colour of the style's cycle; all differ in outline, also when small.
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
DIAGONAL_COLOUR = "0.45"


def check_axes(ax: Any) -> None:
    """Raise a ValueError unless it is None or Axes of matplotlib."""
    from matplotlib.axes import Axes

    if ax is not None and not isinstance(ax, Axes):
        raise ValueError(f"ax is {shown(ax)}; expected Axes of matplotlib, or None for a new figure.")


def check_results(name: str, results: Any, *keys: str, several: bool = True) -> None:
    """Raise a ValueError unless it is a mapping that holds the keys, or of several, one of names to such."""
    items = list(results.values()) if several and isinstance(results, Mapping) else [results]
    if not items and several:
        raise ValueError(f"{name} is empty; expected at least one.")
    missing = [key for item in items for key in keys if not isinstance(item, Mapping) or key not in item]
    if missing:
        what = "a mapping from names to such results" if several else "such a result"
        raise ValueError(f"{name} lacks {missing[0]!r}; expected {what}, see the docstring.")


def next_look(drawn: int) -> dict[str, Any]:
    """Marker of the next line on axes that hold ``drawn`` of them already.

    When the colours come round again the markers are one further, so that no two of 49 lines look alike.
    """
    marker = MARKERS[(drawn + drawn // len(MARKERS)) % len(MARKERS)]
    return {"marker": marker, "markeredgecolor": "white", "zorder": 3}


def style() -> AbstractContextManager[None]:
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


def use_style() -> None:
    """Give all figures from here on the look of this package, as the chapters of the book do."""
    import matplotlib.pyplot as plt

    with as_file(_style_file()) as path:
        plt.style.use(str(path))


def _style_file() -> Traversable:
    return files("clustcal") / "clustcal.mplstyle"
