"""TensorFlow's ``tf.config``: devices and switches.

`numtape.core.settings` reads the environment variables.
"""

from __future__ import annotations

import typing as _typing

from ..compat.names import getter as _getter
from ..core import settings
from ..core.log.log import local
from ..core.settings import device, override, simulated, threads
from . import experimental, threading
from .devices import (
    PhysicalDevice,
    get_soft_device_placement,
    list_physical_devices,
    set_soft_device_placement,
)
from .logical import (
    LogicalDevice,
    LogicalDeviceConfiguration,
    get_logical_device_configuration,
    get_visible_devices,
    list_logical_devices,
    set_logical_device_configuration,
    set_visible_devices,
)

__all__ = [
    "LogicalDevice",
    "LogicalDeviceConfiguration",
    "PhysicalDevice",
    "device",
    "experimental",
    "functions_run_eagerly",
    "get_logical_device_configuration",
    "get_soft_device_placement",
    "get_visible_devices",
    "list_logical_devices",
    "list_physical_devices",
    "override",
    "run_functions_eagerly",
    "set_logical_device_configuration",
    "set_record_traceback",
    "set_soft_device_placement",
    "set_visible_devices",
    "simulated",
    "threading",
    "threads",
]


def __dir__() -> list[str]:
    return sorted(__all__)


if not _typing.TYPE_CHECKING:
    __getattr__ = _getter(__name__)


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
    local.log.refuse("it changes how functions run")
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
    from ..core.derive import instrumentation

    local.log.refuse("it sets what numtape notes")
    instrumentation.configure(traceback=bool(enabled))


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
    is_eager: bool = local.log.call_guarded(getattr, settings, "run_eagerly")
    return is_eager
