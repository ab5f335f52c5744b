"""Machine code that is asked first, and leaves to Python what is not as it knows it.

A pass of `kernels/passes` does what a function of Python defines, where all is as it was some times
before. It takes four words: the address of a block of words that it is told of the process, and
what Python gives to a function of C (`KEYWORDS`). The functions here have it translated, tell it of
the process, and give it to Python, in this order; see `core.cpu.repeated_evaluation`.
"""

from __future__ import annotations

import ctypes
from typing import Any

from .. import settings
from ..compile import cache as disk
from ..compile.kernel_sources import kernel_source
from ..compile.passes import compilers
from ..values.memory import Array, address_of
from .layout import NotAsKnown, address_of_call
from .once import keep

# What a function of C is given besides what it is a method of: from CPython's
# Include/methodobject.h.
FAST = 0x80  # METH_FASTCALL: the address of its arguments, and how many there are
KEYWORDS = 0x82  # METH_FASTCALL | METH_KEYWORDS: and the names of the last ones


class Method(ctypes.Structure):
    """Python's ``PyMethodDef``: what a function of C is. It must live as long as its functions."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("text", ctypes.c_char_p),
    )

    def function(self, of: Any = None) -> Any:
        """A built-in function of Python's, or a method of an object."""
        return _NEW(address_of_call("PyCFunction_NewEx"))(ctypes.addressof(self), of, None)


_NEW = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p)


def builtin(name: str, address: int, flags: int = KEYWORDS) -> Any:
    """A built-in function of Python's that is machine code."""
    method = Method(name.encode(), address, flags, None)
    keep(method)
    return method.function()


def pass_source(*names: str) -> str:
    """What passes are translated from, and by: their key in the cache."""
    return kernel_source("jit", *(f"passes.{name}" for name in names)) + compilers()


def translated_pass(name: str, *uses: str) -> int:
    """The address of a pass, translated for LLVM; ``uses`` are others that it calls.

    Raises:
      NotAsKnown: If that cannot be.
    """
    symbol = f"numtape_{name}"

    def build() -> disk.Built:
        # Imported where it is compiled: where the cache has it, that would take longer than the
        # rest.
        from ..compile.expressions import INT, Unknown
        from ..compile.llvm import compile_text
        from ..compile.translate import Entry, translate

        try:
            entry = Entry(symbol, f"passes.{name}", name, (INT,) * 4, block=False)
            return compile_text(translate([entry]), [symbol])
        except Unknown as reason:
            raise NotAsKnown(str(reason)) from None

    return disk.load(f"passes-{name.replace('_', '-')}", pass_source(*uses, name), build)[symbol]


def told(name: str, address: int, words: Array, carry_out: int = 0) -> int:
    """The address of what Python calls, and of what has a pass tried with these words.

    Args:
      name: Of the pass.
      address: Of the pass.
      words: What it is told of the process. They must stay where they are.
      carry_out: The address of what is called where the pass has done nothing.
    """
    symbol = f"before_{name}"

    def build() -> disk.Built:
        from .before import before

        return before(symbol)

    text = (settings.PACKAGE / "core" / "native" / "before.py").read_text("utf-8")
    found = disk.load(symbol.replace("_", "-"), text, build)
    setup = ctypes.CFUNCTYPE(*[ctypes.c_int64] * 4)(found[f"{symbol}_setup"])
    setup(address_of(words), address, carry_out)
    return found[symbol]
