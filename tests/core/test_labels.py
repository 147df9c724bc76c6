"""Labels of any type, and columns that belong to classes by name."""

import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clustcal.core.labels import encode_labels


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
