"""What the tests of the assignments share: the tools, the keys, and the grader's command."""

import csv
import os
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "assignments" / "tools"), str(ROOT / "tools"), str(ROOT / "tests" / "assignments")]
# Masters are read with jupytext, of the extra `book`; notebooks can be graded where processes can be forked.
collect_ignore_glob = [] if find_spec("jupytext") and hasattr(os, "fork") else ["test_*.py"]


@pytest.fixture(scope="session")
def keys(tmp_path_factory):
    """A folder with the instructors' zip of every assignment, as it is now."""
    from build_assignments import all_masters, instructors_zip

    folder = tmp_path_factory.mktemp("keys")
    for master in all_masters():
        (folder / f"{master.name}.zip").write_bytes(instructors_zip(master))
    return folder


@pytest.fixture(scope="session")
def graded(keys, tmp_path_factory):
    """Grade files, {name: text}, with the grader's command; return {name: row of the CSV}."""
    from submitting import TOOLS, run

    def grade(files, *options):
        folder = tmp_path_factory.mktemp("submitted")
        for name, text in files.items():
            (folder / name).write_text(text, encoding="utf-8")
        output = folder / "grades.csv"
        run(TOOLS / "grade.py", folder, "--key", keys, "--output", output, "--jobs", 1, *options)
        with output.open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        return {Path(row["file"]).name: row for row in rows}

    return grade
