"""The canonical form, the labels, and the one rule for bins."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.special import softmax

from clustcal.core.families import PLATT
from clustcal.core.probabilities import (
    as_logits,
    as_probabilities,
    as_representation,
    as_scores,
    as_weights,
    assign_bins,
    bin_edges,
    log_probabilities,
    logits,
)

SCORES = arrays(float, st.integers(1, 60), elements=st.floats(0, 1))


class TestAsProbabilities:
    @pytest.mark.parametrize("form", [[0.25, 1.0], [[0.25], [1.0]], [[0.75, 0.25], [0.0, 1.0]]])
    def test_every_form_of_two_classes_is_the_same(self, form):
        np.testing.assert_array_equal(as_probabilities(form), [[0.75, 0.25], [0.0, 1.0]])

    def test_rounded_rows_are_renormalised(self):
        P = as_probabilities([[0.333, 0.333, 0.333]])
        np.testing.assert_allclose(P, 1 / 3, atol=1e-15)

    @pytest.mark.parametrize(
        "kind",
        [
            lambda a: a.astype(np.float32),
            pd.DataFrame,
            np.asfortranarray,
            lambda a: np.repeat(a, 2, axis=1)[:, ::2],
            lambda a: a.tolist(),
        ],
    )
    def test_any_container_gives_float64(self, kind):
        P = as_probabilities(kind(np.array([[0.25, 0.75], [1.0, 0.0]])))
        assert P.dtype == np.float64
        np.testing.assert_array_equal(P, [[0.25, 0.75], [1.0, 0.0]])

    def test_what_is_canonical_already_is_not_copied(self):
        P = np.array([[0.25, 0.75], [1.0, 0.0]])
        assert as_probabilities(P) is P

    def test_rows_that_miss_1_by_rounding_alone_keep_their_digits(self):
        P = np.array([[0.1, 0.2, 0.7], [1 / 3, 1 / 3, 1 / 3 + 2e-16], [0.3, 0.3, 0.3999]])
        np.testing.assert_array_equal(as_probabilities(P)[:2], P[:2])

    def test_read_only_input_is_accepted_and_kept(self):
        P = np.array([[0.3, 0.6995], [0.5, 0.5]])
        P.flags.writeable = False
        as_probabilities(P)
        assert P[0, 1] == 0.6995

    @pytest.mark.parametrize(
        ("P", "message"),
        [
            ([], "empty"),
            (np.ones((2, 2, 2)), "3 dimensions"),
            ([0.5, np.nan], "NaN"),
            ([0.5, np.inf], "infinite"),
            ([0.5, 1.2], r"1\.2; expected probabilities between 0 and 1"),
            ([0.5, -0.1], r"-0\.1"),
            ([[0.5, 0.5], [0.5, 0.6]], r"sums to 1\.1 \(row 1\)"),
            ([["a", "b"]], "numbers"),
        ],
    )
    def test_bad_input_is_named(self, P, message):
        with pytest.raises(ValueError, match=message):
            as_probabilities(P)


class TestWeightsAndRepresentations:
    @pytest.mark.parametrize(
        ("weights", "message"),
        [([1, -1], "-1"), ([0, 0], "zero everywhere"), ([1, np.nan], "NaN"), ([1, 2, 3], "shape"), ([[1, 2]], "shape")],
    )
    def test_bad_weights_are_named(self, weights, message):
        with pytest.raises(ValueError, match=message):
            as_weights(weights, 2)

    def test_sparse_stays_sparse(self):
        Z = as_representation(sparse.coo_array(np.eye(3, dtype=np.float32)), 3)
        assert sparse.issparse(Z)
        assert Z.dtype == np.float64

    @pytest.mark.parametrize(
        ("Z", "message"),
        [
            (None, "missing"),
            (np.ones((3, 2)), "3 rows and P has 2"),
            (np.ones(2), "shape"),
            (np.ones((2, 0)), "shape"),
            (np.full((2, 2), np.nan), "NaN"),
            (np.ones((2, 4)), "4 columns; expected 5"),
        ],
    )
    def test_bad_representations_are_named(self, Z, message):
        with pytest.raises(ValueError, match=message):
            as_representation(Z, 2, n_features=5 if np.ndim(Z) == 2 and np.shape(Z)[1] == 4 else None)


class TestBins:
    def test_edges_belong_to_the_bin_on_their_left(self):
        edges = bin_edges(None, 5)
        assert assign_bins(np.array([0.0, 0.2, 0.4, 0.6, 0.8, 1.0]), edges).tolist() == [0, 0, 1, 2, 3, 4]

    @pytest.mark.parametrize("n_bins", range(1, 40))
    def test_a_score_of_j_over_n_is_the_edge_itself(self, n_bins):
        scores = np.array([j / n_bins for j in range(1, n_bins + 1)])
        assert assign_bins(scores, bin_edges(None, n_bins)).tolist() == list(range(n_bins))

    @given(st.permutations(np.linspace(0.001, 0.999, 60).tolist()), st.sampled_from([2, 3, 5, 10, 12]))
    def test_quantile_bins_hold_equal_numbers_of_distinct_scores(self, scores, n_bins):
        scores = np.array(scores)
        counts = np.bincount(assign_bins(scores, bin_edges(scores, n_bins, "quantile")))
        assert counts.tolist() == [60 // n_bins] * n_bins

    @given(SCORES, st.integers(1, 12))
    def test_equal_scores_share_a_bin_and_every_score_has_one(self, scores, n_bins):
        edges = bin_edges(scores, n_bins, "quantile")
        bins = assign_bins(scores, edges)
        assert (np.diff(edges) > 0).all()
        assert (edges[0], edges[-1]) == (0, 1)
        assert ((scores > edges[bins]) | (bins == 0)).all()
        assert (scores <= edges[bins + 1]).all()

    @given(SCORES, st.integers(1, 12), st.data())
    def test_weights_equal_repetition(self, scores, n_bins, data):
        counts = data.draw(arrays(int, len(scores), elements=st.integers(1, 4)))
        weighted = bin_edges(scores, n_bins, "quantile", counts.astype(float))
        np.testing.assert_array_equal(weighted, bin_edges(np.repeat(scores, counts), n_bins, "quantile"))

    @pytest.mark.parametrize(("n", "expected"), [(1, 1), (8, 2), (9, 3), (1000, 10), (8000, 20), (1_000_000, 100)])
    def test_auto_is_the_cube_root_of_the_number_of_rows_rounded_up(self, n, expected):
        assert len(bin_edges(np.full(n, 0.5), "auto")) == expected + 1
        assert len(bin_edges(np.full(1, 0.5), "auto", weights=np.array([float(n)]))) == expected + 1

    def test_auto_serves_either_strategy(self):
        p = np.linspace(0.001, 0.1, 27)
        np.testing.assert_array_equal(bin_edges(p, "auto"), bin_edges(p, 3))
        np.testing.assert_array_equal(bin_edges(p, "auto", "quantile"), bin_edges(p, 3, "quantile"))

    @pytest.mark.parametrize("form", [list, tuple, np.array])
    @pytest.mark.parametrize("strategy", ["uniform", "quantile"])
    def test_own_edges_stay_as_they_are_and_follow_the_rule(self, form, strategy):
        edges = bin_edges(np.array([0.5]), form([0, 0.001, 0.01, 1]), strategy)
        assert edges.tolist() == [0.0, 0.001, 0.01, 1.0]
        assert assign_bins(np.array([0, 0.001, 0.0011, 0.01, 1]), edges).tolist() == [0, 0, 1, 1, 2]

    @pytest.mark.parametrize(
        "edges",
        [
            np.array([]),
            [0],
            [[0], 1],
            [0, 0.5],
            [0.1, 1],
            [0, 0.5, 0.5, 1],
            [0, 0.7, 0.3, 1],
            [0, np.nan, 1],
            [[0, 1]],
            ["a", "b"],
        ],
    )
    def test_edges_that_do_not_increase_from_0_to_1_are_refused(self, edges):
        with pytest.raises(ValueError, match="expected edges that increase from 0 to 1"):
            bin_edges(np.array([0.5]), edges)

    @pytest.mark.parametrize(
        ("n_bins", "strategy"),
        [("10", "uniform"), (None, "uniform"), (0, "uniform"), (2.5, "uniform"), (True, "uniform"), (3, "kmeans")],
    )
    def test_bad_choices_are_named(self, n_bins, strategy):
        with pytest.raises(ValueError, match="expected"):
            bin_edges(np.array([0.5]), n_bins, strategy)


@given(SCORES)
def test_logarithms_are_finite_at_0_and_1(scores):
    U = log_probabilities(as_probabilities(scores))
    assert np.isfinite(U).all()
    assert (U < 0).all()


class TestRounding:
    """Probabilities that are off by the rounding of their type, and by more."""

    @pytest.mark.parametrize("name", ["float64", "float32"])
    @pytest.mark.parametrize("container", [np.array, pd.Series, lambda a: pd.DataFrame({"p": a}), "polars"])
    def test_a_few_rounding_errors_beyond_0_and_1_are_taken_as_0_and_1(self, name, container):
        """scikit-learn issue 10903."""
        container = pytest.importorskip("polars").Series if container == "polars" else container
        eps = np.finfo(name).eps
        P = as_probabilities(container(np.array([1 + 20 * eps, -20 * eps, 0.5], dtype=name)))
        np.testing.assert_array_equal(P[:, 1], [1, 0, 0.5])

    @pytest.mark.parametrize("beyond", [1 + 1e-3, 1 + 1e-12, -1e-3, -1e-12])
    def test_more_is_refused_and_shown_in_full(self, beyond):
        with pytest.raises(ValueError, match=f"P holds {beyond!r}; expected"):
            as_probabilities([0.5, beyond])

    def test_of_no_type_more_than_1e_5(self):
        for dtype in (np.float16, np.float32):
            with pytest.raises(ValueError, match="expected probabilities between 0 and 1"):
                as_probabilities(np.array([0.5, 1.001], dtype=dtype))

    def test_rows_of_16_bits_are_renormalised_within_four_rounding_errors(self):
        """torchmetrics issue 264."""
        torch = pytest.importorskip("torch")
        logits = 3 * torch.randn(500, 10, generator=torch.Generator().manual_seed(0))
        P = torch.softmax(logits.bfloat16(), -1)
        sums = P.double().sum(1).numpy()
        assert abs(sums - 1).max() > 1e-3
        np.testing.assert_allclose(as_probabilities(P), P.double().numpy() / sums[:, None], rtol=1e-12)
        with pytest.raises(ValueError, match="divide each row by its sum"):
            as_probabilities(P.float().numpy())

    def test_a_tensor_with_a_gradient_is_read(self):
        torch = pytest.importorskip("torch")
        logits = torch.zeros(3, 2, requires_grad=True)
        np.testing.assert_array_equal(as_probabilities(torch.softmax(logits, -1)), np.full((3, 2), 0.5))

    def test_float16_rows(self):
        row = np.array([[0.1, 0.2, 0.3, 0.4004]], dtype=np.float16)
        np.testing.assert_allclose(as_probabilities(row).sum(), 1, atol=1e-15)

    def test_what_a_mask_hides_is_missing(self):
        for read in (as_probabilities, lambda p: as_weights(p, 2), as_logits, lambda p: as_representation(p[:, None])):
            with pytest.raises(ValueError, match="holds NaN"):
                read(np.ma.array([0.5, 0.5], mask=[False, True]))
        np.testing.assert_array_equal(as_probabilities(np.ma.array([0.5], mask=False)), [[0.5, 0.5]])


class TestLogits:
    def test_one_column_is_the_log_odds_of_the_second_class(self):
        for form in ([0.0, np.log(3)], [[0.0], [np.log(3)]], [[5.0, 5.0], [0.0, np.log(3)]]):
            np.testing.assert_allclose(as_scores(form, from_logits=True).P, [[0.5, 0.5], [0.25, 0.75]])

    @pytest.mark.parametrize(
        ("S", "message"),
        [
            ([], "empty"),
            (np.ones((2, 2, 2)), "3 dimensions"),
            ([np.nan, 0], "NaN"),
            ([np.inf, 0], "infinite"),
            ([1e200, 0], r"holds 1e\+200; expected logits of at most 1e\+100"),
            ([0, -1e101], "expected logits of at most"),
            ([1j, 0], "complex"),
        ],
    )
    def test_bad_logits_are_named(self, S, message):
        with pytest.raises(ValueError, match=f"P .*{message}"):
            as_logits(S)

    def test_of_a_sure_row_the_logit_is_kept_and_the_probability_is_cut(self):
        logits = np.array([[0.0, 500.0]])
        assert as_scores(logits, from_logits=True).features(PLATT)[0, 0] == 500
        assert as_scores(softmax(logits, axis=1)).features(PLATT)[0, 0] < 37

    def test_rows_and_columns_are_taken_of_both(self):
        scores = as_scores([[0.0, 1.0], [2.0, 3.0]], from_logits=True).take(rows=[1], columns=[1, 0])
        assert scores.logits.tolist() == [[3, 2]]
        np.testing.assert_allclose(scores.P, softmax([[3, 2]], axis=1))
        assert as_scores([0.5]).take().logits is None

    def test_of_probabilities_of_0_and_1_they_are_those_of_the_nearest_float(self):
        np.testing.assert_allclose(logits(np.array([0.0, 0.25, 1.0])), [-52 * np.log(2), -np.log(3), 52 * np.log(2)])


@pytest.mark.parametrize(
    "values",
    [
        [0.5 + 0j, 0.2],
        np.array([0.5 + 1j, 0.2]),
        np.array([np.complex64(0.5), 0.2], dtype=object),
        pd.Series([0.5 + 1j, 0.2]),
        pd.DataFrame({"a": [0.5, 0.2], "b": [0.5 + 1j, 0.8]}),
        "torch",
    ],
)
def test_complex_numbers_do_not_lose_their_imaginary_part_in_silence(values):
    if isinstance(values, str):
        values = pytest.importorskip(values).tensor([0.5 + 1j, 0.2])
    with pytest.raises(ValueError, match="P holds complex numbers; expected real ones"):
        as_probabilities(values)
    with pytest.raises(ValueError, match="sample_weight holds complex numbers"):
        as_weights([1 + 1j, 1], 2)
    with pytest.raises(ValueError, match="Z holds complex numbers"):
        as_representation(sparse.csr_matrix([[1j]]))
