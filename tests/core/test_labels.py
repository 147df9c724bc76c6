"""Labels of any type, and columns that belong to classes by name."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clustcal import metrics
from clustcal.core.labels import (
    as_labels,
    check_pos_label,
    codes_of,
    column_names,
    distinct,
    encode_labels,
    order_of_columns,
)


class TestEncodeLabels:
    @pytest.mark.parametrize(
        ("y", "classes"),
        [
            ([0, 1, 1], [0, 1]),
            ([1, 2, 2], [1, 2]),
            ([-1, 1, 1], [-1, 1]),
            ([False, True, True], [False, True]),
            (["dog", "eel", "eel"], ["dog", "eel"]),
            (pd.Series(["dog", "eel", "eel"], dtype="category"), ["dog", "eel"]),
            (pd.Series([0, 1, 1], dtype="Int64"), [0, 1]),
            (np.array([0.0, 1.0, 1.0]), [0, 1]),
            ([[0], [1], [1]], [0, 1]),
        ],
    )
    def test_labels_of_any_type(self, y, classes):
        found, codes = encode_labels(y, 2)
        assert found.tolist() == classes
        assert codes.tolist() == [0, 1, 1]

    def test_given_classes_decide_the_columns(self):
        classes, codes = encode_labels(["b", "a", "b"], 2, classes=["b", "a"])
        assert classes.tolist() == ["b", "a"]
        assert codes.tolist() == [0, 1, 0]

    def test_an_absent_class_is_warned_of_by_name(self):
        with pytest.warns(UserWarning, match=r"\[1\]"):
            classes, codes = encode_labels([0, 2, 2], 3)
        assert classes.tolist() == [0, 1, 2]
        assert codes.tolist() == [0, 2, 2]

    @pytest.mark.parametrize(
        ("y", "n_classes", "classes", "message"),
        [
            ([], 2, None, "empty"),
            ([0, 1, 2], 2, None, "3 different labels"),
            ([1, 1], 2, None, "only the label"),
            (["x", "y"], 3, None, "columns"),
            (["x", "q"], 2, ["x", "y"], "'q'"),
            ([0, 1], 2, ["x", "y"], "expected one of"),
            ([0, 1], 2, [0, 0], "different labels"),
            ([0.0, np.nan], 2, None, "NaN"),
            (["x", None], 2, None, "missing"),
            ([0, 1, 3], 3, [0, 1, 2], "label .*3"),
            ([-1, 0, 1], 2, [0, 1], "label .*-1"),
            (["x", 3], 2, None, "mixes|different|label"),
            ([[0, 1], [1, 0]], 2, None, "shape"),
        ],
    )
    def test_bad_labels_are_named(self, y, n_classes, classes, message):
        y = np.array(y, dtype=object) if "x" in y and len({type(label) for label in y}) > 1 else y
        with pytest.raises(ValueError, match=message):
            encode_labels(y, n_classes, classes)

    @given(st.lists(st.sampled_from("abc"), min_size=2), st.permutations("abc"))
    def test_codes_recover_the_labels(self, y, classes):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            classes, codes = encode_labels(y, 3, classes, require_two=False)
        assert classes[codes].tolist() == y


class TestMissingLabels:
    """autogluon PR 5845, scikit-learn issues 17675 and 32312."""

    @pytest.mark.parametrize("dtype", ["string", "boolean", "Int64", "Float64", "category", "object", "datetime64[s]"])
    @pytest.mark.parametrize("container", [lambda series: series, lambda series: series.array, pd.DataFrame])
    def test_of_pandas(self, dtype, container):
        y = pd.Series([0, 1, 0, 1]).astype(dtype if dtype != "string" else str).astype(dtype)
        assert len(as_labels(container(y))) == 4
        y = y.where(np.arange(4) != 2)
        with pytest.raises(ValueError, match=r"y holds (missing values|NaN)"):
            as_labels(container(y))

    @pytest.mark.parametrize("values", [[0, 1, None], ["a", "b", None], [True, False, None], [0.5, 1.5, None]])
    def test_of_polars(self, values):
        polars = pytest.importorskip("polars")
        with pytest.raises(ValueError, match=r"y holds (missing values|NaN)"):
            as_labels(polars.Series(values))

    @pytest.mark.parametrize(
        "y",
        [
            np.ma.array([0, 1, 1], mask=[False, True, False]),
            np.array(["2026-01-01", "NaT"], dtype="datetime64[D]"),
            np.array([1, "NaT"], dtype="timedelta64[s]"),
            ["a", None],
            [1, np.nan],
            [1, pd.NA],
        ],
    )
    def test_of_numpy_and_lists(self, y):
        with pytest.raises(ValueError, match=r"y holds (missing values|NaN)"):
            as_labels(y)

    def test_a_mask_that_hides_nothing_is_no_obstacle(self):
        assert as_labels(np.ma.array([0, 1], mask=False)).tolist() == [0, 1]


@pytest.mark.parametrize(
    "y", [[0, "1"], ["1", 0], (True, "no"), [["a"], [1]], [1.5, "x"], [b"a", "b"], np.array([0, "1"], dtype=object)]
)
def test_text_beside_other_types_is_refused(y):
    """numpy would make text of all of them."""
    with pytest.raises(ValueError, match="y mixes strings and other types; expected labels of one type"):
        as_labels(y)


def test_text_of_every_type_is_text():
    words = ["b", "a", "b"]
    forms = [words, np.array(words, dtype=object), pd.Series(words).astype("string"), np.array(words)]
    if hasattr(np.dtypes, "StringDType"):
        forms.append(np.array(words, dtype=np.dtypes.StringDType()))
    for form in forms:
        for order in (None, ["b", "a"]):
            classes, codes = encode_labels(form, 2, order)
            assert classes[codes].tolist() == words


def test_a_class_whose_rows_all_weigh_nothing_does_not_occur():
    with pytest.raises(ValueError, match="only the label 1"):
        encode_labels([0, 1, 1], 2, weights=np.array([0.0, 1, 1]))
    with pytest.warns(UserWarning, match=r"no label of the classes \[0\]"):
        encode_labels([0, 1, 2], 3, weights=np.array([0.0, 1, 1]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encode_labels([0, 1, 2], 3, weights=np.array([0.5, 1, 1]))


class TestDistinctAndCodes:
    @given(st.lists(st.integers(0, 300), min_size=1, max_size=40))
    def test_small_numbers_are_counted_as_numpy_sorts_them(self, y):
        y = np.array(y)
        np.testing.assert_array_equal(distinct(y), np.unique(y))
        assert distinct(y).dtype == y.dtype

    @pytest.mark.parametrize("y", [[-1, 1], [0, 255], [0, 256], [0, 10**6], [True, False], [1.5, 0.5], ["b", "a"]])
    def test_and_others_too(self, y):
        np.testing.assert_array_equal(distinct(np.array(y)), np.unique(y))

    def test_codes_of_classes_in_any_order(self):
        assert codes_of(np.array([3, 1, 2]), np.array([2, 3, 1])).tolist() == [1, 2, 0]
        assert codes_of(np.array([0, 1, 1]), np.array([1, 0])).tolist() == [1, 0, 0]
        assert codes_of(np.array(["b", "a"]), np.array(["b", "a"])).tolist() == [0, 1]


class TestOrderOfColumns:
    @pytest.mark.parametrize(
        ("names", "present", "order"),
        [
            (["yes", "no"], ["no", "yes"], [1, 0]),
            (["no", "yes"], ["no", "yes"], [0, 1]),
            ([2, 1], [1, 2], [1, 0]),
            (["2", "1"], [1, 2], [1, 0]),
            (["2", "1"], [1.0, 2.0], [1, 0]),
            (["2.5", "1"], [1.0, 2.5], [1, 0]),
            ([1, 0], ["0", "1"], [1, 0]),
            ([1.0, 0.0], ["0", "1"], [1, 0]),
            (["True", "False"], [False, True], [1, 0]),
            (["true", "false"], [False, True], [1, 0]),
            (["1", "0"], [False, True], [1, 0]),
            (["c", "a", "b"], ["a", "b", "c"], [1, 2, 0]),
        ],
    )
    def test_names_that_are_the_classes_say_which_column_is_whose(self, names, present, order):
        found, classes = order_of_columns(names, np.array(present), None)
        assert found == order
        assert list(classes) == present

    @pytest.mark.parametrize("names", [["p", "q"], [0, 1], [("a", "x"), ("a", "y")]])
    def test_other_names_and_the_default_index_say_nothing(self, names):
        assert order_of_columns(names, np.array([1, 2]), None) == (None, None)
        assert order_of_columns(names, np.array([1, 2]), [2, 1]) == (None, [2, 1])

    def test_given_classes_are_the_order_that_is_wanted(self):
        assert order_of_columns(["a", "b", "c"], np.array(["a", "b"]), ["c", "a", "b"])[0] == [2, 0, 1]

    def test_names_tell_of_classes_that_do_not_occur(self):
        order, classes = order_of_columns(["c", "a", "b"], np.array(["a", "b"]), None)
        assert (order, list(classes)) == ([1, 2, 0], ["a", "b", "c"])

    @pytest.mark.parametrize(
        ("names", "present", "classes"),
        [
            (["yes", "nope"], ["no", "yes"], None),
            (["yes", "yes"], ["no", "yes"], None),
            (["no", "yes", "perhaps"], ["no", "yes"], ["no", "yes"]),
            ([2, 5], [1, 2], None),
            (["2", "x"], [1, 2], None),
            (["a", 1], ["a"], None),
        ],
    )
    def test_a_part_of_the_names_is_refused(self, names, present, classes):
        with pytest.raises(ValueError, match=r"P has the columns \[.*in any order, or none of them\."):
            order_of_columns(names, np.array(present), classes)

    def test_one_name_is_that_of_the_class_whose_probability_is_given(self):
        present = np.array(["no", "yes"])
        assert order_of_columns(["yes"], present, None)[0] is None
        assert order_of_columns(["no"], present, None)[0] == [1, 0]
        assert order_of_columns(["no"], present, ["yes", "no"])[0] is None
        assert order_of_columns(["p"], present, None) == (None, None)
        assert order_of_columns(["yes"], np.array(["yes"]), None) == (None, None)

    def test_names_of_columns(self):
        frame = pd.DataFrame({"a": [0.5], "b": [0.5]})
        assert column_names(frame) == ["a", "b"]
        assert column_names(frame["a"]) == ["a"]
        assert column_names(frame.to_numpy()) is None
        assert column_names(frame["a"].rename(None)) is None
        assert column_names(frame["a"].rename(2)) == [2]

    @pytest.mark.parametrize("n_columns", [1, 2, 3])
    def test_nobody_named_the_columns_of_a_default_frame(self, n_columns):
        frame = pd.DataFrame(np.full((2, n_columns), 0.5))
        assert column_names(frame) is None
        assert column_names(pd.DataFrame(frame, columns=pd.RangeIndex(n_columns))) is None
        names = [n_columns, *range(n_columns)]
        assert column_names(frame.reindex(columns=names)) == names

    def test_whole_numbers_that_are_the_classes_are_names(self):
        assert order_of_columns([0, 1], np.array([0, 1]), [1, 0])[0] == [1, 0]
        assert order_of_columns([1, 2], np.array([1, 2]), [2, 1])[0] == [1, 0]
        assert order_of_columns([2, 0, 1], np.array([0, 1, 2]), None)[0] == [1, 2, 0]
        assert order_of_columns([1], np.array([1, 2]), None)[0] == [1, 0]
        assert order_of_columns([2], np.array([1, 2]), None)[0] is None


class TestAPositiveLabelAndTheNameOfItsColumn:
    @pytest.mark.parametrize(
        ("name", "pos_label", "known"),
        [("yes", "yes", ["no", "yes"]), (1, 1, [0, 1]), ("1", 1, [0, 1]), ("p", 1, [0, 1]), (7, 1, [0, 1])],
    )
    def test_that_agree(self, name, pos_label, known):
        check_pos_label(name, pos_label, known)

    @pytest.mark.parametrize(
        ("name", "pos_label", "known"), [("no", "yes", ["no", "yes"]), (0, 1, [0, 1]), ("0", 1, [0, 1]), (1, 0, [0, 1])]
    )
    def test_that_contradict_each_other(self, name, pos_label, known):
        with pytest.raises(ValueError, match=r"pos_label is .* and the column of y_prob is named .*another label"):
            check_pos_label(name, pos_label, known)
        assert column_names([[0.5, 0.5]]) is None


def test_names_of_text_also_tell_of_whole_numbers_that_do_not_occur():
    """Frames of polars have names of text only, and a batch may lack a rare class."""
    order, classes = order_of_columns(["2", "0", "1"], np.array([0, 1]), None)
    assert order == [1, 2, 0]
    assert list(classes) == [0, 1, 2]


@pytest.mark.parametrize(("name", "probability"), [(0, None), ("1", 0.9)])
def test_one_column_named_by_a_class_is_the_probability_of_that_class(name, probability):
    """Only the label 0 occurs; 0 as a number is the name that a frame has where nobody named it."""
    frame = pd.DataFrame({name: [0.9, 0.9]})
    expected = 0.9 if probability is None else probability
    assert metrics.brier([0, 0], frame) == pytest.approx(expected**2)


@pytest.mark.parametrize(
    ("name", "labels", "probability_of_the_label"),
    [(1, [1, 1], 0.9), (1, [2, 2], 0.1), (7, [1, 1], 0.9)],
)
def test_a_series_named_by_a_whole_number_that_is_a_class_speaks_of_that_class(name, labels, probability_of_the_label):
    """Of the classes 0 and 1, or 1 and 2; a number that is no class says nothing."""
    classes = [1, 2] if labels[0] == 2 else [0, 1]
    score = metrics.brier(labels, pd.Series([0.9, 0.9], name=name), labels=classes)
    assert score == pytest.approx((1 - probability_of_the_label) ** 2)


@pytest.mark.parametrize(
    "column", [pd.Series([0.9, 0.2], name=0), pd.Series([0.9, 0.2], name="0"), pd.DataFrame({"0": [0.9, 0.2]})]
)
def test_one_column_named_0_may_mean_two_things_and_is_refused(column):
    with pytest.raises(ValueError, match=r"y_prob is one column named '?0'?, which may mean the class 0, or nothing"):
        metrics.brier([1, 0], column)
    assert metrics.brier([2, 1], column) == metrics.brier([1, 0], column.to_numpy())  # 0 is no class there
