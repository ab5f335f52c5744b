"""Helpers for tests of state: with `numtape.function`, a program computes what plain Python does.

A case is a function ``make(decorate)``. It creates a function with `decorate`, calls it, changes
what the function depends on, and calls it again. The results of these calls, which it returns,
must be the same with `numtape.function` and without a decorator.
"""

import numpy as np
import pytest

import numtape as tf

ignore_fallback = pytest.mark.filterwarnings(
    "ignore:.*runs as plain Python", "ignore:Setting the shape"
)
numtape_only = pytest.mark.numtape_only("TensorFlow's functions keep what Python's state was")


class Cases(list):
    """The cases of a test module."""

    def add(self, make):
        """Add a case: a decorator."""
        self.append(make)
        return make

    def named(self, name, make):
        """Add a case under another name than the function's."""
        make.__name__ = name
        return self.add(make)


def name_of(make):
    """The test id of a case."""
    return make.__name__


def numbers(r):
    """Convert a result to numbers."""
    if isinstance(r, list | tuple):
        return [numbers(x) for x in r]
    if isinstance(r, dict):
        return {k: numbers(x) for k, x in r.items()}
    a = np.asarray(r.numpy() if hasattr(r, "numpy") else r, float)
    return a.tolist()


def steps(f, *changes, args=lambda: (tf.constant(1.5),), also=None):
    """The results of three calls, and of two calls after each change.

    With `also`, its result follows that of each call. A call that fails results in the error's
    representation.
    """
    out = []
    for change in [None] * 3 + [c for one in changes for c in (one, None)]:
        if change is not None:
            change()
        try:
            out.append(numbers(f(*args())))
        except Exception as error:
            out.append(repr(error)[:120])
        if also is not None:
            out.append(numbers(also()))
    return out
