"""JAX on a GPU: the whole step is one jitted call, timed by the host as JAX has no events."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.gpu import libs
from benchmarks.gpu.cases import JAX
from benchmarks.gpu.inputs import EPSILON, Data, GpuProgram
from benchmarks.gpu.libs import BenchmarkStep, NoGpuError
from benchmarks.inputs import Array, Network
from benchmarks.libs import jax_ as on_cpu


def _layer_norm(x: jax.Array, gamma: jax.Array, beta: jax.Array) -> jax.Array:
    mean = jnp.mean(x, axis=-1, keepdims=True)
    variance = jnp.var(x, axis=-1, keepdims=True)
    return (x - mean) * jax.lax.rsqrt(variance + EPSILON) * gamma + beta


def _scatter_add(added: jax.Array, at: jax.Array, rows: int) -> jax.Array:
    return jnp.zeros((rows, *added.shape[1:]), added.dtype).at[at].add(added)


def _ops(key: jax.Array) -> SimpleNamespace:
    return SimpleNamespace(
        **vars(on_cpu.OPS),
        cumsum=jnp.cumsum,
        normal=lambda shape: jax.random.normal(key, shape),
        softmax=jax.nn.softmax,
        layer_norm=_layer_norm,
        gather=lambda table, at: jnp.take(table, at, axis=0),
        scatter_add=_scatter_add,
    )


def _program(data: GpuProgram) -> BenchmarkStep:
    # The flag is global to the process, which holds no arrays of other cases at this point.
    jax.config.update("jax_enable_x64", data.inputs[0].dtype == np.float64)
    inputs = [jnp.asarray(x) for x in data.inputs]
    upstream = None if data.upstream is None else jnp.asarray(data.upstream)
    key = jax.random.key(0)

    def step(key: jax.Array, inputs: list[Any], upstream: Any) -> tuple[jax.Array, list[Any]]:
        following, own = jax.random.split(key)
        sources, rest = inputs[: data.sources], inputs[data.sources :]

        def function(*sources: jax.Array) -> jax.Array:
            return data.function(_ops(own), *sources, *rest)

        if not sources:
            return following, [function()]
        value, vjp = jax.vjp(function, *sources)
        return following, [value, *vjp(jnp.ones_like(value) if upstream is None else upstream)]

    compiled = jax.jit(step)

    def run() -> list[jax.Array]:
        nonlocal key
        key, results = compiled(key, inputs, upstream)
        return results

    return BenchmarkStep(run)


def _network(data: Network) -> BenchmarkStep:
    jax.config.update("jax_enable_x64", False)
    advancing = on_cpu.network(data)
    return BenchmarkStep(lambda: [advancing.step()], advancing.weights)


class JaxOnGpu(libs.GpuLibrary):
    """JAX on the GPU."""

    clock = "the host's, until block_until_ready"

    def __init__(self) -> None:
        """Raises NoGpuError if the library finds no GPU."""
        try:
            self._device = jax.devices("gpu")[0]
        except RuntimeError:
            raise NoGpuError("JAX finds no GPU") from None

    def about(self) -> dict[str, str]:
        """Returns the name of the GPU."""
        version = self._device.client.platform_version.splitlines()[-1]
        return {"name": self._device.device_kind, "toolkit": version, "clock": self.clock}

    def allow_tensor_float(self, allowed: bool) -> None:
        """Allows (as JAX does by default) or forbids TF32 in float32 matrix products."""
        precision = "tensorfloat32" if allowed else "highest"
        jax.config.update("jax_default_matmul_precision", precision)

    def steps(self, data: Data) -> dict[str, Callable[[], BenchmarkStep]]:
        """Returns a factory of the step on these inputs."""
        return {JAX: lambda: _network(data) if isinstance(data, Network) else _program(data)}

    def seconds(self, run: Callable[[], object], count: int) -> float:
        """Returns the host's seconds until the last of ``count`` runs is done."""
        begin = time.perf_counter()
        for _ in range(count):
            results = run()
        jax.block_until_ready(results)
        return time.perf_counter() - begin

    def fetch(self, array: Any, most: int | None = None) -> Array:
        """Copies an array to the host: all of it, or its last ``most`` elements, flattened."""
        return np.asarray(array if most is None else array.reshape(-1)[-most:])

    def free(self) -> None:
        """Drops compiled code and unreferenced arrays; JAX returns no memory to the driver."""
        jax.clear_caches()
        gc.collect()

    def peak(self) -> int | None:
        """Returns None: JAX cannot reset its peak, which covers all cases."""
        return None

    def overheads(self) -> dict[str, Callable[[], object]]:
        """Returns a single jitted op."""
        x, negated = jnp.zeros(64), jax.jit(jnp.negative)
        return {"JAX jit of one op": lambda: negated(x)}
