"""Read and write safetensors files of arrays and a JSON description: `pack`, `unpack`, `write`.

Eight bytes hold the length of a JSON header, which gives each array's dtype, shape and offset in
the bytes that follow (https://huggingface.co/docs/safetensors). Any safetensors reader can open
these files. The header's ``__metadata__`` holds the description and a checksum of the file.

Files are written atomically. Reading never executes or unpickles anything.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.log.log import local
from ..core.values.dtypes import bfloat16
from ..errors import DataLossError, NotFoundError

if TYPE_CHECKING:
    from collections.abc import Callable

Array = np.ndarray[Any, Any]
Entry = tuple[str, tuple[int, ...], int, int]  # an array's dtype, shape, start and end

SUFFIX = ".safetensors"
_LONGEST = 100_000_000  # bytes of a header: the limit of safetensors
_BY_NAME: dict[str, Any] = {
    "BOOL": "bool",
    "I8": "int8",
    "U8": "uint8",
    "I16": "int16",
    "U16": "uint16",
    "I32": "int32",
    "U32": "uint32",
    "I64": "int64",
    "U64": "uint64",
    "F16": "float16",
    "F32": "float32",
    "F64": "float64",
    "C64": "complex64",
    "BF16": bfloat16.numpy_dtype,
}
_DTYPES = {name: np.dtype(dtype) for name, dtype in _BY_NAME.items()}
_NAMES = {dtype: name for name, dtype in _DTYPES.items()}
# safetensors has no complex128: such arrays are stored as float64 pairs, listed in the description.
_PAIRS = np.dtype(np.complex128)


def pack(arrays: Mapping[str, Array], description: object) -> bytes:
    """Serialize arrays and a description to the bytes of a file.

    Args:
      arrays: Arrays by name.
      description: A JSON-serializable object.
    """
    pairs = sorted(name for name, x in arrays.items() if x.dtype == _PAIRS)
    entries: dict[str, Any] = {}
    parts: list[bytes] = []
    offset = 0
    # The largest element sizes come first, so that every array is aligned for its dtype.
    for name in sorted(arrays, key=lambda name: (-arrays[name].dtype.itemsize, name)):
        array = np.ascontiguousarray(arrays[name]).reshape(arrays[name].shape)
        if array.dtype == _PAIRS:
            array = array.reshape(-1).view(np.float64).reshape(*array.shape, 2)
        part = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes()
        entries[name] = {
            "dtype": _NAMES[array.dtype],
            "shape": list(array.shape),
            "data_offsets": [offset, offset + len(part)],
        }
        parts.append(part)
        offset += len(part)
    data = b"".join(parts)
    text = json.dumps({"complex128": pairs, "content": description}, sort_keys=True)
    metadata = {"format": "numtape", "numtape": text, "sha256": _checksum(entries, text, data)}
    header = json.dumps({"__metadata__": metadata, **entries}).encode()
    header += b" " * (-len(header) % 8)
    return len(header).to_bytes(8, "little") + header + data


def unpack(content: bytes, where: str) -> tuple[dict[str, Array], Any]:
    """Return the arrays and the description in the bytes of a file.

    Args:
      content: The bytes.
      where: The file's name, for errors.

    Raises:
      DataLossError: If the bytes are truncated or changed, or were not written by `pack`.
    """

    def lost(why: str) -> DataLossError:
        return DataLossError(f"{where} cannot be read: {why}.")

    if content[:8] == b"\x89HDF\r\n\x1a\n":
        raise lost("it is an HDF5 file, not one written by numtape")
    if len(content) < 8:
        raise lost("it is too short to be a file written by numtape")
    length = int.from_bytes(content[:8], "little")
    if length > _LONGEST or 8 + length > len(content):
        raise lost("it is truncated, or was not written by numtape: its header exceeds the file")
    try:
        header = json.loads(content[8 : 8 + length].decode())
        metadata = dict(header.pop("__metadata__", {}))
        entries = {str(name): _entry(**entry) for name, entry in header.items()}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise lost("its header is damaged, or it was not written by numtape") from None
    if metadata.get("format") != "numtape" or not isinstance(metadata.get("numtape"), str):
        raise lost("it is a safetensors file that another program wrote")
    data = memoryview(content)[8 + length :]
    _check_places(entries, len(data), lost)
    if metadata.get("sha256") != _checksum(header, metadata["numtape"], data):
        raise lost("it was changed after it was written: its checksum does not match")
    arrays: dict[str, Array] = {}
    for name, (kind, shape, start, end) in entries.items():
        dtype = _DTYPES[kind]
        values = np.frombuffer(data[start:end], dtype.newbyteorder("<")).astype(dtype)
        arrays[name] = values.reshape(shape)
    try:
        description = json.loads(metadata["numtape"])
        for name in description["complex128"]:
            pairs = arrays[name]
            arrays[name] = pairs.view(np.complex128).reshape(pairs.shape[:-1])
        return arrays, description["content"]
    except (ValueError, TypeError, KeyError, RecursionError):
        raise lost("its description is damaged") from None


def _checksum(entries: object, text: str, data: bytes | memoryview) -> str:
    digest = hashlib.sha256(json.dumps([entries, text], sort_keys=True).encode())
    digest.update(data)
    return digest.hexdigest()


def _entry(dtype: str, shape: list[int], data_offsets: list[int]) -> Entry:
    start, end = map(int, data_offsets)
    return str(dtype), tuple(map(int, shape)), start, end


def _check_places(entries: dict[str, Entry], size: int, lost: Callable[[str], Exception]) -> None:
    """Check that the arrays are contiguous and fill the data exactly."""
    offset = 0
    for name, (kind, shape, start, end) in sorted(
        entries.items(), key=lambda item: (item[1][2:], item[0])
    ):
        if kind not in _DTYPES or min(shape, default=0) < 0:
            raise lost(f"the array {name!r} has an unknown dtype, or an invalid shape")
        if start != offset or end - start != math.prod(shape) * _DTYPES[kind].itemsize:
            raise lost(f"the array {name!r} has a wrong offset or size in the header")
        offset = end
    if offset != size:
        raise lost(f"it is truncated or was extended: {size} bytes of arrays instead of {offset}")


def write(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file atomically: on an error, an existing file is kept.

    Args:
      path: The path; missing folders are created.
      content: The bytes to write.
    """
    local.log.refuse("it writes a file")
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary_path = path.parent / f".{path.name}.{secrets.token_hex(4)}"
    try:
        with open(temporary_path, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary_path, path)
    except BaseException:
        temporary_path.unlink(missing_ok=True)
        raise
    if hasattr(os, "O_DIRECTORY"):  # flush the directory entry to disk too
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def read(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a file.

    Raises:
      NotFoundError: If the file does not exist.
    """
    local.log.refuse("it reads a file")
    try:
        return Path(path).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        raise NotFoundError(f"File not found: {os.fspath(path)!r}.") from None
