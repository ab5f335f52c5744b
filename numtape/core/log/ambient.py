"""What layers that call one another share in a thread: whether they train, masks, losses."""

from __future__ import annotations

from typing import Any

from ..values.tensor import Tensor
from .log import local


def training() -> bool | None:
    """What the layer that calls was told of training; None if no layer calls."""
    return local.training


def enter(value: bool | None) -> tuple[bool | None, int]:
    """Begin a layer's call; returns what `leave` takes: the second is 0 for the outermost one."""
    before = local.training, local.layers
    local.training = None if value is None else bool(value)
    local.layers = before[1] + 1
    return before


def leave(before: tuple[bool | None, int]) -> None:
    """End a layer's call."""
    local.training, local.layers = before


def mask_of(x: Any) -> Any:
    """The mask that a layer gave to a tensor, or None."""
    return getattr(x, "_keras_mask", None)


def set_mask(x: Any, mask: Any) -> None:
    """Give a tensor its mask."""
    if isinstance(x, Tensor):
        x._keras_mask = mask


class Losses:
    """The losses that a layer added in the last call of the outermost layer."""

    def __init__(self) -> None:
        self._of: list[tuple[Tensor, Any]] = []  # each with the log that it was added in
        self._gone = False  # whether such a call has ended

    def add(self, loss: Tensor) -> None:
        """Add a loss."""
        self._of.append((loss, local.log))
        local.losses.put(self, True)

    def clear(self) -> None:
        """Forget them."""
        self._of.clear()
        self._gone = False
        local.losses.drop(self)

    def all(self) -> list[Tensor]:
        """They.

        Raises:
          ValueError: If one was added in a recorded call, which has ended.
        """
        if self._gone:
            raise ValueError(
                "The losses that a layer added in a call of a `tf.function` have no values outside "
                "of it: use `losses` inside the function, and return what is made of them."
            )
        if any(log is not local.log for _, log in self._of):
            local.log.refuse("it reads losses that a layer added before")
        return [loss for loss, _ in self._of]

    def forget(self, ended: Any) -> bool:
        """Forget those that were added in a recorded call that ends; were there some?"""
        before = len(self._of)
        self._of = [(loss, log) for loss, log in self._of if log is not ended]
        return len(self._of) < before

    def __deepcopy__(self, memo: Any) -> Losses:
        return Losses()

    def __reduce__(self) -> Any:
        return Losses, ()


def has_losses() -> bool:
    """Whether a layer in this thread has losses."""
    return bool(local.losses)


def forget_losses(log: Any, recorded: bool = False) -> None:
    """Forget the losses that were added in a recorded call, which ends.

    Args:
      log: Its log.
      recorded: Whether it is kept. It is not if a layer whose call goes on waits for losses.
    """
    forgotten = [losses for losses, _ in local.losses if losses.forget(log)]
    if recorded and forgotten:
        if local.layers:
            log.refuse("it adds losses to a layer whose call goes on")
        for losses in forgotten:
            losses._gone = True
