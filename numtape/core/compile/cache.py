"""Object code on disk, in a folder that only the user can write to, loaded with llvmlite alone.

Other users can write to a folder or a file if its mode allows it, and a user who may rename a
parent folder can replace it. So all of them must belong to the user or to root, and be closed to
others. Files are opened relative to the open folder, without following links, and are checked after
opening, so nothing can be replaced between check and use. Existing folders keep their mode, which
may be intended. On Windows user folders are private, and nothing is checked.
"""

from __future__ import annotations

import errno
import hashlib
import importlib.util
import json
import logging
import mmap
import os
import stat
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
from . import file_lock
from .processor import processor

PART = ".numtape-part"  # of a file that is being written
LOCK = ".numtape-lock"  # of a file that is locked while its unit is compiled

_messages = logging.getLogger("numtape")
_warned: set[str] = set()
# Not on every platform.
_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)  # do not wait for a writer if the file is a pipe
_BY_FOLDER = os.open in os.supports_dir_fd


class NotTrusted(Exception):
    """The reason why a file or folder is not trusted."""


def say_once(message: str) -> None:
    """Log a warning once in a process."""
    if message not in _warned:
        _warned.add(message)
        _messages.warning("%s", message)


def _refusal(status: os.stat_result, *, above: bool = False) -> str | None:
    """The reason why others may have written to a file or folder; None if they cannot have.

    Args:
      status: The result of `os.stat`.
      above: Whether it is a parent folder. Then other users may have entries in it (``/tmp``), and
        it may belong to the owner of ``/``, which in a container may be another user than root.
    """
    if not hasattr(os, "geteuid"):
        return None
    trusted = {0, os.geteuid(), *([os.stat("/").st_uid] if above else [])}
    if status.st_uid not in trusted:
        return f"belongs to user {status.st_uid}, not to user {os.geteuid()}"
    if status.st_mode & 0o022 and not (above and status.st_mode & stat.S_ISVTX):
        return f"can be written to by others (mode {stat.S_IMODE(status.st_mode):04o})"
    return None


def _check(path: Path, make: bool) -> None:
    """Raise NotTrusted if others can write to a folder, or replace it.

    Checks from the root down, so checked parents can no longer be replaced. With ``make``, missing
    folders are created for the user alone.
    """
    for part in (*reversed(path.parents), path):
        try:
            status = os.lstat(part)
        except FileNotFoundError:
            if not make:
                raise
            part.mkdir(mode=0o700, exist_ok=True)
            status = os.lstat(part)
        if not stat.S_ISDIR(status.st_mode):
            raise NotADirectoryError(errno.ENOTDIR, f"{part} is not a folder")
        reason = _refusal(status, above=part != path)
        if reason is not None:
            raise NotTrusted(f"{part} {reason}")


class Folder:
    """An open folder."""

    def __init__(self, path: Path, descriptor: int | None) -> None:
        self._path = path
        self._at = descriptor

    def _name(self, name: str) -> str:
        return name if self._at is not None else str(self._path / name)

    def writable(self) -> bool:
        """Whether files can be created in it."""
        return os.access(self._path, os.W_OK)

    def read(self, name: str) -> bytes | None:
        """A file's content; None if it does not exist, or others may have written it."""
        try:
            handle = os.open(self._name(name), os.O_RDONLY | _FLAGS | _NO_WAIT, dir_fd=self._at)
            with os.fdopen(handle, "rb") as file:
                status = os.fstat(handle)
                if not stat.S_ISREG(status.st_mode):
                    return None
                reason = _refusal(status)
                if reason is None:
                    content = file.read()
                    self._touch(name, status)
                    return content
        except OSError:
            return None
        say_once(
            f"The cache folder {self._path} has files that are ignored and created again: {name} "
            f"{reason}, and would be executed. Other users may have had write access; "
            f"`python -m numtape cache clear` empties it."
        )
        return None

    def _touch(self, name: str, status: os.stat_result) -> None:
        """Set a file's modification time to the time of use, at most once an hour."""
        if time.time() - status.st_mtime > 3600:
            try:
                os.utime(self._name(name), dir_fd=self._at)
            except OSError:  # not ours, or on a read-only disk
                pass

    def files(self, *suffixes: str) -> list[tuple[float, int, str]]:
        """For each file with such a suffix: the time of last use, the size, and the name."""
        files = []
        try:
            with os.scandir(self._path if self._at is None else self._at) as entries:
                for entry in entries:
                    if entry.name.endswith(suffixes):
                        try:
                            stat_ = entry.stat(follow_symlinks=False)
                        except OSError:  # another process removed it
                            continue
                        files.append((stat_.st_mtime, stat_.st_size, entry.name))
        except OSError:
            pass
        return files

    def shrink(self, limit: int, *suffixes: str) -> int:
        """Remove the least recently used files until nine tenths of a limit are left.

        Other processes may do the same or read meanwhile. A removed file is compiled again.

        Args:
          limit: A number of bytes. Up to this size no file is removed.
          *suffixes: Suffixes of the files that are counted and removed.

        Returns:
          The number of bytes left.
        """
        files = sorted(self.files(*suffixes))
        size = sum(file[1] for file in files)
        if size <= limit:
            return size
        for _, bytes_, name in files:
            if size <= limit * 9 // 10:
                break
            if self._remove(name):
                size -= bytes_
        return size

    def forget(self, days: int, prefix: str, suffix: str) -> None:
        """Remove files with this prefix and suffix that were not used for ``days`` days."""
        oldest = time.time() - 86400 * days
        for used, _, name in self.files(suffix):
            if used < oldest and name.startswith(prefix):
                self._remove(name)

    def _remove(self, name: str) -> bool:
        """Remove a file. Returns whether it is gone."""
        try:
            os.unlink(self._name(name), dir_fd=self._at)
        except FileNotFoundError:
            pass
        except OSError:  # in use, on Windows, or not ours to remove
            return False
        return True

    def write(self, name: str, content: bytes) -> None:
        """Write a file atomically; write none if the disk is full."""
        part = self._name(f"{os.urandom(8).hex()}{PART}")
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FLAGS
            handle = os.open(part, flags, 0o600, dir_fd=self._at)
        except OSError:
            return
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(content)
            # In one step: a reader sees the whole file or none.
            os.replace(part, self._name(name), src_dir_fd=self._at, dst_dir_fd=self._at)
        except BaseException as error:
            try:
                os.unlink(part, dir_fd=self._at)
            except OSError:
                pass
            if not isinstance(error, OSError):
                raise

    @contextmanager
    def locked(self, name: str, seconds: float) -> Iterator[None]:
        """Hold a lock file, which other processes and threads wait for.

        After ``seconds``, and where files cannot be created or locked, the block runs without the
        lock. The lock of a process that is killed is free.
        """
        descriptor = self._lock(name, seconds)
        try:
            yield
        finally:
            if descriptor is not None:
                if os.name == "nt":  # an open file cannot be removed
                    file_lock.close(descriptor)
                    self._remove(name)
                else:  # before others can lock it, so that none locks a removed file for long
                    self._remove(name)
                    file_lock.close(descriptor)

    def _lock(self, name: str, seconds: float) -> int | None:
        """Return the descriptor of a locked file; None if it cannot be locked in time."""
        end = time.monotonic() + seconds
        while True:
            try:
                flags = os.O_RDWR | os.O_CREAT | _FLAGS | _NO_WAIT
                descriptor = os.open(self._name(name), flags, 0o600, dir_fd=self._at)
            except OSError:
                return None
            is_locked = False
            try:
                is_locked = file_lock.try_lock(descriptor) and self._has(name, descriptor)
            except OSError:  # a file system without locks
                return None
            finally:
                if not is_locked:
                    file_lock.close(descriptor)
            if is_locked:
                return descriptor
            if time.monotonic() > end:
                return None
            time.sleep(0.01)

    def _has(self, name: str, descriptor: int) -> bool:
        """Whether an open file is the one of this name: its last holder may have removed it."""
        try:
            status = os.stat(self._name(name), dir_fd=self._at, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return os.path.samestat(status, os.fstat(descriptor))


@contextmanager
def open_folder(path: Path, *, make: bool = False) -> Iterator[Folder | None]:
    """Open a folder; None if it does not exist, or (with a warning) is not trusted.

    Args:
      path: The folder. A link is followed; its target must be trusted.
      make: Whether to create a missing folder, for the user alone.
    """
    folder, descriptor = None, None
    try:
        try:
            path = Path(os.path.realpath(path))
            _check(path, make)
            if _BY_FOLDER:
                descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | _FLAGS)
            folder = Folder(path, descriptor)
        except NotTrusted as error:
            say_once(
                f"The cache folder {path} is not used, and each process compiles its kernels "
                f"again: {error}. Files that others write there would be executed. Close it "
                f"(chmod go-w) and run `python -m numtape cache clear`, or set NUMTAPE_CACHE_DIR "
                f"to a folder that only you can write to."
            )
        except OSError as error:
            if make:
                say_once(
                    f"The cache folder {path} cannot be used, and each process compiles its "
                    f"kernels again: {error.strerror}. Set NUMTAPE_CACHE_DIR to a usable folder."
                )
        yield folder
    finally:
        if descriptor is not None:
            os.close(descriptor)


FORMAT = 3
# Bytes of memory needed to load a unit, in addition to its own, and to compile one.
LOADING, COMPILING = 4 << 20, 64 << 20
MAGIC = b"NUMTAPE\0"
SUFFIX = ".unit"

# A compiler's result: the object code, its functions, and its undefined symbols.
Built = tuple[bytes, list[str], list[str]]

_lock = threading.RLock()
_loading: list[str] = []  # the unit that the holder of the lock is loading


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
    """Versions, CPU and options, on which object code depends besides its source."""
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
    """Return a file's content. The checksum covers the name, so a renamed file is rejected."""
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
    """Raise MemoryError if ``size`` bytes are not available: LLVM would end the process."""
    try:
        mmap.mmap(-1, size).close()
    except OSError:
        raise MemoryError(
            f"Compiling or loading kernels needs {size >> 20} MiB of memory."
        ) from None


def _usable(needs: list[str]) -> bool:
    return all(llvm.address_of_symbol(name) for name in needs)


def _file(name: str, source: str, for_host: bool = True) -> str:
    environment = _environment() if for_host else str(FORMAT)
    digest = hashlib.sha256(f"{environment}\0{source}".encode()).hexdigest()[:32]
    return f"{name}-{digest}{SUFFIX}"


def _folder(make: bool = False) -> AbstractContextManager[Folder | None]:
    """Open the cache folder; None if there is no folder, or it is not trusted."""
    settings.cache_limit()  # raise for a wrong value before there is a file to write
    path = settings.cache_dir()
    if path is not None:
        return open_folder(path, make=make)
    say_once(
        "Without a home folder, compiled kernels cannot be stored: each process compiles them. "
        "Set NUMTAPE_CACHE_DIR to a folder that only you can write to."
    )
    return nullcontext()


def writable() -> bool:
    """Whether units can be written to the cache folder."""
    with _folder(make=True) as folder:
        return folder is not None and folder.writable()


def read(name: str, source: str, for_host: bool = True) -> Built | None:
    """Read a unit from the cache; None if it is missing or unusable."""
    return _read_file(_file(name, source, for_host))


def _read_file(file: str) -> Built | None:
    with _folder() as folder:
        content = folder.read(file) if folder else None
    built = _unpack(file, content) if content else None
    return built if built is not None and _usable(built[2]) else None


RECOUNT = 64  # writes after which the folder is counted again: other processes write, too
_written = [0, RECOUNT]  # the folder's size as this process knows it, and writes since it counted
# Unused units of native loops are removed after so many days: each edit of a kernel adds one.
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
                folder.forget(1, "", LOCK)  # those of killed processes
                _written[:] = folder.shrink(limit, SUFFIX, PART), 0


def load_or_compile(
    name: str, source: str, compile_unit: Callable[[], Built], for_host: bool = True
) -> Built:
    """Read a unit from the cache, or compile and store it; see `load`.

    If several processes need the same unit at once, one compiles it, and the others wait for it, at
    most `WAIT` seconds. With ``for_host`` false, the code is for another processor, and any host
    may use it.
    """
    built = read(name, source, for_host)
    return (
        _compile_in_thread(_file(name, source, for_host), compile_unit) if built is None else built
    )


def _compile_in_thread(file: str, compile_unit: Callable[[], Built]) -> Built:
    """Compile in a new thread, whose stack is empty even if the caller's is deep.

    A process cannot recover if an import of Numba is cut short, by a full stack or an interrupt.
    """
    built: list[Built] = []
    errors: list[BaseException] = []
    is_compiled_here = True
    began = time.monotonic()

    settings.quiet()  # raise for a wrong value before the compiler runs
    _need(COMPILING)

    def work() -> None:
        nonlocal is_compiled_here
        try:
            with _locked(file):
                if found := _read_file(file):  # another process has compiled it meanwhile
                    is_compiled_here = False
                    built.append(found)
                else:
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
    except RuntimeError:  # no more threads, or the process ends, or see `in_this_thread`
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
    message = (
        "Compiled %s in %.2f s."
        if is_compiled_here
        else "Another process compiled %s; waited %.2f s."
    )
    _messages.info(message, file.rpartition("-")[0], seconds)
    return built[0]


WAIT = 60.0  # seconds of waiting for another process, which may be stopped, before compiling


@contextmanager
def _locked(file: str) -> Iterator[None]:
    """Hold the lock of a unit, if the cache folder can be used."""
    with _folder(make=True) as folder:
        with nullcontext() if folder is None else folder.locked(file + LOCK, WAIT):
            yield


_here = threading.local()


@contextmanager
def in_this_thread() -> Iterator[None]:
    """Compile in this thread: it holds Numba's lock, for which another one would wait."""
    before = getattr(_here, "compiling", False)
    _here.compiling = True
    try:
        yield
    finally:
        _here.compiling = before


PATIENCE = 1.0  # seconds of compiling before a message
_waited = [0.0]
_announced: list[bool] = []


def _announce() -> None:
    """Tell the user, once in a process, that compiling takes the time."""
    if _announced or settings.quiet() or sys.stderr is None:
        return
    _announced.append(True)
    folder = settings.cache_dir()
    where = "" if folder is None else f", and caches them in {folder}"
    sys.stderr.write(
        f"numtape compiles kernels at their first use{where} (NUMTAPE_QUIET=1 hides this)\n"
    )


def hide_announcement() -> None:
    """Do not tell the user that compiling takes the time: compiling was the command."""
    _announced.append(True)


class LoadInProgress(RuntimeError):
    """Code is needed by a signal handler or a finalizer that interrupts `load`."""


def load(name: str, source: str, compile_unit: Callable[[], Built]) -> dict[str, int]:
    """The addresses of a unit's functions, from the cache or compiled now.

    Args:
      name: The file's name.
      source: All of the unit's source.
      compile_unit: Compiles it; runs only if the cache does not have it.

    Returns:
      The address of each function by its name. They are never unloaded.

    Raises:
      LoadInProgress: In a signal handler or a finalizer that interrupts this function: compilers
        are not reentrant.
    """
    with _lock:
        if _loading:
            raise LoadInProgress(
                f"A signal handler or a finalizer needs compiled code ({name}) while its thread "
                f"loads other code ({_loading[0]}). Compute the same once before, or set a flag "
                f"and compute later."
            )
        try:
            _loading.append(name)
            engine = _engine()  # first: it makes the symbols of the process known
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
    """Remove all compiled kernels from the cache folder. Returns the number of removed files."""
    count = 0
    for path in _files(SUFFIX, PART, LOCK):
        try:
            path.unlink()
            count += 1
        except OSError:  # removed meanwhile, or not ours to remove
            pass
    return count


def size() -> tuple[int, int]:
    """The number of files in the cache folder and their size in bytes."""
    sizes = [path.stat().st_size for path in _files(SUFFIX)]
    return len(sizes), sum(sizes)
