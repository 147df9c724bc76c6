"""Grade notebooks of the assignments: points, and a sentence for every point lost.

    python grade.py NOTEBOOK_OR_FOLDER... [--key ZIP_OR_FOLDER] [--output grades.csv]

A key is a zip that `make assignments` writes for instructors, or the folder that it was unpacked into; by default those
beside this file. Which assignment a notebook is of is read from the notebook, not from its name. A notebook is run from
top to bottom, without its checks, in a process of its own (see `sandbox`); then the checks of the key are applied. A
question is right or not: it gives all of its points, or none and a reason.
"""

# ruff: noqa: E402 (the environment has to be set before numpy is imported)
import os
import sys
from pathlib import Path

# Before numpy is imported: one thread for each process, as a process of a student may not start more.
os.environ.update(dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"))
HERE = Path(__file__).resolve().parent
sys.path += [str(HERE), *map(str, sorted(HERE.glob("*.zip")))]  # `sandbox` is beside this file, or in the zip

import argparse
import ast
import builtins
import csv
import importlib.util
import json
import multiprocessing
import re
import zipfile
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from dataclasses import dataclass, field
from functools import lru_cache

from confinement import protection
from sandbox import CALLS_PACKAGE, EMPTY, Ended, Failed, Limits, Nursery, Other, Student, Unknown, plain_python

import clustcal

SETUP, CHECK, INSTALL = "# Set-up of assignment ", "# Check of question ", "# Installs the package"
BY_HAND = "**Your answer to question {}**"
# Imported once, before any fork, beside everything public of the package.
WARM = (
    *("matplotlib.pyplot", "scipy.optimize", "scipy.stats", "sklearn.cluster", "sklearn.isotonic"),
    *("sklearn.linear_model", "sklearn.metrics", "clustcal.experiments.tabular.runs"),
)
NAMELESS = (
    'write your name into the set-up cell, as in NAME = "Ada Lovelace". Without it the grader has used the data of an '
    "empty name."
)
LARGEST_NOTEBOOK = 20_000_000  # bytes
ERRORS = {name for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, BaseException)}


@dataclass
class Verdict:
    """What a question was worth, and why not more."""

    question: str
    points: int
    of: int
    reason: str = ""


@dataclass
class Report:
    """What became of a notebook. ``remarks`` are sentences for the student; ``essay`` is to be graded by hand."""

    file: str
    assignment: str = ""
    name: str = ""
    verdicts: list = field(default_factory=list)
    remarks: list = field(default_factory=list)
    essay: str = ""
    essay_of: int = 0

    @property
    def points(self):
        return sum(verdict.points for verdict in self.verdicts)

    @property
    def of(self):
        return sum(verdict.of for verdict in self.verdicts)

    @property
    def sentences(self):
        lost = [f"Question {v.question}: {v.reason}" for v in self.verdicts if v.reason]
        return [*lost, *self.remarks]


class NotAssigned(Exception):
    """A file cannot be graded; the message is a sentence for the student."""


# --- reading --------------------------------------------------------------------------------------------------------


def read_notebook(path):
    """Return the cells of a notebook as (type, source)."""
    path = Path(path)
    try:
        if path.stat().st_size > LARGEST_NOTEBOOK:
            raise NotAssigned("The file is larger than 20 MB: clear all outputs, save, and hand it in again.")
        content = json.loads(path.read_bytes())
        cells = [(cell["cell_type"], cell["source"]) for cell in content["cells"]]
        return [(str(kind), source if isinstance(source, str) else "".join(source)) for kind, source in cells]
    except OSError as error:
        raise NotAssigned(f"The file could not be read ({error.strerror}).") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        raise NotAssigned(
            "This is not a notebook as Jupyter and Colab save it (.ipynb): download it again from there, and hand in "
            "that file unchanged."
        ) from None


def load_key(path):
    """Return the key in a zip, or in the folder that it was unpacked into."""
    path = Path(path)
    if path.is_dir():
        return json.loads((path / "key.json").read_text(encoding="utf-8"))
    with zipfile.ZipFile(path) as bundle:
        return json.loads(bundle.read("key.json"))


def find_keys(places):
    """Return the files and folders that are keys, or hold some; they are not opened here."""
    found = []
    for place in map(Path, places):
        if place.is_dir() and not (place / "key.json").exists():
            found += sorted(zips for zips in place.glob("*.zip") if "key.json" in zipfile.ZipFile(zips).namelist())
        elif place.exists():
            found.append(place)
    return found


def which_key(cells, keys):
    """Return the key of the assignment that a notebook is of."""
    text = "\n".join(source for _, source in cells)
    named = re.findall(rf"^{SETUP}(\S+)|^{CHECK}(\S+)-\d+", text, re.MULTILINE)
    for long, short in named:
        for key in keys:
            if long.rstrip(".") == key["assignment"] or short == key["short"]:
                return key
    expected = ", ".join(key["assignment"] for key in keys)
    if named:
        other = next(filter(None, named[0])).rstrip(".")
        raise NotAssigned(f"This is the notebook of another assignment ({other}); expected here: {expected}.")
    raise NotAssigned(
        f"Nothing in this notebook says that it is one of ours; expected: {expected}. Copy your answers into the "
        "notebook that was handed out, and hand in that one."
    )


def written_name(cells):
    """Return what a student has written for NAME, which decides on the data, and a sentence if that is no name."""
    code = [source for kind, source in cells if kind == "code"]
    code = [source for source in code if source.startswith(SETUP)] or code
    named = [statement for source in code for statement in name_statements(source)]
    if not named:
        unreadable = any(re.search(r"^\s*NAME\b", source, re.MULTILINE) for source in code)
        what = "could not be read, as its cell is not Python" if unreadable else "is not set in any cell"
        return "", f"`NAME` {what}: {NAMELESS}"
    value = named[-1].value
    if not (isinstance(value, ast.Constant) and isinstance(value.value, str)):
        return "", f"`NAME` is not a text in quotation marks: {NAMELESS}"
    if any("\ud800" <= letter <= "\udfff" for letter in value.value):
        return "", f"`NAME` has half of a letter in it (a surrogate): {NAMELESS}"
    return value.value, "" if value.value.strip() else f"`NAME` is empty: {NAMELESS}"


def name_statements(source):
    """Return the statements at the top level of a cell that give NAME a value."""
    try:
        body = ast.parse(plain_python(source)[0]).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    targets = {ast.Assign: lambda one: one.targets, ast.AnnAssign: lambda one: [one.target] if one.value else []}
    assigned = [one for one in body if type(one) in targets]
    return [one for one in assigned if any(ast.unparse(target) == "NAME" for target in targets[type(one)](one))]


def with_name(setup, name):
    """Return a set-up as it was handed out with a name written into it."""
    return setup.replace('NAME = ""', f"NAME = {name!r}", 1) if name else setup


def without_name(source):
    """Return a set-up cell with the name taken out, to compare it with the one that was handed out."""
    lines = source.split("\n")
    for statement in reversed(name_statements(source)):
        first, last = statement.lineno - 1, statement.end_lineno
        rest = lines[last - 1].encode()[statement.end_col_offset :].decode().strip()
        if statement.col_offset == 0 and (not rest or rest.startswith("#")):
            lines[first:last] = ['NAME = ""']
    return "\n".join(lines)


# --- grading --------------------------------------------------------------------------------------------------------


def grade(cells, keys, nursery, file="", limits=None, forbidden=()):
    """Grade the cells of one notebook.

    Parameters
    ----------
    cells : list of (str, str)
        Type and source of every cell.
    keys : list of dict
        Of the assignments that it may be of.
    nursery : Nursery
    file : str
        What to call it.
    limits : Limits, optional
    forbidden : sequence of str, optional
        Packages that answers may not run code of, but for questions that tell to use one.

    Returns
    -------
    Report
    """
    limits = limits or Limits()
    report = Report(file)
    key = which_key(cells, keys)
    report.assignment = key["assignment"]
    report.name, nameless = written_name(cells)
    setup = with_name(key["setup"], report.name)
    code = {number: source for number, (kind, source) in enumerate(cells, 1) if kind == "code"}
    report.remarks += [*([nameless] if nameless else []), *changes(code.values(), key)]
    own = {number: source for number, source in code.items() if not is_ours(source, key)}
    with Student(nursery, setup, own, limits) as student:
        with suppress(Ended):  # the notes say why
            student.run()
        report.remarks += [sentence for note in student.notes.items() if (sentence := remark(*note, limits))]
        namespace = trusted_setup(setup)
        blank = {normal(source) for source in own.values()}
        judged = []
        for question in key["questions"]:
            if question.get("by_hand"):
                report.essay, report.essay_of = essay(cells, question), question["points"]
            else:
                judged.append((question, *judge(question, student, namespace, limits, forbidden)))
        for question, answers, reason in judged:  # only now, as an answer may remember what a hidden check asked
            reason = reason or first_failure(question["hidden"], {**namespace, **answers}, True, limits)
            if reason and normal(question["stub"]) in blank:
                reason = "Not answered: its cell is as it was handed out."
            report.verdicts.append(
                Verdict(question["id"], 0 if reason else question["points"], question["points"], reason)
            )
    return report


@lru_cache(maxsize=32)  # as many names, each with data of its own
def trusted_setup(setup):
    """Return what the set-up defines, outside of all sandboxes: checks compute with this, not with a student's copy."""
    namespace = {"__name__": "__main__"}
    exec(compile(setup, "set-up", "exec"), namespace)
    return namespace


def judge(question, student, namespace, limits, forbidden=()):
    """Return the answers to a question, and why one is not right by the checks that students see, or nothing."""
    answers, forbidden = {}, () if question["package"] else forbidden
    for name in question["answers"]:
        try:
            answers[name] = student.value(name, forbidden)
        except Unknown:
            return answers, (
                f"`{name}` is not defined: was its cell deleted, the name changed, or did the cell stop with an error?"
            )
        except Ended as end:
            return answers, ending(end, limits)
        except Failed as error:
            if error.kind == EMPTY:
                return answers, f"`{name}` has no entries, or a part of it has none."
            return answers, f"The value of `{name}` could not be read ({error.kind}: {error.words})."
        if isinstance(answers[name], Other) and answers[name].kind != "ellipsis":
            return answers, f"`{name}` is of the type {answers[name].kind}; the question asks for something else."
    return answers, first_failure(question["checks"], {**namespace, **answers}, False, limits)


def first_failure(checks, namespace, hidden, limits):
    """Return why an answer fails one of some checks, or nothing."""
    return next(filter(None, (failure(check, {**namespace}, hidden, limits) for check in checks)), "")


def failure(check, namespace, hidden, limits):
    """Return why an answer fails a check, or nothing.

    Of a hidden check no input is told, not even by an error: a student chooses its words, the name of its type, and the
    line.
    """
    try:
        exec(compile(check, "check", "exec"), namespace)
    except AssertionError as error:
        return str(error) or "It fails a check."
    except Ended as end:
        return ending(end, limits)
    except Failed as error:
        if error.kind == CALLS_PACKAGE:
            used = "a package that is not allowed" if hidden else f"`{error.words}`"
            return f"Your code runs {used}; in this question the code has to be your own."
        if error.kind == EMPTY:
            return "Your function returns nothing but an empty array or list, or one with an empty part."
        if hidden:
            said = error.kind if error.kind in ERRORS else "an error"
            return f"Your code stops with {said}, when a hidden check calls it."
        where = f" in line {error.line} of its cell" if error.line else ""
        said = f"{error.kind}: {error.words}" if error.words else error.kind
        return f"Your code stops with {said}{where}, when the check calls it."
    except Exception as error:
        if "NoneType" in str(error):
            return "Your function returns nothing: is there a `return`?"
        return f"The answer is not of the kind that the question asks for (comparing it gave {type(error).__name__})."
    return ""


def is_ours(source, key):
    """Whether a cell is the grader's: a check, or the set-up unless somebody has added to it."""
    if source.startswith(SETUP):
        return normal(without_name(source)) == normal(key["setup"])
    return source.startswith((CHECK, INSTALL))


def changes(code, key):
    """Yield what was done to the cells that are the grader's."""
    cells = {normal(source) for source in code}
    shown = [normal(check) for question in key["questions"] for check in question.get("shown", ())]
    missing = sum(check not in cells for check in shown)
    if missing:
        yield f"{missing} of {len(shown)} checks are missing or changed; the grader has used its own."
    if not any(source.startswith(SETUP) and is_ours(source, key) for source in code):
        yield "The set-up cell is missing or changed; the grader has run its own first."


def normal(source):
    return "\n".join(line.rstrip() for line in source.strip().splitlines())


def remark(number, note, limits):
    """Return a sentence on what happened in a cell, or nothing."""
    if not note:
        return ""
    what, *more = note
    if what == "magic":
        return f"Cell {number}: lines for Jupyter alone (% and !) were left out, the rest was run."
    if what != "error":
        return f"Cell {number}: {ending(Ended(what), limits)} It was skipped, the others were run."
    (error,) = more
    where = f" in line {error.line}" if error.line else ""
    if error.kind == "SyntaxError":
        return f"Cell {number} is not Python{where} ({error.words}), so nothing of it was run."
    if error.kind in {"SystemExit", "KeyboardInterrupt"}:
        return f"Cell {number} ends the program{where} ({error.kind}): take that out. The cells below were run."
    if error.kind == "EOFError" and "input()" in error.words:
        return f"Cell {number} waits for input(){where}; nobody is there to answer. Write the value into the cell."
    if error.kind == "MemoryError":
        return f"Cell {number} asks for more memory than the {limits.memory / 1e9:.3g} GB that there are{where}."
    return f"Cell {number} stops{where} with {error.kind}: {error.words}"


def ending(end, limits):
    return {
        "time": f"It takes more than {limits.cell:g} seconds; is there a loop that does not end?",
        "total": f"The notebook takes more than {limits.total:g} seconds, so this was not run any more.",
        "large": "It is larger than 50 MB, far more than the question asks for.",
        "died": "It ended the process, as when a program asks for too much memory or calls os._exit.",
    }[end.why]


def essay(cells, question):
    """Return the text that answers a question graded by hand."""
    marker = BY_HAND.format(question["id"])
    texts = [source for kind, source in cells if kind == "markdown" and marker in source]
    text = "\n\n".join(texts).replace(marker, "").strip()
    return "" if normal(text) == normal(question["stub"].replace(marker, "")) else text


# --- many notebooks, side by side -----------------------------------------------------------------------------------


def grade_all(tasks, key_places, limits=None, jobs=None, forbidden=()):
    """Yield the reports of many notebooks, as they are ready.

    Parameters
    ----------
    tasks : list of (str, path or list of cells)
    key_places : list of path
        See `find_keys`.
    limits : Limits, optional
    jobs : int, optional
        How many at a time; by default as many as there are cores.
    forbidden : sequence of str, optional
        See `grade`.
    """
    warm_up()
    jobs = max(1, min(os.cpu_count() if jobs is None else jobs, len(tasks)))
    context = multiprocessing.get_context("fork")
    settings = (find_keys(key_places), limits, forbidden)
    with ProcessPoolExecutor(jobs, context, start_worker, settings) as pool:
        waiting = {pool.submit(grade_task, task): task for task in tasks}
        for done in as_completed(waiting):
            try:
                yield done.result()
            except BrokenProcessPool:  # the system has ended a worker, most likely for its memory, and so all of them
                file, _ = waiting[done]
                yield Report(file, remarks=["The grader was ended by the system before it was through: grade it anew."])


def warm_up():
    """Import what notebooks import."""
    for name in WARM:
        importlib.import_module(name)
    for name in clustcal.__all__:
        getattr(clustcal, name)


WORKER = {}


def start_worker(key_files, limits, forbidden):
    WORKER["nursery"] = Nursery()  # first, so that it has not seen the keys
    WORKER["how"] = {"limits": limits, "forbidden": forbidden}
    WORKER["keys"] = [load_key(file) for file in key_files]


def grade_task(task):
    file, notebook = task
    try:
        cells = read_notebook(notebook) if isinstance(notebook, str | Path) else notebook
        return grade(cells, WORKER["keys"], WORKER["nursery"], file, **WORKER["how"])
    except NotAssigned as error:
        return Report(file, remarks=[str(error)])
    except Exception as error:  # one notebook must not stop the grading of the others
        return Report(
            file, remarks=[f"The grader itself stopped with {type(error).__name__}: show this to your lecturer."]
        )


# --- the two ways out -----------------------------------------------------------------------------------------------


def write_csv(reports, path):
    """Write one row per notebook; what students wrote cannot be taken for a formula by a spreadsheet."""
    most = max((len(report.verdicts) for report in reports), default=0)
    columns = ["file", "name", "assignment", "points", "of", *[f"Q{i}" for i in range(1, most + 1)], "reasons"]
    with Path(path).open("w", encoding="utf-8", errors="backslashreplace", newline="") as file:
        table = csv.writer(file)
        table.writerow([*columns, "by hand", "by hand, of", "answer to be graded by hand"])
        for report in sorted(reports, key=lambda one: one.file):
            points = [verdict.points for verdict in report.verdicts] + [""] * (most - len(report.verdicts))
            row = [report.file, report.name, report.assignment, report.points, report.of, *points]
            row += [" | ".join(report.sentences), "", report.essay_of or "", report.essay]
            table.writerow([f"'{cell}" if str(cell)[:1] in tuple("=+-@\t\r") and cell != "" else cell for cell in row])


def gradescope(root, key, limits=None, forbidden=()):
    """Grade the submission in Gradescope's folders, and write what it shows to the student."""
    submitted = sorted(path for path in (root / "submission").rglob("*.ipynb") if not path.name.startswith("."))
    if len(submitted) == 1:
        (report,) = grade_all([(submitted[0].name, submitted[0])], [key], limits, 1, forbidden)
    else:
        report = Report("", remarks=[f"Hand in one notebook (.ipynb); there are {len(submitted)} in this submission."])
    tests = [
        {"name": f"Question {v.question}", "score": v.points, "max_score": v.of, "output": v.reason or "Right."}
        for v in report.verdicts
    ]
    result = {"output": "\n".join(report.remarks), "tests": tests, "stdout_visibility": "hidden"}
    if not tests:
        result["score"] = 0
    (root / "results").mkdir(exist_ok=True)
    (root / "results" / "results.json").write_text(json.dumps(result, indent=1), encoding="utf-8")


def show_progress(done, total, name):
    if sys.stderr.isatty():
        bar = "#" * (30 * done // total)
        print(f"\r[{bar:30}] {done} of {total} {name[:40]:40}", end="\n" if done == total else "", file=sys.stderr)


def main(arguments=None):
    parser = argparse.ArgumentParser(description="Grade notebooks of the assignments.")
    parser.add_argument("notebooks", nargs="*", type=Path, help="notebooks, or folders of them")
    parser.add_argument("--key", nargs="+", type=Path, default=[HERE], help="instructors' zips, or folders with them")
    parser.add_argument("--output", type=Path, default=Path("grades.csv"))
    parser.add_argument("--jobs", type=int, help="how many at a time (default: one per core)")
    parser.add_argument("--seconds", type=float, default=Limits.cell, help="limit per cell")
    parser.add_argument("--gigabytes", type=float, default=Limits.memory / 1e9, help="limit of memory")
    parser.add_argument("--forbid", nargs="+", default=[], metavar="PACKAGE", help="packages that answers may not call")
    parser.add_argument("--gradescope", type=Path, metavar="ROOT", help="grade the one submission in these folders")
    given = parser.parse_args(arguments)
    if not hasattr(os, "fork"):
        sys.exit("Grading needs Linux or macOS; on Windows, run it in WSL.")
    limits = Limits(given.seconds, max(Limits.total, 6 * given.seconds), int(given.gigabytes * 1e9))
    if unknown := [name for name in given.forbid if not importlib.util.find_spec(name)]:
        sys.exit(f"--forbid names {unknown[0]!r}, which is not installed here.")
    if given.gradescope:
        return gradescope(given.gradescope, HERE, limits, given.forbid)
    files = sorted({f for p in given.notebooks for f in (p.rglob("*.ipynb") if p.is_dir() else [p])})
    files = [file for file in files if ".ipynb_checkpoints" not in file.parts]
    if not files or not find_keys(given.key):
        sys.exit("No notebook to grade." if not files else "No key here: name the instructors' zip with --key.")
    for what, stopped in protection().items():
        if not stopped:
            print(f"Not prevented on this machine: a notebook could {what}.", file=sys.stderr)
    reports = []
    for report in grade_all([(str(file), file) for file in files], given.key, limits, given.jobs, given.forbid):
        reports.append(report)
        show_progress(len(reports), len(files), report.file)
    write_csv(reports, given.output)
    print(f"{len(reports)} notebooks graded; points and reasons are in {given.output}")


if __name__ == "__main__":
    main()
