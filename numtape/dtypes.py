"""``tf.dtypes``: the dtypes, and conversion between them."""

from __future__ import annotations

import typing as _typing

from .compat.names import getter as _getter
from .core.ops.arithmetic import saturate_cast
from .core.ops.complex import complex_ as complex
from .core.ops.elementwise import cast
from .core.values.dtypes import (
    DType,
    as_dtype,
    bfloat16,
    bool_ as bool,
    complex64,
    complex128,
    float16,
    float16 as half,
    float32,
    float64,
    float64 as double,
    int8,
    int16,
    int32,
    int64,
    string,
    uint8,
    uint16,
    uint32,
    uint64,
)

__all__ = [
    "DType",
    "as_dtype",
    "bfloat16",
    "bool",
    "cast",
    "complex",
    "complex128",
    "complex64",
    "double",
    "float16",
    "float32",
    "float64",
    "half",
    "int16",
    "int32",
    "int64",
    "int8",
    "saturate_cast",
    "string",
    "uint16",
    "uint32",
    "uint64",
    "uint8",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)
