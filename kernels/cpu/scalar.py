"""What the names in op bodies mean in the CPU's lane kernels."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..jit import inline


@inline
def power(x: Any, y: Any) -> Any:
    """``x ** y``."""
    return x**y


FUNCTIONS: dict[str, Any] = {
    name: getattr(math, name)
    for name in ("exp", "expm1", "log", "log1p", "sin", "cos", "tan", "sinh", "cosh", "tanh",
                 "sqrt", "asin", "acos", "atan", "atan2", "asinh", "acosh", "atanh", "erf",
                 "erfc", "isnan", "isinf", "isfinite", "copysign")
}  # fmt: skip
FUNCTIONS |= {
    "floor": np.floor, "ceil": np.ceil, "rint": np.rint, "fmod": np.fmod,
    "power": power, "absolute": abs,
}  # fmt: skip
