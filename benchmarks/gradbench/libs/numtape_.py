"""numtape: kernels, and array ops where there are any."""

from __future__ import annotations

from typing import Any

import numtape as tf
from benchmarks.gradbench import arrays
from benchmarks.gradbench.kernels import kernel_of


def functions(name: str, arguments: tuple[Any, ...], wanted: tuple[int, ...]) -> dict[str, Any]:
    """See `benchmarks.gradbench.libs`."""
    kernel = kernel_of(name, arguments)
    gradient = tf.value_and_grad(kernel, wanted)
    found: dict[str, Any] = {"numtape": (lambda: kernel(*arguments), lambda: gradient(*arguments))}
    other = arrays.functions(name, arguments)
    if other is not None:
        found["array ops"] = other
    return found
