"""Shape and dtype rules that ops share, and a check of values at the call."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from ...errors import DtypeError
from ..log.log import local
from ..log.op import Op
from ..values.dtypes import DType, bool_, mismatch_error
from ..values.spec import Spec, broadcast, intern
from ..values.tensor import Tensor

Rule = TypeVar("Rule", bound=Callable[..., Spec])


def refuse_dtype(op: Op, dtype: DType, allowed: str) -> None:
    """Raise DtypeError: the op does not accept the dtype."""
    raise DtypeError(
        f"Value for attr 'T' of {dtype.name} is not in the list of allowed values: {allowed} "
        f"[Op:{op.name}]. Use `cast`."
    )


def complex_vjp(kind: str) -> Callable[[Rule], Rule]:
    """Return a decorator that sets how a rule treats complex numbers; see `defop`."""

    def mark(rule: Rule) -> Rule:
        rule.complex_vjp = kind  # type: ignore[attr-defined]
        return rule

    return mark


@complex_vjp("analytic")
def same_dtype(op: Op, *specs: Spec, **_: object) -> Spec:
    """Accept any dtype, the same for all operands, which broadcast."""
    first = specs[0]
    for j, spec in enumerate(specs[1:], 1):
        if spec.dtype is not first.dtype:
            raise mismatch_error(op.name, j, first.dtype, spec.dtype)
    if all(spec.shape == first.shape for spec in specs):
        return first
    return intern(broadcast(op.name, *specs), first.dtype)


def real(op: Op, *specs: Spec, **_: object) -> Spec:
    """Like `same_dtype`, for integers and floats."""
    if specs[0].dtype.is_bool or specs[0].dtype.is_complex:
        refuse_dtype(
            op,
            specs[0].dtype,
            "bfloat16, half, float, double, uint8, uint16, uint32, "
            "uint64, int8, int16, int32, int64",
        )
    return same_dtype(op, *specs)


@complex_vjp("analytic")
def number(op: Op, *specs: Spec, **_: object) -> Spec:
    """Like `same_dtype`, for every dtype but bool; the function is analytic."""
    if specs[0].dtype.is_bool:
        refuse_dtype(
            op,
            specs[0].dtype,
            "bfloat16, half, float, double, uint8, uint16, uint32, "
            "uint64, int8, int16, int32, int64, complex64, complex128",
        )
    return same_dtype(op, *specs)


def floating(op: Op, *specs: Spec, **_: object) -> Spec:
    """Like `same_dtype`, for float dtypes."""
    if not specs[0].is_float:
        refuse_dtype(op, specs[0].dtype, "bfloat16, half, float, double")
    return same_dtype(op, *specs)


@complex_vjp("analytic")
def analytic(op: Op, *specs: Spec, **_: object) -> Spec:
    """Like `same_dtype`, for floats and complex numbers; the function is analytic."""
    if not specs[0].inexact:
        refuse_dtype(op, specs[0].dtype, "bfloat16, half, float, double, complex64, complex128")
    return same_dtype(op, *specs)


@complex_vjp("explicit")
def complex_only(op: Op, *specs: Spec, **_: object) -> Spec:
    """Like `same_dtype`, for complex numbers; the op's rule handles their adjoints."""
    if not specs[0].dtype.is_complex:
        refuse_dtype(op, specs[0].dtype, "complex64, complex128")
    return same_dtype(op, *specs)


@complex_vjp("explicit")
def part(op: Op, *specs: Spec, **_: object) -> Spec:
    """Accept a complex operand; the result has the dtype of its parts."""
    return intern(tuple(complex_only(op, *specs).shape), specs[0].dtype.real_dtype)


def integer(op: Op, *specs: Spec, **_: object) -> Spec:
    """Like `same_dtype`, for integer dtypes."""
    if not specs[0].dtype.is_integer:
        refuse_dtype(op, specs[0].dtype, "int8, int16, int32, int64, uint8, uint16, uint32, uint64")
    return same_dtype(op, *specs)


def boolean(op: Op, *specs: Spec, **_: object) -> Spec:
    """Like `same_dtype`, for bools."""
    if not specs[0].dtype.is_bool:
        raise mismatch_error(op.name, 0, bool_, specs[0].dtype)
    return same_dtype(op, *specs)


@complex_vjp("explicit")
def magnitude(op: Op, *specs: Spec, **_: object) -> Spec:
    """Like `number`; the result for complex numbers is real."""
    return intern(tuple(number(op, *specs).shape), specs[0].dtype.real_dtype)


@complex_vjp("analytic")
def compare(op: Op, *specs: Spec, **_: object) -> Spec:
    """Accept operands like `same_dtype`; the result is bool."""
    return intern(tuple(same_dtype(op, *specs).shape), bool_)


def order(op: Op, *specs: Spec, **_: object) -> Spec:
    """Accept operands like `real`; the result is bool."""
    return intern(tuple(real(op, *specs).shape), bool_)


def float_test(op: Op, *specs: Spec, **_: object) -> Spec:
    """Accept a float operand; the result is bool."""
    return intern(tuple(floating(op, *specs).shape), bool_)


def every(
    x: Tensor, on_array: Callable[[Any], Any], on_tensor: Callable[[Any], Tensor], message: str
) -> bool:
    """Return whether a condition holds for all elements of ``x``.

    ``on_array`` computes the condition for a NumPy array, ``on_tensor`` for a tensor. In a traced
    call, rows compute it, and only its result is guarded, not the elements. ``message`` is the
    message of the error if a replay on a GPU later finds that it does not hold.
    """
    result: bool = local.log.holds_for_all(x, on_array, on_tensor, message)
    return result
