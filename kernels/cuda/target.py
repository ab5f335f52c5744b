"""The target of kernels, a GPU or the simulator: all differences between them are here.

Kernels import `cuda`, dtypes (`KINDS`), `device` for device functions, and vector access from here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import config, cuda as _cuda, types

from ..constants import CUDA_THREADS, CUDA_VECTOR, CUDA_WARP
from . import simulated

if TYPE_CHECKING:
    from ..annotations import (
        Array,
        Builder,
        Context,
        Number,
        Signature,
        Type,
        TypingContext,
        Values,
        Vector,
    )

SIMULATED = bool(config.ENABLE_CUDASIM)

# Dtypes by name, as kernels call them: ``kind(2)`` is a 2 of that dtype.
KINDS: dict[str, Any] = {
    name: getattr(np if SIMULATED else types, name)
    for name in (
        "float32",
        "float64",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
    )
}
KINDS["bool"] = np.bool_ if SIMULATED else types.boolean

# Threads of a block and of a warp, and the mask of a full warp. The simulator has few threads; one
# test has more.
THREADS, WARP = (simulated.THREADS, simulated.WARP) if SIMULATED else (CUDA_THREADS, CUDA_WARP)
ALL_LANES = (1 << WARP) - 1


cuda: Any = simulated.cuda if SIMULATED else _cuda


def device(function: Callable[..., Any]) -> Any:
    """A function that kernels call."""
    return function if SIMULATED else _cuda.jit(device=True)(function)


if SIMULATED:

    def _loading(width: int) -> Any:
        def load(pointer: Array, i: int) -> Any:
            return tuple(pointer[width * i + k] for k in range(width))

        return load

    def _storing(width: int) -> Any:
        def store(pointer: Array, i: int, values: Vector) -> None:
            for k in range(width):
                pointer[width * i + k] = values[k]

        return store

    def add_at(pointer: Array, i: int, value: Number) -> None:
        """Add to an element atomically."""
        cuda.atomic.add(pointer, i, value)

    def add_four_at(pointer: Array, i: int, values: Vector) -> None:
        """Add four float32 to those from ``4 * i`` on, each atomically."""
        for k, value in enumerate(values):
            cuda.atomic.add(pointer, 4 * i + k, value)

    # NumPy scalars warn on overflow, so these functions use Python's ints.
    _UINT64 = 2**64 - 1

    def product(x: int, y: int) -> Any:
        """The lower and the upper 64 bits of the product of two uint64."""
        product_ = int(x) * int(y)
        return np.uint64(product_ & _UINT64), np.uint64(product_ >> 64)

    def total(x: int, y: int) -> Any:
        """The sum of two uint64, which wraps."""
        return np.uint64(int(x) + int(y) & _UINT64)

else:
    from llvmlite import ir
    from numba.cuda import libdevice
    from numba.cuda.extending import intrinsic

    @device
    def product(x: int, y: int) -> Any:
        """The lower and the upper 64 bits of the product of two uint64."""
        return x * y, types.uint64(libdevice.umul64hi(x, y))

    @device
    def total(x: int, y: int) -> Any:
        """The sum of two uint64, which wraps."""
        return x + y

    @intrinsic
    def add_four_at(
        typingctx: TypingContext, pointer: types.CPointer, i: Type, values: Type
    ) -> Any:
        """Add four float32 to those from ``4 * i`` on, by one instruction of sm_90."""

        def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
            real, word = ir.FloatType(), ir.IntType(64)
            four = builder.mul(args[1], word(4))
            at = builder.ptrtoint(builder.gep(args[0], [four]), word)
            add = ir.FunctionType(ir.VoidType(), [word, *[real] * 4])
            elements = [builder.extract_value(args[2], k) for k in range(4)]
            text = "red.global.add.v4.f32 [$0], {$1, $2, $3, $4};"
            builder.asm(add, text, "l,f,f,f,f,~{memory}", [at, *elements], True)
            return context.get_dummy_value()

        return types.void(pointer, types.int64, types.UniTuple(types.float32, 4)), codegen

    _INT32 = ir.IntType(32)

    def _vector(
        context: Context, builder: Builder, pointer: ir.Value, kind: Type, i: ir.Value, width: int
    ) -> Any:
        """The type and address of vector ``i``, and its alignment, which numba does not know."""
        vector = ir.VectorType(context.get_data_type(kind), width)
        at = builder.gep(builder.bitcast(pointer, vector.as_pointer()), [i])
        return vector, at, width * kind.bitwidth // 8

    def _loading(width: int) -> Any:
        def load(typingctx: TypingContext, pointer: types.CPointer, i: Type) -> Any:
            kind = pointer.dtype

            def codegen(
                context: Context, builder: Builder, signature: Signature, args: Values
            ) -> Any:
                _, at, align = _vector(context, builder, args[0], kind, args[1], width)
                vector = builder.load(at, align=align)
                elements = [builder.extract_element(vector, _INT32(k)) for k in range(width)]
                return context.make_tuple(builder, signature.return_type, elements)

            return types.UniTuple(kind, width)(pointer, i), codegen

        return intrinsic(load)

    def _storing(width: int) -> Any:
        def store(typingctx: TypingContext, pointer: types.CPointer, i: Type, values: Type) -> Any:
            kind = pointer.dtype

            def codegen(
                context: Context, builder: Builder, signature: Signature, args: Values
            ) -> Any:
                vector, at, align = _vector(context, builder, args[0], kind, args[1], width)
                vector_value = ir.Constant(vector, ir.Undefined)
                for k in range(width):
                    element = builder.extract_value(args[2], k)
                    vector_value = builder.insert_element(vector_value, element, _INT32(k))
                builder.store(vector_value, at, align=align)
                return context.get_dummy_value()

            return types.void(pointer, i, values), codegen

        return intrinsic(store)

    @intrinsic
    def add_at(typingctx: TypingContext, pointer: types.CPointer, i: Type, value: Type) -> Any:
        """Add to a float atomically; `cuda.atomic.add` does not accept pointers."""
        kind = pointer.dtype

        def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
            real, bits = context.get_data_type(kind), kind.bitwidth
            name = f"llvm.nvvm.atomic.load.add.f{bits}.p0f{bits}"
            add = ir.FunctionType(real, [real.as_pointer(), real])
            at = builder.gep(args[0], [args[1]])
            function = builder.module.globals.get(name) or ir.Function(builder.module, add, name)
            builder.call(function, [at, args[2]])
            return context.get_dummy_value()

        return types.void(pointer, i, kind), codegen


# load(x, i): CUDA_VECTOR elements of x from CUDA_VECTOR * i on, as a tuple.
load = _loading(CUDA_VECTOR)
# store(x, i, values): stores a tuple there. Both need aligned arrays.
store = _storing(CUDA_VECTOR)
# The same for groups of elementwise rows, with two widths: elements of 8 bytes go in pairs.
VECTORS = {
    f"{name}{width}": make(width)
    for name, make in (("load", _loading), ("store", _storing))
    for width in (CUDA_VECTOR, CUDA_VECTOR // 2)
}
