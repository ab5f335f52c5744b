"""The formulas of the elementwise cases, and their derivatives by hand.

A formula takes a library's functions as ``ops`` (``log``, ``sqrt``, ``erf``, ``exp``, ``sin``,
``tanh``, ``sum``), so that all libraries are given one text.
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
    """A sum over functions of functions, which are slow when each of them visits memory."""
    return ops.sum(ops.tanh(ops.sin(x * x + y) * ops.exp(-x)) * y)


def long_chain_by_hand(x: Array, y: Array) -> list[Array]:
    """The sum and its gradients by x and y."""
    inner, decay = x * x + y, np.exp(-x)
    t = np.tanh(np.sin(inner) * decay)
    outer = (1 - t * t) * y * decay
    by_inner = outer * np.cos(inner)
    return [np.sum(t * y), 2 * x * by_inner - outer * np.sin(inner), t + by_inner]
