"""Bessel functions of order 0 and 1, with derivatives of every order.

Abramowitz and Stegun, "Handbook of Mathematical Functions" (1964), 9.1.27 and 9.6.26: the
derivative of one of order n is made of those of orders n - 1 and n + 1, with no quotient that fails
at 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..log.op import ARRAY, defop
from ..log.record import Recorder, record
from ..values.tensor import Tensor
from . import rules
from .define import host_op, name_of
from .elementwise import multiply_no_nan, negative, reciprocal, sign

Array = np.ndarray[Any, Any]
Higher = Callable[[Any, int], Tensor]


def _positive(name: str, below: float) -> Callable[[Array], Array]:
    """One of a positive argument; for a negative one TensorFlow gives the limit at 0."""

    def compute(x: Array) -> Array:
        import scipy.special

        wide = np.asarray(x, np.float64)
        return np.where(wide < 0, below, getattr(scipy.special, name)(wide))

    return compute


def _higher(
    name: str, function: str | Callable[[int, Array], Array], slope: Callable[..., Tensor]
) -> Higher:
    """Those of order 2 and more of one kind, which only derivatives need."""

    def compute(out: Array, x: Array, order: int) -> None:
        import scipy.special

        known = getattr(scipy.special, function) if isinstance(function, str) else function
        out[...] = known(order, np.asarray(x, np.float64))

    def vjp(g: Tensor, y: Tensor, x: Tensor, order: int) -> tuple[Tensor]:
        return (multiply_no_nan(slope(x, y, order), g),)

    op = defop(
        name, ARRAY, 1, rules.floating, compute=compute, vjp=vjp, on_host=True, elementwise=True
    )
    return lambda x, order: record(op, (x,), order=order)


# Modified, of the first kind.

bessel_i0 = host_op(
    "BesselI0",
    "scipy.special.i0",
    lambda g, y, x: (multiply_no_nan(bessel_i1(x), g),),
    doc="""
    The modified Bessel function of the first kind of order 0, elementwise.

    >>> tf.math.bessel_i0([0.0, 1.0]).numpy()
    array([1.       , 1.2660658], dtype=float32)
""",
)
bessel_i1: Recorder = host_op(
    "BesselI1",
    "scipy.special.i1",
    lambda g, y, x: (multiply_no_nan(0.5 * (bessel_i0(x) + _iv(x, 2)), g),),
    doc="""
    The modified Bessel function of the first kind of order 1, elementwise.

    Its derivative at 0 is 1/2.

    >>> tf.math.bessel_i1([0.0, 1.0]).numpy()
    array([0.       , 0.5651591], dtype=float32)
""",
)
_iv: Higher = _higher(
    "BesselIv",
    "iv",
    lambda x, y, n: 0.5 * ((bessel_i1(x) if n == 2 else _iv(x, n - 1)) + _iv(x, n + 1)),
)
bessel_i0e: Recorder = host_op(
    "BesselI0e",
    "scipy.special.i0e",
    lambda g, y, x: (multiply_no_nan(bessel_i1e(x) - sign(x) * y, g),),
    doc="""
    ``exp(-|x|) * bessel_i0(x)``, elementwise, without overflow.

    >>> tf.math.bessel_i0e([0.0, 1.0]).numpy()
    array([1.       , 0.4657596], dtype=float32)
""",
)
bessel_i1e: Recorder = host_op(
    "BesselI1e",
    "scipy.special.i1e",
    lambda g, y, x: (multiply_no_nan(0.5 * (bessel_i0e(x) + _ive(x, 2)) - sign(x) * y, g),),
    doc="""
    ``exp(-|x|) * bessel_i1(x)``, elementwise, without overflow. Its derivative at 0 is 1/2.

    >>> tf.math.bessel_i1e([0.0, 1.0]).numpy()
    array([0.        , 0.20791042], dtype=float32)
""",
)


def _scale(order: int, x: Array) -> Array:
    """SciPy's `ive`, and where that is lost, beyond 1e9, its asymptotic series (9.7.1)."""
    from scipy.special import i0e, ive

    large = np.maximum(np.abs(x), 1e9)
    far = i0e(large) * np.exp(-order * order / (2 * large))
    odd = np.sign(x) if order % 2 else 1.0
    return np.where(np.abs(x) > 1e9, odd * far, ive(order, x))


_ive: Higher = _higher(
    "BesselIve",
    _scale,
    lambda x, y, n: (
        0.5 * ((bessel_i1e(x) if n == 2 else _ive(x, n - 1)) + _ive(x, n + 1)) - sign(x) * y
    ),
)

# Modified, of the second kind.

bessel_k0 = host_op(
    "BesselK0",
    _positive("k0", np.inf),
    lambda g, y, x: (negative(multiply_no_nan(bessel_k1(x), g)),),
    doc="""
    The modified Bessel function of the second kind of order 0, elementwise.

    It is infinite at 0, and for negative numbers, too.

    >>> tf.math.special.bessel_k0([1.0, 2.0]).numpy()
    array([0.42102444, 0.11389387], dtype=float32)
""",
)
bessel_k1: Recorder = host_op(
    "BesselK1",
    _positive("k1", np.inf),
    lambda g, y, x: (negative(multiply_no_nan(bessel_k0(x) + y / x, g)),),
    doc="""
    The modified Bessel function of the second kind of order 1, elementwise.

    It is infinite at 0, and for negative numbers, too.

    >>> tf.math.special.bessel_k1([1.0, 2.0]).numpy()
    array([0.6019072 , 0.13986588], dtype=float32)
""",
)
bessel_k0e = host_op(
    "BesselK0e",
    _positive("k0e", np.inf),
    lambda g, y, x: (multiply_no_nan(y - bessel_k1e(x), g),),
    doc="""
    ``exp(x) * bessel_k0(x)``, elementwise, without underflow.

    >>> tf.math.special.bessel_k0e([1.0, 2.0]).numpy()
    array([1.144463 , 0.8415682], dtype=float32)
""",
)
bessel_k1e: Recorder = host_op(
    "BesselK1e",
    _positive("k1e", np.inf),
    lambda g, y, x: (multiply_no_nan(y * (1.0 - reciprocal(x)) - bessel_k0e(x), g),),
    doc="""
    ``exp(x) * bessel_k1(x)``, elementwise, without underflow.

    >>> tf.math.special.bessel_k1e([1.0, 2.0]).numpy()
    array([1.6361535, 1.0334768], dtype=float32)
""",
)

# Of the first and of the second kind.

bessel_j0 = host_op(
    "BesselJ0",
    "scipy.special.j0",
    lambda g, y, x: (negative(multiply_no_nan(bessel_j1(x), g)),),
    doc="""
    The Bessel function of the first kind of order 0, elementwise.

    >>> tf.math.special.bessel_j0([0.0, 1.0]).numpy()
    array([1.       , 0.7651977], dtype=float32)
""",
)
bessel_j1: Recorder = host_op(
    "BesselJ1",
    "scipy.special.j1",
    lambda g, y, x: (multiply_no_nan(0.5 * (bessel_j0(x) - _jv(x, 2)), g),),
    doc="""
    The Bessel function of the first kind of order 1, elementwise.

    >>> tf.math.special.bessel_j1([0.0, 1.0]).numpy()
    array([0.        , 0.44005057], dtype=float32)
""",
)
_jv: Higher = _higher(
    "BesselJv",
    "jv",
    lambda x, y, n: 0.5 * ((bessel_j1(x) if n == 2 else _jv(x, n - 1)) - _jv(x, n + 1)),
)
bessel_y0 = host_op(
    "BesselY0",
    _positive("y0", -np.inf),
    lambda g, y, x: (negative(multiply_no_nan(bessel_y1(x), g)),),
    doc="""
    The Bessel function of the second kind of order 0, elementwise.

    It is minus infinity at 0, and for negative numbers, too.

    >>> tf.math.special.bessel_y0([1.0, 2.0]).numpy()
    array([0.08825696, 0.51037567], dtype=float32)
""",
)
bessel_y1: Recorder = host_op(
    "BesselY1",
    _positive("y1", -np.inf),
    lambda g, y, x: (multiply_no_nan(bessel_y0(x) - y / x, g),),
    doc="""
    The Bessel function of the second kind of order 1, elementwise.

    It is minus infinity at 0, and for negative numbers, too.

    >>> tf.math.special.bessel_y1([1.0, 2.0]).numpy()
    array([-0.7812128 , -0.10703243], dtype=float32)
""",
)

name_of(globals(), __name__)
