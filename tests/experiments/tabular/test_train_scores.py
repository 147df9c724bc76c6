"""The command that makes the shipped scores: what it computes, and what it must not let out."""

import os

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.preprocessing import normalize
from sklearn.utils import Bunch

from clustcal.calibrators.soft_kmeans import SoftKMeans
from clustcal.datasets import load
from clustcal.datasets.shipped_scores import FOLDER, read_scores, score_file, write_scores
from clustcal.experiments import protocol
from clustcal.experiments.tabular import train_scores
from clustcal.experiments.tabular.train_scores import Recipe

xgboost = pytest.importorskip("xgboost")

OPEN = Recipe(seeds=(0,), coverage_step=1 / 64, rows_are_open=True)
CLOSED = Recipe(seeds=(0, 1), coverage_step=1 / 64, rows_are_open=False, quartiles_of=("age",))


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(600, 5)), columns=["age", "bmi", "glucose", "height", "weight"])
    X["group"] = pd.Categorical(rng.choice(["a", "b"], 600))
    y = (X["age"] + X["bmi"] + rng.normal(size=600) > 0.5).to_numpy().astype(np.int64)
    stated = dict.fromkeys(["title", "source", "licence", "citation", "target_name"], "stated")
    return Bunch(X=X, y=y, categorical=["group"], name="made_up", **stated)


@pytest.fixture(scope="module")
def open_scores(data):
    return train_scores.make_scores(data, 0, OPEN)


@pytest.fixture(scope="module")
def closed_scores(data):
    return train_scores.make_scores(data, 0, CLOSED)


@pytest.fixture(scope="module")
def stroke():
    if not os.environ.get("CLUSTCAL_DATA_DIR"):
        pytest.skip("CLUSTCAL_DATA_DIR is not set: no raw data to test on")
    return load("stroke")


class TestMakeScores:
    def test_probabilities_are_those_of_the_protocols_model(self, data, open_scores):
        arrays, _ = open_scores
        parts = protocol.split(data.y, 0)
        model = protocol.train_model(data, parts.train, n_estimators=300, max_depth=8, seed=0)
        assert_array_equal(arrays["P_test"], model.predict_proba(data.X.iloc[parts.test])[:, 1])
        assert_array_equal(arrays["y_test"], data.y[parts.test])
        assert_array_equal(arrays["y_cal"], data.y[parts.calibration])

    def test_open_features_are_given_and_named(self, data, open_scores):
        arrays, metadata = open_scores
        parts = protocol.split(data.y, 0)
        prepared = protocol.make_preprocessor(["group"]).fit(data.X.iloc[parts.train])
        assert_array_equal(arrays["Z_cal_data"], prepared.transform(data.X.iloc[parts.calibration]))
        assert metadata["feature_names"]["data"] == ["group", "age", "bmi", "glucose", "height", "weight"]

    def test_closed_representations_are_disguised(self, open_scores, closed_scores):
        for name in ("shap", "data"):
            assert not np.isclose(open_scores[0][f"Z_cal_{name}"], closed_scores[0][f"Z_cal_{name}"]).all(axis=0).any()
        assert closed_scores[1]["feature_names"] == {}

    def test_rest_is_the_same_for_open_and_closed_rows(self, open_scores, closed_scores):
        for key in ("P_cal", "P_test", "y_cal", "y_test", "Z_cal_coverage", "Z_test_coverage"):
            assert_array_equal(open_scores[0][key], closed_scores[0][key])

    def test_result_survives_the_file(self, closed_scores, tmp_path):
        arrays, metadata = closed_scores
        steps = metadata["parameters"]["steps"]
        write_scores(tmp_path / "a.npz", arrays, metadata, steps)
        found, stated = read_scores(tmp_path / "a.npz")
        assert stated == metadata
        for name, step in steps.items():
            assert_allclose(found[f"Z_test_{name}"], arrays[f"Z_test_{name}"], atol=step / 2)


class TestDescribeClusters:
    def test_figures_by_hand(self):
        # Four groups in four directions; K-means cannot but find them.
        directions = np.repeat(np.eye(4), 40, axis=0)
        ages = np.repeat([10.0, 20.0, 30.0, 40.0], 40) + np.tile(np.arange(40), 4) / 40
        y = (np.tile(np.arange(40), 4) < np.repeat([0, 30, 10, 20], 40)).astype(int)
        halves = {"cal": np.arange(160) % 2 == 0, "test": np.arange(160) % 2 == 1}
        table = train_scores.describe_clusters(
            {"data": tuple(directions[half] for half in halves.values())},
            {part: pd.DataFrame({"age": ages[half]}) for part, half in halves.items()},
            {part: y[half] for part, half in halves.items()},
            seed=0,
            features=["age"],
        )
        assert table["cluster"].tolist() == [0, 1, 2, 3]
        assert table["size"].tolist() == [40] * 4
        assert_allclose(table["rate"], [0.75, 0.5, 0.25, 0])
        # Quartiles of 0, 1/40, ..., 39/40 are 9.75/40 and 29.25/40.
        assert_allclose(table["age_q25"], np.array([20, 40, 30, 10]) + 9.75 / 40)
        assert_allclose(table["age_q75"], np.array([20, 40, 30, 10]) + 29.25 / 40)

    def test_small_clusters_give_their_size_only(self):
        directions = np.repeat(np.eye(4), [30, 30, 30, 5], axis=0)
        table = train_scores.describe_clusters(
            {"data": (directions, directions[:1])},
            {"cal": pd.DataFrame({"age": np.arange(95.0)}), "test": pd.DataFrame({"age": [0.0]})},
            {"cal": np.arange(95) % 2, "test": np.array([0])},
            seed=0,
            features=["age"],
        )
        small = table[table["size"] < train_scores.MIN_CLUSTER]
        assert small["size"].tolist() == [5]
        assert small[["rate", "age_q25", "age_q75"]].isna().all(axis=None)
        assert table.drop(small.index).notna().all(axis=None)


class TestDisguise:
    @pytest.fixture
    def Z(self):
        rng = np.random.default_rng(1)
        centres = 3 * rng.normal(size=(4, 10))
        parts = [centres[rng.integers(4, size=n)] + rng.normal(size=(n, 10)) for n in (200, 100)]
        return parts[0], parts[1]

    def test_principal_axes_keep_angles_and_lengths(self, Z):
        turned = train_scores.turn_to_principal_axes(*Z)
        for before, after in zip(Z, turned, strict=True):
            assert_allclose(after @ after.T, before @ before.T, atol=1e-10)

    def test_principal_axes_are_uncorrelated(self, Z):
        turned, _ = train_scores.turn_to_principal_axes(*Z)
        moments = turned.T @ turned
        assert_allclose(moments, np.diag(np.diag(moments)), atol=1e-9)

    def test_memberships_are_kept(self, Z):
        kept = train_scores.keep_cluster_geometry(*Z, seed=0)
        before = SoftKMeans(random_state=0).fit(Z[0])
        after = SoftKMeans(random_state=0).fit(kept[0])
        for original, disguised in zip(Z, kept, strict=True):
            assert_allclose(np.sort(after.transform(disguised)), np.sort(before.transform(original)), atol=0.03)

    def test_cosines_with_the_centroids_are_kept_exactly(self, Z):
        kept, _ = train_scores.keep_cluster_geometry(*Z, seed=0)
        centroids = SoftKMeans(random_state=0).fit(Z[0]).centroids_
        span, _ = np.linalg.qr(centroids.T)
        assert_allclose(kept[:, :4] @ (centroids @ span).T, normalize(Z[0]) @ centroids.T, atol=1e-10)

    def test_what_is_outside_their_span_is_lost(self, Z):
        # Rows that differ outside the span of the centroids only give the same four numbers.
        centroids = SoftKMeans(random_state=0).fit(Z[0]).centroids_
        outside = np.linalg.qr(centroids.T, mode="complete")[0][:, 4:]
        rows = normalize(Z[0][:1])
        within = rows - rows @ outside @ outside.T
        length = np.sqrt(1 - (within**2).sum())
        twins = within + length * outside.T
        _, kept = train_scores.keep_cluster_geometry(Z[0], twins, seed=0)
        assert_allclose(kept[:, :4], np.tile(kept[:1, :4], (6, 1)), atol=1e-12)
        assert_allclose(np.linalg.norm(kept, axis=1), 1, atol=1e-12)


class TestCommand:
    @pytest.fixture
    def with_made_up_data(self, data, monkeypatch):
        monkeypatch.setattr(train_scores, "load", lambda name: data)
        monkeypatch.setitem(train_scores.RECIPES, "made_up", CLOSED)

    def test_one_file_per_seed_is_written(self, with_made_up_data, tmp_path, capsys):
        train_scores.main(["made_up", "--output", str(tmp_path / "new")])
        written = sorted(path.name for path in (tmp_path / "new").glob("*.npz"))
        assert written == ["made_up-seed0.npz", "made_up-seed1.npz"]
        assert capsys.readouterr().out.count("made_up-seed") == 2

    def test_without_a_name_all_are_made(self, with_made_up_data, tmp_path, monkeypatch):
        monkeypatch.setattr(train_scores, "RECIPES", {"made_up": CLOSED})
        train_scores.main(["--output", str(tmp_path)])
        assert len(list(tmp_path.glob("*.npz"))) == len(CLOSED.seeds)

    def test_unknown_names_are_refused(self, capsys):
        with pytest.raises(SystemExit):
            train_scores.main(["titanic"])
        assert "titanic" in capsys.readouterr().err


@pytest.mark.data
def test_shipped_scores_are_what_the_command_makes(stroke):
    recipe = train_scores.RECIPES["stroke"]
    arrays, metadata = train_scores.make_scores(stroke, 0, recipe)
    shipped, stated = read_scores(FOLDER / score_file("stroke", 0))
    assert_array_equal(shipped["y_test"], arrays["y_test"])
    assert_allclose(shipped["P_test"], arrays["P_test"], atol=1e-6)
    assert stated["parameters"]["steps"] == metadata["parameters"]["steps"]


@pytest.mark.data
def test_no_column_shipped_for_stroke_is_a_feature(stroke):
    parts = protocol.split(stroke.y, 0)
    prepared = protocol.make_preprocessor(stroke.categorical).fit(stroke.X.iloc[parts.train])
    rows = prepared.transform(stroke.X.iloc[parts.calibration])
    shipped, _ = read_scores(FOLDER / score_file("stroke", 0))
    for name in protocol.REPRESENTATIONS:
        correlation = np.corrcoef(rows.T, shipped[f"Z_cal_{name}"].T)[: rows.shape[1], rows.shape[1] :]
        assert np.abs(correlation).max() < 0.97
