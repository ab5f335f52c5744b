"""Tensors: operators, comparisons, conversions, slices, text."""

import copy
import math
import operator
import pickle
import sys

import numpy as np
import pytest
from checks import same

# --- Arithmetic ----------------------------------------------------------------------------------

ARITHMETIC = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow"]
OTHERS = {
    "number": 2,
    "float": 1.5,
    "list": [1.0, 2.0, 3.0],
    "tuple": (3, 2, 1),
    "float32 array": np.array([2.0, 0.5, 4.0], np.float32),
    "float64 array": np.array([2.0, 0.5, 4.0]),
    "int64 array": np.array([1, 2, 3]),
    "column": np.array([[1.0], [2.0]], np.float32),
    "float64 scalar": np.float64(1.5),
    "int32 scalar": np.int32(3),
}


@pytest.mark.parametrize("name", ARITHMETIC)
@pytest.mark.parametrize("other", OTHERS.values(), ids=OTHERS.keys())
def test_operators_take_the_dtype_of_the_tensor(tf, name, other):
    function, values = getattr(operator, name), np.array([1.5, 2.5, 0.5])
    x = tf.constant(values, tf.float32)
    same(function(x, other), function(values, np.asarray(other)), "float32")
    same(function(other, x), function(np.asarray(other), values), "float32")
    variable = tf.Variable(x)
    same(function(other, variable), function(np.asarray(other), values), "float32")


@pytest.mark.parametrize("name", ARITHMETIC)
def test_operators_between_tensors_broadcast(tf, name):
    function = getattr(operator, name)
    a, b = np.array([[1.0], [2.5]]), np.array([0.5, 2.0, 3.0])
    same(function(tf.constant(a), tf.constant(b)), function(a, b), "float64")


@pytest.mark.parametrize(
    ("function", "expected", "dtype"),
    [
        (lambda tf: tf.constant(7) // 2, 3, "int32"),
        (lambda tf: tf.constant(-7) // 2, -4, "int32"),
        (lambda tf: tf.constant(-7) % 3, 2, "int32"),
        (lambda tf: tf.constant(-7.5) % 2.0, 0.5, "float32"),
        (lambda tf: tf.constant(-7.0) // 2.0, -4.0, "float32"),
        (lambda tf: tf.constant(2) ** 3, 8, "int32"),
        (lambda tf: 2 ** tf.constant(3), 8, "int32"),
        (lambda tf: tf.constant(1) / 2, 0.5, "float64"),
        (lambda tf: 1 / tf.constant(2), 0.5, "float64"),
        (lambda tf: tf.constant(1) / tf.constant(2), 0.5, "float64"),
        (lambda tf: tf.constant(1, tf.int64) / 4, 0.25, "float64"),
        (lambda tf: tf.constant(255, tf.uint8) / 255, 1.0, "float32"),
        (lambda tf: tf.constant(3, tf.int8) / 2, 1.5, "float32"),
        (lambda tf: tf.constant(7) / 0, math.inf, "float64"),
        (lambda tf: tf.constant(-7.0) / 0, -math.inf, "float32"),
        (lambda tf: tf.constant(0.0) / 0, math.nan, "float32"),
        (lambda tf: tf.constant(7.0) % 0.0, math.nan, "float32"),
        (lambda tf: tf.constant(1, tf.int64) + 1, 2, "int64"),
        (lambda tf: tf.constant(1.0, tf.float64) + 0.1, 1.1, "float64"),
        (lambda tf: tf.constant([1.0, 2.0]) + True, [2.0, 3.0], "float32"),
        (lambda tf: tf.constant([1, 2]) + np.float64(1.5), [2, 3], "int32"),
        (lambda tf: tf.constant([1, 2]) + np.array([1.9, 1.0]), [2, 3], "int32"),
        (lambda tf: np.float32(1) + tf.constant([1, 2]), [2, 3], "int32"),
        (lambda tf: tf.constant(200, tf.uint8) + tf.constant(100, tf.uint8), 44, "uint8"),
        (lambda tf: tf.constant(2**31 - 1) + 1, -(2**31), "int32"),
        (lambda tf: -tf.constant(2), -2, "int32"),
        (lambda tf: abs(tf.constant([-2.0, 3.0])), [2.0, 3.0], "float32"),
        (lambda tf: tf.constant([]) + 1.0, np.zeros(0), "float32"),
    ],
)
def test_dtype_rules(tf, function, expected, dtype):
    same(function(tf), expected, dtype)


def test_matrix_product_operator(tf):
    row, column = [[1.0, 2.0]], [[3.0], [4.0]]
    x, y = tf.constant(row), tf.constant(column)
    for left, right in [(x, y), (row, y), (x, column), (np.array(row, np.float32), y)]:
        same(left @ right, [[11.0]], "float32")


def test_logical_and_bitwise_operators(tf):
    p, q = tf.constant([True, True, False]), tf.constant([True, False, False])
    same(p & q, [True, False, False], "bool")
    same(p | q, [True, True, False], "bool")
    same(p ^ q, [False, True, False], "bool")
    same(~p, [False, False, True], "bool")
    same(True & p, [True, True, False], "bool")
    same(tf.constant(6) & 3, 2, "int32")
    same(tf.constant(6) | 3, 7, "int32")
    same(~tf.constant(6), -7, "int32")


@pytest.mark.tf_differs("TensorFlow keeps one constant for 0.0 and -0.0")
def test_negative_zero_is_kept_apart_from_zero(tf):
    x = tf.constant(2.0)
    for zero in (0.0, -0.0, 0.0):
        assert math.copysign(1.0, float(tf.constant(zero))) == math.copysign(1.0, zero)
        assert math.copysign(1.0, float(x * zero)) == math.copysign(1.0, zero)


# --- Comparisons ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["eq", "ne", "lt", "le", "gt", "ge"])
def test_comparisons_give_tensors_of_bool(tf, name):
    function, values = getattr(operator, name), np.array([1.0, 2.0, 3.0])
    x = tf.constant(values, tf.float32)
    for other in (2.0, 2, [1.0, 3.0, 2.0], np.array([2.0, 2.0, 2.0]), np.float64(2)):
        same(function(x, other), function(values, np.asarray(other)), "bool")
        same(function(other, x), function(np.asarray(other), values), "bool")


def test_equality_with_none_and_with_another_shape(tf):
    x = tf.constant([1.0, 2.0])
    assert (x == None) is False  # noqa: E711
    assert (x != None) is True  # noqa: E711
    same(x == tf.constant([1.0, 2.0, 3.0]), False, "bool")
    same(x != tf.constant([1.0, 2.0, 3.0]), True, "bool")


def test_membership(tf):
    x = tf.constant([1.0, 2.0])
    assert x in [x]
    assert 2.0 in x


# --- Conversions ---------------------------------------------------------------------------------


def test_conversion_to_python_numbers(tf):
    assert float(tf.constant(2)) == 2.0
    assert int(tf.constant(2.7)) == 2
    assert math.sqrt(tf.constant(4.0)) == 2.0
    assert ["a", "b", "c"][tf.constant(1)] == "b"
    assert list(range(tf.constant(3))) == [0, 1, 2]
    for convert in (int, float):
        with pytest.raises(TypeError, match="0-dimensional"):
            convert(tf.constant([1.0]))


@pytest.mark.parametrize(
    ("value", "truth"), [(0.0, False), (2, True), (False, False), ([1.0], True), ([], False)]
)
def test_truth_value(tf, value, truth):
    assert bool(tf.constant(value)) is truth


def test_truth_value_of_a_vector(tf):
    with pytest.raises(ValueError, match="ambiguous"):
        bool(tf.constant([1.0, 2.0]))


def test_only_integer_scalars_are_indices(tf):
    for value in (1.0, [1, 2]):
        with pytest.raises((TypeError, AttributeError)):
            operator.index(tf.constant(value))


def test_conversion_to_numpy(tf):
    x = tf.constant([1.0, 2.0])
    assert x.numpy().dtype == np.float32
    assert x.numpy().flags.writeable
    assert np.asarray(x).dtype == np.float32
    assert np.array(x, dtype=np.float64).dtype == np.float64
    assert type(np.sin(x)) is np.ndarray
    for value, kind in [(1.0, np.float32), (1, np.int32), (True, np.bool_)]:
        assert type(tf.constant(value).numpy()) is kind


def test_memory_is_not_shared(tf):
    source = np.arange(5000.0)
    x, view = tf.constant(source), tf.convert_to_tensor(source[::2])
    source[:] = -1.0
    same(x[0], 0.0)
    same(view[1], 2.0)
    out = x.numpy()
    out[0] = 9.0
    same(x[0], 0.0)


def test_iteration_length_and_unpacking(tf):
    x = tf.constant([[1, 2], [3, 4]])
    assert len(x) == 2
    first, second = x
    same(first, [1, 2], "int32")
    same(second, [3, 4], "int32")
    assert [int(n) for row in x for n in row] == [1, 2, 3, 4]
    assert list(tf.zeros((0, 3))) == []
    with pytest.raises(TypeError, match=r"Scalar tensor has no `len\(\)`"):
        len(tf.constant(1.0))
    with pytest.raises(TypeError, match="Cannot iterate over a scalar tensor"):
        list(tf.constant(1.0))


def test_sums_and_extremes_of_python(tf):
    parts = [tf.constant(1.0), tf.constant(3.0), tf.constant(2.0)]
    assert float(sum(parts)) == 6.0
    assert max(parts) is parts[1]
    assert [float(x) for x in sorted(parts)] == [1.0, 2.0, 3.0]


def test_tensor_is_unhashable_and_has_a_reference(tf):
    x = tf.constant(1.0)
    with pytest.raises(TypeError, match=r"Tensor is unhashable.*ref\(\)"):
        hash(x)
    assert x.ref() == x.ref()
    assert x.ref() != tf.constant(1.0).ref()
    assert x.ref().deref() is x
    assert {x.ref(): 1}[x.ref()] == 1
    with pytest.raises(TypeError, match="unwrapped"):
        x.ref() == 3.0  # noqa: B015


def test_tensor_is_fixed(tf):
    x = tf.constant([1.0, 2.0])
    with pytest.raises(TypeError, match="item assignment"):
        x[0] = 3.0
    for attribute in ("shape", "dtype"):
        with pytest.raises(AttributeError):
            setattr(x, attribute, None)
    y = x
    y += 1.0
    same(x, [1.0, 2.0])
    same(y, [2.0, 3.0])


def test_copies(tf):
    x = tf.constant([1.0, 2.0])
    assert copy.copy(x) is x
    for other in (copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        same(other, [1.0, 2.0], "float32")


def test_copies_are_differentiated(tf):
    x = pickle.loads(pickle.dumps(tf.constant([1.0, 2.0])))
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = x * tf.constant([3.0, 4.0])
    same(tape.gradient(y, x), [3.0, 4.0])


def test_kinds(tf):
    x = tf.constant(1.0)
    assert type(x).__name__ == "EagerTensor"
    assert isinstance(x, tf.Tensor)
    assert not isinstance(x, tf.Variable)
    assert tf.is_tensor(x)
    assert not tf.is_tensor(np.float32(1))


# --- Slices --------------------------------------------------------------------------------------

SLICES = {
    "row": np.s_[1],
    "last": np.s_[-1],
    "element": np.s_[1, 2, 3],
    "rows": np.s_[0:1],
    "open": np.s_[:],
    "past the end": np.s_[5:],
    "empty": np.s_[:, 2:1],
    "clipped": np.s_[:, -10:10],
    "stride": np.s_[:, ::2, 1::2],
    "backwards": np.s_[::-1, :, ::-2],
    "backwards from": np.s_[:, 2:0:-1, 3::-1],
    "ellipsis first": np.s_[..., 0],
    "ellipsis last": np.s_[0, ...],
    "ellipsis between": np.s_[0, ..., 1],
    "ellipsis alone": np.s_[...],
    "ellipsis of nothing": np.s_[0, ..., 1, 2],
    "new axis": np.s_[None],
    "new axes": np.s_[:, None, 1, ..., None],
    "nothing": np.s_[()],
    "NumPy integer": np.s_[np.int64(1), : np.int32(2)],
}


@pytest.mark.parametrize("key", SLICES.values(), ids=SLICES.keys())
def test_slices_are_those_of_numpy(tf, key):
    for shape in ((2, 3, 4), (4, 5, 6)):  # small tensors are recorded differently
        values = np.arange(math.prod(shape), dtype=np.float32).reshape(shape)
        expected = np.zeros_like(values)
        expected[key] = 2 * values[key]
        variable, whole = tf.Variable(values), tf.exp(tf.constant(np.zeros_like(values))) * values
        for _ in range(3):  # repeated specs take a fast path
            same(whole[key], values[key], "float32")
            same(variable[key], values[key], "float32")
            with tf.GradientTape() as tape:
                tape.watch(whole)
                y = tf.reduce_sum(whole[key] * whole[key])
            same(tape.gradient(y, whole), expected, "float32")


@pytest.mark.numtape_only("how slices are recorded")
def test_slices_that_were_met_are_known(tf):
    from numtape.core.log.log import local
    from numtape.core.ops import getitem, movement, slicing

    x = tf.exp(tf.ones((40, 100)))
    y = tf.exp(tf.ones(1500))
    log = local.log
    for key in (np.s_[:, 3:5], np.s_[2, ::2], np.s_[4, 5]):
        first, calls = x[key], []
        n = log.n
        before = sys.getprofile()
        sys.setprofile(lambda frame, event, arg: calls.append(event))  # noqa: B023
        again = x[key]
        sys.setprofile(before)
        assert calls.count("call") <= 6
        assert log.n - n == 1 + (key != np.s_[:, 3:5])  # the row and the one of its shape
        same(again, first)
    for k in range(1500):
        y[k : k + 1], y[k]
    for known in (getitem._slice_cache, slicing._plans):
        assert 0 < len(known) <= movement.MAX_CACHED


def test_slices_by_tensors(tf):
    x = tf.range(10)
    same(x[tf.constant(2)], 2)
    same(x[tf.constant(2) : tf.constant(8) : tf.constant(3)], [2, 5])
    same(x[tf.constant(-1, tf.int64)], 9)
    same(x[tf.Variable(3)], 3)
    assert tf.newaxis is None


def test_slice_by_a_mask(tf):
    x = tf.constant([1.0, -2.0, 3.0])
    same(x[x > 0], [1.0, 3.0], "float32")


@pytest.mark.parametrize(
    ("key", "words"),
    [
        (3, r"index 3 of dimension 0 out of bounds"),
        (-4, r"of dimension 0 out of bounds"),
        ((0, 0), r"only 1 dims"),
        (np.s_[::0], r"must be non-zero"),
        (np.s_[..., ...], r"Multiple ellipses"),
    ],
)
def test_slices_that_do_not_fit(tf, key, words):
    with pytest.raises(tf.errors.InvalidArgumentError, match=words):
        tf.range(3)[key]


@pytest.mark.parametrize("key", [1.0, "a", np.array([0, 1])], ids=["float", "str", "array"])
def test_keys_that_are_no_slices(tf, key):
    with pytest.raises(TypeError, match="Only integers, slices"):
        tf.range(3)[key]


def test_scalar_has_no_elements(tf):
    with pytest.raises(tf.errors.InvalidArgumentError, match="scalar"):
        tf.constant(3.0)[0]
    same(tf.constant(3.0)[...], 3.0)
    same(tf.constant(3.0)[None], [3.0])


# --- Text ----------------------------------------------------------------------------------------

TEXTS = [
    (6.0, "float32", "6.0", "6.0", "6.0"),
    (0.1, "float32", "0.10000000149011612", "0.1", "0.10000000149011612"),
    (0.1, "float64", "0.1", "0.1", "0.1"),
    (3, "int32", "3", "3", "3"),
    (True, "bool", "True", "True", "True"),
    (np.float32(-0.0), "float32", "-0.0", "-0.0", "-0.0"),
    (math.nan, "float32", "nan", "nan", "nan"),
    (1e20, "float32", "1.0000000200408773e+20", "1e+20", "1.0000000200408773e+20"),
    ([1.0, 2.5], "float32", "array([1. , 2.5], dtype=float32)", "[1.  2.5]", "[1.  2.5]"),
    ([1.0, 2.5], "float64", "array([1. , 2.5])", "[1.  2.5]", "[1.  2.5]"),
    ([], "float32", "array([], dtype=float32)", "[]", "[]"),
    ([[1, 2]], "int32", "array([[1, 2]], dtype=int32)", "[[1 2]]", "[[1 2]]"),
    (
        [[1, 2], [3, 4]],
        "int32",
        "\narray([[1, 2],\n       [3, 4]], dtype=int32)",
        "\n[[1 2]\n [3 4]]",
        "[[1 2]\n [3 4]]",
    ),
]


@pytest.mark.parametrize(("value", "dtype", "in_repr", "in_str", "formatted"), TEXTS)
def test_repr_str_and_format(tf, value, dtype, in_repr, in_str, formatted):
    x, shape = tf.constant(value, dtype), str(np.shape(value))
    assert repr(x) == f"<tf.Tensor: shape={shape}, dtype={dtype}, numpy={in_repr}>"
    assert str(x) == f"tf.Tensor({in_str}, shape={shape}, dtype={dtype})"
    assert f"{x}" == formatted
    assert repr(x.ref()) == f"<Reference wrapping {x!r}>"


def test_long_tensors_are_abbreviated(tf):
    x = tf.range(2000)
    assert str(x) == "tf.Tensor([   0    1    2 ... 1997 1998 1999], shape=(2000,), dtype=int32)"
    assert repr(x).startswith("<tf.Tensor: shape=(2000,), dtype=int32, numpy=\narray([   0,    1,")


def test_format_specification(tf):
    assert f"{tf.constant(1.5):.3f}" == "1.500"
    assert f"{tf.constant(3):04d}" == "0003"
    with pytest.raises(TypeError, match="format"):
        f"{tf.constant([1.0, 2.0]):.3f}"
