"""Positions of iterators as bytes: `encode` and `decode`.

A position is a nest of dicts, lists, numbers and elements (see `stages.Stage.state`). Its bytes are
a JSON text and the arrays of the elements, compressed. Reading never unpickles anything.
"""

from __future__ import annotations

import base64
import json
import struct
import zlib
from typing import Any

import numpy as np

from ..core.values.composite import Composite
from ..core.values.dtypes import as_dtype
from ..core.values.tensor import Tensor
from ..errors import DataLossError, UnimplementedError
from ..tensor_spec import TensorSpec
from . import elements

_LENGTH = struct.Struct("<Q")
_LIMIT = 2**33  # bytes of a position: a larger one is a damaged file


def encode(position: Any) -> bytes:
    """Return a position as bytes.

    Raises:
      UnimplementedError: If an element of a buffer cannot be stored: a dataset, or a namedtuple.
    """
    arrays = bytearray()
    text = json.dumps(_encode(position, arrays), separators=(",", ":")).encode()
    data = b"".join([_LENGTH.pack(len(text)), text, bytes(arrays)])
    return _LENGTH.pack(len(data)) + zlib.compress(data, 1)


def decode(data: bytes) -> Any:
    """Return the position that bytes describe.

    Raises:
      DataLossError: If they are truncated or changed.
    """
    try:
        (size,) = _LENGTH.unpack_from(data)
        if size > _LIMIT:
            raise ValueError(size)
        inflater = zlib.decompressobj()
        plain = inflater.decompress(data[_LENGTH.size :], size + 1)
        if len(plain) != size or not inflater.eof:
            raise ValueError(len(plain))
        (length,) = _LENGTH.unpack_from(plain)
        start = _LENGTH.size + length
        return _decode(json.loads(plain[_LENGTH.size : start]), plain[start:])
    except (ValueError, KeyError, TypeError, struct.error, zlib.error) as error:
        raise DataLossError("The saved position of an iterator cannot be read.") from error


def encode_spec(spec: Any) -> Any:
    """Return a spec as a nest whose leaves are lists of a shape and a dtype.

    Raises:
      UnimplementedError: If the elements are sparse, or datasets.
    """

    def leaf(one: Any) -> Any:
        if type(one) is not TensorSpec:
            raise UnimplementedError(f"Elements of {one} cannot be saved.")
        return [None if one.shape.rank is None else list(one.shape), one.dtype.name]

    return elements.map_leaves(leaf, spec)


def decode_spec(value: Any) -> Any:
    """Return the spec that `encode_spec` has encoded."""
    return elements.map_leaves(lambda one: TensorSpec(one[0], as_dtype(one[1])), value)


def _encode(value: Any, arrays: bytearray) -> Any:
    """Convert to JSON; a container is a list with its kind first."""
    if value is None or isinstance(value, bool | str | float) or type(value) is int:
        return value
    if isinstance(value, bytes):
        return ["b", base64.b64encode(value).decode()]
    if type(value) is dict:
        return ["d", [[_encode(k, arrays), _encode(x, arrays)] for k, x in value.items()]]
    if type(value) is list:
        if len(value) > 8 and all(type(x) is int for x in value):  # a buffer of indices
            return ["i", _encode(np.array(value), arrays)]
        return ["l", [_encode(x, arrays) for x in value]]
    if type(value) is tuple:
        return ["t", [_encode(x, arrays) for x in value]]
    if isinstance(value, np.ndarray | np.generic | Tensor):
        array = np.asarray(elements.as_array(value))
        if array.dtype == object:
            return ["s", list(array.shape), [_encode(x, arrays) for x in array.ravel().tolist()]]
        offset = len(arrays)
        part = np.ascontiguousarray(array).tobytes()
        arrays += part
        name = as_dtype(array.dtype).name
        kind = "x" if isinstance(value, Tensor) else "g" if isinstance(value, np.generic) else "a"
        return [kind, name, list(array.shape), offset, len(part)]
    if isinstance(value, elements.Flow) and value._parts is not None:  # a window
        parts = _encode(list(value._parts), arrays)
        return ["w", parts, _encode(encode_spec(value._dataset_spec().element_spec), arrays)]
    if isinstance(value, Composite):
        from .composites import components_of

        kind, parts = components_of(value)
        return ["c", kind, _encode(parts, arrays)]
    raise UnimplementedError(
        f"An iterator's position cannot be saved: its buffers hold a {type(value).__name__}. "
        f"Elements of tuples, dicts and tensors can be saved."
    )


def _decode(value: Any, data: bytes) -> Any:
    if not isinstance(value, list):
        return value
    kind, *content = value
    if kind == "b":
        return base64.b64decode(content[0])
    if kind == "d":
        return {_decode(k, data): _decode(x, data) for k, x in content[0]}
    if kind == "i":
        return _decode(content[0], data).tolist()
    if kind in ("l", "t"):
        items = [_decode(x, data) for x in content[0]]
        return items if kind == "l" else tuple(items)
    if kind == "s":
        strings = np.empty(content[0], object)
        strings.reshape(-1)[:] = [_decode(x, data) for x in content[1]]
        return strings
    if kind == "w":
        parts, spec = (_decode(x, data) for x in content)
        return elements.Flow._make_window(parts, decode_spec(spec))
    if kind == "c":
        from .composites import from_components

        return from_components(content[0], _decode(content[1], data))
    if kind not in ("a", "g", "x"):
        raise ValueError(kind)
    name, shape, offset, length = content
    dtype = np.dtype(as_dtype(name).as_numpy_dtype)
    array = np.frombuffer(data[offset : offset + length], dtype).reshape(shape).copy()
    return elements.as_tensors(array) if kind == "x" else array[()] if kind == "g" else array
