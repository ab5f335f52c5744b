"""TensorFlow's functions, compiled by XLA."""

from __future__ import annotations

import functools

import tensorflow as tf

from benchmarks.inputs import Data
from benchmarks.libs import LibraryVariant, build
from benchmarks.libs.tensorflow_ import BUILDERS


def variants(data: Data) -> dict[str, LibraryVariant]:
    """Returns the variants for a case's inputs."""
    return {"TF XLA": build(data, BUILDERS, functools.partial(tf.function, jit_compile=True))}
