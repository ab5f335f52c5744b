"""Rows of Fourier and cosine transforms and functions based on them."""

import numpy as np
import scipy.fft
from cases_complex import Complex, row
from op_case import Case, over

PARTS = ((-1.0, 1.0),) * 2


def half(name, reference, *shapes, **options):
    """A row with real operands and a complex result, whose parts are compared."""

    def parts(x, fft_length=None):
        found = reference(x, fft_length)
        return [found.real, found.imag]

    return Complex(name, parts, PARTS[:1], ulp=8, variants=over(*shapes, **options))


def mdct(x, frame_length, level, norm=None):
    """By the definition, a sum over all samples of a frame."""
    n = frame_length // 2
    k, t = np.arange(n)[:, None], np.arange(2 * n)
    waves = np.cos(np.pi / n * (t + 0.5 + n / 2) * (k + 0.5))
    waves = (
        waves
        * (np.sqrt(0.5) if level else np.sin(np.pi / 2 * np.sin(np.pi / (2 * n) * (t + 0.5)) ** 2))
        * (np.sqrt(2 / n) if norm else 2)
    )
    frames = np.lib.stride_tricks.sliding_window_view(x, 2 * n, -1)[..., ::n, :]
    return frames @ waves.T


def whole(x, norm=None):
    """Samples covered by two frames are reconstructed."""
    return x[..., 4:-4]


def there_and_back(f, x, norm=None):
    module = __import__("numtape" if f.__module__.startswith("numtape") else "tensorflow")
    return f(module.signal.mdct(x, 8, norm=norm), norm=norm)[..., 4:-4]


CASES = [
    row("signal.fft", np.fft.fft, *PARTS, ulp=8),
    row("signal.ifft", np.fft.ifft, ulp=8),
    row("signal.fft2d", np.fft.fft2, ulp=8),
    row("signal.ifft2d", np.fft.ifft2, ulp=8),
    half(
        "signal.rfft",
        lambda x, n: np.fft.rfft(x, *(n or ())),
        (2, 3),
        (4,),
        fft_length=[None, [5], [2]],
    ),
    half("signal.rfft2d", lambda x, n: np.fft.rfft2(x, n), (3, 4), fft_length=[None, [2, 5]]),
    row(
        "signal.irfft",
        lambda x, fft_length=None: np.fft.irfft(x, *(fft_length or ())),
        ulp=8,
        fft_length=[None, [5], [2], [8]],
    ),
    row(
        "signal.irfft2d",
        lambda x, fft_length=None: np.fft.irfft2(x, fft_length),
        ulp=8,
        fft_length=[None, [3, 3]],
    ),
    Case(
        "signal.fftshift",
        lambda x, axes=None: np.fft.fftshift(x, axes),
        PARTS[:1],
        ulp=0,
        variants=over((2, 3), axes=[None, 1]),
    ),
    Case(
        "signal.dct",
        lambda x, type=2, norm=None: scipy.fft.dct(x, type, norm=norm),
        PARTS[:1],
        ulp=16,
        variants=over((2, 4), type=[2, 3, 4], norm=[None, "ortho"]),
    ),
    Case(
        "signal.frame",
        lambda x, **_: np.lib.stride_tricks.sliding_window_view(x, 3, -1)[:, ::2],
        PARTS[:1],
        ulp=0,
        variants=over((2, 6), frame_length=[3], frame_step=[2]),
    ),
    Case(
        "signal.mdct",
        lambda x, frame_length, norm=None: mdct(x, frame_length, False, norm),
        PARTS[:1],
        ulp=64,
        variants=over((12,), (2, 8), frame_length=[4, 8], norm=[None, "ortho"]),
    ),
    Case(
        "signal.mdct",
        lambda x, frame_length: mdct(x, frame_length, True),
        PARTS[:1],
        ulp=64,
        call=lambda f, x, frame_length: f(x, frame_length, window_fn=None),
        variants=over((2, 8), frame_length=[4]),
    ),
    Case(
        "signal.inverse_mdct",
        whole,
        PARTS[:1],
        ulp=64,
        call=there_and_back,
        variants=over((2, 16), norm=[None, "ortho"]),
    ),
]
