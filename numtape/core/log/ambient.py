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
        self._of: list[Tensor] = []

    def add(self, loss: Tensor) -> None:
        """Add a loss."""
        self._of.append(loss)
        local.losses.add(self)

    def clear(self) -> None:
        """Forget them."""
        self._of.clear()
        local.losses.discard(self)

    def all(self) -> list[Tensor]:
        """They."""
        return list(self._of)

    def __deepcopy__(self, memo: Any) -> Losses:
        return Losses()

    def __reduce__(self) -> Any:
        return Losses, ()


def has_losses() -> bool:
    """Whether a layer in this thread has losses."""
    return bool(local.losses)


def forget_losses(log: Any) -> None:
    """Forget the losses that were recorded in a log, which ends."""
    for losses in list(local.losses):
        losses._of = [loss for loss in losses._of if loss._home is not log]
