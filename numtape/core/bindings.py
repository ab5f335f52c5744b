"""Binds functions of higher layers that lower layers call.

These are the operators of tensors and variables (which op each one records), the conversion of
other libraries' values to tensors, and the choice of device and executor.
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any

from ..errors import InvalidArgumentError
from . import interop, settings
from .cpu import buffers
from .derive.tape import Tape
from .log import evaluate
from .log.log import Log
from .log.record import (
    Recorder,
    make_reflected,
    record_if_inexact,
    record_reflected_if_inexact,
    spec_of,
)
from .log.string_tensor import StringTensor as StringTensor  # handles Python strings
from .log.variable import Variable, _ops
from .native import buffer_protocol
from .ops import (
    arithmetic,
    comparison,
    elementwise as ew,
    indexed_rows,
    indexing,
    matrix_products,
    movement,
    scatter,
    sparse_products as sparse_products,
)
from .ops.creation import constant
from .ops.getitem import getitem, replace_slice
from .ops.joining import stack_nested
from .values import convert, memory
from .values.tensor import Tensor

if TYPE_CHECKING:
    from collections.abc import Callable

    from .values.annotations import TensorLike


def _swap(function: Callable[..., Any]) -> Any:
    return lambda x, y: function(y, x)


def _logic(boolean: Recorder, bits: Recorder) -> Any:
    def operator(x: TensorLike, y: TensorLike) -> Tensor:
        spec = spec_of(x) or spec_of(y)
        op: Recorder = boolean if spec is not None and spec.dtype.is_bool else bits
        return op(x, y)

    return operator


def _invert(x: Tensor | Variable) -> Tensor:
    return comparison.logical_not(x) if x.dtype.is_bool else comparison.invert(x)


def _equal(x: TensorLike, y: TensorLike | None) -> Any:
    if y is None:
        return False
    return _compare(comparison.equal_, x, y, False)


def _not_equal(x: TensorLike, y: TensorLike | None) -> Any:
    if y is None:
        return True
    return _compare(comparison.not_equal_, x, y, True)


def _compare(op: Callable[..., Any], x: TensorLike, y: TensorLike, otherwise: bool) -> Any:
    """Compare elementwise; incompatible shapes compare as unequal."""
    try:
        return op(x, y)
    except InvalidArgumentError as error:
        if "Incompatible shapes" in error.message:
            return constant(otherwise)
        raise


def _pow(x: TensorLike, y: TensorLike, modulo: object = None) -> Tensor:
    if modulo is not None:
        raise TypeError("pow() of tensors takes no modulus: write `x ** y % z`.")
    return arithmetic.pow_(x, y)


_pow_if_inexact = record_if_inexact(ew.pow_float, _pow)


def _power(x: TensorLike, y: TensorLike, *modulo: object) -> Any:
    if not modulo and (type(y) is int or type(y) is float) and 2 <= y <= 4:
        product = arithmetic.power_as_product(x, y)
        if product is not None:
            return product
    return _pow_if_inexact(x, y, *modulo)


_product = matrix_products.PRODUCT
_and = _logic(comparison.logical_and, comparison.bitwise_and)
_or = _logic(comparison.logical_or, comparison.bitwise_or)
_xor = _logic(comparison.logical_xor, comparison.bitwise_xor)

OPERATORS: dict[str, Any] = {
    "__add__": ew.add,
    "__radd__": make_reflected(ew.add),
    "__sub__": ew.subtract,
    "__rsub__": make_reflected(ew.subtract),
    "__mul__": ew.multiply,
    "__rmul__": make_reflected(ew.multiply),
    "__truediv__": record_if_inexact(ew.real_divide, arithmetic.divide),
    "__rtruediv__": record_reflected_if_inexact(ew.real_divide, _swap(arithmetic.divide)),
    "__floordiv__": arithmetic.floordiv,
    "__rfloordiv__": _swap(arithmetic.floordiv),
    "__mod__": arithmetic.floormod,
    "__rmod__": _swap(arithmetic.floormod),
    "__pow__": _power,
    "__rpow__": record_reflected_if_inexact(ew.pow_float, _swap(arithmetic.pow_)),
    "__matmul__": _product,
    "__rmatmul__": make_reflected(_product),
    "__neg__": ew.negative,
    "__pos__": movement.identity,
    "__abs__": ew.abs_,
    "__lt__": comparison.less,
    "__le__": comparison.less_equal,
    "__gt__": comparison.greater,
    "__ge__": comparison.greater_equal,
    "__eq__": _equal,
    "__ne__": _not_equal,
    "__and__": _and,
    "__rand__": _swap(_and),
    "__or__": _or,
    "__ror__": _swap(_or),
    "__xor__": _xor,
    "__rxor__": _swap(_xor),
    "__lshift__": comparison.left_shift,
    "__rlshift__": _swap(comparison.left_shift),
    "__rshift__": comparison.right_shift,
    "__rrshift__": _swap(comparison.right_shift),
    "__invert__": _invert,
    "__getitem__": getitem,
}

Log.tape_type = Tape

for _class in (Tensor, Variable):
    for _name, _function in OPERATORS.items():
        setattr(_class, _name, _function)

_ops.update(
    add=ew.add,
    cast=ew.cast,
    subtract=ew.subtract,
    with_slice=replace_slice,
    updated=indexed_rows.update_rows,
    updated_nd=indexed_rows.update_nd,
    updated_in_batch=indexed_rows.update_batched_rows,
    gather=indexing.gather,
    gather_nd=scatter.gather_nd,
)


def _transposed(x: Tensor) -> Tensor:
    """The transpose of a matrix, as in the array API."""
    if x.ndim != 2:
        raise AttributeError(f"x.T is of matrices, not of {x.ndim} axes: x.mT, or tf.transpose.")
    return movement.transpose(x)


def _matrix_transposed(x: Tensor) -> Tensor:
    """The last two axes swapped, as in the array API."""
    if x.ndim < 2:
        raise AttributeError(f"x.mT needs two axes or more, not {x.ndim}.")
    return movement.transpose(x, [*range(x.ndim - 2), x.ndim - 1, x.ndim - 2])


_SHARED: dict[str, Any] = {
    "__dlpack__": interop.capsule_of,
    "__dlpack_device__": lambda self: interop.device_of_tensors(),
    "__cuda_array_interface__": property(interop.cuda_array_interface),
    "T": property(_transposed),
    "mT": property(_matrix_transposed),
}
for _name, _function in _SHARED.items():
    setattr(Tensor, _name, _function)
for _name in ("T", "mT"):
    setattr(Variable, _name, _SHARED[_name])
convert.is_on_gpu, convert.copy_of = interop.is_on_gpu, interop.copy_of
memory.empty, memory.run_shared = buffers.empty, buffers.share_work
convert.pack, convert.dense_of = stack_nested, indexed_rows.to_dense


def _usable(choice: str) -> str:
    """Resolve ``cuda`` (an error if unusable) or ``auto`` (logs why it takes the CPU)."""
    from .cuda.launches import probe
    from .cuda.runtime.device import device

    if choice == "cuda":
        device()
        return choice
    try:
        probe(device())
    except Exception as error:  # errors of the compiler as well
        logging.getLogger("numtape").info("NUMTAPE_DEVICE=auto takes the CPU: %s", error)
        return "cpu"
    return "cuda"


_EXECUTORS = {"cpu": "CpuExecutor", "cuda": "CudaExecutor", "reference": "ReferenceExecutor"}


def _executor_class(device: str) -> Any:
    """Import a device's executor. Devices other than ``reference`` also record in machine code.

    Returns:
      The class; None if this thread is importing its module at the moment.
    """
    module = importlib.import_module(f"{__package__}.{device}.executor")
    if device != "reference":
        from .native import patch

        patch.enable_from_settings()
        buffer_protocol.begin()  # retry: the first attempt may have failed
    return getattr(module, _EXECUTORS[device], None)


buffer_protocol.begin()
settings.usable = _usable
evaluate.executor_class_of = _executor_class
