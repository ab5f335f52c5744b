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
    """`act` on something new again and again, interrupted one line later each time.

    Only at lines that call something or jump back: where Python looks for signals. What a tracer
    raises elsewhere, at a ``try`` for instance, can go past what releases locks.
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
    """Lines of a function at which something is called, or that jump back."""
    return {
        step.positions.lineno
        for step in dis.get_instructions(code)
        if "CALL" in step.opname or "JUMP_BACKWARD" in step.opname
    }


@functools.cache
def _entering(code):
    """Lines of ``with`` statements, where their blocks end, too.

    What a tracer raises at that end leaves locks taken; a handler of a signal is called behind it.
    """
    return {
        step.positions.lineno
        for step in dis.get_instructions(code)
        if step.opname in ("BEFORE_WITH", "LOAD_SPECIAL")
    }


@functools.cache
def _whole(file):
    """Lines that are one step, for Python looks for signals at none of them."""
    found = stretches(Path(file))
    return {line for start, end in found for line in range(start + 2, end)}


def _interrupted(at, act):
    count, lines = 0, {}

    def trace(frame, event, _):
        nonlocal count
        if not frame.f_code.co_filename.startswith(str(PACKAGE)):
            return None
        line, code = frame.f_lineno, frame.f_code
        # As above: no line that a comprehension jumps back to.
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
