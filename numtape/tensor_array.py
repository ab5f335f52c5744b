"""`TensorArray`: a list of tensors of one dtype, for loops that compute one result at a time.

An array holds the tensors themselves, so gradients flow from what is read to what was written, in
eager mode, in `tf.while_loop` and in a `function`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from .compat.traceback_filter import guard as _guard
from .core.log.as_tensor import as_tensor
from .core.log.log import local
from .core.log.variable import Variable
from .core.ops.creation import convert_to_tensor, zeros
from .core.ops.joining import concat, stack
from .core.ops.slicing import split, unstack
from .core.values.dtypes import DType, as_dtype
from .core.values.spec import TensorShape
from .core.values.tensor import Tensor
from .errors import InvalidArgumentError, OutOfRangeError, UnimplementedError

if TYPE_CHECKING:
    from .core.values.annotations import DTypeLike, IntLike, PartialShape, TensorLike


class TensorArray:
    """A list of tensors of one dtype, which are written and read by their indices.

    Methods that write change the array and return it, as TensorFlow's do in eager mode. Programs
    for both write ``array = array.write(i, x)``.

    Args:
      dtype: The dtype of the elements.
      size: The number of elements. It must be given.
      dynamic_size: Whether `write`, `scatter`, `unstack` and `split` may make the array longer;
        default: False.
      clear_after_read: Whether `read` removes the element, so that it can be read once; default:
        True.
      tensor_array_name: Not used.
      handle: Not used.
      flow: Not used.
      infer_shape: Whether all elements must have the shape of the first one.
      element_shape: The shape of each element. Elements that were not written are zeros of it.
      colocate_with_first_write_call: Not used.
      name: Not used.

    Raises:
      ValueError: If ``size`` is not given, or negative.

    Example:
      >>> array = tf.TensorArray(tf.float32, size=3)
      >>> for i in range(3):
      ...     array = array.write(i, tf.fill([2], float(i)))
      >>> array.stack().numpy()
      array([[0., 0.],
             [1., 1.],
             [2., 2.]], dtype=float32)
    """

    def __init__(
        self,
        dtype: DTypeLike,
        size: IntLike | None = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: object = None,
        flow: object = None,
        infer_shape: bool = True,
        element_shape: PartialShape = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        if size is None:
            raise ValueError(
                "Size must be declared for TensorArrays when eager execution is enabled."
            )
        count = _to_int(size)
        if count < 0:
            raise ValueError(f"The size of a TensorArray must be >= 0, got {count}.")
        self._dtype = as_dtype(dtype)
        self._dynamic_size = bool(dynamic_size)
        self._clear_after_read = True if clear_after_read is None else bool(clear_after_read)
        self._infer_shape = bool(infer_shape)
        self._element_shape = TensorShape(element_shape)
        self._call = local.log.token  # the recorded call that the array belongs to, if any
        self._elements: list[Tensor | None] = [None] * count
        self._cleared: set[int] = set()

    def _note_use(self) -> None:
        """Keep calls from being recorded that use an array from outside: it may change."""
        if local.log.token is not None and local.log.token is not self._call:
            local.log.refuse_replay("it uses a TensorArray that it did not create")

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._dtype

    @property
    def dynamic_size(self) -> bool:
        """Whether the array may become longer."""
        return self._dynamic_size

    @property
    def element_shape(self) -> TensorShape:
        """The shape of each element, as far as it is known."""
        return self._element_shape

    @property
    def flow(self) -> None:
        """None: numtape has no graphs, whose order of writes this is."""
        return None

    @property
    def handle(self) -> None:
        """None: the array is an object of Python."""
        return None

    def size(self, name: str | None = None) -> Tensor:
        """Return the number of elements, an int32 scalar.

        Args:
          name: Not used.

        Example:
          >>> tf.TensorArray(tf.float32, size=3).size().numpy()
          np.int32(3)
        """
        self._note_use()
        return convert_to_tensor(len(self._elements), "int32")

    def write(self, index: IntLike, value: TensorLike, name: str | None = None) -> TensorArray:
        """Write one element.

        Args:
          index: Its index.
          value: A tensor of the array's dtype.
          name: Not used.

        Returns:
          The array itself.

        Raises:
          OutOfRangeError: If the index is negative, or beyond an array of fixed size.
          InvalidArgumentError: If the value has another dtype.
          ValueError: If its shape does not fit ``element_shape``.

        Example:
          >>> array = tf.TensorArray(tf.int32, size=0, dynamic_size=True)
          >>> array.write(0, 10).write(1, 20).stack().numpy()
          array([10, 20], dtype=int32)
        """
        self._note_use()
        position, count = _to_int(index), len(self._elements)
        if position < 0:
            raise OutOfRangeError(f"Writing to negative indices (index {position}) is not allowed.")
        if position >= count and not self._dynamic_size:
            raise OutOfRangeError(
                f"Tried to write to index {position} but array is not resizeable and size is: "
                f"{count}"
            )
        tensor = self._check(value)
        self._elements.extend([None] * (position + 1 - count))
        self._elements[position] = tensor
        return self

    def _check(self, value: TensorLike) -> Tensor:
        """Return a value as an element. The first one says the shape of the others."""
        tensor = convert_to_tensor(value, dtype_hint=self._dtype)
        if tensor.dtype is not self._dtype:
            raise InvalidArgumentError(
                f"TensorArray dtype is {self._dtype.name} but Op is trying to write dtype "
                f"{tensor.dtype.name}"
            )
        if not self._element_shape.is_compatible_with(tensor.shape):
            raise ValueError(
                f"Incompatible shape for value ({tensor.shape}), expected ({self._element_shape})"
            )
        if self._infer_shape:
            self._element_shape = self._element_shape.merge_with(tensor.shape)
        return tensor

    def read(self, index: IntLike, name: str | None = None) -> Tensor:
        """Return one element; with ``clear_after_read``, remove it.

        Args:
          index: Its index.
          name: Not used.

        Raises:
          OutOfRangeError: If there is no such index.
          InvalidArgumentError: If the element was read before and removed, or was never written
            and ``element_shape`` does not say what zeros to read.

        Example:
          >>> array = tf.TensorArray(tf.float32, size=1).write(0, 2.0)
          >>> array.read(0).numpy()
          np.float32(2.0)
        """
        self._note_use()
        position = _to_int(index)
        if position < 0:
            raise OutOfRangeError(
                f"Reading from negative indices (index {position}) is not allowed."
            )
        if position >= len(self._elements):
            raise OutOfRangeError(
                f"Tried to read from index {position} but array size is: {len(self._elements)}"
            )
        tensor = self._element(position)
        if self._clear_after_read:
            self._elements[position] = None
            self._cleared.add(position)
        return tensor

    def _element(self, position: int) -> Tensor:
        """Return the element at an index, zeros if it was never written."""
        try:
            element = self._elements[position]
        except IndexError:
            raise OutOfRangeError(
                f"Tried to read from index {position} but array size is: {len(self._elements)}"
            ) from None
        if element is not None:
            return element
        if position in self._cleared:
            raise InvalidArgumentError(
                f"Could not read index {position} twice because it was cleared after a previous "
                f"read (perhaps try setting clear_after_read = false?)"
            )
        if not self._element_shape.is_fully_defined():
            raise InvalidArgumentError(
                f"Element {position} of the TensorArray was never written. Write it, or give the "
                f"array an `element_shape`: it is zeros then."
            )
        element = self._elements[position] = zeros(self._element_shape, self._dtype)
        return element

    def _all(self) -> list[Tensor]:
        return [self._element(position) for position in range(len(self._elements))]

    def stack(self, name: str | None = None) -> Tensor:
        """Return all elements, stacked along a new first axis.

        Args:
          name: Not used.

        Raises:
          InvalidArgumentError: If an element was removed by `read`, or their shapes differ.

        Example:
          >>> tf.TensorArray(tf.float32, size=2).unstack([1.0, 2.0]).stack().numpy()
          array([1., 2.], dtype=float32)
        """
        self._note_use()
        if not self._elements:
            return self._empty()
        return stack(self._all())

    def _empty(self) -> Tensor:
        """No elements, stacked. Without a shape they count as scalars."""
        shape = self._element_shape
        return zeros([0, *shape] if shape.is_fully_defined() else [0], self._dtype)

    def gather(self, indices: TensorLike, name: str | None = None) -> Tensor:
        """Return some elements, stacked along a new first axis.

        Args:
          indices: A vector of indices.
          name: Not used.

        Raises:
          OutOfRangeError: If there is no such index.

        Example:
          >>> array = tf.TensorArray(tf.float32, size=3).unstack([1.0, 2.0, 3.0])
          >>> array.gather([2, 0]).numpy()
          array([3., 1.], dtype=float32)
        """
        self._note_use()
        positions = _to_ints(indices)
        if not positions:
            return self._empty()
        return stack([self._element(position) for position in positions])

    def concat(self, name: str | None = None) -> Tensor:
        """Return all elements, joined along their first axis.

        Args:
          name: Not used.

        Raises:
          InvalidArgumentError: If the elements are scalars, or their other sizes differ.

        Example:
          >>> array = tf.TensorArray(tf.float32, size=2, infer_shape=False)
          >>> array.write(0, [1.0, 2.0]).write(1, [3.0]).concat().numpy()
          array([1., 2., 3.], dtype=float32)
        """
        self._note_use()
        if not self._elements:
            shape = self._element_shape
            return zeros([0, *shape[1:]] if shape.is_fully_defined() else [0], self._dtype)
        return concat(self._all(), 0)

    def unstack(self, value: TensorLike, name: str | None = None) -> TensorArray:
        """Write the slices of a tensor along its first axis as the elements.

        Args:
          value: A tensor of at least one axis.
          name: Not used.

        Returns:
          The array itself.

        Raises:
          ValueError: If the array is too short and of fixed size.

        Example:
          >>> tf.TensorArray(tf.float32, size=2).unstack([1.0, 2.0]).size().numpy()
          np.int32(2)
        """
        parts = unstack(self._convert(value))
        if len(parts) > len(self._elements) and not self._dynamic_size:
            raise ValueError(
                f"Cannot unstack {len(parts)} tensors into a TensorArray of static size "
                f"{len(self._elements)}"
            )
        return self._replace(parts)

    def _convert(self, value: TensorLike) -> Tensor:
        return convert_to_tensor(value, dtype_hint=self._dtype)

    def _replace(self, parts: Iterable[Tensor]) -> TensorArray:
        self._note_use()
        self._elements = [self._check(part) for part in parts]
        self._cleared.clear()
        return self

    def scatter(
        self, indices: TensorLike, value: TensorLike, name: str | None = None
    ) -> TensorArray:
        """Write the slices of a tensor along its first axis to some indices.

        Args:
          indices: A vector of indices.
          value: A tensor with as many slices.
          name: Not used.

        Returns:
          The array itself.

        Raises:
          InvalidArgumentError: If there are more or fewer indices than slices.
          OutOfRangeError: If the array is too short and of fixed size.

        Example:
          >>> tf.TensorArray(tf.float32, size=2).scatter([1, 0], [5.0, 6.0]).stack().numpy()
          array([6., 5.], dtype=float32)
        """
        positions, parts = _to_ints(indices), unstack(self._convert(value))
        if len(positions) != len(parts):
            raise InvalidArgumentError(
                f"TensorArray.scatter() takes an index for each slice: {len(positions)} indices "
                f"for {len(parts)} slices."
            )
        for position, part in zip(positions, parts, strict=True):
            self.write(position, part)
        return self

    def split(self, value: TensorLike, lengths: TensorLike, name: str | None = None) -> TensorArray:
        """Write pieces of a tensor along its first axis as the elements.

        Args:
          value: A tensor of at least one axis.
          lengths: A vector of sizes, whose sum is the size of the axis.
          name: Not used.

        Returns:
          The array itself.

        Raises:
          InvalidArgumentError: If the lengths do not fit the tensor or the array.

        Example:
          >>> array = tf.TensorArray(tf.float32, size=2, infer_shape=False)
          >>> array.split([1.0, 2.0, 3.0], [2, 1]).read(0).numpy()
          array([1., 2.], dtype=float32)
        """
        tensor, sizes = self._convert(value), np.asarray(as_tensor(lengths).numpy())
        if sizes.ndim != 1:
            raise InvalidArgumentError(
                f"Expected lengths to be a vector, received shape: {list(sizes.shape)}"
            )
        if not tensor.ndim:
            raise InvalidArgumentError(
                f"Expected value to be at least a vector, but received shape: "
                f"{tensor.shape.as_list()}"
            )
        if sizes.sum() != tensor.shape[0]:
            raise InvalidArgumentError(
                f"Expected sum of lengths to be equal to values.shape[0], but sum of lengths is "
                f"{sizes.sum()} and value's shape is: {tensor.shape.as_list()}"
            )
        if not self._dynamic_size and len(sizes) != len(self._elements):
            raise InvalidArgumentError(
                f"TensorArray's size is not equal to the size of lengths ({len(self._elements)} "
                f"vs. {len(sizes)}), and the TensorArray is not marked as dynamically resizeable."
            )
        return self._replace(split(tensor, sizes.tolist()) if len(sizes) else [])

    def identity(self) -> TensorArray:
        """Return the array itself."""
        return self

    def grad(self, source: str, flow: object = None, name: str | None = None) -> NoReturn:
        """Raise UnimplementedError: a `tf.GradientTape` computes gradients through an array.

        Args:
          source: Not used.
          flow: Not used.
          name: Not used.

        Raises:
          UnimplementedError: Always.
        """
        raise UnimplementedError(
            "TensorArray.grad is not supported when executing eagerly; use tf.GradientTape, which "
            "computes gradients through TensorArrays."
        )

    def close(self, name: str | None = None) -> None:
        """Remove all elements.

        Args:
          name: Not used.

        Example:
          >>> array = tf.TensorArray(tf.float32, size=2)
          >>> array.close()
          >>> array.size().numpy()
          np.int32(0)
        """
        self._note_use()
        self._elements.clear()
        self._cleared.clear()

    def __repr__(self) -> str:
        return (
            f"<TensorArray size={len(self._elements)} dtype={self._dtype.name} "
            f"element_shape={self._element_shape}>"
        )


def _to_int(index: IntLike) -> int:
    return int(index.numpy()) if isinstance(index, Tensor | Variable) else int(index)


def _to_ints(indices: TensorLike) -> list[int]:
    values = indices.numpy() if isinstance(indices, Tensor | Variable) else indices
    return [int(index) for index in np.asarray(values).reshape(-1)]


_guard([TensorArray])
