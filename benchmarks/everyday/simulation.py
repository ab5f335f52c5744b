"""Differential equations and Monte Carlo simulations, with gradients of their parameters."""

from __future__ import annotations

import numpy as np

from benchmarks.everyday.case import Gradient, workload
from benchmarks.everyday.modules import jax, jnp, lax, nt, torch


@workload(tiny=(5,), nbody_128_f64=(128,))
class NBody(Gradient):
    """The potential energy of bodies; its gradient is the forces."""

    def inputs(self, rng, n):
        return [rng.normal(size=(n, 3)), rng.random(n)]

    def numtape(self, x, mass):
        d = x[:, None] - x[None]
        distance = nt.sqrt(nt.reduce_sum(d * d, 2) + 1e-2)
        return -nt.reduce_sum(mass[:, None] * mass / distance)

    def torch(self, x, mass):
        d = x[:, None] - x[None]
        distance = torch.sqrt((d * d).sum(2) + 1e-2)
        return -(mass[:, None] * mass / distance).sum()

    def jax(self, x, mass):
        d = x[:, None] - x[None]
        distance = jnp.sqrt(jnp.sum(d * d, 2) + 1e-2)
        return -jnp.sum(mass[:, None] * mass / distance)


def rk4(f, y, dt):
    """One step of the classical Runge-Kutta method."""
    k1 = f(y)
    k2 = f(y + dt / 2 * k1)
    k3 = f(y + dt / 2 * k2)
    k4 = f(y + dt * k3)
    return y + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


class RungeKutta(Gradient):
    """Solves a differential equation; gradients of parameters and of the initial state."""

    wrt = 2
    steps, dt = 0, 0.01

    def numtape(self, p, y):
        for _ in range(self.steps):
            y = rk4(lambda y: self.numtape_slope(p, y), y, self.dt)
        return nt.reduce_mean(y**2)

    def torch(self, p, y):
        for _ in range(self.steps):
            y = rk4(lambda y: self.torch_slope(p, y), y, self.dt)
        return (y**2).mean()

    def jax(self, p, y):
        def body(y, _):
            return rk4(lambda y: self.jax_slope(p, y), y, self.dt), None

        return jnp.mean(lax.scan(body, y, None, self.steps)[0] ** 2)


@workload(tiny=(3,), rk4_lotka_volterra_100=(100,))
class LotkaVolterra(RungeKutta):
    """Two species."""

    def inputs(self, rng, steps):
        self.steps = steps
        return [np.array([1.1, 0.4, 0.1, 0.4]), np.array([10.0, 5.0])]

    def numtape_slope(self, p, y):
        a, b, c, d = nt.unstack(p)
        prey, hunters = nt.unstack(y)
        return nt.stack([a * prey - b * prey * hunters, c * prey * hunters - d * hunters])

    def torch_slope(self, p, y):
        a, b, c, d = p.unbind()
        prey, hunters = y.unbind()
        return torch.stack([a * prey - b * prey * hunters, c * prey * hunters - d * hunters])

    def jax_slope(self, p, y):
        a, b, c, d = p
        prey, hunters = y
        return jnp.stack([a * prey - b * prey * hunters, c * prey * hunters - d * hunters])


@workload(tiny=(4, 3), rk4_tanh_100_50=(100, 50))
class TanhNetwork(RungeKutta):
    """A network of neurons, whose connections are a matrix."""

    def inputs(self, rng, n, steps):
        self.steps = steps
        return [rng.normal(size=(n, n)) / n**0.5, rng.normal(size=n)]

    def numtape_slope(self, a, y):
        return nt.tanh(nt.linalg.matvec(a, y)) - y

    def torch_slope(self, a, y):
        return torch.tanh(a @ y) - y

    def jax_slope(self, a, y):
        return jnp.tanh(a @ y) - y


@workload(tiny=(6, 3), rk4_lorenz96_40_100=(40, 100), rk4_lorenz96_1000_100=(1000, 100))
class Lorenz96(RungeKutta):
    """A ring of variables, each coupled with its neighbours."""

    def inputs(self, rng, n, steps):
        self.steps = steps
        return [np.full(1, 8.0), 8 + rng.normal(size=n) / 10]

    def numtape_slope(self, force, y):
        return (nt.roll(y, -1, 0) - nt.roll(y, 2, 0)) * nt.roll(y, 1, 0) - y + force

    def torch_slope(self, force, y):
        return (torch.roll(y, -1) - torch.roll(y, 2)) * torch.roll(y, 1) - y + force

    def jax_slope(self, force, y):
        return (jnp.roll(y, -1) - jnp.roll(y, 2)) * jnp.roll(y, 1) - y + force


@workload(tiny=(3, 4), rk4_riccati_8x8_100=(8, 100))
class Riccati(RungeKutta):
    """The matrix equation of a linear-quadratic regulator."""

    def inputs(self, rng, n, steps):
        self.steps = steps
        return [rng.normal(size=(n, n)) / n**0.5, np.eye(n)]

    def numtape_slope(self, a, x):
        return nt.transpose(a) @ x + x @ a - x @ x + nt.eye(x.shape[0], dtype=x.dtype)

    def torch_slope(self, a, x):
        return a.T @ x + x @ a - x @ x + torch.eye(x.shape[0], dtype=x.dtype)

    def jax_slope(self, a, x):
        return a.T @ x + x @ a - x @ x + jnp.eye(x.shape[0])


@workload(tiny=(5, 3), heston_10k_50=(10_000, 50))
class Heston(Gradient):
    """The price of a call under stochastic volatility, and its sensitivities."""

    def inputs(self, rng, paths, steps):
        return [np.array([0.04, 1.5, 0.04, 0.3, -0.7]), rng.normal(size=(steps, 2, paths))]

    def numtape(self, p, z):
        v0, kappa, theta, xi, rho = nt.unstack(p)
        dt = 1 / z.shape[0]
        log_s, v = nt.zeros_like(z[0, 0]), nt.zeros_like(z[0, 0]) + v0
        for k in range(z.shape[0]):
            z1, z2 = z[k, 0], rho * z[k, 0] + nt.sqrt(1 - rho**2) * z[k, 1]
            root = nt.sqrt(nt.nn.relu(v) * dt + 1e-8)
            log_s = log_s - v * dt / 2 + root * z1
            v = v + kappa * (theta - v) * dt + xi * root * z2
        return nt.reduce_mean(nt.nn.relu(nt.exp(log_s) - 1))

    def torch(self, p, z):
        v0, kappa, theta, xi, rho = p.unbind()
        dt = 1 / z.shape[0]
        log_s, v = torch.zeros_like(z[0, 0]), torch.zeros_like(z[0, 0]) + v0
        for k in range(z.shape[0]):
            z1, z2 = z[k, 0], rho * z[k, 0] + torch.sqrt(1 - rho**2) * z[k, 1]
            root = torch.sqrt(torch.relu(v) * dt + 1e-8)
            log_s = log_s - v * dt / 2 + root * z1
            v = v + kappa * (theta - v) * dt + xi * root * z2
        return torch.relu(torch.exp(log_s) - 1).mean()

    def jax(self, p, z):
        v0, kappa, theta, xi, rho = p
        dt = 1 / z.shape[0]

        def body(state, z):
            log_s, v = state
            z1, z2 = z[0], rho * z[0] + jnp.sqrt(1 - rho**2) * z[1]
            root = jnp.sqrt(jax.nn.relu(v) * dt + 1e-8)
            log_s = log_s - v * dt / 2 + root * z1
            return (log_s, v + kappa * (theta - v) * dt + xi * root * z2), None

        start = jnp.zeros_like(z[0, 0]), jnp.zeros_like(z[0, 0]) + v0
        (log_s, _), _ = lax.scan(body, start, z)
        return jnp.mean(jax.nn.relu(jnp.exp(log_s) - 1))


@workload(tiny=(6,), sabr_100k=(100_000,))
class Sabr(Gradient):
    """Hagan's implied volatilities, and their gradients in four parameters for each strike."""

    wrt = 4

    def inputs(self, rng, n):
        bounds = (0.1, 0.4), (0.3, 0.8), (-0.6, -0.1), (0.2, 0.8), (0.8, 1.2), (1.25, 1.4)
        return [rng.uniform(low, high, n) for low, high in bounds]

    def numtape(self, *inputs):
        return nt.reduce_mean(sabr(nt.math.log, nt.sqrt, *inputs))

    def torch(self, *inputs):
        return sabr(torch.log, torch.sqrt, *inputs).mean()

    def jax(self, *inputs):
        return jnp.mean(sabr(jnp.log, jnp.sqrt, *inputs))


def sabr(log, sqrt, alpha, beta, rho, nu, forward, strike):
    """Hagan's formula, away from the money."""
    m = log(forward / strike)
    c = (forward * strike) ** ((1 - beta) / 2)
    z = nu / alpha * c * m
    x = log((sqrt(1 - 2 * rho * z + z * z) + z - rho) / (1 - rho))
    b = (1 - beta) * m
    scale = alpha / (c * (1 + b**2 / 24 + b**4 / 1920))
    first = (1 - beta) ** 2 / 24 * alpha**2 / c**2
    second = rho * beta * nu * alpha / (4 * c) + (2 - 3 * rho**2) / 24 * nu**2
    return scale * z / x * (1 + first + second)


@workload(tiny=(5, 4), asian_10k_64=(10_000, 64))
class Asian(Gradient):
    """An option on the mean of a path."""

    def inputs(self, rng, paths, steps):
        return [np.array([100.0, 0.2, 0.03]), rng.normal(size=(paths, steps))]

    def numtape(self, p, z):
        s, volatility, rate = nt.unstack(p)
        dt = 1 / z.shape[1]
        growth = (rate - volatility**2 / 2) * dt + volatility * dt**0.5 * z
        mean = nt.reduce_mean(s * nt.exp(nt.cumsum(growth, 1)), 1)
        return nt.exp(-rate) * nt.reduce_mean(nt.nn.relu(mean - 100.0))

    def torch(self, p, z):
        s, volatility, rate = p.unbind()
        dt = 1 / z.shape[1]
        growth = (rate - volatility**2 / 2) * dt + volatility * dt**0.5 * z
        mean = (s * torch.exp(torch.cumsum(growth, 1))).mean(1)
        return torch.exp(-rate) * torch.relu(mean - 100.0).mean()

    def jax(self, p, z):
        s, volatility, rate = p
        dt = 1 / z.shape[1]
        growth = (rate - volatility**2 / 2) * dt + volatility * dt**0.5 * z
        mean = jnp.mean(s * jnp.exp(jnp.cumsum(growth, 1)), 1)
        return jnp.exp(-rate) * jnp.mean(jax.nn.relu(mean - 100.0))
