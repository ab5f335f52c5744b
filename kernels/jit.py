"""The one ``jit`` wrapper, and what lets jitted code work on raw addresses."""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from .compiler import KernelCompiler, LoopCompiler
from .target import NAME, made_with

INT64 = ir.IntType(64)
_OPTIONS: dict[str, Any] = {
    "error_model": "numpy", "nogil": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True,
    "boundscheck": False, "_nrt": False, "pipeline_class": KernelCompiler,
    "_target": NAME,
}  # fmt: skip


def jit(function: Any) -> Any:
    """Compile a kernel: no Python wrapper, no GIL, NumPy's division, no fast-math."""
    return numba.njit(**_OPTIONS)(function)


made_with(jit)


def jit_loops(function: Any) -> Any:
    """Like `jit`, optimised twice: takes longer, and loops over memory come out a tenth faster."""
    return numba.njit(**{**_OPTIONS, "pipeline_class": LoopCompiler})(function)


def inline(function: Any) -> Any:
    """Like `jit`, always inlined into its caller."""
    return numba.njit(**_OPTIONS, forceinline=True)(function)


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


def _call(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    kernel = ir.FunctionType(ir.VoidType(), [INT64] * (len(args) - 1))
    builder.call(builder.inttoptr(args[0], kernel.as_pointer()), args[1:])
    return context.get_dummy_value()


@intrinsic
def call_kernel(typingctx: Any, function: Any, out: Any, x: Any, y: Any, z: Any, n: Any) -> Any:
    """Call the lane kernel at address ``function`` as ``f(out, x, y, z, n)``, all intp."""
    return types.void(*[types.intp] * 6), _call


@intrinsic
def call_array(
    typingctx: Any, function: Any, out: Any, x: Any, y: Any, z: Any, parameters: Any,
    begin: Any, end: Any,
) -> Any:
    """Call a whole-array kernel as ``f(out, x, y, z, parameters, begin, end)``, all intp."""
    return types.void(*[types.intp] * 8), _call


@intrinsic
def call_loop(typingctx: Any, function: Any, places: Any, block: Any, n: Any) -> Any:
    """Call a fused loop as ``f(places, block, n)``, all intp. Returns what it returns."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kernel = ir.FunctionType(INT64, [INT64] * 3)
        return builder.call(builder.inttoptr(args[0], kernel.as_pointer()), args[1:])

    return types.intp(*[types.intp] * 4), codegen


def stack(size: int) -> Any:
    """A function of no arguments: the address of so many bytes on the stack, on a cache line."""

    @intrinsic
    def memory(typingctx: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            with builder.goto_entry_block():
                # Not Numba's helper: it sets all to 0, byte by byte in the eyes of LLVM.
                found = builder.alloca(ir.ArrayType(ir.IntType(8), size))
            found.align = 64
            return builder.ptrtoint(found, INT64)

        return types.intp(), codegen

    return memory


@intrinsic
def fetch_add(typingctx: Any, address: Any, amount: Any) -> Any:
    """Add to the int64 at an address in one step for all threads. Returns what it was."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        counter = builder.inttoptr(args[0], INT64.as_pointer())
        return builder.atomic_rmw("add", counter, args[1], "seq_cst")

    return types.intp(types.intp, types.intp), codegen
