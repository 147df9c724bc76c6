"""The masters of the assignments: one MyST text each, from which notebooks and keys are made.

A master has a set-up cell, and then questions, which open with a heading ``## Question 2: What it asks (3 points)``.
Tags of the code cells say what they are for:

answer
    What a student finds and completes. The names that it binds are those that are graded. A second tag, ``package``,
    says that the question tells to use the package, so that it stays allowed where a course forbids it.
solution
    The answer that gets all points.
wrong
    An error that students make, named in a comment on the first line. Below it stands either the whole cell, or what
    differs from the solution: lines with ``-`` in front are replaced by those with ``+``.
check
    Shown to students and run by them, and by the grader in its own copy.
hidden-check
    Run by the grader only.

A question without an answer cell is graded by hand. Its solution and rubric stand below ``### Solution and rubric``.
"""

import ast
import re
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

import grade
import jupytext

FOLDER = Path(__file__).resolve().parent.parent
HEADING = re.compile(
    r"^## Question (?P<number>\d+): (?P<title>.*) \((?P<points>\d+) points(?P<by_hand>, by hand)?\)$", re.M
)
RUBRIC = "### Solution and rubric"
PASSED = 'print("Right so far.")'
# Ends the set-up cell. A function without content is known by its code: no answer is called.
UNANSWERED = """

def unanswered(question, *names):  # for the checks: is there an answer yet?
    def blank(): ...

    content = lambda code: (code.co_code, code.co_consts)
    for name in names:
        answer = globals().get(name, ...)
        if answer is ... or content(getattr(answer, "__code__", unanswered.__code__)) == content(blank.__code__):
            print(f"Question {question} has no answer yet: write `{name}` in the cell above, run it, then this cell.")
            return True
    return False"""
STUB_BY_HAND = grade.BY_HAND + "\n\nWrite it here."


@dataclass
class Question:
    """One question of a master, with its cells by tag."""

    id: str
    title: str
    points: int
    text: str
    by_hand: bool = False
    rubric: str = ""
    answer: str = ""
    package: bool = False
    solution: str = ""
    wrong: list = field(default_factory=list)
    check: list = field(default_factory=list)
    hidden_check: list = field(default_factory=list)

    @property
    def names(self):
        """The names that its answer cell binds."""
        bound = []
        for node in ast.parse(self.answer).body:
            if isinstance(node, ast.FunctionDef):
                bound.append(node.name)
            elif isinstance(node, ast.Assign):
                bound += [target.id for target in node.targets if isinstance(target, ast.Name)]
        return bound

    @property
    def errors(self):
        """The planted errors, as (what is wrong, code)."""
        return [(source.splitlines()[0].lstrip("# "), planted(source, self.solution)) for source in self.wrong]

    @property
    def key(self):
        """What the grader has to know."""
        if self.by_hand:
            return {"id": self.id, "points": self.points, "by_hand": True, "stub": STUB_BY_HAND.format(self.id)}
        return {
            "id": self.id, "points": self.points, "answers": self.names, "stub": self.answer, "package": self.package,
            "shown": [self.shown(check) for check in self.check], "checks": self.check, "hidden": self.hidden_check,
        }  # fmt: skip

    def shown(self, check):
        """Return a check as students see it: without an answer it says so, and with a right one that it passed."""
        number, names = self.id.rpartition("-")[2], ", ".join(f'"{name}"' for name in self.names)
        guarded = textwrap.indent(f"{check}\n{PASSED}", "    ")
        return f"{grade.CHECK}{self.id}\nif not unanswered({number}, {names}):\n{guarded}"


@dataclass
class Master:
    """A whole assignment. ``intro`` is its text above the set-up cell."""

    name: str
    intro: str
    setup: str
    questions: list

    @property
    def short(self):
        return self.name.split("-", 1)[1]

    @property
    def key(self):
        questions = [question.key for question in self.questions]
        return {"assignment": self.name, "short": self.short, "setup": self.setup, "questions": questions}

    def cells(self, answers=None, whole=False, name=""):
        """Return the cells of a notebook as (type, source).

        Parameters
        ----------
        answers : dict of str to str, optional
            The code that answers a question, by its id; where there is none, the cell is as it is handed out.
        whole : bool, default=False
            For instructors: with solutions, planted errors, hidden checks and rubrics.
        name : str, default=""
            Whose notebook it is.
        """
        answers = answers or {}
        cells = [("markdown", self.intro), ("code", grade.with_name(self.setup, name))]
        for question in self.questions:
            cells.append(("markdown", question.text))
            if question.by_hand:
                cells.append(("markdown", STUB_BY_HAND.format(question.id)))
            else:
                cells.append(("code", answers.get(question.id, question.solution if whole else question.answer)))
                cells += [("code", check) for check in question.key["shown"]]
            if whole:
                cells += instructors_cells(question)
        return cells


def instructors_cells(question):
    """Yield what only instructors see."""
    if question.by_hand:
        yield "markdown", f"{RUBRIC}\n\n{question.rubric}"
        return
    for check in question.hidden_check:
        yield "code", f"# Hidden check of question {question.id}\n{check}"
    for number, (what, code) in enumerate(question.errors, 1):
        yield "markdown", f"**Planted error {number}.** {what}\n\n```python\n{code}\n```"


def read_master(path):
    """Read a master; one that is not complete raises a ValueError that says what is missing."""
    master, question = Master(path.stem, "", "", []), None
    for cell in jupytext.read(path).cells:
        tags = cell.metadata.get("tags", [])
        if cell.cell_type == "markdown":
            for text in filter(str.strip, re.split(r"(?m)^(?=## Question )", cell.source)):
                if heading := HEADING.match(text):
                    question = start_question(master, heading, text.strip())
                elif question is None:
                    master.intro += text.strip()
                else:
                    raise ValueError(f"{path.name}: text that belongs to no question: {text[:60]!r}.")
        elif tags == ["set-up"]:
            master.setup = f"{grade.SETUP}{master.name}. Write your name, and run this cell first.\n{cell.source}"
            master.setup += UNANSWERED
        elif tags in (["answer"], ["answer", "package"], ["solution"]):
            setattr(question, tags[0], cell.source)
            question.package |= "package" in tags
        elif tags in (["wrong"], ["check"], ["hidden-check"]):
            getattr(question, tags[0].replace("-", "_")).append(cell.source)
        else:
            raise ValueError(f"{path.name}: a code cell has the tags {tags}; expected one of those of a master.")
    check_complete(master)
    return master


def start_question(master, heading, text):
    text, _, rubric = text.partition(RUBRIC)
    question = Question(f"{master.short}-{heading['number']}", heading["title"], int(heading["points"]), text.strip())
    question.by_hand, question.rubric = heading["by_hand"] is not None, rubric.strip()
    master.questions.append(question)
    return question


def check_complete(master):
    if not master.setup:
        raise ValueError(f"{master.name} has no set-up cell.")
    if not 4 <= len(master.questions) <= 6:
        raise ValueError(f"{master.name} has {len(master.questions)} questions; expected 4 to 6.")
    for question in master.questions:
        if question.by_hand:
            parts = {"a rubric": question.rubric}
        else:
            parts = {
                "an answer cell": question.answer, "a solution": question.solution, "a check": question.check,
                "a hidden check": question.hidden_check, "three planted errors": len(question.wrong) >= 3,
            }  # fmt: skip
        if missing := [part for part, there in parts.items() if not there]:
            raise ValueError(f"{question.id} lacks {' and '.join(missing)}.")
        try:
            errors = question.errors
        except ValueError as error:
            raise ValueError(f"{question.id}: {error}") from None
        for what, _ in errors:
            if not re.match(r"[A-Z`0-9].*\.$", what):
                raise ValueError(f"{question.id}: the planted error {what!r} is not named by a sentence.")


def planted(source, solution):
    """Return the code of a planted error: as it stands, or as the lines that differ from the solution."""
    lines = source.splitlines()[1:]
    if not all(line[:1] in "+-" for line in lines if line):
        return "\n".join(lines)
    code = solution.splitlines()
    for old, new in changes(lines):
        stripped = [line.strip() for line in code]
        places = [i for i in range(len(code)) if stripped[i : i + len(old)] == [line.strip() for line in old]]
        if len(places) != 1:
            raise ValueError(f"The lines {old} stand {len(places)} times in the solution; expected once.")
        (start,) = places
        indent = code[start][: len(code[start]) - len(code[start].lstrip())]
        new = textwrap.indent(textwrap.dedent("\n".join(new)), indent).splitlines()
        code[start : start + len(old)] = new
    return "\n".join(code)


def changes(lines):
    """Return pairs of lines that go and lines that come in their place."""
    pairs = []
    for line in filter(None, lines):
        if line[0] == "-" and (not pairs or pairs[-1][1]):
            pairs.append(([], []))
        pairs[-1][line[0] == "+"].append(line[1:])
    return pairs
