"""Local calibration error against the formula written out row by row, its two limits, and its cost."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from clustcal.metrics import ece, lce, local_calibration_errors, local_errors, mce, mlce


@pytest.fixture
def data():
    rng = np.random.default_rng(4)
    P = rng.dirichlet([1.0, 1.5, 0.5], size=60)
    return np.array([rng.choice(3, p=row) for row in P]), P, rng.normal(size=(60, 3))


def written_out(y, P, Z, gamma, n_bins, weights):
    """The definition of Luo et al., one pair of rows at a time."""
    confidence, correct = P.max(axis=1), P.argmax(axis=1) == y
    bins = np.ceil(confidence * n_bins)
    errors = []
    for x in range(len(y)):
        above = below = 0.0
        for i in range(len(y)):
            if bins[i] == bins[x]:
                k = weights[i] * np.exp(-np.abs(Z[x] - Z[i]).sum() / (Z.shape[1] * gamma))
                above += (confidence[i] - correct[i]) * k
                below += k
        errors.append(abs(above) / below)
    return np.array(errors)


@pytest.mark.parametrize("n_bins", [1, 5, 15])
@pytest.mark.parametrize("gamma", [0.2, 1.0])
def test_each_row_follows_the_published_formula(data, gamma, n_bins):
    y, P, Z = data
    weights = np.random.default_rng(5).integers(1, 4, size=60)
    found = local_calibration_errors(y, P, Z, bandwidth=gamma, n_bins=n_bins, sample_weight=weights)
    assert found == pytest.approx(written_out(y, P, Z, gamma, n_bins, weights), abs=1e-12)


def test_lce_is_the_weighted_mean_and_mlce_the_largest(data):
    y, P, Z = data
    weights = np.arange(60.0)
    errors = local_calibration_errors(y, P, Z, sample_weight=weights)
    assert lce(y, P, Z, sample_weight=weights) == pytest.approx(weights @ errors / weights.sum())
    assert mlce(y, P, Z, sample_weight=weights) == errors[1:].max()


def test_a_wide_kernel_gives_the_binned_errors(data):
    """All rows of a bin are neighbours, so each row's error is the gap of its bin."""
    y, P, Z = data
    assert lce(y, P, Z, bandwidth=1e9) == pytest.approx(ece(y, P, n_bins=15), abs=1e-7)
    assert mlce(y, P, Z, bandwidth=1e9) == pytest.approx(mce(y, P, n_bins=15), abs=1e-7)


def test_a_narrow_kernel_leaves_every_row_alone(data):
    y, P, Z = data
    alone = np.abs(P.max(axis=1) - (P.argmax(axis=1) == y))
    assert lce(y, P, Z, bandwidth=1e-9) == pytest.approx(alone.mean())
    assert mlce(y, P, Z, bandwidth=1e-9) == pytest.approx(alone.max())


def test_it_sees_errors_that_cancel_within_a_bin():
    """Two far regions with frequencies 1 and 0.5, both given 0.75: no binned error, a local one of 0.25."""
    y, Z = np.array([1, 1, 0, 1]), np.array([[0.0], [0.0], [99.0], [99.0]])
    assert ece(y, np.full(4, 0.75)) == 0
    assert lce(y, np.full(4, 0.75), Z) == pytest.approx(0.25)


def test_many_methods_share_one_pass_and_get_what_each_gets_alone(data, monkeypatch):
    y, P, Z = data
    methods = {"a": P, "b": P[:, [1, 0, 2]], "c": np.full((60, 3), 1 / 3)}
    alone = {name: lce(y, Q, Z) for name, Q in methods.items()}
    passes = []
    distances = local_errors.manhattan_distances
    monkeypatch.setattr(local_errors, "manhattan_distances", lambda *a: passes.append(1) or distances(*a))
    together = lce(y, methods, Z)
    assert list(together) == ["a", "b", "c"]
    assert together == pytest.approx(alone, abs=1e-12)
    assert len(passes) == 1


def test_chunks_change_nothing(data, monkeypatch):
    y, P, Z = data
    whole = local_calibration_errors(y, P, Z)
    monkeypatch.setattr(local_errors, "KERNEL_BLOCK", 7 * 60)
    assert local_calibration_errors(y, P, Z) == pytest.approx(whole, abs=1e-12)


def test_a_sparse_representation_gives_the_same(data):
    y, P, Z = data
    Z = Z * (Z > 0)
    assert lce(y, P, sparse.csr_matrix(Z)) == pytest.approx(lce(y, P, Z), abs=1e-12)


def test_weights_equal_repetition(data):
    y, P, Z = data
    weights = np.random.default_rng(6).integers(0, 3, size=60)
    rows = np.repeat(np.arange(60), weights)
    assert lce(y, P, Z, sample_weight=weights) == pytest.approx(lce(y[rows], P[rows], Z[rows]), abs=1e-12)
    assert mlce(y, P, Z, sample_weight=weights) == pytest.approx(mlce(y[rows], P[rows], Z[rows]), abs=1e-12)


def test_memory_is_linear_in_rows():
    """The kernel of 6,000 rows has 288 MB; no more than a block of it may be held."""
    rng = np.random.default_rng(7)
    y, p, Z = rng.integers(2, size=6000), rng.random(6000), rng.normal(size=(6000, 2))
    tracemalloc.start()
    lce(y, p, Z)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 110e6


@pytest.mark.parametrize("gamma", [0, -1.0, float("nan")])
def test_a_bandwidth_that_is_none_is_refused(data, gamma):
    with pytest.raises(ValueError, match="bandwidth is"):
        lce(*data, bandwidth=gamma)


def test_rows_of_Z_must_match():
    with pytest.raises(ValueError, match="Z has 3 rows and P has 2"):
        lce([0, 1], [0.2, 0.7], np.zeros((3, 1)))


def test_an_empty_mapping_is_refused():
    with pytest.raises(ValueError, match="y_prob is an empty mapping"):
        lce([0, 1], {}, np.zeros((2, 1)))
