"""A layer of products of two inputs, summed along an axis of each."""

from __future__ import annotations

from typing import Any

from ...core.ops import movement
from ...core.ops.clipping import l2_normalize
from ...core.ops.matrix_products import matmul
from ...core.values.dtypes import repr_of
from .configured import Shape, document
from .merging import Merge, shapes_of


@document(
    "TypeError: If ``axes`` is not an int or a list.\n"
    "ValueError: If it is not a pair; at a call, if "
    "there are not two inputs, or their sizes along the axes differ.",
    axes="The axis of each input that is summed over: an int for both, or a pair.",
    normalize="Whether the inputs are scaled to length 1 along the axis: products are cosines.",
)
class Dot(Merge):
    """Sums of products of two inputs along an axis of each, for each element of the batch.

    >>> tf.keras.layers.Dot(1)([tf.constant([[1.0, 2.0]]), tf.constant([[3.0, 4.0]])]).numpy()
    array([[11.]], dtype=float32)
    """

    def __init__(self, axes: Any, normalize: bool = False, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not isinstance(axes, int):
            if not isinstance(axes, list | tuple):
                raise TypeError(
                    "Invalid type for argument `axes`: it should be a list or an int. Received: "
                    f"axes={repr_of(axes)}"
                )
            if len(axes) != 2 or not all(isinstance(axis, int) for axis in axes):
                raise ValueError(
                    "Invalid format for argument `axes`: it should contain two integers. "
                    f"Received: axes={repr_of(axes)}"
                )
        self._nt_keep(axes=axes, normalize=normalize)

    def _nt_both_axes(self, *shapes: Any) -> tuple[int, int]:
        """The axis of each input, from 0."""
        axes = (self.axes, self.axes) if isinstance(self.axes, int) else self.axes
        ranks = [len(shape) for shape in shapes]
        if min(ranks) < 2:
            raise ValueError(
                "Cannot do batch_dot on inputs with rank < 2. Received inputs with shapes "
                f"{shapes[0]} and {shapes[1]}."
            )
        for axis, rank in zip(axes, ranks, strict=True):
            if not -rank <= axis < rank or axis % rank == 0:
                raise ValueError(
                    f"Cannot perform batch_dot over axis {axis} of inputs with shapes "
                    f"{shapes[0]} and {shapes[1]}: the axes are 1 to {rank - 1}."
                )
        return axes[0] % ranks[0], axes[1] % ranks[1]

    def call(self, inputs: Any) -> Any:
        """Give the sums of products."""
        x, y = inputs
        full = self.compute_output_shape([tuple(x.shape), tuple(y.shape)])
        i, j = self._nt_both_axes(tuple(x.shape), tuple(y.shape))
        if self.normalize:
            x, y = l2_normalize(x, i, 1e-14), l2_normalize(y, j, 1e-14)
        batch, size = x.shape[0], x.shape[i]
        x = movement.transpose(x, [k for k in range(x.ndim) if k != i] + [i])
        y = movement.transpose(y, [0, j] + [k for k in range(1, y.ndim) if k != j])
        rows = x._spec.size // max(batch * size, 1)
        columns = y._spec.size // max(batch * size, 1)
        product = matmul(
            movement.reshape(x, (batch, rows, size)), movement.reshape(y, (batch, size, columns))
        )
        return movement.reshape(product, full)

    def compute_output_shape(self, input_shape: Any) -> Shape:
        """Give the shape without the axes that were summed over."""
        shapes = shapes_of(input_shape, "`Dot`", "a list of 2 inputs")
        if len(shapes) != 2:
            raise ValueError(
                f"A `Dot` layer should be called on a list of 2 inputs. Received: "
                f"input_shape={input_shape}"
            )
        first, second = shapes
        i, j = self._nt_both_axes(first, second)
        if None not in (first[i], second[j]) and first[i] != second[j]:
            raise ValueError(
                f"Incompatible input shapes: axis values {first[i]} (at axis {i}) != {second[j]} "
                f"(at axis {j}). Full input shapes: {first}, {second}"
            )
        if None not in (first[0], second[0]) and first[0] != second[0]:
            raise ValueError(
                "Cannot do batch_dot on inputs with different batch sizes. Received inputs with "
                f"shapes {first} and {second}."
            )
        left = [n for k, n in enumerate(first) if k != i]
        left += [n for k, n in enumerate(second) if k not in (0, j)]
        return tuple(left) if len(left) > 1 else (*left, 1)

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> None:
        """Give no mask."""
