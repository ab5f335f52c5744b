"""Determinants from LU factors, as `systems.factor` and `lapack.factor` store them.

A unit of work is a matrix, ``y`` its factors: n * n elements of both triangles, then the pivot row
of each step. The only parameter is n. See `arrays` for the arguments of kernels.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import types

from ..functions import vector
from ..jit import POINTERS, inline

number = POINTERS["int64"]


def _sign(dtype: str) -> Any:
    """The function that computes the sign of the permutation of n rows from their pivots."""
    at, kind = POINTERS[dtype], getattr(types, dtype)

    def sign(pivots_: int, n: int) -> Any:
        pivots, result = at(pivots_), kind(1)
        for k in range(n):
            if pivots[k] != k:
                result = -result
        return result

    return inline(sign)


def det(dtype: str) -> Any:
    """Determinants."""
    at, size = POINTERS[dtype], getattr(types, dtype).bitwidth // 8
    kind, sign = getattr(types, dtype), _sign(dtype)

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        n, out = number(parameters)[0], at(out_)
        for unit in range(begin, end):
            factors = y_ + unit * n * (n + 1) * size
            product = kind(1)
            for k in range(n):
                product *= at(factors)[k * (n + 1)]
            out[unit] = sign(factors + n * n * size, n) * product

    return kernel


def log_det(dtype: str) -> Any:
    """Signs of determinants, and logarithms of their absolute values, which float64 adds."""
    at, size = POINTERS[dtype], getattr(types, dtype).bitwidth // 8
    kind, sign, log = getattr(types, dtype), _sign(dtype), vector.FUNCTIONS["log"]

    def kernel(out_: int, x_: int, y_: int, z_: int, parameters: int, begin: int, end: int) -> None:
        n, out = number(parameters)[0], at(out_)
        for unit in range(begin, end):
            factors = y_ + unit * n * (n + 1) * size
            total, total_sign = types.float64(0), sign(factors + n * n * size, n)
            for k in range(n):
                pivot = at(factors)[k * (n + 1)]
                if pivot < 0:
                    total_sign = -total_sign
                elif not pivot > 0:  # 0 or NaN
                    total_sign *= pivot
                total += log(types.float64(abs(pivot)))
            # A sign of zero is positive, as that of np.sign.
            out[2 * unit] = total_sign if total_sign != 0 else kind(0)
            out[2 * unit + 1] = total

    return kernel


KERNELS: dict[str, Callable[..., Any]] = {"det": det, "log_det": log_det}
