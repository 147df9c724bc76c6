"""What a person gets from `pip install clustcal`: few dependencies, a fast import, and the shipped data."""

import json
import os
import shutil
import subprocess
import sys
import venv
from collections import Counter
from pathlib import Path
from zipfile import ZipFile

import pytest

import clustcal
from clustcal import calibrators, datasets

ROOT = Path(__file__).resolve().parent.parent
PIP = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check"]
HEAVY = ["dask", "netcal", "pooch", "seaborn", "shap", "torch", "tqdm", "transformers", "woodelf", "xgboost"]


def run_python(code, python=sys.executable, cwd=None):
    """Run code in a fresh interpreter; return what it printed, read as JSON."""
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True, cwd=cwd)
    return json.loads(done.stdout)


def test_all_public_names_together_bring_in_none_of_the_heavy_libraries():
    loaded = run_python("from clustcal import *; import json, sys; print(json.dumps(list(sys.modules)))")
    assert "sklearn" in loaded
    assert [name for name in HEAVY if name in loaded] == []


def test_import_is_a_small_part_of_that_of_scikit_learn():
    """CPU seconds of fresh interpreters, the best of three: what is not used is not loaded."""
    code = "import time, json; import {}; print(json.dumps(time.process_time()))"
    ours, peer = (min(run_python(code.format(name)) for _ in range(3)) for name in ("clustcal", "sklearn.calibration"))
    assert ours < peer / 3


def test_every_public_name_is_there_and_no_other():
    for name in clustcal.__all__:
        assert name in dir(clustcal)
        assert getattr(clustcal, name) is getattr(clustcal, name)
    with pytest.raises(AttributeError, match="Clusters"):
        clustcal.Clusters  # noqa: B018


def test_every_calibrator_is_a_public_name():
    modules = ["datasets", "metrics", "plots", "representations"]
    assert clustcal.__all__ == sorted([*calibrators.__all__, "CalibratedClassifier", *modules])


def test_no_two_files_of_the_package_share_a_name():
    """So that a name says which file is meant, in an editor, in a traceback and in conversation."""
    names = Counter(path.name for path in (ROOT / "clustcal").rglob("*.py") if not path.name.startswith("__"))
    assert [name for name, times in names.items() if times > 1] == []


def test_version_is_stated_once():
    assert 'dynamic = ["version"]' in (ROOT / "pyproject.toml").read_text()
    assert f"version: {clustcal.__version__}\n" in (ROOT / "CITATION.cff").read_text()


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run([*PIP, "wheel", "--no-deps", "--no-build-isolation", "-w", folder, ROOT], check=True)
    (wheel,) = folder.glob("clustcal-*.whl")
    return wheel


@pytest.fixture(scope="module")
def bare_python(wheel, tmp_path_factory):
    """A virtual environment that holds the wheel and what pip brings with it, nothing else."""
    folder = tmp_path_factory.mktemp("bare")
    venv.create(folder / "bare", with_pip=False)
    python = folder / "bare" / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    locked = ROOT / "requirements" / "lock.txt"
    subprocess.run([*PIP, "--python", python, "install", "--constraint", locked, wheel], check=True)
    return str(python)


@pytest.mark.slow
def test_the_wheel_is_small_because_large_score_files_stay_outside(wheel):
    assert wheel.stat().st_size <= 10_000_000
    folder = Path("clustcal/datasets/score_files")
    inside = {name for name in ZipFile(wheel).namelist() if name.startswith(f"{folder.as_posix()}/")}
    small = {path for path in (ROOT / folder).iterdir() if path.stat().st_size <= 1_000_000}
    assert inside == {(folder / path.name).as_posix() for path in small}


@pytest.mark.slow
def test_the_wheel_brings_five_libraries_and_four_small_ones(bare_python):
    code = (
        "import importlib.metadata as m, json, re;"
        "names = [re.split('[ <>=;]', r)[0] for r in m.requires('clustcal') if 'extra' not in r];"
        "print(json.dumps([sorted(names), [d.name.lower() for d in m.distributions()]]))"
    )
    required, installed = run_python(code, bare_python)
    small = ["filelock", "joblib", "lazy-loader", "threadpoolctl"]  # the second and the last come with scikit-learn
    assert required == sorted(["matplotlib", "numpy", "pandas", "scikit-learn", "scipy", *small])
    assert [name for name in HEAVY if name in installed] == []


@pytest.mark.slow
def test_the_wheel_calibrates_its_shipped_scores(bare_python, tmp_path):
    code = (
        "import json, clustcal; from clustcal import *;"
        "s = datasets.load_scores('stroke');"
        "c = ClusteredCalibration(PlattScaling(), random_state=0).fit(s.P_cal, s.y_cal, s.Z_cal['coverage']);"
        "Q = c.predict_proba(s.P_test, s.Z_test['coverage']);"
        "print(json.dumps([clustcal.__file__, metrics.log_loss(s.y_test, s.P_test), metrics.log_loss(s.y_test, Q)]))"
    )
    where, before, after = run_python(code, bare_python, cwd=tmp_path)
    assert "bare" in where
    assert after < before


@pytest.mark.slow
def test_the_wheel_lists_all_scores_and_takes_a_large_file_from_the_data_folder(bare_python, tmp_path):
    """Where it would be after it was fetched once."""
    (tmp_path / "score_files").mkdir()
    large = "adult-seed0.npz"
    shutil.copy(ROOT / "clustcal" / "datasets" / "score_files" / large, tmp_path / "score_files")
    code = (
        f"import os; os.environ['CLUSTCAL_DATA_DIR'] = {str(tmp_path)!r}\n"
        "import json, socket; socket.socket.connect = None\n"
        "from clustcal.datasets import list_scores, load_scores, shipped_scores\n"
        f"here = (shipped_scores.FOLDER / {large!r}).is_file()\n"
        "print(json.dumps([here, list_scores(), len(load_scores('adult').y_test)]))"
    )
    here, listed, rows = run_python(code, bare_python, cwd=tmp_path)
    assert not here
    assert listed == datasets.list_scores()
    assert rows == len(datasets.load_scores("adult").y_test)


@pytest.mark.slow
def test_the_wheel_carries_the_results(bare_python, tmp_path):
    code = (
        "import json; from clustcal.experiments import results;"
        "from clustcal.experiments.alternatives import dirichlet_collapse;"
        "files = [str(p.relative_to(results.FOLDER)) for p in results.FOLDER.rglob('*') if p.is_file()];"
        "print(json.dumps([str(results.FOLDER), len(dirichlet_collapse.read()), files]))"
    )
    where, lines, files = run_python(code, bare_python, cwd=tmp_path)
    assert "bare" in where
    assert lines > 0
    tracked = subprocess.run(["git", "ls-files", "results"], cwd=ROOT, capture_output=True, text=True, check=True)
    expected = {name.removeprefix("results/") for name in tracked.stdout.split()}
    assert expected <= set(files)
    assert [name for name in files if "lock" in name or "superseded" in name] == []
