"""A row for each array construct and function that kernels support; see `kernel_cases`.

`ARRAYS` are scalar expressions of vectors x and y of 5 elements, a 3 x 5 matrix m, ints k and
a number p. `CASES` has functions, their arguments, and the indices of the differentiated arguments.
`ORDERED` lists those whose bits differ from Numba's, which calls BLAS for them.
"""

import math

import numpy as np

ARRAYS = [
    # Views.
    "np.sum(x[1:4] * p)",
    "x[::2].sum()",
    "x[::-1][1] * p",
    "x[3:1:-1].sum()",
    "x[-3:][0]",
    "x[:-1].sum() * x[1:].sum()",
    "x[10:].sum() + x[0]",
    "x[-9:2].sum()",
    "m[1].sum()",
    "m[:, 2].sum()",
    "m[1:, ::2].sum()",
    "m[-1, 1:3][0]",
    "m.T[2, 1]",
    "m.T[2].sum() * p",
    "m[..., 1].sum()",
    "x[None, :].sum()",
    "x[:, np.newaxis][2, 0]",
    "m.reshape(5, 3)[1, 2]",
    "np.reshape(m, (-1, 3))[4, 1]",
    "m.reshape(15)[7]",
    "m.ravel()[8]",
    "np.ravel(m)[3]",
    "m.flatten()[9]",
    "np.transpose(m)[1, 2]",
    "m.transpose()[0, 1]",
    "m.T.copy()[1, 2]",
    "np.expand_dims(x, 1)[3, 0]",
    "np.asarray(x)[1]",
    "np.ascontiguousarray(m.T)[1, 1]",
    "m.T.ravel()[4] * m.T[1].ravel()[1]",
    "x[k[1] :].sum()",
    "x[k].sum()",
    "x[: k[0] + 1].sum()",
    # Index arrays and conditions.
    "m[k % 3].T[2, 1]",
    "m[:, k][2, 1]",
    "m[k % 3, k][1]",
    "m[1, k].sum()",
    "m[k % 3, 2][0]",
    "m[k % 3, ::2][1, 2]",
    "m[np.array([[1, 0], [2, 2]])][1, 0, 3]",
    "np.take(m, k)[1] * p",
    "x.take(k).sum()",
    "m.take(2) * p",
    "m.reshape(1, 3, 5)[0, :, k][2, 1]",
    "m.reshape(3, 1, 5)[k % 3, :, k][2, 0]",
    "m.reshape(3, 1, 5)[:, 0, k][1, 2]",
    "x[x > 0].sum()",
    "(x[y > 0.2] * p)[1]",
    "np.prod(x[(x > 0) & (y > 0)])",
    "len(x[x > 0]) * p",
    "x[x > 0][-1] * x[x > 9.0].sum()",
    "m[:, x > 0].sum() * p",
    "m[m[:, 0] > 0, 1].sum()",
    "m[m[:, 0] > -9][2, 1]",
    "m[0, ~(x > 0)].sum()",
    "(m * x)[:, x > 0].sum()",
    "m.T[x > 0].max()",
    "np.mean(x[::-1][x > 0])",
    "x[np.flatnonzero(x > 0)].sum()",
    # Elements.
    "np.sum(x + y)",
    "np.sum(x - 2.0 * y)",
    "np.sum(x / (y + 3.0))",
    "np.sum(x ** 2)",
    "np.sum(-x * +y)",
    "np.sum(abs(x) ** p)",
    "np.sum(np.exp(x) * np.sin(y))",
    "np.sum(m * x)",
    "np.sum(m + x[:3, None])",
    "np.sum(x[:, None] * y)",
    "np.sum(np.maximum(x, y))",
    "np.sum(np.minimum(x, p))",
    "np.sum(np.where(x > y, x, p * y))",
    "np.where(p > 0.0, p, x[0])",
    "np.sum(np.where((x > 0.0) & (y < 0.5) | ~(x > y), x, 0.0))",
    "np.sum((x > y) * x)",
    "np.sum(np.tanh(m.T) * x[:, None])",
    "np.sum(x % 0.65 + y // 0.37 * x)",
    "np.sum(k * x[1:4] + k)",
    "np.sum(np.where(np.logical_and(x > 0.0, y > 0.0), x * y, p))",
    "np.clip(x, -0.5, p).sum()",
    "np.sum(np.where(np.logical_or(x > 0.0, y > 0.0), x * y, p))",
    "np.clip(p, -0.5, 9.0)",
    "np.sum(np.where(np.logical_not(x > 0.0), x * y, p))",
    "np.sum((x * y)[1:3])",
    "(x * y)[2]",
    "np.sum(np.hypot(x, y))",
    "x.astype(np.float64).sum()",
    "np.sum(k.astype(np.float64) * y[:3])",
    # Reductions.
    "np.sum(m)",
    "np.sum(m, axis=0)[1]",
    "np.sum(m, 1)[-1]",
    "m.sum()",
    "m.sum(axis=-1)[0]",
    "np.prod(x)",
    "x.prod()",
    "np.mean(m)",
    "x.mean() * p",
    "np.max(x)",
    "x.min() * p",
    "np.min(m)",
    "np.max(x * y)",
    "x[np.argmax(y)]",
    "x[np.argmin(x)] * p",
    "m.max() - m.min()",
    "m[m.T.argmax() % 3, 0]",
    "p if np.any(x > 0.1) else 2.0 * p",
    "p * (x > -9.0).all()",
    "p if np.all(x > 0.1) else 2.0 * p",
    "p * (x > 9.0).any()",
    "np.var(x)",
    "x.var()",
    "np.std(x)",
    "x.std()",
    "np.max(m, axis=1)[2]",
    "m.mean(0)[1]",
    "np.argmax(m, 1)[0] * p",
    "x[x.argmin()]",
    "max(x) * p",
    "min(x)",
    "sum(x * y)",
    # Products.
    "np.dot(x, y)",
    "x @ y",
    "x.dot(y)",
    "(m @ x)[1]",
    "(m @ x).sum()",
    "np.dot(m, x)[2]",
    "(x @ m.T)[1]",
    "np.dot(x[:3], m)[4]",
    "(m @ m.T)[1, 2]",
    "(m.T @ m)[1, 2] * p",
    "np.dot(m[:, :3], m)[1, 1]",
    "np.vdot(x, y)",
    "np.matmul(m, x)[0]",
    "np.outer(x, y)[1, 2]",
    "np.outer(m, y)[1, 2]",
    "np.trace(m)",
    "np.cumsum(x)[3]",
    "np.diff(x)[2]",
    "np.linalg.norm(x)",
    "np.linalg.norm(m) * p",
    "p * np.count_nonzero(x > 0.3)",
    # New arrays.
    "np.sum(np.array([p, x[0], 2.0]) * x[:3])",
    "np.array([[p, 1.0], [x[1], p]])[1, 1]",
    "np.array(x)[1]",
    "np.copy(x[1:])[1]",
    "np.full(3, p).sum()",
    "np.full((2, 2), p)[1, 0]",
    "np.full_like(x, p)[1]",
    "np.sum(np.linspace(0.0, p, 5) * x)",
    "np.linspace(p, 1.0)[7]",
    "np.sum(np.arange(5) * x)",
    "np.sum(x * np.arange(9, 4, -1))",
    "np.sum(np.eye(5) * x)",
    "np.sum(np.arange(1, 10, 2) * x)",
    "np.sum(np.identity(3) * p)",
    "np.sum(np.zeros(5) + x)",
    "np.sum(np.ones_like(x) * x)",
    # Numbers.
    "p * len(x)",
    "p * m.shape[1]",
    "p * m.size",
    "p * m.ndim",
    "p * len(m.shape)",
    "p * len(m.T)",
    "p * np.shape(m)[0]",
    "p * np.size(m)",
    "p * m[1:].shape[0] * x[::2].size",
    "p * m.shape[-1]",
]

# Numba calls BLAS for these, or lacks them.
ORDERED = [
    "np.sum(abs(x) ** p)",
    "np.clip(p, -0.5, 9.0)",
    "np.max(m, axis=1)[2]",
    "m.mean(0)[1]",
    "np.matmul(m, x)[0]",
    "np.array(x)[1]",
    "(m @ x)[1]",
    "np.dot(m, x)[2]",
    "(x @ m.T)[1]",
    "np.linalg.norm(x)",
    "np.linalg.norm(m) * p",
    "np.dot(x, y)",
    "x @ y",
    "x.dot(y)",
    "(m @ x).sum()",
    "np.dot(x[:3], m)[4]",
    "(m @ m.T)[1, 2]",
    "(m.T @ m)[1, 2] * p",
    "np.dot(m[:, :3], m)[1, 1]",
    "np.vdot(x, y)",
]


def stencils(u, steps):
    """Two buffers that swap names."""
    v = u.copy()
    for _ in range(steps):
        for i in range(1, len(u) - 1):
            v[i] = u[i] + 0.2 * (u[i - 1] * u[i + 1] - u[i] * u[i])
        u, v = v, u
    return np.sum(u * u) + 3.0 * v[2]


def waves(u, dt):
    """Array expressions of views, assigned to one name."""
    old, now = u, 0.9 * u
    for _ in range(4):
        new = np.zeros(len(u))
        new[1:-1] = 2.0 * now[1:-1] - old[1:-1] + dt * (now[2:] - 2.0 * now[1:-1] + now[:-2])
        old, now = now, new
    return np.sum(np.sin(now)) + old[1]


def network(x, w, v, b):
    """Dense layers, with gradients of matrices."""
    h = x
    for _ in range(3):
        h = np.tanh(w @ h + b)
    scores = v @ h
    scores = scores - scores.max()
    e = np.exp(scores)
    return -np.log(e[1] / e.sum())


def written(x, m, p):
    """Writes to slices and views."""
    x[1:4] *= p
    x[:] = x + 0.5 * x[::-1]
    x[1:] += 0.25 * x[:-1]
    x -= 0.1
    row = m[1]
    row[2] = x[0] * p
    row += x
    row[:2] = p
    m[:, 0] = x[:3]
    t = m.T
    t[4] = t[3] * x[1]
    m[:2, 1:3] -= p * p
    a = b = m
    a[0] *= 2.0
    b[2, 1:] /= 1.5 + p
    flat = m.reshape(15)
    flat[7] = flat[3] * flat[7]
    x[2] = x[1] * m[1, 1]
    m[..., 4] = 2.0 * p
    z = np.zeros_like(m)
    z.fill(p)
    z[1] = x
    return np.sum(m * m * z) + x @ x


def over_arrays(x, m, p):
    """Loops over arrays, some with `break`."""
    s = 0.0
    for v in x:
        s += v * v * p
    for row in m:
        for v in row[::2]:
            if v > 0.9:
                continue
            s = s * 0.9 + v
        row[1] = s
    for column in m.T:
        s += column[0] * column[1] * p
        if column[2] > 1.5:
            break
    for v in x * p:
        if v > 100.0:
            return s
        s += math.sin(v)
    return s


def soft(z):
    e = np.exp(z - np.max(z))
    return e / np.sum(e)


def shift(z, by):
    z[1:] += by
    return z[1:]


def helpers(x, p):
    """Helpers that take views, expressions and arrays, and return arrays."""
    a = soft(x)
    b = soft(x[1:] * p)
    c = shift(a, p)
    c *= 2.0
    return np.sum(a * x) + b[0] + np.sum((a * 2.0)[1:] + shift(a, 0.5)) + soft(x).max()


def parameter(x, n):
    """A parameter that is rebound to another array."""
    for _ in range(n):
        x = x * x + 0.1
        if x[0] > 0.5:
            x = x[1:]
    x[0] = 2.0 * x[0]
    return np.sum(x)


def branches(x, m, p):
    """A name bound to different arrays in branches."""
    if p > 0.0:
        y = x
    else:
        y = m[0]
    y[1] = p * p
    if x[2] > y[2]:
        z = y * x
    else:
        z = y - x
    if p > 0.5:
        z = z[1:4]
    w = m[1] if p > 0.0 else x
    w[0] += p
    return z @ z + np.sum(x) + m[0, 1] * y[0] + m[1, 0]


def singles(x, f):
    """Mixed float32 and float64."""
    g = f * f
    h = np.zeros(3, dtype=f.dtype)
    h[:] = g
    h += f
    return np.sum(g) + np.sum(h * x) + f.prod() + (f * 2.0).mean()


def rows(x, m, p):
    """Rows of rows, tuples of rows, arrays of three axes, views that shrink."""
    m[1][2] = p * x[0]
    m[2][1:] *= x[1:]
    m[0], m[1] = m[1], m[0]
    x[0], x[1] = x[1], x[0]
    t = np.zeros((2, 3, 5))
    for i in range(2):
        t[i] = m * (i + p)
        t[i, 1, ::2] -= x[:3]
    s = t[:, 1, 2].sum() + t.sum(axis=1)[1, 2] + t.sum(axis=2).max()
    e = x
    while len(e) > 2:
        e = e[1:]
        s += np.prod(e) * p
    for i in range(3):
        row = m[i]
        for j in range(i):
            row = row - m[j] * (row @ m[j]) / (1.0 + m[j] @ m[j])
        m[i] = row
    return s + m[2] @ x


def row_operations(m, p, i):
    """In-place operations on rows of an array, which may be the same row."""
    for k in range(3):
        m[i] += m[k]
        m[k, 1:] *= m[i, 1:]
        row, other = m[k], m[k - 1]
        row -= 0.1 * other
        other += row
        m[:, k] /= 2.0 + m[:, i] ** 2
        m[k] -= m[k - 2] * p
    return np.sum(m * m[:, ::-1])


def kept_views(u, v, n):
    """Views of arrays whose names are rebound later."""
    s = 0.0
    for i in range(n):
        w = u[1:]
        first = u
        u, v = v, u
        w[0] += 0.5 * u[1]
        s += w @ u[1:] + first[0] * i
    return s + u[0] * v[1]


def judged(x, m, p):
    """Conditions as arrays."""
    while np.sum((m @ x) ** 2) > 1.5:
        x = x * 0.7
        p = p * x[0]
        if p > 9.0:
            break
    while np.max(np.abs(m)) > 1.0 and p > 0.0:
        m *= 0.8
    return np.sum(x) * p + np.sum(m)


TABLE = np.array([[1.0, 2.0], [0.5, -1.0]])


def constants_and_places(x, m, k):
    """A constant array, and elements selected by an index array."""
    y = x[k % 3]
    y[0] = x[1] * 2.0
    x[k] = m[0, 1:4]
    x[k[1:]] = x[0]
    x[k] += m[1, :3]
    x[k % 2] *= 1.5 + x[k]  # of equal places the last one stays
    x[k % 3] -= 0.5
    z = x[np.arange(2)] @ TABLE
    for i, v in enumerate(z):
        y[i] *= v
    for a, row in zip(x, m):  # noqa: B905
        row *= a
    return y @ y + np.sum(x * m) + TABLE[1, 0] * z[0]


def conditions(x, m, p):
    """Writes to elements selected by conditions, and by index arrays of several axes."""
    high = x > 0.0
    z = x[high]
    x[high] = z * z
    x[~high] += p * x[0]
    x[x > 0.3] *= x[x > 0.3]
    m[m[:, 0] > 0.0] += x * p
    m[:, high] *= p
    m[1, x < 0.5] = p
    k = np.flatnonzero(x > -9.0)
    m[k % 3, k] -= x[::-1]
    m[k[:2]] = m[1:]
    m[m[:, 1] > 9.0] = 0.0
    for _ in range(3):
        w = x.copy()
        while len(w[w > 0.1]) > 0:
            w[w > 0.1] -= 0.3 + x[2] * x[2]
            x[1] += np.sum(w * m[0])
    for v in m[0][m[0] > 0.0]:
        p *= v
    return np.sum(m * x) * p + len(z)


R = np.random.default_rng(11)
CASES = [
    (stencils, [R.normal(size=6), 3], [0]),
    (stencils, [R.normal(size=6), 2], [0]),
    (waves, [R.normal(size=7), 0.3], [0, 1]),
    (
        network,
        [R.normal(size=3), R.normal(size=(3, 3)), R.normal(size=(2, 3)), R.normal(size=3)],
        [0, 1, 2, 3],
    ),
    (written, [R.normal(size=5), R.normal(size=(3, 5)), 0.7], [0, 1, 2]),
    (over_arrays, [R.normal(size=5), R.normal(size=(3, 5)), 0.7], [0, 1, 2]),
    (over_arrays, [R.normal(size=5), R.normal(size=(3, 5)) + 1.2, 200.0], [0, 1, 2]),
    (helpers, [R.normal(size=5), 0.7], [0, 1]),
    (parameter, [R.random(6) + 0.3, 4], [0]),
    (branches, [R.normal(size=5), R.normal(size=(2, 5)), 0.7], [0, 1, 2]),
    (branches, [R.normal(size=5), R.normal(size=(2, 5)), -0.7], [0, 1, 2]),
    (rows, [R.normal(size=5), R.normal(size=(3, 5)), 0.7], [0, 1, 2]),
    (judged, [R.normal(size=5), R.normal(size=(3, 5)), 0.7], [0, 1, 2]),
    (constants_and_places, [R.normal(size=5), R.normal(size=(3, 5)), np.array([3, 1, 4])], [0, 1]),
    (
        conditions,
        [np.array([0.4, -0.7, 0.7, 0.2, 0.1]), np.cos(np.arange(15.0)).reshape(3, 5), 0.7],
        [0, 1, 2],
    ),
    (row_operations, [R.normal(size=(3, 5)), 0.7, 1], [0, 1]),
    (kept_views, [R.normal(size=4), R.normal(size=4), 3], [0, 1]),
]
POINT = [
    np.array([0.4, -0.7, 1.1, 0.2, 0.9]),
    np.array([0.3, 0.8, -0.6, 1.4, 0.1]),
    R.normal(size=(3, 5)),
    np.array([3, 1, 4]),
    0.7,
]
