"""PyTorch in eager mode, vectorized."""

from __future__ import annotations

from typing import Any

import torch

torch.set_num_threads(1)


def lstm(main: Any, extra: Any, start: Any, sequence: Any) -> Any:
    """The loss of a diagonal LSTM."""
    b = sequence.shape[1]
    layers = [(main[k].reshape(4, b), main[k + 1].reshape(4, b)) for k in range(0, len(main), 2)]
    hidden, cells = list(start[::2]), list(start[1::2])
    total = torch.zeros((), dtype=main.dtype)
    for t in range(len(sequence) - 1):
        x = sequence[t] * extra[0]
        for k, (w, v) in enumerate(layers):
            f = torch.sigmoid(x * w[0] + v[0])
            i = torch.sigmoid(hidden[k] * w[1] + v[1])
            o = torch.sigmoid(x * w[2] + v[2])
            g = torch.tanh(hidden[k] * w[3] + v[3])
            cells[k] = cells[k] * f + i * g
            x = hidden[k] = o * torch.tanh(cells[k])
        y = x * extra[1] + extra[2]
        total = total + (sequence[t + 1] * (y - torch.log(2 + torch.exp(y).sum()))).sum()
    return -total / (b * (len(sequence) - 1))


def llsq(x: Any, t: Any) -> Any:
    """Half the sum of squared differences of a polynomial and the sign function."""
    powers = torch.vander(t, len(x), increasing=True)
    return 0.5 * ((torch.sign(t) - powers @ x) ** 2).sum()


def lse(x: Any) -> Any:
    """The logarithm of a sum of exponentials."""
    top = x.max()
    return top + (x - top).exp().sum().log()


def ode(x: Any, steps: int, weights: Any) -> Any:
    """A weighted sum of the state after Runge-Kutta steps from y = 0."""
    h = 2.0 / steps

    def slope(y: Any) -> Any:
        return torch.cat([x[:1], x[1:] * y[:-1]])

    y = torch.zeros_like(x)
    for _ in range(steps):
        k1 = slope(y)
        k2 = slope(y + 0.5 * h * k1)
        k3 = slope(y + 0.5 * h * k2)
        k4 = slope(y + h * k3)
        y = y + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
    return weights @ y


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
    provided = [
        x
        if isinstance(x, int)
        else torch.tensor(x, dtype=torch.float64, requires_grad=k in requested)
        for k, x in enumerate(arguments)
    ]
    leaves = [provided[k] for k in requested]

    def primal() -> Any:
        with torch.no_grad():
            return EVALS[name](*provided).item()

    def both() -> Any:
        y = EVALS[name](*provided)
        return y.item(), [g.numpy() for g in torch.autograd.grad(y, leaves)]

    return {"PyTorch": (primal, both)}
