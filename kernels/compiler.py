"""Numba's compiler stages for kernels: only the necessary ones, and machine code only at the end.

Numba compiles every function separately, so that Python can call it. Kernels call each other, and
are otherwise called only through their compilation unit (`core.compile.numba_compiler`), which is
optimized as a whole. Kernels have no closures and no Python objects, and raise nothing, so the
compiler stages for those are left out as well. This halves the compile time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba import _dynfunc
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder, _LowerResult
from numba.core.compiler_machinery import PassManager, register_pass
from numba.core.typed_passes import NativeLowering

if TYPE_CHECKING:
    from numba.core.compiler import StateDict


class Part(JITCodeLibrary):
    """The LLVM code of a function that is linked into others, without machine code."""

    def _optimize_functions(self, module: Any) -> None:
        module.data_layout = self._codegen._data_layout  # the unit is optimized as a whole

    def _optimize_final_module(self) -> None:
        pass

    def _finalize_final_module(self) -> None:
        self._finalized = True


class OptimizedPart(Part):
    """A library optimized separately, and again in its callers: this unrolls loops further."""

    _optimize_functions = JITCodeLibrary._optimize_functions
    _optimize_final_module = JITCodeLibrary._optimize_final_module


@register_pass(mutates_CFG=True, analysis_only=False)
class PartLowering(NativeLowering):
    """Lowers typed code to LLVM code that is linked into other functions."""

    _name = "numtape_part_lowering"
    part = Part

    def run_pass(self, state: StateDict) -> bool:
        """Lower the function, and register it for callers."""
        state.library = self.part(state.targetctx.codegen(), state.func_id.func_qualname)
        state.flags.no_compile = True
        super().run_pass(state)
        description, call_helper, _, environment = state["cr"]
        # Numba's description of a function. Its address is 0, so it cannot be called.
        function = _dynfunc.make_function(
            description.lookup_module(), description.qualname, "", 0, environment, (state.library,)
        )
        state.targetctx.insert_user_function(function, description, [state.library])
        state["cr"] = _LowerResult(description, call_helper, cfunc=function, env=environment)
        return True


@register_pass(mutates_CFG=True, analysis_only=False)
class OptimizedLowering(PartLowering):
    """As the base class, for functions that are optimized separately."""

    _name = "numtape_optimized_lowering"
    part = OptimizedPart


# Stages that do not apply to kernels.
_NOT_NEEDED = {
    "AnnotateTypes",
    "DumpParforDiagnostics",
    "FindLiterallyCalls",
    "InlineClosureLikes",
    "InlineInlinables",
    "InlineOverloads",
    "IRLegalization",
    "LiteralPropagationSubPipelinePass",
    "LiteralUnroll",
    "MakeFunctionToJitFunction",
    "NopythonRewrites",
    "RewriteDynamicRaises",
    "WithLifting",
}


class KernelCompiler(CompilerBase):  # type: ignore[misc]
    """Numba's stages without those that kernels do not need."""

    lowering = PartLowering

    def define_pipelines(self) -> list[Any]:
        """Define the single pipeline."""
        pipeline = PassManager("kernel")
        for stage, text in DefaultPassBuilder.define_nopython_pipeline(self.state).passes:
            if stage.__name__ not in _NOT_NEEDED:
                pipeline.add_pass(self.lowering if stage is NativeLowering else stage, text)
        pipeline.finalize()
        return [pipeline]


class LoopCompiler(KernelCompiler):
    """The pipeline for functions of long loops."""

    lowering = OptimizedLowering
