"""`CallbackList`: calls several callbacks as one."""

from __future__ import annotations

from typing import Any

from ...core.values.tensor import Tensor
from ...nest import flatten
from .callback import Callback, History

# Methods with an older name: a callback that overrides the older one is called as well.
_OLDER = {"on_train_batch_begin": "on_batch_begin", "on_train_batch_end": "on_batch_end"}


def as_numbers(logs: dict[str, Any] | None) -> dict[str, Any]:
    """Flatten and sort logs by name, and convert values to floats where possible.

    Tensors that are not scalars become arrays.
    """
    result: dict[str, Any] = {}
    for name, value in sorted((logs or {}).items()):
        if isinstance(value, dict):
            result.update(as_numbers(value))
            continue
        try:
            result[name] = float(value)
        except (TypeError, ValueError):
            result[name] = value.numpy() if isinstance(value, Tensor) else value
    return result


def _overrides(callback: object, *names: str) -> bool:
    """Whether a callback overrides one of these methods. It need not be a `Callback`."""
    if isinstance(callback, Callback):
        return callback.overrides(*names)
    return any(hasattr(callback, name) for name in names)


class CallbackList(Callback):
    """Calls several callbacks as one, in order.

    Logs are converted to floats only if a callback overrides the method, so methods that no
    callback overrides cost nothing.

    Args:
      callbacks: A callback, or a (nested) list of them.
      add_history: Whether to add a `History` if the callbacks contain none.
      add_progbar: Must be False: ``fit`` shows its own progress bar.
      model: The model.
      params: The arguments of ``fit``.

    Raises:
      NotImplementedError: If ``add_progbar`` is True.
      TypeError: If a callback is a class.

    Example:
      >>> callbacks = tf.keras.callbacks.CallbackList(add_history=True, epochs=1)
      >>> callbacks.on_epoch_end(0, {"loss": tf.constant(0.5)})
      >>> callbacks.callbacks[0].history
      {'loss': [0.5]}
    """

    def __init__(
        self,
        callbacks: object = None,
        add_history: bool = False,
        add_progbar: bool = False,
        model: Any = None,
        **params: object,
    ) -> None:
        if add_progbar:
            raise NotImplementedError(
                "add_progbar must be False: `fit`, `evaluate` and `predict` show their own "
                "progress bar unless verbose=0."
            )
        self.callbacks: list[Any] = flatten(callbacks) if callbacks else []
        for callback in self.callbacks:
            if isinstance(callback, type):
                raise TypeError(
                    f"{callback.__name__} is a class, but a callback must be an instance: write "
                    f"{callback.__name__}()."
                )
        histories = [callback for callback in self.callbacks if isinstance(callback, History)]
        if not histories and add_history:
            histories = [History()]
            self.callbacks.append(histories[0])
        self._nt_history = histories[-1] if histories else None
        self._nt_cached_listeners: dict[str, list[Any]] = {}
        self.set_model(model)
        self.set_params(params)

    def set_params(self, params: dict[str, Any]) -> None:
        """Pass the arguments of ``fit`` to all callbacks."""
        self.params = params
        if params:
            for callback in self.callbacks:
                callback.set_params(params)

    def set_model(self, model: Any) -> None:
        """Pass the model to all callbacks."""
        if model is None:
            return
        super().set_model(model)
        if self._nt_history is not None:
            model.history = self._nt_history
        for callback in self.callbacks:
            callback.set_model(model)

    def wants(self, name: str) -> bool:
        """Whether a callback overrides a method; if not, its logs need not be computed.

        Args:
          name: The name of a method, such as ``"on_train_batch_end"``.

        Returns:
          A bool.
        """
        return bool(self._nt_listeners(name))

    def _nt_listeners(self, name: str) -> list[Any]:
        """The callbacks that override a method, cached until the next ``on_*_begin``."""
        result = self._nt_cached_listeners.get(name)
        if result is None:
            names = [name, *([_OLDER[name]] if name in _OLDER else [])]
            result = [callback for callback in self.callbacks if _overrides(callback, *names)]
            self._nt_cached_listeners[name] = result
        return result

    def _nt_call(self, name: str, *indices: int, logs: dict[str, Any] | None) -> None:
        listeners = self._nt_listeners(name)
        if listeners:
            logs = as_numbers(logs)
            for callback in listeners:
                getattr(callback, name)(*indices, logs)  # users name it as they like

    def _nt_begin(self, name: str, logs: dict[str, Any] | None) -> None:
        self._nt_cached_listeners.clear()  # the callbacks or their methods may have changed
        self._nt_call(name, logs=logs)

    def on_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Call all callbacks."""
        self._nt_call("on_batch_begin", batch, logs=logs)

    def on_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Call all callbacks."""
        self._nt_call("on_batch_end", batch, logs=logs)

    def on_epoch_begin(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Call all callbacks."""
        self._nt_call("on_epoch_begin", epoch, logs=logs)

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Call all callbacks."""
        self._nt_call("on_epoch_end", epoch, logs=logs)

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Call all callbacks."""
        self._nt_call("on_train_batch_begin", batch, logs=logs)

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Call all callbacks."""
        self._nt_call("on_train_batch_end", batch, logs=logs)

    def on_test_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Call all callbacks."""
        self._nt_call("on_test_batch_begin", batch, logs=logs)

    def on_test_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Call all callbacks."""
        self._nt_call("on_test_batch_end", batch, logs=logs)

    def on_predict_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Call all callbacks."""
        self._nt_call("on_predict_batch_begin", batch, logs=logs)

    def on_predict_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """Call all callbacks."""
        self._nt_call("on_predict_batch_end", batch, logs=logs)

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Call all callbacks."""
        self._nt_begin("on_train_begin", logs)

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """Call all callbacks."""
        self._nt_call("on_train_end", logs=logs)

    def on_test_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Call all callbacks."""
        self._nt_begin("on_test_begin", logs)

    def on_test_end(self, logs: dict[str, Any] | None = None) -> None:
        """Call all callbacks."""
        self._nt_call("on_test_end", logs=logs)

    def on_predict_begin(self, logs: dict[str, Any] | None = None) -> None:
        """Call all callbacks."""
        self._nt_begin("on_predict_begin", logs)

    def on_predict_end(self, logs: dict[str, Any] | None = None) -> None:
        """Call all callbacks."""
        self._nt_call("on_predict_end", logs=logs)
