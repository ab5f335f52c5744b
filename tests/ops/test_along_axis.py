"""Running sums: one row, or several side by side, give the same bits; float32 adds in float64."""

import numpy as np
import pytest


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8"])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_running_sums_of_rows(tf, dtype, exclusive, reverse):
    rng = np.random.default_rng(0)
    options = {"exclusive": exclusive, "reverse": reverse}
    for shape in [(1000,), (3, 77), (1,), (0,), (3, 0)]:
        x = (rng.standard_normal(shape) * 50).clip(0 if dtype == "uint8" else -200).astype(dtype)
        found = tf.cumsum(x, -1, **options).numpy()
        wide = np.float64 if dtype == "float32" else dtype
        ordered = x[..., ::-1] if reverse else x
        expected = np.cumsum(ordered, -1, wide)
        if exclusive:
            expected = np.concatenate([expected[..., :1] * 0, expected[..., :-1]], -1)
        expected = expected.astype(dtype)
        np.testing.assert_array_equal(found, expected[..., ::-1] if reverse else expected)
        columns = tf.cumsum(np.stack([x, x], -1), len(shape) - 1, **options).numpy()
        np.testing.assert_array_equal(columns[..., 1], found)


def test_long_running_sums_are_accurate(tf):
    x = np.random.default_rng(0).standard_normal(100_000).astype("float32")
    exact = np.cumsum(x, dtype="float64")
    np.testing.assert_allclose(tf.cumsum(x).numpy(), exact, rtol=6e-8, atol=0)
    weights = np.cos(exact).astype("float32")
    v = tf.constant(x)
    with tf.GradientTape() as tape:
        tape.watch(v)
        y = tf.reduce_sum(tf.cumsum(v) * weights)
    exact = np.cumsum(weights[::-1], dtype="float64")[::-1]
    np.testing.assert_allclose(tape.gradient(y, v).numpy(), exact, rtol=6e-8, atol=0)
