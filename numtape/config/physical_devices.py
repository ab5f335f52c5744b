"""The devices of this machine, as TensorFlow names them."""

from __future__ import annotations

from typing import NamedTuple


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

        if gpu.there():
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
