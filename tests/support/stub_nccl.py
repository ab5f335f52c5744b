"""A stub of `nccl.core` (nccl4py 0.6): it checks arguments, records calls, and may combine data.

Signatures, arguments and checks are those of nccl4py's `Communicator`. Buffers are read through
DLPack, as nccl4py does. With
`combine_by_mpi`, MPI combines data in the memory of the simulator.
"""

import contextlib
import enum
import sys
from types import ModuleType, SimpleNamespace

import ml_dtypes
import numpy as np

from numtape.core import interop
from numtape.core.values.memory import array_at

CUDA = 2


class NcclRedOp(enum.IntEnum):
    SUM = 0
    PROD = 1
    MAX = 2
    MIN = 3
    AVG = 4


NcclDataType = enum.IntEnum(
    "NcclDataType",
    "INT8 UINT8 INT32 UINT32 INT64 UINT64 FLOAT16 FLOAT32 FLOAT64 BFLOAT16",
    start=0,
)
# By DLPack's kind and bits.
_DTYPES = {
    (kind, bits): NcclDataType[f"{name}{bits}"]
    for kind, name, widths in (
        (0, "INT", (8, 32, 64)),
        (1, "UINT", (8, 32, 64)),
        (2, "FLOAT", (16, 32, 64)),
        (4, "BFLOAT", (16,)),
    )
    for bits in widths
}


class NcclInvalid(Exception):
    pass


class UniqueId:
    def __init__(self, data=b"\1" * 128):
        self._data = data

    def __bytes__(self):
        return self._data

    @staticmethod
    def from_bytes(data):
        assert isinstance(data, bytes)
        assert len(data) == 128
        return UniqueId(data)


class Buffer:
    """What nccl4py reads of a buffer: address, number of elements, dtype and device."""

    def __init__(self, value):
        assert value.__dlpack_device__()[0] == CUDA
        capsule = value.__dlpack__(stream=-1, max_version=(1, 3))
        fields = interop._capsule_fields(capsule)
        assert fields.rank == 1
        assert fields.device == CUDA
        self.ptr, self.count, self.device_id = fields.data, fields.shape[0], fields.number
        self.dtype = _DTYPES[fields.kind, fields.bits]

    def array(self):
        name = self.dtype.name.lower()
        return array_at(self.ptr, (self.count,), np.dtype(getattr(ml_dtypes, name, name)))


class Communicator:
    """Appends each call, as a name and arguments, to `calls`; `combine(name, ...)` moves data."""

    combine = staticmethod(lambda *_: None)
    async_error = 0

    def __init__(self):
        self.nranks = self.rank = 0

    @classmethod
    def init(cls, nranks, rank, unique_id, config=None):
        assert isinstance(unique_id, UniqueId)
        assert 0 <= rank < nranks
        comm = cls()
        comm.nranks, comm.rank = nranks, rank
        cls.calls.append(("init", nranks, rank))
        return comm

    def _note(self, name, stream, sent, received, *arguments):
        assert type(stream) is int
        one, two = sent and Buffer(sent), received and Buffer(received)
        if one and two and one.dtype != two.dtype:
            raise NcclInvalid(f"Dtype mismatch: {one.dtype}, {two.dtype}")
        dtype = (one or two).dtype.name
        arguments = [x.name if isinstance(x, NcclRedOp) else x for x in arguments]
        counts = one and one.count, two and two.count
        self.calls.append((f"nccl {name}", dtype, *counts, *arguments, stream))
        self.combine(name, one, two, *arguments)
        return one, two

    def broadcast(self, sendbuf, recvbuf, root, *, stream=None, config=None):
        sent, received = self._note(
            "broadcast", stream, sendbuf if root == self.rank else None, recvbuf, root
        )
        if sent is not None and sent.count != received.count:
            raise NcclInvalid("Buffer count mismatch")

    def allreduce(self, sendbuf, recvbuf, op, *, stream=None, config=None):
        sent, received = self._note("allreduce", stream, sendbuf, recvbuf, op)
        if received.count < sent.count:
            raise NcclInvalid("Buffer count mismatch")

    def reduce(self, sendbuf, recvbuf, op, root=None, *, stream=None, config=None):
        recvbuf = recvbuf if root == self.rank else None
        sent, received = self._note("reduce", stream, sendbuf, recvbuf, op, root)
        if received is not None and received.count < sent.count:
            raise NcclInvalid("Buffer count mismatch")

    def allgather(self, sendbuf, recvbuf, *, stream=None, config=None):
        sent, received = self._note("allgather", stream, sendbuf, recvbuf)
        if received.count < self.nranks * sent.count:
            raise NcclInvalid("Buffer count mismatch")

    def reduce_scatter(self, sendbuf, recvbuf, op, *, stream=None, config=None):
        sent, received = self._note("reduce_scatter", stream, sendbuf, recvbuf, op)
        if not 1 <= sent.count // self.nranks <= received.count:
            raise NcclInvalid("Buffer count mismatch")

    def abort(self):
        self.calls.append(("abort",))

    def get_async_error(self):
        return self.async_error


def combine_by_mpi(comm):
    """Return a function that combines host memory over an MPI communicator, by NumPy."""

    def gather(buffer):
        return [np.array(x) for x in comm.allgather(buffer.array().copy())]

    def reduced(buffer, op):
        parts = gather(buffer)
        combine = {"SUM": np.add, "PROD": np.multiply, "MAX": np.maximum, "MIN": np.minimum}[op]
        total = parts[0].astype("f") if parts[0].dtype.itemsize == 2 else parts[0]
        for part in parts[1:]:
            total = combine(total, part.astype(total.dtype))
        return total

    def combine(name, sent, received, *arguments):
        if name == "broadcast":
            value = comm.bcast(None if sent is None else sent.array().copy(), arguments[0])
        elif name == "allgather":
            value = np.concatenate(gather(sent))
        else:
            value = reduced(sent, arguments[0])
            if name == "reduce_scatter":
                value = np.split(value, comm.size)[comm.rank]
        if received is not None:
            received.array()[:] = value

    return combine


def install(version="2.32.3"):
    """Make the stub the module `nccl.core` of this process, and return it."""
    library = ModuleType("nccl.core")

    @contextlib.contextmanager
    def group():
        library.Communicator.calls.append(("group",))
        yield
        library.Communicator.calls.append(("end of group",))

    library.Communicator = type("Communicator", (Communicator,), {"calls": []})
    library.NcclRedOp, library.UniqueId, library.group = NcclRedOp, UniqueId, group
    library.get_unique_id = lambda empty=False: UniqueId()
    library.get_version = lambda: SimpleNamespace(libnccl=version)
    library.get_error_string = lambda result: f"error {result}"
    package = ModuleType("nccl")
    package.core = library
    sys.modules |= {"nccl": package, "nccl.core": library}
    return library
