"""Launches: what rows of a plan become, with kernels compiled when they are first needed."""

from __future__ import annotations

import hashlib
import importlib
import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from ...errors import DeviceError
from .. import settings
from ..compile.passes import kernel_source
from ..log.op import Op
from ..values.spec import Spec
from .runtime.device import device, empty
from .runtime.device_array import DeviceArray
from .text import Loop, function, parameters, share, written

_kernels: dict[tuple[str, ...], Kernel] = {}
_lock = threading.RLock()
_COMPILERS = 2  # threads: while one makes PTX, which one can do at a time, the other links

Room = Callable[[int], int]  # a number for so many bytes of the arena


class Kernel:
    """A kernel that is being compiled, or was."""

    __slots__ = ("_begin", "_found", "_made")

    def __init__(self, begin: Callable[[], Future[Any]]) -> None:
        self._begin, self._made = begin, begin()
        self._found: Any = None

    def get(self) -> Any:
        """What the device launches; waits for it. If it failed before, it is tried again."""
        if self._found is None:
            made = self._made
            if made.done() and made.exception() is not None:
                self._made = made = self._begin()
            self._found = made.result()
        return self._found


class Launch(NamedTuple):
    """A kernel and what to call it with: numbers of places, or, behind these, values."""

    kernel: Kernel
    blocks: int
    threads: int
    values: tuple[int, ...]
    places: tuple[int, ...]

    def run(self, gpu: Any, at: Sequence[int]) -> None:
        """Launch it. ``at`` are the addresses of places."""
        args = [*self.values, *(at[k] for k in self.places)]
        gpu.launch(self.kernel.get(), self.blocks, self.threads, args)


class Product(NamedTuple):
    """A product of matrices by the library."""

    dtype: str
    scalars: tuple[int, ...]
    places: tuple[int, ...]

    def run(self, gpu: Any, at: Sequence[int]) -> None:
        """Launch it."""
        gpu.gemm(self.dtype, self.scalars, *(at[k] for k in self.places))


class OnHost(NamedTuple):
    """An op that has no kernel: NumPy computes it, from a copy."""

    op: Op
    attributes: dict[str, Any]
    specs: tuple[Spec, ...]
    places: tuple[int, ...]

    def run(self, gpu: Any, at: Sequence[int]) -> None:
        """Compute it."""
        out, *operands = self.specs
        arrays = [
            DeviceArray(None, at[k], spec.shape, spec.dtype.numpy_dtype).host()
            for k, spec in zip(self.places[1:], operands, strict=True)
        ]
        found = np.empty(out.shape, out.dtype.numpy_dtype)
        assert self.op.compute is not None
        with np.errstate(all="ignore"):
            self.op.compute(found, *arrays, **self.attributes)
        gpu.upload(found, at[self.places[0]])


class Row(NamedTuple):
    """A row that is no elementwise one.

    Attributes:
      op: Its op.
      attributes: The op's attributes.
      out: Its spec.
      operands: Those of its operands.
      places: The numbers of its own place and its operands'.
      room: Gives the number of a place for so many bytes of intermediate results.
    """

    op: Op
    attributes: dict[str, Any]
    out: Spec
    operands: list[Spec]
    places: list[int]
    room: Room


@cache
def _sources() -> tuple[str, ...]:
    """The modules that kernels on the GPU are made of: all of their room, and what it imports."""
    room = settings.kernels_folder() / "cuda"
    return "functions.elementary", *(f"cuda.{path.stem}" for path in sorted(room.glob("*.py")))


@cache
def _compilers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_COMPILERS, "numtape-cuda")


def kernel(make: Callable[[], Any], dtypes: Sequence[str], name: str, text: str = "") -> Kernel:
    """What a `Launch` has for a kernel; compiled if neither memory nor disk has it.

    That goes on in other threads until it is launched.
    """
    key = (name, text, *dtypes)
    with _lock:
        found = _kernels.get(key)
        if found is None:
            source = kernel_source(*_sources()) + text
            found = _kernels[key] = Kernel(
                lambda: _compilers().submit(device().kernel, make, list(dtypes), name, source)
            )
        return found


def loaded(
    module: str, name: str, arguments: Sequence[str], dtypes: Sequence[str]
) -> Kernel:
    """A kernel of a module of ``numtape.kernels.cuda``, which makes it for these arguments."""

    def make() -> Any:
        kernels = importlib.import_module(f"numtape.kernels.cuda.{module}").KERNELS
        return kernels[name](*arguments)

    return kernel(make, dtypes, "_".join((module, name, *arguments)))


def written_out(
    text: str, name: str, dtype: str, size: int, places: Sequence[int], *others: str
) -> Launch:
    """A kernel that is only text, ``kernel(n, out, x, ...)``.

    The first two arrays are of one dtype; ``others`` are the dtypes of more.
    """
    symbol = f"{name}_{dtype}_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    pointers = ["int64", f"*{dtype}", f"*{dtype}", *(f"*{other}" for other in others)]
    made = kernel(lambda: function(text, []), pointers, symbol, text)
    return Launch(made, blocks(size), threads(), (size,), tuple(places))


def threads() -> int:
    """Threads of a block."""
    found: int = device().threads
    return found


def most_blocks() -> int:
    """How many blocks keep the GPU busy."""
    found: int = device().blocks
    return found


ROUNDS = 8  # units of a thread where there are many: what a block begins with is little then
FIRST = 1024  # blocks that a GPU may run at once
PARTIALS = 4096  # blocks that may leave something for the block that finishes a reduction


def blocks(work: int, reduced: bool = False) -> int:
    """How many blocks share so many units of work, one a thread at a time.

    Many more than run at once: they end one by one, and the GPU is busy to the end. Those that
    leave partial results (``reduced``) are fewer. Their number depends on the work alone, and so
    do the bits.
    """
    if settings.simulated():
        return max(1, min(most_blocks(), -(-work // threads())))
    found, most = -(-work // threads()), -(-work // (ROUNDS * threads()))
    most = max(FIRST, min(PARTIALS, most)) if reduced else max(PARTIALS, most)
    return max(1, min(found, most))


def _blocks_of(loop: Loop) -> int:
    """How many blocks compute a loop."""
    return blocks(-(-math.prod(loop.shape) // share(loop)), bool(loop.reductions))


def elementwise(
    loop: Loop, arrays: list[int], outs: list[int], room: Room
) -> list[Launch]:
    """The kernel of a loop, and those that finish its reductions.

    ``arrays`` are the places of what it loads and stores, ``outs`` those of what it reduces.
    """
    size = math.prod(loop.shape)
    if (not size and not loop.reductions) or not (loop.stores or loop.reductions):
        return []
    text = written(loop)
    reduced = [(name, loop.dtype(value).name) for name, value in loop.reductions]
    symbol = f"group_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    made = kernel(lambda: function(text, reduced), parameters(loop), symbol, text)
    count = _blocks_of(loop)
    partials = [room(8 * count) for _ in reduced]
    found = [Launch(made, count, threads(), (size,), (*arrays, *partials))]
    for (name, dtype), partial, out in zip(reduced, partials, outs, strict=True):
        found.append(_finish(name, dtype, count, partial, out))
    return found


def _finish(name: str, dtype: str, count: int, partials: int, out: int) -> Launch:
    pointers = ["int64", f"*{dtype}", f"*{dtype}"]
    made = loaded("reduce", "finish", (name, dtype), pointers)
    return Launch(made, 1, threads(), (count,), (partials, out))


BLOCK = 32  # bytes that are drawn at once; as in kernels/cpu/random.py (a test compares)


def drawn(name: str, key: list[int], spec: Spec) -> DeviceArray:
    """Random numbers, drawn where they are used; see `core.cpu.executor.Executor.draw`."""
    dtype = spec.dtype.name
    made = loaded("random", name, (dtype,), ["int64", "uint64", "uint64", f"*{dtype}"])
    gpu, count = device(), -(-spec.size * spec.dtype.size // BLOCK)
    memory = empty(BLOCK * count)
    gpu.launch(made.get(), blocks(count), threads(), [count, *key, memory.address])
    return DeviceArray(memory, memory.address, spec.shape, spec.dtype.numpy_dtype)


def probe(gpu: Any) -> None:
    """Run a kernel and look at its result.

    Raises:
      DeviceError: If it is wrong.
    """
    values = np.arange(1, 101, dtype=np.float64)
    memory = gpu.empty(values.nbytes)
    gpu.upload(values, memory.address)
    _finish("sum", "float64", values.size, 0, 0).run(gpu, [memory.address])
    found = np.empty(1)
    gpu.download(memory.address, found)
    if found[0] != values.sum():
        raise DeviceError(f"A sum on {gpu.name} is {found[0]} instead of {values.sum()}.")
