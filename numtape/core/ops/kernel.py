"""Kernel calls as rows of the log: `Kernel`, and `KernelGrad`, its derivative.

Start at `call`. A call is computed at once, so that an exception of the kernel is raised at the
call. Its row is *packed* into float64 elements: a status, the number of the stack that the forward
sweep left for the reverse sweep (or 0), then the results one after another. A float is stored as a
float64; an int or a bool is stored as the bits of an int64.
"""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from ...errors import KernelError
from ..log.as_tensor import as_tensor
from ..log.log import VALUE, Log, local
from ..log.op import ARRAY, STOP, VARIADIC, Native, Op, defop
from ..log.record import record
from ..log.variable import Variable
from ..values.dtypes import as_dtype
from ..values.memory import Array
from ..values.spec import Spec, intern
from ..values.tensor import Tensor, of_array
from .elementwise import cast
from .movement import reshape
from .slicing import strided_slice

if TYPE_CHECKING:
    from ..loops.runtime.rows import Results

    class KernelFunction(Protocol):
        """A function that `numtape.kernel` compiles."""

        def _run(
            self, kinds: tuple[tuple[str, int], ...], argnums: tuple[int, ...], keeps_stack: bool
        ) -> Any: ...


# The status of a packed row. SHAPE_MISMATCH: the results have other types than the row reserves.
DONE, FAILED, SHAPE_MISMATCH = range(3)
HEADER_SIZE = 2  # elements before the results: the status and the number of the stack
_SCALAR_DTYPES = {float: "float64", int: "int64", bool: "bool"}  # the types Numba infers
ResultTypes = tuple[tuple[str, tuple[int, ...]], ...]  # dtype and shape of each result


class Signature(NamedTuple):
    """The attributes of a kernel call's row.

    Attributes:
      argument_types: Dtype and rank of each argument; a number has rank -1.
      differentiable: The positions of the arguments that may have adjoints.
      keeps_stack: Whether the forward sweep keeps its stack for the reverse sweep.
      results: Dtype and shape of each result.
    """

    argument_types: tuple[tuple[str, int], ...]
    differentiable: tuple[int, ...]
    keeps_stack: bool
    results: ResultTypes


def call(kernel: KernelFunction, arguments: tuple[Any, ...]) -> Any:
    """Call a kernel with arguments that include tensors or variables, and return its results.

    Raises:
      KernelError: If an argument is not a number, array or tensor that a kernel supports, or the
        kernel returns nothing.
      Exception: Any exception that the kernel raises.
    """
    log = local.log
    is_tensor = [isinstance(x, Tensor | Variable) for x in arguments]
    tensors = [_as_operand(log, x) for x in arguments]
    argument_types = tuple([(x._spec.dtype.name, x._spec.rank or -1) for x in tensors])
    differentiable = tuple(
        [j for j, x in enumerate(tensors) if is_tensor[j] and x._spec.dtype.is_floating]
    )
    recorded = bool(differentiable) and log.is_recorded()
    run = kernel._run(argument_types, differentiable, recorded)
    outcome = run.results([log.untracked_value(x) for x in tensors])
    specs = [intern(x.shape, as_dtype(x.dtype.name)) for x in outcome.arrays]
    if not log.may_need_gradients():
        return outcome.arrange([of_array(x, s) for x, s in zip(outcome.arrays, specs, strict=True)])
    result_types = _result_types(outcome.arrays)
    was_busy, log.busy = log.busy, True  # keep the row until it has its value
    try:
        y = record(
            KERNEL,
            tuple(tensors),
            kernel=kernel,
            signature=Signature(argument_types, differentiable, recorded, result_types),
        )
        if y._home is log and log.columns.state_view[y._row] != VALUE:
            packed = np.empty(y._spec.size)
            _write_packed(packed, outcome, result_types)
            log.put(y._row, packed, y._spec)
            log.columns.state_view[y._row] = VALUE
            if outcome.stack_left is not None:
                log.pending_cleanup.append(outcome.stack_left)
        log.guard_value(lambda: strided_slice(y, ((0, 1, 1),), ()))
        return outcome.arrange(_unpack(y, specs))
    finally:
        log.busy = was_busy


def _as_operand(log: Log, x: object) -> Tensor:
    """Convert an argument to a tensor of the dtype that Numba infers for it."""
    if isinstance(x, Tensor | Variable):
        return as_tensor(x)
    name = _SCALAR_DTYPES.get(type(x))
    if name is None and not isinstance(x, np.ndarray | np.generic):
        raise KernelError(
            f"a {type(x).__name__} as an argument", way="Pass numbers, NumPy arrays and tensors."
        )
    try:
        array = np.array(x, name, order="C")
    except OverflowError:
        raise KernelError(
            f"the int {x} as an argument, which takes more than 64 bits", way="Pass a float."
        ) from None
    converted = log.convert_input(x, array) if isinstance(x, np.ndarray) else array
    if isinstance(converted, Tensor):
        return converted
    try:
        return of_array(array, intern(array.shape, as_dtype(array.dtype)))
    except TypeError:
        argument = f"an argument of dtype {array.dtype}"
        raise KernelError(argument, way="Use floats or ints.") from None


@functools.cache
def _dtype_name(dtype: np.dtype[Any]) -> str:
    name: str = dtype.name  # cached: NumPy takes longer for this than a small kernel runs
    return name


def _result_types(arrays: list[Array]) -> ResultTypes:
    """Return the dtype and shape of each result."""
    return tuple([(_dtype_name(x.dtype), x.shape) for x in arrays])


def _write_packed(out: Array, outcome: Results, result_types: ResultTypes) -> None:
    """Write the header and the results of a call into a packed row."""
    if _result_types(outcome.arrays) != result_types:
        out[...], out[0] = np.nan, SHAPE_MISMATCH
        return
    out[0], out[1] = DONE, outcome.stack_left.number if outcome.stack_left is not None else 0
    offset = HEADER_SIZE
    for x in outcome.arrays:
        segment = out[offset : offset + x.size]
        if x.dtype.kind == "f":
            segment[...] = x.reshape(-1)
        else:
            segment.view(np.int64)[...] = x.reshape(-1)
        offset += x.size


def _unpack(y: Tensor, specs: list[Spec]) -> list[Tensor]:
    """Return the results in a packed row, as tensors."""
    results, offset = [], HEADER_SIZE
    for spec in specs:
        end = offset + spec.size
        if spec.dtype.is_floating:
            part = strided_slice(y, ((offset, end, 1),), tuple(spec.shape))
            results.append(part if part.dtype is spec.dtype else cast(part, spec.dtype))
        else:
            results.append(record(PART, (y,), at=offset, spec=spec))
        offset = end
    return results


def _packed_spec(op: Op, *specs: Spec, kernel: KernelFunction, signature: Signature) -> Spec:
    size = sum(math.prod(shape) for _, shape in signature.results)
    return intern((HEADER_SIZE + size,), as_dtype("float64"))


def _compute_packed(out: Array, *xs: Array, kernel: KernelFunction, signature: Signature) -> None:
    argument_types, differentiable, keeps_stack, result_types = signature
    run = kernel._run(argument_types, differentiable, keeps_stack)
    run.tend()
    try:
        outcome = run.results(list(xs))
    except Exception:  # the status reports it, and the call runs again in Python
        out[...], out[0] = np.nan, FAILED
    else:
        _write_packed(out, outcome, result_types)
        if outcome.stack_left is not None:
            outcome.stack_left.wait()


def _packed_native(
    out: Spec, *specs: Spec, kernel: KernelFunction, signature: Signature
) -> Native | None:
    run = kernel._run(*signature[:3])
    native: Native | None = run.native(out, list(specs), signature.results, False)
    return native


def _adjoints_native(
    out: Spec, *specs: Spec, kernel: KernelFunction, signature: Signature
) -> Native | None:
    run = kernel._run(*signature[:3])
    native: Native | None = run.native(out, list(specs), signature.results, True)
    return native


def _vjp(
    g: Tensor, y: Tensor, *xs: Tensor, kernel: KernelFunction, signature: Signature
) -> list[Tensor | None]:
    kernel._run(*signature[:3]).differentiable()
    packed = record(KERNEL_GRAD, (y, g, *xs), kernel=kernel, signature=signature)
    adjoints: list[Tensor | None] = [None] * len(xs)
    offset = 0
    for j in signature.differentiable:
        spec = xs[j]._spec
        end = offset + spec.size
        is_single = packed._spec.size == spec.size
        shape = tuple(spec.shape)
        part = (
            reshape(packed, shape)
            if is_single
            else strided_slice(packed, ((offset, end, 1),), shape)
        )
        adjoints[j] = part if part.dtype is spec.dtype else cast(part, spec.dtype)
        offset = end
    return adjoints


def _adjoints_spec(
    op: Op, y: Spec, g: Spec, *specs: Spec, kernel: KernelFunction, signature: Signature
) -> Spec:
    sources = [specs[j] for j in signature.differentiable]
    dtypes = {spec.dtype for spec in sources}
    dtype = dtypes.pop() if len(dtypes) == 1 else as_dtype("float64")
    return intern((sum(spec.size for spec in sources),), dtype)


def _adjoints(
    out: Array, y: Array, g: Array, *xs: Array, kernel: KernelFunction, signature: Signature
) -> None:
    if y[0] != DONE:
        out[...] = np.nan  # never read: the failed call runs again
        return
    run = kernel._run(*signature[:3])
    run.tend()
    seeds, offset = [], HEADER_SIZE
    for dtype, shape in signature.results:
        size = math.prod(shape)
        seed = g[offset : offset + size].reshape(shape)
        seeds.append(seed if dtype.startswith("float") else np.zeros(shape))
        offset += size
    offset = 0
    for adjoint in run.adjoints(list(xs), int(y[1]), seeds):
        out[offset : offset + adjoint.size] = adjoint.reshape(-1)
        offset += adjoint.size


def _part_native(out: Spec, y: Spec, at: int, spec: Spec) -> Native | None:
    return Native("calls.part", (spec.dtype.name,), (at, spec.size), 1, spec.size)


def _part(out: Array, y: Array, at: int, spec: Spec) -> None:
    out[...] = y[at : at + spec.size].view(np.int64).reshape(spec.shape)


KERNEL = defop(
    "Kernel",
    ARRAY,
    VARIADIC,
    _packed_spec,
    compute=_compute_packed,
    native=_packed_native,
    vjp=_vjp,
    on_host=True,
)
KERNEL_GRAD = defop(
    "KernelGrad",
    ARRAY,
    VARIADIC,
    _adjoints_spec,
    compute=_adjoints,
    native=_adjoints_native,
    on_host=True,
)
PART = defop(
    "KernelPart",
    ARRAY,
    1,
    lambda op, y, at, spec: spec,
    compute=_part,
    native=_part_native,
    gradient=STOP,
    on_host=True,
)
