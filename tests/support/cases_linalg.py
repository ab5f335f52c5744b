"""Rows of `tf.linalg`."""

import numpy as np
import scipy.linalg
from op_case import ALL, MISSING, STOP, Case, F, over

TWO = ((-2.0, 2.0),) * 2
ONE = ((-2.0, 2.0),)


def einsum(equation, *shapes):
    """A row of one einsum equation."""
    return Case(
        "einsum",
        lambda *xs: np.einsum(equation, *xs),
        TWO[:1] * len(shapes),
        ulp=64,
        dtypes=(*F, "int32"),
        variants=over(shapes if len(shapes) > 1 else shapes[0]),
        call=lambda f, *xs: f(equation, *xs),
    )


EINSUM = [
    einsum("ij,jk->ik", (3, 4), (4, 2)),
    einsum("ji,kj", (4, 3), (2, 4)),
    einsum("bij,bkj->bki", (2, 3, 4), (2, 2, 4)),
    einsum("...ij,j...->i...", (2, 3, 4), (4, 1)),
    einsum("abc,cab->", (2, 3, 4), (4, 2, 3)),
    einsum("i,j->ji", (3,), (2,)),
    einsum("...ii->i...", (2, 3, 3)),
    einsum("iij,jk,kl->li", (2, 2, 3), (3, 4), (4, 2)),
    einsum("aibj,jbc->ciab", (2, 3, 2, 2), (2, 2, 3)),
    einsum("ij,kl->i", (2, 3), (2, 2)),
]


def turn(x):
    """Transposes matrices: arrays, or tensors of either library."""
    if isinstance(x, np.ndarray):
        return x.swapaxes(-1, -2)
    module = __import__("numtape" if type(x).__module__.startswith("numtape") else "tensorflow")
    return module.linalg.adjoint(x)


def shifted(x, by=6.0):
    """Invertible matrices."""
    return x + by * np.eye(x.shape[-1], dtype=getattr(x.dtype, "as_numpy_dtype", x.dtype))


def positive(x):
    """Symmetric positive definite matrices."""
    return shifted(x + turn(x), 12.0)


def on(prepared, reference, name, variants, **more):
    """A row whose first operand is preprocessed."""
    return Case(
        name,
        lambda x, *rest, **key: reference(prepared(x), *rest, **key),
        TWO,
        ulp=512,
        variants=variants,
        call=lambda f, x, *rest, **key: f(prepared(x), *rest, **key),
        **more,
    )


def solved(a, b, adjoint=False):
    return np.linalg.solve(turn(a) if adjoint else a, b)


def solved_triangle(a, b, lower=True, adjoint=False):
    return solved(np.tril(a) if lower else np.triu(a), b, adjoint)


def parts(function, **options):
    """A function's results without their signs, which are arbitrary."""
    return lambda f, x, **key: [abs(part) for part in f(x, **options, **key)]


def svd(x, full_matrices=False):
    found = np.linalg.svd(x, full_matrices=full_matrices)
    return [np.abs(part) for part in (found.S, found.U, turn(found.Vh))]


def qr(x, full_matrices=False):
    return [np.abs(part) for part in np.linalg.qr(x, "complete" if full_matrices else "reduced")]


SQUARE = over((3, 3), (2, 2, 2))
SOLVES = over(((3, 3), (3, 2)), ((2, 2, 2), (2, 2, 1)), adjoint=[False, True])
FACTORED = [
    on(
        shifted,
        lambda a, adjoint=False: np.linalg.inv(turn(a) if adjoint else a),
        "linalg.inv",
        [*SQUARE, ([(3, 3)], {"adjoint": True})],
    ),
    on(shifted, solved, "linalg.solve", SOLVES),
    on(shifted, np.linalg.det, "linalg.det", [*SQUARE, ([(0, 0)], {})]),
    Case(
        "linalg.slogdet",
        lambda x: list(np.linalg.slogdet(shifted(x))),
        ulp=512,
        variants=SQUARE,
        call=lambda f, x: list(f(shifted(x))),
    ),
    on(
        shifted,
        solved_triangle,
        "linalg.triangular_solve",
        [*over(((3, 3), (3, 2)), ((2, 2), (2, 2, 1)), lower=[True, False], adjoint=[False, True])],
    ),
    on(
        shifted,
        lambda c, b: solved(np.tril(c) @ turn(np.tril(c)), b),
        "linalg.cholesky_solve",
        over(((3, 3), (3, 2)), ((2, 2), (2, 2, 1))),
    ),
    on(positive, np.linalg.cholesky, "linalg.cholesky", [*SQUARE, ([(0, 0)], {})]),
    on(positive, lambda a: np.linalg.slogdet(a)[1], "linalg.logdet", SQUARE),
]

DECOMPOSED = [
    Case(
        "linalg.svd",
        svd,
        ulp=512,
        call=parts("svd"),
        variants=[*over((3, 3), (4, 2), (2, 2, 4)), *over((3, 2), (2, 3), full_matrices=[True])],
    ),
    Case(
        "linalg.svd",
        lambda x: np.linalg.svd(x, compute_uv=False),
        ulp=512,
        call=lambda f, x: f(x, compute_uv=False),
        variants=over((3, 3), (2, 4, 2)),
    ),
    Case(
        "linalg.qr",
        qr,
        ulp=512,
        call=parts("qr"),
        variants=[*over((3, 3), (4, 2), (2, 2, 4)), *over((2, 3), full_matrices=[True])],
    ),
    Case(
        "linalg.eigh",
        lambda x: [np.abs(part) for part in np.linalg.eigh(x)],
        ulp=512,
        call=parts("eigh"),
        variants=SQUARE,
    ),
    Case("linalg.eigvalsh", np.linalg.eigvalsh, ulp=512, variants=SQUARE),
]


def lu(x):
    """LAPACK's LU decomposition, one matrix at a time."""
    if x.ndim > 2:
        found = [lu(matrix) for matrix in x]
        return [np.stack(part) for part in zip(*found, strict=True)]
    factors, pivots = scipy.linalg.lu_factor(x)
    order = np.arange(len(x))
    for k, other in enumerate(pivots):
        order[[k, other]] = order[[other, k]]
    return [factors, order.astype("int32")]


def of_lu(a):
    return (np.tril(a, -1) + np.eye(a.shape[-1])) @ np.triu(a)


PERM = {"perm": np.array([1, 2, 0])}
OF_LU = [
    Case("linalg.lu", lu, ulp=512, order=MISSING, variants=SQUARE, call=lambda f, x: list(f(x))),
    on(
        shifted,
        lambda a, perm: of_lu(a)[..., np.argsort(perm), :],
        "linalg.lu_reconstruct",
        [([(3, 3)], PERM), ([(2, 3, 3)], PERM)],
    ),
    Case(
        "linalg.lu_solve",
        lambda a, b, perm: solved(of_lu(shifted(a)), b[..., perm, :]),
        TWO,
        ulp=512,
        call=lambda f, a, b, perm: f(shifted(a), perm, b),
        variants=[([(3, 3), (3, 2)], PERM)],
    ),
    on(
        shifted,
        lambda a, perm: np.linalg.inv(of_lu(a))[..., np.argsort(perm)],
        "linalg.lu_matrix_inverse",
        [([(3, 3)], PERM)],
    ),
]


# Banded matrices.


def heavy(x, at=1):
    """Packed diagonals, one of which is large enough to make the matrices invertible."""
    by = np.zeros((*x.shape[-2:-1], 1), getattr(x.dtype, "as_numpy_dtype", x.dtype))
    by[at] = 6
    return x + by


def spread(bands, high=1):
    """The matrices of packed diagonals, the highest first, with the given alignment."""
    *lead, count, n = bands.shape
    found = np.zeros((*lead, n, n), bands.dtype)
    for j, k in enumerate(range(high, high - count, -1)):
        part = bands[..., j, : n - k] if k >= 0 else bands[..., j, -k:]
        at = np.arange(n - abs(k))
        found[..., at + max(-k, 0), at + max(k, 0)] = part
    return found


def banded_solution(bands, b, lower=True, adjoint=False):
    return solved(spread(bands, 0 if lower else bands.shape[-2] - 1), b, adjoint)


def tridiagonal(main, beside):
    return np.diag(main) + np.diag(beside, 1) + np.diag(beside, -1)


THREE = over(((3, 4), (4, 2)), ((2, 3, 3), (2, 3, 1)), ((3, 1), (1, 2)))
BANDED = [
    Case("linalg.tridiagonal_matmul", lambda d, x: spread(d) @ x, TWO, ulp=16, variants=THREE),
    on(heavy, lambda d, b: solved(spread(d), b), "linalg.tridiagonal_solve", THREE),
    Case(
        "linalg.tridiagonal_solve",
        lambda d, b: solved(spread(heavy(d)), b[..., None])[..., 0],
        TWO,
        ulp=512,
        variants=over(((3, 4), (4,)), ((2, 3, 3), (2, 3))),
        call=lambda f, d, b: f(heavy(d), b),
    ),
    Case(
        "linalg.tridiagonal_solve",
        lambda a, b: solved(np.triu(np.tril(shifted(a), 1), -1), b),
        TWO,
        ulp=512,
        variants=over(((4, 4), (4, 2))),
        call=lambda f, a, b: f(shifted(a), b, diagonals_format="matrix"),
    ),
    *(
        Case(
            "linalg.banded_triangular_solve",
            lambda x, b, at, **key: banded_solution(heavy(x, at), b, **key),
            TWO,
            ulp=512,
            variants=over(
                ((2, 4), (4, 2)),
                ((2, 3, 3), (2, 3, 1)),
                at=[0 if lower else -1],
                lower=[lower],
                adjoint=[False, True],
            ),
            call=lambda f, x, b, at, **key: f(heavy(x, at), b, **key),
        )
        for lower in (True, False)
    ),
    Case(
        "linalg.eigh_tridiagonal",
        lambda d, e: np.linalg.eigvalsh(tridiagonal(d, e)),
        TWO,
        ulp=64,
        variants=over(((4,), (3,)), ((1,), (0,))),
    ),
    Case(
        "linalg.eigh_tridiagonal",
        lambda d, e, **_: [np.abs(x[..., 1:3]) for x in np.linalg.eigh(tridiagonal(d, e))],
        TWO,
        ulp=512,
        call=lambda f, d, e, **key: [abs(x) for x in f(d, e, **key)],
        variants=over(((4,), (3,)), eigvals_only=[False], select=["i"], select_range=[(1, 2)]),
    ),
]


# Ops that move elements.


def banded(x, num_lower, num_upper):
    x = x if num_lower < 0 else np.triu(x, -num_lower)
    return x if num_upper < 0 else np.tril(x, num_upper)


def diagonals(x, k=0, padding_value=0):
    """The diagonals of one matrix, the highest first, with alignment RIGHT_LEFT."""
    if isinstance(k, int):
        return np.diagonal(x, k, -2, -1)
    found = [np.diagonal(x, j) for j in range(k[1], k[0] - 1, -1)]
    longest = max(map(len, found))
    return np.stack(
        [
            np.pad(
                part,
                (longest - len(part), 0)[:: 1 if j >= 0 else -1],
                constant_values=padding_value,
            )
            for j, part in zip(range(k[1], k[0] - 1, -1), found, strict=True)
        ]
    )


def with_diagonal(x, d, k=0):
    found = x.copy()
    at = np.arange(d.shape[-1])
    found[..., at + max(-k, 0), at + max(k, 0)] = d
    return found


def move(name, reference, variants, ranges=ONE, **more):
    return Case(f"linalg.{name}", reference, ranges, dtypes=ALL, ulp=0, variants=variants, **more)


def in_diagonal(x, k=0, padding_value=0):
    n = x.shape[-1] + abs(k)
    return with_diagonal(np.full((*x.shape[:-1], n, n), padding_value, x.dtype), x, k)


MOVED = [
    move("band_part", banded, over((3, 4), (2, 3, 3), num_lower=[-1, 0, 1], num_upper=[-1, 0, 2])),
    move("matrix_transpose", turn, over((3, 4), (2, 3, 2))),
    move("adjoint", turn, over((3, 4), (0, 2))),
    move(
        "diag_part",
        diagonals,
        [
            *over((3, 4), (2, 4, 3), k=[0, 1, -2]),
            *over((0, 3)),
            *over((3, 4), k=[(-1, 2), (0, 1), (-2, -1)]),
        ],
    ),
    move(
        "diag",
        in_diagonal,
        [*over((3,), (2, 2), (0,)), *over((3,), k=[1, -2]), *over((2,), padding_value=[1])],
    ),
    move(
        "set_diag",
        with_diagonal,
        [
            *over(((3, 4), (3,)), ((2, 2, 2), (2, 2))),
            *over(((3, 4), (3,)), k=[1]),
            *over(((3, 4), (2,)), k=[-1]),
        ],
        TWO,
    ),
    move("tensor_diag", lambda x: np.diag(x.ravel()).reshape(x.shape * 2), over((3,), (2, 3))),
    move(
        "tensor_diag_part",
        lambda x: (
            np.diagonal(x.reshape(6, 6)).reshape(2, 3).copy() if x.ndim == 4 else np.diagonal(x)
        ),
        over((3, 3), (2, 3, 2, 3)),
    ),
    Case(
        "linalg.trace",
        lambda x: np.trace(x, axis1=-2, axis2=-1, dtype=x.dtype),
        ulp=32,
        dtypes=(*F, "int32"),
        variants=over((3, 3), (2, 3, 4)),
    ),
    Case(
        "linalg.cross",
        np.cross,
        TWO,
        ulp=8,
        dtypes=(*F, "int32"),
        variants=over(((3,), (3,)), ((2, 3), (2, 3))),
    ),
]


def normalized(x, axis=None):
    norm = np.sqrt(np.square(x).sum(axis, keepdims=True))
    return [x / norm, norm]


FUNCTIONS = [
    Case("linalg.expm", scipy.linalg.expm, ulp=512, variants=SQUARE),
    on(
        shifted,
        lambda a: (
            np.stack([scipy.linalg.sqrtm(x) for x in a]) if a.ndim > 2 else scipy.linalg.sqrtm(a)
        ),
        "linalg.sqrtm",
        SQUARE,
    ),
    Case("linalg.pinv", np.linalg.pinv, ulp=2048, variants=over((3, 2), (2, 2, 3))),
    Case(
        "linalg.matrix_rank",
        lambda x: np.linalg.matrix_rank(x).astype("int32"),
        order=STOP,
        variants=over((3, 2), (2, 2, 3)),
        special=[([[[1.0, 2.0], [2.0, 4.0]]], {})],
    ),
    Case(
        "linalg.lstsq",
        lambda a, b: np.linalg.pinv(a) @ b,
        TWO,
        ulp=4096,
        variants=over(((4, 2), (4, 1)), ((2, 3), (2, 2))),
    ),
    # Without a gradient, which is a ValueError in TensorFlow as well.
    Case(
        "linalg.lstsq",
        lambda a, b: np.linalg.pinv(a) @ b,
        TWO,
        ulp=512,
        dtypes=("float64",),
        call=lambda f, a, b: f(a, b, fast=False),
        variants=over(((4, 2), (4, 1))),
        order=STOP,
    ),
    Case(
        "linalg.normalize",
        normalized,
        ulp=16,
        call=lambda f, x, **key: list(f(x, **key)),
        variants=over((3, 2), axis=[None, 1]),
    ),
    Case(
        "norm",
        lambda x, axis, keepdims: np.linalg.norm(x, 2, axis, keepdims),
        ulp=64,
        call=lambda f, x, **key: f(x, ord=2, **key),
        variants=over((2, 3, 2), axis=[(0, 1), (2, 0)], keepdims=[False, True]),
    ),
]

CASES = [*EINSUM, *FACTORED, *DECOMPOSED, *OF_LU, *MOVED, *FUNCTIONS, *BANDED]
