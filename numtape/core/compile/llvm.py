"""LLVM at work: instructions in, object code out, without Numba."""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm

from .cache import Built

# The C functions behind LLVM's math intrinsics, which the code generator may call.
_LIBM = ("sin", "cos", "tan", "exp", "exp2", "log", "log2", "log10", "pow", "floor", "ceil",
         "trunc", "rint", "nearbyint", "round", "fabs", "sqrt", "copysign", "fmod")  # fmt: skip


def assembled(module: Any, symbols: list[str]) -> Built:
    """Optimise a module of llvmlite's and compile it for this processor."""
    machine = _machine()
    module.triple = machine.triple
    module.data_layout = str(machine.target_data)
    parsed = llvm.parse_assembly(str(module))
    parsed.verify()
    tuning = llvm.create_pipeline_tuning_options(speed_level=3)
    tuning.loop_vectorization = True
    tuning.slp_vectorization = False
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(parsed, builder)
    return machine.emit_object(parsed), symbols, needs(parsed)


def _machine() -> Any:
    """A target machine of one's own: they are not shared between threads."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=llvm.get_host_cpu_features().flatten(), opt=3,
        jit=True,
    )  # fmt: skip


def needs(module: Any) -> list[str]:
    """The symbols that a module's object code may leave to the process."""
    found = set()
    for function in module.functions:
        if not function.is_declaration:
            continue
        if not function.name.startswith("llvm."):
            found.add(function.name)
            continue
        parts = function.name.split(".")
        if parts[1] in _LIBM and len(parts) > 2:
            found.add(parts[1] + ("f" if parts[2].endswith("f32") else ""))
    return sorted(found)
