"""The losses that layers add, in their calls and by regularizers."""

from __future__ import annotations

from typing import Any

from ..core.log import ambient
from ..core.values.tensor import Tensor
from ..nest import flatten
from .layer_state import LayerState


class LayerLosses(LayerState):
    """The part of `Layer` that has losses."""

    def add_loss(self, loss: Any) -> None:
        """Add a loss to those that training makes small, in ``call``.

        Args:
          loss: A scalar tensor, or a list of them.

        Raises:
          ValueError: If it is not a tensor.

        Example:
          >>> class Small(tf.keras.Layer):
          ...     def call(self, x):
          ...         self.add_loss(tf.reduce_sum(x * x))
          ...         return x
          >>> layer = Small()
          >>> _ = layer(tf.constant([3.0]))
          >>> [float(loss) for loss in layer.losses]
          [9.0]
        """
        losses = flatten(loss)
        for x in losses:
            if not isinstance(x, Tensor):
                raise ValueError(
                    f"`add_loss()` can only be called from inside `build()` or `call()`, on a "
                    f"tensor input. Received invalid value: {x}"
                )
        for x in losses:
            self._nt_losses.add(x)

    @property
    def losses(self) -> list[Any]:
        """Losses that calls added, in it and in layers inside it, and those of regularizers.

        Those that a recorded call added (one of `fit` as well) have no value once it has ended.
        """
        losses: list[Any] = []
        if ambient.has_losses():
            for layer in self._nt_flatten_layers():
                losses += layer._nt_losses.all()
        functions = [(getattr(v, "regularizer", None), v) for v in self.trainable_weights]
        return losses + [function(v) for function, v in functions if function is not None]

    def _nt_clear_losses(self) -> None:
        if ambient.has_losses():
            for layer in self._nt_flatten_layers():
                layer._nt_losses.clear()
