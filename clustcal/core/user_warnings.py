"""Warnings that point at the line of the user's program, however deep in the package their reason is found."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import sklearn

# Where no program of a user stands: this package, and scikit-learn, which calls it in pipelines and searches.
LIBRARIES = tuple(str(Path(file).parent) + os.sep for file in (Path(__file__).parent, sklearn.__file__))


def warn_user(message: str, category: type[Warning] = UserWarning) -> None:
    """Warn, with the nearest place outside of this package and of scikit-learn as the origin."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and frame.f_code.co_filename.startswith(LIBRARIES):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
