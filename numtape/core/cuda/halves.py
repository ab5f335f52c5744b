"""Kernels that convert between float32 and the 16-bit floats, and that scale arrays.

GPU code has no 16-bit floats: kernels compute their bits with integers. Conversions to 16 bits
round to the nearest value, ties to even.
"""

from __future__ import annotations

import hashlib

from .codegen import each, function
from .launches import Launch, blocks, kernel, threads

_ENCODE = {
    "float16": """
        u = int64(x[t])
        sign = (u >> int64(16)) & int64(0x8000)
        a = u & int64(0x7fffffff)
        if a > int64(0x7f800000):
            r = int64(0x7e00)
        elif a >= int64(0x477ff000):
            r = int64(0x7c00)
        elif a >= int64(0x38800000):
            r = (a - int64(0x38000000) + int64(0xfff) + ((a >> int64(13)) & int64(1))) >> int64(13)
        elif a >= int64(0x33000000):
            shift = int64(126) - (a >> int64(23))
            m = (a & int64(0x7fffff)) | int64(0x800000)
            half = int64(1) << (shift - int64(1))
            r = (m + half - int64(1) + ((m >> shift) & int64(1))) >> shift
        else:
            r = int64(0)
        out[t] = uint16(r | sign)""",
    "bfloat16": """
        u = int64(x[t])
        if (u & int64(0x7fffffff)) > int64(0x7f800000):
            r = (u >> int64(16)) | int64(0x40)
        else:
            r = (u + int64(0x7fff) + ((u >> int64(16)) & int64(1))) >> int64(16)
        out[t] = uint16(r)""",
}
_DECODE = {
    "float16": """
        h = int64(x[t])
        sign = (h & int64(0x8000)) << int64(16)
        e = (h >> int64(10)) & int64(31)
        m = h & int64(1023)
        if e == int64(31):
            r = int64(0x7f800000) | (m << int64(13))
        elif e > int64(0):
            r = ((e + int64(112)) << int64(23)) | (m << int64(13))
        elif m == int64(0):
            r = int64(0)
        else:
            k = int64(9)
            while (m >> k) == int64(0):
                k -= int64(1)
            r = ((k + int64(103)) << int64(23)) | ((m << (int64(23) - k)) & int64(0x7fffff))
        out[t] = uint32(r | sign)""",
    "bfloat16": """
        out[t] = uint32(int64(x[t]) << int64(16))""",
}


def encode_source(half: str) -> str:
    """The text of a ``kernel(n, out, x)`` that rounds float32 to a 16-bit float."""
    return _source(_ENCODE[half])


def decode_source(half: str) -> str:
    """The text of a ``kernel(n, out, x)`` that converts a 16-bit float to float32."""
    return _source(_DECODE[half])


def scale_source(dtype: str, scale: float) -> str:
    """The text of a ``kernel(n, out, x)`` that multiplies floats by a number."""
    return _source(f"        out[t] = x[t] * {dtype}({scale!r})")


def _source(lines: str) -> str:
    return each("out, x", *lines.strip("\n").split("\n"))


ENCODED, DECODED = "uint16", "uint32"  # the dtypes of the bits in the kernels


def encode_launch(half: str, size: int) -> Launch:
    """Return the launch of `encode_source`. Its places are out and x."""
    return _launch("encode", encode_source(half), size, ENCODED, DECODED)


def decode_launch(half: str, size: int) -> Launch:
    """Return the launch of `decode_source`. Its places are out and x."""
    return _launch("decode", decode_source(half), size, DECODED, ENCODED)


def scale_launch(dtype: str, scale: float, size: int) -> Launch:
    """Return the launch of `scale_source`. Its places are out and x."""
    return _launch("scale", scale_source(dtype, scale), size, dtype, dtype)


def _launch(name: str, text: str, size: int, out: str, x: str) -> Launch:
    symbol = f"{name}_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    compiled = kernel(lambda: function(text, []), ["int64", f"*{out}", f"*{x}"], symbol, text)
    return Launch(compiled, blocks(size), threads(), (size,), (0, 1))
