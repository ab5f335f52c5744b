"""CUDA kernels as `numba.cuda` source, compiled and launched by ``numtape.core.cuda``.

A kernel is a plain function. Its array parameters are typed pointers on a GPU. The simulator runs
the same source thread by thread in Python, with slices of arrays. Start reading at `target`.

`numba.cuda` must be imported here first, before any of these modules imports it.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import warnings

import numpy as np


def _redirect() -> None:
    """Redirect `numba.cuda` to the numba-cuda package, also outside the folders of ``site``.

    A line in a ``.pth`` file does the same, but Python reads it only in those folders.
    """
    name = "_numba_cuda_redirector"
    if name not in sys.modules and importlib.util.find_spec(name) is not None:
        importlib.import_module(name)


def _import() -> None:
    """Import `numba.cuda`, including the modules that its compiler loads at the first use.

    numba-cuda 0.30 makes a timedelta without a unit, about which NumPy 2.5 warns, and uses
    `numpy.row_stack`, which NumPy 2.5 has removed.
    """
    missing = not hasattr(np, "row_stack")
    if missing:
        setattr(np, "row_stack", np.vstack)  # noqa: B010
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*'generic' unit", DeprecationWarning)
            importlib.import_module("numba.cuda")
            if not importlib.import_module("numba").config.ENABLE_CUDASIM:
                importlib.import_module("numba.cuda.np.arrayobj")
    finally:
        if missing:
            delattr(np, "row_stack")


_redirect()
_import()
