"""Blocks of code that a page gives the reader to take along, without running them: each runs on data of its own."""

import re

import numpy as np
import pytest
from book_sources import source
from sklearn.datasets import make_classification
from sklearn.metrics import log_loss

xgboost = pytest.importorskip("xgboost")
PAGES = ("beyond/using-the-representation", "beyond/decision-guide")
BLOCK = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
BLOCKS = [
    pytest.param(block, id=f"{page} {number}")
    for page in PAGES
    for number, block in enumerate(BLOCK.findall(source(page).read_text(encoding="utf-8")))
]


@pytest.fixture(scope="module")
def given():
    """What the pages say that the reader has: a model that was trained too long, and rows that it has not seen."""
    X, y = make_classification(2400, 12, n_informative=6, flip_y=0.2, random_state=0)
    parts = dict(zip(("X", "X_cal", "X_new"), np.split(X, [800, 1600]), strict=True))
    parts |= dict(zip(("y", "y_cal", "y_new"), np.split(y, [800, 1600]), strict=True))
    model = xgboost.XGBClassifier(n_estimators=150, max_depth=8, n_jobs=1, random_state=0)
    return parts | {"model": model.fit(parts["X"], parts["y"]), "np": np}


def test_there_are_blocks():
    assert len(BLOCKS) >= 4


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_runs_and_improves_the_model(block, given):
    names = dict(given)
    exec(block, names)
    before = log_loss(given["y_new"], given["model"].predict_proba(given["X_new"])[:, 1])
    assert names["q"].shape == (800,)
    assert log_loss(given["y_new"], names["q"]) < 0.9 * before
