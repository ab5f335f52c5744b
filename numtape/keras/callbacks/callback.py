"""`Callback`: the base class of callbacks, `History` and `LambdaCallback`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


class Callback:
    """Base class of callbacks: override the methods of the events to react to.

    Batches and epochs count from 0. ``logs`` is a dict of losses and metrics as Python floats.

    Attributes:
      model: The model.
      params: A dict of the arguments of ``fit``: ``"verbose"``, ``"epochs"``, ``"steps"``.

    Example:
      >>> class Names(tf.keras.callbacks.Callback):
      ...     def on_epoch_end(self, epoch, logs=None):
      ...         self.seen = sorted(logs)
      >>> callback = Names()
      >>> callback.on_epoch_end(0, {"loss": 0.5, "accuracy": 0.9})
      >>> callback.seen
      ['accuracy', 'loss']
    """

    params: dict[str, Any] | None = None
    _nt_model: Any = None

    def set_params(self, params: dict[str, Any]) -> None:
        """Store the arguments of ``fit``.

        Args:
          params: A dict.
        """
        self.params = params

    def set_model(self, model: Any) -> None:
        """Store the model.

        Args:
          model: A model.
        """
        self._nt_model = model

    @property
    def model(self) -> Any:
        """The model."""
        return self._nt_model

    def overrides(self, *names: str) -> bool:
        """Whether the callback overrides any of these methods.

        Args:
          names: Method names such as ``"on_epoch_end"``.

        Returns:
          A bool.
        """
        base = vars(Callback)
        return any(getattr(getattr(self, n), "__func__", None) is not base[n] for n in names)

    def _implements_train_batch_hooks(self) -> bool:
        return self.overrides(
            "on_batch_begin", "on_batch_end", "on_train_batch_begin", "on_train_batch_end"
        )

    def _implements_test_batch_hooks(self) -> bool:
        return self.overrides("on_test_batch_begin", "on_test_batch_end")

    def _implements_predict_batch_hooks(self) -> bool:
        return self.overrides("on_predict_batch_begin", "on_predict_batch_end")

    def on_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called before a training batch; the older name of `on_train_batch_begin`.

        Args:
          batch: The batch's index in the epoch.
          logs: Empty.
        """

    def on_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called after a training batch; the older name of `on_train_batch_end`.

        Args:
          batch: The batch's index in the epoch.
          logs: Losses and metrics of the epoch so far.
        """

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Called before an epoch.

        Args:
          epoch: The epoch's index.
          logs: Empty.
        """

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Called after an epoch and its validation.

        Args:
          epoch: The epoch's index.
          logs: Losses and metrics; names from validation begin with ``val_``.
        """

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called before a training batch.

        Args:
          batch: The batch's index in the epoch.
          logs: Empty.
        """
        self.on_batch_begin(batch, logs=logs)

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called after a training batch.

        Args:
          batch: The batch's index in the epoch.
          logs: Losses and metrics of the epoch so far.
        """
        self.on_batch_end(batch, logs=logs)

    def on_test_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called before an evaluation batch, including validation in ``fit``.

        Args:
          batch: The batch's index.
          logs: Empty.
        """

    def on_test_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called after an evaluation batch, including validation in ``fit``.

        Args:
          batch: The batch's index.
          logs: Losses and metrics so far.
        """

    def on_predict_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called before a batch of ``predict``.

        Args:
          batch: The batch's index.
          logs: Empty.
        """

    def on_predict_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Called after a batch of ``predict``.

        Args:
          batch: The batch's index.
          logs: Predicted values.
        """

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Called before the first epoch.

        Args:
          logs: Empty.
        """

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Called after the last epoch.

        Args:
          logs: Losses and metrics of the last epoch.
        """

    def on_test_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Called before an evaluation.

        Args:
          logs: Empty.
        """

    def on_test_end(self, logs: dict[str, Any] | None = None) -> None:
        """Called after an evaluation.

        Args:
          logs: Losses and metrics.
        """

    def on_predict_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Called before ``predict``.

        Args:
          logs: Empty.
        """

    def on_predict_end(self, logs: dict[str, Any] | None = None) -> None:
        """Called after ``predict``.

        Args:
          logs: Empty.
        """


class History(Callback):
    """Records the losses and metrics of each epoch. ``fit`` adds one and returns it.

    Attributes:
      epoch: The epochs' indices.
      history: A list of values for each name, one per epoch.

    Example:
      >>> history = tf.keras.callbacks.History()
      >>> history.on_train_begin()
      >>> history.on_epoch_end(0, {"loss": 0.5})
      >>> history.on_epoch_end(1, {"loss": 0.25})
      >>> history.history
      {'loss': [0.5, 0.25]}
    """

    def __init__(self) -> None:
        self.history: dict[str, list[Any]] = {}
        self.epoch: list[int] = []

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Clear the list of epochs."""
        self.epoch = []

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Append the epoch's values."""
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)
        if self.model is not None:
            self.model.history = self


class LambdaCallback(Callback):
    """A callback whose methods are the functions passed under their names.

    Args:
      on_epoch_begin: A function of ``epoch`` and ``logs``.
      on_epoch_end: A function of ``epoch`` and ``logs``.
      on_train_begin: A function of ``logs``.
      on_train_end: A function of ``logs``.
      on_train_batch_begin: A function of ``batch`` and ``logs``.
      on_train_batch_end: A function of ``batch`` and ``logs``.
      kwargs: Functions for other methods, by name.

    Example:
      >>> seen = []
      >>> callback = tf.keras.callbacks.LambdaCallback(
      ...     on_epoch_end=lambda epoch, logs: seen.append(logs["loss"]))
      >>> callback.on_epoch_end(0, {"loss": 0.5})
      >>> seen
      [0.5]
    """

    def __init__(
        self,
        on_epoch_begin: Callable[..., Any] | None = None,
        on_epoch_end: Callable[..., Any] | None = None,
        on_train_begin: Callable[..., Any] | None = None,
        on_train_end: Callable[..., Any] | None = None,
        on_train_batch_begin: Callable[..., Any] | None = None,
        on_train_batch_end: Callable[..., Any] | None = None,
        **kwargs: object,
    ) -> None:
        vars(self).update(kwargs)
        functions = {
            "on_epoch_begin": on_epoch_begin,
            "on_epoch_end": on_epoch_end,
            "on_train_begin": on_train_begin,
            "on_train_end": on_train_end,
            "on_train_batch_begin": on_train_batch_begin,
            "on_train_batch_end": on_train_batch_end,
        }
        vars(self).update({name: f for name, f in functions.items() if f is not None})
