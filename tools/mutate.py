"""Change one token of the package at a time and see whether the tests notice: `python tools/mutate.py --help`.

A mutant is a module with one comparison flipped, number moved by 1, sum made a difference, `and` made an `or`, `not`
left out, or truth value turned around, defaults included. The tests that mirror the module run on a copy of the
package that holds it. One that they pass is either equivalent to the original or shows what no test looks at.
"""

import argparse
import ast
import csv
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("clustcal", "tests", "conftest.py", "pyproject.toml")
COLUMNS = ("module", "line", "change", "verdict", "seconds")

COMPARISONS = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult}
CONNECTIVES = {ast.And: ast.Or, ast.Or: ast.And}


def mutants_of(source):
    """Return (line, what is changed, changed source) of every mutant of a module."""
    tree = ast.parse(source)
    found = []
    for node in list(ast.walk(tree)):
        for choice in range(2):
            before = dict(vars(node)), _shown(node)
            if isinstance(node, ast.Compare):
                node.ops = list(node.ops)
            if _change(node, choice):
                found.append((node.lineno, f"{before[1]} -> {_shown(node)}", ast.unparse(tree)))
            vars(node).update(before[0])
    return found


def _change(node, choice):
    """Mutate a node in place by the first or second of its choices; return whether there is one."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        node.value += (1, -1)[choice]
        return True
    if choice == 1:
        return False
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        node.value = not node.value
    elif isinstance(node, ast.Compare) and type(node.ops[0]) in COMPARISONS:
        node.ops[0] = COMPARISONS[type(node.ops[0])]()
    elif isinstance(node, (ast.BinOp, ast.AugAssign)) and type(node.op) in OPERATORS:
        node.op = OPERATORS[type(node.op)]()
    elif isinstance(node, ast.BoolOp):
        node.op = CONNECTIVES[type(node.op)]()
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        node.operand = ast.UnaryOp(ast.Not(), node.operand)
    else:
        return False
    return True


def _shown(node):
    return " ".join(ast.unparse(node).split())[:70] if isinstance(node, (ast.expr, ast.stmt)) else ""


def tests_of(module):
    """Return the test files that mirror a module."""
    path = Path(module)
    return [str(Path("tests", *path.parts[1:-1], f"test_{path.stem.strip('_')}.py"))]


def verdict_on(module, changed, timeout, select=""):
    """Return "killed", "timeout" or "survived" for a changed module, run by its tests in a process of their own."""
    with tempfile.TemporaryDirectory(prefix="mutant-") as folder:
        for name in COPIED:
            source = ROOT / name
            duplicate = shutil.copytree if source.is_dir() else shutil.copy
            duplicate(source, Path(folder, name))
        Path(folder, module).write_text(changed)
        run = multiprocessing.get_context("fork").Process(
            target=_run_tests, args=(folder, ["-k", select, *tests_of(module)])
        )
        run.start()
        run.join(timeout)
        if run.is_alive():
            run.kill()
            run.join()
            return "timeout"
    return "survived" if run.exitcode == 0 else "killed"


def _run_tests(folder, tests):
    import pytest

    os.chdir(folder)
    os.environ["PYTHONPATH"] = folder
    sys.path.insert(0, folder)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    options = ["-x", "-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:randomly", "--hypothesis-seed=0"]
    os._exit(int(pytest.main([*options, *tests])))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("modules", nargs="+", help="such as clustcal/core/folds.py")
    parser.add_argument("--each", type=int, default=5, help="mutants drawn per module (default 5)")
    parser.add_argument("--seed", type=int, default=0, help="of the draw (default 0)")
    parser.add_argument("--timeout", type=float, default=300, help="seconds for one mutant (default 300)")
    parser.add_argument("--select", default="", help="which tests to run, as pytest's -k (default all)")
    parser.add_argument("--output", type=Path, help="a CSV file to which verdicts are added; what it holds is skipped")
    arguments = parser.parse_args()

    # The libraries are imported once, and every run starts from there.
    import betacal  # noqa: F401

    known = set()
    if arguments.output and arguments.output.exists():
        with arguments.output.open() as file:
            known = {(row["module"], row["line"], row["change"]) for row in csv.DictReader(file)}
    verdicts = []
    for module in arguments.modules:
        source = (ROOT / module).read_text()
        if verdict_on(module, source, arguments.timeout, arguments.select) != "survived":
            print(f"{module} itself does not pass {tests_of(module)} in this time.", flush=True)
            continue
        mutants = mutants_of(source)
        drawn = random.Random(f"{arguments.seed} {module}").sample(mutants, min(arguments.each, len(mutants)))
        for line, change, changed in drawn:
            if (module, str(line), change) in known:
                continue
            start = time.monotonic()
            verdict = verdict_on(module, changed, arguments.timeout, arguments.select)
            row = (module, line, change, verdict, round(time.monotonic() - start))
            print(*row, sep="\t", flush=True)
            verdicts.append(verdict)
            if arguments.output:
                is_new = not arguments.output.exists()
                with arguments.output.open("a", newline="") as file:
                    csv.writer(file).writerows([COLUMNS, row] if is_new else [row])
    print(f"{sum(verdict == 'killed' for verdict in verdicts)} of {len(verdicts)} mutants were noticed.")


if __name__ == "__main__":
    main()
