"""``tf.io.gfile``: files and folders of this machine, with TensorFlow's errors."""

from __future__ import annotations

import glob as _glob
import os
import shutil
import typing as _typing
from collections.abc import Iterator
from typing import Any, Self, TypeAlias

from ..compat.names import getter as _getter
from ..compat.traceback_filter import guard_module as _guard_module
from ..core.log.string_tensor import StringTensor, to_bytes
from ..errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OutOfRangeError,
    PermissionDeniedError,
    UnimplementedError,
    UnknownError,
)

PathLike: TypeAlias = str | os.PathLike[str]

__all__ = [
    "GFile",
    "copy",
    "exists",
    "get_registered_schemes",
    "glob",
    "isdir",
    "join",
    "listdir",
    "makedirs",
    "mkdir",
    "remove",
    "rename",
    "rmtree",
    "stat",
    "walk",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter("io.gfile")

_ERRORS: tuple[tuple[type[OSError], type[Exception]], ...] = (
    (FileNotFoundError, NotFoundError),
    (FileExistsError, AlreadyExistsError),
    (PermissionError, PermissionDeniedError),
    (IsADirectoryError, FailedPreconditionError),
    (NotADirectoryError, FailedPreconditionError),
)


def translate(error: OSError) -> Exception:
    """Return TensorFlow's error for one of the operating system."""
    for kind, result in _ERRORS:
        if isinstance(error, kind):
            return result(str(error))
    return UnknownError(str(error))


def local_path(path: Any) -> str:
    """Return a path of this machine.

    Args:
      path: A str, bytes, a path object or a string tensor, maybe with the scheme ``file://``.

    Raises:
      UnimplementedError: If the path has another scheme.
    """
    if isinstance(path, bytes | StringTensor):
        path = to_bytes(path).decode("utf-8", "surrogateescape")
    text: str = os.fspath(path)
    scheme, mark, rest = text.partition("://")
    if not mark:
        return text
    if scheme == "file":
        return rest
    raise UnimplementedError(
        f"File system scheme '{scheme}' not implemented (file: '{text}'): "
        f"numtape reads local files; "
        f"copy the file to this machine first."
    )


def exists(path: PathLike) -> bool:
    """Tell whether a path exists.

    Args:
      path: A path.

    Returns:
      A bool.

    Raises:
      UnimplementedError: If the path is not local.

    Example:
      >>> tf.io.gfile.exists("/no/such/file")
      False
    """
    return os.path.exists(local_path(path))


def isdir(path: PathLike) -> bool:
    """Tell whether a path is a folder.

    Args:
      path: A path.

    Returns:
      A bool.

    Raises:
      UnimplementedError: If the path is not local.

    Example:
      >>> tf.io.gfile.isdir("/")
      True
    """
    return os.path.isdir(local_path(path))


def join(path: PathLike, *paths: PathLike) -> str:
    """Join parts of a path.

    Args:
      path: The first part.
      *paths: Further parts.

    Returns:
      A path.

    Raises:
      TypeError: If a part is not a path.

    Example:
      >>> tf.io.gfile.join("/tmp", "a", "b.txt")
      '/tmp/a/b.txt'
    """
    return os.path.join(os.fspath(path), *[os.fspath(part) for part in paths])


def glob(pattern: Any) -> list[str]:
    """Return the paths that match a pattern, or one of several patterns.

    Args:
      pattern: A pattern with ``*``, ``?`` and ``[...]``, or a list of them.

    Returns:
      A list of paths.

    Raises:
      UnimplementedError: If a path is not local.

    Example:
      >>> tf.io.gfile.glob("/no/such/*.txt")
      []
    """
    patterns = pattern if isinstance(pattern, list | tuple) else [pattern]
    return [path for one in patterns for path in sorted(_glob.glob(local_path(one)))]


def listdir(path: PathLike) -> list[str]:
    """Return the names in a folder.

    Args:
      path: A folder.

    Returns:
      A list of names, without ``.`` and ``..``.

    Raises:
      NotFoundError: If there is no such folder.

    Example:
      >>> import tempfile
      >>> tf.io.gfile.listdir(tempfile.mkdtemp())
      []
    """
    folder = local_path(path)
    if not os.path.isdir(folder):
        raise NotFoundError(f"Could not find directory {folder}")
    return os.listdir(folder)


def makedirs(path: PathLike) -> None:
    """Create a folder, and the folders above it, unless they exist.

    Args:
      path: A path.

    Raises:
      AlreadyExistsError: If there is a file in its place.

    Example:
      >>> import tempfile
      >>> path = tf.io.gfile.join(tempfile.mkdtemp(), "a", "b")
      >>> tf.io.gfile.makedirs(path)
      >>> tf.io.gfile.isdir(path)
      True
    """
    _call(os.makedirs, local_path(path), exist_ok=True)


def mkdir(path: PathLike) -> None:
    """Create a folder.

    Args:
      path: A path, whose parent must exist.

    Raises:
      AlreadyExistsError: If the path is a file; an existing folder is no error.
      NotFoundError: If the parent does not exist.

    Example:
      >>> import tempfile
      >>> path = tf.io.gfile.join(tempfile.mkdtemp(), "a")
      >>> tf.io.gfile.mkdir(path)
      >>> tf.io.gfile.isdir(path)
      True
    """
    if not isdir(path):
        _call(os.mkdir, local_path(path))


def copy(src: PathLike, dst: PathLike, overwrite: bool = False) -> None:
    """Copy a file.

    Args:
      src: The file.
      dst: The new path.
      overwrite: Whether the new path may exist.

    Raises:
      AlreadyExistsError: If the new path exists.
      NotFoundError: If there is no such file.

    Example:
      >>> import tempfile
      >>> path = tf.io.gfile.join(tempfile.mkdtemp(), "a")
      >>> tf.io.write_file(path, "text")
      >>> tf.io.gfile.copy(path, path + "b")
      >>> tf.io.read_file(path + "b").numpy()
      b'text'
    """
    source, target = local_path(src), local_path(dst)
    _check_new(target, overwrite)
    _call(shutil.copyfile, source, target)


def rename(src: PathLike, dst: PathLike, overwrite: bool = False) -> None:
    """Rename a file or folder.

    Args:
      src: The path.
      dst: The new path.
      overwrite: Whether the new path may exist.

    Raises:
      AlreadyExistsError: If the new path exists.
      NotFoundError: If there is no such file.

    Example:
      >>> import tempfile
      >>> path = tf.io.gfile.join(tempfile.mkdtemp(), "a")
      >>> tf.io.write_file(path, "text")
      >>> tf.io.gfile.rename(path, path + "b")
      >>> tf.io.gfile.exists(path)
      False
    """
    source, target = local_path(src), local_path(dst)
    _check_new(target, overwrite)
    _call(os.replace, source, target)


def remove(path: PathLike) -> None:
    """Remove a file.

    Args:
      path: The file.

    Raises:
      NotFoundError: If there is no such file.

    Example:
      >>> import tempfile
      >>> path = tf.io.gfile.join(tempfile.mkdtemp(), "a")
      >>> tf.io.write_file(path, "text")
      >>> tf.io.gfile.remove(path)
      >>> tf.io.gfile.exists(path)
      False
    """
    _call(os.remove, local_path(path))


def rmtree(path: PathLike) -> None:
    """Remove a folder with all that it contains.

    Args:
      path: The folder.

    Raises:
      NotFoundError: If there is no such folder.

    Example:
      >>> import tempfile
      >>> path = tempfile.mkdtemp()
      >>> tf.io.gfile.rmtree(path)
      >>> tf.io.gfile.exists(path)
      False
    """
    _call(shutil.rmtree, local_path(path))


class FileStatistics(_typing.NamedTuple):
    """The result of `stat`.

    Attributes:
      length: The size in bytes.
      mtime_nsec: The time of the last change, in nanoseconds.
      is_directory: Whether it is a folder.
    """

    length: int
    mtime_nsec: int
    is_directory: bool


def stat(path: PathLike) -> FileStatistics:
    """Return the size of a file, and the time of its last change.

    Args:
      path: A file or folder.

    Returns:
      An object with ``length``, ``mtime_nsec`` and ``is_directory``.

    Raises:
      NotFoundError: If there is no such file.

    Example:
      >>> tf.io.gfile.stat("/").is_directory
      True
    """
    result: os.stat_result = _call(os.stat, local_path(path))
    return FileStatistics(result.st_size, result.st_mtime_ns, os.path.isdir(local_path(path)))


def walk(
    top: PathLike, topdown: bool = True, onerror: Any = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Iterate over a folder and the folders in it.

    Args:
      top: The folder.
      topdown: Whether a folder comes before those in it.
      onerror: A function that is called with errors; None to ignore them.

    Yields:
      A path, the names of the folders in it, and the names of the files in it.

    Returns:
      An iterator.

    Raises:
      UnimplementedError: If the path is not local.

    Example:
      >>> import tempfile
      >>> [files for _, _, files in tf.io.gfile.walk(tempfile.mkdtemp())]
      [[]]
    """
    return os.walk(local_path(top), topdown, onerror)


def get_registered_schemes() -> list[str]:
    """Return the schemes of paths that can be read.

    Returns:
      A list of names; the empty one is for paths without a scheme.

    Raises:
      TypeError: If arguments are given.

    Example:
      >>> tf.io.gfile.get_registered_schemes()
      ['', 'file']
    """
    return ["", "file"]


def _check_new(path: str, overwrite: bool) -> None:
    if not overwrite and os.path.exists(path):
        raise AlreadyExistsError(f"file already exists: {path}")


def _call(function: Any, *args: Any, **kwargs: Any) -> Any:
    try:
        return function(*args, **kwargs)
    except OSError as error:
        raise translate(error) from error


class GFile:
    """A file of this machine, which is opened when it is first used.

    Args:
      name: The path.
      mode: "r", "w", "a", "r+", "w+" or "a+", with "b" for bytes instead of text.

    Raises:
      InvalidArgumentError: If the mode is unknown.
      NotFoundError: If there is no such file; when it is first read.

    Example:
      >>> import tempfile
      >>> path = tf.io.gfile.join(tempfile.mkdtemp(), "a")
      >>> with tf.io.gfile.GFile(path, "w") as file:
      ...     file.write("text")
      >>> with tf.io.gfile.GFile(path) as file:
      ...     print(file.read())
      text
    """

    def __init__(self, name: PathLike, mode: str = "r") -> None:
        if mode.replace("b", "", 1) not in ("r", "w", "a", "r+", "w+", "a+"):
            raise InvalidArgumentError(f"mode is not 'r' or 'w' or 'a', got {mode!r}")
        self._path, self._mode = local_path(name), mode
        self._open_file: Any = None

    @property
    def name(self) -> str:
        """The path."""
        return self._path

    @property
    def mode(self) -> str:
        """The mode."""
        return self._mode

    @property
    def _file(self) -> Any:
        if self._open_file is None:
            is_binary = "b" in self._mode
            options: dict[str, Any] = {} if is_binary else {"encoding": "utf-8", "newline": ""}
            self._open_file = _call(open, self._path, self._mode, **options)
        return self._open_file

    def _check_readable(self) -> None:
        if "r" not in self._mode and "+" not in self._mode:
            raise PermissionDeniedError("File isn't open for reading")

    def read(self, n: int = -1) -> Any:
        """Return at most n characters or bytes; all that are left for -1."""
        self._check_readable()
        return _call(self._file.read, n)

    def readline(self) -> Any:
        """Return the next line with its end."""
        self._check_readable()
        return _call(self._file.readline)

    def readlines(self) -> list[Any]:
        """Return the lines that are left."""
        self._check_readable()
        lines: list[Any] = _call(self._file.readlines)
        return lines

    def write(self, file_content: Any) -> None:
        """Write text or bytes."""
        if self._mode[0] == "r" and "+" not in self._mode:
            raise PermissionDeniedError("File isn't open for writing")
        if "b" in self._mode:
            content: Any = to_bytes(file_content)
        elif isinstance(file_content, str):
            content = file_content
        else:
            content = to_bytes(file_content).decode()
        _call(self._file.write, content)

    def seek(self, offset: int | None = None, whence: int = 0) -> None:
        """Move to a place."""
        if offset is None:
            raise TypeError("seek() takes an offset.")
        self._check_readable()
        if whence not in (0, 1, 2):
            raise OutOfRangeError(f"Invalid whence argument: {whence}. Use 0, 1 or 2.")
        _call(self._file.seek, offset, whence)

    def tell(self) -> int:
        """Return the place."""
        place: int = _call(self._file.tell)
        return place

    def size(self) -> int:
        """Return the size of the file in bytes."""
        return stat(self._path).length

    def flush(self) -> None:
        """Write what is buffered."""
        if self._open_file is not None:
            _call(self._open_file.flush)

    def close(self) -> None:
        """Close the file."""
        if self._open_file is not None:
            _call(self._open_file.close)
            self._open_file = None

    def seekable(self) -> bool:
        """Return True."""
        return True

    def __enter__(self) -> Self:
        """Return the file."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the file."""
        self.close()

    def __iter__(self) -> Self:
        """Return the file, which yields its lines."""
        return self

    def __next__(self) -> Any:
        """Return the next line."""
        line = self.readline()
        if not line:
            raise StopIteration
        return line


_guard_module(__name__)
