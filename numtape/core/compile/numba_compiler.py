"""Compiles functions to object code with Numba. Imported only to compile."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from llvmlite import binding as llvm, ir
from numba import types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.target_extension import target_override

from .cache import Built
from .llvm import needs

if TYPE_CHECKING:
    from numba.core.base import BaseContext
    from numba.core.codegen import CodeLibrary

INT64 = ir.IntType(64)


@dataclass
class Record:
    """A parameter that is a named tuple: its type, and the kinds of its fields."""

    type: Any
    fields: list[str]


@dataclass
class CompiledFunction:
    """A function of a unit.

    Attributes:
      symbol: Its name in the object code.
      jitted: The function to compile.
      parameters: The dtype that each parameter points to, or "" for an int64; or a record.
      block: Whether the C function takes the address of a block that holds the arguments, eight
        bytes each, instead of the arguments. Fields of a record are consecutive.
    """

    symbol: str
    jitted: Any
    parameters: Sequence[str | Record]
    block: bool = False


def _type(parameter: str | Record) -> Any:
    """The Numba type of a parameter."""
    if isinstance(parameter, Record):
        fields = [_type(kind) for kind in parameter.fields]
        return types.BaseTuple.from_types(fields, parameter.type)
    return types.CPointer(getattr(types, parameter)) if parameter else types.intp


def _argument(
    context: BaseContext, builder: ir.IRBuilder, kind: types.Type, values: Iterator[Any]
) -> Any:
    """Build an argument of a type from the next values."""
    if isinstance(kind, types.BaseTuple):
        fields = [_argument(context, builder, field, values) for field in kind.types]
        return context.make_tuple(builder, kind, fields)
    value = next(values)
    return value if kind is types.intp else builder.inttoptr(value, context.get_data_type(kind))


@global_compiler_lock  # type: ignore[untyped-decorator]
def compile_unit(name: str, functions: list[CompiledFunction]) -> Built:
    """Compile functions into one object: C functions that take int64 and return one.

    Kernels never raise, so the status that Numba's calling convention returns is ignored.
    """
    vectors = importlib.import_module("numtape.kernels.functions.value")
    context = functions[0].jitted.targetctx
    library = context.codegen().create_library(f"numtape.{name}")
    library.enable_object_caching()
    module = library.create_ir_module(f"numtape.{name}")
    for function in functions:
        jitted, parameters = function.jitted, function.parameters
        signature = tuple(map(_type, parameters))
        with target_override(context.target_name):
            jitted.compile(signature)
        result = jitted.overloads[signature]
        library.add_linking_library(result.library)
        sizes = [len(p.fields) if isinstance(p, Record) else 1 for p in parameters]
        count = 1 if function.block else sum(sizes)
        entry = ir.Function(module, ir.FunctionType(INT64, [INT64] * count), function.symbol)
        whole = result.library.get_function(result.fndesc.llvm_func_name)
        if any(vectors.WIDTH in str(attribute) for attribute in whole.attributes):
            vectors.wide_vectors(entry)  # the kernel is inlined into it
        builder = ir.IRBuilder(entry.append_basic_block("entry"))
        values = list(entry.args)
        if function.block:
            block = builder.inttoptr(values[0], INT64.as_pointer())
            values = [builder.load(builder.gep(block, [INT64(k)])) for k in range(sum(sizes))]
        left = iter(values)
        arguments = [_argument(context, builder, kind, left) for kind in signature]
        out = context.call_internal_no_propagate(
            builder, result.fndesc, result.signature, arguments
        )
        value = out[1] if isinstance(out, tuple) else out
        builder.ret(INT64(0) if result.signature.return_type == types.none else value)
    library.add_ir_module(module)
    symbols = [f.symbol for f in functions]
    optimize = library._optimize_final_module

    def optimize_alone() -> None:
        _resolve(library)
        _hide(library, symbols)
        optimize()

    library._optimize_final_module = optimize_alone  # the last step before object code
    library.finalize()
    return library._get_compiled_object(), symbols, needs(library._final_module)


_UNRESOLVED = ".numba.unresolved$"


def _resolve(library: CodeLibrary) -> None:
    """Resolve symbols of functions that call each other, as Numba would when it loads them."""
    module = library._final_module
    text = [f'target triple = "{module.triple}"']
    for value in module.global_variables:
        name = value.name.removeprefix(_UNRESOLVED)
        if name != value.name:
            text += [f'declare void @"{name}"()', f'@"{value.name}" = constant ptr @"{name}"']
    if len(text) > 1:
        module.link_in(llvm.parse_assembly("\n".join(text)))


def _hide(library: CodeLibrary, symbols: list[str]) -> None:
    """Make all symbols of a unit internal except its functions.

    Numba numbers functions from 0 in each process, so objects compiled by different processes may
    use one name for different functions, and the linker would take the first.
    """
    module = library._final_module
    for value in (*module.functions, *module.global_variables):
        if not value.is_declaration and value.name not in symbols:
            value.linkage = "internal"
