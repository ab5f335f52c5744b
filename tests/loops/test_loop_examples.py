"""Native loops: whole programs whose gradients are known from another method."""

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import numtape as tf

pytestmark = pytest.mark.numtape_only("native loops")


@tf.kernel
def predators(p, end, tolerance):
    """A Lotka-Volterra model by third-order Bogacki-Shampine steps, some of them rejected."""
    x, y = p[4], p[5]
    t = 0.0
    h = 0.05
    rejected = 0
    while t < end:
        h = min(h, end - t)
        a1 = p[0] * x - p[1] * x * y
        b1 = p[2] * x * y - p[3] * y
        u = x + 0.5 * h * a1
        v = y + 0.5 * h * b1
        a2 = p[0] * u - p[1] * u * v
        b2 = p[2] * u * v - p[3] * v
        u = x + 0.75 * h * a2
        v = y + 0.75 * h * b2
        a3 = p[0] * u - p[1] * u * v
        b3 = p[2] * u * v - p[3] * v
        u = x + h * (2.0 * a1 + 3.0 * a2 + 4.0 * a3) / 9.0
        v = y + h * (2.0 * b1 + 3.0 * b2 + 4.0 * b3) / 9.0
        a4 = p[0] * u - p[1] * u * v
        b4 = p[2] * u * v - p[3] * v
        off = abs(-5.0 * a1 + 6.0 * a2 + 8.0 * a3 - 9.0 * a4)
        off = h * (off + abs(-5.0 * b1 + 6.0 * b2 + 8.0 * b3 - 9.0 * b4)) / 72.0
        if off > tolerance:
            rejected += 1
        else:
            t += h
            x = u
            y = v
        h *= min(2.0, max(0.2, 0.9 * (tolerance / (off + 1e-300)) ** (1.0 / 3.0)))
    if rejected == 0:
        return math.nan
    return x + 2.0 * y


def test_adaptive_runge_kutta_with_rejected_steps():
    """Compared with the sensitivity equations, solved together with the state."""
    p, end = np.array([1.5, 1.0, 0.8, 3.0, 1.2, 0.6]), 4.0

    def slope(_, z):
        x, y = z[:2]
        jacobian = np.array([[p[0] - p[1] * y, -p[1] * x], [p[2] * y, p[2] * x - p[3]]])
        direct = np.array([[x, -x * y, 0, 0, 0, 0], [0, 0, x * y, -y, 0, 0]])
        moved = jacobian @ z[2:].reshape(2, 6) + direct
        return [p[0] * x - p[1] * x * y, p[2] * x * y - p[3] * y, *moved.ravel()]

    start = np.zeros((2, 6))
    start[0, 4] = start[1, 5] = 1.0
    z = solve_ivp(
        slope, (0, end), [p[4], p[5], *start.ravel()], "DOP853", rtol=1e-12, atol=1e-12
    ).y[:, -1]
    value, gradient = tf.value_and_grad(predators)(p, end, 1e-9)
    assert value == pytest.approx(z[0] + 2.0 * z[1], rel=1e-6)
    np.testing.assert_allclose(gradient, z[2:8] + 2.0 * z[8:], rtol=1e-6)
    assert value == predators(p, end, 1e-9)


@tf.kernel
def solved(a, b, w):
    """A weighted sum of the solution of a x = b, by in-place elimination with pivoting."""
    n = len(b)
    for i in range(n):
        p = i
        for r in range(i + 1, n):
            if abs(a[r, i]) > abs(a[p, i]):
                p = r
        if p != i:
            for c in range(i, n):
                a[i, c], a[p, c] = a[p, c], a[i, c]
            b[i], b[p] = b[p], b[i]
        for r in range(i + 1, n):
            f = a[r, i] / a[i, i]
            for c in range(i, n):
                a[r, c] -= f * a[i, c]
            b[r] -= f * b[i]
    total = 0.0
    for i in range(n - 1, -1, -1):
        for c in range(i + 1, n):
            b[i] -= a[i, c] * b[c]
        b[i] /= a[i, i]
        total += w[i] * b[i]
    return total


def test_elimination_with_row_exchanges_in_place():
    random = np.random.default_rng(3)
    a, b, w = random.normal(size=(12, 12)), random.normal(size=12), random.normal(size=12)
    a[0, 0] = 0.0  # requires a row exchange
    kept = a.copy(), b.copy()
    value, (ga, gb, gw) = tf.value_and_grad(solved, (0, 1, 2))(a, b, w)
    assert (a == kept[0]).all() and (b == kept[1]).all()
    x, back = np.linalg.solve(a, b), np.linalg.solve(a.T, w)
    assert value == pytest.approx(w @ x, rel=1e-10)
    np.testing.assert_allclose(gw, x, rtol=1e-9)
    np.testing.assert_allclose(gb, back, rtol=1e-9)
    np.testing.assert_allclose(ga, -np.outer(back, x), rtol=1e-9, atol=1e-12)


@tf.kernel
def settled(m, b):
    """The sum of squares of the fixed point of x = tanh(m x + b), iterated to convergence."""
    n = len(b)
    x = np.zeros(n)
    y = np.zeros(n)
    moved = 1.0
    while moved > 1e-14:
        moved = 0.0
        for i in range(n):
            s = b[i]
            for j in range(n):
                s += m[i, j] * x[j]
            y[i] = math.tanh(s)
            moved = max(moved, abs(y[i] - x[i]))
        for i in range(n):
            x[i] = y[i]
    total = 0.0
    for i in range(n):
        total += x[i] * x[i]
    return total


def test_fixed_point():
    """Compared with the implicit derivative at the fixed point."""
    random = np.random.default_rng(5)
    m, b = 0.15 * random.normal(size=(5, 5)), random.normal(size=5)
    x = np.zeros(5)
    for _ in range(200):
        x = np.tanh(m @ x + b)
    slope = 1.0 - x * x
    back = np.linalg.solve((np.eye(5) - slope[:, None] * m).T, 2.0 * x) * slope
    value, (gm, gb) = tf.value_and_grad(settled, (0, 1))(m, b)
    assert value == pytest.approx(x @ x, rel=1e-12)
    np.testing.assert_allclose(gb, back, rtol=1e-9)
    np.testing.assert_allclose(gm, np.outer(back, x), rtol=1e-9)


@tf.kernel
def heat(u, k, steps, w):
    """The heat equation on a ring with varying diffusivity, in two alternating buffers."""
    n = len(u)
    new = np.empty(n)
    old = u.copy()
    for _ in range(steps):
        for i in range(n):
            new[i] = old[i] + k[i] * (old[i - 1] - 2.0 * old[i] + old[(i + 1) % n])
        old, new = new, old
    total = 0.0
    for i in range(n):
        total += w[i] * old[i]
    return total


def test_double_buffered_stencil():
    """Compared with the same steps as matrices, and with complex steps."""
    random = np.random.default_rng(7)
    u, k, w = random.normal(size=9), random.uniform(0.1, 0.4, 9), random.normal(size=9)
    ring = np.roll(np.eye(9), 1, 1) + np.roll(np.eye(9), -1, 1) - 2.0 * np.eye(9)

    def steps(k):
        return np.linalg.matrix_power(np.eye(9) + k[:, None] * ring, 7)

    value, (gu, gk) = tf.value_and_grad(heat, (0, 1))(u, k, 7, w)
    assert value == pytest.approx(w @ steps(k) @ u, rel=1e-12)
    np.testing.assert_allclose(gu, w @ steps(k), rtol=1e-10, atol=1e-13)
    moved = [(w @ steps(k + 1e-30j * e) @ u).imag * 1e30 for e in np.eye(9)]
    np.testing.assert_allclose(gk, moved, rtol=1e-10, atol=1e-13)
