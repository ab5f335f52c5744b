"""The ``jit`` wrapper, and intrinsics with which jitted code works on raw addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
from llvmlite import binding, ir
from numba import types
from numba.extending import intrinsic

from .constants import PAUSES
from .numba_internals import NAME, KernelCompiler, LoopCompiler, set_jit

if TYPE_CHECKING:
    from collections.abc import Callable

    from .annotations import Builder, Context, Signature, Type, TypingContext, Values

INT64 = ir.IntType(64)
_PROCESSOR = binding.get_process_triple().partition("-")[0].replace("arm64", "aarch64")
_OPTIONS: dict[str, Any] = {
    "error_model": "numpy",
    "nogil": True,
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "boundscheck": False,
    "_nrt": False,
    "pipeline_class": KernelCompiler,
    "_target": NAME,
}


def jit(function: Callable[..., Any]) -> Any:
    """Compile a kernel: no Python wrapper, no GIL, NumPy's division, no fast-math."""
    return numba.njit(**_OPTIONS)(function)


set_jit(jit)


def jit_loops(function: Callable[..., Any]) -> Any:
    """Like `jit`, optimized twice: compiles slower, but loops over memory run a tenth faster."""
    return numba.njit(**{**_OPTIONS, "pipeline_class": LoopCompiler})(function)


def inline(function: Callable[..., Any]) -> Any:
    """Like `jit`, always inlined into its caller."""
    return numba.njit(**_OPTIONS, forceinline=True)(function)


def loop(function: Callable[..., Any]) -> Any:
    """Like `inline`, for a loop over elements that calls no other functions than such loops.

    `core.compile.translate` optimizes it more than its callers, and does not inline it into them.
    """
    return inline(function)


def pointer_to(dtype: Type) -> Any:
    """An intrinsic that turns an address (intp) into a pointer to ``dtype``."""

    @intrinsic
    def pointer(typingctx: TypingContext, address: Type) -> Any:
        def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
            target = context.get_data_type(dtype).as_pointer()
            return builder.inttoptr(args[0], target)

        return types.CPointer(dtype)(types.intp), codegen

    return pointer


POINTERS = {
    name: pointer_to(getattr(types, name))
    for name in (
        "int8",
        "uint8",
        "int16",
        "uint16",
        "int32",
        "uint32",
        "int64",
        "uint64",
        "float32",
        "float64",
    )
}
# A bool is one byte that holds 0 or 1, loaded and stored as uint8, as in NumPy.
POINTERS["bool"] = POINTERS["uint8"]


def declared(builder: Builder, name: str, result: ir.Type, parameters: list[ir.Type]) -> Any:
    """The function of this name in the module that is built, declared at its first use."""
    kind = ir.FunctionType(result, parameters)
    return builder.module.globals.get(name) or ir.Function(builder.module, kind, name)


def _call(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
    kernel = ir.FunctionType(ir.VoidType(), [INT64] * (len(args) - 1))
    builder.call(builder.inttoptr(args[0], kernel.as_pointer()), args[1:])
    return context.get_dummy_value()


@intrinsic
def call_kernel(
    typingctx: TypingContext, function: Type, out: Type, x: Type, y: Type, z: Type, n: Type
) -> Any:
    """Call the lane kernel at address ``function`` as ``f(out, x, y, z, n)``, all intp."""
    return types.void(*[types.intp] * 6), _call


@intrinsic
def call_array(
    typingctx: TypingContext,
    function: Type,
    out: Type,
    x: Type,
    y: Type,
    z: Type,
    parameters: Type,
    begin: Type,
    end: Type,
) -> Any:
    """Call a whole-array kernel as ``f(out, x, y, z, parameters, begin, end)``, all intp."""
    return types.void(*[types.intp] * 8), _call


@intrinsic
def call_loop(typingctx: TypingContext, function: Type, places: Type, block: Type, n: Type) -> Any:
    """Call a fused loop as ``f(places, block, n)``, all intp. Returns its status."""

    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
        kernel = ir.FunctionType(INT64, [INT64] * 3)
        return builder.call(builder.inttoptr(args[0], kernel.as_pointer()), args[1:])

    return types.intp(*[types.intp] * 4), codegen


def _c_function(count: int) -> Any:
    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
        kind = ir.FunctionType(INT64, [INT64] * count)
        return builder.call(builder.inttoptr(args[0], kind.as_pointer()), args[1:])

    return codegen


@intrinsic
def call0(typingctx: TypingContext, function: Type) -> Any:
    """Call a C function without arguments."""
    return types.intp(types.intp), _c_function(0)


@intrinsic
def call1(typingctx: TypingContext, function: Type, a: Type) -> Any:
    """Call a C function with one intp argument."""
    return types.intp(*[types.intp] * 2), _c_function(1)


@intrinsic
def call2(typingctx: TypingContext, function: Type, a: Type, b: Type) -> Any:
    """Call a C function with two intp arguments."""
    return types.intp(*[types.intp] * 3), _c_function(2)


@intrinsic
def call3(typingctx: TypingContext, function: Type, a: Type, b: Type, c: Type) -> Any:
    """Call a C function with three intp arguments."""
    return types.intp(*[types.intp] * 4), _c_function(3)


@intrinsic
def call4(typingctx: TypingContext, function: Type, a: Type, b: Type, c: Type, d: Type) -> Any:
    """Call a C function with four intp arguments."""
    return types.intp(*[types.intp] * 5), _c_function(4)


def stack(size: int) -> Any:
    """An intrinsic that allocates ``size`` bytes on the stack, aligned to a cache line."""

    @intrinsic
    def memory(typingctx: TypingContext) -> Any:
        def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
            with builder.goto_entry_block():
                # Numba's helper would zero the memory, which LLVM sees as stores of single bytes.
                array = builder.alloca(ir.ArrayType(ir.IntType(8), size))
            array.align = 64
            return builder.ptrtoint(array, INT64)

        return types.intp(), codegen

    return memory


@intrinsic
def fetch_add(typingctx: TypingContext, address: Type, amount: Type) -> Any:
    """Add atomically to the int64 at an address. Returns the old value."""

    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
        return builder.atomic_rmw("add", _place(builder, args[0]), args[1], "seq_cst")

    return types.intp(types.intp, types.intp), codegen


@intrinsic
def exchange(typingctx: TypingContext, address: Type, value: Type) -> Any:
    """Exchange the int64 at an address atomically. Returns the old value."""

    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
        return builder.atomic_rmw("xchg", _place(builder, args[0]), args[1], "seq_cst")

    return types.int64(types.int64, types.int64), codegen


@intrinsic
def exchange_if(typingctx: TypingContext, address: Type, expected: Type, value: Type) -> Any:
    """Compare and exchange the int64 at an address atomically. Returns whether it succeeded."""

    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
        place = _place(builder, args[0])
        pair = builder.cmpxchg(place, args[1], args[2], "seq_cst", "seq_cst")
        return builder.extract_value(pair, 1)

    return types.boolean(types.int64, types.int64, types.int64), codegen


@intrinsic
def word(typingctx: TypingContext, address: Type) -> Any:
    """The int64 at an address."""

    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
        return builder.load(_place(builder, args[0]))

    return types.int64(types.int64), codegen


@intrinsic
def double_bits(typingctx: TypingContext, number: Type) -> Any:
    """The bits of an integer as a float64."""

    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
        return builder.bitcast(builder.sitofp(args[0], ir.DoubleType()), INT64)

    return types.int64(types.int64), codegen


@intrinsic
def single_bits(typingctx: TypingContext, bits: Type) -> Any:
    """The bits of a float64, from its bits, as a float32."""

    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
        single = builder.fptrunc(builder.bitcast(args[0], ir.DoubleType()), ir.FloatType())
        return builder.zext(builder.bitcast(single, ir.IntType(32)), INT64)

    return types.int64(types.int64), codegen


@intrinsic
def pause(typingctx: TypingContext) -> Any:
    """Tell the processor that this is a spin loop."""

    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
        name, words = PAUSES.get(_PROCESSOR, ("", ()))
        if name:
            function = declared(builder, name, ir.VoidType(), [ir.IntType(32)] * len(words))
            builder.call(function, [ir.IntType(32)(word) for word in words])
        return context.get_dummy_value()

    return types.void(), codegen


@intrinsic
def load_now(typingctx: TypingContext, address: Type) -> Any:
    """The current int64 at an address (an atomic load)."""

    def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
        return builder.load_atomic(_place(builder, args[0]), "seq_cst", 8)

    return types.int64(types.int64), codegen


def _place(builder: Builder, address: ir.Value) -> Any:
    return builder.inttoptr(address, INT64.as_pointer())


def _vector_copy(size: int) -> Any:
    """An intrinsic that copies ``size`` bytes at address ``x`` to address ``out``."""

    @intrinsic
    def copy(typingctx: TypingContext, out: Type, x: Type) -> Any:
        def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
            place = ir.VectorType(ir.IntType(8), size).as_pointer()
            out, x = (builder.inttoptr(address, place) for address in args)
            builder.store(builder.load(x, align=1), out, align=1)
            return context.get_dummy_value()

        return types.void(types.intp, types.intp), codegen

    return copy


def _vector_fill(size: int) -> Any:
    """An intrinsic that fills ``size`` bytes at address ``out`` with copies of an int64."""

    @intrinsic
    def fill(typingctx: TypingContext, out: Type, value: Type) -> Any:
        def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
            vector = ir.VectorType(INT64, size // 8)
            empty = ir.Constant(vector, ir.Undefined)
            first = builder.insert_element(empty, args[1], ir.IntType(32)(0))
            places = ir.Constant(ir.VectorType(ir.IntType(32), size // 8), [0] * (size // 8))
            value = builder.shuffle_vector(first, empty, places)
            builder.store(value, builder.inttoptr(args[0], vector.as_pointer()), align=1)
            return context.get_dummy_value()

        return types.void(types.intp, types.intp), codegen

    return fill


copy16, copy32, copy64 = map(_vector_copy, (16, 32, 64))
fill16, fill32, fill64 = map(_vector_fill, (16, 32, 64))
