"""The adjoint of a divisor, which shares a division with that of what is divided."""

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


def of_divisor(x: Tensor, z: Tensor, g: Tensor) -> Tensor:
    """The adjoint of the divisor of a quotient ``z``, of which ``x`` is that of the other one."""
    return -(x * z) if z.dtype.is_complex else _shared(x, z, g)
