"""Collectives of data on GPUs, through NCCL.

`connect` makes the communicator, and lets the CUDA executor run the two ops of `collectives` here.
A collective passes these steps. None of them makes the host wait for the GPU:

1. ``CollectiveStart`` (`StartOnDevice`): the compute stream joins the tensors in a buffer, in the
   wire dtype. An event marks the end of that. The engine sends the header over MPI.
2. When the headers of all ranks agree, the engine calls `DeviceTransfer.enqueue`: the communication
   stream waits for the event, then runs NCCL. A second event marks the end of that. Ranks that ask
   for different collectives find out before, so NCCL never waits for a rank that does not come.
3. ``CollectiveResult`` (`ResultOnDevice`): the compute stream waits for the second event, and
   copies the result, scaled and in the tensors' dtype.

Buffers are joined in the compute stream, because it reuses the memory of the operands for other
values. The numbers of collectives are known on the host: see `core.cuda.launches.Addresses`.

NCCL combines in another order than MPI, so sums may differ in the last bits. Of NaN and a number,
its minimum and maximum may be the number.

Nothing here has run on a GPU yet. Tests use a stand-in for the driver, the simulator, and stand-ins
for nccl4py. Those marked ``gpu`` in ``tests/distribute/test_nccl.py`` need one GPU, and two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..core import settings
from ..core.values.dtypes import as_dtype
from ..errors import DeviceError
from .engine import (
    ALLGATHER,
    ALLREDUCE,
    BROADCAST,
    MAX,
    MIN,
    NCCL,
    PRODUCT,
    REDUCE_SCATTER,
    SUM,
    DeviceData,
    Engine,
    Request,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..core.cuda.launches import Addresses, LaunchRow
    from ..core.log.op import Op
    from ..core.values.spec import Spec

HALVES = "float16", "bfloat16"
_OPS = {SUM: "SUM", MIN: "MIN", MAX: "MAX", PRODUCT: "PROD"}
_REDUCED = {*HALVES, "int8", "uint8", "int32", "uint32", "int64", "uint64", "float32", "float64"}
_PARTS = {"complex64": "float32", "complex128": "float64"}


# The dtypes and ops of NCCL.


def is_supported(request: Request) -> bool:
    """Whether NCCL moves the data of a request. All ranks get the same answer."""
    if request.kind not in (ALLREDUCE, ALLGATHER, BROADCAST, REDUCE_SCATTER):
        return False
    if request.check_finite:  # the header would have to wait for the GPU
        return False
    if not all(map(math.prod, request.shapes)):
        return False
    if request.wire_dtype != request.dtype and request.dtype != "float32":
        return False
    if request.kind in (ALLGATHER, BROADCAST):
        return True
    return request.wire_dtype in _REDUCED or (request.wire_dtype in _PARTS and request.op == SUM)


def _elements(request: Request) -> tuple[str, int]:
    """Return the dtype of NCCL's elements, and how many make one of the request's."""
    wire = request.wire_dtype
    if request.kind in (ALLGATHER, BROADCAST):
        return "uint8", int(as_dtype(wire).size)
    return (_PARTS[wire], 2) if wire in _PARTS else (wire, 1)


# The communicator.


class Link:
    """The connection to the GPUs of the other ranks.

    Attributes:
      library: The module ``nccl.core``.
      gpu: The device.
      communicator: NCCL's communicator.
      engine: The engine, through which ranks agree.
      release_transfers: Frees transfers that are not used any more.
      stream: The communication stream.
    """

    def __init__(
        self,
        library: Any,
        gpu: Any,
        communicator: Any,
        engine: Engine,
        release_transfers: Callable[[], None],
    ) -> None:
        self.library, self.gpu, self.communicator = library, gpu, communicator
        self.engine, self.release_transfers = engine, release_transfers
        self.stream = int(gpu.create_stream())


def connect(engine: Engine, release_transfers: Callable[[], None]) -> str:
    """Connect the GPUs of all ranks. All ranks must call it.

    Returns:
      "" if data on GPUs move by NCCL from now on, else the reason why not, the same on all ranks.
    """
    library, gpu, why_not = _local_state()
    states = engine.exchange((why_not, "" if gpu is None else gpu.uuid()))
    if why_not := _why_not(states):
        return why_not
    unique_id, why_not = None, ""
    if engine.rank == 0:
        try:
            unique_id = bytes(library.get_unique_id())
        except Exception as error:
            why_not = str(error)
    unique_id, failure = engine.exchange((unique_id, why_not))[0]
    if failure:
        return f"rank 0: NCCL failed: {failure}"
    communicator = None
    try:
        with gpu.enter_context():
            communicator = library.Communicator.init(
                engine.size, engine.rank, library.UniqueId.from_bytes(unique_id)
            )
    except Exception as error:
        why_not = f"rank {engine.rank}: NCCL failed: {error}"
    reasons: list[str] = [reason for reason in engine.exchange(why_not) if reason]
    if reasons:
        if communicator is not None:
            communicator.abort()
        return reasons[0]
    use(Link(library, gpu, communicator, engine, release_transfers))
    return ""


def use(link: Link) -> None:
    """Let the CUDA executor run collectives over a link."""
    from ..core.cuda.ops.array import TRANSFERS

    TRANSFERS["CollectiveStart"] = lambda row: _start_launches(link, row)
    TRANSFERS["CollectiveResult"] = lambda row: _result_launches(link, row)


def _local_state() -> tuple[Any, Any, str]:
    """Return the module and the device, or why this process cannot use NCCL."""
    try:
        name = settings.device()
    except (ValueError, DeviceError) as error:
        return None, None, str(error)
    if name != "cuda":
        return None, None, f"it computes on the {name} device"
    try:
        from nccl import core as library
    except ImportError as error:
        return None, None, f"nccl4py is not installed ({error}): pip install 'numtape[nccl]'"
    if library.get_version().libnccl is None:
        return None, None, "libnccl was not found: pip install 'numtape[nccl]'"
    from ..core.cuda.runtime.device import device

    try:
        return library, device(), ""
    except DeviceError as error:
        return None, None, str(error)


def _why_not(states: Sequence[tuple[str, str]]) -> str:
    """Return why the ranks cannot use NCCL, from each rank's reason and GPU; "" if they can."""
    ranks_of: dict[str, int] = {}
    for rank, (why_not, uuid) in enumerate(states):
        if why_not:
            return f"rank {rank}: {why_not}"
        if not uuid:
            return f"rank {rank}: its GPU is simulated"
        if uuid in ranks_of:
            return f"ranks {ranks_of[uuid]} and {rank} share a GPU"
        ranks_of[uuid] = rank
    return ""


class Elements:
    """Contiguous elements on the GPU, as nccl4py reads them: through DLPack."""

    def __init__(self, address: int, size: int, dtype: str, number: int) -> None:
        self.address, self.size, self.dtype, self._number = address, size, dtype, number

    def part(self, begin: int, size: int) -> Elements:
        """Return ``size`` of the elements, from ``begin`` on."""
        address = self.address + begin * as_dtype(self.dtype).size
        return Elements(address, size, self.dtype, self._number)

    def __dlpack_device__(self) -> tuple[int, int]:
        from ..core.interop import CUDA

        return CUDA, self._number

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        **options: Any,
    ) -> Any:
        from ..core.interop import capsule_of_elements

        return capsule_of_elements(self.address, self.size, self.dtype, max_version)


class DeviceTransfer:
    """The data of one collective on the GPU; see `engine.DeviceData`."""

    def __init__(self, link: Link, request: Request, size: int) -> None:
        from ..core.cuda.runtime.device import empty

        self._link, self._request, self._size = link, request, size
        self._itemsize = int(as_dtype(request.wire_dtype).size)
        self.nbytes = size * self._itemsize
        self.rows = 0
        self.result_size = size
        if request.kind == ALLGATHER:
            self.rows = size // math.prod(request.shapes[0])
            self.result_size = size * link.engine.size  # if all ranks have as many rows
        elif request.kind == REDUCE_SCATTER:
            width = size // sum(request.counts)
            self.result_size = request.counts[link.engine.rank] * width
        self.sent = empty(self.nbytes)
        self._received = empty(self.result_size * self._itemsize)
        self._packed: Any = None
        self._moved: Any = None
        self._is_waited_for = False

    def pack(self, gpu: Any, sources: Sequence[tuple[int, int]]) -> None:
        """Copy tensors, given by sizes and addresses, to the buffer."""
        from ..core.cuda import halves

        request, there = self._request, int(self.sent.address)
        is_encoded = request.wire_dtype != request.dtype
        for size, address in sources:
            nbytes = size * self._itemsize
            if is_encoded:
                halves.encode_launch(request.wire_dtype, size).run(gpu, (there, address))
            else:
                gpu.copy(address, there, nbytes)
            there += nbytes
        self._packed = gpu.mark(gpu.stream)

    def enqueue(self, rows: list[int]) -> None:
        """Let NCCL combine the data, after they are packed."""
        link = self._link
        gpu = link.gpu
        with gpu.enter_context():
            if self._request.kind == ALLGATHER and len(set(rows)) > 1:
                self.result_size = sum(rows) * math.prod(self._request.shapes[0])
                self._received = gpu.empty(self.result_size * self._itemsize)
                self._packed = gpu.mark(gpu.stream)  # the compute stream allocates
            gpu.wait(self._packed, link.stream)
            self._call(rows)
            self._moved = gpu.mark(link.stream)

    def _call(self, rows: list[int]) -> None:
        link, request = self._link, self._request
        communicator, stream = link.communicator, link.stream
        dtype, width = _elements(request)
        sent = Elements(self.sent.address, self._size * width, dtype, link.gpu.number)
        received = Elements(
            self._received.address, self.result_size * width, dtype, link.gpu.number
        )
        if request.kind == BROADCAST:
            communicator.broadcast(sent, received, request.root, stream=stream)
            return
        if request.kind == ALLGATHER:
            if len(set(rows)) == 1:
                communicator.allgather(sent, received, stream=stream)
                return
            width *= math.prod(request.shapes[0])
            with link.library.group():
                for rank, begin, count in _ranges(rows, width):
                    part = received.part(begin, count)
                    communicator.broadcast(sent, part, rank, stream=stream)
            return
        op = link.library.NcclRedOp[_OPS[request.op]]
        if request.kind == ALLREDUCE:
            communicator.allreduce(sent, received, op, stream=stream)
        elif len(set(request.counts)) == 1:
            communicator.reduce_scatter(sent, received, op, stream=stream)
        else:
            width *= self._size // sum(request.counts)
            with link.library.group():
                for rank, begin, count in _ranges(request.counts, width):
                    part = sent.part(begin, count)
                    communicator.reduce(part, received, op, rank, stream=stream)

    def is_done(self) -> bool:
        """Whether NCCL has combined the data."""
        return bool(self._link.gpu.is_done(self._moved))

    def error(self) -> str:
        """Return NCCL's error, or ""."""
        result = self._link.communicator.get_async_error()
        return "" if int(result) == 0 else str(self._link.library.get_error_string(int(result)))

    def has_same(self, other: DeviceData) -> bool:
        """Whether another transfer sends the same data. Waits for the GPU."""
        assert isinstance(other, DeviceTransfer)
        one, two = np.empty((2, self.nbytes), np.uint8)
        self._link.gpu.download(self.sent.address, one)
        self._link.gpu.download(other.sent.address, two)
        return np.array_equal(one, two)

    def result(self) -> NDArray[Any]:
        """Wait for the result, and return a copy on the host, one axis."""
        self._wait()
        array = np.empty(self.result_size, as_dtype(self._request.wire_dtype).numpy_dtype)
        self._link.gpu.download(self._received.address, array)
        return array

    def unpack(self, gpu: Any, address: int, scale: float) -> None:
        """Let the compute stream wait for the result, and copy it, scaled, to an address."""
        from ..core.cuda import halves
        from ..core.cuda.runtime.device import empty

        self._wait()
        request, size = self._request, self.result_size
        wire, dtype, source = request.wire_dtype, request.dtype, int(self._received.address)
        if wire == dtype and scale == 1.0:
            gpu.copy(source, address, size * self._itemsize)
        elif wire == dtype and dtype not in HALVES:
            part, width = _elements(request)
            halves.scale_launch(part, scale, size * width).run(gpu, (address, source))
        else:
            memory = empty(4 * size) if dtype in HALVES else None
            floats = address if memory is None else int(memory.address)
            halves.decode_launch(wire, size).run(gpu, (floats, source))
            if scale != 1.0:
                halves.scale_launch("float32", scale, size).run(gpu, (floats, floats))
            if memory is not None:
                halves.encode_launch(dtype, size).run(gpu, (address, floats))

    def _wait(self) -> None:
        """Let the compute stream wait for NCCL."""
        self._link.gpu.wait(self._moved, self._link.gpu.stream)
        self._is_waited_for = True

    def release(self) -> None:
        """Let the compute stream, which frees the memory, wait for NCCL."""
        if self._moved is not None and not self._is_waited_for:
            self._wait()


def _ranges(counts: Sequence[int], width: int) -> list[tuple[int, int, int]]:
    """Return the ranks that have rows, with the first element of these and their number."""
    ranges, begin = [], 0
    for rank, count in enumerate(counts):
        if count:
            ranges.append((rank, begin * width, count * width))
        begin += count
    return ranges


# The ops on the GPU.


class StartOnDevice(NamedTuple):
    """Starts a collective of data on the GPU: ``CollectiveStart``.

    Attributes:
      link: The link.
      request: The request.
      sizes: The sizes of the tensors.
      places: The place numbers of the result, the tensors, and the collective's number.
    """

    link: Link
    request: Request
    sizes: tuple[int, ...]
    places: tuple[int, ...]

    def run(self, gpu: Any, at: Addresses) -> None:
        """Start the collective."""
        out, *sources, number_place = self.places
        number = _read_number(gpu, at, number_place)
        self.link.release_transfers()
        transfer = DeviceTransfer(self.link, self.request, sum(self.sizes))
        transfer.pack(gpu, [(size, at[k]) for size, k in zip(self.sizes, sources, strict=True)])
        self.link.engine.start(number, self.request, (), transfer)
        gpu.upload(np.array([number + 1]), at[out])
        at.host[out] = number + 1


class ResultOnDevice(NamedTuple):
    """Takes the result of a collective: ``CollectiveResult``.

    Attributes:
      link: The link.
      op, attributes, specs, places: As those of `OnHost`.
    """

    link: Link
    op: Op
    attributes: dict[str, Any]
    specs: tuple[Spec, ...]
    places: tuple[int, ...]

    def run(self, gpu: Any, at: Addresses) -> None:
        """Let the GPU wait for the result."""
        from ..core.cuda.launches import OnHost

        out, number_place = self.places
        number = _read_number(gpu, at, number_place) - self.attributes["back"]
        engine = self.link.engine
        transfer = engine.finish(number)
        on_device = transfer.on_device
        if isinstance(on_device, DeviceTransfer):
            engine.check_size(transfer, on_device.result_size, self.specs[0].size)
            on_device.unpack(gpu, at[out], self.attributes["scale"])
        else:
            OnHost(self.op, self.attributes, self.specs, self.places).run(gpu, at)


def _read_number(gpu: Any, at: Addresses, place: int) -> int:
    """Return the number in a cell, which is on the host as well in all usual cases."""
    number = at.host.get(place)
    if number is None:
        cell = np.empty(1, np.int64)
        gpu.download(at[place], cell)
        number = int(cell[0])
    return number


def _start_launches(link: Link, row: LaunchRow) -> list[Any]:
    from ..core.cuda.launches import OnHost

    request: Request = row.attributes["request"]
    if not is_supported(request):
        return [OnHost(row.op, row.attributes, (row.out, *row.operands), tuple(row.places))]
    sizes = tuple(spec.size for spec in row.operands[:-1])
    return [StartOnDevice(link, replace(request, transport=NCCL), sizes, tuple(row.places))]


def _result_launches(link: Link, row: LaunchRow) -> list[Any]:
    specs = row.out, *row.operands
    return [ResultOnDevice(link, row.op, row.attributes, specs, tuple(row.places))]
