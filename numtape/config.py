"""TensorFlow's ``tf.config``: which devices there are, and switches.

What numtape reads of its environment is in `numtape.core.settings`.
"""

from __future__ import annotations

import logging
import re
import typing as _typing
from typing import Any, NamedTuple

from .core import settings
from .core.settings import device, override, simulated, threads
from .errors import DeviceError
from .names import getter as _getter

__all__ = [
    "PhysicalDevice", "device", "experimental", "functions_run_eagerly",
    "get_soft_device_placement", "list_physical_devices", "override", "run_functions_eagerly",
    "set_record_traceback",
    "set_soft_device_placement", "simulated", "threads",
]  # fmt: skip


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)

_soft = True


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Whether every `function` runs as plain Python from now on: for debugging.

    Args:
      run_eagerly: A bool.

    Example:
      >>> tf.config.run_functions_eagerly(True)
      >>> tf.config.functions_run_eagerly()
      True
      >>> tf.config.run_functions_eagerly(False)
    """
    settings.run_eagerly = bool(run_eagerly)
    settings.eager = settings.run_eagerly or settings.checked


def set_record_traceback(enabled: bool) -> None:
    """Whether to note the program's line of each op, for `GradientTape.why`.

    ``NUMTAPE_TRACEBACK=1`` does so from the start. It costs some time an op.

    Args:
      enabled: A bool.

    Example:
      >>> tf.config.set_record_traceback(True)
      >>> x = tf.Variable(1.0)
      >>> with tf.GradientTape() as tape:
      ...     y = tf.stop_gradient(x) * 2.0
      >>> "StopGradient" in tape.why(y, x) and "config" in tape.why(y, x)
      True
      >>> tf.config.set_record_traceback(False)
    """
    from .core.derive import noting

    noting.enable(traceback=bool(enabled))


if settings.traceback_wanted():
    set_record_traceback(True)


def functions_run_eagerly() -> bool:
    """Whether `run_functions_eagerly` was asked for.

    Returns:
      A bool.

    Example:
      >>> tf.config.functions_run_eagerly()
      False
    """
    return settings.run_eagerly


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
    found = [PhysicalDevice("/physical_device:CPU:0", "CPU")]
    if device_type in (None, "GPU"):
        from .core.cuda.runtime import device as gpu

        if gpu.there():
            found.append(PhysicalDevice("/physical_device:GPU:0", "GPU"))
    return [device for device in found if device_type in (None, device.device_type)]


def set_soft_device_placement(enabled: bool) -> None:
    """Whether `numtape.device` may take the CPU where there is no GPU: as in TensorFlow, it may.

    Args:
      enabled: A bool.

    Example:
      >>> tf.config.set_soft_device_placement(False)
      >>> tf.config.get_soft_device_placement()
      False
      >>> tf.config.set_soft_device_placement(True)
    """
    global _soft
    _soft = bool(enabled)


def get_soft_device_placement() -> bool:
    """Whether `numtape.device` may take the CPU where there is no GPU.

    Returns:
      A bool.

    Example:
      >>> tf.config.get_soft_device_placement()
      True
    """
    return _soft


_NAME = re.compile(
    r"(/job:\w+/replica:\d+/task:\d+)?/?(device:)?(?P<kind>CPU|GPU)(:(\d+|\*))?", re.IGNORECASE
)


def named(name: str | None) -> str | None:
    """The device that one of TensorFlow's names stands for; None for the process's.

    Raises:
      ValueError: If it is no name of a device.
      DeviceError: If there is no GPU, and the CPU may not take its place.
    """
    if name is None or name == "":
        return None
    if not isinstance(name, str):
        raise ValueError(f"Expecting a string device name. Got {type(name)}({name!r})")
    found = _NAME.fullmatch(name)
    if found is None:
        raise ValueError(
            f"{name!r} is not the name of a device: write '/CPU:0' or '/GPU:0', for example."
        )
    if found["kind"].upper() == "CPU":
        return None if settings.chosen == "reference" else "cpu"
    from .core.cuda.runtime import device as gpu

    try:
        gpu.device()
    except DeviceError as error:
        if not _soft:
            raise
        logging.getLogger("numtape").info("%s is not there; the CPU takes its place: %s", name,
                                          error)  # fmt: skip
        return "cpu"
    return "cuda"


def _counted(device: str, caller: str) -> Any:
    """The GPU, if it is the device that ``device`` names."""
    if not device.upper().endswith("GPU:0"):
        raise ValueError(f"{caller}() counts the memory of GPU:0, not of {device!r}.")
    from .core.cuda.runtime import device as gpu

    return gpu.device()


class experimental:
    """What TensorFlow has under this name."""

    @staticmethod
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
        settings.tensor_float_32 = bool(enabled)

    @staticmethod
    def tensor_float_32_execution_enabled() -> bool:
        """Whether TF32 is allowed in float32 products.

        Returns:
          A bool.

        Example:
          >>> tf.config.experimental.tensor_float_32_execution_enabled()
          False
        """
        return settings.tensor_float_32

    @staticmethod
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
        settings.nondeterministic_scatter = bool(enabled)

    @staticmethod
    def nondeterministic_scatter_enabled() -> bool:
        """Whether the GPU may add slices up in any order.

        Returns:
          A bool.

        Example:
          >>> tf.config.experimental.nondeterministic_scatter_enabled()
          False
        """
        return settings.nondeterministic_scatter

    @staticmethod
    def enable_op_determinism() -> None:
        """Forbid what gives other bits in another run. It is forbidden from the start.

        Example:
          >>> tf.config.experimental.enable_op_determinism()
          >>> tf.config.experimental.nondeterministic_scatter_enabled()
          False
        """
        experimental.enable_nondeterministic_scatter(False)

    @staticmethod
    def get_memory_info(device: str) -> dict[str, int]:
        """Bytes of the GPU's memory that values take: ``current`` and ``peak``.

        Args:
          device: ``GPU:0``.

        Returns:
          A dict of two ints.

        Raises:
          ValueError: If it is another device, whose memory nobody counts.
          DeviceError: If there is no GPU that can be used.
        """
        found: dict[str, int] = _counted(device, "get_memory_info").memory_info()
        return found

    @staticmethod
    def reset_memory_stats(device: str) -> None:
        """Let the ``peak`` of `get_memory_info` begin again at what is in use now.

        Args:
          device: ``GPU:0``.

        Raises:
          ValueError: If it is another device, whose memory nobody counts.
          DeviceError: If there is no GPU that can be used.
        """
        _counted(device, "reset_memory_stats").forget_peak()
