"""numtape: kernels, and array ops where there are any."""

from __future__ import annotations

from typing import Any

import numpy as np

import numtape as tf
from benchmarks.gradbench import arrays
from benchmarks.gradbench.kernels import kernel_of

AGAIN = 1 << 26  # bytes above what is kept that may have been used


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
    """The bytes of stack that a gradient takes, up to the last that is not 0.

    Recomputation in the reverse sweep takes no more memory than the forward sweep.
    """
    kernel = kernel_of(name, arguments)
    xs = [np.asarray(x) for x in arguments]
    kinds = tuple([(x.dtype.name, x.ndim or -1) for x in xs])
    _, left = kernel._run(kinds, requested, True)._sweeps().forward(xs)
    arena = left.pile.arena
    first = max((left.top - arena.start) // 8 - 1, 0)
    words = arena.words(first + AGAIN // 8)[first:]
    used = np.flatnonzero(words)
    if not used.size:  # what is very large is released at once
        taken: int = left.top - arena.start
        return taken
    return 8 * (first + 1 + int(used[-1]))
