"""Where a course forbids a package, answers that run code of it lose, under whatever name they call it."""

import re

import pytest
from build_assignments import all_masters
from other_answers import ANSWERS
from submitting import notebook

MASTERS = {master.name: master for master in all_masters()}
QUESTIONS = {question.id: question for master in MASTERS.values() for question in master.questions}
MASTER = MASTERS["01-measuring"]
NAME = "Ada Lovelace"
HEAD = "def expected_calibration_error(y, p, n_bins):\n    "
HIDDEN = {
    "called": HEAD + "return metrics.ece(y, p, n_bins=n_bins)",
    "imported inside": HEAD + "from clustcal.metrics import ece\n    return ece(y, p, n_bins=n_bins)",
    "under another name": "mine = metrics.ece\n" + HEAD + "return mine(y, p, n_bins=n_bins)",
    "a name put together": HEAD + "return getattr(__import__('clust' + 'cal').metrics, 'ece')(y, p, n_bins=n_bins)",
    "through a library": HEAD + "return np.apply_along_axis(metrics.ece, 0, y, p, n_bins=n_bins)",
    "an error would be caught": HEAD + "try:\n        return metrics.ece(y, p, n_bins=n_bins)\n    except: return 0",
    "made anew": "import types\nmine = types.FunctionType(metrics.ece.__code__, metrics.ece.__globals__)\n"
    "mine.__kwdefaults__ = metrics.ece.__kwdefaults__\n" + HEAD + "return mine(y, p, n_bins=n_bins)",
}  # fmt: skip


def with_answer(code):
    solutions = {question.id: question.solution for question in MASTER.questions}
    return notebook(MASTER.cells(solutions | {"measuring-2": code}, name=NAME))


@pytest.fixture(scope="module")
def rows(graded):
    """Grade with the package and scikit-learn forbidden: all solutions, all other answers, and what hides a call."""
    files = {f"hidden {what}.ipynb": with_answer(code) for what, code in HIDDEN.items()}
    for name, master in MASTERS.items():
        solutions = {question.id: question.solution for question in master.questions if not question.by_hand}
        files[f"solution {name}.ipynb"] = notebook(master.cells(solutions, name=NAME))
        for question in solutions:
            for i, answer in enumerate(ANSWERS[question]):
                files[f"{question} {i}.ipynb"] = notebook(master.cells(solutions | {question: answer}, name=NAME))
    return graded(files, "--forbid", "clustcal", "sklearn")


@pytest.mark.slow
@pytest.mark.parametrize("name", MASTERS)
def test_solutions_call_no_package_but_where_the_question_tells_to(rows, name):
    row = rows[f"solution {name}.ipynb"]
    assert (row["reasons"], row["points"]) == ("", row["of"])


@pytest.mark.slow
@pytest.mark.parametrize("what", HIDDEN)
def test_a_call_is_found_under_whatever_name(rows, what):
    row = rows[f"hidden {what}.ipynb"]
    assert row["Q2"] == "0"
    assert "Your code runs `clustcal." in row["reasons"]
    assert row["points"] == "16"


@pytest.mark.slow
@pytest.mark.parametrize("question", ANSWERS)
def test_answers_that_call_a_package_lose_and_others_do_not(rows, question):
    number = f"Q{question.rpartition('-')[2]}"
    for i, answer in enumerate(ANSWERS[question]):
        row = rows[f"{question} {i}.ipynb"]
        calls = re.search(r"metrics\.\w+\(|PlattScaling\(|HistogramBinning\(|sklearn", answer)
        expected = 0 if calls and not QUESTIONS[question].package else QUESTIONS[question].points
        if question == "decisions-5":  # asks for values, which tell nothing of how they came about
            expected = QUESTIONS[question].points
        assert row[number] == str(expected), (answer, row["reasons"])


def test_a_question_that_tells_to_use_the_package_is_marked():
    """Its text names what of the package to use, or to run what the package does."""
    assert {name for name, question in QUESTIONS.items() if question.package} == {
        "measuring-3", "calibrators-2", "reproduction-3"
    }  # fmt: skip
    named = {"measuring-3": "`metrics.ece(", "calibrators-2": "`BetaCalibration(prior=None)` of the package"}
    for name, words in named.items():
        assert words in QUESTIONS[name].text
