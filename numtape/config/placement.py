"""`device`: where values are computed, for a while."""

from __future__ import annotations

import threading
from typing import Any

from .. import config
from ..core import settings
from ..core.log.log import local


class device:
    """Compute on another device inside of a ``with`` block, in this thread.

    Ops recorded in the block are computed on the device, ops recorded before it on the previous
    device; values are copied as needed. Gradients flow through the block. In a `function` that is
    being recorded it has no effect: a recording is replayed on the caller's device.

    Args:
      device_name: ``/CPU:0``, ``/GPU:0``, or any other spelling of TensorFlow's; None or an empty
        string for the device that ``NUMTAPE_DEVICE`` chose. There is one GPU, whatever the number.
        Where it cannot be used the CPU takes its place, as in TensorFlow (see
        `config.set_soft_device_placement`), and the log says so (``numtape``, level INFO).

    Raises:
      ValueError: If it is not the name of a device.
      DeviceError: If there is no GPU that can be used, and the CPU may not take its place.

    Example:
      >>> with tf.device("/CPU:0"):
      ...     x = tf.ones(2) + 1.0
      >>> x.device
      '/job:localhost/replica:0/task:0/device:CPU:0'
    """

    def __init__(self, device_name: str | None) -> None:
        self._device = config.device_of_name(device_name)

    def __enter__(self) -> None:
        _leave_for(self._device)
        _before.stack.append(settings.here())
        settings.move(self._device)

    def __exit__(self, *_: Any) -> None:
        before = _before.stack.pop()
        try:
            _leave_for(before)
        finally:
            settings.move(before)


class _Before(threading.local):
    """The devices of the blocks that a thread is in."""

    def __init__(self) -> None:
        self.stack: list[str | None] = []


_before = _Before()


def _leave_for(device: str | None) -> None:
    """Compute what there is to compute where it belongs, before it goes on elsewhere."""
    here = settings.device()
    if (device or settings.chosen) != here:
        local.log.complete()
