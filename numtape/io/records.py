"""TFRecord files: `TFRecordWriter`, and `read_records` for `data.TFRecordDataset`.

A record is its length (8 bytes), a checksum of the length (4), the data, and a checksum of the data
(4). Checksums are CRC-32C (Castagnoli), rotated and shifted by a constant ("masked").
"""

from __future__ import annotations

import functools
import gzip
import os
import struct
import zlib
from collections.abc import Iterator
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self

import numpy as np

from ..core.log.string_tensor import StringTensor
from ..errors import DataLossError, FailedPreconditionError, InvalidArgumentError, NotFoundError

if TYPE_CHECKING:
    PathLike = str | os.PathLike[str]

_POLYNOMIAL = 0x82F63B78  # of Castagnoli, bits reversed
_MASK_DELTA = 0xA282EAD8
_CHUNK = 256  # bytes that NumPy advances at once in many chunks; shorter data is done by Python
_HEADER = struct.Struct("<QI")
_FOOTER = struct.Struct("<I")
COMPRESSIONS = ("", "GZIP", "ZLIB")


@functools.cache
def _table() -> np.ndarray[Any, Any]:
    """Return the checksums of all bytes."""
    table = np.arange(256, dtype=np.uint32)
    for _ in range(8):
        table = np.where(table & 1, (table >> 1) ^ np.uint32(_POLYNOMIAL), table >> 1)
    return table


@functools.cache
def _list_table() -> list[int]:
    return _table().tolist()  # type: ignore[no-any-return]


@functools.cache
def _shift_tables() -> list[list[int]]:
    """Return, for each byte of a checksum, what it becomes after a chunk of zeros.

    The checksum is linear: the entries of a checksum's four bytes are combined by exclusive or.
    """
    table = _table()
    values = np.arange(256, dtype=np.uint32)
    tables = []
    for k in range(4):
        state = values << np.uint32(8 * k)
        for _ in range(_CHUNK):
            state = table[state & 0xFF] ^ (state >> np.uint32(8))
        tables.append(state.tolist())
    return tables


def crc32c(data: bytes) -> int:
    """Return the CRC-32C checksum of bytes.

    Args:
      data: The bytes.
    """
    state = 0xFFFFFFFF
    start = 0
    if len(data) >= 4 * _CHUNK:
        chunks = np.frombuffer(data, np.uint8, len(data) // _CHUNK * _CHUNK).reshape(-1, _CHUNK)
        table = _table()
        ends = np.zeros(len(chunks), np.uint32)
        for column in chunks.T:
            ends = table[(ends ^ column) & 0xFF] ^ (ends >> np.uint32(8))
        first, second, third, fourth = _shift_tables()
        for end in ends.tolist():
            state = (
                first[state & 0xFF]
                ^ second[state >> 8 & 0xFF]
                ^ third[state >> 16 & 0xFF]
                ^ fourth[state >> 24]
                ^ end
            )
        start = chunks.size
    table_of_bytes = _list_table()
    for byte in data[start:]:
        state = table_of_bytes[(state ^ byte) & 0xFF] ^ (state >> 8)
    return state ^ 0xFFFFFFFF


def masked_crc32c(data: bytes) -> int:
    """Return the masked checksum of bytes, as TFRecord files store it."""
    crc = crc32c(data)
    return ((crc >> 15 | crc << 17) + _MASK_DELTA) & 0xFFFFFFFF


def parse_compression(compression: object) -> str:
    """Return the name of a compression.

    Raises:
      InvalidArgumentError: If it is not "", "GZIP", "ZLIB" or None.
    """
    name = compression.numpy() if isinstance(compression, StringTensor) else compression
    name = name.decode() if isinstance(name, bytes) else name
    if name is None:
        return ""
    if name not in COMPRESSIONS:
        raise InvalidArgumentError(
            f"Unsupported compression_type: {name!r}. Use one of {list(COMPRESSIONS)}."
        )
    return str(name)


class _Inflated:
    """A file whose content is one zlib stream."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file, self._inflater, self._rest = file, zlib.decompressobj(), b""

    def read(self, size: int = -1) -> bytes:
        """Read up to ``size`` bytes; all if it is negative."""
        parts, missing = [self._rest], size - len(self._rest)
        while size < 0 or missing > 0:
            data = self._file.read(1 << 16)
            part = self._inflater.decompress(data) if data else self._inflater.flush()
            parts.append(part)
            missing -= len(part)
            if not data:
                break
        joined = b"".join(parts)
        result = joined if size < 0 else joined[:size]
        self._rest = joined[len(result) :]
        return result

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def open_compressed(path: str, compression: str) -> Any:
    """Open a file for reading.

    Args:
      path: The path.
      compression: "", "GZIP" or "ZLIB".

    Raises:
      NotFoundError: If the file does not exist.
    """
    try:
        file: Any = gzip.open(path) if compression == "GZIP" else open(path, "rb")
    except FileNotFoundError:
        raise NotFoundError(f"{path}; No such file or directory") from None
    return _Inflated(file) if compression == "ZLIB" else file


def read_records(path: str, compression: str) -> Iterator[bytes]:
    """Yield the records of a file.

    Raises:
      NotFoundError: If the file does not exist.
      DataLossError: If it is truncated, or a checksum is wrong.
    """
    file = open_compressed(path, compression)
    try:
        offset = 0
        while True:
            header = _read(file, _HEADER.size, path)
            if not header:
                return
            if len(header) < _HEADER.size:
                raise DataLossError(f"truncated record at {offset} in {path}")
            length, checksum = _HEADER.unpack(header)
            if masked_crc32c(header[:8]) != checksum:
                raise DataLossError(
                    f"corrupted record at {offset} in {path} (Is this even a TFRecord file?)"
                )
            data = _read(file, length, path)
            footer = _read(file, _FOOTER.size, path)
            if len(data) < length or len(footer) < _FOOTER.size:
                raise DataLossError(f"truncated record at {offset} in {path}")
            if masked_crc32c(data) != _FOOTER.unpack(footer)[0]:
                raise DataLossError(f"corrupted record at {offset} in {path}")
            offset += len(header) + length + len(footer)
            yield data
    finally:
        file.close()


def _read(file: Any, size: int, path: str) -> bytes:
    try:
        return file.read(size)  # type: ignore[no-any-return]
    except (EOFError, OSError, zlib.error, OverflowError, MemoryError) as error:
        raise DataLossError(f"{path} cannot be decompressed: {error}") from None


class TFRecordOptions:
    """Options of a `TFRecordWriter`.

    Args:
      compression_type: "", "GZIP" or "ZLIB".
      flush_mode: Not used.
      input_buffer_size: Not used.
      output_buffer_size: Not used.
      window_bits: Not used.
      compression_level: A level from 0 to 9; default: zlib's.
      compression_method: Not used.
      mem_level: Not used.
      compression_strategy: Not used.

    Raises:
      ValueError: If ``compression_type`` is another one.

    Example:
      >>> tf.io.TFRecordOptions("GZIP").compression_type
      'GZIP'
    """

    def __init__(
        self,
        compression_type: str | None = None,
        flush_mode: object = None,
        input_buffer_size: object = None,
        output_buffer_size: object = None,
        window_bits: object = None,
        compression_level: int | None = None,
        compression_method: object = None,
        mem_level: object = None,
        compression_strategy: object = None,
    ) -> None:
        self.compression_type = "" if compression_type is None else compression_type
        if self.compression_type not in COMPRESSIONS:
            raise ValueError(
                f"Invalid compression_type: {compression_type!r}. Use one of {list(COMPRESSIONS)}."
            )
        self.flush_mode, self.input_buffer_size = flush_mode, input_buffer_size
        self.output_buffer_size, self.window_bits = output_buffer_size, window_bits
        self.compression_level, self.compression_method = compression_level, compression_method
        self.mem_level, self.compression_strategy = mem_level, compression_strategy


class TFRecordWriter:
    """Writes records to a file.

    Args:
      path: The path.
      options: `TFRecordOptions`, or the name of a compression: "", "GZIP" or "ZLIB".

    Raises:
      NotFoundError: If the folder does not exist.
      TypeError: If ``options`` is something else.

    Example:
      >>> import tempfile
      >>> path = tempfile.mkdtemp() + "/data.tfrecord"
      >>> with tf.io.TFRecordWriter(path) as writer:
      ...     writer.write(b"first")
      >>> [x.numpy() for x in tf.data.TFRecordDataset(path)]
      [b'first']
    """

    def __init__(self, path: PathLike, options: TFRecordOptions | str | None = None) -> None:
        if options is None or isinstance(options, str):
            options = TFRecordOptions(options)
        if not isinstance(options, TFRecordOptions):
            raise TypeError(f"options must be TFRecordOptions or a string, got {options!r}.")
        level = -1 if options.compression_level is None else options.compression_level
        try:
            self._file: Any = open(path, "wb")
        except FileNotFoundError:
            raise NotFoundError(f"{os.fspath(path)}; No such file or directory") from None
        self._deflater: Any = None
        if options.compression_type:
            bits = zlib.MAX_WBITS + (16 if options.compression_type == "GZIP" else 0)
            self._deflater = zlib.compressobj(level, zlib.DEFLATED, bits)

    def write(self, record: bytes | str | StringTensor) -> None:
        """Append a record.

        Args:
          record: The bytes; a str is encoded in UTF-8.

        Raises:
          TypeError: If ``record`` is no string.
          FailedPreconditionError: If the file is closed.

        Example:
          >>> import tempfile
          >>> path = tempfile.mkdtemp() + "/data.tfrecord"
          >>> with tf.io.TFRecordWriter(path) as writer:
          ...     writer.write(b"first")
          ...     writer.write("second")
          >>> list(tf.data.TFRecordDataset(path).as_numpy_iterator())
          [b'first', b'second']
        """
        data = record.numpy() if isinstance(record, StringTensor) else record
        if isinstance(data, str):
            data = data.encode()
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(f"A record must be bytes, got {type(record).__name__}.")
        data = bytes(data)
        length = struct.pack("<Q", len(data))
        self._put(length + _FOOTER.pack(masked_crc32c(length)))
        self._put(data + _FOOTER.pack(masked_crc32c(data)))

    def _put(self, data: bytes) -> None:
        if self._file is None:
            raise FailedPreconditionError("Writer is closed")
        self._file.write(data if self._deflater is None else self._deflater.compress(data))

    def flush(self) -> None:
        """Write buffered records to the file.

        Example:
          >>> import tempfile
          >>> path = tempfile.mkdtemp() + "/data.tfrecord"
          >>> with tf.io.TFRecordWriter(path) as writer:
          ...     writer.write(b"first")
          ...     writer.flush()
          ...     print(len(list(tf.data.TFRecordDataset(path))))
          1
        """
        self._put(b"")
        if self._deflater is not None:
            self._file.write(self._deflater.flush(zlib.Z_SYNC_FLUSH))
        self._file.flush()

    def close(self) -> None:
        """Complete and close the file.

        Example:
          >>> import os, tempfile
          >>> path = tempfile.mkdtemp() + "/data.tfrecord"
          >>> tf.io.TFRecordWriter(path).close()
          >>> os.path.getsize(path)
          0
        """
        if self._file is not None:
            file, self._file = self._file, None
            if self._deflater is not None:
                file.write(self._deflater.flush())
            file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
