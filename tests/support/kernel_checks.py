"""Helpers for kernel tests: functions from source, dtypes of arguments, central differences."""

import itertools
import linecache
import math

import numpy as np

from numtape.core.loops.program import program
from numtape.core.loops.runtime.invoke import kinds_of
from numtape.core.loops.runtime.plain import run

_numbers = itertools.count()


def function_of(text, **names):
    """The function that a source text defines, with its source visible to `inspect`."""
    file = f"<kernel test {next(_numbers)}>"
    linecache.cache[file] = len(text), None, text.splitlines(True), file
    scope = {"np": np, "math": math, **names}
    before = set(scope)
    exec(compile(text, file, "exec"), scope)
    return scope[[name for name in scope if name not in before and name != "__builtins__"][-1]]


def fresh(arguments):
    """Copies of the arguments."""
    return [x.copy() if isinstance(x, np.ndarray) else x for x in arguments]


def plain(function, arguments, wanted):
    """Value and adjoints by the generated sweeps, run as Python."""
    made = program(function, list(kinds_of(tuple(arguments))), list(wanted))
    status, value, found = run(made, arguments)
    assert status == 0
    return value, [np.reshape(found[j], np.shape(arguments[j])) for j in wanted]


def differences(function, arguments, wanted, step=1e-6):
    """Central differences of a function's result by each requested argument."""
    found = []
    for j in wanted:
        slope = np.zeros(np.shape(arguments[j]))
        for i in np.ndindex(slope.shape):
            values = []
            for e in (step, -step):
                moved = fresh(arguments)
                if np.ndim(arguments[j]):
                    moved[j][i] += e
                else:
                    moved[j] += e
                values.append(function(*moved))
            slope[i] = (values[0] - values[1]) / (2 * step)
        found.append(slope)
    return found


def close(found, expected, rtol=2e-7):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol * (1 + np.abs(other).max()))
