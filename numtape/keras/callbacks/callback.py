"""`Callback`: what is called while a model is trained, evaluated or predicts."""

from __future__ import annotations

from typing import Any


class Callback:
    """Base class of callbacks: override what is to be done, and when.

    Batches and epochs count from 0. ``logs`` is a dict of losses and metrics, as Python's floats.

    Attributes:
      model: The model.
      params: A dict of what ``fit`` was told: ``"verbose"``, ``"epochs"``, ``"steps"``.

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
        """Note what ``fit`` was told.

        Args:
          params: A dict.
        """
        self.params = params

    def set_model(self, model: Any) -> None:
        """Note the model.

        Args:
          model: A model.
        """
        self._nt_model = model

    @property
    def model(self) -> Any:
        """The model."""
        return self._nt_model

    def overrides(self, *names: str) -> bool:
        """Whether it does anything in one of these methods.

        Args:
          names: Names such as ``"on_epoch_end"``.

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
        """Before a batch of training; the older name of `on_train_batch_begin`.

        Args:
          batch: Its number in the epoch.
          logs: Nothing yet.
        """

    def on_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """After a batch of training; the older name of `on_train_batch_end`.

        Args:
          batch: Its number in the epoch.
          logs: Losses and metrics of the epoch so far.
        """

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Before an epoch.

        Args:
          epoch: Its number.
          logs: Nothing yet.
        """

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """After an epoch, and its validation.

        Args:
          epoch: Its number.
          logs: Losses and metrics; those of the validation begin with ``val_``.
        """

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Before a batch of training.

        Args:
          batch: Its number in the epoch.
          logs: Nothing yet.
        """
        self.on_batch_begin(batch, logs=logs)

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """After a batch of training.

        Args:
          batch: Its number in the epoch.
          logs: Losses and metrics of the epoch so far.
        """
        self.on_batch_end(batch, logs=logs)

    def on_test_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Before a batch of an evaluation, that in ``fit`` too.

        Args:
          batch: Its number.
          logs: Nothing yet.
        """

    def on_test_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """After a batch of an evaluation, that in ``fit`` too.

        Args:
          batch: Its number.
          logs: Losses and metrics so far.
        """

    def on_predict_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Before a batch of ``predict``.

        Args:
          batch: Its number.
          logs: Nothing yet.
        """

    def on_predict_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """After a batch of ``predict``.

        Args:
          batch: Its number.
          logs: Predicted values.
        """

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Before the first epoch.

        Args:
          logs: Nothing yet.
        """

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """After the last epoch.

        Args:
          logs: Losses and metrics of the last epoch.
        """

    def on_test_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Before an evaluation.

        Args:
          logs: Nothing yet.
        """

    def on_test_end(self, logs: dict[str, Any] | None = None) -> None:
        """After an evaluation.

        Args:
          logs: Losses and metrics.
        """

    def on_predict_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Before ``predict``.

        Args:
          logs: Nothing yet.
        """

    def on_predict_end(self, logs: dict[str, Any] | None = None) -> None:
        """After ``predict``.

        Args:
          logs: Nothing.
        """


class History(Callback):
    """What every epoch's losses and metrics were. Each ``fit`` has one, and returns it.

    Attributes:
      epoch: The numbers of the epochs.
      history: A list for each name.

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
        """Begin the list of epochs again."""
        self.epoch = []

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Append what there is of an epoch."""
        self.epoch.append(epoch)
        for name, value in (logs or {}).items():
            self.history.setdefault(name, []).append(value)
        if self.model is not None:
            self.model.history = self


class LambdaCallback(Callback):
    """A callback made of functions, which take what the methods of their names do.

    Args:
      on_epoch_begin: A function of ``epoch`` and ``logs``.
      on_epoch_end: A function of ``epoch`` and ``logs``.
      on_train_begin: A function of ``logs``.
      on_train_end: A function of ``logs``.
      on_train_batch_begin: A function of ``batch`` and ``logs``.
      on_train_batch_end: A function of ``batch`` and ``logs``.
      kwargs: Functions by the names of other methods.

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
        on_epoch_begin: Any = None,
        on_epoch_end: Any = None,
        on_train_begin: Any = None,
        on_train_end: Any = None,
        on_train_batch_begin: Any = None,
        on_train_batch_end: Any = None,
        **kwargs: Any,
    ) -> None:
        vars(self).update(kwargs)
        provided = {
            "on_epoch_begin": on_epoch_begin,
            "on_epoch_end": on_epoch_end,
            "on_train_begin": on_train_begin,
            "on_train_end": on_train_end,
            "on_train_batch_begin": on_train_batch_begin,
            "on_train_batch_end": on_train_batch_end,
        }
        vars(self).update({name: f for name, f in provided.items() if f is not None})
