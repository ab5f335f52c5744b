"""``tf.config.experimental``: what may make results differ, and the memory of GPUs."""

from __future__ import annotations

import typing as _typing
from typing import Any

from ..compat.names import getter as _getter
from ..core import settings
from ..core.log.log import local
from .devices import (
    PhysicalDevice,
    get_memory_growth,
    list_physical_devices,
    set_memory_growth,
)
from .logical import (
    LogicalDeviceConfiguration as VirtualDeviceConfiguration,
    get_logical_device_configuration as get_virtual_device_configuration,
    get_visible_devices,
    list_logical_devices,
    set_logical_device_configuration as set_virtual_device_configuration,
    set_visible_devices,
)

__all__ = [
    "VirtualDeviceConfiguration",
    "enable_nondeterministic_scatter",
    "enable_op_determinism",
    "enable_tensor_float_32_execution",
    "get_device_details",
    "get_memory_growth",
    "get_memory_info",
    "get_synchronous_execution",
    "get_virtual_device_configuration",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "nondeterministic_scatter_enabled",
    "reset_memory_stats",
    "set_memory_growth",
    "set_synchronous_execution",
    "set_virtual_device_configuration",
    "set_visible_devices",
    "tensor_float_32_execution_enabled",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter("config.experimental")


def _counted_device(device: str, caller: str) -> Any:
    """The GPU, if it is the device that ``device`` names."""
    if not device.upper().endswith("GPU:0"):
        raise ValueError(f"{caller}() counts the memory of GPU:0, not of {device!r}.")
    from ..core.cuda.runtime import device as gpu

    return gpu.device()


def enable_tensor_float_32_execution(enabled: bool) -> None:
    """Allow TF32 in float32 products: 10 bits of mantissa. Unlike TensorFlow's, it is off.

    Args:
      enabled: A bool.

    Example:
      >>> tf.config.experimental.enable_tensor_float_32_execution(True)
      >>> tf.config.experimental.tensor_float_32_execution_enabled()
      True
      >>> tf.config.experimental.enable_tensor_float_32_execution(False)
    """
    local.log.refuse("it sets how products are computed")
    settings.tensor_float_32 = bool(enabled)


def tensor_float_32_execution_enabled() -> bool:
    """Whether TF32 is allowed in float32 products.

    Returns:
      A bool.

    Example:
      >>> tf.config.experimental.tensor_float_32_execution_enabled()
      False
    """
    is_on: bool = local.log.call_guarded(getattr, settings, "tensor_float_32")
    return is_on


def enable_nondeterministic_scatter(enabled: bool) -> None:
    """Allow the GPU to use atomics where slices are added up by their indices.

    The derivative of `gather` is then computed with less work, but floats are added in another
    order in every run, which changes their last bits.

    Args:
      enabled: A bool.

    Example:
      >>> tf.config.experimental.enable_nondeterministic_scatter(True)
      >>> tf.config.experimental.nondeterministic_scatter_enabled()
      True
      >>> tf.config.experimental.enable_nondeterministic_scatter(False)
    """
    local.log.refuse("it sets how sums are computed")
    settings.nondeterministic_scatter = bool(enabled)


def nondeterministic_scatter_enabled() -> bool:
    """Whether the GPU may add slices up in any order.

    Returns:
      A bool.

    Example:
      >>> tf.config.experimental.nondeterministic_scatter_enabled()
      False
    """
    is_on: bool = local.log.call_guarded(getattr, settings, "nondeterministic_scatter")
    return is_on


def enable_op_determinism() -> None:
    """Forbid what gives other bits in another run. It is forbidden from the start.

    Example:
      >>> tf.config.experimental.enable_op_determinism()
      >>> tf.config.experimental.nondeterministic_scatter_enabled()
      False
    """
    enable_nondeterministic_scatter(False)


def get_memory_info(device: str) -> dict[str, int]:
    """Bytes of the GPU's memory that values take: ``current`` and ``peak``.

    Args:
      device: ``GPU:0``.

    Returns:
      A dict of two ints.

    Raises:
      ValueError: If it is another device, whose memory is not tracked.
      DeviceError: If there is no GPU that can be used.
    """
    info: dict[str, int] = _counted_device(device, "get_memory_info").memory_info()
    return info


def reset_memory_stats(device: str) -> None:
    """Let the ``peak`` of `get_memory_info` begin again at what is in use now.

    Args:
      device: ``GPU:0``.

    Raises:
      ValueError: If it is another device, whose memory is not tracked.
      DeviceError: If there is no GPU that can be used.
    """
    _counted_device(device, "reset_memory_stats").forget_peak()


def get_device_details(device: PhysicalDevice) -> dict[str, Any]:
    """Return the name and the compute capability of a GPU; nothing for the CPU.

    Args:
      device: A device, from `list_physical_devices`.

    Returns:
      A dict with the keys ``device_name`` and ``compute_capability``, or an empty dict.

    Raises:
      ValueError: If it is not a device.

    Example:
      >>> tf.config.experimental.get_device_details(tf.config.list_physical_devices("CPU")[0])
      {}
    """
    if not isinstance(device, PhysicalDevice):
        raise ValueError(f"device must be a tf.config.PhysicalDevice, got {device!r}.")
    if device.device_type != "GPU":
        return {}
    gpu = _counted_device("GPU:0", "get_device_details")
    return {
        "device_name": getattr(gpu, "name", "simulator"),
        "compute_capability": tuple(gpu.capability),
    }


def get_synchronous_execution() -> bool:
    """Return whether ops have ended when they return: True, as far as a program can tell.

    Returns:
      True.

    Example:
      >>> tf.config.experimental.get_synchronous_execution()
      True
    """
    return True


def set_synchronous_execution(enable: bool) -> None:
    """Accept True or None: numtape orders the work by itself.

    Args:
      enable: True or None.

    Raises:
      ValueError: If it is False.

    Example:
      >>> tf.config.experimental.set_synchronous_execution(True)
      >>> tf.config.experimental.get_synchronous_execution()
      True
    """
    if enable is not None and not enable:
        raise ValueError("numtape has no asynchronous execution to enable: leave the call out.")
