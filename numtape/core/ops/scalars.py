"""Functions that native loops have and tensors do not: records with rules, which no log holds.

`numtape.core.loops.rules` says how they are computed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from ..log.op import ELEMENTWISE, Op
from . import rules
from .comparison import equal_
from .elementwise import exp, negative, ratio_or_zero, rint, select
from .gamma import digamma


def _record(name: str, arity: int, rule: Callable[..., Any]) -> Op:
    return Op(name, ELEMENTWISE, arity, rules.floating, vjp=rule)


LOG_2, LOG_10 = math.log(2.0), math.log(10.0)
exp2 = _record("Exp2", 1, lambda g, z, x: (g * (z * LOG_2),))
log2 = _record("Log2", 1, lambda g, z, x: (ratio_or_zero(g, x * LOG_2),))
log10 = _record("Log10", 1, lambda g, z, x: (ratio_or_zero(g, x * LOG_10),))
cbrt = _record("Cbrt", 1, lambda g, z, x: (ratio_or_zero(g, 3.0 * (z * z)),))
degrees = _record("Degrees", 1, lambda g, z, x: (g * (180.0 / math.pi),))
radians = _record("Radians", 1, lambda g, z, x: (g * (math.pi / 180.0),))
gamma = _record("Gamma", 1, lambda g, z, x: (g * (z * digamma(x)),))
# The quotient without what is behind the point: (x - z) / y but for rounding.
fmod = _record("Fmod", 2, lambda g, z, x, y: (g, negative(g * rint((x - z) / y))))
copysign = _record("CopySign", 2, lambda g, z, x, y: (select(equal_(x, z), g, negative(g)), None))
logaddexp = _record("LogAddExp", 2, lambda g, z, x, y: (g * exp(x - z), g * exp(y - z)))
# As maximum and minimum, but a NaN counts as absent.
fmax = _record(
    "FMax", 2, lambda g, z, x, y: (select(equal_(x, z), g, 0.0), select(equal_(x, z), 0.0, g))
)
