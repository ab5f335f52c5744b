"""Compiles LLVM modules and text to object code, without Numba."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import llvmlite.binding as llvm

from .cache import Built
from .processor import processor

if TYPE_CHECKING:
    from llvmlite import ir

# The C functions behind LLVM's math intrinsics, which the code generator may call.
_LIBM = (
    "sin",
    "cos",
    "tan",
    "exp",
    "exp2",
    "log",
    "log2",
    "log10",
    "pow",
    "floor",
    "ceil",
    "trunc",
    "rint",
    "nearbyint",
    "round",
    "fabs",
    "sqrt",
    "copysign",
    "fmod",
)


def compile_module(module: ir.Module, symbols: list[str]) -> Built:
    """Optimize a module of llvmlite and compile it for the processor."""
    machine = _machine()
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    return _compile_for(machine, str(module), symbols)


def compile_text(text: str, symbols: list[str], loops: bool = True) -> Built:
    """As `compile_module`, for text that does not name a target.

    Without the optimization of ``loops``, compiling takes half the time.
    """
    machine = _machine()
    layout = f'target datalayout = "{machine.target_data}"\n'
    return _compile_for(
        machine, f'{layout}target triple = "{machine.triple}"\n{text}', symbols, loops
    )


def _compile_for(
    machine: llvm.TargetMachine, text: str, symbols: list[str], loops: bool = True
) -> Built:
    parsed = llvm.parse_assembly(text)
    parsed.verify()
    tuning = llvm.create_pipeline_tuning_options(speed_level=3 if loops else 1)
    tuning.loop_vectorization = tuning.loop_unrolling = loops
    tuning.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(parsed, builder)
    return machine.emit_object(parsed), symbols, needs(parsed)


def _machine() -> Any:
    """A new target machine: threads must not share one."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    name, features = processor()
    return target.create_target_machine(cpu=name, features=features, opt=3, jit=True)


def needs(module: llvm.ModuleRef) -> list[str]:
    """The undefined symbols of a module's object code, which the process must provide."""
    symbols = set()
    for function in module.functions:
        if not function.is_declaration:
            continue
        if not function.name.startswith("llvm."):
            symbols.add(function.name)
            continue
        parts = function.name.split(".")
        if parts[1] in _LIBM and len(parts) > 2:
            symbols.add(parts[1] + ("f" if parts[2].endswith("f32") else ""))
    return sorted(symbols)
