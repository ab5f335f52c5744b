"""Scalar functions for derivatives that the math module lacks. They also run as plain Python."""

from __future__ import annotations

import math

import numpy as np

STEEP = 1 - 2.0**-10  # as in kernels/functions/exponential.py

# The terms of digamma's asymptotic series: Bernoulli's numbers B(2k) over 2k, from k = 1 on.
_TERMS = (1 / 12, -1 / 120, 1 / 252, -1 / 240, 1 / 132, -691 / 32760, 1 / 12)


def digamma(x: float) -> float:
    """The derivative of the logarithm of the gamma function; NaN at 0 and negative integers.

    Abramowitz and Stegun, "Handbook of Mathematical Functions", 6.3.5, 6.3.7 and 6.3.18.
    """
    correction = 0.0
    z = x * 1.0
    if z <= 0.0:
        if np.floor(z) == z:
            return math.nan
        part = z - np.floor(z)
        correction -= math.pi / math.tan(math.pi * part)
        z = 1.0 - z
    while z < 10.0:
        correction -= 1.0 / z
        z += 1.0
    square = 1.0 / (z * z)
    power = square
    for term in _TERMS:
        correction -= term * power
        power *= square
    return correction + math.log(z) - 0.5 / z


def tanh_slope(x: float, y: float) -> float:
    """The derivative of ``y = tanh(x)``: of ``x`` where too few digits of ``1 - y`` are left."""
    if abs(y) > STEEP:
        e = math.exp(-2.0 * abs(x))
        return 4.0 * e / ((1.0 + e) * (1.0 + e))
    return 1.0 - y * y


def sigmoid_slope(x: float, y: float) -> float:
    """The derivative of ``y = sigmoid(x)``: of ``x`` where too few digits of ``1 - y`` are left."""
    if y > STEEP:
        e = math.exp(-abs(x))
        return e / ((1.0 + e) * (1.0 + e))
    return y * (1.0 - y)


def ratio_or_zero(x: float, y: float) -> float:
    """``x / y``, or 0 where ``x`` is 0. Divides always, so that loops are vectorized."""
    ratio = x / y
    return ratio if x != 0.0 else 0.0


def divisor_adjoint(x: float, y: float, z: float) -> float:
    """``-(x / z) * y``, or ``-(x * y) / z`` where x / z overflows; 0 where x or y is 0."""
    adjoint = -(x / z * y)
    if not abs(adjoint) < math.inf:
        adjoint = -(x * y) / z
        if x == 0.0 or y == 0.0:
            adjoint = -0.0 * math.copysign(1.0, x) * math.copysign(1.0, y) * math.copysign(1.0, z)
    return adjoint


# Functions that derivatives call by name.
NAMED = (digamma, tanh_slope, sigmoid_slope, ratio_or_zero, divisor_adjoint)
