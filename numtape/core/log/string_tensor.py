"""`StringTensor`: an immutable tensor of strings.

Strings are not rows of the log: NumPy and Python compute with them at once, and no gradient exists.
`to_string_array` converts Python and NumPy values, `numtape.composites.string_functions` are the
functions of tensors that take strings. A traced call that computes with strings runs as Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import DtypeError, InvalidArgumentError
from ..values import dtypes
from ..values.composite import Composite, text_types
from ..values.dtypes import DType
from ..values.hints import give_hints
from ..values.spec import TensorShape, check_shape
from ..values.tensor import Reference, Tensor, before_printing, html_of
from .as_tensor import from_owned_array
from .log import local

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from ..values.annotations import PartialShape, StringLike

_TEXT = (str, bytes)


def run_as_python(what: str = "strings") -> None:
    """Abandon a traced call, which then runs as Python: replays compute only numbers."""
    log: Any = local.log
    if getattr(log, "tracing", False) and not log.has_ended:
        log.refuse(f"it computes with {what}")


def encode(value: str | bytes) -> bytes:
    """Return the bytes of a string, in UTF-8."""
    return value.encode("utf-8", "surrogateescape") if isinstance(value, str) else bytes(value)


def to_string_array(value: StringLike) -> np.ndarray[Any, Any]:
    """Return strings as an array of bytes objects, which may be shared with a tensor.

    Args:
      value: A `StringTensor`, a str, bytes, an array of them, or a nested list of these.

    Raises:
      TypeError: If a value is not a string.
      ValueError: If the lists are not rectangular.
    """
    if isinstance(value, StringTensor):
        return value._strings()
    if isinstance(value, _TEXT):
        return _scalar(encode(value))
    if isinstance(value, np.ndarray):
        return _of_numpy(value)
    if isinstance(value, list | tuple):
        return _of_list(value)
    if hasattr(value, "__array__") and not isinstance(value, Tensor | Composite):
        return _of_numpy(np.asarray(value))
    raise _not_strings(value)


def to_bytes(value: StringLike) -> bytes:
    """Return the bytes of one string.

    Args:
      value: As for `to_string_array`.

    Raises:
      TypeError: If it is not one string.
    """
    array = to_string_array(value)
    if array.ndim:
        raise TypeError(f"Expected one string, got strings of shape {array.shape}.")
    result: bytes = array.item()
    return result


def _scalar(value: bytes) -> np.ndarray[Any, Any]:
    array = np.empty((), object)
    array[()] = value
    return array


def _item(array: np.ndarray[Any, Any]) -> bytes:
    item: Any = array[()]
    return bytes(item)


def to_string(value: StringLike, name: str, op: str) -> bytes:
    """Return a scalar string as bytes.

    Args:
      value: The string.
      name: The name of the argument, for errors.
      op: The name of the op, for errors.

    Raises:
      InvalidArgumentError: If it is not a scalar.
    """
    array = to_string_array(value)
    if array.ndim:
        raise InvalidArgumentError(f"{name} must be scalar, but received {array.shape} [Op:{op}]")
    return _item(array)


def _not_strings(value: object) -> DtypeError:
    return DtypeError(
        f"Cannot convert {dtypes.repr_of(value)} to EagerTensor of dtype string. "
        f"`strings.as_string` formats numbers."
    )


def _of_numpy(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    if array.size and array.dtype.kind not in "OTSU":
        raise _not_strings(array)
    return _fill(array.ravel().tolist(), array.shape)


def _fill(items: list[Any], shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Return an array of bytes of a flat list of str and bytes."""
    result = np.empty(len(items), object)
    for i, item in enumerate(items):
        if type(item) is str:
            result[i] = item.encode("utf-8", "surrogateescape")
        elif type(item) is bytes:
            result[i] = item
        elif isinstance(item, _TEXT):
            result[i] = encode(item)
        else:
            raise _not_strings(item)
    return result.reshape(shape)


def _of_list(value: list[Any] | tuple[Any, ...]) -> np.ndarray[Any, Any]:
    if all(isinstance(item, _TEXT) for item in value):
        return _fill([*value], (len(value),))
    parts = [to_string_array(item) for item in value]
    if any(part.shape != parts[0].shape for part in parts):
        raise ValueError(
            f"Can't convert non-rectangular Python sequence to Tensor: {dtypes.repr_of(value)}"
        )
    return np.stack(parts)


def of_strings(array: np.ndarray[Any, Any] | bytes) -> StringTensor:
    """Return a tensor of an array of bytes objects, which must not be written to afterwards."""
    run_as_python()
    tensor = StringTensor.__new__(StringTensor)
    tensor._array_of_bytes = _scalar(array) if isinstance(array, bytes) else array
    return tensor


class StringTensor(Composite):
    """An immutable tensor of strings, which are bytes. No gradient flows through.

    It is made by `constant`, `convert_to_tensor` and the functions of ``tf.strings``. It can be
    indexed, compared and joined (``+``), and functions that move elements take it: `reshape`,
    `concat`, `gather` and so on. ``isinstance(x, tf.Tensor)`` is False; `is_tensor` is True.

    Args:
      value: A str, bytes, an array of them, or a nested list. A str is encoded in UTF-8.

    Raises:
      TypeError: If a value is not a string.
      ValueError: If the lists are not rectangular.

    Example:
      >>> x = tf.constant([["a", "b"], ["c", "d"]])
      >>> x.shape, x.dtype, x[1, 0]
      (TensorShape([2, 2]), tf.string, <tf.Tensor: shape=(), dtype=string, numpy=b'c'>)
      >>> (x[0] + "!").numpy()
      array([b'a!', b'b!'], dtype=object)
    """

    __slots__ = ("__weakref__", "_array_of_bytes", "_keras_mask")

    display_name = "string tensor"
    dispatch_priority = 1
    runs_as_python = True
    _array_of_bytes: np.ndarray[Any, Any]

    def __init__(self, value: StringLike) -> None:
        run_as_python()
        self._array_of_bytes = to_string_array(value).copy()

    def _strings(self) -> np.ndarray[Any, Any]:
        """Return the array of bytes objects, which must not be written to."""
        run_as_python()
        return self._array_of_bytes

    @property
    def shape(self) -> TensorShape:
        """The shape.

        Example:
          >>> tf.constant(["a", "b"]).shape
          TensorShape([2])
        """
        return TensorShape(self._array_of_bytes.shape)

    @property
    def dtype(self) -> DType:
        """The dtype, ``tf.string``.

        Example:
          >>> tf.constant("a").dtype
          tf.string
        """
        return dtypes.string

    @property
    def ndim(self) -> int:
        """The number of axes.

        Example:
          >>> tf.constant(["a", "b"]).ndim
          1
        """
        return self._array_of_bytes.ndim

    @property
    def device(self) -> str:
        """The device, always the CPU, in TensorFlow's spelling."""
        return "/job:localhost/replica:0/task:0/device:CPU:0"

    @property
    def backing_device(self) -> str:
        """The device that holds the value. Same as `device`."""
        return self.device

    def cpu(self) -> StringTensor:
        """Return the tensor itself."""
        return self

    def get_shape(self) -> TensorShape:
        """Return the shape."""
        return self.shape

    def set_shape(self, shape: PartialShape) -> None:
        """Check that the tensor has this shape, which never changes.

        Args:
          shape: The expected shape; None in it stands for any size.

        Raises:
          ValueError: If the tensor has another shape.
        """
        message = "Tensor's shape {} is not compatible with supplied shape {}."
        check_shape(self.shape, shape, message)

    def numpy(self) -> Any:
        r"""Return the strings as a new array of bytes objects, or bytes for shape ``()``.

        Example:
          >>> tf.constant("a").numpy(), tf.constant(["a", "é"]).numpy()
          (b'a', array([b'a', b'\xc3\xa9'], dtype=object))
        """
        array = self._strings()
        return array.copy() if array.ndim else array[()]

    def __array__(
        self, dtype: DTypeLike | None = None, copy: bool | None = None
    ) -> np.ndarray[Any, Any]:
        array = self._strings()
        if dtype is not None and np.dtype(dtype) != np.dtype(object):
            return np.array(array, dtype)
        return array.copy()

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("Scalar tensor has no `len()`")
        return len(self._array_of_bytes)

    def __iter__(self) -> Iterator[StringTensor]:
        if not self.ndim:
            raise TypeError("Cannot iterate over a scalar tensor.")
        return (of_strings(part) for part in self._strings())

    def __bool__(self) -> bool:
        array = self._strings()
        if array.size > 1:
            raise ValueError(
                f"The truth value of a tensor of shape {self.shape} is ambiguous: it has more than "
                f"one element. Use reduce_any or reduce_all of a comparison."
            )
        return bool(array.any())

    def __float__(self) -> float:
        return float(self._scalar_value())

    def __int__(self) -> int:
        return int(self._scalar_value())

    def _scalar_value(self) -> bytes:
        if self.ndim:
            raise TypeError(
                f"Only 0-dimensional tensors can be converted to Python numbers, not "
                f"{self._describe()}"
            )
        return _item(self._strings())

    def __getitem__(self, key: Any) -> StringTensor:
        array = self._strings()
        parts = key if isinstance(key, tuple) else (key,)
        try:
            part = array[tuple(map(_to_index, parts))]
        except IndexError as error:
            raise InvalidArgumentError(f"{error} [Op:StridedSlice]") from None
        return of_strings(part)

    def __add__(self, other: StringLike) -> StringTensor:
        return join_pair(self, other)

    def __radd__(self, other: StringLike) -> StringTensor:
        return join_pair(other, self)

    def __eq__(self, other: object) -> Any:
        return _compare(self, other, False)

    def __ne__(self, other: object) -> Any:
        return _compare(self, other, True)

    def __hash__(self) -> int:
        raise TypeError("Tensor is unhashable. Instead, use tensor.ref() as the key.")

    def ref(self) -> Reference:
        """Return a hashable reference to this tensor, for use as a key.

        Returns:
          A reference, equal to other references to the same object; ``deref()`` returns the tensor.

        Example:
          >>> x = tf.constant("a")
          >>> x.ref().deref() is x
          True
        """
        return Reference(self)

    def _describe(self) -> str:
        return f"a tensor of shape {self.shape} and dtype string"

    def __format__(self, spec: str) -> str:
        return format(self.numpy() if self.ndim else str(self.numpy()), spec)

    def __repr__(self) -> str:
        before_printing()
        text = repr(self.numpy())
        text = f"\n{text}" if "\n" in text else text
        return f"<tf.Tensor: shape={self.shape}, dtype=string, numpy={text}>"

    def _repr_html_(self) -> str:
        return html_of(repr(self))

    def __str__(self) -> str:
        before_printing()
        text = str(self.numpy())
        text = f"\n{text}" if "\n" in text else text
        return f"tf.Tensor({text}, shape={self.shape}, dtype=string)"

    def __copy__(self) -> StringTensor:
        return self

    def __deepcopy__(self, memo: object) -> StringTensor:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return of_strings, (self._array_of_bytes,)


text_types.append(StringTensor)
give_hints(StringTensor, "EagerTensor", "a new tensor: string tensors are immutable")


def _to_index(key: Any) -> Any:
    """Return a part of an index as NumPy takes it; lists are refused, as in TensorFlow."""
    if isinstance(key, slice):
        return slice(*(None if x is None else int(x) for x in (key.start, key.stop, key.step)))
    if key is None or key is Ellipsis:
        return key
    array = np.asarray(key)
    if array.dtype.kind == "b" and array.ndim:
        return array
    if array.ndim or array.dtype.kind not in "iu":
        raise TypeError(
            f"Only integers, slices (`:`), ellipsis (`...`), tf.newaxis (`None`) and boolean masks "
            f"are valid indices, got {key!r}. Use `gather` for lists of indices."
        )
    return int(array)


def broadcast_strings(*values: StringLike) -> list[np.ndarray[Any, Any]]:
    """Return several strings as arrays of one shape.

    Raises:
      InvalidArgumentError: If the shapes do not broadcast.
    """
    arrays = [to_string_array(value) for value in values]
    try:
        return list(np.broadcast_arrays(*arrays))
    except ValueError:
        shapes = " vs. ".join(str(list(array.shape)) for array in arrays)
        raise InvalidArgumentError(f"Incompatible shapes: {shapes}") from None


def join_pair(x: StringLike, y: StringLike) -> StringTensor:
    """Return the elementwise concatenation of two strings."""
    a, b = broadcast_strings(x, y)
    result = np.empty(a.shape, object)
    result[...] = a + b
    return of_strings(result)


def compare(x: StringLike, y: StringLike, negate: bool = False) -> Tensor:
    """Return whether strings are equal, elementwise."""
    a, b = broadcast_strings(x, y)
    result = np.empty(a.shape, bool)
    result[...] = (a != b) if negate else (a == b)
    return from_owned_array(result)


def _compare(x: StringTensor, y: Any, negate: bool) -> Any:
    """Compare elementwise; None and incompatible shapes compare as unequal."""
    if y is None:
        return negate
    try:
        return compare(x, y, negate)
    except InvalidArgumentError as error:
        if not error.message.startswith("Incompatible shapes"):
            raise
        return from_owned_array(np.array(negate))
