"""The conformal sets that the chapter "Guarantees" makes by hand are those of the library crepes, and cover as promised."""

import ast

import jupytext
import numpy as np
import pytest
from book_sources import source
from hypothesis import given, settings
from hypothesis import strategies as st

crepes = pytest.importorskip("crepes", reason="crepes is not installed (extra `conformal`)")


def functions_of_the_chapter():
    """The functions `limit` and `conformal` as the chapter has them, to be run on data of our own."""
    notebook = jupytext.read(source("using/guarantees"))
    wanted = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            wanted += [
                node
                for node in ast.parse(cell.source).body
                if isinstance(node, ast.FunctionDef) and node.name in ("limit", "conformal")
            ]
    assert [node.name for node in wanted] == ["limit", "conformal"]
    return compile(ast.Module(wanted, []), "using/guarantees", "exec")


CODE = functions_of_the_chapter()


def sets_of_the_chapter(P, y, cal, test, alpha):
    names = {"np": np, "P": P, "y": y, "strange": 1 - P[np.arange(len(y)), y]}
    exec(CODE, names)
    return names["conformal"](cal, test, alpha)


def sets_of_crepes(P, y, cal, test, alpha):
    strange = 1 - P[np.arange(len(y)), y]
    options = {"confidence": 1 - alpha, "smoothing": False}
    one = crepes.ConformalClassifier().fit(strange[cal]).predict_set(1 - P[test], **options)
    own = [
        crepes.ConformalClassifier().fit(strange[cal][y[cal] == k]).predict_set(1 - P[test][:, [k]], **options)
        for k in range(P.shape[1])
    ]
    return one, np.hstack(own)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), n_cal=st.integers(30, 300), alpha=st.sampled_from([0.02, 0.05, 0.11, 0.3]))
def test_sets_are_those_of_crepes(seed, n_cal, alpha):
    """Also with few rows of a class, where its limit is infinite."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet([0.6, 0.3, 0.2], n_cal + 50)
    y = np.r_[np.arange(3), (rng.random((n_cal + 47, 1)) > P[3:].cumsum(axis=1)).sum(axis=1).clip(max=2)]
    cal, test = np.arange(n_cal), np.arange(n_cal, n_cal + 50)
    for ours, theirs in zip(sets_of_the_chapter(P, y, cal, test, alpha), sets_of_crepes(P, y, cal, test, alpha), strict=True):
        np.testing.assert_array_equal(ours, theirs.astype(bool))


def test_coverage_over_many_calibration_sets_is_the_one_that_ranks_give():
    """With n rows and no ties it is k / (n + 1) on average, k = ceil((n + 1) (1 - alpha))."""
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(400):
        P = rng.dirichlet([1, 1, 1], 199)
        y = rng.integers(0, 3, 199)
        one, _ = sets_of_the_chapter(P, y, np.arange(99), np.arange(99, 199), 0.1)
        covered.append(one[np.arange(100), y[99:]].mean())
    assert np.mean(covered) == pytest.approx(0.9, abs=4 * np.std(covered) / np.sqrt(400))
