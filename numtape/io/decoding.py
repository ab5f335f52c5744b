"""Decoding of strings: numbers in bytes, CSV records, base64 and compressed data."""

from __future__ import annotations

import base64
import binascii
import itertools
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

import numtape as tf

from ..core.log.string_tensor import StringTensor, of_strings, run_as_python, to_string_array
from ..core.values.tensor import Tensor
from ..errors import DataLossError, InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from ..core.values.annotations import DTypeLike, StringLike

Array = np.ndarray[Any, Any]


def _map_bytes(value: StringLike, function: Callable[[bytes], bytes]) -> StringTensor:
    array = to_string_array(value)
    result = np.empty(array.size, object)
    result[:] = [function(x) for x in array.ravel().tolist()]
    return of_strings(result.reshape(array.shape))


def encode_base64(input: StringLike, pad: bool = False, name: str | None = None) -> StringTensor:
    """Encode strings in the alphabet of base64 that is safe in URLs.

    Args:
      input: Strings.
      pad: Whether to pad the result with ``=``.
      name: Not used.

    Returns:
      A string tensor of the same shape.

    Raises:
      TypeError: If the input is not of strings.

    Example:
      >>> tf.io.encode_base64(b"a?").numpy()
      b'YT8'
    """

    def encode(value: bytes) -> bytes:
        text = base64.urlsafe_b64encode(value)
        return text if pad else text.rstrip(b"=")

    return _map_bytes(input, encode)


def decode_base64(input: StringLike, name: str | None = None) -> StringTensor:
    """Decode strings of base64, in the alphabet that is safe in URLs.

    Args:
      input: Strings, with or without padding.
      name: Not used.

    Returns:
      A string tensor of the same shape.

    Raises:
      InvalidArgumentError: If a string is not base64.

    Example:
      >>> tf.io.decode_base64("YT8").numpy()
      b'a?'
    """

    def decode(value: bytes) -> bytes:
        padding = len(value) - len(value.rstrip(b"="))
        text = value[: len(value) - padding] if len(value) % 4 == 0 and padding < 3 else value
        try:
            if b"+" in text or b"/" in text or b"=" in text:
                raise ValueError("character outside of the alphabet")
            padded = text + b"=" * (-len(text) % 4)
            return base64.b64decode(padded, altchars=b"-_", validate=True)
        except (binascii.Error, ValueError) as error:
            raise InvalidArgumentError(
                f"Invalid character found in base64: {error} [Op:DecodeBase64]"
            ) from error

    return _map_bytes(input, decode)


def decode_compressed(
    bytes: StringLike, compression_type: str = "", name: str | None = None
) -> StringTensor:
    """Decompress strings.

    Args:
      bytes: Strings.
      compression_type: "", "ZLIB" or "GZIP".
      name: Not used.

    Returns:
      A string tensor of the same shape.

    Raises:
      InvalidArgumentError: If the type is unknown.
      DataLossError: If a string is not of this type.

    Example:
      >>> import zlib
      >>> tf.io.decode_compressed(zlib.compress(b"text"), "ZLIB").numpy()
      b'text'
    """
    widths = {"": 0, "ZLIB": zlib.MAX_WBITS, "GZIP": 16 + zlib.MAX_WBITS}
    if compression_type not in widths:
        raise InvalidArgumentError(
            f"Only ZLIB, GZIP or NONE are supported compressions, got {compression_type!r}"
        )

    def decompress(value: Any) -> Any:
        try:
            return zlib.decompress(value, widths[compression_type]) if compression_type else value
        except zlib.error as error:
            raise DataLossError(f"{error} [Op:DecodeCompressed]") from error

    return _map_bytes(bytes, decompress)


def decode_raw(
    input_bytes: StringLike,
    out_type: DTypeLike,
    little_endian: bool = True,
    fixed_length: int | None = None,
    name: str | None = None,
) -> Tensor:
    """Reinterpret the bytes of strings as numbers.

    Args:
      input_bytes: Strings of the same length.
      out_type: The dtype of the numbers.
      little_endian: Whether the first byte of a number is the least significant one.
      fixed_length: The number of bytes of each string that is used; shorter strings are padded
        with zeros. None for the whole strings.
      name: Not used.

    Returns:
      A tensor with one more axis than the strings.

    Raises:
      InvalidArgumentError: If lengths differ, or are not a multiple of the size of a number.

    Example:
      >>> tf.io.decode_raw(b"ab", tf.uint8).numpy()
      array([97, 98], dtype=uint8)
    """
    run_as_python("`decode_raw`")
    array, dtype = to_string_array(input_bytes), tf.as_dtype(out_type)
    strings = array.ravel().tolist()
    if fixed_length is not None:
        length = int(fixed_length)
        if length <= 0 or length % dtype.size:
            raise InvalidArgumentError(
                f"fixed_length ({length}) must be a positive multiple of the size of out_type "
                f"({dtype.size})"
            )
        strings = [x[:length].ljust(length, b"\0") for x in strings]
    length = len(strings[0]) if strings else 0
    if any(len(x) != length for x in strings):
        raise InvalidArgumentError(
            "DecodeRaw requires input strings to all be the same size, but they have different "
            "lengths"
        )
    if length % dtype.size:
        raise InvalidArgumentError(
            f"Input to DecodeRaw has length {length} that is not a multiple of {dtype.size}, the "
            f"size of {dtype.name}"
        )
    if dtype.is_bool:
        flags = np.frombuffer(b"".join(strings), np.uint8) != 0
        return tf.convert_to_tensor(flags.reshape(*array.shape, -1 if length else 0))
    numbers = np.frombuffer(b"".join(strings), dtype.as_numpy_dtype)
    if not little_endian:
        numbers = numbers.byteswap()
    return tf.constant(numbers.reshape(*array.shape, length // dtype.size), dtype)


# --- CSV -----------------------------------------------------------------------------------------

_CSV_DTYPES = ("float32", "float64", "int32", "int64", "string")


def _split_record(record: str, delimiter: str, use_quotes: bool) -> Iterator[str]:
    """Yield the fields of a record."""
    place, size = 0, len(record)
    while size:
        if use_quotes and place < size and record[place] == '"':
            field, place = _read_quoted(record, place + 1)
            if place < size and record[place] != delimiter:
                raise InvalidArgumentError(
                    "Quoted field has to end with quote followed by delim or end [Op:DecodeCSV]"
                )
            end = place
        else:
            end = record.find(delimiter, place)
            end = size if end < 0 else end
            field = record[place:end]
            if use_quotes and any(mark in field for mark in '"\r\n'):
                raise InvalidArgumentError(
                    "Unquoted fields cannot have quotes/CRLFs inside [Op:DecodeCSV]"
                )
        yield field
        if end >= size:
            return
        place = end + 1


def _read_quoted(record: str, place: int) -> tuple[str, int]:
    """Return a quoted field, and the place behind its quote."""
    parts = []
    while True:
        end = record.find('"', place)
        if end < 0:
            raise InvalidArgumentError(
                "Quoted field has to end with quote followed by delim or end [Op:DecodeCSV]"
            )
        parts.append(record[place:end])
        if record[end + 1 : end + 2] != '"':
            return "".join(parts), end + 1
        parts.append('"')
        place = end + 2


def _parse_default(value: Any) -> tuple[str, Any]:
    """Return the dtype of a column, and its default; None if a value is required."""
    if isinstance(value, list | tuple) and not len(value):
        return "float32", None
    if isinstance(value, StringTensor | str | bytes):
        array: Array = to_string_array(value)
        return "string", array.item() if array.size else None
    if isinstance(value, list | tuple) and isinstance(value[0], str | bytes):
        return "string", to_string_array(list(value)).item()
    tensor = tf.convert_to_tensor(value)
    if isinstance(tensor, StringTensor):
        return _parse_default(tensor)
    if tensor.dtype.name not in _CSV_DTYPES:
        raise InvalidArgumentError(
            f"A column must be of {', '.join(_CSV_DTYPES)}, not {tensor.dtype.name}."
        )
    number = np.asarray(tensor)
    if number.size > 1:
        raise InvalidArgumentError("There should only be 1 default per field")
    return tensor.dtype.name, number.reshape(-1)[0] if number.size else None


def decode_csv(
    records: StringLike,
    record_defaults: Sequence[Any],
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    select_cols: Sequence[int] | None = None,
    name: str | None = None,
) -> list[Any]:
    """Split records of CSV into a tensor for each column.

    Args:
      records: Strings, one record each.
      record_defaults: A value for each column, which also gives the dtype: for empty fields. An
        empty tensor means that the field is required.
      field_delim: The character between fields.
      use_quote_delim: Whether fields may be quoted.
      na_value: A text that counts as an empty field.
      select_cols: The indices of the columns, in ascending order; None for all.
      name: Not used.

    Returns:
      A list of tensors of the shape of the records.

    Raises:
      InvalidArgumentError: If a record has another number of fields, or a field is invalid.
      ValueError: If the columns are not ascending.

    Example:
      >>> numbers, words = tf.io.decode_csv(["1,a", ",b"], [7, ""])
      >>> numbers.numpy(), words.numpy()
      (array([1, 7], dtype=int32), array([b'a', b'b'], dtype=object))
    """
    run_as_python("`decode_csv`")
    array = to_string_array(records)
    defaults = [_parse_default(value) for value in record_defaults]
    columns = None if select_cols is None else [int(k) for k in select_cols]
    if columns is not None:
        if any(a >= b for a, b in itertools.pairwise(columns)):
            raise ValueError("select_cols is not strictly increasing.")
        if columns and columns[0] < 0:
            raise ValueError("select_cols contains negative values.")
        if len(columns) != len(defaults):
            raise ValueError("Length of select_cols and record_defaults do not match.")
    if len(field_delim) != 1:
        raise InvalidArgumentError("field_delim should be only 1 char")
    values: list[list[Any]] = [[] for _ in defaults]
    for row, record in enumerate(array.ravel().tolist()):
        text = record.decode("latin-1")
        fields = [*_split_record(text, field_delim, use_quote_delim)]
        if columns is not None:
            fields = [fields[k] for k in columns if k < len(fields)]
        if len(fields) != len(defaults):
            raise InvalidArgumentError(
                f"Expect {len(defaults)} fields but have {len(fields)} in record {row} "
                f"[Op:DecodeCSV]"
            )
        for k, (field, (dtype, default)) in enumerate(zip(fields, defaults, strict=True)):
            values[k].append(_convert_field(field, dtype, default, na_value, k, row))
    return [
        _column(column, dtype, array.shape)
        for column, (dtype, _) in zip(values, defaults, strict=True)
    ]


def _convert_field(
    field: str, dtype: str, default: Any, na_value: str, number: int, row: int
) -> Any:
    if field in ("", na_value):
        if default is None:
            raise InvalidArgumentError(
                f"Field {number} is required but missing in record {row}! [Op:DecodeCSV]"
            )
        return default
    if dtype == "string":
        return field.encode("latin-1")
    try:
        if "_" in field:  # which Python allows in numbers
            raise ValueError
        value = int(field) if dtype.startswith("int") else float(field)
        return np.dtype(dtype).type(value)
    except (ValueError, OverflowError) as error:
        raise InvalidArgumentError(
            f"Field {number} in record {row} is not a valid {dtype}: {field} [Op:DecodeCSV]"
        ) from error


def _column(values: list[Any], dtype: str, shape: tuple[int, ...]) -> Any:
    if dtype == "string":
        array = np.empty(len(values), object)
        array[:] = values
        return of_strings(array.reshape(shape))
    return tf.convert_to_tensor(np.array(values, dtype).reshape(shape))
