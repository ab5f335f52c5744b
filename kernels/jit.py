"""The one ``jit`` wrapper, and what lets jitted code work on raw addresses."""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

INT64 = ir.IntType(64)


def jit(function: Any) -> Any:
    """Compile a kernel: no Python wrapper, no GIL, NumPy's division, no fast-math."""
    return numba.njit(
        error_model="numpy", nogil=True, no_cpython_wrapper=True, boundscheck=False, _nrt=False
    )(function)


def inline(function: Any) -> Any:
    """Like `jit`, always inlined into its caller."""
    return numba.njit(
        error_model="numpy", nogil=True, no_cpython_wrapper=True, boundscheck=False, _nrt=False,
        forceinline=True,
    )(function)


def pointer_to(dtype: Any) -> Any:
    """An intrinsic that turns an address (intp) into a pointer to ``dtype``."""

    @intrinsic
    def pointer(typingctx: Any, address: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            target = context.get_data_type(dtype).as_pointer()
            return builder.inttoptr(args[0], target)

        return types.CPointer(dtype)(types.intp), codegen

    return pointer


POINTERS = {
    name: pointer_to(getattr(types, name))
    for name in ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
                 "float32", "float64")
}  # fmt: skip
# A bool is one byte that holds 0 or 1; uint8 loads and stores are what NumPy does as well.
POINTERS["bool"] = POINTERS["uint8"]


@intrinsic
def call_kernel(typingctx: Any, function: Any, out: Any, x: Any, y: Any, z: Any, n: Any) -> Any:
    """Call the lane kernel at address ``function`` as ``f(out, x, y, z, n)``, all intp."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kernel = ir.FunctionType(ir.VoidType(), [INT64] * 5)
        builder.call(builder.inttoptr(args[0], kernel.as_pointer()), args[1:])
        return context.get_dummy_value()

    return types.void(*[types.intp] * 6), codegen
