"""Local recalibration against the formula written out row by row, its two limits, and its memory."""

import inspect
import tracemalloc

import numpy as np
import pytest
from scipy import sparse

from clustcal import metrics
from clustcal.calibrators import local
from clustcal.calibrators.local import LocalRecalibration
from tests.calibrators.interface import CHECKS, make_data, name_of

TOP_LABEL, POSITIVE = LocalRecalibration(), LocalRecalibration(n_bins=5, kind="positive")


@pytest.mark.parametrize("check", CHECKS, ids=name_of)
@pytest.mark.parametrize(("calibrator", "n_classes"), [(TOP_LABEL, 2), (TOP_LABEL, 3), (POSITIVE, 2)], ids=name_of)
def test_interface(check, calibrator, n_classes):
    check(calibrator, n_classes)


def written_out(P, y, Z, weights, P_new, Z_new, gamma, n_bins, columns):
    """The definition of Luo et al., one pair of rows at a time; ``columns`` picks the class that is recalibrated."""
    Q = np.empty_like(P_new)
    bin_of = lambda P, row: max(np.ceil(P[row, columns(P)[row]] * n_bins), 1)
    for x in range(len(P_new)):
        above = below = 0.0
        for i in range(len(P)):
            if bin_of(P, i) == bin_of(P_new, x):
                k = weights[i] * np.exp(-np.abs(Z_new[x] - Z[i]).sum() / (Z.shape[1] * gamma))
                above += (y[i] == columns(P)[i]) * k
                below += k
        top = columns(P_new)[x]
        Q[x] = P_new[x] * (1 - above / below) / (1 - P_new[x, top])
        Q[x, top] = above / below
    return Q


@pytest.mark.parametrize(("n_classes", "kind"), [(2, "top-label"), (3, "top-label"), (2, "positive")])
@pytest.mark.parametrize("gamma", [0.2, 1.0])
def test_each_row_follows_the_published_formula(n_classes, kind, gamma):
    P, y, Z = make_data(n_classes, 80)
    P_new, _, Z_new = make_data(n_classes, 20, seed=1)
    weights = np.random.default_rng(2).integers(1, 4, 80)
    columns = lambda P: P.argmax(axis=1) if kind == "top-label" else np.ones(len(P), int)
    fitted = LocalRecalibration(gamma, 3, kind).fit(P, y, Z, weights)
    expected = written_out(P, y, Z, weights, P_new, Z_new, gamma, 3, columns)
    np.testing.assert_allclose(fitted.predict_proba(P_new, Z_new), expected, atol=1e-12)


def test_a_wide_kernel_gives_the_accuracy_in_the_bin():
    P, y, Z = make_data(3)
    Q = LocalRecalibration(1e9, 4).fit(P, y, Z).predict_proba(P, Z)
    top, bins = P.argmax(axis=1), np.ceil(P.max(axis=1) * 4)
    for b in np.unique(bins):
        rows = bins == b
        np.testing.assert_allclose(Q[rows, top[rows]], (y == top)[rows].mean(), atol=1e-7)


def test_a_narrow_kernel_asks_the_nearest_row():
    p, y, Z = np.full(3, 0.75), [0, 1, 0], [[0.0], [1.0], [2.0]]
    Q = LocalRecalibration(1e-6).fit(p, y, Z).predict_proba([0.75, 0.75], [[0.9], [1.6]])
    np.testing.assert_allclose(Q[:, 1], [1, 0])


def test_a_row_beyond_all_others_asks_the_nearest_too():
    """Every kernel value underflows to 0 here; their ratio does not."""
    p, y, Z = np.full(4, 0.75), [0, 1, 0, 0], [[0.0], [1.0], [1.0], [0.5]]
    Q = LocalRecalibration(1e-3).fit(p, y, Z).predict_proba([0.75], [[1e6]])
    np.testing.assert_allclose(Q[:, 1], [0.5])


def test_only_rows_of_the_same_confidence_count():
    p, y, Z = [0.75, 0.95], [1, 0], np.zeros((2, 1))
    np.testing.assert_allclose(LocalRecalibration().fit(p, y, Z).predict_proba(p, Z)[:, 1], [1, 0])


def test_an_empty_bin_keeps_the_row():
    fitted = LocalRecalibration().fit([0.95, 0.95], [0, 1], np.zeros((2, 1)))
    np.testing.assert_allclose(fitted.predict_proba([0.6], [[0.0]]), [[0.4, 0.6]])


def test_a_bin_without_weight_keeps_the_row():
    P, y, Z = [0.95, 0.95, 0.6], [0, 1, 1], np.zeros((3, 1))
    fitted = LocalRecalibration().fit(P, y, Z, sample_weight=[1, 1, 0])
    np.testing.assert_allclose(fitted.predict_proba([0.6], [[0.0]]), [[0.4, 0.6]])


def test_the_rest_goes_to_the_other_classes_in_proportion():
    """The top label is right in 1 of 2 rows: 1/2 remains, shared 3 : 1."""
    P = np.array([[0.6, 0.3, 0.1], [0.6, 0.3, 0.1], [0.1, 0.1, 0.8]])
    Q = LocalRecalibration().fit(P, [0, 1, 2], np.zeros((3, 1))).predict_proba(P[:1], [[0.0]])
    np.testing.assert_allclose(Q, [[0.5, 0.375, 0.125]])


def test_the_rest_is_shared_evenly_where_the_others_have_nothing():
    P = np.array([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.1, 0.1, 0.8]])
    Q = LocalRecalibration().fit(P, [0, 1, 2], np.zeros((3, 1))).predict_proba(P[:1], [[0.0]])
    np.testing.assert_allclose(Q, [[0.5, 0.25, 0.25]])


def test_the_kind_says_what_is_recalibrated():
    """0.2 and 0.8 share a top-label bin, where 1 of 4 is right; the positive class occurs once in each score's bin."""
    p, y, Z = [0.2, 0.2, 0.8, 0.8], [1, 1, 1, 0], np.zeros((4, 1))
    Q = LocalRecalibration(kind="positive").fit(p, y, Z).predict_proba([0.2, 0.8], Z[:2])
    np.testing.assert_allclose(Q[:, 1], [1, 0.5])
    Q = LocalRecalibration().fit(p, y, Z).predict_proba([0.2, 0.8], Z[:2])
    np.testing.assert_allclose(Q[:, 1], [0.75, 0.25])


def test_it_lowers_the_local_error_that_it_is_made_for():
    """Two regions with frequencies 0.5 and 1 for the same score of 0.75."""
    rng = np.random.default_rng(0)
    Z = np.repeat([[0.0], [9.0]], 500, axis=0) + rng.normal(0, 0.1, (1000, 1))
    p = np.full(1000, 0.75)
    y = (rng.random(1000) < np.repeat([0.5, 1.0], 500)).astype(int)
    before = metrics.lce(y, p, Z)
    after = metrics.lce(y, LocalRecalibration().fit(p, y, Z).predict_proba(p, Z), Z)
    assert after < 0.05 < 0.2 < before


def test_the_default_bandwidth_is_that_of_the_local_calibration_error():
    default = inspect.signature(metrics.lce).parameters["bandwidth"].default
    assert LocalRecalibration().bandwidth == default


class TestMemory:
    def test_chunks_change_nothing(self, monkeypatch):
        P, y, Z = make_data(3)
        expected = LocalRecalibration(n_bins=2).fit(P, y, Z).predict_proba(P, Z)
        monkeypatch.setattr(local, "KERNEL_BLOCK", 500)
        np.testing.assert_allclose(LocalRecalibration(n_bins=2).fit(P, y, Z).predict_proba(P, Z), expected, atol=1e-12)

    def test_the_kernel_is_never_held_as_a_whole(self, monkeypatch):
        """The whole kernel of 4,000 by 4,000 rows takes 128 MB."""
        monkeypatch.setattr(local, "KERNEL_BLOCK", 2**16)
        P, y, Z = make_data(2, n=4000)
        fitted = LocalRecalibration(n_bins=1).fit(P, y, Z)
        tracemalloc.start()
        fitted.predict_proba(P, Z)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 5e6

    def test_a_sparse_representation_stays_sparse(self):
        P, y, Z = make_data(2)
        fitted = LocalRecalibration().fit(P, y, sparse.csr_matrix(Z))
        assert sparse.issparse(fitted.Z_)
        dense = LocalRecalibration().fit(P, y, Z).predict_proba(P, Z)
        np.testing.assert_allclose(fitted.predict_proba(P, sparse.csr_matrix(Z)), dense, atol=1e-9)


class TestBadInput:
    @pytest.mark.parametrize(
        ("Z", "message"),
        [(None, "Z is missing"), (np.ones((3, 2)), "3 rows and P has 200"), (np.full((200, 3), np.nan), "NaN")],
    )
    def test_bad_representations_are_named(self, Z, message):
        P, y, good = make_data(2)
        with pytest.raises(ValueError, match=message):
            LocalRecalibration().fit(P, y, Z)
        with pytest.raises(ValueError, match=message):
            LocalRecalibration().fit(P, y, good).predict_proba(P, Z)

    def test_other_columns_than_in_fit_are_named(self):
        P, y, Z = make_data(2)
        with pytest.raises(ValueError, match="Z has 2 columns; expected 3, as in fit"):
            LocalRecalibration().fit(P, y, Z).predict_proba(P, Z[:, :2])

    @pytest.mark.parametrize(
        ("wrong", "message"),
        [
            ({"bandwidth": 0}, "bandwidth"),
            ({"bandwidth": np.nan}, "bandwidth"),
            ({"bandwidth": "scott"}, "bandwidth"),
            ({"n_bins": 0}, "n_bins"),
            ({"kind": "classwise"}, "kind"),
        ],
    )
    def test_bad_parameters_are_named_before_anything_is_fitted(self, wrong, message):
        P, y, Z = make_data(2)
        unfitted = LocalRecalibration(**wrong)
        with pytest.raises(ValueError, match=message):
            unfitted.fit(P, y, Z)
        assert not hasattr(unfitted, "Z_")
