"""Layers that change the shape of each example."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from ...core.ops import movement
from ...core.values.dtypes import repr_of
from ...core.values.tensor import Tensor
from ..input_spec import InputSpec
from .base import ConfiguredLayer, Shape, document, parse_data_format

if TYPE_CHECKING:
    from ..annotations import InputShape


def _product(sizes: Sequence[int | None]) -> int | None:
    """The product of sizes; None if one of them is unknown."""
    known_sizes = [size for size in sizes if size is not None]
    return math.prod(known_sizes) if len(known_sizes) == len(sizes) else None


@document("ValueError: If the format is unknown.")
class Flatten(ConfiguredLayer):
    """Flattens each example to a vector.

    >>> tf.keras.layers.Flatten()(tf.ones((2, 3, 4))).shape
    TensorShape([2, 12])
    """

    def __init__(self, data_format: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._nt_set_arguments(data_format=parse_data_format(data_format))
        self.input_spec = InputSpec(min_ndim=1)

    def call(self, inputs: Tensor) -> Tensor:
        """Return a matrix with a row for each example, in which channels vary fastest."""
        rank = inputs.ndim
        shape = self._nt_known_output_shape(inputs.shape)
        if self.data_format == "channels_first" and rank > 2:
            inputs = movement.transpose(inputs, (0, *range(2, rank), 1))
        return movement.reshape(inputs, shape)

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Return (batch, number of elements of an example)."""
        batch, *sizes = tuple(input_shape)
        return (batch, _product(sizes))


@document(
    "ValueError: At a call, if the number of elements differs.",
    target_shape="The new shape without the batch axis; one size may be -1, and is inferred.",
)
class Reshape(ConfiguredLayer):
    """Changes the shape of each example.

    >>> tf.keras.layers.Reshape((2, -1))(tf.ones((5, 6))).shape
    TensorShape([5, 2, 3])
    """

    def __init__(self, target_shape: int | Sequence[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        shape = (target_shape,) if isinstance(target_shape, int) else tuple(target_shape)
        if shape.count(-1) > 1:
            raise ValueError(
                "There must be at most one unknown dimension in `target_shape` (-1). Received: "
                f"target_shape={repr_of(target_shape)}."
            )
        self._nt_set_arguments(target_shape=shape)

    def call(self, inputs: Tensor) -> Tensor:
        """Return the inputs in the new shape."""
        return movement.reshape(inputs, self._nt_known_output_shape(inputs.shape))

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Return the batch size and the target shape."""
        batch, *sizes = tuple(input_shape)
        total, target_shape = _product(sizes), self.target_shape
        known_product = math.prod(n for n in target_shape if n != -1)
        if total is None:
            return (batch, *(None if n == -1 else n for n in target_shape))
        if (
            (total % known_product if known_product else total)
            if -1 in target_shape
            else total != known_product
        ):
            raise ValueError(
                "The total size of the tensor must be unchanged. Received: "
                f"input_shape={tuple(input_shape)}, target_shape={target_shape}"
            )
        return (batch, *(total // max(known_product, 1) if n == -1 else n for n in target_shape))


@document(
    "ValueError: If ``dims`` is not a permutation of 1, 2, ...; at a call, if the number of "
    "axes is wrong.",
    dims="A permutation of the axes, which are counted from 1, without the batch axis.",
)
class Permute(ConfiguredLayer):
    """Permutes the axes of each example.

    >>> tf.keras.layers.Permute((2, 1))(tf.ones((5, 2, 3))).shape
    TensorShape([5, 3, 2])
    """

    def __init__(self, dims: Iterable[int], **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._nt_set_arguments(dims=tuple(dims))
        if sorted(self.dims) != list(range(1, len(self.dims) + 1)):
            raise ValueError(
                "Invalid permutation argument `dims` for Permute Layer. The set of indices in "
                "`dims` must be consecutive and start from 1. Received dims="
                f"{repr_of(dims)}"
            )
        self.input_spec = InputSpec(ndim=len(self.dims) + 1)

    def call(self, inputs: Tensor) -> Tensor:
        """Return the inputs with permuted axes."""
        return movement.transpose(inputs, (0, *self.dims))

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Return the permuted shape."""
        shape = tuple(input_shape)
        return (shape[0], *(shape[axis] for axis in self.dims))


@document(
    "TypeError: If ``n`` is not an int.\n"
    "ValueError: If it is not positive; at a call, if the inputs "
    "are not a matrix.",
    n="The number of repetitions.",
)
class RepeatVector(ConfiguredLayer):
    """Repeats each vector: (batch, features) becomes (batch, n, features).

    >>> tf.keras.layers.RepeatVector(2)(tf.constant([[1.0, 2.0]])).numpy()
    array([[[1., 2.],
            [1., 2.]]], dtype=float32)
    """

    def __init__(self, n: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not isinstance(n, int):
            raise TypeError(f"Expected an integer value for `n`, got {type(n)}.")
        if n <= 0:
            raise ValueError(f"Argument `n` should be a positive integer. Received: n={n}")
        self._nt_set_arguments(n=n)
        self.input_spec = InputSpec(ndim=2)

    def call(self, inputs: Tensor) -> Tensor:
        """Return the inputs, repeated along a new axis."""
        shape = self._nt_known_output_shape(inputs.shape)
        return movement.broadcast_to(movement.expand_dims(inputs, 1), shape)

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Return (batch, n, features)."""
        batch, features = tuple(input_shape)
        return (batch, self.n, features)
