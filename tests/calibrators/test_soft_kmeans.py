"""Soft memberships: formulas, limits, and the same clusters for rows in any order."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize

from clustcal import (
    SoftKMeans,
)
from clustcal.calibrators import soft_kmeans
from tests.calibrators.grouped_data import make_data


class TestSoftKMeans:
    def test_memberships_follow_the_formula(self):
        _, _, Z = make_data()
        soft = SoftKMeans(n_clusters=3, random_state=0).fit(Z)
        unit = lambda A: A / np.linalg.norm(A, axis=1, keepdims=True)
        weights = np.exp(-((1 - unit(Z) @ unit(soft.centroids_).T) ** 2))
        np.testing.assert_allclose(soft.transform(Z), weights / weights.sum(axis=1, keepdims=True), atol=1e-12)

    def test_chord_is_the_squared_distance_of_unit_vectors(self):
        _, _, Z = make_data()
        soft = SoftKMeans(n_clusters=3, membership="chord", temperature=0.5, random_state=0).fit(Z)
        unit = lambda A: A / np.linalg.norm(A, axis=1, keepdims=True)
        distance = ((unit(Z)[:, None] - unit(soft.centroids_)[None]) ** 2).sum(axis=2)
        weights = np.exp(-distance / 0.5)
        np.testing.assert_allclose(soft.transform(Z), weights / weights.sum(axis=1, keepdims=True), atol=1e-12)

    def test_directions_alone_matter(self):
        _, _, Z = make_data()
        soft = SoftKMeans(n_clusters=3, random_state=0).fit(Z)
        np.testing.assert_allclose(soft.transform(Z * 7), soft.transform(Z), atol=1e-12)

    def test_well_separated_directions_are_found(self):
        Z = np.repeat(np.eye(3), 20, axis=0) + np.random.default_rng(0).normal(0, 0.05, (60, 3))
        hard = SoftKMeans(n_clusters=3, temperature=0, random_state=0).fit_transform(Z)
        assert sorted(hard.sum(axis=0)) == [20, 20, 20]
        assert (hard[:20] == hard[0]).all()
        assert set(np.unique(hard)) == {0, 1}

    @given(counts=st.lists(st.integers(0, 3), min_size=12, max_size=40), seed=st.integers(0, 100))
    def test_neither_order_nor_repetition_of_rows_matters(self, counts, seed):
        rng = np.random.default_rng(seed)
        Z = rng.normal(size=(len(counts), 3)).round(1)
        rows = rng.permutation(np.repeat(np.arange(len(counts)), counts))
        if len(np.unique(Z[rows], axis=0)) < 3:
            return
        for form in (np.asarray, sparse.csr_matrix, sparse.coo_array):
            weighted = SoftKMeans(3, random_state=0).fit(form(Z), sample_weight=np.array(counts))
            repeated = SoftKMeans(3, random_state=0).fit(form(Z[rows]))
            np.testing.assert_allclose(weighted.centroids_, repeated.centroids_, atol=1e-12)

    @pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
    def test_fewer_directions_than_clusters_are_said_and_kept(self, form):
        Z = form(np.array([[1.0, 0.0], [2.0, 0.0], [0.0, 3.0]]))
        with pytest.warns(ConvergenceWarning, match="n_clusters is 3 and the representation has only 2 different dir"):
            soft = SoftKMeans(3, temperature=0, random_state=0).fit(Z)
        assert soft.transform(Z).argmax(axis=1).tolist() == [1, 1, 0]
        np.testing.assert_array_equal(soft.centroids_, [[0, 1], [1, 0], [0, 1]])

    @pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
    @pytest.mark.parametrize("n_clusters", [3, 5])
    def test_scaled_copies_are_one_direction(self, form, n_clusters):
        """Their unit vectors differ in the last digits."""
        rng = np.random.default_rng(0)
        Z = form(rng.uniform(0.1, 9, (200, 1)) * rng.normal(size=(2, 7))[np.arange(200) % 2])
        with pytest.warns(ConvergenceWarning, match=f"n_clusters is {n_clusters} and .* only 2 different directions"):
            W = SoftKMeans(n_clusters, temperature=0, random_state=0).fit_transform(Z)
        assert (W[::2] == W[0]).all()
        assert (W[1::2] == W[1]).all()
        assert (W[0] != W[1]).any()

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    def test_frames_have_named_columns(self, library):
        """artefactual issue 306, scikit-learn issue 26460."""
        pytest.importorskip(library)
        soft = SoftKMeans(3, random_state=0).set_output(transform=library)
        assert list(soft.fit_transform(make_data()[2]).columns) == ["softkmeans0", "softkmeans1", "softkmeans2"]

    def test_a_small_temperature_approaches_hard_memberships(self):
        _, _, Z = make_data()
        hard, cold = (SoftKMeans(3, temperature=t, random_state=0).fit(Z).transform(Z) for t in (0, 1e-6))
        np.testing.assert_allclose(cold, hard, atol=1e-3)

    def test_sparse_equals_dense(self):
        _, _, Z = make_data()
        Z[np.abs(Z) < 0.5] = 0
        dense, from_sparse = (SoftKMeans(3, random_state=0).fit(A).transform(A) for A in (Z, sparse.csr_matrix(Z)))
        np.testing.assert_allclose(from_sparse, dense, atol=1e-9)

    def test_a_row_of_zeros_has_no_direction_and_uniform_membership(self):
        _, _, Z = make_data()
        soft = SoftKMeans(n_clusters=4, random_state=0).fit(Z)
        np.testing.assert_allclose(soft.transform(np.zeros((1, 4))), 0.25)

    @settings(max_examples=20, deadline=None)
    @given(k=st.integers(1, 6), temperature=st.floats(0, 5), name=st.sampled_from(["cosine", "chord"]))
    def test_rows_sum_to_1(self, k, temperature, name):
        _, _, Z = make_data(n=40)
        W = SoftKMeans(k, name, temperature, n_init=1, random_state=0).fit_transform(Z)
        assert W.shape == (40, k)
        assert (W >= 0).all()
        np.testing.assert_allclose(W.sum(axis=1), 1, atol=1e-12)

    @pytest.mark.parametrize(
        "wrong",
        [{"n_clusters": 0}, {"n_clusters": 301}, {"n_clusters": 2.5}, {"membership": "far"}, {"temperature": -1}],
    )
    def test_bad_parameters_are_named(self, wrong):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            SoftKMeans(**wrong).fit(make_data()[2])

    def test_other_number_of_columns_is_refused(self):
        _, _, Z = make_data()
        with pytest.raises(ValueError, match="3 columns; expected 4"):
            SoftKMeans(2).fit(Z).transform(Z[:, :3])


class TestManyRows:
    """Above a number of rows, here a small one, K-means starts from a part of them."""

    @pytest.fixture(autouse=True)
    def _few_are_many(self, monkeypatch):
        monkeypatch.setattr(soft_kmeans, "MANY_ROWS", 1000)
        monkeypatch.setattr(soft_kmeans, "SAMPLE", 800)

    def test_neither_order_nor_rows_without_weight_matter(self):
        rng = np.random.default_rng(0)
        Z, weights = rng.normal(size=(3000, 5)), rng.integers(1, 4, 3000)
        fitted = SoftKMeans(3, random_state=0).fit(Z, sample_weight=weights)
        order = rng.permutation(3000)
        moved = SoftKMeans(3, random_state=0).fit(Z[order], sample_weight=weights[order])
        np.testing.assert_allclose(moved.centroids_, fitted.centroids_, atol=1e-10)
        more = SoftKMeans(3, random_state=0).fit(np.vstack([9 + Z, Z]), sample_weight=np.r_[0 * weights, weights])
        np.testing.assert_allclose(more.centroids_, fitted.centroids_, atol=1e-10)

    @pytest.mark.parametrize("seed", range(3))
    def test_on_noise_the_inertia_is_near_that_of_ten_starts_on_all_rows(self, seed, monkeypatch):
        monkeypatch.setattr(soft_kmeans, "MANY_ROWS", 10_000)
        monkeypatch.setattr(soft_kmeans, "SAMPLE", 6000)
        Z = normalize(np.random.default_rng(seed).normal(size=(20_000, 8)))
        inertia = lambda centroids: (1 - 2 * (Z @ centroids.T) + (centroids**2).sum(axis=1)).min(axis=1).sum()
        found = inertia(SoftKMeans(4, random_state=0).fit(Z).centroids_)
        peer = KMeans(4, n_init=10, random_state=0).fit(Z)
        assert found <= 1.005 * peer.inertia_

    def test_copies_of_a_few_rows_are_clustered_as_before(self):
        Z = np.eye(3)[np.random.default_rng(0).integers(3, size=2000)]
        found = SoftKMeans(3, random_state=0).fit(Z).centroids_
        np.testing.assert_allclose(np.sort(found.argmax(axis=1)), [0, 1, 2])

    def test_at_the_number_itself_nothing_changes(self, monkeypatch):
        Z = np.random.default_rng(0).normal(size=(1000, 4))
        here = SoftKMeans(3, random_state=0).fit(Z).centroids_
        monkeypatch.setattr(soft_kmeans, "MANY_ROWS", 10**9)
        np.testing.assert_array_equal(SoftKMeans(3, random_state=0).fit(Z).centroids_, here)
