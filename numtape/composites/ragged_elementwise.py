"""Elementwise functions of ragged tensors, and their operators.

`_OPERANDS` are functions whose operands broadcast; `_FIRST` are functions of one tensor, whose
other arguments are options. Both compute on flat values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..core import bindings
from ..core.ops import (
    activations,
    arithmetic,
    comparison,
    complex as complex_ops,
    creation,
    elementwise as ew,
    losses,
    movement,
    shapes,
    special,
)
from .dispatch import register
from .ragged_math import map_elements
from .ragged_tensor import RaggedTensor

Function = Callable[..., Any]

_OPERANDS: tuple[Function, ...] = (
    arithmetic.divide,
    arithmetic.divide_no_nan,
    arithmetic.floordiv,
    arithmetic.floormod,
    arithmetic.pow_,
    arithmetic.realdiv,
    arithmetic.scalar_mul,
    arithmetic.truncatediv,
    arithmetic.truncatemod,
    complex_ops.complex_,
    ew.clip_by_value,
)
_FIRST: tuple[Function, ...] = (
    activations.crelu,
    activations.gelu,
    activations.leaky_relu,
    activations.log_sigmoid,
    activations.silu,
    arithmetic.reciprocal_no_nan,
    arithmetic.saturate_cast,
    complex_ops.angle,
    complex_ops.conj,
    complex_ops.imag,
    complex_ops.real,
    creation.ones_like,
    creation.zeros_like,
    ew.cast,
    ew.round_,
    shapes.bitcast,
)


def _register_operands(function: Function) -> None:
    def handler(*args: Any, **kwargs: Any) -> Any:
        kwargs.pop("name", None)
        names = [key for key, value in kwargs.items() if value is not None]

        def call(*operands: Any) -> Any:
            count = len(args)
            return function(*operands[:count], **dict(zip(names, operands[count:], strict=True)))

        call.__name__ = function.__name__
        return map_elements(call, *args, *(kwargs[key] for key in names))

    register(RaggedTensor, function, handler)


def _register_first(function: Function) -> None:
    def handler(*args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], RaggedTensor):
            x = args[0]
            return x.with_flat_values(function(x.flat_values, *args[1:], **kwargs))
        ragged = [key for key, value in kwargs.items() if isinstance(value, RaggedTensor)]
        if args or len(ragged) != 1:
            return NotImplemented
        x = kwargs[ragged[0]]
        return x.with_flat_values(function(**{**kwargs, ragged[0]: x.flat_values}))

    register(RaggedTensor, function, handler)


def _recorders() -> list[Function]:
    """Return the functions that record an elementwise op with no attributes but its operands."""
    modules = (activations, comparison, complex_ops, ew, losses, movement, special)
    return [
        function
        for module in modules
        for function in vars(module).values()
        if callable(function) and getattr(getattr(function, "op", None), "elementwise", False)
    ]


for _function in (*_OPERANDS, *_recorders()):
    _register_operands(_function)
for _function in _FIRST:
    _register_first(_function)


def _operator(function: Function) -> Function:
    return lambda x, *operands: function(x, *operands)


def _logic(boolean: Function, bits: Function, swapped: bool = False) -> Function:
    def operator(x: RaggedTensor, y: Any) -> Any:
        function = boolean if x.dtype.is_bool else bits
        return function(y, x) if swapped else function(x, y)

    return operator


_LOGIC = {
    "and": (comparison.logical_and, comparison.bitwise_and),
    "or": (comparison.logical_or, comparison.bitwise_or),
    "xor": (comparison.logical_xor, comparison.bitwise_xor),
}
for _word, _pair in _LOGIC.items():
    setattr(RaggedTensor, f"__{_word}__", _logic(*_pair))
    setattr(RaggedTensor, f"__r{_word}__", _logic(*_pair, swapped=True))
for _name, _function in bindings.OPERATORS.items():
    if _name not in ("__getitem__", "__matmul__", "__rmatmul__") and (
        _name.strip("_").removeprefix("r") not in _LOGIC
    ):
        setattr(RaggedTensor, _name, _operator(_function))
