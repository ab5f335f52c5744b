"""`Tensor`: an immutable value, computed when it is first needed."""

from __future__ import annotations

import functools
import struct
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from .. import settings
from . import export
from .dtypes import STRUCT_FORMATS, DType
from .export import FAILED_EXPORTS, take_dropped_error, to_read_only, to_writable, view_of
from .hints import give_hints, missing_attribute
from .memory import Array, copy_array
from .spec import Spec, TensorShape, check_shape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import DTypeLike

    from .annotations import PartialShape, TensorLike


_BITS = struct.Struct("=q").pack
# Decodes the bits as a Python number, for dtypes whose values Python numbers can represent.
_UNPACK_NUMBER = {
    name: struct.Struct(f"={letter}").unpack_from for name, letter in STRUCT_FORMATS.items()
}


class ScalarStorage:
    """A home of tensors whose value is in ``_cell``; see `Tensor`."""

    __slots__ = ()

    def evaluate(self, tensor: Tensor) -> Array:
        """Return the value as an array, which becomes the tensor's home."""
        spec = tensor._spec
        shape = spec.shape if spec.rank else ()
        array: Array = np.ndarray(shape, spec.dtype.numpy_dtype, _BITS(tensor._cell))
        tensor._home = array
        return array

    evaluate_on_device = evaluate

    def number_of(self, tensor: Tensor) -> Any:
        """Return the value as a Python number, or as a NumPy scalar for other dtypes."""
        unpack = _UNPACK_NUMBER.get(tensor._spec.dtype.name)
        if unpack is None:
            return self.evaluate(tensor).reshape(())[()]
        return unpack(_BITS(tensor._cell))[0]


SCALAR_STORAGE: Any = ScalarStorage()


# Runs before a value is printed: replays of a traced call depend on NumPy's print options.
before_printing: Callable[[], None] = lambda: None  # noqa: E731


class Operators:
    """The operators: the base of `Tensor` and `Variable`, declared for type checkers.

    `numtape.core.bindings` sets them to the functions that record the ops: a method that calls such
    a function would cost one more frame per op.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        def __add__(self, other: TensorLike, /) -> Tensor: ...
        def __radd__(self, other: TensorLike, /) -> Tensor: ...
        def __sub__(self, other: TensorLike, /) -> Tensor: ...
        def __rsub__(self, other: TensorLike, /) -> Tensor: ...
        def __mul__(self, other: TensorLike, /) -> Tensor: ...
        def __rmul__(self, other: TensorLike, /) -> Tensor: ...
        def __truediv__(self, other: TensorLike, /) -> Tensor: ...
        def __rtruediv__(self, other: TensorLike, /) -> Tensor: ...
        def __floordiv__(self, other: TensorLike, /) -> Tensor: ...
        def __rfloordiv__(self, other: TensorLike, /) -> Tensor: ...
        def __mod__(self, other: TensorLike, /) -> Tensor: ...
        def __rmod__(self, other: TensorLike, /) -> Tensor: ...
        def __pow__(self, other: TensorLike, /) -> Tensor: ...
        def __rpow__(self, other: TensorLike, /) -> Tensor: ...
        def __matmul__(self, other: TensorLike, /) -> Tensor: ...
        def __rmatmul__(self, other: TensorLike, /) -> Tensor: ...
        def __eq__(self, other: object, /) -> Tensor: ...  # type: ignore[override]
        def __ne__(self, other: object, /) -> Tensor: ...  # type: ignore[override]
        def __hash__(self) -> int: ...
        def __lt__(self, other: TensorLike, /) -> Tensor: ...
        def __le__(self, other: TensorLike, /) -> Tensor: ...
        def __gt__(self, other: TensorLike, /) -> Tensor: ...
        def __ge__(self, other: TensorLike, /) -> Tensor: ...
        def __and__(self, other: TensorLike, /) -> Tensor: ...
        def __rand__(self, other: TensorLike, /) -> Tensor: ...
        def __or__(self, other: TensorLike, /) -> Tensor: ...
        def __ror__(self, other: TensorLike, /) -> Tensor: ...
        def __xor__(self, other: TensorLike, /) -> Tensor: ...
        def __rxor__(self, other: TensorLike, /) -> Tensor: ...
        def __lshift__(self, other: TensorLike, /) -> Tensor: ...
        def __rlshift__(self, other: TensorLike, /) -> Tensor: ...
        def __rshift__(self, other: TensorLike, /) -> Tensor: ...
        def __rrshift__(self, other: TensorLike, /) -> Tensor: ...
        def __getitem__(self, other: Any, /) -> Tensor: ...
        def __neg__(self) -> Tensor: ...
        def __pos__(self) -> Tensor: ...
        def __abs__(self) -> Tensor: ...
        def __invert__(self) -> Tensor: ...
        def __iter__(self) -> Iterator[Tensor]: ...
        def __bool__(self) -> bool: ...
        def __float__(self) -> float: ...
        def __int__(self) -> int: ...
        def __index__(self) -> int: ...
        def __dlpack__(
            self,
            *,
            stream: int | None = None,
            max_version: tuple[int, int] | None = None,
            dl_device: tuple[int, int] | None = None,
            copy: bool | None = None,
        ) -> Any: ...
        def __dlpack_device__(self) -> tuple[int, int]: ...
        def __array_namespace__(self, *, api_version: str | None = None) -> Any: ...
        @property
        def __cuda_array_interface__(self) -> dict[str, Any]: ...


class Tensor(Operators):
    """An immutable array of numbers or booleans.

    Its operators append rows to the log; reading the value (``numpy()``, ``float()``, ``bool()``,
    printing) computes it. Created by `constant`, `convert_to_tensor` and every op.

    Tensors have the operators of NumPy arrays, and NumPy functions accept them. They are indexed
    like arrays (ints, slices, ``...``, ``tf.newaxis``, a boolean mask; for lists of indices see
    `gather`). They are not hashable: use `ref` for a key.

    Example:
      >>> x = tf.constant([[1.0, 2.0], [3.0, 4.0]])
      >>> y = x @ x + 1.0
      >>> y.shape, y.dtype, y.numpy().tolist()
      (TensorShape([2, 2]), tf.float32, [[8.0, 11.0], [16.0, 23.0]])
      >>> x[-1, ::-1]
      <tf.Tensor: shape=(2,), dtype=float32, numpy=array([4., 3.], dtype=float32)>
    """

    # _home is the log that holds row _row, or the value itself after the log was rewound. The log
    # counts references, including weak ones, to know which tensors are still reachable.
    # _sliced, if set, is the variable that the tensor is a slice of, and the key. _cell, if set, is
    # the content of the cell of a row with this value: its bits, or its address. _device_copy, if
    # set, is a copy on the GPU of a value on the host, made when another library asked for one.
    # _keras_mask, if a layer set it, marks the valid steps; _keras_logits: see `log.logits`.
    __slots__ = (
        "__weakref__",
        "_cell",
        "_device_copy",
        "_home",
        "_keras_logits",
        "_keras_mask",
        "_row",
        "_sliced",
        "_spec",
    )

    __array_priority__ = 100

    _cell: int
    _device_copy: Any
    _home: Any
    _keras_logits: Tensor | None
    _keras_mask: Any
    _row: int
    _spec: Spec
    _sliced: tuple[Any, Any]

    @property
    def shape(self) -> TensorShape:
        """The shape, a `TensorShape`, which is a tuple.

        Example:
          >>> tf.zeros((2, 3)).shape
          TensorShape([2, 3])
        """
        return self._spec.shape

    @property
    def dtype(self) -> DType:
        """The dtype, a `DType`.

        Example:
          >>> tf.constant([1, 2]).dtype
          tf.int32
        """
        return self._spec.dtype

    @property
    def ndim(self) -> int:
        """The number of axes.

        Example:
          >>> tf.zeros((2, 3)).ndim
          2
        """
        return self._spec.rank

    @property
    def device(self) -> str:
        """The device that holds the value, or will use it next, in TensorFlow's spelling.

        Example:
          >>> with tf.device("/CPU:0"):
          ...     x = tf.constant([1.0, 2.0])
          >>> x.device
          '/job:localhost/replica:0/task:0/device:CPU:0'
        """
        on_gpu = settings.device() == "cuda"
        if settings.moved and not self._spec.single:  # single elements are on every device
            storage: Any = self._home
            if hasattr(storage, "buffers"):  # a log
                storage = storage.buffers.get(self._row)
            if storage is not None:
                on_gpu = type(storage) is not np.ndarray
        kind = "GPU" if on_gpu else "CPU"
        return f"/job:localhost/replica:0/task:0/device:{kind}:0"

    @property
    def size(self) -> int:
        """The number of elements, as in the array API.

        Example:
          >>> tf.zeros((2, 3)).size
          6
        """
        return self._spec.size

    def get_shape(self) -> TensorShape:
        """Return the shape."""
        return self._spec.shape

    def set_shape(self, shape: PartialShape) -> None:
        """Check that the tensor has this shape, which never changes.

        Args:
          shape: The expected shape; None in it stands for any size.

        Raises:
          ValueError: If the tensor has another shape.
        """
        message = "Tensor's shape {} is not compatible with supplied shape {}."
        check_shape(self._spec.shape, shape, message)

    @property
    def backing_device(self) -> str:
        """The device that holds the value. Same as `device`."""
        return self.device

    @property
    def is_packed(self) -> bool:
        """False: a tensor has one value on one device."""
        return False

    if TYPE_CHECKING:

        @property
        def T(self) -> Tensor:
            """The transpose of a matrix."""

        @property
        def mT(self) -> Tensor:
            """The tensor with its last two axes swapped."""

    def to_device(self, device: str, /, *, stream: object = None) -> Tensor:
        """Return the tensor on a device, as in the array API.

        Args:
          device: The name of the device: that of the tensor.
          stream: Must be None.

        Returns:
          The tensor itself.

        Raises:
          ValueError: If the device is another one, or ``stream`` is given.

        Example:
          >>> x = tf.constant([1.0, 2.0])
          >>> x.to_device(x.device) is x
          True
        """
        if device != self.device or stream is not None:
            raise ValueError(
                f"A tensor on {self.device!r} is not moved to {device!r}: use "
                f"`with tf.device(...)`, or NUMTAPE_DEVICE."
            )
        return self

    def cpu(self) -> Tensor:
        """Return the tensor itself: its value is copied to the CPU when it is read."""
        return self

    def consumers(self) -> NoReturn:
        """Raise a NotImplementedError: there is no graph."""
        raise NotImplementedError("Tensor.consumers is undefined when eager execution is enabled.")

    def eval(self, feed_dict: object = None, session: object = None) -> NoReturn:
        """Raise a NotImplementedError. Use `numpy` to get the value."""
        raise NotImplementedError(
            "eval is not supported when eager execution is enabled, is .numpy() what you're "
            "looking for?"
        )

    def experimental_ref(self) -> Reference:
        """Return a hashable reference. Same as `ref`."""
        return self.ref()

    def _array(self) -> np.ndarray[Any, Any]:
        """Return the value, computed if needed: the array itself, which must not be written to."""
        home = self._home
        if type(home) is np.ndarray:
            return home
        array: np.ndarray[Any, Any] = home.evaluate(self)
        return array

    def _stored_value(self) -> Any:
        """Return the value, computed if needed: as from `_array`, or an array on the GPU."""
        home: Any = self._home
        return home if type(home) is np.ndarray else home.evaluate_on_device(self)

    def numpy(self) -> np.ndarray[Any, Any] | Any:
        """Return the value as a new NumPy array, or a NumPy scalar for shape ``()``.

        If needed, the value is computed first, together with everything that it depends on.
        ``np.asarray(x)`` returns a read-only view instead, without a copy.

        Returns:
          An array that may be written to.

        Raises:
          ResourceExhaustedError: If the computation needs more memory than there is.

        Example:
          >>> tf.constant([1, 2]).numpy()
          array([1, 2], dtype=int32)
        """
        array = self._array()
        return to_writable(self, array) if array.ndim else array[()]

    def __array__(
        self, dtype: DTypeLike | None = None, copy: bool | None = None
    ) -> np.ndarray[Any, Any]:
        if FAILED_EXPORTS and (error := take_dropped_error(self)):
            raise error
        export.before_export(self)
        array = self._array()
        requested = np.dtype(dtype) if dtype is not None else array.dtype
        is_same_dtype = requested == array.dtype
        if copy is False and not (is_same_dtype and type(self._stored_value()) is np.ndarray):
            raise ValueError(
                f"A tensor of dtype {self.dtype.name} on {self.device} cannot be an array of dtype "
                f"{requested} on the host without a copy."
            )
        if is_same_dtype:
            return (
                copy_array(array)
                if copy
                else to_read_only(array)
                if copy is None
                else view_of(array)
            )
        return np.array(array, requested)

    def __len__(self) -> int:
        if not self._spec.rank:
            raise TypeError("Scalar tensor has no `len()`")
        dims: tuple[int, ...] = self._spec.shape
        return dims[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self._spec.rank:
            raise TypeError("Cannot iterate over a scalar tensor.")
        return (self[i] for i in range(self._spec.shape[0]))

    def __bool__(self) -> bool:
        if self._spec.size > 1:
            raise ValueError(
                f"The truth value of a tensor of shape {self.shape} is ambiguous: it has more "
                f"than one element. Use reduce_any or reduce_all."
            )
        if not self._spec.dtype.is_bool and getattr(self._home, "tracing", False):
            # A traced call guards only the truth, not the value.
            zero: Any = 0
            truth: Any = self != zero
            return bool(truth._array().any())
        home: Any = self._home
        if home is SCALAR_STORAGE:
            return bool(home.number_of(self))
        return bool(self._array().any())

    def __float__(self) -> float:
        return float(self._scalar_value())

    def __int__(self) -> int:
        return int(self._scalar_value())

    def __complex__(self) -> complex:
        return complex(self._scalar_value())

    def __index__(self) -> int:
        if self._spec.rank or not self._spec.dtype.is_integer:
            raise TypeError(
                f"Only integer scalar tensors can be converted to an index, not {self._describe()}"
            )
        return int(self._array()[()])

    def _scalar_value(self) -> Any:
        if self._spec.rank:
            raise TypeError(
                f"Only 0-dimensional tensors can be converted to Python numbers, not "
                f"{self._describe()}"
            )
        home: Any = self._home
        if home is SCALAR_STORAGE:
            return home.number_of(self)
        return home[()] if type(home) is np.ndarray else home.evaluate(self)[()]

    def _describe(self) -> str:
        return f"a tensor of shape {self._spec.shape} and dtype {self._spec.dtype.name}"

    def __format__(self, spec: str) -> str:
        before_printing()
        return format(self.numpy(), spec)

    def __repr__(self) -> str:
        return (
            f"<tf.Tensor: shape={self.shape}, dtype={self.dtype.name}, numpy={self._repr_value()}>"
        )

    def _repr_html_(self) -> str:
        """Return HTML for notebooks: the repr as plain text, with long values shortened."""
        return html_of(repr(self))

    def _repr_value(self) -> str:
        """Return the value for a repr: a scalar in full precision, a block on separate lines."""
        before_printing()
        array = self._array()
        if not array.ndim:
            return format(array[()], "")
        text = repr(array)
        return f"\n{text}" if "\n" in text else text

    def __str__(self) -> str:
        before_printing()
        value = str(self.numpy())
        if self._spec.rank:
            value = f"\n{value}" if "\n" in value else value
        return f"tf.Tensor({value}, shape={self.shape}, dtype={self.dtype.name})"

    @property
    def assign(self) -> Callable[..., Any]:
        """Assign to a slice of a variable: ``v[key].assign(value)``.

        Raises:
          AttributeError: If the tensor is not a slice of a variable, because tensors are immutable.

        Example:
          >>> v = tf.Variable([[1, 2], [3, 4]])
          >>> v[:, 0].assign([10, 20]).numpy()
          array([[10,  2],
                 [20,  4]], dtype=int32)
        """
        try:
            variable, key = self._sliced
        except AttributeError:
            raise AttributeError(
                "'EagerTensor' object has no attribute 'assign': tensors are immutable. Assign to "
                "a Variable or one of its slices."
            ) from None
        return functools.partial(variable._assign_slice, key)

    def ref(self) -> Reference:
        """Return a hashable reference to this tensor, for use as a key.

        Returns:
          A reference, equal to other references to the same object; ``deref()`` returns the tensor.

        Example:
          >>> x = tf.constant(1.0)
          >>> names = {x.ref(): "x"}
          >>> names[x.ref()], x.ref().deref() is x
          ('x', True)
        """
        return Reference(self)

    def __hash__(self) -> int:
        raise TypeError("Tensor is unhashable. Instead, use tensor.ref() as the key.")

    def __copy__(self) -> Tensor:
        return self

    def __deepcopy__(self, memo: object) -> Tensor:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return of_array, (self.numpy(), self._spec)


Tensor.__name__ = Tensor.__qualname__ = "EagerTensor"  # as TensorFlow prints it


for _name in ("op", "graph", "name", "value_index"):
    _message = f"Tensor.{_name} is undefined when eager execution is enabled."
    setattr(Tensor, _name, missing_attribute(_name, _message))
give_hints(
    Tensor,
    "EagerTensor",
    "y = tf.tensor_scatter_nd_update(x, [[i]], [value]), or use a tf.Variable: v[i].assign(value)",
)


def html_of(text: str, lines: int = 20) -> str:
    """Return a text as HTML for a notebook, shortened to a number of lines."""
    kept_lines = text.split("\n")
    if len(kept_lines) > lines:
        half = lines // 2
        kept_lines = [
            *kept_lines[:half],
            f"... ({len(kept_lines) - 2 * half} lines) ...",
            *kept_lines[-half:],
        ]
    escaped = "\n".join(kept_lines).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f"<pre>{escaped}</pre>"


class Reference:
    """A key that stands for one tensor or variable object."""

    __slots__ = ("__weakref__", "_referent")

    def __init__(self, referent: object) -> None:
        self._referent = referent

    def deref(self) -> Any:
        """Return the tensor or variable."""
        return self._referent

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Reference):
            raise TypeError(
                f"Cannot compare a Reference with an unwrapped {type(other).__name__}: compare "
                f"with its ref()."
            )
        return self._referent is other._referent

    def __hash__(self) -> int:
        return id(self._referent)

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._referent!r}>"


def of_array(array: np.ndarray[Any, Any], spec: Spec) -> Tensor:
    """Return a tensor whose value is ``array``, which must not be written to afterwards."""
    tensor = Tensor()
    tensor._home = np.asarray(array) if isinstance(array, np.generic) else array
    tensor._row = -1
    tensor._spec = spec
    return tensor
