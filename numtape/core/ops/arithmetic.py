"""Quotients, remainders and powers, which are other ops for integers than for floats."""

from __future__ import annotations

from typing import Any

from ...errors import InvalidArgumentError
from ..log.record import as_tensor, spec_of
from ..values import dtypes
from ..values.tensor import Tensor
from .checks import every
from .elementwise import (
    cast,
    floor_divide_float,
    floor_divide_int,
    floor_mod_float,
    floor_mod_int,
    greater_equal,
    not_equal_,
    pow_float,
    pow_int,
    real_divide,
    real_divide_no_nan,
)


def _operands(x: Any, y: Any, op: str) -> tuple[Tensor, Tensor]:
    """Two tensors, the one that is none converted to the other's dtype."""
    like = spec_of(x) or spec_of(y)
    x = as_tensor(x, like, op)
    return x, as_tensor(y, x._spec, op)


def divide(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x / y``. Small integers become float32, int32 and wider float64, as in TensorFlow."""
    if type(x) is Tensor and x._spec.is_float:
        return real_divide(x, y)
    return real_divide(*_floats(x, y, "RealDiv"))


def divide_no_nan(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x / y``, and 0 where ``y`` is 0. Integers become floats as for `divide`."""
    return real_divide_no_nan(*_floats(x, y, "DivNoNan"))


def _floats(x: Any, y: Any, op: str) -> tuple[Tensor, Tensor]:
    """The operands of a quotient: integers become floats that are as wide or wider."""
    x, y = _operands(x, y, op)
    if x.dtype is not y.dtype:
        raise dtypes.mismatch(op, 1, x.dtype, y.dtype)
    if not x._spec.is_float:
        if x.dtype.is_bool:
            raise TypeError(f"`x` and `y` must be numeric, got {x.dtype!r} [Op:{op}]")
        wanted = dtypes.float32 if x.dtype.size <= 2 else dtypes.float64
        x, y = cast(x, wanted), cast(y, wanted)
    return x, y


def _nonzero(y: Tensor, op: str) -> None:
    """An integer division by zero is an error at the call."""
    said = f"Integer division by zero [Op:{op}]"
    if not every(y, lambda values: values != 0, lambda rows: not_equal_(rows, 0), said):
        raise InvalidArgumentError(said)


def floordiv(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x / y`` rounded towards minus infinity. No gradient flows through."""
    x, y = _operands(x, y, "FloorDiv")
    if x._spec.is_float:
        return floor_divide_float(x, y)
    _nonzero(y, "FloorDiv")
    return floor_divide_int(x, y)


def floormod(x: Any, y: Any, name: str | None = None) -> Tensor:
    """The remainder of ``floordiv``: it has the sign of ``y``."""
    x, y = _operands(x, y, "FloorMod")
    if x._spec.is_float:
        return floor_mod_float(x, y)
    _nonzero(y, "FloorMod")
    return floor_mod_int(x, y)


def pow_(x: Any, y: Any, name: str | None = None) -> Tensor:
    """``x`` to the power ``y``."""
    x, y = _operands(x, y, "Pow")
    if x._spec.is_float:
        return pow_float(x, y)
    said = "Integers to negative integer powers are not allowed [Op:Pow]"
    if not every(y, lambda values: values >= 0, lambda rows: greater_equal(rows, 0), said):
        raise InvalidArgumentError(said)
    return pow_int(x, y)
