"""Collectives of GPU data through NCCL, without a GPU: stubs of the driver and of nccl4py.

What must be run on machines with GPUs is marked ``gpu``: a communicator of one rank, on one GPU,
and programs on two ranks, on two GPUs (``pip install "numtape[nccl]"``, then
``pytest -m gpu tests/distribute/test_nccl.py``). They compare results with NumPy. Not covered
there: NCCL's errors, time limits, and speed.
"""

import importlib.util
import json
import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import stub_nccl
from cuda_compilation import FOUND, check
from processes import run
from ranks import launch, needs_mpi, output
from stub_driver import CUresult, stub_gpu

from numtape.core.cuda import halves, launches
from numtape.core.cuda.codegen import function
from numtape.core.cuda.ops.array import TRANSFERS, array_launches
from numtape.core.cuda.runtime import compiler, device, driver
from numtape.core.values.dtypes import as_dtype, int64
from numtape.core.values.spec import intern
from numtape.distribute import collectives, nccl
from numtape.distribute.engine import (
    ALLGATHER,
    ALLREDUCE,
    BARRIER,
    BROADCAST,
    DONE,
    MOVING,
    NCCL,
    REDUCE_SCATTER,
    Engine,
    Request,
    Transfer,
)
from numtape.errors import DeviceError, DistributedError

pytestmark = pytest.mark.numtape_only("NCCL")

COMPUTE, COMMUNICATION = 77, 79  # the stub's streams


class AloneEngine:
    """An engine of rank 1 of 3, whose other ranks ask for the same at once."""

    rank, size, timeout = 1, 3, 60.0

    def __init__(self, rows=(), others=()):
        self.rows, self.others = list(rows), list(others)
        self.transfers = {}

    def exchange(self, value):
        return self.others.pop(0)(value) if self.others else [value] * self.size

    def start(self, number, request, arrays, on_device=None):
        self.transfers[number] = SimpleNamespace(
            number=number, request=request, on_device=on_device, result=None, rows=self.rows
        )
        if on_device is not None:
            on_device.enqueue(self.rows or [on_device.rows] * self.size)

    def finish(self, number):
        return self.transfers[number]

    def check_size(self, transfer, size, recorded):
        assert size == recorded


@pytest.fixture
def gpu(monkeypatch):
    """A stub GPU; kernels are launched, but not compiled."""
    found = stub_gpu(monkeypatch)
    monkeypatch.setattr(device, "_device", found)
    monkeypatch.setattr(launches, "_kernels", type(launches._kernels)())
    load = SimpleNamespace(load_or_compile=lambda *_, **__: (b"", [], []))
    monkeypatch.setattr(driver, "disk", load)
    monkeypatch.setattr(compiler, "key", lambda *_: "")
    yield found
    TRANSFERS.clear()


@pytest.fixture
def library(monkeypatch, gpu):
    """The stub of nccl4py, which records its calls among the driver's."""
    for name in ("nccl", "nccl.core"):
        monkeypatch.setitem(sys.modules, name, None)
    found = stub_nccl.install()
    found.Communicator.calls = gpu._driver.calls
    return found


def link_of(gpu, library, engine):
    communicator = library.Communicator.init(engine.size, engine.rank, library.UniqueId())
    return nccl.Link(library, gpu, communicator, engine, lambda: None)


def request_of(kind, dtype="float32", shapes=((6,),), **options):
    names = tuple(f"x{k}" for k in range(len(shapes)))
    options = {"wire_dtype": dtype, **options}
    return Request(kind, names, shapes, dtype, transport=NCCL, **options)


def calls_of(gpu, begin=0):
    """The calls since one, without those about contexts."""
    return [call for call in gpu._driver.calls[begin:] if not call[0].startswith("cuCtx")]


class Run:
    """A collective from its op's start to its result, on stubs."""

    def __init__(self, gpu, library, request, rows=(), scale=1.0):
        self.engine = AloneEngine(rows)
        link = link_of(gpu, library, self.engine)
        sizes = [math.prod(shape) for shape in request.shapes]
        if request.kind == ALLGATHER:
            sizes = [2 * size for size in sizes]  # two rows
        itemsize = as_dtype(request.dtype).size
        self.sources = [gpu.empty(size * itemsize) for size in sizes]
        numbers = gpu.empty(16)
        at = launches.Addresses([numbers.address + 8, numbers.address])
        at += [source.address for source in self.sources]
        at.host = {1: 5}
        places = (0, *range(2, 2 + len(sizes)), 1)
        start = nccl.StartOnDevice(link, request, tuple(sizes), places)
        self.begin = len(gpu._driver.calls)
        start.run(gpu, at)
        assert at.host[0] == 6
        self.transfer = self.engine.transfers[5].on_device
        size = self.transfer.result_size
        out = gpu.empty(size * itemsize)
        at.append(out.address)
        at.host[1] = 6
        specs = intern((size,), as_dtype(request.dtype)), intern((), int64)
        attributes = {"back": 1, "spec": specs[0], "scale": scale}
        result = nccl.ResultOnDevice(link, collectives.RESULT, attributes, specs, (len(at) - 1, 1))
        self.middle = len(gpu._driver.calls)
        result.run(gpu, at)
        self.out = out
        self.calls = calls_of(gpu, self.begin)
        self.nccl_calls = [call for call in self.calls if call[0].startswith("nccl")]


# What is asked of NCCL: the name, the dtype, the counts sent and received, and further arguments.
KINDS = {
    "sum": (request_of(ALLREDUCE), ("allreduce", "FLOAT32", 6, 6, "SUM")),
    "min": (request_of(ALLREDUCE, op="Min"), ("allreduce", "FLOAT32", 6, 6, "MIN")),
    "max": (request_of(ALLREDUCE, "int64", op="Max"), ("allreduce", "INT64", 6, 6, "MAX")),
    "product": (request_of(ALLREDUCE, "uint8", op="Product"), ("allreduce", "UINT8", 6, 6, "PROD")),
    "float64": (request_of(ALLREDUCE, "float64"), ("allreduce", "FLOAT64", 6, 6, "SUM")),
    "float16": (request_of(ALLREDUCE, "float16"), ("allreduce", "FLOAT16", 6, 6, "SUM")),
    "bfloat16": (request_of(ALLREDUCE, "bfloat16"), ("allreduce", "BFLOAT16", 6, 6, "SUM")),
    "to float16": (
        request_of(ALLREDUCE, wire_dtype="float16"),
        ("allreduce", "FLOAT16", 6, 6, "SUM"),
    ),
    "to bfloat16": (
        request_of(ALLREDUCE, wire_dtype="bfloat16"),
        ("allreduce", "BFLOAT16", 6, 6, "SUM"),
    ),
    "complex": (request_of(ALLREDUCE, "complex64"), ("allreduce", "FLOAT32", 12, 12, "SUM")),
    "bucket": (
        request_of(ALLREDUCE, shapes=((2, 3), (), (4,))),
        ("allreduce", "FLOAT32", 11, 11, "SUM"),
    ),
    "broadcast": (request_of(BROADCAST, "bool", root=1), ("broadcast", "UINT8", 6, 6, 1)),
    "broadcast from another": (
        request_of(BROADCAST, "complex128", root=2),
        ("broadcast", "UINT8", None, 96, 2),
    ),
    "allgather": (request_of(ALLGATHER, shapes=((3,),)), ("allgather", "UINT8", 24, 72)),
    "reducescatter": (
        request_of(REDUCE_SCATTER, counts=(2, 2, 2)),
        ("reduce_scatter", "FLOAT32", 6, 2, "SUM"),
    ),
}


@pytest.mark.parametrize("name", KINDS)
def test_what_nccl_is_asked(gpu, library, name):
    request, (function_name, *arguments) = KINDS[name]
    assert nccl.is_supported(request)
    found = Run(gpu, library, request)
    assert found.nccl_calls == [(f"nccl {function_name}", *arguments, COMMUNICATION)]


def test_rows_that_differ_are_broadcast_one_after_the_other(gpu, library):
    found = Run(gpu, library, request_of(ALLGATHER, shapes=((3,),)), rows=(4, 2, 0))
    assert found.nccl_calls == [
        ("nccl broadcast", "UINT8", None, 48, 0, COMMUNICATION),
        ("nccl broadcast", "UINT8", 24, 24, 1, COMMUNICATION),
    ]
    names = [name for name, *_ in found.calls]
    assert names[names.index("group") :][:4] == ["group", *["nccl broadcast"] * 2, "end of group"]
    assert found.transfer.result_size == 18


def test_shares_that_differ_are_reduced_one_after_the_other(gpu, library):
    request = request_of(REDUCE_SCATTER, shapes=((5, 2),), counts=(2, 2, 1))
    found = Run(gpu, library, request)
    assert found.nccl_calls == [
        ("nccl reduce", "FLOAT32", 4, None, "SUM", 0, COMMUNICATION),
        ("nccl reduce", "FLOAT32", 4, 4, "SUM", 1, COMMUNICATION),
        ("nccl reduce", "FLOAT32", 2, None, "SUM", 2, COMMUNICATION),
    ]


def test_a_rank_without_a_share(gpu, library):
    few = Run(gpu, library, request_of(REDUCE_SCATTER, shapes=((1,),), counts=(1, 0, 0)))
    assert few.nccl_calls == [("nccl reduce", "FLOAT32", 1, None, "SUM", 0, COMMUNICATION)]
    assert few.transfer.result_size == 0


# Pairs of streams: the second waits for an event of the first.
AROUND = [(COMPUTE, COMMUNICATION), (COMMUNICATION, COMPUTE)]
SYNCHRONIZATIONS = {
    "cuStreamSynchronize",
    "cuEventSynchronize",
    "cuMemcpyDtoHAsync",
    "cuCtxSynchronize",
}


# Averages: of floats.
SCALED_KINDS = [
    (name, 1 / 3)
    for name, (request, _) in KINDS.items()
    if request.kind in (ALLREDUCE, REDUCE_SCATTER) and "int" not in request.dtype
]


@pytest.mark.parametrize("name, scale", [(name, 1.0) for name in KINDS] + SCALED_KINDS)
def test_streams_wait_for_each_other_and_the_host_for_none(gpu, library, name, scale):
    request, _ = KINDS[name]
    calls = Run(gpu, library, request, scale=scale).calls
    names = [call[0] for call in calls]
    assert not SYNCHRONIZATIONS & set(names)
    recorded = {event: stream for name, event, stream in filter(_is("cuEventRecord"), calls)}
    waits = [(event, after) for _, after, event, _ in filter(_is("cuStreamWaitEvent"), calls)]
    assert [(recorded[event], after) for event, after in waits] == AROUND
    (packed, _), (moved, _) = waits
    order = [
        k
        for k, call in enumerate(calls)
        if call[0].startswith("nccl")
        or (call[0] == "cuEventRecord" and call[1] in (packed, moved))
        or (call[0] == "cuStreamWaitEvent")
    ]
    assert [names[k].partition(" ")[0] for k in order] == [
        "cuEventRecord",
        "cuStreamWaitEvent",
        "nccl",
        "cuEventRecord",
        "cuStreamWaitEvent",
    ]
    # Everything else is in the compute stream: packing before the first event, which the
    # memory's allocation precedes as well, and unpacking after the last wait.
    moves = [k for k, x in enumerate(names) if x in ("cuMemcpyDtoDAsync", "cuLaunchKernel")]
    assert all(COMPUTE in calls[k] and COMMUNICATION not in calls[k] for k in moves)
    assert not [k for k in moves if order[0] < k < order[-1]]
    assert [k for k in moves if k < order[0]]
    assert [k for k in moves if k > order[-1]]
    allocations = [k for k, x in enumerate(names) if x == "cuMemAllocAsync"]
    assert len([k for k in allocations if k < order[0]]) == 2


def _is(name):
    return lambda call: call[0] == name


# Names of kernels and copies before and after NCCL, by dtype, wire dtype and scale.
COPY, LAUNCH = "cuMemcpyDtoDAsync", "cuLaunchKernel"


@pytest.mark.parametrize(
    "dtype, wire, scale, before, after",
    [
        ("float32", "float32", 1.0, [COPY] * 2, [COPY]),
        ("float32", "float32", 0.5, [COPY] * 2, [LAUNCH]),
        ("float32", "float16", 1.0, [LAUNCH] * 2, [LAUNCH]),
        ("float32", "bfloat16", 0.5, [LAUNCH] * 2, [LAUNCH] * 2),
        ("bfloat16", "bfloat16", 0.5, [COPY] * 2, [LAUNCH] * 3),
        ("complex64", "complex64", 0.5, [COPY] * 2, [LAUNCH]),
    ],
)
def test_packing_and_unpacking(gpu, library, dtype, wire, scale, before, after):
    request = request_of(ALLREDUCE, dtype, ((3,), (2, 2)), wire_dtype=wire)
    found = Run(gpu, library, request, scale=scale)
    names = [call[0] for call in found.calls]
    middle = names.index("nccl allreduce")
    moves = [[x for x in part if x in (COPY, LAUNCH)] for part in (names[:middle], names[middle:])]
    assert moves == [before, after]


def test_values_on_the_stub(gpu, library):
    """Its memory is the host's: tensors are joined in order, and the result is copied."""
    x, y = np.arange(3, dtype="f"), np.arange(4, dtype="f") + 10

    def combine(name, sent, received, *arguments):
        np.testing.assert_array_equal(sent.array(), np.concatenate([x, y]))
        received.array()[:] = 3 * sent.array()

    library.Communicator.combine = staticmethod(combine)
    engine = AloneEngine()
    link = link_of(gpu, library, engine)
    transfer = nccl.DeviceTransfer(link, request_of(ALLREDUCE, shapes=((3,), (4,))), 7)
    places = [(array.size, gpu.empty(array.nbytes)) for array in (x, y)]
    for array, (_, memory) in zip((x, y), places, strict=True):
        gpu.upload(array, memory.address)
    transfer.pack(gpu, [(size, memory.address) for size, memory in places])
    transfer.enqueue([0, 0, 0])
    out = gpu.empty(28)
    transfer.unpack(gpu, out.address, 1.0)
    found = np.empty(7, "f")
    gpu.download(out.address, found)
    np.testing.assert_array_equal(found, 3 * np.concatenate([x, y]))
    np.testing.assert_array_equal(transfer.result(), found)
    other = nccl.DeviceTransfer(link, request_of(ALLREDUCE, shapes=((3,), (4,))), 7)
    other.pack(gpu, [(size, memory.address) for size, memory in places])
    assert transfer.has_same(other)
    gpu.upload(y[::-1].copy(), places[1][1].address)
    other.pack(gpu, [(size, memory.address) for size, memory in places])
    assert not transfer.has_same(other)


def test_memory_is_freed_after_nccl_has_used_it(gpu, library):
    link = link_of(gpu, library, AloneEngine())
    transfer = nccl.DeviceTransfer(link, request_of(ALLREDUCE), 6)
    transfer.release()  # nothing was enqueued
    assert not gpu._driver.named("cuStreamWaitEvent")
    transfer.pack(gpu, [(6, transfer.sent.address)])
    transfer.enqueue([0] * 3)
    begin = len(gpu._driver.calls)
    transfer.release()
    transfer.release()  # once is enough
    (wait,) = calls_of(gpu, begin)
    assert wait[:2] == ("cuStreamWaitEvent", COMPUTE)
    del transfer
    gpu.empty(8)
    names = [call[0] for call in calls_of(gpu, begin)]
    assert names.index("cuStreamWaitEvent") < names.index("cuMemFreeAsync")


def test_a_number_that_only_the_gpu_has(gpu, library):
    """It is downloaded: correct, but the host waits."""
    cell = gpu.empty(8)
    gpu.upload(np.array([41]), cell.address)
    assert nccl._read_number(gpu, launches.Addresses([cell.address]), 0) == 41


# What NCCL does not move.
UNSUPPORTED = {
    "barrier": request_of(BARRIER, "uint8", ()),
    "finite": request_of(ALLREDUCE, check_finite=True),
    "empty": request_of(ALLREDUCE, shapes=((0, 3),)),
    "int16": request_of(ALLREDUCE, "int16"),
    "complex product": request_of(ALLREDUCE, "complex64", op="Product"),
    "compressed float64": request_of(ALLREDUCE, "float64", wire_dtype="float16"),
}


@pytest.mark.parametrize("name", UNSUPPORTED)
def test_other_collectives_move_by_mpi(gpu, library, name):
    request = UNSUPPORTED[name]
    assert not nccl.is_supported(request)
    nccl.use(link_of(gpu, library, AloneEngine()))
    specs = [intern(shape, as_dtype(request.dtype)) for shape in request.shapes]
    number = intern((), int64)
    places = list(range(len(specs) + 2))
    found = array_launches(
        collectives.START, {"request": request}, number, [*specs, number], places, None
    )
    assert [type(one) for one in found] == [launches.OnHost]


def test_ops_on_the_gpu(gpu, library):
    """Both ops run here once a link is in use, halves and empty results included."""
    nccl.use(link_of(gpu, library, AloneEngine()))
    half, empty_half = (intern(shape, as_dtype("bfloat16")) for shape in ((6,), (0,)))
    number = intern((), int64)
    request = Request(ALLREDUCE, ("x",), ((6,),), "bfloat16", "bfloat16")
    (start,) = array_launches(
        collectives.START, {"request": request}, number, [half, number], [0, 1, 2], None
    )
    assert (start.request.transport, start.sizes, start.places) == (NCCL, (6,), (0, 1, 2))
    for spec in (half, empty_half):
        attributes = {"back": 1, "spec": spec, "scale": 1.0}
        (result,) = array_launches(collectives.RESULT, attributes, spec, [number], [0, 1], None)
        assert type(result) is nccl.ResultOnDevice


def test_a_result_that_moved_by_mpi(gpu, library):
    """For example with `check_finite`: the result is uploaded."""
    engine = AloneEngine()
    engine.start(5, request_of(ALLREDUCE), ())
    engine.transfers[5].result = np.arange(6, dtype="f")
    link = link_of(gpu, library, engine)
    spec, number = intern((6,), as_dtype("float32")), intern((), int64)
    out, cell = gpu.empty(24), gpu.empty(8)
    gpu.upload(np.array([6]), cell.address)
    asked = []

    def compute(result, *operands, back, spec, scale):
        asked.append((int(operands[0]), back))
        result[...] = 7.0

    op = SimpleNamespace(compute=compute, kind=collectives.RESULT.kind)
    attributes = {"back": 1, "spec": spec, "scale": 1.0}
    launch = nccl.ResultOnDevice(link, op, attributes, (spec, number), (0, 1))
    at = launches.Addresses([out.address, cell.address])
    found = np.empty(6, "f")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            launches, "apply", lambda op, out, arrays, options: op.compute(out, *arrays, **options)
        )
        launch.run(gpu, at)
    gpu.download(out.address, found)
    assert asked == [(6, 1)]
    assert found.tolist() == [7.0] * 6


# The connection.


def states(*values):
    return lambda own: [value if value is not None else own for value in values]


@pytest.mark.parametrize(
    "others, reason",
    [
        ([None, ("", "b"), ("", "c")], ""),
        ([None, ("", "b"), ("", "b")], "ranks 1 and 2 share a GPU"),
        ([None, ("", "b"), ("it computes on the cpu device", "")], "rank 2: it computes on the"),
        ([None, ("", ""), ("", "c")], "rank 1: its GPU is simulated"),
    ],
)
def test_ranks_agree_on_nccl(gpu, library, monkeypatch, others, reason):
    monkeypatch.setattr(nccl.settings, "device", lambda: "cuda")
    engine = AloneEngine(others=[states(*others), lambda own: [(b"\1" * 128, "")] * 3])
    found = nccl.connect(engine, lambda: None)
    if reason:
        assert found.startswith(reason)
        assert not TRANSFERS
    else:
        assert found == ""
        assert {"CollectiveStart", "CollectiveResult"} <= TRANSFERS.keys()
        assert ("init", 3, 1) in gpu._driver.calls


def reason_here(monkeypatch, name="cuda"):
    monkeypatch.setattr(nccl.settings, "device", lambda: name)
    return nccl._local_state()[2]


def test_reasons_of_one_rank(gpu, library, monkeypatch):
    assert reason_here(monkeypatch, "cpu") == "it computes on the cpu device"
    assert reason_here(monkeypatch) == ""
    library.get_version = lambda: SimpleNamespace(libnccl=None)
    assert reason_here(monkeypatch) == "libnccl was not found: pip install 'numtape[nccl]'"
    monkeypatch.setitem(sys.modules, "nccl", None)
    assert "nccl4py is not installed" in reason_here(monkeypatch)


def test_reasons_of_a_device_that_fails(gpu, library, monkeypatch):
    def fails(*_):
        raise DeviceError("There is no NVIDIA GPU.")

    monkeypatch.setattr(device, "device", fails)
    assert reason_here(monkeypatch) == "There is no NVIDIA GPU."
    monkeypatch.setattr(nccl.settings, "device", fails)
    assert nccl._local_state()[2] == "There is no NVIDIA GPU."


def test_a_unique_id_that_cannot_be_made(gpu, library, monkeypatch):
    monkeypatch.setattr(nccl.settings, "device", lambda: "cuda")
    gpus = states(("", "a"), None, ("", "c"))
    engine = AloneEngine(others=[gpus, states((None, "no network"), None, None)])
    assert nccl.connect(engine, lambda: None) == "rank 0: NCCL failed: no network"

    def fails():
        raise RuntimeError("no socket")

    library.get_unique_id = fails
    engine = AloneEngine(others=[gpus])
    engine.rank = 0
    assert nccl.connect(engine, lambda: None) == "rank 0: NCCL failed: no socket"
    assert not TRANSFERS


def test_a_communicator_that_fails_on_one_rank(gpu, library, monkeypatch):
    """All ranks use MPI then; those that have a communicator drop it."""
    monkeypatch.setattr(nccl.settings, "device", lambda: "cuda")
    gpus, ids = states(("", "a"), None, ("", "c")), lambda own: [(b"\1" * 128, "")] * 3
    failure = "rank 2: NCCL failed: unhandled"
    engine = AloneEngine(others=[gpus, ids, states("", None, failure)])
    assert nccl.connect(engine, lambda: None) == failure
    assert ("abort",) in gpu._driver.calls

    def fails(*_):
        raise RuntimeError("system error")

    library.Communicator.init = fails
    engine = AloneEngine(others=[gpus, ids, states("", None, "")])
    assert nccl.connect(engine, lambda: None) == "rank 1: NCCL failed: system error"
    assert not TRANSFERS


# The engine.


def engine_alone():
    """An engine without MPI, for its methods about one transfer."""
    found = Engine.__new__(Engine)
    found.rank, found.size, found.timeout = 0, 2, 60.0
    found.keep_times, found._failure = False, None
    return found


def transfer_of(on_device):
    headers = np.zeros((2, 4), np.uint8)
    request = request_of(ALLREDUCE)
    found = Transfer(3, request, b"", headers[0], headers, None, [], on_device)
    found.times = [0.0, 0.0]
    return found


def test_an_error_of_nccl_when_it_is_asked():
    def fails(rows):
        raise RuntimeError("invalid usage")

    engine, transfer = engine_alone(), transfer_of(SimpleNamespace(enqueue=fails))
    engine._enqueue(transfer, transfer.on_device)
    with pytest.raises(DistributedError, match=r"collective 3 .*: NCCL failed: invalid usage"):
        engine._raise_failure()


@pytest.mark.parametrize(
    "done, error, text",
    [
        (lambda: True, "", None),
        (lambda: False, "remote error", "remote error"),
        (lambda: [][0], "", "list index out of range"),
        (lambda: False, "", "not complete 60 s after all ranks had joined"),
    ],
)
def test_a_transfer_that_is_watched(monkeypatch, done, error, text):
    engine = engine_alone()
    ended = []
    monkeypatch.setattr(engine, "_end_job", ended.append)
    on_device = SimpleNamespace(is_done=done, error=lambda: error, nbytes=24)
    transfer = transfer_of(on_device)
    transfer.state = MOVING
    engine._watch(transfer, on_device)
    if text is None:
        assert (transfer.state, ended) == (DONE, [])
    else:
        assert ended == [f"collective 3 (allreduce of 'x0') by NCCL: {text}"]


def test_errors_of_the_gpu_and_of_nccl(gpu, library):
    link = link_of(gpu, library, AloneEngine())
    transfer = nccl.DeviceTransfer(link, request_of(ALLREDUCE), 6)
    transfer.pack(gpu, [(6, transfer.sent.address)])
    transfer.enqueue([0] * 3)
    assert transfer.is_done()
    assert transfer.error() == ""
    library.Communicator.async_error = 6
    assert transfer.error() == "error 6"
    gpu._driver.do_cuEventQuery = lambda event: CUresult.CUDA_ERROR_OUT_OF_MEMORY
    with pytest.raises(DeviceError, match="cuEventQuery"):
        transfer.is_done()


def test_what_moves_the_data_is_a_part_of_the_request():
    """Ranks of which only some use NCCL get an error that says so."""
    one, other = request_of(ALLREDUCE), Request(ALLREDUCE, ("x0",), ((6,),), "float32", "float32")
    assert one.describe()[0] == "allreduce (Sum) of 1 array by NCCL"
    assert other.describe()[0] == "allreduce (Sum) of 1 array"
    assert one != other


# Kernels.

HALF_VALUES = """
import ml_dtypes
import numpy as np

from numtape.core.cuda import halves
from numtape.core.cuda.runtime.device import device

gpu = device()


def through(launch, array, dtype):
    source, target = gpu.empty(array.nbytes), gpu.empty(array.size * np.dtype(dtype).itemsize)
    gpu.upload(array, source.address)
    launch.run(gpu, (target.address, source.address))
    out = np.empty(array.size, dtype)
    gpu.download(target.address, out)
    return out


rng = np.random.default_rng(0)
special = [0.0, -0.0, np.inf, -np.inf, np.nan, 65504, 65519.996, 65520, 2.0**-24, 2.0**-25]
special += [2.0**-25 * 1.0000001, 2.0**-14, 2.0**-14 - 2.0**-25, 3.4e38, 1e-45]
special += [1 + 2.0**-11, 1 + 3 * 2.0**-11]
floats = np.concatenate(
    [
        np.array(special, "f"),
        (rng.standard_normal(300) * 10.0 ** rng.integers(-9, 6, 300)).astype("f"),
        rng.integers(0, 1 << 32, 300, dtype=np.uint32).view("f"),
    ]
).astype("f")
words = np.concatenate([np.arange(0, 1 << 16, 37), [0x7C00, 0xFC00, 0x8000]]).astype(np.uint16)
for name, kind in (("float16", np.float16), ("bfloat16", ml_dtypes.bfloat16)):
    with np.errstate(all="ignore"):
        expected = floats.astype(kind)
    found = through(halves.encode_launch(name, floats.size), floats, np.uint16).view(kind)
    is_nan = np.isnan(floats)
    np.testing.assert_array_equal(np.isnan(found), is_nan)
    same = found.view(np.uint16) == expected.view(np.uint16)
    assert (same | is_nan).all(), floats[~(same | is_nan)]
    with np.errstate(all="ignore"):
        exact = words.view(kind).astype("f")
    values = through(halves.decode_launch(name, words.size), words, np.uint32).view("f")
    np.testing.assert_array_equal(values, exact)
scaled = through(halves.scale_launch("float64", 1 / 3, 9), np.arange(9.0), "float64")
np.testing.assert_array_equal(scaled, np.arange(9.0) * (1 / 3))
"""


def test_conversions_equal_numpys():
    run(HALF_VALUES, NUMTAPE_DEVICE="cuda", NUMBA_ENABLE_CUDASIM="1")


SOURCES = {
    **{f"encode {x}": (halves.encode_source(x), "uint16", "uint32") for x in nccl.HALVES},
    **{f"decode {x}": (halves.decode_source(x), "uint32", "uint16") for x in nccl.HALVES},
    "scale": (halves.scale_source("float32", 1 / 3), "float32", "float32"),
}


@pytest.mark.skipif(not FOUND, reason="pip install 'numtape[cuda]' to compile for CUDA")
@pytest.mark.parametrize("name", SOURCES)
def test_kernels_compile(name):
    text, out, x = SOURCES[name]
    check(lambda: function(text, []), ["int64", f"*{out}", f"*{x}"], "kernel")


@pytest.mark.skipif(
    not importlib.util.find_spec("nccl"), reason="pip install 'numtape[nccl]' to compare with it"
)
def test_nccl4py_reads_elements_and_has_what_is_called(gpu):
    from nccl import core
    from nccl.core.buffer import NcclBuffer

    memory = gpu.empty(64)
    for dtype in [*sorted(nccl._REDUCED)]:
        buffer = NcclBuffer(nccl.Elements(memory.address, 5, dtype, 0).part(2, 3))
        itemsize = as_dtype(dtype).size
        assert buffer.ptr == memory.address + 2 * itemsize
        assert (buffer.count, buffer.device_id) == (3, 0)
        assert buffer.dtype.name == dtype.upper()
    assert [core.NcclRedOp[name] for name in nccl._OPS.values()]
    assert {op.name: op.value for op in core.NcclRedOp} == {
        op.name: op.value for op in stub_nccl.NcclRedOp
    }


# Programs on several ranks, on stubs.

SIMULATED = {"NUMTAPE_DEVICE": "cuda", "NUMBA_ENABLE_CUDASIM": "1"}


@pytest.mark.distributed
@pytest.mark.skipif(needs_mpi[-1].args[0], reason="MPI is not installed")
class TestRanks:
    @pytest.mark.parametrize("ranks", [2, pytest.param(3, marks=pytest.mark.slow)])
    def test_collectives_on_simulated_gpus_equal_numpy(self, ranks):
        printed = output(ranks, "on_gpus.py", "collectives.py", 200, timeout=300, **SIMULATED)
        assert f"rank {ranks - 1} of {ranks} is done" in printed

    @pytest.mark.slow
    def test_training_gives_the_same_bits_in_every_way(self, tmp_path):
        arguments = "training.py", 10, tmp_path, 0, 1
        results = json.loads(output(2, "on_gpus.py", *arguments, timeout=300, **SIMULATED))
        bits = {results[name]["bits"] for name in ("fit", "function", "eager", "small buckets")}
        assert len(bits) == 1
        on_cpu = json.loads(output(2, "training.py", tmp_path, 0, 1, timeout=300))
        for name, found in results.items():
            tolerance = 1e-3 if name == "float16" else 1e-5
            assert found["losses"] == pytest.approx(on_cpu[name]["losses"], rel=tolerance), name

    @pytest.mark.parametrize(
        "compression", ["none", pytest.param("float16", marks=pytest.mark.slow)]
    )
    def test_a_training_step_waits_for_nothing(self, compression):
        arguments = [] if compression == "none" else [compression]
        printed = output(2, "stream_order.py", *arguments, NUMTAPE_DEVICE="cuda")
        found = json.loads(printed)
        names = [name for name, *_ in found["calls"]]
        assert found["reasons"] == "[]"
        assert not SYNCHRONIZATIONS & set(names)
        # The buckets: the gradients of the last two variables, then that of the first.
        wire = "FLOAT32" if compression == "none" else "FLOAT16"
        sent = [call[1:4] for call in found["calls"] if call[0] == "nccl allreduce"]
        expected = [[wire, 12, 12]] * 2 if compression == "none" else [[wire, 24, 24]]
        assert sent == expected
        compute, (stream, *_) = found["streams"]
        _check_order(found["calls"], compute, stream)

    def test_ranks_that_share_a_gpu_use_mpi(self, tmp_path):
        """And say so: the stubs of all processes have GPUs of the same name."""
        printed = output(2, "fallback.py", "share", NUMTAPE_DEVICE="cuda")
        assert sorted(printed.split("\n")) == ["", *["MPI: ranks 0 and 1 share a GPU"] * 2]

    def test_without_gpus_mpi_is_used(self):
        printed = output(2, "fallback.py", "cpu")
        reason = "MPI: rank 0: it computes on the cpu device"
        assert sorted(printed.split("\n")) == ["", reason, reason]

    def test_a_collective_that_differs_is_named_before_nccl_is_called(self):
        status, printed, errors = launch(2, "fallback.py", "differ", timeout=100, **SIMULATED)
        assert status, errors
        assert printed.count("'x' of shape (4,) and dtype float32 on rank 1") == 2


def _check_order(calls, compute, stream):
    """Check that each call of NCCL is between the events that it needs."""
    recorded = {call[1]: (k, call[2]) for k, call in enumerate(calls) if call[0] == "cuEventRecord"}
    waits = [(k, *call[1:3]) for k, call in enumerate(calls) if call[0] == "cuStreamWaitEvent"]
    places = [k for k, call in enumerate(calls) if call[0].startswith("nccl")]
    before = [(k, event) for k, after, event in waits if after == stream]
    after = [(k, event) for k, after, event in waits if after == compute]
    assert len(before) == len(after) == len(places)
    for place, (waited, event), (unpacked, moved) in zip(places, before, after, strict=True):
        packed, source = recorded[event]
        done, target = recorded[moved]
        assert (source, target) == (compute, stream)
        assert packed < waited < place < done < unpacked


# On GPUs.

ONE_GPU = """
import numpy as np
from types import SimpleNamespace

import ml_dtypes
import numtape as tf
from nccl import core
from numtape.core.cuda.launches import Addresses
from numtape.core.cuda.runtime.device import device
from numtape.distribute import nccl
from numtape.distribute.engine import ALLGATHER, ALLREDUCE, BROADCAST, REDUCE_SCATTER, NCCL, Request

engine = SimpleNamespace(rank=0, size=1, exchange=lambda value: [value])
library, gpu, why_not = nccl._local_state()
assert not why_not, why_not
with gpu.enter_context():
    communicator = library.Communicator.init(1, 0, library.get_unique_id())
link = nccl.Link(library, gpu, communicator, engine, lambda: None)
for dtype, kind in (
    ("float32", "f"),
    ("float64", "d"),
    ("int32", "i"),
    ("int64", "q"),
    ("uint8", "B"),
    ("float16", np.float16),
    ("bfloat16", ml_dtypes.bfloat16),
    ("complex64", "F"),
):
    for name, options in (
        (ALLREDUCE, {}),
        (ALLGATHER, {}),
        (BROADCAST, {}),
        (REDUCE_SCATTER, {"counts": (1000,)}),
    ):
        x = np.arange(1000).astype(kind)
        shape = () if name == ALLGATHER else (1000,)
        request = Request(name, ("x",), (shape,), dtype, dtype, transport=NCCL, **options)
        assert nccl.is_supported(request)
        memory, out = gpu.empty(x.nbytes), gpu.empty(x.nbytes)
        gpu.upload(x, memory.address)
        for scale in (1.0, *([0.5] if np.dtype(kind).kind in "fFdV" and name == ALLREDUCE else [])):
            transfer = nccl.DeviceTransfer(link, request, 1000)
            transfer.pack(gpu, [(1000, memory.address)])
            transfer.enqueue([1000])
            transfer.unpack(gpu, out.address, scale)
            found = np.empty_like(x)
            gpu.download(out.address, found)
            assert transfer.is_done()
            assert transfer.error() == ""
            np.testing.assert_array_equal(found, (x * scale).astype(kind))
            transfer.release()
for wire, digits in (("float16", 1e-3), ("bfloat16", 1e-2)):
    x = np.linspace(-3, 3, 1000, dtype="f")
    request = Request(ALLREDUCE, ("x",), ((1000,),), "float32", wire, transport=NCCL)
    memory, out = gpu.empty(x.nbytes), gpu.empty(x.nbytes)
    gpu.upload(x, memory.address)
    transfer = nccl.DeviceTransfer(link, request, 1000)
    transfer.pack(gpu, [(1000, memory.address)])
    transfer.enqueue([0])
    transfer.unpack(gpu, out.address, 0.5)
    found = np.empty_like(x)
    gpu.download(out.address, found)
    np.testing.assert_allclose(found, x / 2, rtol=digits, atol=digits)
communicator.destroy()
"""


def gpus():
    """The number of GPUs."""
    try:
        from cuda.bindings import driver as bindings

        bindings.cuInit(0)
        return int(bindings.cuDeviceGetCount()[1] or 0)
    except Exception:  # no packages, no library, or no GPU
        return 0


has_nccl = pytest.mark.skipif(
    not importlib.util.find_spec("nccl"), reason="pip install 'numtape[nccl]'"
)


@pytest.mark.gpu
@has_nccl
def test_one_rank_on_one_gpu():
    run(ONE_GPU, NUMTAPE_DEVICE="cuda", NUMBA_ENABLE_CUDASIM=None)


@pytest.mark.gpu
@pytest.mark.distributed
@has_nccl
@pytest.mark.skipif(needs_mpi[-1].args[0], reason="MPI is not installed")
@pytest.mark.skipif(gpus() < 2, reason="there are not two GPUs")
def test_two_ranks_on_two_gpus():
    printed = output(2, "fallback.py", "name", NUMTAPE_DEVICE="cuda")
    assert sorted(printed.split("\n")) == ["", "NCCL", "NCCL"]
    printed = output(2, "collectives.py", NUMTAPE_DEVICE="cuda", timeout=300)
    assert "rank 1 of 2 is done" in printed


@pytest.mark.gpu
@pytest.mark.distributed
@has_nccl
@pytest.mark.skipif(needs_mpi[-1].args[0], reason="MPI is not installed")
def test_two_ranks_on_one_gpu_use_mpi():
    printed = output(2, "fallback.py", "name", NUMTAPE_DEVICE="cuda", CUDA_VISIBLE_DEVICES="0")
    assert sorted(printed.split("\n")) == ["", *["MPI: ranks 0 and 1 share a GPU"] * 2]
