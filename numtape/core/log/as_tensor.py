"""Conversion of any value to a tensor or a row.

=====================  =============================================================================
`Log.row_of`           Append an operand as a row, without a tensor. Ops do this with operands.
`as_tensor`            Append an operand as a row with a tensor, in the dtype of the other operand.
`to_tensor`            Convert a program's value to a certain dtype, or raise an error. No row.
`from_owned_array`     Wrap an array that no other code refers to. No row.
=====================  =============================================================================

All of these read a variable, which appends a row. `core.values.convert` says which array a Python
or NumPy value becomes: `to_array` for operands, `new_array` for `to_tensor`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ..values import dtypes
from ..values.convert import new_array
from ..values.dtypes import DType
from ..values.spec import Spec, intern
from ..values.tensor import Tensor, of_array
from .log import Log, local

if TYPE_CHECKING:
    from ..values.annotations import TensorLike


def as_tensor(value: Any, like: Spec | None = None, op: str = "Const") -> Tensor:
    """Return a tensor for any operand: a variable is read, other values become constants.

    Values that are not tensors take the dtype of ``like``, if given. A Python number always gets a
    new row, because a tape may watch this tensor but not others of the same value.
    """
    return value if type(value) is Tensor else _append_operand(value, like, op)


def _append_operand(value: TensorLike, like: Spec | None, op: str) -> Tensor:
    def row_of(log: Log) -> tuple[int, Spec]:
        row, spec = log.row_of(value, like, op)
        if type(value) is float or type(value) is int:
            row = log.copy_constant(row, spec)
        return row, spec

    return append_tensor(row_of)


def append_tensor(row_of: Callable[[Log], tuple[int, Spec]]) -> Tensor:
    """Return a tensor for the row that ``row_of`` appends to the current log; retry if needed."""
    while True:
        log = local.log
        if log.n >= log.limit:
            log.ensure_capacity()
            continue
        tensors = log.tensors
        row, spec = row_of(log)
        tensor = Tensor()
        # atomic: see core.values.intern_table
        if log.tensors is tensors:
            tensor._home = log
            tensor._row = row
            tensor._spec = spec
            tensors.append(tensor)
            # end atomic
            return tensor


def to_tensor(value: Any, dtype: DType | None) -> Tensor:
    """Return a tensor of any value, of ``dtype`` if given.

    Raises:
      TypeError: If ``dtype`` cannot hold the value.
      ValueError: If it is a tensor or variable of another dtype, or not numeric.
    """
    if hasattr(value, "_read_in"):  # a Variable
        value = value.read_value()
    if type(value) is not Tensor:
        value = new_array(value, dtype)
    if type(value) is Tensor:
        if dtype is not None and value.dtype is not dtype:
            raise ValueError(
                f"Tensor conversion requested dtype {dtype.name} for Tensor with dtype "
                f"{value.dtype.name}: {value._describe()}. Use `cast`."
            )
        return value
    return from_owned_array(value)


def from_owned_array(array: np.ndarray[Any, Any]) -> Tensor:
    """Return a tensor of an array that no other code refers to."""
    return of_array(array, intern(array.shape, dtypes.of_array(array)))
