"""Recording: the functions behind every op, which append one row and return a tensor.

This is the path that runs once an op, in Python, so it does no more than it must: the shape
and dtype rules of an op run once for each combination of operand specs.
"""

from __future__ import annotations

from typing import Any, Protocol

from ..errors import InvalidArgumentError
from .interning import cache
from .log import Log, local
from .op import VARIADIC, Code, Op
from .spec import Spec
from .tensor import Tensor
from .variable import Variable


class Recorder(Protocol):
    """A function that records one op."""

    op: Op

    def __call__(self, *operands: Any, name: str | None = None) -> Tensor:
        """Append one row."""


def unary(op: Op, **attributes: Any) -> Recorder:
    """The function that records an op of one operand, with these attributes."""
    code = op.code(attributes)
    results: dict[Spec, Spec] = cache()

    def record(x: Any, name: str | None = None) -> Tensor:
        log = local.log
        if log.n >= log.limit:
            log.make_room()
        if type(x) is Tensor and x._home is log:
            a = x._row
            sx = x._spec
        else:
            a, sx = log.enter(x, None, op.name)
        try:
            spec = results[sx]
        except KeyError:
            spec = results[sx] = op.spec(op, sx, **attributes)
        n = log.n
        log.code[n] = code
        log.a[n] = a
        log.spec[n] = spec.id
        log.n = n + 1
        tensor = Tensor()
        tensor._home = log
        tensor._row = n
        tensor._spec = spec
        log.kept.append(tensor)
        return tensor

    record.op = op  # type: ignore[attr-defined]
    return record  # type: ignore[return-value]


def binary(op: Op, **attributes: Any) -> Recorder:
    """The function that records an op of two operands, with these attributes.

    An operand that is no tensor takes the other one's dtype.
    """
    code = op.code(attributes)
    results: dict[tuple[Spec, Spec], Spec] = cache()
    same: dict[Spec, Spec] = cache()

    def record(x: Any, y: Any, name: str | None = None) -> Tensor:
        log = local.log
        if log.n >= log.limit:
            log.make_room()
        kind = type(x)
        if kind is Tensor and x._home is log:
            a = x._row
            sx = x._spec
        elif kind is Variable and (read := x._read) is not None and read[0] is log:
            a = read[1]
            sx = x._spec
        else:
            a, sx = log.enter(x, spec_of(y), op.name)
        kind = type(y)
        if kind is Tensor and y._home is log:
            b = y._row
            sy = y._spec
        elif kind is Variable and (read := y._read) is not None and read[0] is log:
            b = read[1]
            sy = y._spec
        else:
            b, sy = log.enter(y, sx, op.name)
        try:
            spec = same[sx] if sx is sy else results[sx, sy]
        except KeyError:
            spec = op.spec(op, sx, sy, **attributes)
            if sx is sy:
                same[sx] = spec
            else:
                results[sx, sy] = spec
        n = log.n
        log.code[n] = code
        log.a[n] = a
        log.b[n] = b
        log.spec[n] = spec.id
        log.n = n + 1
        tensor = Tensor()
        tensor._home = log
        tensor._row = n
        tensor._spec = spec
        log.kept.append(tensor)
        return tensor

    record.op = op  # type: ignore[attr-defined]
    return record  # type: ignore[return-value]


def reflected(record: Recorder) -> Any:
    """The reflected operator of a binary function: ``y op x``."""

    def swapped(x: Any, y: Any) -> Tensor:
        return record(y, x)

    return swapped


def spec_of(value: Any) -> Spec | None:
    """The spec of a tensor or variable; None for any other value."""
    if type(value) is Tensor or isinstance(value, Variable):
        return value._spec
    return None


# By op, specs and attributes.
_results: dict[tuple[Any, ...], tuple[Code, Spec]] = cache()


def record(op: Op, operands: tuple[Any, ...], **attributes: Any) -> Tensor:
    """Append a row of any op.

    Args:
      op: The op.
      operands: Tensors, variables, NumPy or Python values. Those that are no tensors take the
        dtype of the first tensor among them.
      **attributes: The op's attributes, all hashable, always in the same order.
    """
    log = local.log
    if log.n >= log.limit:
        log.make_room()
    log.reserve(len(operands))
    like = next((spec for x in operands if (spec := spec_of(x)) is not None), None)
    entered = []
    for x in operands:
        row, spec = log.enter(x, like, op.name)
        like = like or spec
        entered.append((row, spec))
    return append(log, op, [row for row, _ in entered], [spec for _, spec in entered], attributes)


def append(
    log: Log, op: Op, rows: list[int], specs: list[Spec], attributes: dict[str, Any]
) -> Tensor:
    """Append a row whose operands are rows of ``log`` already."""
    key = (op, *specs, *attributes.items())
    try:
        code, spec = _results[key]
    except KeyError:
        # A variadic op's code has the specs, so that templates know them.
        code = op.with_attributes(attributes, tuple(specs) if op.arity == VARIADIC else None)
        spec = op.spec(op, *specs, **attributes)
        _results[key] = code, spec
    n = log.n
    log.code[n] = code.id
    if op.arity == VARIADIC:
        log.a[n] = _append_operands(log, rows)
        log.b[n] = len(rows)
    else:
        if rows:
            log.a[n] = rows[0]
        if len(rows) > 1:
            log.b[n] = rows[1]
        if len(rows) > 2:
            log.c[n] = rows[2]
    log.spec[n] = spec.id
    log.n = n + 1
    return log.tensor(n, spec)


def _append_operands(log: Log, rows: list[int]) -> int:
    start = log.extra_n
    end = start + len(rows)
    log.reserve_operands(len(rows))
    log.extra[start:end] = rows
    log.extra_n = end
    return start


def as_tensor(value: Any) -> Tensor:
    """A tensor for any operand: a variable is read, other values become constants."""
    if type(value) is Tensor:
        return value
    log = local.log
    if log.n >= log.limit:
        log.make_room()
    row, spec = log.enter(value, None, "Const")
    return log.tensor(row, spec)


def require(condition: bool, op: Op | str, message: str) -> None:
    """Raise InvalidArgumentError, naming the op, unless the condition holds."""
    if not condition:
        name = op if isinstance(op, str) else op.name
        raise InvalidArgumentError(f"{message} [Op:{name}]")
