"""What the tools know about the book: its pages, and under which name the reference describes a public name."""

import sys
from types import ModuleType

import pytest
from book_extension import documented_name, public_names, without_links_to
from book_sources import pages, without

CONTENTS = {
    "root": "index",
    "parts": [
        {"caption": "A", "chapters": [{"file": "a"}, {"file": "b", "sections": [{"file": "b/one"}]}]},
        {"caption": "B", "numbered": 1, "chapters": [{"file": "c"}, {"file": "d"}]},
    ],
}


def test_pages_come_in_reading_order():
    assert pages(CONTENTS) == ["index", "a", "b", "b/one", "c", "d"]


def test_pages_are_left_out_of_the_contents_and_nothing_else_changes():
    shorter = without({"c"}, CONTENTS)
    assert shorter["parts"][1] == {"caption": "B", "numbered": 1, "chapters": [{"file": "d"}]}
    assert shorter["parts"][0] == CONTENTS["parts"][0]
    assert pages(without({"b/one"}, CONTENTS)) == ["index", "a", "b", "c", "d"]


@pytest.mark.parametrize("link", ["../method/deep.md", "../method/deep.md#pooling"])
def test_links_to_a_page_that_is_left_out_become_words(link):
    text = f"See [networks]({link}) and [trees](../method/trees.md)."
    expected = "See networks and [trees](../method/trees.md)."
    assert without_links_to({"method/deep"}, "start/quickstart", text) == expected


def test_links_from_the_same_folder_and_to_other_places_are_told_apart():
    text = "[networks](deep.md), [the same elsewhere](../theory/deep.md), [a file](deep.csv)"
    expected = "networks, [the same elsewhere](../theory/deep.md), [a file](deep.csv)"
    assert without_links_to({"method/deep"}, "method/trees", text) == expected


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
    assert documented_name("clustcal", "PlattScaling") == "clustcal.calibrators.parametric.PlattScaling"
