"""`Variable`: mutable state that ops read and assign.

A variable holds a value. A read records one row per log, until the next assignment. Start with
`Variable`, whose sections are properties, slice updates, conversions, and values.
"""

from __future__ import annotations

import copy
import enum
import itertools
import operator
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ...errors import InvalidArgumentError, UnimplementedError
from ..settings import after_fork_in_child
from ..values import dtypes, export
from ..values.composite import has_text
from ..values.dtypes import DType
from ..values.hints import give_hints
from ..values.indexed_slices import IndexedSlices
from ..values.spec import Spec, TensorShape, check_shape, intern
from ..values.tensor import Operators, Reference, Tensor, html_of, of_array
from .as_tensor import append_tensor, to_tensor
from .log import Log, local

if TYPE_CHECKING:
    import numpy.typing as npt

    from ..values.annotations import DTypeLike, PartialShape, TensorLike


class VariableSynchronization(enum.Enum):
    """When a variable on several devices is synchronised. Here each variable is on one device.

    Example:
      >>> tf.Variable(1.0).synchronization is tf.VariableSynchronization.AUTO
      True
    """

    AUTO = 0
    NONE = 1
    ON_WRITE = 2
    ON_READ = 3


class VariableAggregation(enum.Enum):
    """How values from several devices are combined. Here each variable is on one device.

    Example:
      >>> tf.Variable(1.0).aggregation is tf.VariableAggregation.NONE
      True
    """

    NONE = 0
    SUM = 1
    MEAN = 2
    ONLY_FIRST_REPLICA = 3


def check_policy(
    enum_type: type[enum.Enum], value: object, default: enum.Enum, argument: str, name: str | None
) -> Any:
    """Check that an argument is a member of an enum. None becomes the default.

    Raises:
      ValueError: If it is not a member.
    """
    if value is None:
        return default
    if not isinstance(value, enum_type):
        raise ValueError(f"Invalid variable {argument} mode: {value} for variable: {name}")
    return value


def _check_slices(sparse_delta: object) -> IndexedSlices:
    if not isinstance(sparse_delta, IndexedSlices):
        raise TypeError(
            f"Argument `sparse_delta` must be a `tf.IndexedSlices`. Received arg: {sparse_delta}"
        )
    return sparse_delta


_creation_counter = itertools.count()
_new_object: Any = object.__new__

# Serializes updates that read the value they change, across threads.
_update_lock = threading.RLock()


def _renew_lock_after_fork() -> None:
    global _update_lock
    _update_lock = threading.RLock()


after_fork_in_child(_renew_lock_after_fork)


def _refuse_in_place(operator: str, instead: str) -> Callable[[Any, Any], NoReturn]:
    def refuse(self: object, other: object) -> NoReturn:
        raise RuntimeError(f"Variable {operator} value not supported. Use `{instead}`.")

    return refuse


class Variable(Operators):
    """A mutable value, changed by `assign` and watched by tapes automatically if trainable.

    A variable can be used wherever a tensor can; the op reads it. ``v[1:].assign(x)`` changes a
    part of it.

    Args:
      initial_value: A tensor, NumPy array, Python number or nested list, or a function without
        arguments that returns one.
      trainable: Whether a GradientTape watches the variable when it is read. None means True,
        unless synchronization is ON_READ.
      validate_shape: Accepted for compatibility with TensorFlow; not used.
      caching_device: Accepted for compatibility with TensorFlow; not used.
      name: The name; `Variable.name` appends ``:0``.
      variable_def: Must be None.
      dtype: The dtype; by default that of the initial value.
      import_scope: Accepted for compatibility with TensorFlow; not used.
      constraint: A function that optimizers apply to the new value.
      synchronization: A `VariableSynchronization`, which has no effect on one device.
      aggregation: A `VariableAggregation`, which has no effect on one device.
      shape: If given, it must be the shape of the initial value.
      experimental_enable_variable_lifting: Accepted for compatibility with TensorFlow; not used.

    Raises:
      ValueError: If the initial value is missing or has another shape, or an argument is invalid.
      UnimplementedError: If ``shape`` contains None.

    Example:
      >>> v = tf.Variable([1.0, 2.0], name="v")
      >>> v[0].assign(5.0)
      <tf.Variable 'UnreadVariable' shape=(2,) dtype=float32, numpy=array([5., 2.], dtype=float32)>
      >>> with tf.GradientTape() as tape:
      ...     y = tf.reduce_sum(v * v)
      >>> tape.gradient(y, v).numpy()
      array([10.,  4.], dtype=float32)
    """

    # Properties.

    @property
    def name(self) -> str:
        """The name, with TensorFlow's ``:0``.

        Example:
          >>> tf.Variable(1.0, name="offset").name
          'offset:0'
        """
        return f"{self._name}:0"

    @property
    def trainable(self) -> bool:
        """Whether tapes watch the variable automatically.

        Example:
          >>> tf.Variable(1.0, trainable=False).trainable
          False
        """
        return self._trainable

    @property
    def shape(self) -> TensorShape:
        """The shape."""
        return self._spec.shape

    @property
    def dtype(self) -> DType:
        """The dtype."""
        return self._spec.dtype

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return self._spec.rank

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._spec.size

    @property
    def device(self) -> str:
        """Where the value lives, in TensorFlow's spelling."""
        return self._value.device

    def get_shape(self) -> TensorShape:
        """The shape."""
        return self._spec.shape

    def set_shape(self, shape: PartialShape) -> None:
        """Check that the variable has this shape, which never changes.

        Args:
          shape: The expected shape; None in it stands for any size.

        Raises:
          ValueError: If the variable has another shape.
        """
        check_shape(self._spec.shape, shape, "Shapes {} and {} are not compatible")

    @property
    def constraint(self) -> Any:
        """The function that optimizers apply to the new value, or None."""
        return self._policy[0]

    @property
    def synchronization(self) -> VariableSynchronization:
        """The ``synchronization`` argument."""
        return self._policy[1]

    @property
    def aggregation(self) -> VariableAggregation:
        """The ``aggregation`` argument."""
        return self._policy[2]

    @property
    def initializer(self) -> None:
        """None: a variable always has a value."""

    def is_initialized(self, name: str | None = None) -> Tensor:
        """Return True: a variable always has a value."""
        return of_array(np.array(True), intern((), dtypes.bool_))

    def read_value_no_copy(self: Any) -> Tensor:
        """Return the current value. Same as `read_value`."""
        result: Tensor = self.read_value()
        return result

    def load(self: Any, value: TensorLike, session: object = None) -> None:
        """Assign a value. Same as `assign`."""
        self.assign(value)

    def experimental_ref(self: Any) -> Reference:
        """Return a hashable reference. Same as `ref`."""
        result: Reference = self.ref()
        return result

    def eval(self, session: object = None) -> NoReturn:
        """Raise a RuntimeError. Use `numpy` to get the value."""
        raise RuntimeError("This operation is not supported when eager execution is enabled.")

    def to_proto(self, export_scope: object = None) -> NoReturn:
        """Raise a RuntimeError: numtape has no protocol buffers."""
        raise RuntimeError("This operation is not supported when eager execution is enabled.")

    @property
    def create(self) -> NoReturn:
        """Raises a RuntimeError: a variable always has a value."""
        raise RuntimeError("This operation is not supported when eager execution is enabled.")

    @property
    def initial_value(self) -> NoReturn:
        """Raises a RuntimeError: the initial value is not stored."""
        raise RuntimeError("This property is not supported when eager execution is enabled.")

    @property
    def op(self) -> NoReturn:
        """Raises an AttributeError: there is no graph."""
        raise AttributeError("Tensor.op is undefined when eager execution is enabled.")

    @property
    def graph(self) -> NoReturn:
        """Raises an AttributeError: there is no graph."""
        raise AttributeError("Tensor.graph is undefined when eager execution is enabled.")

    # Slice updates and reads. Updates of the same element are applied in order.

    def scatter_add(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Variable:
        """Add slices.

        Args:
          sparse_delta: `IndexedSlices`.
          use_locking: Accepted for compatibility with TensorFlow; not used.
          name: Not used.

        Returns:
          An alias of this variable.

        Example:
          >>> v = tf.Variable([1.0, 2.0, 3.0])
          >>> v.scatter_add(tf.IndexedSlices([10.0, 20.0], [2, 2])).numpy()
          array([ 1.,  2., 33.], dtype=float32)
        """
        return self._scatter(sparse_delta, "add")

    def scatter_sub(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Variable:
        """Subtract slices; see `scatter_add`."""
        return self._scatter(sparse_delta, "sub")

    def scatter_mul(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Variable:
        """Multiply by slices; see `scatter_add`."""
        return self._scatter(sparse_delta, "mul")

    def scatter_div(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Variable:
        """Divide by slices; see `scatter_add`."""
        return self._scatter(sparse_delta, "div")

    def scatter_max(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Variable:
        """Take the elementwise maximum with slices; see `scatter_add`."""
        return self._scatter(sparse_delta, "max")

    def scatter_min(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Variable:
        """Take the elementwise minimum with slices; see `scatter_add`."""
        return self._scatter(sparse_delta, "min")

    def scatter_update(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Variable:
        """Replace slices; of several with the same index the last one stays. See `scatter_add`.

        Example:
          >>> v = tf.Variable([1.0, 2.0, 3.0])
          >>> v.scatter_update(tf.IndexedSlices([10.0, 30.0], [0, 2])).numpy()
          array([10.,  2., 30.], dtype=float32)
        """
        return self._scatter(sparse_delta, "update")

    def _scatter(self, sparse_delta: IndexedSlices, how: str) -> Variable:
        slices = _check_slices(sparse_delta)
        return self._apply_update("updated", slices.indices, slices.values, how)

    def batch_scatter_update(
        self, sparse_delta: IndexedSlices, use_locking: bool = False, name: str | None = None
    ) -> Variable:
        """Replace slices in each example of a batch: variable and indices share the first axes.

        Args:
          sparse_delta: `IndexedSlices`.
          use_locking: Accepted for compatibility with TensorFlow; not used.
          name: Not used.

        Returns:
          An alias of this variable.

        Example:
          >>> v = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
          >>> v.batch_scatter_update(tf.IndexedSlices([[9.0], [8.0]], [[1], [0]])).numpy()
          array([[1., 9.],
                 [8., 4.]], dtype=float32)
        """
        slices = _check_slices(sparse_delta)
        return self._apply_update("updated_in_batch", slices.indices, slices.values)

    def scatter_nd_add(
        self, indices: TensorLike, updates: TensorLike, name: str | None = None
    ) -> Variable:
        """Add elements or slices at index tuples.

        Example:
          >>> v = tf.Variable([[1, 2], [3, 4]])
          >>> v.scatter_nd_add([[0, 1], [0, 1]], [10, 20]).numpy()
          array([[ 1, 32],
                 [ 3,  4]], dtype=int32)
        """
        return self._apply_update("updated_nd", indices, updates, "add")

    def scatter_nd_sub(
        self, indices: TensorLike, updates: TensorLike, name: str | None = None
    ) -> Variable:
        """Subtract at index tuples; see `scatter_nd_add`."""
        return self._apply_update("updated_nd", indices, updates, "sub")

    def scatter_nd_update(
        self, indices: TensorLike, updates: TensorLike, name: str | None = None
    ) -> Variable:
        """Replace at index tuples; see `scatter_nd_add`."""
        return self._apply_update("updated_nd", indices, updates, "update")

    def scatter_nd_max(
        self, indices: TensorLike, updates: TensorLike, name: str | None = None
    ) -> Variable:
        """Take the maximum at index tuples; see `scatter_nd_add`."""
        return self._apply_update("updated_nd", indices, updates, "max")

    def scatter_nd_min(
        self, indices: TensorLike, updates: TensorLike, name: str | None = None
    ) -> Variable:
        """Take the minimum at index tuples; see `scatter_nd_add`."""
        return self._apply_update("updated_nd", indices, updates, "min")

    def sparse_read(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Gather slices along the first axis. The derivative is `IndexedSlices`.

        Example:
          >>> tf.Variable([10.0, 20.0, 30.0]).sparse_read([2, 0]).numpy()
          array([30., 10.], dtype=float32)
        """
        return self._gather("gather", indices)

    def gather_nd(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Gather elements or slices at index tuples: `gather_nd` of the value.

        Example:
          >>> tf.Variable([[1.0, 2.0], [3.0, 4.0]]).gather_nd([[1, 0]]).numpy()
          array([3.], dtype=float32)
        """
        return self._gather("gather_nd", indices)

    # Conversions for Python, NumPy and other libraries.

    def __array__(
        self, dtype: npt.DTypeLike | None = None, copy: bool | None = None
    ) -> np.ndarray[Any, Any]:
        export.before_export(self)
        # A copy, as in TensorFlow, unless the caller asks for a view of the current value.
        return self._current_tensor().__array__(dtype, copy is not False)

    def __dlpack__(
        self,
        *,
        stream: int | None = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """Return a DLPack capsule of the current value; see `Tensor`."""
        return self._current_tensor().__dlpack__(
            stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._value.__dlpack_device__()

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        """The address and layout of the value on the GPU, valid until the next assign."""
        return self._current_tensor().__cuda_array_interface__

    def __iter__(self: Any) -> Iterator[Tensor]:
        return iter(self.read_value())

    def __bool__(self) -> bool:
        return bool(self._current_tensor())

    def __float__(self) -> float:
        return float(self._current_tensor())

    def __complex__(self) -> complex:
        return complex(self._current_tensor())

    def __int__(self) -> int:
        return int(self._current_tensor())

    def __index__(self) -> int:
        return self._current_tensor().__index__()

    # Values.

    # `_value` is a tensor with the current value; `_read` is (log, row) of a read that may be
    # reused, or None.
    _name: str
    _trainable: bool
    _spec: Spec
    _value: Tensor
    _policy: tuple[Any, VariableSynchronization, VariableAggregation]

    __slots__ = (
        "__weakref__",
        "_creation_index",
        "_name",
        "_policy",
        "_read",
        "_spec",
        "_trainable",
        "_value",
    )

    __array_priority__ = 100

    def __init__(
        self,
        initial_value: TensorLike | Callable[[], TensorLike] | None = None,
        trainable: bool | None = None,
        validate_shape: bool = True,
        caching_device: object = None,
        name: str | None = None,
        variable_def: object = None,
        dtype: DTypeLike | None = None,
        import_scope: object = None,
        constraint: Callable[[Tensor], Tensor] | None = None,
        synchronization: VariableSynchronization | None = VariableSynchronization.AUTO,
        aggregation: VariableAggregation | None = VariableAggregation.NONE,
        shape: PartialShape = None,
        experimental_enable_variable_lifting: bool = True,
    ) -> None:
        if variable_def is not None:
            raise ValueError(
                "A variable is made of a value: numtape has no protocol buffers, so variable_def "
                "must be None."
            )
        if initial_value is None:
            raise ValueError(
                "The `initial_value` arg to `tf.Variable` must be specified except when you are "
                "not providing a value."
            )
        if callable(initial_value):
            initial_value = initial_value()
        if name is not None and not isinstance(name, str):
            raise ValueError("name for name_scope must be a string.")
        if constraint is not None and not callable(constraint):
            raise ValueError(
                f"Argument `constraint` must be None or a callable. Got a {type(constraint)}: "
                f"{constraint}"
            )
        synchronization = check_policy(
            VariableSynchronization,
            synchronization,
            VariableSynchronization.AUTO,
            "synchronization",
            name,
        )
        aggregation = check_policy(
            VariableAggregation, aggregation, VariableAggregation.NONE, "aggregation", name
        )
        requested_dtype = dtypes.as_dtype(dtype) if dtype is not None else None
        try:
            value = to_tensor(initial_value, requested_dtype)
        except Exception:
            if not has_text((initial_value,)):
                raise
            raise UnimplementedError(
                "A Variable of strings is not supported. Keep a tensor of strings as an attribute, "
                "or a table of `lookup`."
            ) from None
        if shape is not None:
            requested_shape = (shape,) if isinstance(shape, int) else shape
            if not hasattr(requested_shape, "__iter__") or isinstance(requested_shape, str):
                raise TypeError(f"Failed to convert {shape!r} to a shape.")
            if getattr(requested_shape, "rank", 0) is None or None in tuple(requested_shape):
                raise UnimplementedError(
                    f"shape={shape}: the shape of a variable is that of its value, and stays. "
                    f"Leave `shape` out."
                )
            if tuple(requested_shape) != tuple(value.shape):
                raise ValueError(f"The initial value's shape {value.shape} is not shape={shape}.")
        self._value = value
        self._spec = value._spec
        self._read: tuple[Log, int] | None = None
        if trainable is None:
            trainable = synchronization is not VariableSynchronization.ON_READ
        self._trainable = bool(trainable)
        self._policy = constraint, synchronization, aggregation
        self._name = local.scope + ("Variable" if name is None else name)
        self._creation_index = next(_creation_counter)
        local.log.on_variable_created(self)

    # Reading.

    def _read_in(self, log: Log) -> int:
        """Return the row of a read in ``log``: the last one, if the value has not changed since."""
        read = self._read
        if read is not None and read[0] is log:
            return read[1]
        value = self._value
        tensors = log.tensors
        row = log.read(self, value)
        new_read = log, row
        log.reads.append(self)
        # atomic: see core.values.intern_table
        reads = log.reads
        # Not if a handler has discarded reads, rewound the log or assigned the variable meanwhile.
        if reads and reads[-1] is self and log.tensors is tensors and self._value is value:
            self._read = new_read
        # end atomic
        return row

    def read_value(self) -> Tensor:
        """Return the current value as a new tensor, through which gradients reach the variable.

        Returns:
          A tensor, which keeps this value when the variable is assigned.

        Example:
          >>> v = tf.Variable(1.0)
          >>> before = v.read_value()
          >>> _ = v.assign(2.0)
          >>> before.numpy(), v.numpy()
          (np.float32(1.0), np.float32(2.0))
        """
        return append_tensor(lambda log: (log.read(self, self._value), self._spec))

    def value(self) -> Tensor:
        """Return the current value as a new tensor, through which gradients reach the variable.

        Returns:
          A tensor, the same as from `read_value`.

        Example:
          >>> tf.Variable(1.0).value()
          <tf.Tensor: shape=(), dtype=float32, numpy=1.0>
        """
        return self.read_value()

    def _current_tensor(self) -> Tensor:
        """Return the tensor to evaluate. In a traced call it is a read, so a guard is recorded."""
        tensor: Tensor = local.log.current_value(self)
        return tensor

    def _array(self) -> np.ndarray[Any, Any]:
        return self._current_tensor()._array()

    def numpy(self) -> np.ndarray[Any, Any] | Any:
        """Return the value as a new NumPy array, or a NumPy scalar for shape ``()``.

        Returns:
          An array that may be written to.

        Example:
          >>> tf.Variable([1.0, 2.0]).numpy()
          array([1., 2.], dtype=float32)
        """
        return self._current_tensor().numpy()

    # Assigning.

    def assign(
        self,
        value: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Variable:
        """Assign a new value. It is computed with the next evaluation or assign of this variable.

        Earlier reads of the variable keep the value that they read.

        Args:
          value: A tensor of the same shape and dtype, or a value that converts to one.
          use_locking: Accepted for compatibility with TensorFlow; not used.
          name: Not used.
          read_value: Whether to return the variable.

        Returns:
          An alias of this variable; None if ``read_value`` is False.

        Raises:
          ValueError: If ``value`` has another shape, or is a tensor of another dtype.
          TypeError: If ``value`` is a Python float and the variable an integer.

        Example:
          >>> v = tf.Variable(1.0)
          >>> y = v + 1.0
          >>> v.assign(10.0).numpy(), y.numpy()
          (np.float32(10.0), np.float32(2.0))
        """
        if type(value) is not Tensor or value._spec is not self._spec:
            value = self._to_spec(value)
        return self._assign_tensor(value, read_value)

    def assign_add(
        self,
        delta: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Variable:
        """Add ``delta`` to the value. See `assign`.

        Args:
          delta: A tensor of the same shape and dtype, or a value that converts to one.
          use_locking: Accepted for compatibility with TensorFlow; not used.
          name: Not used.
          read_value: Whether to return the variable.

        Returns:
          An alias of this variable; None if ``read_value`` is False.

        Raises:
          InvalidArgumentError: If ``delta`` has another shape.
          ValueError: If ``delta`` is a tensor of another dtype.

        Example:
          >>> v = tf.Variable([1, 2])
          >>> v.assign_add([10, 10]).numpy()
          array([11, 12], dtype=int32)
        """
        if type(delta) is not Tensor or delta._spec is not self._spec:
            delta = self._to_delta(delta)
        with _update_lock:  # inlined, also in `assign_sub`: optimizers call it for each variable
            return self._assign_tensor(_ops["add"](self, delta), read_value)

    def assign_sub(
        self,
        delta: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Variable:
        """Subtract ``delta`` from the value. See `assign`.

        Args:
          delta: A tensor of the same shape and dtype, or a value that converts to one.
          use_locking: Accepted for compatibility with TensorFlow; not used.
          name: Not used.
          read_value: Whether to return the variable.

        Returns:
          An alias of this variable; None if ``read_value`` is False.

        Raises:
          InvalidArgumentError: If ``delta`` has another shape.
          ValueError: If ``delta`` is a tensor of another dtype.

        Example:
          >>> v = tf.Variable([1.0, 2.0])
          >>> v.assign_sub([0.5, 0.5]).numpy()
          array([0.5, 1.5], dtype=float32)
        """
        if type(delta) is not Tensor or delta._spec is not self._spec:
            delta = self._to_delta(delta)
        with _update_lock:
            return self._assign_tensor(_ops["subtract"](self, delta), read_value)

    def _assign_slice(
        self,
        key: Any,
        value: TensorLike,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Variable:
        """Assign to ``self[key]``; the value is broadcast to the shape of the slice."""
        value = self._to_tensor(value)
        with _update_lock:
            return self._assign_tensor(_ops["with_slice"](self, key, value), read_value)

    def _apply_update(self, op: str, *args: object) -> Variable:
        """Assign the result of an op of the variable and these arguments."""
        with _update_lock:
            return self._assign_tensor(_ops[op](self, *args), True)

    def _gather(self, op: str, indices: TensorLike) -> Tensor:
        return _ops[op](self, indices)

    def _assign_tensor(self, value: Tensor, read_value: bool) -> Variable:
        """Assign this variable: a fast version of `assign_all` for values that need no sweep."""
        log, key, old_value = local.log, id(self), self._value
        home, pending, is_pending = old_value._home, log.pending, True
        if (
            type(log) is Log
            and local.journal is None
            and value._spec is self._spec
            and (type(home) is np.ndarray or (home is log and key not in pending))
        ):
            # atomic: see core.values.intern_table
            if self._value is old_value:
                pending[key] = self
                self._value = value
                self._read = None
                is_pending = False
            # end atomic
        if is_pending:
            assign_all([self], [value])
        if not read_value:
            return None  # type: ignore[return-value]
        for ref in local.log.tapes:  # an assign counts as a read
            tape = ref()
            if tape is not None and tape.recording and tape.watch_accessed and self._trainable:
                tape.events.append((local.log.n, self))
        result: UnreadVariable = _new_object(UnreadVariable)
        result._original = self
        return result

    def _to_tensor(self, value: TensorLike) -> Tensor:
        """Convert a value to a tensor of this variable's dtype."""
        if type(value) is Tensor and value._spec.dtype is self._spec.dtype:
            return value
        return to_tensor(value, self._spec.dtype)

    def _to_spec(self, value: TensorLike) -> Tensor:
        """Convert a value to a tensor of this variable's spec."""
        tensor = self._to_tensor(value)
        if tensor._spec is not self._spec:
            raise ValueError(
                f"Cannot assign value to variable '{self.name}': Shape mismatch. The variable "
                f"shape {self.shape}, and the assigned value shape {tensor.shape} are incompatible."
            )
        return tensor

    def _to_delta(self, value: TensorLike | None) -> Tensor:
        """Convert the argument of `assign_add` or `assign_sub` to a tensor of this spec."""
        if value is None:
            raise ValueError(
                f"None values not supported: the delta of variable '{self.name}' is None. A "
                f"gradient is None if the target does not depend on the variable; "
                f"`tape.why(target, variable)` says where the path ends."
            )
        delta = self._to_tensor(value)
        if delta._spec is not self._spec:
            raise InvalidArgumentError(
                f"Cannot update variable '{self.name}' of shape {self.shape} with a delta of "
                f"shape {delta.shape}: shapes must be equal."
            )
        return delta

    def ref(self) -> Reference:
        """Return a hashable reference to this variable, for use as a key.

        Returns:
          A reference, equal to other references to the same object; ``deref()`` returns the
          variable.

        Example:
          >>> v = tf.Variable(1.0)
          >>> {v.ref(): "v"}[v.ref()]
          'v'
        """
        return Reference(self)

    def __hash__(self) -> int:
        raise TypeError("Variable is unhashable. Instead, use variable.ref() as the key.")

    def __repr__(self) -> str:
        value = self._current_tensor()._repr_value()
        return (
            f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}, numpy={value}>"
        )

    def _repr_html_(self) -> str:
        """Return HTML for notebooks; see `Tensor`."""
        return html_of(repr(self))

    __iadd__ = _refuse_in_place("+=", "variable.assign_add(value)")
    __isub__ = _refuse_in_place("-=", "variable.assign_sub(value)")
    __imul__ = _refuse_in_place("*=", "variable.assign(variable * value)")
    __itruediv__ = _refuse_in_place("/=", "variable.assign(variable / value)")
    __ipow__ = _refuse_in_place("**=", "variable.assign(variable ** value)")

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_variable, (
            self.numpy(),
            self._trainable,
            self._name,
            self.dtype,
            self._policy,
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        return _restore_variable(
            self.read_value(), self._trainable, self._name, self.dtype, self._policy
        )


give_hints(Variable, "ResourceVariable", "v[i].assign(value)")
Variable.__name__ = Variable.__qualname__ = "ResourceVariable"  # as TensorFlow prints it
ResourceVariable = Variable  # pickle looks the class up under this name


def _restore_variable(
    value: TensorLike, trainable: bool, name: str, dtype: DType, policy: tuple[Any, ...]
) -> Variable:
    """Return a copy of a variable, or a variable that is read from a pickle."""
    constraint, synchronization, aggregation = policy
    variable = Variable(
        value,
        trainable,
        dtype=dtype,
        constraint=constraint,
        synchronization=synchronization,
        aggregation=aggregation,
    )
    variable._name = name  # without the prefix of the current scope
    return variable


_again = _restore_variable  # the name in pickles that older versions wrote


# The ops behind `assign_add` and other updates; set in `core.bindings`, which knows the ops.
_ops: dict[str, Callable[..., Tensor]] = {}


def _delegate(name: str) -> Any:
    def method(self: Alias, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._original, name)(*args, **kwargs)

    return method


class Alias(Variable):
    """A variable under another name; it shares the state of the original."""

    __slots__ = ("_original",)

    def __init__(self, of: Variable) -> None:
        self._original = of

    def __getattr__(self, name: str) -> Any:  # called for attributes that are not set here
        return getattr(self._original, name)

    _read_in = _delegate("_read_in")
    read_value = _delegate("read_value")
    assign = _delegate("assign")
    assign_add = _delegate("assign_add")
    assign_sub = _delegate("assign_sub")
    _assign_slice = _delegate("_assign_slice")
    _apply_update = _delegate("_apply_update")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._original,)

    def __deepcopy__(self, memo: dict[int, Any]) -> Variable:
        return type(self)(copy.deepcopy(self._original, memo))


class AutocastAlias(Alias):
    """An alias that is read in the dtype of `local.autocast`, while that is set."""

    __slots__ = ("_is_cast",)

    def __init__(self, of: Variable, is_cast: bool = True) -> None:
        super().__init__(of)
        self._is_cast = is_cast

    def _cast_dtype(self) -> DType | None:
        """The dtype to which a read is cast; None for the variable's."""
        dtype: DType | None = local.autocast
        own_dtype = self._original._spec.dtype
        if dtype is None or dtype is own_dtype or not self._is_cast or not own_dtype.is_floating:
            return None
        return dtype

    @property
    def _spec(self) -> Spec:  # type: ignore[override]
        spec, dtype = self._original._spec, local.autocast and self._cast_dtype()
        return spec if dtype is None else intern(spec.shape, dtype)

    def _read_in(self, log: Log) -> int:
        """Return the row of a read in ``log``, followed by a cast if that is needed."""
        if local.autocast is None or (dtype := self._cast_dtype()) is None:
            return self._original._read_in(log)
        busy = log.busy
        try:
            log.busy = True  # the row of the cast must stay valid until the caller uses it
            return log.row_of(_ops["cast"](self._original, dtype), None, "Cast")[0]
        finally:
            log.busy = busy

    def read_value(self) -> Tensor:
        """Return the current value as a new tensor."""
        value: Tensor = self._original.read_value()
        dtype = self._cast_dtype()
        return value if dtype is None else _ops["cast"](value, dtype)

    def _assigned(self, value: TensorLike) -> TensorLike:
        """Cast a value to the variable's dtype, if reads are cast from it."""
        is_cast = self._cast_dtype() is not None and isinstance(value, Tensor | Variable)
        return _ops["cast"](value, self._original.dtype) if is_cast else value

    def assign(self, value: TensorLike, *args: Any, **kwargs: Any) -> Variable:
        """Assign a new value, as `Variable.assign` does."""
        return self._original.assign(self._assigned(value), *args, **kwargs)

    def assign_add(self, delta: TensorLike, *args: Any, **kwargs: Any) -> Variable:
        """Add to the value, as `Variable.assign_add` does."""
        return self._original.assign_add(self._assigned(delta), *args, **kwargs)

    def assign_sub(self, delta: TensorLike, *args: Any, **kwargs: Any) -> Variable:
        """Subtract from the value, as `Variable.assign_sub` does."""
        return self._original.assign_sub(self._assigned(delta), *args, **kwargs)


class UnreadVariable(Alias):
    """The result of `assign`."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """The name that TensorFlow gives to the result of an assign."""
        return "UnreadVariable"

    def _read_in(self, log: Log) -> int:
        """Append a new read, which makes no tape watch the variable. Return its row."""
        return log.read_unwatched(self._original)

    def read_value(self) -> Tensor:
        """Return the current value as a new tensor."""
        return append_tensor(lambda log: (self._read_in(log), self._spec))


def original(variable: Variable) -> Variable:
    """Return the variable that holds the state of a variable or alias."""
    return variable._original if isinstance(variable, Alias) else variable


_set_value: Any = vars(Variable)["_value"].__set__
_get_value: Any = vars(Variable)["_value"].__get__
_set_read: Any = vars(Variable)["_read"].__set__


_TENSORS = frozenset([Tensor])


def assign_all(variables: Sequence[Variable], values: Sequence[Any]) -> None:
    """Assign all variables at once, or none if there is an error or an interrupt.

    The variables must not be aliases. The values must convert to tensors of the variables' specs;
    a variable among the values is read. Values of earlier assigns that are not computed yet are
    computed first, in one sweep.

    Raises:
      InvalidArgumentError: If a value has another spec.
      TypeError, ValueError: If a value does not convert to a tensor.
    """
    # Evaluation of pending assigns relies on every assigned value being a tensor.
    if not _TENSORS.issuperset(map(type, values)):
        values = [
            value if type(value) is Tensor else variable._to_tensor(value)
            for variable, value in zip(variables, values, strict=True)
        ]
    for variable, value in zip(variables, values, strict=True):
        if value._spec is not variable._spec:
            raise InvalidArgumentError(
                f"Cannot assign {value._describe()} to variable '{variable.name}' of shape "
                f"{variable.shape} and dtype {variable.dtype.name}."
            )
    local.log.assign(variables, values)


def _assign(log: Log, variables: Sequence[Variable], values: Sequence[Tensor]) -> None:
    """Assign immediately. A traced call instead assigns at its end: see `Trace`."""
    for variable in variables:
        value = variable._value
        home = value._home
        if type(home) is not np.ndarray and isinstance(home, Log) and id(variable) in home.pending:
            value._array()
    journal = local.journal
    if journal is not None:
        for variable in variables:
            journal.setdefault(id(variable), (variable, variable._value))
    # An early entry in `pending`, before the value changes, is harmless.
    log.pending.update(zip(map(id, variables), variables, strict=True))
    set_values(variables, values)


Log.assign = _assign


def set_values(
    variables: Sequence[Variable],
    values: Iterable[Tensor],
    *other_iterables: Iterable[None],
    expected: Sequence[tuple[Variable, Tensor]] = (),
) -> bool:
    """Set the values of variables without conversion, and exhaust ``other_iterables``.

    This is one call into C, which no signal handler can interrupt if the iterables are implemented
    in C as well.

    Args:
      variables: The variables.
      values: Values of their specs.
      *other_iterables: Iterables with side effects to run in the same call.
      expected: Variables with the values that they must have, or nothing is done.

    Returns:
      False, and nothing is done, if a variable does not have its expected value.
    """
    nothing = itertools.repeat(None)
    assignments = itertools.chain(
        map(_set_value, variables, values), map(_set_read, variables, nothing), *other_iterables
    )
    expected_variables, expected_values = zip(*expected, strict=True) if expected else ((), ())
    unchanged = map(operator.is_, map(_get_value, expected_variables), expected_values)
    return all(itertools.chain(unchanged, map(operator.not_, assignments)))


creation_order = operator.attrgetter("_creation_index")
