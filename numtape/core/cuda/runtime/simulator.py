"""A GPU in Python, for checking kernels where there is no GPU.

It counts as CUDA where ``NUMBA_ENABLE_CUDASIM=1`` is set, the switch of Numba's own simulator,
and nowhere else. What runs blocks and their threads is `kernels.cuda.simulated`: other than
Numba's, it has warps.
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
from typing import Any

import numpy as np

from ....errors import DeviceError
from ...values.memory import Array, aligned_buffer, array_at
from ...values.weakrefs import FinalizationQueue
from .resources import let_go


class Memory:
    """Bytes that are given back when nothing refers to them any more."""

    __slots__ = ("__weakref__", "_bytes", "address", "is_lent", "size")

    def __init__(self, device: Simulator, size: int) -> None:
        self._bytes, self.address = aligned_buffer(max(size, 1))
        self.size, self.is_lent = size, False


class _Launcher:
    """Notes launches instead of running them."""

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
    """See `driver.Timer`; the clock is the host's."""

    def __init__(self) -> None:
        self._begun = 0.0

    def begin(self) -> None:
        """Begin now."""
        self._begun = time.perf_counter()

    def end(self) -> float:
        """Seconds since ``begin``."""
        return time.perf_counter() - self._begun


class Simulator:
    """See `driver.Driver`; this one checks that kernels stay inside of their arrays."""

    name = "Numba's simulator"
    capability = (9, 0)
    blocks, threads = 2, 8  # each thread is one of the operating system's
    stream = 1

    def __init__(self) -> None:
        from numba import config

        if not config.ENABLE_CUDASIM:
            raise DeviceError("The simulator is not switched on: set NUMBA_ENABLE_CUDASIM=1.")
        self._lock = threading.RLock()
        self._spans: list[tuple[int, int]] = []  # where memory is, by address
        self._freed: FinalizationQueue[tuple[int, int]] = (
            FinalizationQueue()
        )  # what of it is no more
        self._peak = 0
        self.launches = 0

    def empty(self, size: int) -> Memory:
        """Memory of so many bytes, with any contents."""
        let_go()
        memory = Memory(self, size)
        span = memory.address, size
        with self._lock:
            self._forget()
            bisect.insort(self._spans, span)
            self._peak = max(self._peak, sum(size for _, size in self._spans))
        # Memory may end anywhere, even in the threads of a kernel: it is only noted.
        self._freed.add(memory, span)
        return memory

    def _forget(self) -> None:
        while self._freed:
            del self._spans[bisect.bisect_left(self._spans, self._freed.take())]

    def toolkit(self) -> str:
        """What kernels are compiled with."""
        return "kernels run in Python"

    def memory_info(self) -> dict[str, int]:
        """Bytes in use now, and at most so far."""
        let_go()
        with self._lock:
            self._forget()
            return {"current": sum(size for _, size in self._spans), "peak": self._peak}

    def forget_peak(self) -> None:
        """Count the most that is in use from now on."""
        with self._lock:
            self._forget()
            self._peak = sum(size for _, size in self._spans)

    def upload(self, array: Array, address: int) -> None:
        """Copy a contiguous host array to an address."""
        if array.size:
            self._view(address, array.dtype)[: array.size] = array.reshape(-1)

    def download(self, address: int, out: Array) -> None:
        """Copy what is at an address to a contiguous host array."""
        if out.size:
            out.reshape(-1)[:] = self._view(address, out.dtype)[: out.size]

    def copy(self, source: int, address: int, size: int) -> None:
        """Copy so many bytes from one address to another."""
        self._view(address, np.uint8)[:size] = self._view(source, np.uint8)[:size]

    def order(self, before: int, after: int) -> None:
        """Nothing: what is asked for is done at once, whatever the stream."""

    def keep(self, thing: Any) -> None:
        """Nothing: all that was asked for is done."""

    def enter_context(self) -> AbstractContextManager[None]:
        """See `driver.Driver.enter_context`; there is no context."""
        return nullcontext()

    def _view(self, address: int, dtype: Any) -> Array:
        """All elements from an address to the end of the memory it is in."""
        with self._lock:
            self._forget()
            k = bisect.bisect_right(self._spans, (address, 1 << 62)) - 1
            begin, size = self._spans[k] if k >= 0 else (0, 0)
        rest = begin + size - address
        if not 0 <= rest <= size:
            raise IndexError(f"address {address:#x} is in no memory of the simulated GPU")
        dtype = np.dtype(dtype)
        return array_at(address, (rest // dtype.itemsize,), dtype)

    def kernel(
        self, make: Callable[[], Any], dtypes: Sequence[str], symbol: str, source: str
    ) -> Any:
        """The arguments of `launch`: the kernel ``make`` gives."""
        return make(), tuple(dtypes)

    def launch(self, kernel: Any, blocks: int, threads: int, args: Sequence[int]) -> None:
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
        # One at a time: there is one `cuda` for all kernels. `np.errstate` would not do: it is
        # another one in each of the threads.
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
        """Launch what was captured."""
        for launch in graph:
            launch()

    def trim(self) -> None:
        """Nothing: memory that nobody uses is the system's."""

    def synchronize(self) -> None:
        """Wait until all is computed."""

    def timer(self) -> Timer:
        """A timer of what happens."""
        return Timer()
