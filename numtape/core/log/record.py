"""Recording: the functions behind every op, which append one row and return a tensor.

This path runs once an op, in Python, so it does no more than necessary: the shape and dtype rules
of an op run once for each combination of operand specs.

A signal handler or a finalizer may record or evaluate in the middle of all this, and thereby make
the log start again at row 0. A row is therefore appended in an atomic block (see
`core.values.intern_table`). The block first checks that the operands' rows are still valid: a log
that starts again has a new list of tensors, `Log.tensors`. If the list is another one, or the log
is full, the function starts over. Up to that point it has only appended unreferenced rows.

`unary`, `binary`, `ternary`, `append` and `_try_append` each contain such a block: one more call
would cost a tenth of an op, and a call in this block would be an interruption point.

For the usual operands machine code replaces `unary`, `binary` and `ternary`. It runs the same steps
(`core.native.recorder`); keep both in sync. Tests compare them.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, overload

from ...errors import InvalidArgumentError
from .. import settings
from ..cpython.version import CALLS_USE_VECTORCALL
from ..values.composite import recover
from ..values.intern_table import WeakRefs, clearable_cache
from ..values.memory import view
from ..values.spec import Spec
from ..values.tensor import Tensor
from .log import Log, local
from .op import VARIADIC, Op, OpCode
from .variable import Variable

if TYPE_CHECKING:
    from ..values.annotations import TensorLike


class Recorder(Protocol):
    """A function that records one op."""

    op: Op

    def __call__(self, *operands: TensorLike, name: str | None = None) -> Tensor:
        """Append one row."""


class Unary(Recorder, Protocol):
    """The type of recorders of one operand, passed by position or under its TensorFlow name."""

    @overload  # type: ignore[override]
    def __call__(self, x: TensorLike, /, name: str | None = None) -> Tensor: ...
    @overload
    def __call__(self, *, x: TensorLike, name: str | None = None) -> Tensor: ...
    @overload
    def __call__(self, *, features: TensorLike, name: str | None = None) -> Tensor: ...
    @overload
    def __call__(self, *, input: TensorLike, name: str | None = None) -> Tensor: ...
    @overload
    def __call__(self, *, tensor: TensorLike, name: str | None = None) -> Tensor: ...


class Binary(Recorder, Protocol):
    """The type of recorders of two operands."""

    @overload  # type: ignore[override]
    def __call__(self, x: TensorLike, y: TensorLike, /, name: str | None = None) -> Tensor: ...
    @overload
    def __call__(self, x: TensorLike, /, *, y: TensorLike, name: str | None = None) -> Tensor: ...
    @overload
    def __call__(self, a: TensorLike, /, *, x: TensorLike, name: str | None = None) -> Tensor: ...
    @overload
    def __call__(self, *, x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor: ...


def unary(op: Op, **attributes: Any) -> Recorder:
    """Return the function that records an op of one operand with these attributes."""
    code = op.code(attributes)
    results: dict[Spec, Spec] = clearable_cache()

    def record(x: TensorLike, name: str | None = None) -> Tensor:
        log = local.log
        tensors = log.tensors
        if type(x) is Tensor and x._home is log:
            a = x._row
            sx = x._spec
        else:
            try:
                a, sx = log.row_of(x, None, op.name)
            except Exception:
                return recover(op, x)  # type: ignore[no-any-return]
        try:
            spec = results[sx]
        except KeyError:
            spec = results[sx] = op.spec(op, sx, **attributes)
        tensor = Tensor()
        # atomic: see core.values.intern_table
        n = log.n
        if n < log.limit and log.tensors is tensors:
            log.code[n] = code
            log.a[n] = a
            log.spec[n] = spec.id
            log.n = n + 1
            tensor._home = log
            tensor._row = n
            tensor._spec = spec
            tensors.append(tensor)
            # end atomic
            return tensor
        log.ensure_capacity()
        return record(x)

    return publish_recorder(record, op, _make_unary_stub)


def binary(op: Op, **attributes: Any) -> Recorder:
    """Return the function that records an op of two operands with these attributes.

    An operand that is not a tensor takes the dtype of the other one.
    """
    code = op.code(attributes)
    results: dict[tuple[Spec, Spec], Spec] = clearable_cache()
    same_spec_results: dict[Spec, Spec] = clearable_cache()

    def record(x: Any, y: Any, name: str | None = None) -> Tensor:
        log = local.log
        tensors = log.tensors
        operand_type = type(x)
        if operand_type is Tensor and x._home is log:
            a = x._row
            sx = x._spec
        elif operand_type is Variable and (read := x._read) is not None and read[0] is log:
            a = read[1]
            sx = x._spec
        else:
            try:
                a, sx = log.row_of(x, spec_of(y), op.name)
            except Exception:
                return recover(op, x, y)  # type: ignore[no-any-return]
        operand_type = type(y)
        if operand_type is Tensor and y._home is log:
            b = y._row
            sy = y._spec
        elif operand_type is Variable and (read := y._read) is not None and read[0] is log:
            b = read[1]
            sy = y._spec
        else:
            try:
                b, sy = log.row_of(y, sx, op.name)
            except Exception:
                return recover(op, x, y)  # type: ignore[no-any-return]
        try:
            spec = same_spec_results[sx] if sx is sy else results[sx, sy]
        except KeyError:
            spec = op.spec(op, sx, sy, **attributes)
            if sx is sy:
                same_spec_results[sx] = spec
            else:
                results[sx, sy] = spec
        tensor = Tensor()
        # atomic: see core.values.intern_table
        n = log.n
        if n < log.limit and log.tensors is tensors:
            log.code[n] = code
            log.a[n] = a
            log.b[n] = b
            log.spec[n] = spec.id
            log.n = n + 1
            tensor._home = log
            tensor._row = n
            tensor._spec = spec
            tensors.append(tensor)
            # end atomic
            return tensor
        log.ensure_capacity()
        return record(x, y)

    return publish_recorder(record, op, _make_binary_stub)


def make_reflected(record: Recorder) -> Any:
    """Return the reflected operator of a binary function: ``y op x``."""

    def reflect(x: TensorLike, y: TensorLike) -> Tensor:
        return record(y, x)

    offer_to_native(reflect)
    return reflect


def record_if_inexact(record: Recorder, otherwise: Callable[..., Tensor]) -> Any:
    """Return an operator that records an op if its first operand is a float or complex tensor."""

    def dispatch(x: TensorLike, y: TensorLike, *more: object) -> Tensor:
        if type(x) is Tensor and x._spec.inexact and not more:
            return record(x, y)
        return otherwise(x, y, *more)

    offer_to_native(dispatch)
    return dispatch


def record_reflected_if_inexact(record: Recorder, otherwise: Callable[..., Tensor]) -> Any:
    """Return a reflected operator, ``y op x``, that records an op for a number ``y``.

    ``x`` must be a float or complex tensor.
    """

    def dispatch(x: TensorLike, y: TensorLike) -> Tensor:
        if type(x) is Tensor and x._spec.inexact and (type(y) is float or type(y) is int):
            return record(y, x)
        return otherwise(x, y)

    offer_to_native(dispatch)
    return dispatch


# Functions that machine code can replace. `core.native` replaces `offer_to_native` to receive
# functions that are added later.
PATCHABLE: WeakRefs[Any] = WeakRefs()
offer_to_native: Callable[[Any], None] = PATCHABLE.add
_NEEDS_STUB = not CALLS_USE_VECTORCALL and settings.record() != "python"


def publish_recorder(record: Any, op: Op, make_stub: Callable[[Any], Any]) -> Recorder:
    """Finish a recorder: add its op and offer it to `core.native`.

    Up to Python 3.11 a call from Python code to a Python function always runs as Python. There, if
    recorders in machine code are enabled, callers get a stub that calls the recorder.
    """
    if _NEEDS_STUB:
        record = make_stub(record)
    record.op = op
    offer_to_native(record)
    recorder: Recorder = record
    return recorder


def _make_unary_stub(record_row: Callable[..., Any]) -> Any:
    def record(x: TensorLike, name: str | None = None) -> Tensor:
        return record_row(x)  # type: ignore[no-any-return]

    return record


def _make_binary_stub(record_row: Callable[..., Any]) -> Any:
    def record(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
        return record_row(x, y)  # type: ignore[no-any-return]

    return record


def spec_of(value: object) -> Spec | None:
    """Return the spec of a tensor or variable, or None for any other value."""
    if type(value) is Tensor or isinstance(value, Variable):
        return value._spec
    return None


def append(
    code: OpCode, spec: Spec, x: Any, op: Op, number: tuple[int, Spec] | None = None
) -> Tensor:
    """Append a row of one operand whose code and spec are known.

    The second operand, if there is one, is ``number``, a number and its spec.
    """
    log = local.log
    tensors = log.tensors
    operand_type = type(x)
    if operand_type is Tensor and x._home is log:
        a = x._row
    elif operand_type is Variable and (read := x._read) is not None and read[0] is log:
        a = read[1]
    else:
        a, _ = log.row_of(x, None, op.name)
    b = None if number is None else log.constant(*number)
    code_id = code.id
    tensor = Tensor()
    # atomic: see core.values.intern_table
    n = log.n
    if n < log.limit and log.tensors is tensors:
        log.code[n] = code_id
        log.a[n] = a
        if b is not None:
            log.b[n] = b
        log.spec[n] = spec.id
        log.n = n + 1
        tensor._home = log
        tensor._row = n
        tensor._spec = spec
        tensors.append(tensor)
        # end atomic
        return tensor
    log.ensure_capacity()
    return append(code, spec, x, op, number)


# Op codes and result specs by op, operand specs and attributes.
_codes_and_specs: dict[tuple[Any, ...], tuple[OpCode, Spec]] = clearable_cache()


def record(op: Op, operands: tuple[Any, ...], **attributes: Any) -> Tensor:
    """Append a row of any op.

    Args:
      op: The op.
      operands: Tensors, variables, NumPy or Python values. Values that are not tensors take the
        dtype of the first tensor among the operands.
      **attributes: The op's attributes, all hashable, always in the same order.
    """
    while True:
        log = local.log
        tensors = log.tensors
        rows, specs = [], []
        like: Spec | None = None
        for x in operands:
            if type(x) is Tensor and x._home is log:
                row, spec = x._row, x._spec
            else:
                log.reserve(len(operands))
                if like is None and spec_of(x) is None:  # it may come before all tensors
                    like = next(
                        (y_spec for y in operands if (y_spec := spec_of(y)) is not None), None
                    )
                row, spec = log.row_of(x, like, op.name)
            like = like or spec
            rows.append(row)
            specs.append(spec)
        tensor = _try_append(log, tensors, op, rows, specs, attributes)
        if tensor is not None:
            return tensor
        log.ensure_capacity()


def _try_append(
    log: Log,
    tensors: list[Tensor],
    op: Op,
    rows: list[int],
    specs: list[Spec],
    attributes: dict[str, Any],
) -> Tensor | None:
    """Append a row. Return None if the operands' rows are no longer valid or the log is full."""
    key = (op, *specs, *attributes.items())
    try:
        op_code, spec = _codes_and_specs[key]
    except KeyError:
        # The code of a variadic op includes the specs, so that adjoint templates depend on them.
        op_code = op.with_attributes(attributes, tuple(specs) if op.arity == VARIADIC else None)
        spec = op.spec(op, *specs, **attributes)
        _codes_and_specs[key] = op_code, spec
    count, code = len(rows), op_code.id  # `op_code` is referenced until the row is published
    tensor = Tensor()
    if op.arity == VARIADIC:
        log.reserve_operands(count)
        extra, start = log.extra, log.extra_n
        end = start + count
        target, target_slice, packed = view(extra), slice(start, end), array("i", rows)
        # atomic: see core.values.intern_table
        n = log.n
        if n < log.limit and log.tensors is tensors and log.extra is extra and log.extra_n == start:
            target[target_slice] = packed
            log.extra_n = end
            log.code[n] = code
            log.a[n] = start
            log.b[n] = count
            log.spec[n] = spec.id
            log.n = n + 1
            tensor._home = log
            tensor._row = n
            tensor._spec = spec
            tensors.append(tensor)
            # end atomic
            return tensor
        return None
    a, b, c = (*rows, 0, 0, 0)[:3]
    # atomic: see core.values.intern_table
    n = log.n
    if n < log.limit and log.tensors is tensors:
        log.code[n] = code
        if count > 0:
            log.a[n] = a
        if count > 1:
            log.b[n] = b
        if count > 2:
            log.c[n] = c
        log.spec[n] = spec.id
        log.n = n + 1
        tensor._home = log
        tensor._row = n
        tensor._spec = spec
        tensors.append(tensor)
        # end atomic
        return tensor
    return None


def require(condition: bool, op: Op | str, message: str) -> None:
    """Raise InvalidArgumentError, naming the op, unless the condition holds."""
    if not condition:
        name = op if isinstance(op, str) else op.name
        raise InvalidArgumentError(f"{message} [Op:{name}]")


def ternary(op: Op) -> Recorder:
    """Return the function that records an op of three operands.

    The last two have the same dtype: if one of them is not a tensor, it takes the dtype of the
    other one. This function is not optimized, because machine code usually replaces it
    (`core.native`).
    """
    code = op.code({})
    results: dict[tuple[Spec, Spec, Spec], Spec] = clearable_cache()

    def record(x: TensorLike, y: TensorLike, z: TensorLike, name: str | None = None) -> Tensor:
        log = local.log
        tensors = log.tensors
        try:
            a, sx = log.row_of(x, None, op.name)
            b, sy = log.row_of(y, spec_of(z), op.name)
            c, sz = log.row_of(z, sy, op.name)
        except Exception:
            return recover(op, x, y, z)  # type: ignore[no-any-return]
        try:
            spec = results[sx, sy, sz]
        except KeyError:
            spec = results[sx, sy, sz] = op.spec(op, sx, sy, sz)
        tensor = Tensor()
        # atomic: see core.values.intern_table
        n = log.n
        if n < log.limit and log.tensors is tensors:
            log.code[n] = code
            log.a[n] = a
            log.b[n] = b
            log.c[n] = c
            log.spec[n] = spec.id
            log.n = n + 1
            tensor._home = log
            tensor._row = n
            tensor._spec = spec
            tensors.append(tensor)
            # end atomic
            return tensor
        log.ensure_capacity()
        return record(x, y, z)

    return publish_recorder(record, op, _make_ternary_stub)


def _make_ternary_stub(record_row: Callable[..., Any]) -> Any:
    def record(x: TensorLike, y: TensorLike, z: TensorLike, name: str | None = None) -> Tensor:
        return record_row(x, y, z)  # type: ignore[no-any-return]

    return record
