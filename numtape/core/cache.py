"""Object code on disk, loaded with llvmlite alone.

A *unit* is a set of functions compiled together. Its key holds everything the object code
depends on: the source text, the versions of Numba and llvmlite, and the CPU's features. A
file is used only if its checksum is right and every symbol it needs is there; anything else
counts as absent, because a truncated object or a missing symbol would end the process.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import os
import stat
import struct
import tempfile
import threading
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from .. import config

FORMAT = 2
MAGIC = b"NUMTAPE\0"
SUFFIX = ".unit"

# What a compiler returns: the object code, its functions, and the symbols it leaves undefined.
Built = tuple[bytes, list[str], list[str]]

_lock = threading.RLock()
_loading: list[str] = []  # what the holder of the lock is at


def _renew_lock() -> None:
    global _lock
    _lock = threading.RLock()
    _loading.clear()


if hasattr(os, "register_at_fork"):  # its holder is not there any more in a forked child
    os.register_at_fork(after_in_child=_renew_lock)


@cache
def _engine() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    machine = llvm.Target.from_default_triple().create_target_machine(jit=True)
    return llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)


@cache
def _environment() -> str:
    """Versions and CPU: what object code depends on besides its source."""
    spec = importlib.util.find_spec("numba")  # finds it without importing it
    version = ""
    if spec is not None and spec.origin is not None:
        version = (Path(spec.origin).parent / "_version.py").read_text(encoding="utf-8")
    return "\n".join((
        str(FORMAT), version, llvmlite.__version__, llvm.get_process_triple(),
        llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten(),
    ))  # fmt: skip


def _folder() -> Path | None:
    """The cache folder, made if need be; None if it cannot be trusted or written.

    Object code is executed, so the folder has to belong to the user and to nobody else.
    """
    folder = config.cache_dir()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if hasattr(os, "getuid"):
            found = folder.stat()
            if found.st_uid != os.getuid():
                return None
            if stat.S_IMODE(found.st_mode) & 0o077:
                folder.chmod(0o700)
    except OSError:
        return None
    return folder


def _read(path: Path) -> Built | None:
    try:
        content = path.read_bytes()
    except OSError:
        return None
    if content[:8] != MAGIC or len(content) < 44:
        return None
    if hashlib.sha256(content[40:]).digest() != content[8:40]:
        return None
    (length,) = struct.unpack_from("<I", content, 40)
    header = json.loads(content[44 : 44 + length])
    return content[44 + length :], header["functions"], header["needs"]


def _write(path: Path, built: Built) -> None:
    code, functions, needs = built
    header = json.dumps({"functions": functions, "needs": needs}).encode()
    body = struct.pack("<I", len(header)) + header + code
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=".part")
        with os.fdopen(handle, "wb") as file:
            file.write(MAGIC + hashlib.sha256(body).digest() + body)
        os.replace(name, path)  # atomic: a reader sees the whole file or none
    except OSError:
        pass  # a full or read-only disk costs the next process a compile, nothing else


def _usable(needs: list[str]) -> bool:
    return all(llvm.address_of_symbol(name) for name in needs)


def _path(name: str, source: str) -> Path | None:
    digest = hashlib.sha256(f"{_environment()}\0{source}".encode()).hexdigest()[:32]
    folder = _folder()
    return folder / f"{name}-{digest}{SUFFIX}" if folder else None


def writable() -> bool:
    """Whether there is a folder that units can be kept in."""
    folder = _folder()
    return folder is not None and os.access(folder, os.W_OK)


def read(name: str, source: str) -> Built | None:
    """A unit as it is in the cache; None if it is not there, or cannot be used."""
    path = _path(name, source)
    built = _read(path) if path else None
    return built if built is not None and _usable(built[2]) else None


def kept(name: str, source: str, compile_unit: Callable[[], Built]) -> Built:
    """A unit from the cache, or compiled now and kept there; see `load`."""
    built = read(name, source)
    if built is None:
        built = compile_unit()
        path = _path(name, source)
        if path:
            _write(path, built)
    return built


def load(name: str, source: str, compile_unit: Callable[[], Built]) -> dict[str, int]:
    """The addresses of a unit's functions, from the cache or compiled now.

    Args:
      name: What to call the file.
      source: Everything the unit is compiled from.
      compile_unit: Compiles it; runs only if the cache does not have it.

    Returns:
      The address of each function by its name. They are never unloaded.

    Raises:
      RuntimeError: In a signal handler or a finalizer that interrupts this: compilers cannot do
        something else in between.
    """
    with _lock:
        if _loading:
            raise RuntimeError(
                f"A signal handler or a finalizer needs compiled code ({name}) while its thread "
                f"loads other code ({_loading[0]}). Compute the same once before, or set a flag "
                f"and compute later."
            )
        try:
            _loading.append(name)
            engine = _engine()  # before it is made, no symbol of the process is known
            built = kept(name, source, compile_unit)
            engine.add_object_file(llvm.ObjectFileRef.from_data(built[0]))
            engine.finalize_object()
            return {function: engine.get_function_address(function) for function in built[1]}
        finally:
            _loading.clear()


def clear() -> int:
    """Remove all compiled kernels from the cache folder. Returns how many files went."""
    count = 0
    for path in config.cache_dir().glob("*"):
        if path.suffix in (SUFFIX, ".part"):
            path.unlink(missing_ok=True)
            count += 1
    return count


def size() -> tuple[int, int]:
    """The number of files in the cache folder and their size in bytes."""
    sizes = [path.stat().st_size for path in config.cache_dir().glob(f"*{SUFFIX}")]
    return len(sizes), sum(sizes)
