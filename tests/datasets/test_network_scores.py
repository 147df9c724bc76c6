"""The shipped scores of networks: their halves, that they give the rows of the study, and that no data are in them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.model_selection import train_test_split

from clustcal import metrics
from clustcal.datasets import load_scores
from clustcal.datasets.network_scores import network_file, read_network_scores, take_halves, write_network_scores
from clustcal.datasets.shipped_scores import FOLDER
from clustcal.experiments import results
from clustcal.experiments.deep.outputs import read_table
from clustcal.experiments.deep.ship_scores import RECIPES, TOLERANCE, clustered_nll, find_cells
from clustcal.experiments.deep.study import open_store

NAMES = [name for name in RECIPES if (FOLDER / network_file(name)).is_file()]
MODELS = read_table(results.FOLDER / "deep" / "models.csv").set_index("name")


@pytest.mark.parametrize("name", NAMES)
class TestEveryFile:
    def test_rows_are_those_that_the_network_scored(self, name):
        scores = load_scores(name)
        rows = np.concatenate([scores.rows_cal, scores.rows_test])
        assert len(rows) == len(set(rows)) == int(MODELS.loc[scores.parameters["network"], "n_scored"])

    def test_accuracy_and_log_loss_are_those_of_the_network(self, name):
        scores = load_scores(name)
        if name == "tiny-imagenet":
            pytest.skip("its table has the softmax over 1,000 classes, the scores that over 200")
        y = np.concatenate([scores.y_cal, scores.y_test])
        P = np.concatenate([scores.P_cal, scores.P_test])
        line = MODELS.loc[scores.parameters["network"]]
        labels = np.arange(len(scores.classes))
        assert_allclose(metrics.accuracy(y, P, labels=labels), float(line["accuracy"]), atol=1e-3)
        assert_allclose(metrics.log_loss(y, P, labels=labels), float(line["nll"]), atol=TOLERANCE)

    @pytest.mark.parametrize("seed", range(5))
    def test_halves_are_those_of_scikit_learn(self, name, seed):
        arrays, _ = read_network_scores(FOLDER / network_file(name))
        first, _ = train_test_split(np.arange(len(arrays["y"])), test_size=0.5, stratify=arrays["y"], random_state=seed)
        assert_array_equal(np.flatnonzero(arrays["halves"][seed]), np.sort(first))

    def test_representations_are_directions_on_principal_axes(self, name):
        for Z in read_network_scores(FOLDER / network_file(name))[0].items():
            if Z[0].startswith("Z_"):
                moments = Z[1].T @ Z[1]
                assert np.abs(moments - np.diag(np.diag(moments))).max() < 0.01 * moments.max()
                assert (np.diff(np.diag(moments)) < 0.01 * moments.max()).all()
                assert np.linalg.norm(Z[1], axis=1).max() < 1.05  # of length 1 before axes were cut, and rounded

    def test_origin_and_terms_are_stated(self, name):
        scores = load_scores(name)
        assert scores.parameters["command"] == f"python -m clustcal.experiments.deep.ship_scores {name}"
        assert RECIPES[name].terms in scores.description
        assert all([scores.source.startswith("https://"), scores.licence, scores.citation])
        assert len(scores.classes) == (scores.P_cal.shape[1] if scores.P_cal.ndim == 2 else 2)


@pytest.mark.parametrize("name", NAMES)
def test_clustered_calibration_gives_the_rows_of_the_study(name):
    """The cells that the study chose for the first seed, at the paper's temperature and at ours."""
    recipe = RECIPES[name]
    rows = open_store(results.FOLDER).read(recipe.study)
    arrays, _ = read_network_scores(FOLDER / network_file(name))
    halves = take_halves(arrays, 0)
    P = np.empty((len(arrays["y"]), *halves.P_cal.shape[1:]))
    P[arrays["halves"][0]], P[~arrays["halves"][0]] = halves.P_cal, halves.P_test
    cells = [cell for cell in find_cells(rows, arrays["logits"].shape[1], recipe.layers, seeds=(0,)) if cell.nll]
    if not cells:
        pytest.skip("the study has no rows of this network")
    if len(cells) > 4 and P.ndim == 2 and P.shape[1] >= 100:
        cells = [cell for cell in cells if cell.family == "TS"]  # vector scaling of so many classes takes minutes
    for cell in cells:
        Z = arrays[f"Z_{cell.layer}"]
        assert abs(clustered_nll(P, arrays["y"], Z, arrays["halves"][0], cell) - cell.nll) < TOLERANCE, cell


class TestWriteAndRead:
    STEPS = {"logits": 1 / 64, "cls": 1 / 128}  # noqa: RUF012

    def make_arrays(self):
        rng = np.random.default_rng(0)
        return {
            "logits": rng.normal(0, 3, (50, 2)),
            "y": rng.integers(2, size=50),
            "rows": np.arange(1000, 1050),
            "halves": rng.random((3, 50)) < 0.5,
            "Z_cls": rng.uniform(-0.9, 0.9, (50, 3)),
        }

    def test_values_come_back_rounded_to_their_steps(self, tmp_path):
        arrays = self.make_arrays()
        write_network_scores(tmp_path / "a.npz", arrays, {"description": "ψ"}, self.STEPS)
        found, metadata = read_network_scores(tmp_path / "a.npz")
        assert metadata == {"description": "ψ"}
        for key in ("y", "rows", "halves"):
            assert_array_equal(found[key], arrays[key])
        assert_allclose(found["logits"], arrays["logits"], atol=1 / 128)
        assert_allclose(found["Z_cls"], arrays["Z_cls"], atol=1 / 256)

    def test_same_content_gives_the_same_bytes(self, tmp_path):
        for file in ("a.npz", "b.npz"):
            write_network_scores(tmp_path / file, self.make_arrays(), {"b": 1, "a": 2}, self.STEPS)
        assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()

    def test_halves_share_no_row_and_keep_what_belongs_together(self):
        arrays = self.make_arrays()
        halves = take_halves(arrays, seed=1)
        assert set(halves.rows_cal).isdisjoint(halves.rows_test)
        odds = np.log(halves.P_cal) - np.log1p(-halves.P_cal)
        mine = arrays["logits"][halves.rows_cal - 1000]
        assert_allclose(odds, mine[:, 1] - mine[:, 0], atol=1e-9)
        assert_array_equal(halves.y_cal, arrays["y"][halves.rows_cal - 1000])
        assert_array_equal(halves.Z_test["cls"], arrays["Z_cls"][halves.rows_test - 1000])
