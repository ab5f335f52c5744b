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


def compile_module(module: ir.Module, symbols: list[str], quick: bool = False) -> Built:
    """Optimize a module of llvmlite and compile it for the processor; see `compile_text`."""
    return compile_text(str(module), symbols, quick=quick)


def compile_text(text: str, symbols: list[str], loops: str = "", quick: bool = False) -> Built:
    """Optimize functions and compile them for the processor.

    Args:
      text: The functions.
      symbols: The names of those of them that others may call.
      loops: Functions of loops over elements that the text declares.
      quick: Whether to optimize only what costs little; ``loops`` are optimized fully in any case.
        This takes a quarter of the time. Code that consists of branches rather than loops runs a
        hundredth slower.

    Returns:
      The object code, the symbols, and undefined symbols.
    """
    machine = _machine()
    module = _parse(machine, text)
    if quick:
        _optimize_branches(machine, module)
    if loops:
        inner = _parse(machine, loops)
        if quick:
            _optimize(machine, inner)
        module.link_in(inner)
        for function in module.functions:
            if not function.is_declaration and function.name not in symbols:
                function.linkage = "internal"
    if not quick:
        _optimize(machine, module)
    return machine.emit_object(module), symbols, needs(module)


def _parse(machine: llvm.TargetMachine, text: str) -> Any:
    """Parse a text that names no target."""
    module = llvm.parse_assembly(text)
    module.triple, module.data_layout = machine.triple, str(machine.target_data)
    module.verify()
    return module


def _optimize(machine: llvm.TargetMachine, module: llvm.ModuleRef) -> None:
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)


def _optimize_branches(machine: llvm.TargetMachine, module: llvm.ModuleRef) -> None:
    """Run the few passes without which code of branches would be slower."""
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options())
    passes = llvm.create_new_module_pass_manager()
    passes.add_always_inliner_pass()
    passes.add_sroa_pass()
    passes.add_simplify_cfg_pass()
    passes.add_instruction_combine_pass()
    passes.add_new_gvn_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, builder)


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
