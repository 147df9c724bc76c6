"""Where results are looked for: beside the package in a checkout, inside of it where it was installed."""

import importlib.util
import shutil
from pathlib import Path

import pytest

from clustcal.experiments import results

ROOT = Path(__file__).resolve().parents[2]


def folder_seen_from(file):
    spec = importlib.util.spec_from_file_location("a_copy_of_results", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.FOLDER


def test_in_a_checkout_it_is_the_folder_beside_the_package():
    assert results.FOLDER == ROOT / "results"
    assert (results.FOLDER / "claims.csv").is_file()


@pytest.mark.parametrize("inside", [True, False])
def test_a_copy_inside_of_the_package_comes_first(tmp_path, inside):
    file = tmp_path / "site" / "clustcal" / "experiments" / "results.py"
    file.parent.mkdir(parents=True)
    shutil.copy(results.__file__, file)
    expected = tmp_path / "site" / ("clustcal/results" if inside else "results")
    expected.mkdir()
    assert folder_seen_from(file) == expected
