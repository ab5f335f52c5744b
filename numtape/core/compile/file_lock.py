"""Locks on open files. The system releases them when a process ends, even if it is killed."""

from __future__ import annotations

import errno
import os
import sys

from .. import settings

if sys.platform == "win32":
    import msvcrt
else:
    import fcntl

_locked: set[int] = set()  # descriptors of locked files


def try_lock(descriptor: int) -> bool:
    """Lock an open file for this descriptor. Returns False if another one has locked it.

    Raises:
      OSError: If the file system has no locks.
    """
    try:
        if sys.platform == "win32":
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        else:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES, errno.EDEADLK):
            return False
        raise
    _locked.add(descriptor)
    return True


def close(descriptor: int) -> None:
    """Close a file, and release its lock."""
    _locked.discard(descriptor)
    os.close(descriptor)


def _close_in_child() -> None:
    """Close the copies of a forked child, which would keep the files locked after the parent."""
    for descriptor in list(_locked):
        close(descriptor)


settings.after_fork_in_child(_close_in_child)
