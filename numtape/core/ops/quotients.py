"""The adjoints of a quotient, which share a division."""

from __future__ import annotations

from ..log.op import ELEMENTWISE, defop
from ..log.ternary import ternary
from ..values.tensor import Tensor
from . import rules

# ``-x * y``, where x is ``z / divisor`` and y another quotient by the same divisor. Where that is
# 0, x may be infinite though z is not: then z takes its place, and the zero keeps its sign.
_shared = ternary(defop(
    "SharedQuotient", ELEMENTWISE, 3, rules.analytic,
    body="-(select(y == 0, copysign(z, x), x) * y)",
    vjp=lambda g, s, x, y, z: (-(g * y), -(g * x), None),
))  # fmt: skip


def of_quotient(g: Tensor, z: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """The adjoints of ``x`` and ``y`` of a quotient ``z``."""
    quotient = g / y
    if z.dtype.is_complex:
        return quotient, -(quotient * z)
    return quotient, _shared(quotient, z, g)
