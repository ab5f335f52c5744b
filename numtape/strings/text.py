"""Functions that map strings to strings or numbers: case, parts, regular expressions, numbers.

All of them take a tensor of strings, or a value that converts to one, and compute with Python's
bytes. No gradient flows through. A traced call that uses them runs as Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.log.as_tensor import as_tensor, from_owned_array
from ..core.log.string_tensor import (
    StringTensor,
    of_strings,
    run_as_python,
    to_string,
    to_string_array,
)
from ..core.ops import movement
from ..core.values import dtypes
from ..core.values.composite import dispatches
from ..core.values.dtypes import as_dtype
from ..core.values.tensor import Tensor
from ..errors import DtypeError, InvalidArgumentError, OutOfRangeError
from .patterns import compile_pattern, make_rewriter

if TYPE_CHECKING:
    from ..core.values.annotations import DTypeLike, IntLike, IntsLike, StringLike, TensorLike

Array = np.ndarray[Any, Any]
_UNITS = ("BYTE", "UTF8_CHAR")


def map_strings(input: StringLike, function: Callable[[bytes], bytes]) -> StringTensor:
    """Return a tensor of a function's results for each string."""
    array = to_string_array(input)
    result = np.empty(array.size, object)
    result[:] = [function(string) for string in array.ravel().tolist()]
    return of_strings(result.reshape(array.shape))


def map_to_numbers(
    input: StringLike, function: Callable[[bytes], Any], dtype: dtypes.DType
) -> Tensor:
    """Return a tensor of a function's results, numbers of ``dtype``, for each string."""
    run_as_python()
    array = to_string_array(input)
    numbers = [function(string) for string in array.ravel().tolist()]
    return from_owned_array(np.array(numbers, dtype.numpy_dtype).reshape(array.shape))


def check_choice(op: str, name: str, value: object, choices: Sequence[str]) -> None:
    """Raise InvalidArgumentError unless an argument is one of several strings."""
    if value not in choices:
        allowed = ", ".join(f'"{choice}"' for choice in choices)
        raise InvalidArgumentError(
            f"Value for attr '{name}' of \"{value}\" is not in the list of allowed values: "
            f"{allowed} [Op:{op}]"
        )


@dispatches
def join(
    inputs: Sequence[StringLike], separator: str = "", name: str | None = None
) -> StringTensor:
    """Join strings elementwise.

    Args:
      inputs: A list of tensors of strings, of one shape or scalars.
      separator: The string between two parts.
      name: Not used.

    Returns:
      A tensor of strings.

    Raises:
      InvalidArgumentError: If the shapes differ.

    Example:
      >>> tf.strings.join([["a", "b"], "c"], separator="-").numpy()
      array([b'a-c', b'b-c'], dtype=object)
    """
    arrays = [to_string_array(x) for x in inputs]
    shapes = {array.shape for array in arrays if array.ndim}
    if len(shapes) > 1:
        texts = " vs. ".join(str(list(array.shape)) for array in arrays if array.ndim)
        raise InvalidArgumentError(f"Input shapes do not match: {texts} [Op:StringJoin]")
    shape = shapes.pop() if shapes else ()
    glue = to_string(separator, "separator", "Join")
    columns = [np.broadcast_to(array, shape).ravel().tolist() for array in arrays]
    result = np.empty(shape, object)
    rows = zip(*columns, strict=True) if columns else [()]
    result.ravel()[:] = [glue.join(row) for row in rows]
    return of_strings(result)


@dispatches
def lower(input: StringLike, encoding: str = "", name: str | None = None) -> StringTensor:
    """Convert letters to lowercase.

    Args:
      input: A tensor of strings.
      encoding: ``"utf-8"`` for all letters, or ``""`` for ASCII letters only.
      name: Not used.

    Returns:
      A tensor of strings of the same shape.

    Raises:
      InvalidArgumentError: If the encoding is another one.

    Example:
      >>> tf.strings.lower(["CamelCase", "ÄB"], encoding="utf-8").numpy()[0]
      b'camelcase'
    """
    return _change_case(input, encoding, bytes.lower, str.lower)


@dispatches
def upper(input: StringLike, encoding: str = "", name: str | None = None) -> StringTensor:
    """Convert letters to uppercase.

    Args:
      input: A tensor of strings.
      encoding: ``"utf-8"`` for all letters, or ``""`` for ASCII letters only.
      name: Not used.

    Returns:
      A tensor of strings of the same shape.

    Raises:
      InvalidArgumentError: If the encoding is another one.

    Example:
      >>> tf.strings.upper("Abc").numpy()
      b'ABC'
    """
    return _change_case(input, encoding, bytes.upper, str.upper)


def _change_case(
    input: StringLike,
    encoding: str,
    of_bytes: Callable[[bytes], bytes],
    of_text: Callable[[str], str],
) -> StringTensor:
    if encoding.lower() not in ("", "utf-8"):
        raise InvalidArgumentError(
            f"only utf-8 or '' (no encoding) is supported, received {encoding}"
        )
    if not encoding:
        return map_strings(input, of_bytes)
    return map_strings(input, lambda x: to_bytes(of_text(to_text(x))))


def to_text(string: bytes) -> str:
    """Decode UTF-8; other bytes are kept."""
    return string.decode("utf-8", "surrogateescape")


def to_bytes(text: str) -> bytes:
    """Encode what `to_text` decoded."""
    return text.encode("utf-8", "surrogateescape")


@dispatches
def strip(input: StringLike, name: str | None = None) -> StringTensor:
    r"""Remove whitespace at both ends.

    Args:
      input: A tensor of strings.
      name: Not used.

    Returns:
      A tensor of strings of the same shape.

    Raises:
      DtypeError: If the input has another dtype.

    Example:
      >>> tf.strings.strip(["\na ", " b"]).numpy()
      array([b'a', b'b'], dtype=object)
    """
    return map_strings(input, bytes.strip)


@dispatches
def length(input: StringLike, unit: str = "BYTE", name: str | None = None) -> Tensor:
    """Return the lengths of strings.

    Args:
      input: A tensor of strings.
      unit: ``"BYTE"``, or ``"UTF8_CHAR"`` to count characters.
      name: Not used.

    Returns:
      A tensor of int32 of the same shape.

    Raises:
      InvalidArgumentError: If the unit is another one.

    Example:
      >>> tf.strings.length(["abc", "é"]).numpy(), tf.strings.length("é", unit="UTF8_CHAR").numpy()
      (array([3, 2], dtype=int32), np.int32(1))
    """
    check_choice("StringLength", "unit", unit, _UNITS)
    return map_to_numbers(input, len if unit == "BYTE" else _count_characters, dtypes.int32)


def _count_characters(string: bytes) -> int:
    return sum(byte & 0xC0 != 0x80 for byte in string)


@dispatches
def substr(
    input: StringLike,
    pos: TensorLike,
    len: TensorLike,
    unit: str = "BYTE",
    name: str | None = None,
) -> StringTensor:
    """Return parts of strings.

    Args:
      input: A tensor of strings.
      pos: The first position, counted from the end if negative. Its shape broadcasts with that of
        ``input``.
      len: The length, of the shape of ``pos``. It may exceed the string, or be negative, which
        stands for the rest of the string.
      unit: ``"BYTE"``, or ``"UTF8_CHAR"`` if positions count characters.
      name: Not used.

    Returns:
      A tensor of strings.

    Raises:
      InvalidArgumentError: If a position is outside of its string.

    Example:
      >>> tf.strings.substr(["hello", "world"], 1, 3).numpy()
      array([b'ell', b'orl'], dtype=object)
    """
    check_choice("Substr", "unit", unit, _UNITS)
    starts, counts = (np.asarray(as_tensor(x).numpy()) for x in (pos, len))
    if starts.dtype.kind != "i" or counts.dtype.kind != "i":
        raise DtypeError(f"pos and len must be integers, got {starts.dtype} and {counts.dtype}")
    if starts.shape != counts.shape:
        raise InvalidArgumentError(
            f"pos and len should have the same shape, got {starts.shape} vs. {counts.shape}"
        )
    try:
        strings, starts, counts = np.broadcast_arrays(to_string_array(input), starts, counts)
    except ValueError:
        raise InvalidArgumentError(
            f"pos of shape {starts.shape} does not broadcast with the input [Op:Substr]"
        ) from None
    result = np.empty(strings.size, object)
    rows = zip(strings.ravel(), starts.ravel().tolist(), counts.ravel().tolist(), strict=True)
    for i, (string, start, count) in enumerate(rows):
        units: Any = string if unit == "BYTE" else _characters(string)
        size = units.__len__()
        if not -size <= start <= size:
            raise InvalidArgumentError(
                f"pos {start} out of range for string {string!r} at index {i} [Op:Substr]"
            )
        start += size if start < 0 else 0
        part = units[start:] if count < 0 else units[start : start + count]
        result[i] = part if unit == "BYTE" else b"".join(part)
    return of_strings(result.reshape(strings.shape))


def _characters(string: bytes) -> list[bytes]:
    """Split UTF-8 before each byte that begins a character."""
    starts = [i for i, byte in enumerate(string) if byte & 0xC0 != 0x80 or not i]
    return [string[i:j] for i, j in zip(starts, [*starts[1:], len_of(string)], strict=True)]


len_of = len  # parameters of TensorFlow's functions are called ``len``


@dispatches
def regex_replace(
    input: StringLike,
    pattern: str,
    rewrite: str,
    replace_global: bool = True,
    name: str | None = None,
) -> StringTensor:
    r"""Replace the matches of a regular expression.

    The syntax is RE2's, as in TensorFlow: ``\d``, ``\w`` and ``\s`` match ASCII only, ``$`` matches
    at the end only, and there are no look-arounds and no references inside the pattern.

    Args:
      input: A tensor of strings.
      pattern: The regular expression.
      rewrite: The replacement; ``\1`` to ``\9`` stand for groups and ``\0`` for the match.
      replace_global: Whether to replace all matches, or only the first one.
      name: Not used.

    Returns:
      A tensor of strings of the same shape.

    Raises:
      InvalidArgumentError: If the pattern is invalid.
      UnimplementedError: If the pattern uses a class of Unicode characters (``\pL``).

    Example:
      >>> tf.strings.regex_replace("Text with tags.<br />", "<[^>]+>", " ").numpy()
      b'Text with tags. '
    """
    compiled = compile_pattern(pattern, "RegexReplace")
    rewriter = make_rewriter(compiled, rewrite)
    if rewriter is None:  # as RE2, which keeps the input if the rewrite is invalid
        return map_strings(input, lambda string: string)

    def replace(string: bytes) -> bytes:
        last_end = -1

        def rewrite_match(match: Any) -> str:
            nonlocal last_end
            start, end = match.span()
            is_adjacent = start == end == last_end  # RE2 skips an empty match after a match
            last_end = end
            return "" if is_adjacent else rewriter(match)

        return to_bytes(compiled.sub(rewrite_match, to_text(string), 0 if replace_global else 1))

    return map_strings(input, replace)


@dispatches
def regex_full_match(input: StringLike, pattern: StringLike, name: str | None = None) -> Tensor:
    """Return whether strings match a regular expression as a whole.

    Args:
      input: A tensor of strings.
      pattern: The regular expression, in RE2's syntax; see `regex_replace`.
      name: Not used.

    Returns:
      A tensor of bools of the same shape.

    Raises:
      InvalidArgumentError: If the pattern is invalid.

    Example:
      >>> tf.strings.regex_full_match(["a1", "b"], "[a-z][0-9]").numpy()
      array([ True, False])
    """
    compiled = compile_pattern(pattern, "RegexFullMatch")
    return map_to_numbers(
        input, lambda string: compiled.fullmatch(to_text(string)) is not None, dtypes.bool_
    )


_NUMBER_TYPES = ("float32", "float64", "int32", "int64", "uint32", "uint64")


@dispatches
def to_number(
    input: StringLike, out_type: DTypeLike = dtypes.float32, name: str | None = None
) -> Tensor:
    """Parse numbers.

    Args:
      input: A tensor of strings.
      out_type: float32, float64, int32, int64, uint32 or uint64.
      name: Not used.

    Returns:
      A tensor of that dtype and of the same shape.

    Raises:
      InvalidArgumentError: If a string is not such a number, or an integer does not fit.

    Example:
      >>> tf.strings.to_number(["5", "3.5", " -1e3"]).numpy()
      array([    5. ,     3.5, -1000. ], dtype=float32)
    """
    dtype = as_dtype(out_type)
    if dtype.name not in _NUMBER_TYPES:
        raise InvalidArgumentError(
            f"Value for attr 'out_type' of {dtype.name} is not in the list of allowed values: "
            f"{', '.join(_NUMBER_TYPES)} [Op:StringToNumber]"
        )

    def parse(string: bytes) -> float | int:
        try:
            if b"_" in string:
                raise ValueError
            if dtype.is_floating:
                return _parse_float(string)
            number = int(string)
            if dtype.min <= number <= dtype.max and string.isascii():
                return number
        except ValueError:
            pass
        raise InvalidArgumentError(
            f"StringToNumberOp could not correctly convert string: "
            f"{string.decode('utf-8', 'replace')} [Op:StringToNumber]"
        )

    with np.errstate(over="ignore"):
        return map_to_numbers(input, parse, dtype)


def _parse_float(string: bytes) -> float:
    digits = string.strip().lower().lstrip(b"+-")
    if digits.startswith(b"0x"):
        return float.fromhex(string.decode("ascii").strip())
    return float(string)


_FILLS = ("", " ", "0", "-", "+")


@dispatches
def as_string(
    input: TensorLike,
    precision: int = -1,
    scientific: bool = False,
    shortest: bool = False,
    width: int = -1,
    fill: str = "",
    name: str | None = None,
) -> StringTensor:
    """Format numbers.

    Args:
      input: A tensor of numbers, bools or strings.
      precision: The digits of a float after the point; -1 for six.
      scientific: Whether to write floats as ``1.5e+00``.
      shortest: Whether to write floats in the shorter of the two notations.
      width: The minimum width of numbers.
      fill: The character that fills the width: a space, or ``"0"``, ``"-"`` (spaces on the
        right), ``"+"`` or ``" "`` for a sign.
      name: Not used.

    Returns:
      A tensor of strings of the same shape.

    Raises:
      InvalidArgumentError: If options contradict each other or do not fit the dtype.

    Example:
      >>> tf.strings.as_string([3.1415926, 2.72], precision=2).numpy()
      array([b'3.14', b'2.72'], dtype=object)
    """
    from ..core.ops.creation import convert_to_tensor

    tensor: Any = convert_to_tensor(input)
    dtype = tensor.dtype
    if scientific and shortest:
        raise InvalidArgumentError("Cannot select both scientific and shortest notation")
    if fill not in _FILLS:
        raise InvalidArgumentError(f'Fill argument not supported: "{fill}"')
    is_float = dtype.is_floating or dtype.is_complex
    for option, is_set in (
        ("precision", precision >= 0),
        ("scientific and shortest format", scientific or shortest),
    ):
        if is_set and not is_float:
            raise InvalidArgumentError(f"{option} not supported for datatype {dtype.name}")
    if isinstance(tensor, StringTensor):
        return tensor
    run_as_python()
    style = "%" + fill + (str(width) if width > -1 else "")
    if is_float:
        style += f".{precision}" if precision > -1 else ""
        style += "e" if scientific else "g" if shortest else "f"
    else:
        style += "d"

    def write(number: Any) -> bytes:
        if dtype.is_bool:
            return b"true" if number else b"false"
        if dtype.is_complex:
            return f"({style % number.real},{style % number.imag})".encode()
        return str(style % number).encode()

    array = np.asarray(tensor.numpy())
    numbers = array.astype(np.float64) if dtype.is_floating else array
    result = np.empty(array.size, object)
    result[:] = [write(number) for number in numbers.ravel().tolist()]
    return of_strings(result.reshape(array.shape))


def format(
    template: str,
    inputs: Any,
    placeholder: str = "{}",
    summarize: int = 3,
    name: str | None = None,
) -> StringTensor:
    """Insert tensors into a text.

    Args:
      template: The text.
      inputs: A tensor, or a list of tensors, one for each placeholder.
      placeholder: The text that a tensor replaces.
      summarize: The number of elements at each end of an axis, -1 for all.
      name: Not used.

    Returns:
      A scalar string.

    Raises:
      ValueError: If there are more or fewer placeholders than tensors.

    Example:
      >>> tf.strings.format("x: {}", tf.constant([1.5, 2.0])).numpy()
      b'x: [1.5 2]'
    """
    from ..core.ops.creation import convert_to_tensor
    from ..function.py_function import format_array

    values = [*inputs] if isinstance(inputs, list | tuple) else [inputs]
    parts = template.split(placeholder)
    if len_of(parts) - 1 != len_of(values):
        raise ValueError(
            f"The template expects {len_of(parts) - 1} tensors, but the inputs only has "
            f"{len_of(values)}. Please ensure the number of placeholders in template matches "
            f"inputs length."
        )
    run_as_python()
    texts = [format_array(np.asarray(convert_to_tensor(x).numpy()), summarize) for x in values]
    result = parts[0] + "".join(x + part for x, part in zip(texts, parts[1:], strict=True))
    return of_strings(to_bytes(result))


@dispatches
def reduce_join(
    inputs: StringLike,
    axis: IntsLike | None = None,
    keepdims: bool = False,
    separator: str = "",
    name: str | None = None,
) -> StringTensor:
    """Join the strings along axes.

    Args:
      inputs: A tensor of strings.
      axis: The axes, the first of which varies fastest in the result; None for all axes, of which
        the last one varies fastest.
      keepdims: Whether the axes stay, with size 1.
      separator: The string between two parts.
      name: Not used.

    Returns:
      A tensor of strings without these axes.

    Raises:
      InvalidArgumentError: If an axis is named twice.
      OutOfRangeError: If there is no such axis.

    Example:
      >>> tf.strings.reduce_join([["a", "b"], ["c", "d"]], axis=0, separator="+").numpy()
      array([b'a+c', b'b+d'], dtype=object)
    """
    array = to_string_array(inputs)
    rank = array.ndim
    axes = [*range(rank)] if axis is None else [*movement.to_shape(axis)]
    for k in axes:
        if not -rank <= k < rank:
            raise OutOfRangeError(
                f"Invalid reduction dimension {k} for input with {rank} dimension(s) "
                f"[Op:ReduceJoin]"
            )
    axes = [k % rank for k in axes]
    if len_of(set(axes)) < len_of(axes):
        twice = next(k for k in axes if axes.count(k) > 1)
        raise InvalidArgumentError(f"Duplicate reduction dimension {twice} [Op:ReduceJoin]")
    others = [k for k in range(rank) if k not in axes]
    if axis is not None:
        axes.reverse()  # as in TensorFlow: the strings of the first axis are joined first
    moved = array.transpose(*others, *axes)
    rows = moved.reshape(int(np.prod([array.shape[k] for k in others])), -1 if array.size else 0)
    glue = to_string(separator, "separator", "Join")
    result = np.empty(len_of(rows), object)
    result[:] = [glue.join(row) for row in rows.tolist()]
    shape = [1 if k in axes else array.shape[k] for k in range(rank) if keepdims or k in others]
    return of_strings(result.reshape(shape))


@dispatches
def unsorted_segment_join(
    inputs: StringLike,
    segment_ids: TensorLike,
    num_segments: IntLike,
    separator: str = "",
    name: str | None = None,
) -> StringTensor:
    """Join the strings of each segment.

    Args:
      inputs: A tensor of strings.
      segment_ids: The segment of each string: integers, whose shape is the beginning of that of
        ``inputs``.
      num_segments: The number of segments.
      separator: The string between two parts.
      name: Not used.

    Returns:
      A tensor of strings with one axis of size ``num_segments`` in place of those of
      ``segment_ids``.

    Raises:
      InvalidArgumentError: If a segment is out of range, or the shapes do not fit.

    Example:
      >>> tf.strings.unsorted_segment_join(["this", "a", "test"], [0, 1, 0], 2, ":").numpy()
      array([b'this:test', b'a'], dtype=object)
    """
    array = to_string_array(inputs)
    ids = np.asarray(as_tensor(segment_ids).numpy())
    count = int(movement.to_ints(num_segments))
    if array.shape[: ids.ndim] != ids.shape:
        raise InvalidArgumentError(
            f"segment_ids of shape {ids.shape} is not the beginning of the shape {array.shape} of "
            f"the inputs [Op:UnsortedSegmentJoin]"
        )
    if ids.size and not 0 <= ids.min() <= ids.max() < count:
        raise InvalidArgumentError(
            "segment_ids are not allowed to exceed num_segments or to have negative values "
            "[Op:UnsortedSegmentJoin]"
        )
    inner_shape = array.shape[ids.ndim :]
    rows = array.reshape(ids.size, -1) if array.size else array.reshape(ids.size, 0)
    members: list[list[list[bytes]]] = [[] for _ in range(count)]
    for segment, row in zip(ids.ravel().tolist(), rows.tolist(), strict=True):
        members[segment].append(row)
    glue = to_string(separator, "separator", "Join")
    width = rows.shape[1]
    result = np.empty((count, width), object)
    for segment, parts in enumerate(members):
        result[segment] = [glue.join(part[j] for part in parts) for j in range(width)]
    return of_strings(result.reshape(count, *inner_shape))
