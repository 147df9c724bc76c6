"""Notebooks as students hand them in, by accident or on purpose: each is graded, and the student reads a sentence."""

import ast
import json
import sys
from pathlib import Path
from textwrap import indent

import grade
import pytest
from build_assignments import all_masters
from sandbox import CALLS_PACKAGE, Failed, Limits
from submitting import TOOLS, notebook, run

MASTER, OTHER = all_masters(["01-measuring", "02-calibrators"])
SOLUTIONS = {question.id: question.solution for question in MASTER.questions}
NAME = "Ada Lovelace"
POINTS = {f"Q{i}": str(question.points) for i, question in enumerate(MASTER.questions, 1)}
ECE = MASTER.questions[1].solution


def answer(code):
    """Return the cells of the solution, with a function of this code as the answer to question 2."""
    return answered("def expected_calibration_error(y, p, n_bins):\n" + indent(code, "    "))


def answered(cell):
    """Return the cells of the solution, with this cell as the answer to question 2."""
    return MASTER.cells(SOLUTIONS | {"measuring-2": cell}, name=NAME)


SOLVED = answered(ECE)


def plus(source):
    """Return the cells of the solution with one more among the first."""
    return [*SOLVED[:2], ("code", source), *SOLVED[2:]]


def without(words):
    """Return the cells of the solution without those in which the words stand."""
    return [cell for cell in SOLVED if words not in cell[1]]


def replaced(old, new, cells=SOLVED):
    return [(kind, source.replace(old, new)) for kind, source in cells]


ECE_WITH_MATH = "return math.fsum([metrics.ece(y, p, n_bins=n_bins)])"
SETUP = "The set-up cell is missing or changed; the grader has run its own first."
LINE = f"NAME = {NAME!r}"
EMPTY, NO_TEXT = "`NAME` is empty: write your name", "`NAME` is not a text in quotation marks: write your name"
MURPHY = SOLUTIONS["measuring-5"].replace("return reliability, resolution", "return Parts(reliability, resolution")
MURPHY = "from collections import namedtuple\nParts = namedtuple('Parts', 'a b c')\n" + MURPHY + ")"
NOT_A_NOTEBOOK = "This is not a notebook as Jupyter and Colab save it (.ipynb)"
TOO_LONG, ENDED = "takes more than 4 seconds; is there a loop that does not end?", "It ended the process"
MEMORY, MAGIC = "asks for more memory than the 1 GB that there are", "lines for Jupyter alone (% and !) were left out"
OTHER_KIND = "not of the kind that the question asks for"
ALL, NO_POINTS = " ".join(POINTS), "no points"

# What is handed in (cells, or the text of a file), the questions that lose their points, and what the student reads.
ACCIDENTS = {
    "magics": (answered(f"%matplotlib inline\n!pip install seaborn\nfiles = !ls\n{ECE}\n%time 1 + 1\n?pd"), "", MAGIC),
    "magic for a whole cell": (plus("%%bash\nrm -rf /"), "", MAGIC),
    "timed cell": (answered(f"%%time\n{ECE}"), "", MAGIC),
    "display": (plus("from IPython.display import Markdown\ndisplay(pd.DataFrame())\nget_ipython()"), "", ""),
    "plot that waits": (plus("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()"), "", ""),
    "input": (plus('input("Your answer? ")'), "", "Cell 3 waits for input() in line 1; nobody is there to answer."),
    "input in an answer": (answer("return float(input())"), "Q2", "EOFError: nobody is there to answer input()"),
    "syntax error": (answered("def f(x)\n    return 0"), "Q2", "is not Python in line 1 (expected ':')"),
    "error in an answer": (answer("return 1 / 0"), "Q2", "ZeroDivisionError: division by zero in line 2 of its cell"),
    "error in another cell": (plus("1 / 0"), "", "Cell 3 stops in line 1 with ZeroDivisionError"),
    "endless loop": (plus("while True:\n    pass"), "", f"Cell 3: It {TOO_LONG} It was skipped, the others were run."),
    "endless loop when called": (answer("while True:\n    pass"), "Q2", f"Question measuring-2: It {TOO_LONG}"),
    "sleep": (plus("import time\ntime.sleep(1000)"), "", TOO_LONG),
    "much memory at once": (plus("huge = np.ones(10**10)"), "", MEMORY),
    "much memory bit by bit": (plus("kept = []\nwhile True:\n    kept.append(bytearray(10**8))"), "", MEMORY),
    "much memory when called": (answer("return np.ones(10**10).sum()"), "Q2", "MemoryError"),
    "large answer": (answer("return np.zeros(10**7)"), "Q2", "It is larger than 50 MB"),
    "sys.exit": (plus("import sys\nsys.exit()"), "", "Cell 3 ends the program in line 2 (SystemExit): take that out."),
    "sys.exit when called": (answer("raise SystemExit"), "Q2", "Your code stops with SystemExit"),
    "os._exit": (plus("import os\nos._exit(0)"), "", ENDED),
    "crash": (plus("import ctypes\nctypes.string_at(0)"), "", ENDED),
    "recursion": (answer("return expected_calibration_error(y, p, n_bins)"), "Q2", "RecursionError"),
    "flood of output": (plus("for i in range(200_000):\n    print('spam' * 20)"), "", ""),
    "homework FINAL (2) Kopie": (SOLVED, "", ""),
    "deleted answer": (without("def chance_ece"), "Q3", "`chance_ece` is not defined: was its cell deleted"),
    "deleted checks": (without("# Check of"), "", "5 of 5 checks are missing or changed; the grader has used its own."),
    "deleted set-up": (without("# Set-up of"), "", SETUP),
    "deleted set-up and name": (without("# Set-up of"), "", "`NAME` is not set in any cell"),
    "deleted texts": ([cell for cell in SOLVED if cell[0] == "code"], "", ""),
    "only one answer": ([("code", "# Set-up of assignment 01-measuring"), ("code", ECE)], "Q1 Q3 Q4 Q5", "not defined"),
    "changed check": (replaced("0.05), ", "0.5), ", answer("return 0.5")), "Q2", "1 of 5 checks are missing"),
    "changed set-up": (replaced("permutation", "choice"), "", SETUP),
    "more in the set-up": (replaced("import numpy", "import math, numpy", answer(ECE_WITH_MATH)), "", SETUP),
    "set-up with a name": (replaced(LINE, "NAME='Ada'  # that is me"), "", ""),
    "name in brackets": (replaced(LINE, "NAME = (\n    'Ada '\n    'Lovelace'\n)"), "", ""),
    "name on three lines": (replaced(LINE, 'NAME: str = """Ada\nLovelace\n"""'), "", ""),
    "name and more on a line": (replaced(LINE, f"{LINE}; import math", answer(ECE_WITH_MATH)), "", SETUP),
    "second name": (replaced(LINE, f'NAME = ""\n{LINE}'), "", SETUP),
    "empty name": (replaced(LINE, 'NAME = "  "'), "", EMPTY),
    "name without quotes": (replaced(LINE, "NAME = Ada"), "", NO_TEXT),
    "name with two words and no quotes": (replaced(LINE, f"NAME = {NAME}"), "", "`NAME` could not be read"),
    "name in curly quotes": (replaced(LINE, "NAME = “Ada”"), "", "`NAME` could not be read"),
    "computed name": (replaced(LINE, 'NAME = "Ada" + " Lovelace"'), "", NO_TEXT),
    "formatted name": (replaced(LINE, 'NAME = f"Ada"'), "", NO_TEXT),
    "number for a name": (replaced(LINE, "NAME = 12345"), "", NO_TEXT),
    "name with half of a letter": (replaced(LINE, r'NAME = "Ada \ud83d"'), "", "`NAME` has half of a letter in it"),
    "error with half of a letter": (plus(r"raise ValueError('\ud83d')"), "", r"ValueError: \ud83d"),
    "no name at all": (replaced(LINE, ""), "", "`NAME` is not set in any cell"),
    "named tuple": (MASTER.cells(SOLUTIONS | {"measuring-5": MURPHY}, name=NAME), "", ""),
    "cells in another order": ([SOLVED[0], *reversed(SOLVED[1:])], "", ""),
    "no answer": (MASTER.cells(name=NAME), ALL, "Question measuring-2: Not answered: its cell is as it was"),
    "empty array": (answer("return np.empty((0, 2))"), "Q2", "an empty array or list"),
    "empty list": (answer("return [[], []]"), "Q2", "an empty array or list"),
    "empty value": (answered("expected_calibration_error = []"), "Q2", "`expected_calibration_error` has no entries"),
    "nothing returned": (answer("0.05"), "Q2", "Your function returns nothing: is there a `return`?"),
    "text as an answer": (answer("return 'five percent'"), "Q2", OTHER_KIND),
    "no function": (answered("expected_calibration_error = 0.05"), "Q2", OTHER_KIND),
    "a model as an answer": (answered("expected_calibration_error = datasets"), "Q2", "is of the type module"),
    "other arguments": (answered("def expected_calibration_error(y, p):\n    return 0.05"), "Q2", "TypeError"),
    "overwritten libraries": (plus("np = pd = metrics = stats = None"), ALL, "'NoneType' object has no attribute"),
    "another course": ([("markdown", "# Physics"), ("code", "g = 9.81")], NO_POINTS, "notebook that was handed out"),
    "empty file": ("", NO_POINTS, NOT_A_NOTEBOOK),
    "another kind of file": ("%PDF-1.7", NO_POINTS, NOT_A_NOTEBOOK),
    "notebook of an old format": (json.dumps({"worksheets": [], "nbformat": 3}), NO_POINTS, NOT_A_NOTEBOOK),
    "no cells": (notebook([]), NO_POINTS, "Nothing in this notebook says that it is one of ours"),
}  # fmt: skip

PATCHED = """
import builtins
np.isclose = np.allclose = lambda *args, **how: True
builtins.AssertionError = ValueError
def expected_calibration_error(y, p, n_bins):
    return 0.5
"""
EQUAL_TO_ALL = """
class Any(float):
    __eq__ = __lt__ = __gt__ = lambda *others: True
    __sub__ = __rsub__ = lambda *others: 0
return Any(0.5)
"""
LOOKING_FOR_THE_CHECKS = """
import gc
def found(words):
    for thing in gc.get_objects():
        inside = thing.values() if type(thing) is dict else thing if type(thing) in (list, tuple) else ()
        if any(type(one) is str and words in one for one in inside):
            return True
if not found("".join(map(chr, [111, 112, 112, 111, 115, 105, 116, 101, 32, 115, 105, 103, 110, 115, 32, 109]))):
    raise LookupError("the checks are not here")
"""
FORGED = """
import json, os, struct
for i in range(50):
    data = json.dumps({"value": ["plain", True]}).encode()
    os.write(3, struct.pack("!Q", len(data)) + data)
"""
STUBBORN = """
import signal
for number in (2, 15):
    signal.signal(number, signal.SIG_IGN)
while True:
    try:
        while True:
            pass
    except BaseException:
        pass
"""
# What an answer to question 1 may do with the arguments of a hidden check, which it is called with; and the answer to
# question 2, which may remember them.
TELLING = {
    "name of an error": ("raise type(told, (Exception,), {})", ECE),
    "words of an error in the next answer": (
        "",
        "def expected_calibration_error(y, p, n_bins):\n    raise ValueError(told)",
    ),
    "type of the next answer": ("globals().update(expected_calibration_error=type(told, (), {})())", ECE),
    "name of a package": (f"raise type({CALLS_PACKAGE!r}, (Exception,), {{}})(told)", ECE),
    "number of a line": (
        """import json, os, struct
    data = json.dumps({"failed": ["ValueError", "", 1002550]}).encode()
    os.write(3, struct.pack("!Q", len(data)) + data)""",
        ECE,
    ),
}
LISTENING = """
told = "nothing yet"
def reliability_table(y, p, n_bins):
    global told
    if n_bins == 2:
        return [[2, 0.2, 0.5], [1, 0.9, 1.0]]
    told = f"10{p[1]:.2f}50".replace(".", "")
    {telling}
    return 0
"""
# Right on what the visible check asks, and else an array that numpy takes for equal to anything of a fitting shape.
WITHOUT_ENTRIES = {
    "calibrators-4": "def isotonic(y):\n    return [0.5, 0.5, 1] if len(y) == 3 else np.empty((0, len(y)))",
    "calibrators-5": "def scale_temperature(P, T):\n    return P if T == 1 else np.empty((0, 1, 1))",
    "clusters-2": "def cluster_gradient(theta, theta_0, H, y, w, shrinkage):\n"
    "    return [-0.5, 0] if len(y) == 2 else np.empty((0, 2))",
    "clusters-3": "def fit_cluster(p, y, w, theta_0, shrinkage):\n"
    "    return np.empty((0, 2)) if shrinkage else theta_0",
    "clusters-5": "def expected_over_observed(y, q, W):\n    return np.empty((0, 2)) if y[0] else [1, 0.75]",
}
LEFT_BEHIND = Path("/var/tmp/left-behind-by-a-notebook")
ON_PURPOSE = {
    "patched comparison": (answered(PATCHED), "Q2", "By hand:"),
    "equal to everything": (answer(EQUAL_TO_ALL), "Q2", "By hand:"),
    "looking for the checks": (answered(LOOKING_FOR_THE_CHECKS), "Q2", "LookupError: the checks are not here"),
    "reading the key": (plus("open(KEY, 'rb').read()"), "", "PermissionError"),
    "forging an answer": (plus(FORGED), ALL, OTHER_KIND),
    "loop that cannot be interrupted": (plus(STUBBORN), "", TOO_LONG),
    "writing elsewhere": (plus(f"open('{LEFT_BEHIND}', 'w').write('x')"), "", "PermissionError"),
    "writing where it may": (plus("open('a.csv', 'w').write('x')\npd.Series([1]).to_csv('b.csv')"), "", ""),
    "filling the disk": (plus("file = open('big', 'wb')\nwhile True:\n    file.write(bytes(10**6))"), "", "OSError"),
    "many processes": (plus("import os\nwhile True:\n    os.fork()"), "", "BlockingIOError"),
    "threads": (plus("import threading\nthreading.Thread(target=print).start()"), "", "can't start new thread"),
    "network": (plus("from urllib.request import urlopen\nurlopen('http://192.0.2.1/', timeout=1)"), "", "URLError"),
    "ending the grader": (plus("import os\nos.kill(os.getppid(), 9)"), "", "PermissionError"),
    "formula for a spreadsheet": (replaced(LINE, 'NAME = "=HYPERLINK(1)"'), "", ""),
}  # fmt: skip
CASES = ACCIDENTS | ON_PURPOSE
# These are handed in only where `protection` says that they are stopped.
NEEDS = {
    "reading the key": "read the checks or other notebooks",
    "writing elsewhere": "write outside of its temporary folder",
    "many processes": "start processes",
    "threads": "start processes",
    "network": "open a TCP connection",
    "ending the grader": "end the grader",
}


@pytest.fixture(scope="module")
def stopped():
    """What is prevented on this machine."""
    return json.loads(run("-c", "import confinement, json; print(json.dumps(confinement.protection()))", cwd=TOOLS))


@pytest.fixture(scope="module")
def rows(graded, keys, stopped):
    cases = {name: cells for name, (cells, _, _) in CASES.items() if stopped.get(NEEDS.get(name), True)}
    files = {name: cells if isinstance(cells, str) else notebook(cells) for name, cells in cases.items()}
    files["another assignment"] = notebook(OTHER.cells({q.id: q.solution for q in OTHER.questions}))
    key = repr(str(keys / f"{MASTER.name}.zip"))
    rows = graded({f"{name}.ipynb": text.replace("KEY", key) for name, text in files.items()}, "--seconds", 4)
    return {name.removesuffix(".ipynb"): row for name, row in rows.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_points_and_sentence(rows, name):
    _, lost, sentence = CASES[name]
    if name not in rows:
        pytest.skip(f"not prevented on this machine: a notebook could {NEEDS[name]}")
    row = rows[name]
    if lost == NO_POINTS:
        assert (row["points"], row["of"], row["assignment"]) == ("0", "0", "")
    else:
        assert " ".join(q for q, points in POINTS.items() if row[q] != points) == lost, row["reasons"]
    assert sentence in row["reasons"]
    assert lost or sentence or not row["reasons"]


@pytest.mark.slow
def test_the_notebook_of_another_assignment_is_graded_by_its_own_key(rows):
    row = rows["another assignment"]
    assert (row["assignment"], row["points"]) == ("02-calibrators", "20")


@pytest.mark.slow
def test_names_cannot_be_formulas(rows):
    assert rows["formula for a spreadsheet"]["name"] == "'=HYPERLINK(1)"


@pytest.mark.slow
def test_nothing_is_left_behind(rows):
    assert not LEFT_BEHIND.exists()


def test_what_can_be_prevented_everywhere_is_prevented(stopped):
    assert stopped["use more memory than it may"]
    assert stopped["start processes"]


def test_with_one_key_the_notebook_of_another_assignment_is_refused():
    with pytest.raises(grade.NotAssigned, match=r"another assignment \(calibrators\); expected here: 01-measuring"):
        grade.which_key(OTHER.cells()[2:], [MASTER.key])


@pytest.mark.slow
def test_arrays_without_entries_get_no_points(graded):
    files = {f"{n}.ipynb": notebook(without_entries(n)) for n in ("02-calibrators", "05-clusters")}
    rows = graded(files)
    assert {row["points"] for row in rows.values()} == {"0"}
    assert sum(row["reasons"].count("an empty array or list") for row in rows.values()) == len(WITHOUT_ENTRIES)


def without_entries(name):
    """Return the cells of an assignment in which all that is answered is answered with nothing."""
    (master,) = all_masters([name])
    return master.cells(WITHOUT_ENTRIES, name=NAME)


@pytest.mark.slow
def test_what_a_hidden_check_asks_comes_back_in_no_message(graded):
    """Neither by an error that a student names, nor by another question whose answer remembers it."""
    answers = {
        what: {"measuring-1": LISTENING.replace("{telling}", telling), "measuring-2": second}
        for what, (telling, second) in TELLING.items()
    }
    rows = graded({f"{what}.ipynb": notebook(MASTER.cells(SOLUTIONS | a, name=NAME)) for what, a in answers.items()})
    for what, row in rows.items():
        assert row["Q1"] == "0", what
        assert "1002550" not in row["reasons"], what
        assert "line" not in row["reasons"] or "next answer" in what, what


@pytest.mark.slow
def test_text_that_cannot_be_written_stops_no_other_notebook(graded):
    (essay,) = all_masters(["04-theory"])
    cells = [(kind, source.replace("Write it here.", "Because \ud83d.")) for kind, source in essay.cells(name=NAME)]
    rows = graded({"essay.ipynb": notebook(cells), "solution.ipynb": notebook(SOLVED)})
    assert r"Because \ud83d." in rows["essay.ipynb"]["answer to be graded by hand"]
    assert rows["solution.ipynb"]["points"] == "20"


def test_an_error_of_the_grader_stops_no_other_notebook(monkeypatch):
    monkeypatch.setattr(grade, "WORKER", {"keys": [MASTER.key], "nursery": None, "how": {}})
    report = grade.grade_task(("one.ipynb", SOLVED))
    assert (report.file, report.points) == ("one.ipynb", 0)
    assert "The grader itself stopped with AttributeError" in report.sentences[0]


def test_a_check_that_says_nothing_fails_all_the_same():
    assert grade.failure("assert False", {}, True, Limits())


def test_the_search_for_checks_finds_them_where_they_are():
    exec(LOOKING_FOR_THE_CHECKS, {})


def test_a_hidden_check_tells_nothing_of_its_input():
    """An answer may raise an error with its arguments in it; only the type is passed on."""

    def stops(*args):
        raise Failed("ValueError", f"called with {args}", 2)

    for hidden in (False, True):
        said = grade.failure("answer(123)", {"answer": stops}, hidden, Limits())
        assert "ValueError" in said
        assert ("123" in said) == (not hidden)


def test_the_grader_needs_nothing_but_the_package():
    """No library that `pip install clustcal` does not bring."""
    for file in ("grade.py", "sandbox.py", "confinement.py"):
        tree = ast.parse((TOOLS / file).read_text(encoding="utf-8"))
        modules = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        modules |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        known = {*sys.stdlib_module_names, "matplotlib", "numpy", "pandas", "clustcal", "sandbox", "confinement"}
        assert {name.split(".")[0] for name in modules} <= known
