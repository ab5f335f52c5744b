"""Numba at work: functions in, object code out. Imported only when something is compiled."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from .cache import Built

INT64 = ir.IntType(64)

# The C functions behind LLVM's math intrinsics, which the code generator may call.
_LIBM = ("sin", "cos", "tan", "exp", "exp2", "log", "log2", "log10", "pow", "floor", "ceil",
         "trunc", "rint", "nearbyint", "round", "fabs", "sqrt", "copysign", "fmod")  # fmt: skip


@global_compiler_lock
def compile_unit(name: str, functions: list[tuple[str, Any, int]]) -> Built:
    """Compile ``(symbol, jitted function, number of int64 arguments)`` into one object.

    Each becomes a C function that takes int64 and returns one. Kernels never raise, so the
    status Numba's calling convention returns is not looked at.
    """
    context = cpu_target.target_context
    library = context.codegen().create_library(f"numtape.{name}")
    library.enable_object_caching()
    module = library.create_ir_module(f"numtape.{name}")
    for symbol, function, arity in functions:
        function.compile((types.intp,) * arity)
        result = next(iter(function.overloads.values()))
        library.add_linking_library(result.library)
        returns = result.signature.return_type
        entry = ir.Function(module, ir.FunctionType(INT64, [INT64] * arity), symbol)
        builder = ir.IRBuilder(entry.append_basic_block("entry"))
        out = context.call_internal_no_propagate(
            builder, result.fndesc, result.signature, entry.args
        )
        value = out[1] if isinstance(out, tuple) else out
        builder.ret(INT64(0) if returns == types.none else value)
    library.add_ir_module(module)
    library.finalize()
    code = library._get_compiled_object()
    return code, [symbol for symbol, _, _ in functions], _needs(library)


def _needs(library: Any) -> list[str]:
    """The symbols that the object code may leave to the process."""
    needs = set()
    for function in library._final_module.functions:
        if not function.is_declaration:
            continue
        if not function.name.startswith("llvm."):
            needs.add(function.name)
            continue
        parts = function.name.split(".")
        if parts[1] in _LIBM and len(parts) > 2:
            needs.add(parts[1] + ("f" if parts[2].endswith("f32") else ""))
    return sorted(needs)
