"""Where numbers come from."""

import subprocess
from importlib.metadata import version
from pathlib import Path

import pytest

import clustcal
from clustcal.experiments import provenance


def test_versions_are_the_installed_ones():
    assert provenance.library_versions()["numpy"] == version("numpy")
    assert provenance.describe_versions().startswith(f"clustcal {clustcal.__version__}; numpy {version('numpy')}; ")


def test_commit_is_the_one_that_git_names():
    root = Path(clustcal.__file__).parent
    done = subprocess.run(["git", "log", "-1", "--format=%H"], cwd=root, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("not a checkout")
    assert done.stdout.startswith(provenance.describe_commit().rstrip("+"))
    assert len(provenance.describe_commit()) >= 7


def test_without_git_there_is_no_commit(monkeypatch):
    provenance.describe_commit.cache_clear()
    monkeypatch.setenv("PATH", "")
    try:
        assert provenance.describe_commit() == ""
    finally:
        provenance.describe_commit.cache_clear()
