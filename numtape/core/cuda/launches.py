"""Launches: a kernel with its arguments. Kernels compile in background threads when first needed.

Rows of a plan become `Launch`, `Product` or `OnHost` records, each with a method ``run``. `kernel`
looks a kernel up or starts its compilation; `elementwise` makes the launches of a `KernelLoop`.
"""

from __future__ import annotations

import hashlib
import importlib
import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from ...errors import DeviceError
from ...kernels.constants import RANDOM_BLOCK
from .. import settings
from ..compile.kernel_sources import kernel_source, transitive_imports
from ..log.op import Op
from ..reference.bodies import apply
from ..values.spec import Spec
from .codegen import (
    KernelLoop,
    fill_source,
    function,
    in_turn,
    loop_source,
    memory_dtype,
    parameters,
    share,
    side_by_side,
)
from .runtime.device import DeviceArray, device, empty

if TYPE_CHECKING:
    from .runtime.driver import Driver
    from .runtime.simulator import Simulator

_kernels: OrderedDict[tuple[str, ...], CudaKernel] = OrderedDict()  # least recently used first
KERNELS = 2048  # most cached kernels: programs whose shapes keep changing need ever new ones
_lock = threading.RLock()
_COMPILERS = 2  # threads: one makes PTX, which is serialized by a lock, while the other links

Reserve = Callable[[int], int]  # reserves so many bytes of the arena, returns the place number


class KernelSource(NamedTuple):
    """The origin of a kernel: a function that makes it, its parameter dtypes, its name and text."""

    make: Callable[[], Any]
    dtypes: tuple[str, ...]
    name: str
    text: str


class CudaKernel:
    """A kernel that has been compiled or is being compiled.

    Attributes:
      source: Its `KernelSource`.
      has_same_bits: Whether its results are the same bits with any number of blocks.
    """

    __slots__ = ("_begin", "_compiled", "_future", "has_same_bits", "source")

    def __init__(self, source: KernelSource, begin: Callable[[], Future[Any]]) -> None:
        self.source, self.has_same_bits = source, False
        self._begin, self._future = begin, begin()
        self._compiled: Any = None

    def get(self) -> Any:
        """Wait for the compiled kernel and return it. A compilation that failed is retried."""
        if self._compiled is None:
            future = self._future
            if future.done() and future.exception() is not None:
                self._future = future = self._begin()
            self._compiled = future.result()
        return self._compiled


class Launcher(Protocol):
    """Launches kernels and products: a device, or the recorder of a graph."""

    def launch(self, kernel: Any, blocks: int, threads: int, args: Sequence[int]) -> None:
        """Launch a kernel."""

    def gemm(self, dtype: str, scalars: Sequence[int], out: int, x: int, y: int) -> None:
        """Launch a product of matrices; see `runtime.driver.Driver.gemm`."""


class Runnable(Protocol):
    """A step of a plan, such as a `Launch`, a `Product`, or an op `OnHost`."""

    def run(self, gpu: Any, at: Sequence[int]) -> None:
        """Run the step. ``at`` has the address of each place."""


class Launch(NamedTuple):
    """A kernel and its arguments: values, then the addresses of places, given by number."""

    kernel: CudaKernel
    blocks: int
    threads: int
    values: tuple[int, ...]
    places: tuple[int, ...]

    def run(self, gpu: Launcher, at: Sequence[int]) -> None:
        """Launch the kernel. ``at`` has the address of each place."""
        args = [*self.values, *(at[k] for k in self.places)]
        gpu.launch(self.kernel.get(), self.blocks, self.threads, args)


class Product(NamedTuple):
    """A product of matrices, computed by cuBLAS."""

    dtype: str
    scalars: tuple[int, ...]
    places: tuple[int, ...]

    def run(self, gpu: Launcher, at: Sequence[int]) -> None:
        """Launch the product."""
        gpu.gemm(self.dtype, self.scalars, *(at[k] for k in self.places))


class Addresses(list[int]):
    """The addresses of a plan's places, by place number.

    Attributes:
      host: The bits of single elements that are on the host as well, by place number. Steps on the
        host read them without waiting for the GPU.
    """

    def __init__(self, addresses: Iterable[int] = ()) -> None:
        super().__init__(addresses)
        self.host: dict[int, int] = {}


class OnHost(NamedTuple):
    """An op without a kernel: NumPy computes it on the host, from copies of its operands."""

    op: Op
    attributes: dict[str, Any]
    specs: tuple[Spec, ...]
    places: tuple[int, ...]

    def run(self, gpu: Driver | Simulator, at: Sequence[int]) -> None:
        """Download the operands, compute the op and upload the result."""
        result, *arrays = (np.empty(spec.shape, spec.dtype.numpy_dtype) for spec in self.specs)
        for k, array in zip(self.places[1:], arrays, strict=True):
            gpu.download(at[k], array)
        with np.errstate(all="ignore"):
            apply(self.op, result, arrays, self.attributes)
        gpu.upload(result, at[self.places[0]])


class LaunchRow(NamedTuple):
    """A row that is not elementwise.

    Attributes:
      op: Its op.
      attributes: The op's attributes.
      out: The spec of the result.
      operands: The specs of the operands.
      places: The place numbers of the result and the operands.
      reserve: Reserves so many bytes for intermediate results, and returns their place number.
    """

    op: Op
    attributes: dict[str, Any]
    out: Spec
    operands: list[Spec]
    places: list[int]
    reserve: Reserve


@cache
def sources() -> tuple[str, ...]:
    """The kernel modules of ``kernels/cuda``, and all modules they import."""
    folder = settings.kernels_folder() / "cuda"
    return transitive_imports(*(f"cuda.{path.stem}" for path in folder.glob("*.py")))


@cache
def _source() -> str:
    """The part of every kernel's key: the text of `sources` and of the code generators."""
    texts = (
        Path(__file__).with_name(name).read_text("utf-8") for name in ("codegen.py", "fusion.py")
    )
    return "\n".join((kernel_source(*sources()), *texts))


@cache
def _compilers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_COMPILERS, "numtape-cuda")


def kernel(make: Callable[[], Any], dtypes: Sequence[str], name: str, text: str = "") -> CudaKernel:
    """Return the kernel that ``make`` makes, from the cache in memory or on disk if possible.

    Otherwise it is compiled in another thread; `CudaKernel.get` waits for it.
    """
    key = (name, text, *dtypes)
    with _lock:
        entry = _kernels.get(key)
        if entry is None:
            source = _source() + text
            entry = _kernels[key] = CudaKernel(
                KernelSource(make, tuple(dtypes), name, text),
                lambda: _compilers().submit(device().kernel, make, list(dtypes), name, source),
            )
            if len(_kernels) > KERNELS:  # plans that use the evicted kernel keep it alive
                _kernels.popitem(last=False)
        _kernels.move_to_end(key)
        return entry


def library_kernel(
    module: str, name: str, arguments: Sequence[str], dtypes: Sequence[str]
) -> CudaKernel:
    """A kernel from a module of ``numtape.kernels.cuda``, made for these arguments."""

    def make() -> Any:
        kernels = importlib.import_module(f"numtape.kernels.cuda.{module}").KERNELS
        return kernels[name](*arguments)

    return kernel(make, dtypes, "_".join((module, name, *arguments)))


def written_out(
    text: str, name: str, dtype: str, size: int, places: Sequence[int], *others: str
) -> Launch:
    """The launch of a kernel given as text, ``kernel(n, out, x, ...)``.

    ``out`` and ``x`` have dtype ``dtype``; ``others`` are the dtypes of further arrays.
    """
    symbol = f"{name}_{dtype}_{hashlib.sha256(text.encode()).hexdigest()[:16]}"
    pointers = ["int64", f"*{dtype}", f"*{dtype}", *(f"*{other}" for other in others)]
    compiled = kernel(lambda: function(text, []), pointers, symbol, text)
    return Launch(compiled, blocks(size), threads(), (size,), tuple(places))


def launch_all(gpu: Launcher, launches: Iterable[Runnable], at: Sequence[int]) -> None:
    """Run launches in order. ``at`` are the addresses of their places."""
    for launch in launches:
        launch.run(gpu, at)


def threads() -> int:
    """How many threads a block has."""
    count: int = device().threads
    return count


def most_blocks() -> int:
    """How many blocks keep the GPU busy."""
    count: int = device().blocks
    return count


ROUNDS = 8  # units per thread if there are many: amortizes the startup of a block
FIRST = 1024  # blocks that a GPU may run concurrently
PARTIALS = 4096  # most partial results for the one block that finishes a reduction


def blocks(work: int, reduced: bool = False) -> int:
    """How many blocks share ``work`` units, where a thread processes one unit at a time.

    There are many more blocks than run concurrently, so that the GPU stays busy to the end. Blocks
    that write partial results (``reduced``) are fewer. Their number depends on the work alone, so
    the bits of reductions are reproducible.
    """
    if settings.simulated():
        return max(1, min(most_blocks(), -(-work // threads())))
    needed, most = -(-work // threads()), -(-work // (ROUNDS * threads()))
    most = max(FIRST, min(PARTIALS, most)) if reduced else max(PARTIALS, most)
    return max(1, min(needed, most))


def _blocks_of(loop: KernelLoop) -> int:
    """How many blocks a loop gets."""
    return blocks(-(-math.prod(loop.shape) // share(loop)), bool(loop.reductions))


def elementwise(
    loop: KernelLoop, arrays: list[int], outputs: list[int], reserve: Reserve
) -> list[Launch]:
    """The launch of a loop, and the launches that finish its reductions.

    ``arrays`` are the place numbers of its loads and stores, ``outputs`` those of its reductions.
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
    if count == 1:  # the only partial result is the result
        return [Launch(compiled, count, threads(), (size,), (*arrays, *outputs))]
    partials = [reserve(8 * count) for _ in reduced]
    launches = [Launch(compiled, count, threads(), (size,), (*arrays, *partials))]
    for (name, dtype), there, out in zip(reduced, partials, outputs, strict=True):
        launches.append(_finish(name, dtype, count, there, out))
    return launches


PARTS = 32  # most loops of one launch


def launch_together(loops: Sequence[tuple[KernelLoop, list[int]]]) -> list[Launch]:
    """Launches that each compute up to ``PARTS`` independent loops without reductions.

    Each loop comes with the place numbers of its arrays.
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


CHAIN, ARGUMENTS = 16, 256  # most launches, and most arguments, of a chain
# Larger launches are not chained, because one block would take longer for them than a launch takes.
MAX_CHAINED_BLOCKS = 4


def chain_launches(launches: Sequence[Any]) -> list[Any]:
    """Replace runs of small launches by one launch of one block each.

    A barrier between them replaces the order of launches, and is faster.
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
    """Whether a launch is small enough for a chain."""
    source, most = launch.kernel.source, MAX_CHAINED_BLOCKS if launch.kernel.has_same_bits else 1
    # A chain needs the shared memory of all its kernels together.
    large = "shared.array" in source.text or source.name.startswith("scatter")
    return not large and launch.threads == threads() and launch.blocks <= most


def _chain(chain: Sequence[Launch]) -> Launch:
    """Merge several launches into one."""
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


def draw_values(name: str, key: list[int], spec: Spec) -> DeviceArray:
    """Draw random numbers on the GPU; see `core.cpu.executor.CpuExecutor.draw`."""
    dtype = spec.dtype.name
    compiled = library_kernel("random", name, (dtype,), ["int64", "uint64", "uint64", f"*{dtype}"])
    gpu, count = device(), -(-spec.size * spec.dtype.size // RANDOM_BLOCK)
    memory = empty(RANDOM_BLOCK * count)
    gpu.launch(compiled.get(), blocks(count), threads(), [count, *key, memory.address])
    return DeviceArray(memory, memory.address, spec.shape, spec.dtype.numpy_dtype)


def full(value: int, spec: Spec) -> DeviceArray:
    """An array filled with one value, made on the GPU."""
    memory = empty(spec.size * spec.dtype.size)
    dtype = memory_dtype(spec.dtype)
    launch = written_out(fill_source(dtype, str(value)), "fill", dtype, spec.size, (0, 0))
    launch.run(device(), [memory.address])
    return DeviceArray(memory, memory.address, spec.shape, spec.dtype.numpy_dtype)


def probe(gpu: Driver | Simulator) -> None:
    """Run a kernel and check its result.

    Raises:
      DeviceError: If the result is wrong.
    """
    values = np.arange(1, 101, dtype=np.float64)
    memory = gpu.empty(values.nbytes)
    gpu.upload(values, memory.address)
    _finish("sum", "float64", values.size, 0, 0).run(gpu, [memory.address])
    total = np.empty(1)
    gpu.download(memory.address, total)
    if total[0] != values.sum():
        raise DeviceError(f"A sum on {gpu.name} is {total[0]} instead of {values.sum()}.")
