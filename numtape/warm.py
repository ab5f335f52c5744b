"""``python -m numtape cache warm``: compiles the units that do not depend on a user's program.

These are the passes, the machine code of fast paths, and for each dtype the kernels of arrays,
reductions, random draws and elementwise ops. Several processes compile them, because a compiler
holds the GIL.
"""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from .core import settings
from .core.compile import array_kernels, cache, lane_kernels, passes
from .core.log.op import CODES, ELEMENTWISE
from .core.values.dtypes import as_dtype
from .core.values.spec import intern
from .errors import OpError

_REDUCTIONS = ("sum", "max", "min")
_REDUCTION_PARTS = ("columns", "rows", "short_rows")  # see `kernels.cpu.reduce`
# Kernels of a float dtype, by module of `kernels.cpu`. Those that compile longest come first.
_FLOAT_KERNELS = {
    "conv": (
        "by_input",
        "forward",
        "by_filter",
        "depthwise_by_input",
        "depthwise_forward",
        "depthwise_by_filter",
    ),
    "pool": ("largest_spread", "largest", "largest_taken", "mean", "mean_spread"),
    "": (
        "log_softmax",
        "log_softmax_grad",
        "softmax",
        "softmax_grad",
        "normalize",
        "normalize_grad",
        *(f"{name}_{part}" for name in _REDUCTIONS for part in _REDUCTION_PARTS),
    ),
    "small_matmul": ("product",),
    "products": ("transposed", "panels"),
    "adjoint_sums": ("slices", "products"),
    "along": ("cumsum", "recurrence"),
    "determinants": ("det", "log_det"),
    "systems": ("factor", "lu_solve"),
    "philox": ("uniform", "normal", "truncated", "gamma"),
    "random": ("numbered",),
}
# Kernels that need an index, too, and kernels that copy elements of one size.
_INDEXED_KERNELS = (
    "scatter_add",
    "along.argmax",
    "along.argmin",
    *(f"updates.{name}" for name in ("add", "sub", "mul", "div", "max", "min")),
)
# Those of orders compute int32 numbers.
_ORDER_KERNELS = ("sorting.few", "sorting.many")
_COPYING_KERNELS = (
    "slices.part",
    "slices.among_zeros",
    "slices.join",
    "slices.interleave",
    "slices.roll",
)
_INDEX_DTYPES = ("int32", "int64")
_INTEGER_OPS = {
    "AddV2",
    "Sub",
    "Mul",
    "Neg",
    "Maximum",
    "Minimum",
    "Equal",
    "NotEqual",
    "Less",
    "LessEqual",
    "Greater",
    "GreaterEqual",
    "RandomShuffle",
}


def _compile_fast_paths() -> None:
    """Compile the passes, and what records, evaluates and replays with machine code."""
    from .core.cpu import repeated_evaluation
    from .core.derive.repeated_gradients import describe_backend
    from .core.native import patch
    from .core.replay import repeated_calls
    from .core.replay.observe import guards
    from .function.function import Function

    for unit in passes.UNITS:
        passes.addresses(unit)
    patch.enable_from_settings()
    patch.describe()
    repeated_evaluation.describe()
    describe_backend()
    repeated_calls.describe_executor(Function)
    guards.compiled_pass()


def _compile_elementwise(number: int, operands: Sequence[str], **attributes: object) -> None:
    """Compile an elementwise op for operands of these dtypes, if it takes them."""
    op, dtypes = CODES.ops[number], tuple(map(as_dtype, operands))
    try:
        result = op.spec(op, *[intern((2,), dtype) for dtype in dtypes], **attributes)
    except (OpError, TypeError):  # it takes other dtypes, or has other attributes
        return
    if not result.wide:
        lane_kernels.compile_lane(op, dtypes, result.dtype)


def _elementwise_jobs(dtype: str) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield the elementwise ops of a float dtype, and casts from and to it."""
    casts = [(dtype, other) for other in ("bool", *_INDEX_DTYPES)]
    casts += [(other, dtype) for dtype, other in casts]
    for number, op in enumerate(CODES.ops):
        if op.kind != ELEMENTWISE or not 1 <= op.arity <= 3:
            continue
        compile_op = partial(_compile_elementwise, number)
        yield f"{op.name} {dtype}", partial(compile_op, [dtype] * op.arity)
        if op.name == "BroadcastTo":
            yield f"{op.name} {dtype}", partial(compile_op, [dtype], shape=(2,))
        elif op.name == "SelectV2":
            yield f"{op.name} {dtype}", partial(compile_op, ["bool", dtype, dtype])
        elif op.name == "Cast":
            for source, target in casts:
                if (target == "bool") != (op.body == "cast(x)"):  # there is another op for bool
                    cast = partial(compile_op, [source], dtype=target)
                    yield f"{op.name} {source} {target}", cast
        elif op.name.startswith("Logical"):
            yield f"{op.name} bool", partial(compile_op, ["bool"] * op.arity)
        elif op.name in _INTEGER_OPS:
            for integer in _INDEX_DTYPES:
                yield f"{op.name} {integer}", partial(compile_op, [integer] * op.arity)


def jobs(dtypes: Sequence[str]) -> Iterator[tuple[str, Callable[[], object]]]:
    """Yield names of units, or of sets of units, and the functions that compile them."""
    kernel = array_kernels.array_kernel
    yield "fast paths", _compile_fast_paths
    for dtype in dtypes:
        for module, names in _FLOAT_KERNELS.items():
            for name in names:
                full_name = f"{module}.{name}".lstrip(".")
                yield f"{full_name} {dtype}", partial(kernel, full_name, (dtype,))
        for index in _INDEX_DTYPES:
            for name in _INDEXED_KERNELS:
                yield f"{name} {dtype} {index}", partial(kernel, name, (dtype, index))
        for name in _ORDER_KERNELS:
            yield f"{name} {dtype}", partial(kernel, name, (dtype, "int32"))
        for name, result in (("philox.poisson", dtype), ("philox.categorical", "int64")):
            yield f"{name} {result} {dtype}", partial(kernel, name, (result, dtype))
        for name in _REDUCTIONS:
            yield f"runs {name} {dtype}", partial(array_kernels.runs_kernel, name, dtype)
            yield f"rows {name} {dtype}", partial(array_kernels.rows_kernel, name, dtype)
            yield f"columns {name} {dtype}", partial(array_kernels.columns_kernel, name, dtype)
        for name in ("uniform", "normal"):
            yield f"random {name} {dtype}", partial(array_kernels.random_kernel, name, (dtype,))
        yield from _elementwise_jobs(dtype)
    for name in ("gemm", "philox.skip"):
        yield name, partial(kernel, name, ())
    for name in ("drawn", "state", "permutation"):
        yield f"random {name}", partial(array_kernels.random_kernel, name, ())
    for name in ("min", "max"):  # of conditions
        for part in _REDUCTION_PARTS:
            yield f"{name}_{part} uint8", partial(kernel, f"{name}_{part}", ("uint8",))
    for index in _INDEX_DTYPES:
        for name in ("gather", "philox.integers", "philox.between"):
            yield f"{name} {index}", partial(kernel, name, (index,))
        yield f"random integers {index}", partial(array_kernels.random_kernel, "integers", (index,))
    for size in sorted({8 * as_dtype(dtype).size for dtype in dtypes}):
        for name in _COPYING_KERNELS:
            yield f"{name} uint{size}", partial(kernel, name, (f"uint{size}",))
        for name in ("pick", "place", "updates.update"):
            for index in _INDEX_DTYPES:
                dtypes_of_copy = f"uint{size}", index
                yield f"{name} uint{size} {index}", partial(kernel, name, dtypes_of_copy)


def serve(dtypes: Sequence[str]) -> None:
    """Compile the jobs whose numbers standard input lists; write a line after each."""
    cache.hide_announcement()
    compilers = [compile_unit for _, compile_unit in jobs(dtypes)]
    for line in sys.stdin:
        compilers[int(line)]()
        sys.stdout.write("done\n")
        sys.stdout.flush()


def _drive(dtypes: Sequence[str], numbers: Iterator[int], failures: list[str]) -> None:
    """Start a process and give it jobs until none is left."""
    names = [name for name, _ in jobs(dtypes)]
    script = (
        f"import sys; sys.path.insert(0, {str(settings.PACKAGE.parent)!r}); "
        f"from numtape.warm import serve; serve({tuple(dtypes)!r})"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        for number in numbers:
            process.stdin.write(f"{number}\n")
            process.stdin.flush()
            if process.stdout.readline() != "done\n":
                failures.append(names[number])
                return
        process.stdin.close()


def warm(dtypes: Sequence[str] = ("float32",), processes: int | None = None) -> list[str]:
    """Fill the cache.

    Args:
      dtypes: The float dtypes of kernels.
      processes: The number of compiling processes; one a core by default.

    Returns:
      The names of units that could not be compiled.

    Raises:
      RuntimeError: If the cache folder cannot be written to.
    """
    if not cache.writable():
        raise RuntimeError(f"The cache folder {settings.cache_dir()} cannot be written to.")
    # Taking the next number is atomic.
    numbers, failures = iter(range(sum(1 for _ in jobs(dtypes)))), list[str]()
    threads = [
        threading.Thread(target=_drive, args=(dtypes, numbers, failures))
        for _ in range(processes or os.cpu_count() or 1)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return failures
