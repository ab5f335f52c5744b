"""Kernels that convert between float32 and the 16-bit floats, and that scale arrays.

GPU code has no 16-bit floats: kernels compute their bits with integers. Conversions to 16 bits
round to the nearest value, ties to even.
"""

from __future__ import annotations

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


def encode_launch(half: str, size: int) -> Launch:
    """Return the launch that rounds float32 to a 16-bit float. Its places are out and x."""
    return _launch(f"encode_{half}", _ENCODE[half], size, "uint16", "uint32")


def decode_launch(half: str, size: int) -> Launch:
    """Return the launch that converts a 16-bit float to float32. Its places are out and x."""
    return _launch(f"decode_{half}", _DECODE[half], size, "uint32", "uint16")


def scale_launch(dtype: str, scale: float, size: int) -> Launch:
    """Return the launch that multiplies floats by a number. Its places are out and x."""
    line = f"        out[t] = x[t] * {dtype}({scale!r})"
    return _launch(f"scale_{dtype}_{scale.hex()}", line, size, dtype, dtype)


def _launch(name: str, lines: str, size: int, out: str, x: str) -> Launch:
    text = each("out, x", *lines.strip("\n").split("\n"))
    symbol = "".join(c if c.isalnum() else "_" for c in name)
    dtypes = ["int64", f"*{out}", f"*{x}"]
    compiled = kernel(lambda: function(text, []), dtypes, symbol, text)
    return Launch(compiled, blocks(size), threads(), (size,), (0, 1))
