"""Functions of numbers that derivatives need and the math module lacks. They run as Python, too."""

from __future__ import annotations

import math

import numpy as np

# The terms of digamma's asymptotic series: Bernoulli's numbers B(2k) over 2k, from k = 1 on.
_TERMS = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)


def digamma(x: float) -> float:
    """The derivative of the logarithm of the gamma function; NaN at 0 and negative integers.

    Abramowitz and Stegun, "Handbook of Mathematical Functions", 6.3.5, 6.3.7 and 6.3.18.
    """
    found = 0.0
    z = x * 1.0
    if z <= 0.0:
        if np.floor(z) == z:
            return math.nan
        part = z - np.floor(z)
        found -= math.pi / math.tan(math.pi * part)
        z = 1.0 - z
    while z < 10.0:
        found -= 1.0 / z
        z += 1.0
    square = 1.0 / (z * z)
    power = square
    for term in _TERMS:
        found -= term * power
        power *= square
    return found + math.log(z) - 0.5 / z
