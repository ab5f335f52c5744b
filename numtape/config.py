"""Every ``NUMTAPE_*`` variable, read here and nowhere else.

==========================  ============================================================
``NUMTAPE_DEVICE``          ``cpu`` (default) or ``reference``; ``cuda`` and ``auto`` are
                            reserved for the GPU
``NUMTAPE_CACHE_DIR``       where compiled kernels are kept (default: the user's cache folder)
``NUMTAPE_NUM_THREADS``     how many threads may share a sweep (default: one for each core that
                            the process may use)
``NUMTAPE_CHECK_REPLAY``    ``k``: run every k-th call of a `function` as Python as well, and raise
                            if the replay differs (default: never)
==========================  ============================================================
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import DeviceError

DEVICES = ("cpu", "reference", "cuda", "auto")
# The device once it is chosen; `device` chooses it.
chosen: str | None = None
_threads: int | None = None
_check_replay: int | None = None
_run_eagerly = False


def device() -> str:
    """The device that sweeps run on: read from ``NUMTAPE_DEVICE`` once, at first use.

    Raises:
      ValueError: If the variable names no device.
      DeviceError: If it names one that this version does not have.
    """
    global chosen
    if chosen is None:
        chosen = _checked(os.environ.get("NUMTAPE_DEVICE") or "cpu")
    return chosen


def _checked(name: str) -> str:
    choice = name.strip().lower()
    if choice not in DEVICES:
        raise ValueError(f"NUMTAPE_DEVICE={name!r} is not one of {', '.join(DEVICES)}.")
    if choice in ("cuda", "auto"):
        raise DeviceError(
            f"NUMTAPE_DEVICE={choice} is not in this version of numtape: it sweeps on the CPU "
            f"only. Set NUMTAPE_DEVICE=cpu or unset it."
        )
    return choice


@contextmanager
def override(device: str) -> Iterator[None]:
    """Sweep on another device inside a ``with`` block, in every thread (for tests)."""
    global chosen
    before, chosen = chosen, _checked(device)
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


def cache_dir() -> Path:
    """The folder of compiled kernels. It need not exist yet."""
    chosen = os.environ.get("NUMTAPE_CACHE_DIR")
    if chosen:
        return Path(chosen)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local"
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "numtape"
