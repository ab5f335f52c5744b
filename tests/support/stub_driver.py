"""A stub of the GPU driver with host memory, which performs copies and records all calls."""

import ctypes
import enum
import os
import threading
from types import SimpleNamespace


class CUresult(enum.IntEnum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_OUT_OF_MEMORY = 2
    CUDA_ERROR_NOT_READY = 600


PRIMARY = 7000  # the context that libraries share
IN_CONTEXT = (  # prefixes of functions that need a context
    "cuEvent",
    "cuGraph",
    "cuLaunch",
    "cuMemA",
    "cuMemF",
    "cuMemcpy",
    "cuModule",
    "cuStream",
)


MOST = 1 << 30  # bytes of the largest allocation


class Names:
    """An object whose attributes are their names."""

    def __getattr__(self, name):
        return name


class OfThread(threading.local):
    def __init__(self):
        self.contexts = [0]


class StubDriver:
    """The interface of `cuda.bindings.driver`.

    Transfers from and to page-locked memory happen immediately or, if `late`, only when a caller
    waits for them. Real drivers may do either.
    """

    CUresult = CUresult
    CUdevice_attribute = CUevent_flags = CUstream_flags = CUmemPool_attribute = Names()
    CUstreamCaptureMode = Names()
    cuuint64_t = int
    stream = 77

    def __init__(self, late=False, pinned=True):
        self.late, self.pinned = late, pinned
        self.calls, self.memory, self.events = [], {}, {}
        self.queue, self.done = [], 0  # all requests, and the number of completed ones
        self.lock = threading.RLock()
        self.of_thread = OfThread()

    @property
    def contexts(self):
        """This thread's context stack, the current one last."""
        return self.of_thread.contexts

    def __getattr__(self, name):
        if not name.startswith("cu"):
            raise AttributeError(name)

        def call(*arguments):
            with self.lock:
                assert not name.startswith(IN_CONTEXT) or self.contexts[-1] == PRIMARY, name
                self.calls.append((name, *arguments))
                found = getattr(self, f"do_{name}", lambda *_: None)(*arguments)
            if isinstance(found, CUresult):
                return found, None
            return CUresult.CUDA_SUCCESS, found

        return call

    def named(self, *names):
        """The recorded calls of these functions."""
        return [call for call in self.calls if call[0] in names]

    def work(self, until):
        while self.done < until:
            self.done += 1
            self.queue[self.done - 1]()

    def ask(self, task):
        self.queue.append(task)
        if not self.late:
            self.work(len(self.queue))

    def allocate(self, size):
        memory = (ctypes.c_char * (size + 256))()
        address = -(-ctypes.addressof(memory) // 256) * 256
        self.memory[address] = memory
        return address

    def is_pinned(self, address):
        return any(at <= address < at + size for at, size in self.locked)

    locked = ()

    # Implemented functions, by the driver's names; all others are only recorded.

    def do_cuDeviceGetUuid(self, device):
        return SimpleNamespace(bytes=os.getpid().to_bytes(16, "little"))

    def do_cuDriverGetVersion(self):
        return 13000

    def do_cuDeviceGetCount(self):
        return 1

    def do_cuDeviceGetName(self, size, device):
        return b"Stub\0"

    def do_cuDeviceGetAttribute(self, attribute, device):
        return 0 if attribute.endswith("CAPABILITY_MINOR") else 9

    def do_cuGetErrorString(self, status):
        return b"as it says"

    def do_cuDevicePrimaryCtxRetain(self, device):
        return PRIMARY

    def do_cuCtxGetCurrent(self):
        return self.contexts[-1]

    def do_cuCtxSetCurrent(self, context):
        self.contexts[-1] = context

    def do_cuCtxPushCurrent(self, context):
        self.contexts.append(context)

    def do_cuCtxPopCurrent(self):
        return self.contexts.pop()

    def do_cuModuleLoadData(self, code):
        return len(self.calls)

    def do_cuStreamCreate(self, flags):
        return self.stream + len(self.named("cuStreamCreate")) - 1

    def do_cuMemAllocAsync(self, size, stream):
        return self.allocate(size) if size <= MOST else CUresult.CUDA_ERROR_OUT_OF_MEMORY

    def do_cuMemFreeAsync(self, address, stream):
        del self.memory[address]

    def do_cuMemHostAlloc(self, size, flags):
        if not self.pinned:
            return CUresult.CUDA_ERROR_OUT_OF_MEMORY
        self.locked = (*self.locked, (self.allocate(size), size))
        return self.locked[-1][0]

    def do_cuMemcpyHtoDAsync(self, to, source, size, stream):
        self.transfer(to, source, size, self.is_pinned(source))

    def do_cuMemcpyDtoHAsync(self, to, source, size, stream):
        self.transfer(to, source, size, self.is_pinned(to))

    def do_cuMemcpyDtoDAsync(self, to, source, size, stream):
        self.transfer(to, source, size, True)

    def transfer(self, to, source, size, may_be_late):
        self.ask(lambda: ctypes.memmove(to, source, size))
        if not may_be_late:
            self.work(len(self.queue))

    def do_cuEventCreate(self, flags):
        event = 1000 + len(self.named("cuEventCreate"))
        self.events[event] = 0
        return event

    def do_cuEventRecord(self, event, stream):
        self.events[event] = len(self.queue)

    def do_cuEventSynchronize(self, event):
        self.work(self.events[event])

    def do_cuEventQuery(self, event):
        return None if self.done >= self.events[event] else CUresult.CUDA_ERROR_NOT_READY

    def do_cuStreamSynchronize(self, stream):
        self.work(len(self.queue))


def stub_gpu(monkeypatch, **options):
    """A `Driver` with a stub in its attribute `_driver`."""
    from numtape.core.cuda.runtime import driver

    monkeypatch.setattr(driver, "_bindings", lambda: StubDriver(**options))
    return driver.Driver()


class StubBlas:
    """Records products together with the driver's calls."""

    def __init__(self, memory):
        from numtape.core.cuda.runtime.device import device

        self._asked = device()._driver

    def use(self, stream, tensor_float):
        """Accept any stream."""

    def gemm(self, *arguments):
        self._asked.calls.append(("gemm", *arguments))


def on_stub():
    """Make a stub this process's GPU: a `StubDriver`. Nothing is compiled for it.

    Its code counts as numtape's own: a function that is recorded must not be seen to depend on it.
    """
    from pathlib import Path

    import numtape
    from numtape.core.cuda.runtime import blas, compiler, driver
    from numtape.core.cuda.runtime.device import device

    inside = {"__name__": "numtape.stub_driver"}
    file = Path(numtape.__file__).with_name("stub_driver.py")
    exec(compile(Path(__file__).read_text("utf-8"), str(file), "exec"), inside)
    driver._bindings, blas.Blas = inside["StubDriver"], inside["StubBlas"]
    driver.disk = SimpleNamespace(load_or_compile=lambda *_, **__: (b"", [], []))
    compiler.key = lambda *_: ""  # which would query the versions of compiler packages
    return device()._driver
