"""Values that stand for elements, datasets and iterators: `Optional` and the specs."""

from __future__ import annotations

from typing import Any

from ..core.log.as_tensor import as_tensor
from ..core.values.spec import TensorShape
from ..core.values.tensor import Tensor
from ..errors import InvalidArgumentError
from . import elements
from .elements import Flow


class _StructureSpec:
    """Base class of the specs: they are equal if their element specs are."""

    def __init__(self, element_spec: Any) -> None:
        self._element_spec = element_spec

    @property
    def element_spec(self) -> Any:
        """The spec of an element: a nest of `TensorSpec`."""
        return self._element_spec

    def is_compatible_with(self, spec_or_value: object) -> bool:
        """Whether a value, or another spec, matches this spec.

        Args:
          spec_or_value: A value or spec.

        Returns:
          A bool.
        """
        spec = spec_or_value
        if isinstance(spec_or_value, Flow):
            spec = spec_or_value._dataset_spec()
        elif isinstance(spec_or_value, Optional):
            spec = OptionalSpec(spec_or_value.element_spec)
        if type(spec) is not type(self):
            return False
        try:
            matches = elements.map_leaves(
                lambda spec, other: spec.is_compatible_with(other),
                self._element_spec,
                spec.element_spec,
            )
        except (TypeError, ValueError):
            return False
        return all(elements.leaves(matches))

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._element_spec == self._element_spec

    def __hash__(self) -> int:
        return hash((type(self).__name__, *elements.leaves(self._element_spec)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._element_spec!r}, {TensorShape([])!r})"


class DatasetSpec(_StructureSpec):
    """The spec of a dataset that is an element of another one, such as a window.

    Args:
      element_spec: The spec of the dataset's elements.
      dataset_shape: Must be ().

    Raises:
      ValueError: If ``dataset_shape`` is another shape.

    Example:
      >>> tf.data.Dataset.range(3).window(2).element_spec
      DatasetSpec(TensorSpec(shape=(), dtype=tf.int64, name=None), TensorShape([]))
    """

    def __init__(self, element_spec: Any, dataset_shape: Any = ()) -> None:
        if tuple(dataset_shape):
            raise ValueError(f"dataset_shape must be (), got {dataset_shape}.")
        super().__init__(element_spec)

    @classmethod
    def from_value(cls, value: Flow) -> DatasetSpec:
        """Return the spec of a dataset.

        Args:
          value: A `Dataset`.

        Returns:
          A `DatasetSpec`.

        Example:
          >>> tf.data.DatasetSpec.from_value(tf.data.Dataset.range(3))
          DatasetSpec(TensorSpec(shape=(), dtype=tf.int64, name=None), TensorShape([]))
        """
        return cls(value._dataset_spec().element_spec)


class IteratorSpec(_StructureSpec):
    """The spec of an iterator.

    Args:
      element_spec: The spec of its elements.

    Example:
      >>> iterator = iter(tf.data.Dataset.range(3))
      >>> tf.data.IteratorSpec(iterator.element_spec).element_spec
      TensorSpec(shape=(), dtype=tf.int64, name=None)
    """

    def __repr__(self) -> str:
        return f"IteratorSpec({self._element_spec!r})"


class OptionalSpec(_StructureSpec):
    """The spec of an `Optional`.

    Args:
      element_spec: The spec of its value.

    Example:
      >>> tf.OptionalSpec(tf.TensorSpec((), tf.int32))
      OptionalSpec(TensorSpec(shape=(), dtype=tf.int32, name=None),)
    """

    def __repr__(self) -> str:
        return f"OptionalSpec({self._element_spec!r},)"

    @classmethod
    def from_value(cls, value: Optional) -> OptionalSpec:
        """Return the spec of an optional.

        Args:
          value: An `Optional`.

        Returns:
          An `OptionalSpec`.

        Example:
          >>> optional = tf.experimental.Optional.from_value(1)
          >>> tf.OptionalSpec.from_value(optional).element_spec
          TensorSpec(shape=(), dtype=tf.int32, name=None)
        """
        return cls(value.element_spec)


class Optional:
    """A value, or the absence of one; see `Iterator.get_next_as_optional`.

    Create one with `from_value` or `empty`.

    Example:
      >>> iterator = iter(tf.data.Dataset.range(1))
      >>> for _ in range(2):
      ...     optional = iterator.get_next_as_optional()
      ...     print(optional.has_value().numpy())
      True
      False
    """

    _value: Any
    _spec: Any
    _has_value: bool

    def __init__(self) -> None:
        raise TypeError("Create an Optional with Optional.from_value or Optional.empty.")

    @classmethod
    def _make(cls, value: Any, spec: Any, has_value: bool) -> Optional:
        optional = object.__new__(cls)
        optional._value, optional._spec, optional._has_value = value, spec, has_value
        return optional

    @classmethod
    def from_value(cls, value: Any) -> Optional:
        """Return an optional with a value.

        Args:
          value: A nest of tensors.

        Returns:
          An `Optional`.

        Example:
          >>> tf.experimental.Optional.from_value(42).get_value().numpy()
          np.int32(42)
        """
        element = elements.as_element(value)
        return cls._make(elements.as_tensors(element), elements.spec_of(element), True)

    @classmethod
    def empty(cls, element_spec: Any) -> Optional:
        """Return an optional without a value.

        Args:
          element_spec: The spec of the value that it does not have.

        Returns:
          An `Optional`.

        Example:
          >>> spec = tf.TensorSpec((), tf.int32)
          >>> tf.experimental.Optional.empty(spec).has_value().numpy()
          np.False_
        """
        return cls._make(None, element_spec, False)

    def has_value(self, name: str | None = None) -> Tensor:
        """Return whether there is a value.

        Args:
          name: Not used.

        Returns:
          A bool tensor of shape ().

        Example:
          >>> tf.experimental.Optional.from_value(42).has_value().numpy()
          np.True_
        """
        return as_tensor(self._has_value)

    def get_value(self, name: str | None = None) -> Any:
        """Return the value.

        Args:
          name: Not used.

        Returns:
          A nest of tensors.

        Raises:
          InvalidArgumentError: If there is no value.

        Example:
          >>> tf.experimental.Optional.from_value(42).get_value().numpy()
          np.int32(42)
        """
        if not self._has_value:
            raise InvalidArgumentError("The given optional does not have a value.")
        return self._value

    @property
    def element_spec(self) -> Any:
        """The spec of the value.

        Example:
          >>> tf.experimental.Optional.from_value(42).element_spec
          TensorSpec(shape=(), dtype=tf.int32, name=None)
        """
        return self._spec
