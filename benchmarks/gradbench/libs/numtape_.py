"""numtape: kernels, and array ops for evals without loops."""

from __future__ import annotations

from typing import Any

import numpy as np

import numtape as tf
from benchmarks.gradbench import arrays
from benchmarks.gradbench.kernels import kernel_of

AGAIN = 1 << 26  # bytes to search beyond the top of the stack


def functions(name: str, arguments: tuple[Any, ...], requested: tuple[int, ...]) -> dict[str, Any]:
    """See `benchmarks.gradbench.libs`."""
    kernel = kernel_of(name, arguments)
    gradient = tf.value_and_grad(kernel, requested)
    functions: dict[str, Any] = {
        "numtape": (lambda: kernel(*arguments), lambda: gradient(*arguments))
    }
    other = arrays.functions(name, arguments)
    if other is not None:
        functions["array ops"] = other
    return functions


def stack(name: str, arguments: tuple[Any, ...], requested: tuple[int, ...]) -> int:
    """The bytes of stack that a gradient uses, up to the last nonzero word.

    Only the forward sweep is run: recomputation in the reverse sweep needs no more memory.
    """
    kernel = kernel_of(name, arguments)
    xs = [np.asarray(x) for x in arguments]
    kinds = tuple([(x.dtype.name, x.ndim or -1) for x in xs])
    _, left = kernel._run(kinds, requested, True)._compiled_sweeps().forward(xs)
    arena = left.pile.arena
    first = max((left.top - arena.start) // 8 - 1, 0)
    words = arena.words(first + AGAIN // 8)[first:]
    used = np.flatnonzero(words)
    if not used.size:  # a very large arena is released immediately
        taken: int = left.top - arena.start
        return taken
    return 8 * (first + 1 + int(used[-1]))
