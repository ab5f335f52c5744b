"""Shapes and dtypes of operands that ops accept or refuse, as in TensorFlow."""

import numpy as np
import pytest

import numtape

VECTORS = {
    "scatter_nd": lambda tf: tf.scatter_nd([0], [1.0], [1]),
    "scatter_nd of a scalar": lambda tf: tf.scatter_nd([0], 1.0, [1]),
    "scatter_nd of pairs": lambda tf: tf.scatter_nd([1, 2], 1.0, [3, 3]),
    "update": lambda tf: tf.tensor_scatter_nd_update([0.0, 0.0], [0], [5.0]),
    "add": lambda tf: tf.tensor_scatter_nd_add([0.0, 0.0], [0], [5.0]),
    "sub": lambda tf: tf.tensor_scatter_nd_sub([0.0, 0.0], [0, 1], [5.0, 2.0]),
    "max": lambda tf: tf.tensor_scatter_nd_max([0.0, 0.0], [0, 1], [5.0, 2.0]),
    "min": lambda tf: tf.tensor_scatter_nd_min([0.0, 0.0], [0], [5.0]),
}


@pytest.mark.parametrize("name", VECTORS)
def test_indices_of_a_scatter_need_two_axes(tf, name):
    with pytest.raises(tf.errors.InvalidArgumentError):
        VECTORS[name](tf)


def test_a_variable_takes_a_vector_of_indices(tf):
    v = tf.Variable([0.0, 0.0])
    assert v.scatter_nd_update([0], [5.0]).numpy().tolist() == [5.0, 0.0]
    assert v.scatter_nd_update([[1]], [6.0]).numpy().tolist() == [5.0, 6.0]


@pytest.mark.numtape_only("TensorFlow aborts the process")
@pytest.mark.parametrize("rank, pool", [(1, "max_pool1d"), (2, "max_pool2d"), (3, "max_pool3d")])
def test_a_window_of_max_pool_fits_into_its_input(tf, rank, pool):
    def pooled(size, window, padding="VALID"):
        return getattr(tf.nn, pool)(tf.zeros([1, *[size] * rank, 2]), window, 1, padding)

    with pytest.raises(tf.errors.InvalidArgumentError, match="output size"):
        pooled(4, 5)
    with pytest.raises(tf.errors.InvalidArgumentError, match="output size"):
        pooled(4, 6)
    assert pooled(4, 4).shape == [1, *[1] * rank, 2]
    assert pooled(4, 5, "SAME").shape == [1, *[4] * rank, 2]


NUMBERS = [np.array([1, 0]), np.array([2, 0], "u1"), np.array([0.5, 0.0]), np.array([[3], [0]])]


@pytest.mark.parametrize("condition", NUMBERS, ids=str)
def test_where_takes_arrays_of_numbers(tf, condition):
    x, y = np.array([1.0, 2.0]), np.array([3.0, 4.0])
    wanted = np.where(condition, x, y)
    np.testing.assert_array_equal(tf.where(condition, x, y), wanted)
    v = tf.Variable(x)
    with tf.GradientTape() as tape:
        z = tf.where(condition, v, y)
    taken = np.broadcast_to(condition != 0, z.shape)
    np.testing.assert_array_equal(
        tape.gradient(z, v), taken.reshape(-1, 2).sum(0).astype(np.float64)
    )


@pytest.mark.parametrize("condition", [[1, 0], 1, 1.0, [1.0, 0.0]], ids=str)
def test_where_refuses_numbers_of_python(tf, condition):
    with pytest.raises((TypeError, tf.errors.InvalidArgumentError)):
        tf.where(condition, [1.0, 2.0], [3.0, 4.0])


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_assert_near_of_complex_numbers(tf, dtype):
    x = tf.constant([1 + 2j, 3j], dtype)
    tf.debugging.assert_near(x, x)
    tf.debugging.assert_near(x, x * (1 + 1e-7), rtol=1e-6)
    tf.debugging.assert_near(x, x + 1j, rtol=0.0, atol=1.01)
    for tolerance in ({}, {"rtol": 0.0, "atol": 0.9}):
        with pytest.raises(tf.errors.InvalidArgumentError):
            tf.debugging.assert_near(x, x + 1j, **tolerance)
    with pytest.raises(ValueError, match="not inexact"):
        tf.debugging.assert_near(tf.constant(1), 1)


@pytest.mark.tf_differs("TensorFlow packs the norms, which must be of one dtype")
@pytest.mark.parametrize(
    "dtypes", [("float32", "bfloat16"), ("float16", "float64"), ("bfloat16", "float16")]
)
def test_global_norm_of_several_dtypes(tf, dtypes):
    arrays = [np.array([3.0, 0.0]), np.array([[4.0]])]
    tensors = [tf.cast(x, dtype) for x, dtype in zip(arrays, dtypes, strict=True)]
    assert float(tf.linalg.global_norm(tensors)) == 5.0
    clipped, length = tf.clip_by_global_norm(tensors, 2.5)
    assert float(length) == 5.0
    for x, y, dtype in zip(arrays, clipped, dtypes, strict=True):
        assert y.dtype == dtype
        np.testing.assert_array_equal(tf.cast(y, "float64"), x / 2)


def test_a_norm_that_is_given_keeps_the_dtypes(tf):
    tensors = [tf.ones(2, "float32"), tf.ones(2, "float64")]
    clipped, length = tf.clip_by_global_norm(tensors, 1.0, use_norm=tf.constant(2.0))
    assert [x.dtype for x in clipped] == [tf.float32, tf.float64] and length.dtype == tf.float32
    assert [x.numpy().tolist() for x in clipped] == [[0.5, 0.5]] * 2


# --- Cases of TensorFlow's own tests --------------------------------------------------------------


def test_gather_with_a_negative_number_of_batch_axes():
    params = np.arange(8).reshape(2, 4)
    for indices, axis in (([3, 0], -1), ([[2, 1], [0, 3]], 1)):
        at = np.broadcast_to(np.asarray(indices), (2, 2))
        expected = np.take_along_axis(params, at, 1)
        actual = numtape.gather(params, indices, axis=axis, batch_dims=-1)
        np.testing.assert_array_equal(actual.numpy(), expected)


def test_saturating_casts_of_complex_numbers():
    largest = float(np.finfo(np.float32).max)
    cast, huge = numtape.saturate_cast, np.array([1e40 - 1e40j, 1 + 2j])
    assert cast(huge, "complex64").numpy().tolist() == [largest - largest * 1j, 1 + 2j]
    assert cast(huge, "float32").numpy().tolist() == [largest, 1.0]
    assert cast(huge.real, "complex64").numpy().tolist() == [largest, 1.0]
    assert complex(numtape.Variable(1.5 + 2.5j)) == 1.5 + 2.5j


def test_empty_blocks():
    x = np.ones([3, 4], np.float32)
    for block in ([], np.array([])):
        assert numtape.space_to_batch(x, block, np.zeros([0, 2])).shape == (3, 4)


def test_a_single_band():
    solve = numtape.linalg.banded_triangular_solve
    assert solve([[2.0, 4.0]], [[1.0], [2.0]]).numpy().tolist() == [[0.5], [0.5]]
    assert solve(np.ones([2, 1, 1]), np.ones([1, 1])).shape == (2, 1, 1)
    with pytest.raises(numtape.errors.InvalidArgumentError, match="not invertible"):
        solve([[2.0, 0.0]], [[1.0], [2.0]])


@pytest.mark.parametrize(
    ("first", "second", "result"),
    [("int8", "uint8", "int32"), ("uint8", "int8", "int32"), ("bfloat16", "int8", "bfloat16")],
)
def test_products_of_mixed_dtypes(first, second, result):
    x, y = numtape.cast([[1, 2]], first), numtape.cast([[3], [4]], second)
    product = numtape.matmul(x, y, output_type=result)
    assert product.dtype.name == result
    assert float(product[0, 0]) == 11.0
