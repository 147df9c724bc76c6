"""The shipped scores: what they hold, that they are small, and that no row of Stroke is in them."""

import hashlib
import json
import shutil
import socket
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import roc_auc_score

from clustcal import _addresses
from clustcal.calibrators.clustered import ClusteredCalibration
from clustcal.calibrators.soft_kmeans import SoftKMeans
from clustcal.datasets import list_datasets, shipped_scores
from clustcal.datasets.network_scores import network_file
from clustcal.datasets.shipped_scores import (
    FOLDER,
    REPRESENTATIONS,
    list_scores,
    load_scores,
    read_scores,
    score_file,
    write_scores,
)

OPEN = ("adult", "credit_approval", "credit_card_default", "diabetes130", "diabetes130-los", "support2")
SHIPPED = [*((name, 0) for name in OPEN), *(("stroke", seed) for seed in range(5))]
NETWORKS = ("bloodmnist", "cifar100", "emotion", "imdb", "tiny-imagenet")
SEEDS_OF = {name: [0] for name in OPEN} | {name: [0, 1, 2, 3, 4] for name in ("stroke", *NETWORKS)}
REGISTRY = list_datasets()
ROWS = {name: REGISTRY.loc[name, "rows"] / 5 for name, _ in SHIPPED}
POSITIVES = {name: REGISTRY.loc[name, "positives"] / 5 for name, _ in SHIPPED}


def test_list_names_every_shipped_seed():
    assert list_scores() == SEEDS_OF


@pytest.mark.parametrize(("name", "seed"), SHIPPED)
class TestEveryFile:
    def test_parts_are_a_fifth_of_the_data_with_its_share_of_positives(self, name, seed):
        scores = load_scores(name, seed)
        for y in (scores.y_cal, scores.y_test):
            assert abs(len(y) - ROWS[name]) <= 1
            assert abs(y.sum() - POSITIVES[name]) <= 1
            assert set(y) == {0, 1}

    def test_shapes_and_types_fit_together(self, name, seed):
        scores = load_scores(name, seed)
        for part in ("cal", "test"):
            P, y, Z = scores[f"P_{part}"], scores[f"y_{part}"], scores[f"Z_{part}"]
            assert P.shape == y.shape
            assert (P.dtype, y.dtype) == (np.float64, np.int64)
            assert ((P > 0) & (P < 1)).all()
            assert list(Z) == list(REPRESENTATIONS)
            for values in Z.values():
                assert values.dtype == np.float64
                assert len(values) == len(y)
                assert np.isfinite(values).all()

    def test_scores_tell_the_classes_apart(self, name, seed):
        scores = load_scores(name, seed)
        P, y = scores.P_test, scores.y_test
        assert roc_auc_score(y, P) > 0.6  # readmission, the hardest of them, has 0.66

    def test_coverage_rows_are_no_longer_than_1(self, name, seed):
        # TF-IDF rows have length 1, and a projection cannot lengthen them; rounding may, a little.
        assert np.linalg.norm(load_scores(name, seed).Z_test["coverage"], axis=1).max() < 1.01

    def test_origin_is_stated(self, name, seed):
        scores = load_scores(name, seed)
        assert scores.parameters["name"] == name
        assert scores.parameters["seed"] == seed
        assert (scores.parameters["n_estimators"], scores.parameters["max_depth"]) == (300, 8)
        assert scores.parameters["command"] == f"python -m clustcal.experiments.tabular.train_scores {name}"
        assert all([scores.description, scores.source.startswith("https://"), scores.licence, scores.citation])


def test_files_are_small():
    assert sum((FOLDER / score_file(*shipped)).stat().st_size for shipped in SHIPPED) < 25_000_000


def test_adult_shap_sums_to_the_log_odds():
    scores = load_scores("adult")
    log_odds = np.log(scores.P_test) - np.log1p(-scores.P_test)
    base = log_odds - scores.Z_test["shap"].sum(axis=1)
    # 14 values rounded to multiples of 1/256 may miss their sum by 14/512.
    assert_allclose(base, np.median(base), atol=14 / 512 + 2e-3)


def test_adult_features_are_standardised_and_named():
    scores = load_scores("adult")
    names = scores.feature_names["data"]
    assert len(names) == 14
    assert names == scores.feature_names["shap"]
    assert_allclose(scores.Z_test["data"].mean(axis=0), 0, atol=0.05)
    assert_allclose(scores.Z_test["data"].std(axis=0), 1, atol=0.15)


class TestStroke:
    """What is said of rows that must not be published."""

    def test_columns_have_no_names(self):
        assert load_scores("stroke").feature_names == {}

    @pytest.mark.parametrize("seed", range(5))
    def test_no_column_takes_few_values(self, seed):
        # Seven of the ten features take 2 to 5 values; a column that shows one of them would do so too.
        Z = load_scores("stroke", seed).Z_cal
        for name in ("shap", "data"):
            assert min(len(np.unique(column)) for column in Z[name].T) > 60

    @pytest.mark.parametrize("seed", range(5))
    def test_data_rows_are_directions_of_length_1(self, seed):
        assert_allclose(np.linalg.norm(load_scores("stroke", seed).Z_cal["data"], axis=1), 1, atol=0.01)

    @pytest.mark.parametrize("seed", range(5))
    def test_data_is_noise_outside_the_span_of_the_centroids(self, seed):
        # The last six columns are random directions: no line through them holds more than chance.
        rest = load_scores("stroke", seed).Z_cal["data"][:, 4:]
        variances = np.linalg.eigvalsh(np.cov(rest.T))
        assert variances.max() < 1.4 * variances.min()

    @pytest.mark.parametrize("seed", range(5))
    def test_shap_columns_are_principal_axes(self, seed):
        second_moments = load_scores("stroke", seed).Z_cal["shap"].T @ load_scores("stroke", seed).Z_cal["shap"]
        off_diagonal = second_moments - np.diag(np.diag(second_moments))
        assert np.abs(off_diagonal).max() < 0.001 * second_moments.max()

    def test_four_clusters_are_found_in_every_representation(self):
        Z = load_scores("stroke").Z_cal
        for values in Z.values():
            sizes = np.bincount(SoftKMeans(random_state=0).fit_transform(values).argmax(axis=1), minlength=4)
            assert sizes.min() >= 50

    @pytest.mark.parametrize("seed", range(5))
    def test_clusters_are_aggregates_in_order_of_their_rate(self, seed):
        clusters = load_scores("stroke", seed).clusters
        assert clusters.columns[:4].tolist() == ["representation", "cluster", "size", "rate"]
        for name, group in clusters.groupby("representation", sort=False):
            assert name in REPRESENTATIONS
            assert group["cluster"].tolist() == [0, 1, 2, 3]
            assert group["rate"].is_monotonic_decreasing
            assert group["size"].sum() == 2 * ROWS["stroke"]
            assert group["size"].min() >= 20
            assert_allclose((group["size"] * group["rate"]).sum(), 2 * POSITIVES["stroke"], atol=2)
        for feature, lowest, highest in [("age", 0, 82), ("bmi", 10, 98), ("avg_glucose_level", 55, 272)]:
            low, high = clusters[f"{feature}_q25"], clusters[f"{feature}_q75"]
            assert (low < high).all()
            assert low.min() >= lowest
            assert high.max() <= highest

    def test_clustered_calibration_beats_global_in_every_representation(self):
        gains = {name: [] for name in REPRESENTATIONS}
        for seed in range(5):
            scores = load_scores("stroke", seed)
            for name in REPRESENTATIONS:
                clustered = ClusteredCalibration(random_state=seed)
                clustered.fit(scores.P_cal, scores.y_cal, scores.Z_cal[name])
                Q = clustered.predict_proba(scores.P_test, scores.Z_test[name])
                G = clustered.calibrator_.predict_proba(scores.P_test)
                gains[name].append(nll(scores.y_test, G) - nll(scores.y_test, Q))
        assert all(np.mean(gain) > 0 for gain in gains.values())


def nll(y, P):
    return -np.log(P[np.arange(len(y)), y]).mean()


class TestErrors:
    def test_unknown_name_lists_what_there_is(self):
        with pytest.raises(
            ValueError, match=r"name is 'titanic'; expected one of \['adult', 'bloodmnist', .*, 'tiny-imagenet'\]"
        ):
            load_scores("titanic")

    def test_unknown_seed_lists_what_there_is(self):
        with pytest.raises(ValueError, match=r"seed is 7; expected one of \[0, 1, 2, 3, 4\] for 'stroke'"):
            load_scores("stroke", seed=7)


class TestWhereThereIsOnlyTheWheel:
    """A large file is not there: it is fetched once, by its checksum."""

    FILE = "credit_approval-seed0.npz"

    @pytest.fixture
    def content(self):
        return (FOLDER / self.FILE).read_bytes()

    @pytest.fixture
    def wheel(self, monkeypatch, tmp_path, server, empty_folder):
        """An installation without score files, whose files lie on a server of this machine."""
        folder = tmp_path / "installed"
        folder.mkdir()
        shutil.copy(FOLDER / shipped_scores.CHECKSUMS, folder)
        monkeypatch.setattr(shipped_scores, "FOLDER", folder)
        monkeypatch.setattr(shipped_scores, "RETRIES", 0)
        monkeypatch.setattr(_addresses, "SCORE_FILES", server.address)
        return server

    def test_right_bytes_are_fetched_once(self, wheel, content, empty_folder):
        wheel.replies[f"/{self.FILE}"] = [(200, content)]
        first, second = load_scores("credit_approval"), load_scores("credit_approval")
        assert wheel.asked == [f"/{self.FILE}"]
        assert_array_equal(first.P_test, second.P_test)
        assert [path.name for path in (empty_folder / "score_files").iterdir()] == [self.FILE]

    def test_all_names_are_listed_whatever_is_there(self, wheel):
        assert list_scores() == SEEDS_OF
        assert wheel.asked == []

    @pytest.mark.parametrize("defect", ["wrong", "truncated", "missing"])
    def test_anything_else_is_refused_and_not_kept(self, wheel, content, empty_folder, defect):
        reply = {
            "wrong": (200, content[:-1] + b"?"),
            "truncated": (200, content[:1000], len(content)),
            "missing": (404, b"not here"),
        }[defect]
        wheel.replies[f"/{self.FILE}"] = [reply, (200, content)]
        with pytest.raises(FileNotFoundError, match=rf"{self.FILE} does not come with the wheel.*{wheel.address}"):
            load_scores("credit_approval")
        assert list((empty_folder / "score_files").iterdir()) == []
        assert load_scores("credit_approval").P_cal.shape == (138,)  # the next call asks again

    def test_without_a_network_the_error_says_where_the_file_belongs(self, wheel, empty_folder, content):
        wheel.shutdown()
        wheel.server_close()
        with pytest.raises(FileNotFoundError, match=f"could not be fetched .* into {empty_folder / 'score_files'} .*"):
            load_scores("credit_approval")
        (empty_folder / "score_files" / self.FILE).write_bytes(content)
        assert load_scores("credit_approval").P_cal.shape == (138,)

    def test_a_server_that_never_answers_is_given_up(self, wheel, empty_folder, monkeypatch):
        monkeypatch.setattr(shipped_scores, "TIMEOUT", 0.1)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            monkeypatch.setattr(_addresses, "SCORE_FILES", f"http://127.0.0.1:{silent.getsockname()[1]}")
            with pytest.raises(FileNotFoundError, match=r"could not be fetched .*timed out"):
                load_scores("credit_approval")
        assert list((empty_folder / "score_files").iterdir()) == []

    def test_a_failed_attempt_is_repeated(self, wheel, content, monkeypatch):
        monkeypatch.setattr(shipped_scores, "RETRIES", 1)
        wheel.replies[f"/{self.FILE}"] = [(200, content[:1000], len(content)), (200, content)]
        assert load_scores("credit_approval").P_cal.shape == (138,)

    def test_a_damaged_copy_is_fetched_again(self, wheel, content, empty_folder):
        wheel.replies[f"/{self.FILE}"] = [(200, content)]
        (empty_folder / "score_files").mkdir(parents=True)
        (empty_folder / "score_files" / self.FILE).write_bytes(content[:500])
        assert load_scores("credit_approval").P_cal.shape == (138,)

    def test_without_pooch_the_data_folder_is_that_of_scikit_learn(self, wheel, content, monkeypatch, tmp_path):
        monkeypatch.delenv("CLUSTCAL_DATA_DIR")
        monkeypatch.setitem(sys.modules, "pooch", None)
        monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path / "sklearn"))
        wheel.replies[f"/{self.FILE}"] = [(200, content)]
        load_scores("credit_approval")
        assert (tmp_path / "sklearn" / "clustcal" / "score_files" / self.FILE).exists()


def test_checksums_are_those_of_the_files(tmp_path):
    for path in FOLDER.glob("*.npz"):
        (tmp_path / path.name).symlink_to(path)
    shipped_scores.write_checksums(tmp_path)
    assert (tmp_path / shipped_scores.CHECKSUMS).read_bytes() == (FOLDER / shipped_scores.CHECKSUMS).read_bytes()


def test_a_checkout_has_every_file():
    shipped = {score_file(*each) for each in SHIPPED} | {network_file(name) for name in NETWORKS}
    assert {path.name for path in FOLDER.glob("*.npz")} == shipped


STEPS = {"coverage": 1 / 64, "shap": 1 / 256}


class TestWriteAndRead:
    def make_arrays(self, rng):
        return {
            "P_cal": rng.random(50),
            "y_cal": rng.integers(2, size=50),
            "Z_cal_coverage": rng.uniform(-1, 1, (50, 3)),
            "Z_cal_shap": rng.normal(0, 5, (50, 2)),
        }

    def test_values_come_back_rounded_to_their_steps(self, tmp_path):
        arrays = self.make_arrays(np.random.default_rng(0))
        write_scores(tmp_path / "a.npz", arrays, {}, STEPS)
        found, _ = read_scores(tmp_path / "a.npz")
        assert_allclose(found["P_cal"], arrays["P_cal"], rtol=1e-7)
        assert_array_equal(found["y_cal"], arrays["y_cal"])
        for name, step in STEPS.items():
            assert_allclose(found[f"Z_cal_{name}"], arrays[f"Z_cal_{name}"], atol=step / 2)
            assert_array_equal(found[f"Z_cal_{name}"] % step, 0)

    def test_metadata_come_back_as_they_were(self, tmp_path):
        metadata = {"description": "ψ", "clusters": None, "parameters": {"seed": 3}}
        write_scores(tmp_path / "a.npz", self.make_arrays(np.random.default_rng(0)), metadata, STEPS)
        assert read_scores(tmp_path / "a.npz")[1] == metadata

    def test_same_content_gives_the_same_bytes(self, tmp_path):
        for file in ("a.npz", "b.npz"):
            write_scores(tmp_path / file, self.make_arrays(np.random.default_rng(0)), {"b": 1, "a": 2}, STEPS)
        first, second = (hashlib.sha256((tmp_path / file).read_bytes()).digest() for file in ("a.npz", "b.npz"))
        assert first == second


def test_loading_needs_neither_network_nor_heavy_libraries():
    program = (
        "import socket, sys, json; socket.socket.connect = None\n"
        "from clustcal.datasets.shipped_scores import load_scores; load_scores('stroke')\n"
        "print(json.dumps([m for m in ('xgboost', 'shap', 'woodelf', 'torch', 'pooch') if m in sys.modules]))"
    )
    assert socket.socket.connect is not None  # only the other process goes without
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert json.loads(done.stdout) == []
