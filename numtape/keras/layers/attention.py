"""Attention layers: dot-product, additive and multi-head attention."""

from __future__ import annotations

import math
import string
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...core.log.as_tensor import as_tensor
from ...core.ops import comparison, movement
from ...core.ops.dropout import general_dropout
from ...core.ops.einsum import einsum
from ...core.ops.elementwise import cast, multiply, select, tanh
from ...core.ops.indexing import repeat
from ...core.ops.losses import softmax
from ...core.ops.matrix_products import matmul
from ...core.ops.reduction import reduce_sum
from ...core.values.dtypes import bool_, repr_of
from ...core.values.tensor import Tensor
from ..initial import Initializer
from ..layer import LayerVariable, operand
from ..seed_generator import SeedGenerator
from ..symbolic import auto_name
from .base import ConfiguredLayer, Shape, document
from .dense import EinsumDense
from .noise import Dropout

if TYPE_CHECKING:
    from ..annotations import (
        ActivationLike,
        ConstraintLike,
        InitializerLike,
        InputShape,
        RegularizerLike,
    )

_CALL = (
    "ValueError: If an argument is out of range; at a call, if the inputs are not a list of two or "
    "three."
)


def causal_mask(queries: int, values: int) -> Tensor:
    """Return a mask of the values that do not follow the query, of shape (1, queries, values)."""
    return as_tensor(np.tri(queries, values, dtype=bool)[None])


class _Attention(ConfiguredLayer):
    """Base class of dot-product and additive attention, which differ in their scores."""

    def _nt_check_inputs(self, inputs: object, mask: object = None) -> None:
        kind = type(self).__name__
        if not isinstance(inputs, list | tuple):
            raise ValueError(
                f"{kind} layer must be called on a list of inputs, namely [query, value] or "
                f"[query, value, key]. Received: inputs={repr_of(inputs)}."
            )
        if not 2 <= len(inputs) <= 3:
            raise ValueError(
                f"{kind} layer accepts inputs list of length 2 or 3, namely [query, value] or "
                f"[query, value, key]. Received length: {len(inputs)}."
            )
        if mask is not None and (not isinstance(mask, list | tuple) or not 2 <= len(mask) <= 3):
            raise ValueError(
                f"{kind} layer mask must be a list of length 2 or 3, namely [query_mask, "
                f"value_mask]. Received: mask={repr_of(mask)}."
            )

    def _nt_scores(self, query: Tensor, key: Tensor) -> Tensor:
        raise NotImplementedError

    def call(
        self,
        inputs: Sequence[Tensor],
        mask: Sequence[Tensor | None] | None = None,
        training: bool | None = False,
        return_attention_scores: bool = False,
        use_causal_mask: bool = False,
    ) -> Any:
        """Return the weighted means of the values, and the weights if requested."""
        self._nt_check_inputs(inputs, mask)
        query, value = inputs[:2]
        key = inputs[2] if len(inputs) > 2 else value
        scores = self._nt_scores(query, key)
        score_mask = None
        if mask is not None and mask[1] is not None:
            score_mask = movement.expand_dims(cast(mask[1], bool_), -2)
        if use_causal_mask:
            causal = causal_mask(*tuple(scores.shape)[-2:])
            score_mask = (
                causal if score_mask is None else comparison.logical_and(score_mask, causal)
            )
        if score_mask is not None:
            penalty = 65504.0 if scores.dtype.name == "float16" else 1e9
            scores = select(score_mask, scores, scores - penalty)
        weights = softmax(scores)
        if training and self.dropout > 0:
            weights = general_dropout(weights, self.dropout, self.seed_generator.uniform)
        result = matmul(weights, value)
        if mask is not None and mask[0] is not None:
            result = select(movement.expand_dims(cast(mask[0], bool_), -1), result, 0.0)
        return (result, weights) if return_attention_scores else result

    def compute_mask(
        self, inputs: Sequence[Tensor], mask: Sequence[Tensor | None] | None = None
    ) -> Any:
        """Return the mask of the query."""
        self._nt_check_inputs(inputs, mask)
        return None if mask is None or mask[0] is None else as_tensor(mask[0])

    def compute_output_shape(self, input_shape: Sequence[InputShape]) -> Any:
        """Return the shape of the query with the last size of the values."""
        self._nt_check_inputs(input_shape)
        query, value = (tuple(shape) for shape in input_shape[:2])
        return (*query[:-1], value[-1])

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        """Infer the symbolic outputs, which include the weights if they are requested."""
        return self._nt_infer_outputs(*args, **kwargs)


_DROPOUT = "The fraction of the attention weights to drop in training."


@document(
    _CALL,
    use_scale="Whether to multiply the scores by a learned number.",
    score_mode='"dot", products of query and key, or "concat", the ``tanh`` of their sum.',
    dropout=_DROPOUT,
)
class Attention(_Attention):
    """Means of values, weighted by the softmax of dot products of queries and keys.

    The input is a list: the query, of shape (batch, queries, size), the values, of shape (batch,
    values, size), and optionally the keys, which default to the values. See Luong, Pham and
    Manning, "Effective Approaches to Attention-based Neural Machine Translation" (2015).

    >>> x = tf.constant([[[0.0, 0.0], [9.0, 0.0]]])
    >>> tf.keras.layers.Attention()([x, x]).numpy().round(3)
    array([[[4.5, 0. ],
            [9. , 0. ]]], dtype=float32)
    """

    def __init__(
        self,
        use_scale: bool = False,
        score_mode: str = "dot",
        dropout: float = 0.0,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if score_mode not in ("dot", "concat"):
            raise ValueError(
                "Invalid value for argument score_mode. Expected one of {'dot', 'concat'}. "
                f"Received: score_mode={repr_of(score_mode)}"
            )
        self._nt_set_arguments(
            use_scale=use_scale, score_mode=score_mode, dropout=dropout, seed=seed
        )
        if dropout > 0:
            self.seed_generator = SeedGenerator(seed)
        self.supports_masking = True
        self.scale: LayerVariable | None = None
        self.concat_score_weight: LayerVariable | None = None

    def build(self, input_shape: Sequence[InputShape]) -> None:
        """Create the scalars ``scale`` and ``concat_score_weight`` if they are used."""
        self._nt_check_inputs(input_shape)
        if self.use_scale:
            self.scale = self.add_weight(shape=(), initializer="ones", name="scale")
        if self.score_mode == "concat":
            self.concat_score_weight = self.add_weight(
                shape=(), initializer="ones", name="concat_score_weight"
            )

    def _nt_scores(self, query: Tensor, key: Tensor) -> Tensor:
        if self.score_mode == "dot":
            result = matmul(query, key, transpose_b=True)
            return result if self.scale is None else multiply(result, operand(self.scale))
        pairwise_sums: Any = movement.expand_dims(query, -2) + movement.expand_dims(key, -3)
        if self.scale is not None:
            pairwise_sums = pairwise_sums * operand(self.scale)
        assert self.concat_score_weight is not None
        scores: Tensor = reduce_sum(tanh(pairwise_sums), -1) * operand(self.concat_score_weight)
        return scores


@document(
    _CALL,
    use_scale="Whether to multiply the features by learned numbers.",
    dropout=_DROPOUT,
)
class AdditiveAttention(_Attention):
    """Means of values, weighted by the softmax of sums of ``tanh(query + key)``.

    The inputs are those of `Attention`. See Bahdanau, Cho and Bengio, "Neural Machine Translation
    by Jointly Learning to Align and Translate" (2015).

    >>> layer = tf.keras.layers.AdditiveAttention(use_scale=False)
    >>> layer([tf.ones((2, 3, 4)), tf.ones((2, 5, 4))]).shape
    TensorShape([2, 3, 4])
    """

    def __init__(self, use_scale: bool = True, dropout: float = 0.0, **kwargs: Any) -> None:
        seed = kwargs.pop("seed", None)
        super().__init__(**kwargs)
        self._nt_set_arguments(use_scale=use_scale, dropout=dropout, seed=seed)
        if dropout > 0:
            self.seed_generator = SeedGenerator(seed)
        self.supports_masking = True
        self.scale: LayerVariable | None = None

    def build(self, input_shape: Sequence[InputShape]) -> None:
        """Create ``scale``, of the size of the features, if it is used."""
        self._nt_check_inputs(input_shape)
        if self.use_scale:
            self.scale = self.add_weight(
                shape=(tuple(input_shape[0])[-1],), initializer="glorot_uniform", name="scale"
            )

    def _nt_scores(self, query: Tensor, key: Tensor) -> Tensor:
        features = tanh(movement.expand_dims(query, -2) + movement.expand_dims(key, -3))
        return reduce_sum(features if self.scale is None else features * operand(self.scale), -1)


def _check_size(value: object, name: str) -> int:
    """Return a positive int.

    Raises:
      ValueError: If the value is not a positive int.
    """
    if isinstance(value, bool) or not isinstance(value, int) or value <= 0:
        raise ValueError(
            f"Received an invalid value for argument `{name}`, expected a positive integer. "
            f"Received: {name}={repr_of(value)}"
        )
    return value


def _copy_initializer(initializer: object) -> Any:
    """Copy an initializer, so that the copy draws different values unless it has a seed."""
    if isinstance(initializer, Initializer):
        return type(initializer).from_config(initializer.get_config())
    return initializer


def _projection_equation(kept_axes: int, summed_axes: int, new_axes: int) -> tuple[str, str]:
    """Return the equation and bias letters of a projection.

    Args:
      kept_axes: The number of leading axes that remain.
      summed_axes: The number of axes to sum over.
      new_axes: The number of new axes.
    """
    letters = string.ascii_lowercase
    kept_letters, summed_letters = letters[:kept_axes], letters[kept_axes : kept_axes + summed_axes]
    new_letters = letters[kept_axes + summed_axes : kept_axes + summed_axes + new_axes]
    return (
        f"{kept_letters}{summed_letters},{summed_letters}{new_letters}->{kept_letters}{new_letters}",
        new_letters,
    )


def _check_key_shape(value: Shape, key_shape: InputShape | None) -> Shape:
    """Return the shape of the keys, by default that of the values.

    Raises:
      ValueError: If it does not fit the values.
    """
    key = value if key_shape is None else tuple(key_shape)
    if value[1:-1] != key[1:-1]:
        raise ValueError(
            f"All dimensions of `value` and `key`, except the last one, must be equal. Received: "
            f"value_shape={value} and key_shape={key}"
        )
    return key


@document(
    "ValueError: If an argument is out of range; in `build`, if the shapes of values and keys are "
    "incompatible.",
    num_heads="The number of heads.",
    key_dim="The size of the queries and keys of each head.",
    value_dim="The size of the values of each head; None for ``key_dim``.",
    dropout=_DROPOUT,
    output_shape="The shape of the output for each query, an int or several; None for the last "
    "size of the query.",
    attention_axes="The axes to attend over; None for all but the first and the last.",
    sliding_window="The distance from the query at which values are ignored; None for no limit.",
    use_gate="Whether to multiply the output of each head by a gate computed from the query.",
)
class MultiHeadAttention(ConfiguredLayer):
    """Multi-head attention, followed by a projection of the outputs of all heads.

    The inputs are a query, of shape (batch, queries, size), values, of shape (batch, values, size),
    and optionally keys, which default to the values. From Vaswani et al., "Attention Is All You
    Need" (2017).

    >>> layer = tf.keras.layers.MultiHeadAttention(num_heads=2, key_dim=4)
    >>> x = tf.ones((3, 5, 8))
    >>> layer(x, x).shape
    TensorShape([3, 5, 8])
    >>> [v.shape.as_list() for v in layer.weights][:2]
    [[8, 2, 4], [2, 4]]
    """

    def __init__(
        self,
        num_heads: int,
        key_dim: int,
        value_dim: int | None = None,
        dropout: float = 0.0,
        use_bias: bool = True,
        output_shape: int | Sequence[int] | None = None,
        attention_axes: int | Sequence[int] | None = None,
        sliding_window: int | None = None,
        kernel_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        kernel_regularizer: RegularizerLike = None,
        bias_regularizer: RegularizerLike = None,
        activity_regularizer: RegularizerLike = None,
        kernel_constraint: ConstraintLike = None,
        bias_constraint: ConstraintLike = None,
        use_gate: bool = False,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(activity_regularizer=activity_regularizer, **kwargs)
        if isinstance(output_shape, int):
            output_shape = (output_shape,)
        elif output_shape is not None and not isinstance(output_shape, list | tuple):
            raise ValueError(
                f"Invalid `output_shape`: {repr_of(output_shape)}. It must be an int or a tuple of "
                f"ints."
            )
        if isinstance(attention_axes, int):
            attention_axes = (attention_axes,)
        elif attention_axes is not None and not isinstance(attention_axes, list | tuple):
            raise ValueError(
                "`attention_axes` must be an int, list, or tuple. Received: "
                f"attention_axes={repr_of(attention_axes)}"
            )
        self._nt_set_arguments(
            num_heads=_check_size(num_heads, "num_heads"),
            key_dim=_check_size(key_dim, "key_dim"),
            value_dim=key_dim if value_dim is None else _check_size(value_dim, "value_dim"),
            dropout=dropout,
            use_bias=use_bias,
            output_shape=None if output_shape is None else tuple(output_shape),
            attention_axes=None if attention_axes is None else tuple(attention_axes),
            sliding_window=None
            if sliding_window is None
            else _check_size(sliding_window, "sliding_window"),
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            kernel_constraint=kernel_constraint,
            bias_constraint=bias_constraint,
            use_gate=use_gate,
            seed=seed,
        )
        self.supports_masking = True

    def _nt_dense(
        self,
        name: str,
        shape: Shape,
        new_shape: Shape,
        summed_axes: int = 1,
        activation: ActivationLike = None,
    ) -> EinsumDense:
        """Create and build a projection of the last axes onto new ones."""
        kept_axes = len(shape) - summed_axes
        equation, letters = _projection_equation(kept_axes, summed_axes, len(new_shape))
        layer = EinsumDense(
            equation,
            (*[None] * (kept_axes - 1), *new_shape),
            activation,
            letters if self.use_bias else None,
            _copy_initializer(self.kernel_initializer),
            _copy_initializer(self.bias_initializer),
            self.kernel_regularizer,
            self.bias_regularizer,
            self.kernel_constraint,
            self.bias_constraint,
            name=name,
            dtype=self.dtype_policy,
        )
        layer.supports_masking = True  # masks are applied to the attention weights
        layer.build(shape)
        return layer

    def build(  # type: ignore[override]
        self, query_shape: InputShape, value_shape: InputShape, key_shape: InputShape | None = None
    ) -> None:
        """Create the projections of query, keys, values and output."""
        query, value = tuple(query_shape), tuple(value_shape)
        key = _check_key_shape(value, key_shape)
        rank = len(query)
        axes = tuple(range(1, rank - 1)) if self.attention_axes is None else self.attention_axes
        self._nt_axes = tuple(axis % rank for axis in axes)
        heads = self.num_heads
        self.query_dense = self._nt_dense("query", query, (heads, self.key_dim))
        self.key_dense = self._nt_dense("key", key, (self._nt_key_heads(), self.key_dim))
        self.gate_dense = (
            self._nt_dense("gate", query, (heads, self.value_dim), 1, "sigmoid")
            if self.use_gate
            else None
        )
        self.value_dense = self._nt_dense("value", value, (self._nt_key_heads(), self.value_dim))
        self.dropout_layer = Dropout(self.dropout, seed=self.seed, dtype=self.dtype_policy)
        result_shape = self.output_shape or (query[-1],)
        self.output_dense = self._nt_dense(
            "attention_output", (*query[:-1], heads, self.value_dim), result_shape, 2
        )

    def _nt_key_heads(self) -> int:
        """The number of heads of keys and values."""
        heads: int = self.num_heads
        return heads

    def _nt_share_heads(self, x: Tensor) -> Tensor:
        """Return keys or values with a head for each head of the queries."""
        return x

    def _nt_equations(self, rank: int) -> tuple[str, str]:
        """Return the einsum equations of the scores and of the output.

        The axes of the scores are the batch (all axes without attention), the heads, the axes of
        the queries and the axes of the values.
        """
        letters = iter(string.ascii_lowercase)
        query = [next(letters) for _ in range(rank)]  # the axes without the last, heads, size
        value = [next(letters) if k in self._nt_axes else c for k, c in enumerate(query)]
        size = next(letters)
        batch = [c for k, c in enumerate(query[:-2]) if k not in self._nt_axes]
        scores = "".join(
            [*batch, query[-2]]
            + [query[k] for k in self._nt_axes]
            + [value[k] for k in self._nt_axes]
        )
        q, k = "".join(query), "".join(value)
        v, y = f"{k[:-1]}{size}", f"{q[:-1]}{size}"
        return f"{k},{q}->{scores}", f"{scores},{v}->{y}"

    def _nt_mask(
        self,
        query: Tensor,
        value: Tensor,
        masks: tuple[Any, Any, Any],
        attention_mask: Tensor | None,
        use_causal_mask: bool,
    ) -> Any:
        """Combine the masks into one of shape (batch, queries, values), or None."""
        query_mask, value_mask, key_mask = masks
        parts = [] if attention_mask is None else [cast(attention_mask, bool_)]
        if query_mask is not None:
            parts.append(movement.expand_dims(cast(query_mask, bool_), -1))
        for mask in (value_mask, key_mask):
            if mask is not None:
                parts.append(movement.expand_dims(cast(mask, bool_), -2))
        if use_causal_mask or self.sliding_window is not None:
            if len(self._nt_axes) != 1:
                raise ValueError(
                    "`use_causal_mask` and `sliding_window` need an order of the values: attention "
                    f"over one axis. Received: attention_axes={self._nt_axes}"
                )
            queries, values = query.shape[self._nt_axes[0]], value.shape[self._nt_axes[0]]
            if use_causal_mask:
                parts.append(causal_mask(queries, values))
            if self.sliding_window is not None:
                distance = np.abs(np.arange(queries)[:, None] - np.arange(values))
                parts.append(as_tensor((distance < self.sliding_window)[None]))
        result = None
        for part in parts:
            result = part if result is None else comparison.logical_and(result, part)
        return result

    def call(
        self,
        query: Tensor,
        value: Tensor,
        key: Tensor | None = None,
        query_mask: Tensor | None = None,
        value_mask: Tensor | None = None,
        key_mask: Tensor | None = None,
        attention_mask: Tensor | None = None,
        return_attention_scores: bool = False,
        training: bool | None = None,
        use_causal_mask: bool = False,
    ) -> Any:
        """Return the output for each query, and the attention weights if requested."""
        masks = query_mask, value_mask, key_mask
        score_mask = self._nt_mask(query, value, masks, attention_mask, use_causal_mask)
        gate = None if self.gate_dense is None else self.gate_dense(query)
        queries = self.query_dense(query) * (1.0 / math.sqrt(self.key_dim))
        keys = self._nt_share_heads(self.key_dense(value if key is None else key))
        values = self._nt_share_heads(self.value_dense(value))
        scoring, combining = self._nt_equations(queries.ndim)
        scores = einsum(scoring, keys, queries)
        if score_mask is not None:
            for _ in range(scores.ndim - score_mask.ndim):  # all heads have the same mask
                score_mask = movement.expand_dims(score_mask, -2 * len(self._nt_axes) - 1)
            masked_score = -3e4 if scores.dtype.name == "float16" else -1e9
            scores = select(score_mask, scores, masked_score)
        shape, first_value_axis = tuple(scores.shape), scores.ndim - len(self._nt_axes)
        values_size = math.prod(shape[first_value_axis:])
        weights = softmax(movement.reshape(scores, (*shape[:first_value_axis], values_size)))
        weights = movement.reshape(weights, shape)
        if score_mask is not None:
            weights = select(score_mask, weights, 0.0)
        dropped_weights = (
            self.dropout_layer(weights, training=training) if self.dropout else weights
        )
        result = einsum(combining, dropped_weights, values)
        output = self.output_dense(result if gate is None else result * gate)
        return (output, weights) if return_attention_scores else output

    def compute_mask(
        self, query: object, previous_mask: Tensor | Sequence[Tensor | None] | None = None
    ) -> Any:
        """Return the mask of the query."""
        if isinstance(previous_mask, list | tuple):
            return previous_mask[0]
        return previous_mask

    def compute_output_shape(
        self, query_shape: InputShape, value_shape: InputShape, key_shape: InputShape | None = None
    ) -> Shape:
        """Return the shape of the query with the output shape in place of the last size."""
        query = tuple(query_shape)
        _check_key_shape(tuple(value_shape), key_shape)
        return (*query[:-1], *(self.output_shape or (query[-1],)))

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        """Infer the symbolic outputs, which include the weights if they are requested."""
        return self._nt_infer_outputs(*args, **kwargs)


@document(
    "ValueError: If a size is not a positive int, or the numbers of heads do not divide.",
    head_dim="The size of a head.",
    num_query_heads="The number of heads of the queries.",
    num_key_value_heads="The number of heads of keys and values, each of which serves as many "
    "heads of the queries.",
    dropout="The fraction of the attention weights to drop.",
    sliding_window="The number of values on each side that a query attends to; None for all.",
    use_gate="Whether the result is multiplied by the sigmoid of a projection of the query.",
    flash_attention="Must be None or False.",
)
class GroupQueryAttention(MultiHeadAttention):
    """Multi-head attention in which groups of query heads share keys and values.

    From Ainslie et al., "GQA: Training Generalized Multi-Query Transformer Models from Multi-Head
    Checkpoints" (2023).

    >>> layer = tf.keras.layers.GroupQueryAttention(4, num_query_heads=6, num_key_value_heads=2)
    >>> x = tf.ones((3, 5, 8))
    >>> layer(x, x).shape, layer.weights[2].shape
    (TensorShape([3, 5, 8]), TensorShape([8, 2, 4]))
    """

    def __init__(
        self,
        head_dim: int,
        num_query_heads: int,
        num_key_value_heads: int,
        dropout: float = 0.0,
        use_bias: bool = True,
        sliding_window: int | None = None,
        flash_attention: bool | None = None,
        kernel_initializer: InitializerLike = "glorot_uniform",
        bias_initializer: InitializerLike = "zeros",
        kernel_regularizer: RegularizerLike = None,
        bias_regularizer: RegularizerLike = None,
        activity_regularizer: RegularizerLike = None,
        kernel_constraint: ConstraintLike = None,
        bias_constraint: ConstraintLike = None,
        use_gate: bool = False,
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        if flash_attention:
            raise ValueError("flash_attention=True: numtape has no fused attention; omit it.")
        if kwargs.get("name") is None:
            kwargs["name"] = auto_name("GroupedQueryAttention")  # as in Keras
        _check_size(num_key_value_heads, "num_key_value_heads")
        super().__init__(
            _check_size(num_query_heads, "num_query_heads"),
            _check_size(head_dim, "head_dim"),
            dropout=dropout,
            use_bias=use_bias,
            sliding_window=sliding_window,
            kernel_initializer=kernel_initializer,
            bias_initializer=bias_initializer,
            kernel_regularizer=kernel_regularizer,
            bias_regularizer=bias_regularizer,
            activity_regularizer=activity_regularizer,
            kernel_constraint=kernel_constraint,
            bias_constraint=bias_constraint,
            use_gate=use_gate,
            seed=seed,
            **kwargs,
        )
        unused = ("num_heads", "key_dim", "value_dim", "output_shape", "attention_axes")
        self._nt_kept = tuple(name for name in self._nt_kept if name not in unused)
        if num_query_heads % num_key_value_heads:
            raise ValueError("`num_query_heads` must be divisible by `num_key_value_heads`.")
        self._nt_set_arguments(
            head_dim=head_dim,
            num_query_heads=num_query_heads,
            num_key_value_heads=num_key_value_heads,
        )

    def _nt_key_heads(self) -> int:
        heads: int = self.num_key_value_heads
        return heads

    def _nt_share_heads(self, x: Tensor) -> Tensor:
        """Repeat each head of keys or values for its group of query heads."""
        return repeat(x, self.num_query_heads // self.num_key_value_heads, -2)
