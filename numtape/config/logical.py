"""Logical devices: names for parts of a device, and which devices a program may see.

numtape computes on one processor and one GPU. Further logical CPUs are further names of the same
processor, for programs that are written for several devices.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..core.log.log import local
from .devices import PhysicalDevice, hide_gpu, list_physical_devices


class LogicalDevice(NamedTuple):
    """A device that `numtape.device` accepts.

    Attributes:
      name: Such as ``/device:CPU:0``.
      device_type: ``CPU`` or ``GPU``.
    """

    name: str
    device_type: str


class LogicalDeviceConfiguration(NamedTuple):
    """The configuration of one logical device.

    Args:
      memory_limit: None: memory is taken as it is needed.
      experimental_priority: Not used.
      experimental_device_ordinal: Not used.

    Example:
      >>> tf.config.LogicalDeviceConfiguration().memory_limit is None
      True
    """

    memory_limit: float | None = None
    experimental_priority: int | None = None
    experimental_device_ordinal: int | None = None


# The logical devices of each physical device that has several, and the visible devices.
_configurations: dict[str, list[LogicalDeviceConfiguration]] = {}
_visible: dict[str, list[PhysicalDevice]] = {}


def list_logical_devices(device_type: str | None = None) -> list[LogicalDevice]:
    """Return the devices that `numtape.device` accepts, of one type or of all.

    Args:
      device_type: ``"CPU"``, ``"GPU"`` or None.

    Returns:
      A list of `LogicalDevice`.

    Example:
      >>> tf.config.list_logical_devices("CPU")
      [LogicalDevice(name='/device:CPU:0', device_type='CPU')]
    """
    devices = []
    for device in get_visible_devices(device_type):
        count = len(get_logical_device_configuration(device) or [None])
        devices += [
            LogicalDevice(f"/device:{device.device_type}:{k}", device.device_type)
            for k in range(count)
        ]
    return devices


def get_visible_devices(device_type: str | None = None) -> list[PhysicalDevice]:
    """Return the devices that the program uses, of one type or of all.

    Args:
      device_type: ``"CPU"``, ``"GPU"`` or None.

    Returns:
      A list of `PhysicalDevice`.

    Example:
      >>> [device.device_type for device in tf.config.get_visible_devices("CPU")]
      ['CPU']
    """
    visible = local.log.call_guarded(dict, _visible)
    devices = list_physical_devices(device_type)
    return [x for x in devices if x in visible.get(x.device_type, devices)]


def set_visible_devices(
    devices: PhysicalDevice | Sequence[PhysicalDevice], device_type: str | None = None
) -> None:
    """Set the devices that the program uses. ``set_visible_devices([], "GPU")`` hides the GPU.

    `numtape.device` then treats a hidden GPU like one that is missing.

    Args:
      devices: A device or a list of devices, from `list_physical_devices`.
      device_type: ``"CPU"``, ``"GPU"``, or None for all types.

    Raises:
      ValueError: If a device is unknown or of another type, or the CPU would be hidden.
      RuntimeError: If the GPU is in use, because NUMTAPE_DEVICE chose it.

    Example:
      >>> tf.config.set_visible_devices(tf.config.list_physical_devices("CPU"), "CPU")
      >>> len(tf.config.get_visible_devices("CPU"))
      1
    """
    chosen = [devices] if isinstance(devices, PhysicalDevice) else list(devices)
    known = list_physical_devices()
    for device in chosen:
        if device not in known:
            raise ValueError(f"Unrecognized device: {device!r}")
        if device_type is not None and device.device_type != device_type:
            raise ValueError(f"Unrecognized device: {device!r} is not a {device_type}")
    kinds = ["CPU", "GPU"] if device_type is None else [device_type]
    if "CPU" in kinds and not any(device.device_type == "CPU" for device in chosen):
        raise ValueError("The CPU cannot be hidden: programs run on it.")
    local.log.refuse("it sets which devices are used")
    if "GPU" in kinds:
        hide_gpu(not any(device.device_type == "GPU" for device in chosen))
    for kind in kinds:
        _visible[kind] = [device for device in chosen if device.device_type == kind]


def get_logical_device_configuration(
    device: PhysicalDevice,
) -> list[LogicalDeviceConfiguration] | None:
    """Return what `set_logical_device_configuration` has set for a device.

    Args:
      device: A device, from `list_physical_devices`.

    Returns:
      A list with a configuration for each logical device; None if nothing was set.

    Raises:
      ValueError: If the device is unknown.

    Example:
      >>> cpu = tf.config.list_physical_devices("CPU")[0]
      >>> tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()])
      >>> len(tf.config.get_logical_device_configuration(cpu))
      1
    """
    _check(device)
    configurations = local.log.call_guarded(_configurations.get, device.name)
    return None if configurations is None else list(configurations)


def set_logical_device_configuration(
    device: PhysicalDevice, logical_devices: Sequence[LogicalDeviceConfiguration]
) -> None:
    """Give a device several names, ``/CPU:0``, ``/CPU:1`` and so on.

    Args:
      device: A device, from `list_physical_devices`.
      logical_devices: A configuration for each logical device.

    Raises:
      ValueError: If the device is unknown, or a configuration limits its memory, which is taken
        as it is needed.

    Example:
      >>> cpu = tf.config.list_physical_devices("CPU")[0]
      >>> tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()])
      >>> len(tf.config.list_logical_devices("CPU"))
      1
    """
    _check(device)
    configurations = [LogicalDeviceConfiguration(*x) for x in logical_devices]
    if any(x.memory_limit is not None for x in configurations):
        raise ValueError(
            f"Setting a memory limit on {device.device_type} devices is not supported: numtape "
            f"takes memory as it needs it."
        )
    local.log.refuse("it sets which devices are used")
    _configurations[device.name] = configurations


def _check(device: PhysicalDevice) -> None:
    if device not in list_physical_devices():
        raise ValueError(f"Unrecognized device: {device!r}")
