"""What is shipped of a network: principal axes, how many, and which rows calibrate."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import cosine_similarity

from clustcal.experiments.deep import design, ship_scores
from clustcal.experiments.deep.outputs import Outputs
from clustcal.experiments.deep.ship_scores import cut, find_cells, find_halves, make_scores, turn_to_principal_axes


@pytest.fixture
def outputs():
    """Three classes; a representation of width 40, twelve columns of which say all: three directions, and noise."""
    rng = np.random.default_rng(0)
    y = rng.integers(3, size=400)
    Z = np.eye(40)[y] * 5
    Z[:, :12] += rng.normal(0, 0.3, (400, 12))
    logits = np.eye(3)[y] * 2 + rng.normal(0, 1.5, (400, 3))
    return Outputs(logits, y, np.arange(400) + 7, {"cls": Z.astype(np.float16)})


def test_turning_keeps_cosines(outputs):
    Z = outputs.representations["cls"].astype(float)
    turned, share = turn_to_principal_axes(Z)
    assert_allclose(turned @ turned.T, cosine_similarity(Z), atol=1e-9)
    assert_allclose(share.sum(), 1)
    assert (np.diff(share) <= 1e-12).all()


def test_cut_values_are_counted_by_a_byte(outputs):
    turned, _ = turn_to_principal_axes(outputs.representations["cls"])
    kept, step = cut(turned, 5)
    assert kept.shape == (400, 5)
    assert np.abs(kept / step).max() <= 128
    assert_allclose(kept, turned[:, :5], atol=step / 2)
    assert np.log2(step) == round(np.log2(step))


def test_halves_are_those_of_the_study(outputs):
    part = design.prepare(outputs)
    halves = find_halves(part, seeds=(0, 3))
    for seed, mine in zip((0, 3), halves, strict=True):
        cal, test = design.halve(part, seed)
        assert_allclose(part.P[mine], cal.P)
        assert_allclose(part.y[~mine], test.y)


def test_sixteen_axes_are_enough_where_twelve_hold_all(outputs, monkeypatch):
    # With as many clusters as there are directions, K-means has one solution, which rounding does not move.
    monkeypatch.setattr(ship_scores, "DEFAULT_CELLS", ((3, 0.05, 1.0), (3, 0.05, 0.1)))
    recipe = ship_scores.Recipe("emotion", "emotion", "", ("cls",), "")
    said = []
    arrays, steps, told = make_scores(outputs, recipe, progress=said.append)
    assert told["layers"]["cls"]["axes"] == 16
    assert told["layers"]["cls"]["largest_change_of_nll"] < ship_scores.TOLERANCE
    assert arrays["Z_cls"].shape == (400, 16)
    assert_allclose(arrays["logits"].mean(axis=1), 0, atol=steps["logits"])
    assert len(said) == 1


def test_axes_are_doubled_until_the_log_loss_is_there(outputs, monkeypatch):
    monkeypatch.setattr(ship_scores, "FEWEST", 2)
    monkeypatch.setattr(ship_scores, "TOLERANCE", 1e-5)
    said = []
    recipe = ship_scores.Recipe("emotion", "emotion", "", ("cls",), "", logit_step=1e-6)
    _, _, told = make_scores(outputs, recipe, progress=said.append)
    assert [line.split()[1] for line in said] == [str(min(2 * 2**i, 40)) for i in range(len(said))]
    assert told["layers"]["cls"]["axes"] > 2


class TestCells:
    def rows(self):
        lines = [
            {"seed": 0, "calibrator": "TS", "layer": layer, "n_clusters": K, "shrinkage": 1.0, "temperature": t}
            for layer in ("cls", "mean")
            for K in (4, 10)
            for t in (1.0, 0.1)
        ]
        rows = pd.DataFrame(lines).assign(nll=0.5)
        return rows.assign(nll_cv=np.where((rows["layer"] == "mean") & (rows["n_clusters"] == 10), 0.1, 0.2))

    def test_chosen_ones_are_those_of_the_lowest_validation_loss_at_each_temperature(self):
        chosen = [cell for cell in find_cells(self.rows(), 6, ("cls", "mean")) if cell.nll is not None]
        assert {(cell.layer, cell.n_clusters, cell.temperature) for cell in chosen} == {
            ("mean", 10, 1.0),
            ("mean", 10, 0.1),
        }

    def test_a_layer_that_is_never_chosen_is_tried_all_the_same(self):
        cells = find_cells(self.rows(), 6, ("cls", "mean"))
        assert {cell.layer for cell in cells if cell.nll is None} == {"cls"}

    def test_without_rows_every_layer_and_family_is_tried(self):
        cells = find_cells(None, 2, ("cls", "mean"))
        assert {(cell.layer, cell.family) for cell in cells} == {
            (layer, family) for layer in ("cls", "mean") for family in ("Platt", "Beta", "TS")
        }
