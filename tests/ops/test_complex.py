"""Complex numbers: values, conversion, gradients, functions, variables."""

import numpy as np
import pytest

COMPLEX = ["complex64", "complex128"]
Z = np.array([0.5 + 1.0j, -1.2 + 0.3j, 2.0 - 0.7j])


def slope(tf, function, z):
    """The gradient with respect to a constant."""
    z = tf.constant(z)
    with tf.GradientTape() as tape:
        tape.watch(z)
        y = function(z)
    return tape.gradient(y, z)


def test_python_and_numpy_values(tf):
    for value, dtype in (
        (1 + 2j, "complex128"),
        ([2j, 1.0], "complex128"),
        (np.complex64(1 + 2j), "complex64"),
        (Z, "complex128"),
    ):
        assert tf.constant(value).dtype == dtype
        np.testing.assert_array_equal(tf.constant(value), np.asarray(value))
    assert repr(tf.constant(1 + 2j, tf.complex64)) == (
        "<tf.Tensor: shape=(), dtype=complex64, numpy=(1+2j)>"
    )
    assert complex(tf.constant(1 + 2j)) == 1 + 2j
    np.testing.assert_array_equal(tf.constant(Z, tf.float32), np.float32(Z.real))
    for wrong in (lambda: tf.constant(1j, tf.float32), lambda: tf.constant([1.0]) * 1j):
        with pytest.raises(TypeError, match="Cannot convert"):
            wrong()
    with pytest.raises(tf.errors.InvalidArgumentError, match="int32"):
        tf.constant([1]) + 1j
    with pytest.raises(ValueError, match="mixed types"):
        tf.constant([1.0, 2j])


@pytest.mark.parametrize("dtype", COMPLEX)
def test_operands_take_the_dtype_of_a_tensor(tf, dtype):
    z = tf.constant(Z, dtype)
    for found, wanted in (
        (z * 2, Z * 2),
        (2.5 - z, 2.5 - Z),
        (z * (1 + 1j), Z * (1 + 1j)),
        (z / np.array([1.0, 2.0, 4.0]), Z / [1, 2, 4]),
        (z**2, Z**2),
    ):
        assert found.dtype == dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
    one = tf.constant(1 + 2j, dtype)  # a complex128 is too large for a scalar slot
    for found, wanted in (
        (one * one, -3 + 4j),
        (one + 1, 2 + 2j),
        (abs(one), 5**0.5),
        (tf.reshape(one, (1, 1)), [[1 + 2j]]),
        (tf.exp(0 * one), 1),
    ):
        np.testing.assert_allclose(found, wanted, rtol=1e-6)
    assert bool(one == 1 + 2j) and bool(one != 1)
    for wrong in (
        lambda: z < z,
        lambda: tf.maximum(z, z),
        lambda: tf.floor(z),
        lambda: tf.reduce_max(z),
        lambda: z * tf.ones(3),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"complex|float"):
            wrong()


@pytest.mark.parametrize("dtype", COMPLEX)
def test_gradients_are_conjugated(tf, dtype):
    z = Z.astype(dtype)
    for function, wanted in (
        (lambda x: x * x, np.conj(2 * Z)),
        (tf.exp, np.conj(np.exp(Z))),
        (tf.abs, Z / abs(Z)),
        (tf.math.real, np.ones(3)),
        (tf.math.imag, np.full(3, 1j)),
        (tf.math.conj, np.ones(3)),
        (tf.math.angle, -1 / (Z.imag + 1j * Z.real)),
        (lambda x: tf.cast(x, "float32"), np.ones(3)),
        (lambda x: 1j * x, np.full(3, -1j)),
        (lambda x: tf.math.real(x * tf.math.conj(x)), 2 * Z),
    ):
        found = slope(tf, function, z)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    a, b = np.outer(Z, Z), np.outer(Z, 1j * Z)
    found = slope(tf, lambda x: tf.matmul(x, tf.constant(b.astype(dtype))), a.astype(dtype))
    np.testing.assert_allclose(found, np.ones((3, 3)) @ b.conj().T, rtol=1e-5)


def test_gradients_pass_from_and_to_real_numbers(tf):
    x = tf.constant([0.3, 0.8])
    with tf.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.reduce_sum(tf.abs(tf.exp(tf.complex(0.0, x)) + tf.cast(x, "complex64")) ** 2)
        first = tape.gradient(y, x)
    t = x.numpy()  # |exp(ix) + x| ** 2 = 1 + 2 x cos x + x ** 2
    np.testing.assert_allclose(first, 2 * np.cos(t) - 2 * t * np.sin(t) + 2 * t, rtol=1e-5)
    np.testing.assert_allclose(
        outer.gradient(first, x), -4 * np.sin(t) - 2 * t * np.cos(t) + 2, rtol=1e-5
    )


@pytest.mark.parametrize("dtype", COMPLEX)
def test_variables_and_functions(tf, dtype):
    v = tf.Variable(np.asarray(Z, dtype))
    one = tf.Variable(tf.constant(1 + 1j, dtype))

    @tf.function
    def step(x):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.abs(v * x * one - 1.0) ** 2)
        gradients = tape.gradient(loss, [v, one])
        v.assign_sub(tf.cast(0.1, dtype) * gradients[0])
        one.assign_sub(0.1 * gradients[1])
        return loss

    w, unit, x = Z.copy(), 1 + 1j, np.asarray([1.0, 1j, -1.0], dtype)
    for _ in range(4):
        error = w * x * unit - 1
        loss = step(tf.constant(x))
        np.testing.assert_allclose(loss, (abs(error) ** 2).sum(), rtol=1e-4)
        both = 2 * error * np.conj(x * unit), (2 * error * np.conj(w * x)).sum()
        w, unit = w - 0.1 * both[0], unit - 0.1 * both[1]
    np.testing.assert_allclose(v, w, rtol=1e-4)
    np.testing.assert_allclose(one, unit, rtol=1e-4)


def test_jacobian(tf):
    z = tf.constant(Z)
    with tf.GradientTape() as tape:
        tape.watch(z)
        y = z * z
    np.testing.assert_allclose(tape.jacobian(y, z), np.diag(np.conj(2 * Z)))


def test_moves(tf):
    z = tf.constant(np.arange(6) * (1 + 1j), shape=(2, 3))
    for found, wanted in (
        (z[:, 1:], z.numpy()[:, 1:]),
        (tf.concat([z, z], 0), np.concatenate([z, z])),
        (tf.transpose(z), z.numpy().T),
        (tf.gather(z, [1, 0]), z.numpy()[[1, 0]]),
        (tf.stack([z, z]), np.stack([z, z])),
        (tf.pad(z, [[1, 0], [0, 1]]), np.pad(z, [[1, 0], [0, 1]])),
        (tf.zeros_like(z), np.zeros_like(z)),
        (tf.ones((2,), "complex64"), np.ones(2)),
        (tf.where(tf.constant([True, False, True]), z, 0), np.where([1, 0, 1], z, 0)),
        (tf.eye(2, dtype="complex128"), np.eye(2)),
        (tf.fill((2,), 1j), np.full(2, 1j)),
    ):
        np.testing.assert_array_equal(found, wanted)
        assert found.dtype.is_complex


def test_what_a_dtype_is(tf):
    assert (tf.complex64.real_dtype, tf.complex128.real_dtype) == (tf.float32, tf.float64)
    assert (tf.complex64.is_complex, tf.complex64.is_floating) == (True, False)
    assert [d.as_datatype_enum for d in (tf.complex64, tf.complex128, tf.half, tf.bfloat16)] == [
        8,
        18,
        19,
        14,
    ]
    with pytest.raises(TypeError, match="Cannot find minimum"):
        tf.complex64.min  # noqa: B018
    with pytest.raises(ValueError, match="does not have defined limits"):
        tf.complex64.limits  # noqa: B018
    with pytest.raises(TypeError, match="Cannot convert"):
        tf.as_dtype(complex)


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_signs_of_extreme_numbers(tf, dtype):
    """They are NumPy's, and the derivative of the absolute value is the sign."""
    limits = np.finfo(dtype)
    parts = [0.0, -0.0, limits.tiny, -limits.smallest_subnormal, 1.0, limits.max, -np.inf, np.nan]
    real, imag = (part.ravel() for part in np.meshgrid(parts, parts))
    for at in (np.isfinite(real) & np.isfinite(imag), slice(None)):
        x = tf.complex(real[at].astype(limits.dtype), imag[at].astype(limits.dtype))
        np.testing.assert_array_equal(tf.math.real(x), real[at].astype(limits.dtype))
        np.testing.assert_array_equal(tf.math.imag(x), imag[at].astype(limits.dtype))
        with np.errstate(all="ignore"):
            expected = np.sign(x.numpy())
        np.testing.assert_allclose(tf.sign(x).numpy(), expected, rtol=4 * limits.eps)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = tf.abs(x)
        found = tape.gradient(y, x).numpy()
        np.testing.assert_allclose(found, expected, rtol=4 * limits.eps)
