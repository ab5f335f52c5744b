"""Helpers for tests of `function`."""

import contextlib
import warnings

import numpy as np
import pytest
from checks import same

from numtape.core.cpython.frames import unsupported_reason

pure = pytest.mark.numtape_only("TensorFlow's functions keep what names meant at first")
gives_up = pytest.mark.numtape_only("TensorFlow records whatever happens, or refuses")
check = pytest.mark.numtape_only("a check of numtape's own")


@contextlib.contextmanager
def one_warning(match="runs as plain Python for arguments like these from now on"):
    """Assert that the block emits exactly one warning, a RuntimeWarning.

    It emits none if functions are not recorded, which is warned about once per process.
    """
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield
    reason = unsupported_reason()
    if reason and match not in f"what it reads cannot be observed: {reason}":
        assert not found
        return
    assert [(w.category, match in str(w.message)) for w in found] == [(RuntimeWarning, True)]


@contextlib.contextmanager
def eagerly(tf):
    """Run functions as Python."""
    tf.config.run_functions_eagerly(True)
    try:
        yield
    finally:
        tf.config.run_functions_eagerly(False)


class _Uncounted(int):
    """The number of recordings if functions are not recorded, equal to any number."""

    def __eq__(self, other):
        return True

    __hash__ = int.__hash__
    __lt__ = __le__ = __gt__ = __ge__ = __eq__


def recordings(function):
    count = function.experimental_get_tracing_count()
    if unsupported_reason():
        assert count == 0
        return _Uncounted(count)
    return count


def bits(*tensors):
    return [(np.asarray(x).dtype, np.asarray(x).shape, np.asarray(x).tobytes()) for x in tensors]


def agree(tf, program, *calls):
    """Assert that a recorded function equals Python, call by call."""
    function = tf.function(program)
    for args in calls:
        found, expected = function(*args), program(*args)
        tf.nest.map_structure(lambda a, b: same(a, b, rtol=1e-5), found, expected)
    return function
