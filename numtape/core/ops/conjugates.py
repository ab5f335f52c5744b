"""The conjugates of complex numbers: what ops below all others need of them."""

from __future__ import annotations

from ..log.op import ELEMENTWISE, defop
from ..log.record import Recorder, unary
from . import rules

conjugate: Recorder = unary(
    defop(
        "Conj",
        ELEMENTWISE,
        1,
        rules.complex_only,
        body="conjugate(x)",
        vjp=lambda g, y, x: (conjugate(g),),
    )
)
