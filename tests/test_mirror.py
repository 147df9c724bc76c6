"""Tests mirror the package: a reader who looks for the tests of a module opens one file with its name."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
MODULES = sorted(
    path.relative_to(ROOT / "clustcal").as_posix()
    for path in (ROOT / "clustcal").rglob("*.py")
    if not path.name.startswith("__")
)
# A module of so few statements holds nothing to go wrong.
FEW = 5
# Modules whose tests are elsewhere, and why.
ELSEWHERE = {"core/array_types.py": ("test_types.py", "types are for checkers: a program is checked against them")}


def file_of_tests(module):
    """The file that holds the tests of a module; a leading underscore of its name is no part of theirs."""
    path = Path(module)
    return path.with_name(f"test_{path.name.lstrip('_')}")


def statements(module):
    return len(ast.parse((ROOT / "clustcal" / module).read_text(encoding="utf-8")).body)


@pytest.mark.parametrize("module", MODULES)
def test_a_module_has_a_file_of_tests_of_its_name(module):
    expected = ROOT / "tests" / (ELSEWHERE[module][0] if module in ELSEWHERE else file_of_tests(module))
    if not expected.exists():
        assert statements(module) <= FEW, f"tests/{file_of_tests(module)} is missing"
        return
    tree = ast.parse(expected.read_text(encoding="utf-8"))
    assert any(isinstance(node, ast.FunctionDef) and node.name.startswith("test_") for node in ast.walk(tree))


def test_no_two_files_of_tests_share_a_name():
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))


def test_exceptions_are_modules_without_a_file_of_their_name():
    for module, (file, _) in ELSEWHERE.items():
        assert module in MODULES
        assert (ROOT / "tests" / file).is_file()
        assert not (ROOT / "tests" / file_of_tests(module)).exists()
