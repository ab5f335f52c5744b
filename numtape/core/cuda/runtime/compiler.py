"""From kernels to cubins: all that compiles for CUDA goes through `cubin`.

numba-cuda makes PTX and nvJitLink makes machine code of it; no driver and no GPU takes part.
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

TESTED = "0.30.4"  # the version of numba-cuda
_lock = threading.RLock()


@cache
def versions() -> str:
    """What a cubin depends on besides source and capability."""
    packages = [f"{name} {toolkit.version(name)}" for name in ("numba-cuda", "cuda-core")]
    libraries = [f"{x} {toolkit.library(x).release}" for x in ("libnvvm", "libnvJitLink")]
    return "\n".join((*packages, *libraries))


def key(capability: tuple[int, int], dtypes: Sequence[str], source: str) -> str:
    """All that a cubin depends on. That is no host's: a folder of cubins may travel.

    ``source`` is the text that the kernel is made of.
    """
    return f"{versions()}\n{capability}\n{dtypes}\n{_own_text()}\n{source}"


@cache
def _own_text() -> str:
    return Path(__file__).read_text("utf-8")  # its options decide as well


@contextmanager
def _without_fma() -> Iterator[None]:
    """No sums and products as one: what a row gives must not depend on the rows beside it.

    numba-cuda has no option for it.

    Raises:
      DeviceError: If this version compiles in another way, on which that has no effect.
    """
    from numba.cuda.cudadrv import nvvm

    before, asked = nvvm.compile_ir, []

    def compile_ir(ir: Any, **options: Any) -> Any:
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
        f"numba-cuda {toolkit.version('numba-cuda')} does not compile as versions do that numtape "
        f"knows ({why}): pip install numba-cuda=={TESTED}."
    )


@contextmanager
def _compile_for(capability: tuple[int, int]) -> Iterator[None]:
    """Let numba-cuda compile device functions for a GPU that need not be there.

    It asks the GPU at hand what it is, and fails if it does not exist.
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
      DeviceError: If one of them is not there, or not as it was.
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
    """A kernel as PTX. Its parameters have these dtypes; ``*`` stands before those of arrays."""
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
                # Threads of a block, and how many blocks shall run at once, where a kernel says so.
                launch_bounds=getattr(function, "bounds", None),
            )
    return text.decode() if isinstance(text, bytes) else str(text)


def link(text: str, capability: tuple[int, int]) -> tuple[bytes, str]:
    """PTX as machine code, and what the assembler says of it: registers, stack, spills."""
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
    """A kernel as machine code for a compute capability; see `ptx`."""
    return link(ptx(function, dtypes, symbol, capability), capability)[0]
