"""What is no tensor takes the dtype of the tensors beside it, or the one that an op prefers."""

import numpy as np
import pytest

WIDE = [
    ("nn.bias_add", [np.ones((2, 3)).tolist()], (3,)),
    pytest.param("nn.conv2d", [np.ones((1, 3, 3, 1)).tolist()], (2, 2, 1, 1), id="nn.conv2d",
                 marks=pytest.mark.tf_differs("no list will do there")),
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
        tf.linalg.lu_matrix_inverse(x, p), tf.linalg.lu_reconstruct(x, p),
        tf.linalg.lu_solve(x, p, x), tf.nn.max_pool2d(np.ones((1, 2, 2, 1)), 2, 1, "VALID"),
        tf.nn.local_response_normalization(np.ones((1, 2, 2, 1))),
    ):  # fmt: skip
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
