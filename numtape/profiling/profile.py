"""`Profile`: the context manager that measures a program."""

from __future__ import annotations

import json
import os
import runpy
import sys
from pathlib import Path
from typing import Any

from ..core import settings
from ..errors import UnimplementedError
from .advice import advice
from .hooks import Hooks
from .measurements import Measurements
from .report import data, picture, report

_running: list[Profile] = []


class Profile:
    """Measures a block of a program by line and op; see `numtape.experimental.profile`."""

    def __init__(self) -> None:
        self.measurements = Measurements()
        self._hooks: Hooks | None = None

    # The context manager.

    def __enter__(self) -> Profile:
        """Start measuring.

        Raises:
          RuntimeError: If another profile is running, or this one was used already.
          UnimplementedError: If the device is not the CPU.
        """
        if _running or self.measurements.clock.total:
            raise RuntimeError("A profile is running, or this one is over: create a new one.")
        if settings.device() != "cpu":
            raise UnimplementedError(
                "Profiles measure only what the CPU computes. Set NUMTAPE_DEVICE=cpu, or use the "
                "GPU vendor's profiler."
            )
        _running.append(self)
        self.measurements = Measurements()
        self._hooks = Hooks(self.measurements)
        try:
            self._hooks.enter()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def _end(self) -> None:
        self.measurements.clock.end()
        if self._hooks is not None:
            self._hooks.leave()
        self._hooks = None
        self.measurements.clear_plans()
        _running.clear()

    # Results.

    def data(self) -> dict[str, Any]:
        """Return all results as a dict of numbers and strings."""
        return data(self.measurements)

    def advice(self) -> list[str]:
        """Return suggestions, each with its line."""
        return advice(self.measurements)

    def report(self, top: int = 20) -> str:
        """Return a table of the slowest lines and ops, and the advice.

        Args:
          top: The number of rows of the table.
        """
        return report(self.measurements, top)

    def __repr__(self) -> str:
        return self.report()

    def save(self, path: str | os.PathLike[str], top: int = 20) -> None:
        """Save a picture (``.svg``), all numbers (``.json``) or the table (any other name).

        Args:
          path: The file.
          top: The number of rows of the picture or table.
        """
        path = Path(path)
        if path.suffix == ".svg":
            text = picture(self.measurements, top)
        elif path.suffix == ".json":
            text = json.dumps(self.data(), indent=1)
        else:
            text = self.report(top) + "\n"
        path.write_text(text, encoding="utf-8")

    def _repr_html_(self) -> str:
        """Return the picture, for notebooks."""
        return picture(self.measurements, 12)


def run(script: str, arguments: list[str]) -> tuple[Profile, BaseException | None]:
    """Run a program as ``__main__``; return its profile and the exception that ended it, if any."""
    previous_argv = sys.argv, sys.path[0]
    sys.argv, sys.path[0] = [script, *arguments], str(Path(script).resolve().parent)
    profile, exit_error = Profile(), None
    try:
        with profile:
            runpy.run_path(script, run_name="__main__")
    except (Exception, SystemExit, KeyboardInterrupt) as error:
        exit_error = error
        # Drop the frames of runpy and of the profiler from the traceback.
        traceback = error.__traceback__
        while traceback is not None and traceback.tb_frame.f_code.co_filename != script:
            traceback = traceback.tb_next
        error.__traceback__ = traceback or error.__traceback__
    finally:
        sys.argv, sys.path[0] = previous_argv
    return profile, exit_error
