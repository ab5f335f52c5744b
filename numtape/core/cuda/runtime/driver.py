"""The GPU: memory from the driver's pool, copies, kernels, launches; all in one stream.

All operations except `download` and `synchronize` are asynchronous and run in call order, so
memory can be released while earlier launches still use it.
"""

from __future__ import annotations

import ctypes
import threading
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Any

from ....errors import DeviceError, ResourceExhaustedError
from ....kernels.constants import CUDA_THREADS
from ... import settings
from ...compile import cache as disk
from ...values.memory import Array, address_of
from .resources import (
    GONE,
    STAYS,
    Code,
    CudaEvent,
    CudaGraph,
    CudaTimer,
    DeviceMemory,
    Entered,
    Thread,
    entering,
    let_go,
)
from .transfer import DISABLE_TIMING, SMALL, Ring, Staging

if TYPE_CHECKING:
    from cuda.bindings.driver import CUdevice_attribute, CUgraphExec, CUresult, CUstream

OLDEST = (7, 5)  # compute capability
TOOLKIT = 13000  # CUDA 13.0: an older driver cannot load its code

_FIX = "Set NUMTAPE_DEVICE=cpu or unset it to compute on the CPU."


def _bindings() -> Any:
    try:
        from cuda.bindings import driver
    except ImportError as error:
        raise DeviceError(
            f"CUDA needs packages that are not installed ({error.name}): "
            f"pip install 'numtape[cuda]'. {_FIX}"
        ) from None
    return driver


class _Launcher:
    """Launches kernels and products of a `Driver` in another stream."""

    def __init__(self, device: Driver, stream: CUstream) -> None:
        self.launch = partial(device.launch_in, stream)
        self.gemm = partial(device.gemm_in, stream)


class Driver:
    """One GPU.

    Attributes:
      threads: The number of threads of a block.
      name: The GPU's name.
      capability: Its compute capability.
      blocks: The number of blocks that keep it busy.
      number: Its number, of those in ``CUDA_VISIBLE_DEVICES``.
      launches: How many kernels were launched.
      stream: The stream of all operations.
    """

    threads = CUDA_THREADS

    def __init__(self) -> None:
        self._driver = cuda = _bindings()
        self.launches = 0
        try:
            status = cuda.cuInit(0)[0]
        except Exception as error:  # the driver's library is missing
            raise DeviceError(f"There is no NVIDIA driver: {error}. {_FIX}") from None
        if status != cuda.CUresult.CUDA_SUCCESS:
            raise DeviceError(
                f"The NVIDIA driver does not start: {self._status_text(status)}. {_FIX}"
            )
        count = self._do("cuDeviceGetCount")
        if count == 0:
            raise DeviceError(f"There is no NVIDIA GPU (see CUDA_VISIBLE_DEVICES). {_FIX}")
        self.number = settings.gpu_number % count
        self._number = self._do("cuDeviceGet", self.number)
        attribute = cuda.CUdevice_attribute
        self.name = self._do("cuDeviceGetName", 128, self._number).split(b"\0")[0].decode()
        self.capability = (
            self._ask(attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR),
            self._ask(attribute.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR),
        )
        if self.capability < OLDEST:
            raise DeviceError(
                f"{self.name} has compute capability {self.capability[0]}.{self.capability[1]}; "
                f"numtape needs {OLDEST[0]}.{OLDEST[1]} or newer. {_FIX}"
            )
        driver = self._do("cuDriverGetVersion")
        if driver < TOOLKIT:
            raise DeviceError(
                f"The NVIDIA driver is for CUDA {driver // 1000}.{driver % 1000 // 10}; numtape "
                f"needs one for CUDA {TOOLKIT // 1000}.0 or newer: update it. {_FIX}"
            )
        self.blocks = 8 * self._ask(attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
        self._context = self._do("cuDevicePrimaryCtxRetain", self._number)
        self._thread = Thread()
        with self.enter_context():
            self._start()

    def _start(self) -> None:
        """Create the objects that belong to the context: streams, pools, transfer buffers."""
        cuda = self._driver
        flags = cuda.CUstream_flags.CU_STREAM_NON_BLOCKING
        self.stream = self._do("cuStreamCreate", flags)
        # Launches are captured in a stream that runs nothing and that other threads do not use.
        self._capturing = self._do("cuStreamCreate", flags)
        self._in_capture = False
        self._lock = threading.RLock()
        self._pool = self._do("cuDeviceGetDefaultMemPool", self._number)
        # Keep freed memory: allocating it from the system takes longer than a sweep.
        self._do(
            "cuMemPoolSetAttribute",
            self._pool,
            cuda.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
            cuda.cuuint64_t(2**64 - 1),
        )
        self._ring, self._staging = (kind(self._do, self.stream) for kind in (Ring, Staging))
        self._pending: deque[tuple[Any, Any]] = deque()  # events, and objects to drop after them
        self._blas: Any = None

    def _status_text(self, status: CUresult) -> str:
        text = self._driver.cuGetErrorString(status)[1]
        return f"{text.decode() if text else ''} ({status.name})"

    def _do(self, name: str, *args: object) -> Any:
        """Call the driver; raise an error if it returns a status other than success."""
        status, *results = getattr(self._driver, name)(*args)
        if status != self._driver.CUresult.CUDA_SUCCESS:
            if status == self._driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
                raise ResourceExhaustedError(f"The GPU's memory is exhausted ({name}).")
            raise DeviceError(f"{name} failed: {self._status_text(status)}.")
        return results[0] if results else None

    def _ask(self, attribute: CUdevice_attribute) -> int:
        return int(self._do("cuDeviceGetAttribute", attribute, self._number))

    def enter_context(self) -> AbstractContextManager[None]:
        """Make the GPU's context current in this thread for a ``with`` block.

        Most methods enter it themselves, which is faster inside such a block. `launch_in` and
        `gemm_in` must be called in one.
        """
        return STAYS if self._thread.inside else Entered(self)

    # Memory.

    @entering
    def empty(self, size: int) -> DeviceMemory:
        """Allocate ``size`` bytes of uninitialized memory.

        Raises:
          ResourceExhaustedError: If the GPU's memory does not suffice.
        """
        if GONE or self._pending:
            self._let_go()
        address = int(self._do("cuMemAllocAsync", max(size, 1), self.stream))
        return DeviceMemory(self, address, size)

    @entering
    def release(self, address: int) -> None:
        """Free memory after all earlier operations."""
        self._do("cuMemFreeAsync", address, self.stream)

    @entering
    def trim(self) -> None:
        """Wait for all operations, then return unused memory to the system."""
        self._do("cuStreamSynchronize", self.stream)
        self._let_go()
        self._do("cuMemPoolTrimTo", self._pool, 0)

    def toolkit(self) -> str:
        """The versions of the driver and the compiler, as text."""
        from .compiler import versions

        driver = self._do("cuDriverGetVersion")
        toolkit_versions = ", ".join(versions().splitlines())
        return f"driver for CUDA {driver // 1000}.{driver % 1000 // 10}; {toolkit_versions}"

    @entering
    def memory_info(self) -> dict[str, int]:
        """The bytes in use: "current" and "peak"."""
        which = self._driver.CUmemPool_attribute
        self._let_go()
        names = {
            "current": which.CU_MEMPOOL_ATTR_USED_MEM_CURRENT,
            "peak": which.CU_MEMPOOL_ATTR_USED_MEM_HIGH,
        }
        return {
            name: int(self._do("cuMemPoolGetAttribute", self._pool, attribute))
            for name, attribute in names.items()
        }

    def forget_peak(self) -> None:
        """Reset the peak of the bytes in use."""
        self._do(
            "cuMemPoolSetAttribute",
            self._pool,
            self._driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_USED_MEM_HIGH,
            self._driver.cuuint64_t(0),
        )

    @entering
    def upload(self, array: Array, address: int) -> None:
        """Copy a contiguous host array to an address. The array may be modified afterwards."""
        size, source = array.nbytes, address_of(array)
        if size:
            through = self._ring if size <= SMALL else self._staging
            if not through.upload(source, address, size):
                self._do("cuMemcpyHtoDAsync", address, source, size, self.stream)

    @entering
    def download(self, address: int, out: Array) -> None:
        """Copy from an address to a contiguous host array, and wait for the copy."""
        size, target = out.nbytes, address_of(out)
        if size:
            through = self._ring if size <= SMALL else self._staging
            if not through.download(address, target, size):
                self._do("cuMemcpyDtoHAsync", target, address, size, self.stream)
                self.synchronize()

    @entering
    def copy(self, source: int, address: int, size: int) -> None:
        """Copy ``size`` bytes from one address on the GPU to another."""
        if size:
            self._do("cuMemcpyDtoDAsync", address, source, size, self.stream)

    @entering
    def synchronize(self) -> None:
        """Wait for all operations."""
        self._do("cuStreamSynchronize", self.stream)
        if GONE or self._pending:
            self._let_go()

    def timer(self) -> CudaTimer:
        """A timer of operations in the stream."""
        return CudaTimer(self)

    # Synchronization with other streams: those of collectives, and of other libraries.

    @entering
    def create_stream(self) -> Any:
        """Create a stream whose operations run beside those of other streams."""
        return self._do("cuStreamCreate", self._driver.CUstream_flags.CU_STREAM_NON_BLOCKING)

    @entering
    def mark(self, stream: Any) -> CudaEvent:
        """Return an event after all operations of a stream so far."""
        return CudaEvent(self, self._mark(stream))

    @entering
    def wait(self, event: CudaEvent, stream: Any) -> None:
        """Let later operations of a stream wait for an event. The host does not wait."""
        self._do("cuStreamWaitEvent", stream, event.handle, 0)

    @entering
    def is_done(self, event: CudaEvent) -> bool:
        """Whether all operations before an event are complete."""
        status = self._driver.cuEventQuery(event.handle)[0]
        results = self._driver.CUresult
        if status not in (results.CUDA_SUCCESS, results.CUDA_ERROR_NOT_READY):
            raise DeviceError(f"cuEventQuery failed: {self._status_text(status)}.")
        return bool(status == results.CUDA_SUCCESS)

    def uuid(self) -> str:
        """The identity of the GPU, or of its part: the same in all processes."""
        return bytes(self._do("cuDeviceGetUuid", self._number).bytes).hex()

    @entering
    def order(self, before: int, after: int) -> None:
        """Let later operations of stream ``after`` wait for earlier ones of stream ``before``.

        Args:
          before, after: Addresses of streams; 1 is the legacy default stream, 2 the thread's.
        """
        event = self._mark(before)
        self._do("cuStreamWaitEvent", after, event, 0)
        self._do("cuEventDestroy", event)

    def _mark(self, stream: CUstream | int) -> Any:
        event = self._do("cuEventCreate", DISABLE_TIMING)
        self._do("cuEventRecord", event, stream)
        return event

    @entering
    def keep(self, thing: object) -> None:
        """Keep an object alive until all earlier operations are done."""
        self._pending.append((self._mark(self.stream), thing))

    def _let_go(self) -> None:
        """Release objects that neither Python nor the GPU uses any more."""
        let_go()
        try:
            while True:
                item = self._pending.popleft()
                if self._driver.cuEventQuery(item[0])[0] != self._driver.CUresult.CUDA_SUCCESS:
                    self._pending.appendleft(item)
                    return
                self._do("cuEventDestroy", item[0])
        except IndexError:  # no objects are left
            pass

    # Kernels.

    def kernel(
        self, make: Callable[[], Any], dtypes: Sequence[str], symbol: str, source: str
    ) -> Any:
        """Compile the kernel that ``make`` returns, or load it from the cache, for `launch`.

        Args:
          make: Makes the kernel; called if the cache does not have it.
          dtypes: The dtypes of its parameters; ``*`` marks arrays.
          symbol: Its name.
          source: Its text, for the key of the cache.
        """
        from . import compiler

        def compile_code() -> disk.Built:
            compiler.load()  # before what ``make`` imports
            return compiler.cubin(make(), dtypes, symbol, self.capability), [symbol], []

        key = compiler.key(self.capability, dtypes, source)
        code, *_ = disk.load_or_compile(symbol, key, compile_code, for_host=False)
        with self.enter_context():
            return Code(self, self._do("cuModuleLoadData", code), symbol)

    @entering
    def launch(self, kernel: Code, blocks: int, threads: int, args: Sequence[int]) -> None:
        """Launch a kernel. All arguments are 64 bits wide; floats are passed as their bits."""
        self.launch_in(self.stream, kernel, blocks, threads, args)

    def launch_in(
        self, stream: CUstream, kernel: Code, blocks: int, threads: int, args: Sequence[int]
    ) -> None:
        """Launch a kernel in a stream."""
        count = len(args)
        values = (ctypes.c_int64 * count)(*args)
        begin = ctypes.addressof(values)
        places = (ctypes.c_void_p * count)(*range(begin, begin + 8 * count, 8))
        self._do(
            "cuLaunchKernel",
            kernel.function,
            blocks,
            1,
            1,
            threads,
            1,
            1,
            0,
            stream,
            ctypes.addressof(places),
            0,
        )
        self.launches += 1

    @entering
    def gemm(self, dtype: str, scalars: Sequence[int], out: int, x: int, y: int) -> None:
        """Multiply matrices; see `blas.Blas.gemm`."""
        self.gemm_in(self.stream, dtype, scalars, out, x, y)

    def gemm_in(
        self, stream: CUstream, dtype: str, scalars: Sequence[int], out: int, x: int, y: int
    ) -> None:
        """Multiply matrices in a stream."""
        with self._lock:
            if self._blas is None:
                from .blas import WORKSPACE, Blas

                self._blas = Blas(self.empty(WORKSPACE))
            self._blas.use(int(stream), settings.tensor_float_32)
            self._blas.gemm(dtype, scalars, out, x, y)

    # Graphs.

    @entering
    def capture(self, run: Callable[[Any], None]) -> CudaGraph | None:
        """Capture the kernels and products that ``run(launcher)`` launches, for `replay`.

        Returns None during another capture, which a signal handler may interrupt.
        """
        mode = self._driver.CUstreamCaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED
        with self._lock:
            if self._in_capture:
                return None
            self._in_capture = True
            before = self.launches
            try:
                self._do("cuStreamBeginCapture", self._capturing, mode)
                run(_Launcher(self, self._capturing))
                graph = self._do("cuStreamEndCapture", self._capturing)
            except BaseException:  # an interrupt as well: the capture must end
                status, half = self._driver.cuStreamEndCapture(self._capturing)
                if status == self._driver.CUresult.CUDA_SUCCESS:
                    self._driver.cuGraphDestroy(half)
                raise
            finally:
                self._in_capture = False
                count, self.launches = self.launches - before, before
        try:
            return CudaGraph(self, self._do("cuGraphInstantiate", graph, 0), count)
        finally:
            self._do("cuGraphDestroy", graph)

    @entering
    def replay(self, graph: CudaGraph) -> None:
        """Launch a captured graph."""
        self._do("cuGraphLaunch", graph.handle, self.stream)
        self.launches += graph.launches

    @entering
    def forget(self, handle: CUgraphExec) -> None:
        """Destroy a graph."""
        self._do("cuGraphExecDestroy", handle)
