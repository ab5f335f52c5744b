"""Files of elements: `Dataset.save`, `load`, `snapshot`, and `cache` with a filename.

A file is a sequence of elements, each encoded by `positions.encode` behind its length. Files are
written under another name and renamed when they are complete. Reading never unpickles anything.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import struct
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any

from ..core.log.as_tensor import as_tensor
from ..errors import DataLossError, NotFoundError
from . import elements, positions
from .stages import Stage

_MAGIC = b"numtape elements 1\n"
_LENGTH = struct.Struct("<Q")
_SUFFIX = ".elements"
_SPEC = "element_spec"


class ElementWriter:
    """Writes a file of elements, which exists once `close` is called.

    Args:
      path: The path.
    """

    def __init__(self, path: str) -> None:
        self._path, self._name = path, f"{path}.{secrets.token_hex(4)}.tmp"
        self._file = open(self._name, "wb")
        self._file.write(_MAGIC)

    def write(self, element: Any) -> None:
        """Append an element."""
        data = positions.encode(element)
        self._file.write(_LENGTH.pack(len(data)) + data)

    def close(self) -> None:
        """Complete the file."""
        self._file.close()
        os.replace(self._name, self._path)

    def discard(self) -> None:
        """Remove an incomplete file."""
        if not self._file.closed:
            self._file.close()
            with contextlib.suppress(OSError):
                os.remove(self._name)


class ElementFile(Stage):
    """The elements of a file.

    Args:
      path: The path.

    Raises:
      NotFoundError: While iterating, if the file does not exist.
      DataLossError: While iterating, if the file is truncated or damaged.
    """

    SAVED = ("number",)

    def __init__(self, path: str) -> None:
        self._path, self.number = path, 0

    def __iter__(self) -> Iterator[Any]:
        for data in islice(self._read(), self.number, None):
            self.number += 1
            yield positions.decode(data)

    def _read(self) -> Iterator[bytes]:
        """Yield the encoded elements."""
        try:
            file = open(self._path, "rb")
        except FileNotFoundError:
            raise NotFoundError(f"{self._path}; No such file or directory") from None
        with file:
            if file.read(len(_MAGIC)) != _MAGIC:
                raise DataLossError(f"{self._path} is not a file of elements that numtape saved.")
            while header := file.read(_LENGTH.size):
                size = _LENGTH.unpack(header)[0] if len(header) == _LENGTH.size else -1
                data = file.read(size) if 0 <= size <= _bytes_of(self._path) else b""
                if len(data) != size:
                    raise DataLossError(f"{self._path} is truncated.")
                yield data


def _bytes_of(path: str) -> int:
    return os.stat(path).st_size


class FileCached(Stage):
    """Elements that the first complete iteration stores in a file.

    Args:
      start: Starts the source.
      path: The path of the file.
      count: The number of elements, if it is known.
    """

    SAVED = ("position",)

    def __init__(self, start: Callable[[], Iterable[Any]], path: str, count: int) -> None:
        self._path, self._count = path, count
        self.position = 0
        is_complete = os.path.exists(path)
        self.is_reading = is_complete
        self.sources = [ElementFile(path)] if is_complete else [start()]
        self._open = start

    def __iter__(self) -> Iterator[Any]:
        if self.is_reading or self.position:  # behind an error, the file cannot be completed
            yield from self.sources[0]
            return
        writer = ElementWriter(self._path)
        try:
            for element in self.sources[0]:
                writer.write(element)
                self.position += 1
                if self.position == self._count:
                    writer.close()  # even if the caller stops after the last element
                yield element
            if self.position != self._count:
                writer.close()
        finally:
            writer.discard()

    def state(self) -> dict[str, Any]:
        """Return the position."""
        return {**super().state(), "is_reading": self.is_reading}

    def restore(self, state: dict[str, Any]) -> None:
        """Set the position. An iteration of a file that is gone reads the source again."""
        if self.is_reading and not state["is_reading"]:
            self.is_reading, self.sources = False, [self._open()]
        elif state["is_reading"] and not self.is_reading:
            number = state["sources"][0]["number"]
            self.position = len([*islice(self.sources[0], number)])
            return
        super().restore(state)


def save(source: Iterable[Any], spec: Any, path: str, shard: Callable[[Any], Any] | None) -> None:
    """Write the elements to files in a folder.

    Args:
      source: The elements.
      spec: Their spec.
      path: The folder.
      shard: A function from an element's tensors to the number of its file, or None for one file.

    Raises:
      OSError: If a file cannot be written.
      UnimplementedError: If the elements cannot be saved.
    """
    os.makedirs(path, exist_ok=True)
    for name in os.listdir(path):
        if name.endswith(_SUFFIX):
            os.remove(os.path.join(path, name))
    writers: dict[int, ElementWriter] = {}

    def writer_of(number: int) -> ElementWriter:
        if number not in writers:
            writers[number] = ElementWriter(os.path.join(path, f"{number:08d}{_SUFFIX}"))
        return writers[number]

    try:
        writer_of(0)
        for element in source:
            number = 0
            if shard is not None:
                number = int(elements.as_array(as_tensor(elements.call(shard, element))))
            writer_of(number).write(element)
        for writer in writers.values():
            writer.close()
    finally:
        for writer in writers.values():
            writer.discard()
    description = ElementWriter(os.path.join(path, _SPEC))
    try:
        description.write(positions.encode_spec(spec))
        description.close()
    finally:
        description.discard()


def load_spec(path: str) -> Any:
    """Return the spec of the elements in a folder.

    Raises:
      NotFoundError: If the folder has no saved dataset.
    """
    if not os.path.exists(os.path.join(path, _SPEC)):
        raise NotFoundError(f"{path}: no dataset was saved in this folder by `Dataset.save`.")
    (spec,) = ElementFile(os.path.join(path, _SPEC))
    return positions.decode_spec(spec)


def shard_paths(path: str) -> list[str]:
    """Return the paths of the files of elements in a folder."""
    names = sorted(name for name in os.listdir(path) if name.endswith(_SUFFIX))
    return [os.path.join(path, name) for name in names]


def count_elements(path: str) -> int:
    """Return the number of elements in a file."""
    return sum(1 for _ in ElementFile(path)._read())
