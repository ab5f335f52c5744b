"""Resident memory of this process, which only Linux tells."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_PROCESS = Path("/proc/self")


def resident() -> float:
    """Gives this process's resident memory in MiB.

    Raises:
        OSError: If the system does not tell.
    """
    statm = _PROCESS / "statm"
    if not statm.exists():
        raise OSError("resident memory can be read on Linux only")
    return int(statm.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def forget_peak() -> None:
    """Makes the peak start again from what is resident now, where that is allowed.

    ``ru_maxrss`` would keep the peak of imports, and even that of the process that started us.
    """
    with contextlib.suppress(OSError):
        (_PROCESS / "clear_refs").write_text("5")


def peak() -> float:
    """Gives the most that was resident since ``forget_peak``, in MiB."""
    lines = (_PROCESS / "status").read_text().splitlines()
    words = next(line for line in lines if line.startswith("VmHWM")).split()
    return int(words[1]) / 2**10
