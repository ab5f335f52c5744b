"""Machine code before a function of Python: what has calls carried out in another way first."""

from __future__ import annotations

from llvmlite import ir

from ..compile.cache import Built
from ..compile.llvm import compile_module

WORD = ir.IntType(64)


def before(symbol: str) -> Built:
    """Object code with a function that Python calls, and that has another one try it first.

    That one is called with a block of words in the place of the function itself. It gives a
    result, 0 if it has done nothing, or 1 if an exception is there. A function with ``_setup``
    behind its name takes the addresses of the block, of that one, and of what carries out
    functions of Python.
    """
    module = ir.Module(symbol)
    words = [ir.GlobalVariable(module, WORD, name) for name in ("block", "first", "carry_out")]
    for word in words:
        word.linkage, word.initializer = "internal", WORD(0)
    setup = ir.Function(module, ir.FunctionType(WORD, [WORD] * 3), f"{symbol}_setup")
    builder = ir.IRBuilder(setup.append_basic_block())
    for word, value in zip(words, setup.args, strict=True):
        builder.store(value, word)
    builder.ret(WORD(0))

    kind = ir.FunctionType(WORD, [WORD] * 4)
    function = ir.Function(module, kind, symbol)
    builder = ir.IRBuilder(function.append_basic_block())
    block, first, carry_out = map(builder.load, words)
    first, carry_out = (builder.inttoptr(x, kind.as_pointer()) for x in (first, carry_out))
    found = builder.call(first, [block, *function.args[1:]])
    with builder.if_then(builder.icmp_unsigned("==", found, WORD(0)), likely=False):
        builder.ret(builder.call(carry_out, function.args))
    failed = builder.icmp_unsigned("==", found, WORD(1))
    builder.ret(builder.select(failed, WORD(0), found))
    return compile_module(module, [setup.name, symbol])
