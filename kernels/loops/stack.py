"""Functions with which generated sweeps access the stack: pointers, and checked conversions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
from numba import errors, types
from numba.extending import intrinsic

from ..jit import INT64, POINTERS
from ..numba_internals import LoopCompiler
from .functions import NAMED

if TYPE_CHECKING:
    from collections.abc import Callable

    from ..annotations import Builder, Context, Signature, Type, TypingContext, Values

# The order of sums of adjoints is not specified.
SUM_FASTMATH = {"reassoc", "nsz", "contract"}
_UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
_EXACT_SOURCES = {
    **{name: ("bool", *_UNSIGNED[: k + 1]) for k, name in enumerate(_UNSIGNED)},
    "bool": ("bool",),
    "int8": ("bool", "int8"),
    "int16": ("bool", "int8", "int16"),
    "int32": ("bool", "int8", "int16", "int32"),
    "int64": ("bool", "int8", "int16", "int32", "int64"),
    "float32": ("float32",),
    "float64": ("bool", "int8", "int16", "int32", "int64", *_UNSIGNED, "float32", "float64"),
}


def _value_of(name: str) -> Any:
    """Make a conversion to a dtype; it raises unless the dtype holds all values exactly."""
    kind = getattr(types, name)
    exact_types = [getattr(types, other) for other in _EXACT_SOURCES[name]]

    @intrinsic
    def value_of(typingctx: TypingContext, value: Type) -> Any:
        value_type = types.unliteral(value)
        if value_type not in exact_types:
            raise errors.TypingError(f"a value of type {value_type} where {name} was expected")

        def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
            return context.cast(builder, args[0], value_type, kind)

        return kind(value_type), codegen

    return value_of


@intrinsic
def address_of(typingctx: TypingContext, pointer: Type) -> Any:
    """The address of a pointer as an int64."""

    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
        return builder.ptrtoint(args[0], INT64)

    return types.int64(pointer), codegen


SCOPE: dict[str, Any] = {f"{name}_at": POINTERS[name] for name in _EXACT_SOURCES}
SCOPE |= {f"{name}_of": _value_of(name) for name in _EXACT_SOURCES}


def jit_sweep(function: Callable[..., Any], fastmath: bool | set[str], **options: Any) -> Any:
    """Compile a sweep, which returns a status and never raises. It may call users' functions."""
    return numba.njit(
        error_model="numpy",
        nogil=True,
        no_cpython_wrapper=True,
        no_cfunc_wrapper=True,
        boundscheck=False,
        _nrt=False,
        pipeline_class=LoopCompiler,
        fastmath=fastmath,
        **options,
    )(function)


SCOPE |= {"address_of": address_of}
SCOPE |= {function.__name__: jit_sweep(function, False, forceinline=True) for function in NAMED}
