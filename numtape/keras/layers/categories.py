"""Layers that encode categories: `CategoryEncoding`, `Discretization`, `Hashing`, `HashedCrossing`.

`encode` is the encoding that they share with the lookup layers. Integers are encoded by recorded
ops; hashing computes with strings at once.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...composites.ragged_tensor import RaggedTensor
from ...composites.sparse_tensor import SparseTensor
from ...core.log.as_tensor import from_owned_array
from ...core.log.log import local
from ...core.log.string_tensor import StringTensor, run_as_python
from ...core.ops import elementwise, indexing, movement, reduction, scatter, sorting
from ...core.ops.creation import convert_to_tensor, range_
from ...core.values.composite import Composite
from ...core.values.dtypes import DType, as_dtype, repr_of
from ...core.values.tensor import Tensor
from ...errors import InvalidArgumentError
from ...strings import as_string, to_hash_bucket_fast, to_hash_bucket_strong
from ...strings.hashing import cross
from ..symbolic import KerasTensor
from .base import ConfiguredLayer, Shape, document

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from ...core.values.annotations import TensorLike
    from ..annotations import InputShape

MODES = ("int", "one_hot", "multi_hot", "count")
OUTPUT_MODE = (
    '"int" for the numbers; "one_hot" for a vector of each number, "multi_hot" for one of each row '
    'with 1 for every number in it, "count" for one with their counts.'
)
SPARSE = 'Whether to return a `SparseTensor`, in another mode than "int".'


def check_mode(value: object, choices: Sequence[str], name: str, layer: str) -> None:
    """Raise ValueError unless an argument is one of several strings."""
    if value not in choices:
        raise ValueError(
            f"Unknown value for `{name}` argument of layer {layer}. If restricted to a string, "
            f"must be one of {tuple(choices)}. Received: {name}={repr_of(value)}"
        )


def to_tensor_like(x: Any, dtype: DType | None = None) -> Any:
    """Convert any value to a tensor, of numbers or strings; sparse and ragged ones are kept."""
    if isinstance(x, KerasTensor):
        return x
    if not isinstance(x, Tensor | Composite):
        x = convert_to_tensor(x, dtype if dtype is not None and not hasattr(x, "dtype") else None)
    if dtype is not None and x.dtype is not dtype:
        x = elementwise.cast(x, dtype)
    return x


def is_traced() -> bool:
    """Return whether ops are being recorded for a function, and values must not be read."""
    return bool(getattr(local.log, "tracing", False))


def encoded_shape(shape: Shape, mode: str, depth: int | None) -> Shape:
    """Return the shape of `encode`'s result."""
    if mode == "int":
        return shape
    if mode == "one_hot":
        return (*(shape[:-1] if len(shape) > 1 and shape[-1] == 1 else shape), depth)
    return (*shape[:-1], depth)


def encode(
    inputs: Any,
    mode: str,
    depth: int,
    dtype: DType,
    sparse: bool = False,
    weights: Tensor | None = None,
) -> Any:
    """Encode integers as vectors.

    Args:
      inputs: A tensor of integers; in the modes "multi_hot" and "count" it may be sparse or ragged.
      mode: One of `MODES`.
      depth: The size of the vectors. Larger integers are dropped.
      dtype: The dtype of the result.
      sparse: Whether to return a `SparseTensor`.
      weights: Weights of the integers, for the mode "count".

    Returns:
      A tensor whose last axis is a vector.

    Raises:
      InvalidArgumentError: If an integer is negative.
      ValueError: If the inputs are sparse and the mode is "one_hot".
    """
    if mode == "int":
        return _map_values(inputs, lambda x: elementwise.cast(x, dtype))
    if not isinstance(inputs, Composite) and not inputs.ndim:
        inputs = movement.expand_dims(inputs, -1)
    if mode == "one_hot":
        if isinstance(inputs, RaggedTensor):
            return inputs.with_flat_values(indexing.one_hot(inputs.flat_values, depth, dtype=dtype))
        if isinstance(inputs, Composite):
            raise ValueError(
                "output_mode='one_hot' does not take sparse inputs: use 'multi_hot' or 'count'."
            )
        if inputs.ndim > 1 and inputs.shape[-1] == 1:
            inputs = movement.squeeze(inputs, -1)
        result = indexing.one_hot(inputs, depth, dtype=dtype)
    elif isinstance(inputs, Composite) or inputs.ndim <= 2:
        result = _count(inputs, mode == "multi_hot", depth, dtype, weights)
    else:  # as in Keras: the second axis is the one that is summed
        vectors = indexing.one_hot(inputs, depth, dtype=dtype)
        if mode == "multi_hot":
            result = reduction.reduce_max(vectors, 1)
        else:
            if weights is not None:
                vectors = vectors * movement.expand_dims(elementwise.cast(weights, dtype), -1)
            result = reduction.reduce_sum(vectors, 1)
    if sparse:
        from ...sparse import from_dense

        return from_dense(result)
    return result


def _map_values(x: Any, function: Any) -> Any:
    if isinstance(x, RaggedTensor):
        return x.with_flat_values(function(x.flat_values))
    if isinstance(x, SparseTensor):
        return SparseTensor(x.indices, function(x.values), x.dense_shape)
    return function(x)


def _count(inputs: Any, is_binary: bool, depth: int, dtype: DType, weights: Tensor | None) -> Any:
    """Count the integers of each row, the last axis, of at most two axes."""
    if isinstance(inputs, RaggedTensor):
        values, rows = inputs.flat_values, inputs.value_rowids()
        count = int(inputs.nrows())
        shape: tuple[int, ...] = (count, depth)
        if weights is not None:
            weights = weights.flat_values if isinstance(weights, RaggedTensor) else weights
    elif isinstance(inputs, SparseTensor):
        values = inputs.values
        is_matrix = len(inputs.shape) > 1
        count = int(inputs.shape[0]) if is_matrix else 1
        rows = inputs.indices[:, 0] if is_matrix else inputs.indices[:, 0] * 0
        shape = (count, depth) if is_matrix else (depth,)
        if isinstance(weights, SparseTensor):
            weights = weights.values
    else:
        values = movement.reshape(inputs, [-1])
        count = inputs.shape[0] if inputs.ndim > 1 else 1
        width = inputs.shape[-1]
        rows = movement.reshape(
            movement.broadcast_to(
                movement.expand_dims(range_(count, dtype="int64"), -1), (count, width)
            ),
            [-1],
        )
        shape = (*inputs.shape[:-1], depth)
        if weights is not None:
            weights = movement.reshape(weights, [-1])
    values, rows = elementwise.cast(values, "int64"), elementwise.cast(rows, "int64")
    if not is_traced() and (np.asarray(values) < 0).any():
        raise InvalidArgumentError("Input arr must be non-negative! Integers of categories are.")
    is_counted = (values >= 0) & (values < depth)
    position = indexing.where(is_counted, rows * depth + values, 0)
    weight_dtype = dtype if weights is None else weights.dtype
    ones = elementwise.cast(is_counted, weight_dtype)
    if weights is not None and not is_binary:
        ones = ones * weights
    size = count * depth
    sums = scatter.scatter_nd(movement.expand_dims(position, -1), ones, [size])
    if is_binary:
        sums = elementwise.minimum(sums, 1)
    return elementwise.cast(movement.reshape(sums, shape), dtype)


class CategoricalLayer(ConfiguredLayer):
    """The base of layers whose inputs may be strings, lists, sparse or ragged tensors."""

    _allow_non_tensor_positional_args = True

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Compute the outputs."""
        args = tuple(map(self._nt_to_inputs, args))
        kwargs = {
            name: self._nt_to_inputs(x) if name == "inputs" else x for name, x in kwargs.items()
        }
        return super().__call__(*args, **kwargs)

    def _nt_to_inputs(self, x: Any) -> Any:
        """Convert an argument to a tensor: a list of numbers or strings is one tensor."""
        return None if x is None else to_tensor_like(x)

    def _nt_convert_input(self, x: object) -> Any:
        """Return an input unchanged."""
        return x


@document(
    "ValueError: If the number of tokens is missing or not positive, or the mode is unknown.",
    num_tokens="The number of categories.",
    output_mode='"multi_hot" for a vector of each row with 1 for every category in it, "one_hot" '
    'for a vector of each element, "count" for a vector of each row with the counts.',
    sparse="Whether to return a `SparseTensor`.",
)
class CategoryEncoding(CategoricalLayer):
    """Encode integers from 0 to ``num_tokens - 1`` as vectors.

    A call takes ``count_weights``, the weight of each element in the mode "count".

    >>> layer = tf.keras.layers.CategoryEncoding(num_tokens=4, output_mode="multi_hot")
    >>> layer(np.array([[0, 1], [3, 3]])).numpy()
    array([[1., 1., 0., 0.],
           [0., 0., 0., 1.]], dtype=float32)
    """

    def __init__(
        self,
        num_tokens: int | None = None,
        output_mode: str = "multi_hot",
        sparse: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        output_mode = "multi_hot" if output_mode == "binary" else output_mode
        if output_mode not in MODES[1:]:
            raise ValueError(f"Unknown arg for output_mode: {output_mode}")
        if num_tokens is None:
            raise ValueError(
                "num_tokens must be set to use this layer. If the number of tokens is not known "
                "beforehand, use the IntegerLookup layer instead."
            )
        if num_tokens < 1:
            raise ValueError(f"`num_tokens` must be >= 1. Received: num_tokens={num_tokens}.")
        self._nt_set_arguments(num_tokens=num_tokens, output_mode=output_mode, sparse=sparse)

    def call(self, inputs: Any, count_weights: TensorLike | None = None) -> Any:
        """Encode the inputs."""
        weights = None
        if count_weights is not None:
            if self.output_mode != "count":
                raise ValueError(
                    "`count_weights` is not used when `output_mode` is not `'count'`. Received "
                    f"`count_weights={count_weights}`."
                )
            weights = elementwise.cast(to_tensor_like(count_weights), self.compute_dtype)
        dtype = as_dtype(self.dtype)
        return encode(inputs, self.output_mode, self.num_tokens, dtype, self.sparse, weights)

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Return the shape with a last axis of size ``num_tokens``."""
        shape = tuple(input_shape)
        if not shape:
            return (self.num_tokens,)
        return encoded_shape(shape, self.output_mode, self.num_tokens)

    def compute_output_spec(self, inputs: Any, count_weights: object = None) -> KerasTensor:
        """Return the symbolic output."""
        result = KerasTensor(self.compute_output_shape(inputs.shape), dtype=self.compute_dtype)
        result.sparse = self.sparse
        return result


@document(
    "ValueError: If both or neither of ``bin_boundaries`` and ``num_bins`` are given, or the mode "
    "is unknown.",
    bin_boundaries="The boundaries of the bins, in increasing order.",
    num_bins="The number of bins, whose boundaries `adapt` computes.",
    epsilon="The error of the quantiles that `adapt` computes.",
    output_mode=OUTPUT_MODE,
    sparse=SPARSE,
    dtype="The dtype of vectors.",
    name="The name.",
)
class Discretization(CategoricalLayer):
    """Put numbers into bins: the result is the number of the bin.

    >>> layer = tf.keras.layers.Discretization(bin_boundaries=[0.0, 1.0, 2.0])
    >>> layer(np.array([[-1.5, 1.0, 3.4, 0.5]])).numpy()
    array([[0, 2, 3, 1]], dtype=int32)
    """

    def __init__(
        self,
        bin_boundaries: Sequence[float] | None = None,
        num_bins: int | None = None,
        epsilon: float = 0.01,
        output_mode: str = "int",
        sparse: bool = False,
        dtype: Any = None,
        name: str | None = None,
    ) -> None:
        super().__init__(name=name, dtype=dtype)
        if sparse and output_mode == "int":
            raise ValueError(
                "`sparse=True` may only be used if `output_mode` is `'one_hot'`, `'multi_hot'`, or "
                f"`'count'`. Received: sparse={sparse} and output_mode={output_mode}"
            )
        check_mode(output_mode, MODES, "output_mode", type(self).__name__)
        if num_bins is not None and num_bins < 0:
            raise ValueError(
                f"`num_bins` must be greater than or equal to 0. Received: `num_bins={num_bins}`"
            )
        if num_bins is not None and bin_boundaries is not None:
            raise ValueError(
                f"Both `num_bins` and `bin_boundaries` should not be set. Received: "
                f"`num_bins={num_bins}` and `bin_boundaries={bin_boundaries}`"
            )
        if num_bins is None and bin_boundaries is None:
            raise ValueError("You need to set either `num_bins` or `bin_boundaries`.")
        self._nt_set_arguments(
            bin_boundaries=bin_boundaries,
            num_bins=num_bins,
            epsilon=epsilon,
            output_mode=output_mode,
            sparse=sparse,
        )
        self.summary: Any = None if bin_boundaries else _NO_SUMMARY

    @property
    def input_dtype(self) -> str:
        """The dtype to which inputs are converted, float32."""
        return "float32"

    @property
    def output_dtype(self) -> str:
        """The dtype of the result."""
        return self.compute_dtype if self.output_mode != "int" else "int32"

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments."""
        config = super().get_config()
        config.pop("trainable")
        return config

    @classmethod
    def from_config(cls, config: dict[str, Any], custom_objects: object = None) -> Any:
        """Create a layer from its configuration."""
        if config.get("bin_boundaries") is None or config.get("num_bins") is None:
            return cls(**config)
        boundaries = config["bin_boundaries"]  # computed by `adapt`
        layer = cls(**{name: x for name, x in config.items() if name != "bin_boundaries"})
        layer.bin_boundaries = boundaries
        return layer

    def adapt(self, data: ArrayLike | Iterable[Any], steps: int | None = None) -> None:
        """Compute the boundaries of the bins as quantiles of data.

        Args:
          data: An array, or an iterable of batches, such as a dataset.
          steps: The number of batches; None for all.

        Raises:
          ValueError: If the constructor got ``bin_boundaries``.

        Example:
          >>> layer = tf.keras.layers.Discretization(num_bins=4, epsilon=0.01)
          >>> layer.adapt(np.array([[-1.5, 1.0, 3.4, 0.5], [0.0, 3.0, 1.3, 0.0]]))
          >>> layer.bin_boundaries
          [0.0, 0.5, 1.2999999523162842]
        """
        if self.num_bins is None:
            raise ValueError(
                "Cannot adapt a Discretization layer that has been initialized with "
                "`bin_boundaries`, use `num_bins` instead."
            )
        self.reset_state()
        for batch in batches_of(data, steps, (np.ndarray, Tensor)):
            self.update_state(batch)
        self.finalize_state()

    def update_state(self, data: ArrayLike) -> None:
        """Add a batch to the summary from which `finalize_state` computes the boundaries.

        Args:
          data: An array of numbers.

        Example:
          >>> layer = tf.keras.layers.Discretization(num_bins=2)
          >>> layer.update_state([1.0, 2.0, 3.0, 4.0])
          >>> layer.finalize_state()
          >>> layer.bin_boundaries
          [2.0]
        """
        values = np.array(data).astype(np.float32)
        self.summary = _merge(_summarize(values, self.epsilon), self.summary, self.epsilon)

    def finalize_state(self) -> None:
        """Compute the boundaries from the summary of the batches."""
        if self.num_bins is not None:
            self.bin_boundaries = _compress(self.summary, 1.0 / self.num_bins)[0, :-1].tolist()

    def reset_state(self) -> None:
        """Drop the summary of earlier batches."""
        if self.num_bins is not None:
            self.summary = _NO_SUMMARY

    def call(self, inputs: Any) -> Any:
        """Return the numbers of the bins, encoded."""
        if self.bin_boundaries is None:
            raise ValueError(
                "You need to either pass the `bin_boundaries` argument at construction time or "
                "call `adapt(dataset)` before you can start using the `Discretization` layer."
            )
        x = inputs
        boundaries = np.asarray(self.bin_boundaries, np.float32)

        def find_bins(values: Tensor) -> Tensor:
            numbers = elementwise.cast(values, "float32")
            flat = movement.reshape(numbers, [-1])
            if not len(boundaries):
                return elementwise.cast(numbers, "int32") * 0
            bins = sorting.searchsorted(convert_to_tensor(boundaries), flat, side="right")
            return movement.reshape(bins, tuple(numbers.shape))

        bins = _map_values(x, find_bins)
        dtype = as_dtype(self.output_dtype)
        return encode(bins, self.output_mode, len(boundaries) + 1, dtype, self.sparse)

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Return the shape of the inputs, with an axis of the bins unless the mode is "int"."""
        shape = tuple(input_shape)
        depth = self.num_bins if self.bin_boundaries is None else len(self.bin_boundaries) + 1
        if self.output_mode in ("int", "one_hot"):
            return encoded_shape(shape, self.output_mode, depth)
        return (shape[0], *shape[2:], depth) if len(shape) > 1 else (depth,)

    def compute_output_spec(self, inputs: Any) -> KerasTensor:
        """Return the symbolic output."""
        return KerasTensor(self.compute_output_shape(inputs.shape), dtype=self.output_dtype)

    def load_own_variables(self, store: Any) -> None:
        """Load nothing: the boundaries are in the configuration."""


_NO_SUMMARY = np.zeros((2, 0), np.float32)


def batches_of(data: Any, steps: int | None, single: tuple[type, ...]) -> Iterable[Any]:
    """Yield the batches of the data of `adapt`.

    Args:
      data: One batch, or an iterable of batches.
      steps: The number of batches; None for all.
      single: Classes of single batches.
    """
    if isinstance(data, (*single, Composite)) or not hasattr(data, "__iter__"):
        return (data,)
    return itertools.islice(data, steps)


# A summary of numbers is an array of two rows: quantiles, and how many numbers each stands for.


def _summarize(values: np.ndarray[Any, Any], epsilon: float) -> np.ndarray[Any, Any]:
    """Return the summary of a batch."""
    values = np.sort(values.ravel())
    step = max(values.size * epsilon, 1.0)
    quantiles = values[int(step - 1) :: int(step)]
    return np.stack([quantiles, np.full_like(quantiles, 1.0) * step])


def _merge(
    first: np.ndarray[Any, Any], second: np.ndarray[Any, Any], epsilon: float
) -> np.ndarray[Any, Any]:
    """Merge two summaries."""
    merged = np.concatenate((first, second), axis=1)
    return _compress(np.take(merged, np.argsort(merged[0]), axis=1), epsilon)


def _compress(summary: np.ndarray[Any, Any], epsilon: float) -> np.ndarray[Any, Any]:
    """Reduce a summary to ``1 / epsilon`` quantiles, by interpolation."""
    if summary.shape[1] * epsilon < 1:
        return summary
    fractions = epsilon + np.arange(0.0, 1.0, epsilon)
    cumulative = summary[1].cumsum()
    relative = cumulative / cumulative[-1]
    quantiles = np.interp(fractions, relative, summary[0])
    weights = np.diff(np.interp(fractions, relative, cumulative), prepend=0.0)
    return np.stack((quantiles, weights)).astype(np.float32)


@document(
    "ValueError: If the number of bins is not positive, or an option is invalid.",
    num_bins="The number of bins.",
    mask_value="A value that gets bin 0; the others share the remaining bins.",
    salt="One or two integers: the key of SipHash, which is then used in place of FarmHash.",
    output_mode=OUTPUT_MODE,
    sparse=SPARSE,
)
class Hashing(CategoricalLayer):
    """Put strings or integers into bins by their hash.

    The dtype is int64 for the mode "int" and float32 for others.

    >>> layer = tf.keras.layers.Hashing(num_bins=3)
    >>> layer([["A"], ["B"], ["C"], ["D"], ["E"]]).numpy().tolist()
    [[1], [0], [1], [1], [2]]
    """

    def __init__(
        self,
        num_bins: int,
        mask_value: Any = None,
        salt: int | Sequence[int] | None = None,
        output_mode: str = "int",
        sparse: bool = False,
        **kwargs: Any,
    ) -> None:
        if kwargs.get("dtype") is None:
            kwargs["dtype"] = "int64" if output_mode == "int" else "float32"
        super().__init__(**kwargs)
        if num_bins is None or num_bins <= 0:
            raise ValueError(
                "The `num_bins` for `Hashing` cannot be `None` or non-positive values. Received: "
                f"num_bins={num_bins}."
            )
        if output_mode == "int" and self.dtype not in ("int32", "int64"):
            raise ValueError(
                "When `output_mode=\"int\"`, `dtype` should be an integer type, 'int32' or 'in64'. "
                f"Received: dtype={kwargs['dtype']}"
            )
        if output_mode not in MODES:
            raise ValueError(
                f"Invalid value for argument `output_mode`. Expected one of {MODES}. Received: "
                f"output_mode={output_mode}"
            )
        if sparse and output_mode == "int":
            raise ValueError(
                '`sparse` may only be true if `output_mode` is `"one_hot"`, `"multi_hot"`, or '
                f'`"count"`. Received: sparse={sparse} and output_mode={output_mode}'
            )
        self._nt_set_arguments(
            num_bins=num_bins,
            salt=salt_key(salt, "Hashing"),
            mask_value=mask_value,
            output_mode=output_mode,
            sparse=sparse,
        )
        self.strong_hash = salt is not None

    def call(self, inputs: Any) -> Any:
        """Return the bins, encoded."""
        bins = _map_values(inputs, self._nt_bins)
        return encode(bins, self.output_mode, self.num_bins, as_dtype(self.dtype), self.sparse)

    def _nt_bins(self, values: Any) -> Any:
        """Return the bin of each value."""
        count, mask = self.num_bins, None
        if self.mask_value is not None and count > 1:
            count -= 1
            mask = values == self.mask_value
        if not isinstance(values, StringTensor):
            if values.dtype.is_floating:
                values = elementwise.cast(values, "int64")
            values = as_string(values)
        if self.salt is not None:
            bins = to_hash_bucket_strong(values, count, key=self.salt)
        else:
            bins = to_hash_bucket_fast(values, count)
        return bins if mask is None else indexing.where(mask, 0, bins + 1)

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Return the shape of the inputs; its last axis is replaced unless the mode is "int"."""
        shape = tuple(input_shape)
        return shape if self.output_mode == "int" else (*shape[:-1], self.num_bins)

    def compute_output_spec(self, inputs: Any) -> KerasTensor:
        """Return the symbolic output."""
        return KerasTensor(self.compute_output_shape(inputs.shape), dtype=self.dtype)


def salt_key(salt: Any, layer: str) -> list[int] | None:
    """Return the key of SipHash, two integers, or None.

    Raises:
      ValueError: If the salt is not one or two integers.
    """
    if salt is None:
        return None
    if isinstance(salt, tuple | list) and len(salt) == 2:
        return list(salt)
    if isinstance(salt, int):
        return [salt, salt]
    raise ValueError(
        f"The `salt` argument for `{layer}` can only be a tuple of size 2 integers, or a single "
        f"integer. Received: salt={salt}."
    )


def _is_category(x: Any) -> bool:
    dtype = as_dtype(x.dtype)
    return dtype.is_integer or dtype.name == "string"


@document(
    "ValueError: If the mode is unknown; in a call, if the inputs are not two or more tensors of "
    "one shape and of integers or strings.",
    num_bins="The number of bins.",
    output_mode='"int" for the number of the bin, or "one_hot" for a vector.',
    sparse=SPARSE,
    dtype="The dtype of the result: by default int64 for numbers and float32 for vectors.",
    name="The name.",
)
class HashedCrossing(CategoricalLayer):
    """Put combinations of several features into bins by their hash.

    >>> layer = tf.keras.layers.HashedCrossing(num_bins=5)
    >>> layer((np.array(["A", "B", "A"]), np.array([101, 101, 101]))).numpy()
    array([1, 4, 1])
    """

    def __init__(
        self,
        num_bins: int,
        output_mode: str = "int",
        sparse: bool = False,
        name: str | None = None,
        dtype: Any = None,
        **kwargs: Any,
    ) -> None:
        if output_mode == "int" and dtype is None:
            dtype = "int64"
        super().__init__(name=name, dtype=dtype)
        check_mode(output_mode, ("int", "one_hot"), "output_mode", type(self).__name__)
        self._nt_set_arguments(num_bins=num_bins, output_mode=output_mode, sparse=sparse)

    def get_config(self) -> dict[str, Any]:
        """Return the constructor arguments."""
        config = super().get_config()
        config.pop("trainable")
        return config

    def _nt_to_inputs(self, x: Any) -> Any:
        if not isinstance(x, list | tuple):
            raise ValueError(
                f"`HashedCrossing` should be called on a list or tuple of inputs. Received: "
                f"inputs={x}"
            )
        if len(x) < 2:
            raise ValueError(
                f"`HashedCrossing` should be called on at least two inputs. Received: inputs={x}"
            )
        return [to_tensor_like(part) for part in x]

    def _nt_check_inputs(self, inputs: Sequence[Any]) -> None:
        shape = tuple(inputs[0].shape)
        for is_wrong, expected in (
            (
                any(isinstance(x, RaggedTensor | SparseTensor) for x in inputs),
                "be dense tensors",
            ),
            (
                len(shape) > 2 or (len(shape) == 2 and shape[-1] != 1),
                "have shape `()`, `(batch_size)` or `(batch_size, 1)`",
            ),
            (any(tuple(x.shape) != shape for x in inputs), "have equal shape"),
            (
                not all(map(_is_category, inputs)),
                "have an integer or string dtype",
            ),
        ):
            if is_wrong:
                raise ValueError(
                    f"All `HashedCrossing` inputs should {expected}. Received: inputs={inputs}"
                )

    def call(self, inputs: Any) -> Any:
        """Return the bins of the combinations, encoded."""
        self._nt_check_inputs(inputs)
        run_as_python("hashes of values")
        columns = [np.asarray(x).ravel().tolist() for x in inputs]
        buckets = np.array(cross(columns, self.num_bins), np.int64)
        bins = from_owned_array(buckets.reshape(inputs[0].shape))
        dtype = as_dtype(self.compute_dtype)
        return encode(bins, self.output_mode, self.num_bins, dtype, self.sparse)

    def compute_output_shape(self, input_shape: Any) -> Shape:
        """Return the shape of one input, with an axis of the bins in the mode "one_hot"."""
        shapes = list(input_shape)
        if len(shapes) != 2 or not all(isinstance(shape, tuple) for shape in shapes):
            raise ValueError(
                f"Expected as input a list/tuple of 2 tensors. Received input_shape={input_shape}"
            )
        if shapes[0][-1] != shapes[1][-1]:
            raise ValueError(
                "Expected the two input tensors to have identical shapes. Received "
                f"input_shape={input_shape}"
            )
        shape = tuple(shapes[0])
        if self.output_mode == "int":
            return shape
        return (*(shape[:-1] if shape[-1] == 1 else shape), self.num_bins)

    def compute_output_spec(self, inputs: Any) -> KerasTensor:
        """Return the symbolic output."""
        self._nt_check_inputs(inputs)
        shape = tuple(inputs[0].shape)
        result = encoded_shape(shape, self.output_mode, self.num_bins)
        return KerasTensor(result, dtype=self.compute_dtype)
