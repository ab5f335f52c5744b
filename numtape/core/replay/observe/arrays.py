"""Note which arrays NumPy's functions and methods read, and which they write to."""

from __future__ import annotations

import types
from collections.abc import Iterable
from typing import Any

import numpy as np

from ...cpython.bytecode import Instruction
from ...log.variable import Variable
from ...values.tensor import Tensor
from . import reads
from .c_arguments import (
    await_result,
    examine_all,
    has_attribute,
    nested_values,
    pass_to_numtape,
    qualified_name,
)
from .c_function_table import MAY_RETURN_ARGUMENT, OVERWRITING_FROM
from .follower import Follower
from .ownership import is_python_class
from .reads import is_a


def check_dtypes(follower: Follower, frame: types.FrameType, values: tuple[Any, ...]) -> None:
    """Refuse objects that NumPy converts to a dtype by reading their ``dtype`` attribute."""
    for x in values:
        if is_python_class(type(x) if not is_a(x, type) else x) and not is_a(x, np.ndarray):
            if has_attribute(x, "dtype"):
                name = follower.reads.name_of(x)
                follower.effects.refuse(f"it reads the dtype of {name} by C", frame)


def call_numpy(
    follower: Follower,
    frame: types.FrameType,
    function: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> None:
    """Note a call of a NumPy function."""
    values = (*args, *kwargs.values())
    if any(type(x) is Tensor or is_a(x, Variable) for x in values):
        pass_to_numtape(follower, frame, qualified_name(function), args, kwargs)
        return
    outputs: Any = kwargs.get("out")
    if is_a(function, np.ufunc) and len(args) > function.nin:
        outputs = args[function.nin :]
    for x in outputs if is_a(outputs, tuple) else (outputs,):
        follower.writes.note_mutation(x, f"writes to {follower.reads.name_of(x)}", frame)
    if args and (
        kwargs.get("overwrite_input")
        or kwargs.get("copy") is False
        or (id(function) in OVERWRITING_FROM and len(args) > OVERWRITING_FROM[id(function)])
    ):
        follower.writes.note_mutation(
            args[0], f"writes to {follower.reads.name_of(args[0])}", frame
        )
    follower.reads.note_call(reads.float_errors, (), "how NumPy treats errors", None, frame)
    check_dtypes(follower, frame, values)
    arrays = examine_all(follower, frame, (function, *values), qualified_name(function))
    may_run_python = any(
        is_python_class(type(x)) or callable(x)
        for x in (*values, *nested_values(values))
        if x is not None
    )
    if any(x.dtype.hasobject for x in (*arrays.values(), *values) if is_a(x, np.ndarray)):
        follower.effects.refuse("it computes with an array of objects", frame)
    for x in values if is_a(function, np.ufunc) else ():
        if is_python_class(type(x)) and not is_a(x, np.ndarray):
            if not (has_attribute(x, "__array__") or has_attribute(x, "__array_ufunc__")):
                # NumPy calls the methods of the objects.
                follower.effects.refuse("it computes with an array of objects", frame)
    if not may_run_python:
        follower.observer.muted_follower = follower  # NumPy's own Python code
    await_result(follower, arrays, not may_run_python)
    if id(function) not in MAY_RETURN_ARGUMENT:
        await_written(follower, values)


def await_written(follower: Follower, args: Iterable[Any]) -> None:
    """Await the result of a NumPy function. If it is one of its arguments, it was written to."""
    finish_previous: Any = follower.on_result

    def finish(
        follower: Follower, frame: types.FrameType, next_instruction: Instruction | None
    ) -> None:
        finish_previous(follower, frame, next_instruction)  # first, because it counts references
        if next_instruction is not None:
            value = follower.peek(next_instruction, 0)
            for x in value if is_a(value, tuple) else (value,):
                if is_a(x, np.ndarray) and any(
                    x is argument for argument in (*args, *nested_values(args))
                ):
                    follower.writes.note_mutation(
                        x, f"writes to {follower.reads.name_of(x)}", frame
                    )

    follower.on_result = finish
