"""What the tools know about the book: its pages, and under which name the reference describes a public name."""

import sys
from types import ModuleType

import pytest
from book_extension import documented_name, public_names
from book_sources import pages


def test_pages_come_in_reading_order():
    contents = {
        "root": "index",
        "parts": [
            {"caption": "A", "chapters": [{"file": "a"}, {"file": "b", "sections": [{"file": "b/one"}]}]},
            {"caption": "B", "chapters": [{"file": "c"}]},
        ],
    }
    assert pages(contents) == ["index", "a", "b", "b/one", "c"]


@pytest.fixture
def module(monkeypatch):
    made = ModuleType("made_for_this_test")
    exec("import json\nfrom pathlib import Path\nclass One: pass\ndef two(): pass\ndef _three(): pass", vars(made))
    monkeypatch.setitem(sys.modules, made.__name__, made)
    return made


def test_public_names_are_those_of_all(module):
    module.__all__ = ["two"]
    assert public_names(module.__name__) == ["two"]


def test_public_names_without_all_are_the_classes_and_functions_defined_there(module):
    assert public_names(module.__name__) == ["One", "two"]


def test_a_name_of_the_package_is_described_in_its_module():
    assert documented_name("clustcal", "PlattScaling") == "clustcal.calibrators.PlattScaling"
