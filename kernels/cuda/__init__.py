"""What the CUDA executor runs: `numba.cuda` source, compiled by ``numtape.core.cuda``.

A kernel is a plain function. Its array parameters are typed pointers, or, in the simulator,
which runs the same source thread by thread in Python, slices of arrays.

`numba.cuda` is imported here, before any of these modules asks for it, and nowhere else first.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import warnings

import numpy as np


def _redirect() -> None:
    """Let `numba.cuda` be numba-cuda's, also where it lies in no folder of ``site``.

    Only there Python runs the line in a ``.pth`` file that does so.
    """
    name = "_numba_cuda_redirector"
    if name not in sys.modules and importlib.util.find_spec(name) is not None:
        importlib.import_module(name)


def _import() -> None:
    """Import `numba.cuda`, all of it: its compiler loads much when it is first used.

    numba-cuda 0.30 makes a timedelta without a unit, of which NumPy 2.5 warns, and looks for
    `numpy.row_stack`, which NumPy 2.5 no longer has.
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
