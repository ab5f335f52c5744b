"""From any value to a tensor: all ways in.

==============  ====================================================================================
`Log.row_of`     An operand becomes a row, and nobody gets a tensor: what ops do with theirs.
`as_tensor`     An operand becomes a row and a tensor. It takes the dtype of the other operand.
`to_tensor`     What a program wants to have as a tensor, of a certain dtype or an error: no row.
`from_owned_array`         An array that nobody else has is a tensor's value: no row.
==============  ====================================================================================

A variable is read, which is a row in each case. What arrays Python and NumPy values become is
said in `core.values.convert`: `to_array` for operands, `new_array` for `to_tensor`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..values import dtypes
from ..values.convert import new_array
from ..values.dtypes import DType
from ..values.spec import Spec, intern
from ..values.tensor import Tensor, of_array
from .log import Log, local


def as_tensor(value: Any, like: Spec | None = None, op: str = "Const") -> Tensor:
    """A tensor for any operand: a variable is read, other values become constants.

    Values that are no tensors take the dtype of ``like``, if there is one. A Python number has a
    row of its own: a tape may watch it, and not all equal numbers.
    """
    return value if type(value) is Tensor else _append_operand(value, like, op)


def _append_operand(value: Any, like: Spec | None, op: str) -> Tensor:
    def row_of(log: Log) -> tuple[int, Spec]:
        row, spec = log.row_of(value, like, op)
        if type(value) is float or type(value) is int:
            row = log.copy_constant(row, spec)
        return row, spec

    return append_tensor(row_of)


def append_tensor(row_of: Callable[[Log], tuple[int, Spec]]) -> Tensor:
    """A tensor for the row that a function appends to the current log, again if need be."""
    while True:
        log = local.log
        if log.n >= log.limit:
            log.ensure_capacity()
            continue
        tensors = log.tensors
        row, spec = row_of(log)
        tensor = Tensor()
        # whole: nothing runs in between, see core.values.interning
        if log.tensors is tensors:
            tensor._home = log
            tensor._row = row
            tensor._spec = spec
            tensors.append(tensor)
            # done
            return tensor


def to_tensor(value: Any, dtype: DType | None) -> Tensor:
    """A tensor of any value; of ``dtype``, if there is one.

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
    """A tensor of an array that nobody else has."""
    return of_array(array, intern(array.shape, dtypes.of_array(array)))
