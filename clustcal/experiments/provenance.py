"""Where a number came from: the versions of the libraries, and the commit of this package."""

import subprocess
from contextlib import suppress
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import clustcal

LIBRARIES = ("numpy", "scikit-learn", "scipy", "woodelf-explainer", "xgboost")


def library_versions(libraries=LIBRARIES):
    """Return the installed version of every library that decides a number, of those that are installed.

    XGBoost may be there under the name of its build without GPU libraries.
    """
    installed = {}
    for library in libraries:
        for name in (library, f"{library}-cpu"):
            with suppress(PackageNotFoundError):
                installed[library] = version(name)
    return installed


@cache
def describe_versions(libraries=LIBRARIES):
    """Return all versions in one line, that of this package first."""
    versions = {"clustcal": clustcal.__version__} | library_versions(libraries)
    return "; ".join(f"{name} {number}" for name, number in versions.items())


@cache
def describe_commit():
    """Return the short commit of the checkout that this package is run from, with a ``+`` if it was changed since.

    Only the package counts as a change. Empty outside a checkout.
    """
    folder = Path(clustcal.__file__).parent
    with suppress(OSError, subprocess.CalledProcessError):
        commit = _git(folder, "rev-parse", "--short", "HEAD").strip()
        return commit + ("+" if _git(folder, "status", "--porcelain", "--", ".").strip() else "")
    return ""


def _git(folder, *arguments):
    return subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True).stdout
