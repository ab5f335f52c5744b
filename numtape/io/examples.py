"""Parsing of serialized `train.Example` and `train.SequenceExample` to tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..core.log.as_tensor import as_tensor
from ..core.log.string_tensor import of_strings, to_string_array
from ..core.values import dtypes
from ..core.values.dtypes import DType, as_dtype
from ..errors import InvalidArgumentError
from .messages import DecodeError, fields, read_values

if TYPE_CHECKING:
    from ..core.values.annotations import DTypeLike, StringLike
    from ..core.values.tensor import Tensor

Array = np.ndarray[Any, Any]
Values = tuple[str, Any]  # the kind of a feature, and its values
_KINDS = {1: "bytes", 2: "float", 3: "int64"}  # by field number of `Feature`
_DTYPES = {"bytes": dtypes.string, "float": dtypes.float32, "int64": dtypes.int64}
_NAMES = {"string": "string", "float32": "float", "int64": "int64"}


class FixedLenFeature(NamedTuple):
    """A feature with a fixed number of values, parsed to a dense tensor.

    Args:
      shape: The shape of the values of an example.
      dtype: float32, int64 or string.
      default_value: Values of examples without this feature; None: the feature is required.

    Example:
      >>> tf.io.FixedLenFeature([2], tf.float32).shape
      [2]
    """

    shape: Any
    dtype: DTypeLike
    default_value: Any = None


class FixedLenSequenceFeature(NamedTuple):
    """A feature with any number of values of a fixed shape, parsed to a padded dense tensor.

    Args:
      shape: The shape of a step.
      dtype: float32, int64 or string.
      allow_missing: Whether examples without this feature have 0 steps. Must be True in
        `parse_example`.
      default_value: The padding value.

    Example:
      >>> tf.io.FixedLenSequenceFeature([], tf.int64, allow_missing=True).allow_missing
      True
    """

    shape: Any
    dtype: DTypeLike
    allow_missing: bool = False
    default_value: Any = None


class VarLenFeature(NamedTuple):
    """A feature with any number of values, parsed to a sparse tensor.

    Args:
      dtype: float32, int64 or string.

    Example:
      >>> tf.io.VarLenFeature(tf.int64).dtype
      tf.int64
    """

    dtype: DTypeLike


class SparseFeature(NamedTuple):
    """A sparse tensor whose indices and values are two or more features.

    Args:
      index_key: The name of the feature of the indices, or a list of one for each axis.
      value_key: The name of the feature of the values.
      dtype: float32, int64 or string.
      size: The size, or a list of sizes.
      already_sorted: Whether indices are in order.

    Example:
      >>> tf.io.SparseFeature("index", "value", tf.float32, 100).size
      100
    """

    index_key: Any
    value_key: Any
    dtype: DTypeLike
    size: Any
    already_sorted: bool = False


class RaggedFeature(NamedTuple):
    """A feature with any number of values, parsed to a ragged tensor.

    Args:
      dtype: float32, int64 or string.
      value_key: The name of the feature; default: the name in the dict of features.
      partitions: How the values are split: `RaggedFeature.RowSplits` and so on, the outermost
        first.
      row_splits_dtype: int32 or int64.
      validate: Not used: partitions are always checked.

    Example:
      >>> tf.io.RaggedFeature(tf.int64, partitions=[tf.io.RaggedFeature.RowLengths("n")]).dtype
      tf.int64
    """

    dtype: DTypeLike
    value_key: Any = None
    partitions: Any = ()
    row_splits_dtype: DTypeLike = dtypes.int32
    validate: bool = False


class _RowSplits(NamedTuple):
    """The offsets of rows are in the feature of this name."""

    key: str


class _RowLengths(NamedTuple):
    """The lengths of rows are in the feature of this name."""

    key: str


class _RowStarts(NamedTuple):
    """The starts of rows are in the feature of this name."""

    key: str


class _RowLimits(NamedTuple):
    """The ends of rows are in the feature of this name."""

    key: str


class _ValueRowIds(NamedTuple):
    """The row number of each value is in the feature of this name."""

    key: str


class _UniformRowLength(NamedTuple):
    """All rows have this length."""

    length: int


_CONSTRUCTORS = {
    _RowSplits: "from_row_splits",
    _RowLengths: "from_row_lengths",
    _RowStarts: "from_row_starts",
    _RowLimits: "from_row_limits",
    _ValueRowIds: "from_value_rowids",
    _UniformRowLength: "from_uniform_row_length",
}
for _kind in _CONSTRUCTORS:
    _kind.__name__ = _kind.__name__.lstrip("_")
    _kind.__qualname__ = f"RaggedFeature.{_kind.__name__}"
    setattr(RaggedFeature, _kind.__name__, _kind)


class _Features(dict[str, Values]):
    """The features of an example that have a kind, by name."""


def _read_features(data: bytes) -> _Features:
    """Read the message `Features`."""
    features = _Features()
    for number, wire, entry in fields(data):
        if number != 1 or wire != 2:
            continue
        name = feature = b""
        for part_number, _, value in fields(entry):
            if part_number == 1:
                name = value
            elif part_number == 2:
                feature = value
        values = _read_feature(feature)
        if values is not None:
            features[name.decode("utf-8", "surrogateescape")] = values
    return features


def _read_feature(data: bytes) -> Values | None:
    """Read the message `Feature`; None if it has no kind."""
    result = None
    for number, wire, value in fields(data):
        kind = _KINDS.get(number)
        if kind is not None and wire == 2:
            result = kind, read_values(kind, value)
    return result


def _read_example(data: bytes, index: int) -> _Features:
    """Read the message `Example`.

    Raises:
      InvalidArgumentError: If the bytes are no example.
    """
    try:
        features = _Features()
        for number, wire, value in fields(data):
            if number == 1 and wire == 2:
                features.update(_read_features(value))
        return features
    except DecodeError:
        raise InvalidArgumentError(f"Could not parse example input, value: {data!r}") from None


def _read_sequence_example(data: bytes) -> tuple[_Features, dict[str, list[Values | None]]]:
    """Read the message `SequenceExample`: its context, and the steps of its lists.

    Raises:
      InvalidArgumentError: If the bytes are no such message.
    """
    context, lists = _Features(), dict[str, list[Values | None]]()
    try:
        for number, wire, value in fields(data):
            if number == 1 and wire == 2:
                context.update(_read_features(value))
            elif number == 2 and wire == 2:
                for _, _, entry in fields(value):
                    parts = {k: part for k, _, part in fields(entry)}
                    steps = [_read_feature(x) for _, _, x in fields(parts.get(2, b""))]
                    lists[parts.get(1, b"").decode("utf-8", "surrogateescape")] = steps
        return context, lists
    except DecodeError:
        raise InvalidArgumentError(f"Could not parse example input, value: {data!r}") from None


class _Column(NamedTuple):
    """A feature's name and description, with its dtype."""

    name: str
    feature: Any
    dtype: DType
    label: str  # of the example, in errors


def _check_dtype(name: str, dtype: DTypeLike) -> DType:
    result = as_dtype(dtype)
    if result.name not in _NAMES:
        raise InvalidArgumentError(
            f"Feature {name}: dtype {result.name} is not in the list of allowed values: float32, "
            f"int64, string. Parse it as one of them, and cast."
        )
    return result


def _values(features: Mapping[str, Values], name: str, dtype: DType, index: int) -> Any:
    """Return the values of a feature, or None if it is missing.

    Raises:
      InvalidArgumentError: If they have another dtype.
    """
    pair = features.get(name)
    if pair is None:
        return None
    kind, values = pair
    if _DTYPES[kind] is not dtype:
        if not len(values):
            return None
        raise InvalidArgumentError(
            f"Name: <unknown>, Key: {name}, Index: {index}.  Data types don't match. Data type: "
            f"{_NAMES[_DTYPES[kind].name]} but expected type: {_NAMES[dtype.name]}"
        )
    return values


def _to_array(values: Any, dtype: DType, shape: tuple[int, ...]) -> Array:
    if dtype is dtypes.string:
        array = np.empty(len(values), object)
        array[:] = values
        return array.reshape(shape)
    return np.asarray(values, dtype.as_numpy_dtype).reshape(shape)


def _empty(dtype: DType) -> Any:
    return [] if dtype is dtypes.string else np.zeros(0, dtype.as_numpy_dtype)


def _join(parts: Sequence[Any], dtype: DType) -> Array:
    """Concatenate lists of values."""
    if dtype is dtypes.string:
        flat = [x for part in parts for x in part]
        return _to_array(flat, dtype, (len(flat),))
    return np.concatenate([np.zeros(0, dtype.as_numpy_dtype), *parts])


def _as_result(array: Array) -> Any:
    return of_strings(array) if array.dtype == object else as_tensor(array)


def _shape_of(shape: Any) -> tuple[Any, ...]:
    if isinstance(shape, int | np.integer):
        return (int(shape),)
    return tuple(None if size is None else int(size) for size in shape)


def _default(feature: Any, dtype: DType, shape: tuple[int, ...], name: str) -> Array:
    value = feature.default_value
    if dtype is dtypes.string:
        array = to_string_array(value)
    else:
        array = np.asarray(value, dtype.as_numpy_dtype)
    if array.size != int(np.prod(shape)):
        raise InvalidArgumentError(
            f"Feature {name}: default_value has {array.size} values, but the shape is {shape}."
        )
    return array.reshape(shape)


def _parse_fixed(examples: list[_Features], column: _Column) -> Any:
    shape = _shape_of(column.feature.shape)
    if None in shape:
        raise ValueError(
            f"First dimension of shape for feature {column.name} unknown. Consider using "
            f"FixedLenSequenceFeature. Received feature={column.feature}."
        )
    size, rows = int(np.prod(shape)), []
    for index, features in enumerate(examples):
        values = _values(features, column.name, column.dtype, index)
        if values is None:
            if column.feature.default_value is None:
                raise InvalidArgumentError(
                    f"Name: <unknown>, Feature: {column.name} (data type: "
                    f"{_NAMES[column.dtype.name]}) is required but could not be found."
                )
            rows.append(_default(column.feature, column.dtype, shape, column.name))
            continue
        if len(values) != size:
            raise InvalidArgumentError(
                f"Name: <unknown>, Key: {column.name}, Index: {index}.  Number of "
                f"{_NAMES[column.dtype.name]} values != expected.  Values size: {len(values)} but "
                f"output shape: {list(shape)}"
            )
        rows.append(_to_array(values, column.dtype, shape))
    if not rows:
        return _as_result(np.zeros((0, *shape), _numpy_dtype(column.dtype)))
    return _as_result(np.stack(rows))


def _numpy_dtype(dtype: DType) -> Any:
    return object if dtype is dtypes.string else dtype.as_numpy_dtype


def _pad(rows: list[Array], feature: Any, dtype: DType, shape: tuple[int, ...]) -> Array:
    """Stack arrays of steps, padded to the largest number of steps."""
    value: Any = b"" if dtype is dtypes.string else 0
    if feature.default_value is not None:
        value = _default(feature, dtype, (), "")[()]
    length = max((len(row) for row in rows), default=0)
    padded = np.full((len(rows), length, *shape), value, _numpy_dtype(dtype))
    for k, row in enumerate(rows):
        padded[k, : len(row)] = row
    return padded


def _parse_fixed_sequence(examples: list[_Features], column: _Column) -> Any:
    feature, dtype, shape = column.feature, column.dtype, _shape_of(column.feature.shape)
    if not feature.allow_missing:
        raise ValueError("Unsupported: FixedLenSequenceFeature requires allow_missing to be True.")
    size, rows = int(np.prod(shape)), []
    for index, features in enumerate(examples):
        values = _values(features, column.name, dtype, index)
        values = _empty(dtype) if values is None else values
        if size == 0 or len(values) % size:
            raise InvalidArgumentError(
                f"Name: <unknown>, Key: {column.name}, Index: {index}.  Number of "
                f"{_NAMES[dtype.name]} values is not a multiple of stride length. Saw "
                f"{len(values)} values but output shape is: {list(shape)}"
            )
        rows.append(_to_array(values, dtype, (len(values) // size, *shape)))
    return _as_result(_pad(rows, feature, dtype, shape))


def _sparse(indices: Array, values: Array, shape: Sequence[int]) -> Any:
    from ..composites.sparse_tensor import SparseTensor

    return SparseTensor(
        as_tensor(indices), _as_result(values), as_tensor(np.array(shape, np.int64))
    )


def _parse_variable(examples: list[_Features], column: _Column) -> Any:
    parts = []
    for index, features in enumerate(examples):
        values = _values(features, column.name, column.dtype, index)
        parts.append(_empty(column.dtype) if values is None else values)
    lengths = np.array([len(part) for part in parts], np.int64)
    return _sparse(
        _positions(lengths),
        _join(parts, column.dtype),
        [len(parts), int(lengths.max(initial=0))],
    )


def _positions(lengths: Array) -> Array:
    """Return the row and column of each value of rows of these lengths."""
    row_numbers = np.repeat(np.arange(len(lengths)), lengths)
    starts = np.cumsum(lengths) - lengths
    columns = np.arange(int(lengths.sum())) - np.repeat(starts, lengths)
    return np.stack([row_numbers, columns], 1).astype(np.int64)


def _parse_sparse(examples: list[_Features], column: _Column) -> Any:
    feature, dtype = column.feature, column.dtype
    keys = [feature.index_key] if isinstance(feature.index_key, str) else [*feature.index_key]
    sizes = [feature.size] if np.ndim(feature.size) == 0 else [*feature.size]
    if len(keys) != len(sizes):
        raise ValueError(f"SparseFeature: {len(keys)} index keys, but {len(sizes)} sizes.")
    indices, values = [np.zeros((0, 1 + len(keys)), np.int64)], []
    for index, features in enumerate(examples):
        part = _values(features, feature.value_key, dtype, index)
        part = _empty(dtype) if part is None else part
        axes = [_values(features, key, dtypes.int64, index) for key in keys]
        axes = [np.zeros(0, np.int64) if axis is None else axis for axis in axes]
        if any(len(axis) != len(part) for axis in axes):
            raise InvalidArgumentError(
                f"SparseFeature {column.name}: {len(part)} values, but "
                f"{[len(axis) for axis in axes]} indices."
            )
        order = np.arange(len(part)) if feature.already_sorted else np.lexsort(axes[::-1])
        rows = np.full(len(part), index, np.int64)
        indices.append(np.stack([rows, *(axis[order] for axis in axes)], 1))
        values.append(_to_array(part, dtype, (len(part),))[order])
    return _sparse(np.concatenate(indices), _join(values, dtype), [len(examples), *sizes])


def _ragged_of(values: Any, partitions: Any, number: Callable[[str], Any], dtype: DTypeLike) -> Any:
    """Return values split by partitions, the outermost first."""
    from ..composites.ragged_tensor import RaggedTensor

    result = values
    for partition in reversed(partitions):
        constructor = _CONSTRUCTORS.get(type(partition))
        if constructor is None:
            raise TypeError(f"Unsupported partition {partition!r} of a RaggedFeature.")
        if isinstance(partition, _UniformRowLength):
            argument: Any = partition.length
        else:
            argument = np.asarray(number(partition.key), as_dtype(dtype).as_numpy_dtype)
        result = getattr(RaggedTensor, constructor)(result, argument)
    return result


def _parse_ragged(examples: list[_Features], column: _Column, is_single: bool) -> Any:
    from ..composites.ragged_creation import stack
    from ..composites.ragged_tensor import RaggedTensor

    feature, dtype = column.feature, column.dtype
    key = column.name if feature.value_key is None else feature.value_key
    parts = []
    for index, features in enumerate(examples):
        values = _values(features, key, dtype, index)
        values = _empty(dtype) if values is None else values
        parts.append(_to_array(values, dtype, (len(values),)))
    if not feature.partitions:
        if is_single:
            return _as_result(parts[0])
        splits = np.cumsum([0, *map(len, parts)])
        splits = splits.astype(as_dtype(feature.row_splits_dtype).as_numpy_dtype)
        return RaggedTensor.from_row_splits(_as_result(_join(parts, dtype)), splits)
    rows = []
    for index, part in enumerate(parts):

        def number(name: str, index: int = index) -> Any:
            values = _values(examples[index], name, dtypes.int64, index)
            return np.zeros(0, np.int64) if values is None else values

        rows.append(
            _ragged_of(_as_result(part), feature.partitions, number, feature.row_splits_dtype)
        )
    return rows[0] if is_single else stack(rows)


def _parse_features(
    examples: list[_Features], features: Mapping[str, Any], is_single: bool
) -> dict[str, Any]:
    """Parse the features of examples; of a single one without the first axis."""
    result: dict[str, Any] = {}
    for name, feature in features.items():
        if type(feature) not in _FEATURES:
            raise ValueError(f"Unsupported {type(feature).__name__} {feature} for feature {name}.")
        column = _Column(name, feature, _check_dtype(name, feature.dtype), "<unknown>")
        if isinstance(feature, RaggedFeature):
            result[name] = _parse_ragged(examples, column, is_single)
            continue
        value = _PARSERS[type(feature)](examples, column)
        if is_single:
            value = _first(value)
        result[name] = value
    return result


def _first(value: Any) -> Any:
    """Return the first row of a dense or sparse tensor of one row."""
    if hasattr(value, "dense_shape"):
        shape = np.asarray(value.dense_shape.numpy())[1:]
        return _sparse(value.indices.numpy()[:, 1:], _as_numpy(value.values), shape.tolist())
    return value[0]


def _as_numpy(values: Any) -> Any:
    return to_string_array(values) if values.dtype is dtypes.string else values.numpy()


_PARSERS: dict[type, Callable[[list[_Features], _Column], Any]] = {
    FixedLenFeature: _parse_fixed,
    FixedLenSequenceFeature: _parse_fixed_sequence,
    VarLenFeature: _parse_variable,
    SparseFeature: _parse_sparse,
}
_FEATURES = (*_PARSERS, RaggedFeature)


def _check_features(features: Any, label: str) -> None:
    if not features:
        raise ValueError(f"Argument `{label}` cannot be None or falsy. Got {features}")


def parse_example(
    serialized: StringLike,
    features: Mapping[str, Any],
    example_names: object = None,
    name: str | None = None,
) -> dict[str, Any]:
    """Parse serialized `train.Example` messages to tensors.

    Args:
      serialized: Strings of shape (n,), or a single one.
      features: A dict from names to `FixedLenFeature`, `VarLenFeature`, `SparseFeature`,
        `RaggedFeature` or `FixedLenSequenceFeature`.
      example_names: Not used.
      name: Not used.

    Returns:
      A dict of dense, sparse or ragged tensors, with a first axis of size n.

    Raises:
      ValueError: If ``features`` is empty, or a feature is described in a wrong way.
      InvalidArgumentError: If bytes are no example, or its features do not match the description.

    Example:
      >>> example = tf.train.Example()
      >>> example.features.feature["x"].float_list.value.extend([1.0, 2.0])
      >>> data = example.SerializeToString()
      >>> tf.io.parse_example([data, data], {"x": tf.io.FixedLenFeature([2], tf.float32)})
      {'x': <tf.Tensor: shape=(2, 2), dtype=float32, numpy=
      array([[1., 2.],
             [1., 2.]], dtype=float32)>}
    """
    _check_features(features, "features")
    strings = to_string_array(serialized)
    if strings.ndim > 1:
        raise InvalidArgumentError(
            f"Expected serialized to be a scalar or vector, got shape {list(strings.shape)}"
        )
    examples = [_read_example(data, k) for k, data in enumerate(strings.reshape(-1).tolist())]
    return _parse_features(examples, features, not strings.ndim)


def parse_single_example(
    serialized: StringLike,
    features: Mapping[str, Any],
    example_names: object = None,
    name: str | None = None,
) -> dict[str, Any]:
    """Parse one serialized `train.Example` message to tensors.

    Args:
      serialized: A string of shape ().
      features: A dict; see `parse_example`.
      example_names: Not used.
      name: Not used.

    Returns:
      A dict of tensors.

    Raises:
      ValueError: If ``serialized`` is no scalar, ``features`` is empty, or a feature is described
        in a wrong way.
      InvalidArgumentError: If the bytes are no example, or its features do not match.

    Example:
      >>> example = tf.train.Example()
      >>> example.features.feature["x"].int64_list.value.append(7)
      >>> features = {"x": tf.io.FixedLenFeature([], tf.int64)}
      >>> tf.io.parse_single_example(example.SerializeToString(), features)["x"].numpy()
      np.int64(7)
    """
    _check_features(features, "features")
    strings = to_string_array(serialized)
    if strings.ndim:
        raise ValueError("Input serialized must be a scalar")
    return parse_example(serialized, features)


def _parse_list(
    lists: list[dict[str, list[Values | None]]], column: _Column, is_single: bool
) -> tuple[Any, Any]:
    """Parse a feature of the steps of sequences; also return their lengths."""
    feature, dtype, name = column.feature, column.dtype, column.name
    if isinstance(feature, RaggedFeature) and feature.value_key is not None:
        name = feature.value_key
    sequences: list[list[Any]] = []
    for index, one in enumerate(lists):
        if name not in one and isinstance(feature, FixedLenSequenceFeature):
            if not feature.allow_missing:
                raise InvalidArgumentError(
                    f"Name: <unknown>, Feature list '{name}' is required but could not be found.  "
                    f"Did you mean to include it in feature_list_dense_missing_assumed_empty or "
                    f"feature_list_dense_defaults?"
                )
        steps = []
        for pair in one.get(name, []):
            values = None if pair is None else _values({name: pair}, name, dtype, index)
            steps.append(_empty(dtype) if values is None else values)
        sequences.append(steps)
    lengths = np.array([len(steps) for steps in sequences], np.int64)
    if isinstance(feature, FixedLenSequenceFeature):
        return _dense_list(sequences, column, is_single), lengths
    counts = [np.array([len(step) for step in steps], np.int64) for steps in sequences]
    flat = _join([step for steps in sequences for step in steps], dtype)
    if isinstance(feature, VarLenFeature):
        return _sparse_list(counts, lengths, flat, is_single), lengths
    return _ragged_list(counts, flat, column, is_single), lengths


def _dense_list(sequences: list[list[Any]], column: _Column, is_single: bool) -> Any:
    shape, dtype = _shape_of(column.feature.shape), column.dtype
    size, rows = int(np.prod(shape)), []
    for steps in sequences:
        for index, step in enumerate(steps):
            if len(step) != size:
                raise InvalidArgumentError(
                    f"Name: <unknown>, Key: {column.name}, Index: {index}.  Number of "
                    f"{_NAMES[dtype.name]} values != expected.  values size: {len(step)} but "
                    f"output shape: {list(shape)}"
                )
        rows.append(_to_array(_join(steps, dtype), dtype, (len(steps), *shape)))
    return _as_result(rows[0] if is_single else _pad(rows, column.feature, dtype, shape))


def _sparse_list(counts: list[Array], lengths: Array, flat: Array, is_single: bool) -> Any:
    width = max((int(part.max(initial=0)) for part in counts), default=0)
    indices = [np.zeros((0, 3), np.int64)]
    for k, part in enumerate(counts):
        positions = _positions(part)
        indices.append(np.insert(positions, 0, k, axis=1))
    joined = np.concatenate(indices)
    if is_single:
        return _sparse(joined[:, 1:], flat, [int(lengths[0]), width])
    return _sparse(joined, flat, [len(counts), int(lengths.max(initial=0)), width])


def _ragged_list(counts: list[Array], flat: Array, column: _Column, is_single: bool) -> Any:
    from ..composites.ragged_tensor import RaggedTensor

    if column.feature.partitions:
        raise ValueError(
            f"Feature {column.name}: partitions are not supported in sequence_features; parse the "
            f"values, and split them with RaggedTensor.from_row_splits."
        )
    dtype = as_dtype(column.feature.row_splits_dtype).as_numpy_dtype
    inner = RaggedTensor.from_row_lengths(
        _as_result(flat), np.concatenate([np.zeros(0, np.int64), *counts]).astype(dtype)
    )
    if is_single:
        return inner
    return RaggedTensor.from_row_lengths(inner, np.array([*map(len, counts)], dtype))


def parse_sequence_example(
    serialized: StringLike,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_names: object = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Tensor]]:
    """Parse serialized `train.SequenceExample` messages to tensors.

    Args:
      serialized: Strings of shape (n,).
      context_features: A dict of features of the context; see `parse_example`.
      sequence_features: A dict of `FixedLenSequenceFeature`, `VarLenFeature` or `RaggedFeature`,
        each parsed to a tensor of (example, step, values).
      example_names: Not used.
      name: Not used.

    Returns:
      A dict of tensors of the context, one of the sequences, and the lengths of dense sequences.

    Raises:
      ValueError: If there are no features, or a feature is described in a wrong way.
      InvalidArgumentError: If bytes are no such message, or its features do not match.

    Example:
      >>> example = tf.train.SequenceExample()
      >>> for k in range(3):
      ...     step = example.feature_lists.feature_list["x"].feature.add()
      ...     step.int64_list.value.append(k)
      >>> features = {"x": tf.io.FixedLenSequenceFeature([], tf.int64)}
      >>> _, sequences, lengths = tf.io.parse_sequence_example(
      ...     [example.SerializeToString()], sequence_features=features)
      >>> sequences["x"].numpy(), lengths["x"].numpy()
      (array([[0, 1, 2]]), array([3]))
    """
    strings = to_string_array(serialized)
    return _parse_sequences(
        strings.reshape(-1).tolist(), context_features, sequence_features, False
    )


def parse_single_sequence_example(
    serialized: StringLike,
    context_features: Mapping[str, Any] | None = None,
    sequence_features: Mapping[str, Any] | None = None,
    example_name: object = None,
    name: str | None = None,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parse one serialized `train.SequenceExample` message to tensors.

    Args:
      serialized: A string of shape ().
      context_features: A dict of features of the context; see `parse_example`.
      sequence_features: A dict; see `parse_sequence_example`.
      example_name: Not used.
      name: Not used.

    Returns:
      A dict of tensors of the context, and one of the sequences.

    Raises:
      ValueError: If ``serialized`` is no scalar, there are no features, or a feature is described
        in a wrong way.
      InvalidArgumentError: If the bytes are no such message, or its features do not match.

    Example:
      >>> example = tf.train.SequenceExample()
      >>> example.context.feature["n"].int64_list.value.append(5)
      >>> features = {"n": tf.io.FixedLenFeature([], tf.int64)}
      >>> data = example.SerializeToString()
      >>> tf.io.parse_single_sequence_example(data, features)[0]["n"].numpy()
      np.int64(5)
    """
    strings = to_string_array(serialized)
    if strings.ndim:
        raise ValueError("Input serialized must be a scalar")
    return _parse_sequences([strings.tolist()], context_features, sequence_features, True)[:2]


def _parse_sequences(
    serialized: list[bytes],
    context_features: Mapping[str, Any] | None,
    sequence_features: Mapping[str, Any] | None,
    is_single: bool,
) -> tuple[dict[str, Any], dict[str, Any], dict[str, Tensor]]:
    if not context_features and not sequence_features:
        raise ValueError("Both `context_features` and `sequence_features` argument are None.")
    pairs = [_read_sequence_example(data) for data in serialized]
    context = _parse_features([one for one, _ in pairs], context_features or {}, is_single)
    lists = [one for _, one in pairs]
    sequences, lengths = {}, {}
    for name, feature in (sequence_features or {}).items():
        if not isinstance(feature, FixedLenSequenceFeature | VarLenFeature | RaggedFeature):
            raise ValueError(f"Unsupported {type(feature).__name__} {feature} for feature {name}.")
        column = _Column(name, feature, _check_dtype(name, feature.dtype), "<unknown>")
        sequences[name], length = _parse_list(lists, column, is_single)
        if isinstance(feature, FixedLenSequenceFeature):
            lengths[name] = as_tensor(length)
    return context, sequences, lengths
