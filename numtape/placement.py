"""`device`: where values are computed, for a while."""

from __future__ import annotations

from typing import Any

from . import config
from .core.log import local
from .core.sweep import settle


class device:
    """Compute on another device inside of a ``with`` block, in this thread.

    What was recorded before the block, and what is recorded inside, is computed on its own side;
    values are copied where they are needed. Gradients go through the block. Inside of a `function`
    that is being recorded it has no effect: a recording is replayed on the device of its caller.

    Args:
      device_name: ``/CPU:0``, ``/GPU:0``, or any other spelling of TensorFlow's; None or an empty
        string for the device that ``NUMTAPE_DEVICE`` chose. There is one GPU, whatever the number.
        Where it cannot be used the CPU takes its place, as in TensorFlow (see
        `config.set_soft_device_placement`), and the log says so (``numtape``, level INFO).

    Raises:
      ValueError: If it is no name of a device.
      DeviceError: If there is no GPU that can be used, and the CPU may not take its place.
    """

    def __init__(self, device_name: str | None) -> None:
        self._device = config.named(device_name)
        self._before: list[str | None] = []

    def __enter__(self) -> None:
        before = config.here()
        _move(self._device)
        self._before.append(before)

    def __exit__(self, *_: Any) -> None:
        _move(self._before.pop())


def _move(device: str | None) -> None:
    """Compute what there is to compute where it belongs, and go on elsewhere."""
    before = config.device()
    if (device or config.chosen) != before:
        settle(local.log)
    config.move(device)
