"""Values pass between the processes as they are, and nothing else does; cells are read as Jupyter reads them."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from sandbox import FUNCTION, Other, decode, encode, plain_python

PLAIN = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(st.text(), inner), max_leaves=20
)


@given(VALUES)
def test_plain_values_come_back_as_they_were(value):
    assert decode(encode(value)) == value


@given(arrays(st.sampled_from([np.float64, np.float32, np.int64, np.uint8, bool]), array_shapes(min_dims=0)))
def test_arrays_keep_their_type_shape_and_bits(values):
    back = decode(encode(values))
    assert (back.dtype, back.shape, back.tobytes()) == (values.dtype, values.shape, values.tobytes())


def test_tables_keep_their_names_and_order():
    frame = pd.DataFrame({"b": [1.5, np.nan], "a": ["x", "y"]}, index=[3, 1])
    pd.testing.assert_frame_equal(decode(encode(frame)), frame, check_dtype=False)
    series = pd.Series([1, 2], index=["one", "two"])
    pd.testing.assert_series_equal(decode(encode(series)), series)


@pytest.mark.parametrize("value", [np.float32(0.5), np.int8(3), np.bool_(True), np.str_("x")])
def test_numpy_scalars_become_plain_values(value):
    back = decode(encode(value))
    assert back == value
    assert not isinstance(back, np.generic) or isinstance(value, float | str)


def test_functions_and_objects_stay_where_they_are():
    assert decode(encode(len)) is FUNCTION
    assert decode(encode(object())) == Other("object")
    assert decode(encode(...)) == Other("ellipsis")


@pytest.mark.parametrize(
    "forged",
    [
        ["array", ["|O", [1], "AAAAAAAAAAA="]],  # an array of pointers
        ["array", ["<f8", [1000, 1000, 1000], "AAAA"]],
        ["plain", ["a", "list"]],
        ["code", "import os"],
        ["array", "x"],
        7,
    ],
)
def test_what_our_code_does_not_send_is_refused(forged):
    with pytest.raises((ValueError, TypeError)):
        decode(forged)


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("x = 5 % 3\ny = (1\n % 2)", None),
        ("text = '''\n%matplotlib\n'''", None),
        ("%matplotlib inline\nx = 1", "pass\nx = 1"),
        ("if True:\n    !ls\nx = 1", "if True:\n    pass\nx = 1"),
        ("files = !ls\nx = 1", "files = None\nx = 1"),
        ("%time x = f(1)", "x = f(1)"),
        ("%%time\nx = 1", "\nx = 1"),
        ("%%bash\nls", ""),
        ("np.mean?\nx = 1", "pass\nx = 1"),
    ],
)
def test_a_cell_is_read_without_what_only_jupyter_understands(cell, expected):
    assert plain_python(cell) == ((cell, False) if expected is None else (expected, True))


def test_a_cell_that_is_no_python_stays_as_it_is():
    assert plain_python("x = (1,\n%time y") == ("x = (1,\ny", False)
