"""Fast paths: machine code that runs before a Python function and leaves unusual cases to it."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np

from .. import settings
from ..compile import cache as disk
from ..compile.cache import Built
from ..compile.kernel_sources import kernel_source
from ..compile.passes import compilers
from ..values.memory import Array, address_of
from .layout import UnsupportedLayout, address_of_call
from .lazy_build import keep_forever


def build_stub(symbol: str) -> Built:
    """Build object code of a stub that Python calls, and that tries a pass first.

    The pass is called with a block of words in place of the function object. It returns a result,
    0 if it has done nothing, or 1 if an exception is set. A function with the suffix ``_setup``
    takes the addresses of the block, of the pass, and of the code that runs the Python function.
    """
    # Imported only when compiling, as in `translated_pass`.
    from llvmlite import ir

    from ..compile.llvm import compile_module

    module, word_type = ir.Module(symbol), ir.IntType(64)
    words = [ir.GlobalVariable(module, word_type, name) for name in ("block", "first", "carry_out")]
    for word in words:
        word.linkage, word.initializer = "internal", word_type(0)
    setup = ir.Function(module, ir.FunctionType(word_type, [word_type] * 3), f"{symbol}_setup")
    builder = ir.IRBuilder(setup.append_basic_block())
    for word, value in zip(words, setup.args, strict=True):
        builder.store(value, word)
    builder.ret(word_type(0))

    function_type = ir.FunctionType(word_type, [word_type] * 4)
    function = ir.Function(module, function_type, symbol)
    builder = ir.IRBuilder(function.append_basic_block())
    block, pass_address, carry_out = map(builder.load, words)
    pass_address, carry_out = (
        builder.inttoptr(address, function_type.as_pointer())
        for address in (pass_address, carry_out)
    )
    result = builder.call(pass_address, [block, *function.args[1:]])
    with builder.if_then(builder.icmp_unsigned("==", result, word_type(0)), likely=False):
        builder.ret(builder.call(carry_out, function.args))
    is_error = builder.icmp_unsigned("==", result, word_type(1))
    builder.ret(builder.select(is_error, word_type(0), result))
    return compile_module(module, [setup.name, symbol])


# The arguments of a C function besides its object: from CPython's Include/methodobject.h.
FAST = 0x80  # METH_FASTCALL: the address of its arguments, and their number
KEYWORDS = 0x82  # METH_FASTCALL | METH_KEYWORDS: also the names of the last arguments


class MethodDef(ctypes.Structure):
    """CPython's ``PyMethodDef``, which defines a C function. It must outlive its functions."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("text", ctypes.c_char_p),
    )

    def function(self, owner: object = None) -> Any:
        """Return a built-in function, or a method of an object."""
        return _NEW(address_of_call("PyCFunction_NewEx"))(ctypes.addressof(self), owner, None)


_NEW = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)


def builtin(name: str, address: int, flags: int = KEYWORDS) -> Any:
    """Return a built-in function that runs machine code."""
    method = MethodDef(name.encode(), address, flags, None)
    keep_forever(method)
    return method.function()


def word_array(indices: ModuleType, count: int, values: Mapping[str, int]) -> Array:
    """Return the words that machine code reads.

    Args:
      indices: A module of kernels that has the index of each word.
      count: The number of words.
      values: The words, by name.
    """
    assert len(values) == count
    words = np.zeros(count, np.int64)
    for name, value in values.items():
        words[getattr(indices, name)] = value
    return words


def pass_source(*names: str) -> str:
    """Return the sources of passes and of their compiler, as the key in the cache."""
    return kernel_source("constants", "jit", *(f"passes.{name}" for name in names)) + compilers()


def translated_pass(name: str, *dependencies: str) -> int:
    """Return the address of a pass, translated for LLVM; ``dependencies`` are passes that it calls.

    Raises:
      UnsupportedLayout: If it cannot be translated.
    """
    symbol = f"numtape_{name}"

    def build() -> disk.Built:
        # Imported only when compiling: if the pass is in the cache, the imports would take longer
        # than the rest.
        from ..compile.expressions import INT, Unknown
        from ..compile.llvm import compile_text
        from ..compile.translate import EntryPoint, translate

        try:
            entry = EntryPoint(symbol, f"passes.{name}", name, (INT,) * 4, block=False)
            text, loops = translate([entry])
            return compile_text(text, [symbol], loops)
        except Unknown as reason:
            raise UnsupportedLayout(str(reason)) from None

    return disk.load(f"passes-{name.replace('_', '-')}", pass_source(*dependencies, name), build)[
        symbol
    ]


def install_fast_path(name: str, address: int, words: Array, carry_out: int = 0) -> int:
    """Return the address of a stub that Python calls and that tries a pass with these words.

    Args:
      name: The name of the pass.
      address: The address of the pass.
      words: The words that describe the process. They must not move.
      carry_out: The address of the code to call if the pass has done nothing.
    """
    symbol = f"before_{name}"

    source = (settings.PACKAGE / "core" / "native" / "fast_path.py").read_text("utf-8")
    addresses = disk.load(symbol.replace("_", "-"), source, lambda: build_stub(symbol))
    setup = ctypes.CFUNCTYPE(*[ctypes.c_int64] * 4)(addresses[f"{symbol}_setup"])
    setup(address_of(words), address, carry_out)
    return addresses[symbol]
