"""Properties of a variable: name, shape, dtype, and the arguments that TensorFlow has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from ..values import dtypes
from ..values.dtypes import DType
from ..values.policies import VariableAggregation, VariableSynchronization
from ..values.spec import Spec, TensorShape, check_shape, intern
from ..values.tensor import Reference, Tensor, of_array


class VariableProperties:
    """Base of `Variable`."""

    __slots__ = ()

    if TYPE_CHECKING:
        _name: str
        _trainable: bool
        _spec: Spec
        _value: Tensor
        _policy: tuple[Any, VariableSynchronization, VariableAggregation]

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
    def device(self) -> str:
        """Where the value lives, in TensorFlow's spelling."""
        return self._value.device

    def get_shape(self) -> TensorShape:
        """The shape."""
        return self._spec.shape

    def set_shape(self, shape: Any) -> None:
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

    def load(self: Any, value: Any, session: Any = None) -> None:
        """Assign a value. Same as `assign`."""
        self.assign(value)

    def experimental_ref(self: Any) -> Reference:
        """Return a hashable reference. Same as `ref`."""
        result: Reference = self.ref()
        return result

    def eval(self, session: Any = None) -> NoReturn:
        """Raise a RuntimeError. Use `numpy` to get the value."""
        raise RuntimeError("This operation is not supported when eager execution is enabled.")

    def to_proto(self, export_scope: Any = None) -> NoReturn:
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
