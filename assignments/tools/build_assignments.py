"""Make the notebooks and keys of the assignments from their masters, and prove that they grade right.

    python assignments/tools/build_assignments.py [--check] [NAME...]       (`make assignments`)

Students' notebooks go to `book/assignments` and are committed. Everything with solutions goes to `_build/assignments`:
the instructors' notebooks, and a zip for each assignment that is the key of `grade.py` and an autograder for
Gradescope. `--check` proves the masters and writes nothing.

Proved is, for every master: its solution gets all points, the notebook as it is handed out gets none, and each planted
error loses the points of its own question and no others.
"""

# ruff: noqa: E402 (the folders of the tools have to be known before they are imported)
import argparse
import json
import sys
import tempfile
import time
import zipfile
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(ROOT / "tools")]

import grade  # first, as it sets the number of threads before numpy is imported
import masters
import nbformat
import yaml
from build_notebooks import assembled, setup_cell

STUDENTS, INSTRUCTORS = ROOT / "book" / "assignments", ROOT / "_build" / "assignments"
SOMEBODY = "Ada Lovelace"  # whose data the trials are on; the blank notebook has no name
NOTE = """\
*Write your answers into the cells below a question, run the check under each, and hand in this notebook.
Questions do not build on each other. A hidden check looks at more than the one that you see.
A cell gets {seconds:g} seconds and {gigabytes:g} GB, no network, and writes only to a temporary folder.*"""
SETUP_SH = """\
#!/usr/bin/env bash
# Run once by Gradescope, when it builds the image: the only step that needs a network.
set -euo pipefail
apt-get update && apt-get install -y python3 python3-venv git
python3 -m venv /autograder/venv
/autograder/venv/bin/pip install "{requirement}"
"""
RUN_AUTOGRADER = """\
#!/usr/bin/env bash
# Run by Gradescope for every submission. The checks are for root alone, and notebooks are not run as root.
set -euo pipefail
root="${AUTOGRADER_ROOT:-/autograder}"
chmod -R go-rwx "$root/source" "$root/submission"
"${PYTHON:-$root/venv/bin/python}" "$root/source/grade.py" --gradescope "$root"
"""


@dataclass(frozen=True)
class Trial:
    """A notebook whose points are known beforehand: ``loses`` are the questions that it must lose."""

    assignment: str
    what: str
    loses: frozenset
    cells: list


def trials(master):
    """Yield the notebooks that prove a master."""
    graded = [question for question in master.questions if not question.by_hand]
    solved = {question.id: question.solution for question in graded}
    yield Trial(master.name, "solution", frozenset(), master.cells(solved, name=SOMEBODY))
    yield Trial(master.name, "blank", frozenset(solved), master.cells())
    for question in graded:
        for what, code in question.errors:
            cells = master.cells({**solved, question.id: code}, name=SOMEBODY)
            yield Trial(master.name, f"{question.id}: {what}", frozenset({question.id}), cells)


def prove(all_masters, jobs=None):
    """Grade all trials; return (trial, report) pairs, in order."""
    planned = {str(i): trial for i, trial in enumerate(t for master in all_masters for t in trials(master))}
    with tempfile.TemporaryDirectory() as folder:
        for master in all_masters:
            Path(folder, f"{master.name}.zip").write_bytes(instructors_zip(master))
        reports = {}
        for report in grade.grade_all([(i, trial.cells) for i, trial in planned.items()], [folder], jobs=jobs):
            reports[report.file] = report
            grade.show_progress(len(reports), len(planned), planned[report.file].what)
    return [(trial, reports[i]) for i, trial in planned.items()]


def faults(proved):
    """Yield a sentence for every trial that was not graded as it has to be."""
    for trial, report in proved:
        lost = {verdict.question for verdict in report.verdicts if verdict.points < verdict.of}
        if lost != trial.loses or not report.verdicts:
            yield (
                f"{trial.assignment}, {trial.what} It loses {sorted(lost) or 'nothing'}, expected "
                f"{sorted(trial.loses) or 'nothing'}. {' '.join(report.sentences)}"
            )
        elif trial.what == "solution" and report.remarks:
            yield f"{trial.assignment}, solution: {' '.join(report.remarks)}"


def table(proved):
    """Return the lines of the table of all masters: points of the solution and of the blank, planted errors found."""
    yield f"{'assignment':18} {'solution':>9} {'blank':>6} {'planted errors that lose their own question alone':>50}"
    for name in dict.fromkeys(trial.assignment for trial, _ in proved):
        mine = [(trial, report) for trial, report in proved if trial.assignment == name]
        solution, blank = (f"{100 * report.points / report.of:.0f} %" for _, report in mine[:2])
        wrong = len(list(faults(mine[2:])))
        yield f"{name:18} {solution:>9} {blank:>6} {f'{len(mine) - 2 - wrong} of {len(mine) - 2}':>50}"


def repository():
    settings = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))["repository"]
    return settings["url"], settings["branch"]


def notebook(master, whole=False):
    """Return a notebook as text: a student's, or the whole one for instructors."""
    (_, intro), *cells = master.cells(whole=whole)
    title, _, intro = intro.partition("\n")
    note = NOTE.format(seconds=grade.Limits.cell, gigabytes=grade.Limits.memory / 1e9)
    head = [("markdown", f"{title}\n\n{note}"), ("code", setup_cell([], *repository())), ("markdown", intro.strip())]
    made = assembled([(kind, source, False) for kind, source in head + cells])
    for cell in made.cells:
        if cell.source.startswith(grade.CHECK):
            cell.metadata["tags"] = ["raises-exception"]  # so that running all cells goes on after a check that fails
    made.metadata["clustcal"] = {"assignment": master.name}
    return nbformat.writes(made) + "\n"


def instructors_zip(master):
    """Return the bytes of the zip: the same bytes for the same master and grader."""
    requirement = setup_cell([], *repository()).split('"')[-2]
    files = {name: (HERE / name).read_text(encoding="utf-8") for name in ("confinement.py", "grade.py", "sandbox.py")}
    files |= {
        "key.json": json.dumps(master.key, indent=1),
        "run_autograder": RUN_AUTOGRADER,
        "setup.sh": SETUP_SH.format(requirement=requirement),
    }
    with tempfile.SpooledTemporaryFile() as buffer:
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as bundle:  # compressed bytes depend on the library
            for name, text in files.items():
                entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
                entry.create_system, entry.external_attr = 3, 0o755 << 16
                bundle.writestr(entry, text)
        buffer.seek(0)
        return buffer.read()


def write(master):
    """Write what students and instructors get."""
    for folder in (STUDENTS, INSTRUCTORS):
        folder.mkdir(parents=True, exist_ok=True)
    (STUDENTS / f"{master.name}.ipynb").write_text(notebook(master), encoding="utf-8")
    (INSTRUCTORS / f"{master.name}.ipynb").write_text(notebook(master, whole=True), encoding="utf-8")
    (INSTRUCTORS / f"{master.name}.zip").write_bytes(instructors_zip(master))


def all_masters(names=()):
    paths = sorted(masters.FOLDER.glob("[0-9][0-9]-*.md"))
    return [masters.read_master(path) for path in paths if not names or path.stem in names]


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Make the assignments, and prove that they grade right.")
    parser.add_argument("names", nargs="*", help="masters, as 01-measuring; all by default")
    parser.add_argument("--check", action="store_true", help="prove, and write nothing")
    parser.add_argument("--jobs", type=int)
    given = parser.parse_args(arguments)
    start = time.monotonic()
    read = all_masters(given.names)
    proved = prove(read, given.jobs)
    print(*table(proved), sep="\n")
    if wrong := list(faults(proved)):
        sys.exit("\n".join(["Nothing is written, as these were not graded right:", *wrong]))
    print(f"proved in {time.monotonic() - start:.0f} s")
    if not given.check:
        for master in read:
            write(master)
        print(f"students' notebooks: {STUDENTS}; instructors' notebooks and zips: {INSTRUCTORS}")


if __name__ == "__main__":
    main()
