"""Filters, mixtures, Gaussian processes, factorizations and regressions."""

from __future__ import annotations

import numpy as np

from benchmarks.everyday.case import Gradient, Training, workload
from benchmarks.everyday.modules import F, jax, jnp, lax, nt, torch


@workload(tiny=(4, 3), kalman_200=(4, 200))
class Kalman(Gradient):
    """The likelihood of a linear state space with two observed numbers."""

    wrt = 3

    def inputs(self, rng, n, steps):
        a = 0.9 * np.eye(n) + 0.05 * rng.normal(size=(n, n))
        return [a, 0.1 * np.eye(n), 0.5 * np.eye(2), rng.normal(size=(steps, 2, 1))]

    def numtape(self, a, q, r, y):
        n = a.shape[0]
        h = nt.eye(2, n, dtype=a.dtype)
        x, p, total = nt.zeros((n, 1), a.dtype), nt.eye(n, dtype=a.dtype), 0.0
        for k in range(y.shape[0]):
            x, p = a @ x, a @ p @ nt.transpose(a) + q
            s = h @ p @ nt.transpose(h) + r
            inverse, error = nt.linalg.inv(s), y[k] - h @ x
            gain = p @ nt.transpose(h) @ inverse
            x, p = x + gain @ error, p - gain @ h @ p
            fit = nt.reduce_sum(error * (inverse @ error))
            total = total + fit + nt.math.log(nt.linalg.det(s))
        return total

    def torch(self, a, q, r, y):
        n = a.shape[0]
        h = torch.eye(2, n, dtype=a.dtype)
        x, p, total = torch.zeros((n, 1), dtype=a.dtype), torch.eye(n, dtype=a.dtype), 0.0
        for k in range(y.shape[0]):
            x, p = a @ x, a @ p @ a.T + q
            s = h @ p @ h.T + r
            inverse, error = torch.linalg.inv(s), y[k] - h @ x
            gain = p @ h.T @ inverse
            x, p = x + gain @ error, p - gain @ h @ p
            total = total + (error * (inverse @ error)).sum() + torch.log(torch.linalg.det(s))
        return total

    def jax(self, a, q, r, y):
        n = a.shape[0]
        h = jnp.eye(2, n)

        def body(state, y):
            x, p, total = state
            x, p = a @ x, a @ p @ a.T + q
            s = h @ p @ h.T + r
            inverse, error = jnp.linalg.inv(s), y - h @ x
            gain = p @ h.T @ inverse
            x, p = x + gain @ error, p - gain @ h @ p
            total = total + jnp.sum(error * (inverse @ error)) + jnp.log(jnp.linalg.det(s))
            return (x, p, total), None

        return lax.scan(body, (jnp.zeros((n, 1)), jnp.eye(n), 0.0), y)[0][2]


@workload(tiny=(3, 4), hmm_16x500=(16, 500))
class HiddenMarkov(Gradient):
    """The forward algorithm in logarithms."""

    wrt = 2

    def inputs(self, rng, states, steps):
        return [rng.normal(size=(states, states)), rng.normal(size=(steps, states))]

    def numtape(self, transitions, emissions):
        logs = nt.nn.log_softmax(transitions)
        state = emissions[0]
        for k in range(1, emissions.shape[0]):
            state = nt.reduce_logsumexp(state[:, None] + logs, 0) + emissions[k]
        return nt.reduce_logsumexp(state)

    def torch(self, transitions, emissions):
        logs = torch.log_softmax(transitions, 1)
        state = emissions[0]
        for k in range(1, emissions.shape[0]):
            state = torch.logsumexp(state[:, None] + logs, 0) + emissions[k]
        return torch.logsumexp(state, 0)

    def jax(self, transitions, emissions):
        logs = jax.nn.log_softmax(transitions)

        def body(state, emission):
            return jax.nn.logsumexp(state[:, None] + logs, 0) + emission, None

        return jax.nn.logsumexp(lax.scan(body, emissions[0], emissions[1:])[0])


@workload(tiny=(6, 2), gp_200=(200, 3), gp_1000=(1000, 3), gp_2000=(2000, 3))
class GaussianProcess(Gradient):
    """The likelihood of a process with a squared exponential kernel."""

    def inputs(self, rng, n, features):
        return [np.array([0.1, 0.2, -1.0]), rng.normal(size=(n, features)), rng.normal(size=n)]

    def numtape(self, p, x, y):
        scale, height, noise = nt.unstack(nt.exp(p))
        squares = nt.reduce_sum(x * x, 1)
        d = squares[:, None] + squares - 2 * (x @ nt.transpose(x))
        k = height * nt.exp(-d / (2 * scale**2)) + noise * nt.eye(x.shape[0], dtype=x.dtype)
        factor = nt.linalg.cholesky(k)
        z = nt.linalg.triangular_solve(factor, y[:, None])
        return nt.reduce_sum(z**2) / 2 + nt.reduce_sum(nt.math.log(nt.linalg.diag_part(factor)))

    def torch(self, p, x, y):
        scale, height, noise = torch.exp(p).unbind()
        squares = (x * x).sum(1)
        d = squares[:, None] + squares - 2 * (x @ x.T)
        k = height * torch.exp(-d / (2 * scale**2)) + noise * torch.eye(len(x), dtype=x.dtype)
        factor = torch.linalg.cholesky(k)
        z = torch.linalg.solve_triangular(factor, y[:, None], upper=False)
        return (z**2).sum() / 2 + factor.diagonal().log().sum()

    def jax(self, p, x, y):
        scale, height, noise = jnp.exp(p)
        squares = jnp.sum(x * x, 1)
        d = squares[:, None] + squares - 2 * (x @ x.T)
        k = height * jnp.exp(-d / (2 * scale**2)) + noise * jnp.eye(len(x))
        factor = jnp.linalg.cholesky(k)
        z = jax.scipy.linalg.solve_triangular(factor, y, lower=True)
        return jnp.sum(z**2) / 2 + jnp.sum(jnp.log(jnp.diagonal(factor)))


@workload(tiny=(20, 3, 2), mixture_10k_10=(10_000, 10, 2))
class Mixture(Gradient):
    """The likelihood of a mixture of diagonal normal distributions."""

    wrt = 3

    def inputs(self, rng, n, parts, features):
        shape = parts, features
        return [
            rng.normal(size=shape),
            rng.normal(size=shape) / 4,
            rng.normal(size=parts),
            rng.normal(size=(n, features)),
        ]

    def numtape(self, mean, log_scale, logits, x):
        z = (x[:, None] - mean) * nt.exp(-log_scale)
        logs = -0.5 * nt.reduce_sum(z**2, 2) - nt.reduce_sum(log_scale, 1)
        return -nt.reduce_mean(nt.reduce_logsumexp(logs + nt.nn.log_softmax(logits), 1))

    def torch(self, mean, log_scale, logits, x):
        z = (x[:, None] - mean) * torch.exp(-log_scale)
        logs = -0.5 * (z**2).sum(2) - log_scale.sum(1)
        return -torch.logsumexp(logs + torch.log_softmax(logits, 0), 1).mean()

    def jax(self, mean, log_scale, logits, x):
        z = (x[:, None] - mean) * jnp.exp(-log_scale)
        logs = -0.5 * jnp.sum(z**2, 2) - jnp.sum(log_scale, 1)
        return -jnp.mean(jax.nn.logsumexp(logs + jax.nn.log_softmax(logits), 1))


@workload(tiny=(20, 3, 2), kmeans_soft_20k_50=(20_000, 50, 3))
class SoftKMeans(Gradient):
    """Distances to centres, with soft minima."""

    def inputs(self, rng, n, centres, features):
        return [rng.normal(size=(centres, features)), rng.normal(size=(n, features))]

    def numtape(self, centres, x):
        d = nt.reduce_sum((x[:, None] - centres) ** 2, 2)
        return nt.reduce_mean(nt.reduce_sum(nt.nn.softmax(-d) * d, 1))

    def torch(self, centres, x):
        d = ((x[:, None] - centres) ** 2).sum(2)
        return (torch.softmax(-d, 1) * d).sum(1).mean()

    def jax(self, centres, x):
        d = jnp.sum((x[:, None] - centres) ** 2, 2)
        return jnp.mean(jnp.sum(jax.nn.softmax(-d) * d, 1))


@workload(tiny=(5, 6, 2, 30), matrix_factorization_20k=(2000, 3000, 16, 20_000))
class MatrixFactorization(Training):
    """Ratings from embeddings of users and items; the gradients are slices."""

    optimizer, rate = "sgd", 50.0

    def inputs(self, rng, users, items, rank, n):
        self.rate = n / 20
        weights = [rng.normal(size=(k, rank)).astype(np.float32) for k in (users, items)]
        ratings = rng.normal(size=n).astype(np.float32)
        return weights, [rng.integers(users, size=n), rng.integers(items, size=n), ratings]

    def numtape(self, weights):
        users, items = variables = [nt.Variable(w) for w in weights]

        def loss_of(user, item, rating):
            product = nt.gather(users, user) * nt.gather(items, item)
            return nt.reduce_mean((nt.reduce_sum(product, 1) - rating) ** 2)

        return loss_of, variables

    def torch(self, weights):
        users, items = (
            torch.nn.Embedding.from_pretrained(torch.tensor(w), freeze=False, sparse=True)
            for w in weights
        )

        def loss_of(user, item, rating):
            return (((users(user) * items(item)).sum(1) - rating) ** 2).mean()

        return loss_of, [users.weight, items.weight]

    def jax(self, weights, user, item, rating):
        users, items = weights
        return jnp.mean((jnp.sum(users[user] * items[item], 1) - rating) ** 2)


@workload(tiny=(20, 5, 3), softmax_regression_10k=(10_000, 784, 10))
class SoftmaxRegression(Gradient):
    """Cross-entropy of a linear model on all rows."""

    wrt = 2

    def inputs(self, rng, n, features, classes):
        w = rng.normal(size=(features, classes)) / features**0.5
        x = rng.normal(size=(n, features)).astype(np.float32)
        return [
            w.astype(np.float32),
            np.zeros(classes, np.float32),
            x,
            rng.integers(classes, size=n),
        ]

    def numtape(self, w, b, x, y):
        return nt.reduce_mean(
            nt.nn.sparse_softmax_cross_entropy_with_logits(labels=y, logits=x @ w + b)
        )

    def torch(self, w, b, x, y):
        return F.cross_entropy(x @ w + b, y)

    def jax(self, w, b, x, y):
        logs = jax.nn.log_softmax(x @ w + b)
        return -jnp.mean(jnp.take_along_axis(logs, y[:, None], 1))


@workload(tiny=(5, 4), logsumexp_4000x1000=(4000, 1000))
class LogSumExp(Gradient):
    """Over the last axis."""

    def inputs(self, rng, rows, columns):
        return [rng.normal(size=(rows, columns)).astype(np.float32)]

    def numtape(self, x):
        return nt.reduce_mean(nt.reduce_logsumexp(x, 1))

    def torch(self, x):
        return torch.logsumexp(x, 1).mean()

    def jax(self, x):
        return jnp.mean(jax.nn.logsumexp(x, 1))


@workload(tiny=(20, 3), poisson_regression_100k=(100_000, 8))
class PoissonRegression(Gradient):
    """A generalized linear model, in float64."""

    def inputs(self, rng, n, features):
        x = rng.normal(size=(n, features)) / features**0.5
        return [rng.normal(size=features), x, rng.poisson(1.0, n).astype(np.float64)]

    def numtape(self, w, x, y):
        logs = nt.linalg.matvec(x, w)
        return nt.reduce_mean(nt.exp(logs) - y * logs)

    def torch(self, w, x, y):
        logs = x @ w
        return (torch.exp(logs) - y * logs).mean()

    def jax(self, w, x, y):
        logs = x @ w
        return jnp.mean(jnp.exp(logs) - y * logs)
