"""The context manager `device`, and lists of physical devices."""

from __future__ import annotations

import logging
import re
import threading
from typing import Any, NamedTuple

from ..core import settings
from ..core.log.log import local
from ..errors import DeviceError

_soft_placement = True  # whether the CPU may take the place of a missing GPU
_gpu_is_hidden = False  # see `config.set_visible_devices`


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
        self._device = _device_of_name(device_name)

    def __enter__(self) -> None:
        _leave_for(self._device)
        _before.stack.append(settings.here())
        settings.move(self._device)

    def __exit__(self, *_: Any) -> None:
        previous_device = _before.stack.pop()
        try:
            _leave_for(previous_device)
        finally:
            settings.move(previous_device)


class _Before(threading.local):
    """The devices of the blocks that a thread is in."""

    def __init__(self) -> None:
        self.stack: list[str | None] = []


_before = _Before()


def _leave_for(device: str | None) -> None:
    """Compute what there is to compute where it belongs, before it goes on elsewhere."""
    current_device = settings.device()
    if (device or settings.chosen) != current_device:
        local.log.complete()


class PhysicalDevice(NamedTuple):
    """A device of the machine, as TensorFlow describes it.

    Attributes:
      name: Such as ``/physical_device:GPU:0``.
      device_type: ``CPU`` or ``GPU``.
    """

    name: str
    device_type: str


def list_physical_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """The devices of this machine that can be used, of one type or of all.

    A GPU is counted only if everything is installed that it takes to use it.

    Args:
      device_type: ``"CPU"``, ``"GPU"`` or None.

    Returns:
      A list of `PhysicalDevice`.

    Example:
      >>> tf.config.list_physical_devices("CPU")
      [PhysicalDevice(name='/physical_device:CPU:0', device_type='CPU')]
    """
    devices = [PhysicalDevice("/physical_device:CPU:0", "CPU")]
    if device_type in (None, "GPU"):
        from ..core.cuda.runtime import device as gpu

        if gpu.is_available():
            devices.append(PhysicalDevice("/physical_device:GPU:0", "GPU"))
    return [device for device in devices if device_type in (None, device.device_type)]


def set_memory_growth(device: PhysicalDevice, enable: bool) -> None:
    """Say that a GPU's memory is taken as it is needed, as it always is.

    Args:
      device: A GPU, from `list_physical_devices`.
      enable: True.

    Raises:
      ValueError: If the device is not a GPU, or all of its memory should be taken at once.
    """
    if "GPU" not in str(getattr(device, "device_type", device)).upper():
        raise ValueError(f"Memory growth is a setting of GPUs, not of {device!r}.")
    if not enable:
        raise ValueError("The GPU's memory is always taken as it is needed: leave the call out.")


def get_memory_growth(device: PhysicalDevice) -> bool:
    """Whether a GPU's memory is taken as it is needed: it always is.

    Args:
      device: A GPU, from `list_physical_devices`.

    Returns:
      True.

    Raises:
      ValueError: If the device is not a GPU.
    """
    set_memory_growth(device, True)
    return True


def set_soft_device_placement(enabled: bool) -> None:
    """Whether `numtape.device` may use the CPU if there is no GPU. As in TensorFlow, it may.

    Args:
      enabled: A bool.

    Example:
      >>> tf.config.set_soft_device_placement(False)
      >>> tf.config.get_soft_device_placement()
      False
      >>> tf.config.set_soft_device_placement(True)
    """
    global _soft_placement
    local.log.refuse("it sets where numtape may compute")
    _soft_placement = bool(enabled)


def get_soft_device_placement() -> bool:
    """Whether `numtape.device` may use the CPU if there is no GPU.

    Returns:
      A bool.

    Example:
      >>> tf.config.get_soft_device_placement()
      True
    """
    is_soft: bool = local.log.call_guarded(globals().get, "_soft_placement")
    return is_soft


def hide_gpu(is_hidden: bool) -> None:
    """Set whether `numtape.device` treats the GPU as missing.

    Args:
      is_hidden: A bool.

    Raises:
      RuntimeError: If the process computes on the GPU.
    """
    global _gpu_is_hidden
    if is_hidden and settings.device() == "cuda":
        raise RuntimeError("The GPU is in use: set NUMTAPE_DEVICE=cpu to hide it.")
    local.log.refuse("it sets where numtape may compute")
    _gpu_is_hidden = is_hidden


_NAME = re.compile(
    r"(/job:\w+/replica:\d+/task:\d+)?/?(device:)?(?P<kind>CPU|GPU)(:(\d+|\*))?", re.IGNORECASE
)


def _device_of_name(name: str | None) -> str | None:
    """The device that one of TensorFlow's names stands for; None for the process's.

    Raises:
      ValueError: If it is not the name of a device.
      DeviceError: If there is no GPU, and the CPU may not take its place.
    """
    if name is None or name == "":
        return None
    if not isinstance(name, str):
        raise ValueError(f"Expecting a string device name. Got {type(name)}({name!r})")
    match = _NAME.fullmatch(name)
    if match is None:
        raise ValueError(
            f"{name!r} is not the name of a device: write '/CPU:0' or '/GPU:0', for example."
        )
    if match["kind"].upper() == "CPU":
        return None if settings.chosen == "reference" else "cpu"
    from ..core.cuda.runtime import device as gpu

    try:
        if _gpu_is_hidden:
            raise DeviceError("The GPU is hidden by tf.config.set_visible_devices.")
        gpu.device()
    except DeviceError as error:
        if not _soft_placement:
            raise
        logging.getLogger("numtape").info(
            "%s is not there; the CPU takes its place: %s", name, error
        )
        return "cpu"
    return "cuda"
