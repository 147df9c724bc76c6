"""Learning curves on many classes: the sets of samples, the lines, and what the penalties pull towards."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy.special import softmax

from clustcal.calibrators.parametric import TemperatureScaling
from clustcal.experiments.alternatives import dirichlet_collapse
from clustcal.experiments.alternatives.dirichlet_collapse import DirichletNearTemperature, learning_curves

CLASSES = 3


@pytest.fixture(scope="module")
def outputs():
    """Over-confident scores of three classes with 40 rows each."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(CLASSES), 40)
    return softmax(2 * (np.eye(CLASSES)[y] + rng.normal(size=(len(y), CLASSES))), axis=1), y


@pytest.fixture(scope="module")
def curves(outputs):
    return learning_curves(*outputs, seeds=(0, 1), rows_per_class=(5, 20), test_rows_per_class=20)


def test_one_line_per_seed_size_and_method(curves):
    assert len(curves) == 2 * 2 * (1 + len(dirichlet_collapse.METHODS))
    assert sorted(curves.n.unique()) == [15, 60]


def test_uncalibrated_scores_are_judged_on_the_same_rows_whatever_the_size(curves):
    as_it_is = curves[curves.method == "none"].pivot(index="seed", columns="n", values="nll")
    assert_allclose(as_it_is[15], as_it_is[60], rtol=0)
    assert as_it_is.loc[0, 15] != as_it_is.loc[1, 15]


def test_parameters_are_counted_by_formula(curves):
    counts = curves.groupby("method").parameters.unique().str[0]
    assert counts["none"] == 0
    assert counts["temperature"] == 1
    assert counts["vector"] == 2 * CLASSES
    assert counts["Dirichlet"] == CLASSES * (CLASSES + 1)


def test_no_row_serves_both_fit_and_test(outputs):
    P, y = outputs
    with pytest.raises(ValueError, match="40 rows; expected at least 41"):
        learning_curves(P, y, rows_per_class=(21,), test_rows_per_class=20)


def test_strong_pull_gives_temperature_scaling(outputs):
    P, y = outputs
    near = DirichletNearTemperature(shrinkage=1e9).fit(P, y).predict_proba(P)
    assert_allclose(near, TemperatureScaling(prior=None).fit(P, y).predict_proba(P), atol=1e-6)


def test_no_pull_gives_frequencies_of_every_class(outputs):
    # A zero gradient in the intercepts: mean prediction equals frequency.
    P, y = outputs
    free = DirichletNearTemperature(shrinkage=0.0).fit(P, y).predict_proba(P)
    assert_allclose(free.mean(axis=0), np.bincount(y) / len(y), atol=1e-6)


def test_command_writes_what_read_returns(outputs, tmp_path, monkeypatch):
    P, y = outputs
    np.savez(tmp_path / "small.npz", predictions=P, ground_truth=y)
    monkeypatch.setattr(dirichlet_collapse, "FILE", tmp_path / "curves.csv")
    quick = lambda P, y: learning_curves(P, y, seeds=(0,), rows_per_class=(5,), test_rows_per_class=5)
    monkeypatch.setattr(dirichlet_collapse, "learning_curves", quick)
    dirichlet_collapse.main([str(tmp_path / "small.npz"), "--to", str(tmp_path / "curves.csv")])
    written = dirichlet_collapse.read()
    assert (written.model == "small").all()
    pd.testing.assert_frame_equal(written.drop(columns="model"), quick(P, y), atol=1e-6, check_dtype=False)


def test_shipped_curves_hold_every_line_of_the_command():
    shipped = dirichlet_collapse.read()
    sizes = [100 * rows for rows in dirichlet_collapse.ROWS_PER_CLASS]
    names = ["none", *dirichlet_collapse.METHODS]
    assert shipped.model.nunique() == 2
    for _, one in shipped.groupby("model"):
        expected = pd.MultiIndex.from_product([dirichlet_collapse.SEEDS, sizes, names])
        assert pd.MultiIndex.from_frame(one[["seed", "n", "method"]]).equals(expected)
