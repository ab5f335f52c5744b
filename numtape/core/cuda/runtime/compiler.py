"""Compiles kernels to cubins; `cubin` is the only entry point.

numba-cuda compiles a Python function to PTX, nvJitLink the PTX to machine code. Neither needs a
driver or a GPU.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from ....errors import DeviceError
from . import toolkit

TESTED = "0.30.4"  # version of numba-cuda
_lock = threading.RLock()


@cache
def versions() -> str:
    """The versions of packages and libraries that a cubin depends on, one a line."""
    packages = [f"{name} {toolkit.version(name)}" for name in ("numba-cuda", "cuda-core")]
    libraries = [f"{x} {toolkit.library(x).release}" for x in ("libnvvm", "libnvJitLink")]
    return "\n".join((*packages, *libraries))


def key(capability: tuple[int, int], dtypes: Sequence[str], source: str) -> str:
    """The cache key of a cubin, from the text ``source`` of its kernel.

    It does not depend on the host, so a folder of cubins can be copied to another machine.
    """
    return f"{versions()}\n{capability}\n{dtypes}\n{_own_text()}\n{source}"


@cache
def _own_text() -> str:
    return Path(__file__).read_text("utf-8")  # compiler options are set in this file


@contextmanager
def _without_fma() -> Iterator[None]:
    """Compile without fused multiply-add, so that a row's bits do not depend on fusion.

    numba-cuda has no option for this, so its `compile_ir` is patched.

    Raises:
      DeviceError: If this version of numba-cuda does not call the patched function.
    """
    from numba.cuda.cudadrv import nvvm

    before, asked = nvvm.compile_ir, []

    def compile_ir(ir: object, **options: Any) -> Any:
        asked.append(options)
        return before(ir, **options | {"fma": False})

    nvvm.compile_ir = compile_ir
    try:
        yield
    finally:
        nvvm.compile_ir = before
    if not asked:
        raise _unknown()


def _unknown(why: str = "it has changed") -> DeviceError:
    return DeviceError(
        f"numba-cuda {toolkit.version('numba-cuda')} differs from the versions that numtape "
        f"supports ({why}): pip install numba-cuda=={TESTED}."
    )


@contextmanager
def _compile_for(capability: tuple[int, int]) -> Iterator[None]:
    """Let numba-cuda compile device functions for a capability, without a GPU.

    It otherwise queries the current GPU, and fails without one.
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


def load() -> None:
    """Import the compiler and its libraries, in the one order that works.

    Raises:
      DeviceError: If one of them is missing or has an unsupported version.
    """
    versions()
    toolkit.prepare()
    try:
        importlib.import_module("numtape.kernels.cuda")  # it imports `numba.cuda`
        from numba.cuda import dispatcher
        from numba.cuda.cudadrv import nvvm
    except (AttributeError, ImportError) as error:  # versions that do not fit each other
        raise _unknown(str(error)) from error
    if not (hasattr(nvvm, "compile_ir") and hasattr(dispatcher, "get_current_device")):
        raise _unknown()


def ptx(
    function: Callable[..., Any], dtypes: Sequence[str], symbol: str, capability: tuple[int, int]
) -> str:
    """Compile a kernel to PTX. ``dtypes`` are those of its parameters; ``*`` marks arrays."""
    with _lock:
        load()
        from numba import cuda, types

        signature = tuple(
            types.CPointer(getattr(types, dtype[1:])) if dtype[0] == "*" else getattr(types, dtype)
            for dtype in dtypes
        )
        with _compile_for(capability), _without_fma():
            text, _ = cuda.compile(
                function,
                signature,
                device=False,
                abi="numba",
                abi_info={"abi_name": symbol},
                cc=capability,
                output="ptx",
                # Most threads of a block and fewest resident blocks, if a kernel sets them.
                launch_bounds=getattr(function, "bounds", None),
            )
    return text.decode() if isinstance(text, bytes) else str(text)


def link(text: str, capability: tuple[int, int]) -> tuple[bytes, str]:
    """Compile PTX to machine code; return it and the assembler's log: registers, stack, spills."""
    toolkit.prepare()
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
    """Compile a kernel to machine code for a compute capability; see `ptx`."""
    return link(ptx(function, dtypes, symbol, capability), capability)[0]
