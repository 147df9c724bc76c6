"""Where the results of our own runs are.

In a checkout they are in its folder ``results``; a wheel carries a copy inside the package, so that every chapter runs
wherever the package is installed.
"""

from pathlib import Path

_INSTALLED = Path(__file__).resolve().parents[1] / "results"
FOLDER = _INSTALLED if _INSTALLED.exists() else Path(__file__).resolve().parents[2] / "results"
