"""Every ``NUMTAPE_*`` variable, read here and nowhere else.

==========================  ============================================================
``NUMTAPE_DEVICE``          ``cpu`` (default), ``cuda``, ``auto`` (``cuda`` if there is a GPU that
                            can be used, else ``cpu``) or ``reference``
``NUMTAPE_CACHE_DIR``       where compiled kernels are kept (default: the user's cache folder)
``NUMTAPE_NUM_THREADS``     how many threads may share a sweep (default: one for each core that
                            the process may use)
``NUMTAPE_CHECK_REPLAY``    ``k``: run every k-th call of a `function` as Python as well, and raise
                            if the replay differs (default: never)
==========================  ============================================================
"""

from __future__ import annotations

import logging
import os
import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from .errors import DeviceError

DEVICES = ("cpu", "reference", "cuda", "auto")
# The process's device once it is chosen; `device` chooses it.
chosen: str | None = None
# Whether some thread has ever computed on another one.
moved = False
_here = threading.local()
_threads: int | None = None
_check_replay: int | None = None
_run_eagerly = False
_tensor_float_32 = False
_soft = True
_nondeterministic_scatter = False


def device() -> str:
    """The device that sweeps of this thread run on: ``cpu``, ``reference`` or ``cuda``.

    It is read from ``NUMTAPE_DEVICE`` once, at first use; `numtape.device` takes another one for
    a while.

    Raises:
      ValueError: If the variable names no device.
      DeviceError: If it is ``cuda``, and there is no GPU that can be used; says why.
    """
    global chosen
    if moved:
        here: str | None = getattr(_here, "device", None)
        if here is not None:
            return here
    if chosen is None:
        chosen = _checked(os.environ.get("NUMTAPE_DEVICE") or "cpu")
    return chosen


def _checked(name: str) -> str:
    choice = name.strip().lower()
    if choice not in DEVICES:
        raise ValueError(f"NUMTAPE_DEVICE={name!r} is not one of {', '.join(DEVICES)}.")
    if choice in ("cuda", "auto"):
        from .core.cuda.runtime import device as gpu

        if choice == "auto":
            return "cuda" if gpu.usable() else "cpu"
        gpu.device()
    return choice


def simulated() -> bool:
    """Whether Numba's simulator of a GPU is switched on, by its own ``NUMBA_ENABLE_CUDASIM``."""
    return os.environ.get("NUMBA_ENABLE_CUDASIM", "0") not in ("", "0")


def here() -> str | None:
    """The device that this thread has in place of the process's."""
    return getattr(_here, "device", None)


def move(device: str | None) -> None:
    """Have this thread compute on a device; None for the process's."""
    global moved
    if device == chosen:
        device = None
    if device is not None:
        moved = True
    _here.device = device


@contextmanager
def override(device: str) -> Iterator[None]:
    """Sweep on another device inside a ``with`` block, in every thread (for tests)."""
    global chosen, moved
    before, chosen = chosen, _checked(device)
    moved = moved or "cuda" in (before, chosen)
    try:
        yield
    finally:
        chosen = before


def threads() -> int:
    """How many threads share a large sweep: ``NUMTAPE_NUM_THREADS``, read once, at first use.

    Raises:
      ValueError: If the variable is not a positive integer.
    """
    global _threads
    if _threads is None:
        chosen = os.environ.get("NUMTAPE_NUM_THREADS")
        if not chosen:
            affinity = getattr(os, "sched_getaffinity", None)  # not everywhere
            _threads = len(affinity(0)) if affinity else os.cpu_count() or 1
        elif chosen.strip().isdecimal() and int(chosen):
            _threads = int(chosen)
        else:
            raise ValueError(f"NUMTAPE_NUM_THREADS={chosen!r} is not a positive integer.")
    return _threads


def check_replay() -> int:
    """Every how many calls of a function are checked: ``NUMTAPE_CHECK_REPLAY``; 0 for never.

    Raises:
      ValueError: If the variable is not a positive integer.
    """
    global _check_replay
    if _check_replay is None:
        chosen = os.environ.get("NUMTAPE_CHECK_REPLAY") or "0"
        if not chosen.strip().isdecimal():
            raise ValueError(f"NUMTAPE_CHECK_REPLAY={chosen!r} is not a positive integer.")
        _check_replay = int(chosen)
    return _check_replay


def run_functions_eagerly(run_eagerly: bool) -> None:
    """Whether every `function` runs as plain Python from now on."""
    global _run_eagerly
    _run_eagerly = bool(run_eagerly)


def functions_run_eagerly() -> bool:
    """Whether `run_functions_eagerly` was asked for."""
    return _run_eagerly


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
    """
    found = [PhysicalDevice("/physical_device:CPU:0", "CPU")]
    if device_type in (None, "GPU"):
        from .core.cuda.runtime import device as gpu

        if gpu.there():
            found.append(PhysicalDevice("/physical_device:GPU:0", "GPU"))
    return [device for device in found if device_type in (None, device.device_type)]


def set_soft_device_placement(enabled: bool) -> None:
    """Whether `numtape.device` may take the CPU where there is no GPU: as in TensorFlow, it may."""
    global _soft
    _soft = bool(enabled)


def get_soft_device_placement() -> bool:
    """Whether `numtape.device` may take the CPU where there is no GPU."""
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
        return None if chosen == "reference" else "cpu"
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


def tensor_float_32() -> bool:
    """Whether float32 products may be computed with TF32, on GPUs that have it."""
    return _tensor_float_32


def numerics() -> tuple[bool, ...]:
    """The switches that what is computed on a GPU depends on."""
    return _tensor_float_32, _nondeterministic_scatter


def nondeterministic_scatter() -> bool:
    """Whether the GPU may add slices up in any order, another one in each run."""
    return _nondeterministic_scatter


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
        """Allow TF32 in float32 products: 10 bits of mantissa. Unlike TensorFlow's, it is off."""
        global _tensor_float_32
        _tensor_float_32 = bool(enabled)

    @staticmethod
    def tensor_float_32_execution_enabled() -> bool:
        """Whether it is allowed."""
        return _tensor_float_32

    @staticmethod
    def enable_nondeterministic_scatter(enabled: bool) -> None:
        """Allow the GPU to use atomics where slices are added up by their indices.

        The derivative of `gather` is then computed with less work, but floats are added in
        another order in every run, which changes their last bits.
        """
        global _nondeterministic_scatter
        _nondeterministic_scatter = bool(enabled)

    @staticmethod
    def nondeterministic_scatter_enabled() -> bool:
        """Whether it is allowed."""
        return _nondeterministic_scatter

    @staticmethod
    def enable_op_determinism() -> None:
        """Forbid what gives other bits in another run. It is forbidden from the start."""
        experimental.enable_nondeterministic_scatter(False)

    @staticmethod
    def get_memory_info(device: str) -> dict[str, int]:
        """Bytes of the GPU's memory that values take: ``current`` and ``peak``.

        Args:
          device: ``GPU:0``.

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


def cache_dir() -> Path | None:
    """The folder of compiled kernels, which need not exist yet; None if the user has no home."""
    chosen = os.environ.get("NUMTAPE_CACHE_DIR")
    if chosen:
        return Path(chosen)
    try:
        if sys.platform == "win32":
            base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
        elif sys.platform == "darwin":
            base = Path.home() / "Library" / "Caches"
        else:
            chosen = os.environ.get("XDG_CACHE_HOME", "")
            # What is no absolute path is no setting, its standard says.
            base = chosen if os.path.isabs(chosen) else Path.home() / ".cache"
    except RuntimeError:  # no HOME, and a user that the system does not know
        return None
    return Path(base) / "numtape"
