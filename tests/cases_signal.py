"""Rows of Fourier and cosine transforms and what is made of them."""

import numpy as np
import scipy.fft
from cases_complex import Complex, row
from op_case import Case, over

PARTS = ((-1.0, 1.0),) * 2


def half(name, reference, *shapes, **options):
    """A row of real numbers to complex ones: both parts are compared."""

    def parts(x, fft_length=None):
        found = reference(x, fft_length)
        return [found.real, found.imag]

    return Complex(name, parts, PARTS[:1], ulp=8, variants=over(*shapes, **options))


CASES = [
    row("signal.fft", np.fft.fft, *PARTS, ulp=8), row("signal.ifft", np.fft.ifft, ulp=8),
    row("signal.fft2d", np.fft.fft2, ulp=8), row("signal.ifft2d", np.fft.ifft2, ulp=8),
    half("signal.rfft", lambda x, n: np.fft.rfft(x, *(n or ())), (2, 3), (4,),
         fft_length=[None, [5], [2]]),
    half("signal.rfft2d", lambda x, n: np.fft.rfft2(x, n), (3, 4), fft_length=[None, [2, 5]]),
    row("signal.irfft", lambda x, fft_length=None: np.fft.irfft(x, *(fft_length or ())), ulp=8,
        fft_length=[None, [5], [2], [8]]),
    row("signal.irfft2d", lambda x, fft_length=None: np.fft.irfft2(x, fft_length), ulp=8,
        fft_length=[None, [3, 3]]),
    Case("signal.fftshift", lambda x, axes=None: np.fft.fftshift(x, axes), PARTS[:1], ulp=0,
         variants=over((2, 3), axes=[None, 1])),
    Case("signal.dct", lambda x, type=2, norm=None: scipy.fft.dct(x, type, norm=norm), PARTS[:1],
         ulp=16, variants=over((2, 4), type=[2, 3, 4], norm=[None, "ortho"])),
    Case("signal.frame", lambda x, **_: np.lib.stride_tricks.sliding_window_view(x, 3, -1)[:, ::2],
         PARTS[:1], ulp=0, variants=over((2, 6), frame_length=[3], frame_step=[2])),
]  # fmt: skip
