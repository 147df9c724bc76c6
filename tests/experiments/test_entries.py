"""The files that are kept by hand can be read, or it is said what that needs."""

import sys

import pytest

from clustcal.experiments.entries import read_entries
from clustcal.experiments.results import FOLDER


def test_entries_have_ids():
    assert all(entry["id"] for name in ("errata", "deviations") for entry in read_entries(FOLDER / f"{name}.yml"))


def test_without_yaml_the_message_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(ImportError, match="pip install pyyaml"):
        read_entries(FOLDER / "errata.yml")
