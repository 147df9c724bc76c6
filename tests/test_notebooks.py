"""What chapters need from their notebook: numbers for the text, in the book and outside it."""

import subprocess
import sys

import numpy as np
import pytest

from clustcal.notebooks import glue


@pytest.mark.parametrize(
    ("value", "printed"),
    [(10, "10"), ("Beta with SHAP", "Beta with SHAP"), (0.123456789, "0.123457"), (np.float64(0.5), "0.5")],
)
def test_prints_the_name_that_the_text_has_and_the_value(value, printed, capsys):
    glue("gain", value)
    assert capsys.readouterr().out == f"gain = {printed}\n"


def test_does_so_where_the_library_of_the_book_is_not_installed():
    code = "import sys; sys.modules['myst_nb'] = None; from clustcal.notebooks import glue; glue('rows', 10)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "rows = 10\n"


def test_hands_a_number_of_numpy_to_the_book_as_one_that_it_can_format():
    pytest.importorskip("myst_nb")
    code = (
        "import numpy as np; from clustcal import notebooks; import myst_nb;"
        "myst_nb.glue = lambda name, value, display: print(name, type(value).__name__, display);"
        "notebooks.glue('gain', np.float64(0.5))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "gain float False"
