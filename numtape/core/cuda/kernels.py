"""Launches: what rows of a plan become, with kernels compiled when they are first needed."""

from __future__ import annotations

import hashlib
import importlib
import math
import threading
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...errors import DeviceError
from ..entry import kernel_source
from ..op import Native, Op
from ..spec import Spec
from .array import DeviceArray
from .device import device
from .lower import WIDTH, Loop, function, moved, parameters, stored, written, zeros

_SOURCES = ("cuda.target", "cuda.scalar", "cuda.reduce", "cuda.arrays", "cuda.random")
# The whole-array kernels, and whether a block takes a row, or a thread an element; as in
# kernels/cuda/arrays.py (a test compares).
BY_ROW = ("softmax", "log_softmax", "softmax_grad", "log_softmax_grad", "normalize",
          "normalize_grad")  # fmt: skip
BY_ELEMENT = ("gather", "pick", "place")
_kernels: dict[tuple[str, ...], Any] = {}
_lock = threading.RLock()

Room = Callable[[int], int]  # a number for so many bytes of the arena


class Launch(NamedTuple):
    """A kernel and what to call it with: numbers of places, or, behind these, values."""

    kernel: Any
    blocks: int
    threads: int
    values: tuple[int, ...]
    places: tuple[int, ...]

    def run(self, gpu: Any, at: Sequence[int]) -> None:
        """Launch it. ``at`` are the addresses of places."""
        gpu.launch(
            self.kernel, self.blocks, self.threads, [*self.values, *(at[k] for k in self.places)]
        )


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


def kernel(make: Callable[[], Any], dtypes: Sequence[str], name: str, text: str = "") -> Any:
    """What a `Launch` has for a kernel; compiled if neither memory nor disk has it."""
    key = (name, text, *dtypes)
    with _lock:
        found = _kernels.get(key)
        if found is None:
            source = kernel_source(*_SOURCES) + text
            found = _kernels[key] = device().kernel(make, list(dtypes), name, source)
        return found


def _threads() -> int:
    """Threads of a block."""
    found: int = device().threads
    return found


def _blocks(work: int) -> int:
    """How many blocks share so many units of work, one a thread at a time."""
    most: int = device().blocks
    return max(1, min(most, -(-work // _threads())))


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
    blocks = _blocks(-(-size // WIDTH))
    partials = [room(8 * blocks) for _ in reduced]
    found = [Launch(made, blocks, _threads(), (size,), (*arrays, *partials))]
    for (name, dtype), partial, out in zip(reduced, partials, outs, strict=True):
        found.append(_finish(name, dtype, blocks, partial, out))
    return found


def _finish(name: str, dtype: str, count: int, partials: int, out: int) -> Launch:
    made = _reducing("finish", name, dtype, ["int64", f"*{dtype}", f"*{dtype}"])
    return Launch(made, 1, _threads(), (count,), (partials, out))


def _reducing(kind: str, name: str, dtype: str, dtypes: list[str]) -> Any:
    def make() -> Any:
        reduce = importlib.import_module("numtape.kernels.cuda.reduce")
        return reduce.KERNELS[kind](name, dtype)

    return kernel(make, dtypes, f"{kind}_{name}_{dtype}")


def whole(
    op: Op, attributes: dict[str, Any], out: Spec, operands: list[Spec], places: list[int],
    room: Room,
) -> list[Any]:
    """What computes a row that is no elementwise one."""
    if not out.size:
        return []
    native = None
    if op.native is not None:
        native = op.native(out, *operands, **attributes)
    if native is not None and native.kernel in ("sum", "max", "min"):
        return _along_axis(native.kernel, native.parameters, operands[0], places, room)
    if native is not None and native.kernel == "gemm":
        return [Product(out.dtype.name, native.parameters[1:], tuple(places))]
    if native is not None and native.kernel in (*BY_ROW, *BY_ELEMENT):
        return [_array(native, out, operands, places)]
    moves = _moves(op.name, attributes, out, operands)
    if moves is not None:
        return _moved(moves, out, operands, places)
    return [OnHost(op, attributes, (out, *operands), tuple(places))]


class Move(NamedTuple):
    """A copy between a contiguous array of ``shape`` and one whose elements lie elsewhere."""

    shape: tuple[int, ...]
    strides: tuple[int, ...]
    offset: int
    into: bool  # whether it is the result whose elements lie ``strides`` apart


def _strides(shape: Sequence[int]) -> list[int]:
    return [math.prod(shape[k + 1 :]) for k in range(len(shape))]


def _cut(shape: Sequence[int], cut: Any) -> tuple[tuple[int, ...], int]:
    """The strides and the offset of a slice, from (start, end, step) of each axis."""
    strides = _strides(shape)
    offset = sum(start * stride for (start, _, _), stride in zip(cut, strides, strict=True))
    return tuple(s * step for s, (_, _, step) in zip(strides, cut, strict=True)), offset


def _moves(
    name: str, attributes: dict[str, Any], out: Spec, operands: list[Spec]
) -> list[Move] | None:
    """The copies that an op consists of, one for each operand; None if it is something else."""
    shape = tuple(operands[0].shape)
    if name == "Transpose":
        strides = _strides(shape)
        return [Move(tuple(out.shape), tuple(strides[k] for k in attributes["perm"]), 0, False)]
    if name == "StridedSlice":
        return [Move(tuple(out.shape), *_cut(shape, attributes["cut"]), False)]
    if name == "StridedSliceGrad":
        return [Move(shape, *_cut(out.shape, attributes["cut"]), True)]
    if name == "Pad" and attributes["mode"] == "constant":
        strides = _strides(out.shape)
        begin = sum(b * s for (b, _), s in zip(attributes["paddings"], strides, strict=True))
        return [Move(shape, tuple(strides), begin, True)]
    if name == "ConcatV2":
        strides, begin, found = _strides(out.shape), 0, []
        axis = attributes["axis"]
        for x in operands:
            found.append(Move(tuple(x.shape), tuple(strides), begin * strides[axis], True))
            begin += x.shape[axis]
        return found
    return None


def _moved(moves: list[Move], out: Spec, operands: list[Spec], places: list[int]) -> list[Launch]:
    """Launches of copies; what none of them writes is 0."""
    dtype, found = stored(out.dtype), []
    written = sum(math.prod(move.shape) for move in moves)
    if moves[0].into and written < out.size:
        text = zeros(dtype)
        made = kernel(lambda: function(text, []), ["int64", f"*{dtype}"], f"zeros_{dtype}", text)
        found.append(Launch(made, _blocks(out.size), _threads(), (out.size,), (places[0],)))
    for move, place in zip(moves, places[1:], strict=True):
        size = math.prod(move.shape)
        if size:
            found.append(_copy(move, dtype, size, (places[0], place)))
    return found


def _copy(move: Move, dtype: str, size: int, places: tuple[int, int]) -> Launch:
    text = moved(*move)
    symbol = f"move_{dtype}_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    pointers = ["int64", f"*{dtype}", f"*{dtype}"]
    made = kernel(lambda: function(text, []), pointers, symbol, text)
    return Launch(made, _blocks(size), _threads(), (size,), places)


def _array(native: Native, out: Spec, operands: list[Spec], places: list[int]) -> Launch:
    """A whole-array kernel."""
    dtypes = [stored(spec.dtype) for spec in (out, *operands)]
    scalars = ["int64"] * (1 + len(native.parameters))
    if native.kernel.startswith("normalize"):
        scalars[-1] = "float64"  # epsilon

    def make() -> Any:
        arrays = importlib.import_module("numtape.kernels.cuda.arrays")
        return arrays.KERNELS[native.kernel](*dtypes)

    symbol = "_".join((native.kernel, *dtypes))
    made = kernel(make, [*scalars, *(f"*{dtype}" for dtype in dtypes)], symbol)
    by_row = native.kernel in BY_ROW
    blocks = max(1, min(device().blocks, native.units)) if by_row else _blocks(native.work)
    return Launch(made, blocks, _threads(), (native.units, *native.parameters), tuple(places))


def _along_axis(
    name: str, sizes: tuple[int, ...], x: Spec, places: list[int], room: Room
) -> list[Launch]:
    """A reduction of neighbouring axes: ``n`` elements that are ``inner`` apart, for each outer."""
    n, inner = sizes
    outer = x.size // (n * inner)
    dtype, item = stored(x.dtype), x.dtype.size
    pointers = [f"*{dtype}", f"*{dtype}"]
    out, source = places
    if inner == 1:
        made = _reducing("rows", name, dtype, ["int64", "int64", *pointers])
        blocks = max(1, min(device().blocks, outer))
        return [Launch(made, blocks, _threads(), (outer, n), (source, out))]
    made = _reducing("columns", name, dtype, ["int64"] * 4 + pointers)
    stretches = _stretches(outer * inner, n)
    if stretches == 1:
        blocks = _blocks(outer * inner)
        return [Launch(made, blocks, _threads(), (outer, n, inner, 1), (source, out))]
    between = room(outer * stretches * inner * item)
    first = (outer, n, inner, stretches)
    second = (outer, stretches, inner, 1)
    return [
        Launch(made, _blocks(outer * stretches * inner), _threads(), first, (source, between)),
        Launch(made, _blocks(outer * inner), _threads(), second, (between, out)),
    ]


SHORTEST = 64  # rows that are worth a thread of their own


def _stretches(columns: int, n: int) -> int:
    """Among how many threads to share a column, so that all of the GPU is busy."""
    threads: int = device().blocks * _threads()
    return max(1, min(n // SHORTEST, threads // max(1, columns)))


BLOCK = 32  # bytes that are drawn at once; as in kernels/cpu/random.py (a test compares)


def drawn(name: str, key: list[int], spec: Spec) -> DeviceArray:
    """Random numbers, drawn where they are used; see `executors.cpu.Executor.draw`."""
    dtype = spec.dtype.name

    def make() -> Any:
        return importlib.import_module("numtape.kernels.cuda.random").KERNELS[name](dtype)

    made = kernel(make, ["int64", "uint64", "uint64", f"*{dtype}"], f"{name}_{dtype}")
    gpu, blocks = device(), -(-spec.size * spec.dtype.size // BLOCK)
    memory = gpu.empty(BLOCK * blocks)
    gpu.launch(made, _blocks(blocks), _threads(), [blocks, *key, memory.address])
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
