"""The formulas of the elementwise cases, and their derivatives by hand.

A formula takes a library's functions as ``ops`` (``log``, ``sqrt``, ``erf``, ``exp``, ``sin``,
``tanh``, ``sum``, and on the GPU also ``cumsum``, ``mean``, ``relu``, ``normal``), so that all
libraries run the same code.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


def black_scholes(ops: Any, s: Any, k: Any, r: Any, v: Any, t: Any) -> Any:
    """Prices of European calls: spot, strike, interest rate, volatility, time to expiry."""
    spread = v * ops.sqrt(t)
    d1 = (ops.log(s / k) + (r + 0.5 * v * v) * t) / spread
    d2 = d1 - spread

    def below(z: Any) -> Any:
        return 0.5 * (1.0 + ops.erf(z * 0.5**0.5))

    return s * below(d1) - k * ops.exp(-r * t) * below(d2)


def black_scholes_by_hand(s: Array, k: Array, r: Array, v: Array, t: Array) -> list[Array]:
    """The prices and the five Greeks."""
    from scipy.special import ndtr

    spread = v * np.sqrt(t)
    d1 = (np.log(s / k) + (r + 0.5 * v * v) * t) / spread
    delta, discounted = ndtr(d1), k * np.exp(-r * t) * ndtr(d1 - spread)
    density = s * np.exp(-0.5 * d1 * d1) / np.sqrt(2 * np.pi)
    return [
        s * delta - discounted,
        delta,
        -discounted / k,
        discounted * t,
        density * np.sqrt(t),
        density * v / (2 * np.sqrt(t)) + r * discounted,
    ]


def long_chain(ops: Any, x: Any, y: Any) -> Any:
    """A sum over composed functions, slow if each function makes a pass over memory."""
    return ops.sum(ops.tanh(ops.sin(x * x + y) * ops.exp(-x)) * y)


def long_chain_by_hand(x: Array, y: Array) -> list[Array]:
    """The sum and its gradients with respect to x and y."""
    inner, decay = x * x + y, np.exp(-x)
    t = np.tanh(np.sin(inner) * decay)
    outer = (1 - t * t) * y * decay
    by_inner = outer * np.cos(inner)
    return [np.sum(t * y), 2 * x * by_inner - outer * np.sin(inner), t + by_inner]


def asian(
    shape: tuple[int, int], ops: Any, s: Any, r: Any, v: Any, k: Any, draws: Any = None
) -> Any:
    """The price of an Asian call over a year: spot, interest rate, volatility, strike.

    ``shape`` is the shape (paths, steps) of the normal draws, which are generated unless ``draws``
    is given.
    """
    if draws is None:
        draws = ops.normal(shape)
    dt = 1.0 / shape[1]
    path = s * ops.exp(ops.cumsum((r - 0.5 * v * v) * dt + v * dt**0.5 * draws, 1))
    payoff = ops.relu(ops.mean(path, 1) - k)
    return ops.exp(-r) * ops.mean(payoff, 0)


def asian_by_hand(s: Array, r: Array, v: Array, k: Array, draws: Array) -> list[Array]:
    """The price and its derivatives, path by path."""
    dt = 1 / draws.shape[1]
    time = dt * np.arange(1, draws.shape[1] + 1)
    walk = np.sqrt(dt) * np.cumsum(draws, axis=1)
    path = s * np.exp((r - 0.5 * v * v) * time + v * walk)
    average, discount = path.mean(axis=1), np.exp(-r)
    paid = average > k
    price = discount * np.mean(paid * (average - k))

    def slope(of_average: Any) -> Array:
        return np.asarray(discount * np.mean(paid * of_average))

    by_rate = slope((path * time).mean(axis=1)) - price
    by_volatility = slope((path * (walk - v * time)).mean(axis=1))
    return [price, slope(average / s), by_rate, by_volatility, slope(-1.0)]


def softmax_by_hand(x: Array, g: Array | None = None) -> list[Array]:
    """A softmax of each row, and its gradient if the upstream gradient ``g`` is given."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    y = e / e.sum(axis=-1, keepdims=True)
    return [y] if g is None else [y, y * (g - np.sum(g * y, axis=-1, keepdims=True))]


def layer_norm_by_hand(
    epsilon: float, x: Array, gamma: Array, beta: Array, g: Array | None = None
) -> list[Array]:
    """A layer norm of each row, and the gradients of its inputs if ``g`` is given."""
    scale = np.sqrt(x.var(axis=-1, keepdims=True) + epsilon)
    n = (x - x.mean(axis=-1, keepdims=True)) / scale
    if g is None:
        return [n * gamma + beta]
    inner = g * gamma
    mean, along = (a.mean(axis=-1, keepdims=True) for a in (inner, inner * n))
    return [n * gamma + beta, (inner - mean - n * along) / scale, (g * n).sum(0), g.sum(0)]


def scatter_add_by_hand(rows: int, added: Array, at: Array) -> list[Array]:
    """The rows of ``added`` summed into the rows that ``at`` selects."""
    out = np.zeros((rows, *added.shape[1:]))
    np.add.at(out, at, added)
    return [out]
