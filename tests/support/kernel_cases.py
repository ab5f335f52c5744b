"""A row for each function and each construct that kernels support.

`FUNCTIONS` has expressions of x and y with a point at which to differentiate; `CASES` has functions
with loops, their arguments, and the indices of the differentiated arguments.
"""

import math
from math import exp as exponential

import numpy as np
from numba import njit

from numtape.kernel.kernel import kernel

# Expressions and points, which are away from kinks, poles and jumps.
FUNCTIONS = [
    *(
        (f"{module}.{name}(x)", 0.4, 0.0)
        for module, names in (
            (
                "math",
                "exp expm1 log log1p sqrt sin cos tan asin acos atan sinh cosh tanh asinh atanh "
                "erf erfc fabs",
            ),
            (
                "np",
                "exp expm1 log log1p sqrt sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh "
                "arctanh absolute abs fabs negative square",
            ),
        )
        for name in names.split()
    ),
    *(
        (f"{name}(x, y)", 0.4, 1.3)
        for name in (
            "math.atan2",
            "math.hypot",
            "math.pow",
            "np.arctan2",
            "np.hypot",
            "np.power",
            "np.maximum",
            "np.minimum",
            "np.add",
            "np.subtract",
            "np.multiply",
            "np.divide",
            "max",
            "min",
            "pow",
        )
    ),
    ("math.acosh(x)", 1.7, 0.0),
    ("np.arccosh(x)", 1.7, 0.0),
    ("abs(x)", -0.4, 0.0),
    ("max(x, y, 0.2)", 0.1, 0.7),
    ("min(y, x)", 0.4, 1.3),
    ("math.fabs(x)", -0.4, 0.0),
    ("np.maximum(x, y)", 2.0, 1.0),
    ("np.minimum(x, y)", 2.0, 1.0),
    ("x + y", 0.4, 1.3),
    ("x - y", 0.4, 1.3),
    ("x * y", 0.4, 1.3),
    ("x / y", 0.4, 1.3),
    ("x ** y", 0.4, 1.3),
    ("x ** 3", -0.4, 0.0),
    ("x ** -2", -0.4, 0.0),
    ("(-2.0) ** 3 * x", 1.0, 0.0),
    ("x * 2 ** -1", 0.4, 0.0),
    ("x * math.pow(2, -1)", 0.4, 0.0),
    ("x % y", 4.4, 1.3),
    ("x // y * x", 4.4, 1.3),
    ("-x", 0.4, 0.0),
    ("+x", 0.4, 0.0),
    ("x * math.floor(y)", 0.4, 1.3),
    ("x * math.ceil(y)", 0.4, 1.3),
    ("x * np.floor(y)", 0.4, 1.3),
    ("x * np.ceil(y)", 0.4, 1.3),
    ("float(x) * y", 0.4, 1.3),
    ("np.float64(x) * y", 0.4, 1.3),
    ("x if math.isnan(y) else 2.0 * x", 0.4, 1.3),
    ("x if math.isinf(y) else 2.0 * x", 0.4, 1.3),
    ("x if math.isfinite(y) else 2.0 * x", 0.4, 1.3),
    ("x if np.isnan(y) or np.isinf(y) or not np.isfinite(y) else 2.0 * x", 0.4, 1.3),
    *(
        (f"{name}(x)", 0.4, 0.0)
        for name in (
            "math.lgamma",
            "math.gamma",
            "np.cbrt",
            "math.exp2",
            "np.exp2",
            "math.log2",
            "np.log2",
            "math.log10",
            "np.log10",
            "math.degrees",
            "np.degrees",
            "np.rad2deg",
            "math.radians",
            "np.radians",
            "np.deg2rad",
            "np.rint",
            "np.sign",
            "np.trunc",
            "math.cbrt",
        )
    ),
    ("math.lgamma(x)", -1.7, 0.0),
    ("math.gamma(x)", -1.7, 0.0),
    ("np.cbrt(x)", -0.7, 0.0),
    ("math.gamma(x)", 6.3, 0.0),
    ("math.lgamma(x)", 33.0, 0.0),
    ("y * np.trunc(x)", -1.7, 0.4),
    *(
        (f"{name}(x, y)", 4.4, -1.3)
        for name in (
            "np.fmod",
            "np.mod",
            "np.remainder",
            "np.copysign",
            "math.copysign",
            "np.logaddexp",
            "np.fmax",
            "np.fmin",
            "np.true_divide",
            "np.floor_divide",
        )
    ),
    ("np.fmod(x, y)", -4.4, -1.3),
    ("math.copysign(x, y)", -4.4, -1.3),
    ("np.fmax(x, y)", -4.4, 2.0),
    ("x * math.trunc(y)", 0.4, -1.3),
    ("x * np.sign(y)", 0.4, -1.3),
    ("x * math.gamma(3.5)", 0.4, 1.3),
    ("x * y + math.pi", 0.4, 1.3),
]


def powers(x, n):
    """A loop that carries a number, an early exit, a default argument."""
    y = 1.0
    for i in range(n):
        y = y * x + 0.1 * i
    return y


def bits(x, n):
    s = 0.0
    for i in range(8):
        if n >> i & 1:
            s += x**i
        if (i | 4) ^ (n << 1) > 9:
            s -= 0.5 * x
    return s


def compared(x, a):
    s = 0.0
    for i in range(x.shape[0]):
        if 0.1 < x[i] <= 0.7 != a:
            s += x[i] * a
        elif x[i] >= 0.7 or i == 0:
            s += x[i] * x[i]
        else:
            s -= 3.0 * x[i]
    return s


def leaving(x, limit):
    s = 0.0
    for i in range(len(x)):
        if x[i] < 0.0:
            continue
        s += x[i] * x[i]
        if s > limit:
            break
    return s * limit


def returning(x, limit):
    s = 0.0
    for i in range(len(x)):
        for j in range(i):
            s += x[i] * x[j]
            if s > limit:
                return s * s
    return -s


def forever(x):
    k = 0
    while True:
        x = math.cos(x) * 0.9
        k += 1
        if k > 4:
            return x * k


def downwards(x):
    s = 1.0
    for i in range(x.size - 1, -1, -2):
        s = s * x[i] + x[-1 - i]
    return s


def last_number(x):
    i = 7
    for i in range(3):
        x = x * x + i
    for i in range(0):  # noqa: B007
        x = x + 100.0
    return x * i


def swapped(x, y):
    for _ in range(5):
        x, y = y, x + 0.5 * y
    a = b = x * y
    a += y
    return a * b


def places(x, m, t):
    """In-place writes to elements of arrays with one to three axes."""
    n, k = m.shape
    for i in range(n):
        for j in range(k):
            m[i, j] += x[i] * t[i, j, 1]
            m[i, j] *= 0.5 * m[i - 1, j]
            t[i, j, 0] = m[i, j] - t[i, -1, 1]
            x[i] -= t[i, j, 0]
    return x[0] * m[1, 0] + t[1, 1, 0] + x[1] * m.ndim


def local_arrays(x):
    n = x.shape[0]
    a = np.zeros(n)
    b = np.zeros((n, 2), dtype=np.float64)
    c = np.empty_like(x)
    d = np.ones(n)
    e = x.copy()
    f = np.zeros_like(e)
    g = np.copy(x)
    u = np.empty(n)
    v = np.ones_like(x)
    k = np.zeros(n, np.int64)
    for i in range(n):
        k[i] += 2 * i
        c[i] = x[i]
        u[i] = 2.0 * x[i]
        w = np.zeros(3)
        w[i % 3] = c[i] * e[i]
        a[i] += w[0] + w[1] * x[0] + d[i]
        b[i, 1] = a[i] * g[i] * v[i]
        f[i] -= b[i, 1] + u[i]
    s = 0.0
    for i in range(n):
        s += f[i] * a[i] + k[i]
    return s


def bend(u, v=0.5):
    if u > v:
        return exponential(-u) * v
    return u * v


@njit
def scale(w, factor):
    for i in range(len(w)):
        w[i] *= factor


def helpers(x, p):
    scale(x, p)
    s = 0.0
    for i in range(len(x)):
        s += bend(x[i], p) + bend(x[i])
    return s


def carried(x, n):
    """A name that is an int first, two float dtypes, conversions."""
    s = 0
    for i in range(int(n)):
        s = s + np.float64(x) * float(i) * bool(i)
    if n:
        s = s * np.int64(n)
    total: float = s
    pass
    return total


def whiles(e, anomaly):
    x = anomaly
    step = 1.0
    while abs(step) > 1e-13 and x < 1e3:
        step = (x - e * math.sin(x) - anomaly) / (1.0 - e * math.cos(x))
        x = x - step
    return x


def nothing_left(x, n):
    s = x * x
    for i in range(n):
        while i > 2:
            s = s * x
            i -= 1
    return s


def numbers_as_conditions(x, k, z):
    """An int with a zero low byte, and a float below 1, are true."""
    s = 0.0
    if k * 256:
        for i in range(3):
            s += x * i
    if z * 0.25:
        for i in range(3):
            s += x * x * i
        if k * 512:
            s *= x
    while k * 256 and not s > 100.0:
        s *= 2.0
    return s


def over_arrays(x, k):
    """Loops over arrays, `enumerate` and `zip`, with `break` and `return`."""
    s = 0.0
    for v in x:
        if v > 0.9:
            continue
        s += v * v
    for i, v in enumerate(x):
        s += i * v
        if s > 3.0:
            break
    for a, b in zip(x, k):  # noqa: B905
        s *= 1.0 + a * b
    for i, (j, v) in enumerate(zip(range(1, 5), x), 2):  # noqa: B905
        s += i * j * v
    for i, j in enumerate(range(4), start=1):
        s -= 0.1 * i * j * x[0]
    return s


FACTORS = (1.0, -2.0, 0.5)


def over_tuples(x, m, k):
    """Tuples: literal, named, constant, shapes; of numbers and of rows."""
    s = x
    for z in (x, 2 * x, x * x):
        if z > 100.0:
            break
        s += z * z
    for u, v in ((x, 1.0), (s * x, 2.0)):
        s += u * v
    for row in (m[0], m[1]):
        row[1] *= x
        s += row[0] * row[1]
    for i, n in enumerate(m.shape):
        s *= 1.0 + 0.1 * i * n
    for a, b in zip(FACTORS, [s, x, s * x]):  # noqa: B905
        s += a * b
    pair = (x, s)
    for z in pair:
        s += z * FACTORS[k]
    return s * pair[k] * len(pair) + FACTORS[k - 3]


def raising(x, limit):
    s = 0.0
    for i in range(len(x)):
        if x[i] > limit:
            raise ValueError("above the limit")
        s += x[i] * x[i]
    assert s > 0.0
    return s


def minors(a, c, m):
    """A determinant by minors, with the remaining columns in a linked list, updated in place."""
    last = a.shape[0]
    if m == 1:
        return a[last - 1, c[last]]
    total = 0.0
    sign = 1.0
    before = last
    for _ in range(m):
        j = c[before]
        c[before] = c[j]
        total += sign * a[last - m, j] * minors(a, c, m - 1)
        c[before] = j
        sign = -sign
        before = j
    return total


def determinant(a):
    n = a.shape[0]
    c = np.zeros(n + 1, np.int64)
    for i in range(n):
        c[i] = i + 1
    return minors(a, c, n)


def even(x, n):
    """Two mutually recursive functions."""
    if n == 0:
        return x
    return x * odd(x, n - 1)


def odd(x, n):
    if n == 0:
        return 0.5 * x
    return math.sin(x) + even(x, n - 1)


def spread(x, low, high):
    """Writes to an array and returns nothing."""
    if high - low < 2:
        x[low] = x[low] * x[low]
        return
    middle = (low + high) // 2
    spread(x, low, middle)
    spread(x, middle, high)
    w = np.zeros(high - low)
    for i in range(low, high):
        w[i - low] = x[i] * x[low]
    for i in range(low, high):
        x[i] = w[i - low]


def divided(x, p):
    y = np.zeros(len(x))
    for i in range(len(x)):
        y[i] = x[i] * p
    spread(y, 0, len(y))
    spread(x, 1, len(x))
    s = 0.0
    for i in range(len(x)):
        if y[i] > 0.5:
            s += y[i] * even(p, 3)
        s += y[i] * x[i]
    return s


@kernel(recompute=True)
def again(a, c, m):
    """Like `minors`, but the reverse sweep recomputes each call."""
    last = a.shape[0]
    if m == 1:
        return a[last - 1, c[last]]
    total = 0.0
    sign = 1.0
    before = last
    for _ in range(m):
        j = c[before]
        c[before] = c[j]
        total += sign * a[last - m, j] * again(a, c, m - 1)
        c[before] = j
        sign = -sign
        before = j
    return total


@kernel(recompute=True)
def stirred(x, w, q):
    s = q
    for i in range(len(x)):
        w[i] = math.sin(w[i] * s) + x[i]
        s += w[i] * w[i - 1]
    return s


def recomputed(a, x, q):
    n = a.shape[0]
    c = np.zeros(n + 1, np.int64)
    for i in range(n):
        c[i] = i + 1
    s = again(a, c, n)
    w = np.ones(len(x))
    for k in range(3):
        s += stirred(x, w, q * k) * w[k]
    return s


class Mine(ArithmeticError):
    """A custom exception."""


LIMIT = 4.0


def grows(x):
    assert x[0] > 0.0, ("not positive", 3)
    s = 0.0
    for i in range(len(x)):
        if x[i] > LIMIT:
            raise Mine("too large", LIMIT)
        while s < x[i]:
            s += root(x[i])
    return s


def root(v):
    if v < -2.0:
        raise ValueError
    if v < 0:
        raise IndexError("of v")
    return math.sqrt(v)


R = np.random.default_rng(7)
CASES = [
    (powers, [0.7, 4], [0]),
    (powers, [0.7, 0], [0]),
    (bits, [0.7, 11], [0]),
    (compared, [R.random(9), 0.3], [0, 1]),
    (leaving, [R.normal(size=12), 1.5], [0, 1]),
    (returning, [R.random(6), 1.0], [0]),
    (returning, [R.random(6), 100.0], [0]),
    (forever, [0.3], [0]),
    (downwards, [R.random(7)], [0]),
    (last_number, [0.4], [0]),
    (swapped, [0.4, 0.9], [0, 1]),
    (places, [R.random(2), R.random((2, 3)), R.random((2, 3, 2))], [0, 1, 2]),
    (local_arrays, [R.random(5)], [0]),
    (helpers, [R.random(5), 0.6], [0, 1]),
    (carried, [0.4, 5.0], [0]),
    (whiles, [0.3, 1.1], [0, 1]),
    (nothing_left, [0.9, 6], [0]),
    (numbers_as_conditions, [0.9, 1, 1.0], [0]),
    (numbers_as_conditions, [0.9, 1, 0.0], [0]),
    (numbers_as_conditions, [0.9, 2, -0.5], [0, 2]),
    (determinant, [R.random((4, 4))], [0]),
    (even, [0.7, 4], [0]),
    (divided, [R.random(5) + 0.5, 1.2], [0, 1]),
    (recomputed, [R.random((3, 3)), R.random(4), 0.3], [0, 1, 2]),
    (over_tuples, [0.7, R.random((2, 2)), 1], [0, 1]),
    (over_arrays, [R.random(5), np.arange(3)], [0]),
    (raising, [R.random(4), 1.0], [0]),
    (lambda x, y: math.sin(x) * y if x > 0.0 else y, [0.4, 0.9], [0, 1]),
]
