"""Worker processes: which libraries there are, and how a process of one of them starts.

This module imports no library, because a process chooses its cores and its library first.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from typing import Any

from benchmarks.worker import BenchmarkWorker

EAGER, REPLAYED, TORCH, JAX, TENSORFLOW = (
    "numtape",
    "nt.function",
    "PyTorch",
    "JAX jit",
    "tf.function",
)
HEADINGS = {
    "numtape": (EAGER, REPLAYED),
    "torch": (TORCH,),
    "jax": (JAX,),
    "tensorflow": (TENSORFLOW,),
}
CHOICE = "EVERYDAY_LIBRARY"
CORES = "EVERYDAY_CORES"
TIMEOUT = 600.0


def installed() -> list[str]:
    """Returns the libraries that can be imported."""
    return [name for name in HEADINGS if importlib.util.find_spec(name) is not None]


def all_cores() -> int:
    """Returns the number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def start(library: str, threads: int, environment: dict[str, str] | None = None) -> BenchmarkWorker:
    """Starts the process of a library, which is bound to as many cores as it has threads."""
    counts = ("NUMTAPE_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
    variables = {
        **dict.fromkeys((CORES, *counts), str(threads)),
        CHOICE: library,
        "NUMTAPE_DEVICE": "cpu",
        "CUDA_VISIBLE_DEVICES": "",
        "JAX_PLATFORMS": "cpu",
        "JAX_ENABLE_X64": "1",
        "TF_CPP_MIN_LOG_LEVEL": "3",
        **(environment or {}),
    }
    return BenchmarkWorker(library, variables, TIMEOUT, serve)


def serve(library: str) -> Any:
    """Binds this process to its cores, and imports the library and the workloads."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))[: int(os.environ[CORES])]
        os.sched_setaffinity(0, cores)
    return importlib.import_module("benchmarks.everyday.server").EverydayServer(library)
