"""Object code on disk, loaded with llvmlite alone.

A *unit* is a set of functions compiled together. Its key holds everything the object code
depends on: the source text, the versions of Numba and llvmlite, the CPU's features and Numba's
options; or, if it runs elsewhere than on the host, its source alone, in which its compilers are
named. A file is used only if nobody else can have written it (see `folder`), its checksum is right,
and every symbol it needs is there; anything else counts as absent, because a truncated object or a
missing symbol would end the process.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import logging
import mmap
import struct
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm

from .. import settings
from .cache_folder import PART, Folder, open_folder, say_once
from .processor import processor

FORMAT = 3
# Bytes that it takes to load a unit, besides its own, and to compile one.
LOADING, COMPILING = 4 << 20, 64 << 20
MAGIC = b"NUMTAPE\0"
SUFFIX = ".unit"

# What a compiler returns: the object code, its functions, and the symbols it leaves undefined.
Built = tuple[bytes, list[str], list[str]]

_messages = logging.getLogger("numtape")
_lock = threading.RLock()
_loading: list[str] = []  # what the holder of the lock is at


def _renew_lock() -> None:
    global _lock
    _lock = threading.RLock()
    _loading.clear()


settings.after_fork_in_child(_renew_lock)


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
    return "\n".join(
        (
            str(FORMAT),
            version,
            llvmlite.__version__,
            llvm.get_process_triple(),
            *processor(),
            settings.numba_options(),
        )
    )


def _pack(name: str, built: Built) -> bytes:
    """A file's content. Its name goes into the checksum: it is no other unit's, renamed."""
    code, functions, needs = built
    header = json.dumps({"functions": functions, "needs": needs}).encode()
    body = struct.pack("<I", len(header)) + header + code
    return MAGIC + hashlib.sha256(name.encode() + body).digest() + body


def _unpack(name: str, content: bytes) -> Built | None:
    if content[:8] != MAGIC or len(content) < 44:
        return None
    if hashlib.sha256(name.encode() + content[40:]).digest() != content[8:40]:
        return None
    (length,) = struct.unpack_from("<I", content, 40)
    header = json.loads(content[44 : 44 + length])
    return content[44 + length :], header["functions"], header["needs"]


def _need(size: int) -> None:
    """Raise MemoryError if there are not so many bytes: LLVM would end the process."""
    try:
        mmap.mmap(-1, size).close()
    except OSError:
        raise MemoryError(
            f"There are no {size >> 20} MiB to compile or load kernels with."
        ) from None


def _usable(needs: list[str]) -> bool:
    return all(llvm.address_of_symbol(name) for name in needs)


def _file(name: str, source: str, for_host: bool = True) -> str:
    environment = _environment() if for_host else str(FORMAT)
    digest = hashlib.sha256(f"{environment}\0{source}".encode()).hexdigest()[:32]
    return f"{name}-{digest}{SUFFIX}"


def _folder(make: bool = False) -> AbstractContextManager[Folder | None]:
    """The cache folder, while it is used; None if it does not exist, or none to be trusted."""
    settings.cache_limit()  # a wrong one is an error before anything needs to be written
    path = settings.cache_dir()
    if path is not None:
        return open_folder(path, make=make)
    say_once(
        "There is no home folder to store compiled kernels in: each process compiles them. "
        "Set NUMTAPE_CACHE_DIR to a folder that only you can write to."
    )
    return nullcontext()


def writable() -> bool:
    """Whether there is a folder that units can be kept in."""
    with _folder(make=True) as folder:
        return folder is not None and folder.writable()


def read(name: str, source: str, for_host: bool = True) -> Built | None:
    """A unit as it is in the cache; None if it is not there, or cannot be used."""
    file = _file(name, source, for_host)
    with _folder() as folder:
        content = folder.read(file) if folder else None
    built = _unpack(file, content) if content else None
    return built if built is not None and _usable(built[2]) else None


RECOUNT = 64  # writes after which the folder is counted again: other processes write, too
_written = [0, RECOUNT]  # the folder's size as this process knows it, and writes since it counted
# Units of native loops go when not used for so many days: each edit of a kernel makes one.
EDITED, DAYS = "loops_", 30


def _keep(file: str, built: Built) -> None:
    limit = settings.cache_limit()
    with _folder(make=True) as folder:
        if folder:  # a full or read-only disk costs the next process a compile, nothing else
            content = _pack(file, built)
            folder.write(file, content)
            _written[0] += len(content)
            _written[1] += 1
            if limit is not None and (_written[0] > limit or _written[1] > RECOUNT):
                folder.forget(DAYS, EDITED, SUFFIX)
                _written[:] = folder.shrink(limit, SUFFIX, PART), 0


def load_or_compile(
    name: str, source: str, compile_unit: Callable[[], Built], for_host: bool = True
) -> Built:
    """A unit from the cache, or compiled now and kept there; see `load`.

    With ``for_host`` false, it is code for another processor: any host may use it.
    """
    built = read(name, source, for_host)
    return (
        _compile_in_thread(_file(name, source, for_host), compile_unit) if built is None else built
    )


def _compile_in_thread(file: str, compile_unit: Callable[[], Built]) -> Built:
    """Compile in a thread, whose stack is empty, however deep the caller is.

    An import of Numba that ends halfway, without stack or by an interrupt, cannot be made up
    for in the same process.
    """
    built: list[Built] = []
    errors: list[BaseException] = []
    began = time.monotonic()

    settings.quiet()  # a wrong value is an error before the compiler runs
    _need(COMPILING)

    def work() -> None:
        try:
            built.append(compile_unit())
            _keep(file, built[0])
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=work, name="numtape compiler")
    try:
        if getattr(_here, "compiling", False):
            raise RuntimeError
        thread.start()
    except RecursionError:
        raise
    except RuntimeError:  # no more threads, or the process ends, or no other thread may
        work()
    else:
        thread.join(max(PATIENCE - _waited[0], 0.0))
        if thread.is_alive():
            _announce()
            thread.join()
    if errors:
        raise errors.pop()
    seconds = time.monotonic() - began
    _waited[0] += seconds
    _messages.info("Compiled %s in %.2f s.", file.rpartition("-")[0], seconds)
    return built[0]


_here = threading.local()


@contextmanager
def in_this_thread() -> Iterator[None]:
    """Compile in this thread: it has Numba's lock, which another one would wait for."""
    before = getattr(_here, "compiling", False)
    _here.compiling = True
    try:
        yield
    finally:
        _here.compiling = before


PATIENCE = 1.0  # seconds of compiling that nothing is said of
_waited = [0.0]
_announced: list[bool] = []


def _announce() -> None:
    """Say, once in a process, what takes so long."""
    if _announced or settings.quiet() or sys.stderr is None:
        return
    _announced.append(True)
    folder = settings.cache_dir()
    where = "" if folder is None else f", and keeps it in {folder}"
    sys.stderr.write(
        f"numtape compiles what is used for the first time{where} (NUMTAPE_QUIET=1 hides this)\n"
    )


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
            built = load_or_compile(name, source, compile_unit)
            _need(4 * len(built[0]) + LOADING)
            engine.add_object_file(llvm.ObjectFileRef.from_data(built[0]))
            engine.finalize_object()
            return {function: engine.get_function_address(function) for function in built[1]}
        finally:
            _loading.clear()


def _files(*suffixes: str) -> list[Path]:
    folder = settings.cache_dir()
    return [p for p in folder.glob("*") if p.suffix in suffixes] if folder is not None else []


def clear() -> int:
    """Remove all compiled kernels from the cache folder. Returns how many files went."""
    count = 0
    for path in _files(SUFFIX, PART):
        try:
            path.unlink()
            count += 1
        except OSError:  # gone meanwhile, or not ours to remove
            pass
    return count


def size() -> tuple[int, int]:
    """The number of files in the cache folder and their size in bytes."""
    sizes = [path.stat().st_size for path in _files(SUFFIX)]
    return len(sizes), sum(sizes)
