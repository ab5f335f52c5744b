"""Functions that split strings into parts, whose number differs: words, bytes, characters, n-grams.

Their results are ragged tensors with one more axis than the input; for a scalar a vector.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from ..composites.ragged_tensor import RaggedTensor
from ..core.log.as_tensor import as_tensor, from_owned_array
from ..core.log.string_tensor import (
    StringTensor,
    encode,
    of_strings,
    run_as_python,
    to_string,
    to_string_array,
)
from ..core.values import dtypes
from ..errors import InvalidArgumentError
from .text import check_choice, map_strings

if TYPE_CHECKING:
    from ..core.values.annotations import StringLike, TensorLike

    RaggedLike = StringLike | RaggedTensor

_ERRORS = ("strict", "replace", "ignore")
_UNICODE = ("UTF-8", "UTF-16-BE", "UTF-32-BE")


def _values_of(parts: list[Any], dtype: dtypes.DType) -> Any:
    """Return a vector of strings or numbers."""
    if dtype is dtypes.string:
        result = np.empty(len(parts), object)
        result[:] = parts
        return of_strings(result)
    return from_owned_array(np.array(parts, dtype.numpy_dtype))


def ragged_of(rows: Sequence[Sequence[Any]], shape: tuple[int, ...], dtype: dtypes.DType) -> Any:
    """Return rows of different lengths as a tensor.

    Args:
      rows: The parts of each string.
      shape: The shape of the strings.
      dtype: The dtype of the parts.

    Returns:
      A ragged tensor with one more axis than ``shape``; a vector if ``shape`` is ().
    """
    run_as_python()
    values = _values_of([part for row in rows for part in row], dtype)
    if not shape:
        return values
    splits = [from_owned_array(np.array([0, *accumulate(map(len, rows))], np.int64))]
    count = len(rows)
    for size in reversed(shape[1:]):
        outer = count // size if size else int(np.prod(shape[:1]))
        splits.insert(0, from_owned_array(np.arange(outer + 1, dtype=np.int64) * size))
        count = outer
    return RaggedTensor.from_nested_row_splits(values, splits)


def _split_all(
    input: RaggedLike, function: Callable[[bytes], Sequence[Any]], dtype: dtypes.DType
) -> Any:
    """Return the parts of each string, as `ragged_of` does."""
    if isinstance(input, RaggedTensor):
        return input.with_flat_values(_split_all(input.flat_values, function, dtype))
    array = to_string_array(input)
    return ragged_of([function(x) for x in array.ravel().tolist()], array.shape, dtype)


def split(
    input: RaggedLike, sep: StringLike | None = None, maxsplit: int = -1, name: str | None = None
) -> Any:
    """Split strings at a separator.

    Args:
      input: A tensor of strings, or a ragged one.
      sep: The separator; None or the empty string for runs of whitespace.
      maxsplit: The maximum number of separators; -1 for all.
      name: Not used.

    Returns:
      A `RaggedTensor` with one more axis; a vector for a scalar.

    Raises:
      InvalidArgumentError: If the separator is not a scalar.

    Example:
      >>> tf.strings.split(["hello world", "a"])
      <tf.RaggedTensor [[b'hello', b'world'], [b'a']]>
      >>> tf.strings.split("a,b,,c", sep=",").numpy()
      array([b'a', b'b', b'', b'c'], dtype=object)
    """
    delimiter = to_string("" if sep is None else sep, "sep", "StringSplitV2") or None

    limit = max(maxsplit, -1)

    def split_one(string: bytes) -> list[bytes]:
        if delimiter is not None or limit < 0:
            return string.split(delimiter, limit)
        # As in TensorFlow, the rest is the last part even if it is empty.
        parts: list[bytes] = []
        rest = string.lstrip()
        while rest and len(parts) < limit:
            word, *_ = rest.split(None, 1)
            parts.append(word)
            rest = rest[len(word) :].lstrip()
        return [*parts, rest] if len(parts) == limit else parts

    return _split_all(input, split_one, dtypes.string)


def bytes_split(input: RaggedLike, name: str | None = None) -> Any:
    """Split strings into bytes.

    Args:
      input: A tensor of strings, or a ragged one.
      name: Not used.

    Returns:
      A `RaggedTensor` with one more axis; a vector for a scalar.

    Raises:
      DtypeError: If the input has another dtype.

    Example:
      >>> tf.strings.bytes_split(["hello", "b"])
      <tf.RaggedTensor [[b'h', b'e', b'l', b'l', b'o'], [b'b']]>
    """
    return _split_all(
        input, lambda string: [string[i : i + 1] for i in range(len(string))], dtypes.string
    )


def ngrams(
    data: RaggedLike,
    ngram_width: int | Sequence[int],
    separator: str = " ",
    pad_values: str | tuple[str, str] | None = None,
    padding_width: int | None = None,
    preserve_short_sequences: bool = False,
    name: str | None = None,
) -> Any:
    """Join each run of neighbouring strings.

    Args:
      data: A tensor of strings with at least one axis, or a ragged one. N-grams run along the last
        axis.
      ngram_width: The length of the runs, or a list of lengths.
      separator: The string between two parts.
      pad_values: Strings that pad each row on the left and on the right, or one for both; None for
        no padding.
      padding_width: The largest number of strings that pad each side; None for one less than the
        length.
      preserve_short_sequences: Whether a row that is too short for all n-grams becomes one.
      name: Not used.

    Returns:
      A `RaggedTensor` if ``data`` is one or its rows differ, else a tensor of strings.

    Raises:
      ValueError: If a length is not positive, or ``data`` is a scalar.
      TypeError: If ``pad_values`` is not a string or a pair of strings.

    Example:
      >>> tf.strings.ngrams(["A", "B", "C", "D"], 2).numpy()
      array([b'A B', b'B C', b'C D'], dtype=object)
    """
    widths: list[int] = [ngram_width] if isinstance(ngram_width, int) else [*ngram_width]
    if pad_values is None and padding_width is not None:
        raise ValueError("pad_values must be provided if padding_width is set.")
    pads = (pad_values, pad_values) if isinstance(pad_values, str | bytes) else pad_values
    if pads is not None and not (
        isinstance(pads, tuple | list)
        and len(pads) == 2
        and all(isinstance(pad, str | bytes) for pad in pads)
    ):
        raise TypeError("pad_values must be a string, tuple of strings, or None.")
    if padding_width is not None and padding_width < 1:
        raise ValueError("padding_width must be greater than 0.")
    if any(width < 1 for width in widths):
        raise ValueError(f"All ngram_widths must be greater than 0. Got {ngram_width}")
    glue = to_string(separator, "separator", "StringNGrams")
    left, right = (b"", b"") if pads is None else (encode(pad) for pad in pads)

    def make_row(row: list[bytes]) -> list[bytes]:
        grams: list[bytes] = []
        for width in widths:
            pad = 0 if pads is None else width - 1
            pad = pad if padding_width is None else min(pad, padding_width)
            padded = [left] * pad + row + [right] * pad
            grams += [glue.join(padded[i : i + width]) for i in range(len(padded) - width + 1)]
        if not grams and preserve_short_sequences and row:
            pad = 0 if pads is None else max(widths) - 1
            pad = pad if padding_width is None else min(pad, padding_width)
            grams = [glue.join([left] * pad + row + [right] * pad)]
        return grams

    if isinstance(data, RaggedTensor):
        if data.ragged_rank > 1:
            inner = ngrams(
                data.values,
                widths,
                separator,
                pad_values,
                padding_width,
                preserve_short_sequences,
            )
            return data.with_values(inner)
        strings = to_string_array(data.values).tolist()
        bounds = np.asarray(data.row_splits.numpy()).tolist()
        rows = [strings[i:j] for i, j in pairwise(bounds)]
        return ragged_of([make_row(row) for row in rows], (len(rows),), dtypes.string)
    array = to_string_array(data)
    if not array.ndim:
        raise ValueError("Data must have rank>0")
    rows = [make_row(row) for row in array.reshape(-1, array.shape[-1]).tolist()]
    result = np.empty((len(rows), len(rows[0]) if rows else 0), object)
    for i, row in enumerate(rows):
        result[i] = row
    return of_strings(result.reshape(*array.shape[:-1], result.shape[1]))


# Unicode.


def _codec(encoding: str) -> str:
    """Return Python's name of an encoding.

    Raises:
      InvalidArgumentError: If there is no such encoding.
    """
    import codecs

    try:
        return codecs.lookup(encoding).name
    except LookupError:
        raise InvalidArgumentError(
            f"Could not create converter for input encoding: {encoding}"
        ) from None


def _decoder(
    encoding: str, errors: str, replacement_char: int, replace_control_characters: bool
) -> Callable[[bytes], list[tuple[int, int]]]:
    """Return a function that decodes a string to a list of code points and their offsets."""
    check_choice("UnicodeDecode", "errors", errors, _ERRORS)
    codec = _codec(encoding)

    def decode(string: bytes) -> list[tuple[int, int]]:
        points: list[tuple[int, int]] = []
        position = 0
        while position < len(string):
            try:
                text, bad_end = string[position:].decode(codec), None
                bad_start = len(string)
            except UnicodeDecodeError as error:
                bad_start, bad_end = position + error.start, position + error.end
                text = string[position:bad_start].decode(codec)
            for char in text:
                point = ord(char)
                if replace_control_characters and (point < 32 or 127 <= point < 160):
                    point = replacement_char
                points.append((point, position))
                position += len(char.encode(codec))
            if bad_end is not None:
                if errors == "strict":
                    raise InvalidArgumentError("Invalid formatting on input string")
                if errors == "replace":
                    points.append((replacement_char, bad_start))
                position = bad_end
            else:
                position = len(string)
        return points

    return decode


def unicode_decode(
    input: RaggedLike,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> Any:
    """Decode strings to Unicode code points.

    Args:
      input: A tensor of strings, or a ragged one.
      input_encoding: The encoding, such as ``"UTF-8"`` or ``"UTF-16-BE"``.
      errors: For bytes that are invalid: ``"replace"`` them by the replacement character,
        ``"ignore"`` them, or ``"strict"`` to raise an error.
      replacement_char: The code point of the replacement character.
      replace_control_characters: Whether to replace control characters as well.
      name: Not used.

    Returns:
      A `RaggedTensor` of int32 with one more axis; a vector for a scalar.

    Raises:
      InvalidArgumentError: If there is no such encoding, or a string is invalid and ``errors`` is
        ``"strict"``.

    Example:
      >>> tf.strings.unicode_decode(["hé", "a"], "UTF-8")
      <tf.RaggedTensor [[104, 233], [97]]>
    """
    decode = _decoder(input_encoding, errors, replacement_char, replace_control_characters)
    return _split_all(input, lambda x: [point for point, _ in decode(x)], dtypes.int32)


def unicode_decode_with_offsets(
    input: RaggedLike,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Decode strings to Unicode code points, with the offset of each in bytes.

    Args:
      input: A tensor of strings, or a ragged one.
      input_encoding: The encoding; see `unicode_decode`.
      errors: ``"replace"``, ``"ignore"`` or ``"strict"``.
      replacement_char: The code point of the replacement character.
      replace_control_characters: Whether to replace control characters as well.
      name: Not used.

    Returns:
      The code points, int32, and the offsets, int64, as from `unicode_decode`.

    Raises:
      InvalidArgumentError: As for `unicode_decode`.

    Example:
      >>> points, offsets = tf.strings.unicode_decode_with_offsets("éa", "UTF-8")
      >>> points.numpy(), offsets.numpy()
      (array([233,  97], dtype=int32), array([0, 2]))
    """
    decode = _decoder(input_encoding, errors, replacement_char, replace_control_characters)
    return (
        _split_all(input, lambda x: [point for point, _ in decode(x)], dtypes.int32),
        _split_all(input, lambda x: [offset for _, offset in decode(x)], dtypes.int64),
    )


def unicode_split(
    input: RaggedLike,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Any:
    r"""Split strings into Unicode characters.

    Args:
      input: A tensor of strings, or a ragged one.
      input_encoding: The encoding, ``"UTF-8"``, ``"UTF-16-BE"`` or ``"UTF-32-BE"``.
      errors: ``"replace"``, ``"ignore"`` or ``"strict"``; see `unicode_decode`.
      replacement_char: The code point of the replacement character.
      name: Not used.

    Returns:
      A `RaggedTensor` of strings with one more axis; a vector for a scalar.

    Raises:
      InvalidArgumentError: As for `unicode_decode`.

    Example:
      >>> tf.strings.unicode_split("hé", "UTF-8").numpy()
      array([b'h', b'\xc3\xa9'], dtype=object)
    """
    check_choice("UnicodeEncode", "output_encoding", input_encoding, _UNICODE)
    decode = _decoder(input_encoding, errors, replacement_char, False)
    codec = _codec(input_encoding)
    return _split_all(
        input, lambda x: [chr(point).encode(codec) for point, _ in decode(x)], dtypes.string
    )


def unicode_split_with_offsets(
    input: RaggedLike,
    input_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Split strings into Unicode characters, with the offset of each in bytes.

    Args:
      input: A tensor of strings, or a ragged one.
      input_encoding: The encoding, ``"UTF-8"``, ``"UTF-16-BE"`` or ``"UTF-32-BE"``.
      errors: ``"replace"``, ``"ignore"`` or ``"strict"``; see `unicode_decode`.
      replacement_char: The code point of the replacement character.
      name: Not used.

    Returns:
      The characters, as from `unicode_split`, and the offsets, int64.

    Raises:
      InvalidArgumentError: As for `unicode_decode`.

    Example:
      >>> characters, offsets = tf.strings.unicode_split_with_offsets("ab", "UTF-8")
      >>> characters.numpy(), offsets.numpy()
      (array([b'a', b'b'], dtype=object), array([0, 1]))
    """
    decode = _decoder(input_encoding, errors, replacement_char, False)
    return (
        unicode_split(input, input_encoding, errors, replacement_char),
        _split_all(input, lambda x: [offset for _, offset in decode(x)], dtypes.int64),
    )


def _encoder(encoding: str, errors: str, replacement_char: int) -> Callable[[Sequence[int]], bytes]:
    """Return a function that encodes a list of code points."""
    check_choice("UnicodeEncode", "output_encoding", encoding, _UNICODE)
    check_choice("UnicodeEncode", "errors", errors, _ERRORS)
    codec = _codec(encoding)

    def encode(points: Sequence[int]) -> bytes:
        chars = []
        for point in points:
            if 0 <= point < 0x110000 and not 0xD800 <= point < 0xE000:
                chars.append(chr(point))
            elif errors == "strict":
                raise InvalidArgumentError(
                    "Code point is out of range for Unicode, or is a surrogate."
                )
            elif errors == "replace":
                chars.append(chr(replacement_char))
        return "".join(chars).encode(codec)

    return encode


def unicode_encode(
    input: TensorLike | RaggedTensor,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    name: str | None = None,
) -> Any:
    """Encode Unicode code points as strings.

    Args:
      input: A tensor of int32 with at least one axis, or a ragged one. The last axis becomes a
        string.
      output_encoding: ``"UTF-8"``, ``"UTF-16-BE"`` or ``"UTF-32-BE"``.
      errors: For invalid code points: ``"replace"``, ``"ignore"`` or ``"strict"``.
      replacement_char: The code point of the replacement character.
      name: Not used.

    Returns:
      A tensor of strings without the last axis.

    Raises:
      ValueError: If ``input`` is a scalar.
      InvalidArgumentError: If a code point is invalid and ``errors`` is ``"strict"``.

    Example:
      >>> tf.strings.unicode_encode([104, 105], "UTF-8").numpy()
      b'hi'
    """
    encode = _encoder(output_encoding, errors, replacement_char)
    if isinstance(input, RaggedTensor):
        if input.ragged_rank > 1:
            return input.with_values(
                unicode_encode(input.values, output_encoding, errors, replacement_char)
            )
        points = np.asarray(input.values.numpy()).tolist()
        bounds = np.asarray(input.row_splits.numpy()).tolist()
        rows = [points[i:j] for i, j in pairwise(bounds)]
        return _values_of([encode(row) for row in rows], dtypes.string)
    array = np.asarray(as_tensor(input).numpy())
    if not array.ndim:
        raise ValueError("input_tensor's rank must be at least 1.")
    rows = array.reshape(-1, array.shape[-1]).tolist() if array.size else []
    result = np.full(array.shape[:-1], b"", object)
    result.ravel()[: len(rows)] = [encode(row) for row in rows]
    return of_strings(result)


def unicode_transcode(
    input: StringLike,
    input_encoding: str,
    output_encoding: str,
    errors: str = "replace",
    replacement_char: int = 65533,
    replace_control_characters: bool = False,
    name: str | None = None,
) -> StringTensor:
    r"""Convert strings from one encoding to another.

    Args:
      input: A tensor of strings.
      input_encoding: The encoding; see `unicode_decode`.
      output_encoding: ``"UTF-8"``, ``"UTF-16-BE"`` or ``"UTF-32-BE"``.
      errors: ``"replace"``, ``"ignore"`` or ``"strict"``.
      replacement_char: The code point of the replacement character.
      replace_control_characters: Whether to replace control characters as well.
      name: Not used.

    Returns:
      A tensor of strings of the same shape.

    Raises:
      InvalidArgumentError: As for `unicode_decode`.

    Example:
      >>> tf.strings.unicode_transcode("é", "UTF-8", "UTF-16-BE").numpy()
      b'\x00\xe9'
    """
    encode = _encoder(output_encoding, errors, replacement_char)
    decode = _decoder(input_encoding, errors, replacement_char, replace_control_characters)
    return map_strings(input, lambda string: encode([point for point, _ in decode(string)]))
