"""`Callback`: initial values, metrics and checkpoints of `Model.fit` on several ranks."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from ..keras.callbacks import Callback as KerasCallback, CallbackList
from .collectives import allreduce, check_root
from .gradients import broadcast_variables
from .process_group import engine


class Callback(KerasCallback):
    """Lets `Model.fit` run on several ranks.

    When training begins, all ranks get the root's weights, and the state of its optimizer. A model
    that is built by its first batch gets them after this batch. At the end of each epoch, losses
    and metrics are averaged over the ranks, for this list's later callbacks and for the history.
    Put it first in the list of callbacks.

    It warns if the optimizer does not average gradients.

    Args:
      root_rank: The rank whose weights are used.
      average_metrics: Whether to average losses and metrics.
      root_callbacks: Callbacks that only the root runs, such as `ModelCheckpoint`. They must not
        change the training, as `EarlyStopping` does.

    Example:
      >>> tf.distribute.init()
      >>> model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
      >>> model.compile(tf.distribute.DistributedOptimizer(tf.keras.optimizers.SGD()), "mse")
      >>> data = tf.distribute.shard((np.ones((8, 2), "f"), np.ones((8, 1), "f")), batch_size=4)
      >>> history = model.fit(data, verbose=0, callbacks=[tf.distribute.Callback()])
      >>> len(history.history["loss"])
      1
    """

    def __init__(
        self,
        root_rank: int = 0,
        average_metrics: bool = True,
        root_callbacks: Iterable[KerasCallback] = (),
    ) -> None:
        self.root_rank = check_root(root_rank)
        self.average_metrics = average_metrics
        is_root = engine().rank == self.root_rank
        self.root_callbacks = CallbackList(list(root_callbacks) if is_root else [])
        self._is_broadcast = False

    def set_params(self, params: dict[str, Any]) -> None:
        """Store the arguments of ``fit``."""
        super().set_params(params)
        self.root_callbacks.set_params(params)

    def set_model(self, model: Any) -> None:
        """Store the model."""
        super().set_model(model)
        self.root_callbacks.set_model(model)

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Send the root's weights, if the model is built."""
        self._is_broadcast = False
        optimizer = self.model.optimizer
        if engine().size > 1 and optimizer is not None and optimizer._nt_reducer is None:
            warnings.warn(
                "The model's optimizer does not average gradients over the ranks: use "
                "DistributedOptimizer, also after loading a model, or a train_step with "
                "DistributedGradientTape.",
                stacklevel=2,
            )
        if self.model.variables:
            self._broadcast()
        self.root_callbacks.on_train_begin(logs)

    def _broadcast(self) -> None:
        broadcast_variables(self.model.variables, self.root_rank)
        optimizer = self.model.optimizer
        if optimizer is not None and optimizer.built:
            broadcast_variables(optimizer.variables, self.root_rank)
        self._is_broadcast = True

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Send the root's weights after the first batch of a model that it builds."""
        if not self._is_broadcast:
            self._broadcast()
        self.root_callbacks.on_train_batch_end(batch, logs)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Average the losses and metrics."""
        if logs and self.average_metrics:
            names = sorted(logs)
            values = np.array([float(logs[name]) for name in names])
            means = allreduce(values, name=f"metrics {', '.join(names)}").numpy()
            logs.update(zip(names, means.tolist(), strict=True))
        self.root_callbacks.on_epoch_end(epoch, logs)

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Call the root's callbacks."""
        self.root_callbacks.on_epoch_begin(epoch, logs)

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Call the root's callbacks."""
        self.root_callbacks.on_train_batch_begin(batch, logs)

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Call the root's callbacks."""
        self.root_callbacks.on_train_end(logs)
