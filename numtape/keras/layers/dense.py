"""Dense layers: a product with a matrix, or by an einsum equation; and `Embedding`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from ...core.log.as_tensor import as_tensor
from ...core.log.variable import original
from ...core.ops.comparison import not_equal
from ...core.ops.einsum import einsum
from ...core.ops.elementwise import as_indices, cast, tanh
from ...core.ops.indexing import gather
from ...core.ops.matrix_products import matmul, tensordot
from ...core.ops.movement import reshape
from ...core.values.composite import Composite
from ...core.values.dtypes import int32, repr_of
from ...core.values.spec import MAX_DIM
from ...core.values.tensor import Tensor
from ..initial import VarianceScaling
from ..input_spec import InputSpec
from ..layer import LayerVariable, operand
from ..registry import keras_dtype
from .base import ConfiguredLayer, Shape, check_positive, document

if TYPE_CHECKING:
    from ...core.values.annotations import DTypeLike, TensorLike
    from ..annotations import (
        ActivationLike,
        ConstraintLike,
        InitializerLike,
        InputShape,
        RegularizerLike,
    )


@document(
    "ValueError: If ``units`` is not a positive int, or a name is unknown; at a call, if the "
    "inputs have fewer than two axes, or the size of the last axis differs from that in `build`.",
    units="The size of the last axis of the output.",
)
class Dense(ConfiguredLayer):
    """``activation(inputs @ kernel + bias)``, for inputs of shape (..., n).

    By default, the kernel of shape (n, units) is initialized by `GlorotUniform`.

    >>> dense = tf.keras.layers.Dense(2, activation="relu", kernel_initializer="ones")
    >>> dense(tf.constant([[1.0, 2.0, 3.0]])).numpy()
    array([[6., 6.]], dtype=float32)
    >>> [(v.name, v.shape.as_list()) for v in dense.variables]
    [('kernel', [3, 2]), ('bias', [2])]
    """

    def __init__(
        self,
        units: int,
        activation: ActivationLike = None,
        use_bias: bool = True,
        kernel_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        kernel_regularizer: RegularizerLike = None,
        bias_regularizer: RegularizerLike = None,
        activity_regularizer: RegularizerLike = None,
        kernel_constraint: ConstraintLike = None,
        bias_constraint: ConstraintLike = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        if isinstance(units, bool) or not isinstance(units, int) or not 0 < units <= MAX_DIM:
            raise ValueError(
                f"Received an invalid value for `units`, expected a positive "
                f"integer. Received: units={repr_of(units)}"
            )
        self._nt_set_arguments(
            units=units,
            activation=activation,
            use_bias=use_bias,
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            kernel_constraint=kernel_constraint,
            bias_constraint=bias_constraint,
        )
        self.supports_masking = True
        self.input_spec = InputSpec(min_ndim=2)
        self.bias: LayerVariable | None = None

    def build(self, input_shape: InputShape) -> None:
        """Create ``kernel``, of shape (input features, units), and ``bias``, of shape (units,)."""
        self.kernel = self._nt_weight("kernel", (input_shape[-1], self.units))
        self.bias = self._nt_weight("bias", (self.units,)) if self.use_bias else None
        self.input_spec = InputSpec(min_ndim=2, axes={-1: input_shape[-1]})

    def call(self, inputs: Tensor) -> Tensor:
        """Return ``activation(inputs @ kernel + bias)``, of shape (..., units)."""
        kernel = operand(self.kernel)  # recording a variable is faster than an alias
        if isinstance(inputs, Composite):  # sparse
            product = matmul(cast(inputs, kernel.dtype), kernel)
        else:
            if type(inputs) is not Tensor:
                inputs = as_tensor(inputs)  # a list is stacked, as in Keras
            if not inputs._spec.dtype.is_floating:
                inputs = self._nt_floats(inputs)
            product = inputs @ kernel if inputs._spec.rank == 2 else tensordot(inputs, kernel, 1)
        if self.bias is not None:
            product = product + operand(self.bias)
        result: Tensor = self._nt_activation()(product)
        return result

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Return the shape of the inputs with ``units`` as the last size."""
        return (*tuple(input_shape)[:-1], self.units)


# The letters of the inputs, the kernel and the output, with an ellipsis before or after those of
# inputs and output.
_EQUATIONS = (
    re.compile(r"()([a-zA-Z]+),([a-zA-Z]+)->([a-zA-Z]+)()"),
    re.compile(r"(\.\.\.)([a-zA-Z]+),([a-zA-Z]+)->\.\.\.([a-zA-Z]+)()"),
    re.compile(r"()([a-zA-Z]{2,})\.\.\.,([a-zA-Z]+)->([a-zA-Z]+)(\.\.\.)"),
)


class _EinsumShapes(NamedTuple):
    """The shapes and kernel axes of an `EinsumDense` layer."""

    kernel: Shape
    bias: Shape | None
    output: Shape
    inputs: tuple[int, ...]  # the kernel axes that are summed over
    outputs: tuple[int, ...]  # the kernel axes that the output has


def _infer_shapes(
    equation: str, bias_axes: str | None, inputs: Shape, declared_shape: Shape
) -> _EinsumShapes:
    """Infer shapes from an equation.

    Args:
      equation: The einsum equation.
      bias_axes: The letters of the bias, or None.
      inputs: The shape of the inputs.
      declared_shape: The argument ``output_shape``.

    Raises:
      ValueError: If the equation has an unsupported form or does not fit the shapes.
    """
    match = next(filter(None, (form.fullmatch(equation) for form in _EQUATIONS)), None)
    if match is None:
        raise ValueError(
            f"Invalid einsum equation '{equation}'. Equations must be in the form [X],[Y]->[Z], "
            f"...[X],[Y]->...[Z], or [X]...,[Y]->[Z]...."
        )
    leading_ellipsis, x, w, y, trailing_ellipsis = match.groups()
    ellipsis_rank = len(inputs) - len(x)
    if ellipsis_rank < 0 or (ellipsis_rank and not (leading_ellipsis or trailing_ellipsis)):
        raise ValueError(
            f"The equation '{equation}' is for inputs of {len(x)} axes, but received inputs of "
            f"shape {inputs}."
        )
    # `declared_shape` lacks the batch axis.
    leading_sizes, trailing_sizes = (
        (inputs[:ellipsis_rank], ()) if leading_ellipsis else ((), inputs[len(x) :])
    )
    output = (
        (*leading_sizes, *declared_shape)
        if leading_sizes
        else (inputs[0], *declared_shape, *trailing_sizes)
    )
    if len(output) != len(y) + ellipsis_rank:
        raise ValueError(
            f"The equation '{equation}' has an output of {len(y)} letters, but `output_shape`, "
            f"without the batch, is {declared_shape}."
        )
    first_axis = len(leading_sizes)
    sizes_in = dict(zip(x, inputs[first_axis:], strict=False))
    named_sizes = [
        sizes_in.get(c) if n is None else n for c, n in zip(y, output[first_axis:], strict=False)
    ]
    output = (*leading_sizes, *named_sizes, *trailing_sizes)
    sizes_out = dict(zip(y, named_sizes, strict=True))
    for letter, size in sizes_in.items():
        output_size = sizes_out.get(letter, size)
        if output_size is not None and output_size != size:
            raise ValueError(
                f"Input shape and output shape do not match at shared dimension '{letter}'. Input "
                f"shape is {size}, and output shape is {output_size}."
            )
    for letter in y:
        if letter not in x and letter not in w:
            raise ValueError(
                f"Dimension '{letter}' was specified in the output '{y}' but has no corresponding "
                f"dim in the input spec '{x}' or weight spec '{w}'"
            )
    for letter in w:
        if letter not in x and letter not in y:
            raise ValueError(
                f"Weight dimension '{letter}' did not have a match in either the input spec '{x}' "
                f"or the output spec '{y}'. For this layer, the weight must be fully specified."
            )
    kernel = tuple(sizes_out[c] if c in sizes_out else sizes_in[c] for c in w)
    bias: Shape | None = None
    if bias_axes is not None:
        for letter in bias_axes:
            if letter not in y:
                raise ValueError(
                    f"Bias dimension '{letter}' was requested, but is not part of the output spec "
                    f"'{y}'"
                )
        first_bias_axis = min(map(y.find, bias_axes), default=len(y))
        bias = tuple(sizes_out[c] if c in bias_axes else 1 for c in y[first_bias_axis:])
        bias = (*bias, *(1 for _ in trailing_sizes)) if trailing_ellipsis else bias
    outputs = tuple(k for k, letter in enumerate(w) if letter in y)
    inputs_axes = tuple(k for k in range(len(w)) if k not in outputs)
    return _EinsumShapes(kernel, bias, output, inputs_axes, outputs)


@document(
    "ValueError: If ``output_shape`` is not an int or a shape; in `build`, if the equation has an "
    "unsupported form or does not fit the inputs.",
    equation='Letters for the axes of inputs, kernel and output, such as ``"abc,cd->abd"``; an '
    "ellipsis may precede or follow those of inputs and output.",
    output_shape="The shape of the output without the batch axis and the axes of the ellipsis; "
    "None in it is the size of the inputs.",
    bias_axes="The letters of the bias, a subset of those of the output; None for no bias.",
)
class EinsumDense(ConfiguredLayer):
    """``activation(einsum(equation, inputs, kernel) + bias)``.

    >>> layer = tf.keras.layers.EinsumDense("abc,cd->abd", output_shape=(None, 5), bias_axes="d")
    >>> layer(tf.ones((2, 3, 4))).shape
    TensorShape([2, 3, 5])
    >>> [(v.name, v.shape.as_list()) for v in layer.variables]
    [('kernel', [4, 5]), ('bias', [5])]
    """

    def __init__(
        self,
        equation: str,
        output_shape: int | InputShape,
        activation: ActivationLike = None,
        bias_axes: str | None = None,
        kernel_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        kernel_regularizer: RegularizerLike = None,
        bias_regularizer: RegularizerLike = None,
        kernel_constraint: ConstraintLike = None,
        bias_constraint: ConstraintLike = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        provided = (output_shape,) if isinstance(output_shape, int) else tuple(output_shape)
        if any(n is not None and not isinstance(n, int) for n in provided):
            raise ValueError(
                f"`output_shape` must be an int or a tuple of ints, got {repr_of(output_shape)}"
            )
        self._nt_set_arguments(
            equation=equation,
            output_shape=provided,
            activation=activation,
            bias_axes=bias_axes,
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer,
            kernel_constraint=kernel_constraint,
            bias_constraint=bias_constraint,
        )
        self.bias: LayerVariable | None = None

    def _nt_shapes(self, input_shape: InputShape) -> _EinsumShapes:
        return _infer_shapes(self.equation, self.bias_axes, tuple(input_shape), self.output_shape)

    def build(self, input_shape: InputShape) -> None:
        """Create ``kernel`` and, if ``bias_axes`` is set, ``bias``."""
        shapes, initializer = self._nt_shapes(input_shape), self.kernel_initializer
        if isinstance(initializer, VarianceScaling) and None in (
            initializer.input_axes,
            initializer.output_axes,
        ):
            # The equation tells which axes of the kernel are inputs and outputs.
            axes = {"input_axes": shapes.inputs, "output_axes": shapes.outputs}
            config = {**initializer.get_config(), "seed": initializer.seed, **axes}
            initializer = type(initializer).from_config(config)
        self.kernel = self.add_weight(
            shape=shapes.kernel,
            initializer=initializer,
            name="kernel",
            regularizer=self.kernel_regularizer,
            constraint=self.kernel_constraint,
        )
        self.bias = None if shapes.bias is None else self._nt_weight("bias", shapes.bias)
        self.input_spec = InputSpec(ndim=len(tuple(input_shape)))

    def call(self, inputs: Tensor) -> Tensor:
        """Return ``activation(einsum(equation, inputs, kernel) + bias)``."""
        value = einsum(self.equation, self._nt_floats(inputs), operand(self.kernel))
        if self.bias is not None:
            value = value + operand(self.bias)
        result: Tensor = self._nt_activation()(value)
        return result

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Return the shape of the output."""
        return self._nt_shapes(input_shape).output


@document(
    "ValueError: If a size is not a positive int, or a name is unknown.",
    input_dim="The number of vectors: inputs are ints in [0, input_dim).",
    output_dim="The size of the vectors.",
    mask_zero="Whether the input 0 is padding, which is masked in the layers that follow.",
    weights="Initial vectors: an array of shape (input_dim, output_dim), or a list of one array.",
)
class Embedding(ConfiguredLayer):
    """Maps ints, such as the numbers of words, to vectors. The gradient is `IndexedSlices`.

    >>> layer = tf.keras.layers.Embedding(10, 2)
    >>> layer(tf.constant([[1, 5, 1]])).shape, layer.embeddings.shape
    (TensorShape([1, 3, 2]), TensorShape([10, 2]))
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: InitializerLike = "uniform",
        embeddings_regularizer: RegularizerLike = None,
        embeddings_constraint: ConstraintLike = None,
        mask_zero: bool = False,
        weights: TensorLike | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._nt_set_arguments(
            input_dim=check_positive(input_dim, "input_dim"),
            output_dim=check_positive(output_dim, "output_dim"),
            embeddings_initializer=embeddings_initializer,
            embeddings_regularizer=embeddings_regularizer,
            embeddings_constraint=embeddings_constraint,
            mask_zero=mask_zero,
        )
        self.supports_masking = mask_zero
        self.autocast = False
        if weights is not None:
            self.build(None)
            self.set_weights(weights if isinstance(weights, list) else [weights])

    def build(self, input_shape: InputShape | None = None) -> None:
        """Create ``embeddings``, of shape (input_dim, output_dim)."""
        self.embeddings = self._nt_weight("embeddings", (self.input_dim, self.output_dim))

    def call(self, inputs: Tensor) -> Tensor:
        """Return the vectors of the inputs."""
        indices = inputs if inputs.dtype.is_integer else as_indices(inputs, int32)
        # Cast the rows, not the whole table: gradients stay slices.
        return self._nt_narrow(gather(original(self.embeddings), indices))

    def compute_mask(self, inputs: TensorLike, previous_mask: object = None) -> Any:
        """Return where the inputs are not 0, if 0 is padding."""
        return not_equal(inputs, 0) if self.mask_zero else None

    def compute_output_shape(self, input_shape: InputShape) -> Shape:
        """Return the shape of the inputs, followed by ``output_dim``."""
        return (*tuple(input_shape), self.output_dim)


@document(
    "ValueError: If a size is not a positive int.",
    input_dim="The number of rows of ``embeddings``: the largest integer plus 1.",
    output_dim="The size of the vectors.",
    tie_weights="Whether the reverse projection uses the transposed ``embeddings``.",
    embeddings_initializer="The initializer of the embeddings.",
    mask_zero="Whether 0 is padding, which the mask of the outputs excludes.",
    reverse_dtype="The dtype of the reverse projection; None for that of the layer.",
    logit_soft_cap="The absolute value to which the reverse projection is limited by tanh; None "
    "for no limit.",
)
class ReversibleEmbedding(Embedding):
    """An `Embedding` that can also project vectors back to logits of the integers.

    >>> layer = tf.keras.layers.ReversibleEmbedding(10, 4)
    >>> vectors = layer(tf.constant([[1, 2, 3]]))
    >>> vectors.shape, layer(vectors, reverse=True).shape
    (TensorShape([1, 3, 4]), TensorShape([1, 3, 10]))
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        tie_weights: bool = True,
        embeddings_initializer: InitializerLike = "uniform",
        embeddings_regularizer: RegularizerLike = None,
        embeddings_constraint: ConstraintLike = None,
        mask_zero: bool = False,
        reverse_dtype: DTypeLike | None = None,
        logit_soft_cap: float | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            input_dim,
            output_dim,
            embeddings_initializer,
            embeddings_regularizer,
            embeddings_constraint,
            mask_zero,
            **kwargs,
        )
        self._nt_set_arguments(
            tie_weights=tie_weights, reverse_dtype=reverse_dtype, logit_soft_cap=logit_soft_cap
        )

    def build(self, input_shape: InputShape | None = None) -> None:
        """Create ``embeddings``, and ``reverse_embeddings`` if the weights are not tied."""
        super().build(input_shape)
        if not self.tie_weights:
            self.reverse_embeddings = self._nt_weight(
                "reverse_embeddings", (self.output_dim, self.input_dim), "embeddings"
            )

    def call(self, inputs: Tensor, reverse: bool = False) -> Tensor:
        """Return the vectors of the inputs, or the logits of vectors if ``reverse``."""
        if not reverse:
            return super().call(inputs)
        dtype = self._nt_dtype if self.reverse_dtype is None else keras_dtype(self.reverse_dtype)
        weights = self.embeddings if self.tie_weights else self.reverse_embeddings
        kernel = cast(operand(weights), dtype)
        logits = matmul(
            reshape(cast(inputs, dtype), (-1, self.output_dim)),
            kernel,
            transpose_b=self.tie_weights,
        )
        logits = reshape(logits, (*inputs.shape[:-1], self.input_dim))
        if self.logit_soft_cap is not None:
            logits = tanh(logits / self.logit_soft_cap) * self.logit_soft_cap
        return logits

    def compute_mask(
        self, inputs: TensorLike, previous_mask: object = None, reverse: bool = False
    ) -> Any:
        """Return where integers are not 0, if 0 is padding; vectors keep their mask."""
        is_integer = as_tensor(inputs).dtype.is_integer
        return super().compute_mask(inputs) if is_integer else previous_mask

    def compute_output_shape(self, input_shape: InputShape, reverse: bool = False) -> Shape:
        """Return the shape of the vectors, or of the logits if ``reverse``."""
        if reverse:
            return (*tuple(input_shape)[:-1], self.input_dim)
        return super().compute_output_shape(input_shape)

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        """Infer the symbolic outputs."""
        return self._nt_infer_outputs(*args, **kwargs)
