"""The MPI engine: collectives in a fixed order, with time limits and named errors.

`Engine.start` takes the arrays of a collective and returns at once; `Engine.finish` waits for the
result. Between the two calls a thread of the engine moves the data. Each collective is a `Transfer`
with these states:

1. AGREEING: every rank sends a *header* to all others: a digest of what it asks for, and the data
   itself if it is small. Ranks that ask for different collectives find out here, before any data
   is combined.
2. MOVING: MPI combines the data, if they did not fit in the header.
3. DONE, or FAILED.

Data on a GPU do not pass through here: the header says only what is asked for, and when the ranks
agree, `DeviceData.enqueue` lets NCCL combine the data. See `nccl`.

All ranks post their requests in the order of the collectives' numbers. A number that is started
again, because a replay of a recorded function failed a guard, gets the result of the first time,
if the data are the same; otherwise the engine fails. A failed engine raises the same error in every
later collective, because the ranks have lost their common order.

A rank that waits for long asks the others what they are doing, over a second communicator. Their
engine threads answer even if their programs sleep. Start reading with `Engine.start`.
"""

from __future__ import annotations

import atexit
import faulthandler
import hashlib
import os
import pickle
import struct
import sys
import threading
import time
import traceback
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np

from ..core import settings
from ..core.values.dtypes import as_dtype
from ..errors import DistributedError, DistributedTimeoutError

if TYPE_CHECKING:
    from types import TracebackType

    from numpy.typing import NDArray

AGREEING, MOVING, DESCRIBING, DONE, FAILED = range(5)
# A header: digest, number of rows, number of payload bytes, whether a value is not finite.
HEADER = struct.Struct("<8sqq?")
HEADER_SIZE = 32
# Data of up to so many bytes travel in the header, if the headers of all ranks stay small.
INLINE_BYTES = 4096
MAX_HEADERS_BYTES = 1 << 16
DESCRIPTION_BYTES = 1 << 15

QUERY, REPLY = 1, 2  # tags of messages
QUERY_SECONDS = 2.0  # after so long a waiting rank asks the others, then after twice as long
REPLY_SECONDS = 2.0
IDLE_SECONDS = 0.01  # the engine thread's pause while nothing is moving
ACTIVE_SECONDS = 1e-4
SPIN_SECONDS = 2e-3  # a waiting rank yields its core for so long before it sleeps
GRACE_SECONDS = 1.0  # other ranks may report the same failure before the job is aborted

ALLREDUCE, ALLGATHER, BROADCAST, REDUCE_SCATTER, BARRIER = (
    "allreduce",
    "allgather",
    "broadcast",
    "reducescatter",
    "barrier",
)
MPI, NCCL = "MPI", "NCCL"  # what moves the data
SUM, MIN, MAX, PRODUCT = "Sum", "Min", "Max", "Product"
_COMBINE = {SUM: np.add, MIN: np.minimum, MAX: np.maximum, PRODUCT: np.multiply}
_MPI_OPS = {SUM: "SUM", MIN: "MIN", MAX: "MAX", PRODUCT: "PROD"}


@dataclass(frozen=True)
class Request:
    """A request of a rank. Ranks must make the same request, apart from the rows of an allgather.

    Attributes:
      kind: The kind of collective.
      names: A name for each array, for error messages.
      shapes: The shape of each array; for an allgather without the first dimension.
      dtype: The name of the arrays' dtype.
      wire_dtype: The name of the dtype in which data travel.
      op: How elements are combined.
      root: The rank that broadcasts.
      counts: For a reducescatter, the number of rows of each rank.
      check_finite: Whether values that are not finite are errors.
      transport: The library that moves the data, `MPI` or `NCCL`.
    """

    kind: str
    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    dtype: str
    wire_dtype: str
    op: str = SUM
    root: int = 0
    counts: tuple[int, ...] = ()
    check_finite: bool = False
    transport: str = MPI

    def describe(self) -> list[str]:
        """Return lines that say what is asked for."""
        how = {BROADCAST: f" from rank {self.root}", ALLREDUCE: f" ({self.op})"}.get(self.kind, "")
        wire = f" as {self.wire_dtype}" if self.wire_dtype != self.dtype else ""
        counts = f", rows by rank {self.counts}" if self.counts else ""
        arrays = "1 array" if len(self.names) == 1 else f"{len(self.names)} arrays"
        by = f" by {self.transport}" if self.transport != MPI else ""
        lines = [f"{self.kind}{how} of {arrays}{wire}{counts}{by}"]
        lines += [
            f"{name!r} of shape {shape} and dtype {self.dtype}"
            for name, shape in zip(self.names, self.shapes, strict=True)
        ]
        return lines

    def __str__(self) -> str:
        names = ", ".join(map(repr, self.names[:3])) + (", ..." if len(self.names) > 3 else "")
        return f"{self.kind} of {names}" if names else self.kind


class DeviceData(Protocol):
    """The data of a transfer on a GPU.

    Attributes:
      rows: For an allgather, the number of rows of this rank.
      nbytes: The number of bytes that are sent.
    """

    rows: int
    nbytes: int

    def enqueue(self, rows: list[int]) -> None:
        """Let the GPU combine the data of all ranks; ``rows`` are those of each rank."""

    def is_done(self) -> bool:
        """Whether the GPU has combined the data."""

    def error(self) -> str:
        """Return the error of the communication, or ""."""

    def has_same(self, other: DeviceData) -> bool:
        """Whether the data that another transfer sends are the same."""

    def result(self) -> NDArray[Any]:
        """Wait for the result, and return a copy on the host, one axis."""

    def release(self) -> None:
        """Free the memory after the GPU has used it."""


@dataclass(eq=False)
class Transfer:
    """A collective that has been started.

    Attributes:
      number: Its number, the same on all ranks.
      request: The request of the ranks.
      digest: The request's digest.
      sent: The data of this rank, one axis, in the wire dtype.
      on_device: The data, if they are on a GPU.
      result: The result, one axis.
      rows: For an allgather, the number of rows of each rank.
      state: AGREEING, MOVING, DESCRIBING, DONE or FAILED.
      headers: The headers of all ranks.
      pending: MPI's request.
      memory: The arrays whose memory later transfers may use.
      times: When it was started, agreed on, and done, in seconds of `time.perf_counter`.
    """

    number: int
    request: Request
    digest: bytes
    sent: NDArray[Any]
    headers: NDArray[np.uint8]
    pending: Any
    memory: list[NDArray[Any]]
    on_device: DeviceData | None = None
    result: NDArray[Any] | None = None
    rows: list[int] = field(default_factory=list)
    state: int = AGREEING
    descriptions: NDArray[np.uint8] | None = None
    times: list[float] = field(default_factory=list)


class Engine:
    """The collectives of one process.

    Args:
      timeout: How long a collective may wait, in seconds.

    Attributes:
      rank, size: The number of this process, and of all.
      local_rank, local_size: The same among the processes of this machine.
      started: The number of collectives that were started.
      log: The finished transfers' numbers, names, bytes and times, if `keep_times` is set.

    Raises:
      DistributedError: If MPI started the process and mpi4py is not installed.
    """

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self.keep_times = False
        self.log: list[tuple[int, str, int, list[float]]] = []
        self.rank = self.local_rank = 0
        self.size = self.local_size = 1
        self.started = 0
        self._transfers: OrderedDict[int, Transfer] = OrderedDict()
        self._failure: tuple[type[DistributedError], str] | None = None
        self._ended = self._stopped = False
        self._wake = threading.Event()
        self._is_waiting = False  # whether `finish` moves the transfers
        self._free_buffers: dict[int, list[NDArray[np.uint8]]] = {}
        self._lock = threading.RLock()
        self._replies: dict[int, dict[str, Any]] = {}
        self._sends: list[Any] = []
        self._half_ops: dict[tuple[str, str], Any] = {}
        self._main_thread = threading.main_thread().ident
        try:
            MPI = _wait_until_all_ranks_call_init(timeout)
        except ImportError as error:
            if settings.is_started_by_mpi():
                raise DistributedError(
                    "numtape.distribute needs mpi4py: pip install 'numtape[mpi]'."
                ) from error
            return
        self.mpi = MPI
        self.world = MPI.COMM_WORLD
        self.rank, self.size = self.world.rank, self.world.size
        if self.size == 1:
            return
        machine = self.world.Split_type(MPI.COMM_TYPE_SHARED)
        self.local_rank, self.local_size = machine.rank, machine.size
        machine.Free()
        room = MAX_HEADERS_BYTES // self.size - HEADER_SIZE
        self._inline_bytes = min(INLINE_BYTES, room) if room >= 64 else 0
        # Separate communicators: their messages cannot be taken for one another.
        self._headers, self._data = self.world.Dup(), self.world.Dup()
        self._control = self.world.Dup()
        self._thread = threading.Thread(target=self._run, name="numtape-distribute", daemon=True)
        self._thread.start()
        atexit.register(self.shutdown)
        self._previous_hook = sys.excepthook
        sys.excepthook = self._abort_on_error

    # Collectives.

    def start(
        self,
        number: int,
        request: Request,
        arrays: Sequence[NDArray[Any]],
        on_device: DeviceData | None = None,
    ) -> None:
        """Start collective ``number``, or do nothing if it was started before with the same data.

        Args:
          number: The collective's number: that of the collective before it, plus 1.
          request: The request.
          arrays: The data, of the request's shapes.
          on_device: The data, if they are on a GPU; there are no arrays then.

        Raises:
          DistributedError: If the engine has failed, or the collective was started with other data.
        """
        self._raise_failure()
        sent = self._pack(request, arrays)
        with self._lock:
            earlier = self._transfers.get(number)
            if number < self.started:
                self._check_same(number, earlier, request, sent, on_device)
                return
            if number > self.started:
                raise self.failure(
                    f"collective {number} ({request}) was called before collective {self.started}: "
                    f"an earlier call of a collective was interrupted"
                )
            digest = _digest(number, request)
            finite = not request.check_finite or bool(np.isfinite(sent).all())
            headers = np.zeros((self.size, HEADER_SIZE + self._inline_bytes), np.uint8)
            own = np.zeros(HEADER_SIZE + self._inline_bytes, np.uint8)
            rows = 0
            if request.kind == ALLGATHER:
                rows = len(arrays[0]) if on_device is None else on_device.rows
            own[: HEADER.size] = np.frombuffer(
                HEADER.pack(digest, rows, sent.nbytes, not finite), np.uint8
            )
            if sent.nbytes <= self._inline_bytes:
                own[HEADER_SIZE : HEADER_SIZE + sent.nbytes] = sent.view(np.uint8)
            pending = self._headers.Iallgather(own, headers)
            transfer = Transfer(number, request, digest, sent, headers, pending, [sent], on_device)
            transfer.times.append(time.perf_counter())
            self._transfers[number] = transfer
            self.started += 1
            self._advance()
        if sent.nbytes > self._inline_bytes or on_device is not None:
            self._wake.set()  # small data do not need the thread: `finish` moves them

    def finish(self, number: int) -> Transfer:
        """Wait for the result of collective ``number``. On a GPU, wait until it is enqueued.

        Raises:
          DistributedTimeoutError: If the time limit has passed. The message names the ranks that
            have not joined.
          DistributedError: If the ranks do not ask for the same, a value is not finite, a rank has
            ended, or the engine failed before.
        """
        transfer = self._transfers.get(number)
        if transfer is None:
            self._raise_failure()
            raise DistributedError(f"The result of collective {number} is not available any more.")
        self._is_waiting = True
        try:
            self._wait(transfer)
        finally:
            self._is_waiting = False
        return transfer

    def _wait(self, transfer: Transfer) -> None:
        """Move the transfers until this one is done."""
        begin = time.monotonic()
        next_query = begin + min(QUERY_SECONDS, self.timeout / 2)
        while True:
            with self._lock:
                self._advance()
            is_enqueued = transfer.state == MOVING and transfer.on_device is not None
            if transfer.state == DONE or is_enqueued:
                return
            self._raise_failure()
            now = time.monotonic()
            if now > begin + self.timeout:
                self._fail_by_timeout(transfer, now - begin)
            if now > next_query:
                next_query = now + (now - begin)
                self._check_ended(transfer)
            if now - begin < SPIN_SECONDS:
                _yield_core()
            else:
                time.sleep(ACTIVE_SECONDS)

    def release_before(self, number: int) -> None:
        """Free the transfers before a number: no call will ask for them again."""
        while self._transfers:
            oldest = next(iter(self._transfers))
            if oldest >= number:
                return
            transfer = self.finish(oldest)
            with self._lock:
                del self._transfers[oldest]
                if transfer.on_device is not None:
                    transfer.on_device.release()
                for memory in transfer.memory:
                    self._release_buffer(memory)

    def check_size(self, transfer: Transfer, size: int, recorded: int) -> None:
        """Fail if a result has another size than when its function was recorded."""
        if size != recorded:
            raise self.failure(
                f"collective {transfer.number} ({transfer.request}) in a recorded function gathers "
                f"{transfer.rows} rows by rank, but was recorded with equal numbers of rows. Make "
                f"the numbers equal, call it outside of `function`, or, for gradients of "
                f"embeddings, use sparse_as_dense=True"
            )

    def exchange(self, value: Any) -> list[Any]:
        """Return a small value of every rank. For the setup: all ranks must call it."""
        with self._lock:
            values: list[Any] = self.world.allgather(value)
        return values

    def _check_same(
        self,
        number: int,
        earlier: Transfer | None,
        request: Request,
        sent: NDArray[Any],
        on_device: DeviceData | None,
    ) -> None:
        """Check that a collective that is started again has the same data."""
        is_same = (
            earlier is not None
            and earlier.request == request
            and np.array_equal(earlier.sent.view(np.uint8), sent.view(np.uint8))
        )
        if is_same and on_device is not None:
            assert earlier is not None and earlier.on_device is not None
            is_same = earlier.on_device.has_same(on_device)
        self._release_buffer(sent)
        if not is_same:
            raise self.failure(
                f"collective {number} ({request}) was called again with other data, after other "
                f"ranks got the data of the first call: a call of a function was abandoned and "
                f"started again, or a call of a collective was interrupted"
            )

    def _pack(self, request: Request, arrays: Sequence[NDArray[Any]]) -> NDArray[Any]:
        """Return the arrays joined to one axis, in the wire dtype, in memory of the engine."""
        dtype = _numpy_dtype(request.wire_dtype)
        sent = self._buffer(sum(x.size for x in arrays), dtype)
        start = 0
        for x in arrays:
            sent[start : start + x.size].reshape(x.shape)[...] = x
            start += x.size
        return sent

    # Memory.

    def _buffer(self, size: int, dtype: np.dtype[Any]) -> NDArray[Any]:
        """Return memory for elements; the memory of an earlier transfer if its size fits."""
        n = size * dtype.itemsize
        with self._lock:
            free = self._free_buffers.get(n)
            memory = free.pop() if free else np.empty(n, np.uint8)
        return memory.view(dtype)

    def _release_buffer(self, array: NDArray[Any]) -> None:
        """Keep memory for later transfers, at most four pieces of a size, 16 sizes."""
        free = self._free_buffers.setdefault(array.nbytes, [])
        if len(free) < 4:
            free.append(array.view(np.uint8))
        while len(self._free_buffers) > 16:
            del self._free_buffers[next(iter(self._free_buffers))]

    # Progress. The lock is held.

    def _advance(self) -> None:
        """Move all transfers as far as possible, in the order of their numbers.

        Data on a GPU are left to the engine's thread: what the main thread runs may be observed by
        a function that is recorded, which must not depend on the library's Python code.
        """
        is_engine_thread = threading.get_ident() == self._thread.ident
        for transfer in list(self._transfers.values()):
            if transfer.on_device is not None and not is_engine_thread:
                if transfer.state == AGREEING:
                    return
                if transfer.state == MOVING:
                    continue
            if transfer.state == AGREEING:
                if not transfer.pending.Test():
                    return  # later ones must not be posted before this one
                self._agree(transfer)
            if transfer.state == MOVING:
                if transfer.on_device is not None:
                    self._watch(transfer, transfer.on_device)
                elif transfer.pending.Test():
                    self._done(transfer)
            if transfer.state == DESCRIBING and transfer.pending.Test():
                self._report_mismatch(transfer)
            if transfer.state in (DESCRIBING, FAILED):
                return

    def _agree(self, transfer: Transfer) -> None:
        """Compare the headers. Post the transfer of the data, or combine those in the headers."""
        request = transfer.request
        heads = [HEADER.unpack(bytes(row[: HEADER.size])) for row in transfer.headers]
        if any(digest != transfer.digest for digest, *_ in heads):
            own = np.zeros(DESCRIPTION_BYTES, np.uint8)
            text = "\n".join(transfer.request.describe()).encode()[:DESCRIPTION_BYTES]
            own[: len(text)] = np.frombuffer(text, np.uint8)
            transfer.descriptions = np.zeros((self.size, DESCRIPTION_BYTES), np.uint8)
            transfer.pending = self._headers.Iallgather(own, transfer.descriptions)
            transfer.state = DESCRIBING
            return
        bad_ranks = [rank for rank, head in enumerate(heads) if head[3]]
        if bad_ranks:
            self._fail_transfer(transfer, self._not_finite(transfer, bad_ranks))
            return
        transfer.rows = [rows for _, rows, *_ in heads]
        transfer.times.append(time.perf_counter())
        sizes = [nbytes for _, _, nbytes, _ in heads]
        if transfer.on_device is not None:
            self._enqueue(transfer, transfer.on_device)
        elif max(sizes) <= self._inline_bytes:
            dtype = _numpy_dtype(request.wire_dtype)
            parts = [
                row[HEADER_SIZE : HEADER_SIZE + nbytes].view(dtype)
                for row, nbytes in zip(transfer.headers, sizes, strict=True)
            ]
            transfer.result = self._combine(request, parts)
            self._done(transfer)
        else:
            self._post(transfer, sizes)
            assert transfer.result is not None
            transfer.memory.append(transfer.result)
            transfer.state = MOVING

    def _enqueue(self, transfer: Transfer, on_device: DeviceData) -> None:
        """Let the GPU combine the data."""
        try:
            on_device.enqueue(transfer.rows)
        except Exception as error:
            text = f"collective {transfer.number} ({transfer.request}): NCCL failed: {error}"
            self._fail_transfer(transfer, text)
            return
        transfer.state, transfer.pending = MOVING, None

    def _watch(self, transfer: Transfer, on_device: DeviceData) -> None:
        """Look whether the GPU has combined the data, and end the job if it cannot.

        The main thread may be waiting for the GPU, where no exception reaches it.
        """
        try:
            if on_device.is_done():
                self._done(transfer)
                return
            error = on_device.error()
        except Exception as caught:
            error = str(caught)
        if not error and time.perf_counter() - transfer.times[-1] > self.timeout:
            error = f"not complete {self.timeout:g} s after all ranks had joined"
        if error:
            self._end_job(f"collective {transfer.number} ({transfer.request}) by NCCL: {error}")

    def _combine(self, request: Request, parts: list[NDArray[Any]]) -> NDArray[Any]:
        """Compute the result of small data, in the order of the ranks."""
        if request.kind == BROADCAST:
            return parts[request.root].copy()
        if request.kind == ALLGATHER:
            return np.concatenate(parts)
        total = parts[0].copy()
        with np.errstate(all="ignore"):
            for part in parts[1:]:
                total = _combine(request.op, total, part)
        if request.kind == REDUCE_SCATTER:
            begin, end = self._own_range(request, total.size)
            return total[begin:end]
        return total

    def _own_range(self, request: Request, size: int) -> tuple[int, int]:
        """Return the range of this rank's elements in the result of a reducescatter."""
        width = size // max(sum(request.counts), 1)
        begin = sum(request.counts[: self.rank]) * width
        return begin, begin + request.counts[self.rank] * width

    def _post(self, transfer: Transfer, sizes: list[int]) -> None:
        """Post the MPI request for the data of a transfer."""
        request, sent = transfer.request, transfer.sent
        dtype = sent.dtype
        itemsize = dtype.itemsize
        data: Any = self._data
        if request.kind == BROADCAST:
            transfer.result = self._buffer(sent.size, dtype)
            if self.rank == request.root:
                transfer.result[...] = sent
            transfer.pending = data.Ibcast(transfer.result.view(np.uint8), request.root)
        elif request.kind == ALLGATHER:
            transfer.result = self._buffer(sum(sizes) // itemsize, dtype)
            pieces = [transfer.result.view(np.uint8), sizes]
            transfer.pending = data.Iallgatherv(sent.view(np.uint8), pieces)
        else:
            op, kind = self._mpi_op(request.op, dtype)
            if request.kind == REDUCE_SCATTER:
                begin, end = self._own_range(request, sent.size)
                transfer.result = self._buffer(end - begin, dtype)
                width = sent.size // max(sum(request.counts), 1)
                counts = [count * width for count in request.counts]
                transfer.pending = data.Ireduce_scatter(
                    [_bits(sent), kind], [_bits(transfer.result), kind], counts, op
                )
            else:
                transfer.result = self._buffer(sent.size, dtype)
                transfer.pending = data.Iallreduce(
                    [_bits(sent), kind], [_bits(transfer.result), kind], op
                )

    def _mpi_op(self, op: str, dtype: np.dtype[Any]) -> tuple[Any, Any]:
        """Return MPI's op and datatype. MPI has no half precision: NumPy combines such data."""
        if not _is_half(dtype):
            return getattr(self.mpi, _MPI_OPS[op]), self.mpi.Datatype.fromcode(dtype.char)
        key = op, dtype.name
        if key not in self._half_ops:

            def reduce(source: Any, target: Any, datatype: Any) -> None:
                x, y = np.frombuffer(source, dtype), np.frombuffer(target, dtype)
                with np.errstate(all="ignore"):
                    y[...] = _combine(op, x, y)

            self._half_ops[key] = self.mpi.Op.Create(reduce, commute=True)
        return self._half_ops[key], self.mpi.UINT16_T

    def _done(self, transfer: Transfer) -> None:
        transfer.state, transfer.pending = DONE, None
        transfer.times.append(time.perf_counter())
        if self.keep_times:
            data = transfer.on_device or transfer.sent
            entry = transfer.number, str(transfer.request), data.nbytes, transfer.times
            self.log.append(entry)

    # Failures.

    def _raise_failure(self) -> None:
        if self._failure is not None:
            error_class, message = self._failure
            raise error_class(message)

    def failure(
        self, message: str, error_class: type[DistributedError] = DistributedError
    ) -> DistributedError:
        """Return an error to raise now. Every later collective raises it as well."""
        if self._failure is None:
            self._failure = error_class, f"Rank {self.rank} of {self.size}: {message}."
        failed_class, text = self._failure
        return failed_class(text)

    def _fail_transfer(self, transfer: Transfer, message: str) -> None:
        """Fail without an exception, which the thread of the engine could not deliver."""
        transfer.state = FAILED
        self.failure(message)

    def _not_finite(self, transfer: Transfer, ranks: list[int]) -> str:
        message = (
            f"collective {transfer.number} ({transfer.request}): values of "
            f"{_rank_list(ranks)} are not finite"
        )
        if self.rank in ranks:
            start, names = 0, []
            request = transfer.request
            for name, shape in zip(request.names, request.shapes, strict=True):
                size = int(np.prod(shape))
                if not np.isfinite(transfer.sent[start : start + size]).all():
                    names.append(repr(name))
                start += size
            message += f"; here {', '.join(names[:5])}"
        return message

    def _report_mismatch(self, transfer: Transfer) -> None:
        """Fail with the first difference between what the ranks ask for."""
        assert transfer.descriptions is not None
        texts = [bytes(row).rstrip(b"\0").decode(errors="replace") for row in transfer.descriptions]
        by_text: dict[str, list[int]] = {}
        for rank, text in enumerate(texts):
            by_text.setdefault(text, []).append(rank)
        others = [text for text in by_text if text != texts[self.rank]]
        difference = "their numbers differ"
        if others:
            difference = _difference(
                texts[self.rank], by_text[texts[self.rank]], others[0], by_text[others[0]]
            )
        self._fail_transfer(
            transfer,
            f"the ranks call different collectives, as collective {transfer.number}: {difference}",
        )

    def _fail_by_timeout(self, transfer: Transfer, seconds: float) -> NoReturn:
        statuses = self._ask()
        missing = []
        for rank in range(self.size):
            status = statuses.get(rank)
            if rank == self.rank or (status and status["started"] > transfer.number):
                continue
            missing.append(f"rank {rank}, which {_describe_status(status)}")
        who = "; ".join(missing) if missing else "no rank: all have joined, but MPI is not done"
        raise self.failure(
            f"collective {transfer.number} ({transfer.request}) was not complete after "
            f"{seconds:.0f} s (NUMTAPE_DISTRIBUTED_TIMEOUT={self.timeout:g}). It waits for {who}",
            DistributedTimeoutError,
        )

    def _check_ended(self, transfer: Transfer) -> None:
        """Fail if a rank has ended that this transfer needs."""
        ended = [
            rank
            for rank, status in self._ask().items()
            if status["ended"] and status["started"] <= transfer.number
        ]
        if ended and transfer.state != DONE:
            raise self.failure(
                f"{_rank_list(ended)} ended without calling collective {transfer.number} "
                f"({transfer.request})"
            )

    def _ask(self) -> dict[int, dict[str, Any]]:
        """Return what the other ranks are doing; those that do not answer are missing."""
        self._replies.clear()
        with self._lock:
            for rank in range(self.size):
                if rank != self.rank:
                    self._send(b"?", rank, QUERY)
        end = time.monotonic() + REPLY_SECONDS
        while len(self._replies) < self.size - 1 and time.monotonic() < end:
            time.sleep(IDLE_SECONDS)
        return dict(self._replies)

    def _status(self) -> dict[str, Any]:
        """Return what this rank is doing."""
        return {"started": self.started, "ended": self._ended, "location": self._location()}

    def _location(self) -> str:
        """Return the line of the program that the main thread executes."""
        if self._main_thread is None:
            return ""
        frame = sys._current_frames().get(self._main_thread)
        lines = [
            f"{os.path.basename(entry.filename)}:{entry.lineno} in {entry.name}"
            for entry in traceback.extract_stack(frame)
            if f"{os.sep}numtape{os.sep}" not in entry.filename
        ]
        return lines[-1] if lines else ""

    # The thread.

    def _run(self) -> None:
        """Move transfers and answer other ranks until the process ends."""
        while not self._stopped:
            try:
                with self._lock:
                    self._advance()
                    self._answer()
                    active = [
                        x
                        for x in self._transfers.values()
                        if x.state != DONE and not (x.state == MOVING and x.on_device is not None)
                    ]
                    # `finish` moves data on the host while it waits.
                    is_needed = not self._is_waiting or any(x.on_device for x in active)
            except Exception as error:  # reported by the next collective
                if self._failure is None:
                    self._failure = (
                        DistributedError,
                        f"Rank {self.rank} of {self.size}: MPI failed: {error!r}.",
                    )
                active = []
                time.sleep(IDLE_SECONDS)
            if active and is_needed:
                time.sleep(ACTIVE_SECONDS)
            else:
                self._wake.wait(IDLE_SECONDS)
                self._wake.clear()

    def _answer(self) -> None:
        """Answer the questions of other ranks, and take their answers."""
        control, status = self._control, self.mpi.Status()
        self._sends = [send for send in self._sends if not send[0].Test()]
        while control.Iprobe(self.mpi.ANY_SOURCE, self.mpi.ANY_TAG, status):
            message = bytearray(status.Get_count(self.mpi.BYTE))
            source = status.Get_source()
            control.Recv([message, self.mpi.BYTE], source, status.Get_tag())
            if status.Get_tag() == QUERY:
                self._send(pickle.dumps(self._status()), source, REPLY)
            else:
                self._replies[source] = pickle.loads(message)

    def _send(self, message: bytes, rank: int, tag: int) -> None:
        self._sends.append((self._control.Isend([message, self.mpi.BYTE], rank, tag), message))

    # The end of the process.

    def shutdown(self) -> None:
        """Wait until all ranks have ended, and answer them meanwhile."""
        if self._stopped:
            return
        if self._failure is not None:
            self._abort()
        while any(x.on_device and x.state == MOVING for x in self._transfers.values()):
            time.sleep(IDLE_SECONDS)  # other ranks' GPUs need this one to the end
        self._ended = True
        with self._lock:
            barrier = self._control.Ibarrier()
        while True:
            with self._lock:
                if barrier.Test():
                    break
            time.sleep(IDLE_SECONDS)
        self._stopped = True
        self._thread.join()

    def _abort(self) -> NoReturn:
        sys.stdout.flush()
        sys.stderr.flush()
        self.world.Abort(1)
        os._exit(1)

    def _abort_on_error(
        self, kind: type[BaseException], error: BaseException, trace: TracebackType | None
    ) -> None:
        """Print an uncaught error with the number of the rank, and end all ranks."""
        self._previous_hook(kind, error, trace)
        text = str(error).partition("\n")[0]
        self._write_failure(f"{kind.__name__}: {text}")
        if isinstance(error, DistributedError):
            time.sleep(GRACE_SECONDS)
        self._abort()

    def _end_job(self, message: str) -> None:
        self._write_failure(f"DistributedError: {message}")
        time.sleep(GRACE_SECONDS)
        self._abort()

    def _write_failure(self, text: str) -> None:
        sys.stderr.write(f"numtape: rank {self.rank} of {self.size} failed: {text}\n")
        sys.stderr.flush()


def _combine(op: str, x: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    """Combine two arrays. Floats of two bytes are combined in float32, and rounded."""
    if not _is_half(x.dtype):
        return np.asarray(_COMBINE[op](x, y, dtype=x.dtype))
    return np.asarray(_COMBINE[op](x.astype(np.float32), y.astype(np.float32)).astype(x.dtype))


def _wait_until_all_ranks_call_init(timeout: float) -> Any:
    """Initialize MPI and return its module.

    MPI waits without a limit, and holds Python's lock. So a thread of `faulthandler` prints this
    function's name and ends the process after ``timeout`` seconds, if MPI started it.
    """
    if settings.is_started_by_mpi():
        faulthandler.dump_traceback_later(timeout, exit=True)
    try:
        from mpi4py import MPI

        MPI.COMM_WORLD.Barrier()
        return MPI
    finally:
        if settings.is_started_by_mpi():
            faulthandler.cancel_dump_traceback_later()


def _digest(number: int, request: Request) -> bytes:
    return hashlib.blake2b(repr((number, request)).encode(), digest_size=8).digest()


def _numpy_dtype(name: str) -> np.dtype[Any]:
    dtype: np.dtype[Any] = as_dtype(name).numpy_dtype
    return dtype


def _is_half(dtype: np.dtype[Any]) -> bool:
    return bool(dtype.itemsize == 2 and dtype.kind in "fV")


def _bits(array: NDArray[Any]) -> NDArray[Any]:
    """Return an array that MPI can read: floats of two bytes as integers."""
    return array.view(np.uint16) if _is_half(array.dtype) else array


def _yield_core() -> None:
    if hasattr(os, "sched_yield"):
        os.sched_yield()
    else:
        time.sleep(0)


def _rank_list(ranks: list[int]) -> str:
    if len(ranks) == 1:
        return f"rank {ranks[0]}"
    more = f" and {len(ranks) - 8} more" if len(ranks) > 8 else ""
    return f"ranks {', '.join(map(str, ranks[:8]))}{more}"


def _describe_status(status: dict[str, Any] | None) -> str:
    if status is None:
        return "does not answer"
    if status["ended"]:
        return "has ended"
    place = f" and is at {status['location']}" if status["location"] else ""
    return f"has called {status['started']} collectives{place}"


def _difference(text: str, ranks: list[int], other_text: str, other_ranks: list[int]) -> str:
    """Return the first line in which two descriptions differ."""
    lines, other_lines = text.split("\n"), other_text.split("\n")
    order = [*range(1, max(len(lines), len(other_lines))), 0]  # the first one is a summary
    if lines[0].split(" of ")[0] != other_lines[0].split(" of ")[0]:
        order = [0]
    for k in order:
        one = lines[k] if k < len(lines) else "nothing more"
        other = other_lines[k] if k < len(other_lines) else "nothing more"
        if one != other:
            return f"{one} on {_rank_list(ranks)}; {other} on {_rank_list(other_ranks)}"
    return "the descriptions are equal"
