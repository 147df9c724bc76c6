"""The command of a study of readings: which options it has, and what it says in the end."""

import argparse
from pathlib import Path


def study_parser(module, description, datasets=()):
    """Return the parser of ``python -m module``.

    Parameters
    ----------
    module : str
        The name of the module, such as ``__spec__.name``.
    description : str
    datasets : sequence of str
        Those that the study can run, where one may choose among them.
    """
    parser = argparse.ArgumentParser(prog=f"python -m {module}", description=description)
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="units at a time; default: 1")
    parser.add_argument("--results", type=Path, default=Path("results"), metavar="DIR", help="default: results")
    if datasets:
        every = {"nargs": "+", "choices": datasets, "default": list(datasets), "metavar": "NAME"}
        parser.add_argument("--datasets", help=f"default: {', '.join(datasets)}", **every)
    return parser


def say_outcome(outcome, store):
    """Print how many units were computed, and where their rows are."""
    print(f"{outcome.done} units computed, {outcome.complete} were there already: {store.folder}")
