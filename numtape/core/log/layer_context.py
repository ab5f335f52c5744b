"""The layer context of a thread: training mode, enclosing layers, masks, losses and logits."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn

from .. import settings
from ..values.spec import SPECS
from ..values.tensor import Tensor, of_array
from .log import Log, local
from .op import CODES

if TYPE_CHECKING:
    from ..values.dtypes import DType
    from .interface import LogInterface


def current_training() -> bool | None:
    """Return the training mode of the layer that is being called; None outside of a layer."""
    return local.training


def call_within(
    layer: object, value: bool | None, function: Callable[..., Any], *arguments: Any
) -> Any:
    """Call a function that is part of a layer's call, or that builds the layer.

    Args:
      layer: The layer.
      value: The training mode of the layer, or None if unknown.
      function: The function.
      *arguments: Its arguments.

    Returns:
      The result of the function.
    """
    outer_training, outer_layers = local.training, local.layers
    layers, value = (layer, outer_layers), None if value is None else bool(value)
    try:
        local.training, local.layers = value, layers
        return function(*arguments)
    finally:
        # atomic: an interrupt in between would leave the thread inside of the layer
        local.training, local.layers = outer_training, outer_layers
        # end atomic


def call_autocast(dtype: DType | None, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    """Call a function in which an `AutocastAlias` is read in a dtype; None for its own.

    Args:
      dtype: The dtype.
      function: The function.
      args: Its positional arguments.
      kwargs: Its keyword arguments.

    Returns:
      The result of the function.
    """
    outer_dtype = local.autocast
    try:
        local.autocast = dtype
        return function(*args, **kwargs)
    finally:
        local.autocast = outer_dtype


def enclosing_layer(layer: object) -> Any:
    """Return the layer that is calling or building ``layer``, or None."""
    layers = local.layers
    while layers and layers[0] is layer:
        layers = layers[1]
    return layers[0] if layers else None


def mask_of(x: object) -> Any:
    """Return the mask that a layer gave to a tensor, or None."""
    return getattr(x, "_keras_mask", None)


def set_mask(x: object, mask: Any) -> None:
    """Set the mask of a tensor."""
    if isinstance(x, Tensor):
        x._keras_mask = mask


class EndedLoss:
    """Stands for a loss that was added in a recorded call which has ended. It has no value."""

    def _refuse(self, *args: object, **kwargs: object) -> NoReturn:
        raise ValueError(
            "The losses that a layer added in a call of a `tf.function` (or of `fit`) have no "
            "values outside of it: use `losses` inside the function, and return what is made of "
            "them."
        )

    __array__ = __float__ = __int__ = __bool__ = __index__ = __neg__ = __abs__ = _refuse
    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refuse
    __truediv__ = __rtruediv__ = __pow__ = __rpow__ = numpy = _refuse

    def __repr__(self) -> str:
        return "<a loss of a recorded call, which has no value outside of it>"


class Losses:
    """Losses that a layer added in the last call of the outermost layer."""

    def __init__(self) -> None:
        self._entries: list[tuple[Tensor, Any]] = []  # losses with the logs they were added in
        self._ended_count = 0  # how many were added in a recorded call which has ended

    def add(self, loss: Tensor) -> None:
        """Add a loss."""
        self._entries.append((loss, local.log))
        local.losses.put(self, True)

    def clear(self) -> None:
        """Remove all losses."""
        self._entries.clear()
        self._ended_count = 0
        local.losses.drop(self)

    def all(self) -> list[Any]:
        """Return all losses, with an `EndedLoss` for each of a recorded call which has ended."""
        if any(log is not local.log for _, log in self._entries):
            local.log.refuse("it reads losses that a layer added before")
        return [EndedLoss() for _ in range(self._ended_count)] + [loss for loss, _ in self._entries]

    def forget(self, ended: object) -> int:
        """Remove losses of a recorded call which ends. Return how many there were."""
        before = len(self._entries)
        self._entries = [(loss, log) for loss, log in self._entries if log is not ended]
        return before - len(self._entries)

    def __deepcopy__(self, memo: object) -> Losses:
        return Losses()

    def __reduce__(self) -> Any:
        return Losses, ()


def has_losses() -> bool:
    """Return whether a layer in this thread has added losses."""
    return bool(local.losses)


def drop_ended_losses(log: LogInterface, is_kept: bool = False) -> None:
    """Remove the losses that were added in a recorded call which ends.

    Args:
      log: The log of the call.
      is_kept: Whether the recording is kept. It is discarded if an enclosing layer, whose call goes
        on, expects losses.
    """
    dropped = [(losses, n) for losses, _ in local.losses if (n := losses.forget(log))]
    if is_kept and dropped:
        if local.layers:
            log.refuse("it adds losses to a layer whose call goes on")
        for losses, count in dropped:
            losses._ended_count = count


_ACTIVATIONS = "Sigmoid", "Softmax"  # ops whose operand is the logits


def with_logits(y: Tensor, x: Tensor) -> Tensor:
    """Return ``y`` with a reference to the logits ``x`` that it was computed from."""
    y._keras_logits = x
    return y


def logits_of(y: Tensor, op: str) -> Tensor | None:
    """Return the logits of ``y``, set by a Keras activation or implied by the op of this name."""
    log = local.log
    if log.nested and y._home is not log:
        return None  # the call got it from outside
    if hasattr(y, "_keras_logits"):
        return y._keras_logits
    if _activation_in_call(y, log) != op:
        return None
    row = log.a[y._row]
    logits: Tensor = log.tensor(row, SPECS.specs[log.spec[row]])
    return logits


def without_logits(y: Tensor) -> Tensor:
    """Return ``y``, or, if it has logits, a tensor of the same value without them."""
    if settings.eager or not (hasattr(y, "_keras_logits") or _activation_in_call(y, local.log)):
        return y
    home, log = y._home, local.log
    if home is not log and isinstance(home, Log):
        return y  # of another thread or from outside of the call; `logits_of` ignores it there
    result = log.tensor(y._row, y._spec) if home is log else of_array(home, y._spec)
    result._keras_logits = None
    return result


def _activation_in_call(y: Tensor, log: Log) -> str:
    """Return the activation that a tensor's row is, if a function is being called; "" for none."""
    called = log.nested or (local.journal is not None and not settings.eager)
    if y._home is not log or not called:
        return ""
    name = CODES.entries[log.code[y._row]][0].name
    return name if name in _ACTIVATIONS else ""
