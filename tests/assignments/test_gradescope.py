"""The zip works in Gradescope's folders: source, submission, results."""

import io
import json
import os
import shutil
import subprocess
import sys
import zipfile

import pytest
from build_assignments import all_masters, instructors_zip
from submitting import notebook

(MASTER,) = all_masters(["04-theory"])  # it has a question that is graded by hand


@pytest.fixture
def autograder(tmp_path):
    """Unpack the zip as Gradescope does, and grade a submission; return what Gradescope would show."""
    with zipfile.ZipFile(io.BytesIO(instructors_zip(MASTER))) as bundle:
        bundle.extractall(tmp_path / "source")
    shutil.copy(tmp_path / "source" / "run_autograder", tmp_path / "run_autograder")
    (tmp_path / "results").mkdir()

    def grade(**files):
        (tmp_path / "submission").mkdir()
        for name, text in files.items():
            (tmp_path / "submission" / f"{name}.ipynb").write_text(text, encoding="utf-8")
        environment = os.environ | {"AUTOGRADER_ROOT": str(tmp_path), "PYTHON": sys.executable}
        subprocess.run(["bash", tmp_path / "run_autograder"], check=True, env=environment, cwd=tmp_path, timeout=120)
        return json.loads((tmp_path / "results" / "results.json").read_text(encoding="utf-8"))

    return grade


@pytest.mark.slow
def test_points_and_reasons_of_a_submission(autograder):
    answers = {question.id: question.solution for question in MASTER.questions if not question.by_hand}
    answers["theory-3"] = MASTER.questions[2].errors[0][1]
    shown = autograder(theory_final=notebook([*MASTER.cells(answers), ("code", "1 / 0")]))
    assert [(test["score"], test["max_score"]) for test in shown["tests"]] == [(4, 4), (4, 4), (0, 4), (4, 4)]
    assert shown["tests"][0]["output"] == "Right."
    assert shown["tests"][2]["output"] == "Kinds of people have different shares: averages are weighted."
    assert "stops in line 1 with ZeroDivisionError" in shown["output"]
    assert shown["stdout_visibility"] == "hidden"
    assert "score" not in shown  # Gradescope adds up the tests


@pytest.mark.slow
@pytest.mark.parametrize("files", [{}, {"one": "", "two": ""}, {"one": "no notebook"}])
def test_a_submission_that_cannot_be_graded_has_no_points_and_a_sentence(autograder, files):
    shown = autograder(**files)
    assert shown["score"] == 0
    assert shown["tests"] == []
    assert shown["output"].startswith("This is not a notebook" if len(files) == 1 else "Hand in one notebook (.ipynb)")


@pytest.mark.slow
def test_an_answer_by_hand_is_kept_for_the_lecturer(graded):
    cells = [
        (kind, source.replace("Write it here.", "Because $Q$ is *calibrated*.")) for kind, source in MASTER.cells()
    ]
    rows = graded({"essay.ipynb": notebook(cells), "none.ipynb": notebook(MASTER.cells())})
    row = rows["essay.ipynb"]
    assert (row["of"], row["by hand, of"], row["by hand"]) == ("16", "6", "")
    assert row["answer to be graded by hand"] == "Because $Q$ is *calibrated*."
    assert rows["none.ipynb"]["answer to be graded by hand"] == ""
