"""HIPS autograd, vectorized."""

from __future__ import annotations

from typing import Any

import autograd
import autograd.numpy as np


def _sigmoid(x: Any) -> Any:
    return 1.0 / (1.0 + np.exp(-x))


def lstm(main: Any, extra: Any, start: Any, sequence: Any) -> Any:
    """The loss of a diagonal LSTM."""
    b = sequence.shape[1]
    layers = [
        (np.reshape(main[k], (4, b)), np.reshape(main[k + 1], (4, b)))
        for k in range(0, main.shape[0], 2)
    ]
    hidden, cells = list(start[::2]), list(start[1::2])
    total = 0.0
    for t in range(len(sequence) - 1):
        x = sequence[t] * extra[0]
        for k, (w, v) in enumerate(layers):
            f = _sigmoid(x * w[0] + v[0])
            i = _sigmoid(hidden[k] * w[1] + v[1])
            o = _sigmoid(x * w[2] + v[2])
            g = np.tanh(hidden[k] * w[3] + v[3])
            cells[k] = cells[k] * f + i * g
            x = hidden[k] = o * np.tanh(cells[k])
        y = x * extra[1] + extra[2]
        total = total + np.sum(sequence[t + 1] * (y - np.log(2 + np.sum(np.exp(y)))))
    return -total / (b * (len(sequence) - 1))


def llsq(x: Any, t: Any) -> Any:
    """Half the sum of squared differences of a polynomial and the sign function."""
    powers = np.vander(t, len(x), increasing=True)
    return 0.5 * np.sum((np.sign(t) - np.dot(powers, x)) ** 2)


def lse(x: Any) -> Any:
    """The logarithm of a sum of exponentials."""
    top = np.max(x)
    return top + np.log(np.sum(np.exp(x - top)))


def ode(x: Any, steps: int, weights: Any) -> Any:
    """A weighted sum of the state after Runge-Kutta steps from y = 0."""
    h = 2.0 / steps

    def slope(y: Any) -> Any:
        return np.concatenate([x[:1], x[1:] * y[:-1]])

    y = np.zeros(len(x))
    for _ in range(steps):
        k1 = slope(y)
        k2 = slope(y + 0.5 * h * k1)
        k3 = slope(y + 0.5 * h * k2)
        k4 = slope(y + h * k3)
        y = y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return np.dot(weights, y)


def logistic(r: Any, y: Any, steps: int) -> Any:
    """The logistic map, iterated ``steps`` times."""
    for _ in range(steps):
        y = r * y * (1.0 - y)
    return y


EVALS = {"lstm": lstm, "llsq": llsq, "lse": lse, "ode": ode, "logistic": logistic}


def functions(name: str, arguments: tuple[Any, ...], requested: tuple[int, ...]) -> dict[str, Any]:
    """See `benchmarks.gradbench.libs`."""
    if name not in EVALS:
        return {}
    gradient = autograd.value_and_grad(EVALS[name], requested)
    return {"autograd": (lambda: float(EVALS[name](*arguments)), lambda: gradient(*arguments))}
