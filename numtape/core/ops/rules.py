"""The few shape and dtype rules that ops share."""

from __future__ import annotations

from typing import Any

from ...errors import InvalidArgumentError
from ..log.op import Op
from ..values.dtypes import DType, bool_, mismatch
from ..values.spec import Spec, broadcast, intern


def _allowed(op: Op, dtype: DType, allowed: str) -> None:
    raise InvalidArgumentError(
        f"Value for attr 'T' of {dtype.name} is not in the list of allowed values: {allowed} "
        f"[Op:{op.name}]. Use `cast`."
    )


def same(op: Op, *specs: Spec, **_: Any) -> Spec:
    """Any one dtype; the operands broadcast."""
    first = specs[0]
    for j, spec in enumerate(specs[1:], 1):
        if spec.dtype is not first.dtype:
            raise mismatch(op.name, j, first.dtype, spec.dtype)
    if all(spec.shape == first.shape for spec in specs):
        return first
    return intern(broadcast(op.name, *specs), first.dtype)


def number(op: Op, *specs: Spec, **_: Any) -> Spec:
    """Like `same`, for every dtype but bool."""
    if specs[0].dtype.is_bool:
        _allowed(op, specs[0].dtype, "float, double, uint8, uint16, uint32, uint64, int8, int16, "
                 "int32, int64")  # fmt: skip
    return same(op, *specs)


def floating(op: Op, *specs: Spec, **_: Any) -> Spec:
    """Like `same`, for float dtypes."""
    if not specs[0].is_float:
        _allowed(op, specs[0].dtype, "float, double")
    return same(op, *specs)


def integer(op: Op, *specs: Spec, **_: Any) -> Spec:
    """Like `same`, for integer dtypes."""
    if not specs[0].dtype.is_integer:
        _allowed(op, specs[0].dtype, "int8, int16, int32, int64, uint8, uint16, uint32, uint64")
    return same(op, *specs)


def boolean(op: Op, *specs: Spec, **_: Any) -> Spec:
    """Like `same`, for bools."""
    if not specs[0].dtype.is_bool:
        raise mismatch(op.name, 0, bool_, specs[0].dtype)
    return same(op, *specs)


def compared(op: Op, *specs: Spec, **_: Any) -> Spec:
    """Operands as for `same`, the result a bool."""
    return intern(tuple(same(op, *specs).shape), bool_)


def ordered(op: Op, *specs: Spec, **_: Any) -> Spec:
    """Operands as for `number`, the result a bool."""
    return intern(tuple(number(op, *specs).shape), bool_)


def tested(op: Op, *specs: Spec, **_: Any) -> Spec:
    """A float operand, the result a bool."""
    return intern(tuple(floating(op, *specs).shape), bool_)
