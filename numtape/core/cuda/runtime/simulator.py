"""A GPU in Python, for checking kernels on machines without a GPU.

It is used as the CUDA device if ``NUMBA_ENABLE_CUDASIM=1`` is set, the switch of Numba's own
simulator. `kernels.cuda.simulated` runs blocks and threads; unlike Numba's simulator it has warps.
"""

from __future__ import annotations

import bisect
import importlib
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from ....errors import DeviceError
from ...values.memory import Array, aligned_buffer, array_at
from ...values.weakrefs import FinalizationQueue
from .resources import let_go

if TYPE_CHECKING:
    from numpy.typing import DTypeLike


class Memory:
    """Bytes that are freed when the object is garbage collected."""

    __slots__ = ("__weakref__", "_bytes", "address", "is_lent", "size")

    def __init__(self, device: Simulator, size: int) -> None:
        self._bytes, self.address = aligned_buffer(max(size, 1))
        self.size, self.is_lent = size, False


class _Launcher:
    """Records launches instead of running them."""

    def __init__(self, device: Simulator) -> None:
        self._device = device
        self.calls: list[Callable[[], None]] = []

    def launch(self, *args: Any) -> None:
        """See `Simulator.launch`."""
        self.calls.append(partial(self._device.launch, *args))

    def gemm(self, *args: Any) -> None:
        """See `Simulator.gemm`."""
        self.calls.append(partial(self._device.gemm, *args))


class Timer:
    """See `resources.CudaTimer`; the clock is the host's."""

    def __init__(self) -> None:
        self._begun = 0.0

    def begin(self) -> None:
        """Start the timer."""
        self._begun = time.perf_counter()

    def end(self) -> float:
        """Seconds since ``begin``."""
        return time.perf_counter() - self._begun


class Simulator:
    """The interface of `driver.Driver`; checks that kernels stay inside their arrays."""

    name = "Numba's simulator"
    capability = (9, 0)
    blocks, threads = 2, 8  # few: each thread is a thread of the operating system
    stream = 1
    number = 0

    def __init__(self) -> None:
        from numba import config

        if not config.ENABLE_CUDASIM:
            raise DeviceError("The simulator is not switched on: set NUMBA_ENABLE_CUDASIM=1.")
        self._lock = threading.RLock()
        self._spans: list[tuple[int, int]] = []  # allocated memory, sorted: address, size
        # Spans of garbage-collected memory.
        self._freed: FinalizationQueue[tuple[int, int]] = FinalizationQueue()
        self._peak = 0
        self.launches = 0

    def empty(self, size: int) -> Memory:
        """Allocate ``size`` bytes of uninitialized memory."""
        let_go()
        memory = Memory(self, size)
        span = memory.address, size
        with self._lock:
            self._forget()
            bisect.insort(self._spans, span)
            self._peak = max(self._peak, sum(size for _, size in self._spans))
        # Memory may be collected anywhere, even in the threads of a kernel: only queue the span.
        self._freed.add(memory, span)
        return memory

    def _forget(self) -> None:
        while self._freed:
            del self._spans[bisect.bisect_left(self._spans, self._freed.take())]

    def toolkit(self) -> str:
        """A description in place of compiler versions."""
        return "kernels run in Python"

    def memory_info(self) -> dict[str, int]:
        """The bytes in use: "current" and "peak"."""
        let_go()
        with self._lock:
            self._forget()
            return {"current": sum(size for _, size in self._spans), "peak": self._peak}

    def forget_peak(self) -> None:
        """Reset the peak of the bytes in use."""
        with self._lock:
            self._forget()
            self._peak = sum(size for _, size in self._spans)

    def upload(self, array: Array, address: int) -> None:
        """Copy a contiguous host array to an address."""
        if array.size:
            self._view(address, array.dtype)[: array.size] = array.reshape(-1)

    def download(self, address: int, out: Array) -> None:
        """Copy from an address to a contiguous host array."""
        if out.size:
            out.reshape(-1)[:] = self._view(address, out.dtype)[: out.size]

    def copy(self, source: int, address: int, size: int) -> None:
        """Copy ``size`` bytes from one address to another."""
        self._view(address, np.uint8)[:size] = self._view(source, np.uint8)[:size]

    def order(self, before: int, after: int) -> None:
        """Do nothing: all operations are synchronous, whatever the stream."""

    def keep(self, thing: object) -> None:
        """Do nothing: all operations are synchronous."""

    def create_stream(self) -> int:
        """Return the number of a stream."""
        return self.stream + 1

    def mark(self, stream: int) -> None:
        """Do nothing: all operations are synchronous."""

    def wait(self, event: None, stream: int) -> None:
        """Do nothing: all operations are synchronous."""

    def is_done(self, event: None) -> bool:
        """Return True: all operations are synchronous."""
        return True

    def uuid(self) -> str:
        """Return "": a simulator is not a GPU that processes could share."""
        return ""

    def enter_context(self) -> AbstractContextManager[None]:
        """Do nothing: the simulator has no context."""
        return nullcontext()

    def _view(self, address: int, dtype: DTypeLike) -> Array:
        """The elements from an address to the end of its allocation."""
        with self._lock:
            self._forget()
            k = bisect.bisect_right(self._spans, (address, 1 << 62)) - 1
            begin, size = self._spans[k] if k >= 0 else (0, 0)
        rest = begin + size - address
        if not 0 <= rest <= size:
            raise IndexError(f"address {address:#x} is outside the simulated GPU's memory")
        dtype = np.dtype(dtype)
        return array_at(address, (rest // dtype.itemsize,), dtype)

    def kernel(
        self, make: Callable[[], Any], dtypes: Sequence[str], symbol: str, source: str
    ) -> Any:
        """The kernel that ``make`` returns and its dtypes, for `launch`."""
        return make(), tuple(dtypes)

    def launch(
        self,
        kernel: tuple[Callable[..., Any], tuple[str, ...]],
        blocks: int,
        threads: int,
        args: Sequence[int],
    ) -> None:
        """Run a kernel."""
        function, dtypes = kernel
        values = [
            self._view(arg, dtype[1:])
            if dtype[0] == "*"
            else float(np.int64(arg).view(np.float64))
            if dtype == "float64"
            else arg
            for arg, dtype in zip(args, dtypes, strict=True)
        ]
        run = importlib.import_module("numtape.kernels.cuda.simulated").launch
        # One kernel at a time, because all share one `cuda`. `np.errstate` would not reach the
        # kernel's threads: each has a separate one.
        with self._lock, warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            run(function, blocks, threads, values)
        self.launches += 1

    def gemm(self, dtype: str, scalars: Sequence[int], out: int, x: int, y: int) -> None:
        """See `driver.Driver.gemm`."""
        (transa, transb, m, n, k, _, lda, ldb, _, ldc, step_x, step_y, step_out, count) = scalars
        kind = np.dtype(dtype)

        def matrices(address: int, rows: int, columns: int, ld: int, step: int) -> Array:
            memory = self._view(address, kind)
            return np.lib.stride_tricks.as_strided(  # columns first, as in BLAS
                memory, (count, rows, columns), (step, kind.itemsize, ld * kind.itemsize)
            )

        turned = ord("T")
        a = matrices(y, *((k, m) if transa == turned else (m, k)), lda, step_y)
        b = matrices(x, *((n, k) if transb == turned else (k, n)), ldb, step_x)
        a = a.swapaxes(1, 2) if transa == turned else a
        b = b.swapaxes(1, 2) if transb == turned else b
        matrices(out, m, n, ldc, step_out)[...] = a @ b

    def capture(self, run: Callable[[Any], None]) -> list[Callable[[], None]]:
        """See `driver.Driver.capture`."""
        launcher = _Launcher(self)
        run(launcher)
        return launcher.calls

    def replay(self, graph: list[Callable[[], None]]) -> None:
        """Run captured launches."""
        for launch in graph:
            launch()

    def trim(self) -> None:
        """Do nothing: unused memory already belongs to the system."""

    def synchronize(self) -> None:
        """Do nothing: all operations are synchronous."""

    def timer(self) -> Timer:
        """A timer by the host's clock."""
        return Timer()
