"""Elementary functions without branches and calls: LLVM vectorises a loop over them.

A function is written once with `Value`, whose operators write LLVM instructions; Numba
sees one call, so it has nothing to type and a lane kernel compiles fast. There is no fast-math:
`fma` marks a product and a sum that may be one instruction, and on one machine it is either always
one or never. So an element's bits do not depend on its position in the loop.

Coefficients are minimax fits (Remez's algorithm), good to a few percent of a unit in the last
place (ulp). The reductions follow W. J. Cody and W. Waite, "Software Manual for the Elementary
Functions" (1980). The errors stated are rounded up from the largest of over 10 million arguments,
with and without fused instructions. Of ops made from several functions: rsqrt 1.5 ulp, softplus
1.8, elu 1.2, selu 1.9.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from numba import types
from numba.extending import intrinsic

from .elementary import ELEMENTARY, TABLE
from .value import FLOAT32, FLOAT64, Function, Value, wide_vectors

if TYPE_CHECKING:
    from ..annotations import Builder, Context, Signature, Type, TypingContext, Values

FORMATS = {types.float32: FLOAT32, types.float64: FLOAT64}


def _register(name: str, narrow: Function, wide: Function, result: Type | None = None) -> Any:
    """The Numba function of that name: ``narrow`` for float32 and ``wide`` for float64."""

    def write(operands: tuple[Any, ...]) -> Any:
        kind = operands[0]
        function = narrow if kind is types.float32 else wide

        def codegen(context: Context, builder: Builder, signature: Signature, args: Values) -> Any:
            wide_vectors(builder.function)
            return function(*(Value(builder, x, FORMATS[kind]) for x in args)).ir

        return (result or kind)(*operands), codegen

    def unary(typingctx: TypingContext, x: Type) -> Any:
        return write((x,))

    def binary(typingctx: TypingContext, x: Type, y: Type) -> Any:
        return write((x, y))

    def ternary(typingctx: TypingContext, x: Type, y: Type, z: Type) -> Any:
        return write((x, y, z))

    typed = (unary, binary, ternary)[TABLE[name].arity - 1]
    typed.__name__ = typed.__qualname__ = name
    return intrinsic(typed)


FUNCTIONS = {
    name: _register(name, *functions, types.boolean if name == "beyond" else None)
    for name, functions in ELEMENTARY.items()
}
