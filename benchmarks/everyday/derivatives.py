"""Hessians, Jacobians, gradients of gradients and of implicit functions."""

from __future__ import annotations

import itertools

import numpy as np

from benchmarks.everyday.case import Custom, Gradient, Values, flatten, workload
from benchmarks.everyday.modules import F, jax, jnp, lax, nt, torch


@workload(tiny=(5,), hessian_50=(50,), hessian_200=(200,), hessian_500=(500,))
class Hessian(Values):
    """The Hessian of a chain of nonlinear springs with a dense coupling."""

    def inputs(self, rng, n):
        return [rng.normal(size=n), rng.normal(size=(n, n)) / n]

    def numtape(self, x, a):
        with nt.GradientTape() as outer:
            outer.watch(x)
            with nt.GradientTape() as inner:
                inner.watch(x)
                springs = nt.reduce_sum((x[1:] - x[:-1]) ** 4)
                value = springs + nt.reduce_sum(nt.sin(nt.linalg.matvec(a, x)) ** 2)
            gradient = inner.gradient(value, x)
        return outer.jacobian(gradient, x)

    def torch(self, x, a):
        def f(x):
            return ((x[1:] - x[:-1]) ** 4).sum() + (torch.sin(a @ x) ** 2).sum()

        return torch.func.hessian(f)(x)

    def jax(self, x, a):
        def f(x):
            return jnp.sum((x[1:] - x[:-1]) ** 4) + jnp.sum(jnp.sin(a @ x) ** 2)

        return jax.hessian(f)(x)


def network(rng, *sizes):
    """Returns kernels and inputs of a network without biases."""
    pairs = itertools.pairwise(sizes[1:])
    x = rng.normal(size=(sizes[0], sizes[1])).astype(np.float32)
    return [(rng.normal(size=pair) / pair[0] ** 0.5).astype(np.float32) for pair in pairs] + [x]


@workload(tiny=(3, 4, 5, 2), per_example_gradients_64=(64, 32, 64, 10))
class PerExampleGradients(Values):
    """The gradient of each example's loss."""

    def inputs(self, rng, *sizes):
        return network(rng, *sizes)

    def numtape(self, v, w, x):
        with nt.GradientTape() as tape:
            tape.watch([v, w])
            losses = nt.reduce_sum((nt.tanh(x @ v) @ w) ** 2, 1)
        return tape.jacobian(losses, [v, w])

    def torch(self, v, w, x):
        def loss_of(v, w, x):
            return ((torch.tanh(x @ v) @ w) ** 2).sum()

        return torch.func.vmap(torch.func.grad(loss_of, (0, 1)), (None, None, 0))(v, w, x)

    def jax(self, v, w, x):
        def loss_of(v, w, x):
            return jnp.sum((jnp.tanh(x @ v) @ w) ** 2)

        return jax.vmap(jax.grad(loss_of, (0, 1)), (None, None, 0))(v, w, x)


@workload(tiny=(3, 4, 5, 2), per_example_vectorized_64=(64, 32, 64, 10))
class PerExampleVectorized(PerExampleGradients):
    """The same, with ``vectorized_map`` and variables."""

    def numtape_step(self, decorate):
        v, w = variables = [nt.Variable(a) for a in self.arrays[:2]]
        x = nt.constant(self.arrays[2])

        def gradient(x):
            with nt.GradientTape() as tape:
                loss = nt.reduce_sum((nt.tanh(x[None] @ v) @ w) ** 2)
            return tape.gradient(loss, variables)

        gradients = decorate(lambda x: nt.vectorized_map(gradient, x))
        return lambda: flatten(gradients(x))


@workload(tiny=(3, 4, 5, 2), batch_jacobian_64=(64, 32, 64, 16))
class BatchJacobian(Values):
    """The Jacobian of each example's outputs with respect to its inputs."""

    def inputs(self, rng, *sizes):
        return network(rng, *sizes)

    def numtape(self, v, w, x):
        with nt.GradientTape() as tape:
            tape.watch(x)
            y = nt.tanh(nt.tanh(x @ v) @ w)
        return tape.batch_jacobian(y, x)

    def torch(self, v, w, x):
        def f(x):
            return torch.tanh(torch.tanh(x @ v) @ w)

        return torch.func.vmap(torch.func.jacrev(f))(x)

    def jax(self, v, w, x):
        return jax.vmap(jax.jacrev(lambda x: jnp.tanh(jnp.tanh(x @ v) @ w)))(x)


@workload(tiny=(3, 4, 5, 1), gradient_penalty_64=(64, 32, 128, 1))
class GradientPenalty(Gradient):
    """The squared length of a critic's gradient, and its gradient."""

    wrt = 2

    def inputs(self, rng, *sizes):
        return network(rng, *sizes)

    def numtape(self, v, w, x):
        with nt.GradientTape() as tape:
            tape.watch(x)
            y = nt.tanh(x @ v) @ w
        lengths = nt.norm(tape.gradient(y, x), axis=1)
        return nt.reduce_mean((lengths - 1) ** 2) + nt.reduce_mean(y)

    def torch(self, v, w, x):
        x = x.detach().requires_grad_()
        y = torch.tanh(x @ v) @ w
        (gradient,) = torch.autograd.grad(y.sum(), x, create_graph=True)
        return ((gradient.norm(dim=1) - 1) ** 2).mean() + y.mean()

    def jax(self, v, w, x):
        def critic(x):
            return jnp.sum(jnp.tanh(x @ v) @ w)

        values, gradients = jax.vmap(jax.value_and_grad(critic))(x)
        return jnp.mean((jnp.linalg.norm(gradients, axis=1) - 1) ** 2) + jnp.mean(values)


@workload(tiny=(4, 2, 5), implicit_layer_50=(50, 16, 30))
class ImplicitLayer(Gradient):
    """A fixed point of a layer; its adjoint solves a linear fixed point as well."""

    wrt = 2

    def inputs(self, rng, n, batch, steps):
        self.steps = steps
        w = rng.normal(size=(n, n)) / n**0.5 / 3
        return [w, rng.normal(size=(batch, n))]

    def numtape(self, w, x):
        z = nt.zeros_like(x)
        for _ in range(self.steps):
            z = nt.tanh(nt.stop_gradient(z @ w + x))
        y, slope = nt.tanh(z @ w + x), 1 - z**2
        return nt.reduce_mean(self.numtape_layer(y, z, w, slope) ** 2)

    def numtape_layer(self, y, z, w, slope):
        @nt.custom_gradient
        def implicit(y):
            def adjoint(g):
                u = g
                for _ in range(self.steps):
                    u = g + (u * slope) @ nt.transpose(w)
                return u

            return nt.identity(y), adjoint

        return implicit(y)

    def torch(self, w, x):
        with torch.no_grad():
            z = torch.zeros_like(x)
            for _ in range(self.steps):
                z = torch.tanh(z @ w + x)
        y, slope = torch.tanh(z @ w + x), 1 - z**2

        def adjoint(g):
            u = g
            for _ in range(self.steps):
                u = g + (u * slope) @ w.detach().T
            return u

        y.register_hook(adjoint)
        return (y**2).mean()

    def jax(self, w, x):
        z = lax.fori_loop(
            0,
            self.steps,
            lambda _, z: jnp.tanh(z @ w + x),
            jnp.zeros_like(x),
        )
        z = lax.stop_gradient(z)
        slope = 1 - z**2

        @jax.custom_vjp
        def implicit(y, w):
            return y

        def forward(y, w):
            return y, w

        def adjoint(w, g):
            u = lax.fori_loop(0, self.steps, lambda _, u: g + (u * slope) @ w.T, g)
            return u, jnp.zeros_like(w)

        implicit.defvjp(forward, adjoint)
        return jnp.mean(implicit(jnp.tanh(z @ w + x), lax.stop_gradient(w)) ** 2)


@workload(tiny=(3, 4, 5, 2), hessian_vector_product=(64, 64, 128, 10))
class HessianVectorProduct(Custom):
    """A Hessian of the weights times a vector, forward over reverse where the library can."""

    def inputs(self, rng, *sizes):
        v, w, x = network(rng, *sizes)
        return [v, w, x, rng.integers(sizes[-1], size=sizes[0]), np.ones_like(v)]

    def numtape(self, decorate, v, w, x, y, direction):
        v, w, x, y, direction = map(nt.constant, (v, w, x, y, direction))

        @decorate
        def product(v):
            with nt.autodiff.ForwardAccumulator(v, direction) as forward:
                with nt.GradientTape() as tape:
                    tape.watch(v)
                    loss = nt.reduce_mean(
                        nt.nn.sparse_softmax_cross_entropy_with_logits(y, nt.tanh(x @ v) @ w)
                    )
                gradient = tape.gradient(loss, v)
            return forward.jvp(gradient)

        return lambda: np.asarray(product(v))

    def torch(self, *arrays):
        v, w, x, y, direction = map(torch.tensor, arrays)

        def gradient(v):
            return torch.func.grad(lambda v: F.cross_entropy(torch.tanh(x @ v) @ w, y))(v)

        return lambda: torch.func.jvp(gradient, (v,), (direction,))[1]

    def jax(self, *arrays):
        v, w, x, y, direction = map(jnp.asarray, arrays)

        def loss_of(v):
            logs = jax.nn.log_softmax(jnp.tanh(x @ v) @ w)
            return -jnp.mean(jnp.take_along_axis(logs, y[:, None], 1))

        product = jax.jit(lambda v: jax.jvp(jax.grad(loss_of), (v,), (direction,))[1])
        return lambda: product(v).block_until_ready()
