"""What every calibrator owes its users, as checks that run on any of them.

A test file parametrises them over its calibrators::

    @pytest.mark.parametrize("check", CHECKS, ids=name_of)
    @pytest.mark.parametrize(("calibrator", "n_classes"), EVERY)
    def test_interface(check, calibrator, n_classes):
        check(calibrator, n_classes)
"""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import accuracy_score, log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score

from clustcal import CalibratedClassifier

# Scores without ties; on bin edges and often equal; of 0 and 1 mostly; all alike; packed at one end.
STYLES = ("smooth", "tied", "hard", "constant", "extreme")
ATOL = 1e-6


def make_data(n_classes, n=200, seed=0, style="smooth"):
    """Probabilities P, labels y with every class among them, and a representation Z."""
    rng = np.random.default_rng(seed)
    P = rng.dirichlet(np.ones(n_classes), n)
    y = (P.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    y[:n_classes] = np.arange(n_classes)
    if style == "tied":
        tenths = rng.multinomial(10, np.full(n_classes, 1 / n_classes), n)
        P = tenths / 10
    elif style == "hard":
        P = np.where(rng.random((n, 1)) < 0.8, np.eye(n_classes)[rng.integers(n_classes, size=n)], P)
    elif style == "constant":
        P = np.tile(P[:1], (n, 1))
    elif style == "extreme":
        P = np.column_stack([P[:, :-1] * 1e-300, 1 - P[:, :-1].sum(axis=1) * 1e-300])
    return P, y, rng.normal(size=(n, 3)).round(1)


def fit(calibrator, P, y, Z, sample_weight=None):
    """Fit a copy, without the warnings that small or separable sets may give."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "y has no label", UserWarning)
        return clone(calibrator).fit(P, y, Z, sample_weight=sample_weight)


def assert_probabilities(Q, n_rows, n_classes):
    """Assert that Q has the shape (n, L) and holds distributions."""
    assert Q.shape == (n_rows, n_classes)
    assert np.isfinite(Q).all()
    assert Q.min() >= 0
    assert Q.max() <= 1
    np.testing.assert_allclose(Q.sum(axis=1), 1, atol=1e-12)


def name_of(value):
    """The id of a parameter: the name of a check, or the call that makes a calibrator."""
    return getattr(value, "__name__", str(value).replace("\n", ""))[:60]


def check_predict_returns_labels_in_the_order_of_columns(calibrator, n_classes):
    """dirichletcal issue 19: `predict` gave probabilities."""
    P, y, Z = make_data(n_classes)
    names = np.array(["ant", "bee", "cat", "dog"])[:n_classes]
    fitted = fit(calibrator, P, names[y], Z)
    Q = fitted.predict_proba(P, Z)
    assert fitted.classes_.tolist() == names.tolist()
    np.testing.assert_array_equal(fitted.predict(P, Z), names[Q.argmax(axis=1)])
    np.testing.assert_array_equal(Q, fit(calibrator, P, y, Z).predict_proba(P, Z))


def check_labels_1_and_2_are_not_read_as_numbers(calibrator, n_classes):
    """Probed in netcal, in scikit-learn's `_SigmoidCalibration` and in venn-abers: wrong without a word."""
    P, y, Z = make_data(n_classes)
    fitted = fit(calibrator, P, y + 1, Z)
    assert fitted.classes_.tolist() == list(range(1, n_classes + 1))
    np.testing.assert_array_equal(fitted.predict_proba(P, Z), fit(calibrator, P, y, Z).predict_proba(P, Z))


def check_every_form_of_two_classes_is_the_same(calibrator, n_classes):
    """netcal issue 37 asks for (n, 2); PyCalib issue 1 got (2, n, L) back."""
    if n_classes != 2:
        pytest.skip("more classes have one form only")
    P, y, Z = make_data(2)
    expected = fit(calibrator, P, y, Z).predict_proba(P, Z)
    assert_probabilities(expected, 200, 2)
    for form in (P[:, 1], P[:, [1]]):
        np.testing.assert_allclose(fit(calibrator, form, y, Z).predict_proba(form, Z), expected, atol=1e-9)


def check_prediction_before_fit_is_refused(calibrator, n_classes):
    """MCGrad issue 309."""
    P, _, Z = make_data(n_classes)
    with pytest.raises(NotFittedError):
        clone(calibrator).predict_proba(P, Z)


def check_other_number_of_columns_is_refused(calibrator, n_classes):
    P, y, Z = make_data(n_classes)
    with pytest.raises(ValueError, match=f"5 columns; expected {n_classes}"):
        fit(calibrator, P, y, Z).predict_proba(np.full((2, 5), 0.2), Z[:2])


def check_pickle_and_second_fit_keep_predictions(calibrator, n_classes):
    """Probed in uncertainty-calibration: calibrators that cannot be pickled."""
    P, y, Z = make_data(n_classes)
    fitted = fit(calibrator, P, y, Z)
    Q = fitted.predict_proba(P, Z)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(fitted)).predict_proba(P, Z), Q)
    np.testing.assert_array_equal(fitted.fit(P, y, Z).predict_proba(P, Z), Q)


def check_a_refit_forgets_the_first_data(calibrator, n_classes):
    """MCGrad issue 314."""
    P, y, Z = make_data(n_classes)
    refitted = fit(calibrator, *make_data(n_classes, n=100, seed=5)).fit(P, y, Z)
    np.testing.assert_array_equal(refitted.predict_proba(P, Z), fit(calibrator, P, y, Z).predict_proba(P, Z))


def check_input_is_not_changed_and_may_be_read_only(calibrator, n_classes):
    P, y, Z = make_data(n_classes, style="hard")
    before = P.copy(), y.copy(), Z.copy()
    for array in (P, y, Z):
        array.flags.writeable = False
    fit(calibrator, P, y, Z).predict_proba(P, Z)
    for array, copy in zip((P, y, Z), before, strict=True):
        np.testing.assert_array_equal(array, copy)


def check_containers_give_the_same(calibrator, n_classes):
    P, y, Z = make_data(n_classes)
    expected = fit(calibrator, P, y, Z).predict_proba(P, Z)
    frames = fit(calibrator, pd.DataFrame(P), pd.Series(y), pd.DataFrame(Z))
    np.testing.assert_allclose(frames.predict_proba(pd.DataFrame(P), pd.DataFrame(Z)), expected, atol=1e-9)
    listed = fit(calibrator, P.tolist(), y.tolist(), sparse.csr_matrix(Z))
    np.testing.assert_allclose(listed.predict_proba(P, sparse.csr_matrix(Z)), expected, atol=1e-9)
    strided = np.repeat(P, 2, axis=0)[::2]
    np.testing.assert_allclose(fit(calibrator, strided, y, Z).predict_proba(strided, Z), expected, atol=1e-9)


def check_float32_scores_are_cast_once(calibrator, n_classes):
    """scikit-learn issues 28245 and 30868: float32 scores, weights of another type."""
    P, y, Z = make_data(n_classes)
    low = P.astype(np.float32)
    Q = fit(calibrator, low, y, Z, np.ones(200, np.float32)).predict_proba(low, Z)
    assert Q.dtype == np.float64
    np.testing.assert_array_equal(Q, fit(calibrator, low.astype(float), y, Z).predict_proba(low.astype(float), Z))


def check_bad_input_gets_one_clear_sentence(calibrator, n_classes):
    """Among it logits, whose place netcal issues 32 and 55 ask about."""
    P, y, Z = make_data(n_classes)
    for bad, message in [
        ((P[:0], y[:0], Z[:0]), "empty"),
        ((P[:-1], y, Z[:-1]), "rows"),
        ((np.where(P > 0.9, np.nan, P), y, Z), "NaN"),
        ((np.where(P > 0.9, np.inf, P), y, Z), "infinite"),
        ((P * 1.5, y, Z), "between 0 and 1|sums"),
        ((np.log(P), y, Z), "between 0 and 1"),
        ((P, np.zeros_like(y), Z), "only the label"),
        ((P, np.where(np.arange(200) < 9, 99, y), Z), "different labels"),
    ]:
        unfitted = clone(calibrator)
        with pytest.raises(ValueError, match=message) as error:
            unfitted.fit(*bad)
        assert str(error.value).count(". ") == 0
        with pytest.raises(NotFittedError):
            unfitted.predict_proba(P, Z)


def check_bad_weights_are_refused(calibrator, n_classes):
    P, y, Z = make_data(n_classes)
    for weight in (-np.ones(200), np.zeros(200), np.full(200, np.inf), np.full(200, np.nan), np.ones(3)):
        with pytest.raises(ValueError, match="sample_weight"):
            clone(calibrator).fit(P, y, Z, sample_weight=weight)


def check_an_absent_class_is_warned_of_once_and_kept_as_a_column(calibrator, n_classes):
    """uncertainty-calibration issue 2, scikit-learn issues 29551 and 17827."""
    if n_classes == 2:
        pytest.skip("one class alone is refused")
    P, y, Z = make_data(n_classes)
    seen = y != 1
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = clone(calibrator).fit(P[seen], y[seen], Z[seen])
    assert sum("[1]" in str(warning.message) for warning in caught) == 1
    assert fitted.classes_.tolist() == list(range(n_classes))
    assert_probabilities(fitted.predict_proba(P, Z), 200, n_classes)


def check_the_labels_of_columns_can_be_given(calibrator, n_classes):
    P, y, Z = make_data(n_classes)
    names = np.array(["ant", "bee", "cat", "dog"])[:n_classes]
    expected = fit(calibrator, P, y, Z).predict_proba(P, Z)
    for name in {"classes", "calibrator__classes"} & set(calibrator.get_params()):
        for classes in (names[::-1].tolist(), names[::-1]):
            backwards = clone(calibrator).set_params(**{name: classes})
            fitted = fit(backwards, P, names[::-1][y], Z)
            assert fitted.classes_.tolist() == names[::-1].tolist()
            np.testing.assert_array_equal(fitted.predict_proba(P, Z), expected)


def check_parameters_are_only_stored(calibrator, n_classes):
    P, y, Z = make_data(n_classes)
    before = str(calibrator.get_params())
    fitted = clone(calibrator).fit(P, y, Z)
    assert str(fitted.get_params()) == before
    assert not [name for name in vars(clone(calibrator)) if name.endswith("_")]


def check_the_smallest_set_that_has_every_class(calibrator, n_classes):
    P, y, Z = make_data(n_classes, n=n_classes)
    fresh, _, Z_fresh = make_data(n_classes, seed=1)
    assert_probabilities(fit(calibrator, P, y, Z).predict_proba(fresh, Z_fresh), 200, n_classes)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), style=st.sampled_from(STYLES), new_style=st.sampled_from(STYLES))
def check_any_valid_input_gives_probabilities(calibrator, n_classes, seed, style, new_style):
    P, y, Z = make_data(n_classes, 60, seed, style)
    fresh, _, Z_fresh = make_data(n_classes, 50, seed + 1, new_style)
    assert_probabilities(fit(calibrator, P, y, Z).predict_proba(fresh, Z_fresh), 50, n_classes)


@settings(max_examples=20, deadline=None)
@given(
    p=st.lists(st.floats(0, 1), min_size=2, max_size=20),
    scale=st.sampled_from([1e-300, 1e-9, 1e9, 1e100]),
)
def check_scores_and_weights_of_any_size_make_no_noise(calibrator, n_classes, p, scale):
    if n_classes != 2:
        pytest.skip("two classes suffice")
    y = np.arange(len(p)) % 2
    Z = np.arange(len(p))[:, None] * 1e100
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        Q = fit(calibrator, p, y, Z, np.linspace(0.5, 1, len(p)) * scale).predict_proba(p, Z)
    assert_probabilities(Q, len(p), 2)


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), style=st.sampled_from(STYLES[:3]))
def check_weights_equal_repetition(calibrator, n_classes, seed, style):
    """scikit-learn issue 20610; probed in probcal, where they do not in histogram binning and BBQ."""
    P, y, Z = make_data(n_classes, 60, seed, style)
    counts = np.random.default_rng(seed).integers(0, 4, 60)
    counts[:n_classes] += 1
    weighted = fit(calibrator, P, y, Z, counts)
    repeated = fit(calibrator, *(np.repeat(array, counts, axis=0) for array in (P, y, Z)))
    np.testing.assert_allclose(weighted.predict_proba(P, Z), repeated.predict_proba(P, Z), atol=ATOL)


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), style=st.sampled_from(STYLES[:3]))
def check_order_of_rows_does_not_matter(calibrator, n_classes, seed, style):
    P, y, Z = make_data(n_classes, 60, seed, style)
    order = np.random.default_rng(seed).permutation(60)
    shuffled = fit(calibrator, P[order], y[order], Z[order])
    np.testing.assert_allclose(
        shuffled.predict_proba(P[order], Z[order]), fit(calibrator, P, y, Z).predict_proba(P, Z)[order], atol=ATOL
    )


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6))
def check_relabelling_the_classes_permutes_the_columns(calibrator, n_classes, seed):
    P, y, Z = make_data(n_classes, seed=seed)
    order = np.roll(np.arange(n_classes), 1)  # column j of the new P is column order[j] of the old
    relabelled = fit(calibrator, P[:, order], np.argsort(order)[y], Z)
    np.testing.assert_allclose(
        relabelled.predict_proba(P[:, order], Z), fit(calibrator, P, y, Z).predict_proba(P, Z)[:, order], atol=ATOL
    )


class Prefit:
    """A fitted model of someone else: its rows are its probabilities, and its classes stand in an order of its own."""

    def __init__(self, classes):
        self.classes_ = np.asarray(classes)

    def predict_proba(self, X):
        return X


def wrapped(calibrator, classes, P, labels, Z):
    """Fit the calibrator within a `CalibratedClassifier` of a model with these classes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.filterwarnings("ignore", "y has no label", UserWarning)
        return CalibratedClassifier(Prefit(classes), clone(calibrator)).fit(P, labels, Z=Z)


def check_classes_of_a_prefit_model_may_stand_in_any_order(calibrator, n_classes):
    """P are the true probabilities, so that in the sample no calibrator does much worse; swapped columns do."""
    P, y, Z = make_data(n_classes)
    names = np.array(["cat", "ant", "bee"])[:n_classes]
    fitted = wrapped(calibrator, names, P, names[y], Z)
    Q = fitted.predict_proba(P, Z)
    assert fitted.classes_.tolist() == names.tolist()
    assert log_loss(y, Q) < log_loss(y, P) + 0.1
    np.testing.assert_array_equal(fitted.predict(P, Z), names[Q.argmax(axis=1)])


def check_a_class_of_a_prefit_model_may_be_absent_from_calibration(calibrator, n_classes):
    """Labels 1, 2, 3 of which 3 does not occur must not be read as 0, 1, 2."""
    if n_classes == 2:
        pytest.skip("one class alone is refused")
    P, y, Z = make_data(n_classes)
    seen = y != 2
    P = P[seen, :] * [1, 1, 1e-3]
    P /= P.sum(axis=1, keepdims=True)
    fitted = wrapped(calibrator, [1, 2, 3], P, y[seen] + 1, Z[seen])
    assert fitted.classes_.tolist() == [1, 2, 3]
    assert (
        log_loss(y[seen], fitted.predict_proba(P, Z[seen]), labels=[0, 1, 2])
        < log_loss(y[seen], P, labels=[0, 1, 2]) + 0.1
    )


def frames():
    """The frame libraries that are here."""
    try:
        import polars as pl
    except ImportError:
        return [pd.DataFrame]
    return [pd.DataFrame, pl.DataFrame]


def check_columns_of_frames_go_by_name(calibrator, n_classes):
    """NannyML issue 346: a frame whose columns stand in the order of the model's table."""
    P, y, Z = make_data(n_classes)
    order = np.roll(np.arange(n_classes), 1)
    for frame in frames():
        for labels, names in (
            (np.array(["ant", "bee", "cat"])[y], ["ant", "bee", "cat"]),
            (y + 1, ["1", "2", "3"]),
            (y + 1.0, ["1", "2", "3"]),
            (np.array(["0", "1", "2"])[y], ["0", "1", "2"]),
        ):
            expected = fit(calibrator, P, labels, Z)
            named = frame({names[j]: P[:, j] for j in order})
            fitted = fit(calibrator, named, labels, Z)
            assert fitted.classes_.tolist() == expected.classes_.tolist()
            for again in (named, P):
                np.testing.assert_allclose(fitted.predict_proba(again, Z), expected.predict_proba(P, Z), atol=1e-9)


def check_columns_without_names_of_classes_go_by_position(calibrator, n_classes):
    P, y, Z = make_data(n_classes)
    labels = y + 1
    expected = fit(calibrator, P, labels, Z).predict_proba(P, Z)
    for frame in frames():
        foreign = frame({f"score {j}": P[:, j] for j in range(n_classes)})
        Q = fit(calibrator, foreign, labels, Z).predict_proba(foreign, Z)
        np.testing.assert_allclose(Q, expected, atol=1e-9)
    default = pd.DataFrame(P)  # 0, 1, ... are no names, though some of them are labels here
    Q = fit(calibrator, default, labels, Z).predict_proba(default, Z)
    np.testing.assert_allclose(Q, expected, atol=1e-9)


def check_frames_with_some_names_of_classes_are_refused(calibrator, n_classes):
    P, y, Z = make_data(n_classes)
    labels = np.array(["ant", "bee", "cat"])[y]
    fitted = fit(calibrator, P, labels, Z)
    for frame in frames():
        wrong = frame({name: P[:, j] for j, name in enumerate(["bee", "wasp", "owl"][:n_classes])})
        for call in (
            lambda wrong=wrong: clone(calibrator).fit(wrong, labels, Z),
            lambda w=wrong: fitted.predict_proba(w, Z),
        ):
            with pytest.raises(ValueError, match=r"P has the columns \['bee', 'wasp'.*expected the names"):
                call()


def check_missing_values_of_every_library_are_refused(calibrator, n_classes):
    """autogluon PR 5845, scikit-learn issue 17675: "boolean value of NA is ambiguous"."""
    P, y, Z = make_data(n_classes)
    words = np.array(["ant", "bee", "cat"])[y]
    gap = np.arange(len(y)) == 7
    labels = [
        pd.Series(words).astype("string"),
        pd.Series(words).astype("category"),
        pd.Series(words, dtype=object),
        pd.Series(y).astype("Int64"),
        pd.Series(y).astype("Float64"),
        pd.array(y, dtype="Int64"),
    ]
    for series in labels:
        series = series.copy()
        series[7] = pd.NA
        with pytest.raises(ValueError, match=r"y holds (missing values|NaN)"):
            clone(calibrator).fit(P, series, Z)
    dates = np.array(["2026-01-01", "2026-01-02", "2026-01-03"], dtype="datetime64[D]")[y]
    for with_gap in (np.ma.array(y, mask=gap), np.where(gap, None, words), np.where(gap, np.datetime64("NaT"), dates)):
        with pytest.raises(ValueError, match="y holds missing values"):
            clone(calibrator).fit(P, with_gap, Z)
    weights = pd.Series(np.ones(len(y))).astype("Float64")
    weights[7] = pd.NA
    with pytest.raises(ValueError, match="sample_weight holds NaN"):
        clone(calibrator).fit(P, y, Z, sample_weight=weights)
    scores = pd.DataFrame(P).astype("Float64")
    scores.iloc[7, 0] = pd.NA
    for hidden in (scores, np.ma.array(P, mask=np.repeat(gap[:, None], n_classes, axis=1))):
        with pytest.raises(ValueError, match="P holds NaN"):
            clone(calibrator).fit(hidden, y, Z)


def check_a_class_without_weight_is_absent(calibrator, n_classes):
    """scikit-learn issues 16298 and 34139."""
    P, y, Z = make_data(n_classes)
    weights = (y != 0).astype(float)
    if n_classes == 2:
        with pytest.raises(ValueError, match="only the label 1"):
            clone(calibrator).fit(P, y, Z, sample_weight=weights)
        return
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        clone(calibrator).fit(P, y, Z, sample_weight=weights)
    assert sum("no label of the classes [0]" in str(warning.message) for warning in caught) == 1


def check_probabilities_may_pass_0_and_1_by_rounding(calibrator, n_classes):
    """scikit-learn issue 10903: sums of columns that end some 1e-15 above 1; of float32 some 1e-7."""
    P, y, Z = make_data(n_classes, style="hard")
    expected = fit(calibrator, P, y, Z).predict_proba(P, Z)
    for dtype, miss in ((np.float64, 6e-15), (np.float32, 4e-6)):
        beyond = np.where(P == 1, 1 + miss, np.where(P == 0, -miss, P)).astype(dtype)
        assert beyond.max() > 1
        assert beyond.min() < 0
        np.testing.assert_allclose(fit(calibrator, beyond, y, Z).predict_proba(beyond, Z), expected, atol=2e-2)
    for wrong in (1e-3, 1e-9):
        with pytest.raises(ValueError, match="expected probabilities between 0 and 1"):
            clone(calibrator).fit(np.where(P == 1, 1 + wrong, P), y, Z)


def check_it_is_a_classifier_to_scikit_learn(calibrator, n_classes):
    """scikit-learn issues 12888 and 25144: unstratified folds of sorted labels, and no score."""
    P, y, _ = make_data(n_classes)
    if clone(calibrator).needs_representation:
        pytest.skip("scikit-learn's tools hand on two arrays")
    order = np.argsort(y, kind="stable")
    P, y = P[order], y[order]
    assert is_classifier(calibrator)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        assert np.isfinite(cross_val_score(calibrator, P, y, cv=3, scoring="neg_log_loss", error_score="raise")).all()
        search = GridSearchCV(calibrator, {}, cv=3, error_score="raise").fit(P, y)
    assert search.score(P, y) == accuracy_score(y, search.predict(P))


def check_errors_show_plain_numbers(calibrator, n_classes):
    P, y, Z = make_data(n_classes)
    for labels, classes in ((np.zeros(200, np.int64), None), (y, np.array([7, 8, 9][:n_classes]))):
        unfitted = clone(calibrator).set_params(classes=classes)
        with pytest.raises(ValueError, match="y holds") as error:
            unfitted.fit(P, labels, Z)
        assert "np." not in str(error.value)


def check_logits_give_what_their_probabilities_give(calibrator, n_classes):
    """Where nothing is cut; the logits of a row may be shifted by any number."""
    if "from_logits" not in calibrator.get_params():
        pytest.skip("works on probabilities alone")
    P, y, Z = make_data(n_classes)
    expected = fit(calibrator, P, y, Z).predict_proba(P, Z)
    from_logits = clone(calibrator).set_params(from_logits=True)
    shift = np.random.default_rng(0).normal(0, 5, (200, 1))
    forms = [np.log(P), np.log(P) + shift]
    if n_classes == 2:
        forms.append(np.log(P[:, 1]) - np.log(P[:, 0]))
    for logits in forms:
        Q = fit(from_logits, logits, y, Z).predict_proba(logits, Z)
        # Dirichlet calibration penalises its map of log p, which the softmax of any shift gives back.
        np.testing.assert_allclose(Q, expected, atol=1e-6)
    with pytest.raises(ValueError, match="P holds infinite"):
        fit(from_logits, np.where(P > 0.9, np.inf, P), y, Z)


def check_logits_keep_what_probabilities_lose(calibrator, n_classes):
    """True log-odds, or logits, times 30: most probabilities then round to 0 and 1, and the map is still found."""
    if "from_logits" not in calibrator.get_params() or "Ensemble" in type(calibrator).__name__:
        pytest.skip("no map of logits alone")
    rng = np.random.default_rng(0)
    L = rng.normal(0, 2, (2000, n_classes))
    truth = np.exp(L) / np.exp(L).sum(axis=1, keepdims=True)
    y = (truth.cumsum(axis=1) > rng.random((2000, 1))).argmax(axis=1)
    Z = rng.normal(size=(2000, 2))
    Q = fit(clone(calibrator).set_params(from_logits=True), 30 * L, y, Z).predict_proba(30 * L, Z)
    assert log_loss(y, Q) < log_loss(y, truth) + 0.01


CHECKS = [check for name, check in list(globals().items()) if name.startswith("check_")]
