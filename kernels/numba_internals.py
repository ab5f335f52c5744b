"""Everything that numtape uses of Numba's private API: a target, compiler stages and units.

Other modules use Numba's public API: ``njit``, ``types``, ``errors``, ``extending``, ``config``.
The private API may change with every release, and if Numba no longer called an overridden method,
the machine code would be wrong. So `PARAMETERS`, `REFERENCES` and `PIPELINE` describe what is used,
as it is in the versions of `KNOWN`. Any other version is compared with them at import. If it
differs, the import fails.

The *target* has numbers, ranges, tuples and pointers. Numba's own supports all of Python and NumPy
that Numba can compile. Its setup takes longer than compiling a small kernel, because it imports
SciPy's linear algebra and compiles a runtime for Python's objects; and each operator checks for
arrays, sets and strings. Kernels use none of these, and the object code is the same, byte for byte.

The *compiler stages* are only the necessary ones, with machine code only at the end. Numba compiles
every function separately, so that Python can call it. Kernels call each other, and are otherwise
called only through their *unit*, which is optimized as a whole. Kernels have no closures and no
Python objects, and raise nothing, so the compiler stages for those are left out as well. This
halves the compile time.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numba
from llvmlite import binding, ir
from numba import config, types

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

KNOWN = (0, 65), (0, 69)  # the first version, and the first that is not known


def _not_supported(reasons: Sequence[str]) -> ImportError:
    first, end = (".".join(map(str, version)) for version in KNOWN)
    return ImportError(
        f"numtape does not support Numba {numba.__version__}, whose internals differ from those of "
        f'known versions: {"; ".join(reasons)}. Install "numba>={first},<{end}".'
    )


try:
    from numba import _dynfunc  # makes the objects that stand for compiled functions
    from numba.core import cgutils  # loops and memory in the code of intrinsics
    from numba.core.base import BaseContext  # for annotations
    from numba.core.codegen import JITCodeLibrary, RuntimeLinker  # LLVM code; names of recursion
    from numba.core.compiler import (
        CompilerBase,
        CompileResult,  # noqa: F401  an entry of `Dispatcher.overloads`
        DefaultPassBuilder,  # Numba's pipeline
        Flags,  # the options of a pipeline
        StateDict,  # the function that a pipeline compiles
        _LowerResult,  # what a lowering stage leaves to the next stage
    )
    from numba.core.compiler_lock import global_compiler_lock
    from numba.core.compiler_machinery import PassManager, register_pass
    from numba.core.cpu import CPUContext, CPUTargetOptions
    from numba.core.descriptors import TargetDescriptor
    from numba.core.dispatcher import Dispatcher  # the class of jitted functions
    from numba.core.registry import cpu_target  # Numba's own target
    from numba.core.target_extension import (
        CPU,
        dispatcher_registry,
        jit_registry,
        target_override,
        target_registry,
    )
    from numba.core.typed_passes import NativeLowering
    from numba.core.typing import Context as TypingContext, Signature, mathdecl
except ImportError as error:
    raise _not_supported([str(error)]) from error

__all__ = [
    "BaseContext",
    "Dispatcher",
    "KernelCompiler",
    "LoopCompiler",
    "NAME",
    "Signature",
    "TypingContext",
    "Unit",
    "argument_types",
    "assembly",
    "cgutils",
    "global_compiler_lock",
    "return_type",
    "set_jit",
    "set_processor",
]

# Functions that are called or overridden, with their parameters, and other attributes (None).
PARAMETERS = {
    "BaseContext.call_internal_no_propagate": "self builder fndesc sig args",
    "BaseContext.cast": "self builder val fromty toty",
    "BaseContext.get_data_type": "self ty",
    "BaseContext.get_dummy_value": "self",
    "BaseContext.get_value_type": "self ty",
    "BaseContext.insert_user_function": "self func fndesc libs",
    "BaseContext.install_registry": "self registry",
    "BaseContext.load_additional_registries": "self",
    "BaseContext.make_tuple": "self builder typ values",
    "BaseContext.post_lowering": "self mod library",
    "CPUContext": "typingctx target",
    "CPUContext.codegen": "self",
    "cpu_target._toplevel_target_context": None,
    "CPUTargetOptions._nrt": None,
    "CPUTargetOptions.boundscheck": None,
    "CPUTargetOptions.error_model": None,
    "CPUTargetOptions.fastmath": None,
    "CPUTargetOptions.forceinline": None,
    "CPUTargetOptions.no_cfunc_wrapper": None,
    "CPUTargetOptions.no_cpython_wrapper": None,
    "CPUTargetOptions.nogil": None,
    "CompileResult.fndesc": None,
    "CompileResult.library": None,
    "CompileResult.signature": None,
    "CompilerBase.define_pipelines": "self",
    "DefaultPassBuilder.define_nopython_pipeline": "state name",
    "Dispatcher.compile": "self sig",
    "Dispatcher.typeof_pyval": "self val",
    "JITCodeLibrary": "codegen name",
    "JITCodeLibrary._finalize_final_module": "self",
    "JITCodeLibrary._get_compiled_object": "self",
    "JITCodeLibrary._optimize_final_module": "self",
    "JITCodeLibrary._optimize_functions": "self ll_module",
    "JITCodeLibrary.add_ir_module": "self ir_module",
    "JITCodeLibrary.add_linking_library": "self library",
    "JITCodeLibrary.create_ir_module": "self name",
    "JITCodeLibrary.enable_object_caching": "self",
    "JITCodeLibrary.finalize": "self",
    "JITCodeLibrary.get_function": "self name",
    "NativeLowering.run_pass": "self state",
    "PassManager": "pipeline_name",
    "PassManager.add_pass": "self pss description",
    "PassManager.finalize": "self",
    "RuntimeLinker.PREFIX": None,
    "TargetDescriptor": "target_name",
    "TargetDescriptor.target_context": None,
    "TargetDescriptor.typing_context": None,
    "TypingContext": "",
    "TypingContext._lookup_global": "self gv",
    "TypingContext.install_registry": "self registry",
    "TypingContext.load_additional_registries": "self",
    "TypingContext.resolve_function_type": "self func args kws",
    "_LowerResult": "fndesc call_helper cfunc env",
    "_dynfunc.make_function": None,
    "cgutils.alloca_once": "builder ty size name zfill",
    "cgutils.alloca_once_value": "builder value name zfill",
    "cgutils.for_range": "builder count start intp",
    "cgutils.for_range_slice": "builder start stop step intp inc",
    "mathdecl.registry": None,
    "register_pass": "mutates_CFG analysis_only",
    "target_override": "name",
    "types.Function.get_impl_key": "self sig",
}
# Names in the code of Numba's functions: attributes that are used, and overridden methods that
# these functions call.
REFERENCES = {
    "BaseContext.refresh": "load_additional_registries install_registry refresh",
    "CompilerBase._compile_core": "define_pipelines run cr",
    "Dispatcher.__init__": "targetdescr typing_context target_context targetctx",
    "Dispatcher.get_overload": "overloads",
    "JITCodeLibrary.__init__": "_codegen _final_module",
    "JITCodeLibrary._ensure_finalized": "_finalized finalize",
    "JITCodeLibrary._finalize_final_module": "_finalized",
    "JITCodeLibrary._optimize_functions": "_codegen _data_layout",
    "JITCodeLibrary.add_ir_module": "add_llvm_module",
    "JITCodeLibrary.add_linking_library": "_ensure_finalized",
    "JITCodeLibrary.add_llvm_module": "_optimize_functions _final_module link_in",
    "JITCodeLibrary.finalize": "_optimize_final_module _finalize_final_module",
    "JITCodeLibrary.get_asm_str": "_codegen _tm emit_assembly _final_module",
    "NativeLowering.run_pass": "library targetctx flags no_compile no_cpython_wrapper "
    "no_cfunc_wrapper forceinline _LowerResult env call_helper",
    "TypingContext.refresh": "load_additional_registries",
    "types.Function.get_impl_key": "_impl_keys args",
}
# The stages of Numba's pipeline.
PIPELINE = """
    TranslateByteCode FixupArgs IRProcessing WithLifting InlineClosureLikes
    RewriteSemanticConstants DeadBranchPrune GenericRewrites RewriteDynamicRaises
    MakeFunctionToJitFunction InlineInlinables DeadBranchPrune FindLiterallyCalls LiteralUnroll
    ReconstructSSA DeadBranchPrune LiteralPropagationSubPipelinePass NopythonTypeInference
    PreLowerStripPhis InlineOverloads NopythonRewrites NoPythonSupportedFeatureValidation
    IRLegalization AnnotateTypes NativeLowering NoPythonBackend DumpParforDiagnostics""".split()
# Those that do not apply to kernels.
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


def attribute(path: str) -> Any:
    """The object that a key of `PARAMETERS` or `REFERENCES` names; None if Numba has none."""
    name, *rest = path.split(".")
    value = globals()[name]
    for name in rest:
        value = inspect.getattr_static(value, name, None)
        value = value.__func__ if isinstance(value, staticmethod) else value
    return value


def differences() -> Iterator[str]:
    """Differences of the running Numba from the tables above."""
    for path, parameters in PARAMETERS.items():
        value = attribute(path)
        if value is None:
            yield f"{path} is missing"
        elif parameters is not None:
            names = " ".join(inspect.signature(value).parameters)
            if names != parameters:
                yield f"the parameters of {path} are {names!r}, not {parameters!r}"
    for path, names in REFERENCES.items():
        code = getattr(inspect.unwrap(attribute(path) or len), "__code__", None)
        missing = {*names.split()} - {*(code.co_names if code else ())}
        if missing:
            yield f"{path} does not use {', '.join(sorted(missing))}"
    state = StateDict(func_ir=None, flags=Flags())
    stages = [x.__name__ for x, _ in DefaultPassBuilder.define_nopython_pipeline(state).passes]
    if stages != PIPELINE:
        changed = sorted({*stages} ^ {*PIPELINE}) or ["their order"]
        yield f"the stages of the pipeline differ in {', '.join(changed)}"


def _is_known() -> bool:
    version = numba.version_info.short  # a number is None if Numba was built without its history
    return None not in version and KNOWN[0] <= version < KNOWN[1]


def _check() -> None:
    """Raise ImportError if the running Numba differs."""
    reasons: list[str] = []
    try:
        reasons.extend(differences())
    except Exception as error:  # the comparison itself uses the private API
        reasons.append(f"{type(error).__name__}: {error}")
    if reasons:
        raise _not_supported(reasons)


if not _is_known():
    _check()

# --- The target ----------------------------------------------------------------------------------

NAME = "numtape"


class Kernels(CPU):
    """The target's class in Numba's tables; it inherits all generic implementations."""


class KernelTyping(TypingContext):
    """The functions of the target and their result types."""

    def __init__(self) -> None:
        self._answers: dict[tuple[Any, ...], Any] = {}
        super().__init__()

    def load_additional_registries(self) -> None:
        """Load the built-in functions and the math module."""
        self.install_registry(mathdecl.registry)

    def resolve_function_type(
        self, func: object, args: tuple[types.Type, ...], kws: Mapping[str, types.Type]
    ) -> Any:
        """The signature of a call, cached for built-in functions and argument types.

        Type inference asks for every call in every round.
        """
        known = func if isinstance(func, types.Function) else self._lookup_global(func)
        if kws or not isinstance(known, types.Function):
            return super().resolve_function_type(func, args, kws)
        # A function that is resolved for more argument types becomes another object.
        key = (id(known), args)
        if key not in self._answers:
            signature = super().resolve_function_type(func, args, kws)
            lowered = known.get_impl_key(signature) if signature is not None else None
            self._answers[key] = known, signature, lowered
        _, signature, lowered = self._answers[key]
        if signature is not None:  # Numba's own target may have resolved the same object meanwhile
            known._impl_keys[signature.args] = lowered
        return signature


class KernelContext(CPUContext):  # type: ignore[misc]
    """The lowering of the target's functions to LLVM code."""

    def load_additional_registries(self) -> None:
        """Load the lowering of numbers, ranges, tuples and the math module, by imports."""
        from numba.cpython import builtins, mathimpl, numbers, rangeobj, tupleobj  # noqa: F401

        self.install_registry(mathimpl.registry)

    def post_lowering(self, mod: ir.Module, library: Any) -> None:
        """Do nothing: kernels need no runtime."""


class KernelTarget(TargetDescriptor):  # type: ignore[misc]
    """The typing and lowering contexts of all kernels."""

    options = CPUTargetOptions

    @cached_property
    def typing_context(self) -> KernelTyping:
        """The typing context."""
        return KernelTyping()

    @cached_property
    def target_context(self) -> KernelContext:
        """The lowering context."""
        return KernelContext(self.typing_context, NAME)


class KernelDispatcher(Dispatcher):  # type: ignore[misc]
    """A jitted kernel."""

    targetdescr = KernelTarget(NAME)


target_registry[NAME] = Kernels
dispatcher_registry[Kernels] = KernelDispatcher


def set_jit(jit: Callable[..., Any]) -> None:
    """Compile Numba's Python implementations, such as ``min``, like kernels."""
    jit_registry[Kernels] = lambda **options: jit


# --- Compiler stages -----------------------------------------------------------------------------


class Part(JITCodeLibrary):  # type: ignore[misc]
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
class PartLowering(NativeLowering):  # type: ignore[misc]
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


# --- Units ---------------------------------------------------------------------------------------

_INT64 = ir.IntType(64)


class Unit(JITCodeLibrary):  # type: ignore[misc]
    """The LLVM code of C functions and of all that they call, optimized as a whole.

    The functions take int64s and return one. Kernels never raise, so the status that Numba's
    calling convention returns is ignored.
    """

    def __init__(self, name: str, jitted: Dispatcher) -> None:
        """Make a unit without functions, for the target of a jitted function."""
        self._context, self._symbols = jitted.targetctx, []
        super().__init__(self._context.codegen(), name)
        self.enable_object_caching()
        self._module = self.create_ir_module(name)

    def add(
        self, symbol: str, jitted: Dispatcher, signature: tuple[types.Type, ...], block: bool
    ) -> tuple[ir.Function, Any]:
        """Add a C function that calls a jitted function with arguments of these types.

        With ``block``, it takes the address of a block that holds the arguments. Returns it and the
        LLVM code of the jitted function.
        """
        context = self._context
        with target_override(context.target_name):
            jitted.compile(signature)
        result = jitted.overloads[signature]
        self.add_linking_library(result.library)
        size = sum(map(_words, signature))
        kind = ir.FunctionType(_INT64, [_INT64] * (1 if block else size))
        entry = ir.Function(self._module, kind, symbol)
        builder = ir.IRBuilder(entry.append_basic_block("entry"))
        values = list(entry.args)
        if block:
            start = builder.inttoptr(values[0], _INT64.as_pointer())
            values = [builder.load(builder.gep(start, [_INT64(k)])) for k in range(size)]
        remaining = iter(values)
        arguments = [_argument(context, builder, kind, remaining) for kind in signature]
        out = context.call_internal_no_propagate(
            builder, result.fndesc, result.signature, arguments
        )
        value = out[1] if isinstance(out, tuple) else out
        builder.ret(_INT64(0) if result.signature.return_type == types.none else value)
        self._symbols.append(symbol)
        return entry, result.library.get_function(result.fndesc.llvm_func_name)

    def compile(self) -> tuple[bytes, binding.ModuleRef]:
        """Compile the functions. Returns the object code, and the LLVM code of it."""
        self.add_ir_module(self._module)
        self.finalize()
        return self._get_compiled_object(), self._final_module

    def _optimize_final_module(self) -> None:
        """Optimize: the last step before object code."""
        self._resolve()
        self._hide()
        super()._optimize_final_module()

    def _resolve(self) -> None:
        """Resolve symbols of functions that call each other, as Numba would when it loads them."""
        module = self._final_module
        text = [f'target triple = "{module.triple}"']
        for value in module.global_variables:
            name = value.name.removeprefix(RuntimeLinker.PREFIX)
            if name != value.name:
                text += [f'declare void @"{name}"()', f'@"{value.name}" = constant ptr @"{name}"']
        if len(text) > 1:
            module.link_in(binding.parse_assembly("\n".join(text)))

    def _hide(self) -> None:
        """Make all symbols internal except the C functions.

        Numba numbers functions from 0 in each process, so objects compiled by different processes
        may use one name for different functions, and the linker would take the first.
        """
        module = self._final_module
        for value in (*module.functions, *module.global_variables):
            if not value.is_declaration and value.name not in self._symbols:
                value.linkage = "internal"


def _words(kind: types.Type) -> int:
    """The number of int64s that an argument is made of."""
    return sum(map(_words, kind.types)) if isinstance(kind, types.BaseTuple) else 1


def _argument(
    context: BaseContext, builder: ir.IRBuilder, kind: types.Type, values: Iterator[Any]
) -> Any:
    """Build an argument of a type from the next values."""
    if isinstance(kind, types.BaseTuple):
        fields = [_argument(context, builder, field, values) for field in kind.types]
        return context.make_tuple(builder, kind, fields)
    value = next(values)
    return value if kind is types.intp else builder.inttoptr(value, context.get_data_type(kind))


# --- Numba's own target --------------------------------------------------------------------------


def argument_types(jitted: Dispatcher, arguments: Sequence[Any]) -> tuple[types.Type, ...]:
    """The types for which a call with these arguments compiles a jitted function."""
    return tuple([jitted.typeof_pyval(x) for x in arguments])


def return_type(jitted: Dispatcher, signature: tuple[types.Type, ...]) -> types.Type | None:
    """The type of a jitted function's result; None if it is not compiled for these arguments."""
    result = jitted.overloads.get(signature)
    return None if result is None else result.signature.return_type


def assembly(module: binding.ModuleRef) -> Any:
    """The assembly of an LLVM module, for the processor that Numba compiles kernels for."""
    return KernelDispatcher.targetdescr.target_context.codegen()._tm.emit_assembly(module)


def set_processor(name: str, features: str) -> bool:
    """Make Numba compile for a processor. Returns False if it has compiled for another before."""
    if (config.CPU_NAME, config.CPU_FEATURES) != (name, features):
        if "_toplevel_target_context" in vars(cpu_target):
            return False
        config.CPU_NAME, config.CPU_FEATURES = name, features
    return True
