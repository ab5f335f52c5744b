"""A layer that looks vectors up."""

from __future__ import annotations

from typing import Any

from ...core.log.variable import original
from ...core.ops.comparison import not_equal
from ...core.ops.elementwise import as_indices
from ...core.ops.indexing import gather
from ...core.values.dtypes import int32
from ...core.values.tensor import Tensor
from .base import ConfiguredLayer, Shape, document, positive


@document(
    "ValueError: If a size is not a positive int, or a name is unknown.",
    input_dim="How many vectors there are: inputs are ints from 0 to less than this.",
    output_dim="The size of the vectors.",
    mask_zero="Whether the input 0 is not a word but padding: what follows then gets a mask.",
    weights="The vectors to begin with, an array of shape (input_dim, output_dim) or a list of it.",
)
class Embedding(ConfiguredLayer):
    """Vectors for ints: words, users, places. The derivative by the table is `IndexedSlices`.

    >>> layer = tf.keras.layers.Embedding(10, 2)
    >>> layer(tf.constant([[1, 5, 1]])).shape, layer.embeddings.shape
    (TensorShape([1, 3, 2]), TensorShape([10, 2]))
    """

    def __init__(
        self,
        input_dim: int,
        output_dim: int,
        embeddings_initializer: Any = "uniform",
        embeddings_regularizer: Any = None,
        embeddings_constraint: Any = None,
        mask_zero: bool = False,
        weights: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self._nt_keep(
            input_dim=positive(input_dim, "input_dim"),
            output_dim=positive(output_dim, "output_dim"),
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

    def build(self, input_shape: Any = None) -> None:
        """Make ``embeddings``, of shape (input_dim, output_dim)."""
        self.embeddings = self._nt_weight("embeddings", (self.input_dim, self.output_dim))

    def call(self, inputs: Tensor) -> Tensor:
        """Give the vectors of the inputs."""
        full = inputs if inputs.dtype.is_integer else as_indices(inputs, int32)
        return gather(original(self.embeddings), full)

    def compute_mask(self, inputs: Any, previous_mask: Any = None) -> Any:
        """Give where the inputs are not 0, if 0 is padding."""
        return not_equal(inputs, 0) if self.mask_zero else None

    def compute_output_shape(self, input_shape: Any) -> Shape:
        """Give the shape of the inputs with one more axis."""
        return (*tuple(input_shape), self.output_dim)
