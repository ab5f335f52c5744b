"""The library of this process, under its usual names. The other libraries are not imported."""

from __future__ import annotations

import importlib
import os
from typing import Any

from benchmarks.everyday.process import CHOICE

LIBRARY = os.environ.get(CHOICE, "numtape")


def _module(name: str, *libraries: str) -> Any:
    return importlib.import_module(name) if LIBRARY in libraries else None


# TensorFlow runs the functions that are written for numtape.
nt = _module("tensorflow" if LIBRARY == "tensorflow" else "numtape", "numtape", "tensorflow")
torch = _module("torch", "torch")
F = _module("torch.nn.functional", "torch")
jax = _module("jax", "jax")
jnp = _module("jax.numpy", "jax")
lax = _module("jax.lax", "jax")
