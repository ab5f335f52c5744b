"""What a workload is: shared NumPy inputs, and a step in each library.

A workload is a class. Its method ``inputs`` creates the arrays, and its methods ``numtape``,
``torch`` and ``jax`` are written as users of the library would. The base class says what these
methods return:

- `Gradient`: a scalar. A step computes it and its gradients.
- `Values`: arrays. A step computes them.
- `Training`: a loss and its parameters. A step is one of an optimizer.
- `Custom`: a function that performs a step.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from benchmarks.everyday.modules import jax, jnp, nt, torch
from benchmarks.everyday.process import EAGER, JAX, REPLAYED, TENSORFLOW, TORCH

Array = np.ndarray[Any, np.dtype[Any]]
Step = Callable[[], Any]
Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def as_is(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function, which stays eager."""
    return function


class Case:
    """A workload of one size.

    Attributes:
        checked_steps: The number of first steps whose results are compared between libraries.
        tolerance: The largest relative difference; None is 1e-3 with float32 inputs, else 1e-6.
    """

    checked_steps = 1
    tolerance: float | None = None

    def __init__(self, *size: Any) -> None:
        """Creates the inputs, which are the same in each library."""
        self.arrays = self.inputs(np.random.default_rng(1), *size)

    def inputs(self, rng: np.random.Generator, *size: Any) -> Any:
        """Returns the arrays of the workload."""
        raise NotImplementedError

    def compared(self, result: Any) -> list[Array]:
        """Returns the arrays of a step's result that libraries have to agree on."""
        return flatten(result)

    def allowed_difference(self) -> float:
        """Returns the tolerance."""
        if self.tolerance is not None:
            return self.tolerance
        narrow = any(a.dtype == np.float32 for a in flatten(self.arrays))
        return 1e-3 if narrow else 1e-6

    def builders(self, library: str) -> dict[str, Callable[[], Step]]:
        """Returns a function for each heading that builds a step of the library."""
        if library == "torch":
            return {TORCH: self.torch_step} if hasattr(self, "torch") else {}
        if library == "jax":
            return {JAX: self.jax_step} if hasattr(self, "jax") else {}
        if library == "tensorflow":
            return {TENSORFLOW: lambda: self.numtape_step(nt.function)}
        return {
            EAGER: lambda: self.numtape_step(as_is),
            REPLAYED: lambda: self.numtape_step(nt.function),
        }

    def numtape_step(self, decorate: Decorator) -> Step:
        """Returns a step in numtape, whose function is decorated with ``decorate``."""
        raise NotImplementedError

    def torch_step(self) -> Step:
        """Returns a step in PyTorch."""
        raise NotImplementedError

    def jax_step(self) -> Step:
        """Returns a step in JAX, which waits for its results."""
        raise NotImplementedError


class Gradient(Case):
    """A scalar function of arrays and its gradients with respect to the first ``wrt`` of them.

    Attributes:
        wrt: The number of gradients.
        torch_axes: The order of each input's axes in PyTorch's layout, if that is another one.
    """

    wrt = 1
    torch_axes: tuple[tuple[int, ...], ...] = ()

    def numtape_step(self, decorate: Decorator) -> Step:
        """Watches the first inputs."""
        inputs = [nt.constant(a) for a in self.arrays]
        wrt = self.wrt

        @decorate
        def value_and_gradients(*inputs: Any) -> Any:
            sources = list(inputs[:wrt])
            with nt.GradientTape() as tape:
                tape.watch(sources)
                value = self.numtape(*inputs)
            return value, tape.gradient(value, sources)

        def step() -> Any:
            result = value_and_gradients(*inputs)
            float(result[0])  # evaluates the gradients as well
            return result

        return step

    def torch_step(self) -> Step:
        """The first inputs require gradients."""
        arrays = self.arrays
        if self.torch_axes:
            arrays = [a.transpose(axes) for a, axes in zip(arrays, self.torch_axes, strict=True)]
        inputs = [torch.tensor(np.ascontiguousarray(a) if a.ndim else a) for a in arrays]
        sources = [x.requires_grad_() for x in inputs[: self.wrt]]
        inverses = [tuple(np.argsort(axes)) for axes in self.torch_axes[: self.wrt]]

        def step() -> Any:
            value = self.torch(*inputs)
            gradients = torch.autograd.grad(value, sources)
            if inverses:
                pairs = zip(gradients, inverses, strict=True)
                gradients = [g.permute(axes) for g, axes in pairs]
            return value.detach(), gradients

        return step

    def jax_step(self) -> Step:
        """Compiles value and gradients together."""
        inputs = [jnp.asarray(a) for a in self.arrays]
        compiled = jax.jit(jax.value_and_grad(self.jax, argnums=tuple(range(self.wrt))))
        return lambda: jax.block_until_ready(compiled(*inputs))


class Values(Case):
    """A function of arrays that returns arrays."""

    def numtape_step(self, decorate: Decorator) -> Step:
        """Evaluates each result."""
        inputs = [nt.constant(a) for a in self.arrays]
        function = decorate(lambda *inputs: self.numtape(*inputs))
        return lambda: flatten(function(*inputs))

    def torch_step(self) -> Step:
        """Without gradients, unless the function asks for them."""
        inputs = [torch.tensor(a) for a in self.arrays]
        return lambda: self.torch(*inputs)

    def jax_step(self) -> Step:
        """Compiles the function."""
        inputs = [jnp.asarray(a) for a in self.arrays]
        compiled = jax.jit(self.jax)
        return lambda: jax.block_until_ready(compiled(*inputs))


class Training(Case):
    """Steps of an optimizer, of which the first losses are compared.

    ``inputs`` returns a list of initial weights and a list of data. ``numtape`` and ``torch`` get
    the weights, and return a loss function of the data and its parameters. ``jax`` is a loss
    function of the weights and the data. The optimizer is "sgd" or "adam".
    """

    checked_steps = 4
    optimizer = "adam"
    rate = 1e-3

    def allowed_difference(self) -> float:
        """Is larger for Adam, as PyTorch adds epsilon to a corrected root, unlike Keras."""
        return 1e-2 if self.optimizer == "adam" else super().allowed_difference()

    def torch_data(self, *data: Array) -> tuple[Array, ...]:
        """Returns the data in PyTorch's layout."""
        return data

    def numtape_step(self, decorate: Decorator) -> Step:
        """The usual step with a tape and a Keras optimizer."""
        weights, data = self.arrays
        loss_of, variables = self.numtape(weights)
        optimizers = {"sgd": nt.keras.optimizers.SGD, "adam": nt.keras.optimizers.Adam}
        optimizer = optimizers[self.optimizer](self.rate)
        inputs = [nt.constant(a) for a in data]

        @decorate
        def train_step(*inputs: Any) -> Any:
            with nt.GradientTape() as tape:
                loss = loss_of(*inputs)
            gradients = tape.gradient(loss, variables)
            optimizer.apply_gradients(zip(gradients, variables, strict=True))
            return loss

        return lambda: float(train_step(*inputs))

    def torch_step(self) -> Step:
        """The usual step with an optimizer of ``torch.optim``."""
        weights, data = self.arrays
        loss_of, parameters = self.torch(weights)
        data = self.torch_data(*data)
        optimizers = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam}
        settings = {"eps": 1e-7} if self.optimizer == "adam" else {}  # as Keras
        optimizer = optimizers[self.optimizer](parameters, lr=self.rate, **settings)
        inputs = [torch.tensor(a) for a in data]

        def step() -> float:
            optimizer.zero_grad()
            loss = loss_of(*inputs)
            loss.backward()
            optimizer.step()
            return loss.item()

        return step

    def jax_step(self) -> Step:
        """Loss, gradient and update are one compiled function."""
        weights, data = self.arrays
        inputs = [jnp.asarray(a) for a in data]
        update = {"sgd": _jax_sgd, "adam": _jax_adam}[self.optimizer]

        def train_step(weights: Any, state: Any, *inputs: Any) -> Any:
            loss, gradients = jax.value_and_grad(self.jax)(weights, *inputs)
            return loss, *update(weights, state, gradients, self.rate)

        compiled = jax.jit(train_step, donate_argnums=(0, 1))
        weights = [jnp.array(w) for w in weights]
        state = [jnp.zeros(())] + [[jnp.zeros_like(w) for w in weights] for _ in range(2)]

        def step() -> float:
            nonlocal weights, state
            loss, weights, state = jax.block_until_ready(compiled(weights, state, *inputs))
            return float(loss)

        return step


def _jax_sgd(weights: Any, state: Any, gradients: Any, rate: float) -> Any:
    return jax.tree.map(lambda w, g: w - rate * g, weights, gradients), state


def _jax_adam(weights: Any, state: Any, gradients: Any, rate: float) -> Any:
    count, means, squares = state
    count = count + 1
    means = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, means, gradients)
    squares = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, squares, gradients)
    factor = rate * jnp.sqrt(1 - 0.999**count) / (1 - 0.9**count)
    new = jax.tree.map(
        lambda w, m, v: w - (factor * m / (jnp.sqrt(v) + 1e-7)).astype(w.dtype),
        weights,
        means,
        squares,
    )
    return new, [count, means, squares]


class Custom(Case):
    """Each method returns a function that performs a step and waits for its result.

    The method ``numtape`` gets the decorator and the arrays, the others the arrays.
    """

    def numtape_step(self, decorate: Decorator) -> Step:
        """Passes the decorator on."""
        step: Step = self.numtape(decorate, *self.arrays)
        return step

    def torch_step(self) -> Step:
        """As the method returns it."""
        step: Step = self.torch(*self.arrays)
        return step

    def jax_step(self) -> Step:
        """As the method returns it."""
        step: Step = self.jax(*self.arrays)
        return step


def flatten(result: Any) -> list[Array]:
    """Returns the arrays of nested lists, tuples and dicts."""
    if isinstance(result, dict):
        result = list(result.values())
    if isinstance(result, (list, tuple)):
        return [array for part in result for array in flatten(part)]
    if nt and isinstance(result, nt.IndexedSlices):
        result = nt.convert_to_tensor(result)
    return [np.asarray(result.detach() if hasattr(result, "detach") else result)]


@dataclass(frozen=True)
class Workload:
    """A row of the table.

    Attributes:
        name: The name on the command line.
        kind: The class.
        size: Arguments of its ``inputs``.
        tiny: Those of a smoke test.
    """

    name: str
    kind: type[Case]
    size: tuple[Any, ...]
    tiny: tuple[Any, ...]

    def make(self, tiny: bool = False) -> Case:
        """Creates the inputs."""
        return self.kind(*(self.tiny if tiny else self.size))


CASES: dict[str, Workload] = {}


def workload(
    tiny: tuple[Any, ...] = (), **sizes: tuple[Any, ...]
) -> Callable[[type[Case]], type[Case]]:
    """Registers a class under the names of its sizes."""

    def register(kind: type[Case]) -> type[Case]:
        for name, size in sizes.items():
            assert name not in CASES, name
            CASES[name] = Workload(name, kind, size, tiny)
        return kind

    return register


def dense_weights(seed: int, *sizes: int) -> tuple[Array, ...]:
    """Returns kernels (inputs, outputs) and biases of dense layers, as float32."""
    rng = np.random.default_rng(seed)
    weights: list[Array] = []
    for inputs, outputs in itertools.pairwise(sizes):
        kernel = rng.normal(size=(inputs, outputs)) / np.sqrt(inputs)
        weights += [kernel.astype(np.float32), np.zeros(outputs, np.float32)]
    return tuple(weights)
