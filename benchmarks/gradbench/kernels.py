"""The evals as kernels with plain loops, as in Numba code."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

import numtape as tf

Array = Any


def determinant(size: int) -> Any:
    """A kernel for the determinant of a ``size`` x ``size`` matrix by minors.

    It has one function per size of minor. The remaining columns of a minor are packed in an int,
    four bits each, so that removing a column is arithmetic instead of a write to memory.
    """

    def last(a: Array, columns: int) -> float:
        entry: float = a[size - 1, columns & 15]
        return entry

    def larger(m: int, minor: Callable[[Array, int], float]) -> Callable[[Array, int], float]:
        row = size - m

        def expand(a: Array, columns: int) -> float:
            total = 0.0
            sign = 1.0
            for k in range(m):
                low = columns & ((1 << (4 * k)) - 1)
                rest = low | ((columns >> (4 * k + 4)) << (4 * k))
                total += sign * a[row, (columns >> (4 * k)) & 15] * minor(a, rest)
                sign = -sign
            return total

        return expand

    minor = last
    for m in range(2, size + 1):
        minor = larger(m, minor)
    columns = sum(j << (4 * j) for j in range(size))

    def det(a: Array) -> float:
        return minor(a, columns)

    return tf.kernel(det)


def without(columns: int, k: int) -> int:
    """Removes the k-th of the columns, which are packed as in `determinant`."""
    low = columns & ((1 << (4 * k)) - 1)
    return low | ((columns >> (4 * k + 4)) << (4 * k))


def first(rows: int) -> int:
    """All columns, packed as in `determinant`."""
    columns = 0
    for j in range(rows):
        columns |= j << (4 * j)
    return columns


@tf.kernel
def minors(a: Array, row: int, columns: int) -> float:
    """A determinant by minors as one recursive function."""
    if row == len(a) - 1:
        last: float = a[row, columns & 15]
        return last
    total = 0.0
    sign = 1.0
    for k in range(len(a) - row):
        entry = a[row, (columns >> (4 * k)) & 15]
        total += sign * entry * minors(a, row + 1, without(columns, k))
        sign = -sign
    return total


@tf.kernel(recompute=True)
def minor_of_5(a: Array, row: int, columns: int) -> float:
    """A minor that the reverse sweep recomputes."""
    return minors(a, row, columns)


@tf.kernel
def minors_to_5(a: Array, row: int, columns: int) -> float:
    """Like `minors`, but calls `minor_of_5` for the last five rows."""
    if row >= len(a) - 5:
        return minor_of_5(a, row, columns)
    total = 0.0
    sign = 1.0
    for k in range(len(a) - row):
        entry = a[row, (columns >> (4 * k)) & 15]
        total += sign * entry * minors_to_5(a, row + 1, without(columns, k))
        sign = -sign
    return total


@tf.kernel(recompute=True)
def minor_of_8(a: Array, row: int, columns: int) -> float:
    """A minor that the reverse sweep recomputes, including its minors of five rows."""
    return minors_to_5(a, row, columns)


@tf.kernel
def minors_to_8(a: Array, row: int, columns: int) -> float:
    """Like `minors`, but calls `minor_of_8` for the last eight rows."""
    if row >= len(a) - 8:
        return minor_of_8(a, row, columns)
    total = 0.0
    sign = 1.0
    for k in range(len(a) - row):
        entry = a[row, (columns >> (4 * k)) & 15]
        total += sign * entry * minors_to_8(a, row + 1, without(columns, k))
        sign = -sign
    return total


@tf.kernel
def det_recursive(a: Array) -> float:
    """A determinant by recursive minors, with all intermediates stored."""
    return minors(a, 0, first(len(a)))


@tf.kernel
def det_recomputed(a: Array) -> float:
    """A determinant by minors that stores few intermediates."""
    return minors_to_8(a, 0, first(len(a)))


@tf.kernel
def lstm(main: Array, extra: Array, start: Array, sequence: Array) -> float:
    """The loss of a diagonal LSTM on a text with one character per row."""
    layers = main.shape[0] // 2
    b = sequence.shape[1]
    c = sequence.shape[0]
    state = start.copy()
    x = np.zeros(b)
    y = np.zeros(b)
    total = 0.0
    for t in range(c - 1):
        for j in range(b):
            x[j] = sequence[t, j] * extra[0, j]
        for k in range(layers):
            w = 2 * k
            v = 2 * k + 1
            for j in range(b):
                h = state[w, j]
                f = 1.0 / (1.0 + math.exp(-(x[j] * main[w, j] + main[v, j])))
                i = 1.0 / (1.0 + math.exp(-(h * main[w, b + j] + main[v, b + j])))
                o = 1.0 / (1.0 + math.exp(-(x[j] * main[w, 2 * b + j] + main[v, 2 * b + j])))
                g = math.tanh(h * main[w, 3 * b + j] + main[v, 3 * b + j])
                cell = state[v, j] * f + i * g
                h = o * math.tanh(cell)
                state[w, j] = h
                state[v, j] = cell
                x[j] = h
        s = 2.0
        for j in range(b):
            y[j] = x[j] * extra[1, j] + extra[2, j]
            s += math.exp(y[j])
        log = math.log(s)
        for j in range(b):
            total += sequence[t + 1, j] * (y[j] - log)
    return -total / (b * (c - 1))


@tf.kernel
def llsq(x: Array, t: Array) -> float:
    """Half the sum of squared differences of a polynomial (coefficients ``x``) and sign(t)."""
    m = len(x)
    total = 0.0
    for i in range(len(t)):
        r = 0.0
        if t[i] > 0.0:
            r = 1.0
        elif t[i] < 0.0:
            r = -1.0
        p = 1.0
        for j in range(m):
            r -= x[j] * p
            p *= t[i]
        total += 0.5 * r * r
    return total


@tf.kernel
def lse(x: Array) -> float:
    """The logarithm of a sum of exponentials."""
    top = x[0]
    for i in range(1, len(x)):
        top = max(top, x[i])
    s = 0.0
    for i in range(len(x)):
        s += math.exp(x[i] - top)
    return top + math.log(s)


@tf.kernel
def ode(x: Array, steps: int, weights: Array) -> float:
    """A weighted sum of the state at time 2 after ``steps`` Runge-Kutta steps from y = 0."""
    n = len(x)
    h = 2.0 / steps
    y = np.zeros(n)
    z = np.zeros(n)
    k1 = np.zeros(n)
    k2 = np.zeros(n)
    k3 = np.zeros(n)
    k4 = np.zeros(n)
    for _step in range(steps):
        k1[0] = x[0]
        for i in range(1, n):
            k1[i] = x[i] * y[i - 1]
        for i in range(n):
            z[i] = y[i] + 0.5 * h * k1[i]
        k2[0] = x[0]
        for i in range(1, n):
            k2[i] = x[i] * z[i - 1]
        for i in range(n):
            z[i] = y[i] + 0.5 * h * k2[i]
        k3[0] = x[0]
        for i in range(1, n):
            k3[i] = x[i] * z[i - 1]
        for i in range(n):
            z[i] = y[i] + h * k3[i]
        k4[0] = x[0]
        for i in range(1, n):
            k4[i] = x[i] * z[i - 1]
        for i in range(n):
            y[i] += h / 6.0 * (k1[i] + 2.0 * k2[i] + 2.0 * k3[i] + k4[i])
    total = 0.0
    for i in range(n):
        total += weights[i] * y[i]
    return total


@tf.kernel
def logistic(r: float, y: float, steps: int) -> float:
    """The logistic map, iterated ``steps`` times."""
    for _step in range(steps):
        y = r * y * (1.0 - y)
    return y


def kernel_of(name: str, arguments: tuple[Any, ...]) -> Any:
    """The kernel of an eval for these arguments."""
    return determinant(len(arguments[0])) if name == "det" else globals()[name]
