"""The objects behind `x.shape` and `x.dtype`."""

import types

import numpy as np
import pytest

# --- Shapes --------------------------------------------------------------------------------------


def test_shape(tf):
    shape = tf.zeros((2, 3)).shape
    assert shape == (2, 3)
    assert shape == [2, 3]
    assert (2, 3) == shape
    assert shape != (3, 2)
    assert shape == tf.TensorShape([2, 3])
    assert shape[0] == 2
    assert type(shape[0]) is int
    assert shape[-1:] == (3,)
    assert (shape.rank, shape.ndims, len(shape)) == (2, 2, 2)
    assert shape.as_list() == list(shape) == [2, 3]
    assert tuple(shape) == (2, 3)
    assert shape.num_elements() == 6
    assert hash(shape) == hash(tf.ones((2, 3)).shape)
    assert np.zeros(shape).shape == (2, 3)
    assert tf.zeros(shape).shape == shape
    rows, columns = shape
    assert (rows, columns) == (2, 3)


def test_shape_text(tf):
    assert str(tf.zeros((2, 3)).shape) == "(2, 3)"
    assert f"{tf.zeros((2,)).shape}" == "(2,)"
    assert repr(tf.zeros((2, 3)).shape) == "TensorShape([2, 3])"
    assert repr(tf.constant(1.0).shape) == "TensorShape([])"


@pytest.mark.parametrize(
    ("dims", "error"),
    [([2, -1], ValueError), (["a"], TypeError), ("ab", TypeError), ([1.5], TypeError)],
)
def test_what_is_no_shape(tf, dims, error):
    with pytest.raises(error):
        tf.TensorShape(dims)


def test_shapes_from_other_sizes(tf):
    assert tf.TensorShape(3) == [3]
    assert tf.TensorShape(np.array([2, 3])) == tf.TensorShape((2, 3)) == (2, 3)
    assert tf.TensorShape([2, None]).as_list() == [2, None]


def test_shapes_are_joined_with_tuples(tf):
    shape = tf.zeros((2, 3)).shape
    assert shape + (4,) == (2, 3, 4)  # noqa: RUF005
    assert (4,) + shape == (4, 2, 3)  # noqa: RUF005
    assert shape.concatenate([4]) == (2, 3, 4)
    with pytest.raises(IndexError):
        shape[2]
    with pytest.raises(TypeError):
        shape[0] = 1


# --- Dtypes --------------------------------------------------------------------------------------

FLOATS = ["float16", "float32", "float64"]
INTEGERS = ["int8", "int16", "int32", "int64", "uint8"]


@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS, "bool"])
def test_dtype(tf, name):
    dtype, kind = getattr(tf, name), np.dtype(name)
    assert repr(dtype) == f"tf.{name}"
    assert str(dtype) == f"<dtype: '{name}'>"
    assert dtype.name == name
    assert dtype.as_numpy_dtype is kind.type
    assert dtype.size == kind.itemsize
    assert dtype.is_floating is (name in FLOATS)
    assert dtype.is_integer is (name in INTEGERS)
    assert dtype.is_bool is (name == "bool")
    assert dtype == name == dtype
    assert dtype == kind == dtype
    assert dtype == kind.type
    assert dtype is tf.as_dtype(name) is tf.as_dtype(kind)
    assert {dtype: 1}[getattr(tf.dtypes, name)] == 1
    assert tf.zeros((), dtype).dtype is dtype


def test_dtypes_differ(tf):
    assert tf.float32 != tf.float64
    assert tf.float32 != "int32"
    for other in (3, None, "no dtype"):
        assert not tf.float32 == other
    assert isinstance(tf.float32, tf.DType)
    assert (tf.double, tf.half) == (tf.float64, tf.float16)


def test_dtype_limits(tf):
    assert (tf.int32.min, tf.int32.max) == (-(2**31), 2**31 - 1)
    assert tf.float32.max == np.finfo(np.float32).max


def test_python_types_as_dtypes(tf):
    assert tf.as_dtype(float) is tf.float32
    assert tf.as_dtype(bool) is tf.bool
    for unknown in (int, "no dtype", None, types.SimpleNamespace(__name__=[])):
        with pytest.raises(TypeError, match="Cannot convert"):
            tf.as_dtype(unknown)


def test_masks_of_lengths_that_are_no_integers(tf):
    """With an integer they lose their fraction; with a float, or alone, they keep it."""
    lengths = [1.5, 3.2]
    for options, places in (({"maxlen": 4}, [1, 3]), ({"maxlen": 2.5}, [2, 3]), ({}, [2, 4])):
        found = tf.sequence_mask(lengths, **options)
        np.testing.assert_array_equal(tf.reduce_sum(tf.cast(found, "int32"), 1), places)
    wide = tf.sequence_mask(tf.constant([7], "uint8"), 300)
    assert wide.shape == (1, 300) and int(tf.reduce_sum(tf.cast(wide, "int32"))) == 7


def test_bools_beside_others_in_a_grid(tf):
    numbers, truth = tf.meshgrid([1.0, 2.0], [True, False])
    assert (numbers.dtype, truth.dtype) == (tf.float32, tf.bool)
    np.testing.assert_array_equal(truth, [[True, True], [False, False]])
    with pytest.raises(tf.errors.InvalidArgumentError, match="int32"):
        tf.meshgrid([1.0, 2.0], [1, 2])


def test_shapes_are_joined_from_both_sides(tf):
    x = tf.zeros([2, 3, 4]).shape
    for five in ([5], (5,), 5, tf.TensorShape([5])):
        for joined, sizes in ((five + x, [5, 2, 3, 4]), (x + five, [2, 3, 4, 5])):
            assert isinstance(joined, tf.TensorShape) and joined == sizes
        assert x.concatenate(five) == [2, 3, 4, 5]
    sizes = [5]
    sizes += x
    assert list(sizes) == [5, 2, 3, 4]


COMPATIBLE = [  # one, other, whether they are, and what they merge to
    ([2, 3], [2, 3], [2, 3]),
    ([2, None], [2, 3], [2, 3]),
    ([None, 3], [2, None], [2, 3]),
    ([2, 3], [2, 4], None),
    ([2, 3], [2], None),
    ([], [], []),
    ([None], [None], [None]),
    ([2, 3], None, [2, 3]),
]


@pytest.mark.parametrize("one, other, merged", COMPATIBLE)
def test_compatible_shapes(tf, one, other, merged):
    shape = tf.TensorShape(one)
    assert shape.is_compatible_with(other) is (merged is not None)
    if merged is None:
        for refusing in (shape.merge_with, shape.assert_is_compatible_with):
            with pytest.raises(ValueError, match="compatible"):
                refusing(other)
    else:
        assert shape.merge_with(other).as_list() == merged
        shape.assert_is_compatible_with(other)


def test_ranks_and_sizes_of_shapes(tf):
    shape = tf.TensorShape([2, None, 4])
    assert shape.with_rank(3) == shape.with_rank_at_least(3) == shape.with_rank_at_most(3) == shape
    shape.assert_has_rank(3), shape.assert_same_rank([1, 1, 1])
    for refusing in (shape.with_rank, shape.assert_has_rank, shape.with_rank_at_most):
        with pytest.raises(ValueError, match="must have rank"):
            refusing(2)
    with pytest.raises(ValueError, match="rank at least 4"):
        shape.with_rank_at_least(4)
    with pytest.raises(ValueError, match="same rank"):
        shape.assert_same_rank([1, 1])
    assert not shape.is_fully_defined() and shape.num_elements() is None
    with pytest.raises(ValueError, match="not fully defined"):
        shape.assert_is_fully_defined()
    known = tf.TensorShape([2, 3, 4])
    known.assert_is_fully_defined()
    assert known.is_fully_defined() and known.num_elements() == 24
    assert known.is_subtype_of(shape) and not shape.is_subtype_of(known)
    assert known.most_specific_compatible_shape([2, 5, 4]).as_list() == [2, None, 4]
    assert known.most_specific_common_supertype([shape]).as_list() == [2, None, 4]
