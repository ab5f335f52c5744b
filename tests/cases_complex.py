"""Rows of functions of complex numbers: of real and imaginary parts, which are what is drawn.

So the values, and the derivatives to third order, are compared with those of real functions.
"""

from dataclasses import dataclass

import numpy as np
from op_case import Case, over

WHOLE = ((2, 3), (2, 3))


@dataclass(frozen=True)
class Complex(Case):
    """A row whose operands are pairs of parts, and whose result is a list of both."""

    def function(self, tf):
        """The function of parts."""
        found = super().function(tf)
        if self.name == "complex":
            return lambda x, y: [tf.math.real(found(x, y)), tf.math.imag(found(x, y))]

        def of_parts(*parts, **options):
            pairs = zip(parts[::2], parts[1::2], strict=True)
            operands = parts if len(parts) == 1 else [tf.complex(x, y) for x, y in pairs]
            result = found(*operands, **options)
            if result.dtype.is_complex:
                return [tf.math.real(result), tf.math.imag(result)]
            return result

        return of_parts


def row(name, reference, *ranges, shapes=((2, 3),), order=2, ulp=4, **options):
    """A row: ``reference`` is a function of complex arrays, ``ranges`` those of its operands."""

    def of_parts(*parts, **options):
        pairs = zip(parts[::2], parts[1::2], strict=True)
        result = reference(*(x + 1j * y for x, y in pairs), **options)
        return [result.real, result.imag] if result.dtype.kind == "c" else result

    spans = tuple(span for span in (ranges or ((0.4, 1.8),) * len(shapes)) for _ in range(2))
    pairs = tuple(shape for shape in shapes for _ in range(2))
    return Complex(name, of_parts, spans, variants=over(pairs, **options), ulp=ulp, order=order)


def no_nan(function):
    return lambda x, y: np.where(y == 0, 0, function(x, np.where(y == 0, 1, y)))


CASES = [
    Complex("complex", lambda x, y: [*np.broadcast_arrays(x, y)], ((-2.0, 2.0),) * 2, ulp=0,
            variants=over(((2, 3), (3,)))),
    row("math.real", np.real, ulp=0), row("math.imag", np.imag, ulp=0), row("math.angle", np.angle),
    row("math.conj", np.conj, ulp=0), row("abs", np.abs), row("negative", np.negative, ulp=0),
    row("square", np.square), row("sqrt", np.sqrt), row("math.rsqrt", lambda x: 1 / np.sqrt(x)),
    row("math.reciprocal", lambda x: 1 / x), row("exp", np.exp), row("math.expm1", np.expm1),
    row("math.log", np.log), row("math.log1p", np.log1p, ulp=8), row("sin", np.sin),
    row("cos", np.cos), row("tan", np.tan), row("sinh", np.sinh), row("cosh", np.cosh),
    row("tanh", np.tanh), row("sigmoid", lambda x: 1 / (1 + np.exp(-x))),
    row("asin", np.arcsin, ulp=8), row("acos", np.arccos, ulp=8), row("atan", np.arctan, ulp=8),
    row("asinh", np.arcsinh, ulp=8), row("acosh", np.arccosh, ulp=8),
    row("atanh", np.arctanh, ulp=8),
    row("multiply", np.multiply, shapes=((2, 3), (3,))),
    row("divide", np.divide, shapes=((2, 3), (3,))),
    row("pow", np.power, shapes=WHOLE, ulp=8),
    row("math.divide_no_nan", no_nan(np.divide), shapes=WHOLE),
    row("math.multiply_no_nan", no_nan(np.multiply), shapes=WHOLE),
    row("matmul", lambda a, b: a @ b, shapes=((2, 3), (3, 2))),
    row("reduce_sum", np.sum, axis=[0, None]),
    row("reduce_mean", np.mean, axis=[1]),
    row("reduce_prod", np.prod, axis=[1], ulp=8),
    row("transpose", np.transpose, ulp=0),
]  # fmt: skip
