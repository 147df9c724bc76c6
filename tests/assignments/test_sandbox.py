"""Values pass between the processes as they are, and nothing else does; cells are read as Jupyter reads them."""

import json
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from decimal import Decimal
from enum import IntEnum, StrEnum
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from sandbox import FUNCTION, Other, decode, encode, plain_python
from sklearn.utils import Bunch

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


Pair = namedtuple("Pair", "one two")
Number, Word = IntEnum("Number", "ONE TWO"), StrEnum("Word", {"YES": "yes"})
Text, Decimals = type("Text", (str,), {}), type("Decimals", (float,), {})
List, Hashed = type("List", (list,), {}), type("Hashed", (list,), {"__hash__": lambda self: 1})


def travelled(value):
    return decode(json.loads(json.dumps(encode(value))))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Pair(1, Pair(2.5, "x")), (1, (2.5, "x"))),
        (List([Pair(1, 2)]), [(1, 2)]),
        (deque([1, 2]), [1, 2]),
        (range(3), (0, 1, 2)),
        ({1: 2}.values(), [2]),
        ({1: 2}.items(), [(1, 2)]),
        (frozenset([frozenset([1])]), frozenset([frozenset([1])])),
        (OrderedDict(a=Pair(1, 2)), {"a": (1, 2)}),
        (defaultdict(list, a=[1]), {"a": [1]}),
        (Counter("aab"), {"a": 2, "b": 1}),
        (Bunch(a=1), {"a": 1}),
        ({Pair(1, 2): 3, range(2): 4}, {(1, 2): 3, (0, 1): 4}),
        ({Hashed(): 3}, {Other("Hashed"): 3}),
        (Text("x"), "x"),
        (Decimals(0.5), 0.5),
        (Number.TWO, 2),
        (Word.YES, "yes"),
        (np.longdouble(0.5), 0.5),
        (np.float16(0.5), 0.5),
        (Fraction(1, 4), 0.25),
        (Decimal("0.25"), 0.25),
    ],
    ids=lambda value: type(value).__name__,
)
def test_subclasses_travel_as_their_base_types(value, expected):
    back = travelled(value)
    assert (type(back), back) == (type(expected), expected)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.arange(2).view(type("Array", (np.ndarray,), {})), [0, 1]),
        (np.ma.array([1, 2], mask=[False, True]), [1, np.nan]),
        (np.array([1, 2], dtype=np.longdouble), [1, 2]),
        (pd.Index([1, 2]), [1, 2]),
        (pd.array([1, None], dtype="Int64"), [1, np.nan]),
        (pd.Series([1, None], dtype="Int64"), [1, np.nan]),
        (pd.Series([True, False]).astype("category"), [1, 0]),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), [[1, 2]]),
        (pd.DataFrame({("a", 1): [5]}), [[5]]),
        (pd.Series([1, 2], index=pd.MultiIndex.from_tuples([(1, 2), (3, 4)])), [1, 2]),
        (pd.NA, np.nan),
        (pd.NaT, np.nan),
    ],
    ids=lambda value: type(value).__name__,
)
def test_arrays_of_every_kind_travel_as_numbers(value, expected):
    np.testing.assert_array_equal(np.asarray(travelled(value), dtype=float), expected)


@pytest.mark.parametrize(
    "value",
    [1j, b"x", np.datetime64("2020-01-01"), pd.Timestamp("2020"), pd.Interval(0, 1), slice(1), iter([]), zip([1]),
     np.arange(2) * 1j, np.zeros(2, dtype="f4,i4"), pd.Series([1]).groupby([1]), int, {1: 2}.__iter__()],
    ids=lambda value: type(value).__name__,
)  # fmt: skip
def test_what_no_question_asks_for_travels_as_the_name_of_its_type(value):
    assert travelled(value) == Other(type(value).__name__)


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
