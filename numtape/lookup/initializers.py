"""Initializers of lookup tables: keys and values from tensors or from the lines of a text file."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.log.string_tensor import of_strings
from ..core.ops.creation import convert_to_tensor
from ..core.values import dtypes
from ..core.values.dtypes import DType, as_dtype
from ..errors import InvalidArgumentError, NotFoundError, OutOfRangeError

if TYPE_CHECKING:
    from ..core.values.annotations import DTypeLike, StringLike, TensorLike


class TextFileIndex:
    """The parts of a line that a `TextFileInitializer` reads, other than a column.

    Attributes:
      WHOLE_LINE: The line as a string.
      LINE_NUMBER: The number of the line, from 0 on.

    Example:
      >>> tf.lookup.TextFileIndex.WHOLE_LINE, tf.lookup.TextFileIndex.LINE_NUMBER
      (-2, -1)
    """

    WHOLE_LINE = -2
    LINE_NUMBER = -1


class Initializer:
    """The base of initializers: dtypes, and arrays of the keys and values."""

    def __init__(self, key_dtype: DTypeLike, value_dtype: DTypeLike) -> None:
        self._key_dtype, self._value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)

    @property
    def key_dtype(self) -> DType:
        """The dtype of the keys.

        Example:
          >>> tf.lookup.KeyValueTensorInitializer(["a"], [1]).key_dtype
          tf.string
        """
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The dtype of the values.

        Example:
          >>> tf.lookup.KeyValueTensorInitializer(["a"], [1]).value_dtype
          tf.int32
        """
        return self._value_dtype

    def read(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Return the keys and the values as arrays."""
        raise NotImplementedError

    def initialize(self, table: Any) -> None:
        """Fill a table.

        Args:
          table: A table of the same dtypes.

        Raises:
          TypeError: If the table has other dtypes.

        Example:
          >>> init = tf.lookup.KeyValueTensorInitializer(["a"], [1])
          >>> table = tf.lookup.StaticHashTable(init, -1)
          >>> init.initialize(table)
          >>> int(table.size())
          1
        """
        if (table.key_dtype, table.value_dtype) != (self.key_dtype, self.value_dtype):
            raise TypeError(
                f"Invalid dtypes: the table maps {table.key_dtype.name} to "
                f"{table.value_dtype.name}, its initializer {self.key_dtype.name} to "
                f"{self.value_dtype.name}."
            )
        table._fill(*self.read())


class KeyValueTensorInitializer(Initializer):
    """Keys and values from tensors.

    Args:
      keys: The keys: strings or integers.
      values: The values, of the same shape.
      key_dtype: The dtype of the keys; by default that of ``keys``.
      value_dtype: The dtype of the values; by default that of ``values``.
      name: Not used.

    Raises:
      ValueError: If tensors have other dtypes.

    Example:
      >>> init = tf.lookup.KeyValueTensorInitializer(["a", "b"], [7, 8])
      >>> table = tf.lookup.StaticHashTable(init, default_value=-1)
      >>> table.lookup(tf.constant(["b", "c"])).numpy()
      array([ 8, -1], dtype=int32)
    """

    def __init__(
        self,
        keys: TensorLike | StringLike,
        values: TensorLike | StringLike,
        key_dtype: DTypeLike | None = None,
        value_dtype: DTypeLike | None = None,
        name: str | None = None,
    ) -> None:
        key_tensor: Any = convert_to_tensor(keys, key_dtype)
        value_tensor: Any = convert_to_tensor(values, value_dtype)
        super().__init__(key_tensor.dtype, value_tensor.dtype)
        self._arrays = np.asarray(key_tensor), np.asarray(value_tensor)

    def read(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Return the keys and the values as arrays.

        Example:
          >>> tf.lookup.KeyValueTensorInitializer(["a"], [1]).read()[1]
          array([1], dtype=int32)
        """
        return self._arrays


class TextFileInitializer(Initializer):
    r"""Keys and values from the lines of a text file.

    Args:
      filename: The path.
      key_dtype: The dtype of the keys.
      key_index: The column of the keys, or a constant of `TextFileIndex`.
      value_dtype: The dtype of the values.
      value_index: The column of the values, or a constant of `TextFileIndex`.
      vocab_size: The number of lines that are read; None for all.
      delimiter: The separator of columns.
      name: Not used.
      value_index_offset: A number that is added to line numbers that are values.

    Raises:
      ValueError: If the file name is empty, or a dtype does not fit its column.

    Example:
      >>> import os, tempfile
      >>> path = os.path.join(tempfile.mkdtemp(), "words.txt")
      >>> with open(path, "w") as file:
      ...     _ = file.write("emerson\nlake\npalmer\n")
      >>> lines = tf.lookup.TextFileInitializer(
      ...     path, tf.string, tf.lookup.TextFileIndex.WHOLE_LINE,
      ...     tf.int64, tf.lookup.TextFileIndex.LINE_NUMBER)
      >>> tf.lookup.StaticHashTable(lines, -1).lookup(tf.constant(["lake", "x"])).numpy()
      array([ 1, -1])
    """

    def __init__(
        self,
        filename: str | os.PathLike[str] | StringLike,
        key_dtype: DTypeLike,
        key_index: int,
        value_dtype: DTypeLike,
        value_index: int,
        vocab_size: int | None = None,
        delimiter: str = "\t",
        name: str | None = None,
        value_index_offset: int = 0,
    ) -> None:
        super().__init__(key_dtype, value_dtype)
        path: Any = filename
        if hasattr(path, "numpy"):
            path = path.numpy()
        if not path:
            raise ValueError("`filename` argument required for tf.lookup.TextFileInitializer")
        self._path = os.fsdecode(path)
        for what, dtype, index in (
            ("key", self._key_dtype, key_index),
            ("value", self._value_dtype, value_index),
        ):
            if index < -2:
                raise ValueError(f"`{what}_index` should be >= -2, received: {index}.")
            if index == TextFileIndex.LINE_NUMBER and dtype is not dtypes.int64:
                raise ValueError(
                    f"`{what}_dtype` must be int64 if `{what}_index` is -1, received: {dtype}"
                )
            if index == TextFileIndex.WHOLE_LINE and not (
                dtype is dtypes.string or (dtype.is_integer and what == "key")
            ):
                raise ValueError(
                    f"`{what}_dtype` must be string"
                    f"{' or an integer' if what == 'key' else ''} if `{what}_index` is -2, "
                    f"received: {dtype}"
                )
        if vocab_size is not None and vocab_size <= 0:
            raise ValueError(f"`vocab_size` should be > 0, received: {vocab_size}.")
        self._indices = key_index, value_index
        self._size, self._delimiter, self._offset = vocab_size, delimiter, value_index_offset

    def read(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Return the keys and the values as arrays.

        Raises:
          NotFoundError: If the file does not exist.
          OutOfRangeError: If it is empty.
          InvalidArgumentError: If a line has too few columns, a column is not a number of the
            dtype, or there are fewer lines than ``vocab_size``.

        Example:
          >>> import os, tempfile
          >>> path = os.path.join(tempfile.mkdtemp(), "words.txt")
          >>> with open(path, "w") as file:
          ...     _ = file.write("1,one")
          >>> tf.lookup.TextFileInitializer(path, tf.int64, 0, tf.string, 1, delimiter=",").read()
          (array([1]), array([b'one'], dtype=object))
        """
        try:
            with open(self._path, "rb") as file:
                lines = file.read().split(b"\n")
        except OSError as error:
            raise NotFoundError(f"{self._path}; {error.strerror}") from None
        if lines[-1] == b"":
            lines.pop()
        lines = [line.rstrip(b"\r") for line in lines]
        if not lines:
            raise OutOfRangeError(f"{self._path} is empty: a table needs at least one line.")
        if self._size is not None and self._size > len(lines):
            raise InvalidArgumentError(
                f"Invalid vocab_size in {self._path}: expected {self._size} but got {len(lines)}"
            )
        lines = lines[: self._size]
        keys, values = (
            self._column(lines, index, dtype)
            for index, dtype in zip(
                self._indices, (self._key_dtype, self._value_dtype), strict=True
            )
        )
        if self._indices[1] == TextFileIndex.LINE_NUMBER:
            values = values + self._offset
        return keys, values

    def _column(self, lines: list[bytes], index: int, dtype: DType) -> np.ndarray[Any, Any]:
        if index == TextFileIndex.LINE_NUMBER:
            return np.arange(len(lines))
        column = lines
        if index != TextFileIndex.WHOLE_LINE:
            delimiter = self._delimiter.encode()
            rows = [line.split(delimiter) for line in lines]
            expected = max(self._indices) + 1
            for k, row in enumerate(rows):
                if len(row) < expected:
                    raise InvalidArgumentError(
                        f"Invalid number of columns in {self._path} line {k} ({lines[k]!r}) : "
                        f"expected at least {expected} got {len(row)}"
                    )
            column = [row[index] for row in rows]
        result = np.empty(len(column), object)
        result[:] = column
        if dtype is dtypes.string:
            return result
        from ..strings import to_number

        wide = dtypes.int64 if dtype.is_integer else dtypes.float64
        numbers = to_number(of_strings(result), wide).numpy()
        return np.asarray(numbers).astype(dtype.numpy_dtype)
