"""Datasets of files: text lines, records, CSV and SQLite.

Each is a `Dataset` of file names, interleaved with the records of the files. `FileRecords` is the
stage that reads a file.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.values import dtypes
from ..core.values.dtypes import DType, as_dtype
from ..errors import InvalidArgumentError
from ..io.records import open_compressed, parse_compression, read_records
from ..tensor_spec import TensorSpec
from . import elements
from .dataset import Dataset
from .pipeline import AUTOTUNE, UNKNOWN_CARDINALITY, check_int
from .stages import Counted, Mapped, Stage

if TYPE_CHECKING:
    from ..core.values.annotations import IntLike

_STRING = TensorSpec((), dtypes.string)
_READ_AHEAD = 1 << 16  # bytes to read at a time


class FileRecords(Stage):
    """The records of a file. Restoring a position reads the records before it again.

    Args:
      path: The path.
      read: A function from the path to an iterator of records.
    """

    SAVED = ("number", "has_failed")

    def __init__(self, path: str, read: Callable[[str], Iterator[Any]]) -> None:
        self._path, self._read = path, read
        self.number = 0
        self.has_failed = False
        self._records: Iterator[Any] | None = None

    def __iter__(self) -> Iterator[Any]:
        if self.has_failed:
            return
        if self._records is None:
            self._records = islice(self._read(self._path), self.number, None)
        while True:
            try:
                record = next(self._records)
            except StopIteration:
                return
            except Exception:
                self.has_failed = True  # a file cannot be read behind an error
                raise
            self.number += 1
            yield record


def _records_of(
    filenames: Any,
    read: Callable[[str], Iterator[Any]],
    spec: Any,
    num_parallel_reads: IntLike | None = None,
    convert: Callable[[Any], Any] | None = None,
) -> Dataset:
    """Return the dataset of the records of files.

    Args:
      filenames: A name, a nest of names, or a dataset of names.
      read: A function from a path to an iterator of records.
      spec: The spec of a record.
      num_parallel_reads: The number of files to interleave; None to read one after another.
      convert: A function from a record to an element. Behind its errors, reading continues.

    Raises:
      TypeError: If the names are no strings.
    """

    def start(path: str) -> Stage:
        records = FileRecords(path, read)
        return records if convert is None else Mapped(records, convert)

    if isinstance(filenames, Dataset):
        name_spec = filenames.element_spec
        if not isinstance(name_spec, TensorSpec) or name_spec.dtype is not dtypes.string:
            raise TypeError(
                f"The `filenames` argument must contain `tf.string` elements. Got a dataset of "
                f"`{getattr(name_spec, 'dtype', name_spec)!r}` elements."
            )
        if name_spec.shape.rank:
            raise TypeError(
                f"The `filenames` argument must contain `tf.string` elements of shape [] (i.e. "
                f"scalars). Got a dataset of element shape {name_spec.shape}."
            )
        names = filenames
    else:
        try:
            texts = elements.as_texts(filenames)
        except TypeError:
            raise TypeError(
                f"The `filenames` argument must contain `tf.string` elements. Got "
                f"`{_dtype_of(filenames)}` elements."
            ) from None
        names = Dataset.from_tensor_slices(np.array([x.encode() for x in texts], object))

    def open_file(name: Any) -> Dataset:
        path = str(elements.as_text(name))
        return Dataset._make(
            "_FileDataset",
            lambda: start(path),
            UNKNOWN_CARDINALITY,
            spec,
            is_computed=True,
        )

    cycle = 1 if num_parallel_reads is None else check_int("num_parallel_reads", num_parallel_reads)
    dataset = names.interleave(
        open_file,
        AUTOTUNE if cycle == AUTOTUNE else cycle,
        1,
        num_parallel_calls=None if num_parallel_reads is None else AUTOTUNE,
    )
    dataset._spec, dataset._has_spec = spec, True
    return dataset


def _dtype_of(values: Any) -> object:
    """Return the dtype of values, for errors."""
    try:
        return repr(elements.spec_of(elements.as_element(values)).dtype)
    except (AttributeError, TypeError, ValueError):
        return type(values).__name__


class _FileDataset(Dataset):
    """Base class of datasets of files. Their transformations are plain datasets."""

    _make = Dataset._make  # type: ignore[assignment]

    def _become(self, kind: str, dataset: Dataset) -> None:
        vars(self).update(vars(dataset))
        self._kind = kind


class TextLineDataset(_FileDataset):
    r"""A dataset of the lines of text files, without their ends.

    Args:
      filenames: A name, a list or tensor of names, or a dataset of names.
      compression_type: "", "GZIP" or "ZLIB".
      buffer_size: Not used.
      num_parallel_reads: The number of files to read in turn; default: one after another.
      name: Not used.

    Raises:
      TypeError: If the names are no strings.
      NotFoundError: While iterating, if a file does not exist.

    Example:
      >>> import pathlib, tempfile
      >>> path = pathlib.Path(tempfile.mkdtemp(), "lines.txt")
      >>> _ = path.write_text("first\nsecond\n")
      >>> list(tf.data.TextLineDataset(path).as_numpy_iterator())
      [b'first', b'second']
    """

    def __init__(
        self,
        filenames: Any,
        compression_type: str | None = None,
        buffer_size: IntLike | None = None,
        num_parallel_reads: IntLike | None = None,
        name: str | None = None,
    ) -> None:
        compression = parse_compression(compression_type)

        def read(path: str) -> Iterator[bytes]:
            for line in _lines(path, compression):
                yield line.rstrip(b"\n").replace(b"\r", b"")

        dataset = _records_of(filenames, read, _STRING, num_parallel_reads)
        self._become("TextLineDatasetV2", dataset)


def _lines(path: str, compression: str) -> Iterator[bytes]:
    """Yield the lines of a file, with their ends."""
    file = open_compressed(path, compression)
    try:
        rest = b""
        while data := file.read(_READ_AHEAD):
            *lines, rest = (rest + data).split(b"\n")
            yield from (line + b"\n" for line in lines)
        if rest:
            yield rest
    finally:
        file.close()


class TFRecordDataset(_FileDataset):
    """A dataset of the records of TFRecord files; see `io.TFRecordWriter`.

    Args:
      filenames: A name, a list or tensor of names, or a dataset of names.
      compression_type: "", "GZIP" or "ZLIB".
      buffer_size: Not used.
      num_parallel_reads: The number of files to read in turn; default: one after another.
      name: Not used.

    Raises:
      TypeError: If the names are no strings.
      NotFoundError: While iterating, if a file does not exist.
      DataLossError: While iterating, if a file is truncated, or a checksum is wrong.

    Example:
      >>> import tempfile
      >>> path = tempfile.mkdtemp() + "/data.tfrecord"
      >>> with tf.io.TFRecordWriter(path) as writer:
      ...     writer.write(b"first")
      >>> list(tf.data.TFRecordDataset([path]).as_numpy_iterator())
      [b'first']
    """

    def __init__(
        self,
        filenames: Any,
        compression_type: str | None = None,
        buffer_size: IntLike | None = None,
        num_parallel_reads: IntLike | None = None,
        name: str | None = None,
    ) -> None:
        compression = parse_compression(compression_type)
        dataset = _records_of(
            filenames, lambda path: read_records(path, compression), _STRING, num_parallel_reads
        )
        self._become("TFRecordDatasetV2", dataset)


class FixedLengthRecordDataset(_FileDataset):
    """A dataset of the records of binary files, which all have the same length.

    Args:
      filenames: A name, a list or tensor of names, or a dataset of names.
      record_bytes: The number of bytes of a record.
      header_bytes: The number of bytes to skip at the start; default: 0.
      footer_bytes: The number of bytes to skip at the end; default: 0.
      buffer_size: Not used.
      compression_type: "", "GZIP" or "ZLIB".
      num_parallel_reads: The number of files to read in turn; default: one after another.
      name: Not used.

    Raises:
      TypeError: If the names are no strings.
      InvalidArgumentError: If a number is negative, or, while iterating, if the size of a file does
        not match.
      NotFoundError: While iterating, if a file does not exist.

    Example:
      >>> import pathlib, tempfile
      >>> path = pathlib.Path(tempfile.mkdtemp(), "data.bin")
      >>> _ = path.write_bytes(b"HHabcdef")
      >>> list(tf.data.FixedLengthRecordDataset(path, 3, header_bytes=2).as_numpy_iterator())
      [b'abc', b'def']
    """

    def __init__(
        self,
        filenames: Any,
        record_bytes: IntLike,
        header_bytes: IntLike | None = None,
        footer_bytes: IntLike | None = None,
        buffer_size: IntLike | None = None,
        compression_type: str | None = None,
        num_parallel_reads: IntLike | None = None,
        name: str | None = None,
    ) -> None:
        size = check_int("record_bytes", record_bytes)
        header = 0 if header_bytes is None else check_int("header_bytes", header_bytes)
        footer = 0 if footer_bytes is None else check_int("footer_bytes", footer_bytes)
        if size <= 0:
            raise InvalidArgumentError("`record_bytes` must be > 0")
        if min(header, footer) < 0:
            raise InvalidArgumentError("`header_bytes` and `footer_bytes` must be >= 0")
        compression = parse_compression(compression_type)

        def read(path: str) -> Iterator[bytes]:
            file = open_compressed(path, compression)
            try:
                data = file.read()
            finally:
                file.close()
            body = len(data) - header - footer
            if body < 0 or body % size:
                raise InvalidArgumentError(
                    f"Excluding the header ({header} bytes) and footer ({footer} bytes), input "
                    f'file "{path}" has body length {body} bytes, which is not an exact multiple '
                    f"of the record length ({size} bytes)."
                )
            for start in range(header, header + body, size):
                yield data[start : start + size]

        dataset = _records_of(filenames, read, _STRING, num_parallel_reads)
        self._become("FixedLengthRecordDatasetV2", dataset)


# CSV.


class CsvDataset(_FileDataset):
    r"""A dataset of the rows of CSV files (RFC 4180): tuples of scalars.

    Args:
      filenames: A name, a list or tensor of names, or a dataset of names.
      record_defaults: For each column to read, a dtype if a value is required, or a default value:
        a scalar, or a tensor of one element. Dtypes are float32, float64, int32, int64 and string.
      compression_type: "", "GZIP" or "ZLIB".
      buffer_size: Not used.
      header: Whether files have a header row, which is skipped.
      field_delim: The separator of fields.
      use_quote_delim: Whether fields may be in double quotes.
      na_value: A text that stands for a missing value, besides an empty field.
      select_cols: The indices of the columns to read, in ascending order; default: all.
      exclude_cols: The indices of the columns not to read.

    Raises:
      ValueError: If both ``select_cols`` and ``exclude_cols`` are given, or are not in order.
      TypeError: If a dtype is another one.
      InvalidArgumentError: While iterating, if a row does not match.
      NotFoundError: While iterating, if a file does not exist.

    Example:
      >>> import pathlib, tempfile
      >>> path = pathlib.Path(tempfile.mkdtemp(), "table.csv")
      >>> _ = path.write_text('n,name\n1,"a, b"\n,c\n')
      >>> data = tf.data.experimental.CsvDataset(path, [0, tf.string], header=True)
      >>> list(data.as_numpy_iterator())
      [(np.int32(1), b'a, b'), (np.int32(0), b'c')]
    """

    def __init__(
        self,
        filenames: Any,
        record_defaults: Sequence[Any],
        compression_type: str | None = None,
        buffer_size: IntLike | None = None,
        header: bool = False,
        field_delim: str = ",",
        use_quote_delim: bool = True,
        na_value: str = "",
        select_cols: Sequence[int] | None = None,
        exclude_cols: Sequence[int] | None = None,
    ) -> None:
        columns = [_Column(k, default) for k, default in enumerate(record_defaults)]
        selected = _selected_columns(select_cols, exclude_cols, len(columns))
        compression = parse_compression(compression_type)
        delimiter = _one_byte(field_delim)
        missing = {b"", str(na_value).encode()}

        def read(path: str) -> Iterator[Any]:
            rows = csv_rows(_lines(path, compression), delimiter, use_quote_delim)
            return islice(rows, int(bool(header)), None)

        def convert(fields: list[bytes]) -> Any:
            return _parse_row(fields, columns, selected, exclude_cols, missing)

        spec = tuple(TensorSpec((), column.dtype) for column in columns)
        self._become("CsvDatasetV2", _records_of(filenames, read, spec, convert=convert))


def _one_byte(text: str) -> bytes:
    data = text.encode()
    if len(data) != 1:
        raise InvalidArgumentError("field_delim should be only 1 char")
    return data


def _selected_columns(
    selected: Sequence[int] | None, excluded: Sequence[int] | None, count: int
) -> list[int] | None:
    """Return the indices of the columns to read; None for all, or all but those excluded."""
    if selected is not None and excluded is not None:
        raise InvalidArgumentError("Either select_cols or exclude_cols should be empty")
    for name, columns in (("select_cols", selected), ("exclude_cols", excluded)):
        if columns is not None:
            numbers = [int(k) for k in columns]
            if any(k < 0 for k in numbers):
                raise InvalidArgumentError(f"{name} should be non-negative indices")
            if any(b <= a for a, b in pairwise(numbers)):
                raise InvalidArgumentError(f"{name} should be strictly increasing indices")
    if selected is None:
        return None
    if len(selected) != count:
        raise InvalidArgumentError(
            f"select_cols should match output size: {len(selected)} columns for {count} defaults"
        )
    return [int(k) for k in selected]


class _Column:
    """A column of a CSV file: its dtype, and the default value, None if a value is required."""

    def __init__(self, number: int, default: Any) -> None:
        self.default: Any = None
        if isinstance(default, DType | type):
            self.dtype = as_dtype(default)
        else:
            element = elements.as_element(default)
            array = np.asarray(elements.as_array(element))
            if array.size > 1 or array.ndim > 1:
                raise InvalidArgumentError(
                    f"Each record default should be at most rank 1 with one value, got {default!r} "
                    f"for column {number}."
                )
            self.dtype = elements.spec_of(element).dtype
            if array.size:
                self.default = array.reshape(-1)[0]
        if self.dtype.name not in _CONVERTERS:
            raise TypeError(
                f"Column {number} has dtype {self.dtype.name}, which is not in the list of allowed "
                f"values: float32, float64, int32, int64, string."
            )
        self.convert = _CONVERTERS[self.dtype.name]


def _int_converter(kind: Any) -> Callable[[bytes], Any]:
    limits = np.iinfo(kind)

    def convert(text: bytes) -> Any:
        number = int(text)
        if not limits.min <= number <= limits.max:
            raise ValueError(text)
        return kind(number)

    return convert


_CONVERTERS: dict[str, Callable[[bytes], Any]] = {
    "float32": lambda text: np.float32(text.decode()),
    "float64": lambda text: np.float64(text.decode()),
    "int32": _int_converter(np.int32),
    "int64": _int_converter(np.int64),
    "string": lambda text: text,
}


def _parse_row(
    fields: list[bytes],
    columns: list[_Column],
    selected: list[int] | None,
    excluded: Sequence[int] | None,
    missing: set[bytes],
) -> tuple[Any, ...]:
    """Convert the fields of a row.

    Raises:
      InvalidArgumentError: If their number or a value is wrong.
    """
    if excluded is not None:
        fields = [x for k, x in enumerate(fields) if k not in set(map(int, excluded))]
    if selected is not None:
        if selected and selected[-1] >= len(fields):
            raise InvalidArgumentError(
                f"Expect at least {selected[-1] + 1} fields but have {len(fields)} in record"
            )
        fields = [fields[k] for k in selected]
    if len(fields) > len(columns):
        raise InvalidArgumentError(f"Expect {len(columns)} fields but have more in record")
    if len(fields) < len(columns):
        raise InvalidArgumentError(f"Expect {len(columns)} fields but have {len(fields)} in record")
    values = []
    for k, (text, column) in enumerate(zip(fields, columns, strict=True)):
        if text in missing:
            if column.default is None:
                raise InvalidArgumentError(f"Field {k} is required but missing in record!")
            values.append(column.default)
            continue
        try:
            values.append(column.convert(text))
        except ValueError:
            raise InvalidArgumentError(
                f"Field {k} in record is not a valid {column.dtype.name}: "
                f"{text.decode(errors='replace')}"
            ) from None
    return tuple(values)


def csv_rows(lines: Iterable[bytes], delimiter: bytes, has_quotes: bool) -> Iterator[list[bytes]]:
    """Yield the fields of the rows of a CSV file.

    Args:
      lines: The lines, with their ends.
      delimiter: The separator of fields.
      has_quotes: Whether fields may be in double quotes, with line ends in them.

    Raises:
      InvalidArgumentError: If quotes are not in pairs, or not around a whole field.
    """
    comma = re.escape(delimiter)
    field = re.compile(
        rb'(?:"((?:[^"]|"")*)"|([^"' + comma + rb"]*))(?:" + comma + rb"|\Z)", re.DOTALL
    )
    source = iter(lines)
    for line in source:
        record = line
        if not has_quotes:
            yield _without_end(record).split(delimiter)
            continue
        while record.count(b'"') % 2:
            more = next(source, None)
            if more is None:
                raise InvalidArgumentError(
                    "Quoted field has to end with quote followed by delim or end"
                )
            record += more
        record = _without_end(record)
        if b'"' not in record:
            yield record.split(delimiter)
            continue
        fields, position, is_open = [], 0, True
        while is_open:
            match = field.match(record, position)
            if match is None:
                is_quoted = record[position : position + 1] == b'"'
                raise InvalidArgumentError(
                    "Quote inside a string has to be escaped by another quote"
                    if is_quoted
                    else "Unquoted fields cannot have quotes/CRLFs inside"
                )
            quoted, plain = match.groups()
            fields.append(plain if quoted is None else quoted.replace(b'""', b'"'))
            is_open = match.group().endswith(delimiter) and match.end() > match.end(
                1 if quoted is not None else 2
            ) + (quoted is not None)
            position = match.end()
        yield fields


def _without_end(line: bytes) -> bytes:
    line = line.removesuffix(b"\n")
    return line.removesuffix(b"\r")


def make_csv_dataset(
    file_pattern: Any,
    batch_size: IntLike,
    column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None,
    label_name: str | None = None,
    select_columns: Sequence[Any] | None = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: IntLike | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: IntLike = 10000,
    shuffle_seed: IntLike | None = None,
    prefetch_buffer_size: IntLike | None = None,
    num_parallel_reads: IntLike | None = None,
    sloppy: bool = False,
    num_rows_for_inference: int | None = 100,
    compression_type: str | None = None,
    ignore_errors: bool = False,
    encoding: str = "utf-8",
) -> Dataset:
    r"""Create a dataset of batches of the rows of CSV files: dicts from column names to tensors.

    Args:
      file_pattern: A pattern of file names, or several; see `Dataset.list_files`.
      batch_size: The number of rows in a batch.
      column_names: The names of the columns; default: those of the header.
      column_defaults: The dtypes or default values of the columns (see `CsvDataset`); default: they
        are inferred from the first rows.
      label_name: The column that is the label: elements are then pairs of a dict and a label.
      select_columns: The names or indices of the columns to read; default: all.
      field_delim: The separator of fields.
      use_quote_delim: Whether fields may be in double quotes.
      na_value: A text that stands for a missing value, besides an empty field.
      header: Whether files have a header row.
      num_epochs: The number of repetitions; None for endless repetition.
      shuffle: Whether to shuffle the rows, and the files.
      shuffle_buffer_size: The size of the buffer for it.
      shuffle_seed: An integer.
      prefetch_buffer_size: The number of batches to prefetch; default: 1.
      num_parallel_reads: The number of files to read in turn.
      sloppy: Not used: the order never depends on threads.
      num_rows_for_inference: The number of rows to infer dtypes from; None for all.
      compression_type: "", "GZIP" or "ZLIB".
      ignore_errors: Whether to skip rows with errors.
      encoding: The encoding of the header.

    Returns:
      A `Dataset`.

    Raises:
      ValueError: If names are not those of columns, or their number does not match.
      InvalidArgumentError: If no file matches; while iterating, if a row does not match.

    Example:
      >>> import pathlib, tempfile
      >>> path = pathlib.Path(tempfile.mkdtemp(), "table.csv")
      >>> _ = path.write_text("x,label\n1.5,0\n2.5,1\n")
      >>> data = tf.data.experimental.make_csv_dataset(
      ...     str(path), 2, label_name="label", num_epochs=1, shuffle=False)
      >>> for features, label in data:
      ...     print(features["x"].numpy(), label.numpy())
      [1.5 2.5] [0 1]
    """
    files = Dataset.list_files(file_pattern, shuffle=shuffle, seed=shuffle_seed)
    paths = sorted(str(elements.as_text(name)) for name in files.as_numpy_iterator())
    delimiter, compression = _one_byte(field_delim), parse_compression(compression_type)

    def rows_of(path: Any) -> Iterator[list[bytes]]:
        return csv_rows(_lines(str(path), compression), delimiter, use_quote_delim)

    if column_names is None:
        if not header:
            raise ValueError("Expected `column_names` or `header` arguments. Neither is provided.")
        column_names = _header_names(rows_of, paths, encoding)
    if len(column_names) != len(set(column_names)):
        raise ValueError("Cannot have duplicate column names.")
    selected = [*range(len(column_names))]
    if select_columns is not None:
        selected = _column_indices(select_columns, column_names)
    if column_defaults is None:
        column_defaults = _infer_defaults(
            [row for path in paths for row in islice(rows_of(path), int(header), None)]
            if num_rows_for_inference is None
            else _first_rows(rows_of, paths, header, num_rows_for_inference),
            len(column_names),
            selected,
            na_value.encode(),
        )
    if len(column_defaults) != len(selected):
        raise ValueError(
            f"`column_defaults` has {len(column_defaults)} entries for {len(selected)} columns."
        )
    names = [column_names[k] for k in selected]
    if label_name is not None and label_name not in names:
        raise ValueError(
            f"`label_name` provided must be one of the columns: {names}. Received: {label_name}."
        )

    def rows(name: Any) -> Dataset:
        return CsvDataset(
            [elements.as_text(name)],
            column_defaults,
            compression_type,
            header=header,
            field_delim=field_delim,
            use_quote_delim=use_quote_delim,
            na_value=na_value,
            select_cols=selected,
        )

    dataset = files.interleave(
        rows, 1 if num_parallel_reads is None else num_parallel_reads, block_length=1
    )
    dataset._spec = tuple(TensorSpec((), _Column(0, x).dtype) for x in column_defaults)
    dataset._has_spec = True
    if ignore_errors:
        dataset = dataset.ignore_errors()
    if num_epochs != 1 and shuffle:
        dataset = dataset.shuffle(shuffle_buffer_size, shuffle_seed).repeat(num_epochs)
    elif shuffle:
        dataset = dataset.shuffle(shuffle_buffer_size, shuffle_seed)
    elif num_epochs != 1:
        dataset = dataset.repeat(num_epochs)

    def join(*columns: Any) -> Any:
        features = OrderedDict(zip(names, columns, strict=True))
        if label_name is None:
            return features
        label = features.pop(label_name)
        return features, label

    batches = dataset.batch(batch_size, drop_remainder=num_epochs is None).map(join)
    return batches.prefetch(1 if prefetch_buffer_size is None else prefetch_buffer_size)


def _header_names(
    rows_of: Callable[[Any], Iterator[list[bytes]]], paths: list[Any], encoding: str
) -> list[str]:
    names = None
    for path in paths:
        row = [x.decode(encoding) for x in next(rows_of(path), [])]
        if names is not None and row != names:
            raise ValueError(
                f"All CSV files must have the same header: {paths[0]} has {names}, and {path} has "
                f"{row}."
            )
        names = row
    return names or []


def _column_indices(columns: Sequence[Any], names: Sequence[str]) -> list[int]:
    """Return the indices of selected columns, in ascending order."""
    indices = []
    for column in columns:
        if isinstance(column, str):
            if column not in names:
                raise ValueError(f"Value {column} is not in the column names {list(names)}.")
            indices.append(list(names).index(column))
        else:
            if not 0 <= int(column) < len(names):
                raise ValueError(f"Column index {column} is out of range for {len(names)} columns.")
            indices.append(int(column))
    if len(set(indices)) != len(indices):
        raise ValueError("`select_columns` must not contain duplicate columns.")
    return sorted(indices)


def _first_rows(
    rows_of: Callable[[Any], Iterator[list[bytes]]], paths: list[Any], header: bool, count: int
) -> list[list[bytes]]:
    rows: list[list[bytes]] = []
    for path in paths:
        rows += islice(rows_of(path), int(header), int(header) + count - len(rows))
    return rows


def _infer_defaults(
    rows: list[list[bytes]], width: int, selected: list[int], na_value: bytes
) -> list[Any]:
    """Return zeros or empty strings of the narrowest dtype that holds all values of a column."""
    for number, row in enumerate(rows, 1):
        if len(row) != width:
            raise ValueError(
                f"Problem inferring types: CSV row {number + 1} has {len(row)} number of fields. "
                f"Expected: {width}."
            )
    defaults: list[Any] = []
    for k in selected:
        texts = [row[k] for row in rows if row[k] not in (b"", na_value)]
        name = next(name for name in _INFERRED if all(_holds(name, text) for text in texts))
        defaults.append(b"" if name == "string" else np.zeros((), name)[()])
    return defaults


_INFERRED = ("int32", "int64", "float32", "float64", "string")


def _holds(name: str, text: bytes) -> bool:
    try:
        value = _CONVERTERS[name](text)
    except (ValueError, UnicodeDecodeError):
        return False
    return name != "float32" or not np.isinf(value) or np.isinf(float(text))


class SqlDataset(_FileDataset):
    r"""A dataset of the rows of a query of an SQLite database: tuples of scalars.

    Args:
      driver_name: Must be "sqlite".
      data_source_name: The path of the database.
      query: The query.
      output_types: A tuple of the dtypes of the columns.

    Raises:
      InvalidArgumentError: If ``driver_name`` is another one.
      UnknownError: While iterating, if the query fails.

    Example:
      >>> import sqlite3, tempfile
      >>> path = tempfile.mkdtemp() + "/data.sqlite"
      >>> connection = sqlite3.connect(path)
      >>> _ = connection.executescript("CREATE TABLE t (n, s); INSERT INTO t VALUES (1, 'a')")
      >>> connection.close()
      >>> data = tf.data.experimental.SqlDataset(
      ...     "sqlite", path, "SELECT n, s FROM t", (tf.int32, tf.string))
      >>> list(data.as_numpy_iterator())
      [(np.int32(1), b'a')]
    """

    def __init__(
        self, driver_name: str, data_source_name: Any, query: Any, output_types: Any
    ) -> None:
        if elements.as_text(driver_name) != "sqlite":
            raise InvalidArgumentError(
                f"tensorflow: only sqlite databases are supported, got {driver_name!r}."
            )
        path, text = elements.as_text(data_source_name), str(elements.as_text(query))
        spec = elements.map_leaves(lambda dtype: TensorSpec((), dtype), tuple(output_types))

        def rows() -> Iterator[Any]:
            import sqlite3
            from contextlib import closing

            from ..errors import UnknownError

            try:
                with closing(sqlite3.connect(path)) as connection:
                    for row in connection.execute(text):
                        if len(row) != len(spec):
                            raise InvalidArgumentError(
                                f"The number of columns in query ({len(row)}) must match the "
                                f"number of elements in output_types ({len(spec)})."
                            )
                        yield tuple(map(_sql_value, spec, row))
            except sqlite3.Error as error:
                raise UnknownError(f"{error} in query {text!r}") from None

        dataset = Dataset._make(
            "SqlDatasetV2", lambda: Counted(rows), UNKNOWN_CARDINALITY, spec, is_computed=True
        )
        self._become("SqlDatasetV2", dataset)


def _sql_value(spec: TensorSpec, value: Any) -> Any:
    """Convert a value of a database to a dtype; NULL is zero, or an empty string."""
    if spec.dtype.name == "string":
        text = b"" if value is None else value
        return text if isinstance(text, bytes) else str(text).encode()
    dtype: Any = spec.dtype.as_numpy_dtype
    return dtype(0 if value is None else value)
