"""Machine code of the recorders: `kernels.cpython.recording`, and a stub for each recorder."""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..compile import cache as disk
from ..cpython.version import CALLS_USE_VECTORCALL
from ..log import record
from ..values.memory import Array, address_of
from .fast_path import build_text, load_passes, set_up_stub, stub_text
from .process import process_table

# The functions whose inner functions machine code replaces, and, up to Python 3.11, the makers of
# the stubs that stand before recorders, by recorder.
RECORDERS = record.unary, record.binary, record.ternary
OPERATORS = record.make_reflected, record.record_if_inexact, record.record_reflected_if_inexact
STUB_MAKERS = {maker.__name__: f"_make_{maker.__name__}_stub" for maker in RECORDERS}
PASSES = ("rows",)  # on which the passes for recording depend
METHOD_OBJECT = -1  # a step from a built-in method to its object


def closure_indices(maker: Callable[..., Any]) -> dict[str, int]:
    """The numbers of cells in the closures of the functions that a function makes, by name."""
    inner_code = next(
        x
        for x in maker.__code__.co_consts
        if isinstance(x, types.CodeType) and x.co_name != "__annotate__"  # from Python 3.14 on
    )
    return {name: k for k, name in enumerate(inner_code.co_freevars)}


@dataclass(frozen=True)
class RecorderEntry:
    """A function of machine code that replaces a Python function.

    Attributes:
      symbol: Its name.
      maker: The function that makes the recorder.
      hops: The path from the function to the recorder, whose closure has the op. Each step is the
        number of a closure cell, or `METHOD_OBJECT`.
      is_swapped: Whether the operands are swapped.
      is_method: Whether it is called as a built-in method of the recorder.
      needs_inexact: Whether it records only if the first argument is a tensor of floats or complex
        numbers.
    """

    symbol: str
    maker: Callable[..., Any]
    hops: tuple[int, ...] = ()
    is_swapped: bool = False
    is_method: bool = False
    needs_inexact: bool = False

    def words(self) -> list[int]:
        """The words that `kernels.cpython.recording` reads, in their order."""
        cells, hops = closure_indices(self.maker), [*self.hops, 0, 0, 0][:3]
        return [
            address_of(process_table().words),
            self.is_swapped,
            self.needs_inexact,
            len(self.hops),
            *hops,
            cells["results"],
            cells.get("same_spec_results", 0),
            cells["code"],
        ]


def entries() -> list[RecorderEntry]:
    """The functions of machine code, named after the makers of the functions they replace."""
    has_stubs = not CALLS_USE_VECTORCALL
    hops = () if CALLS_USE_VECTORCALL else (0, METHOD_OBJECT)  # from the stub to the recorder
    result = [RecorderEntry(maker.__name__, maker, is_method=has_stubs) for maker in RECORDERS]
    if has_stubs:
        result += [RecorderEntry(STUB_MAKERS[maker.__name__], maker, hops) for maker in RECORDERS]
    for maker in OPERATORS:
        name = maker.__name__
        result.append(
            RecorderEntry(
                name,
                record.binary,
                (closure_indices(maker)["record"], *hops),
                is_swapped="reflected" in name,
                needs_inexact=name.endswith("if_inexact"),
            )
        )
    return result


def load_recorders(python_entry: int) -> tuple[dict[str, int], Array]:
    """Load the machine code of all recorders.

    Args:
      python_entry: The address of the code that runs Python functions.

    Returns:
      The addresses of the functions by symbol, and the words that they read, which must not move.
    """
    all_entries = entries()
    words = np.array([entry.words() for entry in all_entries], np.int64)
    parameter_counts = {f"record_{maker.__name__}": 5 for maker in RECORDERS}
    parameter_counts |= {"live_tensors": 4, "release": 4}
    passes = load_passes("recording", "cpython.recording", parameter_counts, PASSES)
    text = "".join(stub_text(x.symbol, True, x.is_method) for x in all_entries)
    symbols = [entry.symbol for entry in all_entries]
    addresses = disk.load("recorders", text, lambda: build_text(text, *symbols))
    for entry, row in zip(all_entries, words, strict=True):
        set_up_stub(
            addresses,
            entry.symbol,
            passes[f"record_{entry.maker.__name__}"],
            address_of(row),
            python_entry,
        )
    return {**addresses, **passes}, words
