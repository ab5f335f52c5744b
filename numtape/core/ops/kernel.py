"""Calls of kernels as rows of the log: `Kernel`, and `KernelGrad`, which is its derivative.

A call is computed at once, so that what a kernel raises it raises at the call. What its row holds
is *packed*: float64s, of which the first is a status, the second says what the forward sweep left
for the reverse one, and the others are the results, one behind the other. A float lies there as a
float64; an int or a bool has the bits of an int64.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

import numpy as np

from ...errors import KernelError
from ..log.log import VALUE, Log, local
from ..log.op import ARRAY, STOP, VARIADIC, Native, Op, defop
from ..log.record import record
from ..log.tensors import as_tensor
from ..log.variable import Variable
from ..values.dtypes import as_dtype
from ..values.memory import Array
from ..values.spec import Spec, intern
from ..values.tensor import Tensor, of_array
from .elementwise import cast
from .movement import reshape
from .slicing import strided_slice

DONE, FAILED, SHAPE_MISMATCH = range(3)  # a status; OTHER: results are not what the row has room for
HEADER_SIZE = 2  # what stands before the results
_SCALAR_DTYPES = {float: "float64", int: "int64", bool: "bool"}  # as Numba sees them


class Signature(NamedTuple):
    """What the row of a call says besides its operands.

    Attributes:
      kinds: Dtype and axes of each argument; -1 of a number.
      wanted: The numbers of the arguments that may have adjoints.
      kept: Whether a forward sweep leaves its stack.
      results: Dtype and shape of each result.
    """

    argument_types: tuple[tuple[str, int], ...]
    differentiable: tuple[int, ...]
    keeps_stack: bool
    results: tuple[tuple[str, tuple[int, ...]], ...]


def call(kernel: Any, arguments: tuple[Any, ...]) -> Any:
    """What a kernel returns for arguments among which there are tensors or variables.

    Raises:
      KernelError: If an argument is no number, array or tensor that a kernel may have, or it
        returns nothing.
      Exception: What the kernel raises.
    """
    log = local.log
    active = [isinstance(x, Tensor | Variable) for x in arguments]
    tensors = [_operand(log, x) for x in arguments]
    kinds = tuple([(x._spec.dtype.name, x._spec.rank or -1) for x in tensors])
    wanted = tuple([j for j, x in enumerate(tensors) if active[j] and x._spec.dtype.is_floating])
    recorded = bool(wanted) and log.is_recorded()
    run = kernel._run(kinds, wanted, recorded)
    found = run.results([log.untracked_value(x) for x in tensors])
    specs = [intern(x.shape, as_dtype(x.dtype.name)) for x in found.arrays]
    if not log.may_need_gradients():
        return found.formed([of_array(x, s) for x, s in zip(found.arrays, specs, strict=True)])
    results = _result_types(found.arrays)
    busy, log.busy = log.busy, True  # the row must stay until it has its value
    try:
        y = record(
            KERNEL,
            tuple(tensors),
            kernel=kernel,
            signature=Signature(kinds, wanted, recorded, results),
        )
        if y._home is log and log.columns.state_view[y._row] != VALUE:
            packed = np.empty(y._spec.size)
            _write_packed(packed, found, results)
            log.put(y._row, packed, y._spec)
            log.columns.state_view[y._row] = VALUE
            if found.left is not None:
                log.pending_cleanup.append(found.left)
        log.guard_value(lambda: strided_slice(y, ((0, 1, 1),), ()))
        return found.formed(_parts(y, specs))
    finally:
        log.busy = busy


def _operand(log: Log, x: Any) -> Tensor:
    """A tensor of what Numba sees in an argument."""
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
    entered = log.convert_input(x, array) if isinstance(x, np.ndarray) else array
    if isinstance(entered, Tensor):
        return entered
    try:
        return of_array(array, intern(array.shape, as_dtype(array.dtype)))
    except TypeError:
        what = f"an argument of dtype {array.dtype}"
        raise KernelError(what, way="Use floats or ints.") from None


@functools.cache
def _name(dtype: Any) -> str:
    found: str = dtype.name  # which takes NumPy longer than a small kernel runs
    return found


def _result_types(arrays: list[Array]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    """Dtype and shape of each result."""
    return tuple([(_name(x.dtype), x.shape) for x in arrays])


def _write_packed(out: Array, found: Any, results: Any) -> None:
    """Write results, and what stands before them."""
    if _result_types(found.arrays) != results:
        out[...], out[0] = np.nan, SHAPE_MISMATCH
        return
    out[0], out[1] = DONE, found.left.number if found.left is not None else 0
    at = HEADER_SIZE
    for x in found.arrays:
        part = out[at : at + x.size]
        if x.dtype.kind == "f":
            part[...] = x.reshape(-1)
        else:
            part.view(np.int64)[...] = x.reshape(-1)
        at += x.size


def _parts(y: Tensor, specs: list[Spec]) -> list[Tensor]:
    """The results in a packed row."""
    found, at = [], HEADER_SIZE
    for spec in specs:
        end = at + spec.size
        if spec.dtype.is_floating:
            part = strided_slice(y, ((at, end, 1),), tuple(spec.shape))
            found.append(part if part.dtype is spec.dtype else cast(part, spec.dtype))
        else:
            found.append(record(PART, (y,), at=at, spec=spec))
        at = end
    return found


def _packed_spec(op: Op, *specs: Spec, kernel: Any, signature: Signature) -> Spec:
    size = sum(math.prod(shape) for _, shape in signature.results)
    return intern((HEADER_SIZE + size,), as_dtype("float64"))


def _packed(out: Array, *xs: Array, kernel: Any, signature: Signature) -> None:
    kinds, wanted, kept, results = signature
    run = kernel._run(kinds, wanted, kept)
    run.tend()
    try:
        found = run.results(list(xs))
    except Exception:  # the status is looked at: who calls it as Python hears of this
        out[...], out[0] = np.nan, FAILED
    else:
        _write_packed(out, found, results)
        if found.left is not None:
            found.left.wait()


def _packed_native(out: Spec, *specs: Spec, kernel: Any, signature: Signature) -> Native | None:
    run = kernel._run(*signature[:3])
    found: Native | None = run.native(out, list(specs), signature.results, False)
    return found


def _adjoints_native(out: Spec, *specs: Spec, kernel: Any, signature: Signature) -> Native | None:
    run = kernel._run(*signature[:3])
    found: Native | None = run.native(out, list(specs), signature.results, True)
    return found


def _vjp(
    g: Tensor, y: Tensor, *xs: Tensor, kernel: Any, signature: Signature
) -> list[Tensor | None]:
    kernel._run(*signature[:3]).differentiable()
    packed = record(KERNEL_GRAD, (y, g, *xs), kernel=kernel, signature=signature)
    found: list[Tensor | None] = [None] * len(xs)
    at = 0
    for j in signature.differentiable:
        spec = xs[j]._spec
        end = at + spec.size
        whole = packed._spec.size == spec.size
        shape = tuple(spec.shape)
        part = reshape(packed, shape) if whole else strided_slice(packed, ((at, end, 1),), shape)
        found[j] = part if part.dtype is spec.dtype else cast(part, spec.dtype)
        at = end
    return found


def _adjoints_spec(
    op: Op, y: Spec, g: Spec, *specs: Spec, kernel: Any, signature: Signature
) -> Spec:
    wanted = [specs[j] for j in signature.differentiable]
    dtypes = {spec.dtype for spec in wanted}
    dtype = dtypes.pop() if len(dtypes) == 1 else as_dtype("float64")
    return intern((sum(spec.size for spec in wanted),), dtype)


def _adjoints(
    out: Array, y: Array, g: Array, *xs: Array, kernel: Any, signature: Signature
) -> None:
    if y[0] != DONE:
        out[...] = np.nan  # nobody looks: the call runs again
        return
    run = kernel._run(*signature[:3])
    run.tend()
    seeds, at = [], HEADER_SIZE
    for dtype, shape in signature.results:
        size = math.prod(shape)
        seed = g[at : at + size].reshape(shape)
        seeds.append(seed if dtype.startswith("float") else np.zeros(shape))
        at += size
    at = 0
    for adjoint in run.adjoints(list(xs), int(y[1]), seeds):
        out[at : at + adjoint.size] = adjoint.reshape(-1)
        at += adjoint.size


def _part_native(out: Spec, y: Spec, at: int, spec: Spec) -> Native | None:
    return Native("calls.part", (spec.dtype.name,), (at, spec.size), 1, spec.size)


def _part(out: Array, y: Array, at: int, spec: Spec) -> None:
    out[...] = y[at : at + spec.size].view(np.int64).reshape(spec.shape)


KERNEL = defop(
    "Kernel",
    ARRAY,
    VARIADIC,
    _packed_spec,
    compute=_packed,
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
