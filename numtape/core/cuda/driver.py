"""The GPU: memory from the driver's pool, copies, kernels, launches; all in one stream.

Everything is asynchronous but `download` and `synchronize`, in the order in which it was asked
for: so memory can be given back while what was launched before still uses it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from ... import config
from ...errors import DeviceError, ResourceExhaustedError
from .. import cache as disk
from ..arrays import Array, address_of

OLDEST = (7, 0)  # compute capability

_FIX = "Set NUMTAPE_DEVICE=cpu or unset it to compute on the CPU."


def _bindings() -> Any:
    try:
        from cuda.bindings import driver
    except ImportError as error:
        raise DeviceError(
            f"NUMTAPE_DEVICE=cuda needs packages that are not installed ({error.name}): "
            f"pip install 'numtape[cuda]'. {_FIX}"
        ) from None
    return driver


class Memory:
    """Bytes on the GPU that are given back when nothing refers to them any more."""

    __slots__ = ("__weakref__", "_device", "address", "size")

    def __init__(self, device: Driver, address: int, size: int) -> None:
        self._device, self.address, self.size = device, address, size

    def __del__(self) -> None:
        try:
            self._device.release(self.address)
        except Exception:  # the interpreter is shutting down
            pass


class Timer:
    """The time that the GPU takes from ``begin`` to ``end``, by events in its stream."""

    def __init__(self, device: Driver) -> None:
        self._device = device
        flags = device._driver.CUevent_flags.CU_EVENT_DEFAULT
        device.enter()
        self._events = [device._do("cuEventCreate", flags) for _ in range(2)]

    def __del__(self) -> None:
        try:
            for event in self._events:
                self._device._do("cuEventDestroy", event)
        except Exception:  # the interpreter is shutting down
            pass

    def begin(self) -> None:
        """Begin after what was asked for so far."""
        self._record(0)

    def end(self) -> float:
        """Wait for what was asked for since ``begin``, and give the seconds it took."""
        self._record(1)
        self._device._do("cuEventSynchronize", self._events[1])
        return float(self._device._do("cuEventElapsedTime", *self._events)) / 1e3

    def _record(self, number: int) -> None:
        self._device.enter()
        self._device._do("cuEventRecord", self._events[number], self._device.stream)


class Driver:
    """One GPU.

    Attributes:
      threads: How many threads a block has; as in kernels/cuda/reduce.py (a test compares).
      name: What it is called.
      capability: Its compute capability.
      blocks: How many blocks of a kernel keep it busy.
      launches: How many kernels were launched.
    """

    threads = 256

    def __init__(self) -> None:
        self._driver = cuda = _bindings()
        self.launches = 0
        try:
            status = cuda.cuInit(0)[0]
        except Exception as error:  # the driver's library is not there
            raise DeviceError(f"There is no NVIDIA driver: {error}. {_FIX}") from None
        if status != cuda.CUresult.CUDA_SUCCESS:
            raise DeviceError(f"The NVIDIA driver does not start: {self._said(status)}. {_FIX}")
        if self._do("cuDeviceGetCount") == 0:
            raise DeviceError(f"There is no NVIDIA GPU (see CUDA_VISIBLE_DEVICES). {_FIX}")
        self._number = self._do("cuDeviceGet", 0)
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
        self.blocks = 8 * self._ask(attribute.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
        self._context = self._do("cuDevicePrimaryCtxRetain", self._number)
        self.enter()
        self.stream = self._do("cuStreamCreate", cuda.CUstream_flags.CU_STREAM_NON_BLOCKING)
        self._pool = self._do("cuDeviceGetDefaultMemPool", self._number)
        # Freed memory stays with the process: asking the system again takes longer than a sweep.
        self._do(
            "cuMemPoolSetAttribute", self._pool,
            cuda.CUmemPool_attribute.CU_MEMPOOL_ATTR_RELEASE_THRESHOLD,
            cuda.cuuint64_t(2**64 - 1),
        )  # fmt: skip
        self._libraries: list[Any] = []
        self._blas: Any = None

    def _said(self, status: Any) -> str:
        text = self._driver.cuGetErrorString(status)[1]
        return f"{text.decode() if text else ''} ({status.name})"

    def _do(self, name: str, *args: Any) -> Any:
        """Call the driver. Raises what its status says."""
        status, *found = getattr(self._driver, name)(*args)
        if status != self._driver.CUresult.CUDA_SUCCESS:
            if status == self._driver.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
                raise ResourceExhaustedError(f"The GPU's memory is exhausted ({name}).")
            raise DeviceError(f"{name} failed: {self._said(status)}.")
        return found[0] if found else None

    def _ask(self, attribute: Any) -> int:
        return int(self._do("cuDeviceGetAttribute", attribute, self._number))

    def enter(self) -> None:
        """Make the GPU this thread's."""
        self._do("cuCtxSetCurrent", self._context)

    # Memory.

    def empty(self, size: int) -> Memory:
        """Memory of so many bytes, with any contents.

        Raises:
          ResourceExhaustedError: If there is not so much.
        """
        self.enter()
        address = int(self._do("cuMemAllocAsync", max(size, 1), self.stream))
        return Memory(self, address, size)

    def release(self, address: int) -> None:
        """Give memory back, once what was asked for before is done."""
        self.enter()
        self._do("cuMemFreeAsync", address, self.stream)

    def toolkit(self) -> str:
        """The driver, and what kernels are compiled with."""
        from .compiler import versions

        driver = self._do("cuDriverGetVersion")
        found = ", ".join(versions().splitlines())
        return f"driver for CUDA {driver // 1000}.{driver % 1000 // 10}; {found}"

    def memory_info(self) -> dict[str, int]:
        """Bytes in use now, and at most so far."""
        which = self._driver.CUmemPool_attribute
        names = {
            "current": which.CU_MEMPOOL_ATTR_USED_MEM_CURRENT,
            "peak": which.CU_MEMPOOL_ATTR_USED_MEM_HIGH,
        }
        return {
            name: int(self._do("cuMemPoolGetAttribute", self._pool, attribute))
            for name, attribute in names.items()
        }

    def forget_peak(self) -> None:
        """Count the most that is in use from now on."""
        self._do(
            "cuMemPoolSetAttribute", self._pool,
            self._driver.CUmemPool_attribute.CU_MEMPOOL_ATTR_USED_MEM_HIGH,
            self._driver.cuuint64_t(0),
        )  # fmt: skip

    def upload(self, array: Array, address: int) -> None:
        """Copy a contiguous host array to an address. The host's memory is free afterwards."""
        if array.nbytes:
            self.enter()
            self._do("cuMemcpyHtoDAsync", address, address_of(array), array.nbytes, self.stream)

    def download(self, address: int, out: Array) -> None:
        """Copy what is at an address to a contiguous host array, and wait for it."""
        if out.nbytes:
            self.enter()
            self._do("cuMemcpyDtoHAsync", address_of(out), address, out.nbytes, self.stream)
            self.synchronize()

    def synchronize(self) -> None:
        """Wait until all is computed."""
        self._do("cuStreamSynchronize", self.stream)

    def timer(self) -> Timer:
        """A timer of what happens in the stream."""
        return Timer(self)

    # Kernels.

    def kernel(
        self, make: Callable[[], Any], dtypes: Sequence[str], symbol: str, source: str
    ) -> Any:
        """What `launch` takes: the kernel ``make`` gives, whose text is ``source``.

        Its parameters have these dtypes; ``*`` stands before those of arrays.
        """
        from . import compiler

        key = f"{compiler.versions()}\n{self.capability}\n{dtypes}\n{source}"
        code, *_ = disk.kept(
            symbol, key,
            lambda: (compiler.cubin(make(), dtypes, symbol, self.capability), [symbol], []),
        )  # fmt: skip
        self.enter()
        module = self._do("cuModuleLoadData", code)
        self._libraries.append(module)
        return self._do("cuModuleGetFunction", module, symbol.encode())

    def launch(self, kernel: Any, blocks: int, threads: int, args: Sequence[int]) -> None:
        """Run a kernel. All its parameters are 64 bits wide; floats come as their bits."""
        count = len(args)
        values = (ctypes.c_int64 * count)(*args)
        begin = ctypes.addressof(values)
        places = (ctypes.c_void_p * count)(*range(begin, begin + 8 * count, 8))
        self._do(
            "cuLaunchKernel", kernel, blocks, 1, 1, threads, 1, 1, 0, self.stream,
            ctypes.addressof(places), 0,
        )  # fmt: skip
        self.launches += 1

    def gemm(self, dtype: str, scalars: Sequence[int], out: int, x: int, y: int) -> None:
        """Products of matrices; see `blas.Blas.gemm`."""
        self.enter()
        if self._blas is None:
            from .blas import Blas

            self._blas = Blas(int(self.stream))
        self._blas.gemm(dtype, scalars, out, x, y, config.tensor_float_32())
