"""Copies between host and GPU through page-locked memory, on a stub driver."""

import gc
import weakref
from collections import OrderedDict

import numpy as np
import pytest
from parallel_threads import run_in_threads
from stub_driver import PRIMARY, CUresult, stub_gpu

from numtape.core.cuda import launches
from numtape.core.cuda.runtime import driver, transfer
from numtape.errors import ResourceExhaustedError

pytestmark = [
    pytest.mark.numtape_only("how numtape copies"),
    pytest.mark.cpu_only("on a driver that is none"),
]

HALF, SMALL, PART = 4096, 256, 1024
SIZES = [1, SMALL, SMALL + 1, HALF, HALF + 1, 2 * HALF, 5 * HALF + 3]


@pytest.fixture(autouse=True)
def small_memory(monkeypatch):
    for name, size in {"HALF": HALF, "SMALL": SMALL, "PART": PART}.items():
        monkeypatch.setattr(transfer, name, size)
    monkeypatch.setattr(driver, "SMALL", SMALL)


def numbers(size, seed=0):
    return np.random.default_rng(seed).integers(0, 256, size, np.uint8)


def downloaded(gpu, memory):
    found = np.empty(memory.size, np.uint8)
    gpu.download(memory.address, found)
    return found


@pytest.fixture(params=[False, True], ids=["at once", "late"])
def gpu(request, monkeypatch):
    return stub_gpu(monkeypatch, late=request.param)


@pytest.mark.parametrize("size", SIZES)
def test_there_and_back(gpu, size):
    for seed in range(2):
        array = numbers(size, seed)
        memory = gpu.empty(size)
        gpu.upload(array, memory.address)
        np.testing.assert_array_equal(downloaded(gpu, memory), array)


@pytest.mark.parametrize("size", SIZES)
def test_the_hosts_memory_is_free_after_an_upload(gpu, size):
    arrays = [numbers(size, seed) for seed in range(3)]
    memories = [gpu.empty(size) for _ in arrays]
    buffer = np.empty(size, np.uint8)
    for array, memory in zip(arrays, memories, strict=True):
        buffer[:] = array
        gpu.upload(buffer, memory.address)
    buffer[:] = 0
    for array, memory in zip(arrays, memories, strict=True):
        np.testing.assert_array_equal(downloaded(gpu, memory), array)


def test_a_read_only_array(gpu):
    array = numbers(2 * HALF)
    array.flags.writeable = False
    memory = gpu.empty(array.size)
    gpu.upload(array, memory.address)
    np.testing.assert_array_equal(downloaded(gpu, memory), array)


def test_large_arrays_go_through_two_halves_in_turn(gpu):
    array = numbers(3 * HALF + 5)
    memory = gpu.empty(array.size)
    gpu.upload(array, memory.address)
    asked = gpu._driver
    ((begin, size),) = asked.locked
    assert size == 2 * HALF
    copies = [call[1:4] for call in asked.named("cuMemcpyHtoDAsync")]
    assert copies == [
        (memory.address + k * HALF, begin + k % 2 * HALF, 5 if k == 3 else HALF) for k in range(4)
    ]


def test_one_half_is_transferred_while_the_other_is_copied(monkeypatch):
    """When a chunk arrives, the next one is already requested."""
    gpu = stub_gpu(monkeypatch, late=True)
    memory = gpu.empty(3 * HALF)
    asked = gpu._driver
    before = len(asked.calls)
    downloaded(gpu, memory)
    names = ["cuMemcpyDtoHAsync", "cuEventSynchronize"]
    found = [names.index(name) for name, *_ in asked.calls[before:] if name in names]
    assert found == [0, 0, 1, 0, 1, 1]


def test_small_arrays_go_through_a_ring(gpu):
    """An upload is awaited only when the ring reuses its memory."""
    arrays = [numbers(SMALL - k % 5, k) for k in range(50)]
    memories = [gpu.empty(SMALL) for _ in arrays]
    asked = gpu._driver
    for k, (array, memory) in enumerate(zip(arrays, memories, strict=True)):
        gpu.upload(array, memory.address)
        waits = len(asked.named("cuEventSynchronize", "cuStreamSynchronize"))
        assert waits == k // (PART // SMALL)
    for array, memory in zip(arrays, memories, strict=True):
        np.testing.assert_array_equal(downloaded(gpu, memory)[: array.size], array)
    ((begin, size),) = asked.locked
    assert size == transfer.PARTS * PART
    copies = asked.named("cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync")
    hosts = [call[2 if call[0] == "cuMemcpyHtoDAsync" else 1] for call in copies]
    assert all(begin <= host < begin + size for host in hosts)


def test_memory_in_use_is_not_waited_for(gpu):
    """A signal handler may run in the middle of a copy."""
    sizes = SMALL, 2 * HALF
    with gpu._staging._lock_parts() as halves, gpu._ring._lock_parts() as parts:
        assert halves and parts
        for size in sizes:
            array, memory = numbers(size), gpu.empty(size)
            gpu.upload(array, memory.address)
            np.testing.assert_array_equal(downloaded(gpu, memory), array)
    copies = gpu._driver.named("cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync")
    assert [call[3] for call in copies] == [SMALL, SMALL, 2 * HALF, 2 * HALF]


def test_where_no_memory_can_be_locked(monkeypatch):
    gpu = stub_gpu(monkeypatch, pinned=False)
    for size in (SMALL, 2 * HALF):
        array, memory = numbers(size), gpu.empty(size)
        for _ in range(2):
            gpu.upload(array, memory.address)
            np.testing.assert_array_equal(downloaded(gpu, memory), array)
    assert len(gpu._driver.named("cuMemHostAlloc")) == 2


def test_an_interrupt(gpu, monkeypatch):
    """Memory of a pending transfer is not reused for the next one."""
    first, memory = numbers(3 * HALF, 1), gpu.empty(3 * HALF)
    second, other = numbers(3 * HALF, 2), gpu.empty(3 * HALF)
    gpu._driver.calls.clear()
    original = type(gpu._driver).do_cuEventRecord
    interrupts = [KeyboardInterrupt]

    def interrupted(self, event, stream):
        if interrupts:
            raise interrupts.pop()
        original(self, event, stream)

    monkeypatch.setattr(type(gpu._driver), "do_cuEventRecord", interrupted)
    with pytest.raises(KeyboardInterrupt):
        gpu.upload(first, memory.address)
    gpu.upload(second, other.address)
    np.testing.assert_array_equal(downloaded(gpu, other), second)
    np.testing.assert_array_equal(downloaded(gpu, memory)[:HALF], first[:HALF])


def test_threads(gpu):
    def work(seed):
        for k in range(20):
            array = numbers((k % 2 * 5 * HALF or 100) + seed, 100 * seed + k)
            memory = gpu.empty(array.size)
            gpu.upload(array, memory.address)
            np.testing.assert_array_equal(downloaded(gpu, memory), array)

    run_in_threads(4, work)
    with gpu._staging._lock_parts() as halves, gpu._ring._lock_parts() as parts:
        assert halves and parts


def test_a_copy_on_the_gpu(gpu):
    array, source, target = numbers(100), gpu.empty(100), gpu.empty(100)
    gpu.upload(array, source.address)
    gpu.copy(source.address, target.address, 100)
    np.testing.assert_array_equal(downloaded(gpu, target), array)


class Thing:
    pass


def test_what_is_kept_until_the_gpu_is_done(monkeypatch):
    gpu = stub_gpu(monkeypatch, late=True)
    source, target = gpu.empty(8), gpu.empty(8)
    gpu.copy(source.address, target.address, 8)
    thing = Thing()
    alive = weakref.ref(thing)
    gpu.keep(thing)
    del thing
    gpu.empty(8)
    gc.collect()
    assert alive() is not None
    gpu.synchronize()
    gpu.empty(8)
    gc.collect()
    assert alive() is None
    asked = gpu._driver
    assert len(asked.named("cuEventDestroy")) == len(asked.named("cuEventCreate")) == 1


def test_one_stream_waits_for_another(gpu):
    gpu.order(gpu.stream, 1)
    calls = [call for call in gpu._driver.calls[-5:] if not call[0].startswith("cuCtx")]
    event = calls[1][1]
    assert calls == [
        ("cuEventCreate", transfer.DISABLE_TIMING),
        ("cuEventRecord", event, 77),
        ("cuStreamWaitEvent", 1, event, 0),
        ("cuEventDestroy", event),
    ]


# Contexts.


def used(gpu):
    """Use each feature of the device once."""
    memory, timer = gpu.empty(8), gpu.timer()
    timer.begin()
    gpu.upload(numbers(8), memory.address)
    gpu.copy(memory.address, memory.address, 8)
    assert downloaded(gpu, memory).tolist() == numbers(8).tolist()
    gpu.order(gpu.stream, 1)
    gpu.keep(None)
    gpu.synchronize()


def test_another_librarys_context_stays(gpu):
    """Our context is pushed and popped; resources are also released in it."""
    contexts = gpu._driver.contexts
    contexts[-1] = 55
    used(gpu)
    gc.collect()
    assert contexts == [55]
    with gpu.enter_context():
        used(gpu)
        assert contexts == [55, PRIMARY]
    assert contexts == [55]


def test_a_context_that_is_ours_is_only_asked_for(gpu):
    memory = gpu.empty(8)
    gpu._driver.calls.clear()
    gpu.upload(numbers(8), memory.address)
    names = [name for name, *_ in gpu._driver.calls if name.startswith("cuCtx")]
    assert names == ["cuCtxGetCurrent"]
    with gpu.enter_context():
        gpu._driver.calls.clear()
        gpu.upload(numbers(8), memory.address)
    assert [name for name, *_ in gpu._driver.calls] == ["cuMemcpyHtoDAsync"]


def test_a_thread_without_a_context(gpu):
    def work(k):
        used(gpu)
        return list(gpu._driver.contexts)

    assert run_in_threads(2, work) == [[PRIMARY], [PRIMARY]]


def test_an_error_gives_the_context_back(gpu, monkeypatch):
    monkeypatch.setattr(
        type(gpu._driver), "do_cuMemAllocAsync", lambda *_: CUresult.CUDA_ERROR_OUT_OF_MEMORY
    )
    contexts = gpu._driver.contexts
    contexts[-1] = 55
    with pytest.raises(ResourceExhaustedError):
        gpu.empty(8)
    assert contexts == [55]


# Kernels.


def test_kernels_are_unloaded_when_their_last_launch_is_done(monkeypatch):
    gpu = stub_gpu(monkeypatch, late=True)
    monkeypatch.setattr(driver.disk, "load_or_compile", lambda *_, **__: (b"", [], []))
    monkeypatch.setattr("numtape.core.cuda.runtime.compiler.key", lambda *_: "")
    made, memory = gpu.kernel(None, [], "kernel", ""), gpu.empty(8)
    (module,) = [call for call in gpu._driver.named("cuModuleGetFunction")]
    gpu.launch(made, 1, 1, [])
    gpu.copy(memory.address, memory.address, 8)
    del made
    gc.collect()
    gpu.empty(8)
    assert not gpu._driver.named("cuModuleUnload")
    gpu.synchronize()
    gpu.empty(8)
    assert gpu._driver.named("cuModuleUnload") == [("cuModuleUnload", module[1])]


def test_so_many_kernels_wait_for_use(monkeypatch):
    """The least recently used kernel is released, but its users keep it."""
    monkeypatch.setattr(launches, "_kernels", OrderedDict())
    monkeypatch.setattr(launches, "KERNELS", 3)
    monkeypatch.setattr(launches.CudaKernel, "__init__", lambda self, made, begin: None)
    first, second, third = (launches.kernel(None, [], name) for name in "abc")
    assert launches.kernel(None, [], "a") is first
    launches.kernel(None, [], "d")
    assert len(launches._kernels) == 3
    assert launches.kernel(None, [], "a") is first
    assert launches.kernel(None, [], "c") is third
    assert launches.kernel(None, [], "b") is not second
