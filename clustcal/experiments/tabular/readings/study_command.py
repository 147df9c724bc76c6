"""The command of a study of readings: which options it has, and what it says in the end."""

import argparse
from pathlib import Path


def study_parser(module, description):
    """Return the parser of ``python -m module``.

    Parameters
    ----------
    module : str
        The name of the module, such as ``__spec__.name``.
    description : str
    """
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=description)
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="units at a time; default: 1")
    parser.add_argument("--results", type=Path, default=Path("results"), metavar="DIR", help="default: results")
    return parser


def say_outcome(outcome, store):
    """Print how many units were computed, and where their rows are."""
    print(f"{outcome.done} units computed, {outcome.complete} were there already: {store.folder}")
