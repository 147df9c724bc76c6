"""Right answers get all points, whatever their style and whoever's data they are for."""

from itertools import zip_longest

import pytest
from build_assignments import all_masters
from other_answers import ANSWERS
from submitting import notebook

MASTERS = {master.name: master for master in all_masters()}
NAMES = ["Ada Lovelace", "  Łukasz O'Neil ", "王小明", 'Jo "J" Doe', "a" * 80]


def with_name(cells, name):
    return [(kind, source.replace('NAME = ""', f"NAME = {name!r}")) for kind, source in cells]


def with_own_name(cells):
    return with_name(cells, NAMES[0])


def notebooks():
    """Yield (file, cells): for every assignment its other answers, and its solution for some names."""
    for name, master in MASTERS.items():
        questions = [question for question in master.questions if not question.by_hand]
        for i, answers in enumerate(zip_longest(*(ANSWERS[question.id] for question in questions))):
            chosen = {q.id: answer or q.solution for q, answer in zip(questions, answers, strict=True)}
            yield f"{name} other answers {i}.ipynb", with_own_name(master.cells(chosen))
        for i, person in enumerate(NAMES):
            yield f"{name} name {i}.ipynb", with_name(master.cells({q.id: q.solution for q in questions}), person)


FILES = {file: notebook(cells) for file, cells in notebooks()}


@pytest.fixture(scope="module")
def rows(graded):
    return graded(FILES)


@pytest.mark.slow
@pytest.mark.parametrize("file", FILES)
def test_right_answers_get_all_points(rows, file):
    row = rows[file]
    assert (row["reasons"], row["points"]) == ("", row["of"])


def test_every_question_has_another_right_answer():
    asked = {question.id for master in MASTERS.values() for question in master.questions if not question.by_hand}
    assert {question for question, answers in ANSWERS.items() if answers} == asked


@pytest.mark.slow
def test_planted_errors_lose_their_question_whatever_the_name(graded):
    """Of the questions on data by name."""
    files, lost = {}, {}
    for master, number in (("02-calibrators", 1), ("03-decisions", 5), ("04-theory", 2), ("06-reproduction", 3)):
        question = MASTERS[master].questions[number - 1]
        for i, (_, code) in enumerate(question.errors):
            for person in NAMES[:3]:
                file = f"{master} {i} {person}.ipynb"
                files[file] = notebook(with_name(MASTERS[master].cells({question.id: code}), person))
                lost[file] = f"Q{number}"
    assert [file for file, row in graded(files).items() if row[lost[file]] != "0"] == []
