"""The pipeline of clustered calibration as a picture: the paper's Fig. 2, drawn anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clustcal.plots._style import check_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# What is fitted on the calibration set (above) and what happens to a new sample (below): text, centre, colour.
BOXES = {
    "f": ("trained\nclassifier $f$", (1.0, 2.0), "C4"),
    "phi": ("representation\n$\\phi(x)$", (3.1, 3.1), "C0"),
    "P": ("scores\n$\\hat p(x)$", (3.1, 0.9), "C4"),
    "mu": ("K-means:\ncentroids $\\mu_k$", (5.3, 3.1), "C0"),
    "global": ("global\ncalibrator $\\theta_0$", (5.3, 0.9), "C1"),
    "w": ("memberships\n$w_k(x)$", (7.5, 3.1), "C0"),
    "theta": ("cluster\ncalibrators\n$\\theta_1, \\dots, \\theta_K$", (7.5, 0.9), "C1"),
    "mix": ("mixture\n$\\sum_k w_k c_{\\theta_k}(\\hat p)$", (9.9, 2.0), "C2"),
}
ARROWS = (
    ("f", "phi", ""),
    ("f", "P", ""),
    ("phi", "mu", ""),
    ("mu", "w", ""),
    ("P", "global", ""),
    ("global", "theta", "shrinkage $\\lambda$"),
    ("w", "theta", "weights"),
    ("w", "mix", ""),
    ("theta", "mix", ""),
)
WIDTH, HEIGHT = 1.75, 1.25


def plot_pipeline(*, ax: Axes | None = None) -> Axes:
    """Draw the stages of clustered calibration and what flows between them.

    Blue boxes look at the representation, orange ones at labels, the green one gives the result.

    Parameters
    ----------
    ax : matplotlib Axes, optional
        By default a new figure.

    Returns
    -------
    ax : matplotlib Axes

    Examples
    --------
    >>> from clustcal.plots import plot_pipeline
    >>> ax = plot_pipeline()
    >>> len(ax.patches)  # one box per stage
    8
    """
    import matplotlib.pyplot as plt
    from matplotlib.patches import FancyBboxPatch

    check_axes(ax)
    ax = plt.subplots(figsize=(8.4, 3.4))[1] if ax is None else ax
    for text, (x, y), colour in BOXES.values():
        corner = x - WIDTH / 2, y - HEIGHT / 2
        box = FancyBboxPatch(corner, WIDTH, HEIGHT, boxstyle="round,pad=0.05", fc="white", ec=colour, lw=2)
        ax.add_patch(box)
        ax.text(x, y, text, ha="center", va="center", fontsize=10.5)
    for start, end, label in ARROWS:
        _draw_arrow(ax, BOXES[start][1], BOXES[end][1], label)
    ax.set(xlim=(0, 10.95), ylim=(-0.2, 4.0), aspect="equal")
    ax.set_axis_off()
    return ax


def _draw_arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], label: str) -> None:
    """Draw an arrow from the border of one box to that of another, with a label beside it."""
    (x0, y0), (x1, y1) = start, end
    if x0 == x1:
        side = HEIGHT / 2 + 0.08
        tail, head = (x0, y0 - side), (x1, y1 + side)
    else:
        side = WIDTH / 2 + 0.08
        tail, head = (x0 + side, y0), (x1 - side, y1)
    ax.annotate("", head, tail, arrowprops={"arrowstyle": "-|>", "color": "0.25", "shrinkA": 0, "shrinkB": 0})
    if label:
        across = x0 == x1
        x, y = (x0 + 0.1, (y0 + y1) / 2) if across else ((x0 + x1) / 2, y0 - HEIGHT / 2 - 0.12)
        ax.text(x, y, label, ha="left" if across else "center", va="center" if across else "top", fontsize=10)
