"""Bodies of elementwise ops: one scalar expression in x, y, z; one text for every target.

A name in it is resolved where it is used: to NumPy here, to compiled scalar functions in
`numtape.core.compile.lane_kernels`.
"""

from __future__ import annotations

import importlib
import math
from functools import cache
from types import CodeType
from typing import Any

import numpy as np
import scipy.special

from ..values.memory import converted

Array = Any

_TABLE = importlib.import_module("numtape.kernels.functions.elementary").TABLE
_FUNCTIONS: dict[str, Any] = {
    name: getattr(np, row.numpy) for name, row in _TABLE.items() if row.numpy
}
_FUNCTIONS |= {name: getattr(np, name) for name in ("isnan", "isinf", "isfinite", "absolute")}
_FUNCTIONS |= {
    # SciPy's erfc is hundreds of units in the last place off in its tail.
    "erf": scipy.special.erf, "erfc": np.vectorize(math.erfc, otypes=["float64"]),
    "sigmoid": scipy.special.expit, "int_power": np.power, "floor_divide": np.floor_divide,
}  # fmt: skip


@cache
def _compiled(body: str) -> CodeType:
    return compile(body, f"<body {body}>", "eval")


def evaluate(body: str, operands: list[Array], dtype: Any) -> Array:
    """The value of a body on arrays, with NumPy. ``cast(x)`` converts to ``dtype``."""
    scope = dict(zip("xyz", operands, strict=False))
    scope["cast"] = lambda x: converted(np.asarray(x), dtype)

    def fit(x: Any) -> Any:  # a literal: -1 is 255 as uint8, where NumPy raises
        return np.asarray(x).astype(dtype) if isinstance(x, int) else x

    scope["select"] = lambda condition, x, y: np.where(condition, fit(x), fit(y))
    return eval(_compiled(body), _FUNCTIONS | scope)
