"""From kernels to cubins: all that compiles for CUDA goes through `cubin`.

numba-cuda makes PTX and nvJitLink makes machine code of it; no driver and no GPU takes part.
"""

from __future__ import annotations

import importlib.metadata
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

OPTIONS = "fma=0"  # what machine code depends on besides
_lock = threading.RLock()


def versions() -> str:
    """What a cubin depends on besides source and capability."""
    return "\n".join(
        f"{name} {importlib.metadata.version(name)}"
        for name in ("numba-cuda", "cuda-core", "nvidia-nvjitlink")
    )


@contextmanager
def _shimmed() -> Iterator[None]:
    """`numpy.row_stack`, which numba-cuda 0.30 looks for and NumPy 2.5 no longer has."""
    missing = not hasattr(np, "row_stack")
    if missing:
        setattr(np, "row_stack", np.vstack)  # noqa: B010
    try:
        yield
    finally:
        if missing:
            delattr(np, "row_stack")


@contextmanager
def _unfused() -> Iterator[None]:
    """No sums and products as one: what a row gives must not depend on the rows beside it."""
    from numba.cuda.cudadrv import nvvm

    before = nvvm.compile_ir
    nvvm.compile_ir = lambda ir, **options: before(ir, **options | {"fma": False})
    try:
        yield
    finally:
        nvvm.compile_ir = before


@contextmanager
def _aimed(capability: tuple[int, int]) -> Iterator[None]:
    """Let numba-cuda compile device functions for a GPU that need not be there.

    It asks the GPU at hand what it is, and fails if there is none.
    """
    from numba.cuda import dispatcher

    class Aim:
        compute_capability = capability

    before = dispatcher.get_current_device
    dispatcher.get_current_device = Aim
    try:
        yield
    finally:
        dispatcher.get_current_device = before


def ptx(
    function: Callable[..., Any], dtypes: Sequence[str], symbol: str, capability: tuple[int, int]
) -> str:
    """A kernel as PTX. Its parameters have these dtypes; ``*`` stands before those of arrays."""
    with _lock, _shimmed():
        from numba import cuda, types

        signature = tuple(
            types.CPointer(getattr(types, dtype[1:])) if dtype[0] == "*"
            else getattr(types, dtype) for dtype in dtypes
        )  # fmt: skip
        with _aimed(capability), _unfused():
            found, _ = cuda.compile(
                function, signature, device=False, abi="numba", abi_info={"abi_name": symbol},
                cc=capability, output="ptx",
                # Threads of a block, and how many blocks shall run at once, where a kernel says so.
                launch_bounds=getattr(function, "bounds", None),
            )  # fmt: skip
    return found.decode() if isinstance(found, bytes) else str(found)


def linked(text: str, capability: tuple[int, int]) -> tuple[bytes, str]:
    """PTX as machine code, and what the assembler says of it: registers, stack, spills."""
    from cuda.core import (
        Linker,
        LinkerOptions,
        ObjectCode,
    )

    arch = f"sm_{capability[0]}{capability[1]}"
    linker = Linker(
        ObjectCode.from_ptx(text.encode()),
        options=LinkerOptions(arch=arch, fma=False, ptxas_options=["-v"]),
    )
    return bytes(linker.link("cubin").code), str(linker.get_info_log())


def cubin(
    function: Callable[..., Any], dtypes: Sequence[str], symbol: str, capability: tuple[int, int]
) -> bytes:
    """A kernel as machine code for a compute capability; see `ptx`."""
    return linked(ptx(function, dtypes, symbol, capability), capability)[0]
