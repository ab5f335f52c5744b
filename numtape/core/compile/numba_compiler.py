"""Compiles functions to object code with Numba. Imported only to compile."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from numba import types

from ...kernels.numba_internals import Unit, global_compiler_lock
from .cache import Built
from .llvm import needs


@dataclass
class Record:
    """A parameter that is a named tuple: its type, and the kinds of its fields."""

    type: Any
    fields: list[str]


@dataclass
class CompiledFunction:
    """A function of a unit.

    Attributes:
      symbol: Its name in the object code.
      jitted: The function to compile.
      parameters: The dtype that each parameter points to, or "" for an int64; or a record.
      block: Whether the C function takes the address of a block that holds the arguments, eight
        bytes each, instead of the arguments. Fields of a record are consecutive.
    """

    symbol: str
    jitted: Any
    parameters: Sequence[str | Record]
    block: bool = False


def _type(parameter: str | Record) -> Any:
    """The Numba type of a parameter."""
    if isinstance(parameter, Record):
        fields = [_type(kind) for kind in parameter.fields]
        return types.BaseTuple.from_types(fields, parameter.type)
    return types.CPointer(getattr(types, parameter)) if parameter else types.intp


@global_compiler_lock  # type: ignore[untyped-decorator]
def compile_unit(name: str, functions: list[CompiledFunction]) -> Built:
    """Compile functions into one object: C functions that take int64 and return one."""
    vectors = importlib.import_module("numtape.kernels.functions.value")
    unit = Unit(f"numtape.{name}", functions[0].jitted)
    for function in functions:
        signature = tuple(map(_type, function.parameters))
        entry, body = unit.add(function.symbol, function.jitted, signature, function.block)
        if any(vectors.WIDTH in str(attribute) for attribute in body.attributes):
            vectors.wide_vectors(entry)  # the kernel is inlined into it
    code, module = unit.compile()
    return code, [function.symbol for function in functions], needs(module)
