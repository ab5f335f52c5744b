"""numtape on a GPU: eager, replayed by ``nt.function``, and with nondeterministic sums."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

import numtape as nt
from benchmarks.cases import OURS, REPLAYED
from benchmarks.gpu import libs
from benchmarks.gpu.cases import ATOMICS
from benchmarks.gpu.inputs import EPSILON, Data, GpuProgram
from benchmarks.gpu.libs import BenchmarkStep, NoGpuError
from benchmarks.inputs import Array, Network
from benchmarks.libs import numtape_ as on_cpu
from benchmarks.libs.numtape_ import Made
from numtape.core.cuda import launches
from numtape.core.cuda.codegen import KernelLoop
from numtape.core.cuda.runtime.device import device
from numtape.core.log.log import Log, local

GPU = "GPU:0"


_NORMALIZED = nt.keras.layers.LayerNormalization(epsilon=EPSILON, center=False, scale=False)


def _layer_norm(x: nt.Tensor, gamma: nt.Tensor, beta: nt.Tensor) -> nt.Tensor:
    return _NORMALIZED(x) * gamma + beta


def _scatter_add(added: nt.Tensor, at: nt.Tensor, rows: int) -> nt.Tensor:
    """A scatter-add, computed as the gradient of a gather."""
    table = nt.zeros((rows, *added.shape[1:]), added.dtype)
    with nt.GradientTape() as tape:
        tape.watch(table)
        taken = nt.gather(table, at)
    return nt.convert_to_tensor(tape.gradient(taken, table, output_gradients=added))


OPS = SimpleNamespace(
    **vars(on_cpu.OPS),
    cumsum=nt.cumsum,
    normal=nt.random.normal,
    softmax=nt.nn.softmax,
    layer_norm=_layer_norm,
    gather=nt.gather,
    scatter_add=_scatter_add,
)


def _program(data: GpuProgram, inputs: list[nt.Tensor], created: Made) -> BenchmarkStep:
    def value_and_gradients(*provided: nt.Tensor) -> list[nt.Tensor]:
        inputs, upstream = provided[: len(data.inputs)], provided[len(data.inputs) :]
        if not data.sources:
            return [data.function(OPS, *inputs)]
        sources = list(inputs[: data.sources])
        with nt.GradientTape() as tape:
            tape.watch(sources)
            value = data.function(OPS, *inputs)
        weight = upstream[0] if upstream else None
        return [value, *tape.gradient(value, sources, output_gradients=weight)]

    return BenchmarkStep(functools.partial(created(value_and_gradients), *inputs))


def _network(data: Network, created: Made) -> BenchmarkStep:
    advancing = on_cpu.network(data, created)
    return BenchmarkStep(lambda: [advancing.step()], advancing.weights)


def _compute(step: BenchmarkStep) -> BenchmarkStep:
    """The same step, with its results evaluated and left on the GPU."""

    def run() -> list[nt.Tensor]:
        results = step.run()
        for result in results:
            result._stored_value()
        return results

    return BenchmarkStep(run, step.weights)


class NumtapeOnGpu(libs.GpuLibrary):
    """numtape on the GPU, or in the simulator."""

    def __init__(self) -> None:
        """Raises NoGpuError if the library finds no GPU."""
        try:
            self._gpu: Any = device()
        except nt.DeviceError as error:
            raise NoGpuError(str(error)) from None
        if nt.config.device() != "cuda":
            raise NoGpuError("NUMTAPE_DEVICE is not cuda")
        self._timer = self._gpu.timer()

    def about(self) -> dict[str, str]:
        """Returns the name of the GPU, its capability and the toolkit that compiles for it."""
        capability = ".".join(str(part) for part in self._gpu.capability)
        return {
            "name": self._gpu.name,
            "capability": capability,
            "toolkit": self._gpu.toolkit(),
            "clock": "the host's" if nt.config.simulated() else self.clock,
        }

    def allow_tensor_float(self, allowed: bool) -> None:
        """Allows or forbids TF32 in float32 matrix products."""
        nt.config.experimental.enable_tensor_float_32_execution(allowed)

    def steps(self, data: Data) -> dict[str, Callable[[], BenchmarkStep]]:
        """Returns a factory of each variant's step on these inputs, by column heading."""
        ways: dict[str, Made] = {OURS: lambda function: function, REPLAYED: nt.function}
        if isinstance(data, Network):
            make: Callable[[Made], BenchmarkStep] = functools.partial(_network, data)
        else:
            provided = data.inputs if data.upstream is None else [*data.inputs, data.upstream]
            # The first step transfers the inputs to the GPU, where they stay.
            make = functools.partial(_program, data, [nt.constant(x) for x in provided])
            if data.scatters:
                ways[ATOMICS] = _switch(nt.config.experimental.enable_nondeterministic_scatter)
        return {
            heading: functools.partial(lambda created: _compute(make(created)), created)
            for heading, created in ways.items()
        }

    def seconds(self, run: Callable[[], object], count: int) -> float:
        """Returns the seconds between two events around ``count`` runs."""
        self._timer.begin()
        for _ in range(count):
            run()
        return float(self._timer.end())

    def fetch(self, array: Any, most: int | None = None) -> Array:
        """Copies an array to the host: all of it, or its last ``most`` elements, flattened."""
        if most is not None and array.shape.num_elements() > most:
            array = nt.reshape(array, [-1])[-most:]
        return np.asarray(array)

    def free(self) -> None:
        """Frees unreferenced memory and resets the peak."""
        local.log = Log()  # a log retains the arena of its largest sweep
        gc.collect()
        self._gpu.synchronize()
        nt.config.experimental.reset_memory_stats(GPU)

    def peak(self) -> int | None:
        """Returns the peak of used bytes since ``free``."""
        return nt.config.experimental.get_memory_info(GPU)["peak"]

    def kernels(self) -> int | None:
        """Returns the number of kernels launched so far, without those of cuBLAS."""
        return int(self._gpu.launches)

    def copies(self, size: int) -> dict[str, Callable[[], object]]:
        """Returns the kernel template of elementwise ops with an empty body."""
        return {"numtape": self._copy(size // 4)}

    def _copy(self, count: int) -> Callable[[], object]:
        source, target = (self._gpu.empty(4 * count) for _ in range(2))
        self._gpu.upload(np.zeros(count, np.float32), source.address)
        loop = KernelLoop((count,), (nt.zeros(count)._spec,), (), (0,), ())
        (launch,) = launches.elementwise(loop, [0, 1], [], lambda _: 0)
        addresses = source.address, target.address

        def run() -> tuple[Any, Any]:
            launch.run(self._gpu, addresses)
            return source, target

        return run

    def product(self, dtype: str, size: int) -> Callable[[], object] | None:
        """Returns a function that multiplies two square matrices."""
        x = nt.constant(np.resize(np.random.default_rng(0).random(1000), (size, size)), dtype)

        @nt.function
        def multiply(x: nt.Tensor) -> nt.Tensor:
            return x @ x

        multiply(x)
        return functools.partial(multiply, x)

    def overheads(self) -> dict[str, Callable[[], object]]:
        """Returns a launch of a kernel, and a replay that consists of one kernel."""
        x = nt.zeros(64)

        @nt.function
        def one(x: nt.Tensor) -> nt.Tensor:
            return -x

        one(x)
        return {"launch": self._copy(64), "replay of one kernel": functools.partial(one, x)}


def _switch(switch: Callable[[bool], None]) -> Made:
    """Returns ``nt.function`` with a switch turned on during recording and replays."""

    def created(function: Callable[..., Any]) -> Callable[..., Any]:
        replayed = nt.function(function)

        def call(*inputs: nt.Tensor) -> Any:
            switch(True)
            try:
                return replayed(*inputs)
            finally:
                switch(False)

        return call

    return created
