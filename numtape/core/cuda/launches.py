"""Launches: what rows of a plan become, with kernels compiled when they are first needed."""

from __future__ import annotations

import hashlib
import importlib
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ...errors import DeviceError
from .. import settings
from ..compile.kernel_sources import kernel_source, transitive_imports
from ..log.op import Op
from ..reference.bodies import apply
from ..values.spec import Spec
from .codegen import (
    Loop,
    fill_source,
    function,
    in_turn,
    loop_source,
    memory_dtype,
    parameters,
    share,
    side_by_side,
)
from .runtime.device import device, empty
from .runtime.device_array import DeviceArray

if TYPE_CHECKING:
    from .plan import GpuPlan

_kernels: OrderedDict[tuple[str, ...], Kernel] = OrderedDict()  # those asked for last at the end
KERNELS = 2048  # that are kept: a program with ever new shapes has ever new ones
_lock = threading.RLock()
_COMPILERS = 2  # threads: while one makes PTX, which one can do at a time, the other links

Room = Callable[[int], int]  # a number for so many bytes of the arena


class KernelSource(NamedTuple):
    """What a kernel is made of: a function that makes it, its parameters, its name and text."""

    make: Callable[[], Any]
    dtypes: tuple[str, ...]
    name: str
    text: str


class Kernel:
    """A kernel that is being compiled, or was.

    Attributes:
      made: What it is made of.
      has_same_bits: Whether it computes the same bits with any number of blocks.
    """

    __slots__ = ("_begin", "_compiled", "_future", "has_same_bits", "source")

    def __init__(self, source: KernelSource, begin: Callable[[], Future[Any]]) -> None:
        self.source, self.has_same_bits = source, False
        self._begin, self._future = begin, begin()
        self._compiled: Any = None

    def get(self) -> Any:
        """What the device launches; waits for it. If it failed before, it is tried again."""
        if self._compiled is None:
            future = self._future
            if future.done() and future.exception() is not None:
                self._future = future = self._begin()
            self._compiled = future.result()
        return self._compiled


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
        result, *arrays = (np.empty(spec.shape, spec.dtype.numpy_dtype) for spec in self.specs)
        for k, array in zip(self.places[1:], arrays, strict=True):
            gpu.download(at[k], array)
        with np.errstate(all="ignore"):
            apply(self.op, result, arrays, self.attributes)
        gpu.upload(result, at[self.places[0]])


class Row(NamedTuple):
    """A row that is no elementwise one.

    Attributes:
      op: Its op.
      attributes: The op's attributes.
      out: Its spec.
      operands: Those of its operands.
      places: The its own numbers place and its operands'.
      room: Gives the number of a place for so many bytes of intermediate results.
    """

    op: Op
    attributes: dict[str, Any]
    out: Spec
    operands: list[Spec]
    places: list[int]
    room: Room


@cache
def sources() -> tuple[str, ...]:
    """The modules that kernels on the GPU are made of: all of their room, and what it imports."""
    room = settings.kernels_folder() / "cuda"
    return transitive_imports(*(f"cuda.{path.stem}" for path in room.glob("*.py")))


@cache
def _source() -> str:
    """What every kernel's key holds: the text of these modules, and of what puts them together."""
    texts = (
        Path(__file__).with_name(name).read_text("utf-8") for name in ("codegen.py", "fusion.py")
    )
    return "\n".join((kernel_source(*sources()), *texts))


@cache
def _compilers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_COMPILERS, "numtape-cuda")


def kernel(make: Callable[[], Any], dtypes: Sequence[str], name: str, text: str = "") -> Kernel:
    """What a `Launch` has for a kernel; compiled if neither memory nor disk has it.

    That goes on in other threads until it is launched.
    """
    key = (name, text, *dtypes)
    with _lock:
        entry = _kernels.get(key)
        if entry is None:
            source = _source() + text
            entry = _kernels[key] = Kernel(
                KernelSource(make, tuple(dtypes), name, text),
                lambda: _compilers().submit(device().kernel, make, list(dtypes), name, source),
            )
            if len(_kernels) > KERNELS:  # plans that have it keep it
                _kernels.popitem(last=False)
        _kernels.move_to_end(key)
        return entry


def library_kernel(
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
    compiled = kernel(lambda: function(text, []), pointers, symbol, text)
    return Launch(compiled, blocks(size), threads(), (size,), tuple(places))


def launch_plan(gpu: Any, plan: GpuPlan, at: Sequence[int]) -> None:
    """Launch all of a plan."""
    for launch in plan.launches:
        launch.run(gpu, at)


def threads() -> int:
    """Threads of a block."""
    count: int = device().threads
    return count


def most_blocks() -> int:
    """How many blocks keep the GPU busy."""
    count: int = device().blocks
    return count


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
    needed, most = -(-work // threads()), -(-work // (ROUNDS * threads()))
    most = max(FIRST, min(PARTIALS, most)) if reduced else max(PARTIALS, most)
    return max(1, min(needed, most))


def _blocks_of(loop: Loop) -> int:
    """How many blocks compute a loop."""
    return blocks(-(-math.prod(loop.shape) // share(loop)), bool(loop.reductions))


def elementwise(loop: Loop, arrays: list[int], outputs: list[int], room: Room) -> list[Launch]:
    """The kernel of a loop, and those that finish its reductions.

    ``arrays`` are the places of what it loads and stores, ``outs`` those of what it reduces.
    """
    size = math.prod(loop.shape)
    if (not size and not loop.reductions) or not (loop.stores or loop.reductions):
        return []
    text = loop_source(loop)
    reduced = [(name, loop.dtype(value).name) for name, value in loop.reductions]
    symbol = f"group_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    compiled = kernel(lambda: function(text, reduced), parameters(loop), symbol, text)
    compiled.has_same_bits = not reduced
    count = _blocks_of(loop)
    if count == 1:  # what a block leaves is the result
        return [Launch(compiled, count, threads(), (size,), (*arrays, *outputs))]
    partials = [room(8 * count) for _ in reduced]
    launches = [Launch(compiled, count, threads(), (size,), (*arrays, *partials))]
    for (name, dtype), there, out in zip(reduced, partials, outputs, strict=True):
        launches.append(_finish(name, dtype, count, there, out))
    return launches


PARTS = 32  # loops of one launch


def launch_together(loops: Sequence[tuple[Loop, list[int]]]) -> list[Launch]:
    """One launch for loops that reduce nothing, none of which needs what another one stores.

    With each come the places of its arrays.
    """
    launches: list[Launch] = []
    for begin in range(0, len(loops), PARTS):
        part = loops[begin : begin + PARTS]
        sizes = tuple(math.prod(loop.shape) for loop, _ in part)
        counts = [_blocks_of(loop) for loop, _ in part]
        text = side_by_side([loop_source(loop) for loop, _ in part], counts, threads())
        pointers = [kind for loop, _ in part for kind in parameters(loop)[1:]]
        symbol = f"groups_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
        compiled = kernel(
            partial(function, text, []), ["int64"] * len(part) + pointers, symbol, text
        )
        places = tuple(place for _, arrays in part for place in arrays)
        launches.append(Launch(compiled, sum(counts), threads(), sizes, places))
    return launches


CHAIN, ARGUMENTS = 16, 256  # launches that become one, and what it is called with
BLOCKS = 4  # of a launch whose work one block does as well, sooner than it is launched


def chain_launches(launches: Sequence[Any]) -> list[Any]:
    """The same launches, but small ones that follow each other as one of one block.

    Its threads wait for each other in between. So do launches, but that takes longer.
    """
    chains: list[Any] = []
    chain: list[Launch] = []
    for launch in (*launches, None):
        small = type(launch) is Launch and _short(launch)
        count = sum(len(one.values) + len(one.places) for one in (*chain, *[launch] * small))
        if not small or len(chain) == CHAIN or count > ARGUMENTS:
            chains += chain if len(chain) < 2 else [_chain(chain)]
            chain = []
        if small:
            chain.append(launch)
        elif launch is not None:
            chains.append(launch)
    return chains


def _short(launch: Launch) -> bool:
    """Whether a launch may be one of a chain."""
    source, most = launch.kernel.source, BLOCKS if launch.kernel.has_same_bits else 1
    # All that kernels of a chain share among threads is there at once.
    large = "shared.array" in source.text or source.name.startswith("scatter")
    return not large and launch.threads == threads() and launch.blocks <= most


def _chain(chain: Sequence[Launch]) -> Launch:
    """One launch for several."""
    sources = [launch.kernel.source for launch in chain]
    values = [[f"a{k}_{j}" for j in range(len(one.values))] for k, one in enumerate(chain)]
    places = [[f"p{k}_{j}" for j in range(len(one.places))] for k, one in enumerate(chain)]
    text = in_turn(values, places)
    parted = [(one.dtypes, len(args)) for one, args in zip(sources, values, strict=True)]
    dtypes = [kind for kinds, count in parted for kind in kinds[:count]]
    dtypes += [kind for kinds, count in parted for kind in kinds[count:]]
    source = "\n".join((text, *(f"# {one.name} {one.dtypes}\n{one.text}" for one in sources)))
    symbol = f"chain_{hashlib.sha256(source.encode()).hexdigest()[:16]}"
    compiled = kernel(
        lambda: function(text, [], [one.make() for one in sources]), dtypes, symbol, source
    )
    return Launch(
        compiled,
        1,
        threads(),
        tuple(value for one in chain for value in one.values),
        tuple(place for one in chain for place in one.places),
    )


def _finish(name: str, dtype: str, count: int, partials: int, out: int) -> Launch:
    pointers = ["int64", f"*{dtype}", f"*{dtype}"]
    compiled = library_kernel("reduce", "finish", (name, dtype), pointers)
    return Launch(compiled, 1, threads(), (count,), (partials, out))


BLOCK = 32  # bytes that are drawn at once; as in kernels/cpu/random.py (a test compares)


def draw_values(name: str, key: list[int], spec: Spec) -> DeviceArray:
    """Random numbers, drawn where they are used; see `core.cpu.executor.Executor.draw`."""
    dtype = spec.dtype.name
    compiled = library_kernel("random", name, (dtype,), ["int64", "uint64", "uint64", f"*{dtype}"])
    gpu, count = device(), -(-spec.size * spec.dtype.size // BLOCK)
    memory = empty(BLOCK * count)
    gpu.launch(compiled.get(), blocks(count), threads(), [count, *key, memory.address])
    return DeviceArray(memory, memory.address, spec.shape, spec.dtype.numpy_dtype)


def full(value: int, spec: Spec) -> DeviceArray:
    """An array with one value everywhere, made where it is used."""
    memory = empty(spec.size * spec.dtype.size)
    dtype = memory_dtype(spec.dtype)
    launch = written_out(fill_source(dtype, str(value)), "fill", dtype, spec.size, (0, 0))
    launch.run(device(), [memory.address])
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
    total = np.empty(1)
    gpu.download(memory.address, total)
    if total[0] != values.sum():
        raise DeviceError(f"A sum on {gpu.name} is {total[0]} instead of {values.sum()}.")
