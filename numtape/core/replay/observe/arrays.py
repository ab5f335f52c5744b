"""What functions and methods of NumPy's read of arrays, and which they write to."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from ...log.variable import Variable
from ...values.tensor import Tensor
from . import reads
from .examined import examine_all, give, await_result, has_attribute, nested_values, qualified_name
from .frames import Follower
from .known import MAY_RETURN_ARGUMENT, OVERWRITING_FROM, is_python_class
from .reads import is_a
from .steps import Instruction


def dtypes(follower: Follower, frame: Any, args: tuple[Any, ...]) -> None:
    """A dtype may be given as an object that has one."""
    for x in args:
        if is_python_class(type(x) if not is_a(x, type) else x) and not is_a(x, np.ndarray):
            if has_attribute(x, "dtype"):
                name = follower.observer.name_of(x)
                follower.observer.refuse(f"it reads the dtype of {name} by C", frame)


def of_numpy(
    follower: Follower, frame: Any, function: Any, args: tuple[Any, ...], named: dict[str, Any]
) -> None:
    """A function of NumPy's is about to be called."""
    observer = follower.observer
    everything = (*args, *named.values())
    if any(type(x) is Tensor or is_a(x, Variable) for x in everything):
        give(follower, frame, qualified_name(function), args, named)
        return
    outputs: Any = named.get("out")
    if is_a(function, np.ufunc) and len(args) > function.nin:
        outputs = args[function.nin :]
    for x in outputs if is_a(outputs, tuple) else (outputs,):
        observer.mutates(x, f"writes to {observer.name_of(x)}", frame)
    if args and (
        named.get("overwrite_input")
        or named.get("copy") is False
        or (id(function) in OVERWRITING_FROM and len(args) > OVERWRITING_FROM[id(function)])
    ):
        observer.mutates(args[0], f"writes to {observer.name_of(args[0])}", frame)
    observer.asks(reads.float_errors, (), "how NumPy treats errors", None, frame)
    dtypes(follower, frame, everything)
    arrays = examine_all(follower, frame, (function, *everything), qualified_name(function))
    foreign = any(
        is_python_class(type(x)) or callable(x)
        for x in (*everything, *nested_values(everything))
        if x is not None
    )
    if any(x.dtype.hasobject for x in (*arrays.values(), *everything) if is_a(x, np.ndarray)):
        observer.refuse("it computes with an array of objects", frame)
    for x in everything if is_a(function, np.ufunc) else ():
        if is_python_class(type(x)) and not is_a(x, np.ndarray):
            if not (has_attribute(x, "__array__") or has_attribute(x, "__array_ufunc__")):
                observer.refuse("it computes with an array of objects", frame)  # by their methods
    if not foreign:
        observer.muted = follower  # Python of NumPy's
    await_result(follower, arrays, not foreign)
    if id(function) not in MAY_RETURN_ARGUMENT:
        written(follower, everything)


def written(follower: Follower, args: Iterable[Any]) -> None:
    """Wait for what a function of NumPy's gives: an array that it was given, it has written to."""
    looked: Any = follower.pending

    def done(follower: Follower, frame: Any, after: Instruction | None) -> None:
        looked(follower, frame, after)  # first: it counts references
        observer = follower.observer
        if after is not None:
            value = follower.peek(after, 0)
            for x in value if is_a(value, tuple) else (value,):
                if is_a(x, np.ndarray) and any(x is one for one in (*args, *nested_values(args))):
                    observer.mutates(x, f"writes to {observer.name_of(x)}", frame)

    follower.pending = done
