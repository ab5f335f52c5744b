"""TensorFlow's functions, compiled by XLA."""

from __future__ import annotations

import functools

import tensorflow as tf

from benchmarks.inputs import Data
from benchmarks.libs import Variant
from benchmarks.libs.tensorflow_ import variant


def variants(data: Data) -> dict[str, Variant]:
    """Gives the variants for a case's inputs."""
    found = variant(data, functools.partial(tf.function, jit_compile=True))
    return {"TF XLA": found} if found else {}
