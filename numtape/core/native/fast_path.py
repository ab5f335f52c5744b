"""Fast paths: machine code that runs before a Python function and leaves unusual cases to it."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from types import ModuleType

import numpy as np

from ..compile import cache as disk
from ..compile.cache import Built
from ..compile.kernel_sources import kernel_source
from ..compile.passes import compilers
from ..cpython.api import UnsupportedLayout
from ..values.memory import Array, address_of
from .process import process_table


def stub_text(symbol: str, takes_function: bool = False, is_method: bool = False) -> str:
    """Return the LLVM text of a stub that Python calls, and that tries a pass first.

    The pass gets the address of a block of words, and the arguments of Python's vectorcall
    protocol: the function (if it ``takes_function``), the address and the number of arguments, and
    the keyword names (none for a method). It returns a result, 0 if it has done nothing, or 1 if an
    exception is set. A function with the suffix ``_setup`` takes the addresses of the block, of the
    pass, and of the code that runs the Python function.
    """
    names = "i64 0" if is_method else "i64 %names"
    arguments = f"i64 %function, i64 %arguments, i64 %count, {names}"
    passed = arguments if takes_function else arguments.partition(", ")[2]
    parameters = "i64 %function, i64 %arguments, i64 %count" + ("" if is_method else ", i64 %names")
    return f"""
@"{symbol}.words" = internal global [3 x i64] zeroinitializer
define i64 @"{symbol}_setup"(i64 %block, i64 %pass, i64 %python_entry) nounwind {{
  store i64 %block, ptr @"{symbol}.words"
  store i64 %pass, ptr getelementptr ([3 x i64], ptr @"{symbol}.words", i64 0, i64 1)
  store i64 %python_entry, ptr getelementptr ([3 x i64], ptr @"{symbol}.words", i64 0, i64 2)
  ret i64 0
}}
define i64 @"{symbol}"({parameters}) nounwind {{
  %block = load i64, ptr @"{symbol}.words"
  %pass = load i64, ptr getelementptr ([3 x i64], ptr @"{symbol}.words", i64 0, i64 1)
  %tried = inttoptr i64 %pass to ptr
  %result = call i64 %tried(i64 %block, {passed})
  switch i64 %result, label %done [i64 0, label %declined i64 1, label %failed]
done:
  ret i64 %result
failed:
  ret i64 0
declined:
  %python_entry = load i64, ptr getelementptr ([3 x i64], ptr @"{symbol}.words", i64 0, i64 2)
  %python = inttoptr i64 %python_entry to ptr
  %python_result = call i64 %python({arguments})
  ret i64 %python_result
}}
"""


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


def load_passes(
    unit: str,
    module: str,
    parameter_counts: Mapping[str, int],
    dependencies: Sequence[str] = (),
    text: str = "",
    entries: Sequence[str] = (),
) -> dict[str, int]:
    """Load the machine code of passes, or translate and compile them.

    Args:
      unit: The name of the machine code in the cache.
      module: The module of kernels that defines the passes.
      parameter_counts: The number of each pass's parameters, by its name. All are int64.
      dependencies: The other modules of ``kernels.passes`` that it imports.
      text: LLVM text of functions that call the passes.
      entries: Those functions that are called from outside.

    Returns:
      The addresses of these functions and of the passes, by name. In LLVM text, the name of a pass
      has the prefix ``numtape_``.

    Raises:
      UnsupportedLayout: If a pass cannot be translated, or Python's objects cannot be read.
    """
    constants = process_table().constants
    symbols = {name: f"numtape_{name}" for name in parameter_counts} | {x: x for x in entries}

    def build() -> Built:
        # Imported only when compiling: if the pass is in the cache, the imports would take longer
        # than the rest.
        from ..compile.expressions import INT, Unknown
        from ..compile.llvm import compile_text
        from ..compile.translate import EntryPoint, translate

        points = [
            EntryPoint(symbols[name], module, name, (INT,) * count, block=False)
            for name, count in parameter_counts.items()
        ]
        try:
            passes, loops = translate(points, constants)
        except Unknown as reason:
            raise UnsupportedLayout(str(reason)) from None
        return compile_text(passes + text, [*symbols.values()], loops)

    modules = ("constants", "jit", "cpython.words", *(f"passes.{x}" for x in dependencies), module)
    source = kernel_source(*modules) + compilers() + text + repr(constants)
    addresses = disk.load(f"passes-{unit}", source, build)
    return {name: addresses[symbol] for name, symbol in symbols.items()}


def translated_pass(name: str, *dependencies: str) -> int:
    """Return the address of a pass that has four parameters, in a module of its name."""
    unit = name.replace("_", "-")
    return load_passes(unit, f"passes.{name}", {name: 4}, dependencies)[name]


def install_fast_path(name: str, address: int, words: Array, python_entry: int = 0) -> int:
    """Return the address of a stub that Python calls and that tries a pass with these words.

    Args:
      name: The name of the pass.
      address: The address of the pass.
      words: The words that describe the process. They must not move.
      python_entry: The address of the code to call if the pass has done nothing.
    """
    symbol = f"before_{name}"
    text = stub_text(symbol)
    addresses = disk.load(symbol.replace("_", "-"), text, lambda: build_text(text, symbol))
    set_up_stub(addresses, symbol, address, address_of(words), python_entry)
    return addresses[symbol]


def build_text(text: str, *symbols: str) -> Built:
    """Compile stubs, and their functions that set them up."""
    # Imported only when compiling, as in `translated_pass`.
    from ..compile.llvm import compile_text

    return compile_text(text, [name for x in symbols for name in (x, f"{x}_setup")], quick=True)


def set_up_stub(
    addresses: Mapping[str, int], symbol: str, pass_address: int, block: int, python_entry: int
) -> None:
    """Set the block, the pass and the code that runs the Python function of a stub."""
    setup = ctypes.CFUNCTYPE(*[ctypes.c_int64] * 4)(addresses[f"{symbol}_setup"])
    setup(block, pass_address, python_entry)
