"""Matrix products and factorizations, with gradients."""

from __future__ import annotations

import numpy as np

from benchmarks.everyday.case import Gradient, workload
from benchmarks.everyday.modules import jax, jnp, nt, torch


@workload(tiny=(6, "float64"), matmul_f32_1024=(1024, "float32"), matmul_f64_1024=(1024, "float64"))
class Matmul(Gradient):
    """A product of square matrices."""

    wrt = 2

    def inputs(self, rng, n, dtype):
        return [(rng.normal(size=(n, n)) / n**0.5).astype(dtype) for _ in range(2)]

    def numtape(self, a, b):
        return nt.reduce_mean((a @ b) ** 2)

    def torch(self, a, b):
        return ((a @ b) ** 2).mean()

    def jax(self, a, b):
        return jnp.mean((a @ b) ** 2)


def positive_definite(rng, n):
    """Returns a well-conditioned covariance."""
    a = rng.normal(size=(n, n))
    return a @ a.T / n + np.eye(n)


@workload(tiny=(5,), cholesky_300=(300,))
class Cholesky(Gradient):
    """The likelihood of a covariance."""

    wrt = 2

    def inputs(self, rng, n):
        return [positive_definite(rng, n), rng.normal(size=n)]

    def numtape(self, a, y):
        factor = nt.linalg.cholesky((a + nt.transpose(a)) / 2)
        z = nt.linalg.triangular_solve(factor, y[:, None])
        return nt.reduce_sum(z**2) / 2 + nt.reduce_sum(nt.math.log(nt.linalg.diag_part(factor)))

    def torch(self, a, y):
        factor = torch.linalg.cholesky((a + a.T) / 2)
        z = torch.linalg.solve_triangular(factor, y[:, None], upper=False)
        return (z**2).sum() / 2 + factor.diagonal().log().sum()

    def jax(self, a, y):
        factor = jnp.linalg.cholesky((a + a.T) / 2, symmetrize_input=False)
        z = jax.scipy.linalg.solve_triangular(factor, y, lower=True)
        return jnp.sum(z**2) / 2 + jnp.sum(jnp.log(jnp.diagonal(factor)))


@workload(tiny=(5,), solve_200=(200,))
class Solve(Gradient):
    """A linear system."""

    wrt = 2

    def inputs(self, rng, n):
        return [rng.normal(size=(n, n)) / n**0.5 + 2 * np.eye(n), rng.normal(size=(n, 1))]

    def numtape(self, a, b):
        return nt.reduce_sum(nt.linalg.solve(a, b) ** 2)

    def torch(self, a, b):
        return (torch.linalg.solve(a, b) ** 2).sum()

    def jax(self, a, b):
        return jnp.sum(jnp.linalg.solve(a, b) ** 2)


@workload(tiny=(5,), eigh_100=(100,))
class Eigh(Gradient):
    """A function of eigenvalues and squared eigenvectors."""

    def inputs(self, rng, n):
        return [positive_definite(rng, n) + np.diag(np.linspace(0, 2, n))]

    def numtape(self, a):
        values, vectors = nt.linalg.eigh((a + nt.transpose(a)) / 2)
        return nt.reduce_sum(nt.math.log(values)) + nt.reduce_sum(vectors[0] ** 2 * values**2)

    def torch(self, a):
        values, vectors = torch.linalg.eigh((a + a.T) / 2)
        return values.log().sum() + (vectors[0] ** 2 * values**2).sum()

    def jax(self, a):
        values, vectors = jnp.linalg.eigh((a + a.T) / 2, symmetrize_input=False)
        return jnp.sum(jnp.log(values)) + jnp.sum(vectors[0] ** 2 * values**2)


@workload(tiny=(6, 4), svd_200x100=(200, 100))
class Svd(Gradient):
    """The nuclear norm, and the energy of the first left vector."""

    def inputs(self, rng, rows, columns):
        return [rng.normal(size=(rows, columns))]

    def numtape(self, a):
        s, u, _ = nt.linalg.svd(a, full_matrices=False)
        return nt.reduce_sum(s) + nt.reduce_sum(u[0] ** 2 * s)

    def torch(self, a):
        u, s, _ = torch.linalg.svd(a, full_matrices=False)
        return s.sum() + (u[0] ** 2 * s).sum()

    def jax(self, a):
        u, s, _ = jnp.linalg.svd(a, full_matrices=False)
        return jnp.sum(s) + jnp.sum(u[0] ** 2 * s)


@workload(tiny=(3, 3), det_inv_4x4=(1000, 4))
class SmallMatrices(Gradient):
    """Determinants and inverses of many small matrices."""

    def inputs(self, rng, count, n):
        return [rng.normal(size=(count, n, n)) / 2 + 2 * np.eye(n)]

    def numtape(self, a):
        return nt.reduce_mean(nt.math.log(nt.linalg.det(a)) + nt.linalg.trace(nt.linalg.inv(a)))

    def torch(self, a):
        traces = torch.linalg.inv(a).diagonal(dim1=-2, dim2=-1).sum(-1)
        return (torch.linalg.det(a).log() + traces).mean()

    def jax(self, a):
        traces = jnp.trace(jnp.linalg.inv(a), axis1=-2, axis2=-1)
        return jnp.mean(jnp.log(jnp.linalg.det(a)) + traces)
