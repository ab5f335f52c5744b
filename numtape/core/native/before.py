"""Stubs in machine code that try a fast path before a Python function."""

from __future__ import annotations

from llvmlite import ir

from ..compile.cache import Built
from ..compile.llvm import compile_module

WORD = ir.IntType(64)


def build_stub(symbol: str) -> Built:
    """Build object code of a stub that Python calls, and that tries a pass first.

    The pass is called with a block of words in place of the function object. It returns a result,
    0 if it has done nothing, or 1 if an exception is set. A function with the suffix ``_setup``
    takes the addresses of the block, of the pass, and of the code that runs the Python function.
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

    function_type = ir.FunctionType(WORD, [WORD] * 4)
    function = ir.Function(module, function_type, symbol)
    builder = ir.IRBuilder(function.append_basic_block())
    block, first, carry_out = map(builder.load, words)
    first, carry_out = (builder.inttoptr(x, function_type.as_pointer()) for x in (first, carry_out))
    result = builder.call(first, [block, *function.args[1:]])
    with builder.if_then(builder.icmp_unsigned("==", result, WORD(0)), likely=False):
        builder.ret(builder.call(carry_out, function.args))
    failed = builder.icmp_unsigned("==", result, WORD(1))
    builder.ret(builder.select(failed, WORD(0), result))
    return compile_module(module, [setup.name, symbol])
