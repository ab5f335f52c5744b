"""Resident memory of this process, available on Linux only."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_PROCESS = Path("/proc/self")


def resident() -> float:
    """Returns this process's resident memory in MiB.

    Raises:
        OSError: If the system is not Linux.
    """
    statm = _PROCESS / "statm"
    if not statm.exists():
        raise OSError("resident memory can be read on Linux only")
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def forget_peak() -> None:
    """Resets the peak to the current resident memory, if the system allows it.

    ``ru_maxrss`` would include the peak of imports, and even that of the parent process.
    """
    with contextlib.suppress(OSError):
        (_PROCESS / "clear_refs").write_text("5")


def peak() -> float:
    """Returns the peak resident memory since ``forget_peak``, in MiB."""
    lines = (_PROCESS / "status").read_text().splitlines()
    words = next(line for line in lines if line.startswith("VmHWM")).split()
    return int(words[1]) / 2**10
