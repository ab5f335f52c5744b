"""Tensors as bytes, in TensorFlow's message ``TensorProto``: `serialize_tensor`, `parse_tensor`."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, Any

import numpy as np

import numtape as tf

from ..core.log.as_tensor import as_tensor
from ..core.log.string_tensor import StringTensor, of_strings, run_as_python, to_bytes
from ..errors import InvalidArgumentError
from .messages import DecodeError, _delimit, _read_integers, _tag, _varint, fields

if TYPE_CHECKING:
    from ..core.values.annotations import DTypeLike, StringLike
    from ..core.values.dtypes import DType

# Numbers of dtypes in TensorFlow's messages, and the field with their values.
_DTYPES: dict[str, tuple[int, int]] = {
    "float32": (1, 5),
    "float64": (2, 6),
    "int32": (3, 7),
    "uint8": (4, 7),
    "int16": (5, 7),
    "int8": (6, 7),
    "string": (7, 8),
    "complex64": (8, 9),
    "int64": (9, 10),
    "bool": (10, 11),
    "bfloat16": (14, 13),
    "uint16": (17, 7),
    "complex128": (18, 12),
    "float16": (19, 13),
    "uint32": (22, 16),
    "uint64": (23, 17),
}
_NAMES = {number: name for name, (number, _) in _DTYPES.items()}
_DTYPE, _SHAPE, _CONTENT, _STRINGS = 1, 2, 4, 8
_VARINT = 0  # a wire type
# How the fields of values are packed: a format of `struct`, or integers of variable length.
_PACKED = {5: "<f4", 6: "<f8", 9: "<c8", 12: "<c16"}


def serialize_tensor(tensor: Any, name: str | None = None) -> StringTensor:
    r"""Encode a tensor with its dtype and shape.

    Args:
      tensor: A tensor.
      name: Not used.

    Returns:
      A string tensor.

    Raises:
      ValueError: If the argument cannot be converted to a tensor.

    Example:
      >>> tf.io.serialize_tensor(tf.constant([True])).numpy()
      b'\x08\n\x12\x04\x12\x02\x08\x01"\x01\x01'
    """
    x = tf.convert_to_tensor(tensor)
    run_as_python("`serialize_tensor`")
    sizes = [_tag(1, _VARINT) + _varint(int(n)) if n else b"" for n in x.shape]
    shape = b"".join(_delimit(2, size) for size in sizes)
    head = _tag(_DTYPE, _VARINT) + _varint(_DTYPES[x.dtype.name][0])
    head += _delimit(_SHAPE, shape)
    if isinstance(x, StringTensor):
        strings = np.asarray(x.numpy(), object).ravel().tolist()
        return of_strings(head + b"".join(_delimit(_STRINGS, value) for value in strings))
    content = np.ascontiguousarray(as_tensor(x).numpy()).tobytes()
    return of_strings(head + (_delimit(_CONTENT, content) if content else b""))


def parse_tensor(serialized: StringLike, out_type: DTypeLike, name: str | None = None) -> Any:
    """Decode a tensor that `serialize_tensor`, or TensorFlow's, encoded.

    Args:
      serialized: A string.
      out_type: The dtype of the tensor.
      name: Not used.

    Returns:
      A tensor.

    Raises:
      InvalidArgumentError: If the string is no tensor, or of another dtype.

    Example:
      >>> contents = tf.io.serialize_tensor(tf.constant([[1.5, 2.0]]))
      >>> tf.io.parse_tensor(contents, tf.float32).numpy()
      array([[1.5, 2. ]], dtype=float32)
    """
    run_as_python("`parse_tensor`")
    try:
        number, shape, content, values = _read(to_bytes(serialized))
    except DecodeError as error:
        raise InvalidArgumentError(f"Could not parse as TensorProto: {error}") from error
    dtype = tf.as_dtype(out_type)
    if _NAMES.get(number) != dtype.name:
        raise InvalidArgumentError(
            f"Type mismatch between parsed tensor ({_NAMES.get(number, f'number {number}')}) and "
            f"dtype ({dtype.name})"
        )
    size = math.prod(shape)
    if not size and dtype.name != "string":
        return tf.zeros(shape, dtype)
    own = values.get(_DTYPES[dtype.name][1], [])
    if dtype.name == "string":
        if len(own) not in (1, size) and size:
            raise InvalidArgumentError(f"{len(own)} strings do not fit the shape {shape}.")
        strings = np.empty(size, object)
        strings[:] = own * size if len(own) == 1 else own
        return of_strings(strings.reshape(shape))
    if content:
        if len(content) != size * dtype.size:
            raise InvalidArgumentError(f"{len(content)} bytes do not fit the shape {shape}.")
        return tf.constant(np.frombuffer(content, dtype.as_numpy_dtype).reshape(shape), dtype)
    return tf.constant(_unpack(own, dtype, size).reshape(shape), dtype)


def _read(data: bytes) -> tuple[int, list[int], bytes, dict[int, list[Any]]]:
    """Return the number of the dtype, the shape, the bytes of the content, and other fields."""
    dtype, content = 0, b""
    shape: list[int] = []
    values: dict[int, list[Any]] = {}
    for number, _, value in fields(data):
        if number == _DTYPE:
            dtype = value
        elif number == _SHAPE:
            shape = [
                next((n for key, _, n in fields(size) if key == 1), 0)
                for key, _, size in fields(value)
                if key == 2
            ]
        elif number == _CONTENT:
            content = value
        else:
            values.setdefault(number, []).append(value)
    return dtype, shape, content, values


def _unpack(parts: list[Any], dtype: DType, size: int) -> np.ndarray[Any, Any]:
    """Return the numbers of typed fields; the last one fills the rest."""
    field = _DTYPES[dtype.name][1]
    arrays = []
    for part in parts:
        if field in _PACKED:
            arrays.append(np.frombuffer(part, _PACKED[field]))
        elif isinstance(part, int):
            arrays.append(np.frombuffer(struct.pack("<Q", part), np.int64))
        else:
            arrays.append(_read_integers(part))
    numbers = np.concatenate(arrays) if arrays else np.zeros(1, np.int64)
    if len(numbers) > size:
        raise InvalidArgumentError(f"{len(numbers)} values do not fit {size} elements.")
    if field == 13:  # halves are stored as the integers of their bits
        numbers = numbers.astype(np.uint16).view(dtype.as_numpy_dtype)
    numbers = numbers.astype(dtype.as_numpy_dtype)
    missing = size - len(numbers)
    return np.concatenate([numbers, np.repeat(numbers[-1:], missing)])
