"""Scalar loops, slices in loops, small vectors and small random draws."""

from __future__ import annotations

import numpy as np

from benchmarks.everyday.case import Custom, Gradient, Values, workload
from benchmarks.everyday.modules import jax, jnp, lax, nt, torch


@workload(
    tiny=(5,),
    scalar_loop_10=(10,),
    scalar_loop_100=(100,),
    scalar_loop_1000=(1000,),
    scalar_loop_10000=(10_000,),
    scalar_loop_100000=(100_000,),
)
class ScalarLoop(Gradient):
    """A recurrence of one number."""

    def inputs(self, rng, steps):
        self.steps = steps
        return [np.float64(0.3)]

    def numtape(self, x):
        y = x
        for _ in range(self.steps):
            y = nt.sin(y) + x * 0.5
        return y

    def torch(self, x):
        y = x
        for _ in range(self.steps):
            y = torch.sin(y) + x * 0.5
        return y

    def jax(self, x):
        return lax.scan(lambda y, _: (jnp.sin(y) + x * 0.5, None), x, None, self.steps)[0]


@workload(tiny=(5,), slices_rosenbrock_100=(100,))
class SlicesRosenbrock(Gradient):
    """Rosenbrock's function, written with an index in a loop."""

    def inputs(self, rng, n):
        return [rng.normal(size=n)]

    def numtape(self, x):
        return rosenbrock(x)

    def torch(self, x):
        return rosenbrock(x)

    def jax(self, x):
        return rosenbrock(x)


def rosenbrock(x):
    """The sum over pairs of neighbours."""
    total = 0.0
    for k in range(x.shape[0] - 1):
        total = total + 100 * (x[k + 1] - x[k] ** 2) ** 2 + (1 - x[k]) ** 2
    return total


@workload(tiny=(3, 2), small_vector_chain=(3, 50))
class SmallVectors(Gradient):
    """Rotations of a vector of three numbers."""

    wrt = 2

    def inputs(self, rng, n, steps):
        self.steps = steps
        return [rng.normal(size=n), rng.normal(size=n) / 10]

    def numtape(self, x, w):
        for _ in range(self.steps):
            x = x + nt.tanh(x * w) * 0.1 - w * nt.reduce_sum(x * w)
        return nt.reduce_sum(x**2)

    def torch(self, x, w):
        for _ in range(self.steps):
            x = x + torch.tanh(x * w) * 0.1 - w * (x * w).sum()
        return (x**2).sum()

    def jax(self, x, w):
        for _ in range(self.steps):
            x = x + jnp.tanh(x * w) * 0.1 - w * jnp.sum(x * w)
        return jnp.sum(x**2)


@workload(tiny=(2000,), normal_1m=(1_000_000,))
class Normal(Custom):
    """A million normal numbers; the means and deviations are compared."""

    tolerance = 0.1

    def inputs(self, rng, n):
        self.n = n
        return []

    def compared(self, result):
        x = np.asarray(result)
        return [np.array([1 + x.mean(), x.std()])]

    def numtape(self, decorate):
        nt.random.set_seed(1)
        draw = decorate(lambda: nt.random.normal((self.n,)))
        return lambda: np.asarray(draw())

    def torch(self):
        torch.manual_seed(1)
        return lambda: torch.randn(self.n)

    def jax(self):
        draw = jax.jit(lambda key: jax.random.normal(key, (self.n,), jnp.float32))
        key = jax.random.key(1)

        def step():
            nonlocal key
            key, one = jax.random.split(key)
            return draw(one).block_until_ready()

        return step


class SmallDraw(Custom):
    """A few numbers in each call. The first 100 calls are compared by their mean."""

    tolerance = 0.2
    checked_steps = 100

    def inputs(self, rng):
        self.means = []
        return [np.array([0.5, 1.0, 2.0])]

    def compared(self, result):
        self.means.append(np.mean(np.asarray(result, np.float64)))
        return [np.mean(self.means)] if len(self.means) % self.checked_steps == 0 else []

    def numtape(self, decorate, p):
        nt.random.set_seed(1)
        draw = decorate(self.numtape_draw)
        p = nt.constant(p)
        return lambda: np.asarray(draw(p))

    def torch(self, p):
        torch.manual_seed(1)
        p = torch.tensor(p)
        return lambda: self.torch_draw(p)

    def jax(self, p):
        p, key = jnp.asarray(p), jax.random.key(1)

        @jax.jit
        def draw(key):
            key, one = jax.random.split(key)
            return key, self.jax_draw(one, p)

        def step():
            nonlocal key
            key, x = draw(key)
            return x.block_until_ready()

        return step


@workload(categorical_3=())
class Categorical(SmallDraw):
    """One choice of three."""

    def numtape_draw(self, p):
        return nt.random.categorical(nt.math.log(p)[None], 8)

    def torch_draw(self, p):
        return torch.distributions.Categorical(p).sample((1, 8))

    def jax_draw(self, key, p):
        return jax.random.categorical(key, jnp.log(p), shape=(1, 8))


@workload(gamma_8x3=())
class Gamma(SmallDraw):
    """Gamma numbers with three parameters."""

    def numtape_draw(self, p):
        return nt.random.gamma((8,), p, dtype=nt.float64)

    def torch_draw(self, p):
        return torch.distributions.Gamma(p, torch.ones_like(p)).sample((8,))

    def jax_draw(self, key, p):
        return jax.random.gamma(key, p, (8, 3))


@workload(generator_8=())
class GeneratorDraw(SmallDraw):
    """Uniform numbers of a generator with its own state."""

    def numtape(self, decorate, p):
        generator = nt.random.Generator.from_seed(1)
        draw = decorate(lambda: generator.uniform((8,)))
        return lambda: np.asarray(draw())

    def torch(self, p):
        generator = torch.Generator().manual_seed(1)
        return lambda: torch.rand(8, generator=generator)

    def jax_draw(self, key, p):
        return jax.random.uniform(key, (8,), jnp.float32)


@workload(tiny=(3, 4), python_numbers=(3, 20))
class PythonNumbers(Values):
    """Mixes numbers, small tensors and comparisons, without gradients."""

    def inputs(self, rng, n, steps):
        self.steps = steps
        return [rng.random(n)]

    def numtape(self, x):
        for k in range(self.steps):
            x = nt.where(x > 0.5, x / 2, 1.5 * x + 0.1 * k / self.steps)
        return x

    def torch(self, x):
        for k in range(self.steps):
            x = torch.where(x > 0.5, x / 2, 1.5 * x + 0.1 * k / self.steps)
        return x

    def jax(self, x):
        for k in range(self.steps):
            x = jnp.where(x > 0.5, x / 2, 1.5 * x + 0.1 * k / self.steps)
        return x


@workload(tiny=(4,), reinforce_toy=(20,))
class Reinforce(Custom):
    """An episode in a corridor, and a policy gradient; the environment is Python.

    Each library draws its actions with the same uniform numbers.
    """

    checked_steps = 3

    def inputs(self, rng, length):
        self.length = length
        return [rng.normal(size=(8, 2)), rng.random(length)]

    def episode(self, policy, uniform):
        """Walks right with the policy's probability. Returns positions, actions and rewards."""
        position, trace = 0, []
        for k in range(self.length):
            action = int(uniform[k] < policy(position))
            trace.append((position, action, 1.0 if action else -0.1))
            position = min(7, position + 1) if action else max(0, position - 1)
        positions, actions, rewards = map(np.array, zip(*trace, strict=True))
        returns = np.cumsum(rewards[::-1])[::-1]
        return positions, actions, returns.copy()

    def numtape(self, decorate, w, uniform):
        w = nt.Variable(w)
        optimizer = nt.keras.optimizers.SGD(0.01)

        @decorate
        def right(position):
            return nt.nn.softmax(nt.gather(w, position))[1]

        @decorate
        def update(positions, actions, returns):
            with nt.GradientTape() as tape:
                loss = nt.nn.sparse_softmax_cross_entropy_with_logits(
                    labels=actions, logits=nt.gather(w, positions)
                )
                loss = nt.reduce_mean(loss * returns)
            optimizer.apply_gradients([(tape.gradient(loss, w), w)])
            return loss

        def step():
            trace = self.episode(lambda k: float(right(nt.constant(k))), uniform)
            return float(update(*map(nt.constant, trace)))

        return step

    def torch(self, w, uniform):
        w = torch.tensor(w, requires_grad=True)
        optimizer = torch.optim.SGD([w], 0.01)

        def step():
            with torch.no_grad():
                trace = self.episode(lambda k: torch.softmax(w[k], 0)[1].item(), uniform)
            positions, actions, returns = map(torch.from_numpy, trace)
            loss = torch.nn.functional.cross_entropy(w[positions], actions, reduction="none")
            loss = (loss * returns).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            return loss.item()

        return step

    def jax(self, w, uniform):
        w = jnp.asarray(w)
        right = jax.jit(lambda w, k: jax.nn.softmax(w[k])[1])

        def loss_of(w, positions, actions, returns):
            logs = jax.nn.log_softmax(w[positions])
            return -jnp.mean(jnp.take_along_axis(logs, actions[:, None], 1)[:, 0] * returns)

        @jax.jit
        def update(w, *trace):
            loss, gradient = jax.value_and_grad(loss_of)(w, *trace)
            return loss, w - 0.01 * gradient

        def step():
            nonlocal w
            loss, w = update(w, *self.episode(lambda k: float(right(w, k)), uniform))
            return float(loss)

        return step
