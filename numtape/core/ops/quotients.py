"""The adjoint of a divisor."""

from __future__ import annotations

from ..log.op import ELEMENTWISE, defop
from ..log.ternary import ternary
from ..values.tensor import Tensor
from . import rules

# ``-(x / z) * y`` for the adjoint x of a quotient y by z. Where x / z overflows and the result does
# not, it is ``-(x * y) / z``; where x or y is 0 it is 0, whatever the others are. A loop computes
# x / z once for both operands' adjoints.
_adjoint = ternary(
    defop(
        "DivisorAdjoint",
        ELEMENTWISE,
        3,
        rules.analytic,
        body="divisor_adjoint(x, y, z)",
        vjp=lambda g, s, x, y, z: (of_divisor(g, y, z), of_divisor(g, x, z), of_divisor(g, s, z)),
    )
)


def of_divisor(g: Tensor, quotient: Tensor, divisor: Tensor) -> Tensor:
    """The adjoint of a divisor, for the adjoint ``g`` of the quotient."""
    return _adjoint(g, quotient, divisor)
