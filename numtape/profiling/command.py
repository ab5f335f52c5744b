"""``python -m numtape profile``: run a program under the profiler."""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

from .profile import Profile


def run(script: str, arguments: list[str]) -> tuple[Profile, BaseException | None]:
    """Run a program as ``__main__``; return its profile and the exception that ended it, if any."""
    before = sys.argv, sys.path[0]
    sys.argv, sys.path[0] = [script, *arguments], str(Path(script).resolve().parent)
    profile, ended = Profile(), None
    try:
        with profile:
            runpy.run_path(script, run_name="__main__")
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        ended = error
        # Drop the frames of runpy and of the profiler from the traceback.
        place = error.__traceback__
        while place is not None and place.tb_frame.f_code.co_filename != script:
            place = place.tb_next
        error.__traceback__ = place or error.__traceback__
    finally:
        sys.argv, sys.path[0] = before
    return profile, ended
