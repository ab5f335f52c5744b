"""Lookup tables: maps from strings or integers to strings or numbers.

`StaticHashTable` and `StaticVocabularyTable` do not change; if their keys are integers and their
values numbers, a lookup is recorded as ops. All other lookups compute at once, and a `function`
that makes them runs as Python.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from ..core.log.as_tensor import from_owned_array
from ..core.log.string_tensor import StringTensor, of_strings, run_as_python
from ..core.ops import indexing, sorting
from ..core.ops.creation import convert_to_tensor
from ..core.ops.elementwise import cast
from ..core.values import dtypes
from ..core.values.composite import Composite
from ..core.values.dtypes import DType, as_dtype
from ..core.values.tensor import Tensor
from ..errors import (
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
)
from ..strings import as_string, to_hash_bucket_fast
from .initializers import Initializer

if TYPE_CHECKING:
    from ..core.values.annotations import DTypeLike, StringLike, TensorLike

Array = np.ndarray[Any, Any]
_KEY_TYPES = (dtypes.string, dtypes.int64, dtypes.int32)


def _tensor(array: Array) -> Any:
    """Return a tensor of an array that is not written to afterwards."""
    return of_strings(array) if array.dtype.kind == "O" else from_owned_array(array)


def _array_of(dtype: DType, values: list[Any], shape: tuple[int, ...]) -> Array:
    """Return an array of values, each of ``shape``."""
    if dtype is dtypes.string:
        result = np.empty((len(values), *shape), object)
        for k, value in enumerate(values):
            result[k] = value
        return result
    return np.array(values, dtype.numpy_dtype).reshape(len(values), *shape)


class Table:
    """The base of tables: dtypes, and lookups by `_lookup_dense`."""

    def __init__(self, key_dtype: DTypeLike, value_dtype: DTypeLike) -> None:
        self._key_dtype, self._value_dtype = as_dtype(key_dtype), as_dtype(value_dtype)
        if self._key_dtype not in _KEY_TYPES:
            raise NotFoundError(
                f"No table has keys of dtype {self._key_dtype.name}: use string, int64 or int32."
            )

    @property
    def key_dtype(self) -> DType:
        """The dtype of the keys.

        Example:
          >>> tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1).key_dtype
          tf.string
        """
        return self._key_dtype

    @property
    def value_dtype(self) -> DType:
        """The dtype of the values.

        Example:
          >>> tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1).value_dtype
          tf.int64
        """
        return self._value_dtype

    @property
    def name(self) -> str:
        """The name.

        Example:
          >>> tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1).name
          'MutableHashTable'
        """
        return type(self).__name__

    def lookup(self, keys: Any, name: str | None = None) -> Any:
        """Return the values of keys.

        Args:
          keys: A tensor of keys; it may be sparse or ragged.
          name: Not used.

        Returns:
          A tensor of values of the same shape, with the default value for keys that are absent.

        Raises:
          TypeError: If the keys have another dtype.

        Example:
          >>> table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
          >>> table.lookup(tf.constant(["a"])).numpy()
          array([-1])
        """
        if isinstance(keys, Composite) and not isinstance(keys, StringTensor):
            inner: Any = keys
            if hasattr(inner, "with_flat_values"):
                return inner.with_flat_values(self.lookup(inner.flat_values))
            return inner.with_values(self.lookup(inner.values))
        return self._lookup_dense(self._keys(keys))

    def __getitem__(self, keys: Any) -> Any:
        return self.lookup(keys)

    def _keys(self, keys: Any) -> Any:
        """Convert keys to a tensor."""
        tensor: Any = convert_to_tensor(
            keys, None if hasattr(keys, "dtype") else self._lookup_dtype
        )
        if tensor.dtype is not self._lookup_dtype:
            raise TypeError(
                f"Dtype of argument `keys` must be {self._lookup_dtype}, received: {tensor.dtype}"
            )
        return tensor

    @property
    def _lookup_dtype(self) -> DType:
        return self._key_dtype

    def _lookup_dense(self, keys: Any) -> Any:
        raise NotImplementedError

    def _nt_saved_parts(self) -> dict[str, Any]:
        """Return nothing: checkpoints do not store a table that its initializer fills."""
        return {}


class StaticHashTable(Table):
    """A table that does not change.

    Args:
      initializer: A `KeyValueTensorInitializer` or `TextFileInitializer`.
      default_value: The value of keys that are absent.
      name: Not used.
      experimental_is_anonymous: Accepted for compatibility with TensorFlow; not used.

    Raises:
      FailedPreconditionError: If one key has two values.
      InvalidArgumentError: If there are not as many values as keys.
      TypeError: If the default value has another dtype than the values.

    Example:
      >>> table = tf.lookup.StaticHashTable(
      ...     tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2]), default_value=-1)
      >>> table.lookup(tf.constant(["b", "z"])).numpy()
      array([ 2, -1], dtype=int32)
    """

    def __init__(
        self,
        initializer: Initializer,
        default_value: TensorLike | StringLike,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        super().__init__(initializer.key_dtype, initializer.value_dtype)
        default: Any = default_value
        self._default = convert_to_tensor(
            default, None if hasattr(default, "dtype") else self._value_dtype
        )
        if self._default.dtype is not self._value_dtype or self._default.ndim:
            raise TypeError(
                f"The default value must be a scalar of {self._value_dtype.name}, got "
                f"{default_value!r}."
            )
        self._index: dict[Any, int] = {}
        self._sorted: tuple[Any, Any] | None = None
        initializer.initialize(self)

    def _fill(self, keys: Array, values: Array) -> None:
        """Store keys and values, called by the initializer."""
        run_as_python("a table that changes")
        if keys.shape != values.shape:
            raise InvalidArgumentError(
                f"Expected shape {list(keys.shape)} for value, got {list(values.shape)}"
            )
        index: dict[Any, int] = {}
        unique_values: list[Any] = []
        for key, value in zip(keys.ravel().tolist(), values.ravel().tolist(), strict=True):
            position = index.setdefault(key, len(index))
            if position == len(unique_values):
                unique_values.append(value)
            elif unique_values[position] != value:
                raise FailedPreconditionError(
                    f"HashTable has different value for same key. Key {_text(key)} has "
                    f"{_text(unique_values[position])} and trying to add value {_text(value)}"
                )
        self._index = index
        # The last entry is the default value, for keys that are absent.
        default: Any = np.asarray(self._default)[()]
        self._values = _array_of(self._value_dtype, [*unique_values, default], ())
        if self._key_dtype is not dtypes.string and self._value_dtype is not dtypes.string:
            order = np.argsort(np.array(list(index), np.int64), kind="stable")
            sorted_keys = np.array(list(index), self._key_dtype.numpy_dtype)[order]
            self._sorted = (
                from_owned_array(sorted_keys),
                from_owned_array(self._values[:-1][order]),
            )

    @property
    def default_value(self) -> Any:
        """The value of keys that are absent, a tensor.

        Example:
          >>> init = tf.lookup.KeyValueTensorInitializer(["a"], [1])
          >>> int(tf.lookup.StaticHashTable(init, -1).default_value)
          -1
        """
        return self._default

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of keys, a scalar of int64.

        Args:
          name: Not used.

        Example:
          >>> tf.lookup.StaticHashTable(
          ...     tf.lookup.KeyValueTensorInitializer(["a"], [1]), -1).size().numpy().tolist()
          1
        """
        return from_owned_array(np.array(len(self._index), np.int64))

    def export(self, name: str | None = None) -> tuple[Any, Any]:
        """Return all keys and their values.

        Args:
          name: Not used.

        Returns:
          Two vectors.

        Example:
          >>> keys, values = tf.lookup.StaticHashTable(
          ...     tf.lookup.KeyValueTensorInitializer(["a"], [1]), -1).export()
          >>> keys.numpy(), values.numpy()
          (array([b'a'], dtype=object), array([1], dtype=int32))
        """
        keys = _array_of(self._key_dtype, list(self._index), ())
        return _tensor(keys), _tensor(self._values[:-1].copy())

    def _lookup_dense(self, keys: Any) -> Any:
        if self._sorted is not None:
            return self._lookup_recorded(keys)
        run_as_python("a table of strings")
        array = np.asarray(keys)
        index, absent = self._index, len(self._index)
        positions = [index.get(key, absent) for key in array.ravel().tolist()]
        values = self._values[np.array(positions, np.int64)]
        return _tensor(values.reshape(array.shape))

    def _lookup_recorded(self, keys: Tensor) -> Tensor:
        """Look up integers by ops."""
        assert self._sorted is not None
        sorted_keys, values = self._sorted
        if not self._index:
            return indexing.where(keys == keys, self._default, self._default)
        flat = keys if keys.ndim else keys[None]
        row = sorting.searchsorted(sorted_keys, _ravel(flat))
        row = _reshape_like(row, flat)
        last = len(self._index) - 1
        row = indexing.where(row > last, last, row)
        is_present = indexing.gather(sorted_keys, row) == flat
        result = indexing.where(is_present, indexing.gather(values, row), self._default)
        return result if keys.ndim else result[0]


def _ravel(x: Tensor) -> Tensor:
    from ..core.ops.movement import reshape

    return reshape(x, [-1])


def _reshape_like(x: Tensor, like: Tensor) -> Tensor:
    from ..core.ops.movement import reshape

    return reshape(x, tuple(like.shape))


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


class StaticVocabularyTable(Table):
    """A vocabulary, with buckets for strings that are not in it.

    A key of the initializer has its value. Any other key has a number from the size of the
    vocabulary on: its FarmHash fingerprint modulo the number of buckets.

    Args:
      initializer: A `KeyValueTensorInitializer` or `TextFileInitializer` with values of int64;
        None for buckets only.
      num_oov_buckets: The number of buckets.
      lookup_key_dtype: The dtype of keys; by default that of the initializer, or string.
      name: Not used.
      experimental_is_anonymous: Accepted for compatibility with TensorFlow; not used.

    Raises:
      ValueError: If there are no buckets.
      TypeError: If dtypes are not supported.

    Example:
      >>> init = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], tf.int64))
      >>> table = tf.lookup.StaticVocabularyTable(init, num_oov_buckets=3)
      >>> table.lookup(tf.constant(["b", "x", "hello"])).numpy()
      array([1, 4, 3])
    """

    def __init__(
        self,
        initializer: Initializer | None,
        num_oov_buckets: int,
        lookup_key_dtype: DTypeLike | None = None,
        name: str | None = None,
        experimental_is_anonymous: bool = False,
    ) -> None:
        if num_oov_buckets <= 0:
            raise ValueError("`num_oov_buckets` must be > 0; use StaticHashTable.")
        lookup_dtype = None if lookup_key_dtype is None else as_dtype(lookup_key_dtype)
        self._table: StaticHashTable | None = None
        if initializer is not None:
            if initializer.value_dtype is not dtypes.int64:
                raise TypeError(
                    f"Invalid `value_dtype`, expected {dtypes.int64} but got "
                    f"{initializer.value_dtype}."
                )
            key_dtype = initializer.key_dtype
            lookup_dtype = lookup_dtype or key_dtype
            if key_dtype.is_integer != lookup_dtype.is_integer:
                expected = "integer" if lookup_dtype.is_integer else str(lookup_dtype)
                raise TypeError(f"Invalid `key_dtype`, expected {expected} but got {key_dtype}.")
            self._table = StaticHashTable(initializer, -1)
        else:
            key_dtype = lookup_dtype = lookup_dtype or dtypes.string
        super().__init__(key_dtype, dtypes.int64)
        self._requested_dtype = lookup_dtype
        self._buckets = num_oov_buckets

    @property
    def _lookup_dtype(self) -> DType:
        return self._requested_dtype

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of keys and buckets, a scalar of int64.

        Args:
          name: Not used.

        Example:
          >>> int(tf.lookup.StaticVocabularyTable(None, 5).size())
          5
        """
        known = 0 if self._table is None else len(self._table._index)
        return from_owned_array(np.array(known + self._buckets, np.int64))

    def _lookup_dense(self, keys: Any) -> Any:
        texts = keys if isinstance(keys, StringTensor) else as_string(keys)
        buckets = to_hash_bucket_fast(texts, self._buckets)
        if self._table is None:
            return buckets
        if not isinstance(keys, StringTensor):
            keys = cast(keys, self._key_dtype)
        numbers = self._table.lookup(keys)
        size = len(self._table._index)
        return indexing.where(numbers == self._table._default, buckets + size, numbers)


class MutableHashTable(Table):
    """A table that changes: keys are inserted and removed.

    Args:
      key_dtype: The dtype of the keys: string, int64 or int32.
      value_dtype: The dtype of the values.
      default_value: The value of keys that are absent: a scalar, or a vector if values are
        vectors.
      name: The name.
      checkpoint: Whether checkpoints store the table.
      experimental_is_anonymous: Accepted for compatibility with TensorFlow; not used.

    Raises:
      TypeError: If the default value has another dtype.

    Example:
      >>> table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, default_value=-1)
      >>> table.insert(tf.constant(["a", "b"]), tf.constant([1, 2], tf.int64))
      >>> table.lookup(tf.constant(["b", "z"])).numpy()
      array([ 2, -1])
    """

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value: TensorLike | StringLike,
        name: str = "MutableHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        super().__init__(key_dtype, value_dtype)
        self._name, self._is_saved = name, checkpoint
        default: Any = convert_to_tensor(default_value, self._value_dtype)
        self._default: Array = np.asarray(default)
        self._items: dict[Any, Any] = {}

    @property
    def name(self) -> str:
        """The name.

        Example:
          >>> tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1, name="t").name
          't'
        """
        return self._name

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of keys, a scalar of int64.

        Args:
          name: Not used.

        Example:
          >>> int(tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1).size())
          0
        """
        run_as_python("a table that changes")
        return from_owned_array(np.array(len(self._items), np.int64))

    def _convert(self, what: str, value: Any, dtype: DType) -> Array:
        try:
            return np.asarray(convert_to_tensor(value, dtype))
        except ValueError as error:
            raise ValueError(f"{what}: {error}") from None

    def insert(
        self,
        keys: TensorLike | StringLike,
        values: TensorLike | StringLike,
        name: str | None = None,
    ) -> None:
        """Insert keys with values; keys that are present get new values.

        Args:
          keys: A tensor of keys.
          values: Their values: a tensor of the same shape, with one more axis for vectors.
          name: Not used.

        Raises:
          ValueError: If a tensor has another dtype.
          InvalidArgumentError: If the shapes do not fit.

        Example:
          >>> table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.float32, 0.0)
          >>> table.insert([1, 2], [0.5, 1.5])
          >>> table.lookup(tf.constant([2], tf.int64)).numpy()
          array([1.5], dtype=float32)
        """
        run_as_python("a table that changes")
        key_array = self._convert("keys", keys, self._key_dtype)
        value_array = self._convert("values", values, self._value_dtype)
        expected = (*key_array.shape, *self._default.shape)
        if value_array.shape != expected:
            raise InvalidArgumentError(
                f"Expected shape {list(expected)} for value, got {list(value_array.shape)}"
            )
        self._check_keys(key_array)
        rows = value_array.reshape(-1, *self._default.shape)
        self._items.update(zip(key_array.ravel().tolist(), rows.copy(), strict=True))

    def _check_keys(self, keys: Array) -> None:
        """Raise an error if keys must not be inserted or removed."""

    def remove(self, keys: TensorLike | StringLike, name: str | None = None) -> None:
        """Remove keys; keys that are absent are ignored.

        Args:
          keys: A tensor of keys.
          name: Not used.

        Raises:
          TypeError: If the keys have another dtype.

        Example:
          >>> table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.float32, 0.0)
          >>> table.insert([1, 2], [0.5, 1.5])
          >>> table.remove(tf.constant([1], tf.int64))
          >>> int(table.size())
          1
        """
        run_as_python("a table that changes")
        array = np.asarray(self._keys(keys))
        self._check_keys(array)
        for key in array.ravel().tolist():
            self._items.pop(key, None)

    def lookup(  # type: ignore[override]
        self, keys: Any, dynamic_default_values: Any = None, name: str | None = None
    ) -> Any:
        """Return the values of keys.

        Args:
          keys: A tensor of keys; it may be sparse or ragged.
          dynamic_default_values: A tensor of the shape of the result, or of the default value, in
            place of the default value.
          name: Not used.

        Returns:
          A tensor of values of the shape of ``keys``, with one more axis for vectors.

        Raises:
          TypeError: If the keys have another dtype.

        Example:
          >>> table = tf.lookup.experimental.MutableHashTable(tf.string, tf.int64, -1)
          >>> table.lookup(tf.constant(["a"]), tf.constant([5], tf.int64)).numpy()
          array([5])
        """
        if dynamic_default_values is None:
            return super().lookup(keys)
        return self._lookup_dense(self._keys(keys), dynamic_default_values)

    def _lookup_dense(self, keys: Any, default_values: Any = None) -> Any:
        run_as_python("a table that changes")
        array = np.asarray(keys)
        shape = (array.size, *self._default.shape)
        defaults: Array = self._default
        if default_values is not None:
            defaults = self._convert("default values", default_values, self._value_dtype)
            if defaults.ndim > self._default.ndim:
                defaults = defaults.reshape(shape)
        rows = np.broadcast_to(defaults, shape)
        items = self._items
        values = [
            items.get(key, row) for key, row in zip(array.ravel().tolist(), rows, strict=True)
        ]
        result = _array_of(self._value_dtype, values, self._default.shape)
        return _tensor(result.reshape((*array.shape, *self._default.shape)))

    # Checkpoints store the content as JSON, with strings as characters below 256.

    def _nt_position(self) -> bytes:
        """Return the content, to be saved."""
        if not self._is_saved:
            return b""
        content = {
            "keys": [_to_json(key) for key in self._items],
            "values": [_to_json(np.asarray(value).tolist()) for value in self._items.values()],
        }
        return json.dumps(content).encode()

    def _nt_start_at(self, data: bytes) -> dict[Any, Any]:
        """Return the items of a saved content.

        Raises:
          DataLossError: If the data is damaged, or belongs to another table.
        """
        if not data or not self._is_saved:
            return dict(self._items)
        try:
            content = json.loads(data)
            keys = [_from_json(key) for key in content["keys"]]
            rows = [_from_json(value) for value in content["values"]]
            values = _array_of(self._value_dtype, rows, self._default.shape)
            is_text = self._key_dtype is dtypes.string
            if any(isinstance(key, bytes) != is_text for key in keys):
                raise ValueError("other keys")
        except (ValueError, TypeError, KeyError) as error:
            raise DataLossError(f"The saved table {self._name} cannot be read: {error}.") from None
        return dict(zip(keys, values, strict=True))

    def _nt_continue(self, items: dict[Any, Any]) -> None:
        """Continue with the result of `_nt_start_at`."""
        run_as_python("a table that changes")
        self._items = items

    def export(self, name: str | None = None) -> tuple[Any, Any]:
        """Return all keys and their values.

        Args:
          name: Not used.

        Returns:
          A vector of keys, and a tensor of values.

        Example:
          >>> table = tf.lookup.experimental.MutableHashTable(tf.int64, tf.float32, 0.0)
          >>> table.insert([1], [0.5])
          >>> [x.numpy().tolist() for x in table.export()]
          [[1], [0.5]]
        """
        run_as_python("a table that changes")
        keys = _array_of(self._key_dtype, list(self._items), ())
        values = _array_of(self._value_dtype, list(self._items.values()), self._default.shape)
        return _tensor(keys), _tensor(values)


def _to_json(value: Any) -> Any:
    if isinstance(value, list):
        return [_to_json(item) for item in value]
    return value.decode("latin-1") if isinstance(value, bytes) else value


def _from_json(value: Any) -> Any:
    if isinstance(value, list):
        return [_from_json(item) for item in value]
    return value.encode("latin-1") if isinstance(value, str) else value


class DenseHashTable(MutableHashTable):
    """A table that changes, with two keys that must not be used.

    TensorFlow's is faster than its `MutableHashTable` and uses more memory; numtape's two are the
    same but for the forbidden keys.

    Args:
      key_dtype: The dtype of the keys: string, int64 or int32.
      value_dtype: The dtype of the values.
      default_value: The value of keys that are absent.
      empty_key: A key that is never inserted.
      deleted_key: Another key that is never inserted.
      initial_num_buckets: Accepted for compatibility with TensorFlow: a power of two.
      name: The name.
      checkpoint: Whether checkpoints store the table.
      experimental_is_anonymous: Accepted for compatibility with TensorFlow; not used.

    Raises:
      InvalidArgumentError: If the forbidden keys are equal.

    Example:
      >>> table = tf.lookup.experimental.DenseHashTable(
      ...     tf.string, tf.int64, default_value=-1, empty_key="", deleted_key="$")
      >>> table.insert(["a"], [1])
      >>> table.lookup(tf.constant(["a", "b"])).numpy()
      array([ 1, -1])
    """

    def __init__(
        self,
        key_dtype: DTypeLike,
        value_dtype: DTypeLike,
        default_value: TensorLike | StringLike,
        empty_key: TensorLike | StringLike,
        deleted_key: TensorLike | StringLike,
        initial_num_buckets: int | None = None,
        name: str = "MutableDenseHashTable",
        checkpoint: bool = True,
        experimental_is_anonymous: bool = False,
    ) -> None:
        super().__init__(key_dtype, value_dtype, default_value, name, checkpoint)
        count = initial_num_buckets
        if count is not None and (count < 1 or count & (count - 1)):
            raise InvalidArgumentError(
                f"Number of buckets must be at least 4 and a power of 2, got: {count}"
            )
        empty, deleted = (
            self._convert("key", key, self._key_dtype).ravel().tolist()
            for key in (empty_key, deleted_key)
        )
        if empty == deleted:
            raise InvalidArgumentError("Empty and deleted keys cannot be equal")
        self._forbidden = {"empty_key": empty[0], "deleted_key": deleted[0]}

    def _check_keys(self, keys: Array) -> None:
        for name, key in self._forbidden.items():
            if key in keys.ravel().tolist():
                raise InvalidArgumentError(f"Using the {name} as a table key is not allowed")

    def _lookup_dense(self, keys: Any, default_values: Any = None) -> Any:
        self._check_keys(np.asarray(keys))
        return super()._lookup_dense(keys, default_values)

    def insert_or_assign(
        self,
        keys: TensorLike | StringLike,
        values: TensorLike | StringLike,
        name: str | None = None,
    ) -> None:
        """Insert keys with values. Same as `insert`.

        Args:
          keys: A tensor of keys.
          values: Their values.
          name: Not used.

        Example:
          >>> table = tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, 0, -1)
          >>> table.insert_or_assign([5], [6])
          >>> int(table.size())
          1
        """
        self.insert(keys, values)

    def erase(self, keys: TensorLike | StringLike, name: str | None = None) -> None:
        """Remove keys. Same as `remove`.

        Args:
          keys: A tensor of keys.
          name: Not used.

        Example:
          >>> table = tf.lookup.experimental.DenseHashTable(tf.int64, tf.int64, -1, 0, -1)
          >>> table.erase([5])
          >>> int(table.size())
          0
        """
        self.remove(keys)
