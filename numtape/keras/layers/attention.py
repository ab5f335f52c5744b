"""Attention: means of values, weighted by how well their keys fit a query."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...core.log.tensors import as_tensor
from ...core.log.variable import original
from ...core.ops import comparison, movement
from ...core.ops.dropout import general_dropout
from ...core.ops.elementwise import cast, multiply, select, tanh
from ...core.ops.matrix_products import matmul
from ...core.ops.reduction import reduce_sum
from ...core.ops.softmax_losses import softmax
from ...core.values.dtypes import bool_, repr_of
from ...core.values.tensor import Tensor
from ..layer import LayerVariable
from ..seed_generator import SeedGenerator
from .configured import ConfiguredLayer, document

_CALL = (
    "ValueError: If an argument is out of range; at a call, if the inputs are not a list of two or "
    "three."
)


def causal(queries: int, values: int) -> Tensor:
    """Where a value is not behind the query: a triangle, of shape (1, queries, values)."""
    return as_tensor(np.tri(queries, values, dtype=bool)[None])


class _Attention(ConfiguredLayer):
    """What both kinds of attention do once they know how well queries and keys fit."""

    def _nt_check(self, inputs: Any, mask: Any = None) -> None:
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
        inputs: Any,
        mask: Any = None,
        training: bool | None = False,
        return_attention_scores: bool = False,
        use_causal_mask: bool = False,
    ) -> Any:
        """Give the mean of the values for each query, and the weights if they are asked for."""
        self._nt_check(inputs, mask)
        query, value = inputs[:2]
        key = inputs[2] if len(inputs) > 2 else value
        scores = self._nt_scores(query, key)
        there = None
        if mask is not None and mask[1] is not None:
            there = movement.expand_dims(cast(mask[1], bool_), -2)
        if use_causal_mask:
            triangle = causal(*tuple(scores.shape)[-2:])
            there = triangle if there is None else comparison.logical_and(there, triangle)
        if there is not None:
            far = 65504.0 if scores.dtype.name == "float16" else 1e9
            scores = select(there, scores, scores - far)
        weights = softmax(scores)
        if training and self.dropout > 0:
            weights = general_dropout(weights, self.dropout, self.seed_generator.uniform)
        result = matmul(weights, value)
        if mask is not None and mask[0] is not None:
            result = select(movement.expand_dims(cast(mask[0], bool_), -1), result, 0.0)
        return (result, weights) if return_attention_scores else result

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """Give the mask of the query."""
        self._nt_check(inputs, previous_mask)
        return None if previous_mask is None else previous_mask[0]

    def compute_output_shape(self, input_shape: Any) -> Any:
        """Give the query's shape with the size of the values."""
        self._nt_check(input_shape)
        query, value = (tuple(shape) for shape in input_shape[:2])
        return (*query[:-1], value[-1])

    def compute_output_spec(self, *args: Any, **kwargs: Any) -> Any:
        """The result of a call with symbolic tensors: the weights too, if they are asked for."""
        return self._nt_inferred(*args, **kwargs)


_DROPOUT = "The part of the weights that are dropped in training."


@document(
    _CALL,
    use_scale="Whether the scores are multiplied by a number that is learned.",
    score_mode='"dot", products of query and key, or "concat", ``tanh`` of their sum.',
    dropout=_DROPOUT,
)
class Attention(_Attention):
    """Means of values, weighted by the softmax of products of a query and the values' keys.

    It is called on a list: the query, of shape (batch, queries, size), the values, of shape
    (batch, values, size), and the keys, which are the values where they are missing. See Luong,
    Pham and Manning, "Effective Approaches to Attention-based Neural Machine Translation" (2015).

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
        self._nt_keep(use_scale=use_scale, score_mode=score_mode, dropout=dropout, seed=seed)
        if dropout > 0:
            self.seed_generator = SeedGenerator(seed)
        self.supports_masking = True
        self.scale: LayerVariable | None = None
        self.concat_score_weight: LayerVariable | None = None

    def build(self, input_shape: Any) -> None:
        """Make ``scale`` and ``concat_score_weight``, single numbers, where they are needed."""
        self._nt_check(input_shape)
        if self.use_scale:
            self.scale = self.add_weight(shape=(), initializer="ones", name="scale")
        if self.score_mode == "concat":
            self.concat_score_weight = self.add_weight(
                shape=(), initializer="ones", name="concat_score_weight"
            )

    def _nt_scores(self, query: Tensor, key: Tensor) -> Tensor:
        if self.score_mode == "dot":
            result = matmul(query, key, transpose_b=True)
            return result if self.scale is None else multiply(result, original(self.scale))
        both: Any = movement.expand_dims(query, -2) + movement.expand_dims(key, -3)
        if self.scale is not None:
            both = both * original(self.scale)
        assert self.concat_score_weight is not None
        scores: Tensor = reduce_sum(tanh(both), -1) * original(self.concat_score_weight)
        return scores


@document(
    _CALL,
    use_scale="Whether the features are multiplied by numbers that are learned.",
    dropout=_DROPOUT,
)
class AdditiveAttention(_Attention):
    """Means of values, weighted by the softmax of sums of ``tanh(query + key)``.

    It is called like `Attention`. See Bahdanau, Cho and Bengio, "Neural Machine Translation by
    Jointly Learning to Align and Translate" (2015).

    >>> layer = tf.keras.layers.AdditiveAttention(use_scale=False)
    >>> layer([tf.ones((2, 3, 4)), tf.ones((2, 5, 4))]).shape
    TensorShape([2, 3, 4])
    """

    def __init__(self, use_scale: bool = True, dropout: float = 0.0, **kwargs: Any) -> None:
        seed = kwargs.pop("seed", None)
        super().__init__(**kwargs)
        self._nt_keep(use_scale=use_scale, dropout=dropout, seed=seed)
        if dropout > 0:
            self.seed_generator = SeedGenerator(seed)
        self.supports_masking = True
        self.scale: LayerVariable | None = None

    def build(self, input_shape: Any) -> None:
        """Make ``scale``, of the size of the features, if it is used."""
        self._nt_check(input_shape)
        if self.use_scale:
            self.scale = self.add_weight(
                shape=(tuple(input_shape[0])[-1],), initializer="glorot_uniform", name="scale"
            )

    def _nt_scores(self, query: Tensor, key: Tensor) -> Tensor:
        both = tanh(movement.expand_dims(query, -2) + movement.expand_dims(key, -3))
        return reduce_sum(both if self.scale is None else both * original(self.scale), -1)
