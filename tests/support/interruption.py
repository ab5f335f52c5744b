"""Interrupt a program at a chosen line or event."""

import dis
import functools
import sys
from pathlib import Path

from processes import PACKAGE


def stretches(path):
    """The lines between ``# atomic`` and ``# end atomic``."""
    start = 0
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        if line.strip().startswith("# atomic: "):
            assert not start
            start = number
        elif line.strip() == "# end atomic":
            yield start, number
            start = 0
    assert not start, path


def interrupted_at_each_line(prepare, act, check):
    """Run `act` repeatedly on new objects, interrupted one line later each time.

    Only lines that call something or jump back are interrupted, where Python checks for signals. An
    exception that a tracer raises elsewhere, at a ``try`` for instance, can skip the code that
    releases locks.
    """
    at, hit = 0, True
    while hit:
        at += 1
        state = prepare()
        hit = _interrupted(at, lambda: act(state))  # noqa: B023
        check(state)
    assert at > 2


@functools.cache
def _calling(code):
    """Lines of a function that contain calls or backward jumps."""
    return {
        step.positions.lineno
        for step in dis.get_instructions(code)
        if "CALL" in step.opname or "JUMP_BACKWARD" in step.opname
    }


@functools.cache
def _entering(code):
    """Lines of ``with`` statements, also at the end of their blocks.

    A tracer's exception at that end leaves locks held; signal handlers run after it.
    """
    return {
        step.positions.lineno
        for step in dis.get_instructions(code)
        if step.opname in ("BEFORE_WITH", "LOAD_SPECIAL")
    }


@functools.cache
def _whole(file):
    """Lines of atomic blocks, at which Python does not check for signals."""
    found = stretches(Path(file))
    return {line for start, end in found for line in range(start + 2, end)}


def _interrupted(at, act):
    count, lines = 0, {}

    def trace(frame, event, _):
        nonlocal count
        if not frame.f_code.co_filename.startswith(str(PACKAGE)):
            return None
        line, code = frame.f_lineno, frame.f_code
        # As above, without lines to which a comprehension jumps back.
        back = lines.get(id(frame)) == line and sys.version_info >= (3, 12)
        lines[id(frame)] = line
        if back or line not in _calling(code) or line in _entering(code):
            return trace
        if event == "line" and line not in _whole(code.co_filename):
            count += 1
            if count == at:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        act()
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(before)
    return False
