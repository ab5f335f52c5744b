"""``tf.train.Example`` and its parts: small protocol buffer messages, read and written here.

`Message` is the base class; `Feature`, `Example` and so on are tables of fields. `fields` reads the
wire format (https://protobuf.dev/programming-guides/encoding/).
"""

from __future__ import annotations

import inspect
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, Self

import numpy as np

from ..core.log.string_tensor import run_as_python
from ..errors import DataLossError

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
_MAX_VARINT = 10  # bytes


class DecodeError(DataLossError, ValueError):
    """The bytes are no message of this type."""


def _read_varint(data: bytes, position: int) -> tuple[int, int]:
    """Return an integer and the position behind it."""
    value = shift = 0
    for k in range(position, position + _MAX_VARINT):
        if k >= len(data):
            break
        byte = data[k]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, k + 1
        shift += 7
    raise DecodeError("Error parsing message: truncated integer")


def _varint(value: int) -> bytes:
    value &= 2**64 - 1
    parts = bytearray()
    while value >= 0x80:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    parts.append(value)
    return bytes(parts)


def fields(data: bytes) -> Iterator[tuple[int, int, Any]]:
    """Yield the fields of a message: number, wire type, and an int or bytes.

    Raises:
      DataLossError: If the bytes are no message.
    """
    position, size = 0, len(data)
    while position < size:
        tag, position = _read_varint(data, position)
        wire = tag & 7
        if wire == _VARINT:
            value: Any
            value, position = _read_varint(data, position)
        else:
            if wire == _BYTES:
                length, position = _read_varint(data, position)
            elif wire in (_FIXED32, _FIXED64):
                length = 4 if wire == _FIXED32 else 8
            else:
                raise DecodeError(f"Error parsing message: unknown wire type {wire}")
            value = data[position : position + length]
            if len(value) < length:
                raise DecodeError("Error parsing message: truncated field")
            position += length
        if not tag >> 3:
            raise DecodeError("Error parsing message: field number 0")
        yield tag >> 3, wire, value


def read_values(kind: str, data: bytes) -> Any:
    """Return the values of a list: a list of bytes, or an array of float32 or int64.

    Args:
      kind: "bytes", "float" or "int64".
      data: The message `BytesList`, `FloatList` or `Int64List`.

    Raises:
      DataLossError: If it is no such message.
    """
    if kind == "bytes":
        return [value for number, wire, value in fields(data) if number == 1 and wire == _BYTES]
    parts = []
    for number, wire, value in fields(data):
        if number != 1:
            continue
        if kind == "float":
            if wire not in (_BYTES, _FIXED32) or len(value) % 4:
                raise DecodeError("Error parsing message: floats are not of four bytes")
            parts.append(np.frombuffer(value, "<f4"))
        else:
            parts.append(_read_integers(value) if wire == _BYTES else _as_int64([value]))
    dtype = np.float32 if kind == "float" else np.int64
    return np.concatenate(parts).astype(dtype) if parts else np.zeros(0, dtype)


def _as_int64(values: list[int]) -> np.ndarray[Any, Any]:
    return np.array([value & (2**64 - 1) for value in values], np.uint64).view(np.int64)


def _read_integers(data: bytes) -> np.ndarray[Any, Any]:
    """Return the integers that are packed in bytes."""
    array = np.frombuffer(data, np.uint8)
    is_last = array < 0x80
    if array.size and is_last.all():  # small numbers
        return array.astype(np.int64)
    if array.size and not is_last[-1]:
        raise DecodeError("Error parsing message: truncated integer")
    ends = np.flatnonzero(is_last) + 1
    starts = np.concatenate([np.zeros(1, np.int64), ends[:-1]])
    lengths = ends - starts
    if array.size and lengths.max() > _MAX_VARINT:
        raise DecodeError("Error parsing message: an integer is too long")
    values = np.zeros(len(ends), np.uint64)
    for k in range(int(lengths.max()) if array.size else 0):
        is_long = lengths > k
        parts = (array[starts[is_long] + k] & np.uint8(0x7F)).astype(np.uint64)
        values[is_long] |= parts << np.uint64(7 * k)
    return values.view(np.int64)


class _Values(list[Any]):
    """A list of values, converted when they are added; tells its message of changes."""

    def __init__(self, convert: Callable[[Any], Any], changed: Callable[[], None]) -> None:
        super().__init__()
        self._convert, self._changed = convert, changed

    def append(self, value: Any) -> None:
        super().append(self._convert(value))
        self._changed()

    def extend(self, values: Iterable[Any]) -> None:
        super().extend([self._convert(value) for value in values])
        self._changed()

    def insert(self, index: Any, value: Any) -> None:
        super().insert(index, self._convert(value))
        self._changed()

    def __setitem__(self, index: Any, value: Any) -> None:
        converted = [*map(self._convert, value)] if isinstance(index, slice) else None
        super().__setitem__(index, self._convert(value) if converted is None else converted)
        self._changed()

    def __iadd__(self, values: Iterable[Any]) -> Self:  # type: ignore[misc]
        self.extend(values)
        return self


class _Parts(_Values):
    """A list of messages."""

    def add(self, **values: Any) -> Any:
        """Append a new message, and return it.

        Args:
          **values: Its fields.
        """
        message = self._convert.message_class(**values)  # type: ignore[attr-defined]
        self.append(message)
        return message


class _PartMap(dict[str, Any]):
    """A map from names to messages, which are created when they are read."""

    def __init__(self, message_class: type[Message], changed: Callable[[], None]) -> None:
        super().__init__()
        self._message_class, self._changed = message_class, changed

    def __missing__(self, key: str) -> Any:
        if not isinstance(key, str):
            raise TypeError(f"A name must be a str, got {key!r}.")
        message = self._message_class()
        super().__setitem__(key, message)
        self._changed()
        return message

    def __setitem__(self, key: str, value: object) -> None:
        raise ValueError(
            "A message in a map cannot be assigned: use `map[name].CopyFrom(message)`."
        )

    def get_or_create(self, key: str) -> Any:
        """Return the message of a name; create it if it is absent."""
        return self[key]


class _PartConverter:
    """Checks the messages that are added to a list, and copies them."""

    def __init__(self, message_class: type[Message]) -> None:
        self.message_class = message_class

    def __call__(self, value: Any) -> Any:
        if not isinstance(value, self.message_class):
            raise TypeError(
                f"Parameter to append() must be instance of {self.message_class.__name__}, got "
                f"{type(value).__name__}."
            )
        return value


def _to_bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    raise TypeError(f"{value!r} has type {type(value).__name__}, but expected one of: bytes")


def _to_float(value: Any) -> float:
    if isinstance(value, str | bytes):
        raise TypeError(f"bad argument type for built-in operation: {value!r} is not a float")
    return float(np.float32(float(value)))


def _to_int(value: Any) -> int:
    try:
        if isinstance(value, float | np.floating):
            raise TypeError
        number = int(value.__index__())
    except (AttributeError, TypeError):
        raise TypeError(
            f"{value!r} has type {type(value).__name__}, but expected one of: int"
        ) from None
    if not -(2**63) <= number < 2**63:
        raise ValueError(f"Value out of range: {number}")
    return number


class Message:
    """Base class of messages.

    Attributes:
      FIELDS: The name and kind of each field by number. A kind is "bytes", "float" or "int64" (a
        list of values), a class (a message), a list of a class (a list of messages), or a dict with
        a class (a map from names to messages).
      ONEOF: Whether only the field that was changed last is set.
    """

    FIELDS: ClassVar[Mapping[int, tuple[str, Any]]] = {}
    ONEOF: ClassVar[bool] = False
    _CONVERTERS: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "bytes": _to_bytes,
        "float": _to_float,
        "int64": _to_int,
    }

    def __init_subclass__(cls) -> None:
        names = [name for name, _ in cls.FIELDS.values()]
        kind = inspect.Parameter.KEYWORD_ONLY
        cls.__signature__ = inspect.Signature(
            [inspect.Parameter(name, kind, default=None) for name in names]
        )

    __signature__: ClassVar[inspect.Signature]

    def __init__(self, **values: Any) -> None:
        self._content: dict[str, Any] = {}
        self._is_set: set[str] = set()
        self._parent: Callable[[], None] = _ignore
        names = {name: kind for name, kind in self.FIELDS.values()}
        for name, value in values.items():
            if name not in names:
                raise ValueError(f"Protocol message {type(self).__name__} has no {name!r} field.")
            if value is not None:
                self._assign(name, names[name], value)

    def _assign(self, name: str, kind: Any, value: Any) -> None:
        target = getattr(self, name)
        if isinstance(kind, dict):
            for key, part in dict(value).items():
                target[key].CopyFrom(part)
        elif isinstance(kind, type):
            if isinstance(value, dict):
                value = kind(**value)
            target.CopyFrom(value)
        else:
            target.extend(value)
        self._change(name)

    def _change(self, name: str) -> None:
        """Note that a field is set."""
        if self.ONEOF and name not in self._is_set:
            for other in self._is_set - {name}:
                self._content.pop(other, None)
            self._is_set.clear()
        self._is_set.add(name)
        self._parent()

    def __getattr__(self, name: str) -> Any:
        run_as_python("protocol buffers")
        for field, kind in type(self).FIELDS.values():
            if field == name:
                if name not in self._content:
                    self._content[name] = self._make(name, kind)
                return self._content[name]
        raise AttributeError(f"Protocol message {type(self).__name__} has no {name!r} field.")

    def __setattr__(self, name: str, value: Any) -> None:
        if not name.startswith("_"):
            raise AttributeError(
                f"Assignment not allowed to the field {name!r}: change it with `extend` or "
                f"`CopyFrom`."
            )
        object.__setattr__(self, name, value)

    def _make(self, name: str, kind: Any) -> Any:
        def mark_changed() -> None:
            self._change(name)

        if isinstance(kind, str):
            return _Values(self._CONVERTERS[kind], mark_changed)
        if isinstance(kind, list):
            return _Parts(_PartConverter(kind[0]), mark_changed)
        if isinstance(kind, dict):
            return _PartMap(kind["message"], mark_changed)
        part = kind()
        part._parent = mark_changed
        return part

    # Names and behavior of protocol buffers in Python.

    def SerializeToString(self, deterministic: bool | None = None) -> bytes:
        """Return the message as bytes. Maps are in the order of their names.

        Args:
          deterministic: Not used: the bytes are always deterministic.
        """
        parts = []
        for number, (name, kind) in sorted(self.FIELDS.items()):
            if name not in self._is_set or name not in self._content:
                continue
            value = self._content[name]
            if isinstance(kind, str):
                parts += _write_values(number, kind, value)
            elif isinstance(kind, list):
                parts += [_delimit(number, part.SerializeToString()) for part in value]
            elif isinstance(kind, dict):
                parts += [
                    _delimit(
                        number,
                        _delimit(1, key.encode()) + _delimit(2, value[key].SerializeToString()),
                    )
                    for key in sorted(value)
                ]
            else:
                parts.append(_delimit(number, value.SerializeToString()))
        return b"".join(parts)

    def ByteSize(self) -> int:
        """Return the number of bytes of `SerializeToString`."""
        return len(self.SerializeToString())

    @classmethod
    def FromString(cls, serialized: bytes) -> Self:
        """Return the message that bytes describe.

        Args:
          serialized: The bytes.

        Raises:
          DataLossError: If they are no such message.
        """
        message = cls()
        message.MergeFromString(serialized)
        return message

    def ParseFromString(self, serialized: bytes) -> int:
        """Replace the content by the message that bytes describe.

        Args:
          serialized: The bytes.

        Returns:
          The number of bytes.

        Raises:
          DataLossError: If they are no such message.
        """
        self.Clear()
        return self.MergeFromString(serialized)

    def MergeFromString(self, serialized: bytes) -> int:
        """Add the message that bytes describe.

        Args:
          serialized: The bytes.

        Returns:
          The number of bytes.

        Raises:
          DataLossError: If they are no such message.
        """
        data = bytes(serialized)
        for number, wire, value in fields(data):
            name, kind = self.FIELDS.get(number, ("", None))
            if kind is None:
                continue
            target = getattr(self, name)
            if isinstance(kind, str):
                one = _tag(1, wire) + (_varint(value) if wire == _VARINT else value)
                if wire == _BYTES:
                    one = _delimit(1, value)
                target.extend(_plain(read_values(kind, one)))
            elif wire != _BYTES:
                raise DecodeError(f"Error parsing message: field {number} has wire type {wire}")
            elif isinstance(kind, list):
                target.append(kind[0].FromString(value))
            elif isinstance(kind, dict):
                entry = {k: part for k, _, part in fields(value)}
                try:
                    key = entry.get(1, b"").decode()
                except UnicodeDecodeError:
                    raise DecodeError("Error parsing message: a name is not UTF-8") from None
                target[key].ParseFromString(entry.get(2, b""))
            else:
                target.MergeFromString(value)
            self._change(name)
        return len(data)

    def CopyFrom(self, other: Self) -> None:
        """Replace the content by that of another message.

        Args:
          other: A message of the same type.

        Raises:
          TypeError: If it is of another type.
        """
        if other is not self:
            self._check_type(other, "CopyFrom")
            self.ParseFromString(other.SerializeToString())
            self._parent()

    def MergeFrom(self, other: Self) -> None:
        """Add the content of another message.

        Args:
          other: A message of the same type.

        Raises:
          TypeError: If it is of another type.
        """
        self._check_type(other, "MergeFrom")
        self.MergeFromString(other.SerializeToString())

    def _check_type(self, other: object, method: str) -> None:
        if type(other) is not type(self):
            raise TypeError(
                f"Parameter to {method}() must be instance of same class: expected "
                f"{type(self).__name__} got {type(other).__name__}."
            )

    def Clear(self) -> None:
        """Remove the content."""
        self._content.clear()
        self._is_set.clear()

    def ClearField(self, field_name: str) -> None:
        """Remove the content of a field.

        Args:
          field_name: The name of the field.

        Raises:
          ValueError: If there is no such field.
        """
        self._check_field(field_name)
        self._content.pop(field_name, None)
        self._is_set.discard(field_name)

    def HasField(self, field_name: str) -> bool:
        """Whether a field that is a message is set.

        Args:
          field_name: The name of the field.

        Raises:
          ValueError: If there is no such field, or it is a list or map.
        """
        if not isinstance(self._check_field(field_name), type):
            raise ValueError(f"The field {field_name!r} is repeated: test its length.")
        return field_name in self._is_set

    def _check_field(self, field_name: str) -> Any:
        for name, kind in self.FIELDS.values():
            if name == field_name:
                return kind
        raise ValueError(f"Protocol message {type(self).__name__} has no field {field_name}.")

    def WhichOneof(self, oneof_group: str) -> str | None:
        """Return the name of the field that is set, or None.

        Args:
          oneof_group: The name of the group: "kind" of a `Feature`.

        Raises:
          ValueError: If there is no such group.
        """
        if not self.ONEOF or oneof_group != "kind":
            raise ValueError(
                f"Protocol message {type(self).__name__} has no oneof {oneof_group!r} field."
            )
        return next(iter(self._is_set), None)

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return self.SerializeToString() == other.SerializeToString()

    __hash__: ClassVar[None] = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).FromString, (self.SerializeToString(),)

    def __repr__(self) -> str:
        return "".join(f"{line}\n" for line in self._lines())

    def _lines(self) -> Iterator[str]:
        for _, (name, kind) in sorted(self.FIELDS.items()):
            if name not in self._is_set or name not in self._content:
                continue
            value = self._content[name]
            if isinstance(kind, str):
                yield from (f"{name}: {_text(x)}" for x in value)
            elif isinstance(kind, dict):
                for key, part in value.items():
                    yield f"{name} {{"
                    yield f"  key: {_text(key.encode())}"
                    yield "  value {"
                    yield from (f"    {line}" for line in part._lines())
                    yield from ("  }", "}")
            else:
                for part in value if isinstance(kind, list) else [value]:
                    yield f"{name} {{"
                    yield from (f"  {line}" for line in part._lines())
                    yield "}"


def _ignore() -> None:
    pass


def _plain(values: Any) -> list[Any]:
    return values if isinstance(values, list) else values.tolist()


def _tag(number: int, wire: int) -> bytes:
    return _varint(number << 3 | wire)


def _delimit(number: int, data: bytes) -> bytes:
    return _tag(number, _BYTES) + _varint(len(data)) + data


def _write_values(number: int, kind: str, values: list[Any]) -> list[bytes]:
    if kind == "bytes":
        return [_delimit(number, value) for value in values]
    if not values:
        return []
    if kind == "float":
        return [_delimit(number, struct.pack(f"<{len(values)}f", *values))]
    return [_delimit(number, b"".join(map(_varint, values)))]


def _text(value: Any) -> str:
    """Return a value in the text format of protocol buffers."""
    if isinstance(value, bytes):
        escapes = {0x22: '\\"', 0x27: "\\'", 0x5C: "\\\\", 0x0A: "\\n", 0x0D: "\\r", 0x09: "\\t"}
        parts = [escapes.get(x) or (chr(x) if 0x20 <= x < 0x7F else f"\\{x:03o}") for x in value]
        return f'"{"".join(parts)}"'
    if isinstance(value, float):
        return f"{value:.9g}" if float(f"{value:.6g}") != value else f"{value:g}"
    return str(value)


class BytesList(Message):
    """A list of bytes.

    Args:
      value: The bytes.

    Example:
      >>> tf.train.BytesList(value=[b"a", b"b"]).value
      [b'a', b'b']
    """

    FIELDS: ClassVar[Mapping[int, tuple[str, Any]]] = {1: ("value", "bytes")}


class FloatList(Message):
    """A list of float32 numbers.

    Args:
      value: The numbers.

    Example:
      >>> tf.train.FloatList(value=[0.5, 1.5]).value
      [0.5, 1.5]
    """

    FIELDS: ClassVar[Mapping[int, tuple[str, Any]]] = {1: ("value", "float")}


class Int64List(Message):
    """A list of int64 numbers.

    Args:
      value: The numbers.

    Example:
      >>> tf.train.Int64List(value=[1, -2]).value
      [1, -2]
    """

    FIELDS: ClassVar[Mapping[int, tuple[str, Any]]] = {1: ("value", "int64")}


class Feature(Message):
    """A list of values: of bytes, float32 or int64.

    Args:
      bytes_list: A `BytesList`.
      float_list: A `FloatList`.
      int64_list: An `Int64List`.

    Example:
      >>> feature = tf.train.Feature(int64_list=tf.train.Int64List(value=[1, 2]))
      >>> feature.WhichOneof("kind"), feature.int64_list.value
      ('int64_list', [1, 2])
    """

    FIELDS: ClassVar[Mapping[int, tuple[str, Any]]] = {
        1: ("bytes_list", BytesList),
        2: ("float_list", FloatList),
        3: ("int64_list", Int64List),
    }
    ONEOF: ClassVar[bool] = True


class Features(Message):
    """Features by name.

    Args:
      feature: A dict of `Feature`.

    Example:
      >>> features = tf.train.Features()
      >>> features.feature["x"].float_list.value.extend([1.0, 2.0])
      >>> features.feature["x"].float_list.value
      [1.0, 2.0]
    """

    FIELDS: ClassVar[Mapping[int, tuple[str, Any]]] = {1: ("feature", {"message": Feature})}


class FeatureList(Message):
    """A list of features, such as the steps of a sequence.

    Args:
      feature: A list of `Feature`.

    Example:
      >>> steps = tf.train.FeatureList()
      >>> steps.feature.add().int64_list.value.append(3)
      >>> len(steps.feature)
      1
    """

    FIELDS: ClassVar[Mapping[int, tuple[str, Any]]] = {1: ("feature", [Feature])}


class FeatureLists(Message):
    """Lists of features by name.

    Args:
      feature_list: A dict of `FeatureList`.

    Example:
      >>> lists = tf.train.FeatureLists(feature_list={"x": tf.train.FeatureList()})
      >>> list(lists.feature_list)
      ['x']
    """

    FIELDS: ClassVar[Mapping[int, tuple[str, Any]]] = {
        1: ("feature_list", {"message": FeatureList})
    }


class Example(Message):
    """An example: features by name. `io.parse_example` reads its bytes.

    Args:
      features: `Features`.

    Example:
      >>> example = tf.train.Example()
      >>> example.features.feature["x"].int64_list.value.append(7)
      >>> tf.train.Example.FromString(example.SerializeToString()) == example
      True
    """

    FIELDS: ClassVar[Mapping[int, tuple[str, Any]]] = {1: ("features", Features)}


class SequenceExample(Message):
    """An example with sequences. `io.parse_sequence_example` reads its bytes.

    Args:
      context: `Features` of the whole example.
      feature_lists: `FeatureLists`: the features of each step, by name.

    Example:
      >>> example = tf.train.SequenceExample()
      >>> step = example.feature_lists.feature_list["x"].feature.add()
      >>> step.int64_list.value.append(7)
      >>> len(example.feature_lists.feature_list["x"].feature)
      1
    """

    FIELDS: ClassVar[Mapping[int, tuple[str, Any]]] = {
        1: ("context", Features),
        2: ("feature_lists", FeatureLists),
    }
