"""`Variable`: state, read and assigned."""

from __future__ import annotations

import copy
import itertools
import operator
import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NoReturn

import numpy as np

from ...errors import InvalidArgumentError, UnimplementedError
from ..settings import after_fork_in_child
from ..values import dtypes
from ..values.dtypes import DType
from ..values.habits import give_hints
from ..values.operator_types import Operators
from ..values.policies import VariableAggregation, VariableSynchronization, policy
from ..values.tensor import Reference, Tensor, html_of
from .conversions import VariableConversions
from .facts import VariableProperties
from .log import Log, local
from .tensors import append_tensor, to_tensor
from .updates import SliceUpdates

_creation_counter = itertools.count()
_new_object: Any = object.__new__

# Updates that read the values they change are made one after the other, whatever the thread.
_update_lock = threading.RLock()


def _renew_lock_after_fork() -> None:
    global _update_lock
    _update_lock = threading.RLock()


after_fork_in_child(_renew_lock_after_fork)


def _refuse_in_place(operator: str, instead: str) -> Callable[[Any, Any], NoReturn]:
    def refuse(self: Any, other: Any) -> NoReturn:
        raise RuntimeError(f"Variable {operator} value not supported. Use `{instead}`.")

    return refuse


class Variable(VariableProperties, SliceUpdates, VariableConversions, Operators):
    """A value that changes by `assign`, and that tapes watch by themselves if trainable.

    Everything that takes a tensor takes a variable, and reads it. ``v[1:].assign(x)`` changes a
    part.

    Args:
      initial_value: A tensor, NumPy array, Python number or nested list, or a function of no
        arguments that returns one.
      trainable: Whether a GradientTape watches it whenever it is read; None is True, unless it is
        synchronised ON_READ.
      validate_shape: Accepted for TensorFlow's sake.
      caching_device: Likewise.
      name: Its name; `Variable.name` appends ``:0``.
      variable_def: Must be None.
      dtype: The dtype, if not the initial value's.
      import_scope: Accepted for TensorFlow's sake.
      constraint: A function that optimizers put the variable's new value through.
      synchronization: A `VariableSynchronization`, which changes nothing on one device.
      aggregation: A `VariableAggregation`, likewise.
      shape: The shape, if given, must be the initial value's.
      experimental_enable_variable_lifting: Accepted for TensorFlow's sake.

    Raises:
      ValueError: If there is no initial value, or it has another shape, or an argument is unknown.
      UnimplementedError: If ``shape`` leaves a size open.

    Example:
      >>> v = tf.Variable([1.0, 2.0], name="v")
      >>> v[0].assign(5.0)
      <tf.Variable 'UnreadVariable' shape=(2,) dtype=float32, numpy=array([5., 2.], dtype=float32)>
      >>> with tf.GradientTape() as tape:
      ...     y = tf.reduce_sum(v * v)
      >>> tape.gradient(y, v).numpy()
      array([10.,  4.], dtype=float32)
    """

    # _value is a tensor whose value is the variable's; _read, if not None, (log, row) of a read
    # that may be used again.
    __slots__ = (
        "__weakref__",
        "_name",
        "_creation_index",
        "_policy",
        "_read",
        "_spec",
        "_trainable",
        "_value",
    )

    __array_priority__ = 100

    def __init__(
        self,
        initial_value: Any = None,
        trainable: bool | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        import_scope: Any = None,
        constraint: Any = None,
        synchronization: Any = VariableSynchronization.AUTO,
        aggregation: Any = VariableAggregation.NONE,
        shape: Any = None,
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
        synchronization = policy(
            VariableSynchronization,
            synchronization,
            VariableSynchronization.AUTO,
            "synchronization",
            name,
        )
        aggregation = policy(
            VariableAggregation, aggregation, VariableAggregation.NONE, "aggregation", name
        )
        requested_dtype = dtypes.as_dtype(dtype) if dtype is not None else None
        value = to_tensor(initial_value, requested_dtype)
        if shape is not None:
            requested_shape = (shape,) if isinstance(shape, int) else shape
            if not hasattr(requested_shape, "__iter__") or isinstance(requested_shape, str):
                raise TypeError(f"Failed to convert {shape!r} to a shape.")
            if None in tuple(requested_shape):
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
        """The row of a read in ``log``: the last one, if the value is still the same."""
        read = self._read
        if read is not None and read[0] is log:
            return read[1]
        value = self._value
        tensors = log.tensors
        row = log.read(self, value)
        new_read = log, row
        log.reads.append(self)
        # whole: nothing runs in between, see core.values.interning
        reads = log.reads
        # Neither forgotten again, nor rewound, nor assigned meanwhile.
        if reads and reads[-1] is self and log.tensors is tensors and self._value is value:
            self._read = new_read
        # done
        return row

    def read_value(self) -> Tensor:
        """The current value, as a tensor of its own through which gradients reach the variable.

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
        """The current value, as a tensor of its own through which gradients reach the variable.

        Returns:
          A tensor: what `read_value` gives.

        Example:
          >>> tf.Variable(1.0).value()
          <tf.Tensor: shape=(), dtype=float32, numpy=1.0>
        """
        return self.read_value()

    def _current_tensor(self) -> Tensor:
        """The tensor to look at: while a call is traced a read, whose look leaves a guard."""
        tensor: Tensor = local.log.current_value(self)
        return tensor

    def _array(self) -> np.ndarray[Any, Any]:
        return self._current_tensor()._array()

    def numpy(self) -> np.ndarray[Any, Any] | Any:
        """The value: a NumPy array of its own, or a NumPy scalar for shape ``()``.

        Returns:
          An array, which may be written to.

        Example:
          >>> tf.Variable([1.0, 2.0]).numpy()
          array([1., 2.], dtype=float32)
        """
        return self._current_tensor().numpy()

    # Assigning.

    def assign(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Variable:
        """Change the value. Computed with the next look, or the next assign of this variable.

        What read the variable before keeps the value that it read.

        Args:
          value: A tensor of the same shape and dtype, or what becomes one.
          use_locking: Accepted for TensorFlow's sake.
          name: Not used.
          read_value: Whether to return something.

        Returns:
          Another name of this variable; None if ``read_value`` is False.

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
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Variable:
        """Add ``delta`` to the value. Like `assign`.

        Args:
          delta: A tensor of the same shape and dtype, or what becomes one.
          use_locking: Accepted for TensorFlow's sake.
          name: Not used.
          read_value: Whether to return something.

        Returns:
          Another name of this variable; None if ``read_value`` is False.

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
        with _update_lock:  # as in `assign_sub`: optimizers call them once a variable and step
            return self._assign_tensor(_ops["add"](self, delta), read_value)

    def assign_sub(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Variable:
        """Subtract ``delta`` from the value. Like `assign`.

        Args:
          delta: A tensor of the same shape and dtype, or what becomes one.
          use_locking: Accepted for TensorFlow's sake.
          name: Not used.
          read_value: Whether to return something.

        Returns:
          Another name of this variable; None if ``read_value`` is False.

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
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Variable:
        """``self[key].assign(value)``; the value broadcasts to the slice."""
        value = self._to_tensor(value)
        with _update_lock:
            return self._assign_tensor(_ops["with_slice"](self, key, value), read_value)

    def _apply_update(self, op: str, *args: Any) -> Variable:
        """Assign what a function of the variable and these arguments gives."""
        with _update_lock:
            return self._assign_tensor(_ops[op](self, *args), True)

    def _gather(self, op: str, indices: Any) -> Tensor:
        return _ops[op](self, indices)

    def _assign_tensor(self, value: Tensor, read_value: bool) -> Variable:
        """`assign_all` of this variable, done here where nothing has to be computed before."""
        log, key, old_value = local.log, id(self), self._value
        home, pending, is_pending = old_value._home, log.pending, True
        if (
            type(log) is Log
            and local.journal is None
            and value._spec is self._spec
            and (type(home) is np.ndarray or (home is log and key not in pending))
        ):
            # whole: nothing runs in between, see core.values.interning
            if self._value is old_value:
                pending[key] = self
                self._value = value
                self._read = None
                is_pending = False
            # done
        if is_pending:
            assign_all([self], [value])
        if not read_value:
            return None  # type: ignore[return-value]
        for ref in local.log.tapes:  # it counts as a read
            tape = ref()
            if tape is not None and tape.recording and tape.watch_accessed and self._trainable:
                tape.events.append((local.log.n, self))
        result: UnreadVariable = _new_object(UnreadVariable)
        result._original = self
        return result

    def _to_tensor(self, value: Any) -> Tensor:
        """A value of this dtype."""
        if type(value) is Tensor and value._spec.dtype is self._spec.dtype:
            return value
        return to_tensor(value, self._spec.dtype)

    def _to_spec(self, value: Any) -> Tensor:
        """A value of this spec."""
        tensor = self._to_tensor(value)
        if tensor._spec is not self._spec:
            raise ValueError(
                f"Cannot assign value to variable '{self.name}': Shape mismatch. The variable "
                f"shape {self.shape}, and the assigned value shape {tensor.shape} are incompatible."
            )
        return tensor

    def _to_delta(self, value: Any) -> Tensor:
        """What is added to a value of this spec."""
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
        """A hashable reference to this variable, for use as a key.

        Returns:
          A reference, equal to other references to this very object; ``deref()`` gives the
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
        value = self._current_tensor()._shown()
        return (
            f"<tf.Variable '{self.name}' shape={self.shape} dtype={self.dtype.name}, numpy={value}>"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows; see `Tensor`."""
        return html_of(repr(self))

    __iadd__ = _refuse_in_place("+=", "variable.assign_add(value)")
    __isub__ = _refuse_in_place("-=", "variable.assign_sub(value)")
    __imul__ = _refuse_in_place("*=", "variable.assign(variable * value)")
    __itruediv__ = _refuse_in_place("/=", "variable.assign(variable / value)")
    __ipow__ = _refuse_in_place("**=", "variable.assign(variable ** value)")

    def __reduce__(self) -> tuple[Any, ...]:
        return _restore_variable, (self.numpy(), self._trainable, self._name, self.dtype, self._policy)

    def __deepcopy__(self, memo: Any) -> Variable:
        return _restore_variable(self.read_value(), self._trainable, self._name, self.dtype, self._policy)


give_hints(Variable, "ResourceVariable", "v[i].assign(value)")
Variable.__name__ = Variable.__qualname__ = "ResourceVariable"  # what TensorFlow's programs print
ResourceVariable = Variable  # where pickle looks for it


def _restore_variable(
    value: Any, trainable: bool, name: str, dtype: DType, policy: tuple[Any, ...]
) -> Variable:
    """A copy of a variable, or one read from a pickle."""
    constraint, synchronization, aggregation = policy
    variable = Variable(
        value,
        trainable,
        dtype=dtype,
        constraint=constraint,
        synchronization=synchronization,
        aggregation=aggregation,
    )
    variable._name = name  # whatever the scope is now
    return variable


_again = _restore_variable  # the name in pickles that older versions wrote


# What `assign_add` and its like compute; set in numtape.core.wiring, where ops are known.
_ops: dict[str, Callable[..., Tensor]] = {}


def _delegate(name: str) -> Any:
    def method(self: Alias, *args: Any, **kwargs: Any) -> Any:
        return getattr(self._original, name)(*args, **kwargs)

    return method


class Alias(Variable):
    """A variable under another name: its state is the other variable's."""

    __slots__ = ("_original",)

    def __init__(self, of: Variable) -> None:
        self._original = of

    def __getattr__(self, name: str) -> Any:  # what is not set here
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

    def __deepcopy__(self, memo: Any) -> Variable:
        return type(self)(copy.deepcopy(self._original, memo))


class UnreadVariable(Alias):
    """What `assign` returns."""

    __slots__ = ()

    @property
    def name(self) -> str:
        """TensorFlow's name for it."""
        return "UnreadVariable"

    def _read_in(self, log: Log) -> int:
        """The row of a read of its own, which makes no tape watch the variable."""
        return log.read_unwatched(self._original)

    def read_value(self) -> Tensor:
        """The current value, as a tensor of its own."""
        return append_tensor(lambda log: (self._read_in(log), self._spec))


def original(variable: Variable) -> Variable:
    """The variable that holds the state."""
    return variable._original if isinstance(variable, Alias) else variable


_set_value: Any = vars(Variable)["_value"].__set__
_get_value: Any = vars(Variable)["_value"].__get__
_set_read: Any = vars(Variable)["_read"].__set__


_TENSORS = frozenset([Tensor])


def assign_all(variables: Sequence[Variable], values: Sequence[Any]) -> None:
    """Assign all variables at once, or, if anything goes wrong or interrupts, none.

    The variables are no aliases, and values have their specs once they are tensors; a variable
    among the values is read. Values that an earlier assign left to be computed are computed first,
    in one sweep.

    Raises:
      InvalidArgumentError: If a value has another spec.
      TypeError, ValueError: If a value does not become a tensor.
    """
    # All that is assigned is a tensor: evaluating pending assigns takes that for granted.
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
    """Assign at once. In a call that is recorded it is for the end of the call: see `Trace`."""
    for variable in variables:
        value = variable._value
        home = value._home
        if type(home) is not np.ndarray and isinstance(home, Log) and id(variable) in home.pending:
            value._array()
    journal = local.journal
    if journal is not None:
        for variable in variables:
            journal.setdefault(id(variable), (variable, variable._value))
    # Entering a variable in `pending` before its value changes is harmless.
    log.pending.update(zip(map(id, variables), variables, strict=True))
    set_values(variables, values)


Log.assign = _assign


def set_values(
    variables: Sequence[Variable],
    values: Iterable[Tensor],
    *other_iterables: Iterable[None],
    expected: Sequence[tuple[Variable, Tensor]] = (),
) -> bool:
    """Give variables values of their specs, whatever they had; and run ``others`` to their ends.

    It is one call into C, which no signal handler can divide, if the iterables are C's as well.

    Returns:
      False, and nothing is done, if a variable does not have the value any more that it ``had``.
    """
    nothing = itertools.repeat(None)
    assignments = itertools.chain(
        map(_set_value, variables, values), map(_set_read, variables, nothing), *other_iterables
    )
    expected_variables, expected_values = zip(*expected, strict=True) if expected else ((), ())
    unchanged = map(operator.is_, map(_get_value, expected_variables), expected_values)
    return all(itertools.chain(unchanged, map(operator.not_, assignments)))


creation_order = operator.attrgetter("_creation_index")
