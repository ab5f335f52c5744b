"""Rows of complex functions, as functions of their real and imaginary parts.

Values and derivatives to third order are compared with those of real functions.
"""

from dataclasses import dataclass, replace

import numpy as np
import scipy.linalg
from cases_linalg import heavy, spread
from op_case import MISSING, Case, over

WHOLE = ((2, 3), (2, 3))


@dataclass(frozen=True)
class Complex(Case):
    """A row whose operands are pairs of parts, and whose result is a list of both."""

    def function(self, tf):
        """The function of real and imaginary parts."""
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


def row(name, reference, *ranges, shapes=((2, 3),), order=2, ulp=4, call=None, **options):
    """A row: ``reference`` is a function of complex arrays, ``ranges`` are its operands'."""

    def of_parts(*parts, **options):
        pairs = zip(parts[::2], parts[1::2], strict=True)
        result = reference(*(x + 1j * y for x, y in pairs), **options)
        return [result.real, result.imag] if result.dtype.kind == "c" else result

    spans = tuple(span for span in (ranges or ((0.4, 1.8),) * len(shapes)) for _ in range(2))
    pairs = tuple(shape for shape in shapes for _ in range(2))
    return Complex(
        name, of_parts, spans, variants=over(pairs, **options), ulp=ulp, order=order, call=call
    )


def no_nan(function):
    return lambda x, y: np.where(y == 0, 0, function(x, np.where(y == 0, 1, y)))


def adjoint(x):
    """The adjoint of arrays, or of tensors of either library."""
    if isinstance(x, np.ndarray):
        return x.swapaxes(-1, -2).conj()
    module = __import__("numtape" if type(x).__module__.startswith("numtape") else "tensorflow")
    return module.linalg.adjoint(x)


def gram(x):
    """Hermitian matrices with distinct eigenvalues, from square ones."""
    return x @ adjoint(x) + np.diag([1.0, 2.0, 4.0]).astype(
        getattr(x.dtype, "as_numpy_dtype", x.dtype)
    )


def shifted(x):
    """Invertible matrices."""
    return x + np.diag([3.0, 4.0j, -5.0]).astype(getattr(x.dtype, "as_numpy_dtype", x.dtype))


def on(prepared, name, reference, *shapes, **options):
    """A row of preprocessed square matrices."""
    return row(
        name,
        lambda x, *rest, **key: reference(prepared(x), *rest, **key),
        ulp=512,
        shapes=((3, 3), *shapes),
        call=lambda f, x, *rest, **key: f(prepared(x), *rest, **key),
        **options,
    )


def taken(prepared, name, choice, numpy=None, shape=(3, 3)):
    """A row of a function of a decomposition that does not depend on phases."""
    return row(
        name,
        lambda x: choice(numpy(prepared(x))),
        ulp=512,
        shapes=(shape,),
        call=lambda f, x: choice(f(prepared(x))),
    )


def first(u, v):
    """The product of the first vectors."""
    return u[..., :1] @ adjoint(v[..., :1])


def numpy_svd(x):
    u, s, vh = np.linalg.svd(x, full_matrices=False)
    return s, u, adjoint(vh)


def solved(a, b, adjoint=False):
    return np.linalg.solve(a.conj().T if adjoint else a, b)


def root(x):
    return scipy.linalg.sqrtm(np.asarray(x, np.complex128))


MATRICES = [
    on(shifted, "linalg.det", np.linalg.det),
    on(shifted, "linalg.inv", np.linalg.inv),
    on(shifted, "linalg.solve", solved, (3, 2), adjoint=[False, True]),
    on(
        shifted,
        "linalg.triangular_solve",
        lambda a, b, **key: solved(np.tril(a), b, **key),
        (3, 2),
        adjoint=[False, True],
    ),
    on(heavy, "linalg.tridiagonal_solve", lambda d, b: solved(spread(d), b), (3, 2)),
    taken(shifted, "linalg.slogdet", lambda found: found[0], np.linalg.slogdet),
    on(gram, "linalg.cholesky", np.linalg.cholesky),
    on(gram, "linalg.eigvalsh", lambda x: np.linalg.eigvalsh(x) + 0j),
    on(gram, "linalg.sqrtm", root),
    on(shifted, "linalg.eigvals", np.linalg.eigvals),
    on(lambda x: x * 0.1, "linalg.expm", lambda x: scipy.linalg.expm(np.complex128(x))),
    replace(on(gram, "linalg.logm", lambda x: scipy.linalg.logm(np.complex128(x))), order=MISSING),
    taken(shifted, "linalg.eig", lambda found: abs(found[1]), np.linalg.eig),
    taken(gram, "linalg.eigh", lambda found: first(found[1], found[1]), np.linalg.eigh),
    taken(lambda x: x, "linalg.svd", lambda found: first(*found[1:]), numpy_svd, (3, 2)),
    taken(lambda x: x, "linalg.svd", lambda found: first(*found[1:]), numpy_svd, (2, 3)),
    taken(lambda x: x, "linalg.qr", lambda found: found[1], np.linalg.qr, (3, 2)),
    row("matmul", lambda a, b, **_: adjoint(a) @ b, shapes=((3, 2), (3, 2)), adjoint_a=[True]),
    row("transpose", lambda x, **_: adjoint(x), ulp=0, conjugate=[True]),
    row("norm", lambda x: np.sqrt((abs(x) ** 2).sum()) + 0j, ulp=8),
    row(
        "einsum",
        lambda a, b: np.einsum("ij,kj->ik", a, b),
        shapes=WHOLE,
        call=lambda f, a, b: f("ij,kj->ik", a, b),
    ),
]

CASES = [
    *MATRICES,
    Complex(
        "complex",
        lambda x, y: [*np.broadcast_arrays(x, y)],
        ((-2.0, 2.0),) * 2,
        ulp=0,
        variants=over(((2, 3), (3,))),
    ),
    row("math.real", np.real, ulp=0),
    row("math.imag", np.imag, ulp=0),
    row("math.angle", np.angle),
    row("math.conj", np.conj, ulp=0),
    row("abs", np.abs),
    row("negative", np.negative, ulp=0),
    row("square", np.square),
    row("sqrt", np.sqrt),
    row("math.rsqrt", lambda x: 1 / np.sqrt(x)),
    row("math.reciprocal", lambda x: 1 / x),
    row("exp", np.exp),
    row("math.expm1", np.expm1),
    row("math.log", np.log),
    row("math.log1p", np.log1p, ulp=8),
    row("sin", np.sin),
    row("cos", np.cos),
    row("tan", np.tan),
    row("sinh", np.sinh),
    row("cosh", np.cosh),
    row("tanh", np.tanh),
    row("sigmoid", lambda x: 1 / (1 + np.exp(-x))),
    row("asin", np.arcsin, ulp=8),
    row("acos", np.arccos, ulp=8),
    row("atan", np.arctan, ulp=8),
    row("asinh", np.arcsinh, ulp=8),
    row("acosh", np.arccosh, ulp=8),
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
    row("sign", lambda x: x / abs(x)),
    row("math.squared_difference", lambda x, y: abs(x - y) ** 2 + 0j, shapes=WHOLE, ulp=8),
    row("math.reduce_variance", np.var, ulp=8, axis=[1]),
    row("math.reduce_std", np.std, ulp=8, axis=[1]),
    row("math.cumprod", np.cumprod, ulp=8, axis=[1]),
    row("math.xlogy", lambda x, y: x * np.log(y), shapes=WHOLE, ulp=8),
    row(
        "math.segment_mean",
        lambda x: np.stack([x[:2].mean(0), x[2]]),
        shapes=((3, 2),),
        call=lambda f, x: f(x, [0, 0, 1]),
    ),
    row(
        "math.segment_prod",
        lambda x: np.stack([x[:2].prod(0), x[2]]),
        shapes=((3, 2),),
        call=lambda f, x: f(x, [0, 0, 1]),
    ),
    row("math.l2_normalize", lambda x: x / np.linalg.norm(x), ulp=8),
]
