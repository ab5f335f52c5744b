"""Operands that are not tensors take the dtype of the other tensors, or the op's default."""

import numpy as np
import pytest

WIDE = [
    ("nn.bias_add", [np.ones((2, 3)).tolist()], (3,)),
    pytest.param(
        "nn.conv2d",
        [np.ones((1, 3, 3, 1)).tolist()],
        (2, 2, 1, 1),
        id="nn.conv2d",
        marks=pytest.mark.tf_differs("no list will do there"),
    ),
    ("tensor_scatter_nd_update", [[1.0, 2.0], [[1]]], (1,)),
    ("tensor_scatter_nd_max", [[1.0, 2.0], [[1]]], (1,)),
]


@pytest.mark.parametrize("name, given, shape", WIDE, ids=lambda x: x if isinstance(x, str) else "")
def test_a_list_before_a_tensor(tf, name, given, shape):
    function = tf
    for part in name.split("."):
        function = getattr(function, part)
    more = {"strides": 1, "padding": "VALID"} if "conv" in name else {}
    assert function(*given, tf.ones(shape, tf.float64), **more).dtype == tf.float64


def test_arrays_beside_integers_and_filters(tf):
    found = tf.broadcast_dynamic_shape([2, 2], tf.constant([1, 1], tf.int64))
    assert found.dtype == tf.int64 and found.numpy().tolist() == [2, 2]
    x, w = np.ones((1, 2, 2, 1)), np.ones((1, 1, 1, 1)).tolist()
    assert tf.nn.conv2d_transpose(x, w, (1, 2, 2, 1), 1).dtype == tf.float32


def test_arrays_where_float32_is_preferred(tf):
    x, p = np.eye(3), np.arange(3)
    for found in (
        tf.linalg.lu_matrix_inverse(x, p),
        tf.linalg.lu_reconstruct(x, p),
        tf.linalg.lu_solve(x, p, x),
        tf.nn.max_pool2d(np.ones((1, 2, 2, 1)), 2, 1, "VALID"),
        tf.nn.local_response_normalization(np.ones((1, 2, 2, 1))),
    ):
        assert found.dtype == tf.float32


@pytest.mark.filterwarnings("ignore")
def test_zeros_of_an_unconnected_source_are_followed(tf):
    x, c = tf.constant(2.0), tf.constant(3.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        zero = tape.gradient(c * 2.0, x, unconnected_gradients="zero")
        y = zero * 1.0
        z = y + 1.0
    assert zero.numpy() == 0.0 and tape.gradient(z, y).numpy() == 1.0
    assert tape.gradient(z, x) is None


def test_lists_with_tensors_are_of_the_dtype_that_is_asked_for(tf):
    x, wide = tf.Variable(2.7), tf.constant(1.0, tf.float64)
    with tf.GradientTape() as tape:
        found = tf.convert_to_tensor([[x * x, 2], [3.5, wide]], dtype=tf.float64)
        total = tf.reduce_sum(found)
    assert found.dtype == tf.float64 and found.numpy()[1].tolist() == [3.5, 1.0]
    np.testing.assert_allclose(tape.gradient(total, x).numpy(), 5.4, 1e-6)
    assert tf.convert_to_tensor([x.read_value(), 2], dtype=tf.int32).numpy().tolist() == [2, 2]
    assert tf.add(wide, [x.read_value() * 0.0, 2]).numpy().tolist() == [1.0, 3.0]
    if tf.__name__ == "numtape":  # TensorFlow does not accept tensors there
        assert tf.constant([x.read_value(), 2], tf.float64).dtype == tf.float64


def test_lengths_are_cast_to_the_dtype_of_what_is_clipped(tf):
    for limit in (tf.constant(2.0, tf.float64), tf.constant(2), np.float64(2.0)):
        found = tf.clip_by_norm(tf.constant([3.0, 4.0]), limit)
        assert found.dtype == tf.float32
        np.testing.assert_allclose(found.numpy(), [1.2, 1.6], 1e-6)


def test_products_of_another_dtype(tf):
    a = tf.constant([[100, 2], [3, 100]], tf.int8)
    found = tf.matmul(a, a, transpose_b=True, output_type=tf.int32)
    assert found.dtype == tf.int32 and found.numpy().tolist() == [[10004, 500], [500, 10009]]
    x = tf.constant([[1.0, 2.0]])
    assert tf.matmul(x, x, transpose_b=True, output_type=tf.float32).numpy() == 5.0
    with pytest.raises(tf.errors.OpError):
        tf.matmul(x, x, transpose_b=True, output_type=tf.float64)
