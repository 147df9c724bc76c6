"""Geometry: anisotropy and silhouettes are those of other libraries, and reliability is held against chance."""

import numpy as np
import pytest
from scipy.spatial.distance import pdist
from sklearn.metrics import silhouette_samples

from clustcal.experiments.deep import geometry


class TestGeometry:
    def test_the_mean_cosine_is_that_of_all_pairs(self):
        """Against all pairs, by SciPy; 10,000 of them are drawn."""
        Z = np.random.default_rng(1).normal(size=(80, 4)) + np.eye(4)[0]
        shape = geometry.measure_shape(Z)
        assert shape["mean_cosine"] == pytest.approx(1 - pdist(Z, "cosine").mean(), abs=0.02)
        assert shape["mean_cosine_centred"] == pytest.approx(1 - pdist(Z - Z.mean(axis=0), "cosine").mean(), abs=0.02)

    def test_shares_of_variance_are_those_of_the_singular_values(self):
        Z = np.random.default_rng(1).normal(size=(80, 12)) * np.arange(1, 13)
        squares = np.linalg.svd(Z - Z.mean(axis=0), compute_uv=False) ** 2
        shape = geometry.measure_shape(Z)
        for k in (1, 2, 10):
            assert shape[f"variance_{k}"] == pytest.approx(squares[:k].sum() / squares.sum())

    def test_the_silhouette_is_that_of_the_directions(self, outputs):
        Z = outputs.representations["cls"]
        found = geometry.measure_clusters(Z, Z[:, 2], 2)
        group = (Z[:, 1] > 1).astype(int)  # the two directions that were drawn from
        assert found["silhouette"] == pytest.approx(silhouette_samples(Z, group, metric="cosine").mean(), abs=0.02)

    def test_gaps_that_follow_the_clusters_are_more_than_chance(self, outputs):
        Z = outputs.representations["cls"]
        of_groups = np.where(Z[:, 1] > 1, 0.1, -0.1) + 0.3 * np.random.default_rng(2).normal(size=len(Z))
        of_none = 0.3 * np.random.default_rng(3).normal(size=len(Z))
        found = geometry.measure_clusters(Z, of_groups, 2)
        assert found["spread"] == pytest.approx(0.1, abs=0.02)
        assert found["spread_ratio"] > 3
        assert found["p_value"] == pytest.approx(1 / 201)
        assert geometry.measure_clusters(Z, of_none, 2)["p_value"] > 0.05

    def test_a_unit_is_measured_on_the_half_that_calibrates(self, outputs):
        unit = {"name": "emotion", "seed": 0, "layer": "mean", "n_clusters": 10}
        (row,) = geometry.measure(unit, load=lambda name: outputs)
        assert (row["n"], row["width"]) == (300, 5)
        assert list(row)[2:7] == ["mean_cosine", "mean_cosine_centred", "variance_1", "variance_2", "variance_10"]

    def test_stroke_is_measured_on_its_shipped_scores(self):
        units = geometry.find_units([geometry.STROKE])
        assert len(units) == 5 * 4
        assert geometry.measure(units[0])[0]["n"] == 1022
