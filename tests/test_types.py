"""What an editor and a type checker see of the installed package."""

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import clustcal
from clustcal import calibrators, datasets, metrics, plots, representations

PROGRAM = Path(__file__).parent / "typed_program.py"
# A wrong line, and a word of what is said of it.
WRONG = {
    "PlattScaling(prior='weak')": "arg-type",
    "PlattScaling().fit(p)": "call-arg",
    "PlattScaling().fit(p, y, weights=p)": "call-arg",
    "PlattScaling().predict_proba(object())": "arg-type",
    "ClusteredCalibration(n_clusters='four')": "arg-type",
    "ClusteredCalibration(loss='median')": "arg-type",
    "ClusteredCalibration(metrics)": "arg-type",
    "ClusteredCalibrationCV(cv=0.2)": "arg-type",
    "CalibratedClassifier(object(), calibrator='platt')": "arg-type",
    "metrics.ece(y, p, 10)": "call-arg",
    "metrics.ece(y, p, norm='l3')": "arg-type",
    "metrics.log_loss(y, p).mean()": "attr-defined",
    "metrics.log_loss(y, p, sample_weight=metrics)": "arg-type",
    "plots.plot_clusters(Z, p, ax=Z)": "arg-type",
    "clustcal.LogisticCalibration()": "attr-defined",
    "LeafCoverage(n_components='all')": "arg-type",
}


def checked(path, folder, *options):
    """What mypy says of a file, from a folder where nothing but the installed package can be found."""
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(folder / "cache"), "--config-file", os.devnull]
    done = subprocess.run([*command, *options, str(path)], cwd=folder, capture_output=True, text=True, check=False)
    return done.stdout + done.stderr


@pytest.mark.slow
def test_a_program_of_a_user_has_the_types_it_says_and_each_wrong_line_is_found(tmp_path):
    """In one file, as the checker reads the package once for it."""
    right = PROGRAM.read_text(encoding="utf-8") + "import clustcal\n"
    first = right.count("\n") + 1
    program = tmp_path / "program.py"
    program.write_text(right + "".join(f"{line}\n" for line in WRONG), encoding="utf-8")
    said = checked(program, tmp_path, "--strict", "--ignore-missing-imports")
    found = {int(line): error for line, error in re.findall(r"program\.py:(\d+): error: .*\[([\w-]+)\]", said)}
    assert found == dict(enumerate(WRONG.values(), first)), said


def public_callables():
    rooms = {clustcal: [*calibrators.__all__, "CalibratedClassifier"]}
    rooms |= {room: room.__all__ for room in (datasets, metrics, plots, representations)}
    for room, names in rooms.items():
        for name in names:
            offered = getattr(room, name)
            yield name, offered
            for method in vars(offered) if inspect.isclass(offered) else ():
                if not method.startswith("_") and callable(getattr(offered, method)):
                    yield f"{name}.{method}", getattr(offered, method)


PUBLIC = dict(public_callables())


@pytest.mark.parametrize("name", PUBLIC)
def test_signatures_are_typed_in_words_that_can_be_read(name):
    offered = PUBLIC[name]
    signature = inspect.signature(offered)
    if inspect.isclass(offered) and not offered.__init__.__module__.startswith("clustcal"):
        return  # made as what it is derived from, a Bunch
    for parameter in signature.parameters.values():
        if parameter.name != "self":
            assert parameter.annotation is not parameter.empty, parameter.name
            assert len(inspect.formatannotation(parameter.annotation)) <= 100
    assert inspect.isclass(offered) or signature.return_annotation is not signature.empty
    assert "numpy._typing" not in str(signature)
