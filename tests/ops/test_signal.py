"""Windows, frames and spectrograms, with literal values from TensorFlow 2.21."""

import numpy as np
import pytest
import scipy.signal


def test_windows(tf):
    for name, wanted in (
        ("hann_window", [0.0, 0.5, 1.0, 0.5]),
        ("hamming_window", [0.08, 0.54, 1.0, 0.54]),
        ("kaiser_window", [5.277345e-05, 5.188446e-01, 5.188446e-01, 5.277345e-05]),
        ("kaiser_bessel_derived_window", [0.00726415, 0.9999736, 0.9999736, 0.00726415]),
        ("vorbis_window", [0.22801436, 0.9736578, 0.9736578, 0.22801416]),
    ):
        found = getattr(tf.signal, name)(4)
        assert found.dtype == tf.float32
        np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-7)
    np.testing.assert_allclose(
        tf.signal.hann_window(5, periodic=False, dtype=tf.float64),
        scipy.signal.windows.hann(5),
        atol=1e-15,
    )
    assert tf.signal.hann_window(1).numpy().tolist() == [1.0]
    with pytest.raises(ValueError, match="floating point"):
        tf.signal.hann_window(4, dtype=tf.int32)


def test_a_signal_comes_back_from_its_spectrogram(tf):
    x = np.random.default_rng(0).normal(size=(2, 64)).astype("float32")
    spectra = tf.signal.stft(x, 16, 4)
    assert spectra.shape == (2, 13, 9)
    assert spectra.dtype == tf.complex64
    frames = np.stack([x[:, k : k + 16] for k in range(0, 49, 4)], 1)
    wanted = np.fft.rfft(frames * scipy.signal.windows.hann(16, sym=False))
    np.testing.assert_allclose(spectra, wanted, atol=1e-5)
    window = tf.signal.inverse_stft_window_fn(4)
    again = tf.signal.inverse_stft(spectra, 16, 4, window_fn=window).numpy()
    np.testing.assert_allclose(again[:, 16:48], x[:, 16:48], atol=1e-5)


def test_the_gradient_of_a_power_spectrum(tf):
    """By Parseval's theorem, the gradient of the total power is 2 n x."""
    x = tf.Variable(np.random.default_rng(1).normal(size=12))

    @tf.function
    def slope():
        with tf.GradientTape() as tape:
            power = tf.reduce_sum(tf.abs(tf.signal.fft(tf.cast(x, tf.complex128))) ** 2)
        return tape.gradient(power, x)

    for _ in range(2):
        np.testing.assert_allclose(slope(), 24 * x.numpy())


def test_frames_and_their_sum(tf):
    x = tf.range(7.0)
    np.testing.assert_array_equal(
        tf.signal.frame(x, 3, 2, pad_end=True), [[0, 1, 2], [2, 3, 4], [4, 5, 6], [6, 0, 0]]
    )
    assert tf.signal.frame(tf.zeros((2, 7, 3)), 3, 2, axis=1).shape == (2, 3, 3, 3)
    np.testing.assert_array_equal(
        tf.signal.overlap_and_add([[[1, 2, 3, 4, 5], [10, 20, 30, 40, 50]]], 2),
        [[1, 2, 13, 24, 35, 40, 50]],
    )


def test_mel(tf):
    found = tf.signal.linear_to_mel_weight_matrix(4, 9, 8000)
    assert found.shape == (9, 4)
    assert found.numpy()[0].tolist() == [0.0] * 4
    with pytest.raises(ValueError, match="Nyquist"):
        tf.signal.linear_to_mel_weight_matrix(sample_rate=4000)


def test_three_axes_and_errors(tf):
    z = np.random.default_rng(2).normal(size=(2, 3, 4)) * (1 + 0.5j)
    # Arrays become complex64 and float32, tensors stay what they are.
    assert tf.signal.fft3d(z).dtype == tf.signal.rfft3d(z.real).dtype == tf.complex64
    assert tf.signal.irfft3d(z).dtype == tf.float32
    np.testing.assert_allclose(tf.signal.fft3d(tf.constant(z)), np.fft.fftn(z))
    np.testing.assert_allclose(tf.signal.ifft3d(tf.signal.fft3d(tf.constant(z))), z)
    spectrum = tf.signal.rfft3d(tf.constant(z.real))
    np.testing.assert_allclose(spectrum, np.fft.rfftn(z.real))
    np.testing.assert_allclose(tf.signal.irfft3d(spectrum), z.real)
    assert tf.signal.rfft(tf.zeros((2, 0))).shape == (2, 0)
    for wrong in (
        lambda: tf.signal.fft(tf.ones(3)),
        lambda: tf.signal.fft2d(tf.constant([1j])),
        lambda: tf.signal.rfft(tf.ones(3), [2, 3]),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError):
            wrong()
    for wrong in (
        lambda: tf.signal.rfft(tf.constant([1j])),
        lambda: tf.signal.irfft(tf.ones(3)),
        lambda: tf.signal.dct(tf.ones(3), type=5),
    ):
        with pytest.raises(ValueError, match=r"requires|Types"):
            wrong()


@pytest.mark.parametrize("shape", [(7,), (8,), (1,), (2,), (3, 4, 5), (2, 5, 4)])
def test_derivatives_of_half_spectra(tf, shape):
    """Against matrices: of the transform, of its adjoint, and of the inverse."""
    rng = np.random.default_rng(0)
    axes = len(shape)
    forward = getattr(tf.signal, "rfft" if axes == 1 else f"rfft{axes}d")
    inverse = getattr(tf.signal, "irfft" if axes == 1 else f"irfft{axes}d")
    x = tf.constant(rng.standard_normal(shape))
    spectrum = np.fft.rfftn(x.numpy())
    real, imag = rng.standard_normal((2, *spectrum.shape))
    weights = tf.constant(real + 1j * imag)

    def product(x):  # of the spectrum and the weights, as real numbers
        return tf.reduce_sum(tf.math.real(forward(x) * tf.math.conj(weights)))

    with tf.GradientTape() as tape:
        tape.watch(x)
        y = product(x)
    basis = np.eye(x.numpy().size).reshape(-1, *shape)
    columns = np.array([np.fft.rfftn(one) for one in basis])
    expected = (columns * np.conj(weights.numpy())).real.reshape(len(basis), -1).sum(1)
    np.testing.assert_allclose(tape.gradient(y, x).numpy().ravel(), expected, atol=1e-12)

    with tf.GradientTape() as outer:
        outer.watch(weights)
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = product(x)
        z = tf.reduce_sum(tape.gradient(y, x) * x)  # linear in the weights
    np.testing.assert_allclose(outer.gradient(z, weights).numpy(), spectrum, atol=1e-12)

    g = rng.standard_normal(shape)
    with tf.GradientTape() as tape:
        tape.watch(weights)
        y = tf.reduce_sum(inverse(weights, shape) * g)
    found = tape.gradient(y, weights).numpy().ravel()
    basis = np.eye(weights.numpy().size).reshape(-1, *weights.shape)

    def inner_product(spectrum):
        return (np.fft.irfftn(spectrum, shape, range(axes)) * g).sum()

    expected = [inner_product(one) + 1j * inner_product(1j * one) for one in basis]
    np.testing.assert_allclose(found, expected, atol=1e-12)
