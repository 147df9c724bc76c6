"""The package is built in layers: a module imports only from those above it in the list of CONTRIBUTING.md."""

import ast
from pathlib import Path

import pytest

import clustcal

PACKAGE = Path(clustcal.__file__).parent
LAYERS = (
    ("_addresses", "core"),
    ("calibrators",),
    ("representations",),
    ("model_scores", "cluster_table", "fold_representations"),
    ("checks_before_fit",),
    ("classifier",),
    ("metrics",),
    ("plots",),
    ("notebooks",),
    ("datasets",),
    ("experiments",),
    ("cli",),
    ("__main__",),
)
LAYER_OF = {room: layer for layer, rooms in enumerate(LAYERS) for room in rooms}
HEADS = {"__init__"}  # of the package, which only lists names


def rooms():
    """The rooms of the package: its folders and the modules at its root."""
    found = {path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    return found - HEADS


def imported_rooms(text):
    """Yield the rooms that a module imports from; a public name of the package counts for the room it is from."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            first, *rest = name.split(".")
            if first == "clustcal" and rest:
                yield rest[0] if rest[0] in LAYER_OF else getattr(clustcal, rest[0]).__module__.split(".")[1]


def test_every_room_has_a_layer():
    assert rooms() == set(LAYER_OF)


@pytest.mark.parametrize("room", sorted(LAYER_OF))
def test_a_room_imports_from_those_above_it(room):
    files = [PACKAGE / f"{room}.py"] if (PACKAGE / f"{room}.py").exists() else sorted((PACKAGE / room).rglob("*.py"))
    found = {(room, other) for file in files for other in imported_rooms(file.read_text(encoding="utf-8"))}
    upward = {(one, other) for one, other in found if one != other and LAYER_OF[other] >= LAYER_OF[one]}
    assert upward == set()


def test_an_import_from_below_is_found():
    assert set(imported_rooms("from clustcal import PlattScaling\nimport clustcal.experiments.runner, numpy")) == {
        "calibrators",
        "experiments",
    }
