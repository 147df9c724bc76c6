"""Masters are complete and proved; notebooks and zips follow from them, and students get nothing that is not theirs."""

import hashlib
import io
import json
import pickle
import re
import tomllib
import zipfile
from contextlib import redirect_stdout
from fnmatch import fnmatch

import build_assignments
import grade
import masters
import nbformat
import numpy as np
import pandas as pd
import pytest
from build_assignments import STUDENTS, all_masters, instructors_zip, notebook
from sandbox import Limits
from submitting import ROOT, TOOLS, run

MASTERS = {master.name: master for master in all_masters()}
each_master = pytest.mark.parametrize("master", MASTERS.values(), ids=list(MASTERS))


@pytest.mark.slow
def test_solutions_get_all_points_blanks_none_and_planted_errors_lose_their_own_question_alone():
    told = run(TOOLS / "build_assignments.py", "--check")
    rows = re.findall(r"^(\S+) +(\d+ %) +(\d+ %) +(\d+) of (\d+)$", told, re.MULTILINE)
    assert [(name, full, blank) for name, full, blank, _, _ in rows] == [(name, "100 %", "0 %") for name in MASTERS]
    planted = {name: sum(len(question.wrong) for question in master.questions) for name, master in MASTERS.items()}
    assert {name: (int(found), int(of)) for name, _, _, found, of in rows} == {n: (k, k) for n, k in planted.items()}


SMALL = """\
---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---
# Small

```{{code-cell}}
:tags: [set-up]
NAME = ""
```
{questions}
"""
QUESTION = """
## Question {number}: Double (2 points)

```{{code-cell}}
:tags: [answer]
def double{number}(x):
    ...
```
```{{code-cell}}
:tags: [solution]
def double{number}(x):
    return 2 * x
```
```{{code-cell}}
:tags: [wrong]
# It adds.
-    return 2 * x
+    return 2 + x
```
```{{code-cell}}
:tags: [wrong]
# It squares.
-    return 2 * x
+    return x ** 2
```
```{{code-cell}}
:tags: [wrong]
# It triples.
-    return 2 * x
+    return 3 * x
```
```{{code-cell}}
:tags: [check]
assert double{number}(2) == 4, "2 and 2 are 4."
```
```{{code-cell}}
:tags: [hidden-check]
assert double{number}(3) in {right}, "3 and 3 are 6."
```
"""


@pytest.fixture
def small(tmp_path):
    """Write a master of four questions, with something replaced; what is right may differ in the last."""

    def write(change=("Small", "Small"), right="[6]"):
        questions = [QUESTION.format(number=i, right="[6]" if i < 4 else right) for i in range(1, 5)]
        text = SMALL.format(questions="".join(questions)).replace(*change)
        (tmp_path / "01-small.md").write_text(text, encoding="utf-8")
        return tmp_path / "01-small.md"

    return write


def prove(*folders):
    """Return the faults of the masters in each folder, a line for each."""
    code = (
        "import build_assignments as b, pathlib, sys\n"
        "for b.masters.FOLDER in map(pathlib.Path, sys.argv[1:]): print(*b.faults(b.prove(b.all_masters(), jobs=1)))"
    )
    return run("-c", code, *folders, cwd=TOOLS).splitlines()


@pytest.mark.slow
def test_a_planted_error_that_the_checks_miss_is_a_fault_and_nothing_else_is(small, tmp_path):
    (tmp_path / "missed").mkdir()
    small(right="[6, 9]").rename(tmp_path / "missed" / "01-small.md")
    missed = "01-small, small-4: It squares. It loses nothing, expected ['small-4']."
    assert [line.strip() for line in prove(small().parent, tmp_path / "missed")] == ["", missed]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("[set-up]", "[setup]", "01-small.md: a code cell has the tags ['setup']"),
        ("## Question 4", "## Part 4", "text that belongs to no question"),
        ("# It adds.", "# it adds", "small-1: the planted error 'it adds' is not named by a sentence"),
        ("-    return 2 * x\n+    return 3", "-    return x * 2\n+    return 3", "stand 0 times in the solution"),
        ("[hidden-check]", "[check]", "small-1 lacks a hidden check"),
    ],
)
def test_a_master_that_is_not_complete_is_refused(small, old, new, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        masters.read_master(small((old, new)))


def test_lines_of_a_planted_error_take_the_place_and_the_indent_of_those_of_the_solution():
    solution = "def f(x):\n    for i in x:\n        y = i\n        z = y\n    return z"
    error = "# What is wrong.\n-y = i\n-z = y\n+y = 2 * i\n+if y:\n+    z = y\n-    return z\n+    return y"
    expected = "def f(x):\n    for i in x:\n        y = 2 * i\n        if y:\n            z = y\n    return y"
    assert masters.planted(error, solution) == expected
    assert masters.planted("# Another way.\nf = None", solution) == "f = None"


@each_master
def test_the_committed_notebook_follows_from_its_master_to_the_byte(master):
    assert (STUDENTS / f"{master.name}.ipynb").read_text(encoding="utf-8") == notebook(master), "run `make assignments`"


def test_no_other_notebook_is_handed_out():
    assert {path.stem for path in STUDENTS.glob("*.ipynb")} == set(MASTERS)


@each_master
def test_students_get_neither_solutions_nor_hidden_checks(master):
    text = "\n".join(cell.source for cell in nbformat.reads(notebook(master), as_version=4).cells)
    for question in master.questions:
        kept_back = [question.solution, question.rubric, *question.hidden_check, *(code for _, code in question.errors)]
        assert [part for part in kept_back if part and part in text] == []
        assert masters.RUBRIC not in text


@each_master
def test_the_notebook_is_valid_has_no_outputs_and_installs_the_package(master):
    made = nbformat.reads(notebook(master), as_version=4)
    nbformat.validate(made)
    assert [cell for cell in made.cells if cell.get("outputs") or cell.get("execution_count")] == []
    assert made.metadata.kernelspec.name == "python3"
    assert '%pip install --quiet "clustcal @ git+' in made.cells[1].source
    stops = [cell for cell in made.cells if "assert " in cell.source and "raises-exception" not in cell.metadata.tags]
    assert stops == [], "running all cells would stop at a check that fails"


def run_as_student(cells):
    """Run the cells one after the other; return what each check prints."""
    namespace, said = {"__name__": "__main__"}, []
    for kind, source in cells:
        if kind == "code":
            printed = io.StringIO()
            with redirect_stdout(printed):
                exec(source, namespace)
            if source.startswith(grade.CHECK):
                said.append(printed.getvalue())
    return said


@pytest.mark.slow
@each_master
def test_a_check_without_an_answer_says_so_in_one_sentence(master):
    graded = [question for question in master.questions if not question.by_hand]
    for cells in (
        master.cells(),
        master.cells({q.id: re.sub(r"(?m)^    \.\.\.$", "    pass", q.answer) for q in graded}),
    ):
        assert run_as_student(cells) == [
            f"Question {question.id.rpartition('-')[2]} has no answer yet: write `{question.names[0]}` in the cell "
            "above, run it, then this cell.\n"
            for question in graded
            for _ in question.check
        ]


@pytest.mark.slow
@each_master
def test_a_check_says_that_a_right_answer_is_right_so_far(master):
    solutions = {question.id: question.solution for question in master.questions}
    checks = sum(len(question.check) for question in master.questions)
    assert run_as_student(master.cells(solutions)) == ["Right so far.\n"] * checks


@each_master
def test_a_check_is_only_left_out_where_there_is_no_answer(master):
    """A short answer is one: `unanswered` looks for a function without content and for a value that is not there."""
    namespace = {}
    exec(masters.UNANSWERED, namespace)
    for question in master.questions:
        for code in ["return 0", "return []", "return x", "yield", "raise ValueError", "x += 1"]:
            for name in question.names:
                exec(f"def {name}(x=0):\n    {code}", namespace)
            assert not namespace["unanswered"](1, *question.names)
        for value in ["0", "None", "lambda: 0", "len", "float", "[...]"]:
            exec("\n".join(f"{name} = {value}" for name in question.names), namespace)
            assert not namespace["unanswered"](1, *question.names)


def content(value):
    """Return what tells the data of two set-ups apart, as bytes."""
    if isinstance(value, dict):
        return b"".join(content(one) for one in value.values())
    return pickle.dumps(value) if isinstance(value, np.ndarray | float | pd.DataFrame) else b""


@pytest.mark.slow
@each_master
def test_every_student_of_a_class_has_other_data(master):
    data = set()
    for i in range(12):
        namespace = {"__name__": "__main__"}
        exec(grade.with_name(master.setup, f"Student {i}"), namespace)
        data.add(hashlib.sha256(content({k: v for k, v in namespace.items() if not k.startswith("__")})).hexdigest())
    assert len(data) == 12


@each_master
def test_the_instructors_notebook_holds_everything(master):
    text = "\n".join(cell.source for cell in nbformat.reads(notebook(master, whole=True), as_version=4).cells)
    for question in master.questions:
        wanted = [question.solution, question.rubric, *question.hidden_check, *(code for _, code in question.errors)]
        assert [part for part in wanted if part not in text] == []


@each_master
def test_data_are_those_that_the_wheel_carries(master):
    """Nothing is fetched, neither by students nor while grading."""
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    left_out = build["targets"]["wheel"]["exclude"]
    code = "\n".join(source for kind, source in master.cells(whole=True) if kind == "code")
    files = [f"/clustcal/datasets/score_files/{name}-seed0.npz" for name in re.findall(r'load_scores\("(\w+)"', code)]
    assert [file for file in files if any(fnmatch(file, pattern) for pattern in left_out)] == []
    assert "datasets.load(" not in code


@each_master
def test_points_in_the_text_are_those_of_the_questions(master):
    graded = sum(question.points for question in master.questions if not question.by_hand)
    by_hand = sum(question.points for question in master.questions if question.by_hand)
    (said,) = re.findall(r"Points: (.*)\.", master.intro)
    assert said == (f"{graded}, and {by_hand} by hand" if by_hand else str(graded))


@each_master
def test_hours_and_points_on_the_page_are_those_of_the_master(master):
    page = (STUDENTS / "overview.md").read_text(encoding="utf-8")
    hours, points = re.search(r"Time: about (\d) hours\. Points: (.*)\.", master.intro).groups()
    points = points.replace(", and", " points, and") if "hand" in points else f"{points} points"
    (written,) = re.findall(rf"^(About .*)\.\n\n```{{open-notebook}} assignments/{master.name}$", page, re.MULTILINE)
    assert written == f"About {hours} hours, {points}"


def test_limits_on_the_page_are_those_of_the_grader():
    page = (STUDENTS / "overview.md").read_text(encoding="utf-8")
    assert f"A cell gets {Limits.cell:g} seconds and {Limits.memory / 1e9:g} GB." in page


@each_master
def test_the_zip_is_the_same_bytes_twice_and_holds_no_solution(master):
    first, second = instructors_zip(master), instructors_zip(masters.read_master(masters.FOLDER / f"{master.name}.md"))
    assert first == second
    with zipfile.ZipFile(io.BytesIO(first)) as bundle:
        assert {"setup.sh", "run_autograder", "grade.py", "key.json"} <= set(bundle.namelist())
        key = json.loads(bundle.read("key.json"))
    assert [question["id"] for question in key["questions"]] == [question.id for question in master.questions]
    solutions = [question.solution for question in master.questions if question.solution]
    assert [solution for solution in solutions if json.dumps(solution)[1:-1] in first.decode("latin1")] == []


def test_make_assignments_runs_the_builder():
    assert "$(PY) assignments/tools/build_assignments.py" in (ROOT / "Makefile").read_text(encoding="utf-8")
    assert build_assignments.STUDENTS == ROOT / "book" / "assignments"
