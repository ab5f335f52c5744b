"""A folder for what will be executed: used only if nobody else can have put anything there.

Others can write to a folder by its mode, and to a file by its own; who may rename one of the
folders above it can put another one in its place. So all of them have to belong to the user or to
root, and be closed to others. Files are opened in the open folder, follow no links, and are
checked once they are open: nothing can be exchanged between check and use. What is there already
keeps its mode: who opened a folder to others may have meant to. Windows' user folders are the
user's own, and nothing is checked there.
"""

from __future__ import annotations

import errno
import logging
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PART = ".numtape-part"  # of a file that is being written

_messages = logging.getLogger("numtape")
_warned: set[str] = set()
# Not everywhere.
_FLAGS = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)  # a pipe has no writer to wait for
_BY_FOLDER = os.open in os.supports_dir_fd


class NotTrusted(Exception):
    """Why something is not used."""


def say_once(message: str) -> None:
    """Log a warning, if this process has not logged it yet."""
    if message not in _warned:
        _warned.add(message)
        _messages.warning("%s", message)


def _refusal(status: os.stat_result, *, above: bool = False) -> str | None:
    """Why others may have written to a file or folder; None if they cannot have.

    Args:
      found: What the system says of it.
      above: Whether it is only a folder above. Others may then have their own names in it
        (``/tmp``), and it may belong to whom the whole system belongs, in a container not to root.
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
    """Raise NotTrusted if others can write to a folder, or put another one in its place.

    From the top down: what was found there already stays as it is. With ``make`` folders that are
    not there are made, for the user alone.
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
        """Whether files can be made in it."""
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
            f"{reason}, and would be executed. Others could write there once, it seems; "
            f"`python -m numtape cache clear` empties it."
        )
        return None

    def _touch(self, name: str, status: os.stat_result) -> None:
        """Note that a file is used, in its time of change; not more often than once an hour."""
        if time.time() - status.st_mtime > 3600:
            try:
                os.utime(self._name(name), dir_fd=self._at)
            except OSError:  # not ours, or on a read-only disk
                pass

    def files(self, *suffixes: str) -> list[tuple[float, int, str]]:
        """When each file with such a name was last used, its size, and its name."""
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
        """Remove the files that were not used for longest, until nine tenths of a limit are left.

        Other processes may do the same, and may be reading: a file that is gone is created again.

        Args:
          limit: A number of bytes. Up to there nothing is removed.
          *suffixes: How the names end of files that are counted and removed.

        Returns:
          How many bytes are left.
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
        """Remove the files with such names that were not used for more than so many days."""
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
        """Put a file there, whole or not at all; where there is no room, none."""
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
def open_folder(path: Path, *, make: bool = False) -> Iterator[Folder | None]:
    """A folder while it is used; None if it is not there, or cannot be trusted, which is said.

    Args:
      path: The folder. A link is followed; where it leads must be trusted.
      make: Whether to make it, for the user alone, if it is not there.
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
                f"again: {error}. What others write there would be executed. Close it to them "
                f"(chmod go-w) and run `python -m numtape cache clear`, or set NUMTAPE_CACHE_DIR "
                f"to a folder that only you can write to."
            )
        except OSError as error:
            if make:
                say_once(
                    f"The cache folder {path} cannot be used, and each process compiles its "
                    f"kernels again: {error.strerror}. Set NUMTAPE_CACHE_DIR to one that can."
                )
        yield folder
    finally:
        if descriptor is not None:
            os.close(descriptor)
